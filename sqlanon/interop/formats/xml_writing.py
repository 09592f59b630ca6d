"""Writing records as XML, in the form that ``formats.xml`` describes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lxml import etree

from sqlanon.errors import TargetError
from sqlanon.interop.formats.xml_document import INSTANCE, NIL

RECORD = "record"
PLAIN = re.compile(r"(?![Xx][Mm][Ll])[A-Za-z_À-ÖØ-öø-ÿ][A-Za-z0-9_.À-ÖØ-öø-ÿ-]{0,249}")
"""Column names that are written as elements: names in every edition of XML, and none that XML keeps for itself."""
NO_CHARACTER = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
"""What XML 1.0 cannot hold, not even as a reference (section 2.2), for RE2; Arrow's texts have no surrogates."""
LONGEST = 9_000_000
"""Bytes of a text that is written: libxml2 reads no more than 10,000,000."""
SLICE = 5_000
"""Rows that are texts of Python at once."""


def write_records(path: Path, rows: pa.RecordBatchReader) -> None:
    """Write rows to a file; raises as ``Xml.write``."""
    columns = _writable_names(rows.schema.names)
    failure: str | None = None
    try:
        with etree.xmlfile(str(path), encoding="utf-8") as out:
            out.write_declaration()
            with out.element("release", nsmap={"xsi": INSTANCE}):
                _write_records(out, rows, columns)
                out.write("\n")
    except etree.SerialisationError as error:
        failure = str(error)  # a code such as IO_ENOSPC
    except OSError as error:
        if error.strerror is None:  # not of the file, but of what makes the rows
            raise
        failure = error.strerror
    if failure:
        raise TargetError(
            f"The target file {path.name!r} could not be written ({failure}).",
            hint="check the permissions and the room on the disk.",
        )


def _writable_names(names: list[str]) -> list[tuple[str, str, dict[str, str]]]:
    """Return per column its name, the element that it is written as, and that element's attributes."""
    if not names:
        raise TargetError("An XML file cannot hold a table without columns.", hint="keep a column, or write Parquet.")
    seen: dict[str, str] = {}
    for name in names:
        _refuse_texts(name, "name", pa.array([name], pa.large_string()))
        if name.lower() in seen:
            raise TargetError(
                f"The columns {seen[name.lower()]!r} and {name!r} differ by case only, or not at all.",
                hint="rename one of them in a view of the source.",
            )
        seen[name.lower()] = name
    return [
        (name, name, {}) if PLAIN.fullmatch(name) and name != RECORD else (name, "column", {"name": name})
        for name in names
    ]


def _write_records(out: Any, rows: pa.RecordBatchReader, columns: list[tuple[str, str, dict[str, str]]]) -> None:
    written = 0
    for batch in rows:
        for start in range(0, batch.num_rows, SLICE):
            texts = [array.cast(pa.large_string()) for array in batch.slice(start, SLICE).columns]
            for (name, _, _), array in zip(columns, texts, strict=True):
                _refuse_texts(name, "text", array)
            for row in zip(*[array.to_pylist() for array in texts], strict=True):
                _write_record(out, row, columns)
                written += 1
    if not written:
        raise TargetError("An XML file cannot hold a table without records.", hint="write Parquet or CSV.")


def _write_record(out: Any, row: tuple[str | None, ...], columns: list[tuple[str, str, dict[str, str]]]) -> None:
    out.write("\n")
    with out.element(RECORD):
        for value, (_, tag, attributes) in zip(row, columns, strict=True):
            if value is None:
                with out.element(tag, {**attributes, NIL: "true"}):
                    pass
            else:
                with out.element(tag, attributes):
                    out.write(value)


def _refuse_texts(column: str, what: str, array: pa.LargeStringArray) -> None:
    """Refuse what would not be read back as it is."""
    where = f"The column {column!r} has a {what}"
    if pc.any(pc.match_substring_regex(array, NO_CHARACTER)).as_py():
        raise TargetError(
            f"{where} with a control character that XML cannot hold.",
            hint="write Parquet or CSV, or remove such characters in a view of the source.",
        )
    if (pc.max(pc.binary_length(array)).as_py() or 0) > LONGEST:
        raise TargetError(f"{where} of more than {LONGEST} bytes, which XML parsers refuse.", hint="write Parquet.")
