"""Encoding: from a relation of the source to lookups, leaves, base and the frozen catalog, all in the database.

One aggregate pass a column collects distinct values; hierarchies meet those values only, so path codes are as short
as the data allows (a hierarchy of 100,000 ZIP codes costs no more bits than the ZIP codes that occur).
Domain sizes and leaves still count everything that a hierarchy lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from sqlanon.compiler import encode, sensitive
from sqlanon.compiler import entities as compiler_entities
from sqlanon.compiler.encode import EncodedColumn
from sqlanon.compiler.entities import EntityColumn
from sqlanon.compiler.tallies import mask_rows
from sqlanon.engines.base import Engine
from sqlanon.errors import (
    HierarchyError,
    InputError,
    SourceChangedError,
    UncoveredValuesError,
    UnsupportedError,
)
from sqlanon.lattice.catalog import Attribute, Catalog, SensitiveAttribute
from sqlanon.policy import Column, Policy
from sqlanon.policy.hierarchy import specs
from sqlanon.source.lookups import list_rows, uncovered_query
from sqlanon.source.packing import _fields, _Measured, _pack
from sqlanon.source.subset import with_membership
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, named, table, total


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoded source: its catalog, the columns with the places of their bits, and the columns of the source.

    ``items`` are the quasi-identifiers, then the sensitive columns; ``source`` tells the records of a subset.
    ``entity`` is the column that tells whom a record is of.
    """

    catalog: Catalog
    items: tuple[EncodedColumn, ...]
    source: exp.Expr
    types: dict[str, str]
    warnings: tuple[str, ...]
    entity: EntityColumn | None = None


def _entity(engine: Engine, source: exp.Expr, policy: Policy, types: dict[str, str]) -> EntityColumn | None:
    """The column of the policy's entity, its entities numbered.

    Raises:
        InputError: records are of no entity.
    """
    if policy.entity is None:
        return None
    entity = EntityColumn(policy.entity, types[policy.entity])
    nobodys = engine.run("records of nobody", compiler_entities.nobodys(source, entity))[0][0]
    if nobodys:
        raise InputError(
            f"The entity column {entity.name!r} is NULL in {nobodys} records, so that nobody can be counted for them.",
            hint="fill it in, or leave such records out in a view of the source.",
        )
    engine.create("entities", names.ENTITIES, compiler_entities.numbered(source, entity))
    return entity


def encode_source(engine: Engine, source: exp.Expr, policy: Policy, types: dict[str, str]) -> Encoding:
    """Load the hierarchies, encode the source and return its catalog.

    Raises:
        HierarchyError: a hierarchy is not a tree, or is incomplete.
        UncoveredValuesError: values without a row, in any column, unless the policy says what to do.
        InputError: records are of no entity.
        SourceChangedError: the counts of the source do not add up.
    """
    quasi = policy.quasi_identifiers
    columns = (*quasi, *policy.sensitive)
    basic = policy.nulls == "basic"
    names_ = [c.name for c in quasi]
    members = policy.subset is not None
    entity = _entity(engine, source, policy, types)
    if members:
        source = with_membership(engine, source, policy, types)
    records, included = engine.run("count records", encode.record_counts(source, names_, basic, members))[0]
    warnings: list[str] = []
    measured = [
        _met(engine, source, position, spec, policy, types, entity, warnings) for position, spec in enumerate(columns)
    ]
    _refuse_uncovered(policy, columns, measured, source, types)

    items, masks, words = _pack(measured)
    sensitive = _write_lookups(engine, columns, items, masks, words, measured, counting=entity is not None)
    base = encode.base(
        source if entity is None else compiler_entities.with_entities(source, entity), items, words, basic,
        members=members, entities=entity is not None,
    )  # fmt: skip
    base_rows = engine.create("base", names.BASE, base)
    uncovered = 0
    if any(fact.uncovered_values for fact in measured) and any(_uncovered(policy, c) == "suppress" for c in quasi):
        uncovered = engine.run("count uncovered", encode.uncovered_records(source, items, basic))[0][0]
        _refuse_suppressing(uncovered, members=members, counting=entity is not None)
    encoded = engine.run("reconcile", encode_total())[0][0]
    if encoded + uncovered != included:
        raise SourceChangedError(
            f"The source has {included} records to encode, but {encoded} were encoded and {uncovered} are uncovered.",
            hint="another process writes to the source; work on a copy, or run again.",
        )
    attributes = [
        _attribute(engine, position, spec, items[position], measured[position], masks[position][0], words)
        for position, spec in enumerate(quasi)
    ]
    everybody, taking_part, shares = 0, 0, []
    if entity is not None:
        counts = compiler_entities.entity_counts(source, entity, names_, basic, members)
        everybody, taking_part = engine.run("count entities", counts)[0]
        shares = engine.run("records of entities", compiler_entities.shares_of_records())
    catalog = Catalog(
        attributes=tuple(attributes),
        words=words,
        records=records,
        excluded=records - included,
        uncovered=uncovered,
        base_rows=base_rows,
        allowed=policy.allowed_suppressions(included if entity is None else taking_part),
        sensitive=sensitive,
        has_population=members,
        entities=None if entity is None else taking_part,
        excluded_entities=everybody - taking_part,
        shares_of_records=tuple((int(records), int(entities)) for records, entities in shares),
    )
    if attributes:
        engine.load("load masks", names.MASKS, pa.table(_mask_columns(catalog)))
    return Encoding(catalog, items, source, types, tuple(warnings), entity)


def _met(
    engine: Engine,
    source: exp.Expr,
    position: int,
    spec: Column,
    policy: Policy,
    types: dict[str, str],
    entity: EntityColumn | None,
    warnings: list[str],
) -> _Measured:
    """A column after its hierarchy met the distinct values of the source."""
    is_sensitive, members = spec.role == "sensitive", policy.subset is not None
    distinct = encode.distinct_values(
        source, spec.name, types[spec.name], [c.name for c in policy.quasi_identifiers], policy.nulls == "basic",
        members=members, included_only=is_sensitive,
        entity=entity.text() if entity is not None and is_sensitive else None,
    )  # fmt: skip
    engine.create("distinct values", names.distinct_values(position), distinct)
    height = list_rows(engine, position, spec, types[spec.name], warnings, policy.extensions)
    fact = _measure(engine, position, spec, types[spec.name], height, policy)
    return replace(fact, item=replace(fact.item, sensitive=is_sensitive, has_population=members))


def _write_lookups(
    engine: Engine,
    columns: Sequence[Column],
    items: Sequence[EncodedColumn],
    masks: Sequence[Sequence[Sequence[int]]],
    words: int,
    measured: Sequence[_Measured],
    *,
    counting: bool,
) -> tuple[SensitiveAttribute, ...]:
    """Write the lookups and the leaves of the quasi-identifiers; the distributions of the sensitive columns, whose
    entities count where ``counting``."""
    tallest = max((item.height for item in items if not item.sensitive), default=0)
    sensitive = []
    for position, (spec, item, fact) in enumerate(zip(columns, items, measured, strict=True)):
        engine.create("lookup", names.lookup(position), encode.lookup(_branches(position), item, words))
        if item.sensitive:
            counted = "entities" if counting else names.COUNT
            sensitive.append(_distribution(engine, position, spec, item, fact, counted))
        for made in (_branches(position), names.listed(position), names.distinct_values(position)):
            engine.drop(made)
        if item.sensitive:
            continue
        leaf = encode.leaf_rows(position, item, fact.domain, masks[position], tallest)
        if position == 0:
            engine.create("leaf", names.LEAF, leaf)
        else:
            engine.insert("leaf", names.LEAF, leaf)
    return tuple(sensitive)


def _refuse_suppressing(uncovered: int, *, members: bool, counting: bool) -> None:
    """Refuse to suppress records that hold uncovered values where something is not defined for them."""
    if uncovered and members:
        raise UnsupportedError(
            f"{uncovered} records hold values that no hierarchy lists; whether they belong to a class of the "
            "population is not defined, so δ-presence cannot be judged.",
            hint="list the values, or say uncovered: top.",
        )
    if uncovered and counting:
        raise UnsupportedError(
            f"{uncovered} records hold values that no hierarchy lists; they are suppressed before anything is counted, "
            "which is not supported where entities are counted.",
            hint="list the values, or say uncovered: top.",
        )


def _attribute(
    engine: Engine,
    position: int,
    spec: Column,
    item: EncodedColumn,
    fact: _Measured,
    masks: Sequence[int],
    words: int,
) -> Attribute:
    """The catalog's facts about a quasi-identifier, with what each of its levels costs."""
    costs = engine.run("costs", encode.level_costs(position, item, fact.domain, masks))[0]
    return Attribute(
        name=spec.name,
        type=item.type,
        height=item.height,
        domain=fact.domain,
        fields=_fields(item, words),
        costs=tuple(int(cost) for cost in costs),
        widths=fact.widths,
        keeps_type=fact.keeps_type,
        weight=float(spec.weight),
    )


def _distribution(
    engine: Engine, position: int, spec: Column, item: EncodedColumn, fact: _Measured, counted: str
) -> SensitiveAttribute:
    """The distribution of a sensitive column among all records (or entities: ``counted``) that take part, and the
    ancestors of its values.

    Raises:
        HierarchyError: a hierarchical distance is asked for, but the hierarchy has no levels or no single root.
    """
    place = position - fact.quasi_identifiers
    hierarchical = any(m.parameters.get("distance") == "hierarchical" for m in spec.models)
    if hierarchical and (item.height < 2 or not fact.single_root):
        raise HierarchyError(
            f"The hierarchy of column {spec.name!r} has {item.height} levels and "
            f"{'one root' if fact.single_root else 'several roots'}; "
            "a hierarchical distance needs two levels and a root.",
            hint="add a last level with one value, or use the distance equal.",
        )
    listed = isinstance(
        spec.hierarchy, specs.FileHierarchy | specs.Levels | specs.Groups | specs.TableHierarchy
    )
    engine.create(
        "overall", names.overall(place), sensitive.overall(position, item, listed_order=listed, counted=counted)
    )
    facts = exp.select(
        exp.Count(this=exp.Star()),
        exp.Coalesce(this=exp.Max(this=column("area")), expressions=[exp.Literal.number(0)]),
    ).from_(table(names.overall(place)))
    values, area = engine.run("overall facts", facts)[0]
    rooted = item.height > 1 and fact.single_root
    if rooted:
        engine.create("ancestors", names.ancestors(place), sensitive.ancestors(place, item))
    return SensitiveAttribute(
        name=spec.name,
        height=item.height,
        values=values,
        word=item.fields[0][0],
        code=sensitive.code_mask(item, 0),
        area=float(area),
        rooted=rooted,
    )


def with_surprisals(engine: Engine, encoding: Encoding, catalog: Catalog, *, basic: bool) -> Catalog:
    """The catalog with the sums of n ln n of every attribute and level, which non-uniform entropy needs.

    Raises:
        UnsupportedError: records were removed because no hierarchy lists their values.
    """
    if catalog.uncovered:
        raise UnsupportedError(
            f"{catalog.uncovered} records hold values that no hierarchy lists; "
            "non-uniform entropy is not defined for them.",
            hint="list the values, say uncovered: top, or use another measure.",
        )
    parts: list[exp.Query] = []
    for position, attribute in enumerate(catalog.attributes):
        parts.append(encode.original_surprisals(encoding.source, encoding.items, position, basic))
        for level in range(attribute.height):
            mask = [attribute.mask(level, word) for word in range(catalog.words)]
            parts.append(encode.surprisals(position, level, mask))
    if not parts:
        return catalog
    query = parts[0]
    for other in parts[1:]:
        query = exp.union(query, other, distinct=False, copy=False)
    found = {(a, level): value for a, level, value in engine.run("surprisals", query)}
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


def encode_total() -> exp.Select:
    """The number of records in the base."""
    return exp.select(named(total(column(names.COUNT)), names.COUNT)).from_(table(names.BASE))


def _branches(position: int) -> str:
    return names.lookup(position) + "_branches"


def _uncovered(policy: Policy, spec: Column) -> str:
    if spec.role == "sensitive":
        return "error"
    return spec.uncovered or policy.uncovered


def _measure(engine: Engine, position: int, spec: Column, type_name: str, height: int, policy: Policy) -> _Measured:
    """Let the hierarchy meet the distinct values of the source: branches, leaves, coverage."""
    listed, null_rows, roots, root, clashes = engine.run("hierarchy facts", encode.hierarchy_facts(position, height))[0]
    nulls = engine.run(
        "null records",
        exp.select(column(names.COUNT))
        .from_(table(names.distinct_values(position)))
        .where(exp.Is(this=column("value"), expression=exp.null())),
    )
    has_nulls = bool(nulls) and nulls[0][0] > 0
    domain = listed + (1 if has_nulls and not null_rows else 0)
    single_root = root if roots == 1 else None
    top = _uncovered(policy, spec) == "top"
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
        domain=max(domain, 1),
        null_listed=bool(null_rows),
        root=single_root,
        uncovered_top=top and single_root is not None,
    )
    engine.create("branches", _branches(position), query)
    facts = engine.run("branch facts", encode.branch_facts(_branches(position), height, _text_type(type_name)))[0]
    values, uncovered_values, uncovered_records, *per_level = facts
    largest, widths, foreign = per_level[0::3], per_level[1::3], per_level[2::3]
    return _Measured(
        item=EncodedColumn(spec.name, type_name, height),
        domain=max(domain, 1),
        bits=tuple(int(item).bit_length() for item in largest),
        widths=tuple(widths),
        keeps_type=tuple(not count for count in foreign),
        values=values,
        uncovered_values=uncovered_values,
        uncovered_records=int(uncovered_records),
        single_root=single_root is not None,
        quasi_identifiers=len(policy.quasi_identifiers),
    )


def _text_type(type_name: str) -> str:
    return "VARCHAR" if type_name.upper().startswith("ENUM") else type_name


def _refuse_uncovered(
    policy: Policy,
    columns: Sequence[Column],
    measured: Sequence[_Measured],
    source: exp.Expr,
    types: dict[str, str],
) -> None:
    counts: dict[str, tuple[int, int]] = {}
    queries: dict[str, str] = {}
    for spec, fact in zip(columns, measured, strict=True):
        if fact.uncovered_values and _uncovered(policy, spec) == "error":
            counts[spec.name] = (fact.uncovered_values, fact.uncovered_records)
            queries[spec.name] = uncovered_query(source, spec, types[spec.name])
    if counts:
        told = "; ".join(
            f"column {name!r}: {values} values in {records} records" for name, (values, records) in counts.items()
        )
        listing = "\n".join(f"  {name}: {query}" for name, query in queries.items())
        quasi = any(spec.name in counts for spec in columns if spec.role == "quasi_identifier")
        way_out = ", or say uncovered: top (publish them at the root) or uncovered: suppress" if quasi else ""
        raise UncoveredValuesError(
            f"Hierarchies do not list all values of the source ({told}).",
            hint=f"add the rows{way_out}. "
            f"These queries list the values of the source, compare them with the hierarchy:\n{listing}",
            counts=counts,
            queries=queries,
        )
