"""Facts as JSON documents, by their fields: what ``to_dict`` of a result returns follows from what the result holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar


class Facts:
    """Base of results that are JSON documents: a frozen dataclass adds fields, and keys where they are not the fields.

    Attributes:
        KEYS: the keys of the document in their order. ``key`` is a field or property, ``key=name.name`` one of another
            name, ``key?`` is left out where it is None or empty, and ``*name`` stands for all keys of that.
        DIGITS: the decimal digits of numbers; None leaves them as they are.
    """

    __slots__ = ()
    KEYS: ClassVar[str] = ""
    DIGITS: ClassVar[int | None] = None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as a JSON document, for the operator: counts are exact."""
        return pick(self, self.KEYS, digits=self.DIGITS)


def plain(value: Any, digits: int | None = None) -> Any:
    """Return a value as JSON holds it: facts by their keys, dataclasses by their fields, tuples as lists.

    >>> plain({"limit": Decimal("0.05"), "levels": (1, 2)})
    {'limit': 0.05, 'levels': [1, 2]}
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float | Decimal):
        return float(value) if digits is None else round(float(value), digits)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, digits) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return pick(value, digits=digits) if is_dataclass(value) else value


def pick(facts: Any, *keys: str, digits: int | None = None) -> dict[str, Any]:
    """Return some of the facts as a JSON document, by keys that are written as in ``Facts.KEYS``; without, all fields.

    >>> pick(Decimal("0.5"), "number=real imag")
    {'number': 0.5, 'imag': 0.0}
    """
    document: dict[str, Any] = {}
    for key, path, optional in _parsed(" ".join(keys) or " ".join(item.name for item in fields(facts))):
        value = facts
        for name in path:
            value = None if value is None else getattr(value, name)
        if not key:
            document |= plain(value, digits)
        elif not optional or value not in (None, (), {}):
            document[key] = plain(value, digits)
    return document


@cache
def _parsed(keys: str) -> list[tuple[str, list[str], bool]]:
    """Return key, names and whether it may be left out, of each of the keys; the key of ``*name`` is empty."""
    found = []
    for word in keys.split():
        key, _, path = word.partition("=")
        name = key.strip("*?")
        found.append(("" if key.startswith("*") else name, (path or name).split("."), key.endswith("?")))
    return found
