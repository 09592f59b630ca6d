"""Snowflake."""

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
    Said,
)
from sqlanon.scripts.dialects.rules import (
    always,
    by_text,
    exact_whole_quotient,
    in_double,
    operator,
    period,
    piped,
    plain_part,
    without_nulls,
)

_NODES: dict[type[exp.Expr], Said] = {
    exp.BitwiseAnd: operator("BITAND"),
    exp.BitwiseLeftShift: operator("BITSHIFTLEFT"),
    exp.BitwiseOr: operator("BITOR"),
    exp.Concat: piped,
    exp.CTE: plain_part,
    exp.Div: in_double,
    exp.Greatest: without_nulls,
    exp.IntDiv: exact_whole_quotient,
    exp.Least: without_nulls,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.TryCast: by_text,
}

SNOWFLAKE = Dialect(
    name="snowflake",
    title="Snowflake",
    writes="snowflake",
    nodes={**PORTABLE, **dict.fromkeys(VARIED, SAME), **_NODES},
    types={
        exp.DType.VARCHAR: "VARCHAR",
        exp.DType.TEXT: "VARCHAR",
        exp.DType.TINYINT: "SMALLINT",
        exp.DType.SMALLINT: "SMALLINT",
        exp.DType.INT: "INT",
        exp.DType.BIGINT: "BIGINT",
        exp.DType.INT128: "DECIMAL(38, 0)",
        exp.DType.UTINYINT: "BIGINT",
        exp.DType.USMALLINT: "BIGINT",
        exp.DType.UINT: "BIGINT",
        exp.DType.UBIGINT: "DECIMAL(20, 0)",
        exp.DType.DOUBLE: "DOUBLE",
        exp.DType.BOOLEAN: "BOOLEAN",
        exp.DType.DATE: "DATE",
        exp.DType.TIMESTAMP: "TIMESTAMPNTZ",
    },
    texts=TEXTS,
    functions={"ISFINITE": always},
    patterns={
        "%Y-%m-%d": period("TO_CHAR", "YYYY-MM-DD"),
        "%Y-%m": period("TO_CHAR", "YYYY-MM"),
        "%Y": period("TO_CHAR", "YYYY"),
        "%G-W%V": WEEKS,
    },
    longest_name=255,
    notes=(
        "Names are quoted as the policy writes them, and Snowflake stores a name that was not quoted in capitals.",
        "A date must read YYYY-MM-DD as text (DATE_OUTPUT_FORMAT, its default).",
    ),
)
