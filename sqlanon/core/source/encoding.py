"""Encoding: from a relation of the source to lookups, leaves, base and the frozen catalog, all in the database.

One statement collects the distinct values of all columns; hierarchies meet those values only, so path codes are as
short as the data allows (a hierarchy of 100,000 ZIP codes costs no more bits than the ZIP codes that occur).
Domain sizes and leaves still count everything that a hierarchy lists. The number of statements does not depend on the
number of columns: values, hierarchies and lookups of all of them stand in one table each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import encode
from sqlanon.core.compiler import entities as compiler
from sqlanon.core.compiler.encoded_source import EncodedColumn, EncodedSource, EntityColumn, TakingPart
from sqlanon.core.compiler.tallies import mask_rows
from sqlanon.core.compiler.travelling import TravellingColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import text_column, whole_column
from sqlanon.core.lattice.catalog import Attribute, Catalog, SensitiveAttribute
from sqlanon.core.models.release import SizeModel
from sqlanon.core.policy import Policy
from sqlanon.core.source.distributions import distribution_of
from sqlanon.core.source.matching import measure_columns, refuse_uncovered
from sqlanon.core.source.packing import MeasuredColumn, earlier_field, fields_of, pack
from sqlanon.core.source.population import population_notes, population_of
from sqlanon.core.source.representatives import Represented, represented_columns
from sqlanon.core.source.subset import with_membership
from sqlanon.core.source.travelling import travelling_columns
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import union_all
from sqlanon.errors import InputError, SourceChangedError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded source: its catalog, the source with its lookups, the types of all columns of the source, what was
    found of the quasi-identifiers and sensitive columns when their hierarchies met it, and the columns of which numbers
    or dates are published."""

    catalog: Catalog
    source: EncodedSource
    types: dict[str, str]
    warnings: tuple[str, ...]
    columns: Mapping[str, MeasuredColumn] = field(default_factory=dict)
    represented: tuple[Represented, ...] = ()
    travelling: tuple[TravellingColumn, ...] = ()


def encode_source(
    engine: Engine,
    relation: exp.Expr,
    policy: Policy,
    types: dict[str, str],
    *,
    numbered: bool = False,
    earlier: Sequence[int] = (),
) -> Encoding:
    """Load the hierarchies, encode the source and return its catalog.

    Args:
        numbered: the lookups number their values and texts (``encode.numbered``).
        earlier: the persons of earlier releases by the number of their classes (``EarlierClasses.members``), which the
            relation has in its column ``names.EARLIER``.

    Raises:
        HierarchyError: a hierarchy is not a tree, or is incomplete.
        UncoveredValuesError: values without a row, in any column, unless the policy allows them.
        InputError: the entity of some records is NULL.
        SourceChangedError: the counts of the source do not add up.
    """
    quasi = policy.quasi_identifiers
    warnings: list[str] = []
    source = _unencoded(engine, relation, policy, types, warnings)
    measured = measure_columns(engine, source, policy, types, warnings)
    records, included = _count_records(engine, source, measured)
    refuse_uncovered(engine, policy, measured, source.relation)
    represented = represented_columns(policy, types, measured)
    items, masks, words = pack(measured)
    label, words = earlier_field(items, words, earlier)
    source = replace(source, items=items, earlier=label)
    sensitive = _write_lookups(engine, source, measured, words, numbered=numbered)
    ordered = bool(quasi) and any(isinstance(model, SizeModel) for model in policy.models)
    if quasi:
        _write_masks(engine, measured[: len(quasi)], masks, words, ordered)
    source = _with_codes(engine, source, policy, words)
    base_rows = engine.create("base", names.BASE, encode.base(source, words))
    uncovered = _reconciled(engine, source, policy, measured, included)
    # of a subset, or of what a hierarchy leaves out, the base counts fewer records than the lookups
    from_base = source.taking_part.members or uncovered > 0
    attributes = _attributes(engine, measured, items, words, from_base=from_base)
    entities, included_entities, shares = _count_entities(engine, source)
    catalog = Catalog(
        ordered=ordered,
        attributes=attributes,
        words=words,
        records=records,
        excluded=records - included,
        uncovered=uncovered,
        base_rows=base_rows,
        allowed=policy.allowed_suppressions(included if source.entity is None else included_entities),
        sensitive=sensitive,
        has_population=source.taking_part.members or source.population is not None,
        entities=None if source.entity is None else included_entities,
        excluded_entities=entities - included_entities,
        shares_of_records=shares,
        earlier=label,
    )
    warnings += population_notes(engine, source, catalog)
    travelling = travelling_columns(engine, source, policy, types, attributes)
    found = {fact.spec.name: fact for fact in measured}
    return Encoding(catalog, source, types, tuple(warnings), found, represented, travelling)


def _unencoded(
    engine: Engine, relation: exp.Expr, policy: Policy, types: dict[str, str], warnings: list[str]
) -> EncodedSource:
    """Return the source before its columns are encoded: who takes part, of which entities and which population."""
    entity, members = entity_column(engine, relation, policy, types), policy.subset is not None
    if entity is not None:
        engine.create("entities", names.ENTITIES, compiler.number_entities(relation, entity))
    if members:
        relation = with_membership(engine, relation, policy, types)
    quasi = tuple(column.name for column in policy.quasi_identifiers)
    population = None if policy.population is None else population_of(engine, policy, types, warnings)
    return EncodedSource(relation, (), TakingPart(quasi, policy.nulls == "basic", members), entity, population)


def _count_records(engine: Engine, source: EncodedSource, measured: Sequence[MeasuredColumn]) -> tuple[int, int]:
    """Return the number of records of the source, and of those that take part."""
    if measured and not source.taking_part.conditions():  # all take part, and each has a value in every column
        return measured[0].records, measured[0].records
    records, included = engine.run("count records", encode.record_counts(source.relation, source.taking_part))[0]
    return records, included


def _with_codes(engine: Engine, source: EncodedSource, policy: Policy, words: int) -> EncodedSource:
    """Return the source with the codes of its records, where the engine publishes by them and records are counted."""
    counted = source.entity is None and source.population is None and source.earlier is None
    if not (engine.publishes_codes and words and counted) or source.taking_part.members:
        return source
    source = replace(source, coded=tuple(c.name for c in policy.columns if c.role in ("keep", "sensitive")))
    engine.create("codes", names.CODED, encode.coded_records(source, words))
    return source


def entity_column(engine: Engine, relation: exp.Expr, policy: Policy, types: Mapping[str, str]) -> EntityColumn | None:
    """Return the column of the entities, which every record has; None for a policy without one.

    Raises:
        InputError: the entity of some records is NULL.
    """
    if policy.entity is None:
        return None
    entity = EntityColumn(policy.entity, types[policy.entity])
    missing = engine.run("records without an entity", compiler.records_without_entity(relation, entity))[0][0]
    if missing:
        raise InputError(
            f"The entity column {entity.name!r} is NULL in {missing} records, so that no entity is counted for them.",
            hint="fill it in, or leave such records out in a view of the source.",
        )
    return entity


def _count_entities(engine: Engine, source: EncodedSource) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Return the entities of the source, those that take part, and how many of them have how many records; zeros and
    nothing for a policy without an entity."""
    if source.entity is None:
        return 0, 0, ()
    counts = compiler.entity_counts(source.relation, source.entity, source.taking_part)
    entities, included = engine.run("count entities", counts)[0]
    shares = engine.run("records of entities", compiler.shares_of_records())
    return entities, included, tuple((int(records), int(persons)) for records, persons in shares)


def _write_lookups(
    engine: Engine, source: EncodedSource, measured: Sequence[MeasuredColumn], words: int, *, numbered: bool
) -> tuple[SensitiveAttribute, ...]:
    """Write the lookups, and the distributions of the sensitive columns."""
    if not measured:
        return ()
    lookups = encode.lookup(source.items, words)
    tallest = max(item.height for item in source.items)
    engine.create("lookup", names.LOOKUP, encode.numbered(lookups, tallest) if numbered else lookups)
    counted = names.COUNT if source.entity is None else "entities"
    sensitive_attributes: list[SensitiveAttribute] = []
    for position, fact in enumerate(measured):
        if fact.item.sensitive:
            place, item = len(sensitive_attributes), source.items[position]
            sensitive_attributes.append(distribution_of(engine, position, place, fact, item, counted))
    for relation in (names.BRANCHES, names.LISTED, names.VALUES):
        engine.drop(relation)
    return tuple(sensitive_attributes)


def _write_masks(
    engine: Engine, quasi: Sequence[MeasuredColumn], masks: Sequence[Sequence[Sequence[int]]], words: int, ordered: bool
) -> None:
    """Write the masks of all levels, what suppressing their values costs, and if it is asked for, their order."""
    of_quasi = [[[*own, *[0] * (words - len(own))] for own in masks[position]] for position in range(len(quasi))]
    engine.load("load masks", names.MASKS, pa.table(_mask_columns(of_quasi, words)))
    domains, tallest = [fact.domain for fact in quasi], max(map(len, of_quasi))
    engine.create("leaf", names.LEAF, encode.leaf_rows(domains, tallest, words))
    if ordered:
        engine.create("order of values", names.VALUE_PLACES, encode.value_places(domains, tallest, words))


def _count_uncovered(engine: Engine, source: EncodedSource, policy: Policy, measured: Sequence[MeasuredColumn]) -> int:
    """Return the number of records that are suppressed because no hierarchy lists their values.

    Raises:
        UnsupportedError: there are some, and the policy asks for what is not defined for them.
    """
    suppresses = any(policy.uncovered_of(spec) == "suppress" for spec in policy.quasi_identifiers)
    if not suppresses or not any(fact.uncovered_values for fact in measured):
        return 0
    uncovered: int = engine.run("count uncovered", encode.uncovered_records(source))[0][0]
    if uncovered and source.taking_part.members:
        raise UnsupportedError(
            f"{uncovered} records hold values that no hierarchy lists; whether they belong to a class of the "
            "population is not defined, so δ-presence cannot be judged.",
            hint="list the values, or say uncovered: top.",
        )
    if uncovered and source.entity is not None:
        raise UnsupportedError(
            f"{uncovered} records hold values that no hierarchy lists; they are suppressed before anything is counted, "
            "which is not supported where entities are counted.",
            hint="list the values, or say uncovered: top.",
        )
    return uncovered


def _reconciled(
    engine: Engine, source: EncodedSource, policy: Policy, measured: Sequence[MeasuredColumn], included: int
) -> int:
    """Return the number of records with values that no hierarchy lists, once the counts add up.

    Raises:
        SourceChangedError: they do not.
    """
    uncovered = _count_uncovered(engine, source, policy, measured)
    encoded = engine.run("reconcile", encode.encoded_records())[0][0]
    if encoded + uncovered != included:
        raise SourceChangedError(
            f"The source has {included} records to encode, but {encoded} were encoded and {uncovered} are uncovered.",
            hint="another process writes to the source; work on a copy, or run again.",
        )
    return uncovered


def _attributes(
    engine: Engine, measured: Sequence[MeasuredColumn], items: Sequence[EncodedColumn], words: int, *, from_base: bool
) -> tuple[Attribute, ...]:
    """Return the catalog's facts about the quasi-identifiers, with what each of their levels costs."""
    quasi = [fact for fact in measured if not fact.item.sensitive]
    if not quasi:
        return ()
    tallest = max(fact.item.height for fact in quasi)
    query = encode.level_costs([fact.domain for fact in quasi], tallest, words, from_base=from_base)
    costs = {int(row[0]): row[1:] for row in engine.run("costs", query)}
    return tuple(_attribute(fact, items[i], words, costs.get(i, (0,) * tallest)) for i, fact in enumerate(quasi))


def _attribute(fact: MeasuredColumn, item: EncodedColumn, words: int, costs: Sequence[int]) -> Attribute:
    """Return the catalog's facts about a quasi-identifier; ``costs``: what each of its levels costs."""
    return Attribute(
        name=item.name,
        type=item.type,
        height=item.height,
        domain=fact.domain,
        fields=fields_of(item, words),
        costs=tuple(int(cost) for cost in costs[: item.height]),
        widths=fact.widths,
        keeps_type=fact.keeps_type,
        weight=float(fact.spec.weight),
        all_widths=fact.all_widths,
    )


def with_surprisals(engine: Engine, encoding: Encoding, catalog: Catalog) -> Catalog:
    """Return the catalog with the sums of n ln n of every attribute and level, which non-uniform entropy needs.

    Raises:
        UnsupportedError: records were removed because no hierarchy lists their values.
    """
    if catalog.uncovered:
        raise UnsupportedError(
            f"{catalog.uncovered} records hold values that no hierarchy lists; "
            "non-uniform entropy is not defined for them.",
            hint="list the values, say uncovered: top, or use another measure.",
        )
    if not catalog.attributes:
        return catalog
    parts: list[exp.Query] = []
    for position, attribute in enumerate(catalog.attributes):
        parts.append(encode.original_surprisals(encoding.source, position))
        for level in range(attribute.height):
            mask = [attribute.mask(level, word) for word in range(catalog.words)]
            parts.append(encode.surprisals(position, level, mask))
    found = {(a, level): value for a, level, value in engine.run("surprisals", union_all(parts))}
    attributes = tuple(
        replace(a, surprisals=tuple(found[position, level] for level in range(-1, a.height)))
        for position, a in enumerate(catalog.attributes)
    )
    return replace(catalog, attributes=attributes)


def _mask_columns(masks: Sequence[Sequence[Sequence[int]]], words: int) -> dict[str, pa.Array]:
    return {
        name: text_column(values) if name == "digit" else whole_column(values)  # type: ignore[arg-type]
        for name, values in mask_rows(masks, words).items()
    }
