"""The risk of a relation as it stands: its classes, its weights, its population and its sets of columns."""

from __future__ import annotations

from dataclasses import replace

from sqlanon.assess.risk.column_sets import measure_column_sets
from sqlanon.assess.risk.facts import Risk
from sqlanon.assess.risk.figures import assess, with_entities
from sqlanon.assess.risk.individual import WeightedRisk
from sqlanon.assess.risk.measure import Sample
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram
from sqlanon.errors import InputError


def measure_relation(sample: Sample, question: RiskQuestion, *, suppressed: int = 0) -> Risk:
    """Return the figures of a relation.

    Args:
        question: its quasi-identifiers may be more than those of the sample: what the attacker knows besides.
        suppressed: records that are not published and stand in no class.

    Raises:
        InputError: the relation holds no records, or population or weights cannot be used.
    """
    sizes = sample.histogram()
    if not sizes.records:
        what = "record" if sample.entity is None else "record with an entity"
        left_out = f" {sizes.excluded} are left out because of a NULL (nulls: basic)." if sizes.excluded else ""
        raise InputError(
            f"The relation holds no {what} to measure the risk of.{left_out}",
            hint="check the name of the table" + (", or measure it with --nulls extended." if sizes.excluded else "."),
        )
    population = None if question.population is None else sample.in_population(question.population.members())
    weighted = None if question.weights is None else sample.weighted(question.weights)
    return measure_classes(replace(sizes, suppressed=suppressed), question, sample, population, weighted)


def measure_classes(
    sizes: SizeHistogram,
    question: RiskQuestion,
    sample: Sample | None,
    population: PopulationClasses | None,
    weighted: WeightedRisk | None,
    *,
    released: bool = False,
) -> Risk:
    """Return the figures of counted classes, with their entities and sets of columns where these are asked for.

    Args:
        sample: the relation of the classes; None where neither is to be read from it.
        released: the relation is a release, which does not hold the excluded records.
    """
    below = 0
    if sample is not None and sample.entity is not None and sizes.records:
        entities, below = sample.entities(question.k)
        question = replace(question, entities=entities)
    risk = assess(sizes, question, population=population, weighted=weighted, released=released)
    risk = with_entities(risk, question, below)
    return with_column_sets(risk, sample) if sample is not None and question.column_sets else risk


def with_column_sets(risk: Risk, sample: Sample) -> Risk:
    """Return the figures with what the sets of quasi-identifiers single out."""
    if not sample.columns:
        return risk
    nulls = "basic" if sample.basic else "extended"
    return replace(risk, column_sets=measure_column_sets(sample.engine, sample.relation, sample.columns, nulls=nulls))
