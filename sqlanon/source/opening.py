"""Open a source: a file, a server by its URL, or a connection that the user holds open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.engines.duckdb.engine import DuckDBEngine, is_connection
from sqlanon.engines.duckdb.files import parquet_relation
from sqlanon.engines.sqlite.engine import MAIN, SQLiteEngine, is_sqlite
from sqlanon.errors import EngineError, InputError, SourceChangedError, SourceError, UnsupportedError
from sqlanon.policy.paths import is_connection_text, is_database, is_file, is_folder, is_server, is_url
from sqlanon.source.files import Reading
from sqlanon.source.spark import Cluster, is_session, parquet_files, start_engine
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import table

ATTACHED = "sqlanon_source"

Stamp = tuple[Path, int, int]
"""A file, when it was last written to (nanoseconds), and its size."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open source: its engine, the relation of its records and that relation's columns.

    Attributes:
        types: column -> type, in the order of the source.
        path: the file, None for a server or an open connection.
        target_catalog: the database that views and tables go to; None where the source cannot hold any.
        stamps: of the files that records were read from (``stamp``), to detect that one has changed.
        read, other_files: further relations and files of the policy, such as hierarchies; nothing is published there.
        warnings: what the user should know.
        borrowed: the engine works on an open connection of the user's.
    """

    engine: Engine
    relation: exp.Expr
    types: dict[str, str]
    path: Path | None
    target_catalog: str | None
    stamps: tuple[Stamp, ...] = ()
    warnings: tuple[str, ...] = ()
    read: tuple[exp.Expr, ...] = ()
    other_files: tuple[Path, ...] = ()
    borrowed: bool = False

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
        if not self.engine.unchanged():
            raise SourceChangedError(
                "Another program wrote to the source while it was being anonymized.",
                hint="work on a copy that nobody writes to, and run again; nothing was published.",
            )


def open_source(
    source: object,
    table_name: str | None,
    *,
    reading: Reading | None = None,
    settings: Mapping[str, Any] | None = None,
    writable: bool = False,
    cluster: Cluster | None = None,
) -> Source:
    """Open ``source``: a path, the URL of a server, or an open connection of DuckDB or session of Spark.

    Args:
        table_name: the relation of a database, schema-qualified allowed.
        reading: how files are read.
        writable: open a database file for writing, because the release goes into it.
        cluster: of Spark, that reads the source: a folder, file or pattern of Parquet; None is a table of its catalog.

    Raises:
        SourceError: there is no such file or table, or it cannot be read.
        InputError: a server refuses the session, its driver is not installed, or the URL holds a password.
        UnsupportedError: a URL of a database that this version cannot reach.
    """
    if cluster is not None or is_session(source):
        return _open_spark(source, table_name, cluster)
    if is_connection(source):
        engine = DuckDBEngine(connection=source)  # type: ignore[arg-type]
        with closed_on_error(engine):
            return replace(_table_source(engine, table_name), borrowed=True)
    if not isinstance(source, str | Path):
        raise SourceError(
            f"A source of the type {type(source).__name__} cannot be read.",
            hint="give a path, an open DuckDB connection, or an open Spark session.",
        )
    if is_url(str(source)):
        return _open_server(str(source), table_name)
    path = Path(source).absolute()
    if is_folder(path):
        return _open_folder(path, settings)
    if not is_file(path) and is_connection_text(str(source)):
        raise InputError(
            "The source reads like what a driver connects with, and is no file; it is not repeated here.",
            hint="write postgresql://host/database without a password: that is taken from PGPASSWORD, a password file "
            "(~/.pgpass) or a service (PGSERVICE).",
        )
    if not is_file(path):
        raise SourceError(
            f"There is no source file {path.name!r} in {str(path.parent)!r}.",
            hint="check the key source; relative paths are relative to the policy file.",
        )
    if not is_database(path.name):
        return _open_file(path, reading or Reading(), settings)
    if is_sqlite(path):
        return _open_sqlite(path, table_name, writable)
    return _open_duckdb(path, table_name, settings, writable)


def other_relation(opened: Source, path: str, table_name: str | None, reading: Reading, *, name: str) -> exp.Expr:
    """Return another relation, read beside an open source: a table of the same database, or of another file.

    A database that is attached already is not attached again, which DuckDB would refuse.

    Args:
        name: what the database is attached as, or the table that a file is read into.

    Raises:
        SourceError: there is no such file or table.
        UnsupportedError: a URL of a database.
        EngineError: it cannot be read.
    """
    file = Path(path).absolute()
    if is_url(path) or (not is_file(file) and is_connection_text(path)):
        raise UnsupportedError(
            "A server is read as the first source only.", hint="join the tables in a view of its database."
        )
    if not is_file(file):
        raise SourceError(f"There is no file {file.name!r} in {str(file.parent)!r}.", hint="check the path.")
    engine = opened.engine
    assert isinstance(engine, DuckDBEngine)  # others lack "several_sources"
    if is_database(file.name) and is_sqlite(file):
        raise UnsupportedError(
            f"The SQLite file {file.name!r} cannot be read beside another source.",
            hint="make it the first source, or export the table to Parquet.",
        )
    if not is_database(file.name):
        return _records(engine, file, reading, into=name)
    if not table_name:
        raise SourceError(f"{file.name!r} is a database, and no table of it is named.", hint="name the table too.")
    catalog = attached_as(engine, file)
    if catalog is None:
        catalog = names.unused(name, [database for database, *_ in engine.databases()])
        engine.attach(file, catalog, read_only=True)
    return engine.source_table(table_name, catalog)


def attached_as(engine: Engine, file: Path) -> str | None:
    """Return the name that a database file is attached under; None when it is not."""
    for database, held, _ in engine.databases():
        with suppress(OSError):
            if held is not None and file.samefile(held):
                return database
    return None


def _open_server(url: str, table_name: str | None) -> Source:
    """Return a server by its URL. What the URL leaves out, the driver takes from its usual places."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None:
        raise InputError(
            "The URL of the source cannot be read.", hint="write postgresql://host/database, or postgresql://."
        )
    if not is_server(url):
        raise UnsupportedError(
            f"This version reaches no database by a URL that begins with {parts.scheme!r}.",
            hint="use postgresql://…, export the table to Parquet, or attach the database to a DuckDB connection.",
        )
    if parts.password is not None or any("password" in key.lower() for key in parse_qs(parts.query)):
        raise InputError(
            "The URL of the source holds a password, which would stand in policies, histories and process lists.",
            hint="leave it out; it is taken from PGPASSWORD, a password file (~/.pgpass) or a service (PGSERVICE).",
        )
    try:
        from sqlanon.engines.postgres.engine import PostgresEngine
    except ImportError:
        driver = False
    else:
        driver = True
    if not driver:
        raise InputError(
            "The driver of PostgreSQL is not installed.", hint="run: python -m pip install 'sqlanon[postgres]'"
        )
    engine = PostgresEngine(url)
    with closed_on_error(engine):
        return _table_source(engine, table_name)


def _open_sqlite(path: Path, table_name: str | None, writable: bool) -> Source:
    """Return a SQLite file, whose engine knows when another connection writes to it."""
    stamps = () if writable else (stamp(path),)
    engine = SQLiteEngine(path, read_only=not writable)
    with closed_on_error(engine):
        return _table_source(engine, table_name, path, MAIN, stamps)


def _open_duckdb(path: Path, table_name: str | None, settings: Mapping[str, Any] | None, writable: bool) -> Source:
    """Return a DuckDB file, attached to an embedded DuckDB."""
    stamps = () if writable else (stamp(path),)
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        try:
            engine.attach(path, ATTACHED, read_only=not writable)
        except EngineError as error:
            failure = error.message
        else:
            engine.source_catalog = ATTACHED
            return _table_source(engine, table_name, path, ATTACHED, stamps)
        raise SourceError(
            f"The database file {path.name!r} cannot be opened. {failure}",
            hint="close other programs that hold it open, and check that it is a DuckDB file.",
        )


def _open_spark(source: object, table_name: str | None, cluster: Cluster | None) -> Source:
    """Return a table of a session of Spark, or Parquet files that a cluster reads."""
    engine = start_engine(source, cluster)
    with closed_on_error(engine):
        if source is None or is_session(source):
            opened = _table_source(engine, table_name)
            stamps = tuple(stamp(file) for file in engine.local_files(opened.relation))
            return replace(opened, stamps=stamps, borrowed=is_session(source))
        stamps = tuple(stamp(file) for file in parquet_files(str(source)))
        relation = engine.read_parquet(names.STAGED, str(source))
        return Source(engine, relation, dict(engine.columns(relation)), None, None, stamps)


def _open_folder(path: Path, settings: Mapping[str, Any] | None) -> Source:
    """Return a folder of Parquet files, as a cluster writes it: one relation."""
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        files = parquet_files(str(path))
        stamps = tuple(stamp(file) for file in files)
        try:
            relation = parquet_relation(files)
            return Source(engine, relation, dict(engine.columns(relation)), path, None, stamps)
        except EngineError as error:
            kind = error.kind
        raise SourceError(
            f"The folder {path.name!r} cannot be read ({kind}).",
            hint="it must hold Parquet files with the same columns.",
        )


def _open_file(path: Path, reading: Reading, settings: Mapping[str, Any] | None) -> Source:
    """Return a file that an embedded DuckDB reads, or a file format."""
    stamps = (stamp(path),)
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        try:
            relation = _records(engine, path, reading, into=names.STAGED)
            return Source(engine, relation, dict(engine.columns(relation)), path, None, stamps)
        except EngineError as error:
            kind = error.kind
        raise SourceError(
            f"The file {path.name!r} cannot be read ({kind}).",
            hint="check its format; for CSV declare csv: {delimiter: …, quote: …, encoding: …}.",
        )


def _records(engine: DuckDBEngine, path: Path, reading: Reading, *, into: str) -> exp.Expr:
    """Return the relation of a file; texts are parsed once, into a table of ours."""
    relation = reading.relation(engine, path, into=into)
    if reading.format_of(path) is not None or path.suffix.lower() in (".parquet", ".pq"):
        return relation
    engine.create("stage", into, exp.select("*").from_(relation))
    return table(into)


def _table_source(
    engine: Engine,
    table_name: str | None,
    path: Path | None = None,
    target_catalog: str | None = None,
    stamps: tuple[Stamp, ...] = (),
) -> Source:
    """Return a table of a database.

    Raises:
        SourceError: no table is named, or it cannot be read.
    """
    if not table_name:
        raise SourceError("The policy names no table of the database.", hint="add the key table.")
    relation = engine.source_table(table_name)
    try:
        types = dict(engine.columns(relation))
    except EngineError as error:
        failure = error.message
    else:
        return Source(engine, relation, types, path, target_catalog, stamps)
    raise SourceError(f"The table cannot be read. {failure}", hint="check the key table (schema.table is allowed).")


@contextmanager
def closed_on_error(engine: Engine) -> Iterator[None]:
    """Close the engine when the block fails."""
    try:
        yield
    except BaseException:
        engine.close()
        raise


def stamp(path: Path) -> Stamp:
    """Return the facts by which a later write to a file is detected."""
    try:
        status = path.stat()
    except OSError:
        return (path, 0, -1)
    return (path, status.st_mtime_ns, status.st_size)
