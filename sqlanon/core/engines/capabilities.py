"""The facts about an engine: what it lacks, which is data and not a branch of code, and what its texts depend on.

Texts may depend on settings of a session, which readers of a live view can change. A type whose text depends on such a
setting is compared by value there. How a value is *read* from frozen texts (ISO dates with four digits of the year, an
offset from UTC, the shortest text of a float) depends on none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlanon.errors import UnsupportedError


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

FEATURES: Mapping[str, str] = {
    "read_only": "opens the source for reading only",
    "files": "reads and writes files",
    "tables": "publishes tables",
    "views": "publishes views",
    "live_views": "publishes live views",
    "roles": "gives a release to an owner and readers",
    "transactions": "creates and drops tables in transactions",
    "private_tables": "has tables that no other session sees",
    "side_by_side": "judges nodes side by side",
    "several_sources": "joins sources, and streams files of other formats",
    "transformation": "recodes by patterns and several nodes",
    "wide_sums": "sums beyond 64 bits",
    "null_audit": "audits what the NULLs of a release reveal",
    "keyed": "makes pseudonyms and shifts dates by a key",
    "periods": "releases by closed periods",
}
"""What an engine may lack, as it reads after the engine's name."""


@dataclass(frozen=True, slots=True)
class Lack:
    """The reason why an engine does not have a feature, and what a user does instead."""

    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The facts about an engine.

    Attributes:
        name: as people write it.
        dialect: sqlglot's name of its SQL.
        lacks: the features of ``FEATURES`` that it does not have.
        texts: what its texts depend on.
        missing: the kinds of its errors for a relation or a column that does not exist.
        writes_folders: a release to a file is a folder, which its machines write (``write_folder``).
        repeats_rows: UNNEST(RANGE(n)) in a projection repeats its row n times, for less than a shuffle costs.
        preamble: the statements that a script begins with: they create the functions that its statements call.
        begin: the statement that begins a transaction.
        temporary_schema: of temporary relations, with its dot, so that no other relation of the same name is meant.
        analyzes: its planner knows nothing of the values of a new table before ANALYZE.
        recurs_freely: a recursive statement may group the rows it has so far, and read them more than once.
        groups_by_sets: one statement groups by several columns while it reads its rows once (GROUPING SETS).
        carries: most rows of a base that are carried elsewhere to be judged, unless the policy asks for it.
    """

    name: str
    dialect: str
    lacks: Mapping[str, Lack] = field(default_factory=dict)
    texts: TextFacts = UNKNOWN
    missing: frozenset[str] = frozenset()
    writes_folders: bool = False
    repeats_rows: bool = False
    preamble: tuple[str, ...] = ()
    begin: str = "BEGIN TRANSACTION"
    temporary_schema: str = ""
    analyzes: bool = False
    recurs_freely: bool = True
    groups_by_sets: bool = True
    carries: float = float("inf")

    def __post_init__(self) -> None:
        if unknown := set(self.lacks) - set(FEATURES):
            raise ValueError(f"no such features: {', '.join(sorted(unknown))}")

    def has(self, feature: str) -> bool:
        """Return True if the engine has ``feature``."""
        return feature not in self.lacks

    def require(self, feature: str) -> None:
        """Raise UnsupportedError if the engine lacks ``feature``: why, and what to do instead."""
        if lack := self.lacks.get(feature):
            raise UnsupportedError(f"{self.name}: {lack.reason}", hint=lack.instead)
