"""YAML files of a dbt project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sqlanon.errors import TargetError


def dump(document: Mapping[str, Any]) -> str:
    """Return the text of a document."""
    plain = json.loads(json.dumps(document))  # every list a copy of its own: YAML would refer from one to the other
    return yaml.safe_dump(plain, allow_unicode=True, sort_keys=False)


def read(path: Path) -> dict[str, Any]:
    """Return the mapping that a file holds.

    Raises:
        TargetError: it holds none, or cannot be read.
    """
    document = read_any(path)
    if not isinstance(document, dict):
        raise TargetError(f"The file {path.name!r} of the folder is no YAML mapping.", hint="correct it first.")
    return document


def read_any(path: Path) -> Any:
    """Return what a file holds; None if it cannot be read."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
