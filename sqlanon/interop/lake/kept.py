"""What the formats of lakehouses have in common: the types that they keep as a Parquet file of DuckDB has them."""

from __future__ import annotations

import pyarrow as pa

from sqlanon.errors import TargetError


def refuse_types(schema: pa.Schema, format_name: str, *, narrow: bool) -> None:
    """Refuse columns of types that a table would change.

    Args:
        narrow: it has integers of 8 and 16 bits.

    Raises:
        TargetError: names them.
    """
    strange = [field.name for field in schema if not _is_kept(field.type, narrow=narrow)]
    if strange:
        raise TargetError(
            f"{format_name} does not hold the types of {', '.join(map(repr, strange))} as they are.",
            hint="cast these columns in a view of the source: to text, a signed number or a timestamp.",
        )


def _is_kept(kind: pa.DataType, *, narrow: bool) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in (None, "UTC"))
    if types.is_signed_integer(kind):
        return bool(narrow or kind.bit_width >= 32)
    numbers = types.is_float32(kind) or types.is_float64(kind) or types.is_decimal128(kind)
    others = types.is_boolean(kind) or types.is_string(kind) or types.is_binary(kind) or types.is_date32(kind)
    return bool(numbers or others)
