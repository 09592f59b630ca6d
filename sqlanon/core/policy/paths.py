"""Files by name: the endings that mean something, and questions that no odd name can make fail."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACES = ("subset", "population")
"""Parameters of models that may name records beside the source: a file, a table, a column."""

DATABASE_ENDINGS = (".duckdb", ".db", ".ddb", ".sqlite", ".sqlite3")
SERVERS = ("postgresql://", "postgres://")
OBJECT_STORES = (
    "s3://", "s3a://", "s3n://", "gs://", "gcs://", "r2://", "az://", "azure://", "abfss://", "hf://", "https://",
)  # fmt: skip
"""What URLs begin with that DuckDB reads with an extension (httpfs, azure)."""
FLAT_ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt")
"""Of source files, other than databases, that the engine reads itself."""
TEXT_ENDINGS = (".csv", ".tsv", ".txt")
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zip": "zip"}
"""Endings that may follow those of texts -> the compression that they stand for."""
TARGET_ENDINGS = (".duckdb", ".parquet", ".csv")
"""Of files that the engine writes itself."""
REPORT_ENDINGS = (".html", ".txt", ".md", ".json")

CONNECTION = r"passw|pwd|\b(host|hostaddr|user|dbname|service|sslmode)\s*=|(^|/)[a-z][a-z0-9+.]+:(/|[^/]*@)"
"""What a text that a driver connects with holds; a letter and a colon are a drive."""


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """Files that are named by patterns (``files: visits/*.csv``), each below a folder that is no pattern."""

    patterns: tuple[str, ...]
    folder: Path

    def absolute(self) -> tuple[str, ...]:
        """Return the patterns from the root on; URLs stay."""
        return tuple(
            item if is_url(item) or Path(item).is_absolute() else os.path.join(glob.escape(str(self.folder)), item)
            for item in self.patterns
        )

    def found(self) -> tuple[Path, ...]:
        """Return the files here that the patterns name, each once, sorted; ``**`` is any number of folders."""
        found = {match for item in self.absolute() for match in glob.glob(item, recursive=True)}
        return tuple(map(Path, sorted(found)))

    def files(self) -> tuple[Path, ...]:
        """Return the files among them."""
        return tuple(filter(is_file, self.found()))


def is_url(source: str) -> bool:
    """Return True for what is no path."""
    return "://" in source


def is_object(source: str) -> bool:
    """Return True for the URL of a file, or a pattern of files, in an object store or on the web."""
    return source.lower().startswith(OBJECT_STORES)


def is_server(source: str) -> bool:
    """Return True for the URL of a server that sqlanon reaches."""
    return source.lower().startswith(SERVERS)


def is_connection_text(source: str) -> bool:
    """Return True for what a driver might connect with and may hold a password: ``host=… user=…``, or half a URL."""
    return re.search(CONNECTION, source, re.IGNORECASE) is not None


def is_database(source: str) -> bool:
    """Return True for the name of a file that holds tables."""
    return source.lower().endswith(DATABASE_ENDINGS)


def flat_ending(name: str) -> str:
    """Return the ending of a file's name in lower case, of a compressed text that of the text.

    >>> flat_ending("visits.CSV"), flat_ending("visits.tsv.gz"), flat_ending("visits.parquet")
    ('.csv', '.tsv', '.parquet')
    """
    path = Path(name.lower())
    inner = Path(path.stem).suffix
    return inner if path.suffix in COMPRESSED and inner in TEXT_ENDINGS else path.suffix


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


def names_records(key: str, value: Any) -> bool:
    """Return whether a parameter of a model says where records are that the model compares with (``PLACES``).

    The text of a subset is the path of a file; that of a population is none.
    """
    return key in PLACES and (isinstance(value, Mapping) or (key == "subset" and isinstance(value, str)))
