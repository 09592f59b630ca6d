"""SQLite 3.39 and newer, and the only module that imports its driver, Python's own.

The file of the source is the connection's ``main`` database, opened to be read only unless the release goes into it.
What we make is temporary, private to the connection, and gone with it. Statements are checked where SQLite would
convert in silence (``sqlite_dialect``); what hierarchies compute beyond 64 bits is computed in an embedded DuckDB.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from sqlglot import exp

from sqlanon.engines.base import SNAPSHOT, Capabilities, Engine, Job, Lack, Place, Statement, rows_of, temporary_table
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.journal import Journal
from sqlanon.engines.relation_names import relation_parts
from sqlanon.engines.sqlite import dialect as sqlite_dialect
from sqlanon.engines.sqlite.dialect import DIALECT, quoted, shielded
from sqlanon.engines.sqlite.errors import REFUSALS, TOO_MANY_TABLES, describe, hint
from sqlanon.engines.sqlite.values import Functions, column, declared, stored, word
from sqlanon.errors import EngineError, HierarchyError, InputError, SourceError, TargetError, UnsupportedError
from sqlanon.sqltrees.data_types import data_type

OLDEST = (3, 39, 0)
"""The oldest version with HAVING without GROUP BY, which some audits use."""
MAIN = "main"
"""What the connection calls the database of its file."""
STEPS = 200_000
"""Of SQLite's virtual machine, after which it looks whether the user wants to stop: some milliseconds."""
CACHE = -200_000
"""Memory for temporary tables in KiB, negative as SQLite wants it; beyond it they go to a temporary file."""
DESCRIBED, TYPES = "sqlanon_described", "sqlanon_types"
ELSEWHERE = "copy the table into a DuckDB or Parquet file and run the policy on that."

Row = tuple[Any, ...]


class SQLiteEngine(Engine):
    """One connection with its temporary tables; ``close`` drops them all.

    Args:
        path: a SQLite file; None opens a database in memory.
        read_only: nothing is written to the file.

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
                "say search: {where: local} to judge nodes in an embedded DuckDB.",
            ),
            "wide_sums": Lack(f"{REFUSALS['overflow'][0]}.", REFUSALS["overflow"][1]),
            "files": Lack(
                "it writes no files; the released rows leave it for an embedded DuckDB, which does.",
                "nothing needs to be done, but the rows must fit into memory.",
            ),
            "live_views": Lack(
                "a live view has been written for and tested on DuckDB and PostgreSQL only.",
                "publish a table, and run the policy again when the source has changed.",
            ),
            "several_sources": Lack(
                "sources are not joined, and files of other formats not streamed, in its files.",
                "join the tables in a view of the database, and make that the source.",
            ),
            "transformation": Lack(
                "patterns and local recoding have been written for and tested on DuckDB only.",
                f"leave out the transformation, or {ELSEWHERE}",
            ),
            "null_audit": Lack(
                "the audit of what NULLs give away has been tested on DuckDB and PostgreSQL only.",
                "publish a file and run `sqlanon nulls` on it.",
            ),
        },
    )
    version = sqlite3.sqlite_version

    def __init__(self, path: Path | None = None, *, read_only: bool = True) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise UnsupportedError(
                f"Python uses SQLite {sqlite3.sqlite_version}; {'.'.join(map(str, OLDEST))} or newer is needed.",
                hint=ELSEWHERE,
            )
        self.journal = Journal()
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self.path, self.read_only = path, read_only and path is not None
        self._functions = Functions()
        self._shown: dict[str, str] = {}
        self._told: dict[str, list[tuple[str, str]]] = {}
        failure: tuple[str, str] | None = None
        try:
            self._connection = _connected(path, read_only=self.read_only)
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
        self._version = self._data_version()

    def _prepare(self) -> None:
        self._functions.register(self._connection.create_function)
        self._connection.set_progress_handler(lambda: 0, STEPS)  # where Python hears of Ctrl-C
        self.run("session", f"PRAGMA temp.cache_size = {CACHE}")
        self.run("session", "SELECT COUNT(*) FROM sqlite_schema")  # the first look into the file
        missing = not self.run("session", "SELECT 1 FROM pragma_function_list WHERE name = 'ln'")
        if missing:
            self._functions.register_mathematics(self._connection.create_function)

    def _data_version(self) -> int:
        return int(self.run("data version", "PRAGMA main.data_version")[0][0])

    def unchanged(self) -> bool:
        """False when another connection wrote to the file since it was opened."""
        return self._data_version() == self._version

    def close(self) -> None:
        """Close the connection, which drops every table of ours."""
        self._connection.close()

    # -- statements ----------------------------------------------------------------------------------------------------

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """The text of ``statement`` in SQLite's dialect, every identifier quoted; tables of the source compare texts
        byte by byte, whatever collation they were declared with."""
        if any(table.db for table in statement.find_all(exp.Table)):
            statement = shielded(statement.copy(), self._source_columns)
        return sqlite_dialect.render(self._listed(statement), pretty=pretty)

    def _source_columns(self, table: exp.Table) -> list[str] | None:
        query = "SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1"
        rows = self.run("source columns", query, [table.name, table.db])
        return [row[0] for row in rows] or None

    def _listed(self, statement: exp.Expr) -> exp.Expr:
        """``* EXCLUDE (…)`` as the list of the columns that are left."""
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
                known = self.columns(select.args["from_"].this)
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
        """Run a named statement and return its rows.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: the database refused it; names the statement and the kind of error only.
            UnsupportedError: a whole number does not fit 64 bits, or a column holds bytes.
        """
        text = statement if isinstance(statement, str) else self.render(statement)
        rows: list[Row] = self._guard(name, lambda: self._connection.execute(text, list(parameters)).fetchall())
        return rows

    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        functions = self._functions
        functions.refused, functions.interrupted = None, False
        failure: tuple[str, str]
        try:
            return work()
        except sqlite3.Error as error:
            failure = describe(error)
        except OverflowError:
            functions.refused, failure = "overflow", ("OverflowError", "")
        except UnicodeError:
            failure = ("UnicodeError", "a text is not Unicode")
        finally:
            self.journal.record(name, time.perf_counter() - start)
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
            kind, (message, cure) = refused, REFUSALS[refused]
        else:
            cure = hint(kind)
        raise EngineError(
            f"SQLite refused the statement {name!r} ({kind}: {message}).", hint=cure, statement=name, kind=kind
        )

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[Row]]:
        """Run named statements that only read, one after the other."""
        return [self._run_job(name, job) for job in jobs]

    def _run_job(self, name: str, job: Job) -> list[Row]:
        for view, shown in job.views.items():
            if self._shown.get(view) != shown:
                self.run("hide", f"DROP VIEW IF EXISTS {_ours(view)}")
                self.run("show", f"CREATE TEMPORARY VIEW {quoted(view)} AS SELECT * FROM {_ours(shown)}")
                self._shown[view] = shown
        return self.run(name, job.text, job.parameters)

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Nothing to prepare: statements run one after the other."""
        yield

    @property
    def lanes(self) -> int:
        """How many statements ``run_many`` runs side by side."""
        return 1

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table; a column of several types is text."""
        known = self._described(statement if isinstance(statement, str) else self._plain(statement))
        rows = self.run(name, statement)
        values = list(zip(*rows, strict=True)) if rows else [()] * len(known)
        arrays = [column(items, kind) for items, (_, kind) in zip(values, known, strict=True)]
        return pa.table(arrays, names=[title for title, _ in known])

    # -- tables of ours ------------------------------------------------------------------------------------------------

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from an Arrow table; the replayable script lists its rows (``replayed``)."""
        if replayed:
            self.replay.append((name, lambda: temporary_table(table, rows_of(data))))
        kinds = [declared(field.type) for field in data.schema]
        columns = ", ".join(f"{quoted(title)} {kind}" for title, kind in zip(data.column_names, kinds, strict=True))
        self._fill(name, table, data, [f"CREATE TEMPORARY TABLE {quoted(table)} ({columns})"])

    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""
        if replayed:
            self.replay.append((name, lambda: exp.insert(rows_of(data), exp.to_table(table, quoted=True))))
        self._fill(name, table, data, [])

    def _fill(self, name: str, table: str, data: pa.Table, before: Sequence[str]) -> None:
        rows = [tuple(map(stored, row)) for row in zip(*[c.to_pylist() for c in data.columns], strict=True)]
        titles = ", ".join(map(quoted, data.column_names))
        marks = ", ".join("?" * data.num_columns)

        def fill() -> None:
            self._connection.execute("SAVEPOINT sqlanon_fill")
            try:
                for text in before:
                    self._connection.execute(text)
                self._connection.executemany(f"INSERT INTO {_ours(table)} ({titles}) VALUES ({marks})", rows)
            except BaseException:
                self._connection.execute("ROLLBACK TO sqlanon_fill")
                raise
            finally:
                self._connection.execute("RELEASE sqlanon_fill")

        self._guard(name, fill)

    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the table ``table`` of ours from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once; the script does
        not tell it then.
        """
        text = query if isinstance(query, str) else self.render(query)
        known = None if isinstance(query, str) else self._described(self._plain(query))

        def make() -> int:
            self._connection.execute(f"CREATE TEMPORARY TABLE {quoted(table)} AS {text}")
            return int(self._connection.execute(f"SELECT COUNT(*) FROM {_ours(table)}").fetchone()[0])

        rows: int = self._guard(name, make)
        if known is not None:
            self._told[table] = known
        if isinstance(query, exp.Query) and name != SNAPSHOT:
            self.replay.append((name, partial(temporary_table, table, query)))
        return rows

    def compute(
        self, name: str, table: str, query: exp.Query, *, over: str, of: str, type_name: str, by_text: bool
    ) -> None:
        """Make a table of ours from a query over the table ``over`` of distinct values, in an embedded DuckDB: the
        arithmetic of intervals has 128 bits, and SQLite knows no dates.

        Raises:
            HierarchyError: values do not read as the declared type of their column.
        """
        values = self.arrow("values to build", exp.select(exp.column("value", quoted=True)).from_(_reference(over)))
        computing = DuckDBEngine(settings={"threads": 1})
        try:
            computing.load("values to build", DESCRIBED, values.cast(pa.schema([("value", pa.string())])))
            text = exp.column("value", quoted=True)
            raw = exp.TryCast(this=text.copy(), to=data_type(type_name))
            typed = exp.select(text, exp.alias_(raw, "raw", quoted=True)).from_(_reference(DESCRIBED))
            computing.create(name, over, typed)
            odd = exp.select(exp.Count(this=exp.Star())).from_(_reference(over))
            odd = odd.where(exp.Not(this=exp.Is(this=text.copy(), expression=exp.null())))
            odd = odd.where(exp.Is(this=exp.column("raw", quoted=True), expression=exp.null()))
            count = 0 if by_text else computing.run("check values", odd)[0][0]
            if count:
                raise HierarchyError(
                    f"{count} values of column {of!r} do not read as {type_name}, the type that it is declared with.",
                    hint="SQLite's columns hold values of any type: cast the column in a view of the source, "
                    "or use another hierarchy.",
                )
            self.load(name, table, computing.arrow(name, query))
        finally:
            computing.close()

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a table of ours."""
        self.run(name, f"INSERT INTO {_ours(table)} {self.render(query)}")
        self.replay.append((name, lambda: exp.insert(query, exp.to_table(table, quoted=True))))

    def drop(self, table: str) -> None:
        """Drop a table of ours, if it is there."""
        self._shown = {view: shown for view, shown in self._shown.items() if shown != table}
        self._told.pop(table, None)
        self.run("drop", f"DROP TABLE IF EXISTS {_ours(table)}")

    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a table of ours."""
        self.run("drop column", f"ALTER TABLE {_ours(table)} DROP COLUMN {quoted(column)}")
        if table in self._told:
            self._told[table] = [item for item in self._told[table] if item[0] != column]

    # -- what there is -------------------------------------------------------------------------------------------------

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order; types in the words of policies, by what was declared."""
        if isinstance(relation, exp.Table) and not relation.db and relation.name in self._told:
            return list(self._told[relation.name])
        return self._described(self._plain(exp.select("*").from_(relation.copy())))

    def _plain(self, statement: exp.Expr) -> str:
        """The text that tells declared types: a column that is made to compare byte by byte has none."""
        return sqlite_dialect.render(self._listed(statement))

    def _described(self, text: str) -> list[tuple[str, str]]:
        """The columns of a query: a view of it tells those with a declared type, a table of it what the others are."""

        def look() -> list[tuple[str, str]]:
            execute = self._connection.execute
            view, types = quoted(DESCRIBED), quoted(TYPES)
            for old in (f"DROP VIEW IF EXISTS temp.{view}", f"DROP TABLE IF EXISTS temp.{types}"):
                execute(old)
            execute(f"CREATE TEMPORARY VIEW {view} AS {text}")
            try:
                told = execute(f"PRAGMA temp.table_xinfo({view})").fetchall()
                execute(f"CREATE TEMPORARY TABLE {types} AS SELECT * FROM temp.{view} LIMIT 0")
                made = execute(f"PRAGMA temp.table_xinfo({types})").fetchall()
                execute(f"DROP TABLE temp.{types}")
            finally:
                execute(f"DROP VIEW temp.{view}")
            return [(str(one[1]), word(one[2], other[2])) for one, other in zip(told, made, strict=True)]

        found: list[tuple[str, str]] = self._guard("describe", look)
        return found

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` of the file (``main.name`` allowed).

        Raises:
            UnsupportedError: another database is asked for.
        """
        parts: list[str] = []
        with suppress(InputError):
            parts = relation_parts(name, DIALECT)
        if catalog not in (None, MAIN) or not parts or [part.casefold() for part in parts[:-1]] not in ([], [MAIN]):
            raise UnsupportedError(
                "Of a SQLite file only its own tables and views can be read.", hint="copy the table into that file."
            )
        return Place("", MAIN, parts[-1]).table

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: commit at the end, roll back on any error. Nobody else writes to the file meanwhile."""
        self.run("begin", "BEGIN IMMEDIATE")
        try:
            yield
            self.run("commit", "COMMIT")
        except BaseException:
            self._shown.clear()
            self._told.clear()
            with suppress(EngineError):  # SQLite may have rolled back by itself
                self.run("rollback", "ROLLBACK")
            raise

    # -- where releases go ---------------------------------------------------------------------------------------------

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """The full name of a target: ``name`` or ``main.name``.

        Raises:
            TargetError: another schema is named.
        """
        if [part.casefold() for part in parts[:-1]] not in ([], [MAIN]):
            raise TargetError(
                f"The target {'.'.join(parts)!r} names a schema, and a SQLite file has none but main.",
                hint="write the name of the table or view alone.",
            )
        return Place("", MAIN, parts[-1])

    def existing(self, where: Place) -> str | None:
        """``table`` or ``view`` when there is such a relation, else None."""
        query = "SELECT type FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')"
        rows = self.run("existing", query, [where.name])
        return str(rows[0][0]) if rows else None

    def view_text(self, where: Place) -> str:
        """The statement of a view, as the catalog keeps it."""
        query = "SELECT sql FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE AND type = 'view'"
        rows = self.run("existing", query, [where.name])
        return str(rows[0][0]) if rows else ""

    def make_schema(self, where: Place) -> None:
        """Nothing: the one schema is there."""

    def create_view(self, where: Place, query: exp.Query) -> None:
        """Make a view of others. It names them without a schema: to others the file has another name."""
        query = query.copy()
        for table in query.find_all(exp.Table):
            table.set("db", None)
        text = sqlite_dialect.render(query)
        self.run("create view", f"CREATE VIEW {sqlite_dialect.render(where.table)} AS {text}")

    def databases(self) -> list[tuple[str, str | None, bool]]:
        """The databases that are attached: name, file (None in memory), whether it is only read."""
        return [(MAIN, str(self.path) if self.path else None, self.read_only)]


def _connected(path: Path | None, *, read_only: bool) -> sqlite3.Connection:
    """A connection that commits at once; a file is never made."""
    target = f"file:{quote(str(path))}?mode={'ro' if read_only else 'rw'}" if path else ":memory:"
    return sqlite3.connect(target, uri=path is not None, isolation_level=None, check_same_thread=False)


def _ours(table: str) -> str:
    """A temporary relation, and never one of the same name that is not ours."""
    return f"temp.{quoted(table)}"


def _reference(table: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(table, quoted=True))


def is_sqlite(path: Path) -> bool:
    """True when a file begins as SQLite's do."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
    return False
