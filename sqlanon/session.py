"""A session: an encoded source with its snapshots, which a plan and its offspring share."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.encoding import Encoding
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.snapshots import SnapshotStore
from sqlanon.sources import Source


@dataclass(slots=True)
class Session:
    """An encoded source, closed with the first plan of those that share it (``with_privacy``)."""

    source: Source
    encoding: Encoding
    snapshots: SnapshotStore
    closed: bool = False

    @property
    def engine(self) -> DuckDBEngine:
        """Where everything runs."""
        return self.source.engine

    def close(self) -> None:
        """Drop every temporary table and close the connection."""
        if not self.closed:
            self.closed = True
            self.source.engine.close()
