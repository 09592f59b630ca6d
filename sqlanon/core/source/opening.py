"""Open a source: a file, a server by its URL, or a connection that the user holds open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine, is_connection
from sqlanon.core.engines.duckdb.files import object_relation, parquet_relation
from sqlanon.core.engines.sqlite import is_sqlite
from sqlanon.core.policy.paths import (
    FilePatterns,
    is_connection_text,
    is_database,
    is_file,
    is_folder,
    is_object,
    is_server,
    is_url,
)
from sqlanon.core.source.drawn import Drawn
from sqlanon.core.source.files import Reading, Records, refuse_beyond_files, refuse_connections
from sqlanon.core.source.frames import is_frame, is_lake_table, is_lazy, kind_of_frame, load_frame
from sqlanon.core.source.lake_folders import is_lake_path, refuse_files_of_lakes
from sqlanon.core.source.periods import OpenPeriods
from sqlanon.core.source.spark import Cluster, is_session, parquet_files, spark_path, start_engine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import (
    EngineError,
    InputError,
    SourceChangedError,
    SourceError,
    SqlanonError,
    UnsupportedError,
    instead_of,
    listing,
)
from sqlanon.parameters import suggest

ATTACHED = "sqlanon_source"
ONLY_TABLE = "*"
"""The table of a database that has one relation only, where the user names none."""

Stamp = tuple[Path, int, int, int, int]
"""A file, when it was written to and changed (nanoseconds), its size and its inode, which a file in its place lacks."""


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
        unreadable: columns that the session has no right to read; ``relation`` lacks them then.
        stored: the relation of the database itself, where ``relation`` lists columns of it.
        header_line: the columns are named by the first line of a file, which may be a record.
        frame: what a source in memory alone is called, such as ``pandas frame``; None for all others.
        version: of a table of a lakehouse that was read, such as ``version 3``.
        drawn, periods: the sample, or the periods, that ``relation`` holds of the source; None for the whole of it.
        formats: by which options a file of another format was read, under the name of the format.
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
    unreadable: tuple[str, ...] = ()
    stored: exp.Expr | None = None
    header_line: bool = False
    frame: str | None = None
    version: str | None = None
    drawn: Drawn | None = None
    periods: OpenPeriods | None = None
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    @property
    def readable(self) -> dict[str, str]:
        """The types of the columns that the session may read."""
        return {name: kind for name, kind in self.types.items() if name not in self.unreadable}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read."""
        return (*(path for path, *_ in self.stamps), *self.other_files)

    @property
    def name(self) -> str | None:
        """The file's name without its folder, or what a frame is called, with the version of a table of a lakehouse."""
        name = self.path.name if self.path is not None else self.frame
        return name if self.version is None else f"{name or 'table'} ({self.version})"

    def verify(self) -> None:
        """Raise SourceChangedError when a file is not the one that was planned on."""
        for path, *rest in self.stamps:
            if stamp(path) != (path, *rest):
                raise SourceChangedError(
                    f"The source file {path.name!r} changed or disappeared while it was being anonymized.",
                    hint="work on a copy that nobody writes to, and run again; nothing was published.",
                )
        if not self.engine.catalog.unchanged():
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
    may_hold_password: bool = False,
) -> Source:
    """Open ``source``: a path, patterns, a URL, an open connection of DuckDB or session of Spark, or a frame.

    Args:
        table_name: the relation of a database, schema-qualified allowed.
        reading: how files are read.
        writable: open a database file for writing, because the release goes into it.
        may_hold_password: the URL of a server comes from a place that nobody else reads, such as the environment.
        cluster: of Spark, that reads Parquet (a folder, a file, a pattern); None is a table of its catalog.

    Raises:
        SourceError: there is no such file or table, or it cannot be read.
        InputError: a server refuses the session, its driver is not installed, or the URL holds a password.
        UnsupportedError: a URL of a database that this version cannot reach.
    """
    refuse_beyond_files(source, cluster is not None)
    if cluster is not None or is_session(source):
        return _open_spark(source, table_name, cluster)
    if is_connection(source):
        engine = DuckDBEngine(connection=source)  # type: ignore[arg-type]
        with closed_on_error(engine):
            return replace(_table_source(engine, table_name), borrowed=True)
    if is_frame(source):
        return _open_frame(source, settings)
    if isinstance(source, FilePatterns):
        return _open_patterns(source, reading or Reading(), settings)
    if not isinstance(source, str | Path):
        cure = "give a path, a frame (pandas, polars, pyarrow, …), an open DuckDB connection, or an open Spark session."
        raise SourceError(
            f"A source of the type {type(source).__name__} cannot be read.",
            hint="carry it out first: frame.collect()." if is_lazy(source) else cure,
        )
    if is_object(str(source)):
        return _open_object(str(source), settings)
    if is_url(str(source)):
        return _open_server(str(source), table_name, may_hold_password)
    return _open_path(source, table_name, reading or Reading(), settings, writable)


def _open_path(
    source: str | Path, table_name: str | None, reading: Reading, settings: Mapping[str, Any] | None, writable: bool
) -> Source:
    """Return a file or folder of this machine."""
    path = Path(source).absolute()
    if is_lake_path(path):
        return _open_lake(path, settings)
    if is_folder(path):
        return _open_folder(path, settings)
    refuse_connections(str(source))
    if not is_file(path):
        raise SourceError(
            f"There is no source file {path.name!r} in {str(path.parent)!r}.",
            hint="check the name and the folder.",
        )
    if not is_database(path.name):
        return _open_files((path,), path, reading, settings)
    if is_sqlite(path):
        return _open_sqlite(path, table_name, writable)
    return _open_duckdb(path, table_name, settings, writable)


def other_records(opened: Source, path: str, table_name: str | None, reading: Reading, *, name: str) -> Records:
    """Return the records of a relation beside an open source: a table of the same database, or of another file.

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
        return reading.records(engine, file, into=name)
    if table_name == ONLY_TABLE:
        listed = engine.catalog.relations()
        table_name = listed[0] if len(listed) == 1 else None
    if not table_name:
        raise SourceError(f"{file.name!r} is a database, and no table of it is named.", hint="name the table too.")
    catalog = attached_as(engine, file)
    if catalog is None:
        catalog = names.unused(name, [database for database, *_ in engine.catalog.databases()])
        engine.attach(file, catalog, read_only=True)
    return Records(engine.catalog.source_table(table_name, catalog))


def attached_as(engine: Engine, file: Path) -> str | None:
    """Return the name that a database file is attached under; None when it is not."""
    for database, held, _ in engine.catalog.databases():
        with suppress(OSError):
            if held is not None and file.samefile(held):
                return database
    return None


def _open_server(url: str, table_name: str | None, may_hold_password: bool) -> Source:
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
            hint="use postgresql://…, an object store (s3://…, gs://…, abfss://…), or attach the database to a DuckDB "
            "connection; or export the table to Parquet.",
        )
    holds_password = parts.password is not None or any("password" in key.lower() for key in parse_qs(parts.query))
    if holds_password and not may_hold_password:
        raise InputError(
            "The URL of the source holds a password, which would be in policies, histories and process lists.",
            hint="leave it out; it is taken from PGPASSWORD, a password file (~/.pgpass) or a service (PGSERVICE); or "
            "take the whole URL from the environment: source: ${DATABASE_URL}.",
        )
    try:
        from sqlanon.core.engines.postgres.engine import PostgresEngine
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
        engine.hold()
        return _table_source(engine, table_name)


def _open_object(url: str, settings: Mapping[str, Any] | None) -> Source:
    """Return Parquet files in an object store, which DuckDB reads once, with the secrets that its user has stored."""
    from sqlanon.core.source import lake

    lake.refuse_unread_objects(url)
    if lake.is_lake_url(url):
        return _open_lake(url, settings)
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        hint = (
            "install DuckDB's extension once (INSTALL httpfs, or azure) and give it a secret that it keeps (CREATE "
            "PERSISTENT SECRET); or pass a relation of your own connection: connection.read_parquet(url)."
        )
        with _unread("The files of the URL", hint):
            engine.run("extensions", "SET autoinstall_known_extensions = false")  # not behind the user's back
            lake.refuse_objects_of_lakes(engine, url)
            engine.create("read objects", names.STAGED, exp.select("*").from_(object_relation(url)))
        types = dict(engine.catalog.columns(table(names.STAGED)))
        return Source(engine, table(names.STAGED), types, None, None, frame="Parquet file of an object store")


def _unread(what: str, hint: str) -> AbstractContextManager[None]:
    """Raise SourceError in the place of the error of an engine, of which its kind alone is said."""
    return instead_of(EngineError, lambda error: SourceError(f"{what} cannot be read ({error.kind}).", hint=hint))


def _open_sqlite(path: Path, table_name: str | None, writable: bool) -> Source:
    """Return a SQLite file, whose engine knows when another connection writes to it."""
    from sqlanon.core.engines.sqlite.engine import MAIN, SQLiteEngine

    engine = SQLiteEngine(path, read_only=not writable)
    with closed_on_error(engine):
        if not writable:  # one who publishes into the file may have to wait for a writer, and reads anew then
            engine.hold()
        return _table_source(engine, table_name, path, MAIN)


def _open_duckdb(path: Path, table_name: str | None, settings: Mapping[str, Any] | None, writable: bool) -> Source:
    """Return a DuckDB file, attached to an embedded DuckDB."""
    stamps = () if writable else (stamp(path),)
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        what = f"The database file {path.name!r} cannot be opened."
        hint = "close other programs that hold it open, and check that it is a DuckDB file."
        with instead_of(EngineError, lambda error: SourceError(f"{what} {error.message}", hint=hint)):
            engine.attach(path, ATTACHED, read_only=not writable)
        engine.source_catalog = ATTACHED
        return _table_source(engine, table_name, path, ATTACHED, stamps)


def _open_spark(source: object, table_name: str | None, cluster: Cluster | None) -> Source:
    """Return a table of a session of Spark, or Parquet files that a cluster reads."""
    engine = start_engine(source, cluster)
    with closed_on_error(engine):
        if source is None or is_session(source):
            opened = _table_source(engine, table_name)
            stamps = tuple(stamp(file) for file in engine.catalog.local_files(opened.relation))
            return replace(opened, stamps=stamps, borrowed=is_session(source))
        files = parquet_files(source)
        refuse_files_of_lakes(files)
        stamps = tuple(stamp(file) for file in files)
        relation = engine.catalog.read_parquet(names.STAGED, spark_path(source))
        return Source(engine, relation, dict(engine.catalog.columns(relation)), None, None, stamps)


def _open_frame(frame: object, settings: Mapping[str, Any] | None) -> Source:
    """Return a frame, whose records are brought into an embedded DuckDB."""
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        types = load_frame(engine, frame, names.STAGED)
        kind, version = kind_of_frame(frame), None
        if is_lake_table(frame):
            from sqlanon.core.source.lake import version_of

            version = version_of(frame)
        return Source(engine, table(names.STAGED), types, None, None, frame=kind, version=version)


def _open_lake(source: Path | str, settings: Mapping[str, Any] | None) -> Source:
    """Return a table of a lakehouse or files of an object store, whose records are brought into an embedded DuckDB."""
    from sqlanon.core.source.lake import load_lake

    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        types, version = load_lake(engine, source, names.STAGED)
        path = source if isinstance(source, Path) else None
        return Source(engine, table(names.STAGED), types, path, None, version=version)


def _open_folder(path: Path, settings: Mapping[str, Any] | None) -> Source:
    """Return a folder of Parquet files, as a cluster writes it: one relation."""
    from sqlanon.core.source.partition_columns import refuse_hidden_values, types_of_folders

    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        refuse_files_of_lakes([path])
        files = parquet_files(path)
        refuse_files_of_lakes(files)
        stamps = tuple(stamp(file) for file in files)
        with _unread(f"The folder {path.name!r}", "it must hold Parquet files with the same columns."):
            refuse_hidden_values(engine, files, partitions := types_of_folders(files))
            relation = parquet_relation(files, partitions=partitions)
            return Source(engine, relation, dict(engine.catalog.columns(relation)), path, None, stamps)


def _open_patterns(patterns: FilePatterns, reading: Reading, settings: Mapping[str, Any] | None) -> Source:
    """Return the files that patterns name as one source."""
    files = patterns.files()
    if not files:
        raise SourceError(
            f"There is no file that the key files names ({', '.join(patterns.patterns)}).",
            hint="check the patterns; relative ones are relative to the policy file, and ** is any number of folders.",
        )
    return _open_files(files, Path(patterns.absolute()[0]), reading, settings)


def _open_files(files: tuple[Path, ...], path: Path, reading: Reading, settings: Mapping[str, Any] | None) -> Source:
    """Return files that an embedded DuckDB reads, or a file format, as one source; ``path`` is what it is called."""
    stamps = tuple(map(stamp, files))
    engine = DuckDBEngine(settings=settings)
    with closed_on_error(engine):
        hint = "check its format; for CSV declare csv: {delimiter: …, quote: …, encoding: …}."
        with _unread(f"The file {path.name!r}", hint):
            found = reading.records(engine, *files, into=names.STAGED)
            types = dict(engine.catalog.columns(found.relation))
            if found.count == 0 and reading.needs_records:
                raise SourceError(
                    f"The file {path.name!r} holds no records, only the names of its columns.",
                    hint="check how it was written; csv: {header: false} says that its first line is a record.",
                )
            opened = Source(engine, found.relation, types, path, None, stamps, found.notes, formats=found.options)
            return replace(opened, header_line=reading.has_header_line(files[0]))


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
    if table_name == ONLY_TABLE:
        listed = engine.catalog.relations()
        table_name = listed[0] if len(listed) == 1 else None
    if not table_name:
        raise SourceError(
            "The source is a database, and no table of it is named.",
            hint=tables_hint(engine, "") or "name one: table, or schema.table.",
        )

    def unread(error: EngineError) -> SourceError:
        hint = tables_hint(engine, table_name) or "check its name (schema.table is allowed), and your rights."
        return SourceError(f"The table {table_name!r} cannot be read. {error.message}", hint=hint)

    with instead_of(EngineError, unread):
        relation = engine.catalog.source_table(table_name)
        types = dict(engine.catalog.columns(relation))
    return Source(engine, relation, types, path, target_catalog, stamps)


def tables_hint(engine: Engine, wanted: str) -> str:
    """Return a hint with the tables of a source; empty if ``wanted`` is one of them, or none is known."""
    listed: list[str] = []
    with suppress(SqlanonError):
        listed = engine.catalog.relations()
    if not listed or wanted in listed:
        return ""
    meant = suggest(wanted, listed, "")
    return f"{meant} the source has {listing(listed)}.".lstrip()


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
        return (path, 0, 0, -1, 0)
    return (path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
