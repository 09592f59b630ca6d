"""What can be reported of an error of PostgreSQL: its SQLSTATE, the class of it, and names, but never a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import adbc_driver_manager as adbc

from sqlanon.engines.sqlstate import WITHHELD, error_class
from sqlanon.errors import InputError

UNKNOWN = "HY000"
"""The SQLSTATE of an error that has none."""

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
"""Errors whose message contains names and sizes only, if it is the server's own: a function beneath a view may raise
any of them with a text of its own (``_is_own``). The text of all others may quote a value."""
STATES: dict[str, str] = {
    "25006": "the session only reads",
    "2BP01": "another relation depends on it",
    "42704": "a role, type or collation is not there",
    "57014": "the statement was cancelled, or took longer than statement_timeout",
    "57P01": "the session was ended by the server",
    "57P03": "the server is starting or stopping",
}
"""What some errors mean, more exactly than their class."""
HINTS: dict[str, str] = {
    "2BP01": "drop the views that stand on the old release, or publish under another name.",
    "25006": "connect to the primary, as a role whose default_transaction_read_only is off.",
    "42704": "check the roles that the output names, and the types of the source.",
    "57014": "let the role run longer: ALTER ROLE … SET statement_timeout = 0.",
    "57": "run again when the server accepts sessions.",
    "08": "check that the server runs, and where the driver looks for it (PGHOST, PGSERVICE).",
    "22": "a value does not fit the type of its column; check the column types of the source.",
    "28": "check the role and its password (PGUSER, PGPASSFILE).",
    "42": "check the names, and that the role may read the source and has TEMPORARY on the database.",
    "53": "the server lacks memory, connections or room on its disk (temp_file_limit, work_mem).",
}


def describe(error: adbc.Error) -> tuple[str, str]:
    """Return the SQLSTATE and what can be reported of an error: the driver's own message quotes the statement."""
    state = error.sqlstate or UNKNOWN
    meaning = STATES.get(state) or error_class(state)
    details = {_text(key): _text(value) for key, value in error.details}
    message = details.get("PG_DIAG_MESSAGE_PRIMARY")
    if message and state in SAFE_STATES and _is_own(details):
        return state, f"{meaning}: {message}"
    return state, f"{meaning}; {WITHHELD}"


def hint(state: str) -> str:
    """Return what to do about an error."""
    return HINTS.get(state) or HINTS.get(state[:2], "run `sqlanon explain` to see the statement.")


def refuse_session(state: str, message: str) -> NoReturn:
    """Raise InputError for a session that could not be opened."""
    if state == UNKNOWN:  # if the server was not reached, or refused the role, the driver reports no more
        raise InputError(f"PostgreSQL refused the connection, or was not reached ({message}).", hint=HINTS["08"])
    raise InputError(f"PostgreSQL did not open a session ({state}: {message}).", hint=hint(state))


def _is_own(details: Mapping[str, str]) -> bool:
    """Return True if the error is about our statement: one within a function, or of another server, has a context."""
    return not any(key in details for key in ("PG_DIAG_CONTEXT", "PG_DIAG_INTERNAL_QUERY"))


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
