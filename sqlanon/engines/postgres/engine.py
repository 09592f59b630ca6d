"""PostgreSQL 15 and newer, through ADBC.

Results and tables pass as Arrow through COPY, temporary tables included, without a row object in between. Working
tables are temporary, private to the session, and gone with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
from adbc_driver_postgresql import dbapi
from sqlglot import exp

from sqlanon.engines.base import Capabilities, Lack, Place, Row
from sqlanon.engines.postgres import catalog as pg_catalog
from sqlanon.engines.postgres import dialect, files
from sqlanon.engines.postgres.dialect import DIALECT, HELPERS, NAMED_TYPES, check_names, quoted
from sqlanon.engines.postgres.errors import describe, hint, refuse_session
from sqlanon.engines.postgres.values import decimals, precision, values
from sqlanon.engines.relation_names import relation_parts, table_reference
from sqlanon.engines.rendering import INSTEAD
from sqlanon.engines.serial import SerialEngine
from sqlanon.engines.sqlstate import WITHHELD
from sqlanon.engines.texts import POSTGRES
from sqlanon.errors import TargetError, UnsupportedError
from sqlanon.sqltrees.names import CARRIED
from sqlanon.sqltrees.trees import table as working_table

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
"""The settings of the session, so that the text of a value does not depend on the role or the server.

PostgreSQL keeps no statistics about several expressions together: for a join of seven lookups it expected one row,
compared each record with each value, and took 50 times as long as hashing does. So nested loops are off. Their cost
then looks so high that every statement would be compiled: so ``jit`` is off too."""


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
    temporary_schema = "pg_temp."

    def __init__(self, uri: str = "postgresql://") -> None:
        super().__init__()
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
        """Check the session and set it up.

        Only PostgreSQL's own functions are on its path: a function of another schema could otherwise take the
        place of one. Tables of the source are named with the schema that is found here.
        """
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
        for helper in HELPERS:
            self.run("session", helper)
        self._timeout = self.run("session", pg_catalog.TIMEOUT)[0][0] / 1000 or math.inf

    def close(self) -> None:
        self._connection.close()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty)

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

    def _fetch(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any]) -> pa.Table:
        bound = [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]

        def fetch(cursor: Any) -> pa.Table:
            cursor.execute(self._text(statement), bound or None)
            return cursor.fetch_arrow_table()

        return self._guard(name, fetch)

    def _guard(self, name: str, work: Callable[[Any], Any]) -> Any:
        """Run a statement by ``work`` with a cursor, under its name."""
        failure: tuple[str, str]
        with self.journal.timed(name):
            try:
                with self._connection.cursor() as cursor:
                    return work(cursor)
            except adbc.Error as error:
                failure = describe(error)
            except pa.ArrowException:  # the driver's rows, while they are read
                failure = ("HY000", WITHHELD)
        kind, message = failure
        seconds = self.journal.entries[-1].seconds
        if kind == CANCELLED and seconds < self._timeout:  # the driver passes Ctrl-C to the server
            raise KeyboardInterrupt
        raise self._refusal(name, kind, message, hint(kind))

    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        check_names([table, *data.column_names])
        mode = "create" if new else "append"
        self._guard(name, lambda cursor: cursor.adbc_ingest(table, data, mode=mode, temporary=True))

    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        text = f"CREATE TEMPORARY TABLE {quoted(table)} AS {self._text(query)}"

        def execute(cursor: Any) -> int:
            cursor.execute(text)
            return int(cursor.rowcount)

        rows: int = self._guard(name, execute)
        return rows

    def drop(self, table: str) -> None:
        self._forget_views(table)
        self.run("drop", f"DROP TABLE IF EXISTS {self._working_table(table)} CASCADE")  # with the views of jobs

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        query = exp.select("*").from_(relation).limit(0)
        data = self._fetch("describe", query, ())
        kinds = self._kinds(list(data.schema))
        return list(zip(data.column_names, kinds, strict=True))

    def _kinds(self, fields: Sequence[Any]) -> list[str]:
        """Return the types of fields in the words of policies."""
        own = [(field.metadata or {}).get(b"POSTGRESQL:type", b"unknown").decode() for field in fields]
        others = sorted({kind for kind in own if kind not in NAMED_TYPES and kind != "numeric"})
        enums: set[str] = set()
        if others:
            marks = ", ".join(f"${i}" for i in range(1, len(others) + 1))
            query = f"SELECT typname FROM pg_catalog.pg_type WHERE typtype = 'e' AND typname IN ({marks})"
            enums = {row[0] for row in self.run("describe", query, others)}
        kinds = []
        for kind, field in zip(own, fields, strict=True):
            if kind == "numeric":
                size = precision(field)
                kinds.append(f"DECIMAL({size[0]},{size[1]})" if size else "DECIMAL")
            else:
                kinds.append("ENUM" if kind in enums else NAMED_TYPES.get(kind, kind.upper()))
        return kinds

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
        return pg_catalog.kind_of(self.run, where.schema, where.name)

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        pg_catalog.check_roles(self.run, where.schema, owner, readers)

    def view_text(self, where: Place) -> str:
        query = (
            "SELECT pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = $1 AND relname = $2 AND relkind = 'v'"
        )
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
            "SELECT DISTINCT rolname FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace, "
            "LATERAL aclexplode(relacl) AS rights LEFT JOIN pg_catalog.pg_roles r ON r.oid = rights.grantee "
            "WHERE nspname = $1 AND relname = $2 AND rights.grantee <> relowner"
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
