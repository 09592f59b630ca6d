"""What the texts of a database depend on: who reads a live view can change the settings of his session.

A type whose text depends on such a setting is compared by value there. How a value is *read* from the texts that we
freeze (ISO dates with four digits of the year, an offset from UTC, the shortest text of a float) depends on none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextFacts:
    """How an engine makes and compares texts; types are in the words of policies.

    Attributes:
        collation: the one by which two texts are equal only when they are the same, whatever their column says.
        unsteady: types whose text depends on settings of the session, and whose values can be compared instead.
        steady: types whose text depends on nothing but the value; None: all others.
    """

    collation: str | None = None
    unsteady: frozenset[str] = frozenset()
    steady: frozenset[str] | None = None

    def by_value(self, type_name: str) -> bool:
        """True for a type that is compared by value."""
        return _plain(type_name) in self.unsteady

    def comparable(self, type_name: str) -> bool:
        """False for a type whose text depends on settings, and whose values do not tell what the text tells."""
        return self.steady is None or self.by_value(type_name) or _plain(type_name) in self.steady


def _plain(type_name: str) -> str:
    return type_name.upper().split("(")[0]


UNKNOWN = TextFacts()
"""Of an engine without live views."""
DUCKDB = TextFacts("C", frozenset({"TIMESTAMP WITH TIME ZONE"}))
"""TimeZone."""
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
"""TimeZone, DateStyle and extra_float_digits; what IntervalStyle, bytea_output, lc_monetary and search_path change is
left out, and so is what is made of other types (arrays, ranges, composites)."""
