"""Values as Python programs hold them, made the plain ones of a policy file: paths, numbers of libraries, arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

DEEPEST = 60
"""How deep the values of a policy nest at most."""


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as a policy file would hold it; one that has no place in a policy stays as it is.

    A number keeps the decimal fraction that it is written as.

    >>> from pathlib import Path
    >>> plain({"file": Path("a.csv"), "share": Fraction(1, 20)})
    {'file': 'a.csv', 'share': Decimal('0.05')}
    """
    kind = type(value)
    if value is None or kind in (str, bool, int, float) or depth > DEEPEST:
        return value
    if kind is Decimal:
        return Decimal("NaN") if value.is_snan() else value
    if isinstance(value, Mapping):
        return {plain(key, depth + 1): plain(item, depth + 1) for key, item in value.items()}
    if kind in (list, tuple):
        return kind(plain(item, depth + 1) for item in value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return _number(value, depth)


def _number(value: Any, depth: int) -> Any:
    """Return a number, or an array of them, as plain ones; anything else as it is."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    if isinstance(value, Real):  # as text: of 0.1 in 32 bits the shortest is meant
        return float(str(value))
    if hasattr(value, "ndim") and hasattr(value, "tolist"):
        return plain(value.tolist(), depth + 1)
    return value


def set_plain(facts: Any) -> None:
    """Make the fields of a frozen dataclass that is under construction plain."""
    for field in fields(facts):
        object.__setattr__(facts, field.name, plain(getattr(facts, field.name)))


def is_unicode(text: str) -> bool:
    """Return False for a text with half a pair of surrogates, which no file and no database can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
