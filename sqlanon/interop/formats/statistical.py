"""Files of SAS, SPSS and Stata: coded values, their labels, and values that count as missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlanon.errors import UnsupportedError
from sqlanon.interop.formats.apart import SHARED, read_apart
from sqlanon.parameters import flag, option, text


@dataclass(frozen=True, slots=True)
class Statistical:
    """Files of a statistics program, read by pyreadstat piece by piece."""

    name: str
    endings: tuple[str, ...]
    options = (
        option(
            "labels",
            flag(),
            about="Whether labels stand in place of codes, in columns whose every code has a label of its own.",
            example="false",
            default="true",
        ),
        option(
            "user_missing",
            flag(),
            about="Whether values that the file declares missing (-99; .a) are kept as values.",
            example="true",
            default="false: they are NULL",
        ),
        option("encoding", text(), about="The encoding of texts.", example="latin-1", default="what the file says"),
        *SHARED,
    )
    writes = False

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        """Return the records of a file; see ``FileFormat``.

        Raises:
            SourceError: it has no records, or fewer than it says; it is damaged or of another kind.
            UnsupportedError: pyreadstat is not installed.
        """
        return read_apart(self.name, "coded", path, options, package="pyreadstat", extra="stat")

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        """Raise UnsupportedError."""
        raise UnsupportedError("Files of statistics programs are read only.", hint="write .csv or .parquet.")
