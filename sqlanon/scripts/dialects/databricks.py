"""Databricks SQL and Apache Spark SQL, which speak alike but for how tables are made."""

from __future__ import annotations

from dataclasses import replace

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
    in_double,
    period,
    piped,
    placed_in_integers,
    plain_extreme,
    plain_part,
)

_NODES: dict[type[exp.Expr], Said] = {
    exp.Concat: piped,
    exp.CTE: plain_part,
    exp.Div: in_double,
    exp.Greatest: plain_extreme,
    exp.Least: plain_extreme,
    exp.RegexpReplace: DECIMAL_INTERVALS,
    exp.Replace: DECIMAL_INTERVALS,
    exp.Substring: placed_in_integers,
}

DATABRICKS = Dialect(
    name="databricks",
    title="Databricks SQL",
    writes="databricks",
    nodes={**PORTABLE, **dict.fromkeys(VARIED, SAME), **_NODES},
    types={
        exp.DType.VARCHAR: "STRING",
        exp.DType.TEXT: "STRING",
        exp.DType.TINYINT: "TINYINT",
        exp.DType.SMALLINT: "SMALLINT",
        exp.DType.INT: "INT",
        exp.DType.BIGINT: "BIGINT",
        exp.DType.INT128: "DECIMAL(38, 0)",
        exp.DType.UTINYINT: "SMALLINT",
        exp.DType.USMALLINT: "INT",
        exp.DType.UINT: "BIGINT",
        exp.DType.UBIGINT: "DECIMAL(20, 0)",
        exp.DType.DOUBLE: "DOUBLE",
        exp.DType.BOOLEAN: "BOOLEAN",
        exp.DType.DATE: "DATE",
        exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
    },
    texts=TEXTS,
    functions={"ISFINITE": always},
    patterns={
        "%Y-%m-%d": period("DATE_FORMAT", "yyyy-MM-dd"),
        "%Y-%m": period("DATE_FORMAT", "yyyy-MM"),
        "%Y": period("DATE_FORMAT", "yyyy"),
        "%G-W%V": WEEKS,
    },
    temporary=False,
    longest_name=255,
    refused_characters=" ,;{}()\n\t=",
    notes=(
        "Its tables are ordinary ones of the current schema, dropped at the end: views would be computed anew by each "
        "statement that reads them. Two runs at once need two schemas.",
    ),
)

SPARK = replace(
    DATABRICKS,
    name="spark",
    title="Spark SQL",
    writes="spark",
    properties=(exp.FileFormatProperty(this=exp.var("PARQUET")),),
    release_properties=(exp.FileFormatProperty(this=exp.var("PARQUET")),),
    preamble=("SET spark.sql.variable.substitute=false",),
)
