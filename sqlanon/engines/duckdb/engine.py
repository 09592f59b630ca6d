"""DuckDB: the embedded default engine, and the only module that imports duckdb."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.engines.base import SNAPSHOT, Capabilities, Engine, Job, Lack, Place, Statement, rows_of, temporary_table
from sqlanon.engines.journal import Journal
from sqlanon.engines.relation_names import relation_parts
from sqlanon.engines.texts import DUCKDB
from sqlanon.errors import EngineError, InputError
from sqlanon.sqltrees.trees import equal

DIALECT = "duckdb"


VERSION = duckdb.__version__


BATCH_ROWS = 50_000
"""Rows that are handed to a file format at once."""


MOST_LANES = 8
"""Most cursors that judge nodes side by side."""


SAFE_KINDS = (
    duckdb.OutOfMemoryException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.PermissionException,
    duckdb.IOException,
    duckdb.TransactionException,
    duckdb.NotImplementedException,
)
"""Errors whose first line speaks of names, paths and sizes only; the text of all others may quote a value."""


HINTS: dict[str, str] = {
    "OutOfMemoryException": "raise engine.memory_limit, or give engine.temp_directory more room.",
    "IOException": "check that the path exists, that it can be read or written, and that the disk has room.",
    "PermissionException": "check the permissions, and that the database was not opened read-only.",
    "ConversionException": "a value does not fit the type of its column; check the column types of the source.",
    "InvalidInputException": "check that the file has the declared format (delimiter, quoting, encoding).",
}


ATTACHING = threading.Lock()


Fetch = Callable[[str, list[Any]], Any]


@dataclass(slots=True)
class _Lane:
    """A cursor of our own database, and what its views show. One statement runs on it at a time."""

    cursor: duckdb.DuckDBPyConnection
    shown: dict[str, str] = field(default_factory=dict)


def _describe(error: duckdb.Error) -> tuple[str, str]:
    kind = type(error).__name__
    if isinstance(error, SAFE_KINDS):
        return kind, str(error).strip().splitlines()[0]
    return kind, "its message is withheld because it may quote a value"


class DuckDBEngine(Engine):
    """One connection with its tables; ``close`` drops them all.

    Args:
        connection: an open connection of the user's; the engine works on a cursor of it, whose temporary
            tables nobody else sees. None opens a database in memory: nobody else is there, so that its tables need
            not be temporary, and several cursors can read them side by side (``run_many``).
        settings: ``memory_limit``, ``threads``, ``temp_directory``; only for a database of our own.

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
    )
    version = VERSION

    def __init__(
        self,
        *,
        connection: duckdb.DuckDBPyConnection | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal = Journal()
        self.source_catalog: str | None = None
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self._attached: list[str] = []
        self._own = connection is None
        self._lanes: list[_Lane] = []
        self._threads = 1
        self._pool: ThreadPoolExecutor | None = None
        failure: tuple[str, str] | None = None
        try:
            if connection is None:
                config = {name: value for name, value in (settings or {}).items() if value is not None}
                config.setdefault("preserve_insertion_order", "false")
                self._connection = duckdb.connect(":memory:", config=config)
            else:
                self._connection = connection.cursor()
            self._connection.execute("SET SESSION TimeZone = 'UTC'")
            self._connection.execute("SET enable_progress_bar = false")  # it would be printed to standard output
            self._open_lanes()
        except duckdb.Error as error:
            failure = _describe(error)
        if failure:
            raise InputError(
                f"DuckDB refused the connection or the engine settings ({failure[0]}: {failure[1]}).",
                hint="check the keys memory_limit, threads and temp_directory of engine.",
            )

    def _open_lanes(self) -> None:
        """One lane a thread of our own database; of the user's our only cursor, which alone sees its tables."""
        if not self._own:
            self._lanes = [_Lane(self._connection)]
            return
        self._threads = self._connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
        self._lanes = [_Lane(self._connection.cursor()) for _ in range(min(self._threads, MOST_LANES))]
        for lane in self._lanes:
            lane.cursor.execute("SET enable_progress_bar = false")

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Give each statement one thread, because ``run_many`` keeps all of them busy with statements.

        A small statement spread over threads costs half as much again as on one.
        """
        if len(self._lanes) == 1:
            yield
            return
        self._connection.execute("SET threads = 1")
        try:
            yield
        finally:
            self._connection.execute(f"SET threads = {self._threads}")

    @property
    def lanes(self) -> int:
        """How many statements ``run_many`` runs side by side."""
        return len(self._lanes)

    def close(self) -> None:
        """Drop every table of ours and close the connection (of the user's: our cursor only)."""
        if self._pool is not None:
            self._pool.shutdown()
        for lane in self._lanes:
            lane.cursor.close()
        self._connection.close()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """The text of ``statement`` in DuckDB's dialect, every identifier quoted."""
        return statement.sql(dialect=DIALECT, identify=True, copy=False, comments=False, pretty=pretty)

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a named statement and return its rows.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: the database refused it; names the statement and the kind of error only.
        """

        def fetch(text: str, bound: list[Any]) -> list[tuple[Any, ...]]:
            return self._connection.execute(text, bound).fetchall()

        rows: list[tuple[Any, ...]] = self._guard(name, statement, parameters, fetch)
        return rows

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[tuple[Any, ...]]]:
        """Run named statements that only read, side by side as far as there are lanes, and return their rows in order.

        Raises:
            EngineError: the database refused one of them; the others have ended.
        """
        if len(jobs) == 1 or len(self._lanes) == 1:
            return [self._run_job(name, job, self._lanes[0]) for job in jobs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._lanes), thread_name_prefix="sqlanon")
        results: list[list[tuple[Any, ...]]] = [[] for _ in jobs]
        waiting = iter(range(len(jobs)))
        guard = threading.Lock()

        def work(lane: _Lane) -> None:
            while True:
                with guard:
                    number = next(waiting, None)
                if number is None:
                    return
                results[number] = self._run_job(name, jobs[number], lane)

        running = [self._pool.submit(work, lane) for lane in self._lanes[: len(jobs)]]
        try:
            for future in running:
                future.result()
        except BaseException:
            with guard:
                waiting = iter(())
            for lane, future in zip(self._lanes, running, strict=False):
                if not future.done():
                    lane.cursor.interrupt()
            while not all(future.done() for future in running):  # a second Ctrl-C does not leave one behind
                with suppress(KeyboardInterrupt):
                    wait(running)
            raise
        return results

    def _run_job(self, name: str, job: Job, lane: _Lane) -> list[tuple[Any, ...]]:
        def fetch(text: str, bound: list[Any]) -> list[tuple[Any, ...]]:
            for view, table in job.views.items():
                if lane.shown.get(view) != table:
                    lane.cursor.execute(
                        f"CREATE OR REPLACE TEMPORARY VIEW {_quoted(view)} AS SELECT * FROM {_quoted(table)}"
                    )
                    lane.shown[view] = table
            return lane.cursor.execute(text, bound).fetchall()

        rows: list[tuple[Any, ...]] = self._guard(name, job.text, job.parameters, fetch)
        return rows

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table."""

        def fetch(text: str, bound: list[Any]) -> pa.Table:
            return self._connection.sql(text, params=bound).to_arrow_table()

        table: pa.Table = self._guard(name, statement, (), fetch)
        return table

    def _guard(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any], fetch: Fetch) -> Any:
        text = statement if isinstance(statement, str) else self.render(statement)
        start = time.perf_counter()
        failure: tuple[str, str] | None = None
        interrupted = False
        try:
            return fetch(text, list(parameters))
        except duckdb.InterruptException:
            interrupted = True
        except duckdb.Error as error:
            failure = _describe(error)
        except RuntimeError as error:
            if "interrupt" not in str(error).lower():
                raise
            interrupted = True
        finally:
            self.journal.record(name, time.perf_counter() - start)
        if interrupted:
            raise KeyboardInterrupt
        assert failure is not None
        kind, message = failure
        raise EngineError(
            f"DuckDB refused the statement {name!r} ({kind}: {message}).",
            hint=HINTS.get(kind, "run `sqlanon explain` to see the statement."),
            statement=name,
            kind=kind,
        )

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from an Arrow table; the replayable script lists its rows (``replayed``)."""
        if replayed:
            self.replay.append((name, lambda: temporary_table(table, rows_of(data))))
        self._take(name, data, table, self._making(table))

    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""
        if replayed:
            self.replay.append((name, lambda: exp.insert(rows_of(data), exp.to_table(table, quoted=True))))
        self._take(name, data, table, f"INSERT INTO {_quoted(table)}")

    def _take(self, name: str, data: pa.Table, table: str, beginning: str) -> None:
        """Take rows from Arrow, by the beginning of a statement."""
        arrow_name = table + "_arrow"
        self._connection.register(arrow_name, data)
        try:
            self.run(name, f"{beginning} SELECT * FROM {_quoted(arrow_name)}")
        finally:
            self._connection.unregister(arrow_name)

    def load_batches(self, name: str, table: str, batches: pa.RecordBatchReader, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from batches that are read one after the other; what reading them raises
        comes through. Of a ``replayed`` table the script tells the columns."""
        arrow_name = table + "_arrow"
        columns = exp.Schema(
            this=exp.to_table(table, quoted=True),
            expressions=[
                exp.ColumnDef(this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build("VARCHAR"))
                for column in batches.schema.names
            ],
        )
        made = exp.Create(this=columns, kind="TABLE")
        if not self._own:
            made.set("properties", exp.Properties(expressions=[exp.TemporaryProperty()]))
        self.run(name, made)
        if replayed:
            self.replay.append((f"{name}: load the records of the file here", made))
        for batch in batches:
            self._connection.register(arrow_name, pa.Table.from_batches([batch]))
            try:
                self.run(name, f"INSERT INTO {_quoted(table)} SELECT * FROM {_quoted(arrow_name)}")
            finally:
                self._connection.unregister(arrow_name)

    @contextmanager
    def batches(self, name: str, statement: exp.Expr) -> Iterator[pa.RecordBatchReader]:
        """Run a named statement whose rows are read batch by batch; nothing else can run on the connection meanwhile.

        Rows that are not read to the end are left out.
        """

        def fetch(text: str, bound: list[Any]) -> pa.RecordBatchReader:
            return self._connection.sql(text, params=bound).to_arrow_reader(BATCH_ROWS)

        reader: pa.RecordBatchReader = self._guard(name, statement, (), fetch)

        def guarded() -> Iterator[pa.RecordBatch]:
            failed = False
            try:
                yield from reader
            except (OSError, pa.ArrowException):  # with the message of DuckDB, which may quote a value
                failed = True
            if failed:
                raise EngineError(
                    f"DuckDB refused the statement {name!r} while its rows were read; its message is withheld because "
                    "it may quote a value.",
                    hint="check the column types of the source, and the room on the disk.",
                    statement=name,
                    kind="Error",
                )

        try:
            yield pa.RecordBatchReader.from_batches(reader.schema, guarded())
        finally:
            reader.close()

    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the table ``table`` of ours from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once; the script does
        not tell it then.
        """
        text = query if isinstance(query, str) else self.render(query)
        rows = self.run(name, f"{self._making(table)} {text}")
        if isinstance(query, exp.Query) and name != SNAPSHOT:
            self.replay.append((name, partial(temporary_table, table, query)))
        return int(rows[0][0])

    def _making(self, table: str) -> str:
        """How a table of ours begins: in a database of the user's it is temporary."""
        return f"CREATE TABLE {_quoted(table)} AS" if self._own else _temporary(table)

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a table of ours."""
        statement = exp.insert(query, exp.to_table(table, quoted=True))
        self.run(name, statement)
        self.replay.append((name, statement))

    def drop(self, table: str) -> None:
        """Drop a table of ours, if it is there."""
        for lane in self._lanes:
            lane.shown = {view: shown for view, shown in lane.shown.items() if shown != table}
        self.run("drop", f"DROP TABLE IF EXISTS {_quoted(table)}")

    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a table of ours."""
        self.run("drop column", f"ALTER TABLE {_quoted(table)} DROP COLUMN {_quoted(column)}")

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order."""
        query = exp.select("*").from_(relation)
        rows = self.run("describe", exp.Describe(this=query))
        return [(str(row[0]), str(row[1])) for row in rows]

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` (schema-qualified allowed) of the source: its attached file, or our database.

        Args:
            catalog: of another database, by the name it is attached under.
        """
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and catalog is None:
            parts = [*self.default_schema, *parts]
        catalog = catalog or self.source_catalog
        if catalog and len(parts) < 3:
            parts = [catalog, *(parts if len(parts) == 2 else ["main", *parts])]
        identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
        arguments = dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False))
        return exp.Table(**arguments)

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """The full name of a target: ``name``, ``schema.name`` or ``database.schema.name``.

        Args:
            target_catalog: the database that views and tables go to; None: the connection's own.
        """
        where = exp.select(exp.func("current_database"), exp.func("current_schema"))
        catalog, schema = map(str, self.run("current schema", where)[0])
        if target_catalog is not None and target_catalog.casefold() != catalog.casefold():
            catalog, schema = target_catalog, "main"
        if self.default_schema:
            schema = self.default_schema[-1]
        if len(parts) == 2 and target_catalog is None and self._is_other_database(parts[0], catalog):
            parts = [parts[0], "main", parts[1]]
        return Place(*[catalog, schema][: 3 - len(parts)], *parts)

    def _is_other_database(self, name: str, current: str) -> bool:
        attached = {database.casefold() for database, *_ in self.databases()}
        return name.casefold() in attached and name.casefold() != current.casefold()

    def existing(self, where: Place) -> str | None:
        """``table`` or ``view`` when there is such a relation, else None."""
        return next((kind for kind in ("table", "view") if self._listed(where, kind)), None)

    def view_text(self, where: Place) -> str:
        """The statement of a view, as the catalog keeps it."""
        rows = self._listed(where, "view")
        return str(rows[0][0]) if rows else ""

    def _listed(self, where: Place, kind: str) -> list[tuple[Any, ...]]:
        conditions = [
            equal(exp.Lower(this=exp.column(column, quoted=True)), exp.Lower(this=exp.convert(name)))
            for column, name in (
                ("database_name", where.catalog),
                ("schema_name", where.schema),
                (f"{kind}_name", where.name),
            )
        ]
        listed = exp.select(exp.column("sql", quoted=True)).from_(exp.Anonymous(this=f"duckdb_{kind}s"))
        return self.run("existing", listed.where(*conditions))

    def databases(self) -> list[tuple[str, str | None, bool]]:
        """The databases that are attached: name, file (None in memory), whether it is only read."""
        columns = [exp.column(name, quoted=True) for name in ("database_name", "path", "readonly")]
        rows = self.run("databases", exp.select(*columns).from_(exp.Anonymous(this="duckdb_databases")))
        return [(str(name), str(path) if path else None, bool(readonly)) for name, path, readonly in rows]

    def attach(self, path: Path, alias: str, *, read_only: bool, replayed: bool = True) -> None:
        """Attach a DuckDB file under ``alias``; unless ``replayed``, the script does not tell it."""
        file = exp.alias_(exp.Literal.string(str(path)), alias, quoted=True)
        options = [exp.AttachOption(this=exp.var("READ_ONLY"))] if read_only else []
        statement = exp.Attach(this=file, expressions=options)
        self.run("attach", statement)
        self._attached.append(alias)
        if replayed:
            self.replay.append(("attach", statement))

    def detach(self, alias: str) -> None:
        """Detach the database ``alias``; DuckDB checkpoints it."""
        self.run("detach", f"DETACH {_quoted(alias)}")
        self._attached.remove(alias)

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Detach at the end what was attached meanwhile: everybody on a connection sees what is attached to it.

        On connections of the user's one at a time: another plan could find a database that is about to go.
        """
        with nullcontext() if self._own else ATTACHING:
            before = list(self._attached)
            try:
                yield
            finally:
                for alias in [alias for alias in self._attached if alias not in before]:
                    with suppress(EngineError):
                        self.detach(alias)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: commit at the end, roll back on any error."""
        self.run("begin", "BEGIN TRANSACTION")
        try:
            yield
            self.run("commit", "COMMIT")
        except BaseException:
            with suppress(EngineError):  # the database may have rolled back by itself
                self.run("rollback", "ROLLBACK")
            raise


def _temporary(table: str) -> str:
    return f"CREATE TEMPORARY TABLE {_quoted(table)} AS"


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)


def is_connection(source: object) -> bool:
    """True when ``source`` is an open DuckDB connection."""
    return isinstance(source, duckdb.DuckDBPyConnection)
