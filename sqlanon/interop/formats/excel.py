"""Workbooks of Excel and LibreOffice: a sheet is a table, its first full row names the columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlanon.errors import UnsupportedError
from sqlanon.interop.formats.apart import SHARED, read_apart
from sqlanon.parameters import flag, option, text, whole


class Excel:
    """Files .xlsx, .xlsm, .xls and .ods, read by python-calamine, which holds a whole sheet in memory."""

    name = "excel"
    endings = (".xlsx", ".xlsm", ".xls", ".ods")
    options = (
        option("sheet", text(), about="The sheet that is read.", example="Patients", default="the one that has cells"),
        option("header", flag(), about="Whether the first row names the columns.", example="false", default="true"),
        option(
            "skip",
            whole(0),
            about="Rows of the sheet above the header, or above the first record, that are left out.",
            unit="rows",
            example="3",
            default="titles and blank rows above the first row that fills most of the columns",
        ),
        option(
            "skip_last",
            whole(0),
            about="Rows at the end that are left out: sums.",
            unit="rows",
            example="1",
            default="0",
        ),
        *SHARED,
    )
    writes = False

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        """Return the records of a sheet; see ``FileFormat``.

        Raises:
            SourceError: several sheets have cells and none is named; there is no such sheet; it has no records, or no
                row that can be a header; the file is encrypted, damaged, of another kind or unpacks to too much.
            UnsupportedError: python-calamine is not installed.
        """
        return read_apart(self.name, "workbook", path, options, package="python_calamine", extra="excel")

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        """Raise UnsupportedError."""
        raise UnsupportedError("Workbooks are read only.", hint="write .csv or .parquet.")
