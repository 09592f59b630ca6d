"""The system of a table of counts made elsewhere: its sums, and what each cell may be among all whole numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.counts.facts import Floats, SparseRows
from sqlanon.counts.foreign import ForeignPlace
from sqlanon.counts.foreign_cells import HIDDEN, Bounds
from sqlanon.counts.programs import has_best, program

NEAR = 1e-6
WANTS = "The audit of suppressed cells"
MOST_SECONDS = 5.0
"""How long one question in whole numbers may take."""


@dataclass(frozen=True, slots=True)
class SumRelation:
    """A category of a dimension as the sum of others, the other dimensions fixed."""

    dimension: int
    parent: ForeignPlace
    children: tuple[ForeignPlace, ...]


class ForeignAudit:
    """What each cell may be among all tables of whole numbers that keep relations, and agree with what is shown.

    The unknowns are the cells that are not shown exactly, in their bounds.
    """

    def __init__(
        self, relations: Sequence[SumRelation], bounds: Mapping[ForeignPlace, Bounds], deadline: float
    ) -> None:
        self.relations, self._of, self._deadline, self.undecided = relations, bounds, deadline, 0
        self._number: dict[ForeignPlace, int] = {}
        self._rows = SparseRows.of(map(self._row, relations))
        ends = [bounds.get(cell, HIDDEN) for cell in self._number]
        self._low, self._high = np.array(ends, np.float64).reshape(-1, 2).T
        self._linear = program(WANTS, self._rows, self._low, self._high)
        self._moves: Any = None

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

    def broken(self) -> list[SumRelation]:
        """Return the relations that would have to give way for any table to agree with what is shown."""
        elastic = program(WANTS, self._rows, self._low, self._high)
        for row in range(len(self.relations)):
            for sign in (1.0, -1.0):
                elastic.addCol(1.0, 0.0, np.inf, 1, np.array([row], np.int32), np.array([sign]))
        elastic.run()
        slacks = np.array(elastic.getSolution().col_value)[len(self._number) :].reshape(-1, 2).sum(axis=1)
        return [self.relations[row] for row in np.flatnonzero(slacks > 1e-4).tolist()]

    def range_of(self, cell: ForeignPlace) -> tuple[Bounds, list[SumRelation]]:
        """Return the least and greatest whole number of a cell, and the relations that bound it.

        Raises:
            TimeoutError: the time is over.
        """
        if cell not in self._number:
            return self._of.get(cell, HIDDEN), []
        ends, used, number = [], set(), self._number[cell]
        for sign, inward in ((1.0, math.ceil), (-1.0, math.floor)):
            if time.monotonic() > self._deadline:
                raise TimeoutError
            self._linear.changeColCost(number, sign)
            self._linear.run()
            is_known = has_best(self._linear)
            if not is_known and (sign > 0 or is_known is None):
                raise TimeoutError
            solved = self._linear.getSolution()
            used |= {*np.flatnonzero(np.abs(np.array(solved.row_dual)) > NEAR).tolist()}
            values = np.array(solved.col_value)
            end: float = inward(values[number] - sign * 1e-4) if is_known else math.inf
            try:
                if is_known and not _is_whole(values) and not self._reaches(number, end):
                    end = float(self._whole_values(number, sign)[number])
            except TimeoutError:
                self.undecided += 1
            ends.append(end)
        self._linear.changeColCost(number, 0.0)
        return (ends[0], ends[1]), [self.relations[row] for row in sorted(used)]

    def _reaches(self, number: int, value: float) -> bool:
        """Return whether some table of whole numbers, near one that was found first, has a value in a cell."""
        if self._moves is None:
            self._first = self._whole_values()
            self._room = np.concatenate([self._high - self._first, self._first - self._low])
            ones = np.ones(len(self._room))
            self._moves = program(WANTS, self._rows.beside(self._first), 0 * ones, self._room, ones)
        own = np.array([number, len(self._first) + number], np.int32)
        there = np.maximum([value - self._first[number], self._first[number] - value], 0.0)
        self._moves.changeColsBounds(2, own, there, there)
        self._moves.run()
        values = np.array(self._moves.getSolution().col_value)
        is_found = has_best(self._moves)
        self._moves.changeColsBounds(2, own, np.zeros(2), self._room[own])
        return bool(is_found) and _is_whole(values)

    def _whole_values(self, number: int = 0, sign: float = 0.0) -> Floats:
        """Return a table of whole numbers that agrees with what is shown; of sign 1 or -1 with the least or greatest
        value in a cell.

        Raises:
            TimeoutError: none was found in the time.
        """
        solver = program(WANTS, self._rows, self._low, self._high, whole=True)
        solver.setOptionValue("time_limit", max(0.1, min(MOST_SECONDS, self._deadline - time.monotonic())))
        solver.changeColCost(number, sign)
        solver.run()
        if not has_best(solver):
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


def _is_whole(values: Floats) -> bool:
    return bool(np.abs(values - np.rint(values)).max(initial=0.0) < NEAR)
