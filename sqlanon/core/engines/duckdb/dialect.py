"""How our statements read in DuckDB, in whose dialect they are built."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator

from sqlanon.core.sqltrees.trees import CASED, HEX_NUMBER, HMAC, NORMAL, SHIFTED, translated, widths

DIALECT = "duckdb"
ODD = r"[\x{85}\x{A0}\x{34F}\x{1680}\x{2000}-\x{206F}\x{3000}\x{FE00}-\x{FE0F}\x{FEFF}-\x{FFEF}]|\p{Cf}"
"""Characters of other widths, blanks and what no font shows: to translate them takes long, and few keys have any."""


class _Own(DuckDBGenerator):
    """DuckDB's generator with the functions that it has under other names, and secure views."""

    PROPERTIES_LOCATION = DuckDBGenerator.PROPERTIES_LOCATION | {
        exp.SecureProperty: exp.Properties.Location.POST_CREATE
    }

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """Write keyed hashes and shifted dates."""
        if expression.name not in (HMAC, HEX_NUMBER, SHIFTED, NORMAL, CASED):
            return super().anonymous_sql(expression)  # which writes the arguments: twice each would be 2^n in a nest
        arguments = [self.sql(argument) for argument in expression.expressions]
        if expression.name == HMAC:
            inner, outer, text = arguments
            return f"SHA256(UNHEX({outer}) || UNHEX(SHA256(UNHEX({inner}) || ENCODE({text}))))"
        if expression.name == HEX_NUMBER:
            return f"CAST('0x' || SUBSTRING({arguments[0]}, 1, 15) AS BIGINT)"
        if expression.name == SHIFTED:
            return f"({arguments[0]} + TO_DAYS(CAST({arguments[1]} AS INTEGER)))"
        text = f"TRIM({arguments[0]}, ' ' || CHR(9) || CHR(10) || CHR(11) || CHR(12) || CHR(13))"
        plain = f"CASE WHEN REGEXP_MATCHES({text}, '{ODD}') THEN {translated(text, widths())} ELSE {text} END"
        composed = f"NFC_NORMALIZE({plain})"
        return f"TRIM(LOWER({composed}))" if expression.name == NORMAL else f"TRIM({composed})"


class _Collated(_Own):
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
    writer = _Collated if collated else _Own
    own = writer(dialect=DuckDB(), identify=True, comments=False, pretty=pretty)
    return own.generate(statement, copy=collated)


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)
