"""File formats beyond what the engine reads itself, one a file; ``FORMATS`` lists them."""

from __future__ import annotations

from sqlanon.formats.base import FileFormat
from sqlanon.formats.xml import Xml

FORMATS: tuple[FileFormat, ...] = (Xml(),)
