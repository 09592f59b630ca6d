"""What of PostgreSQL a file holds that an embedded DuckDB writes: other types are text, other values are refused."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sqlanon.sqltrees.trees import equal, when

SAME = (
    "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE", "UUID", "BYTEA", "INTERVAL",
)  # fmt: skip
"""Types that pass as they are, with every value of theirs but ``unheld`` ones. (A DECIMAL may be too wide, and one
without a scale has no bound: its values have as many digits as they please.)"""
WIDEST = 38
"""Digits of the widest DECIMAL of a file."""
MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
LAST = "294246-01-01"
"""The microseconds of later moments do not fit 64 bits, counted from 1970."""


def file_type(type_name: str) -> str:
    """The type that a column has in a file: text, where a file has no such type or would round its values."""
    if type_name in SAME:
        return type_name
    digits = type_name.removeprefix("DECIMAL(").split(",")[0]
    return type_name if digits.isdigit() and int(digits) <= WIDEST else "VARCHAR"


def unheld(relation: exp.Expr, types: Mapping[str, str]) -> tuple[list[str], exp.Select] | None:
    """The columns of a relation that may hold values which a file cannot, and a query of one row that counts them.

    These are infinite dates and moments, moments far beyond the calendar, and NaN in a DECIMAL. None: no such column.
    """
    found: dict[str, exp.Expr] = {}
    for name, kind in types.items():
        cell = exp.column(exp.to_identifier(name, quoted=True))
        if kind in MOMENTS:
            finite = exp.Anonymous(this="ISFINITE", expressions=[cell])
            late = exp.GTE(this=cell.copy(), expression=exp.cast(exp.Literal.string(LAST), "DATE"))
            found[name] = exp.or_(exp.Not(this=finite), late)
        elif kind.startswith("DECIMAL("):
            found[name] = equal(cell, exp.cast(exp.Literal.string("NaN"), "DECIMAL"))
    if not found:
        return None
    counts = [
        exp.Coalesce(
            this=exp.Sum(this=when(condition, exp.Literal.number(1))),
            expressions=[exp.Literal.number(0)],
        )
        for condition in found.values()
    ]
    return list(found), exp.select(*[exp.cast(count, "BIGINT") for count in counts]).from_(relation)
