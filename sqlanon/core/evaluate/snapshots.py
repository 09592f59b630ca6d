"""Snapshots: grains kept as tables of their own, so that more general nodes are rolled up from fewer rows.

A snapshot's name depends on its node alone, never on a threshold, so it serves every k of the same plan.

When to create one: before a batch of nodes is judged. The nodes that would be judged from many rows, and the greatest
nodes below two or all of them, are candidates. How many rows the grain of a candidate has is estimated from a sample of
the base; it is created where that saves more than it costs. Nodes judged of late count like those of the batch, because
a search asks next for nodes near them. A sample decides what is created, never what is counted. When to drop one: the
least recently used first, when rows or tables exceed their budget, and all of them with the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlanon.core.compiler.batch import roll_up, sample, sampled_grains
from sqlanon.core.engines.base import SNAPSHOT, Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node, leq
from sqlanon.core.sqltrees import names

SETUP_ROWS = 100_000
"""The fixed price of a trial, in rows (measured: about 2 ms, at 20 ns a row)."""
KEPT_PRICE = 3
"""The price of a row that is kept, in rows that are read (measured: 20 ns to read one, 60 to 100 to make a group)."""
WORTH = 0.6
"""A snapshot is expected, and kept, to have at most this share of the rows that it was rolled up from."""
SMALL = 60_000
"""A grain of so few rows is not rolled up further: planning statements costs more than it saves."""
SAMPLE_ROWS = 32_768
"""About so many rows of the base are sampled."""
LEAST_WORK = 20 * SAMPLE_ROWS
"""Batches that read at most so many rows are judged as they are: estimates cost more than they save."""
RECENT = 16
"""So many nodes count when the worth of a snapshot is estimated: those of the batch, and those asked for before it."""
AGAIN = 1.5
"""What a snapshot saves for these nodes, times this, is expected in all: a search goes on near them."""
PAIRED = 5
"""Of the nodes of a batch so many are paired to find candidates, and so many snapshots are created for them."""
MOST_ESTIMATES = 10_000
"""Nodes whose estimates are remembered."""


@dataclass(slots=True)
class Snapshot:
    """A materialised grain: its node, its table, its rows, and when it served last."""

    node: Node
    table: str
    rows: int
    used: int = 0

    @property
    def title(self) -> str:
        """Its name in reports."""
        return "base" if self.table == names.BASE else "snapshot " + ",".join(map(str, self.node))


class SnapshotStore:
    """The snapshots of one plan; the base is always there, the others within a budget.

    Args:
        row_budget: largest sum of rows of all snapshots but the base.
        table_budget: largest number of them; 0 for none.
    """

    def __init__(
        self, engine: Engine, catalog: Catalog, *, row_budget: int | None = None, table_budget: int = 64
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self.base = Snapshot(catalog.bottom, names.BASE, catalog.base_rows)
        self._kept: dict[Node, Snapshot] = {}
        self._row_budget = catalog.base_rows if row_budget is None else row_budget
        self._table_budget = table_budget
        self._recent: list[Node] = []
        self._estimates: dict[Node, float] = {}
        self._refused: set[Node] = set()
        self._sampled = False
        self._clock = 0
        self.materialised = 0

    def nearest(self, node: Node) -> Snapshot:
        """Return the smallest snapshot from which ``node`` can be rolled up."""
        best = self.base
        for snapshot in self._kept.values():
            if snapshot.rows < best.rows and leq(snapshot.node, node):
                best = snapshot
        self._clock += 1
        best.used = self._clock
        return best

    def clear(self) -> None:
        """Drop all snapshots but the base, and the sample."""
        for snapshot in self._kept.values():
            self._engine.drop(snapshot.table)
        self._kept.clear()
        if self._sampled:
            self._engine.drop(names.BASE_SAMPLE)
            self._sampled = False

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Create the snapshots that are worth it for nodes that are about to be judged."""
        if self._table_budget == 0 or self.base.rows <= SMALL:
            return
        self._recent = [*self._recent, *nodes][-max(RECENT, len(nodes)) :]
        for _ in range(PAIRED):
            if sum(self.nearest(node).rows for node in nodes) <= LEAST_WORK or (best := self._best(nodes)) is None:
                return
            self._materialise(best, self.nearest(best))

    def _best(self, nodes: Sequence[Node]) -> Node | None:
        """Return the node whose grain is expected to save the most, if it is worth its price."""
        large = [node for node in nodes if self.nearest(node).rows > SMALL]
        if not large:
            return None
        candidates = {*large[:PAIRED], _meet(large), *map(_meet, combinations(large[:PAIRED], 2))}
        candidates -= self._refused | self._kept.keys()
        self._estimate(candidates)
        best, most = None, 0.0
        for candidate in sorted(candidates):
            rows, source = self._estimates[candidate], self.nearest(candidate)
            if source.rows <= SMALL or rows > WORTH * source.rows:
                continue
            served = [self.nearest(node).rows for node in self._recent if leq(candidate, node)]
            saved = AGAIN * sum(max(own - rows, 0.0) for own in served) - source.rows - KEPT_PRICE * rows - SETUP_ROWS
            if saved > most:
                best, most = candidate, saved
        return best

    def _estimate(self, candidates: Collection[Node]) -> None:
        """Estimate the rows of some grains from those of the sample.

        What a sample of m rows shows grows with m by the power f/d, where f of its d groups have one row (the next row
        makes a new one with a chance of about f/m). The power falls as the sample grows, so this is rather too much.
        """
        if len(self._estimates) > MOST_ESTIMATES:
            self._estimates.clear()
        unknown = sorted(set(candidates) - self._estimates.keys())
        if not unknown:
            return
        catalog = self._catalog
        if not self._sampled:
            step = -(-self.base.rows // SAMPLE_ROWS)
            self._engine.create(SNAPSHOT, names.BASE_SAMPLE, sample(catalog.words, step, catalog.has_entity))
            self._sampled = True
        query = sampled_grains([catalog.grain_masks(node) for node in unknown], catalog.has_entity)
        for place, rows, groups, single in self._engine.run("estimate", query):
            all_rows = self.base.rows
            self._estimates[unknown[place]] = groups * (all_rows / rows) ** (single / groups) if rows else all_rows

    def _materialise(self, node: Node, source: Snapshot) -> Snapshot | None:
        """Create the grain of a node, and keep it when it is small enough."""
        table = names.snapshot(node)
        catalog = self._catalog
        query = roll_up(source.table, catalog.grain_masks(node), catalog.has_population, catalog.has_entity)
        rows = self._engine.create(SNAPSHOT, table, query)
        if rows > WORTH * source.rows or rows > self._row_budget:
            self._engine.drop(table)
            self._refused.add(node)
            return None
        self._make_room(rows)
        snapshot = Snapshot(node, table, rows, self._clock)
        self._kept[node] = snapshot
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


def _meet(nodes: Sequence[Node]) -> Node:
    """Return the greatest node below some nodes."""
    return tuple(map(min, zip(*nodes, strict=True)))
