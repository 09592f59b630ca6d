"""Columns between Python's values, Arrow and numpy, made of their buffers.

``pyarrow.array`` and ``to_numpy`` give the same, but look for pandas first, and load it where it is installed: a fifth
of a second of processor time that nothing here needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

LONGEST = 2**31 - 1
"""Bytes of the texts of an array of ``pa.string()``, whose offsets have 32 bits."""


def text_column(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an Arrow array; None is NULL.

    Raises:
        UnicodeEncodeError: a text has half of a surrogate pair.
    """
    texts: Sequence[Any] = values if None not in values else ["" if value is None else value for value in values]
    try:
        data = "".join(texts)
    except TypeError:
        return pa.array(values, pa.string())  # which says what is wrong
    encoded = texts if data.isascii() else [text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(texts)), out=offsets[1:])
    if offsets[-1] > LONGEST:
        return pa.array(values, pa.string())
    present = None
    if texts is not values:
        flags = np.fromiter((value is not None for value in values), bool, len(values))
        present = pa.py_buffer(np.packbits(flags, bitorder="little"))
    buffers = [present, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.encode())]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def whole_column(values: Sequence[int]) -> pa.Array:
    """Return whole numbers of 64 bits as an Arrow array.

    Raises:
        OverflowError: one has more.
    """
    data = np.fromiter(values, np.int64, len(values))
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])


def numpy_column(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return an Arrow column as an array of its own: what ``to_numpy`` returns, NaN for NULL among numbers."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.asarray(column.to_numpy())
    letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    dtype = np.dtype(f"{letter}{kind.bit_width // 8}")  # to_pandas_dtype wants pandas before pyarrow 20
    parts = [np.empty(0, np.float64 if column.null_count and pa.types.is_integer(kind) else dtype)]
    for chunk in column.chunks:
        if not len(chunk):
            continue
        present, data = chunk.buffers()
        inside = slice(chunk.offset, chunk.offset + len(chunk))
        values = np.frombuffer(data, dtype)[inside]
        if chunk.null_count:
            known = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")[inside].astype(bool)
            values = np.where(known, values, parts[0].dtype.type(np.nan))
        parts.append(values)
    return np.concatenate(parts)
