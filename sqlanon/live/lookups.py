"""The lookups of a live view: of each hierarchy the level that was chosen, frozen; and what distances need.

A hierarchy that lists its values gives all of them, whether they occur or not, at every level, 0 included: what it
does not list has no row. One that is computed from the values (``redact``, ``intervals``, …) gives the values that
occur, and at level 0 no lookup: there it would hold nothing but the values themselves.

A sensitive column has a lookup where t-closeness compares it by the tree or the order of its hierarchy: the texts of
the levels below the root, and the places. What the hierarchy does not list has no row there either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.compiler import hierarchies
from sqlanon.core.compiler.encoded_source import COVERED
from sqlanon.core.compiler.hierarchies import CountedColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.specs import HierarchySpec, lists_its_values
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.policy import Column, Policy
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.source.lookups import ListedColumn, list_rows
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    canonical,
    column,
    count_rows,
    equal,
    is_null,
    lookup_rows,
    named,
    number,
    of_attribute,
    same,
    table,
    union_all,
)
from sqlanon.errors import SourceChangedError
from sqlanon.live.compiler.live import KEY, TEXT, VALUE
from sqlanon.live.compiler.live_values import PLACE

Made = dict[tuple[str, int], exp.Expr]
"""Lookups that were made, by column and level."""


def has_lookup(hierarchy: HierarchySpec | None, level: int) -> bool:
    """Return True when a quasi-identifier passes through a lookup at ``level``."""
    return level > 0 or lists_its_values(hierarchy)


def told_by_hierarchy(policy: Policy, spec: Column) -> tuple[bool, bool]:
    """Return whether a distance of a sensitive column needs the tree of its hierarchy, and whether its order."""
    asked = {getattr(m, "distance", None) for m in policy.models if m.type == "t_closeness" and m.column == spec.name}
    return "hierarchical" in asked, "ordered" in asked and lists_its_values(spec.hierarchy)


def sensitive_with_lookup(policy: Policy) -> list[Column]:
    """Return the sensitive columns that have a lookup, in the order of the policy."""
    return [c for c in policy.columns if c.role == "sensitive" and any(told_by_hierarchy(policy, c))]


def freeze(
    engine: Engine, policy: Policy, encoding: Encoding, node: Node, released: Mapping[str, str], made: Made
) -> dict[str, exp.Expr]:
    """Create the frozen lookups of a node as tables of ours (``names.frozen``), and name them by column.

    Args:
        made: those of other nodes, by column and level, which serve this one too; its own are added.
        released: the columns of the release with their types; a text that does not read the same in the type of its
            column stays out. A source that is compared by value has its value beside its text.

    Raises:
        SourceChangedError: a hierarchy changed since the source was encoded.
    """
    positions = {item.name: position for position, item in enumerate(encoding.source.items)}
    sensitive = {positions[spec.name]: spec for spec in sensitive_with_lookup(policy)}
    listed = _list_hierarchies(engine, policy, encoding, sensitive)
    frozen: dict[str, exp.Expr] = {}
    for position, (spec, level) in enumerate(zip(policy.quasi_identifiers, node, strict=True)):
        if not has_lookup(spec.hierarchy, level):
            continue
        if (spec.name, level) not in made:
            query = _generalized(encoding, listed.get(position), position, level)
            if released[spec.name] != "VARCHAR":
                query = _readable_as(query, released[spec.name])
            relation = _create(engine, made, (spec.name, level), _keyed(engine, encoding, spec, query))
            _refuse_changed(engine, relation, position, level, spec.name)
        frozen[spec.name] = made[spec.name, level]
    for position, spec in sensitive.items():
        told = _told_of_sensitive(policy, encoding, spec)
        query = _of_sensitive(listed.get(position), position, told)
        _create(engine, made, (spec.name, 0), _keyed(engine, encoding, spec, query, told))
        frozen[spec.name] = made[spec.name, 0]
    engine.drop(names.LISTED)
    return frozen


@dataclass(frozen=True, slots=True)
class _ListedRows:
    """A hierarchy that lists its values: its levels, its rows for NULL, its roots, and the text of one of them."""

    height: int
    null_rows: int
    roots: int
    root: str


def _list_hierarchies(
    engine: Engine, policy: Policy, encoding: Encoding, sensitive: Mapping[int, Column]
) -> dict[int, _ListedRows]:
    """Create the table of the rows of hierarchies that list their values, and return these by position."""
    listed = {
        position: ListedColumn(
            spec, CountedColumn(spec.name, encoding.types[spec.name], sensitive=position in sensitive)
        )
        for position, spec in (*enumerate(policy.quasi_identifiers), *sensitive.items())
        if lists_its_values(spec.hierarchy)
    }
    heights = list_rows(engine, listed, [], policy.extensions)
    if not heights:
        return {}
    rows = {int(row[0]): row for row in engine.run("hierarchy facts", hierarchies.listed_facts(heights, []))}
    return {position: _ListedRows(height, *rows[position][2:5]) for position, height in heights.items()}


def _create(engine: Engine, made: Made, key: tuple[str, int], query: exp.Query) -> str:
    """Create a lookup as a table of ours, note it, and return its name."""
    relation = names.frozen(len(made))
    engine.drop(relation)
    engine.create("freeze lookup", relation, query)
    made[key] = table(relation)
    return relation


def _generalized(encoding: Encoding, listed: _ListedRows | None, position: int, level: int) -> exp.Query:
    """Return the values of a quasi-identifier with their texts at a level: those that its hierarchy lists, or those
    that occur. A NULL that is not listed stays NULL, or joins the only root (``encode.branches``)."""
    told = [named(column(names.level(level)), TEXT)]
    if listed is None:
        return _occurring(position, told)
    if listed.null_rows or encoding.source.taking_part.basic:
        return _listed(position, told, None)
    at_root = listed.roots == 1 and listed.height > 1 and level == listed.height - 1
    text = exp.Literal.string(listed.root) if at_root else exp.null()
    return _listed(position, told, [named(exp.cast(text, "VARCHAR"), TEXT)])


def _told_of_sensitive(policy: Policy, encoding: Encoding, spec: Column) -> list[str]:
    """Return what the lookup of a sensitive column has beside the value: the levels below the root, the place."""
    tree, order = told_by_hierarchy(policy, spec)
    height = encoding.catalog.sensitive_attribute(spec.name).height
    levels = [names.level(level) for level in range(1, height - 1)] if tree else []
    return [*levels, PLACE] if order else levels


def _of_sensitive(listed: _ListedRows | None, position: int, told: Sequence[str]) -> exp.Query:
    """Return the values of a sensitive column with what is told of them; a NULL that is not listed stands alone."""
    cells = [column(name) for name in told]
    if listed is None:
        return _occurring(position, cells)
    kinds = {name: "BIGINT" if name == PLACE else "VARCHAR" for name in told}
    nothing = [named(exp.cast(exp.null(), kind), name) for name, kind in kinds.items()]
    return _listed(position, cells, None if listed.null_rows else nothing)


def _listed(position: int, told: Sequence[exp.Expr], lone_null: Sequence[exp.Expr] | None) -> exp.Query:
    """Return the rows of a hierarchy, and one for a NULL that it does not list with what is told of it, unless None."""
    rows = exp.select(named(column(names.level(0)), VALUE), *told).from_(table(names.LISTED))
    rows = rows.where(of_attribute(position))
    if lone_null is None:
        return rows
    return union_all([rows, exp.select(named(exp.cast(exp.null(), "VARCHAR"), VALUE), *lone_null)])


def _occurring(position: int, told: Sequence[exp.Expr]) -> exp.Query:
    covered = equal(column(COVERED), number(1))
    return exp.select(column(VALUE), *told).from_(lookup_rows(position)).where(covered)


def _readable_as(query: exp.Query, type_name: str) -> exp.Query:
    """Return the rows whose text reads the same in a type: another one would make every reading of the view fail."""
    text = column(TEXT, "frozen")
    back = exp.cast(exp.TryCast(this=text, to=data_type(type_name)), "VARCHAR")
    rows = exp.select(column(VALUE, "frozen"), column(TEXT, "frozen")).from_(query.subquery("frozen"))
    return rows.where(same(back, text.copy()))


def _keyed(
    engine: Engine, encoding: Encoding, spec: Column, query: exp.Query, told: Sequence[str] = (TEXT,)
) -> exp.Query:
    """Return the rows of a lookup, with their values where the source is compared by value (``with_key``)."""
    type_name = encoding.types[spec.name]
    if not engine.capabilities.texts.by_value(type_name):
        return query
    return with_key(query, type_name, occurring=not lists_its_values(spec.hierarchy), told=told)


def with_key(query: exp.Query, type_name: str, *, occurring: bool = False, told: Sequence[str] = (TEXT,)) -> exp.Query:
    """Return the rows of a lookup with their values, without those whose text does not read as a value and back.

    Args:
        type_name: of the source.
        occurring: all of them are values of the source.
        told: the columns beside the value.
    """
    kind = data_type(type_name)
    value = column(VALUE, "frozen")
    key = exp.cast(value, kind) if occurring else exp.TryCast(this=value, to=kind)
    beside = [column(name, "frozen") for name in told]
    keyed = exp.select(column(VALUE, "frozen"), *beside, named(key, KEY)).from_(query.subquery("frozen"))
    rows = exp.select(column(VALUE), *map(column, told), column(KEY)).from_(keyed.subquery("keyed"))
    return rows.where(same(canonical(KEY, type_name), column(VALUE)))


def _refuse_changed(engine: Engine, relation: str, position: int, level: int, name: str) -> None:
    """Raise SourceChangedError unless the encoded and the frozen lookup agree on every value that occurs."""
    agrees = exp.and_(
        same(column(VALUE, "encoded"), column(VALUE, "frozen")),
        same(column(names.level(level), "encoded"), column(TEXT, "frozen")),
    )
    frozen = exp.select(column(VALUE), column(TEXT), named(number(1), "found")).from_(table(relation))
    query = (
        exp.select(count_rows())
        .from_(lookup_rows(position, "encoded"))
        .join(frozen.subquery("frozen"), on=agrees, join_type="left")
        .where(equal(column(COVERED, "encoded"), number(1)))
        .where(exp.GT(this=column(names.COUNT, "encoded"), expression=number(0)))
        .where(is_null(column("found", "frozen")))
    )
    count = engine.run("compare lookups", query)[0][0]
    if count:
        raise SourceChangedError(
            f"The hierarchy of column {name!r} changed between planning and publication: {count} values differ.",
            hint="run again; nothing was published.",
        )
