"""SQLite 3.39 and newer, with its mathematical functions."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.scripts.dialects.base import TEXTS, Dialect, Lacks, Rule
from sqlanon.scripts.dialects.rules import (
    PATTERNS,
    WAREHOUSE,
    first_characters,
    function,
    greatest_value,
    last_characters,
    materialized_part,
    padded_by_hand,
    periods,
    quarter_of_text,
    truncating,
    year_of_text,
)

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.AnyValue: greatest_value,
    exp.CTE: materialized_part,
    exp.IntDiv: truncating,
    exp.Left: first_characters,
    exp.Pad: padded_by_hand,
    exp.Quarter: quarter_of_text,
    exp.Right: last_characters,
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
    patterns=periods("STRFTIME", {pattern: pattern for pattern in PATTERNS[:3]}, format_first=True),
    notes=(
        "LN, CEIL and FLOOR must be compiled in (SQLITE_ENABLE_MATH_FUNCTIONS).",
        "Sums are exact up to 64 bits. Dates are texts of the form YYYY-MM-DD.",
    ),
)
