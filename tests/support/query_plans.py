"""Query plans of SQLite: the joins of a statement for which every row of one side is compared with all of the other."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

BOUNDED = ("nodes", "masks", "places", "of_entities")
"""Relations with a row for each node of a batch, for each level, or for each value of an order: the statements combine
them with everything on purpose."""
LOOP = re.compile(r"(SCAN|SEARCH) (?:temp\.)?(\S+)")


def unindexed(rows: list[tuple[Any, ...]]) -> Iterator[str]:
    """Yield the loops within others that look through all rows, of an EXPLAIN QUERY PLAN."""
    loops: dict[int, list[str]] = {}
    for _, parent, _, detail in rows:
        if LOOP.match(detail) and detail != "SCAN CONSTANT ROW":
            loops.setdefault(parent, []).append(detail)
    for together in loops.values():
        for detail in together[1:]:
            kind, relation = LOOP.match(detail).groups()  # type: ignore[union-attr]
            if kind == "SCAN" and relation not in BOUNDED:
                yield f"{together[0]} > {detail}"


class Explained(sqlite3.Connection):
    """A connection that keeps the unindexed loops of its statements, each with the beginning of the text."""

    statements = 0
    offending: ClassVar[list[tuple[str, str]]] = []

    def execute(self, text: str, parameters: Any = ()) -> sqlite3.Cursor:
        reads = re.match(r"\s*(SELECT|WITH|INSERT|CREATE (TEMPORARY )?TABLE .* AS)", text, re.DOTALL)
        if reads and not text.endswith("LIMIT 0"):  # which asks for the names and types of columns alone
            type(self).statements += 1
            plan = super().execute(f"EXPLAIN QUERY PLAN {text}", parameters).fetchall()
            self.offending.extend((loop, " ".join(text.split())[:300]) for loop in unindexed(plan))
        return super().execute(text, parameters)


def explained(path: Path | None, *, read_only: bool) -> sqlite3.Connection:
    """What takes the place of the engine's own ``_connect``."""
    target = f"file:{path}?mode={'ro' if read_only else 'rw'}" if path else ":memory:"
    return sqlite3.connect(
        target, uri=path is not None, isolation_level=None, check_same_thread=False, factory=Explained
    )
