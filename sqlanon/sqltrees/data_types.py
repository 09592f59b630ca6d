"""The types of columns by the words that policies use, which are DuckDB's, as sqlglot trees."""

from __future__ import annotations

from sqlglot import exp


def data_type(name: str) -> exp.DataType:
    """Return the type of this name; a DECIMAL without a scale stays one, where DuckDB would give it three places.

    >>> data_type("DECIMAL").sql("postgres"), data_type("DECIMAL(10,2)").sql("postgres")
    ('DECIMAL', 'DECIMAL(10, 2)')
    """
    if name.upper() == "DECIMAL":
        return exp.DataType(this=exp.DType.DECIMAL)
    return exp.DataType.build(name, dialect="duckdb")
