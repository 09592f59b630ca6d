"""What can be reported of an error of DuckDB: its kind, and names, but never a value."""

from __future__ import annotations

import re

import duckdb

from sqlanon.core.engines.sqlstate import WITHHELD

SAFE_KINDS = (
    duckdb.OutOfMemoryException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.PermissionException,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.NotImplementedException,
)
"""Errors whose first line contains names, paths and sizes only; the text of all others may quote a value."""

PARTITION = re.compile(r"(?<=[/\\])([^/\\=]+)=[^/\\]*(?=[/\\])")
"""A folder in a path that is called ``key=value``: it names a value of a partitioned source or release."""

FULL = "OutOfTemporarySpace"
"""The kind of an error of memory, of input or of output that says that the folder of temporary files is full."""
SPILLED = re.compile(r"failed to offload|duckdb_temp_.*No space left on device")

HINTS: dict[str, str] = {
    FULL: "name a folder with more room in engine.temp_directory, or raise engine.memory_limit.",
    "OutOfMemoryException": "raise engine.memory_limit, or give engine.temp_directory more room.",
    "IOException": "check that the path exists, that it can be read or written, and that the disk has room.",
    "TransactionException": "check that the disk has room, and that nobody else changes the tables; run again.",
    "PermissionException": "check the permissions, and that the database was not opened read-only.",
    "ConnectionException": "read a release, and ask a plan, before its block ends and before the connection is closed.",
    "ConversionException": "a value does not fit the type of its column; check the column types of the source.",
    "InvalidInputException": "check that the file has the declared format (delimiter, quoting, encoding).",
}


def describe(error: duckdb.Error) -> tuple[str, str]:
    """Return the kind of an error and what can be reported of it."""
    kind = type(error).__name__
    if not isinstance(error, SAFE_KINDS):
        return kind, WITHHELD
    message = PARTITION.sub(r"\1=…", str(error).strip().splitlines()[0])
    if SPILLED.search(message):
        return FULL, "what does not fit into memory is written to temporary files, and there is no more room for them"
    return kind, message


def hint(kind: str) -> str:
    """Return what to do about an error of a kind."""
    return HINTS.get(kind, "run `sqlanon explain` to see the statement.")
