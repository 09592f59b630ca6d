"""Where a box is best cut: what earlier cuts brought predicts what the next will bring (pseudo-costs).

Source: pseudo-cost branching of mixed integer programming (Benichou et al. 1971; Achterberg, Koch and Martin 2005),
carried over to boxes of nodes. A cut of attribute i between the levels l and l + 1 makes two halves. The bottom of
the upper half rises to l + 1, and its bound with it, by an amount that is known beforehand for measures of
attributes. The top of the lower half falls from its level t to l: more records are suppressed, by a factor that has
been about the same for earlier cuts of i from t to l, and the bound rises by about as much as it did then. A half that
is predicted to suppress too much is worth the whole remaining gap. A wrong prediction costs evaluations, never
the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlanon.lattice.nodes import Node
from sqlanon.search.base import Problem, Verdict

TRUST = 0.5
"""The weight of a predicted gain beside a known one (measured on ADULT, CUP and CREDITCARD: benchmarks/README.md)."""
UNSEEN_GAIN = 0.05
"""The expected gain of the lower half of a cut not seen before, as a share of the gain of raising the bottom as far."""
UNSEEN_SUPPRESSION = 2.0
"""The expected logarithm of the factor of suppression of such a cut, per share of the attribute's gauge."""


@dataclass(slots=True)
class _Experience:
    """The gains of one kind of cut so far, summed."""

    cuts: int = 0
    suppression: float = 0.0
    gains: int = 0
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of a box [bottom, top] between two levels of an attribute.

    One half ends at ``low_top``, the other begins at ``high_bottom``.
    """

    axis: int
    level: int
    low_top: Node
    high_bottom: Node

    @classmethod
    def of(cls, bottom: Node, top: Node, axis: int, level: int) -> Cut:
        """Return the cut of ``axis`` between ``level`` and the next."""
        return cls(
            axis,
            level,
            (*top[:axis], level, *top[axis + 1 :]),
            (*bottom[:axis], level + 1, *bottom[axis + 1 :]),
        )


class Branching:
    """Chooses cuts, and learns from their verdicts. One owner: the search that runs."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._down: dict[tuple[int, int, int], _Experience] = {}
        self._up: dict[tuple[int, int, int], _Experience] = {}
        self._of_classes = problem.measure.needs == "classes"
        gauge = problem.measure.gauge
        low, high = gauge(problem.lattice.bottom), gauge(problem.lattice.top)
        self._gauges = [
            [
                (gauge(_with(problem.lattice.bottom, axis, level))[axis] - low[axis])
                / max(high[axis] - low[axis], 1e-300)
                for level in range(bottom, top + 1)
            ]
            for axis, (bottom, top) in enumerate(zip(problem.lattice.bottom, problem.lattice.top, strict=True))
        ]

    def cut(self, bottom: Node, top: Verdict, below: Verdict | None, incumbent: Verdict | None) -> Cut:
        """Return the cut that is expected to raise the bounds of the two halves the most."""
        problem = self._problem
        facts = below.bottom_facts if below is not None else None
        now = problem.bound(bottom, top, facts)
        missing = max(incumbent.loss - now, 0.0) if incumbent is not None else math.inf
        best: tuple[float, float, int, int] | None = None
        bounds_along_axes = problem.bounds_along_axes(bottom, top, facts)
        for axis, (low, high) in enumerate(zip(bottom, top.node, strict=True)):
            if low == high:
                continue
            climb = bounds_along_axes[axis]
            for level in range(low, high):
                up = climb[level + 1 - low] - now
                if self._of_classes:
                    up = max(up, self._learnt_gain(self._up, (axis, level, low)))
                down = self._expected(axis, level, high, top, climb[high - low] - climb[level - low], missing)
                score = min(up, missing) + TRUST * min(down, missing)
                if best is None or score >= best[0]:
                    choice = (score, self._halving(axis, low, high, level), -axis, -level)
                    best = choice if best is None else max(best, choice)
        assert best is not None
        return Cut.of(bottom, top.node, -best[2], -best[3])

    def learn(
        self, cut: Cut, bottom: Node, top: Verdict, below: Verdict | None, low: Verdict, high: Verdict | None
    ) -> None:
        """Remember what a cut of the box [bottom, top] brought: the verdicts of the halves' new corners."""
        problem = self._problem
        facts = below.bottom_facts if below is not None else None
        now = problem.bound(bottom, top, facts)
        down = self._down.setdefault((cut.axis, cut.level, top.node[cut.axis]), _Experience())
        down.cuts += 1
        down.suppression += math.log(
            (low.lower_bounds.counted_against_limit + 1) / (top.lower_bounds.counted_against_limit + 1)
        )
        if low.exact:
            down.gains += 1
            down.gain += problem.bound(bottom, low, facts) - now
        if high is not None:
            up = self._up.setdefault((cut.axis, cut.level, bottom[cut.axis]), _Experience())
            up.gains += 1
            up.gain += problem.bound(cut.high_bottom, top, high.bottom_facts) - now

    def _expected(self, axis: int, level: int, high: int, top: Verdict, rise: float, missing: float) -> float:
        """Return the expected gain of the lower half; all that is missing when it is expected to be pruned."""
        known = self._down.get((axis, level, high))
        if known is None:
            start = self._problem.lattice.bottom[axis]
            gauge = self._gauges[axis]
            gain, factor = UNSEEN_GAIN * rise, UNSEEN_SUPPRESSION * (gauge[high - start] - gauge[level - start])
        else:
            gain, factor = known.gain / max(known.gains, 1), known.suppression / known.cuts
        if (top.lower_bounds.counted_against_limit + 1) * math.exp(factor) > self._problem.catalog.allowed + 1:
            return missing if missing < math.inf else 1.0 + gain
        return gain

    def _halving(self, axis: int, low: int, high: int, level: int) -> float:
        """Return the preference among equal scores: the widest gap of the gauge, cut where it halves."""
        start = self._problem.lattice.bottom[axis]
        gauge = self._gauges[axis]
        below, above = gauge[level - start] - gauge[low - start], gauge[high - start] - gauge[level - start]
        return min(below, above) + (gauge[high - start] - gauge[low - start])

    @staticmethod
    def _learnt_gain(experience: dict[tuple[int, int, int], _Experience], key: tuple[int, int, int]) -> float:
        known = experience.get(key)
        return known.gain / known.gains if known else 0.0


def _with(node: Node, axis: int, level: int) -> Node:
    return (*node[:axis], level, *node[axis + 1 :])
