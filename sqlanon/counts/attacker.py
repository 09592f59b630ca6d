"""The attacker's programs in HiGHS: what a cell can be at most, and which further cells would have to be suppressed.

A column for how much each unknown is above its true value, and one for how much below (of an unknown that no table
shows: its value, and nothing). Linear programs answer most questions with whole numbers. Where the answer is not whole,
the same program is solved in whole numbers; a claim that cells are protected never rests on a relaxation.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sqlanon.counts.facts import Demand, Flags, Floats, System
from sqlanon.counts.programs import program, solved
from sqlanon.errors import SearchStoppedError

NEAR = 1e-6
"""How far a number of HiGHS may be from what it stands for: its own tolerance."""
PROTECTING = "Protecting unsafe cells"
"""What needs HiGHS."""
LARGE = 2_000
"""Unknowns from which on an interrupt ends a linear program too; smaller ones end soon by themselves."""


class Attacker:
    """Programs over the witnesses of a system; the bounds of their columns say which cells are suppressed.

    Args:
        deadline: of ``time.monotonic``; after it every question raises.
    """

    def __init__(self, system: System, deadline: float) -> None:
        self._system, self.deadline = system, deadline
        self._base = np.where(system.published, system.values, 0.0)
        self._linear = self._program()
        self._whole: Any = None

    def _program(self, *, whole: bool = False) -> Any:
        """Return a solver of the rows of the system, without costs and with closed columns."""
        rows, nothing = self._system.rows, np.zeros(2 * len(self._system))
        highs = program(PROTECTING, rows.beside(self._base), nothing, nothing, whole=whole)
        highs.setOptionValue("simplex_iteration_limit", 1_000 + 20 * (len(self._system) + len(rows)))
        if whole:  # of tables in three dimensions HiGHS spends seconds on what it presolved, and a hundredth without
            highs.setOptionValue("presolve", "off")
        return highs

    def attack(self, demand: Demand, open_: Floats, *, whole: bool = False) -> tuple[Floats | None, Floats]:
        """Return a witness that meets a demand, None without one, and the multipliers of the relations that show it.

        Args:
            open_: of each published cell, how far it is suppressed: 0 to 1. One between them may differ from the truth
                by that part of its value, or of what the demand lacks; such a witness is none of the system.
            whole: only whole numbers count.
        """
        system, way, lacking = self._system, demand.sign < 0, self._lacking(demand)
        more = np.where(open_ >= 1, np.inf, lacking * open_)
        upper = np.stack([np.where(system.published, more, np.inf), self._base * open_])
        costs = np.zeros_like(upper)
        upper[:, demand.cell], costs[int(way), demand.cell] = 0.0, -1.0
        upper[int(way), demand.cell] = lacking
        values, multipliers, objective = self._solved(costs, np.zeros_like(costs), upper, demand.known, whole=whole)
        return None if -objective < lacking - NEAR else values, -multipliers

    def _lacking(self, demand: Demand) -> float:
        return float(demand.sign * (demand.value - self._system.values[demand.cell]))

    def extend(self, demand: Demand, hidden: Flags, costs: Floats) -> Floats | None:
        """Return the witness that meets a demand and whose deviation from the truth costs least; None without one.

        Args:
            costs: of a unit of deviation of each cell that is not hidden; ``inf`` for those that must not deviate.
        """
        system, way, lacking = self._system, demand.sign < 0, self._lacking(demand)
        if way and lacking > self._base[demand.cell]:
            return None
        price = np.where(hidden | ~system.published, 0.0, costs)
        upper = np.stack([np.where(np.isinf(price), 0.0, np.inf)] * 2)
        price = np.stack([np.where(np.isinf(price), 0.0, price)] * 2)
        lower = np.zeros_like(upper)
        lower[int(way), demand.cell], upper[int(not way), demand.cell] = lacking, 0.0
        return self._found(price, lower, upper, demand.known)

    def scatter(self, hidden: Flags, up: Flags, down: Flags) -> Floats | None:
        """Return a witness that has more in many unsafe cells and less in many others, as far as demands ask for it.

        Args:
            up, down: of each cell, whether it is to have more, or less; unsafe cells with neither keep their value.
        """
        system = self._system
        upper = np.stack([np.where(hidden | ~system.published, np.inf, 0.0)] * 2)
        unsafe = np.flatnonzero(system.unsafe)
        lacking = np.maximum(system.greatest - system.values, 1.0)
        upper[:, unsafe] = np.where(up, lacking, 0.0)[unsafe], np.where(down, np.inf, 0.0)[unsafe]
        return self._solved(np.where([up, down], -1.0, 0.0), np.zeros_like(upper), upper)[0]

    def completed(self) -> Floats:
        """Return the true values; the unknowns that no table shows have some with which all relations are kept."""
        upper = np.stack([np.where(self._system.published, 0.0, np.inf)] * 2)
        found = self._found(np.zeros_like(upper), np.zeros_like(upper), upper)
        if found is None:
            raise stopped()
        return found

    def _found(self, costs: Floats, lower: Floats, upper: Floats, known: int = -1) -> Floats | None:
        """Return the best vector of unknowns, in whole numbers where values are; None if there is none."""
        found = self._solved(costs, lower, upper, known)[0]
        if found is None or not self._system.whole or (found == np.rint(found)).all():
            return found
        return self._solved(costs, lower, upper, known, whole=True)[0]

    def _solved(
        self, costs: Floats, lower: Floats, upper: Floats, known: int = -1, *, whole: bool = False
    ) -> tuple[Floats | None, Floats, float]:
        """Return the best vector of unknowns, the multipliers of the relations, and what it costs.

        Args:
            costs, lower, upper: of how far each unknown is above the truth, and of how far it is below, a row each.
            known: the unknown that keeps its value; -1 for none.
        """
        upper[1] = np.minimum(upper[1], self._base)
        if known >= 0:
            upper[:, known] = 0.0
        highs, size = self._linear, len(self._system)
        places = np.arange(2 * size, dtype=np.int32)
        if whole:
            highs = self._whole = self._whole or self._program(whole=True)
        highs.changeColsBounds(2 * size, places, lower.reshape(-1), upper.reshape(-1))
        highs.changeColsCost(2 * size, places, costs.reshape(-1))
        left, cancels = self.deadline - time.monotonic(), whole or size >= LARGE
        if left <= 0:
            raise stopped()
        is_found, nothing = solved(highs, left, cancels=cancels), np.zeros(len(self._system.rows))
        if is_found is None and time.monotonic() < self.deadline:  # it went in circles from the last basis
            highs.clearSolver()
            is_found = solved(highs, cancels=cancels)
        if is_found is None:
            raise stopped()
        if not is_found:
            return None, nothing, np.inf
        solution = highs.getSolution()
        moves = np.array(solution.col_value)
        values = self._base + moves[:size] - moves[size:]
        near = np.rint(values)
        if self._system.whole and np.abs(near - values).max(initial=0.0) <= 10 * NEAR:
            values = near
        duals = np.array(solution.row_dual) if not whole else nothing
        return values, duals, float(highs.getInfo().objective_function_value)


def stopped() -> SearchStoppedError:
    """Return the error that the deadline came."""
    return SearchStoppedError(
        "The time limit came before every unsafe cell was protected; nothing was published.",
        hint="raise time_limit, or show coarser levels.",
    )
