"""Conversions of the driver's Arrow tables, in which a NUMERIC is text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

WIDEST = 76
"""The digits of the widest decimal of Arrow."""


def modifier(field: Any) -> int:
    """Return the modifier of a field's type, as the catalog has it; -1 without one."""
    return int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))


def precision(declared: int) -> tuple[int, int] | None:
    """Return digits and decimal places of a NUMERIC by its modifier; None if it has no bound.

    They are (5, 0) for (3, -2), and (4, 4) for (2, 4): types that hold its values and that other databases have too.
    """
    if declared < 4:
        return None
    digits, scale = (declared - 4) >> 16 & 0xFFFF, (declared - 4) & 0x7FF
    if scale >= 0x400:
        return digits + 0x800 - scale, 0
    return max(digits, scale), scale


def _is_numeric(field: Any) -> bool:
    return bool((field.metadata or {}).get(b"POSTGRESQL:type") == b"numeric")


def values(column: pa.ChunkedArray, field: Any) -> list[Any]:
    """Return the values of a column as Python's."""
    if not _is_numeric(field):
        return list(column.to_pylist())
    return [None if text is None else _number(text) for text in column.cast(pa.string()).to_pylist()]


def _number(text: str) -> int | Decimal:
    """Return a NUMERIC: a whole number if it has no decimal places, whatever its column was declared."""
    return Decimal(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


def decimals(column: pa.ChunkedArray, field: Any) -> pa.ChunkedArray:
    """Return a NUMERIC with a declared precision as a decimal of Arrow."""
    if not _is_numeric(field):
        return column
    texts, size = column.cast(pa.string()), precision(modifier(field))
    if size is None or size[0] > WIDEST:
        return texts
    numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
    kind = pa.decimal128(*size) if size[0] <= 38 else pa.decimal256(*size)
    return pa.chunked_array([pa.array(numbers, kind)])
