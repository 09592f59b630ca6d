"""Discernibility (Bayardo and Agrawal): a published record costs the size of its class, a suppressed one N.

    loss = sum over published classes of n² + N * S

The bound for a candidate x in a box [a, b], from a judged z <= a: a record's class at x is a union of classes of z
and holds at least m records if it is published, so the record costs at least max(m, n_z), n_z being the size of its
class at z; summed: ``BottomFacts.spread``. Of a failing class y of b with n records at least s(y) are suppressed and
cost N; their classes at z lie within y, so what the first sum counts for each of them is at most max(m, n), and
``LowerBounds.forced`` may be added. Uncovered records cost N each.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import BottomFacts, ClassMeasure, Counts, LowerBounds


class Discernibility(ClassMeasure):
    """See the module's docstring. Integers throughout; one division-free sum."""

    name = "discernibility"

    def loss(self, node: Node, counts: Counts) -> float:
        return float(counts.squares + self._catalog.population * counts.suppressed)

    def bound(self, bottom: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds) -> float:
        spread = bottom_facts.spread if bottom_facts is not None else 0
        return float(spread + lower_bounds.forced + self._catalog.population * self._catalog.uncovered)
