"""Opening a source: a DuckDB file, a Parquet, CSV or XML file, or a connection that the user holds open."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon import names
from sqlanon.compiler.trees import table
from sqlanon.engines.duckdb import DuckDBEngine, is_connection
from sqlanon.errors import EngineError, SourceChangedError, SourceError, UnsupportedError
from sqlanon.files import Reading
from sqlanon.paths import DATABASE_ENDINGS, is_file

ATTACHED = "sqlanon_source"

Stamp = tuple[Path, int, int]
"""A file, when it was last written to (nanoseconds), and its size."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open source: its engine, the relation of its records and that relation's columns.

    Attributes:
        types: column -> type, in the order of the source.
        path: the file, None for an open connection.
        target_catalog: the database that views and tables go to; None where the source cannot hold any.
        stamps: of the files that records were read from (``stamp``), to tell whether one has changed.
        read, other_files: further relations and files of the policy, such as hierarchies; nothing is published there.
        warnings: what the user should know.
    """

    engine: DuckDBEngine
    relation: exp.Expr
    types: dict[str, str]
    path: Path | None
    target_catalog: str | None
    stamps: tuple[Stamp, ...] = ()
    warnings: tuple[str, ...] = ()
    read: tuple[exp.Expr, ...] = ()
    other_files: tuple[Path, ...] = ()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read."""
        return (*(path for path, *_ in self.stamps), *self.other_files)

    def verify(self) -> None:
        """Raise SourceChangedError when a file is not the one that was planned on."""
        for path, *rest in self.stamps:
            if stamp(path) != (path, *rest):
                raise SourceChangedError(
                    f"The source file {path.name!r} changed or disappeared while it was being anonymized.",
                    hint="work on a copy that nobody writes to, and run again; nothing was published.",
                )


def open_source(
    source: object,
    table_name: str | None,
    *,
    reading: Reading | None = None,
    settings: Mapping[str, Any] | None = None,
    writable: bool = False,
) -> Source:
    """Open ``source``: a path, or an open DuckDB connection.

    Args:
        table_name: the relation of a database, schema-qualified allowed.
        reading: how files are read.
        writable: open a database file for writing, because the release goes into it.

    Raises:
        SourceError: there is no such file or table, or it cannot be read.
        UnsupportedError: a URL of a database that this version cannot reach.
    """
    if is_connection(source):
        engine = DuckDBEngine(connection=source)  # type: ignore[arg-type]
        return _closing_on_error(engine, lambda: _described(engine, _table(engine, table_name), None, None))
    if not isinstance(source, str | Path):
        raise SourceError(
            f"A source of the type {type(source).__name__} cannot be read.",
            hint="give a path, or an open DuckDB connection.",
        )
    _refuse_url(str(source))
    path = Path(source).absolute()
    if not is_file(path):
        raise SourceError(
            f"There is no source file {path.name!r} in {str(path.parent)!r}.",
            hint="check the key source; relative paths are relative to the policy file.",
        )
    engine = DuckDBEngine(settings=settings)
    return _closing_on_error(engine, lambda: _open_file(engine, path, table_name, reading or Reading(), writable))


def other_relation(opened: Source, path: str, table_name: str | None, reading: Reading, *, name: str) -> exp.Expr:
    """Another relation, read beside an open source: a table of the same database, or of another file.

    A database that is attached already is not attached again, which DuckDB would refuse.

    Args:
        name: what the database is attached as, or the table that a file is read into.

    Raises:
        SourceError: there is no such file or table.
        UnsupportedError: a URL of a database.
        EngineError: it cannot be read.
    """
    _refuse_url(path)
    file = Path(path).absolute()
    if not is_file(file):
        raise SourceError(f"There is no file {file.name!r} in {str(file.parent)!r}.", hint="check the path.")
    engine = opened.engine
    if file.suffix.lower() not in DATABASE_ENDINGS:
        return _records(engine, file, reading, into=name)
    if not table_name:
        raise SourceError(f"{file.name!r} is a database, and no table of it is named.", hint="name the table too.")
    catalog = attached_as(engine, file)
    if catalog is None:
        catalog = names.unused(name, [database for database, *_ in engine.databases()])
        engine.attach(file, catalog, read_only=True)
    return engine.source_table(table_name, catalog)


def attached_as(engine: DuckDBEngine, file: Path) -> str | None:
    """The name that a database file is attached under; None when it is not."""
    for database, held, _ in engine.databases():
        with suppress(OSError):
            if held is not None and file.samefile(held):
                return database
    return None


def _refuse_url(source: str) -> None:
    if "://" in source:
        raise UnsupportedError(
            "This version reads DuckDB, Parquet, CSV and XML files and open DuckDB connections, no database URLs.",
            hint="export the table to Parquet, or attach the database to a DuckDB connection and pass that.",
        )


def _records(engine: DuckDBEngine, path: Path, reading: Reading, *, into: str) -> exp.Expr:
    """The relation of a file; texts are parsed once, into a table of ours."""
    relation = reading.relation(engine, path, into=into)
    if reading.format_of(path) is not None or path.suffix.lower() in (".parquet", ".pq"):
        return relation
    engine.create("stage", into, exp.select("*").from_(relation))
    return table(into)


def _closing_on_error(engine: DuckDBEngine, opener: Any) -> Source:
    try:
        source: Source = opener()
    except BaseException:
        engine.close()
        raise
    return source


def _open_file(engine: DuckDBEngine, path: Path, table_name: str | None, reading: Reading, writable: bool) -> Source:
    before = stamp(path)
    if path.suffix.lower() in DATABASE_ENDINGS:
        try:
            engine.attach(path, ATTACHED, read_only=not writable)
        except EngineError as error:
            failure = error.message
        else:
            engine.source_catalog = ATTACHED
            stamps = () if writable else (before,)
            return _described(engine, _table(engine, table_name), path, ATTACHED, stamps)
        raise SourceError(
            f"The database file {path.name!r} cannot be opened. {failure}",
            hint="close other programs that hold it open, and check that it is a DuckDB file.",
        )
    try:
        return _described(engine, _records(engine, path, reading, into=names.STAGED), path, None, (before,))
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
    stamps: tuple[Stamp, ...] = (),
) -> Source:
    try:
        types = dict(engine.columns(relation))
    except EngineError as error:
        if path is not None and target_catalog is None:
            raise
        failure = error.message
    else:
        return Source(engine, relation, types, path, target_catalog, stamps)
    raise SourceError(f"The table cannot be read. {failure}", hint="check the key table (schema.table is allowed).")


def stamp(path: Path) -> Stamp:
    """What tells whether a file was written to."""
    try:
        status = path.stat()
    except OSError:
        return (path, 0, -1)
    return (path, status.st_mtime_ns, status.st_size)
