"""One component of the program in HiGHS; the only module that imports ``highspy``, which is an extra.

**Formulation.** For the pairs (r, g): x[r, g] from 0 to count(r), continuous; for the groups g that are not free: u[g],
0 or 1.

    minimize Σ cost(g) x[r, g]   with   Σ_g x[r, g] = count(r),   Σ_r x[r, g] ≥ k u[g],   x[r, g] ≤ count(r) u[g],

x need not be declared whole: for fixed u the constraints are those of a transportation problem, whose matrix is totally
unimodular, so that a vertex is whole. ``filled`` solves it for the groups that HiGHS opened, and rounds; whatever HiGHS
says of x is not used.

The paper sums the third constraint over the group (its (6), with n for the size): fewer rows, but its relaxation says
no more than each row type in its cheapest group. With the pairs apart it says, of CMC with at most two ☆ and k = 5,
7,971 instead of 7,551 (the optimum is 8,065), of ADULT2 as in section 3.6 and k = 10, 87,622 instead of 79,310
(88,026). Inequalities between groups (of those that share too few records, one is used) come nearer, 8,044 and 87,950,
but HiGHS finds such ones itself: they saved no time, and are not here.

**Bound.** Costs are whole, so that the bound of HiGHS, less a tolerance, is rounded up. The tolerance is that of its
linear programs, 1e-7 for each record, with room for sums of floats. HiGHS stops when cost and bound are nearer than 1
by more than that: then one whole number is left between them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlanon.core.highs import run_highs
from sqlanon.recoding.patterns.reductions import Bools, Ints, Program, total

if TYPE_CHECKING:
    import highspy

NEAR = 1e-6
"""How far a number of HiGHS may be from the whole number that it stands for: its own tolerance."""


class HighsModel:
    """One component in HiGHS: columns are the pairs, then the groups that are not free."""

    def __init__(self, highs: Any, part: Program) -> None:
        self.highs, self.part = highs, part
        self.bound_groups = np.flatnonzero(~part.free)
        self.nodes = 0
        self.status: highspy.HighsModelStatus | None = None
        self.interrupted = False

    def optimum(self, begun: Ints | None, seconds: float, gap: float) -> tuple[Ints | None, int]:
        """Return the records of the pairs, None when none were found, and a lower bound of the cost.

        An interrupt ends it like the time limit, and is noted (``interrupted``).
        """
        part, number = self.part, len(self.part.row)
        solver = self._passed()
        slack = NEAR + 1e-7 * int(part.counts.sum()) + 1e-9 * int((part.counts * part.cost.max()).sum())
        solver.setOptionValue("mip_abs_gap", max(NEAR, 1.0 - 4 * slack))
        solver.setOptionValue("mip_rel_gap", gap)
        if math.isfinite(seconds):
            solver.setOptionValue("time_limit", seconds)
        if begun is not None:
            used = total(part.group, begun, len(part.cost))[self.bound_groups] > 0
            values = np.concatenate([begun, used]).astype(np.float64)
            solver.setSolution(len(values), np.arange(len(values), dtype=np.int32), values)
        try:
            run_highs(solver)
        except KeyboardInterrupt:
            self.interrupted = True
        info = solver.getInfo()
        self.status = solver.getModelStatus()
        self.nodes = max(0, int(info.mip_node_count))
        proven = math.ceil(info.mip_dual_bound - slack) if math.isfinite(info.mip_dual_bound) else -1
        if info.primal_solution_status != self.highs.SolutionStatus.kSolutionStatusFeasible:
            return None, proven
        opened = part.free.copy()
        opened[self.bound_groups] = np.array(solver.getSolution().col_value)[number:] > 0.5
        return self.filled(opened), proven

    def _passed(self) -> highspy.Highs:
        part = self.part
        pairs, groups = len(part.row), len(self.bound_groups)
        column = np.full(len(part.cost), -1)
        column[self.bound_groups] = pairs + np.arange(groups)
        bound = np.flatnonzero(~part.free[part.group])
        used = column[part.group[bound]]
        matrix = _Matrix()
        matrix.add(part.row, np.arange(pairs), 1, part.counts, part.counts)
        held = np.concatenate([used - pairs, np.arange(groups)])
        inside = np.concatenate([bound, pairs + np.arange(groups)])
        matrix.add(
            held, inside, np.repeat([1, -part.k], [len(bound), groups]), np.zeros(groups), np.full(groups, np.inf)
        )
        each = np.tile(np.arange(len(bound)), 2)
        limits = np.concatenate([np.ones(len(bound), dtype=np.int64), -part.capacity[bound]])
        matrix.add(each, np.concatenate([bound, used]), limits, np.full(len(bound), -np.inf), np.zeros(len(bound)))
        costs = np.concatenate([part.cost[part.group], np.zeros(groups)])
        upper = np.concatenate([part.capacity, np.ones(groups)])
        return matrix.passed(self.highs, costs, upper, np.repeat([0, 1], [pairs, groups]))

    def filled(self, opened: Bools) -> Ints | None:
        """Return the cheapest solution that uses the opened groups, each with at least k records; None without one."""
        part = self.part
        inside = np.flatnonzero(opened[part.group])
        lower = np.where(part.free, 0, part.k)
        matrix = _Matrix()
        matrix.add(part.row[inside], np.arange(len(inside)), 1, part.counts, part.counts)
        matrix.add(
            part.group[inside], np.arange(len(inside)), 1, np.where(opened, lower, 0), np.full(len(opened), np.inf)
        )
        solver = matrix.passed(self.highs, part.cost[part.group[inside]], part.capacity[inside], None)
        solver.run()
        if solver.getModelStatus() != self.highs.HighsModelStatus.kOptimal:
            return None
        records = np.zeros(len(part.row), dtype=np.int64)
        records[inside] = np.rint(solver.getSolution().col_value).astype(np.int64)
        return records if not part.left(records).any() and part.holds(records) else None


class _Matrix:
    """Constraints, block by block, as HiGHS takes them: by row, sparse."""

    def __init__(self) -> None:
        self.rows: list[Ints] = []
        self.columns: list[Ints] = []
        self.values: list[Any] = []
        self.lower: list[Any] = []
        self.upper: list[Any] = []
        self.height = 0

    def add(self, rows: Ints, columns: Ints, values: Any, lower: Any, upper: Any) -> None:
        """Add a block: entries (row within the block, column, value), and the limits of its rows."""
        self.rows.append(rows + self.height)
        self.columns.append(columns)
        self.values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), rows.shape))
        self.lower.append(lower)
        self.upper.append(upper)
        self.height += len(lower)

    def passed(self, highs: Any, costs: Any, upper: Any, whole_columns: Any) -> highspy.Highs:
        """Return a solver that minimizes the costs over columns from 0 to ``upper``."""
        rows, columns, values = (np.concatenate(each) for each in (self.rows, self.columns, self.values))
        order = np.lexsort((columns, rows))
        starts = np.searchsorted(rows[order], np.arange(self.height + 1)).astype(np.int32)
        lowest, highest = (np.concatenate(each).astype(np.float64) for each in (self.lower, self.upper))
        width = len(costs)
        kinds = np.zeros(width) if whole_columns is None else whole_columns
        solver: highspy.Highs = highs.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(
            width, self.height, len(rows), int(highs.MatrixFormat.kRowwise), int(highs.ObjSense.kMinimize), 0.0,
            costs.astype(np.float64), np.zeros(width), upper.astype(np.float64), lowest, highest,
            starts, columns[order].astype(np.int32), values[order], kinds.astype(np.int32),
        )  # fmt: skip
        return solver
