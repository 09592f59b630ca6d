"""File formats beyond what the engine reads itself, one a file; ``FORMATS`` lists them."""

from __future__ import annotations

from sqlanon.policy.formats.base import FileFormat
from sqlanon.policy.formats.xml import Xml

FORMATS: tuple[FileFormat, ...] = (Xml(),)
