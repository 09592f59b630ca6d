"""The releases of a ledger, and those that a person accepted, read from its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.disk.digests import digest_of
from sqlanon.core.disk.writing import NEW, workplace_of
from sqlanon.core.policy import Output
from sqlanon.core.sqltrees.trees import column
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.facts import PENDING, EarlierRelease, ReleaseEntry

ACCEPTED = "accepted"
"""The fact of a ledger that holds the ids of releases whose persons are others now, as JSON."""
KNOWN = "known targets"
"""The fact of a ledger that holds ``known_targets``, as JSON."""
STANDS, NEVER_STOOD, UNKNOWN = "stands", "never stood", "unknown"
"""What became of a release that was pending when its run ended, where a file shows it; otherwise it stays so."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What reading an entry raises that was edited."""


def known_targets(database: LedgerDatabase) -> dict[str, str]:
    """Return the digests of files that stood at targets when a person accepted the state of the ledger; of a table or a
    view it is empty."""
    return {str(target): str(digest) for target, digest in dict(_fact(database, KNOWN, "{}")).items()}


def target_of(output: Output) -> str:
    """Return by what a target is known again."""
    return str(Path(output.target).resolve()) if output.kind == "file" else f"{output.kind} {output.target}"


def accepted_releases(database: LedgerDatabase) -> frozenset[str]:
    """Return the ids of releases whose persons are others now, as a person said."""
    return frozenset(_fact(database, ACCEPTED, "[]"))


def _fact(database: LedgerDatabase, name: str, missing: str) -> Any:
    with database.reading(*UNREADABLE):
        return json.loads(database.facts().get(name, missing) if database.attached else missing)


def read_releases(database: LedgerDatabase) -> tuple[EarlierRelease, ...]:
    """Return all releases of a ledger, in the order in which they were recorded."""
    if not database.attached:
        return ()
    query = exp.select(*map(column, ("number", "state", "facts"))).from_(database.table("releases"))
    with database.reading(*UNREADABLE):
        rows = database.engine.run("read ledger", query.order_by(column("number")))
        return tuple(EarlierRelease(int(own), str(state), _entry(json.loads(facts))) for own, state, facts in rows)


def _entry(facts: dict[str, Any]) -> ReleaseEntry:
    colludes = facts["colludes"]
    return ReleaseEntry(
        **{
            **facts,
            "colludes": colludes if isinstance(colludes, str) else tuple(colludes),
            "levels": {name: tuple(levels) for name, levels in facts["levels"].items()},
            "models": tuple(facts["models"]),
            "columns": tuple(facts["columns"]),
            **{name: int(facts[name]) for name in ("k", "classes", "persons")},
        }
    )


def fate_of(release: EarlierRelease) -> str:
    """Return the fate of a pending release.

    - It stands: its file is at its place, with its digest.
    - It never stood: its file is still in the workplace beside the target, from where one rename takes it to its place.
    - Nothing is known: a file that is not there may have been handed on and removed, and of a table or a view nothing
      says which release it is. The release stays pending, and counts as published.
    """
    target = release.entry.output.get("file")
    if release.state != PENDING or target is None or release.entry.digest is None:
        return UNKNOWN
    path = Path(target)
    if _is(path, release.entry.digest):
        return STANDS
    return NEVER_STOOD if _is(workplace_of(path) / NEW / path.name, release.entry.digest) else UNKNOWN


def fates(releases: Iterable[EarlierRelease]) -> dict[int, str]:
    """Return the fates of the pending releases, by their numbers."""
    return {item.number: fate_of(item) for item in releases if item.state == PENDING}


def _is(path: Path, digest: str) -> bool:
    with suppress(OSError):
        return path.exists() and digest_of(path) == digest
    return False
