"""What can be reported of an error of SQLite: its kind, and names, but never a value."""

from __future__ import annotations

import sqlite3

from sqlanon.core.engines.sqlstate import WITHHELD

SAFE_KINDS = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_FULL",
    "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_TOOBIG", "SQLITE_NOMEM", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_PROTOCOL",
)  # fmt: skip
"""How the kinds of errors begin whose message is a fixed text (SQLITE_READONLY_DIRECTORY is one)."""
SAFE_BEGINNINGS = (
    "no such table: ", "no such column: ", "no such function: ", "ambiguous column name: ", "table ", "view ",
    "there is already ", "integer overflow", "at most ", "too many ", "cannot join using column ",
    "cannot start a transaction ", "cannot commit", "cannot rollback", "database table is locked",
)  # fmt: skip
"""How the messages of other errors begin that contain names and numbers only; all others may quote a value."""
HINTS: dict[str, str] = {
    "SQLITE_BUSY": "another program writes to the file; wait until it has ended, and run again.",
    "SQLITE_LOCKED": "another program writes to the file; wait until it has ended, and run again.",
    "SQLITE_READONLY": "the file was opened to be read only, or its permissions forbid to write to it.",
    "SQLITE_CANTOPEN": "check that the file exists, and that it and its folder can be read.",
    "SQLITE_NOTADB": "check that the file is a SQLite database, and not encrypted.",
    "SQLITE_CORRUPT": "the file is damaged; run PRAGMA integrity_check on a copy.",
    "SQLITE_FULL": "make room on the disk, and where temporary files are written (SQLITE_TMPDIR).",
    "SQLITE_IOERR": "make room on the disk, and check the folder of temporary files (SQLITE_TMPDIR).",
}
REFUSALS: dict[str, tuple[str, str]] = {
    "overflow": (
        "a sum or product does not fit the 64 bits of its whole numbers",
        "copy the table into a DuckDB or Parquet file, whose sums have 128 bits.",
    ),
    "bytes": (
        "a column holds bytes (BLOB), which have no text",
        "cast them to text in a view of the source, or give the column the role drop.",
    ),
    "unreadable": (
        "a value does not read as the type of its column",
        "SQLite's columns hold any type: cast the column in a view of the source.",
    ),
}
"""The reasons for which a function of ours refuses a value, each with its cure."""
TOO_MANY_TABLES = "at most 64 tables in a join"


def describe(error: sqlite3.Error) -> tuple[str, str]:
    """Return the kind of an error and what can be reported of it."""
    kind = getattr(error, "sqlite_errorname", None) or type(error).__name__
    message = str(error)
    if kind.startswith(SAFE_KINDS) or message.startswith(SAFE_BEGINNINGS):
        return kind, message.splitlines()[0]
    return kind, WITHHELD


def hint(kind: str) -> str:
    """Return what to do about an error of a kind."""
    found = [text for start, text in HINTS.items() if kind.startswith(start)]
    return found[0] if found else "run `sqlanon explain` to see the statement."
