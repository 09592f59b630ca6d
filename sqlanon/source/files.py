"""The relation of a file: a table function of the engine, or a table of ours that a file format has filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.duckdb.files import file_relation
from sqlanon.errors import SourceError
from sqlanon.policy.extensions import NOTHING, Extensions
from sqlanon.policy.formats.base import FileFormat
from sqlanon.sqltrees.trees import table


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: the options of CSV, those of other formats by name, and the formats there are."""

    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extensions: Extensions = NOTHING

    def relation(self, engine: Engine, path: Path, *, into: str) -> exp.Expr:
        """Return the relation of a file, brought into the table ``into`` if the engine does not read its format itself.

        Raises:
            SourceError: the ending is not known, or the format refuses the file.
            EngineError: the engine refused a statement.
        """
        if not isinstance(engine, DuckDBEngine):
            engine.load("read file", into, self._read_apart(path, into), replayed=False)
            return table(into)
        found = self.format_of(path)
        if found is None:
            return file_relation(path, self.csv)
        name, file_format = found
        engine.load_batches("read file", into, read_file(file_format, path, self.formats.get(name, {})))
        return table(into)

    def _read_apart(self, path: Path, into: str) -> pa.Table:
        """Return the rows of a file, read by an embedded DuckDB."""
        embedded = DuckDBEngine()
        try:
            return embedded.arrow("read file", exp.select("*").from_(self.relation(embedded, path, into=into)))
        finally:
            embedded.close()

    def format_of(self, path: Path) -> tuple[str, FileFormat] | None:
        """Return the format of a file that the engine does not read itself, with its name."""
        return self.extensions.format_of(path.suffix)


def read_file(file_format: FileFormat, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
    """Return the rows of a file as its format reads them, all of them texts.

    Raises:
        SourceError: the format refuses the file, now or while the rows are read; or it has columns without a name, or
            with one name in two cases.
    """
    rows = file_format.read(path, options)
    columns = rows.schema.names
    if not all(columns) or len({name.casefold() for name in columns}) < len(columns):
        raise SourceError(
            f"The file {path.name!r} has columns without a name, or two that differ by case only.",
            hint="rename them.",
        )
    return rows
