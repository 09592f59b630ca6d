"""The dialects that the SQL of a policy is written in, in the order of the documentation."""

from __future__ import annotations

from sqlanon.interop.scripts.dialects.base import Dialect
from sqlanon.interop.scripts.dialects.bigquery import BIGQUERY
from sqlanon.interop.scripts.dialects.clickhouse import CLICKHOUSE
from sqlanon.interop.scripts.dialects.databricks import DATABRICKS, SPARK
from sqlanon.interop.scripts.dialects.duckdb import DUCKDB
from sqlanon.interop.scripts.dialects.postgres import POSTGRES
from sqlanon.interop.scripts.dialects.snowflake import SNOWFLAKE
from sqlanon.interop.scripts.dialects.sqlite import SQLITE
from sqlanon.interop.scripts.dialects.trino import TRINO

DIALECTS: tuple[Dialect, ...] = (
    SNOWFLAKE, BIGQUERY, DATABRICKS, CLICKHOUSE, TRINO, POSTGRES, SPARK, SQLITE, DUCKDB,
)  # fmt: skip


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a name of ``DIALECTS``."""
    return next(dialect for dialect in DIALECTS if dialect.name == name)
