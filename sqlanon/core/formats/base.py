"""What a file format is: rows as texts, read from a file and, for some, written to one.

DuckDB reads and writes Parquet and CSV itself; a format stands for a kind of file that it does not know. Its rows pass
as Arrow batches, so that neither a source nor a release is ever whole in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sqlanon.parameters import Parameter

FINDINGS = b"sqlanon"
"""The key of a schema's metadata under which a format says what it found."""


class FileFormat(Protocol):
    """A kind of file, known by its ending."""

    @property
    def name(self) -> str:
        """The key of its options in a policy."""
        ...

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of its files, in lower case, with the dot; no other format has them."""
        ...

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The options of a policy for a file that is read."""
        ...

    @property
    def writes(self) -> bool:
        """It can write a release; False for a format that only reads."""
        ...

    def read(self, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
        """Return the records of a file: every column is text, and there is at least one record and one column.

        The columns are known and every fault is found before this returns, in a look through the whole file; the
        batches come from a second one, when they are asked for. Memory grows with the largest record and the number
        of columns, not with the file. What is no record is not read, and nothing in a record is left out unsaid: a
        format may give the schema notes, and the options by which it read (``with_findings``).

        Raises:
            SourceError: the file is not of this format, or holds what a table cannot; names columns, records and
                lines, never a value. While batches are read, the message is that the file changed meanwhile.
        """
        ...

    def write(self, path: Path, rows: pa.RecordBatchReader, options: Mapping[str, Any]) -> None:
        """Write ``rows``, whose columns are texts, to a file that is not there yet.

        ``read`` without options gives the same columns, in the same order, with the same texts and NULLs: the audit of
        a release reads the file that was written. What cannot be read back so is refused. Equal rows make equal files.

        Raises:
            TargetError: the format cannot hold the rows (the message names the column), or the disk refused. What was
                written until then stays, for the caller to remove.
            UnsupportedError: the format only reads.
        """
        ...


def with_findings(schema: pa.Schema, notes: Sequence[str], options: Mapping[str, Any]) -> pa.Schema:
    """Return a schema with what the user should know of a file, and the options by which it was read."""
    return schema.with_metadata({FINDINGS: json.dumps([list(notes), dict(options)])})


def findings_of(schema: pa.Schema) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the notes and the options that a format gave a schema, if any."""
    notes, options = json.loads((schema.metadata or {}).get(FINDINGS, "[[], {}]"))
    return tuple(notes), options
