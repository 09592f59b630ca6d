"""SQLite 3.39 and newer, with its mathematical functions."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.scripts.dialects.base import (
    DECIMAL_INTERVALS,
    PORTABLE,
    SAME,
    TEXTS,
    VARIED,
    WEEKS,
    Dialect,
    Lacks,
    Said,
)
from sqlanon.scripts.dialects.rules import (
    always,
    first_characters,
    function,
    greatest_value,
    in_double,
    last_characters,
    materialized_part,
    padded_by_hand,
    period,
    piped,
    quarter_of_text,
    truncating,
    without_nulls,
    year_of_text,
)

_NODES: dict[type[exp.Expr], Said] = {
    exp.AnyValue: greatest_value,
    exp.Concat: piped,
    exp.CTE: materialized_part,
    exp.Div: in_double,
    exp.Greatest: without_nulls,
    exp.IntDiv: truncating,
    exp.Least: without_nulls,
    exp.Left: first_characters,
    exp.Pad: padded_by_hand,
    exp.Quarter: quarter_of_text,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.Right: last_characters,
    exp.Substring: function("SUBSTR", "this", "start", "length"),
    exp.TryCast: Lacks(
        "a cast that gives NULL where a text does not read as the type",
        "let the column of intervals be an INTEGER or BIGINT; of a subset give a file or a table.",
    ),
    exp.Year: year_of_text,
}
_REAL = Lacks("a type of its own for exact decimal numbers", "cast the column to text in a view of the source.")

SQLITE = Dialect(
    name="sqlite",
    title="SQLite",
    writes="sqlite",
    nodes={**PORTABLE, **dict.fromkeys(VARIED, SAME), **_NODES},
    types={
        exp.DType.VARCHAR: "TEXT",
        exp.DType.TEXT: "TEXT",
        exp.DType.TINYINT: "INTEGER",
        exp.DType.SMALLINT: "INTEGER",
        exp.DType.INT: "INTEGER",
        exp.DType.BIGINT: "INTEGER",
        exp.DType.INT128: "INTEGER",
        exp.DType.UTINYINT: "INTEGER",
        exp.DType.USMALLINT: "INTEGER",
        exp.DType.UINT: "INTEGER",
        exp.DType.DOUBLE: "REAL",
        exp.DType.DATE: "TEXT",
        exp.DType.TIMESTAMP: "TEXT",
        exp.DType.DECIMAL: _REAL,
        exp.DType.BOOLEAN: Lacks("a type for truth values", "cast the column to text in a view of the source."),
    },
    texts=TEXTS - {"BOOLEAN", "UBIGINT"},
    functions={"ISFINITE": always},
    patterns={
        "%Y-%m-%d": period("STRFTIME", "%Y-%m-%d", format_first=True),
        "%Y-%m": period("STRFTIME", "%Y-%m", format_first=True),
        "%Y": period("STRFTIME", "%Y", format_first=True),
        "%G-W%V": WEEKS,
    },
    notes=(
        "LN, CEIL and FLOOR must be compiled in (SQLITE_ENABLE_MATH_FUNCTIONS).",
        "Sums are exact up to 64 bits. Dates are texts of the form YYYY-MM-DD.",
    ),
)
