"""Moving a policy's document to another folder: its relative paths lead to the same files afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlanon.core.policy.paths import is_url, names_records


def relocated(document: Mapping[str, Any], old: Path, new: Path) -> tuple[Mapping[str, Any], int]:
    """Return the document for the folder ``new``, and the number of paths that were rewritten.

    Paths are those of sources, hierarchies, subsets, populations, key, output and report; absolute ones, URLs, and
    those that begin with a variable of the environment stay.
    Options of file formats stay too: what they mean is the format's own matter.
    """
    if os.path.realpath(old) == os.path.realpath(new):
        return document, 0
    move = _Move(old, new)
    changes: Mapping[str, Callable[[Any], Any]] = {
        "source": move.path,
        "files": lambda files: [move.path(item) for item in files] if isinstance(files, list) else move.path(files),
        "report": move.path,
        "output": move.file,
        "key": move.file,
        "join": lambda joins: [
            {key: move.path(x) if key == "source" else x for key, x in join.items()} for join in joins
        ],
        "privacy": move.models,
        "columns": lambda columns: {name: move.column(column) for name, column in columns.items()},
    }
    moved = {key: changes[key](item) if key in changes and item is not None else item for key, item in document.items()}
    return moved, len(move.rewritten)


@dataclass(frozen=True, slots=True)
class _Move:
    """From one folder to another; ``rewritten`` collects the paths that changed."""

    old: Path
    new: Path
    rewritten: list[str] = field(default_factory=list)

    def path(self, value: Any) -> Any:
        """Return a path that leads from the new folder to where it led from the old one.

        Folders are resolved, since ``..`` of a link to a folder is not where the link stands; the file is not.
        """
        if not isinstance(value, str) or is_url(value) or Path(value).is_absolute() or value.startswith("${"):
            return value
        self.rewritten.append(value)
        file = Path(os.path.realpath(self.old / Path(value).parent), Path(value).name)
        try:
            return Path(os.path.relpath(file, os.path.realpath(self.new))).as_posix()
        except ValueError:  # on another drive
            return str(file)

    def file(self, value: Any) -> Any:
        """Return a mapping that may name a file; a text names one itself."""
        if isinstance(value, Mapping):
            return {key: self.path(item) if key == "file" else item for key, item in value.items()}
        return self.path(value)

    def column(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a column's hierarchy and the subsets of its models."""
        hierarchy = {"hierarchy": self.file(value["hierarchy"])} if "hierarchy" in value else {}
        models = {"models": self.models(value["models"])} if value.get("models") is not None else {}
        return {**value, **hierarchy, **models}

    def models(self, value: Any) -> list[Any]:
        """Return models, with the subsets and populations that they name."""
        return [
            {key: self.file(item) if names_records(key, item) else item for key, item in model.items()}
            for model in value
        ]
