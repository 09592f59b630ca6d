"""ClickHouse."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.scripts.dialects.base import DECIMAL_INTERVALS, PORTABLE, SAME, TEXTS, VARIED, Dialect, Said
from sqlanon.scripts.dialects.rules import (
    always,
    call,
    function,
    in_double,
    named_columns,
    operator,
    padded,
    period,
    piped,
    plain_extreme,
    plain_part,
)


def _type(name: str) -> str:
    return f"Nullable({name})"


def accurate_cast(node: exp.Expr) -> exp.Expr:
    """NULL where the value does not read as the type."""
    wanted = node.args["to"].sql(dialect="clickhouse")
    return call("accurateCastOrNull", node.this.unnest(), exp.Literal.string(wanted))


_NODES: dict[type[exp.Expr], Said] = {
    exp.BitwiseAnd: operator("bitAnd"),
    exp.BitwiseLeftShift: operator("bitShiftLeft"),
    exp.BitwiseOr: operator("bitOr"),
    exp.Concat: piped,
    exp.CTE: plain_part,
    exp.Div: in_double,
    exp.Greatest: plain_extreme,
    exp.IntDiv: operator("intDiv"),
    exp.Least: plain_extreme,
    exp.Left: function("leftUTF8", "this", "expression"),
    exp.Pad: padded("rightPadUTF8", "leftPadUTF8"),
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.Right: function("rightUTF8", "this", "expression"),
    exp.Select: named_columns,
    exp.TryCast: accurate_cast,
}

CLICKHOUSE = Dialect(
    name="clickhouse",
    title="ClickHouse",
    writes="clickhouse",
    nodes={**PORTABLE, **dict.fromkeys(VARIED, SAME), **_NODES},
    types={
        exp.DType.VARCHAR: _type("String"),
        exp.DType.TEXT: _type("String"),
        exp.DType.TINYINT: _type("Int8"),
        exp.DType.SMALLINT: _type("Int16"),
        exp.DType.INT: _type("Int32"),
        exp.DType.BIGINT: _type("Int64"),
        exp.DType.INT128: _type("Int128"),
        exp.DType.UTINYINT: _type("UInt8"),
        exp.DType.USMALLINT: _type("UInt16"),
        exp.DType.UINT: _type("UInt32"),
        exp.DType.UBIGINT: _type("UInt64"),
        exp.DType.DOUBLE: _type("Float64"),
        exp.DType.BOOLEAN: _type("Bool"),
        exp.DType.DATE: _type("Date32"),
        exp.DType.TIMESTAMP: _type("DateTime64(6)"),
    },
    texts=TEXTS,
    functions={"ISFINITE": always},
    patterns={text: period("formatDateTime", text) for text in ("%Y-%m-%d", "%Y-%m", "%Y", "%G-W%V")},
    properties=(exp.EngineProperty(this=exp.var("Memory")),),
    release_properties=(
        exp.EngineProperty(this=exp.var("MergeTree")),
        exp.Order(expressions=[exp.Anonymous(this="tuple")]),
    ),
    preamble=(
        "SET join_use_nulls = 1",
        "SET prefer_column_name_to_alias = 1",
    ),
    notes=(
        "Run it in one session: its tables are temporary, and its settings decide that a LEFT JOIN gives NULL and that "
        "a name is a column before it is an alias.",
        "A date before 1970 needs the type Date32.",
    ),
)
