"""What the texts of a database depend on: readers of a live view can change the settings of their sessions.

A type whose text depends on such a setting is compared by value there. How a value is *read* from frozen texts (ISO
dates with four digits of the year, an offset from UTC, the shortest text of a float) depends on none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextFacts:
    """How an engine writes and compares texts; types are in the words of policies.

    Attributes:
        collation: the one by which only identical texts are equal, whatever their column declares.
        unsteady: types whose text depends on settings of the session, and whose values can be compared instead.
        steady: types whose text depends on nothing but the value; None: all others.
    """

    collation: str | None = None
    unsteady: frozenset[str] = frozenset()
    steady: frozenset[str] | None = None

    def by_value(self, type_name: str) -> bool:
        """Return True for a type that is compared by value."""
        return _plain(type_name) in self.unsteady

    def comparable(self, type_name: str) -> bool:
        """Return False for a type whose text depends on settings, and whose values cannot stand in for the texts."""
        return self.steady is None or self.by_value(type_name) or _plain(type_name) in self.steady


def _plain(type_name: str) -> str:
    return type_name.upper().split("(")[0]


UNKNOWN = TextFacts()
"""The facts of an engine without live views."""
DUCKDB = TextFacts("C", frozenset({"TIMESTAMP WITH TIME ZONE"}))
"""The facts of DuckDB, whose texts depend on TimeZone."""
POSTGRES = TextFacts(
    "C",
    frozenset({"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "FLOAT", "DOUBLE"}),
    frozenset(
        {
            "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "VARCHAR", "ENUM", "TIME", "UUID", "CITEXT", "JSONB",
            "INET", "CIDR", "MACADDR", "MACADDR8", "BIT", "VARBIT", "OID", "CHAR",
        }
    ),
)  # fmt: skip
"""The facts of PostgreSQL, whose texts depend on TimeZone, DateStyle and extra_float_digits. Types that IntervalStyle,
bytea_output, lc_monetary and search_path change are left out, and so are arrays, ranges and composites."""
