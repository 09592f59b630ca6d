"""ClickHouse."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.interop.scripts.dialects.base import Dialect, Rule
from sqlanon.interop.scripts.dialects.rules import (
    PATTERNS,
    WAREHOUSE,
    call,
    function,
    named_columns,
    operator,
    padded,
    periods,
    plain_extreme,
)


def _type(name: str) -> str:
    return f"Nullable({name})"


def accurate_cast(node: exp.Expr) -> exp.Expr:
    """Return a cast that gives NULL where the value does not read as the type."""
    wanted = node.args["to"].sql(dialect="clickhouse")
    return call("accurateCastOrNull", node.this.unnest(), exp.Literal.string(wanted))


_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.BitwiseAnd: operator("bitAnd"),
    exp.BitwiseLeftShift: operator("bitShiftLeft"),
    exp.BitwiseOr: operator("bitOr"),
    exp.Greatest: plain_extreme,
    exp.IntDiv: operator("intDiv"),
    exp.Least: plain_extreme,
    exp.Left: function("leftUTF8", "this", "expression"),
    exp.Pad: padded("rightPadUTF8", "leftPadUTF8"),
    exp.Right: function("rightUTF8", "this", "expression"),
    exp.Select: named_columns,
    exp.TryCast: accurate_cast,
}

CLICKHOUSE = Dialect(
    name="clickhouse",
    title="ClickHouse",
    writes="clickhouse",
    rules=_RULES,
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
    patterns=periods("formatDateTime", {pattern: pattern for pattern in PATTERNS}),
    properties=(exp.EngineProperty(this=exp.var("Memory")),),
    release_properties=(
        exp.EngineProperty(this=exp.var("MergeTree")),
        exp.Order(expressions=[exp.Anonymous(this="tuple")]),
    ),
    preamble=("SET join_use_nulls = 1", "SET prefer_column_name_to_alias = 1"),
    loads="FROM INFILE is read by clickhouse-client, and its paths begin where that was started.",
    notes=(
        "Run it in one session: its tables are temporary, and its settings decide that a LEFT JOIN gives NULL and that "
        "a name is a column before it is an alias.",
        "A date before 1970 needs the type Date32.",
    ),
)
