"""How our statements read in DuckDB, in whose dialect they are built."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator

DIALECT = "duckdb"


class _Collated(DuckDBGenerator):
    """DuckDB's generator where columns declare collations, which a cast to a text keeps."""

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """Compare our texts (VARCHAR) byte by byte: NOCASE and NOACCENT would merge texts that differ."""
        text = super().cast_sql(expression, safe_prefix)
        wanted = expression.to
        return f"({text} COLLATE C)" if wanted.this == exp.DType.VARCHAR and not wanted.expressions else text


def render(statement: exp.Expr, *, pretty: bool = False, collated: bool = False) -> str:
    """Return the text of ``statement``, every identifier quoted.

    Args:
        collated: columns may have collations.
    """
    if collated:
        return _Collated(dialect=DuckDB(), identify=True, comments=False, pretty=pretty).generate(statement, copy=True)
    return statement.sql(dialect=DIALECT, identify=True, copy=False, comments=False, pretty=pretty)


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)
