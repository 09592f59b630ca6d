"""What the hierarchies of a policy are made of: values as a user writes them, made exact and plain."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sqlanon.core.plain import plain
from sqlanon.parameters import shaped

Rows = tuple[tuple[str | None, ...], ...]
FRACTION = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
"""A number that is written as a text."""
DECIMAL = shaped({"anyOf": [{"type": "number"}, {"type": "string", "pattern": FRACTION}]}, "number, or its text")
DECIMAL_ABOVE_0 = shaped(
    {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": FRACTION}]},
    "number above 0, or its text",
)
YEARS = shaped(
    {"anyOf": [{"type": "number", "multipleOf": 1}, {"type": "string", "pattern": FRACTION}]},
    "whole number, or its text",
)
EDGES = shaped(
    {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": DECIMAL.schema}},
    "list of lists of numbers",
)
FANOUTS = shaped({"type": "array", "items": {"type": "integer", "minimum": 2}}, "list of whole numbers of at least 2")
SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"]}
"""The JSON Schema of a value."""
Exact = int | float | str | Decimal
"""A number that is compared exactly, as the decimal fraction it is written as."""
Found = Iterator[tuple[str, str, str]]
"""Faults: option, message, hint."""


def canonical_text(value: Any) -> str | None:
    """Return an inline value as the database would cast it to text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def exact(value: Any) -> Any:
    """Return a number, or its text, as a decimal fraction; return anything else as it is.

    >>> exact(0.1), exact("0.10"), exact(True)
    (Decimal('0.1'), Decimal('0.10'), True)
    """
    value = plain(value)
    try:
        return value if value is None or isinstance(value, bool) else Decimal(str(value))
    except (InvalidOperation, ValueError):  # ValueError: a number of thousands of digits
        return value


def is_list(value: Any) -> bool:
    """Return True for a list or another sequence that is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def set_fields(spec: object, **values: Any) -> None:
    """Set the fields of a frozen object that is under construction, with plain values."""
    for name, value in values.items():
        object.__setattr__(spec, name, value if isinstance(value, Path) else plain(value))
