"""The types of columns by the words that policies use, which are DuckDB's, as sqlglot trees."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

DIALECT = "duckdb"
INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
)  # fmt: skip
NUMBERS = (*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL")

GROUPED_AS_THEY_ARE = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "DATE", "UUID",
)  # fmt: skip
"""Types whose equal values, and no others, have one canonical text, whatever the engine."""


def data_type(name: str) -> exp.DataType:
    """Return the type of this name; a DECIMAL without a scale stays one, where DuckDB would give it three places.

    >>> data_type("DECIMAL").sql("postgres"), data_type("DECIMAL(10,2)").sql("postgres")
    ('DECIMAL', 'DECIMAL(10, 2)')
    """
    if name.upper() == "DECIMAL":
        return exp.DataType(this=exp.DType.DECIMAL)
    return exp.DataType.build(name, dialect=DIALECT)


def as_texts(name: str, wanted: Sequence[str]) -> str:
    """Return a type with VARCHAR in place of the wanted ones, also where they are parts of it.

    A type that cannot be read becomes VARCHAR as a whole.

    >>> as_texts("ODD(ENUM('a'", ["ENUM"])
    'VARCHAR'
    >>> as_texts("ENUM('a', 'b')[]", ["ENUM"]), as_texts("DECIMAL(10,2)", ["ENUM"])
    ('TEXT[]', 'DECIMAL(10,2)')
    """
    if not any(word in name for word in wanted):
        return name
    try:
        whole = exp.DataType.build(name, dialect=DIALECT, udt=True)
    except (SqlglotError, ValueError):
        return "VARCHAR"
    if whole.this == exp.DataType.Type.USERDEFINED:  # its text as it stands, values included
        return "VARCHAR"
    replaced = {exp.DataType.build(word, dialect=DIALECT).this for word in wanted}
    changed = whole.transform(
        lambda part: exp.DataType.build("VARCHAR") if isinstance(part, exp.DataType) and part.this in replaced else part
    )
    return name if changed == whole else changed.sql(DIALECT)


def without_values(name: str) -> str:
    """Return a type without the values that an ENUM lists.

    >>> without_values("ENUM('a', 'b')"), without_values("STRUCT(x ENUM('a', 'b'))")
    ('ENUM', 'STRUCT(x TEXT)')
    """
    changed = as_texts(name, ["ENUM"])
    return "ENUM" if changed == "TEXT" and changed != name else changed
