"""The suppression of least weight, by a program of cuts, and the proof that it is.

A program in whole numbers chooses the cells to suppress (the master). The attacker's programs say which demands its
choice does not meet, and give a cut for each (``cuts``). Cuts are looked for in the relaxed master first, where a cell
that is a little suppressed may differ a little, then in the whole one. The master's bound is true at any time; when a
choice of the master meets all demands, it is optimal.

A cell that is suppressed alone in an exact relation, and is not unsafe, protects nothing: whoever knows the others
computes it. So some suppression of least weight has none, and the master may ask for another beside each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from sqlanon.counts.attacker import NEAR, PROTECTING, Attacker
from sqlanon.counts.cuts import cut_of, without
from sqlanon.counts.facts import CellSuppression, Choice, Flags, Floats, Numbers, SparseRows, SuppressionCut, System
from sqlanon.counts.grid import Grid
from sqlanon.counts.heuristic import Suppressing
from sqlanon.counts.moves import MoveSearch
from sqlanon.counts.programs import program, set_whole, solved
from sqlanon.errors import SearchStoppedError

ROUNDS = 60
"""Rounds of cuts of the relaxed master, at most."""
SHARE = 6
"""One part of so many of the time goes into witnesses that change unsafe cells alone."""
GRACE = 60.0
"""Seconds, at least, that programs have for what moves do not protect when the time is over."""
GAIN = 1e-3
"""A relaxed round that raises the bound by less than this share is one of few that may."""


class Master:
    """The program that chooses which cells to suppress beside the unsafe ones."""

    def __init__(self, system: System, *, companions: bool = True) -> None:
        self.cells = np.flatnonzero(system.published & ~system.unsafe & ~system.exempt)
        self._place = np.full(len(system), -1, np.int64)
        self._place[self.cells] = np.arange(len(self.cells))
        weights = system.weights[self.cells].astype(np.float64)
        self.whole_weights = bool((weights == np.rint(weights)).all())
        rows = SparseRows.of(
            (self._place[own].tolist(), np.where(own == cell, -1.0, 1.0).tolist(), 0.0, np.inf)
            for cell, own in (_companions(system) if companions else ())
        )
        nothing = np.zeros(len(self.cells))
        self._highs = program(PROTECTING, rows, nothing, nothing + 1, weights)
        self._highs.setOptionValue("mip_abs_gap", 0.999 if self.whole_weights else NEAR)

    def add(self, cut: SuppressionCut) -> None:
        """Add a cut."""
        places = self._place[cut.cells].astype(np.int32)
        self._highs.addRow(1.0, np.inf, len(places), places, cut.coefficients.astype(np.float64))

    def solve(self, seconds: float, *, whole: bool, begun: Floats | None = None) -> tuple[Floats | None, float]:
        """Return how far each candidate is suppressed (None if that was not found), and a lower bound of the weight."""
        highs, number = self._highs, len(self.cells)
        set_whole(highs, whole)
        if begun is not None:
            highs.setSolution(number, np.arange(number, dtype=np.int32), begun)
        is_done, info = solved(highs, max(0.05, seconds), cancels=True), highs.getInfo()
        bound = info.mip_dual_bound if whole else info.objective_function_value if is_done else 0.0
        bound = bound - NEAR * max(1.0, abs(bound)) if math.isfinite(bound) else 0.0  # HiGHS has tolerances
        bound = max(0.0, math.ceil(bound) if self.whole_weights else bound)
        return np.array(highs.getSolution().col_value) if is_done else None, bound


def _companions(system: System) -> Iterator[tuple[int, Numbers]]:
    """Yield each cell that may be suppressed, and all such of an exact relation: another one must be if it is."""
    rows = system.rows
    for row in np.flatnonzero(rows.is_equal).tolist():
        cells = rows.cells_of(row)
        if system.published[cells].all() and not system.unsafe[cells].any():
            own = cells[~system.exempt[cells]]
            yield from ((cell, own) for cell in own.tolist())


def suppress(
    system: System,
    seconds: float,
    *,
    exact: bool = True,
    begun: Flags | None = None,
    report: Callable[..., None] | None = None,
) -> CellSuppression:
    """Return a suppression that protects, of least weight where that is proven within the time.

    Args:
        seconds: how long is searched, at most. The first suppression is not given up for the proof.
        exact: whether a proof is looked for.
        begun: one that protects, if one is known.
        report: told how far it is: the facts of a ``Step``.

    Raises:
        NoSolutionError: what may be suppressed does not protect.
        SearchStoppedError: no suppression was found within the time.
        UnsupportedError: HiGHS is not installed, and some cell is unsafe.
    """
    if not system.unsafe.any():
        return CellSuppression(system, system.unsafe.copy(), 0.0, "heuristic")
    now = time.monotonic()
    work = Suppressing(system, now + (seconds if begun is None else seconds / 3))
    best = begun
    try:
        found = work.reduced(work.extended(system.unsafe), now + (seconds / 3 if exact else seconds))
        best = found if begun is None or system.weight(found) < system.weight(begun) else begun
    except SearchStoppedError:
        if begun is None:
            raise
    work.attacker.deadline = now + seconds
    assert best is not None
    if exact and system.weight(best):
        return _Exact(work, best, report).proven()
    return CellSuppression(system, best, 0.0, "heuristic", (), work.witnesses.vectors)


def suppress_by_moves(grid: Grid, system: System, seconds: float) -> CellSuppression:
    """Return a suppression by moves, with a lower bound from single relations.

    When the time is over, moves protect what is left, with the grand total if need be.

    Args:
        system: its first unknowns are the cells of the grid, and its relations those of the grid.

    Raises: as ``suppress``.
    """
    now = time.monotonic()  # a third of the time is left for what moves do not meet
    search, work = MoveSearch(grid, system, now + seconds * 2 / 3), Suppressing(system, now + seconds)
    for vector in work.scattered(seconds / SHARE):
        search.add(vector)
    left = search.suppress()
    search.reduce()
    begun, hidden = len(work.witnesses.vectors), search.hidden
    try:
        hidden = work.met_by_programs(left, hidden)
    except SearchStoppedError:
        for vector in work.witnesses.vectors[begun:]:
            search.add(vector)
        left = search.suppress(freely=True)
        work.attacker.deadline = time.monotonic() + max(seconds, GRACE)
        hidden = work.met_by_programs(left, search.hidden)
    found = [*search.witnesses.values(), *work.witnesses.vectors[begun:]]
    weight = system.weight(hidden)
    lower = min(_bound_of_rows(system, seconds), weight) if weight else 0.0
    return CellSuppression(system, hidden, lower, "heuristic", (), found)


def suppress_late(grid: Grid, system: System, seconds: float) -> CellSuppression:
    """Return a suppression by moves where programs found none in time; raises as ``suppress``.

    Args:
        grid: with the cells of all dimensions where the system has them. Where no table shows them, moves begin with
            some that fit.
    """
    truth = Attacker(system, time.monotonic() + GRACE).completed()
    found = suppress_by_moves(grid, replace(system, values=truth), seconds)
    beyond, moved = truth - system.values, []
    for cells, changes in found.witnesses:
        change = beyond.copy()
        change[cells] += changes
        moved.append((np.flatnonzero(change), change[change != 0]))
    return replace(found, system=system, witnesses=moved)


def _bound_of_rows(system: System, seconds: float) -> float:
    """Return a lower bound of the weight: an unsafe cell is computed where the rest of an equation is shown."""
    rows = system.rows
    wanting = system.unsafe & ((system.greatest > system.values) | (system.least < system.values))
    open_, wanted, shown = (rows.summed(own[rows.columns]) for own in (system.unsafe, wanting, system.published))
    alone = np.flatnonzero(rows.is_equal & (open_ == 1) & (wanted == 1) & (shown == np.diff(rows.starts)))
    if not len(alone):
        return 0.0
    master = Master(system, companions=False)
    for row in alone.tolist():
        cells = rows.cells_of(row)
        cells = cells[~system.unsafe[cells] & ~system.exempt[cells]]
        if len(cells):
            master.add(SuppressionCut((), cells, np.ones(len(cells))))
    return master.solve(seconds, whole=False)[1]


class _Exact:
    """One search for the least suppression and its proof."""

    def __init__(self, work: Suppressing, best: Flags, report: Callable[..., None] | None) -> None:
        self.work, self.best, self.system, self.report = work, best, work.system, report
        self.master = Master(work.system)
        self.cuts: list[SuppressionCut] = []
        self.lower = 0.0

    def proven(self) -> CellSuppression:
        """Return the best suppression when all is proven, or the time is over."""
        try:
            self._relaxed()
            while self._weight > self.lower + NEAR and self._round():
                pass
        except SearchStoppedError:
            pass
        lower, witnesses = min(self.lower, self._weight), self.work.witnesses.vectors
        return CellSuppression(self.system, self.best, lower, "exact", self.cuts, witnesses)

    @property
    def _weight(self) -> float:
        return self.system.weight(self.best)

    def _chosen(self, *, whole: bool, begun: Floats | None = None) -> Floats | None:
        """Solve the master, and take and tell its bound; return its choice."""
        left = self.work.attacker.deadline - time.monotonic()
        values, bound = self.master.solve(left, whole=whole, begun=begun)
        self.lower = max(self.lower, bound)
        if self.report is not None:
            self.report(done=len(self.cuts), unit="cuts", loss=self._weight, lower_bound=self.lower, what="weight")
        return values

    def _relaxed(self) -> None:
        """Add cuts that the relaxed master violates, as long as they raise its bound."""
        choices, few = list(self.system.demands()), 0
        for _ in range(ROUNDS):
            before, values = self.lower, self._chosen(whole=False)
            few = few + 1 if self.lower <= before * (1 + GAIN) else 0
            if values is None or few > 4 or self._weight <= self.lower + NEAR:
                return
            open_ = self._opened(np.where(values < NEAR, 0.0, np.minimum(values, 1.0)))
            if not sum(self._cut_off(choice, open_) for choice in choices):
                return

    def _opened(self, values: Floats) -> Floats:
        open_ = self.system.unsafe.astype(np.float64)
        open_[self.master.cells] = values
        return open_

    def _cut_off(self, choice: Choice, open_: Floats) -> bool:
        """Add the cut of a choice that a relaxed suppression violates; return whether there is one."""
        found = []
        for demand in choice:
            witness, multipliers = self.work.attacker.attack(demand, open_)
            if witness is not None:
                return False
            found.append(multipliers)
        cut = cut_of(self.system, choice, found)
        if cut is None or float((cut.coefficients * open_[cut.cells]).sum()) > 1 - 1e-4:
            return False
        self._add(cut)
        return True

    def _round(self) -> bool:
        """Solve the master in whole numbers and cut its choice off; return whether to go on."""
        begun = self.best[self.master.cells].astype(np.float64)
        values = self._chosen(whole=True, begun=begun)
        if values is None or self._weight <= self.lower + NEAR:
            return False
        hidden = self._opened(np.rint(values)) > 0
        refused = False
        for choice in self.work.witnesses.open(hidden):
            why = self.work.refuted(choice, hidden)
            if why is not None:
                refused = True
                cut = cut_of(self.system, choice, why)
                holds = cut is not None and float(cut.coefficients[hidden[cut.cells]].sum()) < 1 - 1e-4
                self._add(cut if cut is not None and holds else without(self.system, choice, hidden))
        better = self.work.reduced(self.work.extended(hidden), self.work.attacker.deadline) if refused else hidden
        if self.system.weight(better) < self._weight:
            self.best = better
        return refused

    def _add(self, cut: SuppressionCut) -> None:
        self.cuts.append(cut)
        self.master.add(cut)
