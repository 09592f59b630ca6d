"""PostgreSQL 15 and newer, through ADBC.

Results and tables pass as Arrow through COPY, temporary tables included, without a row object in between. Working
tables are temporary, private to the session, and gone with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import SNAPSHOT, Capabilities, Lack, Place, Row
from sqlanon.core.engines.postgres import catalog as pg_catalog
from sqlanon.core.engines.postgres import dialect, files
from sqlanon.core.engines.postgres.dialect import DIALECT, HELPERS, NAMED_TYPES, check_names, quoted
from sqlanon.core.engines.postgres.errors import describe
from sqlanon.core.engines.postgres.session import PostgresSession
from sqlanon.core.engines.postgres.values import decimals, modifier, precision, values
from sqlanon.core.engines.relation_names import relation_parts, table_reference, unlisted, written_name
from sqlanon.core.engines.rendering import INSTEAD
from sqlanon.core.engines.serial import SerialEngine
from sqlanon.core.engines.sqlstate import WITHHELD
from sqlanon.core.engines.texts import POSTGRES
from sqlanon.core.sqltrees.names import CARRIED
from sqlanon.core.sqltrees.trees import table as working_table
from sqlanon.errors import EngineError, TargetError, UnsupportedError

OLDEST = 150000
"""The oldest ``server_version_num`` that the tests run on."""
SETTINGS = {
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "client_min_messages": "error",
    "standard_conforming_strings": "on",
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "row_security": "off",
}
"""The settings of the session, so that the text of a value does not depend on the role or the server.

PostgreSQL keeps no statistics about several expressions together: for a join of seven lookups it expected one row,
compared each record with each value, and took 50 times as long as hashing does. So nested loops are off. Their cost
then looks so high that every statement would be compiled: so ``jit`` is off too. Merge joins are off because they sort
all records by the text of a value, on disk, where lookups are hashed in kilobytes. ``row_security`` off
shows no more rows: a statement from which row-level security would hide some is an error."""


GONE = ("08", "57")
"""The classes of errors after which a session is gone."""
READING = ("SELECT", "WITH")
"""How statements begin that write nothing."""


class PostgresEngine(SerialEngine):
    """A session with its temporary tables; ``close`` drops them all.

    Args:
        uri: ``postgresql://…`` as libpq reads it. What it leaves out comes from libpq's usual places (``PGHOST``,
            ``PGSERVICE``, ``~/.pgpass``). It is not kept, logged or quoted in errors.

    Raises:
        InputError: the server cannot be reached or refuses the session.
        UnsupportedError: the server is too old.
    """

    capabilities = Capabilities(
        name="PostgreSQL",
        dialect=DIALECT,
        lacks={
            "read_only": Lack(
                "the working tables of a session are temporary tables, and a session that only reads can create none.",
                "let the role have SELECT on the source, and no other right on it.",
            ),
            "files": Lack(
                "it writes no files that a client could have.",
                "nothing: an embedded DuckDB writes the released rows.",
            ),
            "side_by_side": Lack(
                "no session sees the temporary tables of another, so that statements run one after the other.",
                "set search: {where: local} to judge nodes in an embedded DuckDB.",
            ),
            "several_sources": Lack(
                "sources are not joined, and files of other formats not streamed, on a server.",
                "join the tables in a view of the database, and make that the source.",
            ),
        },
        texts=POSTGRES,
        missing=frozenset({"3F000", "42703", "42P01"}),
        preamble=HELPERS,
        temporary_schema="pg_temp.",
        analyzes=True,
        recurs_freely=False,
    )

    def __init__(self, uri: str = "postgresql://") -> None:
        super().__init__()
        self._timeout = math.inf
        self._session = PostgresSession(uri)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Check the session and set it up.

        Only PostgreSQL's own functions are on its path: a function of another schema could otherwise take the
        place of one. Tables of the source are named with the schema that is found here.
        """
        if self._session.guarded:
            self.run("session", pg_catalog.OWN_PATH)
        version, read_only, schemas = self.run("session", pg_catalog.SESSION)[0]
        self.version = f"{version // 10000}.{version % 10000}"
        if version < OLDEST:
            raise UnsupportedError(
                f"The server is PostgreSQL {version // 10000}; {OLDEST // 10000} or newer is needed.",
                hint=INSTEAD,
            )
        if read_only == "on":
            raise UnsupportedError(
                "The session only reads (default_transaction_read_only is on, or the server is a standby), and the "
                "working tables of sqlanon are temporary tables.",
                hint="connect to the primary, as a role that has SELECT on the source and no other right, and run: "
                "ALTER ROLE … SET default_transaction_read_only = off.",
            )
        self.default_schema = tuple(str(schema) for schema in schemas)
        for setting in SETTINGS.items():
            self.run("session", "SELECT pg_catalog.set_config($1, $2, false)", setting)
        self.run("session", pg_catalog.NAMED)
        self.run("session", pg_catalog.PATIENT)
        self.run("session", pg_catalog.ROOM)
        with suppress(EngineError):
            self.run("session", pg_catalog.WATCHED)
        for helper in HELPERS:
            self.run("session", helper)
        self._timeout = self.run("session", pg_catalog.TIMEOUT)[0][0] / 1000 or math.inf

    def close(self) -> None:
        self._session.close()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty)

    def portable(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty, writer=dialect.PortablePostgres)

    def before(self, text: str) -> list[str]:
        return [f"{helper};" for helper in HELPERS if dialect.TRY_CAST in text and dialect.TRY_CAST in helper]

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        # a NUMERIC without a fraction is an int
        data = self._fetch(name, statement, parameters)
        columns = [values(data.column(i), data.schema.field(i)) for i in range(data.num_columns)]
        return list(zip(*columns, strict=True)) if columns else []

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        # a NUMERIC with a declared precision is a decimal, one without is text: its digits have no bound
        data = self._fetch(name, statement, ())
        columns = [decimals(data.column(i), data.schema.field(i)) for i in range(data.num_columns)]
        return pa.table(columns, names=data.column_names)

    def add(self, name: str, text: str, parameters: Sequence[Any] = ()) -> int:
        bound = _bound(parameters)

        def execute(cursor: Any) -> int:
            cursor.execute(text, bound or None)
            return int(cursor.rowcount)

        rows: int = self._guard(name, execute)
        return rows

    def _fetch(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any]) -> pa.Table:
        bound = _bound(parameters)
        text = self._text(statement)

        def fetch(cursor: Any) -> pa.Table:
            cursor.execute(text, bound or None)
            return cursor.fetch_arrow_table()

        return self._guard(name, fetch, reads=text.startswith(READING))

    def _guard(self, name: str, work: Callable[[Any], Any], *, reads: bool = False) -> Any:
        """Run a statement by ``work`` with a cursor, under its name; ``reads`` says that it writes nothing."""
        return self._guarded(name, lambda: self._session.call(work, reads=reads))

    def _guarded(self, name: str, work: Callable[[], Any]) -> Any:
        """Call the driver by ``work``, under the name of a statement.

        Raises:
            EngineError: the server refused it, or is gone.
        """
        failure: tuple[str, str, str]
        with self.journal.timed(name):
            start = time.perf_counter()
            try:
                return work()
            except adbc.Error as error:
                failure = describe(error, too_slow=time.perf_counter() - start >= self._timeout)
            except pa.ArrowException:  # the driver's rows, while they are read
                failure = ("HY000", WITHHELD, "run `sqlanon explain` to see the statement.")
        raise self._refusal(name, *failure)

    # -- one state of the source ---------------------------------------------------------------------------------------

    def hold(self) -> None:
        self._guarded("hold", self._session.hold)
        self.publishes_codes = True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if not self._session.holds:
            with super().transaction():
                yield
            return
        try:
            with self._session.savepoint("sqlanon_publication"):
                yield
        except BaseException:
            self._forget_relations()
            raise
        lost, self.publishes_codes = "", False
        try:
            self._guarded("commit", self._session.commit)
        except EngineError as error:
            if error.kind[:2] not in GONE:
                raise
            lost = error.kind
        if lost:
            message = "the connection was lost while the release was committed: it may be in place, or not"
            raise self._refusal("commit", lost, message, "look for it before you run again.")

    # -- working tables ------------------------------------------------------------------------------------------------

    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        check_names([table, *data.column_names])
        mode = "create" if new else "append"
        self._guard(name, lambda cursor: cursor.adbc_ingest(table, data, mode=mode, temporary=True))

    def create(
        self, name: str, table: str, query: exp.Query | str, *, replayed: bool = True, portable: exp.Query | None = None
    ) -> int:
        if name != SNAPSHOT or not self._session.holds:
            return super().create(name, table, query, replayed=replayed, portable=portable)
        with self._session.savepoint("sqlanon_snapshot"):  # whoever interrupts a search may publish what it has found
            return super().create(name, table, query, replayed=replayed)

    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        text = f"CREATE TEMPORARY TABLE {quoted(table)} AS {self._text(query)}"

        def execute(cursor: Any) -> int:
            cursor.execute(text)
            return int(cursor.rowcount)

        rows: int = self._guard(name, execute)
        return rows

    def drop(self, table: str) -> None:
        if self._session.failed:
            return  # an error took it already
        self._forget_views(table)
        self.run("drop", f"DROP TABLE IF EXISTS {self._working_table(table)} CASCADE")  # with the views of jobs

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        # the catalog knows them without a right on the relation, where SELECT * needs one on every column
        found = [] if (named := _named(relation)) is None else pg_catalog.columns_of(self.run, *named)
        if found:
            return [(title, _word(kind, precision(declared), enum)) for title, kind, declared, enum in found]
        query = exp.select("*").from_(relation).limit(0)
        data = self._fetch("describe", query, ())
        own = [(field.metadata or {}).get(b"POSTGRESQL:type", b"unknown").decode() for field in data.schema]
        enums = self._enums({kind for kind in own if kind not in NAMED_TYPES and kind != "numeric"})
        kinds = [_word(kind, precision(modifier(f)), kind in enums) for kind, f in zip(own, data.schema, strict=True)]
        return list(zip(data.column_names, kinds, strict=True))

    def _enums(self, kinds: set[str]) -> set[str]:
        """Return those of some types that are ENUMs."""
        if not kinds:
            return set()
        marks = ", ".join(f"${i}" for i in range(1, len(kinds) + 1))
        query = f"SELECT typname FROM pg_catalog.pg_type WHERE typtype = 'e' AND typname IN ({marks})"
        return {row[0] for row in self.run("describe", query, sorted(kinds))}

    def unreadable(self, relation: exp.Expr) -> list[str]:
        return [] if (named := _named(relation)) is None else pg_catalog.unreadable_columns(self.run, *named)

    def hides_rows(self, relation: exp.Expr) -> bool:
        return (named := _named(relation)) is not None and pg_catalog.hides_rows(self.run, *named)

    def accept_visible_rows(self) -> None:
        self.run("session", "SET row_security = on")

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        if catalog is not None:
            raise UnsupportedError(
                "A session of PostgreSQL sees one database only.", hint="copy the table into the source's database."
            )
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and self.default_schema:
            found = pg_catalog.schemas_with(self.run, name, self.default_schema)
            schemas = [schema for schema in self.default_schema if schema in found] or self.default_schema
            parts = [schemas[0], name]
        if len(parts) > 1 and pg_catalog.is_of_the_server(parts[-2]):
            raise unlisted("UndefinedTable")
        if len(parts) > 1:
            pg_catalog.refuse_code(self.run, *parts[-2:])
        return table_reference(parts)

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        if len(parts) > 2:
            raise TargetError(
                "A target of PostgreSQL names a schema and a relation, and no database.", hint="write schema.name."
            )
        if len(parts) == 1 and not self.default_schema:
            raise TargetError(
                "The target names no schema, and the role has none by default.", hint="write schema.name."
            )
        check_names(parts)
        return Place("", *([self.default_schema[0]][: 2 - len(parts)]), *parts)

    def existing(self, where: Place) -> str | None:
        kind = pg_catalog.kind_of(self.run, where.schema, where.name)
        if kind == "view":
            pg_catalog.refuse_code(self.run, where.schema, where.name)
        return kind

    def relations(self) -> list[str]:
        found = pg_catalog.readable_relations(self.run)
        near = [row[1:] if row[0] in self.default_schema else row for row in found]
        return sorted(written_name(row, DIALECT) for row in near)

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        pg_catalog.check_roles(self.run, where.schema, owner, readers)

    def view_text(self, where: Place) -> str:
        query = f"SELECT pg_catalog.pg_get_viewdef(c.oid) {pg_catalog.NAMED_RELATION} AND relkind = 'v'"
        rows = self.run("existing", query, [where.schema, where.name])
        return str(rows[0][0]) if rows else ""

    def differs_by_reader(self, where: Place) -> bool:
        return pg_catalog.has_row_security(self.run, where.schema, where.name)

    def make_schema(self, where: Place) -> None:
        # CREATE SCHEMA IF NOT EXISTS needs the right to create one, even if it exists
        if not self.run("schema", "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [where.schema]):
            self.run("create schema", f"CREATE SCHEMA {quoted(where.schema)}")

    def create_view(self, where: Place, query: exp.Query) -> None:
        # behind security_barrier no function of a reader's sees the rows beneath
        self.run(
            "create view", f"CREATE VIEW {self.render(where.table)} WITH (security_barrier) AS {self.render(query)}"
        )

    def hand_over(self, view: Place, beneath: Sequence[Place], owner: str | None, readers: Sequence[str]) -> None:
        # whoever has default privileges on the schema's new relations loses them
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
        """Return who has rights on a relation besides its owner, as REVOKE names them."""
        query = (
            f"SELECT DISTINCT rolname {pg_catalog.NAMED_RELATION}, "
            "LATERAL aclexplode(relacl) AS rights LEFT JOIN pg_catalog.pg_roles r ON r.oid = rights.grantee "
            "WHERE rights.grantee <> relowner"
        )
        rows = self.run("rights", query, [place.schema, place.name])
        return ["PUBLIC" if role is None else quoted(str(role)) for (role,) in rows]

    def file_type(self, type_name: str) -> str:
        return files.file_type(type_name)

    def fetch_release(self, query: exp.Query, types: Mapping[str, str]) -> pa.Table:
        self.create("carried rows", CARRIED, self.render(query))
        try:
            names, counting = files.count_unstorable(working_table(CARRIED), types)
            counts = self.run("values of files", counting)[0] if names else ()
            found = [repr(name) for name, count in zip(names, counts, strict=True) if count]
            if found:
                raise UnsupportedError(
                    "The release has values that no file holds (infinite or far dates, or NaN in a NUMERIC) in "
                    f"{', '.join(found)}; nothing was written.",
                    hint="cast such a column to text in a view of the source, or publish a table or view.",
                )
            return self.arrow("release", exp.select("*").from_(working_table(CARRIED)))
        finally:
            self.drop(CARRIED)


def _bound(parameters: Sequence[Any]) -> list[Any]:
    """Return parameters as the driver binds them: integers beyond 64 bits are decimals."""
    return [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]


def _named(relation: exp.Expr) -> tuple[str, str] | None:
    """Return the schema and the name of a relation of the database; None for a working table, or a query."""
    return (relation.db, relation.name) if isinstance(relation, exp.Table) and relation.db else None


def _word(kind: str, size: tuple[int, int] | None, enum: bool) -> str:
    """Return a type of PostgreSQL in the words of policies."""
    if kind == "numeric":
        return f"DECIMAL({size[0]},{size[1]})" if size else "DECIMAL"
    return "ENUM" if enum else NAMED_TYPES.get(kind, kind.upper())
