"""Tables of text columns in DuckDB."""

import duckdb
import pyarrow as pa


def text_table(connection: duckdb.DuckDBPyConnection, columns: list[str], rows: list[tuple], name: str = "t") -> None:
    """Make a table of text columns."""
    data = pa.table({c: pa.array([r[i] for r in rows], pa.string()) for i, c in enumerate(columns)})
    connection.register("arrow_rows", data)
    quoted = name.replace('"', '""')
    connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM arrow_rows')
    connection.unregister("arrow_rows")
