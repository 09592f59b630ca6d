"""Apache Spark 4.0 and newer, and the only module that imports pyspark.

Records stay on the cluster: what reads them (distinct values, base, release, audits) runs there. What is known of
distinct values (``spark_held.HELD``: hierarchies, lookups, leaves, masks, distributions) is one row a value. It stands
in an embedded DuckDB beside the driver, where a statement about it costs no job, and is shown to the cluster where a
statement joins it with records: a broadcast join would bring it to the driver all the same.

Everything of ours lives in a session of its own (``SparkSession.newSession``): its settings and its temporary views
are nobody else's, its catalog is the user's.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from sqlanon import names
from sqlanon.engines import spark_dialect, spark_values
from sqlanon.engines.base import SNAPSHOT, Engine, Job, Place, Statement, rows_of, temporary_table
from sqlanon.engines.spark_dialect import DIALECT, quoted, type_word
from sqlanon.engines.spark_errors import describe, quiet
from sqlanon.engines.spark_facts import CAPABILITIES, MASTER, SETTINGS, STARTED
from sqlanon.engines.spark_held import MOST_ROWS, HeldTables
from sqlanon.errors import EngineError, InputError, TargetError, UnsupportedError
from sqlanon.journal import Journal

OWN_CATALOG = "spark_catalog"
PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""What Spark's own catalog takes for a name."""


class SparkEngine(Engine):
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
    writes_folders = True
    version = pyspark.__version__

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str = MASTER,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.journal = Journal()
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self.received: dict[str, tuple[int, int]] = {}
        self._user = session
        self._frames: dict[str, DataFrame] = {}
        self._persisted: dict[str, list[DataFrame]] = {}
        self._globals: list[str] = []
        self._made: list[exp.Expr] = []
        self._group = f"sqlanon-{uuid4()}"
        self._started: SparkSession | None = None
        self._scratch: Path | None = None
        failure: tuple[str, str, str] | None = None
        try:
            if session is None:
                session = SparkSession.getActiveSession() or self._start(master, settings or {})
            self._session = session.newSession()
            self._configure(settings or {})
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
        folders = {"spark.sql.warehouse.dir": f"{self._scratch}/warehouse", "spark.local.dir": str(self._scratch)}
        conf = (
            SparkConf().setMaster(master).setAppName("sqlanon").setAll([*(STARTED | folders | dict(settings)).items()])
        )
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
            for name in self._globals:
                self._session.catalog.dropGlobalTempView(name)
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
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            self._made.append(statement.this.copy())
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
            with quiet():
                self._context.setJobGroup(self._group, f"sqlanon: {name}", interruptOnCancel=True)
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
            self.replay.append((name, lambda: temporary_table(table, rows_of(data))))
        if self._held.owns(table):
            self._held.load(name, table, data)
        else:
            self._guard(name, lambda: self._show(table, data))

    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""
        if replayed:
            self.replay.append((name, lambda: exp.insert(rows_of(data), exp.to_table(table, quoted=True))))
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
            self.replay.append((name, lambda: temporary_table(table, told)))
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
        told = exp.insert(query.copy(), exp.to_table(table, quoted=True))
        self.replay.append((name, told))
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

    # -- sources and targets -------------------------------------------------------------------------------------------

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` of the catalog (catalog and schema allowed), or a temporary view of the user's session.

        Raises:
            UnsupportedError: ``catalog`` asks for an attached database.
        """
        if catalog is not None:
            raise UnsupportedError(
                "A session of Spark has no attached databases.", hint="name the table with its catalog and schema."
            )
        parts = [part.name for part in exp.to_table(name, dialect=DIALECT).parts] if "." in name else [name]
        if len(parts) == 1 and self._user is not None:
            user = self._user
            shared = f"{names.PREFIX}source_{uuid4().hex}"
            if self._guard("find table", lambda: self._share(user, name, shared)):
                parts = ["global_temp", shared]
        identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False)))

    def _share(self, user: SparkSession, name: str, shared: str) -> bool:
        """Show a temporary view of the user's session to ours: each session sees its own only."""
        if not any(view["isTemporary"] and view["viewName"] == name for view in user.sql("SHOW VIEWS").collect()):
            return False
        user.table(quoted(name)).createGlobalTempView(shared)
        self._globals.append(shared)
        return True

    def read_parquet(self, name: str, path: str) -> exp.Table:
        """A relation over Parquet files: a file, a folder or a pattern, as Spark reads paths.

        Args:
            name: of the temporary view that stands for them.
        """

        def read() -> None:
            self._register(name, self._session.read.parquet(path))

        self._guard("read", read)
        return exp.to_table(name, quoted=True)

    def local_files(self, relation: exp.Expr) -> list[Path]:
        """The files of this machine that a relation is read from; nothing is known of other file systems."""
        read: list[str] = self._guard("files", lambda: self._frame(exp.select("*").from_(relation)).inputFiles())
        return [Path(unquote(urlsplit(file).path)) for file in read if urlsplit(file).scheme == "file"]

    def write_folder(self, name: str, query: exp.Query, folder: Path) -> exp.Expr:
        """Write the rows of a query as a folder of Parquet files, which every executor must be able to reach.

        What Spark notes of a column, its comment in the source among it, does not travel.

        Returns:
            the relation that reads them back, with the types that were written.
        """
        table = f"{names.PREFIX}written_{uuid4().hex}"

        def write() -> None:
            frame = self._frame(query)
            bare = frame.select(*[frame[quoted(column)].alias(column, metadata={}) for column in frame.columns])
            bare.write.parquet(folder.as_uri())
            self._register(table, self._session.read.schema(bare.schema).parquet(folder.as_uri()))

        self._guard(name, write)
        return exp.to_table(table, quoted=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What stands in for one: tables that were made within are dropped on any error; nobody is kept away."""
        before = self._made
        self._made = []
        try:
            yield
        except BaseException:
            for made in self._made:
                with suppress(EngineError):
                    self.run("drop unpublished", exp.Drop(tables=[made], kind="TABLE", exists=True))
            raise
        finally:
            self._made = before

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """The full name of a target: a table of the session's schema, or one with its schema, or catalog and schema."""
        here = (str(self._session.catalog.currentCatalog()), str(self._session.catalog.currentDatabase()))
        return Place(*here[: 3 - len(parts)], *parts)

    def existing(self, where: Place) -> str | None:
        """``table`` or ``view`` when there is such a relation, else None.

        Raises:
            TargetError: there cannot be one: the catalog of sessions keeps no such name.
        """
        if where.catalog == OWN_CATALOG and not (
            PLAIN_NAME.fullmatch(where.schema) and PLAIN_NAME.fullmatch(where.name)
        ):
            raise TargetError(
                "The name of a table in Spark's own catalog is made of letters, digits and underscores.",
                hint="choose such a name, or publish a folder: output: {file: release.parquet}.",
            )
        name = ".".join(quoted(part) for part in (where.catalog, where.schema, where.name))

        def ask() -> str | None:
            catalog = self._session.catalog
            if not catalog.tableExists(name):
                return None
            return "view" if catalog.getTable(name).tableType == "VIEW" else "table"

        found: str | None = self._guard("existing", ask)
        return found
