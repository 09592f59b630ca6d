"""Bind the files of ``sql/`` to relations, columns and values, on the tree.

In the files some column names stand for lists of columns (``class_key``, ``quasi_identifier``, …). In a SELECT,
GROUP BY, PARTITION BY or USING they become the list; in ``ANY_OF(condition)`` and ``ALL_OF(condition)`` the condition
is repeated for every column and joined by OR or AND (of no column: FALSE, TRUE). ``AS_RELEASED(x)`` casts to the
released column's type, ``:name`` is a value, and table names stand for relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.files import parse
from sqlanon.core.sqltrees.trees import aliased, column
from sqlanon.errors import InputError

Value = int | float | str

_HOLDERS = (exp.Select, exp.Group, exp.Window, exp.Join)
"""What holds lists of columns."""
_LISTED = (exp.Anonymous, *_HOLDERS, exp.Order, exp.Column)
"""Where the name of a list may stand."""


def bind(
    file: str,
    *,
    relations: Mapping[str, exp.Expr] | None = None,
    columns: Mapping[str, Sequence[str | exp.Expr]] | None = None,
    values: Mapping[str, Value] | None = None,
    released_type: str | None = None,
) -> exp.Select:
    """Return the statement of ``sql/<file>`` about relations.

    Args:
        relations: placeholder table -> table, table function or query; other tables keep their names.
        columns: placeholder column -> names of columns, or expressions for them (``x AS name``; not in USING).
        values: placeholder -> value.
        released_type: what ``AS_RELEASED`` casts to.

    Raises:
        InputError: a placeholder has no value (a file from outside the package).
    """
    tree = parse(file)
    assert isinstance(tree, exp.Select)
    relations = relations or {}
    found = list(tree.find_all(exp.Table, exp.Placeholder, exp.Anonymous))
    tables = [node for node in found if isinstance(node, exp.Table) and not node.db and node.name in relations]
    for node in found:
        if isinstance(node, exp.Placeholder):
            if values is None or node.name not in values:
                raise InputError(f"The SQL file {file!r} has :{node.name}, which has no value.", hint="add it.")
            node.replace(_literal(values[node.name]))
    for node in found:
        if isinstance(node, exp.Anonymous) and node.name.upper() == "AS_RELEASED":
            node.replace(exp.cast(node.expressions[0], data_type(released_type or "VARCHAR"), copy=False))
    for name, wanted in (columns or {}).items():
        _expand(tree, name, wanted)
    for node in tables:
        relation, alias = relations[node.name], node.alias or node.name
        if isinstance(relation, exp.Query) and not isinstance(relation, exp.Subquery):
            node.replace(relation.subquery(exp.TableAlias(this=exp.to_identifier(alias, quoted=True))))
        else:
            node.replace(aliased(relation, alias))
    return tree


def _literal(value: Value) -> exp.Expr:
    """Return a literal; a float is cast to DOUBLE, because 0.2 alone is a DECIMAL to some databases."""
    if isinstance(value, float):
        return exp.cast(exp.Literal.number(repr(value)), "DOUBLE")
    return exp.convert(value)


def _expand(tree: exp.Expr, name: str, columns: Sequence[str | exp.Expr]) -> None:
    """Put the columns in the place of the column ``name``, wherever it stands for a list or in a condition."""
    found = list(tree.find_all(*_LISTED))
    repeated = [node for node in found if isinstance(node, exp.Anonymous) and _repeats(node, name)]
    for call in repeated:
        conditions = [_for_column(call.expressions[0], name, wanted) for wanted in columns]
        combine = exp.or_ if call.name.upper() == "ANY_OF" else exp.and_
        nothing = exp.false() if call.name.upper() == "ANY_OF" else exp.true()
        call.replace(exp.paren(combine(*conditions, copy=False), copy=False) if conditions else nothing)
    if repeated:
        found = list(tree.find_all(*_LISTED))
    listed = set()  # what stands in the tree no more
    for holder in found:
        for key in ("expressions", "partition_by", "using") if isinstance(holder, _HOLDERS) else ():
            items = holder.args.get(key) or []
            if any(_is_placeholder(item, name) for item in items):
                news = [new for item in items for new in _listed(item, name, columns)]
                listed |= {id(item) for item in items} - {id(new) for new in news}
                holder.set(key, news if isinstance(holder, exp.Select) else [new.unalias() for new in news])
        if isinstance(holder, exp.Group) and not holder.expressions:
            holder.pop()
    for item in [item for order in found if isinstance(order, exp.Order) for item in order.expressions]:
        if isinstance(item, exp.Ordered) and _is_placeholder(item.this, name):
            listed.add(id(item.this))
            keys = [exp.Ordered(**{**item.args, "this": new.unalias()}) for new in _listed(item.this, name, columns)]
            item.replace(keys)
    for node in found:
        if isinstance(node, exp.Column) and id(node) not in listed and _is_placeholder(node, name):
            node.replace(_reference(columns[0], node.text("table")).unalias())


def _listed(item: exp.Expr, name: str, columns: Sequence[str | exp.Expr]) -> list[exp.Expr]:
    if not _is_placeholder(item, name):
        return [item]
    if isinstance(item, exp.Identifier):
        return [exp.to_identifier(str(wanted), quoted=True) for wanted in columns]
    return [_reference(wanted, item.text("table")) for wanted in columns]


def _repeats(call: exp.Anonymous, name: str) -> bool:
    """Return whether a call repeats its condition for the columns that ``name`` stands for."""
    return call.name.upper() in ("ANY_OF", "ALL_OF") and any(
        _is_placeholder(found, name) for found in call.find_all(exp.Column)
    )


def _for_column(condition: exp.Expr, name: str, wanted: str | exp.Expr) -> exp.Expr:
    """Return the condition about one of the columns."""

    def replaced(node: exp.Expr) -> exp.Expr:
        return _reference(wanted, node.text("table")).unalias() if _is_placeholder(node, name) else node

    return condition.transform(replaced)


def _is_placeholder(node: exp.Expr, name: str) -> bool:
    identifier = node.this if isinstance(node, exp.Column) else node
    return isinstance(identifier, exp.Identifier) and identifier.name == name and not identifier.args.get("quoted")


def _reference(wanted: str | exp.Expr, table: str) -> exp.Expr:
    """Return a column of ``table`` by its name; an expression as it is."""
    return column(wanted, table) if isinstance(wanted, str) else wanted.copy()
