"""The system of a table of counts made elsewhere: its sums, and what each cell may be among all whole numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.core.highs import highs_module
from sqlanon.counts.facts import Floats
from sqlanon.counts.foreign import ForeignPlace
from sqlanon.counts.foreign_cells import HIDDEN, Bounds
from sqlanon.counts.written import CellAudit, Place

NEAR = 1e-6
MOST_SECONDS = 5.0
"""How long one question in whole numbers may take."""


@dataclass(frozen=True, slots=True)
class SumRelation:
    """A category of a dimension as the sum of others, the other dimensions fixed."""

    dimension: int
    parent: ForeignPlace
    children: tuple[ForeignPlace, ...]


class ForeignAudit(CellAudit):
    """The audit of cells with bounds, in whole numbers."""

    def __init__(
        self, relations: Sequence[SumRelation], bounds: Mapping[ForeignPlace, Bounds], deadline: float
    ) -> None:
        self._of, self._deadline, self.undecided = bounds, deadline, 0
        self._place: dict[ForeignPlace, Place] = {}
        parts: dict[Place, list[tuple[list[Place], bool]]] = {}
        known: dict[Place, Bounds] = {}
        rows: dict[Place, list[SumRelation]] = {}
        for number, each in enumerate(relations):  # what is shown of a sum is one number
            cells = [self._at(cell, known) for cell in (each.parent, *each.children)]
            shown = [bounds[cell][0] for cell, at in zip(each.children, cells[1:], strict=True) if at is None]
            inside = [at for at in cells[1:] if at is not None]
            whole, rest = cells[0], (-1 - number,)
            if whole is None:
                whole, known[rest] = rest, (bounds[each.parent][0] - sum(shown),) * 2
            elif shown:
                known[rest] = (sum(shown),) * 2
                inside.append(rest)
            parts.setdefault(whole, []).append((inside, True))
            rows.setdefault(whole, []).append(each)
        self.relations = [each for own in rows.values() for each in own]
        super().__init__(parts, dict.fromkeys(known), ranges=known)
        self._module = highs_module("The audit of suppressed cells")
        self._solver = self._program(self._module)
        self._moves: Any = None

    def _at(self, cell: ForeignPlace, known: dict[Place, Bounds]) -> Place | None:
        """Return the unknown of a cell; None of one whose value is shown."""
        low, high = self._of.get(cell, HIDDEN)
        if low == high:
            return None
        place = self._place.setdefault(cell, (len(self._place),))
        known[place] = (low, high)
        return place

    def broken(self) -> list[SumRelation]:
        """Return the relations that would have to give way for any table to agree with what is shown."""
        elastic, endless = self._program(self._module), self._module.kHighsInf
        for row in range(len(self.relations)):
            for sign in (1.0, -1.0):
                elastic.addCol(1.0, 0.0, endless, 1, np.array([row], np.int32), np.array([sign]))
        elastic.run()
        slacks = np.array(elastic.getSolution().col_value)[len(self._number) :].reshape(-1, 2).sum(axis=1)
        return [self.relations[row] for row in np.flatnonzero(slacks > 1e-4).tolist()]

    def range_of(self, cell: ForeignPlace) -> tuple[Bounds, list[SumRelation]]:
        """Return the least and greatest whole number of a cell, and the relations that bound it.

        Raises:
            TimeoutError: the time is over.
        """
        if cell not in self._place:
            return self._of.get(cell, HIDDEN), []
        ends, used, number = [], set(), self._number[self._place[cell]]
        for sense, inward in (
            (self._module.ObjSense.kMinimize, math.ceil),
            (self._module.ObjSense.kMaximize, math.floor),
        ):
            if time.monotonic() > self._deadline:
                raise TimeoutError
            end = self._end(self._place[cell], sense)
            solved = self._solver.getSolution()
            used |= {*np.flatnonzero(np.abs(np.array(solved.row_dual)) > NEAR).tolist()}
            values = np.array(solved.col_value)
            if math.isfinite(end):
                end = inward(end - 1e-4 if inward is math.ceil else end + 1e-4)
                is_whole = np.abs(values - np.rint(values)).max() < NEAR
                try:
                    if not (is_whole and abs(values[number] - end) < NEAR) and not self._reaches(number, end):
                        end = float(self._whole_values(number, sense)[number])
                except TimeoutError:
                    self.undecided += 1
            ends.append(end)
        self._solver.changeColCost(number, 0.0)
        return (ends[0], ends[1]), [self.relations[row] for row in sorted(used)]

    def _reaches(self, number: int, value: float) -> bool:
        """Return whether some table of whole numbers, near one that was found first, has a value in a cell."""
        if self._moves is None:
            self._first = self._whole_values()
            self._moves = self._program(self._module)
            for column_, (low, high) in enumerate(self._ranges[at] for at in self._number):
                self._moves.changeColBounds(column_, 0.0, high - self._first[column_])
                self._moves.changeColCost(column_, 1.0)
                _, rows, factors = self._moves.getColEntries(column_)
                self._moves.addCol(1.0, 0.0, self._first[column_] - low, len(rows), rows, -np.array(factors))
        away, size = value - self._first[number], len(self._number)
        own = np.array([number, size + number], np.int32)
        low, high = [*self._ranges.values()][number]
        before = np.array([high - self._first[number], self._first[number] - low])
        there = np.array([max(away, 0.0), max(-away, 0.0)])
        self._moves.changeColsBounds(2, own, there, there)
        self._moves.run()
        values = np.array(self._moves.getSolution().col_value)
        is_found = self._moves.getModelStatus() == self._module.HighsModelStatus.kOptimal
        self._moves.changeColsBounds(2, own, np.zeros(2), before)
        return is_found and bool(np.abs(values - np.rint(values)).max() < NEAR)

    def _whole_values(self, number: int | None = None, sense: Any = None) -> Floats:
        """Return a table of whole numbers that agrees with what is shown; with the least or greatest value in a cell.

        Raises:
            TimeoutError: none was found in the time.
        """
        solver, size = self._program(self._module), len(self._number)
        solver.changeColsIntegrality(
            size, np.arange(size, dtype=np.int32), np.full(size, self._module.HighsVarType.kInteger)
        )
        solver.setOptionValue("time_limit", max(0.1, min(MOST_SECONDS, self._deadline - time.monotonic())))
        if number is not None:
            solver.changeColCost(number, 1.0)
            solver.changeObjectiveSense(sense)
        solver.run()
        if solver.getModelStatus() != self._module.HighsModelStatus.kOptimal:
            raise TimeoutError
        values: Floats = np.rint(np.array(solver.getSolution().col_value))
        return values

    def why(self, cell: ForeignPlace, used: Sequence[SumRelation], value: float) -> list[SumRelation]:
        """Return relations that alone give the value of a cell, none of which can be spared; none if it takes more."""

        def gives(some: Sequence[SumRelation]) -> bool:
            return ForeignAudit(some, self._of, self._deadline).range_of(cell)[0] == (value, value)

        kept = list(used)
        if len(kept) > 40 or not gives(kept):
            return []
        for each in used:
            fewer = [other for other in kept if other != each]
            kept = fewer if fewer and gives(fewer) else kept
        return kept
