"""Between Arrow's types and Spark's: what Spark does not take is widened, what it adds is taken off."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

LARGEST_PRECISION = 38
"""Digits of the widest decimal of Spark."""


def taken(data: pa.Table) -> pa.Table:
    """The rows of an Arrow table in types that Spark has: unsigned integers widened, dictionaries as their values."""
    fields = [pa.field(field.name, _taken(field.type)) for field in data.schema]
    return data.cast(pa.schema(fields))


def _taken(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _taken(kind.value_type)
    if pa.types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
        return wider[kind.bit_width]
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_null(kind):
        return pa.string()
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind


def given(data: pa.Table) -> pa.Table:
    """The rows as Spark hands them over, without the notes that it adds to the columns."""
    return data.cast(pa.schema([pa.field(field.name, field.type) for field in data.schema]))


def rows(data: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as values of Python; a decimal without a fraction is an ``int``."""
    columns = [_values(data.column(i)) for i in range(data.num_columns)]
    return list(zip(*columns, strict=True)) if columns else []


def _values(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return [None if value is None else int(value) for value in values]
    return list(values)
