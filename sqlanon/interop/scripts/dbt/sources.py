"""The tables that the releases of a project read, declared in one file: dbt accepts one declaration of a table.

Every release changes the file, so no manifest has its digest. It is ours if its text is what this module writes for the
tables that it declares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlanon.core.sqltrees import names
from sqlanon.interop.scripts.dbt import yml

Declared = tuple[str, str]
"""A table of a source: the name of the source, and that of the table."""
FILE = f"{names.PREFIX}sources.yml"
PATHS: Mapping[str, str] = {
    "models": "model-paths",
    "seeds": "seed-paths",
    "tests": "test-paths",
    "snapshots": "snapshot-paths",
    "analyses": "analysis-paths",
    "macros": "macro-paths",
    "functions": "function-paths",
}
"""The folders in which dbt looks for declarations, and what dbt_project.yml calls them."""
_HEAD = "# Written by `sqlanon dbt`: the tables that its models read.\n"


def declarations(tables: Collection[Declared]) -> str:
    """Return the text of the file that declares tables."""
    sources = sorted({source for source, _ in tables})
    held = {name: sorted(table for source, table in tables if source == name) for name in sources}
    entries = [{"name": name, "schema": name, "tables": [{"name": t} for t in held[name]]} for name in sources]
    return _HEAD + yml.dump({"version": 2, "sources": entries})


def declared(path: Path) -> set[Declared]:
    """Return the tables that a file of a project declares; none if there is no such file or dbt cannot read it."""
    found = yml.read_any(path)
    return {
        (source["name"], table["name"]) for source in _named(found, "sources") for table in _named(source, "tables")
    }


def is_ours(path: Path) -> bool:
    """Return True if nobody changed the file of declarations; there may be none."""
    return not path.exists() or path.read_bytes() == declarations(declared(path)).encode()


def declared_elsewhere(folder: Path, document: Mapping[str, Any], ours: Collection[Path]) -> dict[Declared, Path]:
    """Return the tables that other files of a project declare, and where.

    Args:
        document: dbt_project.yml.
        ours: files that are written anew.
    """
    found: dict[Declared, Path] = {}
    for usual, key in PATHS.items():
        listed = document.get(key)
        for place in listed if isinstance(listed, list) else [usual]:
            if not within(folder, str(place)):
                continue
            files = {path for path in (folder / str(place)).rglob("*") if path.suffix in (".yml", ".yaml")}
            for path in sorted(files - set(ours)):
                found |= dict.fromkeys(declared(path), path)
    return found


def within(folder: Path, path: str) -> bool:
    """Return whether a path of the folder leads to a place in it, links included."""
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _named(entry: Any, key: str) -> Iterator[dict[str, Any]]:
    """Yield the mappings with a name in a list of an entry."""
    listed = entry.get(key) if isinstance(entry, dict) else None
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            yield item
