"""What every engine does, and what one of them lacks: differences between engines are facts, not branches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from sqlglot import exp

from sqlanon.engines.journal import Journal
from sqlanon.engines.texts import UNKNOWN, TextFacts
from sqlanon.errors import UnsupportedError

Statement = exp.Expr | Callable[[], exp.Expr]
"""A statement of the script: a tree, or what makes it when the script is asked for."""

SNAPSHOT = "snapshot"
"""The name of statements that make a snapshot: which ones are made depends on the search, and no script tells them."""

FEATURES: Mapping[str, str] = {
    "read_only": "opens the source for reading only",
    "files": "reads and writes files",
    "tables": "publishes tables",
    "views": "publishes views",
    "live_views": "publishes live views",
    "roles": "gives a release to an owner and readers",
    "transactions": "makes and drops tables in transactions",
    "private_tables": "has tables that nobody else sees",
    "side_by_side": "judges nodes side by side",
    "several_sources": "joins sources, and streams files of other formats",
    "transformation": "recodes by patterns and several nodes",
    "ordered_distance": "knows the ordered distance of t-closeness",
    "wide_sums": "sums beyond 64 bits",
    "null_audit": "tells what the NULLs of a release give away",
}
"""What an engine may lack, as it reads after the engine's name."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Why an engine does not have a feature, and what a user does instead."""

    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The facts about an engine.

    Attributes:
        name: as people write it.
        dialect: sqlglot's name of its SQL.
        lacks: of ``FEATURES``, those that it does not have.
        texts: what its texts depend on.
        missing: the kinds of its errors that say that a relation or a column is not there.
    """

    name: str
    dialect: str
    lacks: Mapping[str, Lack] = field(default_factory=dict)
    texts: TextFacts = UNKNOWN
    missing: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = set(self.lacks) - set(FEATURES)
        if unknown:
            raise ValueError(f"no such features: {', '.join(sorted(unknown))}")


@dataclass(frozen=True, slots=True)
class Job:
    """One of several statements that run side by side: its text reads views, each to show a table."""

    views: Mapping[str, str]
    text: str
    parameters: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A full name of a relation of a database; the catalog is empty where a session sees one only."""

    catalog: str
    schema: str
    name: str

    @property
    def table(self) -> exp.Table:
        """The reference to it."""
        return self._reference(this=self.name, db=self.schema, catalog=self.catalog)

    @property
    def schema_reference(self) -> exp.Table:
        """The reference to its schema."""
        return self._reference(db=self.schema, catalog=self.catalog)

    def _reference(self, **parts: str) -> exp.Table:
        return exp.Table(**{part: exp.to_identifier(name, quoted=True) for part, name in parts.items() if name})

    def named(self, name: str) -> Place:
        """Another relation of the same schema."""
        return replace(self, name=name)

    def same(self, other: Place) -> bool:
        """True when both name one relation, were names to ignore case."""
        mine, theirs = (self.catalog, self.schema, self.name), (other.catalog, other.schema, other.name)
        return [part.casefold() for part in mine] == [part.casefold() for part in theirs]


class Engine(ABC):
    """A session of a database with its tables; ``close`` drops them all.

    Attributes:
        journal: the statements that ran.
        replay: what the replayable script tells: names and statements, in order.
        default_schema: where a relation without a schema is looked for, where the engine tells.
    """

    capabilities: ClassVar[Capabilities]
    writes_folders: ClassVar[bool] = False
    """A release to a file is a folder of Parquet files, which the engine's machines write (``write_folder``)."""
    preamble: ClassVar[tuple[str, ...]] = ()
    """What a script begins with: functions of the session that its statements call."""
    version: str
    journal: Journal
    replay: list[tuple[str, Statement]]
    default_schema: tuple[str, ...]

    def require(self, feature: str) -> None:
        """Nothing, where the engine has a feature.

        Raises:
            UnsupportedError: it lacks it; says why, and what to do instead.
        """
        lack = self.capabilities.lacks.get(feature)
        if lack is not None:
            raise UnsupportedError(f"{self.capabilities.name}: {lack.reason}", hint=lack.instead)

    def has(self, feature: str) -> bool:
        """True when the engine has a feature."""
        return feature not in self.capabilities.lacks

    @abstractmethod
    def close(self) -> None:
        """Drop every table of ours and close what we opened."""

    @abstractmethod
    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """The text of ``statement`` in the engine's dialect, every identifier quoted."""

    @abstractmethod
    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a named statement and return its rows.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: the database refused it; names the statement and the kind of error only.
        """

    @abstractmethod
    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[tuple[Any, ...]]]:
        """Run named statements that only read, side by side as far as there are lanes, and return their rows in order.

        Raises:
            EngineError: the database refused one of them; the others have ended.
        """

    @abstractmethod
    def side_by_side(self) -> AbstractContextManager[None]:
        """Prepare for many small statements of ``run_many``."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """How many statements ``run_many`` runs side by side."""

    @abstractmethod
    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table."""

    @abstractmethod
    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Make the table ``table`` of ours from an Arrow table; the replayable script lists its rows (``replayed``)."""

    @abstractmethod
    def append(self, name: str, table: str, data: pa.Table, *, replayed: bool = True) -> None:
        """Add the rows of an Arrow table, which has the columns of the table ``table`` of ours."""

    @abstractmethod
    def create(self, name: str, table: str, query: exp.Query | str) -> int:
        """Make the table ``table`` of ours from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once; the script does
        not tell it then.
        """

    def compute(
        self, name: str, table: str, query: exp.Query, *, over: str, of: str, type_name: str, by_text: bool
    ) -> None:
        """Make the table ``table`` of ours, the rows of a hierarchy that is computed, from a query.

        Args:
            over: the one table that it reads: the distinct values of a column.
            of: that column,
            type_name: and its type.
            by_text: only the values' texts are read.
        """
        self.create(name, table, query)

    @abstractmethod
    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a table of ours."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Drop a table of ours, if it is there."""

    @abstractmethod
    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a table of ours."""

    @abstractmethod
    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """(name, type) of the columns of a relation, in order; types in DuckDB's words, which policies use."""

    @abstractmethod
    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """The relation ``name`` (schema-qualified allowed) of the source.

        Args:
            catalog: of another database, by the name it is attached under.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing: commit at the end, roll back on any error."""

    # -- where releases go ---------------------------------------------------------------------------------------------

    @abstractmethod
    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """The full name of a target that is named by one to three parts.

        Args:
            target_catalog: the database that views and tables go to; None: the session's own.
        """

    @abstractmethod
    def existing(self, where: Place) -> str | None:
        """``table``, ``view``, or the word for what else there is of the name; None when there is nothing."""

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        """Refuse roles that a release cannot be handed to, before any work; an engine without roles has none to refuse.

        Raises:
            TargetError: one is not there, or relations cannot be given to the owner.
        """
        return

    @abstractmethod
    def view_text(self, where: Place) -> str:
        """The statement of a view, or its query, as the catalog keeps it; empty where views are not made."""

    def differs_by_reader(self, where: Place) -> bool:
        """True when the engine can tell that a relation shows other rows to other roles (row-level security)."""
        return False

    def make_schema(self, where: Place) -> None:
        """Make the schema of a place, unless it is there."""
        self.run("create schema", exp.Create(this=where.schema_reference, kind="SCHEMA", exists=True))

    def create_view(self, where: Place, query: exp.Query) -> None:
        """Make a view of others."""
        self.run("create view", exp.Create(this=where.table, kind="VIEW", expression=query))

    def hand_over(self, view: Place, beneath: Sequence[Place], owner: str | None, readers: Sequence[str]) -> None:
        """Give a release to its owner, and let its readers read it and nothing beneath it.

        Args:
            beneath: relations that the release reads and that were made with it; they go to the owner too.
        """
        if owner is not None or readers:
            self.require("roles")

    def write_folder(self, name: str, query: exp.Query, folder: Path) -> exp.Expr:
        """Write the rows of a query as a folder of Parquet files.

        Returns:
            the relation that reads them back.

        Raises:
            UnsupportedError: the engine writes none.
        """
        raise UnsupportedError(
            f"{self.capabilities.name} writes no folders.", hint="publish to a file: output: {file: release.parquet}."
        )

    def file_type(self, type_name: str) -> str:
        """The type that a column has in a file that an embedded DuckDB writes: text, where that lacks the type."""
        return type_name

    def carried(self, query: exp.Query, types: Mapping[str, str]) -> pa.Table:
        """The rows of a release, which an embedded DuckDB writes to a file.

        Args:
            types: of its columns, in order.

        Raises:
            UnsupportedError: they hold values that no file holds; names the columns and the cure, and never a value.
        """
        return self.arrow("release", query)

    def passing(self) -> AbstractContextManager[None]:
        """Detach at the end what was attached meanwhile."""
        return nullcontext()

    def unchanged(self) -> bool:
        """False when the engine knows that others wrote to the source since it was opened."""
        return True

    def databases(self) -> list[tuple[str, str | None, bool]]:
        """The databases that are attached: name, file (None in memory), whether it is only read."""
        return []


def temporary_table(table: str, query: exp.Query) -> exp.Create:
    """The statement that makes a table of ours, as scripts tell it."""
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    name = exp.to_table(table, quoted=True)
    return exp.Create(this=name, kind="TABLE", properties=temporary, expression=query.copy())


def rows_of(data: pa.Table) -> exp.Query:
    """The rows of a small Arrow table as a SELECT over VALUES; only made when a script is asked for."""
    columns = [exp.to_identifier(name, quoted=True) for name in data.column_names]
    kinds = [_kind(field.type) for field in data.schema]
    typed = [exp.cast(exp.column(name), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
    if not data.num_rows:
        nothing = [exp.cast(exp.null(), kind).as_(name) for name, kind in zip(columns, kinds, strict=True)]
        return exp.select(*nothing).where(exp.false())
    tuples = [exp.Tuple(expressions=[exp.convert(v) for v in row.values()]) for row in data.to_pylist()]
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=[name.copy() for name in columns])
    return exp.select(*typed).from_(exp.Values(expressions=tuples, alias=alias))


def _kind(kind: pa.DataType) -> str:
    """The type of a column that is loaded from Arrow."""
    if pa.types.is_integer(kind):
        return "BIGINT" if kind.bit_width > 32 else "INT" if kind.bit_width > 16 else "SMALLINT"
    if pa.types.is_floating(kind):
        return "DOUBLE" if kind.bit_width > 32 else "FLOAT"
    return "BOOLEAN" if pa.types.is_boolean(kind) else "VARCHAR"
