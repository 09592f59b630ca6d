"""Encoding: from a relation of the source to lookups, leaves, base and the frozen catalog, all in the database.

One aggregate pass a column collects distinct values; hierarchies meet those values only, so path codes are as short
as the data allows (a hierarchy of 100,000 ZIP codes costs no more bits than the ZIP codes that occur).
Domain sizes and leaves still count everything that a hierarchy lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from sqlanon.compiler import encode, sensitive
from sqlanon.compiler import entities as compiler_entities
from sqlanon.compiler.encoded_source import EncodedColumn, EncodedSource, EntityColumn, TakingPart
from sqlanon.compiler.tallies import mask_rows
from sqlanon.engines.base import Engine
from sqlanon.errors import HierarchyError, InputError, SourceChangedError, UncoveredValuesError, UnsupportedError
from sqlanon.lattice.catalog import Attribute, Catalog, SensitiveAttribute
from sqlanon.policy import Column, Policy
from sqlanon.policy.hierarchy.specs import lists_its_values
from sqlanon.source.columns import without_enum
from sqlanon.source.lookups import list_rows, refuse_header, uncovered_query
from sqlanon.source.packing import MeasuredColumn, fields_of, pack
from sqlanon.source.subset import with_membership
from sqlanon.source.widths import with_width
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, count_rows, is_null, or_zero, table, union_all


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded source: its catalog, the source with its lookups, the types of all columns of the source, and what was
    found of the quasi-identifiers and sensitive columns when their hierarchies met it."""

    catalog: Catalog
    source: EncodedSource
    types: dict[str, str]
    warnings: tuple[str, ...]
    columns: Mapping[str, MeasuredColumn] = field(default_factory=dict)


def encode_source(
    engine: Engine, relation: exp.Expr, policy: Policy, types: dict[str, str], *, numbered: bool = False
) -> Encoding:
    """Load the hierarchies, encode the source and return its catalog.

    Args:
        numbered: the lookups number their values and texts (``encode.numbered``).

    Raises:
        HierarchyError: a hierarchy is not a tree, or is incomplete.
        UncoveredValuesError: values without a row, in any column, unless the policy allows them.
        InputError: the entity of some records is NULL.
        SourceChangedError: the counts of the source do not add up.
    """
    quasi, members = policy.quasi_identifiers, policy.subset is not None
    entity = _number_entities(engine, relation, policy, types)
    if members:
        relation = with_membership(engine, relation, policy, types)
    taking_part = TakingPart(tuple(c.name for c in quasi), policy.nulls == "basic", members)
    source = EncodedSource(relation, (), taking_part, entity)
    records, included = engine.run("count records", encode.record_counts(relation, taking_part))[0]
    warnings: list[str] = []
    measured = [
        _measure(engine, source, position, spec, policy, types[spec.name], warnings)
        for position, spec in enumerate((*quasi, *policy.sensitive))
    ]
    _refuse_uncovered(engine, policy, measured, relation)

    items, masks, words = pack(measured)
    source = replace(source, items=items)
    sensitive_attributes = _write_lookups(engine, source, measured, masks, words, numbered=numbered)
    base_rows = engine.create("base", names.BASE, encode.base(source, words))
    uncovered = _count_uncovered(engine, source, policy, measured)
    encoded = engine.run("reconcile", encode.encoded_records())[0][0]
    if encoded + uncovered != included:
        raise SourceChangedError(
            f"The source has {included} records to encode, but {encoded} were encoded and {uncovered} are uncovered.",
            hint="another process writes to the source; work on a copy, or run again.",
        )
    attributes = tuple(
        _attribute(engine, position, measured[position], items[position], masks[position][0])
        for position in range(len(quasi))
    )
    entities, included_entities, shares = 0, 0, []
    if entity is not None:
        counts = compiler_entities.entity_counts(relation, entity, taking_part)
        entities, included_entities = engine.run("count entities", counts)[0]
        shares = engine.run("records of entities", compiler_entities.shares_of_records())
    catalog = Catalog(
        attributes=attributes,
        words=words,
        records=records,
        excluded=records - included,
        uncovered=uncovered,
        base_rows=base_rows,
        allowed=policy.allowed_suppressions(included if entity is None else included_entities),
        sensitive=sensitive_attributes,
        has_population=members,
        entities=None if entity is None else included_entities,
        excluded_entities=entities - included_entities,
        shares_of_records=tuple((int(records), int(entities)) for records, entities in shares),
    )
    if attributes:
        engine.load("load masks", names.MASKS, pa.table(_mask_columns(catalog)))
    return Encoding(catalog, source, types, tuple(warnings), {fact.spec.name: fact for fact in measured})


def _number_entities(engine: Engine, relation: exp.Expr, policy: Policy, types: dict[str, str]) -> EntityColumn | None:
    """Number the entities of the source and return their column; None for a policy without an entity.

    Raises:
        InputError: the entity of some records is NULL.
    """
    if policy.entity is None:
        return None
    entity = EntityColumn(policy.entity, types[policy.entity])
    missing = engine.run("records without an entity", compiler_entities.records_without_entity(relation, entity))[0][0]
    if missing:
        raise InputError(
            f"The entity column {entity.name!r} is NULL in {missing} records, so that no entity is counted for them.",
            hint="fill it in, or leave such records out in a view of the source.",
        )
    engine.create("entities", names.ENTITIES, compiler_entities.number_entities(relation, entity))
    return entity


def _measure(
    engine: Engine,
    source: EncodedSource,
    position: int,
    spec: Column,
    policy: Policy,
    type_name: str,
    warnings: list[str],
) -> MeasuredColumn:
    """Match a hierarchy with the distinct values of the source: branches, leaves, coverage."""
    is_sensitive = spec.role == "sensitive"
    distinct = encode.distinct_values(
        source.relation,
        spec.name,
        type_name,
        source.taking_part,
        included_only=is_sensitive,
        entity=source.entity.text() if source.entity is not None and is_sensitive else None,
    )
    engine.create("distinct values", names.distinct_values(position), distinct)
    spec, lengths = with_width(engine, source, position, spec, type_name, policy)
    height = list_rows(engine, position, spec, type_name, warnings, policy.extensions)
    listed, null_rows, roots, root, clashes = engine.run("hierarchy facts", encode.hierarchy_facts(position, height))[0]
    if roots == 2 and listed > 2:
        refuse_header(engine, position, spec, height)
    nulls = engine.run(
        "null records",
        exp.select(column(names.COUNT)).from_(table(names.distinct_values(position))).where(is_null(column("value"))),
    )
    has_nulls = bool(nulls) and nulls[0][0] > 0
    domain = max(listed + (1 if has_nulls and not null_rows else 0), 1)
    single_root = root if roots == 1 else None
    top = policy.uncovered_of(spec) == "top"
    if top and listed and (single_root is None or height == 1):
        raise HierarchyError(
            f"Column {spec.name!r} says uncovered: top, but its {height} levels end in {roots} values.",
            hint="add a last level with one value, or say uncovered: suppress.",
        )
    if top and clashes and height > 1:
        raise HierarchyError(
            f"Column {spec.name!r} says uncovered: top, but {clashes} rows hold the text of the root below the root.",
            hint="rename the root of the hierarchy, so that a published root cannot be mistaken for a value.",
        )
    query = encode.branches(
        position,
        height,
        domain=domain,
        null_listed=bool(null_rows),
        root=single_root,
        uncovered_top=top and single_root is not None,
    )
    engine.create("branches", _branches(position), query)
    facts = engine.run("branch facts", encode.branch_facts(_branches(position), height, without_enum(type_name)))[0]
    _, uncovered_values, uncovered_records, *per_level = facts
    largest, widths, foreign = per_level[0::3], per_level[1::3], per_level[2::3]
    return MeasuredColumn(
        spec=spec,
        item=EncodedColumn(spec.name, type_name, height, sensitive=is_sensitive),
        domain=domain,
        bits=tuple(int(branch).bit_length() for branch in largest),
        widths=tuple(widths),
        keeps_type=tuple(not count for count in foreign),
        uncovered_values=uncovered_values,
        uncovered_records=int(uncovered_records),
        single_root=single_root is not None,
        lengths=lengths,
    )


def _refuse_uncovered(engine: Engine, policy: Policy, measured: Sequence[MeasuredColumn], relation: exp.Expr) -> None:
    """Raise UncoveredValuesError if a column holds values without a row, and must not."""
    uncovered = {
        fact.spec.name: fact for fact in measured if fact.uncovered_values and policy.uncovered_of(fact.spec) == "error"
    }
    if not uncovered:
        return
    counts = {name: (fact.uncovered_values, fact.uncovered_records) for name, fact in uncovered.items()}
    queries = {name: uncovered_query(engine, relation, fact.spec, fact.item.type) for name, fact in uncovered.items()}
    summary = "; ".join(
        f"column {name!r}: {values} values in {records} records" for name, (values, records) in counts.items()
    )
    listing = "\n".join(f"  {name}: {query}" for name, query in queries.items())
    quasi = any(not fact.item.sensitive for fact in uncovered.values())
    way_out = ", or say uncovered: top (publish them at the root) or uncovered: suppress" if quasi else ""
    raise UncoveredValuesError(
        f"Hierarchies do not list all values of the source ({summary}).",
        hint=f"add the rows{way_out}. "
        f"These queries list the values of the source, compare them with the hierarchy:\n{listing}",
        counts=counts,
        queries=queries,
    )


def _write_lookups(
    engine: Engine,
    source: EncodedSource,
    measured: Sequence[MeasuredColumn],
    masks: Sequence[Sequence[Sequence[int]]],
    words: int,
    *,
    numbered: bool,
) -> tuple[SensitiveAttribute, ...]:
    """Write the lookups, the leaves of the quasi-identifiers and the distributions of the sensitive columns."""
    tallest = max((item.height for item in source.items if not item.sensitive), default=0)
    sensitive_attributes: list[SensitiveAttribute] = []
    for position, (item, fact) in enumerate(zip(source.items, measured, strict=True)):
        lookup = encode.lookup(_branches(position), item, words)
        engine.create("lookup", names.lookup(position), encode.numbered(lookup, item) if numbered else lookup)
        if item.sensitive:
            counted = names.COUNT if source.entity is None else "entities"
            place = len(sensitive_attributes)
            sensitive_attributes.append(_distribution(engine, position, place, fact, item, counted))
        for relation in (_branches(position), names.listed(position), names.distinct_values(position)):
            engine.drop(relation)
        if not item.sensitive:
            leaf = encode.leaf_rows(position, item, fact.domain, masks[position], tallest)
            write = engine.create if position == 0 else engine.insert
            write("leaf", names.LEAF, leaf)
    return tuple(sensitive_attributes)


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


def _attribute(
    engine: Engine, position: int, fact: MeasuredColumn, item: EncodedColumn, mask: Sequence[int]
) -> Attribute:
    """Return the catalog's facts about a quasi-identifier, with what each of its levels costs."""
    costs = engine.run("costs", encode.level_costs(position, item, fact.domain, mask))[0]
    return Attribute(
        name=item.name,
        type=item.type,
        height=item.height,
        domain=fact.domain,
        fields=fields_of(item, len(mask)),
        costs=tuple(int(cost) for cost in costs),
        widths=fact.widths,
        keeps_type=fact.keeps_type,
        weight=float(fact.spec.weight),
    )


def _distribution(
    engine: Engine, position: int, place: int, fact: MeasuredColumn, item: EncodedColumn, counted: str
) -> SensitiveAttribute:
    """Return the distribution of a sensitive column among all records (or entities: ``counted``) that take part, and
    the ancestors of its values.

    Raises:
        HierarchyError: a hierarchical distance is asked for, but the hierarchy has no levels or no single root.
    """
    rooted = item.height > 1 and fact.single_root
    if not rooted and any(model.parameters.get("distance") == "hierarchical" for model in fact.spec.models):
        raise HierarchyError(
            f"The hierarchy of column {item.name!r} has {item.height} levels and "
            f"{'one root' if fact.single_root else 'several roots'}; "
            "a hierarchical distance needs two levels and a root.",
            hint="add a last level with one value, or use the distance equal.",
        )
    listed_order = lists_its_values(fact.spec.hierarchy)
    overall = sensitive.overall(position, item, listed_order=listed_order, counted=counted)
    engine.create("overall", names.overall(place), overall)
    facts = exp.select(count_rows(), or_zero(exp.Max(this=column("area")))).from_(table(names.overall(place)))
    values, area = engine.run("overall facts", facts)[0]
    if rooted:
        engine.create("ancestors", names.ancestors(place), sensitive.ancestors(place, item))
    return SensitiveAttribute(
        name=item.name,
        height=item.height,
        values=values,
        word=item.fields[0][0],
        code=sensitive.code_mask(item, 0),
        area=float(area),
        rooted=rooted,
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


def _mask_columns(catalog: Catalog) -> dict[str, pa.Array]:
    return {
        name: pa.array(values, pa.string() if name == "digit" else pa.int64())
        for name, values in mask_rows(catalog).items()
    }


def _branches(position: int) -> str:
    return names.lookup(position) + "_branches"
