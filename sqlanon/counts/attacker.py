"""The attacker's programs in HiGHS: what a cell can be at most, and which further cells would have to be suppressed.

A column for how much each unknown is above its true value, and one for how much below (of an unknown that no table
shows: its value, and nothing). Linear programs answer most questions with whole numbers. Where the answer is not whole,
the same program is solved in whole numbers; a claim that cells are protected never rests on a relaxation.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sqlanon.core.highs import run_highs
from sqlanon.counts.facts import Demand, Flags, Floats, System
from sqlanon.counts.programs import has_best, program
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
        return highs

    def attack(self, demand: Demand, open_: Floats, *, whole: bool = False) -> tuple[Floats | None, Floats]:
        """Return a witness that meets a demand, None without one, and the multipliers of the relations that show it.

        Args:
            open_: of each published cell, how far it is suppressed: 0 to 1. One between them may differ from the truth
                by that part of its value, or of what the demand lacks; such a witness is none of the system.
            whole: only whole numbers count.
        """
        system, size = self._system, len(self._system)
        truth = float(system.values[demand.cell])
        lacking = demand.sign * (demand.value - truth)
        more = np.where(open_ >= 1, np.inf, lacking * open_)
        upper = np.concatenate([np.where(system.published, more, np.inf), self._base * open_])
        self._close(upper, demand)
        upper[demand.cell] = lacking if demand.sign > 0 else 0.0
        upper[size + demand.cell] = 0.0 if demand.sign > 0 else min(lacking, truth)
        costs = np.zeros(2 * size)
        costs[demand.cell], costs[size + demand.cell] = -demand.sign, demand.sign
        values, multipliers, objective = self._solved(costs, np.zeros(2 * size), upper, whole=whole)
        if values is None or -objective < lacking - NEAR:
            return None, -multipliers
        return values, -multipliers

    def extend(self, demand: Demand, hidden: Flags, costs: Floats) -> Floats | None:
        """Return the witness that meets a demand and whose deviation from the truth costs least; None without one.

        Args:
            costs: of a unit of deviation of each cell that is not hidden; ``inf`` for those that must not deviate.
        """
        system, size = self._system, len(self._system)
        free = hidden | ~system.published
        price = np.where(free, 0.0, costs)
        shut = np.isinf(price)
        upper = np.where(np.concatenate([shut, shut]), 0.0, np.inf)
        upper[size:] = np.minimum(upper[size:], self._base)
        self._close(upper, demand)
        lower = np.zeros(2 * size)
        truth = float(system.values[demand.cell])
        lacking = demand.sign * (demand.value - truth)
        if demand.sign < 0 and lacking > truth:
            return None
        lower[demand.cell if demand.sign > 0 else size + demand.cell] = lacking
        upper[size + demand.cell if demand.sign > 0 else demand.cell] = 0.0
        price = np.tile(np.where(shut, 0.0, price), 2)
        found = self._solved(price, lower, upper, whole=False)[0]
        if found is None or not system.whole or (found == np.rint(found)).all():
            return found
        return self._solved(price, lower, upper, whole=True)[0]

    def scatter(self, hidden: Flags, up: Flags, down: Flags) -> Floats | None:
        """Return a witness that has more in many unsafe cells and less in many others, as far as demands ask for it.

        Args:
            up, down: of each cell, whether it is to have more, or less; unsafe cells with neither keep their value.
        """
        system, size = self._system, len(self._system)
        upper = np.where(np.tile(hidden | ~system.published, 2), np.inf, 0.0)
        upper[size:] = np.minimum(upper[size:], self._base)
        unsafe = np.flatnonzero(system.unsafe)
        lacking = np.maximum(system.greatest - system.values, 1.0)[unsafe]
        upper[unsafe] = np.where(up[unsafe], lacking, 0.0)
        upper[size + unsafe] = np.where(down[unsafe], self._base[unsafe], 0.0)
        costs = np.concatenate([up, down]) * -1.0
        return self._solved(costs, np.zeros(2 * size), upper, whole=False)[0]

    def _close(self, upper: Floats, demand: Demand) -> None:
        if demand.known >= 0:
            upper[[demand.known, len(self._system) + demand.known]] = 0.0

    def _solved(
        self, costs: Floats, lower: Floats, upper: Floats, *, whole: bool
    ) -> tuple[Floats | None, Floats, float]:
        """Return the best vector of unknowns, the multipliers of the relations, and what it costs.

        Raises:
            SearchStoppedError: the deadline came.
        """
        highs, size = self._linear, len(self._system)
        places = np.arange(2 * size, dtype=np.int32)
        if whole:
            highs = self._whole = self._whole or self._program(whole=True)
        highs.changeColsBounds(2 * size, places, lower, upper)
        highs.changeColsCost(2 * size, places, costs)
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise stopped()
        highs.setOptionValue("time_limit", highs.getRunTime() + left)
        run = run_highs if whole or size >= LARGE else type(highs).run
        run(highs)
        if has_best(highs) is None and time.monotonic() < self.deadline:  # it went in circles from the last basis
            highs.clearSolver()
            run(highs)
        is_found, nothing = has_best(highs), np.zeros(len(self._system.rows))
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
