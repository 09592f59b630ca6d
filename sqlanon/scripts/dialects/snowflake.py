"""Snowflake."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.scripts.dialects.base import TYPES, Dialect, Rule
from sqlanon.scripts.dialects.rules import WAREHOUSE, by_text, exact_whole_quotient, operator, periods

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.BitwiseAnd: operator("BITAND"),
    exp.BitwiseLeftShift: operator("BITSHIFTLEFT"),
    exp.BitwiseOr: operator("BITOR"),
    exp.IntDiv: exact_whole_quotient,
    exp.TryCast: by_text,
}

SNOWFLAKE = Dialect(
    name="snowflake",
    title="Snowflake",
    writes="snowflake",
    rules=_RULES,
    types={
        **TYPES,
        exp.DType.TINYINT: "SMALLINT",
        exp.DType.UTINYINT: "BIGINT",
        exp.DType.USMALLINT: "BIGINT",
        exp.DType.TIMESTAMP: "TIMESTAMPNTZ",
    },
    patterns=periods("TO_CHAR", {"%Y-%m-%d": "YYYY-MM-DD", "%Y-%m": "YYYY-MM", "%Y": "YYYY"}),
    longest_name=255,
    notes=(
        "Names are quoted as the policy writes them, and Snowflake stores a name that was not quoted in capitals.",
        "A date must read YYYY-MM-DD as text (DATE_OUTPUT_FORMAT, its default).",
    ),
)
