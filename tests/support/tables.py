"""Tables in DuckDB."""

import duckdb
import pyarrow as pa


def text_table(connection: duckdb.DuckDBPyConnection, columns: list[str], rows: list[tuple], name: str = "t") -> None:
    """Make a table of text columns."""
    store(connection, pa.table({c: pa.array([r[i] for r in rows], pa.string()) for i, c in enumerate(columns)}), name)


def store(connection: duckdb.DuckDBPyConnection, data: pa.Table, name: str = "t") -> None:
    """Make a table of these records, in place of one of its name."""
    connection.register("arrow_rows", data)
    quoted = name.replace('"', '""')
    connection.execute(f'CREATE OR REPLACE TABLE "{quoted}" AS SELECT * FROM arrow_rows')
    connection.unregister("arrow_rows")
