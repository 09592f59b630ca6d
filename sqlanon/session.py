"""A session: an encoded source with its snapshots, which a plan and its offspring share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sqlanon.encoding import Encoding
from sqlanon.engines.base import Engine
from sqlanon.snapshots import SnapshotStore
from sqlanon.sources import Source


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
    """An encoded source, closed with the first plan of those that share it (``with_privacy``)."""

    source: Source
    encoding: Encoding
    snapshots: SnapshotStore
    closed: bool = False

    @property
    def engine(self) -> Engine:
        """Where everything runs."""
        return self.source.engine

    def close(self) -> None:
        """Drop every temporary table and close the connection."""
        if not self.closed:
            self.closed = True
            self.source.engine.close()
