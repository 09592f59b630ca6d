"""Apache Spark 4.0 and newer, through PySpark.

Records stay on the cluster: what reads them (distinct values, base, release, audits) runs there. What is known of
distinct values (``held.HELD``: hierarchies, lookups, leaves, masks, distributions) is one row a value. It stands in an
embedded DuckDB beside the driver, where a statement about it costs no job, and is shown to the cluster where a
statement joins it with records: a broadcast join would bring it to the driver all the same.

All working tables live in a session of their own (``SparkSession.newSession``): its settings and its temporary views
are not shared, its catalog is the user's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from sqlglot import exp

from sqlanon.core.engines.base import DatabaseCatalog, Place, Row, Statement, Targets
from sqlanon.core.engines.relation_names import relation_parts, table_reference
from sqlanon.core.engines.replay import temporary_table
from sqlanon.core.engines.serial import SerialEngine
from sqlanon.core.engines.spark import dialect, values
from sqlanon.core.engines.spark.cluster import StartedCluster, running_session
from sqlanon.core.engines.spark.dialect import DIALECT, quoted, type_word
from sqlanon.core.engines.spark.errors import describe, quiet
from sqlanon.core.engines.spark.facts import BATCH, CAPABILITIES, MASTER, MOST_RESULT, SETTINGS, result_rows
from sqlanon.core.engines.spark.held import MOST_ROWS, HeldTables
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table as working_table
from sqlanon.core.sqltrees.trees import union_all
from sqlanon.errors import EngineError, InputError, TargetError, UnsupportedError

JOB_KEYS = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
"""The properties of a thread that describe its jobs."""
OWN_CATALOG = "spark_catalog"
PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""The names that Spark's own catalog accepts."""


class SparkEngine(SerialEngine):
    """A session with its temporary views and persisted tables; ``close`` drops them all.

    Args:
        session: an open session of the user's: its cluster and its catalog are used, and it is not stopped. None starts
            a cluster, unless one runs in this process already.
        master: where a cluster is started.
        settings: settings of the cluster that is started, by Spark's names (``spark.executor.memory``).

    Attributes:
        session: a session of our own, which sees the temporary views of the engine.
        received: rows and bytes (in Arrow) that came from the cluster to the driver, by table or statement.

    Raises:
        InputError: no cluster can be started, or it refuses the session.
    """

    capabilities = CAPABILITIES
    version = pyspark.__version__

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str = MASTER,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._user = session
        self.received: dict[str, tuple[int, int]] = {}
        self._frames: dict[str, DataFrame] = {}
        self._persisted: dict[str, list[DataFrame]] = {}
        self._rows: dict[str, int] = {}
        """The rows of the tables that the executors keep."""
        self._logged: dict[str, tuple[list[Callable[[], exp.Query]], tuple[str, Statement]]] = {}
        """The queries of each working table, and its entry in the replayable script."""
        self._group = f"sqlanon-{uuid4()}"
        self._globals: list[str] = []
        """The views by which our session sees temporary views of the user's."""
        self._created: list[exp.Expr] = []
        """The tables that a transaction has created, which an error drops."""
        self._cluster = StartedCluster()
        failure: tuple[str, str, str] | None = None
        try:
            if session is None:
                session = running_session() or self._cluster.start(master, settings or {})
            self.session = session.newSession()
            self._configure(settings or {})
            if self._user is not None:  # names are looked for in the user's catalog and schema
                self.session.catalog.setCurrentCatalog(self._user.catalog.currentCatalog())
                self.session.catalog.setCurrentDatabase(self._user.catalog.currentDatabase())
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            failure = describe(error)
        if failure:
            self._cluster.stop()
            raise InputError(
                f"Spark refused the session ({failure[0]}: {failure[1]}).",
                hint="check that Java 17 or 21 is installed (JAVA_HOME), and the names of the settings.",
            )
        self._held = HeldTables(self.journal)

    def _configure(self, settings: Mapping[str, str]) -> None:
        """Set up the session. A shuffle has enough partitions for large data; adaptive execution joins small ones."""
        partitions = str(max(4, 4 * self._context.defaultParallelism))
        chosen = {"spark.sql.shuffle.partitions": partitions, **SETTINGS}
        for key, value in chosen.items():
            self.session.conf.set(key, settings.get(key, value))

    @property
    def _context(self) -> SparkContext:
        return self.session.sparkContext

    @property
    def catalog(self) -> SparkCatalog:
        return SparkCatalog(self)

    @property
    def targets(self) -> SparkTargets:
        return SparkTargets(self)

    def close(self) -> None:
        self._held.close()
        with suppress(PySparkException, Py4JError):  # the cluster may be gone
            for name in list(self._frames):
                self._forget(name)
            for name in self._globals:
                self.session.catalog.dropGlobalTempView(name)
        self._cluster.stop()

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty)

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        # a decimal without a fraction is an int
        if self._held.answers(statement):
            return self._held.run(name, statement, parameters)
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            self._created.append(statement.this.copy())
        return values.rows(self._fetch(name, statement, parameters))

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        return self._held.arrow(name, statement) if self._held.answers(statement) else self._fetch(name, statement)

    def _fetch(
        self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = (), *, table: str = ""
    ) -> pa.Table:
        """Bring the rows of a statement to the driver; ``table`` is the table beside the driver that receives them."""
        return self._receive(name, lambda: self._frame(statement, parameters), table or name)

    def _receive(self, name: str, frame: Callable[[], DataFrame], receiver: str) -> pa.Table:
        """Bring the rows of a frame to the driver, and note under ``receiver`` how many came."""
        data: pa.Table = self._guard(name, lambda: frame().toArrow())
        rows, size = self.received.get(receiver, (0, 0))
        self.received[receiver] = (rows + data.num_rows, size + data.nbytes)
        return values.without_metadata(data)

    def read_batches(self, name: str, table: str) -> Iterator[pa.Table]:
        # of what the executors keep, a part at a time by the hash of its rows: no result holds more than about BATCH,
        # or than the session lets the driver receive
        kept = self._frames.get(table)
        most = self.session.conf.get(MOST_RESULT, "1g") or "0"
        room = None if kept is None else result_rows(most, len(kept.columns))
        parts = -(-self._rows.get(table, 0) // min(BATCH, room or BATCH))
        if kept is None or parts <= 1 or self._held.holds(table):
            yield from super().read_batches(name, table)
            return
        part = functions.pmod(functions.xxhash64(*map(quoted, kept.columns)), functions.lit(parts))
        for number in range(parts):
            yield self._receive(name, partial(kept.where, part == number), table)

    def _frame(self, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> DataFrame:
        parts: dict[str, exp.Query] = {}
        if isinstance(statement, exp.Expr) and not parameters:
            statement, parts = self._held.parts_of(statement)
        text = self._text(statement)
        try:
            for part, query in parts.items():
                self._local_frame(self._held.arrow("part", query)).createOrReplaceTempView(quoted(part))
            for table in self._held.mentioned(text):
                if table not in self._frames:
                    self._register(table, self._local_frame(self._held.rows(table)))
            bound = [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]
            return self.session.sql(text, args=bound) if bound else self.session.sql(text)
        finally:
            for part in parts:  # the frame holds their rows
                self.session.catalog.dropTempView(part)

    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        failure: tuple[str, str, str]
        interrupted = False
        with self.journal.timed(name):
            try:
                with quiet(), self._grouped(name):
                    return work()
            except (PySparkException, Py4JError, pa.ArrowException, OverflowError) as error:
                failure = describe(error)
                interrupted = isinstance(error.__context__, KeyboardInterrupt)  # then the cancelled job reports itself
            except KeyboardInterrupt:
                with suppress(PySparkException, Py4JError):
                    self._context.cancelJobGroup(self._group)
                raise
        if interrupted:
            raise KeyboardInterrupt
        raise self._refusal(name, *failure)

    @contextmanager
    def _grouped(self, name: str) -> Iterator[None]:
        """Run jobs in a group, so that they can be cancelled together, and restore the thread's properties."""
        context = self._context
        before = {key: context.getLocalProperty(key) for key in JOB_KEYS}
        context.setJobGroup(self._group, f"sqlanon: {name}", interruptOnCancel=True)
        try:
            yield
        finally:
            for key, value in before.items():
                context.setLocalProperty(key, value)  # type: ignore[arg-type]

    def _show_as(self, view: str, table: str) -> None:
        self._frames[table].createOrReplaceTempView(quoted(view))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # Spark has no transactions: the tables that were created within are dropped on any error.
        before = self._created
        self._created = []
        try:
            yield
        except BaseException:
            for table in self._created:
                with suppress(EngineError):
                    self.run("drop unpublished", exp.Drop(tables=[table], kind="TABLE", exists=True))
            raise
        finally:
            self._created = before

    # -- working tables ------------------------------------------------------------------------------------------------

    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        if not self._held.owns(table):
            add = self._register if new else self._grow
            self._guard(name, lambda: add(table, self._local_frame(data)))
            return
        self._held.load(name, table, data, more=not new)
        if not new:
            self._hide(table)

    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        if not self._held.owns(table):
            rows = int(self._guard(name, lambda: self._keep(table, self._frame(query))))
            if table == names.BASE and rows <= MOST_ROWS:
                parts = list(self.read_batches("hold", table))
                self._held.load("hold", table, pa.concat_tables(parts))
            return rows
        if self._held.answers(query):
            return self._held.create(name, table, query)
        data = self._fetch(name, query, table=table)
        self._held.load("hold", table, data)
        return int(data.num_rows)

    def _insert_from(self, name: str, table: str, query: exp.Query) -> None:
        if not self._held.owns(table):
            self._guard(name, lambda: self._grow(table, self._frame(query)))
            return
        if self._held.answers(query):
            self._held.insert(name, table, query)
        else:
            self._held.load(name, table, self._fetch(name, query, table=table), more=True)
        self._hide(table)

    def drop(self, table: str) -> None:
        if self._held.owns(table) or self._held.holds(table):
            self._held.drop(table)
        self._guard("drop", lambda: self._forget(table))

    def drop_column(self, table: str, column: str) -> None:
        if self._held.owns(table):
            self._held.drop_column(table, column)
            self._hide(table)
            return
        kept = [
            exp.column(name, quoted=True) for name, _ in self.catalog.columns(working_table(table)) if name != column
        ]
        query = exp.select(*kept).from_(working_table(table))
        self._guard("drop column", lambda: self._register(table, self._frame(query)))

    def _log(self, name: str, table: str, query: Callable[[], exp.Query], *, more: bool = False) -> None:
        # The script creates a temporary view, to which nothing can be added. So the entry of a table that receives more
        # rows is replaced, later in the script, by one with all of them.
        parts, entry = self._logged.pop(table, ([], None)) if more else ([], None)
        if entry is not None:
            self.replay.remove(entry)
        parts = [*parts, query]
        self.replay.append((name, lambda: temporary_table(table, union_all(part().copy() for part in parts))))
        self._logged[table] = (parts, self.replay[-1])

    def _local_frame(self, data: pa.Table) -> DataFrame:
        """Return the rows of a table of the driver; a few are part of every plan that reads them, and cost no job."""
        return self.session.createDataFrame(values.with_spark_types(data))

    def _hide(self, table: str) -> None:
        """Forget what was shown of a table beside the driver, because it has changed."""
        self._guard("hide", lambda: self._forget(table))

    def _keep(self, table: str, frame: DataFrame) -> int:
        """Compute the rows of a frame once and keep them on the executors, which write to disk what does not fit."""
        kept = frame.persist()
        self._persisted.setdefault(table, []).append(kept)
        self._rows[table] = kept.count()
        self._register(table, kept)
        return self._rows[table]

    def _grow(self, table: str, more: DataFrame) -> None:
        """Add rows by position, as INSERT does."""
        self._keep(table, self._frames[table].union(more))

    def _register(self, table: str, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(quoted(table))
        self._frames[table] = frame

    def _forget(self, table: str) -> None:
        if self._frames.pop(table, None) is not None:
            self.session.catalog.dropTempView(table)
        self._rows.pop(table, None)
        for frame in self._persisted.pop(table, []):
            frame.unpersist()


@dataclass(frozen=True, slots=True)
class SparkCatalog(DatabaseCatalog):
    """The catalog of the session, the temporary views of the user's, and Parquet files."""

    engine: SparkEngine

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        query = exp.select("*").from_(relation)
        if self.engine._held.answers(query):
            return self.engine._held.catalog.columns(relation)
        schema = self.engine._guard("describe", lambda: self.engine._frame(query).schema)
        return [(field.name, type_word(field.dataType.simpleString())) for field in schema.fields]

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        # a relation of the catalog, or a temporary view of the user's session
        if catalog is not None:
            raise UnsupportedError(
                "A session of Spark has no attached databases.", hint="name the table with its catalog and schema."
            )
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and self.engine._user is not None:
            user = self.engine._user
            shared = f"{names.PREFIX}source_{uuid4().hex}"
            if self.engine._guard("find table", lambda: self._share(user, name, shared)):
                parts = ["global_temp", shared]
        return table_reference(parts)

    def _share(self, user: Any, name: str, shared: str) -> bool:
        """Show a temporary view of the user's session to ours, if there is one: each session sees its own only.

        Whether letters match in any case is a setting of the user's session.
        """
        exact = user.conf.get("spark.sql.caseSensitive") == "true"
        wanted = name if exact else name.casefold()
        views = [view["viewName"] for view in user.sql("SHOW VIEWS").collect() if view["isTemporary"]]
        if wanted not in (views if exact else map(str.casefold, views)):
            return False
        user.table(quoted(name)).createGlobalTempView(shared)
        self.engine._globals.append(shared)
        return True

    def read_parquet(self, name: str, path: str) -> exp.Table:
        """Return a relation over Parquet files: a file, a folder or a pattern, as Spark reads paths.

        Args:
            name: the name of the temporary view that is created over them.
        """

        def read() -> None:
            self.engine._register(name, self.engine.session.read.parquet(path))

        self.engine._guard("read", read)
        self.engine.replay.append(("read", _parquet_view(name, path)))
        return exp.to_table(name, quoted=True)

    def local_files(self, relation: exp.Expr) -> list[Path]:
        """Return the files of this machine that a relation is read from; those of other file systems are left out."""
        query = exp.select("*").from_(relation)
        read: list[str] = self.engine._guard("files", lambda: self.engine._frame(query).inputFiles())
        return [Path(unquote(urlsplit(file).path)) for file in read if urlsplit(file).scheme == "file"]

    def existing(self, where: Place) -> str | None:
        if where.catalog == OWN_CATALOG and not all(map(PLAIN_NAME.fullmatch, (where.schema, where.name))):
            raise TargetError(
                "The name of a table in Spark's own catalog consists of letters, digits and underscores.",
                hint="choose such a name, or publish a folder: output: {file: release.parquet}.",
            )
        name = ".".join(quoted(part) for part in (where.catalog, where.schema, where.name))

        def ask() -> str | None:
            catalog = self.engine.session.catalog
            if not catalog.tableExists(name):
                return None
            return "view" if catalog.getTable(name).tableType == "VIEW" else "table"

        found: str | None = self.engine._guard("existing", ask)
        return found

    def relations(self) -> list[str]:
        return sorted(str(row[1]) for row in self.engine.run("relations", "SHOW TABLES"))


@dataclass(frozen=True, slots=True)
class SparkTargets(Targets):
    """The catalog of the session, and folders of files."""

    engine: SparkEngine

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        here = (str(self.engine.session.catalog.currentCatalog()), str(self.engine.session.catalog.currentDatabase()))
        return Place(*here[: 3 - len(parts)], *parts)

    def write_folder(self, name: str, query: exp.Query, folder: Path) -> exp.Expr:
        # Every executor must be able to reach the folder. What Spark notes of a column, such as its comment in the
        # source, does not travel. What reads the files back has the types that were written.
        table = f"{names.PREFIX}written_{uuid4().hex}"

        def write() -> None:
            frame = self.engine._frame(query)
            bare = frame.select(*[frame[quoted(column)].alias(column, metadata={}) for column in frame.columns])
            bare.write.parquet(folder.as_uri())
            self.engine._register(table, self.engine.session.read.schema(bare.schema).parquet(folder.as_uri()))

        self.engine._guard(name, write)
        return exp.to_table(table, quoted=True)

    def read_folder(self, folder: Path) -> exp.Expr:
        table, read = f"{names.PREFIX}read_{uuid4().hex}", self.engine.session.read
        self.engine._guard("read", lambda: self.engine._register(table, read.parquet(folder.as_uri())))
        return exp.to_table(table, quoted=True)


def _parquet_view(name: str, path: str) -> exp.Create:
    """Return the statement of the replayable script that creates a temporary view over Parquet files."""
    options = exp.OptionsProperty(expressions=[exp.Property(this=exp.var("path"), value=exp.Literal.string(path))])
    kind = exp.FileFormatProperty(this=exp.var("parquet"))
    properties = exp.Properties(expressions=[exp.TemporaryProperty(), kind, options])
    return exp.Create(this=exp.to_table(name, quoted=True), kind="VIEW", properties=properties)
