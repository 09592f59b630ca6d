"""SQLite 3.39 and newer, with its mathematical functions."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlanon.core.engines.sqlite.joins import index_on, joined_columns, parts_as_tables, pinned
from sqlanon.core.sqltrees.trees import table
from sqlanon.interop.scripts.dialects.base import TEXTS, Dialect, Lacks, Rule, Step
from sqlanon.interop.scripts.dialects.rules import (
    PATTERNS,
    WAREHOUSE,
    first_characters,
    function,
    greatest_value,
    last_characters,
    padded_by_hand,
    periods,
    quarter_of_text,
    truncating,
    year_of_text,
)


def in_order(node: exp.Expr) -> exp.Expr:
    """Join in the order that is written."""
    assert isinstance(node, exp.Select)
    return pinned(node, nested=isinstance(node.parent, exp.CTE | exp.Subquery))


def steps(statement: exp.Expr) -> Iterator[Step]:
    """Yield the tables of what a statement joins or computes once, the indexes that it finds rows by, and itself."""
    parts, whole = parts_as_tables(statement)
    for name, query in parts:
        yield from _indexes(query)
        yield "a part of the next statements", exp.Create(this=table(name), kind="TABLE", expression=query)
    yield from _indexes(whole)
    yield None, whole
    for name, _ in parts:
        yield "drop the part", exp.Drop(tables=[table(name)], kind="TABLE", exists=True)


def _indexes(statement: exp.Expr) -> Iterator[Step]:
    inside = {part.alias for part in statement.find_all(exp.CTE)}
    for relation, columns in joined_columns(statement):
        if relation not in inside:
            yield "find its rows", index_on(relation, columns)


_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.AnyValue: greatest_value,
    exp.IntDiv: truncating,
    exp.Left: first_characters,
    exp.Pad: padded_by_hand,
    exp.Quarter: quarter_of_text,
    exp.Right: last_characters,
    exp.Select: in_order,
    exp.Substring: function("SUBSTR", "this", "start", "length"),
    exp.TryCast: Lacks(
        "a cast that gives NULL where a text does not read as the type",
        "let the column of intervals be an INTEGER or BIGINT; of a subset give a file or a table.",
    ),
    exp.Year: year_of_text,
}
_INTEGERS = (
    exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128, exp.DType.UTINYINT,
    exp.DType.USMALLINT, exp.DType.UINT,
)  # fmt: skip
_REAL = Lacks("a type of its own for exact decimal numbers", "cast the column to text in a view of the source.")

SQLITE = Dialect(
    name="sqlite",
    title="SQLite",
    writes="sqlite",
    rules=_RULES,
    types={
        exp.DType.VARCHAR: "TEXT",
        exp.DType.TEXT: "TEXT",
        **dict.fromkeys(_INTEGERS, "INTEGER"),
        exp.DType.DOUBLE: "REAL",
        exp.DType.DATE: "TEXT",
        exp.DType.TIMESTAMP: "TEXT",
        exp.DType.DECIMAL: _REAL,
        exp.DType.BOOLEAN: Lacks("a type for truth values", "cast the column to text in a view of the source."),
    },
    texts=TEXTS - {"BOOLEAN", "UBIGINT"},
    steps=steps,
    patterns=periods("STRFTIME", {pattern: pattern for pattern in PATTERNS[:3]}, format_first=True),
    stops="the shell sqlite3 needs -bail",
    loads=".import is a command of the shell sqlite3, and its paths begin where that was started.",
    notes=(
        "LN, CEIL and FLOOR must be compiled in (SQLITE_ENABLE_MATH_FUNCTIONS).",
        "Sums are exact up to 64 bits. Dates are texts of the form YYYY-MM-DD.",
    ),
)
