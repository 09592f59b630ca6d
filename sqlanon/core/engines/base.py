"""The interface of every engine with its catalog and its targets, and what engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.capabilities import Capabilities
from sqlanon.core.engines.journal import Journal
from sqlanon.core.engines.relation_names import table_reference
from sqlanon.core.engines.replay import analysis, rows_of, temporary_table
from sqlanon.core.interrupts import held
from sqlanon.errors import EngineError, UnsupportedError

Statement = exp.Expr | Callable[[], exp.Expr]
"""A statement of the replayable script: a tree, or what builds it when the script is asked for."""
Row = tuple[Any, ...]

SNAPSHOT = "snapshot"
"""The name of statements that create a snapshot. Which ones run depends on the search, so no script contains them."""


@dataclass(frozen=True, slots=True)
class Job:
    """One of several statements that may run side by side.

    Attributes:
        views: the views that its text reads, each with the table that it has to show.
    """

    views: Mapping[str, str]
    text: str
    parameters: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Computed:
    """A column whose hierarchy is computed: its name, its type, and whether only the texts of its values are read."""

    name: str
    type: str
    by_text: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The full name of a relation of a database; the catalog is empty where a session sees one only."""

    catalog: str
    schema: str
    name: str

    @property
    def table(self) -> exp.Table:
        """The reference to the relation."""
        return table_reference(part for part in (self.catalog, self.schema, self.name) if part)

    @property
    def schema_reference(self) -> exp.Table:
        """The reference to its schema."""
        parts = {"db": self.schema, "catalog": self.catalog}
        return exp.Table(**{part: exp.to_identifier(name, quoted=True) for part, name in parts.items() if name})

    def named(self, name: str) -> Place:
        """Return the place of another relation of the same schema."""
        return replace(self, name=name)

    def same(self, other: Place) -> bool:
        """Return True if both name one relation where names ignore case."""
        mine, theirs = (self.catalog, self.schema, self.name), (other.catalog, other.schema, other.name)
        return [part.casefold() for part in mine] == [part.casefold() for part in theirs]


class Engine(ABC):
    """A session of a database with sqlanon's working tables; ``close`` drops them all.

    Attributes:
        journal: the statements that ran.
        replay: the replayable script: names and statements, in order.
        default_schema: the schemas in which a relation without a schema is looked for, if the engine knows them.
        lanes: how many statements ``run_many`` runs side by side.
        publishes_codes: records are joined with their lookups once, as the source is as it was, or its catalog tells.
    """

    capabilities: ClassVar[Capabilities]
    lanes: int = 1
    version: str

    def __init__(self) -> None:
        self.journal = Journal()
        self.replay: list[tuple[str, Statement]] = []
        self.default_schema: tuple[str, ...] = ()
        self.publishes_codes = False

    @property
    @abstractmethod
    def catalog(self) -> DatabaseCatalog:
        """What there is in its databases. It is made when it is asked for, so that no circle keeps the engine."""

    @property
    @abstractmethod
    def targets(self) -> Targets:
        """Where its releases go; made when it is asked for, like the catalog."""

    @abstractmethod
    def close(self) -> None:
        """Drop every working table and close what was opened; never the user's own connection."""

    @abstractmethod
    def render(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """Return the text of ``statement`` in the engine's dialect, every identifier quoted."""

    def prepared(self, statement: exp.Expr) -> str:
        """Return the text of a statement that will run many times, and prepare its working tables for it."""
        return self.render(statement)

    def portable(self, statement: exp.Expr, *, pretty: bool = False) -> str:
        """Return the text of a statement for other sessions of the database, without what this one has of its own."""
        return self.render(statement, pretty=pretty)

    def before(self, text: str) -> list[str]:
        """Return the statements that another session needs before the ``text`` of ``portable``."""
        return []

    @abstractmethod
    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a named statement and return its rows.

        Args:
            name: what the journal and errors call the statement.
            statement: a sqlglot tree, or text that was rendered from one.
            parameters: values bound to the statement's placeholders.

        Raises:
            EngineError: the database refused it; names the statement and the kind of error only.
        """

    @abstractmethod
    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[Row]]:
        """Run named statements that only read, as many at once as there are lanes, and return their rows in order.

        Raises:
            EngineError: the database refused one of them; the others have ended.
        """

    def side_by_side(self) -> AbstractContextManager[None]:
        """Prepare for many small statements of ``run_many``."""
        return nullcontext()

    @abstractmethod
    def arrow(self, name: str, statement: exp.Expr | str) -> pa.Table:
        """Run a named statement and return its rows as an Arrow table."""

    def read_batches(self, name: str, table: str) -> Iterator[pa.Table]:
        """Yield the rows of a working table, as many at a time as come here at once: one batch at least."""
        yield self.arrow(name, exp.select("*").from_(exp.to_table(table, quoted=True)))

    def hold(self) -> None:
        """Read one state of the source from now on, as far as the engine can, until ``transaction`` commits.

        What is created meanwhile belongs to the same transaction, and goes if the engine is closed before."""
        return

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what is within in one transaction: commit at the end, roll back on any error."""
        self.run("begin", self.capabilities.begin)
        try:
            yield
            self.run("commit", "COMMIT")
        except BaseException:
            self._forget_relations()
            # the database may have rolled back by itself, or the connection may be gone
            with held(), suppress(EngineError):
                self.run("rollback", "ROLLBACK")
            raise

    def _forget_relations(self) -> None:
        """Forget what is known of temporary relations, which a rollback may have changed."""
        return

    def _text(self, statement: exp.Expr | str) -> str:
        return statement if isinstance(statement, str) else self.render(statement)

    def _quoted(self, name: str) -> str:
        return self.render(exp.to_identifier(name, quoted=True))

    def _refusal(self, name: str, kind: str, message: str, hint: str) -> EngineError:
        """Return the error of a statement that the database refused."""
        return EngineError(
            f"{self.capabilities.name} refused the statement {name!r} ({kind}: {message}).",
            hint=hint,
            statement=name,
            kind=kind,
        )

    # -- working tables ------------------------------------------------------------------------------------------------

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = True, more: bool = False) -> None:
        """Create a working table from an Arrow table, or add the rows where there is ``more`` in it.

        If ``replayed``, the replayable script lists the rows.
        """
        if replayed:
            self._log(name, table, lambda: rows_of(data), more=more)
        self._ingest(name, table, data, new=not more)
        self._analyze_working(table, replayed=replayed)

    def create(
        self, name: str, table: str, query: exp.Query | str, *, replayed: bool = True, portable: exp.Query | None = None
    ) -> int:
        """Create a working table from a query and return its number of rows.

        ``query`` may be text that was rendered from a tree before, so that hot statements compile once. The replayable
        script does not contain such a statement, nor one that is not ``replayed``.

        Args:
            portable: what the script has in place of ``query``: the same rows, computed as any database can.
        """
        logged = None
        if isinstance(query, exp.Expr) and name != SNAPSHOT and replayed:
            logged = query.copy() if portable is None else portable  # rendering may change the tree
        rows = self._create_as(name, table, query)
        if logged is not None:
            self._log(name, table, lambda: logged)
        if name != SNAPSHOT:  # one is only grouped by bits of its keys, of which no statistics are kept
            self._analyze_working(table, replayed=logged is not None)
        return rows

    def insert(self, name: str, table: str, query: exp.Query) -> None:
        """Add the rows of a query to a working table."""
        logged = query.copy()
        self._insert_from(name, table, query)
        self._log(name, table, lambda: logged, more=True)
        self._analyze_working(table)

    def add(self, name: str, text: str, parameters: Sequence[Any] = ()) -> int:
        """Run an INSERT that was rendered before, and return how many rows it added."""
        return int(self.run(name, text, parameters)[0][0])

    def compute(self, name: str, table: str, query: exp.Query, columns: Mapping[int, Computed], *, more: bool) -> None:
        """Create a working table with the rows of computed hierarchies, or add them where there is ``more`` in it.

        Args:
            query: computes the rows from the distinct values (``names.VALUES``), the one table that it reads.
            columns: those whose values it reads, by position.
        """
        (self.insert if more else self.create)(name, table, query)

    def read_once(self, name: str, table: str, relation: exp.Expr) -> exp.Expr:
        """Return the rows of a relation as they are now, in a working table if that spares work."""
        return relation

    def drop(self, table: str) -> None:
        """Drop a working table, if it exists."""
        self.run("drop", f"DROP TABLE IF EXISTS {self._working_table(table)}")

    def drop_column(self, table: str, column: str) -> None:
        """Drop a column of a working table."""
        self.run("drop column", f"ALTER TABLE {self._working_table(table)} DROP COLUMN {self._quoted(column)}")

    def _analyze_working(self, table: str, *, replayed: bool = True) -> None:
        """Gather statistics of a working table, also in the replayable script if that creates it."""
        if self.capabilities.analyzes:
            self.run("analyze", f"ANALYZE {self._working_table(table)}")
            if replayed:
                self.replay.append(("analyze", lambda: analysis(exp.to_table(table, quoted=True))))

    @abstractmethod
    def _ingest(self, name: str, table: str, data: pa.Table, *, new: bool) -> None:
        """Write the rows of an Arrow table into a working table, which is created if ``new``."""

    @abstractmethod
    def _create_as(self, name: str, table: str, query: exp.Query | str) -> int:
        """Create a working table from a query and return its number of rows."""

    def _insert_from(self, name: str, table: str, query: exp.Query) -> None:
        """Write the rows of a query into a working table."""
        self.run(name, f"INSERT INTO {self._working_table(table)} {self.render(query)}")

    def _log(self, name: str, table: str, query: Callable[[], exp.Query], *, more: bool = False) -> None:
        """Let the replayable script create a working table from a query, or add ``more`` rows to it."""

        def statement() -> exp.Expr:
            if more:
                return exp.insert(query(), exp.to_table(table, quoted=True))
            return temporary_table(table, query())

        self.replay.append((name, statement))

    def _working_table(self, table: str) -> str:
        """Return the text of the reference to a working table."""
        return self.capabilities.temporary_schema + self._quoted(table)


@dataclass(frozen=True, slots=True)
class DatabaseCatalog(ABC):
    """What there is in the databases of an engine: relations, their columns, and what its session may read of them."""

    engine: Engine

    @abstractmethod
    def columns(self, relation: exp.Expr) -> list[tuple[str, str]]:
        """Return name and type of the columns of a relation, in order; types in DuckDB's words, which policies use."""

    @abstractmethod
    def source_table(self, name: str, catalog: str | None = None) -> exp.Table:
        """Return the reference to the relation ``name`` of the source; a schema may stand before the name.

        Args:
            catalog: the name under which another database is attached, if the relation is in that one.

        Raises:
            UnsupportedError: the engine does not read other databases.
        """

    @abstractmethod
    def existing(self, where: Place) -> str | None:
        """Return ``table``, ``view``, or the word for another kind of object of that name; None if there is none."""

    def view_text(self, where: Place) -> str:
        """Return the statement of a view, or its query, as the database keeps it; empty if there is no such view."""
        return ""

    def relations(self) -> list[str]:
        """Return the tables and views of the source that can be read, in order, as a policy names them."""
        return []

    def databases(self) -> list[tuple[str, str | None, bool]]:
        """Return name, file (None in memory) and whether it is only read, for each attached database."""
        return []

    def detaching(self) -> AbstractContextManager[None]:
        """Detach at the end the databases that were attached meanwhile."""
        return nullcontext()

    def unreadable(self, relation: exp.Expr) -> list[str]:
        """Return the columns of a relation that the engine knows its session has no right to read."""
        return []

    def hides_rows(self, relation: exp.Expr) -> bool:
        """Return True if row-level security hides rows: statements are refused then, until ``accept_visible_rows``."""
        return False

    def accept_visible_rows(self) -> None:
        """Read the rows that the session sees, where others are hidden from it."""
        return

    def differs_by_reader(self, where: Place) -> bool:
        """Return True if the engine knows that a relation shows other rows to other roles (row-level security)."""
        return False

    def unchanged(self) -> bool:
        """Return False if the engine knows that others wrote to the source since it was opened."""
        return True


@dataclass(frozen=True, slots=True)
class Targets(ABC):
    """Where the releases of an engine go, and who receives them there."""

    engine: Engine

    @abstractmethod
    def place(self, parts: Sequence[str], target_catalog: str | None) -> Place:
        """Return the full name of a target that is named by one to three parts.

        Args:
            target_catalog: the database that views and tables go to; None: the session's own.

        Raises:
            TargetError: the target names a database or schema that the engine cannot publish to.
        """

    def check_roles(self, where: Place, owner: str | None, readers: Sequence[str]) -> None:
        """Raise TargetError, before any work, if a role does not exist or the owner cannot be given the release."""
        return

    def make_schema(self, where: Place) -> None:
        """Create the schema of a place, unless it exists."""
        self.engine.run("create schema", exp.Create(this=where.schema_reference, kind="SCHEMA", exists=True))

    def create_view(self, where: Place, query: exp.Query) -> None:
        """Create a view."""
        self.engine.run("create view", exp.Create(this=where.table, kind="VIEW", expression=query))

    def analyze(self, relation: exp.Expr) -> None:
        """Gather statistics of a new table, if the planner has none otherwise."""
        if self.engine.capabilities.analyzes:
            self.engine.run("analyze", analysis(relation))

    def hand_over(self, view: Place, beneath: Sequence[Place], owner: str | None, readers: Sequence[str]) -> None:
        """Give a release to its owner, and let its readers read it and nothing beneath it.

        Args:
            beneath: relations that the release reads and that were created with it; they go to the owner too.
        """
        if owner is not None or readers:
            self.engine.capabilities.require("roles")

    def write_folder(self, name: str, query: exp.Query, folder: Path) -> exp.Expr:
        """Write the rows of a query as a folder of Parquet files and return the relation that reads them back."""
        raise UnsupportedError(
            f"{self.engine.capabilities.name} writes no folders.",
            hint="publish to a file: output: {file: release.parquet}.",
        )

    def read_folder(self, folder: Path) -> exp.Expr:
        """Return the relation that reads a folder which ``write_folder`` wrote earlier."""
        raise UnsupportedError(f"{self.engine.capabilities.name} reads no folders.", hint="read its files.")

    def file_type(self, type_name: str) -> str:
        """Return the type of a column in a file that an embedded DuckDB writes: text if DuckDB lacks the type."""
        return type_name

    def fetch_release(self, query: exp.Query, types: Mapping[str, str]) -> pa.Table:
        """Return the rows of a release, which an embedded DuckDB writes to a file.

        Args:
            types: the types of its columns, in order.

        Raises:
            UnsupportedError: a file cannot hold some of the values; names the columns and the cure, and never a value.
        """
        return self.engine.arrow("release", query)


def replayed(engine: Engine) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the names and statements of the replayable script, in order."""
    for name, item in engine.replay:
        yield name, item if isinstance(item, exp.Expr) else item()
