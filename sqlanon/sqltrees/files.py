"""SQL of fixed shape: the reviewable files of ``sql/``, parsed once by sqlglot and bound on the tree."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

from sqlanon.errors import SqlanonError

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "_sql", _PACKAGE.parent / "sql")


@cache
def read(relative: str) -> str:
    """Return the text of a file of ``sql/``, as ``audit/small_classes.sql``, or of an absolute path (extensions)."""
    for folder in _FOLDERS:
        path = folder / relative  # an absolute path stays what it is
        if path.is_file():
            return path.read_text(encoding="utf-8")
    owner = "the package that provides it" if Path(relative).is_absolute() else "sqlanon"
    raise SqlanonError(f"The SQL file {relative!r} is not installed.", hint=f"install {owner} again.")


def texts(folder: str) -> dict[str, str]:
    """Return the files beneath a folder of ``sql/`` with their texts, by their paths from there."""
    for root in _FOLDERS:
        found = sorted(path for path in (root / folder).rglob("*") if path.is_file())
        if found:
            return {path.relative_to(root / folder).as_posix(): path.read_text(encoding="utf-8") for path in found}
    raise SqlanonError(f"The folder {folder!r} of SQL files is not installed.", hint="install sqlanon again.")


@cache
def _parsed(relative: str) -> exp.Expr:
    return sqlglot.parse_one(read(relative), dialect="duckdb")


def parse(relative: str) -> exp.Expr:
    """Return the one statement of a file, as a tree of its own that the caller may change."""
    return _parsed(relative).copy()
