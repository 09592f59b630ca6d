"""Text files that DuckDB does not read as they are: they are copied, as UTF-8, while they are staged.

Archives, encodings that DuckDB does not know, lines that end in two ways, and files with records at their end that are
no records. The copy stands in a private folder, where databases spill to, and is removed with it.
"""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlanon.core.disk.folders import spill_folder
from sqlanon.core.engines.confined import allowed_files
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import CsvForm
from sqlanon.core.source.csv_records import CsvRecords, kept_bytes
from sqlanon.errors import SourceError, UnsupportedError

Read = tuple[Path, CsvForm, CsvRecords]
"""A CSV file, how it is written and what it holds."""
NATIVE = ("utf-8", "iso8859-1")
"""Encodings that DuckDB reads by itself, as Python calls them; of UTF-16 it reads no surrogates."""


def needs_copy(form: CsvForm, held: CsvRecords) -> bool:
    """Return True if DuckDB does not read a file by itself."""
    encoding = codecs.lookup(form.encoding).name
    return form.compression == "zip" or form.skip_last > 0 or held.mixed or encoding not in NATIVE


@contextmanager
def readable(engine: DuckDBEngine, read: Sequence[Read]) -> Iterator[list[tuple[Path, CsvForm]]]:
    """Yield each file, or its copy, and how DuckDB reads it.

    Raises:
        SourceError: a copy cannot be written.
        UnsupportedError: the engine may open the named files alone, and one needs a copy.
    """
    if not any(needs_copy(form, held) for _, form, held in read):
        yield [(file, replace(form, skip=held.skip)) for file, form, held in read]
        return
    if allowed_files() is not None:
        raise UnsupportedError(
            "An archive, an encoding beside UTF-8 and Latin-1, mixed line ends, and skip_last need a copy of the file, "
            "which is not made here.",
            hint="convert the file to UTF-8, unpacked, with one kind of line ends, without lines below the records.",
        )
    failure = ""
    try:
        folder = spill_folder(Path(engine.settings.get("temp_directory") or tempfile.gettempdir()).absolute())
    except OSError as error:
        failure = error.strerror or type(error).__name__
    if not failure:
        try:
            found = []
            for number, (file, form, held) in enumerate(read):
                form = replace(form, skip=held.skip)
                if needs_copy(form, held):
                    file, failure = _copy(file, form, held, folder.path / f"{number}.csv")
                    form = replace(form, skip=0, skip_last=0, encoding="utf-8", compression="none")
                found.append((file, form))
            if not failure:
                yield found
        finally:
            folder.remove()
    if failure:
        raise SourceError(
            f"The place for temporary files cannot be used ({failure}).",
            hint="name a folder with room in engine.temp_directory, or in the variable TMPDIR.",
        )


def _copy(file: Path, form: CsvForm, held: CsvRecords, target: Path) -> tuple[Path, str]:
    """Write a copy of what is read of a file, and return it, with what the disk refused."""
    try:
        with target.open("wb") as copy:
            for data in kept_bytes(file, form, held):
                copy.write(data)
    except OSError as error:
        return target, error.strerror or type(error).__name__
    return target, ""
