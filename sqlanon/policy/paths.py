"""Files by name: the endings that mean something, and questions that no odd name can make fail."""

from __future__ import annotations

import os
import re
from pathlib import Path

DATABASE_ENDINGS = (".duckdb", ".db", ".ddb", ".sqlite", ".sqlite3")
SERVERS = ("postgresql://", "postgres://")
FLAT_ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt")
"""Of source files, other than databases, that the engine reads itself."""
TARGET_ENDINGS = (".duckdb", ".parquet", ".csv")
"""Of files that the engine writes itself."""
REPORT_ENDINGS = (".html", ".txt")

CONNECTION = r"passw|pwd|\b(host|hostaddr|user|dbname|service|sslmode)\s*=|(^|/)[a-z][a-z0-9+.]+:(/|[^/]*@)"
"""What a text that a driver connects with holds; a letter and a colon are a drive."""


def is_url(source: str) -> bool:
    """Return True for what is no path."""
    return "://" in source


def is_server(source: str) -> bool:
    """Return True for the URL of a server that sqlanon reaches."""
    return source.lower().startswith(SERVERS)


def is_connection_text(source: str) -> bool:
    """Return True for what a driver might connect with and may hold a password: ``host=… user=…``, or half a URL."""
    return re.search(CONNECTION, source, re.IGNORECASE) is not None


def is_database(source: str) -> bool:
    """Return True for the name of a file that holds tables."""
    return source.lower().endswith(DATABASE_ENDINGS)


def is_file(path: Path) -> bool:
    """Return True if there is such a file; False too for names that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return True if there is such a folder; False too for names that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def same_file(left: Path, right: Path) -> bool:
    """Return True if both are one file, by whatever name, or would be."""
    try:
        return left.samefile(right)
    except (OSError, ValueError):
        return os.path.realpath(left) == os.path.realpath(right)
