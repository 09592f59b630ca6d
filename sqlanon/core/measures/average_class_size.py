"""Average class size (LeFevre et al., AECS): records per class, the suppressed records being one class more.

    loss = N / (number of published classes + 1 if S > 0)

The bound for a candidate x in a box [a, b] is a bound on its classes, from a judged z <= a: a published class of x
either contains one of the ``large`` classes of z (with at least m records), no two the same, or consists of smaller
ones and takes at least m of their records. And the published classes hold m records each, of what is not certainly
suppressed.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import BottomFacts, ClassMeasure, Counts, LowerBounds


class AverageClassSize(ClassMeasure):
    """See the module's docstring."""

    name = "average_class_size"

    def loss(self, node: Node, counts: Counts) -> float:
        """Return the loss of a node; N when nothing is published (no solution anyway)."""
        return self._catalog.population / max(counts.classes + (1 if counts.suppressed else 0), 1)

    def bound(self, bottom: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds) -> float:
        population, size = self._catalog.population, self._size
        most = population // size
        if bottom_facts is not None:
            most = min(most, bottom_facts.large + bottom_facts.small_records // size)
        nothing_suppressed = most if lower_bounds.suppressed == 0 else 0
        some_suppressed = 0
        if self._catalog.allowed > 0:
            some_suppressed = min(most, (population - max(lower_bounds.suppressed, 1)) // size) + 1
        return population / max(nothing_suppressed, some_suppressed, 1)
