"""What can be reported of an error of PostgreSQL: its SQLSTATE, the class of it, and names, but never a value."""

from __future__ import annotations

import re
from collections.abc import Mapping

import adbc_driver_manager as adbc

from sqlanon.core.engines.sqlstate import WITHHELD, error_class
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
    "53400",
    "55P03",
)
"""Errors whose message contains names and sizes only, if it is the server's own: a function beneath a view may raise
any of them with a text of its own (``_is_own``). The text of all others may quote a value."""
LOST = "08006"
"""The SQLSTATE of a connection that is gone."""
DISK_FULL, TOO_LARGE = "53100", "53400"
"""The SQLSTATEs of temporary files for which there is no room, or which are larger than the server allows."""
CANCELLED = "57014"
"""The SQLSTATE of a statement that was cancelled."""
TOO_SLOW = (
    "the statement took longer than statement_timeout",
    "let the role run longer: ALTER ROLE … SET statement_timeout = 0.",
)
"""What the same SQLSTATE means where time was the reason, and what to do."""
STATES: dict[str, str] = {
    LOST: "the connection to the server is lost",
    "25006": "the session only reads",
    "25P02": "an earlier statement failed or was interrupted, and took the temporary tables of the run with it",
    "2BP01": "another relation depends on it",
    "42704": "a role, type or collation is not there",
    CANCELLED: "an administrator of the server cancelled the statement",
    "72000": "the state that the run reads is older than the server keeps",
    DISK_FULL: "a disk of the server is full",
    TOO_LARGE: "a limit of the server is reached, which is temp_file_limit where temporary files grow",
    "57P01": "an administrator of the server ended the session",
    "57P02": "the server crashed, and ended the session",
    "57P03": "the server is starting or stopping",
    "57P05": "the server ended the session, because it was idle for too long",
}
"""What some errors mean, more exactly than their class."""
HINTS: dict[str, str] = {
    "2BP01": "drop the views that stand on the old release, or publish under another name.",
    "25006": "connect to the primary, as a role whose default_transaction_read_only is off.",
    "42704": "check the roles that the output names, and the types of the source.",
    "25P02": "plan again.",
    CANCELLED: "run again, or ask the administrator why.",
    "72000": "raise old_snapshot_threshold, or let the run begin when less is written.",
    DISK_FULL: "make room there: temporary files are written to pgsql_tmp of the data directory, or to a tablespace "
    "(temp_tablespaces).",
    TOO_LARGE: "let the role write more (ALTER ROLE … SET temp_file_limit, as a superuser), or raise its work_mem.",
    "57": "run again when the server accepts sessions.",
    LOST: "see the server's log for the reason, and run again.",
    "08": "check that the server runs, and where the driver looks for it (PGHOST, PGSERVICE).",
    "22": "a value does not fit the type of its column; check the column types of the source.",
    "28": "check the role and its password (PGUSER, PGPASSFILE).",
    "42": "check the names, and that the role may read the source and has TEMPORARY on the database.",
    "53": "the server lacks memory, connections or room on its disk (temp_file_limit, work_mem).",
}


LOSSES = (
    "no connection to the server",
    "connection not open",
    "closed the connection",
    "connection has been closed",
    "terminating connection",
    "could not receive data from server",
    "could not send data to server",
    "SSL SYSCALL error",
    "Connection reset",
    "Connection timed out",
    "Broken pipe",
)
"""Phrases of libpq that say that a connection is gone: such an error has no SQLSTATE."""

_HOST = "check the host and the port (PGHOST, PGPORT, PGSERVICE), and that the server runs there."
_ROLE = "check the role (PGUSER), and what pg_hba.conf asks of it."
_PASSWORD = (
    "check the password that the driver finds: PGPASSWORD, a password file (PGPASSFILE, ~/.pgpass) or a service."
)
_TLS = "check sslmode, the certificates that it needs, and whether the server has TLS on."
CONNECTING: tuple[tuple[str, str, str, str], ...] = (
    (r'database "" does not exist', "3D000", "the server has no database of that name",
     "check the database that the URL names, or PGDATABASE."),
    (r'role "" does not exist', "28000", "the server has no role of that name", _ROLE),
    (r'role "" is not permitted to log in', "28000", "the role may not log in", "let it: ALTER ROLE … LOGIN."),
    (r"password authentication failed", "28P01", "the server refused the password", _PASSWORD),
    (r"no password supplied", "28P01", "the server asks for a password, and none was found", _PASSWORD),
    (r"pg_hba\.conf", "28000", "the server lets no such role in from here", _ROLE),
    (r"authentication failed", "28000", "the server does not believe that the session is the role's", _ROLE),
    (r"permission denied for database", "42501", "the role may not connect to the database",
     "let it: GRANT CONNECT ON DATABASE …."),
    (r"too many (clients|connections)|connection slots", "53300", "the server has no room for another session",
     "run again later, or end other sessions."),
    (r"the database system is|not yet accepting|recovery mode", "57P03", "the server is starting or stopping",
     "run again when the server accepts sessions."),
    (r"translate host name", "08001", "there is no host of that name", _HOST),
    (r"refused|No such file or directory", "08001", "no server answers there", _HOST),
    (r"timeout|timed out|No route to host|unreachable", "08001", "the host cannot be reached", _HOST),
    (r"startup parameter", "08P01", "a pooler lets no session begin with PostgreSQL's own names (options)",
     "connect to the server itself, or let the pooler pass options."),
    (r"service", "08001", "the service is not defined", "check PGSERVICE, and the file that PGSERVICEFILE names."),
    (r"SSL|TLS|certificate", "08001", "no encrypted connection could be made", _TLS),
    (r"invalid|missing", "08001", "the URL or a variable of libpq (PG…) cannot be read",
     "write postgresql://host/database."),
)  # fmt: skip
"""What libpq and the server say when a session is not opened, for the driver reports no SQLSTATE of it: a pattern, the
SQLSTATE, its meaning and the cure. A server that speaks another language is not understood."""


def describe(error: adbc.Error, *, too_slow: bool = False) -> tuple[str, str, str]:
    """Return the SQLSTATE, what can be reported of an error, and what to do about it.

    The driver's own message quotes the statement.

    Args:
        too_slow: the statement took as long as the server lets it.
    """
    state = error.sqlstate or (LOST if _is_loss(error) else UNKNOWN)
    meaning = STATES.get(state) or error_class(state)
    details = {_text(key): _text(value) for key, value in error.details}
    message = details.get("PG_DIAG_MESSAGE_PRIMARY") or ""
    if state == CANCELLED and (too_slow or "timeout" in message):
        return state, *TOO_SLOW
    if message and state in SAFE_STATES and _is_own(details):
        return state, f"{meaning}: {message}", _hint(state)
    return state, meaning if state in STATES else f"{meaning}; {WITHHELD}", _hint(state)


def _is_loss(error: adbc.Error) -> bool:
    """Return True if an error without an SQLSTATE says that the connection is gone."""
    said = str(error).split("Query was:")[0]
    return any(phrase in said for phrase in LOSSES)


def _hint(state: str) -> str:
    """Return what to do about an error."""
    return HINTS.get(state) or HINTS.get(state[:2], "run `sqlanon explain` to see the statement.")


def refused_session(error: adbc.Error) -> InputError:
    """Return the error of a session that could not be opened: it says why, and repeats nothing that the driver said."""
    said = re.sub('"[^"]*"', '""', str(error))  # names may be any words
    for pattern, state, meaning, cure in CONNECTING:
        if re.search(pattern, said):
            return InputError(f"PostgreSQL did not open a session ({state}: {meaning}).", hint=cure)
    state, message, cure = describe(error)
    if state == UNKNOWN:
        return InputError(f"PostgreSQL refused the connection, or was not reached ({message}).", hint=HINTS["08"])
    return InputError(f"PostgreSQL did not open a session ({state}: {message}).", hint=cure)


def _is_own(details: Mapping[str, str]) -> bool:
    """Return True if the error is about our statement: one within a function, or of another server, has a context."""
    return not any(key in details for key in ("PG_DIAG_CONTEXT", "PG_DIAG_INTERNAL_QUERY"))


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
