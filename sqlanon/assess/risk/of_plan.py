"""The risk of an encoded source as it is, and of what a plan publishes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.assess.risk.facts import Risk, RiskComparison, with_notes
from sqlanon.assess.risk.figures import DEFAULT_K, Setting, assess, with_entities
from sqlanon.assess.risk.measure import Sample, member_key
from sqlanon.assess.risk.population_table import PopulationTable, population_sample
from sqlanon.assess.risk.relation import with_column_sets
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
    setting = Setting(
        quasi_identifiers=tuple(a.name for a in catalog.attributes),
        unit="entity" if catalog.has_entity else "record",
        nulls=policy.nulls,
        k=k or (plan.threshold if plan.threshold > 1 else DEFAULT_K),
        population_size=population_size,
    )
    records = weight = None
    if population is not None or population_table is not None:
        place = None if population is None else os.fspath(population)
        of_others = PopulationTable(place, population_table, Reading(policy.csv, policy.formats))
        records = of_others.records(session.source)
    if weights is not None:
        [weight] = exact_columns(session.source.types, "The source", [weights])
    beside = _Beside(records, weight, column_sets)
    return RiskComparison(_before(session, setting, beside), _after(session, setting, beside, plan.published_classes()))


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is read beside the classes: the records of a population with their types, the column of weights, and whether
    sets of columns are looked at."""

    population: tuple[exp.Expr, dict[str, str]] | None = None
    weight: str | None = None
    column_sets: bool = False


def _before(session: Session, setting: Setting, beside: _Beside) -> Risk:
    """Return the risk of the source's records that take part, on their quasi-identifiers as they are."""
    encoding = session.encoding
    sample = _sample(session, _taking_part(session), encoding.types, setting)
    classes, population = _source_classes(session, sample)
    if not classes.records:
        raise InputError(
            "No record of the source takes part, so there is no risk to measure.",
            hint="check the source; with nulls: basic, records with a NULL in a quasi-identifier take no part.",
        )
    if beside.population is not None:
        population = sample.in_population(_population(session, beside.population, setting).members())
    weighted = None if beside.weight is None else sample.weighted(beside.weight)
    setting, below = _with_entities(sample, setting)
    risk = with_entities(assess(classes, setting, population=population, weighted=weighted), setting, below)
    return with_column_sets(risk, sample) if beside.column_sets else risk


def _after(session: Session, setting: Setting, beside: _Beside, published: PublishedClasses) -> Risk:
    """Return the risk of what is published."""
    population, weighted, notes = published.population, None, []
    released = {name: published.types[name] for name in setting.quasi_identifiers}
    extra = [name for name in (session.policy.entity, beside.weight) if name is not None]
    types = {**released, **{name: session.encoding.types[name] for name in extra if name not in released}}
    read = beside != _NOTHING or session.policy.entity is not None
    rows = _sample(session, published.rows(types).subquery("release"), types, setting) if read else None
    if rows is not None and beside.population is not None and published.classes.records:
        if published.node is None:
            raise UnsupportedError(
                "A population is generalized by one node, and this release has several rules.",
                hint="generalize the table of the population as the release is, and compare both: sqlanon risk RELEASE "
                "--qi … --population TABLE.",
            )
        others = _population(session, beside.population, setting)
        population = rows.in_population(_generalized(session, published.node, others))
        notes.append(NOT_COUNTED)
    if rows is not None and beside.weight is not None:
        if published.by_chance:
            raise UnsupportedError(
                "Which of equal records a rule of this release publishes is left to chance, and so are their weights.",
                hint="leave the weights out.",
            )
        weighted = rows.weighted(beside.weight)
    below = 0
    if rows is not None and published.classes.records:
        setting, below = _with_entities(rows, setting)
    found = assess(published.classes, setting, population=population, weighted=weighted, released=True)
    risk = with_notes(with_entities(found, setting, below), *notes)
    if judges_persons(session.policy.models):
        risk = with_notes(risk, OF_FEW_ROWS if any(map(is_of_release, session.policy.models)) else OF_ROWS)
    return with_column_sets(risk, rows) if rows is not None and beside.column_sets else risk


_NOTHING = _Beside()


def _with_entities(sample: Sample, setting: Setting) -> tuple[Setting, int]:
    """Return the setting with the distinct entities of a relation, and how many of them stand in a small class."""
    if sample.entity is None:
        return setting, 0
    entities, below = sample.entities(setting.k)
    return replace(setting, entities=entities), below


def _sample(session: Session, relation: exp.Expr, types: Mapping[str, str], setting: Setting) -> Sample:
    """Return a relation of records that take part with the quasi-identifiers of the policy."""
    return Sample(session.engine, relation, setting.quasi_identifiers, types, session.policy.entity)


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


def _population(session: Session, records: tuple[exp.Expr, dict[str, str]], setting: Setting) -> Sample:
    entity, basic = session.policy.entity, setting.nulls == "basic"
    return population_sample(session.engine, records, setting.quasi_identifiers, entity=entity, basic=basic)


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
