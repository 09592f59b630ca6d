"""``${NAME}`` in a policy: the texts that name a place may take it from the environment.

Only texts that are values of the keys in ``PLACES`` are expanded, after the document was read: a variable cannot bring
in a key, and a hierarchy or a model may hold any ``$``. The value of a variable is used to find the place and is shown
nowhere: whatever describes a policy shows the text as it was written (``policy.written_places``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.policy.faults import Faults

FILE: Mapping[str, Any] = {"": "file", "file": True}
FILE_OR_TABLE = {**FILE, "table": True}
COLUMNS = {"*": {"hierarchy": {**FILE_OR_TABLE, "zip3": {"populations": True}}}}
SOURCE = {"source": True, "table": True}
PLACES: Mapping[str, Any] = {
    **SOURCE,
    "files": True,
    "join": SOURCE,
    "columns": COLUMNS,
    "privacy": {"subset": FILE_OR_TABLE, "population": FILE_OR_TABLE},
    "output": {**FILE_OR_TABLE, "view": True, "live_view": True, "folder": True, "delta": True, "iceberg": True},
    "report": True,
    "certificate": True,
    "key": {"file": True},
    "ledger": {**FILE, "schema": True, "key": {"file": True}},
    "engine": {"master": True, "temp_directory": True},
    "tables": {"*": {**SOURCE, "columns": COLUMNS}},
}
"""The keys of a policy file that name places: True for a text, or a list of texts. ``*`` is any key, and ``""`` says
which key a text means that stands for the mapping."""

LISTED = ("files", "privacy")
"""Keys of which one item may stand for a list."""
VARIABLE = re.compile(r"\$\$|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}$]*))?\}|\$\{")
"""``$$`` is a dollar sign. A dollar sign before anything else stands for itself."""
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """A text of a policy that holds variables.

    Attributes:
        path: the keys, and numbers in lists, that lead to it, as ``Policy.to_dict`` writes them.
        written: the text as it was written.
        value: what it means in this environment.
        variables: the names of its variables, each with its value.
    """

    path: KeyPath
    written: str
    value: str = field(repr=False)
    variables: tuple[tuple[str, str], ...] = field(repr=False)


def expand(document: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[WrittenPlace, ...]]:
    """Return a document with the variables of the environment in its places, and these places.

    Raises:
        PolicyError: a variable is not set, or empty, and has no default.
    """
    reader = _Expansion()
    found = reader.walk(document, PLACES, ())
    reader.faults.finish()
    return found, tuple(reader.places)


def escape(text: str) -> str:
    """Return the text that means ``text`` in a policy.

    >>> escape("a$b.csv"), escape("a${b}.csv")
    ('a$b.csv', 'a$${b}.csv')
    """
    return text.replace("$", "$$") if "$$" in text or "${" in text else text


def map_places(document: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """Return a document with ``change(path, text)`` in the place of each text that names a place."""
    found: dict[str, Any] = _walk(document, PLACES, (), change)
    return found


class _Expansion:
    """Collects the places that hold variables, and the faults of these."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.places: list[WrittenPlace] = []

    def walk(self, document: Any, places: Any, path: KeyPath) -> Any:
        """Return a document with its variables expanded."""
        return _walk(document, places, path, self._expanded)

    def _expanded(self, path: KeyPath, text: str) -> str:
        if "$" not in text:
            return text
        used: list[tuple[str, str]] = []
        value = VARIABLE.sub(lambda match: self._value(path, match, used), text)
        if used:
            self.places.append(WrittenPlace(path, text, value, tuple(used)))
        return value

    def _value(self, path: KeyPath, match: re.Match[str], used: list[tuple[str, str]]) -> str:
        name = match["name"]
        if match[0] == "$$":
            return "$"
        if name is None:
            hint = "write ${NAME} or ${NAME:-default}; for the two characters themselves, $${."
            self.faults.add(_dotted(path), "This begins a variable, and is none.", hint)
            return match[0]
        value = os.environ.get(name) or match["default"]
        if not value:
            hint = f"set it, or write ${{{name}:-default}}."
            self.faults.add(_dotted(path), f"The variable {name} of the environment is not set, or empty.", hint)
            return match[0]
        used.append((name, value))
        return value


def _dotted(path: KeyPath) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _below(path: KeyPath, key: str, item: Any) -> KeyPath:
    """Return the path of a key; what may stand for a list of one leads to the first of a list."""
    alone = not path and key in LISTED and not isinstance(item, list | tuple)
    return (*path, key, 0) if alone else (*path, key)


def _walk(value: Any, places: Any, path: KeyPath, change: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_walk(item, places, (*path, place), change) for place, item in enumerate(value))
    if places is True:
        return change(path, value) if isinstance(value, str) else value
    if isinstance(value, str):
        return change((*path, places[""]), value) if "" in places else value
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, item in value.items():
        below = places.get(key, places.get("*")) if isinstance(key, str) and key else None
        found[key] = item if below is None else _walk(item, below, _below(path, key, item), change)
    return found
