"""PostgreSQL 15 and newer, and the only module that imports its driver.

The driver is ADBC: results come and tables go as Arrow through COPY, temporary tables included, without a row object
in between. What we make is temporary, private to the session, and gone with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import partial
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
from adbc_driver_postgresql import dbapi
from sqlglot import exp

from sqlanon.engines.base import SNAPSHOT, Capabilities, Engine, Job, Lack, Place, Statement, rows_of, temporary_table
from sqlanon.engines.journal import Journal
from sqlanon.engines.postgres import (
    catalog as postgres_catalog,
)
from sqlanon.engines.postgres import (
    dialect as postgres_dialect,
)
from sqlanon.engines.postgres import (
    files as postgres_files,
)
from sqlanon.engines.postgres.dialect import DIALECT, HELPERS, NAMED_TYPES, quoted
from sqlanon.engines.postgres.errors import describe, hint_of, refuse_session
from sqlanon.engines.postgres.values import decimals, precision, values
from sqlanon.engines.relation_names import relation_parts
from sqlanon.engines.texts import POSTGRES
from sqlanon.errors import EngineError, TargetError, UnsupportedError
from sqlanon.sqltrees.names import CARRIED

OLDEST = 150000
"""The oldest ``server_version_num`` that the tests run on."""
CANCELLED = "57014"
"""The SQLSTATE of a statement that was cancelled: by the user, or because it took too long."""
SETTINGS = {
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "client_min_messages": "error",
    "standard_conforming_strings": "on",
    "enable_nestloop": "off",
    "jit": "off",
}
"""Of the session, so that the text of a value does not depend on the role or the server. Of what two expressions have
in common PostgreSQL keeps no statistics: for a join of seven lookups it expected one row, compared each record with
each value, and took 50 times as long as hashing does. (The cost that forbids such loops would have all compiled.)"""


class PostgresEngine(Engine):
    """One session with its temporary tables; ``close`` drops them all.

    Args:
        uri: ``postgresql://…`` as libpq reads it. What it leaves out comes from libpq's usual places (``PGHOST``,
            ``PGSERVICE``, ``~/.pgpass``); it is not kept, logged or told in errors.

    Raises:
        InputError: the server cannot be reached or refuses the session.
        UnsupportedError: the server is too old.
    """

    capabilities = Capabilities(
        name="PostgreSQL",
        dialect=DIALECT,
        lacks={
            "read_only": Lack(
                "what a session makes for itself are temporary tables, and a session that only reads can make none.",
                "let the role have SELECT on the source, and no other right on it.",
            ),
            "files": Lack(
                "it writes no files that a client could have.",
                "nothing: an embedded DuckDB writes the released rows.",
            ),
            "side_by_side": Lack(
                "no session sees the temporary tables of another, so that statements run one after the other.",
                "say search: {where: local} to judge nodes in an embedded DuckDB.",
            ),
            "ordered_distance": Lack(
                "the ordered distance of t-closeness needs an ASOF join, which it does not have.",
                "use the distance equal or hierarchical.",
            ),
            "several_sources": Lack(
                "sources are not joined, and files of other formats not streamed, on a server.",
                "join the tables in a view of the database, and make that the source.",
            ),
            "transformation": Lack(
                "patterns and local recoding have been written for and tested on DuckDB only.",
                "leave out the transformation, or copy the table into a DuckDB or Parquet file.",
            ),
        },
        texts=POSTGRES,
        missing=frozenset({"3F000", "42703", "42P01"}),
    )

    preamble = HELPERS

    def __init__(self, uri: str = "postgresql://") -> None:
        self.journal = Journal()
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self._shown: dict[str, str] = {}
        self._timeout = math.inf
        failure: tuple[str, str] | None = None
        try:
            self._connection = dbapi.connect(uri, autocommit=True)
        except adbc.Error as error:
            failure = describe(error)
        if failure:
            refuse_session(*failure)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        """Settings of the session. Only PostgreSQL's own functions are on its path: a name of somebody else's schema
        could otherwise stand for one of them. Tables of the source are named with the schema found before."""
        version, read_only, schemas = self.run("session", postgres_catalog.SESSION)[0]
        self.version = f"{version // 10000}.{version % 10000}"
        if version < OLDEST:
            raise UnsupportedError(
                f"The server is PostgreSQL {version // 10000}; {OLDEST // 10000} or newer is needed.",
                hint="copy the source into a DuckDB or Parquet file.",
            )
        if read_only == "on":
            raise UnsupportedError(
                "The session only reads (default_transaction_read_only is on, or the server is a standby), and what "
                "sqlanon makes for itself are temporary tables.",
                hint="connect to the primary, as a role that has SELECT on the source and no other right, and run: "
                "ALTER ROLE … SET default_transaction_read_only = off.",
            )
        self.default_schema = tuple(str(schema) for schema in schemas)
        for setting in SETTINGS.items():
            self.run("session", "SELECT pg_catalog.set_config($1, $2, false)", setting)
        for helper in HELPERS:
            self.run("session", helper)
        self._timeout = self.run("session", postgres_catalog.TIMEOUT)[0][0] / 1000 or math.inf

    def close(self) -> None:
        """Close the session, which drops every table of ours."""
        self._connection.close()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """The text of ``statement`` in PostgreSQL's dialect, every identifier quoted, parameters as ``$1``…"""
        return postgres_dialect.render(statement, pretty=pretty)

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a named statement and return its rows; a NUMERIC without a fraction is an ``int``.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: the database refused it; names the statement and its SQLSTATE only.
        """
        data = self._fetch(name, statement, parameters)
        columns = [values(data.column(i), data.schema.field(i)) for i in range(data.num_columns)]
        return list(zip(*columns, strict=True)) if columns else []

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table.

        A NUMERIC with a declared precision is a decimal, one without is text: its digits have no bound.
        """
        data = self._fetch(name, statement, ())
        columns = [decimals(data.column(i), data.schema.field(i)) for i in range(data.num_columns)]
        return pa.table(columns, names=data.column_names)

    def _fetch(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any]) -> pa.Table:
        bound = [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]

        def fetch(cursor: Any) -> pa.Table:
            cursor.execute(statement if isinstance(statement, str) else self.render(statement), bound or None)
            return cursor.fetch_arrow_table()

        return self._guard(name, fetch)

    def _guard(self, name: str, work: Callable[[Any], Any]) -> Any:
        start = time.perf_counter()
        failure: tuple[str, str]
        try:
            with self._connection.cursor() as cursor:
                return work(cursor)
        except adbc.Error as error:
            failure = describe(error)
        except pa.ArrowException:  # the driver's rows, while they are read
            failure = ("HY000", "its message is withheld because it may quote a value")
        finally:
            self.journal.record(name, time.perf_counter() - start)
        kind, message = failure
        if kind == CANCELLED and time.perf_counter() - start < self._timeout:  # the driver passes Ctrl-C to the server
            raise KeyboardInterrupt
        raise EngineError(
            f"PostgreSQL refused the statement {name!r} ({kind}: {message}).",
            hint=hint_of(kind),
            statement=name,
            kind=kind,
        )

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[tuple[Any, ...]]]:
        """Run named statements that only read, one after the other: no other session sees our temporary tables."""
        return [self._run_job(name, job) for job in jobs]

    def _run_job(self, name: str, job: Job) -> list[tuple[Any, ...]]:
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

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from an Arrow table; the replayable script lists its rows (``replayed``)."""
        if replayed:
            self.replay.append((name, lambda: temporary_table(table, rows_of(data))))
        self._take(name, table, data, "create")

    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""
        if replayed:
            self.replay.append((name, lambda: exp.insert(rows_of(data), exp.to_table(table, quoted=True))))
        self._take(name, table, data, "append")

    def _take(self, name: str, table: str, data: pa.Table, mode: str) -> None:
        postgres_dialect.check_names([table, *data.column_names])

        def ingest(cursor: Any) -> None:
            cursor.adbc_ingest(table, data, mode=mode, temporary=True)

        self._guard(name, ingest)

    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the table ``table`` of ours from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once.
        """
        text = f"{_temporary(table)} {query if isinstance(query, str) else self.render(query)}"
        rows = self._count(name, text)
        if isinstance(query, exp.Query) and name != SNAPSHOT:
            self.replay.append((name, partial(temporary_table, table, query)))
        return rows

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a table of ours."""
        self._count(name, f"INSERT INTO {_ours(table)} {self.render(query)}")
        self.replay.append((name, lambda: exp.insert(query, exp.to_table(table, quoted=True))))

    def _count(self, name: str, text: str) -> int:
        """Run a statement that writes, and return how many rows it wrote."""

        def execute(cursor: Any) -> int:
            cursor.execute(text)
            return int(cursor.rowcount)

        rows: int = self._guard(name, execute)
        return rows

    def drop(self, table: str) -> None:
        """Drop a table of ours, if it is there, with the views that show it: nobody else's can."""
        self._shown = {view: shown for view, shown in self._shown.items() if shown != table}
        self.run("drop", f"DROP TABLE IF EXISTS {_ours(table)} CASCADE")

    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a table of ours."""
        self.run("drop column", f"ALTER TABLE {_ours(table)} DROP COLUMN {quoted(column)}")

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order; types in the words of policies, not of PostgreSQL."""
        query = exp.select("*").from_(relation).limit(0)
        data = self._fetch("describe", query, ())
        kinds = self._kinds(list(data.schema))
        return list(zip(data.column_names, kinds, strict=True))

    def _kinds(self, fields: Sequence[Any]) -> list[str]:
        told = [(field.metadata or {}).get(b"POSTGRESQL:type", b"unknown").decode() for field in fields]
        others = sorted({kind for kind in told if kind not in NAMED_TYPES and kind != "numeric"})
        enums: set[str] = set()
        if others:
            marks = ", ".join(f"${i}" for i in range(1, len(others) + 1))
            query = f"SELECT typname FROM pg_catalog.pg_type WHERE typtype = 'e' AND typname IN ({marks})"
            enums = {row[0] for row in self.run("describe", query, others)}
        kinds = []
        for kind, field in zip(told, fields, strict=True):
            if kind == "numeric":
                size = precision(field)
                kinds.append(f"DECIMAL({size[0]},{size[1]})" if size else "DECIMAL")
            else:
                kinds.append("ENUM" if kind in enums else NAMED_TYPES.get(kind, kind.upper()))
        return kinds

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` (schema-qualified allowed) of the database, with the schema where it is found.

        Raises:
            UnsupportedError: ``catalog`` asks for another database.
        """
        if catalog is not None:
            raise UnsupportedError(
                "A session of PostgreSQL sees one database only.", hint="copy the table into the source's database."
            )
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and self.default_schema:
            found = postgres_catalog.schemas_with(self.run, name, self.default_schema)
            schemas = [schema for schema in self.default_schema if schema in found] or self.default_schema
            parts = [schemas[0], name]
        identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False)))

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """The full name of a target: ``name`` (in the first schema of the role's search path) or ``schema.name``.

        Raises:
            TargetError: it names a database, or no schema and there is none.
        """
        if len(parts) > 2:
            raise TargetError(
                "A target of PostgreSQL names a schema and a relation, and no database.", hint="write schema.name."
            )
        if len(parts) == 1 and not self.default_schema:
            raise TargetError(
                "The target names no schema, and the role has none by default.", hint="write schema.name."
            )
        postgres_dialect.check_names(parts)
        return Place("", *([self.default_schema[0]][: 2 - len(parts)]), *parts)

    def existing(self, where: Place) -> str | None:
        """``table``, ``view``, or what else there is of the name (a sequence, a type); None when there is nothing."""
        return postgres_catalog.kind_of(self.run, where.schema, where.name)

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        """Refuse roles that a release cannot be handed to, before any work.

        Raises:
            TargetError: one is not there, or relations cannot be given to the owner.
        """
        postgres_catalog.check_roles(self.run, where.schema, owner, readers)

    def view_text(self, where: Place) -> str:
        """The query of a view, as the catalog keeps it."""
        query = (
            "SELECT pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = $1 AND relname = $2 AND relkind = 'v'"
        )
        rows = self.run("existing", query, [where.schema, where.name])
        return str(rows[0][0]) if rows else ""

    def differs_by_reader(self, where: Place) -> bool:
        """True when a relation, or one beneath it as far as its rules tell, has row-level security."""
        return postgres_catalog.has_row_security(self.run, where.schema, where.name)

    def make_schema(self, where: Place) -> None:
        """Make the schema of a place, unless it is there: to ask for what is there needs the right to make it."""
        if not self.run("schema", "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [where.schema]):
            self.run("create schema", f"CREATE SCHEMA {quoted(where.schema)}")

    def create_view(self, where: Place, query: exp.Query) -> None:
        """Make a view that no function of a reader's can look behind (``security_barrier``)."""
        self.run(
            "create view", f"CREATE VIEW {self.render(where.table)} WITH (security_barrier) AS {self.render(query)}"
        )

    def hand_over(self, view: Place, beneath: Sequence[Place], owner: str | None, readers: Sequence[str]) -> None:
        """Give a release to its owner, and let its readers read it and nothing beneath it.

        Whoever has default privileges on the schema's new relations loses them.
        """
        for place in (view, *beneath):
            name = self.render(place.table)
            for role in self._granted(place):
                self.run("revoke", f"REVOKE ALL ON {name} FROM {role}")
        for reader in readers:
            self.run("grant", f"GRANT USAGE ON SCHEMA {quoted(view.schema)} TO {quoted(reader)}")
            self.run("grant", f"GRANT SELECT ON {self.render(view.table)} TO {quoted(reader)}")
        if owner is not None:
            for place in (view, *beneath):
                self.run("owner", f"ALTER TABLE {self.render(place.table)} OWNER TO {quoted(owner)}")

    def _granted(self, place: Place) -> list[str]:
        """Who has rights on a relation besides its owner, as REVOKE names them."""
        query = (
            "SELECT DISTINCT rolname FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace, "
            "LATERAL aclexplode(relacl) AS rights LEFT JOIN pg_catalog.pg_roles r ON r.oid = rights.grantee "
            "WHERE nspname = $1 AND relname = $2 AND rights.grantee <> relowner"
        )
        rows = self.run("rights", query, [place.schema, place.name])
        return ["PUBLIC" if role is None else quoted(str(role)) for (role,) in rows]

    def file_type(self, type_name: str) -> str:
        """The type that a column has in a file; a DECIMAL without a scale, whose digits have no bound, is text."""
        return postgres_files.file_type(type_name)

    def carried(self, query: exp.Query, types: Mapping[str, str]) -> pa.Table:
        """The rows of a release, which an embedded DuckDB writes to a file.

        Raises:
            UnsupportedError: infinite dates, or NaN in a DECIMAL; names the columns.
        """
        self.create("carried rows", CARRIED, self.render(query))
        try:
            asked = postgres_files.unheld(exp.to_table(CARRIED, quoted=True), types)
            counts = self.run("values of files", asked[1])[0] if asked else ()
            found = [repr(name) for name, count in zip(asked[0] if asked else (), counts, strict=True) if count]
            if found:
                raise UnsupportedError(
                    "The release has values that no file holds (infinite or far dates, or NaN in a NUMERIC) in "
                    f"{', '.join(found)}; nothing was written.",
                    hint="cast such a column to text in a view of the source, or publish a table or view.",
                )
            return self.arrow("release", exp.select("*").from_(exp.to_table(CARRIED, quoted=True)))
        finally:
            self.drop(CARRIED)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: commit at the end, roll back on any error."""
        self.run("begin", "BEGIN TRANSACTION")
        try:
            yield
            self.run("commit", "COMMIT")
        except BaseException:
            self._shown.clear()
            with suppress(EngineError):  # the connection may be gone
                self.run("rollback", "ROLLBACK")
            raise


def _temporary(table: str) -> str:
    return f"CREATE TEMPORARY TABLE {quoted(table)} AS"


def _ours(table: str) -> str:
    """A temporary relation, and never one of the same name that is not ours."""
    return f"pg_temp.{quoted(table)}"
