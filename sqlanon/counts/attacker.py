"""The attacker's programs in HiGHS: what a cell can be at most, and which further cells would have to be suppressed.

A column for how much each unknown is above its true value, and one for how much below (of an unknown that no table
shows: its value, and nothing). Linear programs answer most questions with whole numbers. Where the answer is not whole,
the same program is solved in whole numbers; a claim that cells are protected never rests on a relaxation.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sqlanon.core.highs import highs_module, run_highs
from sqlanon.counts.facts import Demand, Flags, Floats, System
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
        self._module = highs_module(PROTECTING)
        self._system, self.deadline = system, deadline
        self._base = np.where(system.published, system.values, 0.0)
        self._linear = self._program()
        self._whole: Any = None

    def _program(self) -> Any:
        """Return a solver of the rows of the system, without costs and with closed columns."""
        module, rows, size = self._module, self._system.rows, len(self._system)
        highs = module.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("parallel", "off")
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.setOptionValue("simplex_iteration_limit", 1_000 + 20 * (size + len(rows)))
        now = rows.times(self._base)
        starts = np.empty(2 * len(rows.columns), np.int64)
        factors = np.empty(2 * len(rows.columns))
        starts[0::2], starts[1::2] = rows.columns, rows.columns + size
        factors[0::2], factors[1::2] = rows.factors, -rows.factors
        nothing = np.zeros(2 * size)
        highs.passModel(
            2 * size, len(rows), len(starts), int(module.MatrixFormat.kRowwise), int(module.ObjSense.kMinimize), 0.0,
            nothing, nothing, nothing, rows.lower - now, rows.upper - now,
            (2 * rows.starts).astype(np.int32), starts.astype(np.int32), factors, nothing.astype(np.int32),
        )  # fmt: skip
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
        if found is None or not system.whole or self._is_whole(found):
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

    def range_of(self, cell: int, open_: Floats, *, whole: bool) -> tuple[float, float]:
        """Return the least and the greatest value of a cell; ``inf`` where nothing bounds it."""
        size, ends = len(self._system), []
        upper = np.where(np.concatenate([open_, open_]) > 0, np.inf, 0.0)
        upper[:size][~self._system.published] = np.inf
        upper[size:] = np.minimum(upper[size:], self._base)
        for sign in (1.0, -1.0):
            costs = np.zeros(2 * size)
            costs[cell], costs[size + cell] = sign, -sign
            values = self._solved(costs, np.zeros(2 * size), upper, whole=whole)[0]
            ends.append(np.inf if values is None else float(values[cell]))
        return ends[0], ends[1]

    def _close(self, upper: Floats, demand: Demand) -> None:
        if demand.known >= 0:
            upper[[demand.known, len(self._system) + demand.known]] = 0.0

    def _is_whole(self, witness: Floats) -> bool:
        return bool((witness == np.rint(witness)).all())

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
            if self._whole is None:
                self._whole = self._program()
                self._whole.changeColsIntegrality(
                    2 * size, places, np.full(2 * size, self._module.HighsVarType.kInteger)
                )
            highs = self._whole
        highs.changeColsBounds(2 * size, places, lower, upper)
        highs.changeColsCost(2 * size, places, costs)
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise stopped()
        highs.setOptionValue("time_limit", highs.getRunTime() + left)
        run = run_highs if whole or size >= LARGE else type(highs).run
        run(highs)
        status = highs.getModelStatus()
        if status == self._module.HighsModelStatus.kIterationLimit:  # it went in circles from the last basis
            highs.clearSolver()
            run(highs)
            status = highs.getModelStatus()
        nothing = np.zeros(len(self._system.rows))
        if status in (
            self._module.HighsModelStatus.kInfeasible,
            self._module.HighsModelStatus.kUnbounded,
            self._module.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return None, nothing, np.inf
        if status != self._module.HighsModelStatus.kOptimal:
            raise stopped()
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


def intervals(system: System, hidden: Flags, deadline: float, *, whole: bool = False) -> tuple[Floats, Floats]:
    """Return the least and the greatest value that each suppressed cell has in any witness; of others, the true one.

    Args:
        whole: in whole numbers, which may be narrower; else over all witnesses that are not.
    """
    attacker = Attacker(system, deadline)
    open_ = hidden.astype(np.float64)
    low, high = system.values.astype(np.float64), system.values.astype(np.float64)
    for cell in np.flatnonzero(hidden).tolist():
        low[cell], high[cell] = attacker.range_of(cell, open_, whole=whole)
    return low, high
