"""What a ledger holds of its releases, and what a person accepted, read from its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.policy import Output
from sqlanon.core.sqltrees.trees import column
from sqlanon.ledger.database import LedgerDatabase
from sqlanon.ledger.facts import EarlierRelease, ReleaseEntry

ACCEPTED = "accepted"
"""The fact of a ledger that holds the ids of releases whose persons are others now, as JSON."""
KNOWN = "known targets"
"""The fact of a ledger that holds ``known_targets``, as JSON."""
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
