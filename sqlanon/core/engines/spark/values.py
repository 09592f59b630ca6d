"""Conversions between Arrow's types and Spark's: Spark's are wider, and its columns carry metadata."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def with_spark_types(data: pa.Table) -> pa.Table:
    """Return the rows of an Arrow table in types that Spark has: unsigned integers widened, dictionaries as values."""
    fields = [pa.field(field.name, _spark_type(field.type)) for field in data.schema]
    return data.cast(pa.schema(fields))


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
        return wider[kind.bit_width]
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind


def without_metadata(data: pa.Table) -> pa.Table:
    """Return the rows of Spark without the metadata that it adds to the columns."""
    return data.cast(pa.schema([pa.field(field.name, field.type) for field in data.schema]))


def rows(data: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows as values of Python; a decimal without a fraction is an ``int``."""
    columns = [_values(data.column(i)) for i in range(data.num_columns)]
    return list(zip(*columns, strict=True)) if columns else []


def _values(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return [None if value is None else int(value) for value in values]
    return list(values)
