"""What a file that an embedded DuckDB writes can hold of PostgreSQL's types and values.

A column of another type becomes text; a release with other values is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sqlanon.core.sqltrees.trees import column, count_if, equal

SAME = (
    "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE", "UUID", "BYTEA", "INTERVAL",
)  # fmt: skip
"""The types that a file has too. (A DECIMAL may be too wide for it, and one without a scale has no bound.)"""
WIDEST = 38
"""The digits of the widest DECIMAL of a file."""
MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
LAST = "294246-01-01"
"""The first day whose microseconds, counted from 1970, do not fit 64 bits."""


def file_type(type_name: str) -> str:
    """Return the type of a column in a file: text, if a file has no such type or would round its values."""
    if type_name in SAME:
        return type_name
    digits = type_name.removeprefix("DECIMAL(").split(",")[0]
    return type_name if digits.isdigit() and int(digits) <= WIDEST else "VARCHAR"


def count_unstorable(relation: exp.Expr, types: Mapping[str, str]) -> tuple[list[str], exp.Select]:
    """Return the columns of a relation that may hold values which a file cannot, and a query that counts these values.

    They are infinite dates and moments, moments far beyond the calendar, and NaN in a DECIMAL. The query returns one
    row, with a count a column.
    """
    found: dict[str, exp.Expr] = {}
    for name, kind in types.items():
        cell = column(name)
        if kind in MOMENTS:
            finite = exp.Anonymous(this="ISFINITE", expressions=[cell])
            late = exp.GTE(this=cell.copy(), expression=exp.cast(exp.Literal.string(LAST), "DATE"))
            found[name] = exp.or_(exp.Not(this=finite), late)
        elif kind.startswith("DECIMAL("):
            found[name] = equal(cell, exp.cast(exp.Literal.string("NaN"), "DECIMAL"))
    return list(found), exp.select(*map(count_if, found.values())).from_(relation)
