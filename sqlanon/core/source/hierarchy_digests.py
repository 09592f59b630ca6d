"""The content of a hierarchy as a digest, by which a later release finds that it means the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.specs import FileHierarchy, TableHierarchy, Zip3
from sqlanon.core.policy import Column
from sqlanon.core.policy.writing import canonical, written_hierarchy
from sqlanon.core.source.lookups import table_rows
from sqlanon.core.source.packing import MeasuredColumn

BY_NAME = ("file", "table")
"""Keys of a hierarchy that say where its content stands, and not what it is."""


def hierarchy_digests(engine: Engine, columns: Mapping[str, MeasuredColumn]) -> dict[str, str]:
    """Return the SHA-256 of the hierarchy of each quasi-identifier: of its content, and of the options it is read by.

    A width that follows from the values is one of the options (``source.widths``). Values of the source have no part
    in it: a digest confirms a guess of a whole hierarchy, and nothing of the records.

    Raises:
        EngineError, HierarchyError, OSError: a hierarchy cannot be read again.
    """
    specs = {name: found.spec for name, found in columns.items() if not found.item.sensitive}
    return {name: _digest(engine, spec) for name, spec in specs.items() if spec.hierarchy is not None}


def is_read(spec: Column) -> bool:
    """Return whether the content of a column's hierarchy stands in a file or a table."""
    return _file(spec) is not None or isinstance(spec.hierarchy, TableHierarchy)


def hierarchy_content(engine: Engine, spec: Column) -> bytes:
    """Return the content that a hierarchy reads; of a table its rows, in an order that no storage decides.

    Raises:
        EngineError, HierarchyError, OSError: it cannot be read.
    """
    if isinstance(spec.hierarchy, TableHierarchy):
        return json.dumps(sorted(map(json.dumps, table_rows(engine, spec.hierarchy.table, spec.name)))).encode()
    file = _file(spec)
    return b"" if file is None else file.read_bytes()


def _file(spec: Column) -> Path | None:
    if isinstance(spec.hierarchy, FileHierarchy):
        return spec.hierarchy.path
    return spec.hierarchy.populations if isinstance(spec.hierarchy, Zip3) else None


def _digest(engine: Engine, spec: Column) -> str:
    assert spec.hierarchy is not None
    keys = written_hierarchy(spec.hierarchy, portable=True)
    options = canonical({key: value for key, value in keys.items() if key not in BY_NAME})
    return hashlib.sha256(json.dumps(options, default=str).encode() + hierarchy_content(engine, spec)).hexdigest()
