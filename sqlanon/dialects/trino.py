"""Trino."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.dialects import rules
from sqlanon.dialects.base import DECIMAL_INTERVALS, PORTABLE, SAME, TEXTS, VARIED, Dialect, Said

_NODES: dict[type[exp.Expr], Said] = {
    exp.BitwiseAnd: rules.operator("bitwise_and"),
    exp.BitwiseLeftShift: rules.operator("bitwise_left_shift"),
    exp.BitwiseOr: rules.operator("bitwise_or"),
    exp.Concat: rules.piped,
    exp.Div: rules.in_double,
    exp.Greatest: rules.without_nulls,
    exp.IntDiv: rules.exact_quotient,
    exp.Least: rules.without_nulls,
    exp.Left: rules.first_characters,
    exp.NullSafeEQ: rules.same_texts,
    exp.NullSafeNEQ: rules.different_texts,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.Right: rules.last_characters,
    exp.Substring: rules.function("SUBSTR", "this", "start", "length"),
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
    functions={"ISFINITE": rules.always},
    patterns={
        "%Y-%m-%d": rules.period("DATE_FORMAT", "%Y-%m-%d"),
        "%Y-%m": rules.period("DATE_FORMAT", "%Y-%m"),
        "%Y": rules.period("DATE_FORMAT", "%Y"),
        "%G-W%V": rules.period("DATE_FORMAT", "%x-W%v"),
    },
    temporary=False,
    notes=(
        "Trino has no temporary tables: those of the script are ordinary ones of the current schema, dropped at the "
        "end. Two runs at once need two schemas, and the connector must be able to write.",
        "Trino folds names to small letters, quoted ones too.",
    ),
)
