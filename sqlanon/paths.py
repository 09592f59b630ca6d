"""Files by name: the endings that mean something, and questions that no odd name can make fail."""

from __future__ import annotations

import os
from pathlib import Path

DATABASE_ENDINGS = (".duckdb", ".db", ".ddb")
FLAT_ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt")
"""Of source files, other than databases, that the engine reads itself."""
TARGET_ENDINGS = (".duckdb", ".parquet", ".csv")
"""Of files that the engine writes itself."""
REPORT_ENDINGS = (".html", ".txt")


def is_url(source: str) -> bool:
    """True for a database that is not a file."""
    return "://" in source


def is_database(source: str) -> bool:
    """True for the name of a file that holds tables."""
    return source.lower().endswith(DATABASE_ENDINGS)


def is_file(path: Path) -> bool:
    """True when there is such a file; False too for names that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def same_file(left: Path, right: Path) -> bool:
    """True when both are one file, by whatever name, or would be."""
    try:
        return left.samefile(right)
    except (OSError, ValueError):
        return os.path.realpath(left) == os.path.realpath(right)
