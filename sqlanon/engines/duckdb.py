"""DuckDB: the embedded default engine, and the only module that imports duckdb."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlanon.errors import EngineError, InputError, SourceError
from sqlanon.journal import Journal

DIALECT = "duckdb"
VERSION = duckdb.__version__

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


Fetch = Callable[[str, list[Any]], Any]


def _describe(error: duckdb.Error) -> tuple[str, str]:
    kind = type(error).__name__
    if isinstance(error, SAFE_KINDS):
        return kind, str(error).strip().splitlines()[0]
    return kind, "its message is withheld because it may quote a value"


class DuckDBEngine:
    """One connection with its temporary tables; ``close`` drops them all.

    Args:
        connection: an open connection of the user's; the engine works on a cursor of it, whose temporary
            tables nobody else sees. None opens a database in memory.
        settings: ``memory_limit``, ``threads``, ``temp_directory``; only for a database of our own.

    Raises:
        InputError: a setting is refused by DuckDB.
    """

    def __init__(
        self,
        *,
        connection: duckdb.DuckDBPyConnection | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal = Journal()
        self.source_catalog: str | None = None
        self.replay: list[tuple[str, str | Callable[[], str]]] = []
        self.default_schema: tuple[str, ...] = ()
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
        except duckdb.Error as error:
            failure = _describe(error)
        if failure:
            raise InputError(
                f"DuckDB refused the connection or the engine settings ({failure[0]}: {failure[1]}).",
                hint="check the keys memory_limit, threads and temp_directory of engine.",
            )

    def close(self) -> None:
        """Drop every temporary table and close the connection (of the user's: our cursor only)."""
        self._connection.close()

    def render(self, statement: exp.Expr) -> str:
        """The text of ``statement`` in DuckDB's dialect, every identifier quoted."""
        return statement.sql(dialect=DIALECT, identify=True, copy=False, comments=False)

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

    def load(self, name: str, table: str, data: pa.Table) -> None:
        """Make the temporary table ``table`` from an Arrow table; the replayable script lists its rows."""
        self.replay.append((name, lambda: f"CREATE TEMPORARY TABLE {_quoted(table)} AS {self.render(_rows(data))}"))
        arrow_name = table + "_arrow"
        self._connection.register(arrow_name, data)
        try:
            create = exp.Create(
                this=exp.to_table(table, quoted=True),
                kind="TABLE",
                properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
                expression=exp.select("*").from_(exp.to_table(arrow_name, quoted=True)),
            )
            self.run(name, create)
        finally:
            self._connection.unregister(arrow_name)

    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the temporary table ``table`` from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once.
        """
        text = query if isinstance(query, str) else self.render(query)
        statement = f"CREATE TEMPORARY TABLE {_quoted(table)} AS {text}"
        rows = self.run(name, statement)
        if name != "snapshot":
            self.replay.append((name, statement))
        return int(rows[0][0])

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a temporary table of ours."""
        statement = self.render(exp.insert(query, exp.to_table(table, quoted=True)))
        self.run(name, statement)
        self.replay.append((name, statement))

    def view(self, name: str, view: str, table: str) -> None:
        """Let the temporary view ``view`` show ``table``."""
        self.run(name, f"CREATE OR REPLACE TEMPORARY VIEW {_quoted(view)} AS SELECT * FROM {_quoted(table)}")

    def drop(self, table: str) -> None:
        """Drop a temporary table of ours, if it is there."""
        self.run("drop", f"DROP TABLE IF EXISTS {_quoted(table)}")

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order."""
        query = exp.select("*").from_(relation)
        rows = self.run("describe", exp.Describe(this=query))
        return [(str(row[0]), str(row[1])) for row in rows]

    def source_table(self, name: str) -> exp.Table:
        """The relation ``name`` (schema-qualified allowed) of the source: its attached file, or our database."""
        parts = [part.name for part in exp.to_table(name, dialect=DIALECT).parts] if "." in name else [name]
        if len(parts) == 1:
            parts = [*self.default_schema, *parts]
        catalog = self.source_catalog
        if catalog and len(parts) < 3:
            parts = [catalog, *(parts if len(parts) == 2 else ["main", *parts])]
        identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
        arguments = dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False))
        return exp.Table(**arguments)

    def attach(self, path: Path, alias: str, *, read_only: bool) -> None:
        """Attach a DuckDB file under ``alias``."""
        options = " (READ_ONLY)" if read_only else ""
        statement = f"ATTACH {_literal(path)} AS {_quoted(alias)}{options}"
        self.run("attach", statement)
        self.replay.append(("attach", statement))

    def detach(self, alias: str) -> None:
        """Detach the database ``alias``; DuckDB checkpoints it."""
        self.run("detach", f"DETACH {_quoted(alias)}")

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


def _rows(data: pa.Table) -> exp.Query:
    """The rows of a small Arrow table as a SELECT over VALUES; only rendered when a script is asked for."""
    tuples = [exp.Tuple(expressions=[exp.convert(v) for v in row.values()]) for row in data.to_pylist()]
    columns = [exp.to_identifier(name, quoted=True) for name in data.column_names]
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=columns)
    return exp.select("*").from_(exp.Values(expressions=tuples, alias=alias))


def _literal(value: object) -> str:
    return exp.Literal.string(str(value)).sql(dialect=DIALECT)


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)


def is_connection(source: object) -> bool:
    """True when ``source`` is an open DuckDB connection."""
    return isinstance(source, duckdb.DuckDBPyConnection)


def file_relation(path: Path, csv: Mapping[str, Any]) -> exp.Expr:
    """The table function that reads a Parquet or CSV file; CSV is read as text.

    Only an unquoted empty field of a CSV file is NULL, unless ``csv`` has a ``null`` text.

    Raises:
        SourceError: the file's ending is not known.
    """
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(str(path))]))
    if suffix in (".csv", ".tsv", ".txt"):
        options: dict[str, exp.Expr] = {
            "delim": exp.Literal.string(csv.get("delimiter") or ("\t" if suffix == ".tsv" else ",")),
            "quote": exp.Literal.string(csv.get("quote") or '"'),
            "nullstr": exp.Literal.string(csv.get("null") or ""),
            "encoding": exp.Literal.string(csv.get("encoding") or "utf-8"),
            "header": exp.Boolean(this=csv.get("header", True)),
            "all_varchar": exp.true(),
            "allow_quoted_nulls": exp.false(),
            "null_padding": exp.false(),
            "strict_mode": exp.true(),
        }
        arguments: list[exp.Expr] = [exp.Literal.string(str(path))]
        arguments += [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
        return exp.Table(this=exp.Anonymous(this="read_csv", expressions=arguments))
    raise SourceError(
        f"The source file {path.name!r} has an ending that is not known.",
        hint="give a .duckdb, .db, .parquet, .csv or .tsv file, or an open DuckDB connection.",
    )


def write_table(path: Path, table: str, data: pa.Table) -> None:
    """Write an Arrow table into a DuckDB file, which is made when it is not there."""
    with duckdb.connect(str(path)) as connection:
        connection.register("data", data)
        connection.execute(f"CREATE TABLE {_quoted(table)} AS SELECT * FROM data")
