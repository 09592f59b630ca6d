"""Opening a project of ARX: a ZIP archive from an untrusted source. Nothing is extracted under a name that it gives.

Entries are looked up by the names that ARX writes, and read into memory up to a limit, whatever their headers say. XML
is opened like a definition: no DOCTYPE, nothing resolved. CSV is what ARX writes: no header in hierarchies.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from pathlib import Path
from typing import Self

from lxml import etree

from sqlanon.errors import InputError
from sqlanon.interop.anon.definition_opening import opened

Rows = list[list[str]]
"""The rows of a CSV file, as texts."""
ENTRIES = 10_000
"""Entries of an archive."""
LARGEST = {".xml": 64 << 20, ".dat": 256 << 20, ".csv": 1 << 30}
"""Bytes of an entry, decompressed."""
DENSEST = 200
"""Bytes that one compressed byte of a large entry may become; deflate reaches 1,032 with zeros, tables some 20."""
SMALL = 32 << 20
"""Bytes of an entry that may be as dense as it likes."""
PIECE = 1 << 20
SPECIAL = re.compile('[;"\r\n]|^\\s|\\s$')
"""What makes a field of a CSV file need quotes."""
OLD_ENCODING = "windows-1252"
"""What ARX wrote on Windows before Java 18, when a file is no UTF-8."""
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ProjectFile:
    """An open project; ``remarks`` collects what was guessed while it was read."""

    def __init__(self, path: Path) -> None:
        """Open a project.

        Raises:
            InputError: it is no ZIP archive, or one that ARX does not write.
        """
        self.name = path.name
        self.remarks: list[str] = []
        failure = ""
        try:
            self._archive = zipfile.ZipFile(path)
        except OSError as error:
            failure = error.strerror or "it cannot be opened"
        except (zipfile.BadZipFile, NotImplementedError, ValueError, RecursionError):
            failure = "it is no ZIP archive"
        if failure:
            raise self.refused(failure, "give a project that ARX has saved (.deid).")
        try:
            self._entries = self._checked()
        except InputError:
            self._archive.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def refused(self, why: str, hint: str) -> InputError:
        """Return the error of a project that cannot be read."""
        return InputError(f"The ARX project {self.name!r} cannot be read: {why}.", hint=hint)

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        entries = self._archive.infolist()
        hint = "save the project again with ARX, and give that file."
        if len(entries) > ENTRIES:
            raise self.refused(f"it has more than {ENTRIES:,} entries", hint)
        for entry in entries:
            parts = entry.filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0].endswith(":") or not parts[0]:
                raise self.refused("an entry has a name that leads out of the archive", hint)
            if entry.flag_bits & 1 or entry.compress_type not in COMPRESSIONS:
                raise self.refused("an entry is encrypted, or compressed in a way that ARX does not use", hint)
        if len({entry.filename for entry in entries}) < len(entries):
            raise self.refused("an entry stands twice", hint)
        return {entry.filename: entry for entry in entries}

    def has(self, entry: str) -> bool:
        """Return whether there is such an entry."""
        return entry in self._entries

    def read(self, entry: str) -> bytes:
        """Return the bytes of an entry.

        Raises:
            InputError: it is not there, damaged, larger than it may be, or compressed beyond measure.
        """
        if entry not in self._entries:
            raise self.refused(f"it has no {entry!r}", "save the project again with ARX 2.0 or later.")
        info = self._entries[entry]
        largest = min(LARGEST.get(Path(entry).suffix, PIECE), max(info.compress_size * DENSEST, SMALL))
        pieces: list[bytes] = []
        size = 0
        failure = ""
        try:
            with self._archive.open(info) as stream:
                while piece := stream.read(PIECE):
                    size += len(piece)
                    if size > largest:
                        failure = f"{entry!r} is larger than any that ARX writes"
                        break
                    pieces.append(piece)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError):
            failure = f"{entry!r} is damaged"
        if failure:
            raise self.refused(failure, "save the project again with ARX.")
        return b"".join(pieces)

    def xml(self, entry: str) -> etree._Element:
        """Return the root element of an XML entry."""
        return opened(self.read(entry), f"{entry} of {self.name}").root

    def rows(self, entry: str, delimiter: str) -> Rows:
        """Return the rows of a CSV entry, without blank lines.

        Raises:
            InputError: the entry cannot be read, or is not what ARX writes.
        """
        data = self.read(entry)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode(OLD_ENCODING, "replace")
            self.remarks.append(
                f"{entry!r} is no UTF-8 and was read as {OLD_ENCODING}, which ARX writes on Windows: look at its texts "
                "that are not ASCII, or save the project again with a current ARX."
            )
        try:
            reader = csv.reader(
                io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, quotechar='"', strict=True
            )
            return [row for row in reader if row]
        except (csv.Error, TypeError, ValueError):
            pass
        raise self.refused(f"{entry!r} is no CSV with the project's delimiter", "save the project again with ARX.")


def csv_text(rows: Rows, *, hierarchy: bool = False) -> str:
    """Return rows as CSV with semicolons.

    An empty field is NULL where sqlanon reads it; in a hierarchy only the value itself may be that: above it an
    empty text is meant, which stands in quotes.
    """
    lines = []
    for row in rows:
        fields = [_field(text) for text in row]
        if hierarchy:
            fields[1:] = [field or '""' for field in fields[1:]]
        lines.append(";".join(fields) if len(row) > 1 or row[0] else '""')
    return "".join(f"{line}\n" for line in lines)


def _field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if SPECIAL.search(text) else text
