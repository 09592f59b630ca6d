"""A file format from outside the package, kept to its contract: texts come in, what was written reads back equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlanon.core.formats.base import FileFormat
from sqlanon.errors import AuditError, SourceError, SqlanonError, TargetError, attempt
from sqlanon.parameters import Parameter

ROWS = 5_000
"""Rows that are texts of Python at once."""


@dataclass(slots=True)
class _Content:
    """What a table of texts holds, whatever the order of its rows: a sum of their hashes, good for this process."""

    columns: list[str]
    rows: int = 0
    sum: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch."""
        for start in range(0, batch.num_rows, ROWS):
            columns = [array.to_pylist() for array in batch.slice(start, ROWS).columns]
            self.sum = (self.sum + sum(map(hash, zip(*columns, strict=True)))) % 2**64
        self.rows += batch.num_rows


@dataclass(frozen=True, slots=True)
class CheckedFormat:
    """A format with its contract checked; what it raises besides the errors of sqlanon becomes one of them."""

    format: FileFormat
    name: str
    endings: tuple[str, ...]
    options: tuple[Parameter, ...]
    writes: bool
    _what: str = field(default="", repr=False)

    @classmethod
    def of(cls, format: FileFormat) -> CheckedFormat:
        """Return a format with a copy of its attributes."""
        return cls(
            format,
            format.name,
            tuple(format.endings),
            tuple(format.options),
            format.writes,
            f"The format {format.name!r}",
        )

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        """Return the records of a file; see ``FileFormat``.

        Raises:
            SourceError: it failed, or what it gives is no table of texts.
        """
        reader = attempt(f"{self._what}, reading {path.name!r},", lambda: self.format.read(path, options), SourceError)
        texts = isinstance(reader, pa.RecordBatchReader) and reader.schema.names
        if not texts or not all(pa.types.is_string(t) or pa.types.is_large_string(t) for t in reader.schema.types):
            raise SourceError(
                f"{self._what} gives no table of texts for {path.name!r}.",
                hint="its read returns a RecordBatchReader with at least one column, all of them strings.",
            )
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader, path.name))

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        """Write the rows, and read them back.

        Raises:
            TargetError: it failed.
            AuditError: what it wrote does not read back as it was given.
        """
        given = _Content(rows.schema.names)

        def passing() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                given.add(batch)
                yield batch

        counted = pa.RecordBatchReader.from_batches(rows.schema, passing())
        attempt(f"{self._what}, writing,", lambda: self.format.write(path, counted, options), TargetError)
        for batch in rows:  # of a writer that stopped early
            given.add(batch)
        if self._read_back(path) != given:
            raise AuditError(
                f"What the format {self.name!r} wrote does not read back as the {given.rows} rows that it was given. "
                "Nothing was published.",
                hint="inform the author of the format, and publish to a .parquet file meanwhile.",
            )

    def _read_back(self, path: Path) -> _Content | None:
        try:
            reader = self.read(path, {})
            found = _Content(reader.schema.names)
            for batch in reader:
                found.add(batch)
        except SqlanonError:
            return None
        return found

    def _batches(self, reader: pa.RecordBatchReader, name: str) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = attempt(f"{self._what}, reading {name!r},", reader.read_next_batch, SourceError)
            except StopIteration:
                return
            yield batch
