"""Binds the audits of ``sql/audit`` to a relation, on the tree.

In the files, ``quasi_identifier``, ``released_column`` and ``audited_column`` stand for lists of columns. In
a SELECT or GROUP BY they become the list; in ``ANY_OF(condition)`` and ``ALL_OF(condition)`` the condition is
repeated for every column and joined by OR or AND (of no column: FALSE, TRUE). ``AS_RELEASED(x)`` casts to the
released column's type, ``:name`` is a value, and the tables ``release`` and ``lookup`` stand for relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sqlglot import exp

from sqlanon.sqlfiles import parse

LISTS = ("quasi_identifier", "released_column", "audited_column")


def bind(
    file: str,
    *,
    relations: Mapping[str, exp.Expr],
    columns: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, int | str] | None = None,
    released_type: str | None = None,
) -> exp.Select:
    """The audit ``sql/audit/<file>`` about the given relations.

    Args:
        relations: placeholder table -> table, table function or subquery.
        columns: placeholder column -> columns.
        values: placeholder -> value.
        released_type: what ``AS_RELEASED`` casts to.
    """
    tree = parse(f"audit/{file}")
    assert isinstance(tree, exp.Select)
    placeholders = list(tree.find_all(exp.Placeholder))
    tables = [node for node in tree.find_all(exp.Table) if not node.db and node.name in relations]
    for placeholder in placeholders:
        placeholder.replace(exp.convert((values or {})[placeholder.name]))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.upper() == "AS_RELEASED":
            call.replace(
                exp.cast(call.expressions[0], exp.DataType.build(released_type or "VARCHAR", dialect="duckdb"))
            )
    for name, wanted in (columns or {}).items():
        _expand(tree, name, wanted)
    for node in tables:
        node.replace(_aliased(relations[node.name], node.name))
    return tree


def _expand(tree: exp.Expr, name: str, columns: Sequence[str]) -> None:
    for call in list(tree.find_all(exp.Anonymous)):
        word = call.name.upper()
        if word in ("ANY_OF", "ALL_OF") and _mentions(call, name):
            conditions = [_for_column(call.expressions[0], name, column) for column in columns]
            combine = exp.or_ if word == "ANY_OF" else exp.and_
            nothing = exp.false() if word == "ANY_OF" else exp.true()
            call.replace(exp.paren(combine(*conditions, copy=False), copy=False) if conditions else nothing)
    for holder in list(tree.find_all(exp.Select, exp.Group)):
        expressions = holder.expressions
        if any(_is_placeholder(item, name) for item in expressions):
            holder.set("expressions", [new for item in expressions for new in _listed(item, name, columns)])
            if isinstance(holder, exp.Group) and not holder.expressions:
                holder.pop()
    for node in list(tree.find_all(exp.Column)):
        if _is_placeholder(node, name):
            node.replace(_column(columns[0]))


def _listed(item: exp.Expr, name: str, columns: Sequence[str]) -> list[exp.Expr]:
    return [_column(column) for column in columns] if _is_placeholder(item, name) else [item]


def _mentions(node: exp.Expr, name: str) -> bool:
    return any(_is_placeholder(column, name) for column in node.find_all(exp.Column))


def _for_column(condition: exp.Expr, name: str, column: str) -> exp.Expr:
    return condition.copy().transform(partial(_replaced, name=name, column=column))


def _replaced(node: exp.Expr, *, name: str, column: str) -> exp.Expr:
    return _column(column) if _is_placeholder(node, name) else node


def _is_placeholder(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name == name and not node.this.args.get("quoted")


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """``relation AS "alias"``: of a table or a subquery its own alias, of a query a subquery."""
    copy = relation.copy()
    if isinstance(copy, exp.Query) and not isinstance(copy, exp.Subquery):
        copy = copy.subquery(copy=False)
    copy.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return copy
