"""DuckDB: the embedded default engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import DatabaseCatalog, Engine, Job, Place, Row, Targets
from sqlanon.core.engines.capabilities import DUCKDB, Capabilities, Lack
from sqlanon.core.engines.confined import allowed_files
from sqlanon.core.engines.duckdb import dialect
from sqlanon.core.engines.duckdb.dialect import DIALECT, quoted
from sqlanon.core.engines.duckdb.errors import describe, hint
from sqlanon.core.engines.duckdb.lanes import Lane, Lanes, hide_progress
from sqlanon.core.engines.duckdb.private import PrivateRelations, as_before
from sqlanon.core.engines.duckdb.spill import Spill
from sqlanon.core.engines.relation_names import relation_parts, table_reference, unlisted, written_name
from sqlanon.core.engines.sqlstate import WITHHELD
from sqlanon.core.interrupts import interruptible
from sqlanon.core.sqltrees.names import PREFIX
from sqlanon.core.sqltrees.trees import column, equal, number, union_all
from sqlanon.errors import EngineError, InputError

VERSION = duckdb.__version__
Relation = duckdb.DuckDBPyRelation

BATCH_ROWS = 50_000
"""Rows that a file format receives at once."""

SECURE = (
    "SELECT 1 FROM duckdb_databases() WHERE database_name = ? AND type = 'duckdb' "
    "AND NOT REGEXP_MATCHES(COALESCE(tags['storage_version'], ''), '^v[01][.]')"
)
"""Whether a database can hold secure views: files in a format before DuckDB 2 cannot."""
ATTACHING = threading.Lock()
"""Held while a database is attached to a connection of the user's."""


class DuckDBEngine(Engine):
    """A connection with its working tables; ``close`` drops them all.

    Args:
        connection: an open connection of the user's; the engine works on a cursor of it, whose temporary
            tables no other session sees. None opens a database in memory: it has no other session, so its tables need
            not be temporary, and several cursors can read them side by side (``run_many``).
        settings: ``memory_limit``, ``threads``, ``temp_directory``; only for a database of our own. What does not fit
            into memory is encrypted in a private folder (``spill``); a connection of the user's keeps its own settings.

    Raises:
        InputError: a setting is refused by DuckDB.
    """

    capabilities = Capabilities(
        name="DuckDB",
        dialect=DIALECT,
        lacks={
            "roles": Lack(
                "it has no roles: who can open the database sees everything in it.",
                "leave out owner and readers, and hand on a file of its own (output: {file: …}).",
            )
        },
        texts=DUCKDB,
        missing=frozenset({"CatalogException", "BinderException"}),
        repeats_rows=True,
    )
    version = VERSION

    def __init__(
        self,
        *,
        connection: duckdb.DuckDBPyConnection | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.source_catalog: str | None = None
        self._attached: list[str] = []
        self._own = connection is None
        self._private: PrivateRelations | None = None
        self.settings = {name: value for name, value in (settings or {}).items() if value is not None}
        self._spill = Spill(self.settings.get("temp_directory")) if connection is None else None
        self._collated = False
        """A column of a table that may be read declares a collation."""
        failure: tuple[str, str] | None = None
        allowed = allowed_files()
        try:
            if self._spill is not None:
                self._connection = self._spill.connect(self.settings, allowed)
            elif connection is not None:
                self._connection = connection.cursor()
                self._private = PrivateRelations(connection, self._connection)
            self._connection.execute("SET SESSION TimeZone = 'UTC'")
            self._connection.execute("SET SESSION default_collation = ''")  # the user's own may merge texts that differ
            hide_progress(self._connection)
            self._lanes = Lanes(self._connection, own=self._own, locked=allowed is not None)
            self.lanes = len(self._lanes)
            if self._own and allowed is not None:
                self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            failure = describe(error)
        if failure:
            if self._spill is not None:
                self._spill.remove()
            raise InputError(
                f"DuckDB refused the connection or the engine settings ({failure[0]}: {failure[1]}).",
                hint="check the keys memory_limit, threads and temp_directory of engine.",
            )

    @property
    def users(self) -> duckdb.DuckDBPyConnection | None:
        """The connection of the user's; None for a database of our own."""
        return None if self._private is None else self._private.connection

    @property
    def catalog(self) -> DuckDBCatalog:
        return DuckDBCatalog(self)

    @property
    def targets(self) -> DuckDBTargets:
        return DuckDBTargets(self)

    def close(self) -> None:
        self._lanes.close()
        self._connection.close()
        if self._spill is not None:
            self._spill.remove()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty, collated=self._collated)

    def portable(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        statement = statement.copy()
        for table in statement.find_all(exp.Table):
            if table.catalog and table.catalog == self.source_catalog:  # our name for the file
                table.set("catalog", None)
        return self.render(statement, pretty=pretty)

    def before(self, text: str) -> list[str]:
        attached = (item for _, item in self.replay if isinstance(item, exp.Attach))
        others = [item.copy() for item in attached if item.this.alias != self.source_catalog]
        needed = [item for item in others if quoted(item.this.alias) + "." in text]
        for item in needed:
            item.set("exists", True)
        return [self.render(item) + ";" for item in needed]

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        text = self._text(statement)
        rows: list[Row] = self._guard(name, lambda: self._connection.execute(text, list(parameters)).fetchall())
        return rows

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[Row]]:
        def run_job(lane: Lane, job: Job) -> list[Row]:
            rows: list[Row] = self._guard(name, lambda: lane.run(job, list(job.parameters)), lane.cursor)
            return rows

        return self._lanes.run(jobs, run_job)

    def side_by_side(self) -> AbstractContextManager[None]:
        return self._lanes.side_by_side()

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        text = self._text(statement)
        table: pa.Table = self._guard(name, lambda: self._connection.sql(text, params=[]).to_arrow_table())
        return table

    def _guard(self, name: str, fetch: Callable[[], Any], connection: duckdb.DuckDBPyConnection | None = None) -> Any:
        """Run a statement by ``fetch`` under its name, on a connection (the engine's own, by default)."""
        failure: tuple[str, str] | None = None
        running = connection or self._connection
        with self.journal.timed(name):
            try:
                # a thread of DuckDB's that waits for the others does not look for signals
                return interruptible(fetch, running.interrupt)
            except duckdb.InterruptException:
                pass
            except duckdb.Error as error:
                failure = describe(error)
            except RuntimeError as error:
                if "interrupt" not in str(error).lower():
                    raise
        if failure is None:
            raise KeyboardInterrupt
        kind, message = failure
        raise self._refusal(name, kind, message, hint(kind))

    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        arrow_name = table + "_arrow"
        beginning = self._creation(table) if new else f"INSERT INTO {quoted(table)}"
        self._connection.register(arrow_name, data)
        try:
            self.run(name, f"{beginning} SELECT * FROM {quoted(arrow_name)}")
        finally:
            self._connection.unregister(arrow_name)

    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        return int(self.run(name, f"{self._creation(table)} {self._text(query)}")[0][0])

    def _creation(self, table: str) -> str:
        """Return the beginning of the statement that creates a working table: temporary unless the database is ours."""
        return f"CREATE {'' if self._own else 'TEMPORARY '}TABLE {quoted(table)} AS"

    def drop(self, table: str) -> None:
        self._lanes.forget(table)
        super().drop(table)

    def load_batches(self, name: str, table: str, batches: pa.RecordBatchReader, *, replayed: bool = True) -> None:
        """Create a working table from batches that are read one after the other; what reading them raises is raised.

        If ``replayed``, the replayable script creates the table without its rows.
        """
        empty = _empty(table, [(column, exp.DataType.build("VARCHAR")) for column in batches.schema.names])
        if not self._own:
            empty.set("properties", exp.Properties(expressions=[exp.TemporaryProperty()]))
        self.run(name, empty)
        if replayed:
            self.replay.append((f"{name}: load the records of the file here", empty))
        for batch in batches:
            self._ingest(name, table, pa.Table.from_batches([batch]), new=False)

    def load_stream(self, name: str, table: str, records: pa.RecordBatchReader, casts: Mapping[str, str]) -> None:
        """Create a working table from a stream of Arrow, which is read once; some columns are cast.

        The replayable script creates the table without its rows.
        """
        stream = table + "_arrow"
        columns = as_before(records.schema.names, casts)
        query = exp.select(*columns).from_(exp.to_table(stream, quoted=True))
        self._guard(name, lambda: self._connection.register(stream, records))
        try:
            self._create_as(name, table, query)
        finally:
            self._connection.unregister(stream)
        types = self.catalog.columns(exp.to_table(table, quoted=True))
        empty = _empty(table, [(column, exp.DataType.build(kind, dialect=DIALECT, udt=True)) for column, kind in types])
        self.replay.append((f"{name}: load the records of the frame here", empty))

    def arrow_type(self, field: pa.Field) -> str | None:
        """Return the type that a column of Arrow has here; None if it has none."""
        stream = PREFIX + "field_arrow"
        empty = pa.Table.from_batches([], pa.schema([field]))
        try:
            self._guard("read type", lambda: self._connection.register(stream, empty))
            [(_, kind)] = self.catalog.columns(exp.to_table(stream, quoted=True))
        except EngineError:
            return None
        finally:
            with suppress(duckdb.Error):
                self._connection.unregister(stream)
        return kind

    @contextmanager
    def batches(self, name: str, statement: exp.Expr) -> Iterator[pa.RecordBatchReader]:
        """Run a named statement and read its rows batch by batch, as far as the caller reads.

        Nothing else can run on the connection meanwhile.
        """
        text = self.render(statement)
        reader: pa.RecordBatchReader = self._guard(
            name, lambda: self._connection.sql(text, params=[]).to_arrow_reader(BATCH_ROWS)
        )

        def guarded() -> Iterator[pa.RecordBatch]:
            failed = False
            try:
                yield from reader
            except (OSError, pa.ArrowException):  # with the message of DuckDB, which may quote a value
                failed = True
            if failed:
                raise self._refusal(
                    name, "Error", WITHHELD, "check the column types of the source, and the room on the disk."
                )

        try:
            yield pa.RecordBatchReader.from_batches(reader.schema, guarded())
        finally:
            reader.close()

    def attach(self, path: Path, alias: str, *, read_only: bool, replayed: bool = True, unlogged: bool = False) -> None:
        """Attach a DuckDB file under ``alias``; if ``replayed``, the replayable script does too.

        What is written to an ``unlogged`` one is on the disk after the next ``checkpoint``, and not before: no log
        stands beside it.
        """
        file = exp.alias_(exp.Literal.string(str(path)), alias, quoted=True)
        options = [exp.AttachOption(this=exp.var("READ_ONLY"))] if read_only else []
        if unlogged:
            options.append(exp.AttachOption(this=exp.var("RECOVERY_MODE"), expression=exp.var("NO_WAL_WRITES")))
        statement = exp.Attach(this=file, expressions=options)
        self.run("attach", statement)
        self._attached.append(alias)
        if replayed:
            self.replay.append(("attach", statement))

    def checkpoint(self, alias: str) -> None:
        """Return when all that was committed to the database ``alias`` is in its file, on the disk."""
        self.run("checkpoint", f"CHECKPOINT {quoted(alias)}")

    def detach(self, alias: str) -> None:
        """Detach the database ``alias``; DuckDB checkpoints it."""
        self.run("detach", f"DETACH {quoted(alias)}")
        self._attached.remove(alias)


@dataclass(frozen=True, slots=True)
class DuckDBCatalog(DatabaseCatalog):
    """The databases that are attached to the engine's connection, and what the user's connection alone sees."""

    engine: DuckDBEngine

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        query = exp.select("*").from_(relation)
        rows = self.engine.run("describe", exp.Describe(this=query))
        return [(str(row[0]), str(row[1])) for row in rows]

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        parts = relation_parts(name, DIALECT)
        if catalog is None and (found := self._private_relation(parts)) is not None:
            return found
        self.engine._collated = self.engine._collated or self._collates()
        if len(parts) == 1 and catalog is None:
            parts = [*self.engine.default_schema, *parts]
            if not self.engine._own and parts[-1].casefold().startswith(PREFIX):  # our temporary tables would hide it
                parts = [*_current_schema(self.engine)[: 3 - len(parts)], *parts]
        catalog = catalog or self.engine.source_catalog
        if catalog and len(parts) < 3:
            parts = [catalog, *(parts if len(parts) == 2 else ["main", *parts])]
        if not self._holds(parts, catalog):
            raise unlisted("CatalogException")
        return table_reference(parts)

    def _holds(self, parts: Sequence[str], catalog: str | None) -> bool:
        """Return whether a name means a listed relation: DuckDB would look for a file of the name of any other.

        Its own relations (``information_schema``, ``pg_catalog``, ``duckdb_settings``) are none of the source's.

        Args:
            catalog: the database that the relation must stand in; None: any that is attached.
        """
        wanted = list(map(_folded, parts))
        if catalog is not None and wanted[0] != _folded(catalog):
            return False
        for row in self._all_relations():
            held = list(map(_folded, row))
            of_database = len(wanted) == 2 and [held[0], held[2]] == wanted  # database.relation
            if held[-len(wanted) :] == wanted or of_database:
                return True
        return False

    def _private_relation(self, parts: Sequence[str]) -> exp.Table | None:
        """Return the copy of a relation that only the user's connection sees; None if the name means another one.

        Raises:
            InputError: the connection has an unfinished result, and no other relation has this name.
        """
        if self.engine._private is None:
            return None
        try:
            found = self.engine._guard("private relations", partial(self.engine._private.find, parts))
        except EngineError as error:
            if error.kind != "ResourceInUseException":
                raise
        else:
            if found is None:
                return None
            if found.casefold().startswith(PREFIX):
                raise InputError(f"The relation {found!r} has the prefix of our own.", hint="give it another name.")
            return self.engine._private.copy(found, partial(self.engine._guard, f"copy {found}"))
        with suppress(EngineError):
            self.columns(table_reference(list(parts)))
            return None
        raise InputError(
            f"The relation {'.'.join(parts)!r} is not in the database, and the connection has an unfinished result, so "
            "that its temporary relations cannot be looked at.",
            hint="fetch the result to its end first.",
        )

    def _collates(self) -> bool:
        """Return True if a table has a column with a collation: no catalog of DuckDB says of which."""
        declares = exp.ILike(this=exp.column("sql", quoted=True), expression=exp.Literal.string("% COLLATE %"))
        found = exp.select(number(1)).from_(exp.Anonymous(this="duckdb_tables")).where(declares).limit(1)
        return bool(self.engine.run("collations", found))

    def existing(self, where: Place) -> str | None:
        return next((kind for kind in ("table", "view") if self._listed(where, kind)), None)

    def view_text(self, where: Place) -> str:
        rows = self._listed(where, "view")
        return str(rows[0][0]) if rows else ""

    def _listed(self, where: Place, kind: str) -> list[Row]:
        """Return the statements of the tables or views of that name."""
        parts = {"database_name": where.catalog, "schema_name": where.schema, f"{kind}_name": where.name}
        same = [equal(exp.Lower(this=column(part)), exp.Lower(this=exp.convert(name))) for part, name in parts.items()]
        listed = exp.select(column("sql")).from_(exp.Anonymous(this=f"duckdb_{kind}s")).where(*same)
        return self.engine.run("existing", listed)

    def relations(self) -> list[str]:
        here, source = _current_schema(self.engine), self.engine.source_catalog
        home = tuple(here) if source is None else (source, "main")
        parts = [row for row in self._all_relations() if source in (None, row[0])]
        parts = [row for row in parts if not row[2].casefold().startswith(PREFIX)]
        alone = (home, ("temp", "main"))
        near = [row[2:] if (row[0], row[1]) in alone else row[1:] if row[0] == home[0] else row for row in parts]
        return sorted(written_name(row, DIALECT) for row in near)

    def _all_relations(self) -> list[list[str]]:
        """Return database, schema and name of all tables and views that are not DuckDB's own."""
        listed = union_all(
            exp.select(*map(column, ("database_name", "schema_name", f"{kind}_name")))
            .from_(exp.Anonymous(this=f"duckdb_{kind}s"))
            .where(exp.Not(this=column("internal")))
            for kind in ("table", "view")
        )
        return [list(map(str, row)) for row in self.engine.run("relations", listed)]

    def databases(self) -> list[tuple[str, str | None, bool]]:
        columns = [exp.column(name, quoted=True) for name in ("database_name", "path", "readonly")]
        rows = self.engine.run("databases", exp.select(*columns).from_(exp.Anonymous(this="duckdb_databases")))
        return [(str(name), str(path) if path else None, bool(readonly)) for name, path, readonly in rows]

    @contextmanager
    def detaching(self) -> Iterator[None]:
        # Everybody on a connection sees what is attached to it. On connections of the user's one plan attaches at a
        # time: another could find a database that is about to go.
        with nullcontext() if self.engine._own else ATTACHING:
            before = list(self.engine._attached)
            try:
                yield
            finally:
                for alias in [alias for alias in self.engine._attached if alias not in before]:
                    with suppress(EngineError):
                        self.engine.detach(alias)


@dataclass(frozen=True, slots=True)
class DuckDBTargets(Targets):
    """The databases that are attached to the engine's connection, each with its schemas."""

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        catalog, schema = _current_schema(self.engine)
        if target_catalog is not None and target_catalog.casefold() != catalog.casefold():
            catalog, schema = target_catalog, "main"
        if self.engine.default_schema:
            schema = self.engine.default_schema[-1]
        if len(parts) == 2 and target_catalog is None and self._is_other_database(parts[0], catalog):
            parts = [parts[0], "main", parts[1]]
        return Place(*[catalog, schema][: 3 - len(parts)], *parts)

    def _is_other_database(self, name: str, current: str) -> bool:
        attached = {database.casefold() for database, *_ in self.engine.catalog.databases()}
        return name.casefold() in attached and name.casefold() != current.casefold()

    def create_view(self, where: Place, query: exp.Query) -> None:
        # no statistics and no plan of a reader's show what is beneath a secure view
        view = exp.Create(this=where.table, kind="VIEW", expression=query)
        if self.engine.run("storage", SECURE, [where.catalog]):
            view.set("properties", exp.Properties(expressions=[exp.SecureProperty()]))
        self.engine.run("create view", view)


def _current_schema(engine: Engine) -> list[str]:
    """Return the current database and schema of an engine's connection."""
    where = exp.select(exp.func("current_database"), exp.func("current_schema"))
    return list(map(str, engine.run("current schema", where)[0]))


def _empty(table: str, columns: Iterable[tuple[str, exp.DataType]]) -> exp.Create:
    """Return the statement that creates a working table without rows."""
    kinds = [exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind) for name, kind in columns]
    return exp.Create(this=exp.Schema(this=exp.to_table(table, quoted=True), expressions=kinds), kind="TABLE")


def _folded(name: str) -> bytes:
    """Return a name as DuckDB compares it: in small letters of ASCII alone; the sign of Kelvin is no ``k``."""
    return name.encode("utf-8", "surrogatepass").lower()


def is_connection(source: object) -> bool:
    """Return True if ``source`` is an open DuckDB connection."""
    return isinstance(source, duckdb.DuckDBPyConnection)


def relation_of(data: pa.Table, engine: Engine) -> Relation:
    """Return Arrow data as a relation of the user's connection that an engine works on, or of the default one."""
    users = engine.users if isinstance(engine, DuckDBEngine) else None
    return duckdb.from_arrow(data) if users is None else users.from_arrow(data)
