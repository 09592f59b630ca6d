"""SQLite 3.39 and newer, through Python's own driver.

The file of the source is the connection's ``main`` database, opened to be read only unless the release goes into it.
Working tables are temporary, private to the connection, and gone with it. Statements are checked where SQLite would
convert in silence (``dialect``); what hierarchies compute beyond 64 bits is computed in an embedded DuckDB.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Computed, DatabaseCatalog, Place, Row, Targets
from sqlanon.core.engines.capabilities import Capabilities, Lack
from sqlanon.core.engines.confined import allowed_files
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.relation_names import relation_parts, table_reference, unlisted, written_name
from sqlanon.core.engines.serial import SerialEngine
from sqlanon.core.engines.sqlite import dialect
from sqlanon.core.engines.sqlite.dialect import DIALECT, compare_bytes, quoted
from sqlanon.core.engines.sqlite.errors import REFUSALS, TOO_MANY_TABLES, describe, hint
from sqlanon.core.engines.sqlite.joins import index_on, joined_columns, parts_as_tables
from sqlanon.core.engines.sqlite.values import Functions, arrow_column, declared, stored, type_word
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import among, column, is_null, named, not_null, of_attribute, when
from sqlanon.core.sqltrees.trees import table as working_table
from sqlanon.errors import EngineError, HierarchyError, InputError, SourceError, TargetError, UnsupportedError

OLDEST = (3, 39, 0)
"""The oldest version with HAVING without GROUP BY, which some audits use."""
MAIN = "main"
"""The connection's name for the database of its file."""
STEPS = 200_000
"""Steps of SQLite's virtual machine between two looks whether the user wants to stop: some milliseconds."""
CACHE = -200_000
"""Memory for temporary tables in KiB, negative as SQLite wants it; beyond it they go to a temporary file."""
DESCRIBED, TYPES = "sqlanon_described", "sqlanon_types"
ELSEWHERE = "copy the table into a DuckDB or Parquet file and run the policy on that."


class SQLiteEngine(SerialEngine):
    """A connection with its temporary tables; ``close`` drops them all.

    Args:
        path: a SQLite file; None opens a database in memory.
        read_only: whether the file is opened for reading only.

    Raises:
        SourceError: the file cannot be opened.
        UnsupportedError: the library is too old.
    """

    capabilities = Capabilities(
        name="SQLite",
        dialect=DIALECT,
        lacks={
            "roles": Lack(
                "it has no roles: who can open the file sees everything in it.",
                "leave out owner and readers, and hand on a file of its own (output: {file: …}).",
            ),
            "side_by_side": Lack(
                "no connection sees the temporary tables of another, so that statements run one after the other.",
                "set search: {where: local} to judge nodes in an embedded DuckDB.",
            ),
            "wide_sums": Lack(f"{REFUSALS['overflow'][0]}.", REFUSALS["overflow"][1]),
            "files": Lack(
                "it writes no files; the released rows leave it for an embedded DuckDB, which does.",
                "nothing needs to be done, but the rows must fit into memory.",
            ),
            "periods": Lack(
                "it keeps moments as texts or numbers.", "export the table to Parquet, with a column of dates."
            ),
            "live_views": Lack(
                "a live view has been written for and tested on DuckDB and PostgreSQL only.",
                "publish a table, and run the policy again when the source has changed.",
            ),
            "several_sources": Lack(
                "sources are not joined, and files of other formats not streamed, in its files.",
                "join the tables in a view of the database, and make that the source.",
            ),
            "null_audit": Lack(
                "the audit of what NULLs give away has been tested on DuckDB and PostgreSQL only.",
                "publish a file and run `sqlanon nulls` on it.",
            ),
        },
        begin="BEGIN IMMEDIATE",  # no other connection writes to the file until the end
        temporary_schema="temp.",
        recurs_freely=False,
        groups_by_sets=False,
    )
    version = sqlite3.sqlite_version

    def __init__(self, path: Path | None = None, *, read_only: bool = True) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise UnsupportedError(
                f"Python uses SQLite {sqlite3.sqlite_version}; {'.'.join(map(str, OLDEST))} or newer is needed.",
                hint=ELSEWHERE,
            )
        super().__init__()
        self.path, self.read_only = path, read_only and path is not None
        self._functions = Functions()
        self._known_columns: dict[str, list[tuple[str, str]]] = {}
        """The columns of working tables, with the types that their query declared."""
        self._indexes: set[tuple[str, tuple[str, ...]]] = set()
        """The working tables with an index, and its columns."""
        failure: tuple[str, str] | None = None
        try:
            self._connection = _connect(path, read_only=self.read_only)
        except sqlite3.Error as error:
            failure = describe(error)
        if failure is None:
            try:
                self._prepare()
            except EngineError as error:
                self._connection.close()
                failure = (error.kind, error.message)
        if failure is not None:
            raise SourceError(
                f"The SQLite file {path.name if path else ''!r} cannot be opened ({failure[0]}: {failure[1]}).",
                hint=hint(failure[0]),
            )
        self._version, self.publishes_codes = self._data_version(), True

    def _prepare(self) -> None:
        self._functions.register(self._connection.create_function)
        self._connection.set_progress_handler(lambda: 0, STEPS)  # where Python hears of Ctrl-C
        if allowed_files() is not None:  # a view calls no function that reads more than its arguments
            self.run("session", "PRAGMA trusted_schema = OFF")
            self._connection.set_authorizer(_refuse_attaching)
        self.run("session", f"PRAGMA temp.cache_size = {CACHE}")
        self.run("session", "SELECT COUNT(*) FROM sqlite_schema")  # the first look into the file
        missing = not self.run("session", "SELECT 1 FROM pragma_function_list WHERE name = 'ln'")
        if missing:
            self._functions.register_mathematics(self._connection.create_function)

    def _data_version(self) -> int:
        return int(self.run("data version", "PRAGMA main.data_version")[0][0])

    def hold(self) -> None:
        # the first read of a transaction fixes what all of its statements read
        self.run("hold", "BEGIN")
        self.run("hold", "SELECT COUNT(*) FROM main.sqlite_schema")

    @property
    def catalog(self) -> SQLiteCatalog:
        return SQLiteCatalog(self)

    @property
    def targets(self) -> SQLiteTargets:
        return SQLiteTargets(self)

    def close(self) -> None:
        self._connection.close()

    # -- statements ----------------------------------------------------------------------------------------------------

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(self._bytewise(statement), pretty=pretty)

    def portable(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(self._bytewise(statement), pretty=pretty, writer=dialect.PortableSQLite)

    def _bytewise(self, statement: exp.Expr) -> exp.Expr:
        """Return a statement whose source is compared byte by byte, with the columns of every star listed."""
        if any(table.db for table in statement.find_all(exp.Table)):
            statement = compare_bytes(statement.copy(), self._source_columns)
        return self._listed(statement)

    def _source_columns(self, table: exp.Table) -> list[str] | None:
        query = "SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1"
        rows = self.run("source columns", query, [table.name, table.db])
        return [row[0] for row in rows] or None

    def _listed(self, statement: exp.Expr) -> exp.Expr:
        """Write ``* EXCLUDE (…)`` as the list of the columns that are left."""
        if not any(star.args.get("except_") for star in statement.find_all(exp.Star)):
            return statement
        statement = statement.copy()
        for select in list(statement.find_all(exp.Select)):
            items: list[exp.Expr] = []
            for item in select.expressions:
                star = item.this if isinstance(item, exp.Column) else item
                left_out = star.args.get("except_") if isinstance(star, exp.Star) else None
                if not left_out:
                    items.append(item)
                    continue
                known = self.catalog.columns(select.args["from_"].this)
                owner = item.args.get("table")
                gone = {name.name for name in left_out}
                items += [
                    exp.column(exp.to_identifier(name, quoted=True), owner.copy() if owner else None)
                    for name, _ in known
                    if name not in gone
                ]
            select.set("expressions", items)
        return statement

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        if isinstance(statement, exp.Expr) and not parameters:
            with self._parts(name, statement) as whole:
                return self.run(name, self.render(whole))
        text = self._text(statement)
        rows: list[Row] = self._guard(name, lambda: self._connection.execute(text, list(parameters)).fetchall())
        return rows

    @contextmanager
    def _parts(self, name: str, statement: exp.Expr) -> Iterator[exp.Expr]:
        """Create the parts of a statement that are computed once, and yield the statement that reads them."""
        parts, whole = parts_as_tables(statement)
        try:
            for part, query in parts:
                self.drop(part)
                self.run(name, f"CREATE TEMPORARY TABLE {quoted(part)} AS {self.prepared(query)}")
            self._index(whole)
            yield whole
        finally:
            for part, _ in parts:
                self.drop(part)

    def prepared(self, statement: exp.Expr) -> str:
        self._index(statement)
        return self.render(statement)

    def _index(self, statement: exp.Expr) -> None:
        """Create the indexes by which a statement finds rows of working tables, where they are not there already."""
        for found in joined_columns(statement):
            relation, columns = found
            query = "SELECT 1 FROM sqlite_temp_schema WHERE type = 'table' AND name = ?"
            if found not in self._indexes and self.run("existing", query, [relation]):
                self.run("index", dialect.render(index_on(relation, columns)))
                self._indexes.add(found)

    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        """Run a statement by ``work`` under its name.

        Raises:
            UnsupportedError: the statement needs sums beyond 64 bits, texts of bytes, or more than 64 tables.
        """
        functions = self._functions
        functions.refused, functions.interrupted = None, False
        failure: tuple[str, str]
        with self.journal.timed(name):
            try:
                return work()
            except sqlite3.Error as error:
                failure = describe(error)
            except OverflowError:
                functions.refused, failure = "overflow", ("OverflowError", "")
            except UnicodeError:
                failure = ("UnicodeError", "a text is not Unicode")
        kind, message = failure
        if kind == "SQLITE_INTERRUPT" or functions.interrupted:
            raise KeyboardInterrupt
        refused = "overflow" if message.startswith("integer overflow") else functions.refused
        if message == TOO_MANY_TABLES:
            raise UnsupportedError(
                f"SQLite refused the statement {name!r}: it joins more than 64 tables.",
                hint=f"have fewer quasi-identifiers and sensitive columns, or {ELSEWHERE}",
            )
        if refused in ("overflow", "bytes"):
            raise UnsupportedError(f"SQLite: {REFUSALS[refused][0]} ({name!r}).", hint=REFUSALS[refused][1])
        if refused is not None:
            raise self._refusal(name, refused, *REFUSALS[refused])
        raise self._refusal(name, kind, message, hint(kind))

    def add(self, name: str, text: str, parameters: Sequence[Any] = ()) -> int:
        rows: int = self._guard(name, lambda: self._connection.execute(text, list(parameters)).rowcount)
        return rows

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        # a column of several types is text
        known = self._describe(statement if isinstance(statement, str) else self._plain(statement))
        rows = self.run(name, statement)
        values = list(zip(*rows, strict=True)) if rows else [()] * len(known)
        arrays = [arrow_column(items, kind) for items, (_, kind) in zip(values, known, strict=True)]
        return pa.table(arrays, names=[title for title, _ in known])

    # -- working tables ------------------------------------------------------------------------------------------------

    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        rows = [tuple(map(stored, row)) for row in zip(*[c.to_pylist() for c in data.columns], strict=True)]
        titles = ", ".join(map(quoted, data.column_names))
        marks = ", ".join("?" * data.num_columns)
        kinds = [declared(field.type) for field in data.schema]
        columns = ", ".join(f"{quoted(title)} {kind}" for title, kind in zip(data.column_names, kinds, strict=True))

        def fill() -> None:
            self._connection.execute("SAVEPOINT sqlanon_fill")
            try:
                if new:
                    self._connection.execute(f"CREATE TEMPORARY TABLE {quoted(table)} ({columns})")
                values = f"INSERT INTO {self._working_table(table)} ({titles}) VALUES ({marks})"
                self._connection.executemany(values, rows)
            except BaseException:
                self._connection.execute("ROLLBACK TO sqlanon_fill")
                raise
            finally:
                self._connection.execute("RELEASE sqlanon_fill")

        self._guard(name, fill)

    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        if not isinstance(query, str):
            known = self._describe(self._plain(query))
            with self._parts(name, query) as whole:
                rows = self._create_as(name, table, self.render(whole))
            self._known_columns[table] = known
            return rows

        def fill() -> int:
            self._connection.execute(f"CREATE TEMPORARY TABLE {quoted(table)} AS {query}")
            return int(self._connection.execute(f"SELECT COUNT(*) FROM {self._working_table(table)}").fetchone()[0])

        return int(self._guard(name, fill))

    def compute(self, name: str, table: str, query: exp.Query, columns: Mapping[int, Computed], *, more: bool) -> None:
        """Compute the rows in an embedded DuckDB: the arithmetic of intervals has 128 bits, and SQLite has no dates.

        Raises:
            HierarchyError: values do not read as the declared type of their column.
        """
        text = column("value")
        read = (
            exp.select(column("attribute"), text, column(names.COUNT))
            .from_(working_table(names.VALUES))
            .where(among(list(columns)))
        )
        values = self.arrow("values to build", read)
        typed = {i: data_type(item.type) for i, item in columns.items() if not item.by_text}
        computing = DuckDBEngine(settings={"threads": 1})
        try:
            schema = pa.schema([("attribute", pa.int64()), ("value", pa.string()), (names.COUNT, pa.int64())])
            computing.load("values to build", DESCRIBED, values.cast(schema))
            raw = [
                named(when(of_attribute(i), exp.TryCast(this=text.copy(), to=kind)), names.raw(i))
                for i, kind in typed.items()
            ]
            shown = exp.select(column("attribute"), text, column(names.COUNT), *raw)
            shown = shown.from_(working_table(DESCRIBED))
            computing.create(name, names.VALUES, shown)
            for position in typed:
                self._refuse_odd(computing, position, columns[position])
            self.load(name, table, computing.arrow(name, query), more=more)
        finally:
            computing.close()

    def _refuse_odd(self, computing: DuckDBEngine, position: int, item: Computed) -> None:
        """Raise HierarchyError if values of a column do not read as the type that it is declared with."""
        odd = exp.select(exp.Count(this=exp.Star())).from_(working_table(names.VALUES))
        odd = odd.where(of_attribute(position), not_null(column("value")), is_null(column(names.raw(position))))
        count = computing.run("check values", odd)[0][0]
        if count:
            raise HierarchyError(
                f"{count} values of column {item.name!r} do not read as {item.type}, the type that it is declared "
                "with.",
                hint="SQLite's columns hold values of any type: cast the column in a view of the source, "
                "or use another hierarchy.",
            )

    def drop(self, table: str) -> None:
        self._known_columns.pop(table, None)
        self._indexes = {found for found in self._indexes if found[0] != table}
        super().drop(table)

    def drop_column(self, table: str, column: str) -> None:
        super().drop_column(table, column)
        if table in self._known_columns:
            self._known_columns[table] = [item for item in self._known_columns[table] if item[0] != column]

    def _forget_relations(self) -> None:
        super()._forget_relations()
        self._known_columns.clear()
        self._indexes.clear()

    def _plain(self, statement: exp.Expr) -> str:
        """Return the text that keeps declared types: a column that is compared byte by byte loses its own."""
        return dialect.render(self._listed(statement))

    def _describe(self, text: str) -> list[tuple[str, str]]:
        """Return the columns of a query: a view of it has the declared types, a table of it the types of the others."""

        def look() -> list[tuple[str, str]]:
            execute = self._connection.execute
            view, types = quoted(DESCRIBED), quoted(TYPES)
            for old in (f"DROP VIEW IF EXISTS temp.{view}", f"DROP TABLE IF EXISTS temp.{types}"):
                execute(old)
            execute(f"CREATE TEMPORARY VIEW {view} AS {text}")
            try:
                of_view = execute(f"PRAGMA temp.table_xinfo({view})").fetchall()
                execute(f"CREATE TEMPORARY TABLE {types} AS SELECT * FROM temp.{view} LIMIT 0")
                of_table = execute(f"PRAGMA temp.table_xinfo({types})").fetchall()
                execute(f"DROP TABLE temp.{types}")
            finally:
                execute(f"DROP VIEW temp.{view}")
            return [(str(one[1]), type_word(one[2], other[2])) for one, other in zip(of_view, of_table, strict=True)]

        found: list[tuple[str, str]] = self._guard("describe", look)
        return found


@dataclass(frozen=True, slots=True)
class SQLiteCatalog(DatabaseCatalog):
    """The file of the source, and the working tables with the types that their queries declared."""

    engine: SQLiteEngine

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        if isinstance(relation, exp.Table) and not relation.db and relation.name in self.engine._known_columns:
            return list(self.engine._known_columns[relation.name])
        return self.engine._describe(self.engine._plain(exp.select("*").from_(relation.copy())))

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        parts: list[str] = []
        with suppress(InputError):
            parts = relation_parts(name, DIALECT)
        if catalog not in (None, MAIN) or not parts or [part.casefold() for part in parts[:-1]] not in ([], [MAIN]):
            raise UnsupportedError(
                "Of a SQLite file only its own tables and views can be read.", hint="copy the table into that file."
            )
        if parts[-1].casefold().startswith("sqlite_") or self.existing(Place("", MAIN, parts[-1])) is None:
            raise unlisted("SQLITE_ERROR")  # its own tables, and functions that SQLite reads as tables (pragma_…)
        return table_reference([MAIN, parts[-1]])

    def existing(self, where: Place) -> str | None:
        query = "SELECT type FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')"
        rows = self.engine.run("existing", query, [where.name])
        return str(rows[0][0]) if rows else None

    def view_text(self, where: Place) -> str:
        query = "SELECT sql FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type = 'view'"
        rows = self.engine.run("existing", query, [where.name])
        return str(rows[0][0]) if rows else ""

    def relations(self) -> list[str]:
        found = self.engine.run("relations", "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        return sorted(written_name([str(row[0])], DIALECT) for row in found if not str(row[0]).startswith("sqlite_"))

    def databases(self) -> list[tuple[str, str | None, bool]]:
        return [(MAIN, str(self.engine.path) if self.engine.path else None, self.engine.read_only)]

    def unchanged(self) -> bool:
        return self.engine._data_version() == self.engine._version


@dataclass(frozen=True, slots=True)
class SQLiteTargets(Targets):
    """The tables and views of the file."""

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        if [part.casefold() for part in parts[:-1]] not in ([], [MAIN]):
            raise TargetError(
                f"The target {'.'.join(parts)!r} names a schema, and a SQLite file has none but main.",
                hint="write the name of the table or view alone.",
            )
        return Place("", MAIN, parts[-1])

    def make_schema(self, where: Place) -> None:
        return  # a file has one schema

    def create_view(self, where: Place, query: exp.Query) -> None:
        # the view names relations without a schema: to other connections the file has another name
        query = query.copy()
        for table in query.find_all(exp.Table):
            table.set("db", None)
        text = dialect.render(query)
        self.engine.run("create view", f"CREATE VIEW {dialect.render(where.table)} AS {text}")


def _connect(path: Path | None, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that commits at once; a file is never created."""
    target = f"file:{quote(str(path))}?mode={'ro' if read_only else 'rw'}" if path else ":memory:"
    return sqlite3.connect(target, uri=path is not None, isolation_level=None, check_same_thread=False)


def _refuse_attaching(action: int, *_: object) -> int:
    """Tell SQLite that no statement opens another file, and that it may do everything else."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_CREATE_VTABLE) else sqlite3.SQLITE_OK
