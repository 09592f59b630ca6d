"""XML: records are elements, columns are their child elements and attributes.

    <patients>
      <patient id="7"><sex>f</sex><age xsi:nil="true"/><note/></patient>
    </patients>

has one record: id 7, sex f, age NULL, note the empty text. Names count without their namespaces. A release looks like

    <release xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <record><sex>f</sex><column name="age at visit">47</column><zip xsi:nil="true"></zip></record>
    </release>

with ``<column name="…">`` for a column whose name is no plain name of XML. Such elements are read back as what they
name, as are those of ``mysqldump --xml``, which are called ``<field name="…">``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlanon.parameters import option, shaped, text

ELEMENT = re.compile(r"[^\W\d][\w.-]*")


def _element_name(value: Any) -> str | None:
    good = isinstance(value, str) and ELEMENT.fullmatch(value)
    return None if good else "give the name of the record elements, without prefix or namespace."


class Xml:
    """XML files; ``record`` names the record elements (default: the children of the root), ``null`` a text for NULL."""

    name = "xml"
    endings = (".xml",)
    options = (
        option(
            "record",
            shaped({"type": "string", "pattern": f"^{ELEMENT.pattern}$"}, "name of an element", _element_name),
            about="The name of the elements that are records.",
            example="ward",
            default="the children of the root",
        ),
        option("null", text(empty=True), about="The text that is NULL.", example="NA", default="xsi:nil alone"),
    )
    writes = True

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        """Return the records of an XML file; see ``FileFormat``.

        Raises:
            SourceError: besides what ``refuse_doctype`` refuses: not well-formed; no records; a column twice in a
                record; an element with elements or with attributes in a column; text beside the columns; names that
                differ by case only; an attribute and an element of one name; children of the root with different names.
        """
        from sqlanon.interop.formats.safe_xml import refuse_doctype
        from sqlanon.interop.formats.xml_document import Document

        refuse_doctype(path)
        document = Document(path, options.get("record"), options.get("null"))
        columns = document.columns()
        schema = pa.schema([(name, pa.string()) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, document.batches(columns, schema))

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        """Write the rows as records; see ``FileFormat``.

        Raises:
            TargetError: a name or a text has a character that XML cannot hold, or is too long; two names differ by case
                only; there are no rows; the disk refused.
        """
        from sqlanon.interop.formats.xml_writing import write_records

        write_records(path, rows)
