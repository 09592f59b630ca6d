"""Inequalities that every suppression that protects fulfils, each with the multipliers that show it.

**Statement.** Let a demand say that some witness z has c·z >= τ, where c is 1 or -1 in one cell. Take any multipliers π
of the relations, and d = c - Σ π_r (row r). Then for every witness

    c·z = Σ π_r (row r)·z + d·z <= Σ π_r b_r + d·z,

b_r the upper bound of the row where π_r > 0, else the lower. If d <= 0 in the unknowns that no table shows, these add
nothing. A published cell i that is not suppressed adds d_i x_i. A suppressed one adds d_i z_i <= 0 if d_i <= 0, and
anything if d_i > 0. With C = Σ π_r b_r + Σ d_i x_i over the published cells, and y_i = 1 where cell i is suppressed,

    τ - C <= Σ a_i y_i,   a_i = -d_i x_i if d_i <= 0, and unbounded if d_i > 0.

Where τ > C, dividing by τ - C and cutting each a_i to 1 keeps it true for y of 0 and 1. Unsafe cells have y = 1,
cells that must not be suppressed y = 0, and a cell that an insider knows counts as one that is not suppressed. Of a
choice one demand is enough, so that the larger coefficient of each cell is taken. (Capacity constraints of Fischetti
and Salazar-González, JASA 2000.)

The multipliers are whole multiples of 1 / ``PARTS`` and are used as such, so that what they show is shown exactly.
"""

from __future__ import annotations

import numpy as np

from sqlanon.counts.facts import Choice, Demand, Flags, Floats, Numbers, SuppressionCut, System

PARTS = 5_040
"""Multipliers are whole multiples of one part of so many: those of linear programs over tables are such fractions."""
EXACT = 2.0**52
"""Below it sums of whole numbers are exact in floats."""


def cut_of(system: System, choice: Choice, found: list[Floats]) -> SuppressionCut | None:
    """Return the cut that multipliers of the relations show of each demand of a choice; None if they show none."""
    parts = tuple(np.rint(each * PARTS).astype(np.int64) for each in found)
    whole = np.zeros(len(system))
    for demand, multipliers in zip(choice, parts, strict=True):
        own = _coefficients(system, demand, multipliers)
        if own is None:
            return None
        whole = np.maximum(whole, own)
    cells = np.flatnonzero(whole)
    return SuppressionCut(choice, cells, whole[cells], parts)


def _coefficients(system: System, demand: Demand, parts: Numbers) -> Floats | None:
    rows, size = system.rows, len(system)
    bounds = np.where(parts > 0, rows.upper, rows.lower)
    used = (parts != 0) & np.isfinite(bounds)
    parts = np.where(used, parts, 0)
    rest = -rows.combined(parts.astype(np.float64), size)
    rest[demand.cell] += demand.sign * PARTS
    if (rest[~system.published] > 0).any():
        return None
    truth = np.where(system.published, system.values, 0.0)
    terms = rest * truth
    if np.abs(terms).sum() + np.abs(parts[used] * bounds[used]).sum() > EXACT:
        return None
    lacking = demand.sign * demand.value * PARTS - float((parts[used] * bounds[used]).sum()) - float(terms.sum())
    steps = np.where(rest > 0, np.inf, -terms)
    steps[~system.published | system.exempt & ~system.unsafe] = 0.0
    if demand.known >= 0:
        steps[demand.known] = 0.0
    lacking -= float(steps[system.unsafe].sum())
    if not lacking > (0.0 if system.whole else 1e-6 * PARTS):
        return None
    steps[system.unsafe] = 0.0
    return np.minimum(steps / lacking, 1.0)


def without(system: System, choice: Choice, hidden: Flags) -> SuppressionCut:
    """Return the cut of a suppression under which no witness meets a choice: another cell must be suppressed."""
    cells = np.flatnonzero(system.published & ~system.exempt & ~hidden)
    return SuppressionCut(choice, cells, np.ones(len(cells)))
