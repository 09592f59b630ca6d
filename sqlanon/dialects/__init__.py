"""The dialects that the SQL of a policy is said in, in the order of the documentation."""

from __future__ import annotations

from sqlanon.dialects.base import Dialect
from sqlanon.dialects.bigquery import BIGQUERY
from sqlanon.dialects.clickhouse import CLICKHOUSE
from sqlanon.dialects.databricks import DATABRICKS, SPARK
from sqlanon.dialects.duckdb import DUCKDB
from sqlanon.dialects.postgres import POSTGRES
from sqlanon.dialects.snowflake import SNOWFLAKE
from sqlanon.dialects.sqlite import SQLITE
from sqlanon.dialects.trino import TRINO

DIALECTS: tuple[Dialect, ...] = (
    SNOWFLAKE, BIGQUERY, DATABRICKS, CLICKHOUSE, TRINO, POSTGRES, SPARK, SQLITE, DUCKDB,
)  # fmt: skip


def dialect_named(name: str) -> Dialect:
    """The dialect of a name of ``DIALECTS``."""
    return next(dialect for dialect in DIALECTS if dialect.name == name)
