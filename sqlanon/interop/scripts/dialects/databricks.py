"""Databricks SQL and Apache Spark SQL, which differ in how tables are created only."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.core.engines.spark import dialect as engine
from sqlanon.interop.scripts.dialects.base import TYPES, Dialect, Rule
from sqlanon.interop.scripts.dialects.rules import WAREHOUSE, periods, placed_in_integers, plain_extreme

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.Greatest: plain_extreme,
    exp.Least: plain_extreme,
    exp.Substring: placed_in_integers,
}

DATABRICKS = Dialect(
    name="databricks",
    title="Databricks SQL",
    writes="databricks",
    rules=_RULES,
    types={
        **TYPES,
        exp.DType.VARCHAR: "STRING",
        exp.DType.TEXT: "STRING",
        exp.DType.TIMESTAMP: engine.TYPES[exp.DType.TIMESTAMP],
    },
    patterns=periods("DATE_FORMAT", engine.PATTERNS),
    temporary=False,
    longest_name=255,
    refused_characters=" ,;{}()\n\t=",
    loads="Copy the files into a volume first (databricks fs cp) and put its path in place of /Volumes/YOUR-….",
    notes=(
        "Its tables are ordinary ones of the current schema, dropped at the end: views would be computed anew by each "
        "statement that reads them. They hold values of the source, and stay where an audit ends the script: run the "
        "statements that drop them.",
    ),
)

SPARK = replace(
    DATABRICKS,
    name="spark",
    title="Spark SQL",
    writes="spark",
    properties=(exp.FileFormatProperty(this=exp.var("PARQUET")),),
    release_properties=(exp.FileFormatProperty(this=exp.var("PARQUET")),),
    loads="The paths of the files are Spark's: a shared file system's, where it runs on several computers.",
    preamble=("SET spark.sql.variable.substitute=false",),
)
