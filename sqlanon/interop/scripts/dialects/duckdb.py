"""DuckDB, whose own dialect the statements are built in."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.interop.scripts.dialects.base import SAME, TEXTS, Dialect

DUCKDB = Dialect(
    name="duckdb",
    title="DuckDB",
    writes="duckdb",
    types=dict.fromkeys(
        (
            exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT,
            exp.DType.INT128, exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT, exp.DType.UBIGINT,
            exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.BOOLEAN, exp.DType.DATE,
            exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.UUID, exp.DType.TIME,
        ),
        SAME,
    ),
    texts=TEXTS | {"HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID", "TIME"},
    functions={"ISFINITE": SAME},
    patterns=dict.fromkeys(("%Y-%m-%d", "%G-W%V", "%Y-%m", "%Y"), SAME),
    stops="the shell duckdb needs -bail",
    loads="Paths begin in the folder in which DuckDB was started.",
    wide_literals=True,
    asof=True,
)  # fmt: skip
