"""A session: an encoded source with its snapshots, which a plan and its offspring share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sqlanon.engines.base import Engine
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.evaluate.snapshots import SnapshotStore
from sqlanon.evaluate.transfer import Transferred, transfer
from sqlanon.policy import EngineOptions
from sqlanon.source.encoding import Encoding
from sqlanon.source.opening import Source


class Closing(ABC):
    """A context manager that closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Drop every temporary table and close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(slots=True)
class Session:
    """An encoded source, closed with the first plan of those that share it (``with_privacy``).

    Attributes:
        judging: the engine that judges nodes: the source's own, or an embedded one.
        carried: what was carried to it, when it is another.
    """

    source: Source
    encoding: Encoding
    snapshots: SnapshotStore
    judging: Engine
    carried: tuple[Transferred, ...] = ()
    closed: bool = False

    @classmethod
    def begun(cls, source: Source, encoding: Encoding, options: EngineOptions, where: str) -> Session:
        """A session whose nodes are judged where the policy says (``search.where``).

        ``auto`` stays with an engine that judges nodes side by side, and otherwise takes an embedded DuckDB, to which
        codes and counts are carried, no record and no text.
        """
        engine = source.engine
        if isinstance(engine, DuckDBEngine) or where == "engine" or (where == "auto" and engine.has("side_by_side")):
            return cls(source, encoding, SnapshotStore(engine, encoding.catalog), engine)
        embedded = DuckDBEngine(settings=options.embedded)
        try:
            carried = transfer(engine, embedded, encoding.catalog)
            return cls(source, encoding, SnapshotStore(embedded, encoding.catalog), embedded, carried)
        except BaseException:
            embedded.close()
            raise

    @property
    def engine(self) -> Engine:
        """Where the source is: it was encoded there, and is published from there."""
        return self.source.engine

    @property
    def statements(self) -> int:
        """Number of SQL statements so far, in either engine."""
        return sum(engine.journal.statements for engine in {id(e): e for e in (self.engine, self.judging)}.values())

    def close(self) -> None:
        """Drop every temporary table and close the connections."""
        if not self.closed:
            self.closed = True
            try:
                self.judging.close()
            finally:
                self.source.engine.close()
