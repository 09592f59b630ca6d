"""Snapshots: grains kept as temporary tables, so that more general nodes are rolled up from fewer rows.

A snapshot's name depends on its node alone, never on a threshold, so it serves every k asked of the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon import names
from sqlanon.catalog import Catalog
from sqlanon.compiler.evaluate import roll_up
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.lattice import Node, leq

USES_BEFORE = 2
"""A floor must be asked for this often (requests) before its grain is tried as a snapshot,"""
READ_BEFORE = 150_000
"""and its requests must have read this many rows: about what trying costs."""
WORTH = 0.5
"""A new snapshot is kept when it has at most this share of the rows it was rolled up from."""


SMALL = 5_000
"""A grain of so few rows is not worth rolling up further: a statement costs more than it saves."""
NEVER = -(2**62)
"""Count of requests of a floor whose grain was tried and found too large."""


@dataclass(slots=True)
class Snapshot:
    """A materialised grain: its node, its table, its rows, and when it served last."""

    node: Node
    table: str
    rows: int
    used: int = 0


class SnapshotStore:
    """The snapshots of one plan; the base is always there, the others within a budget, least recently used first out.

    Args:
        row_budget: largest sum of rows of all snapshots but the base.
        table_budget: largest number of them.
    """

    def __init__(
        self, engine: DuckDBEngine, catalog: Catalog, *, row_budget: int | None = None, table_budget: int = 64
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self.base = Snapshot(catalog.bottom, names.BASE, catalog.base_rows)
        self._kept: dict[Node, Snapshot] = {}
        self._row_budget = 4 * catalog.base_rows if row_budget is None else row_budget
        self._table_budget = table_budget
        self._asked: dict[Node, int] = {}
        self._clock = 0
        self.materialised = 0

    def nearest(self, node: Node) -> Snapshot:
        """The smallest snapshot from which ``node`` can be rolled up."""
        best = self.base
        for snapshot in self._kept.values():
            if snapshot.rows < best.rows and leq(snapshot.node, node):
                best = snapshot
        return best

    def serve(self, floor: Node, uses: int) -> Snapshot:
        """The snapshot for ``uses`` requests at or above ``floor``; materialises one there when it pays."""
        source = self.nearest(floor)
        asked = self._asked.get(floor, 0) + uses
        self._asked[floor] = asked
        busy = asked >= USES_BEFORE and asked * source.rows >= READ_BEFORE
        if busy and source.rows > SMALL and floor != source.node:
            source = self._materialise(floor, source)
        self._clock += 1
        source.used = self._clock
        return source

    def _materialise(self, floor: Node, source: Snapshot) -> Snapshot:
        table = names.snapshot(floor)
        rows = self._engine.create(
            "snapshot", table, roll_up(source.table, self._catalog.grain_masks(floor), self._catalog.has_population)
        )
        if rows > WORTH * source.rows or rows > self._row_budget:
            self._engine.drop(table)
            self._asked[floor] = NEVER
            return source
        self._make_room(rows)
        snapshot = Snapshot(floor, table, rows)
        self._kept[floor] = snapshot
        self.materialised += 1
        return snapshot

    def _make_room(self, rows: int) -> None:
        held = sum(snapshot.rows for snapshot in self._kept.values())
        for victim in sorted(self._kept.values(), key=lambda snapshot: snapshot.used):
            if held + rows <= self._row_budget and len(self._kept) < self._table_budget:
                return
            self._engine.drop(victim.table)
            del self._kept[victim.node]
            held -= victim.rows
