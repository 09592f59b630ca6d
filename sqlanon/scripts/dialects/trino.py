"""Trino."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.scripts.dialects.base import DECIMAL_INTERVALS, PORTABLE, SAME, TEXTS, VARIED, Dialect, Said
from sqlanon.scripts.dialects.rules import (
    always,
    different_texts,
    exact_quotient,
    first_characters,
    function,
    in_double,
    last_characters,
    operator,
    period,
    piped,
    plain_part,
    same_texts,
    without_nulls,
)

_NODES: dict[type[exp.Expr], Said] = {
    exp.BitwiseAnd: operator("bitwise_and"),
    exp.BitwiseLeftShift: operator("bitwise_left_shift"),
    exp.BitwiseOr: operator("bitwise_or"),
    exp.Concat: piped,
    exp.CTE: plain_part,
    exp.Div: in_double,
    exp.Greatest: without_nulls,
    exp.IntDiv: exact_quotient,
    exp.Least: without_nulls,
    exp.Left: first_characters,
    exp.NullSafeEQ: same_texts,
    exp.NullSafeNEQ: different_texts,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.Right: last_characters,
    exp.Substring: function("SUBSTR", "this", "start", "length"),
}

TRINO = Dialect(
    name="trino",
    title="Trino",
    writes="trino",
    nodes={**PORTABLE, **dict.fromkeys(VARIED, SAME), **_NODES},
    types={
        exp.DType.VARCHAR: "VARCHAR",
        exp.DType.TEXT: "VARCHAR",
        exp.DType.TINYINT: "TINYINT",
        exp.DType.SMALLINT: "SMALLINT",
        exp.DType.INT: "INTEGER",
        exp.DType.BIGINT: "BIGINT",
        exp.DType.INT128: "DECIMAL(38, 0)",
        exp.DType.UTINYINT: "SMALLINT",
        exp.DType.USMALLINT: "INTEGER",
        exp.DType.UINT: "BIGINT",
        exp.DType.UBIGINT: "DECIMAL(20, 0)",
        exp.DType.DOUBLE: "DOUBLE",
        exp.DType.BOOLEAN: "BOOLEAN",
        exp.DType.DATE: "DATE",
        exp.DType.TIMESTAMP: "TIMESTAMP(6)",
    },
    texts=TEXTS,
    functions={"ISFINITE": always},
    patterns={
        "%Y-%m-%d": period("DATE_FORMAT", "%Y-%m-%d"),
        "%Y-%m": period("DATE_FORMAT", "%Y-%m"),
        "%Y": period("DATE_FORMAT", "%Y"),
        "%G-W%V": period("DATE_FORMAT", "%x-W%v"),
    },
    temporary=False,
    notes=(
        "Trino has no temporary tables: those of the script are ordinary ones of the current schema, dropped at the "
        "end. Two runs at once need two schemas, and the connector must be able to write.",
        "Trino folds names to small letters, quoted ones too.",
        "Trino leaves out the ORDER BY of a CREATE TABLE, so that the rows of the release may stand in the order of "
        "the source, which can tell whose they are. Give readers a table that is sorted by published columns "
        "(sorted_by, where the connector has it), or what SELECT * FROM it ORDER BY RANDOM() returns.",
    ),
)
