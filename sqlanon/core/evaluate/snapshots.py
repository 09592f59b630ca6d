"""Snapshots: grains kept as tables of their own, so that more general nodes are rolled up from fewer rows.

A snapshot's name depends on its node alone, never on a threshold, so it serves every k of the same plan.

When to create one: every floor that requests name collects credit, the rows that were read for nodes at or above it. A
floor is tried when its credit times the share of rows that its grain is expected to save outweighs what trying costs,
and when all trials together stay within a tenth of the rows read so far: so they never cost more than that, however bad
the guess. How much a grain shrinks is learnt from the trials: the logarithm of the share that is left, per unit of
the logarithm by which the attributes have fewer values. When to drop one: the least recently used first, when rows or
tables exceed their budget, and all of them with the plan.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.core.compiler.batch import roll_up
from sqlanon.core.engines.base import SNAPSHOT, Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node, leq
from sqlanon.core.sqltrees import names

SHARE = 0.1
"""Trials may cost this share of the rows read so far."""
SETUP_ROWS = 100_000
"""The fixed price of a trial, in rows (measured: about 2 ms, at 20 ns a row)."""
PASSES = 2
"""The price of reading and writing the rows of a trial, in readings of the source's rows."""
WORTH = 0.6
"""A snapshot is expected, and kept, to have at most this share of the rows that it was rolled up from."""
SMALL = 60_000
"""A grain of so few rows is not rolled up further: planning statements costs more than it saves."""
CANDIDATES = 64
"""Floors that collect credit at a time; the one with the least makes room."""
SHRINKAGE = 0.3
"""The assumed shrinkage of the first grain: the logarithm of its share, per unit of the attributes' own."""


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
        self._row_budget = 4 * catalog.base_rows if row_budget is None else row_budget
        self._table_budget = table_budget
        self._credit: dict[Node, int] = {}
        self._refused: set[Node] = set()
        self._shrinkage, self._observed = SHRINKAGE, 1
        self._read = self._spent = 0
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
        """Drop all snapshots but the base."""
        for snapshot in self._kept.values():
            self._engine.drop(snapshot.table)
        self._kept.clear()

    def prepare(self, floors: Sequence[Node]) -> None:
        """Account for requests at or above these floors, and materialise the most promising one, if any."""
        if self._table_budget == 0 or self.base.rows <= SMALL:
            return
        for floor, requests in Counter(floors).items():
            rows = requests * self.nearest(floor).rows
            self._read += rows
            for candidate in self._credit:
                if leq(candidate, floor):
                    self._credit[candidate] += rows
            if floor not in self._credit and floor not in self._kept and floor not in self._refused:
                if len(self._credit) >= CANDIDATES:
                    self._credit.pop(min(self._credit, key=lambda node: self._credit[node]))
                self._credit[floor] = rows
        self._try()

    def _try(self) -> None:
        """Materialise the candidate that is expected to have saved the most, if it is worth its price."""
        best: tuple[float, Node, Snapshot] | None = None
        for candidate, credit in self._credit.items():
            source = self.nearest(candidate)
            share = math.exp(-self._shrinkage / self._observed * self._fewer(source.node, candidate))
            saved = credit * (1.0 - share)
            if source.rows <= SMALL or share > WORTH or saved <= _price(source):
                continue
            if best is None or saved > best[0]:
                best = (saved, candidate, source)
        if best is not None and self._spent + _price(best[2]) <= SHARE * self._read:
            self._materialise(best[1], best[2])

    def _fewer(self, lower: Node, upper: Node) -> float:
        """Return the logarithm by which the attributes have fewer values, summed."""
        return sum(
            math.log(max(a.widths[low], 1) / max(a.widths[high], 1))
            for a, low, high in zip(self._catalog.attributes, lower, upper, strict=True)
        )

    def _materialise(self, floor: Node, source: Snapshot) -> Snapshot | None:
        """Create the grain at ``floor``, and keep it when it is small enough."""
        self._credit.pop(floor, None)
        self._spent += _price(source)
        table = names.snapshot(floor)
        catalog = self._catalog
        query = roll_up(source.table, catalog.grain_masks(floor), catalog.has_population, catalog.has_entity)
        rows = self._engine.create(SNAPSHOT, table, query)
        fewer = self._fewer(source.node, floor)
        if fewer > 0:
            self._shrinkage += math.log(source.rows / max(rows, 1)) / fewer
            self._observed += 1
        if rows > WORTH * source.rows or rows > self._row_budget:
            self._engine.drop(table)
            self._refused.add(floor)
            return None
        self._make_room(rows)
        snapshot = Snapshot(floor, table, rows, self._clock)
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


def _price(source: Snapshot) -> int:
    return PASSES * source.rows + SETUP_ROWS
