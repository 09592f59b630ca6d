"""SQL of fixed shape: the reviewable files of ``sql/``, parsed once by sqlglot and bound on the tree."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

from sqlanon.errors import SqlanonError

_PACKAGE = Path(__file__).resolve().parent
_FOLDERS = (_PACKAGE / "_sql", _PACKAGE.parent / "sql")


@cache
def read(relative: str) -> str:
    """The text of a file of ``sql/``, e.g. ``read("audit/small_classes.sql")``."""
    for folder in _FOLDERS:
        path = folder / relative
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise SqlanonError(f"The SQL file {relative!r} is not installed.", hint="install sqlanon again.")


@cache
def _parsed(relative: str) -> exp.Expr:
    return sqlglot.parse_one(read(relative), dialect="duckdb")


def parse(relative: str) -> exp.Expr:
    """The one statement of a file, as a tree of its own that the caller may change."""
    return _parsed(relative).copy()
