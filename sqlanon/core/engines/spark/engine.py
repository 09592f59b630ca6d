"""Apache Spark 4.0 and newer, through PySpark.

Records stay on the cluster: what reads them (distinct values, base, release, audits) runs there. What is known of
distinct values (``held.HELD``: hierarchies, lookups, leaves, masks, distributions) is one row a value. It stands in an
embedded DuckDB beside the driver, where a statement about it costs no job, and is shown to the cluster where a
statement joins it with records: a broadcast join would bring it to the driver all the same.

All working tables live in a session of their own (``SparkSession.newSession``): its settings and its temporary views
are not shared, its catalog is the user's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from sqlglot import exp

from sqlanon.core.disk.folders import PrivateFolder, spill_folder
from sqlanon.core.engines.base import Row, Statement
from sqlanon.core.engines.replay import temporary_table
from sqlanon.core.engines.spark import dialect, values
from sqlanon.core.engines.spark.dialect import quoted, type_word
from sqlanon.core.engines.spark.errors import describe, quiet
from sqlanon.core.engines.spark.facts import (
    BATCH,
    CAPABILITIES,
    DRIVER,
    LOGGING,
    MASTER,
    MOST_RESULT,
    SETTINGS,
    STARTED,
    result_rows,
)
from sqlanon.core.engines.spark.held import MOST_ROWS, HeldTables
from sqlanon.core.engines.spark.places import SparkPlaces
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table as working_table
from sqlanon.core.sqltrees.trees import union_all
from sqlanon.errors import InputError

JOB_KEYS = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
"""The properties of a thread that describe its jobs."""


class SparkEngine(SparkPlaces):
    """A session with its temporary views and persisted tables; ``close`` drops them all.

    Args:
        session: an open session of the user's: its cluster and its catalog are used, and it is not stopped. None starts
            a cluster, unless one runs in this process already.
        master: where a cluster is started.
        settings: settings of the cluster that is started, by Spark's names (``spark.executor.memory``).

    Attributes:
        received: rows and bytes (in Arrow) that came from the cluster to the driver, by table or statement.

    Raises:
        InputError: no cluster can be started, or it refuses the session.
    """

    capabilities = CAPABILITIES
    _session: SparkSession
    version = pyspark.__version__

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str = MASTER,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(session)
        self.received: dict[str, tuple[int, int]] = {}
        self._frames: dict[str, DataFrame] = {}
        self._persisted: dict[str, list[DataFrame]] = {}
        self._rows: dict[str, int] = {}
        """The rows of the tables that the executors keep."""
        self._logged: dict[str, tuple[list[Callable[[], exp.Query]], tuple[str, Statement]]] = {}
        """The queries of each working table, and its entry in the replayable script."""
        self._group = f"sqlanon-{uuid4()}"
        self._started: SparkSession | None = None
        self._scratch: PrivateFolder | None = None
        failure: tuple[str, str, str] | None = None
        try:
            if session is None:
                session = _running_session() or self._start(master, settings or {})
            self._session = session.newSession()
            self._configure(settings or {})
            if self._user is not None:  # names are looked for in the user's catalog and schema
                self._session.catalog.setCurrentCatalog(self._user.catalog.currentCatalog())
                self._session.catalog.setCurrentDatabase(self._user.catalog.currentDatabase())
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            failure = describe(error)
        if failure:
            self._stop()
            raise InputError(
                f"Spark refused the session ({failure[0]}: {failure[1]}).",
                hint="check that Java 17 or 21 is installed (JAVA_HOME), and the names of the settings.",
            )
        self._held = HeldTables(self.journal)

    def _start(self, master: str, settings: Mapping[str, str]) -> SparkSession:
        self._scratch = spill_folder(Path(tempfile.gettempdir()))
        scratch = self._scratch.path
        (scratch / "log4j2.properties").write_text(LOGGING)
        chosen = {
            **STARTED,
            "spark.driver.extraJavaOptions": f"{DRIVER} -Dlog4j.configurationFile={scratch}/log4j2.properties",
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.local.dir": str(scratch),
            **settings,
        }
        conf = SparkConf().setMaster(master).setAppName("sqlanon").setAll(list(chosen.items()))
        with quiet():
            self._started = SparkSession.builder.config(conf=conf).getOrCreate()
        return self._started

    def _configure(self, settings: Mapping[str, str]) -> None:
        """Set up the session. A shuffle has enough partitions for large data; adaptive execution joins small ones."""
        partitions = str(max(4, 4 * self._context.defaultParallelism))
        chosen = {"spark.sql.shuffle.partitions": partitions, **SETTINGS}
        for key, value in chosen.items():
            self._session.conf.set(key, settings.get(key, value))

    @property
    def _context(self) -> SparkContext:
        return self._session.sparkContext

    @property
    def session(self) -> SparkSession:
        """The session of the engine, which sees its temporary views."""
        return self._session

    def close(self) -> None:
        self._held.close()
        with suppress(PySparkException, Py4JError):  # the cluster may be gone
            for name in list(self._frames):
                self._forget(name)
            self._unshare()
        self._stop()

    def _stop(self) -> None:
        if self._started is not None:
            application = self._started.sparkContext.applicationId
            self._started.stop()
            self._started = None
            with suppress(OSError):  # a local cluster keeps the folders of its executors
                work = Path(pyspark.__file__).parent / "work"
                shutil.rmtree(work / application)
                work.rmdir()
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        return dialect.render(statement, pretty=pretty)

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        # a decimal without a fraction is an int
        if self._held.answers(statement):
            return self._held.run(name, statement, parameters)
        self._note(statement)
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
        most = self._session.conf.get(MOST_RESULT, "1g") or "0"
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
            return self._session.sql(text, args=bound) if bound else self._session.sql(text)
        finally:
            for part in parts:  # the frame holds their rows
                self._session.catalog.dropTempView(part)

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
        kept = [exp.column(name, quoted=True) for name, _ in self.columns(working_table(table)) if name != column]
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
        return self._session.createDataFrame(values.with_spark_types(data))

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
            self._session.catalog.dropTempView(table)
        self._rows.pop(table, None)
        for frame in self._persisted.pop(table, []):
            frame.unpersist()

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        query = exp.select("*").from_(relation)
        if self._held.answers(query):
            return self._held.columns(relation)
        schema = self._guard("describe", lambda: self._frame(query).schema)
        return [(field.name, type_word(field.dataType.simpleString())) for field in schema.fields]


def _running_session() -> SparkSession | None:
    """Return a session of the cluster that runs in this process already, which is not ours to stop."""
    context = SparkContext._active_spark_context
    return None if context is None else SparkSession.getActiveSession() or SparkSession(context)
