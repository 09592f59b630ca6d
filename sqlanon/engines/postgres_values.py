"""Between the driver's Arrow tables and ours: it hands over a NUMERIC as text, and a script lists rows as VALUES."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

WIDEST = 76
"""Digits of the widest decimal of Arrow."""


def precision(field: Any) -> tuple[int, int] | None:
    """Digits and decimal places of a NUMERIC; None where it has no bound."""
    declared = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    if declared < 4:
        return None
    scale = (declared - 4) & 0x7FF
    return (declared - 4) >> 16 & 0xFFFF, scale - 0x800 if scale >= 0x400 else scale


def _is_numeric(field: Any) -> bool:
    return bool((field.metadata or {}).get(b"POSTGRESQL:type") == b"numeric")


def values(column: pa.ChunkedArray, field: Any) -> list[Any]:
    """The values of a column as Python's: the driver hands over a NUMERIC as text."""
    if not _is_numeric(field):
        return list(column.to_pylist())
    size = precision(field)
    whole = size is not None and size[1] <= 0
    texts = column.cast(pa.string()).to_pylist()
    return [None if text is None else int(text) if whole else Decimal(text) for text in texts]


def decimals(column: pa.ChunkedArray, field: Any) -> pa.ChunkedArray:
    """A NUMERIC with a declared precision as a decimal of Arrow."""
    if not _is_numeric(field):
        return column
    texts, size = column.cast(pa.string()), precision(field)
    if size is None or size[0] > WIDEST or size[1] < 0:
        return texts
    numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
    kind = pa.decimal128(*size) if size[0] <= 38 else pa.decimal256(*size)
    return pa.chunked_array([pa.array(numbers, kind)])


def rows_of(data: pa.Table) -> exp.Query:
    """The rows of a small Arrow table as a SELECT over VALUES; only rendered when a script is asked for."""
    columns = [exp.to_identifier(name, quoted=True) for name in data.column_names]
    kinds = [_kind(field.type) for field in data.schema]
    typed = [exp.cast(exp.column(name), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
    if not data.num_rows:
        nothing = [exp.cast(exp.null(), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
        return exp.select(*nothing).where(exp.false())
    tuples = [exp.Tuple(expressions=[exp.convert(v) for v in row.values()]) for row in data.to_pylist()]
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=[name.copy() for name in columns])
    return exp.select(*typed).from_(exp.Values(expressions=tuples, alias=alias))


def _kind(kind: pa.DataType) -> str:
    """The type of a column that is loaded from Arrow."""
    if pa.types.is_integer(kind):
        return "BIGINT" if kind.bit_width > 32 else "INT" if kind.bit_width > 16 else "SMALLINT"
    if pa.types.is_floating(kind):
        return "DOUBLE" if kind.bit_width > 32 else "FLOAT"
    return "BOOLEAN" if pa.types.is_boolean(kind) else "VARCHAR"
