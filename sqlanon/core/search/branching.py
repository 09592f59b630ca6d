"""Where a box is best cut: what earlier cuts brought predicts what the next will bring (pseudo-costs).

Source: pseudo-cost branching of mixed integer programming (Benichou et al. 1971; Achterberg, Koch and Martin 2005),
carried over to boxes of nodes. A cut of attribute i between the levels l and l + 1 makes two halves. The bottom of
the upper half rises to l + 1, and its bound with it, by an amount that is known beforehand for measures of
attributes. The top of the lower half falls from its level t to l: more records are suppressed, by a factor that has
been about the same for earlier cuts of i from t to l, and the bound rises by about as much as it did then. A half that
is predicted to suppress too much is worth the whole remaining gap. A wrong prediction costs evaluations, never
the proof.

Where nothing may be suppressed there is no factor to predict with: every top suppresses 0 records, and the new one 0 or
too many. What counts then is how often such a cut has brought too many; the share of all cuts stands in for one more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import BottomFacts, BoxBounds
from sqlanon.core.search.base import Problem, Verdict

TRUST = 0.5
"""The weight of a predicted gain beside a known one (measured on ADULT, CUP and CREDITCARD: benchmarks/README.md)."""
UNSEEN_GAIN = 0.05
"""The expected gain of the lower half of a cut not seen before, as a share of the gain of raising the bottom as far."""
UNSEEN_SUPPRESSION = 2.0
"""The expected logarithm of the factor of suppression of such a cut, per share of the attribute's gauge."""


@dataclass(slots=True)
class _Experience:
    """The gains of one kind of cut so far, summed; what they predict is kept up to date."""

    cuts: int = 0
    more: int = 0
    suppression: float = 0.0
    gains: int = 0
    gain: float = 0.0
    mean_gain: float = 0.0
    factor: float = 1.0

    def suppresses(self, factor: float) -> None:
        """Add by how much more was suppressed."""
        self.cuts += 1
        self.more += factor > 1.0
        self.suppression += math.log(factor)
        self.factor = math.exp(self.suppression / self.cuts)

    def gains_by(self, gain: float) -> None:
        """Add by how much a bound rose."""
        self.gains += 1
        self.gain += gain
        self.mean_gain = self.gain / self.gains


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of a box [bottom, top] between two levels of an attribute.

    One half ends at ``low_top``, the other begins at ``high_bottom``. ``now`` is the bound of the whole box by its top.
    """

    axis: int
    level: int
    low_top: Node
    high_bottom: Node
    now: float


class Branching:
    """Chooses cuts, and learns from their verdicts. One owner: the search that runs."""

    def __init__(self, problem: Problem) -> None:
        self._allowed = problem.catalog.allowed
        self._nothing = self._allowed <= problem.catalog.uncovered
        self._all = _Experience()
        self._of_classes = problem.measure.needs == "classes"
        self._down: dict[tuple[int, int, int], _Experience] = {}
        self._up: dict[tuple[int, int, int], _Experience] = {}
        self._gauges = _gauges(problem)
        self._unseen = {
            (axis, level, high): math.exp(UNSEEN_SUPPRESSION * (gauge[high] - gauge[level]))
            for axis, gauge in enumerate(self._gauges)
            for high in gauge
            for level in gauge
            if level < high
        }

    def cut(self, bottom: Node, top: Verdict, bounds: BoxBounds, facts: BottomFacts | None, most: float) -> Cut:
        """Return the cut that is expected to raise the bounds of the two halves the most.

        Args:
            bounds: those under ``top``.
            facts: of a judged node at or below ``bottom``, for measures of classes.
            most: the loss of the incumbent; infinite without one. What rises higher is pruned.
        """
        now = bounds.of(bottom, facts)
        climbs, unit = bounds.climbs(bottom, facts)
        missing = max(most - now, 0.0)
        whole = missing < math.inf
        against = top.lower_bounds.counted_against_limit + 1
        trust = 1.0 if self._nothing else TRUST
        best, choice = -math.inf, (0, 0)
        for axis, (low, high) in enumerate(zip(bottom, top.node, strict=True)):
            if low == high:
                continue
            climb = climbs[axis]
            start, end = climb[low], climb[high]
            for level in range(low, high):
                kind = (axis, level, high)
                known = self._down.get(kind)
                if known is None:
                    down, factor = UNSEEN_GAIN * (end - climb[level]) * unit, self._unseen[kind]
                else:
                    down, factor = known.mean_gain, known.factor
                if self._nothing:
                    down += self._chance(known) * max((missing if whole else 1.0 + down) - down, 0.0)
                elif against * factor > self._allowed + 1:  # expected to suppress too much
                    down = missing if whole else 1.0 + down
                up = (climb[level + 1] - start) * unit
                if self._of_classes and (risen := self._up.get((axis, level, low))):
                    up = max(up, risen.mean_gain)
                score = (up if up < missing else missing) + trust * (down if down < missing else missing)
                if score > best or (score == best and self._halves_better(bottom, top.node, (axis, level), choice)):
                    best, choice = score, (axis, level)
        axis, level = choice
        return Cut(
            axis,
            level,
            (*top.node[:axis], level, *top.node[axis + 1 :]),
            (*bottom[:axis], level + 1, *bottom[axis + 1 :]),
            now,
        )

    def learn_down(self, cut: Cut, top: Verdict, low: Verdict, bound: float | None) -> None:
        """Remember what the lower half of a cut brought: how much more its top suppresses, and its bound, if known."""
        kind = (cut.axis, cut.level, top.node[cut.axis])
        known = self._down.get(kind)
        if known is None:
            known = self._down[kind] = _Experience()
        factor = (low.lower_bounds.counted_against_limit + 1) / (top.lower_bounds.counted_against_limit + 1)
        known.suppresses(factor)
        self._all.suppresses(factor)
        if bound is not None:
            known.gains_by(bound - cut.now)

    def learn_up(self, cut: Cut, bottom: Node, bound: float) -> None:
        """Remember the bound that the judged bottom of the upper half brought."""
        self._up.setdefault((cut.axis, cut.level, bottom[cut.axis]), _Experience()).gains_by(bound - cut.now)

    def _chance(self, known: _Experience | None) -> float:
        """Return how likely a cut is to bring more suppression: the share of its kind, with that of all as one more."""
        share = (self._all.more + 1) / (self._all.cuts + 2)
        return share if known is None else (known.more + share) / (known.cuts + 1)

    def _halves_better(self, bottom: Node, top: Node, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Return the preference among equal scores: the widest gap of the gauge, cut where it halves."""
        return self._halving(bottom, top, *one) > self._halving(bottom, top, *other)

    def _halving(self, bottom: Node, top: Node, axis: int, level: int) -> float:
        gauge = self._gauges[axis]
        low, high = gauge[bottom[axis]], gauge[top[axis]]
        return min(gauge[level] - low, high - gauge[level]) + (high - low)


def _gauges(problem: Problem) -> list[dict[int, float]]:
    """Return per attribute how far up each level stands, between 0 and 1."""
    gauge, lattice = problem.measure.gauge, problem.lattice
    bottom = lattice.bottom
    least, most = gauge(bottom), gauge(lattice.top)
    return [
        {
            level: (gauge((*bottom[:axis], level, *bottom[axis + 1 :]))[axis] - least[axis])
            / max(most[axis] - least[axis], 1e-300)
            for level in range(bottom[axis], lattice.top[axis] + 1)
        }
        for axis in range(len(bottom))
    ]
