"""Hierarchies meet the distinct values of the source: branches, leaves, roots, and the values that none lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from sqlanon.core.compiler import encode, hierarchies
from sqlanon.core.compiler.encoded_source import EncodedColumn, EncodedSource
from sqlanon.core.compiler.hierarchies import CountedColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.expressions import ROOT
from sqlanon.core.hierarchies.specs import Rows, lists_its_values
from sqlanon.core.policy import Column, Policy
from sqlanon.core.source.columns import without_enum
from sqlanon.core.source.lookups import (
    ListedColumn,
    list_rows,
    list_rows_of_others,
    may_lack_rows,
    reads_type,
    refuse_header,
    uncovered_query,
)
from sqlanon.core.source.packing import MeasuredColumn
from sqlanon.core.source.widths import is_open, with_widths
from sqlanon.core.sqltrees import names
from sqlanon.errors import HierarchyError, UncoveredValuesError

TOGETHER = 300_000
"""Up to so many distinct values, of all columns, their branches are numbered together, beyond one by one: a window
over the values of all columns would have to hold them all."""


def measure_columns(
    engine: Engine, source: EncodedSource, policy: Policy, types: Mapping[str, str], warnings: list[str]
) -> list[MeasuredColumn]:
    """Match the hierarchies with the distinct values of the source: branches, leaves, coverage."""
    specs: list[Column] = [*policy.quasi_identifiers, *policy.sensitive]
    if not specs:
        return []
    columns = [counted_column(spec, types[spec.name]) for spec in specs]
    distinct, plain = (
        hierarchies.distinct_values(source.relation, columns, source.taking_part, source.entity, together=together)
        for together in (engine.capabilities.groups_by_sets, False)
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
        source.population, columns, together=engine.capabilities.groups_by_sets, entities=source.entity is not None
    )
    engine.insert("values of the population", names.VALUES, query)
    list_rows_of_others(engine, quasi, heights, policy.extensions)


def counted_column(spec: Column, type_name: str) -> CountedColumn:
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


def refuse_uncovered(engine: Engine, policy: Policy, measured: Sequence[MeasuredColumn], relation: exp.Expr) -> None:
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
