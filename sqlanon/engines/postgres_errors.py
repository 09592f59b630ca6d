"""What can be said of an error of PostgreSQL: its SQLSTATE, the class of it, and names, but never a value."""

from __future__ import annotations

import adbc_driver_manager as adbc

CLASSES: dict[str, str] = {
    "08": "connection exception",
    "0A": "feature not supported",
    "22": "data exception",
    "23": "integrity constraint violation",
    "25": "invalid transaction state",
    "28": "invalid authorization",
    "40": "transaction rolled back",
    "42": "syntax error or access rule violation",
    "53": "insufficient resources",
    "54": "program limit exceeded",
    "55": "object not in the right state",
    "57": "operator intervention",
    "58": "system error",
    "XX": "internal error",
}
"""What the class, the first two characters of an SQLSTATE, means."""
SAFE_STATES = (
    "3F000",
    "42501",
    "42702",
    "42703",
    "42883",
    "42P01",
    "42P07",
    "42701",
    "53100",
    "53200",
    "53300",
    "55P03",
)
"""Errors whose message speaks of names and sizes only; the text of all others may quote a value."""
HINTS: dict[str, str] = {
    "08": "check that the server runs, and where the driver is told to find it (PGHOST, PGSERVICE).",
    "22": "a value does not fit the type of its column; check the column types of the source.",
    "28": "check the role and its password (PGUSER, PGPASSFILE).",
    "42": "check the names, and that the role may read the source and has TEMPORARY on the database.",
    "53": "the server lacks memory, connections or room on its disk (temp_file_limit, work_mem).",
}


def describe(error: adbc.Error) -> tuple[str, str]:
    """SQLSTATE and what can be said of it: the driver's own message quotes the statement."""
    state = error.sqlstate or "HY000"
    told = CLASSES.get(state[:2], "error")
    if state in SAFE_STATES:
        messages = [
            text for key, text in error.details if key in ("PG_DIAG_MESSAGE_PRIMARY", b"PG_DIAG_MESSAGE_PRIMARY")
        ]
        if messages:
            text = messages[0]
            return state, f"{told}: {text.decode(errors='replace') if isinstance(text, bytes) else text}"
    return state, f"{told}; its message is withheld because it may quote a value"
