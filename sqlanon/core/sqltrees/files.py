"""SQL of fixed shape: the reviewable files of ``sql/``, parsed once by sqlglot and bound on the tree."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

from sqlanon.errors import SqlanonError

_PACKAGE = Path(__file__).resolve().parents[2]
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


def text_with_parts(relative: str) -> str:
    """Return the text of a file, and of the files that it names."""
    return read(relative) + "".join(text_with_parts(part) for part, _ in _parts(relative, _read_tree(relative)))


@cache
def _read_tree(relative: str) -> exp.Expr:
    return sqlglot.parse_one(read(relative), dialect="duckdb")


def _parts(relative: str, tree: exp.Expr) -> list[tuple[str, exp.Table]]:
    """Return the files of its own folder that a file names, as ``audit.classes``, with the places of their names."""
    folder = relative.rpartition("/")[0]
    return [(f"{folder}/{place.name}.sql", place) for place in tree.find_all(exp.Table) if place.db == folder != ""]


@cache
def _parsed(relative: str) -> exp.Expr:
    """Return the tree of a file with the files that it names in their places.

    What a file that names others declares by WITH stands for the tables of these names in them.
    """
    tree = _read_tree(relative).copy()
    parts = _parts(relative, tree)
    for part, place in parts:
        place.replace(parse(part).subquery(place.alias_or_name))  # type: ignore[attr-defined]  # it is a query
    if parts and "with_" in tree.args:
        declared = {query.alias: query.this for query in tree.args.pop("with_").expressions}
        for place in [place for place in tree.find_all(exp.Table) if place.name in declared]:
            place.replace(declared[place.name].subquery(place.alias_or_name))
    return tree


def parse(relative: str) -> exp.Expr:
    """Return the one statement of a file, as a tree of its own that the caller may change."""
    return _parsed(relative).copy()
