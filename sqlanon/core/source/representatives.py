"""The numbers and dates that a policy publishes (``publish``): their types, and the table of the bounds of all texts.

Bounds of values are computed from texts of hierarchies (``core.hierarchies.bounds``): those that a policy, a file or a
table lists, and the labels of computed levels. No value of a record is read for them: at level 0 a text is its own
bounds, in the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.representatives import RepresentedColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import text_column, whole_column
from sqlanon.core.hierarchies.bounds import (
    ValueBounds,
    ValueType,
    as_text,
    computed_bounds,
    joined,
    listed_bounds,
    value_type,
)
from sqlanon.core.hierarchies.specs import HierarchySpec, Rows
from sqlanon.core.policy import Policy, Publish
from sqlanon.core.policy.representatives import BOUNDS, CLASS_MEAN
from sqlanon.core.source.columns import without_enum
from sqlanon.core.source.packing import MeasuredColumn
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, not_null, number, of_attribute, table, union_all
from sqlanon.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Represented:
    """A quasi-identifier whose numbers or dates are published.

    Attributes:
        position: among the quasi-identifiers.
        values: what its bounds are.
        spec: its hierarchy, as it was encoded.
        rows: what that lists; None where it is computed.
    """

    asked: Publish
    position: int
    values: ValueType
    spec: HierarchySpec | None
    rows: Rows | None


def represented_columns(
    policy: Policy, types: Mapping[str, str], measured: Sequence[MeasuredColumn]
) -> tuple[Represented, ...]:
    """Return the columns of which the policy publishes numbers or dates.

    Args:
        types: of the columns of the source.
        measured: the quasi-identifiers first, in their order.

    Raises:
        UnsupportedError: columns hold neither numbers nor dates, as far as their types and hierarchies say; or a mean
            is asked of dates. All such columns are named.
    """
    asked = {item.name: item for item in policy.publish}
    found, faults = [], {}
    for position, fact in enumerate(measured):
        name = fact.spec.name
        if fact.item.sensitive or name not in asked:
            continue
        rows = fact.listed
        values = value_type(without_enum(types[name]), fact.spec.hierarchy, rows)
        if values is None:
            kind = types[name].split("(")[0]
            faults[
                f"Column {name!r} has the type {kind}, and its hierarchy does not say that its values are numbers, or "
                "that they are dates."
            ] = "cast it in a view of the source (of a CSV file: csv: {types: …}), or remove it from publish."
            continue
        if CLASS_MEAN in asked[name].columns.values() and (
            values.kind not in ("whole", "number") or without_enum(types[name]) == "VARCHAR"
        ):
            faults[f"Column {name!r} holds no numbers of a type of its own, so that its classes have no mean."] = (
                "ask for midpoint, or cast the column in a view of the source."
            )
            continue
        found.append(Represented(asked[name], position, values, fact.spec.hierarchy, rows))
    if faults:
        raise UnsupportedError(" ".join(faults), hint=" ".join(dict.fromkeys(faults.values())))
    return tuple(found)


def load_bounds(
    engine: Engine, represented: Sequence[Represented], levels: Sequence[Sequence[int]]
) -> tuple[RepresentedColumn, ...]:
    """Create the table of the bounds of the published texts, and return the columns that are joined with it.

    Args:
        levels: per quasi-identifier, the levels at which records are published.
    """
    digest = hashlib.sha256(repr([(item.position, levels[item.position]) for item in represented]).encode())
    name = f"{names.BOUNDS}_{digest.hexdigest()[:12]}"
    labels = _labels(engine, [(item.position, levels[item.position]) for item in represented if item.rows is None])
    bounds = {item.position: _bounds(item, levels[item.position], labels) for item in represented}
    if any(bounds.values()) or any(item.rows is not None for item in represented):
        engine.drop(name)
        engine.load("load bounds", name, _as_table(represented, bounds))
    return tuple(
        RepresentedColumn(
            name=item.asked.name,
            position=item.position,
            columns=item.asked.columns,
            type=item.values.name,
            mean_type=item.values.name if item.values.kind == "whole" else "DOUBLE",
            bounds=name if bounds[item.position] or item.rows is not None else None,
            reads_values=item.rows is None and 0 in levels[item.position],
        )
        for item in represented
    )


def _labels(engine: Engine, wanted: Sequence[tuple[int, Sequence[int]]]) -> dict[tuple[int, int], list[str]]:
    """Return the texts of computed hierarchies above level 0, by position and level."""
    queries = []
    for position, levels in wanted:
        for level in levels:
            if level:
                text = column(names.level(level))
                query = exp.select(
                    named(number(position), "attribute"), named(number(level), "level"), named(text, "text")
                )
                query = query.distinct().from_(table(names.LOOKUP)).where(of_attribute(position), not_null(text.copy()))
                queries.append(query)
    found: dict[tuple[int, int], list[str]] = {}
    if queries:
        for position, level, text in engine.run("labels", union_all(queries)):
            found.setdefault((int(position), int(level)), []).append(text)
    return found


def _bounds(
    item: Represented, levels: Sequence[int], labels: Mapping[tuple[int, int], Sequence[str]]
) -> dict[str, ValueBounds]:
    """Return the bounds of every text of a column that may be published, but for the values of computed hierarchies."""
    if item.rows is not None:
        rows = item.rows
        return joined(listed_bounds(rows, item.values, level).items() for level in levels)
    return joined(
        [
            (text, computed_bounds(item.spec, item.values, level, text))
            for text in labels.get((item.position, level), ())
        ]
        for level in levels
    )


def _as_table(represented: Sequence[Represented], bounds: Mapping[int, Mapping[str, ValueBounds]]) -> pa.Table:
    """Return the bounds of all columns: attribute, value, low, high, midpoint; all but the first are texts."""
    positions: list[int] = []
    texts: dict[str, list[str | None]] = {name: [] for name in ("value", *BOUNDS)}
    for item in represented:
        for text, found in bounds[item.position].items():
            positions.append(item.position)
            texts["value"].append(text)
            for name in BOUNDS:
                texts[name].append(as_text(item.values, getattr(found, name)))
    columns = {name: text_column(found) for name, found in texts.items()}
    return pa.table({"attribute": whole_column(positions), **columns})
