"""The lookups of a live view: of each hierarchy the level that was chosen, frozen; and what distances need.

A hierarchy that lists its values gives all of them, whether they occur or not, at every level, 0 included: what it
does not list has no row. One that is computed from the values (``redact``, ``intervals``, …) gives the values that
occur, and at level 0 no lookup: there it would hold nothing but the values themselves.

A sensitive column has a lookup where t-closeness compares it by the tree or the order of its hierarchy: the texts of
the levels below the root, and the places. What the hierarchy does not list has no row there either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.compiler import hierarchies
from sqlanon.core.compiler.encoded_source import COVERED
from sqlanon.core.compiler.hierarchies import CountedColumn
from sqlanon.core.engines.base import Engine, Row
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
    frozen: dict[str, exp.Expr] = {}
    listed = {
        position: ListedColumn(spec, CountedColumn(spec.name, encoding.types[spec.name]))
        for position, spec in enumerate(policy.quasi_identifiers)
        if lists_its_values(spec.hierarchy)
    }
    sensitive = {_position(encoding, spec.name): spec for spec in sensitive_with_lookup(policy)}
    listed |= {
        position: ListedColumn(spec, CountedColumn(spec.name, encoding.types[spec.name], sensitive=True))
        for position, spec in sensitive.items()
        if lists_its_values(spec.hierarchy)
    }
    heights = list_rows(engine, listed, [], policy.extensions)
    facts = {int(row[0]): row[1:] for row in _facts(engine, heights)}
    for position, (spec, level) in enumerate(zip(policy.quasi_identifiers, node, strict=True)):
        if not has_lookup(spec.hierarchy, level):
            continue
        if (spec.name, level) in made:
            frozen[spec.name] = made[spec.name, level]
            continue
        relation = names.frozen(len(made))
        if position in listed:
            _, null_rows, roots, root, _ = facts[position]
            at_root = roots == 1 and heights[position] > 1 and level == heights[position] - 1
            lone_null = not null_rows and not encoding.source.taking_part.basic
            query = _listed(position, level, lone_null=lone_null, root=root if at_root else None)
        else:
            query = _occurring(position, level)
        if released[spec.name] != "VARCHAR":
            query = _readable_as(query, released[spec.name])
        if engine.capabilities.texts.by_value(encoding.types[spec.name]):
            query = with_key(query, encoding.types[spec.name], occurring=not lists_its_values(spec.hierarchy))
        engine.drop(relation)
        engine.create("freeze lookup", relation, query)
        _refuse_changed(engine, relation, position, level, spec.name)
        frozen[spec.name] = made[spec.name, level] = table(relation)
    for position, spec in sensitive.items():
        height = encoding.catalog.sensitive_attribute(spec.name).height
        told = [names.level(level) for level in range(1, height - 1)] if told_by_hierarchy(policy, spec)[0] else []
        told += [PLACE] if told_by_hierarchy(policy, spec)[1] else []
        if position in listed:
            query = _listed_sensitive(position, told, lone_null=not facts[position][1])
        else:
            covered = equal(column(COVERED), number(1))
            query = exp.select(column(VALUE), *map(column, told)).from_(lookup_rows(position)).where(covered)
        if engine.capabilities.texts.by_value(encoding.types[spec.name]):
            occurring = not lists_its_values(spec.hierarchy)
            query = with_key(query, encoding.types[spec.name], occurring=occurring, told=told)
        relation = names.frozen(len(made))
        engine.drop(relation)
        engine.create("freeze lookup", relation, query)
        frozen[spec.name] = made[spec.name, 0] = table(relation)
    engine.drop(names.LISTED)
    return frozen


def _position(encoding: Encoding, name: str) -> int:
    return [item.name for item in encoding.source.items].index(name)


def _listed_sensitive(position: int, told: Sequence[str], *, lone_null: bool) -> exp.Query:
    """Select the values of a hierarchy with its texts; a NULL that it does not list stands alone."""
    rows = exp.select(named(column(names.level(0)), VALUE), *map(column, told)).from_(table(names.LISTED))
    rows = rows.where(of_attribute(position))
    if not lone_null:
        return rows
    kinds = ["VARCHAR", *["BIGINT" if name == PLACE else "VARCHAR" for name in told]]
    nothing = [named(exp.cast(exp.null(), kind), name) for kind, name in zip(kinds, [VALUE, *told], strict=True)]
    return union_all([rows, exp.select(*nothing)])


def _facts(engine: Engine, heights: Mapping[int, int]) -> list[Row]:
    return engine.run("hierarchy facts", hierarchies.listed_facts(heights, [])) if heights else []


def _listed(position: int, level: int, *, lone_null: bool, root: str | None) -> exp.Query:
    """Return the rows of a hierarchy; a NULL that is not listed stays NULL, or joins the only root
    (``encode.branches``)."""
    rows = exp.select(
        named(column(names.level(0)), VALUE),
        named(column(names.level(level)), TEXT),
    ).from_(table(names.LISTED))
    rows = rows.where(of_attribute(position))
    if not lone_null:
        return rows
    text = exp.Literal.string(root) if root is not None else exp.null()
    null_row = exp.select(named(exp.cast(exp.null(), "VARCHAR"), VALUE), named(exp.cast(text, "VARCHAR"), TEXT))
    return union_all([rows, null_row])


def _occurring(position: int, level: int) -> exp.Query:
    covered = equal(column(COVERED), number(1))
    rows = exp.select(column(VALUE), named(column(names.level(level)), TEXT))
    return rows.from_(lookup_rows(position)).where(covered)


def _readable_as(query: exp.Query, type_name: str) -> exp.Query:
    """Return the rows whose text reads the same in a type: another one would make every reading of the view fail."""
    text = column(TEXT, "frozen")
    back = exp.cast(exp.TryCast(this=text, to=data_type(type_name)), "VARCHAR")
    rows = exp.select(column(VALUE, "frozen"), column(TEXT, "frozen")).from_(query.subquery("frozen"))
    return rows.where(same(back, text.copy()))


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
