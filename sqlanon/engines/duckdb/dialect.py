"""How our statements read in DuckDB, in whose dialect they are built."""

from __future__ import annotations

from sqlglot import exp

DIALECT = "duckdb"


def render(statement: exp.Expr, *, pretty: bool = False) -> str:
    """Return the text of ``statement``, every identifier quoted."""
    return statement.sql(dialect=DIALECT, identify=True, copy=False, comments=False, pretty=pretty)


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)
