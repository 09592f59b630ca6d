"""File formats beyond what the engine reads itself, one a file; ``FORMATS`` lists them."""

from __future__ import annotations

from sqlanon.core.formats.base import FileFormat
from sqlanon.interop.formats.excel import Excel
from sqlanon.interop.formats.statistical import Statistical
from sqlanon.interop.formats.xml import Xml

FORMATS: tuple[FileFormat, ...] = (
    Xml(),
    Excel(),
    Statistical("sas", (".sas7bdat", ".xpt")),
    Statistical("spss", (".sav", ".zsav")),
    Statistical("stata", (".dta",)),
)
