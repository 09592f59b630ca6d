"""A builder of documents of policies: columns by name, k, and the keys that matter to a test."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

HIERARCHIES = ("suppress", "redact")
"""What stands for a quasi-identifier with this hierarchy, as it is by default."""


def quasi(hierarchy: Any = "suppress", **keys: Any) -> dict[str, Any]:
    """Return a quasi-identifier with a hierarchy, or with that of a name as it is by default."""
    return {
        "role": "quasi_identifier",
        "hierarchy": {hierarchy: {}} if isinstance(hierarchy, str) else hierarchy,
    } | keys


def intervals(width: Any, *fanouts: int) -> dict[str, Any]:
    """Return a quasi-identifier of intervals, and of groups of so many of them each."""
    return quasi({"intervals": {"width": width} | ({"fanouts": [*fanouts]} if fanouts else {})})


def sensitive(model: str, **parameters: Any) -> dict[str, Any]:
    """Return a sensitive column with one model."""
    return {"role": "sensitive", "models": [{"type": model, **parameters}]}


def diverse(l: Any) -> dict[str, Any]:
    """Return a sensitive column with so many distinct values a class."""
    return sensitive("distinct_l_diversity", l=l)


def document_of(
    columns: Mapping[str, Any], changes: Mapping[str, Any] = MappingProxyType({}), *, k: Any = None, **keys: Any
) -> dict[str, Any]:
    """Return a document with these columns and keys, whose classes have ``k`` records, and with a test's ``changes``.

    A column is a mapping as it stands, or a word: a role, or the hierarchy of a quasi-identifier (``HIERARCHIES``).
    """
    privacy = {} if k is None else {"privacy": [{"type": "k_anonymity", "k": k}]}
    return {"columns": {name: _column(column) for name, column in columns.items()}, **privacy, **keys, **changes}


def _column(column: Any) -> Any:
    if not isinstance(column, str):
        return column
    return quasi(column) if column in HIERARCHIES else {"role": column}


def file_of(path: Path, document: Mapping[str, Any]) -> Path:
    """Write a document to a file, as JSON, which YAML takes too; return the path."""
    path.write_text(json.dumps(document))
    return path
