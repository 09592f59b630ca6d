"""Encoding: from a relation of the source to lookups, leaves, base and the frozen catalog, all in the database.

One statement collects the distinct values of all columns; hierarchies meet those values only, so path codes are as
short as the data allows (a hierarchy of 100,000 ZIP codes costs no more bits than the ZIP codes that occur).
Domain sizes and leaves still count everything that a hierarchy lists. The number of statements does not depend on the
number of columns: values, hierarchies and lookups of all of them stand in one table each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import encode, hierarchies, sensitive
from sqlanon.core.compiler.encoded_source import EncodedColumn, EncodedSource, TakingPart
from sqlanon.core.compiler.hierarchies import CountedColumn
from sqlanon.core.compiler.tallies import mask_rows
from sqlanon.core.compiler.travelling import TravellingColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import text_column, whole_column
from sqlanon.core.hierarchies.expressions import ROOT
from sqlanon.core.hierarchies.specs import Rows, lists_its_values
from sqlanon.core.lattice.catalog import Attribute, Catalog, SensitiveAttribute
from sqlanon.core.models.release import SizeModel
from sqlanon.core.policy import Column, Policy
from sqlanon.core.source.columns import without_enum
from sqlanon.core.source.entities import count_entities, number_entities
from sqlanon.core.source.lookups import (
    ListedColumn,
    list_rows,
    list_rows_of_others,
    may_lack_rows,
    reads_type,
    refuse_header,
    uncovered_query,
)
from sqlanon.core.source.packing import MeasuredColumn, earlier_field, fields_of, pack
from sqlanon.core.source.population import population_notes, population_of
from sqlanon.core.source.representatives import Represented, represented_columns
from sqlanon.core.source.subset import with_membership
from sqlanon.core.source.travelling import travelling_columns
from sqlanon.core.source.widths import is_open, with_widths
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_rows, is_null, lookup_rows, or_zero, table, union_all
from sqlanon.errors import HierarchyError, SourceChangedError, UncoveredValuesError, UnsupportedError

TOGETHER = 300_000
"""Up to so many distinct values, of all columns, their branches are numbered together, beyond one by one: a window
over the values of all columns would have to hold them all."""


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
    quasi, members = policy.quasi_identifiers, policy.subset is not None
    entity = number_entities(engine, relation, policy, types)
    if members:
        relation = with_membership(engine, relation, policy, types)
    warnings: list[str] = []
    taking_part = TakingPart(tuple(c.name for c in quasi), policy.nulls == "basic", members)
    population = None if policy.population is None else population_of(engine, policy, types, warnings)
    source = EncodedSource(relation, (), taking_part, entity, population)
    measured = _measure(engine, source, policy, types, warnings)
    if taking_part.conditions() or not measured:
        records, included = engine.run("count records", encode.record_counts(relation, taking_part))[0]
    else:  # all records take part, and each has a value in every column
        records = included = measured[0].records
    _refuse_uncovered(engine, policy, measured, relation)
    represented = represented_columns(policy, types, measured)

    items, masks, words = pack(measured)
    label, words = earlier_field(items, words, earlier)
    source = replace(source, items=items, earlier=label)
    sensitive_attributes = _write_lookups(engine, source, measured, words, numbered=numbered)
    ordered = bool(quasi) and any(isinstance(model, SizeModel) for model in policy.models)
    if quasi:
        _write_masks(engine, measured[: len(quasi)], masks, words, ordered)
    base_rows = engine.create("base", names.BASE, encode.base(source, words))
    uncovered = _reconciled(engine, source, policy, measured, included)
    # of a subset, or of what a hierarchy leaves out, the base counts fewer records than the lookups
    attributes = _attributes(engine, measured, items, words, from_base=members or uncovered > 0)
    entities, included_entities, shares = count_entities(engine, source)
    catalog = Catalog(
        ordered=ordered,
        attributes=attributes,
        words=words,
        records=records,
        excluded=records - included,
        uncovered=uncovered,
        base_rows=base_rows,
        allowed=policy.allowed_suppressions(included if entity is None else included_entities),
        sensitive=sensitive_attributes,
        has_population=members or population is not None,
        entities=None if entity is None else included_entities,
        excluded_entities=entities - included_entities,
        shares_of_records=shares,
        earlier=label,
    )
    found = {fact.spec.name: fact for fact in measured}
    warnings += population_notes(engine, source, catalog)
    travelling = travelling_columns(engine, source, policy, types, attributes)
    return Encoding(catalog, source, types, tuple(warnings), found, represented, travelling)


def _measure(
    engine: Engine, source: EncodedSource, policy: Policy, types: Mapping[str, str], warnings: list[str]
) -> list[MeasuredColumn]:
    """Match the hierarchies with the distinct values of the source: branches, leaves, coverage."""
    specs: list[Column] = [*policy.quasi_identifiers, *policy.sensitive]
    if not specs:
        return []
    columns = [_counted(spec, types[spec.name]) for spec in specs]
    distinct, plain = (
        hierarchies.distinct_values(source.relation, columns, source.taking_part, source.entity, together=together)
        for together in (engine.groups_by_sets, False)
    )
    apart = engine.create("distinct values", names.VALUES, distinct, portable=plain) > TOGETHER
    opened = [i for i, spec in enumerate(specs) if is_open(spec)]
    specs, lengths = with_widths(engine, source, specs, types, policy)
    listed = {
        i: ListedColumn(spec, columns[i], max((length for length, _ in lengths.get(i, ())), default=1))
        for i, spec in enumerate(specs)
    }
    kept: dict[int, Rows] = {}
    heights = list_rows(engine, listed, warnings, policy.extensions, kept=kept)
    asked = {item.name for item in policy.publish}
    matchings = _matchings(engine, policy, specs, heights, types)
    others = source.population is not None
    if others:
        _add_values_of_population(engine, source, listed, heights, policy)
    first, *further = encode.branches(matchings, apart=apart, others=others)
    engine.create("branches", names.BRANCHES, first)
    for query in further:
        engine.insert("branches", names.BRANCHES, query)
    tallest = max(heights.values())
    query = encode.branch_facts([without_enum(item.type) for item in columns], tallest, others=others)
    facts = {int(row[0]): row[1:] for row in engine.run("branch facts", query)}
    measured = []
    for i, (spec, item, matching) in enumerate(zip(specs, columns, matchings, strict=True)):
        records, uncovered_values, uncovered_records, *per_level = facts.get(i, (0, 0, 0, *(0,) * 4 * tallest))
        end = 3 * matching.height
        measured.append(
            MeasuredColumn(
                spec=spec,
                item=EncodedColumn(spec.name, item.type, matching.height, sensitive=item.sensitive),
                domain=matching.domain,
                bits=tuple(int(branch).bit_length() for branch in per_level[0:end:3]),
                widths=tuple(per_level[1:end:3]),
                keeps_type=tuple(not count for count in per_level[2:end:3]),
                records=int(records),
                uncovered_values=int(uncovered_values),
                uncovered_records=int(uncovered_records),
                single_root=matching.root is not None,
                lengths=lengths[i] if i in opened else (),
                listed=kept.get(i) if spec.name in asked else None,
                all_widths=tuple(per_level[3 * tallest :][: matching.height]) if others else (),
            )
        )
    return measured


def _add_values_of_population(
    engine: Engine,
    source: EncodedSource,
    listed: Mapping[int, ListedColumn],
    heights: Mapping[int, int],
    policy: Policy,
) -> None:
    """Add to the distinct values, and to computed hierarchies, what the population alone has of quasi-identifiers.

    It stands among the branches; domain sizes, leaves and whatever is counted of values are those of the source.
    """
    assert source.population is not None
    quasi = {i: item for i, item in listed.items() if not item.counted.sensitive}
    if not quasi:
        return
    columns = [item.counted for item in listed.values()]
    query = hierarchies.values_of_population(
        source.population, columns, together=engine.groups_by_sets, entities=source.entity is not None
    )
    engine.insert("values of the population", names.VALUES, query)
    list_rows_of_others(engine, quasi, heights, policy.extensions)


def _counted(spec: Column, type_name: str) -> CountedColumn:
    """Return what is counted of a column: also in its type, if its hierarchy or the order of its values needs that."""
    is_sensitive = spec.role == "sensitive"
    ordered = is_sensitive and not lists_its_values(spec.hierarchy)
    return CountedColumn(spec.name, type_name, is_sensitive, typed=ordered or reads_type(spec, type_name))


def _matchings(
    engine: Engine, policy: Policy, specs: Sequence[Column], heights: Mapping[int, int], types: Mapping[str, str]
) -> list[encode.Matching]:
    """Return per column how values are placed that its hierarchy does not list.

    Raises:
        HierarchyError: a hierarchy has no place for them, or its first row is a header.
    """
    topped = [i for i, spec in enumerate(specs) if policy.uncovered_of(spec) == "top"]
    found: dict[int, list[Any]] = {}
    for position, *counts in engine.run("hierarchy facts", hierarchies.hierarchy_facts(heights, topped)):
        known = found.setdefault(int(position), [0, 0, 0, None, 0, 0])
        found[int(position)] = [
            a or b if place == 3 else a + b for place, (a, b) in enumerate(zip(known, counts, strict=True))
        ]
    matchings = []
    for position, spec in enumerate(specs):
        height = heights[position]
        listed, null_rows, roots, root, clashes, nulls = found.get(position, [0, 0, 0, None, 0, 0])
        if roots == 2 and listed > 2:
            refuse_header(engine, position, spec, height)
        single_root = root if roots == 1 else None
        top = position in topped
        if top and not listed and may_lack_rows(spec.hierarchy, types[spec.name]):
            single_root = ROOT  # that of all builders, where no value reads as they need it
        if top and listed and (single_root is None or height == 1):
            raise HierarchyError(
                f"Column {spec.name!r} says uncovered: top, but its {height} levels end in {roots} values.",
                hint="add a last level with one value, or say uncovered: suppress.",
            )
        if top and clashes and height > 1:
            raise HierarchyError(
                f"Column {spec.name!r} says uncovered: top, but {clashes} rows hold the text of the root below the "
                "root.",
                hint="rename the root of the hierarchy, so that a published root cannot be mistaken for a value.",
            )
        matchings.append(
            encode.Matching(
                height=height,
                domain=max(int(listed) + (1 if nulls > 0 and not null_rows else 0), 1),
                null_listed=bool(null_rows),
                root=single_root,
                uncovered_top=top and single_root is not None,
            )
        )
    return _with_two_leaves(engine, matchings)


def _with_two_leaves(engine: Engine, matchings: list[encode.Matching]) -> list[encode.Matching]:
    """Return the matchings where a root that unlisted values stand at has two leaves at least.

    Of a single leaf the root says as much as the value, so that publishing it costs nothing. One that stands for other
    values too says less (``measures.loss``).
    """
    lone = [i for i, found in enumerate(matchings) if found.uncovered_top and found.domain == 1 and found.height > 1]
    if lone:
        for (position,) in engine.run("unlisted values", hierarchies.unlisted(lone)):
            matchings[int(position)] = replace(matchings[int(position)], domain=2)
    return matchings


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
    quasi = any(not fact.item.sensitive for fact in uncovered.values())
    way_out = ", or say uncovered: top (publish them at the root) or uncovered: suppress" if quasi else ""
    raise UncoveredValuesError(
        f"Hierarchies do not list all values of the source ({summary}).",
        hint=f"add the rows{way_out}; a query for each column lists the values (with --json: queries; in Python: "
        "error.queries).",
        counts=counts,
        queries=queries,
    )


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
            sensitive_attributes.append(_distribution(engine, position, place, fact, item, counted))
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
    engine: Engine,
    measured: Sequence[MeasuredColumn],
    items: Sequence[EncodedColumn],
    words: int,
    *,
    from_base: bool,
) -> tuple[Attribute, ...]:
    """Return the catalog's facts about the quasi-identifiers, with what each of their levels costs."""
    quasi = [fact for fact in measured if not fact.item.sensitive]
    if not quasi:
        return ()
    tallest = max(fact.item.height for fact in quasi)
    query = encode.level_costs([fact.domain for fact in quasi], tallest, words, from_base=from_base)
    costs = {int(row[0]): row[1:] for row in engine.run("costs", query)}
    none = (0,) * tallest
    return tuple(_attribute(fact, items[i], words, costs.get(i, none)) for i, fact in enumerate(quasi))


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
    typed = None if lists_its_values(fact.spec.hierarchy) else _counted(fact.spec, item.type).value(position, "v")
    overall = sensitive.overall(position, item, typed, counted=counted)
    engine.create("overall", names.overall(place), overall)
    facts = exp.select(count_rows(), or_zero(exp.Max(this=column("area")))).from_(table(names.overall(place)))
    values, area = engine.run("overall facts", facts)[0]
    if rooted:
        engine.create("ancestors", names.ancestors(place), sensitive.ancestors(place, item))
    absent = None
    if item.name.startswith(names.FORMER):
        bits = exp.select(column(names.key(item.fields[0][0]))).from_(lookup_rows(position, "l"))
        codes = engine.run("records without a value", bits.where(is_null(column("value"))))
        absent = int(codes[0][0]) if codes else None
    return SensitiveAttribute(
        absent=absent,
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


def _mask_columns(masks: Sequence[Sequence[Sequence[int]]], words: int) -> dict[str, pa.Array]:
    return {
        name: text_column(values) if name == "digit" else whole_column(values)  # type: ignore[arg-type]
        for name, values in mask_rows(masks, words).items()
    }
