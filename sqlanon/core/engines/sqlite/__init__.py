"""SQLite files, through the standard library."""

from contextlib import suppress
from pathlib import Path


def is_sqlite(path: Path) -> bool:
    """Return True if a file begins as SQLite's do."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
    return False
