"""Apache Spark 4.0 and newer, and the only module that imports pyspark.

Records stay on the cluster: what reads them (distinct values, base, release, audits) runs there. What is known of
distinct values (``spark_held.HELD``: hierarchies, lookups, leaves, masks, distributions) is one row a value. It stands
in an embedded DuckDB beside the driver, where a statement about it costs no job, and is shown to the cluster where a
statement joins it with records: a broadcast join would bring it to the driver all the same.

Everything of ours lives in a session of its own (``SparkSession.newSession``): its settings and its temporary views
are nobody else's, its catalog is the user's.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from sqlanon.engines.base import SNAPSHOT, Job, Statement, rows_of, temporary_table
from sqlanon.engines.journal import Journal
from sqlanon.engines.spark import dialect as spark_dialect
from sqlanon.engines.spark import values as spark_values
from sqlanon.engines.spark.dialect import quoted, type_word
from sqlanon.engines.spark.errors import describe, quiet
from sqlanon.engines.spark.facts import CAPABILITIES, DRIVER, LOGGING, MASTER, SETTINGS, STARTED
from sqlanon.engines.spark.held import MOST_ROWS, HeldTables
from sqlanon.engines.spark.places import SparkPlaces
from sqlanon.errors import EngineError, InputError
from sqlanon.sqltrees import names

JOB_KEYS = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
"""What a thread tells of its jobs."""


class SparkEngine(SparkPlaces):
    """A session with its temporary views and persisted tables; ``close`` drops them all.

    Args:
        session: an open session of the user's: its cluster and its catalog are used, and it is not stopped. None starts
            a cluster, unless one runs in this process already.
        master: where a cluster is started.
        settings: of the cluster that is started, by Spark's names (``spark.executor.memory``).

    Attributes:
        received: what came from the cluster to the driver: rows and bytes (in Arrow), by table or statement.

    Raises:
        InputError: no cluster can be started, or it refuses the session.
    """

    capabilities = CAPABILITIES
    _session: SparkSession
    writes_folders = True
    version = pyspark.__version__

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str = MASTER,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.journal = Journal()
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self.received: dict[str, tuple[int, int]] = {}
        self._user = session
        self._frames: dict[str, DataFrame] = {}
        self._persisted: dict[str, list[DataFrame]] = {}
        self._told: dict[str, tuple[list[Callable[[], exp.Query]], tuple[str, Statement]]] = {}
        self._group = f"sqlanon-{uuid4()}"
        self._started: SparkSession | None = None
        self._scratch: Path | None = None
        failure: tuple[str, str, str] | None = None
        try:
            if session is None:
                session = _running() or self._start(master, settings or {})
            self._session = session.newSession()
            self._configure(settings or {})
            if self._user is not None:  # names are looked for where the user is
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
        self._scratch = Path(tempfile.mkdtemp(prefix="sqlanon-spark-"))
        (self._scratch / "log4j2.properties").write_text(LOGGING)
        chosen = {
            **STARTED,
            "spark.driver.extraJavaOptions": f"{DRIVER} -Dlog4j.configurationFile={self._scratch}/log4j2.properties",
            "spark.sql.warehouse.dir": f"{self._scratch}/warehouse",
            "spark.local.dir": str(self._scratch),
            **settings,
        }
        conf = SparkConf().setMaster(master).setAppName("sqlanon").setAll(list(chosen.items()))
        with quiet():
            self._started = SparkSession.builder.config(conf=conf).getOrCreate()
        return self._started

    def _configure(self, settings: Mapping[str, str]) -> None:
        """Settings of the session. Partitions of a shuffle are many enough for large data; small ones are put together
        (adaptive execution)."""
        partitions = str(max(4, 4 * self._context.defaultParallelism))
        chosen = {"spark.sql.shuffle.partitions": partitions, **SETTINGS}
        for key, value in chosen.items():
            self._session.conf.set(key, settings.get(key, value))

    @property
    def _context(self) -> SparkContext:
        return self._session.sparkContext

    @property
    def session(self) -> SparkSession:
        """Our session, in which the temporary views of ours are seen."""
        return self._session

    def close(self) -> None:
        """Drop every view and persisted table of ours; stop the cluster if we started it."""
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
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """The text of ``statement`` in Spark's dialect, every identifier quoted."""
        return spark_dialect.render(statement, pretty=pretty)

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a named statement and return its rows; a decimal without a fraction is an ``int``.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: Spark refused it; names the statement and the condition only.
        """
        if self._held.answers(statement):
            return self._held.run(name, statement, parameters)
        self._note(statement)
        return spark_values.rows(self._fetch(name, statement, parameters))

    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table."""
        return self._held.arrow(name, statement) if self._held.answers(statement) else self._fetch(name, statement)

    def _fetch(
        self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = (), *, table: str = ""
    ) -> pa.Table:
        """The rows of a statement, which become those of a table beside the driver or go to who asked."""
        data: pa.Table = self._guard(name, lambda: self._frame(statement, parameters).toArrow())
        rows, size = self.received.get(table or name, (0, 0))
        self.received[table or name] = (rows + data.num_rows, size + data.nbytes)
        return spark_values.given(data)

    def _frame(self, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> DataFrame:
        """The rows of a statement, not run yet; what it reads of the tables beside the driver is shown first."""
        text = statement if isinstance(statement, str) else self.render(statement)
        for table in self._held.mentioned(text):
            if table not in self._frames:
                self._show(table, self._held.rows(table))
        bound = [Decimal(p) if isinstance(p, int) and not -(2**63) <= p < 2**63 else p for p in parameters]
        return self._session.sql(text, args=bound) if bound else self._session.sql(text)

    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        failure: tuple[str, str, str]
        interrupted = False
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
        finally:
            self.journal.record(name, time.perf_counter() - start)
        if interrupted:
            raise KeyboardInterrupt
        kind, message, hint = failure
        raise EngineError(
            f"Spark refused the statement {name!r} ({kind}: {message}).", hint=hint, statement=name, kind=kind
        )

    @contextmanager
    def _grouped(self, name: str) -> Iterator[None]:
        """Jobs of a group of ours, which can be cancelled together; the thread is given back as it was."""
        context = self._context
        before = {key: context.getLocalProperty(key) for key in JOB_KEYS}
        context.setJobGroup(self._group, f"sqlanon: {name}", interruptOnCancel=True)
        try:
            yield
        finally:
            for key, value in before.items():
                context.setLocalProperty(key, value)  # type: ignore[arg-type]

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[tuple[Any, ...]]]:
        """Run named statements that only read, one after the other: each takes all executors."""
        return [self._run_job(name, job) for job in jobs]

    def _run_job(self, name: str, job: Job) -> list[tuple[Any, ...]]:
        for view, shown in job.views.items():
            self._frames[shown].createOrReplaceTempView(quoted(view))
        return self.run(name, job.text, job.parameters)

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Nothing to prepare: statements run one after the other."""
        yield

    @property
    def lanes(self) -> int:
        """How many statements ``run_many`` runs side by side."""
        return 1

    # -- tables of ours ------------------------------------------------------------------------------------------------

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from an Arrow table; the replayable script lists its rows (``replayed``)."""
        if replayed:
            self._tell(name, table, lambda: rows_of(data))
        if self._held.owns(table):
            self._held.load(name, table, data)
        else:
            self._guard(name, lambda: self._show(table, data))

    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""
        if replayed:
            self._tell(name, table, lambda: rows_of(data), more=True)
        if self._held.owns(table):
            self._held.append(name, table, data, replayed=False)
            self._hide(table)
        else:
            self._guard(name, lambda: self._grow(table, self._session.createDataFrame(spark_values.taken(data))))

    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the table ``table`` of ours from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once; the script does
        not tell it then.
        """
        if not isinstance(query, str) and name != SNAPSHOT:
            told = query.copy()
            self._tell(name, table, lambda: told)
        if not self._held.owns(table):
            rows = int(self._guard(name, lambda: self._keep(table, self._frame(query))))
            if table == names.BASE and rows <= MOST_ROWS:
                self._held.load(
                    "hold",
                    table,
                    self._fetch("hold", exp.select("*").from_(exp.to_table(table, quoted=True)), table=table),
                )
            return rows
        if self._held.answers(query):
            return self._held.create(name, table, query)
        data = self._fetch(name, query, table=table)
        self._held.load("hold", table, data)
        return int(data.num_rows)

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a table of ours."""
        told = query.copy()
        self._tell(name, table, lambda: told, more=True)
        if not self._held.owns(table):
            self._guard(name, lambda: self._grow(table, self._frame(query)))
        elif self._held.answers(query):
            self._held.insert(name, table, query)
            self._hide(table)
        else:
            self._held.append(name, table, self._fetch(name, query, table=table), replayed=False)
            self._hide(table)

    def drop(self, table: str) -> None:
        """Drop a table of ours, if it is there."""
        if self._held.owns(table) or self._held.holds(table):
            self._held.drop(table)
        self._guard("drop", lambda: self._forget(table))

    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a table of ours."""
        if self._held.owns(table):
            self._held.drop_column(table, column)
            self._hide(table)
            return
        wanted = [exp.column(name, quoted=True) for name, _ in self.columns(exp.to_table(table, quoted=True))]
        kept = exp.select(*[item for item in wanted if item.name != column]).from_(exp.to_table(table, quoted=True))
        self._guard("drop column", lambda: self._register(table, self._frame(kept)))

    def _tell(self, name: str, table: str, query: Callable[[], exp.Query], *, more: bool = False) -> None:
        """Let the script make a table of ours, a temporary view there. Nothing can be added to a view: one that takes
        ``more`` rows is told again, later, with all of them."""
        parts, entry = self._told.pop(table, ([], None)) if more else ([], None)
        if entry is not None:
            self.replay.remove(entry)
        parts = [*parts, query]

        def whole() -> exp.Expr:
            every = [part() for part in parts]
            return temporary_table(table, reduce(lambda one, other: exp.union(one, other, distinct=False), every))

        self.replay.append((name, whole))
        self._told[table] = (parts, self.replay[-1])

    def _show(self, table: str, data: pa.Table) -> None:
        """A table from rows of the driver; a small one is part of every plan that reads it, and costs no job."""
        self._register(table, self._session.createDataFrame(spark_values.taken(data)))

    def _hide(self, table: str) -> None:
        """Forget what was shown of a table beside the driver, because it has changed."""
        self._guard("hide", lambda: self._forget(table))

    def _keep(self, table: str, frame: DataFrame) -> int:
        """Compute the rows of a frame once and keep them on the executors, which write to disk what does not fit."""
        kept = frame.persist()
        self._persisted.setdefault(table, []).append(kept)
        rows = kept.count()
        self._register(table, kept)
        return rows

    def _grow(self, table: str, more: DataFrame) -> None:
        """Add rows by position, as INSERT does."""
        self._keep(table, self._frames[table].union(more))

    def _register(self, table: str, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(quoted(table))
        self._frames[table] = frame

    def _forget(self, table: str) -> None:
        if self._frames.pop(table, None) is not None:
            self._session.catalog.dropTempView(table)
        for frame in self._persisted.pop(table, []):
            frame.unpersist()

    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order; types in DuckDB's words, which policies use."""
        query = exp.select("*").from_(relation)
        if self._held.answers(query):
            return self._held.columns(relation)
        schema = self._guard("describe", lambda: self._frame(query).schema)
        return [(field.name, type_word(field.dataType.simpleString())) for field in schema.fields]


def _running() -> SparkSession | None:
    """A session of the cluster that runs in this process already, whoever started it; it is not ours to stop."""
    context = SparkContext._active_spark_context
    return None if context is None else SparkSession.getActiveSession() or SparkSession(context)
