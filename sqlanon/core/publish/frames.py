"""Released rows as frames of pandas and polars."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sqlanon.errors import UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars


class Frames:
    """What has released rows as an Arrow table, as frames."""

    __slots__ = ()

    def to_arrow(self) -> pa.Table:
        """Return the released rows."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the released rows as a pandas frame, numbered from 0.

        Raises:
            UnsupportedError: pandas is not installed.
        """
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the released rows as a polars frame.

        Raises:
            UnsupportedError: polars is not installed.
        """
        found: polars.DataFrame = _require("polars").from_arrow(self.to_arrow())
        return found


def _require(library: str) -> Any:
    """Import a library of frames.

    Raises:
        UnsupportedError: it is not installed.
    """
    try:
        return import_module(library)
    except ImportError:
        raise UnsupportedError(
            f"{library} is not installed.", hint=f"pip install 'sqlanon[{library}]', or take to_arrow()."
        ) from None
