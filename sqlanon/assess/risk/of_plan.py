"""The risk of an encoded source as it is, and of what a plan publishes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sqlanon.assess.risk.facts import Risk, RiskComparison, with_notes
from sqlanon.assess.risk.measure import Sample, member_key
from sqlanon.assess.risk.population_table import PopulationTable, population_sample
from sqlanon.assess.risk.question import DEFAULT_K, RiskQuestion
from sqlanon.assess.risk.relation import measure_classes
from sqlanon.core.audit.check import exact_columns
from sqlanon.core.compiler.class_sizes import all_class_sizes
from sqlanon.core.compiler.encoded_source import SOURCE, TakingPart
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.base import is_of_release, judges_persons
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.published import PublishedClasses
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram, read_sizes
from sqlanon.core.source.files import Reading
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, not_null, own_text
from sqlanon.errors import InputError, UnsupportedError

NOT_COUNTED = (
    "Records of the population whose values do not occur in the source are not generalized, and so not counted: the "
    "journalist's risk may be lower."
)
OF_ROWS = (
    "The figures are of single rows. Anyone who sees which rows are of one person finds fewer persons with all of "
    "them: at least k (profile_k)."
)
OF_FEW_ROWS = (
    "The figures are of single rows. Anyone who knows more rows of one person finds fewer persons with them: at least "
    "k as long as no more are known than at_most says (profile_k), and perhaps one beyond that."
)


def risk_of_plan(
    plan: Planned,
    *,
    k: int | None = None,
    population: str | os.PathLike[str] | None = None,
    population_table: str | None = None,
    population_size: int | None = None,
    weights: str | None = None,
    column_sets: bool = False,
) -> RiskComparison:
    """Return the risk of the source's records that take part, with their quasi-identifiers as they are, and of the
    release: see ``Planned.risk``.
    """
    session, catalog, policy = plan.session, plan.catalog, plan.policy
    question = RiskQuestion(
        quasi_identifiers=tuple(a.name for a in catalog.attributes),
        unit="entity" if catalog.has_entity else "record",
        nulls=policy.nulls,
        k=k or (plan.threshold if plan.threshold > 1 else DEFAULT_K),
        population_size=population_size,
        column_sets=column_sets,
    )
    records = None
    if population is not None or population_table is not None:
        place = None if population is None else os.fspath(population)
        of_others = PopulationTable(place, population_table, Reading(policy.csv, policy.formats))
        records = of_others.records(session.source)
    if weights is not None:
        [weight] = exact_columns(session.source.types, "The source", [weights])
        question = replace(question, weights=weight)
    if records is not None:
        question = replace(question, population=_population(session, records, question))
    return RiskComparison(_before(session, question), _after(session, question, plan.published_classes()))


def _before(session: Session, question: RiskQuestion) -> Risk:
    """Return the risk of the source's records that take part, on their quasi-identifiers as they are."""
    sample = _sample(session, _taking_part(session), session.encoding.types, question)
    classes, population = _source_classes(session, sample)
    if not classes.records:
        raise InputError(
            "No record of the source takes part, so there is no risk to measure.",
            hint="check the source; with nulls: basic, records with a NULL in a quasi-identifier take no part.",
        )
    if question.population is not None:
        population = sample.in_population(question.population.members())
    weighted = None if question.weights is None else sample.weighted(question.weights)
    return measure_classes(classes, question, sample, population, weighted)


def _after(session: Session, question: RiskQuestion, published: PublishedClasses) -> Risk:
    """Return the risk of what is published."""
    population, weighted, notes = published.population, None, []
    released = {name: published.types[name] for name in question.quasi_identifiers}
    extra = [name for name in (session.policy.entity, question.weights) if name is not None]
    types = {**released, **{name: session.encoding.types[name] for name in extra if name not in released}}
    rows = None
    if question.population is not None or extra or question.column_sets:
        rows = _sample(session, published.rows(types).subquery("release"), types, question)
    if rows is not None and question.population is not None and published.classes.records:
        if published.node is None:
            raise UnsupportedError(
                "A population is generalized by one node, and this release has several rules.",
                hint="generalize the table of the population as the release is, and compare both: sqlanon risk RELEASE "
                "--qi … --population TABLE.",
            )
        population = rows.in_population(_generalized(session, published.node, question.population))
        notes.append(NOT_COUNTED)
    if rows is not None and question.weights is not None:
        if published.by_chance:
            raise UnsupportedError(
                "Which of equal records a rule of this release publishes is left to chance, and so are their weights.",
                hint="leave the weights out.",
            )
        weighted = rows.weighted(question.weights)
    risk = measure_classes(published.classes, question, rows, population, weighted, released=True)
    risk = with_notes(risk, *notes)
    if judges_persons(session.policy.models):
        risk = with_notes(risk, OF_FEW_ROWS if any(map(is_of_release, session.policy.models)) else OF_ROWS)
    return risk


def _sample(session: Session, relation: exp.Expr, types: Mapping[str, str], question: RiskQuestion) -> Sample:
    """Return a relation of records that take part with the quasi-identifiers of the policy."""
    return Sample(session.engine, relation, question.quasi_identifiers, types, session.policy.entity)


def _taking_part(session: Session) -> exp.Expr:
    """Return the records of the source that take part."""
    source = session.encoding.source
    conditions = source.taking_part.conditions()
    if not conditions:
        return source.relation
    return exp.select("*").from_(source.relation.copy()).where(*conditions).subquery("source")


def _source_classes(session: Session, sample: Sample) -> tuple[SizeHistogram, PopulationClasses | None]:
    """Return the classes of the source by size, and in the population where that is known.

    The source holds it (δ-presence), or a table beside it (k-map). The base has them already, but where values that no
    hierarchy lists share a code, or are not in it.
    """
    policy, catalog, snapshots = session.policy, session.encoding.catalog, session.snapshots
    listed = all(policy.uncovered_of(column) == "error" for column in policy.quasi_identifiers)
    if not listed:
        population = None
        if session.encoding.source.taking_part.members:
            everybody = session.encoding.source.taking_part.of_population.conditions()
            relation = exp.select("*").from_(session.encoding.source.relation.copy()).where(*everybody)
            population = sample.in_population(replace(sample, relation=relation.subquery("population")).members())
        return replace(sample.histogram(), excluded=catalog.excluded), population
    query = all_class_sizes(catalog, snapshots.base.table, catalog.bottom)
    return read_sizes(session.judging.run("source class sizes", query), excluded=catalog.excluded)


def _population(session: Session, records: tuple[exp.Expr, dict[str, str]], question: RiskQuestion) -> Sample:
    entity, basic = session.policy.entity, question.nulls == "basic"
    return population_sample(session.engine, records, question.quasi_identifiers, entity=entity, basic=basic)


def _generalized(session: Session, node: Node, population: Sample) -> exp.Subquery:
    """Return the members of a population by the texts that a node publishes of their quasi-identifiers."""
    source = session.encoding.source.quasi
    items = tuple(replace(item, type=population.types[item.name]) for item in source.items)
    taking_part = TakingPart(source.taking_part.quasi, population.basic)
    encoded = replace(source, relation=population.relation, items=items, taking_part=taking_part)
    texts = [
        named(column(names.level(level), names.lookup(position)), member_key(position))
        for position, level in enumerate(node)
    ]
    if population.entity is None:
        return encoded.encoded(texts).subquery("members")
    owner = own_text(population.entity, population.types[population.entity], SOURCE)
    seen = encoded.encoded([*texts, named(owner, names.ENTITY)]).distinct()
    return (
        exp.select(*[column(member_key(position)) for position in range(len(node))])
        .from_(seen.subquery("seen"))
        .where(not_null(column(names.ENTITY)))
        .subquery("members")
    )
