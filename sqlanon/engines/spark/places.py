"""Where the records of a Spark engine come from and its releases go: the session's catalog, and folders of files."""

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

from sqlanon.engines.base import Engine, Place
from sqlanon.engines.relation_names import relation_parts
from sqlanon.engines.spark.dialect import DIALECT, quoted
from sqlanon.errors import EngineError, TargetError, UnsupportedError
from sqlanon.sqltrees import names

OWN_CATALOG = "spark_catalog"
PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""What Spark's own catalog takes for a name."""


class SparkPlaces(Engine):
    """The half of the engine that names relations of others; the other half runs statements."""

    _session: Any
    _user: Any

    def __init__(self) -> None:
        self._globals: list[str] = []
        self._made: list[exp.Expr] = []

    @abstractmethod
    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        """Do some work on the cluster under the name of a statement."""

    @abstractmethod
    def _frame(self, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> Any:
        """The rows of a statement, not run yet."""

    @abstractmethod
    def _register(self, table: str, frame: Any) -> None:
        """Make a temporary view of ours that shows a frame."""

    def _note(self, statement: exp.Expr | str) -> None:
        """Remember the tables that are made, for the case that they are not to stay."""
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            self._made.append(statement.this.copy())

    def _unshare(self) -> None:
        """Drop what was shown to our session of the user's."""
        for name in self._globals:
            self._session.catalog.dropGlobalTempView(name)

    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` of the catalog (catalog and schema allowed), or a temporary view of the user's session.

        Raises:
            UnsupportedError: ``catalog`` asks for an attached database.
        """
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
        identifiers = [exp.to_identifier(part, quoted=True) for part in parts]
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(identifiers), strict=False)))

    def _share(self, user: Any, name: str, shared: str) -> bool:
        """Show a temporary view of the user's session to ours: each session sees its own only.

        A name is that of a view in the way of the user's session, by default in any case.
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
        """A relation over Parquet files: a file, a folder or a pattern, as Spark reads paths.

        Args:
            name: of the temporary view that stands for them.
        """

        def read() -> None:
            self._register(name, self._session.read.parquet(path))

        self._guard("read", read)
        self.replay.append(("read", _parquet_view(name, path)))
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

    def view_text(self, where: Place) -> str:
        """Nothing: views are not made."""
        return ""


def _parquet_view(name: str, path: str) -> exp.Create:
    """The statement that makes a temporary view over Parquet files, as scripts tell it."""
    options = exp.OptionsProperty(expressions=[exp.Property(this=exp.var("path"), value=exp.Literal.string(path))])
    kind = exp.FileFormatProperty(this=exp.var("parquet"))
    properties = exp.Properties(expressions=[exp.TemporaryProperty(), kind, options])
    return exp.Create(this=exp.to_table(name, quoted=True), kind="VIEW", properties=properties)
