"""PostgreSQL 15 and newer, through ADBC.

Results and tables pass as Arrow through COPY, temporary tables included, without a row object in between. Working
tables are temporary, private to the session, and gone with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import SNAPSHOT, Row
from sqlanon.core.engines.capabilities import POSTGRES, Capabilities, Lack
from sqlanon.core.engines.postgres import catalog as pg_catalog
from sqlanon.core.engines.postgres import dialect
from sqlanon.core.engines.postgres.dialect import DIALECT, HELPERS, check_names, quoted
from sqlanon.core.engines.postgres.errors import describe
from sqlanon.core.engines.postgres.session import PostgresSession
from sqlanon.core.engines.postgres.targets import PostgresTargets
from sqlanon.core.engines.postgres.values import decimals, values
from sqlanon.core.engines.rendering import INSTEAD
from sqlanon.core.engines.serial import SerialEngine
from sqlanon.core.engines.sqlstate import WITHHELD
from sqlanon.errors import EngineError, UnsupportedError

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
                f"The server is PostgreSQL {version // 10000}; {OLDEST // 10000} or newer is needed.", hint=INSTEAD
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
        for statement in (pg_catalog.NAMED, pg_catalog.PATIENT, pg_catalog.ROOM):
            self.run("session", statement)
        with suppress(EngineError):
            self.run("session", pg_catalog.WATCHED)
        for helper in HELPERS:
            self.run("session", helper)
        self._timeout = self.run("session", pg_catalog.TIMEOUT)[0][0] / 1000 or math.inf

    @property
    def catalog(self) -> pg_catalog.PostgresCatalog:
        return pg_catalog.PostgresCatalog(self, self._fetch)

    @property
    def targets(self) -> PostgresTargets:
        return PostgresTargets(self)

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
        return self.add(name, f"CREATE TEMPORARY TABLE {quoted(table)} AS {self._text(query)}")

    def drop(self, table: str) -> None:
        if self._session.failed:
            return  # an error took it already
        self._forget_views(table)
        self.run("drop", f"DROP TABLE IF EXISTS {self._working_table(table)} CASCADE")  # with the views of jobs


def _bound(parameters: Sequence[Any]) -> list[Any]:
    """Return parameters as the driver binds them: integers beyond 64 bits are decimals."""
    return [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]
