"""The risk of a relation as it stands: its classes, its weights, its population and its sets of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlanon.assess.risk.column_sets import measure_column_sets
from sqlanon.assess.risk.facts import Risk
from sqlanon.assess.risk.figures import Setting, assess, with_entities
from sqlanon.assess.risk.measure import Sample
from sqlanon.errors import InputError


@dataclass(frozen=True, slots=True)
class Beside:
    """What is asked for beside the figures that need the classes alone.

    Attributes:
        population: the table of the population.
        weights: the column of what a record stands for.
        column_sets: look at the sets of columns too.
    """

    population: Sample | None = None
    weights: str | None = None
    column_sets: bool = False


NOTHING_BESIDE = Beside()


def measure_relation(sample: Sample, setting: Setting, beside: Beside = NOTHING_BESIDE, *, suppressed: int = 0) -> Risk:
    """Return the figures of a relation.

    Args:
        setting: its quasi-identifiers may be more than those of the sample: what the attacker knows besides.
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
    population = None if beside.population is None else sample.in_population(beside.population.members())
    weighted = None if beside.weights is None else sample.weighted(beside.weights)
    below = 0
    if sample.entity is not None:
        entities, below = sample.entities(setting.k)
        setting = replace(setting, entities=entities)
    risk = assess(replace(sizes, suppressed=suppressed), setting, population=population, weighted=weighted)
    risk = with_entities(risk, setting, below)
    return with_column_sets(risk, sample) if beside.column_sets else risk


def with_column_sets(risk: Risk, sample: Sample) -> Risk:
    """Return the figures with what the sets of quasi-identifiers single out."""
    if not sample.columns:
        return risk
    nulls = "basic" if sample.basic else "extended"
    return replace(risk, column_sets=measure_column_sets(sample.engine, sample.relation, sample.columns, nulls=nulls))
