"""Small sqlglot trees of the audits. None is the compiler's: of what it audits, an audit shares the binder
of ``sql/`` and the smallest trees (a column, a table, a number) and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Row
from sqlanon.core.sqltrees.trees import canonical, column, named, number, union_all, when

TERMS = 40
"""Queries that one statement joins by UNION ALL: planners and stacks fail with hundreds."""


def rows_of_all(engine: Engine, name: str, queries: Sequence[exp.Query]) -> list[Row]:
    """Return the rows of all queries, of any number, which have the same columns, sorted by their first cell, which is
    a number: engines return the parts of a UNION ALL in any order."""
    parts = (queries[start : start + TERMS] for start in range(0, len(queries), TERMS))
    return sorted((row for part in parts for row in engine.run(name, union_all(part))), key=itemgetter(0))


def both_bits(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return ``(left & right)``."""
    return exp.paren(exp.BitwiseAnd(this=left, expression=right), copy=False)


def value_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return ``CASE WHEN condition THEN value ELSE 0 END``."""
    return when(condition, value, number(0))


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return ``condition OR condition OR …``; FALSE when there are none."""
    items = list(conditions)
    return exp.paren(exp.or_(*items), copy=False) if items else exp.false()


ALIKE = ("DECIMAL", "FLOAT", "DOUBLE", "REAL")
"""Types with values that are equal and read differently: 1 and 1.00 (of no scale), 0.0 and -0.0."""


def compared_as_read(
    relation: exp.Expr, types: Mapping[str, str], *, entity: str | None, quasi_identifiers: Sequence[str]
) -> exp.Expr:
    """Return a relation whose values differ wherever a reader sees a difference, whatever its collations.

    Args:
        types: of all its columns.
        entity: the column of entities, which is compared as its database compares it; in any case of letters.
        quasi_identifiers: their numbers are compared as texts. (Sensitive ones are not: see ``as_equal``.)
    """
    compared: dict[str, exp.Expr] = {}
    for name, kind in types.items():
        if kind == "VARCHAR" and name.casefold() != (entity or "").casefold():
            compared[name] = exp.Collate(this=column(name), expression=exp.to_identifier("C", quoted=True))
        elif kind in ALIKE and name in quasi_identifiers:
            compared[name] = exp.cast(column(name), "VARCHAR")
    return _with_cells(relation, types, compared)


def as_equal(relation: exp.Expr, types: Mapping[str, str], sensitive: Iterable[str | None]) -> exp.Expr:
    """Return a relation in which equal numbers of the sensitive columns are one value, as they are in the source.

    Args:
        types: of all its columns.
        sensitive: the columns, in any case of letters; None is passed over.
    """
    wanted = {name.casefold() for name in sensitive if name is not None}
    numbers = {
        name: canonical(name, kind) for name, kind in types.items() if kind in ALIKE and name.casefold() in wanted
    }
    return _with_cells(relation, types, numbers)


def _with_cells(relation: exp.Expr, names: Iterable[str], cells: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a relation with other cells in some of its columns; without any, the relation itself."""
    if not cells:
        return relation
    columns = [named(cells[name], name) if name in cells else column(name) for name in names]
    return exp.select(*columns).from_(relation.copy()).subquery("compared")
