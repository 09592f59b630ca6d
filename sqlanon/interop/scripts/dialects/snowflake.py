"""Snowflake."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.interop.scripts.dialects.base import TYPES, Dialect, Rule
from sqlanon.interop.scripts.dialects.rules import (
    WAREHOUSE,
    by_text,
    exact_whole_quotient,
    in_capitals,
    operator,
    periods,
)

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.BitwiseAnd: operator("BITAND"),
    exp.BitwiseLeftShift: operator("BITSHIFTLEFT"),
    exp.BitwiseOr: operator("BITOR"),
    exp.Identifier: in_capitals,
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
    loads="PUT is a statement of Snowflake's own clients (snow sql, SnowSQL) and drivers, not of a worksheet.",
    notes=(
        "Names of small letters, digits and underscores are written in capitals, as Snowflake stores what is not "
        "quoted; others as the policy writes them.",
        "A date must read YYYY-MM-DD as text (DATE_OUTPUT_FORMAT, its default).",
    ),
)
