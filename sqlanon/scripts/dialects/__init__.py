"""The dialects that the SQL of a policy is written in, in the order of the documentation."""

from __future__ import annotations

from sqlanon.scripts.dialects.base import Dialect
from sqlanon.scripts.dialects.bigquery import BIGQUERY
from sqlanon.scripts.dialects.clickhouse import CLICKHOUSE
from sqlanon.scripts.dialects.databricks import DATABRICKS, SPARK
from sqlanon.scripts.dialects.duckdb import DUCKDB
from sqlanon.scripts.dialects.postgres import POSTGRES
from sqlanon.scripts.dialects.snowflake import SNOWFLAKE
from sqlanon.scripts.dialects.sqlite import SQLITE
from sqlanon.scripts.dialects.trino import TRINO

DIALECTS: tuple[Dialect, ...] = (
    SNOWFLAKE, BIGQUERY, DATABRICKS, CLICKHOUSE, TRINO, POSTGRES, SPARK, SQLITE, DUCKDB,
)  # fmt: skip


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a name of ``DIALECTS``."""
    return next(dialect for dialect in DIALECTS if dialect.name == name)
