"""The sources and targets of a Spark engine: the session's catalog, and folders of files."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from sqlglot import exp

from sqlanon.core.engines.base import Place
from sqlanon.core.engines.relation_names import relation_parts, table_reference
from sqlanon.core.engines.serial import SerialEngine
from sqlanon.core.engines.spark.dialect import DIALECT, quoted
from sqlanon.core.sqltrees import names
from sqlanon.errors import EngineError, TargetError, UnsupportedError

OWN_CATALOG = "spark_catalog"
PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""The names that Spark's own catalog accepts."""


class SparkPlaces(SerialEngine):
    """The half of the engine that names relations of others; the other half runs statements."""

    _session: Any

    def __init__(self, user: Any) -> None:
        super().__init__()
        self._user = user
        self._globals: list[str] = []
        self._created: list[exp.Expr] = []

    @abstractmethod
    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        """Run a statement by ``work`` on the cluster, under its name."""

    @abstractmethod
    def _frame(self, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> Any:
        """Return the rows of a statement, not run yet; show the tables beside the driver that it reads."""

    @abstractmethod
    def _register(self, table: str, frame: Any) -> None:
        """Create a temporary view that shows a frame."""

    def _note(self, statement: exp.Expr | str) -> None:
        """Remember the tables that a transaction creates, which an error drops."""
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            self._created.append(statement.this.copy())

    def _unshare(self) -> None:
        """Drop the views by which our session sees temporary views of the user's."""
        for name in self._globals:
            self._session.catalog.dropGlobalTempView(name)

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        # a relation of the catalog, or a temporary view of the user's session
        if catalog is not None:
            raise UnsupportedError(
                "A session of Spark has no attached databases.", hint="name the table with its catalog and schema."
            )
        parts = relation_parts(name, DIALECT)
        if len(parts) == 1 and self._user is not None:
            user = self._user
            shared = f"{names.PREFIX}source_{uuid4().hex}"
            if self._guard("find table", lambda: self._share(user, name, shared)):
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
        self._globals.append(shared)
        return True

    def read_parquet(self, name: str, path: str) -> exp.Table:
        """Return a relation over Parquet files: a file, a folder or a pattern, as Spark reads paths.

        Args:
            name: the name of the temporary view that is created over them.
        """

        def read() -> None:
            self._register(name, self._session.read.parquet(path))

        self._guard("read", read)
        self.replay.append(("read", _parquet_view(name, path)))
        return exp.to_table(name, quoted=True)

    def local_files(self, relation: exp.Expr) -> list[Path]:
        """Return the files of this machine that a relation is read from; those of other file systems are left out."""
        read: list[str] = self._guard("files", lambda: self._frame(exp.select("*").from_(relation)).inputFiles())
        return [Path(unquote(urlsplit(file).path)) for file in read if urlsplit(file).scheme == "file"]

    def write_folder(self, name: str, query: exp.Query, folder: Path) -> exp.Expr:
        # Every executor must be able to reach the folder. What Spark notes of a column, such as its comment in the
        # source, does not travel. What reads the files back has the types that were written.
        table = f"{names.PREFIX}written_{uuid4().hex}"

        def write() -> None:
            frame = self._frame(query)
            bare = frame.select(*[frame[quoted(column)].alias(column, metadata={}) for column in frame.columns])
            bare.write.parquet(folder.as_uri())
            self._register(table, self._session.read.schema(bare.schema).parquet(folder.as_uri()))

        self._guard(name, write)
        return exp.to_table(table, quoted=True)

    def read_folder(self, folder: Path) -> exp.Expr:
        table = f"{names.PREFIX}read_{uuid4().hex}"
        self._guard("read", lambda: self._register(table, self._session.read.parquet(folder.as_uri())))
        return exp.to_table(table, quoted=True)

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

    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        here = (str(self._session.catalog.currentCatalog()), str(self._session.catalog.currentDatabase()))
        return Place(*here[: 3 - len(parts)], *parts)

    def relations(self) -> list[str]:
        return sorted(str(row[1]) for row in self.run("relations", "SHOW TABLES"))

    def existing(self, where: Place) -> str | None:
        if where.catalog == OWN_CATALOG and not (
            PLAIN_NAME.fullmatch(where.schema) and PLAIN_NAME.fullmatch(where.name)
        ):
            raise TargetError(
                "The name of a table in Spark's own catalog consists of letters, digits and underscores.",
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


def _parquet_view(name: str, path: str) -> exp.Create:
    """Return the statement of the replayable script that creates a temporary view over Parquet files."""
    options = exp.OptionsProperty(expressions=[exp.Property(this=exp.var("path"), value=exp.Literal.string(path))])
    kind = exp.FileFormatProperty(this=exp.var("parquet"))
    properties = exp.Properties(expressions=[exp.TemporaryProperty(), kind, options])
    return exp.Create(this=exp.to_table(name, quoted=True), kind="VIEW", properties=properties)
