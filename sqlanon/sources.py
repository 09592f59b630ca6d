"""Opening a source: a DuckDB file, a Parquet or CSV file, or a connection that the user holds open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon import names
from sqlanon.compiler.trees import table
from sqlanon.engines.duckdb import DuckDBEngine, file_relation, is_connection
from sqlanon.errors import EngineError, SourceChangedError, SourceError, UnsupportedError

ATTACHED = "sqlanon_source"
REFERENCE = "sqlanon_reference"
DATABASE_SUFFIXES = (".duckdb", ".db", ".ddb")


@dataclass(frozen=True, slots=True)
class Source:
    """An open source: its engine, the relation of its records and that relation's columns.

    Attributes:
        types: column -> type, in the order of the source.
        path: the file, None for an open connection.
        target_catalog: the database that views and tables go to; None where the source cannot hold any.
    """

    engine: DuckDBEngine
    relation: exp.Expr
    types: dict[str, str]
    path: Path | None
    target_catalog: str | None
    stamp: tuple[int, int] | None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def verify(self) -> None:
        """Raise SourceChangedError when the file is not the one that was planned on."""
        if self.path is not None and self.stamp is not None and _stamp(self.path) != self.stamp:
            raise SourceChangedError(
                f"The source file {self.path.name!r} changed or disappeared while it was being anonymized.",
                hint="work on a copy that nobody writes to, and run again; nothing was published.",
            )


def open_source(
    source: object,
    table_name: str | None,
    *,
    csv: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    writable: bool = False,
) -> Source:
    """Open ``source``: a path, or an open DuckDB connection.

    Args:
        table_name: the relation of a database, schema-qualified allowed.
        writable: open a database file for writing, because the release goes into it.

    Raises:
        SourceError: there is no such file or table, or it cannot be read.
        UnsupportedError: a URL of a database that this version cannot reach.
    """
    if is_connection(source):
        engine = DuckDBEngine(connection=source)  # type: ignore[arg-type]
        return _closing_on_error(engine, lambda: _described(engine, _table(engine, table_name), None, None, None))
    if not isinstance(source, str | Path):
        raise SourceError(
            f"A source of the type {type(source).__name__} cannot be read.",
            hint="give a path, or an open DuckDB connection.",
        )
    if "://" in str(source):
        raise UnsupportedError(
            "This version reads DuckDB, Parquet and CSV files and open DuckDB connections, no database URLs.",
            hint="export the table to Parquet, or attach the database to a DuckDB connection and pass that.",
        )
    path = Path(source).absolute()
    if not path.is_file():
        raise SourceError(
            f"There is no source file {path.name!r} in {str(path.parent)!r}.",
            hint="check the key source; relative paths are relative to the policy file.",
        )
    engine = DuckDBEngine(settings=settings)
    return _closing_on_error(engine, lambda: _open_file(engine, path, table_name, csv or {}, writable))


def reference_relation(opened: Source, path: str, table_name: str | None, csv: Mapping[str, Any]) -> exp.Expr:
    """Another relation, read beside an open source: a table of the same database, or of another file.

    Raises:
        SourceError: there is no such file or table.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise SourceError(f"There is no reference file {file.name!r} in {str(file.parent)!r}.", hint="check the path.")
    engine = opened.engine
    if file.suffix.lower() not in DATABASE_SUFFIXES:
        return file_relation(file, csv)
    if not table_name:
        raise SourceError("The reference is a database, and no table is named.", hint="add --reference-table.")
    if opened.path == file:
        return engine.source_table(table_name)
    engine.attach(file, REFERENCE, read_only=True)
    parts = table_name.split(".")
    return exp.Table(
        this=exp.to_identifier(parts[-1], quoted=True),
        db=exp.to_identifier(parts[-2] if len(parts) > 1 else "main", quoted=True),
        catalog=exp.to_identifier(REFERENCE, quoted=True),
    )


def _closing_on_error(engine: DuckDBEngine, opener: Any) -> Source:
    try:
        source: Source = opener()
    except BaseException:
        engine.close()
        raise
    return source


def _open_file(
    engine: DuckDBEngine, path: Path, table_name: str | None, csv: Mapping[str, Any], writable: bool
) -> Source:
    stamp = _stamp(path)
    if path.suffix.lower() in DATABASE_SUFFIXES:
        try:
            engine.attach(path, ATTACHED, read_only=not writable)
        except EngineError as error:
            failure = error.message
        else:
            engine.source_catalog = ATTACHED
            return _described(engine, _table(engine, table_name), path, ATTACHED, None if writable else stamp)
        raise SourceError(
            f"The database file {path.name!r} cannot be opened. {failure}",
            hint="close other programs that hold it open, and check that it is a DuckDB file.",
        )
    relation = file_relation(path, csv)
    try:
        if path.suffix.lower() not in (".parquet", ".pq"):
            engine.create("stage", names.STAGED, exp.select("*").from_(relation))
            relation = table(names.STAGED)
        return _described(engine, relation, path, None, stamp)
    except EngineError as error:
        kind = error.kind
    raise SourceError(
        f"The file {path.name!r} cannot be read ({kind}).",
        hint="check its format; for CSV declare csv: {delimiter: …, quote: …, encoding: …}.",
    )


def _table(engine: DuckDBEngine, table_name: str | None) -> exp.Table:
    if not table_name:
        raise SourceError("The policy names no table of the database.", hint="add the key table.")
    return engine.source_table(table_name)


def _described(
    engine: DuckDBEngine,
    relation: exp.Expr,
    path: Path | None,
    target_catalog: str | None,
    stamp: tuple[int, int] | None,
) -> Source:
    try:
        types = dict(engine.columns(relation))
    except EngineError as error:
        if path is not None and target_catalog is None:
            raise
        failure = error.message
    else:
        return Source(engine, relation, types, path, target_catalog, stamp)
    raise SourceError(f"The table cannot be read. {failure}", hint="check the key table (schema.table is allowed).")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
