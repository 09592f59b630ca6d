"""The system of a table of counts made elsewhere: its sums, and what each cell may be among all whole numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sqlanon.counts.facts import Flags, Floats, SparseRows
from sqlanon.counts.foreign import ForeignPlace
from sqlanon.counts.foreign_cells import HIDDEN, Bounds
from sqlanon.counts.programs import end_of, program, solved

NEAR = 1e-6
WANTS = "The audit of suppressed cells"
MOST_SECONDS, FIRST_SECONDS = 5.0, 30.0
"""How long one question in whole numbers may take, and the first of them."""
FEW, GAIN = 3, 0.01
"""Tables of many ends are looked for until so many showed less than this share of those that are open."""
MOST_ROUNDS, MOST_TRIED = 100, 40
"""How often all relations narrow each other, and of how many why a cell is exact is told, at most."""


@dataclass(frozen=True, slots=True)
class SumRelation:
    """A category of a dimension as the sum of others, the other dimensions fixed."""

    dimension: int
    parent: ForeignPlace
    children: tuple[ForeignPlace, ...]


class ForeignAudit:
    """What each cell may be among all tables of whole numbers that keep relations, and agree with what is shown.

    The unknowns are the cells that are not shown exactly, in their bounds. Single relations narrow them first, one by
    the bounds of the others; and every table of whole numbers that is found says of all cells what is possible. A
    program is solved for an end that both leave open.
    """

    def __init__(
        self, relations: Sequence[SumRelation], bounds: Mapping[ForeignPlace, Bounds], deadline: float
    ) -> None:
        self.relations, self._of, self._deadline, self.undecided = relations, bounds, deadline, 0
        self._number: dict[ForeignPlace, int] = {}
        self._rows = SparseRows.of(map(self._row, relations))
        ends = [bounds.get(cell, HIDDEN) for cell in self._number]
        self._shown = np.array(ends, np.float64).reshape(-1, 2).T
        self._ends = self._narrowed()
        self._seen = np.stack([np.full(len(ends), np.inf), np.full(len(ends), -np.inf)])
        self._linear: Any = None
        self._declared: Any = None
        self._moves: dict[bool, Any] = {}

    def _row(self, relation: SumRelation) -> tuple[list[int], list[float], float, float]:
        """Return a relation of unknowns, the sum of what is shown taken to the other side."""
        columns, factors, known = [], [], 0.0
        for cell, factor in ((relation.parent, -1.0), *((child, 1.0) for child in relation.children)):
            low, high = self._of.get(cell, HIDDEN)
            if low == high:
                known += factor * low
            else:
                columns.append(self._number.setdefault(cell, len(self._number)))
                factors.append(factor)
        return columns, factors, -known, -known

    def _narrowed(self) -> Floats:
        """Return the least and greatest value of each unknown by single relations."""
        rows, ends = self._rows, self._shown
        cells, adds, sums = rows.columns, rows.factors > 0, rows.lower[rows.of_entries]
        for _ in range(MOST_ROUNDS):
            low, high = ends[:, cells]
            # what an entry is: the rest of its row, taken from the sum
            rest = [_without_own(np.where(adds, *pair), rows) for pair in ((low, -high), (high, -low))]
            least = np.where(adds, sums - rest[1], rest[0] - sums)
            most = np.where(adds, sums - rest[0], rest[1] - sums)
            found = ends.copy()
            np.maximum.at(found[0], cells, least)
            np.minimum.at(found[1], cells, most)
            if (found[0] > found[1]).any():
                return self._shown  # contradictory relations are told by ``broken``
            if (found == ends).all():
                break
            ends = found
        return ends

    def broken(self) -> list[SumRelation]:
        """Return the relations that would have to give way for any table to agree with what is shown."""
        elastic = program(WANTS, self._rows, *self._shown)
        for row in range(len(self.relations)):
            for sign in (1.0, -1.0):
                elastic.addCol(1.0, 0.0, np.inf, 1, np.array([row], np.int32), np.array([sign]))
        elastic.run()
        slacks = np.array(elastic.getSolution().col_value)[len(self._number) :].reshape(-1, 2).sum(axis=1)
        return [self.relations[row] for row in np.flatnonzero(slacks > 1e-4).tolist()]

    def range_of(self, cell: ForeignPlace) -> Bounds:
        """Return the least and greatest whole number of a cell.

        Raises:
            TimeoutError: the time is over.
        """
        if cell not in self._number:
            return self._of.get(cell, HIDDEN)
        number = self._number[cell]
        for end in (0, 1):
            if self._seen[end, number] != self._ends[end, number] and self._ends[0, number] < self._ends[1, number]:
                self._solve(number, end)
        return float(self._ends[0, number]), float(self._ends[1, number])

    def _solve(self, number: int, end: int) -> None:
        """Find the least (0) or greatest (1) value of an unknown."""
        self._check_time()
        if self._reaches(number, self._ends[end, number]) or self._bound(number, end):
            return
        while not self._reaches(number, self._ends[end, number]):
            is_found = self._reaches(number, self._ends[end, number], whole=True)
            if is_found is None:
                self.undecided += 1
            if is_found is not False:
                return
            self._ends[end, number] += (1, -1)[end]

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError

    def _bound(self, number: int, end: int) -> bool:
        """Narrow an unknown by all relations together; return whether its end is settled."""
        self._check_time()
        sign, inward = ((1.0, math.ceil), (-1.0, math.floor))[end]
        if self._linear is None:
            self._linear = program(WANTS, self._rows, *self._ends)
        is_known, solution = end_of(self._linear, number, sign)
        if not is_known and (end == 0 or is_known is None):
            raise TimeoutError
        if not is_known:
            return True  # it has no end
        values = np.array(solution.col_value)
        self._ends[end, number] = inward(values[number] - sign * 1e-4)
        return self._learn(values)

    def _learn(self, values: Floats) -> bool:
        """Take from a table what is possible of each unknown; return whether it has whole numbers."""
        if len(values) < len(self._number) or np.abs(values - np.rint(values)).max(initial=0.0) >= NEAR:
            return False
        values = np.rint(values)
        is_within = (self._ends[0] <= values) & (values <= self._ends[1])
        if not is_within.all() or (self._rows.times(values) != self._rows.lower).any():
            return False
        self._seen[0], self._seen[1] = np.minimum(self._seen[0], values), np.maximum(self._seen[1], values)
        return True

    def _reaches(self, number: int, value: float, *, whole: bool = False) -> bool | None:
        """Return whether some table of whole numbers, near one that was found first, has a value in a cell.

        Args:
            whole: it is looked for among whole numbers, and None says that this takes too long; else False may say that
                a program has no whole solution.
        """
        if not math.isfinite(value):
            return False
        first = self._first
        if not len(first):
            return None if whole else False
        if whole not in self._moves:
            self._room = np.concatenate([self._ends[1] - first, first - self._ends[0]])
            ones = np.ones(len(self._room))
            self._moves[whole] = program(WANTS, self._rows.beside(first), 0 * ones, self._room, ones, whole=whole)
        solver, own = self._moves[whole], np.array([number, len(first) + number], np.int32)
        there = np.maximum([value - first[number], first[number] - value], 0.0)
        solver.changeColsBounds(2, own, there, there)
        if whole:
            solver.setOptionValue("mip_rel_gap", np.inf)
        is_found = solved(solver, self._left(MOST_SECONDS) if whole else None)
        moves = np.array(solver.getSolution().col_value)
        solver.changeColsBounds(2, own, np.zeros(2), self._room[own])
        if is_found:
            return self._learn(first + moves[: len(first)] - moves[len(first) :]) or (None if whole else False)
        return is_found if whole else False

    def _left(self, most: float) -> float:
        return max(0.1, min(most, self._deadline - time.monotonic()))

    @cached_property
    def _first(self) -> Floats:
        """A table of whole numbers that agrees with what is shown; an empty one if none is found in the time."""
        solver = program(WANTS, self._rows, *self._ends, whole=True)
        solved(solver, self._left(FIRST_SECONDS))
        values: Floats = np.rint(np.array(solver.getSolution().col_value))
        return values if len(values) and self._learn(values) else np.empty(0)

    def scatter(self) -> None:
        """Find tables of whole numbers that show the ends of many unknowns at once, and narrow what they leave open."""
        if not self._number or not len(self._first):
            return
        solver, draw = program(WANTS, self._rows, *self._ends, whole=True), np.random.default_rng(0)
        try:
            self._scatter(solver, draw, gap=np.inf)
            for end, number in np.argwhere(self._open).tolist():
                if self._open[end, number]:
                    self._bound(number, end)
            self._scatter(solver, draw, gap=np.inf)
            self._scatter(solver, draw, gap=0.02)
        except TimeoutError:
            return

    @property
    def _open(self) -> Flags:
        """Whether no table shows each end that is known to be one at most."""
        found: Flags = (self._seen != self._ends) & np.isfinite(self._ends)
        return found

    def _scatter(self, solver: Any, draw: np.random.Generator, gap: float) -> None:
        size, few = len(self._number), 0
        solver.setOptionValue("mip_rel_gap", gap)
        while few < FEW and self._open.any() and time.monotonic() < self._deadline:
            least, most = self._open
            before = least.sum() + most.sum()
            ways = np.where(least & most, draw.choice([-1.0, 1.0], size), 1.0 * least - most)
            solver.changeColsCost(size, np.arange(size, dtype=np.int32), ways * draw.random(size))
            solved(solver, self._left(MOST_SECONDS))
            self._learn(np.array(solver.getSolution().col_value))
            few = few + 1 if before - self._open.sum() <= before * GAIN else 0

    def why(self, cell: ForeignPlace) -> list[SumRelation]:
        """Return relations that alone give the value of an exact cell, none of which can be spared; none if it takes
        more than are tried."""
        value = self.range_of(cell)

        def gives(some: Sequence[SumRelation]) -> bool:
            if not 0 < len(some) <= MOST_TRIED:
                return False
            try:
                return ForeignAudit(some, self._of, self._deadline).range_of(cell) == value
            except TimeoutError:
                return False

        used = kept = [self.relations[row] for row in sorted(self._binding(self._number[cell]))]
        if not gives(kept):
            return []
        for each in used:
            fewer = [other for other in kept if other != each]
            kept = fewer if gives(fewer) else kept
        return kept

    def _binding(self, number: int) -> set[int]:
        """Return the rows with multipliers, of programs of the least and the greatest value of an unknown."""
        if self._declared is None:
            self._declared = program(WANTS, self._rows, *self._shown)
        duals = [np.array(end_of(self._declared, number, sign)[1].row_dual) for sign in (1.0, -1.0)]
        return {row for own in duals for row in np.flatnonzero(np.abs(own) > NEAR).tolist()}


def _without_own(values: Floats, rows: SparseRows) -> Floats:
    """Return of each entry the sum of the other entries of its row; those without an end make it endless."""
    endless, of_entries = np.isinf(values), rows.of_entries
    finite = np.where(endless, 0.0, values)
    others = rows.summed(endless)[of_entries] > endless
    rest: Floats = rows.summed(finite)[of_entries] - finite
    rest[others] = np.copysign(np.inf, values[endless][:1])
    return rest
