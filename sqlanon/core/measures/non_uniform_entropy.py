"""Non-uniform entropy (Gionis and Tassa): the bits that are missing to know the original value from the published one.

    loss_i = sum over original values o of n_o log2(n_g(o) / n_o)  over all N records
           + sum over generalized values g of the S suppressed records of s_g log2(S / s_g)

Unnormalised, in bits; the sum over the attributes by default. With h(n) = n ln n the first term is
(sum of h(n_g) - sum of h(n_o)) / ln 2, known for every level from one-dimensional counts, and the second is
(h(S) - sum of h(s_g)) / ln 2.

Why f + g is a bound: merging values raises the sum of h, so f rises with generalization. g is S times the entropy of
the generalized values among the suppressed records: its derivative by s_g is log2(S / s_g) >= 0, so it rises with
every count, and splitting a value raises it, so it falls with generalization.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, Need

NOISE = 1e-12


class NonUniformEntropy(AttributeMeasure):
    """See the module's docstring. ``costs`` are sums of s ln s over the values of suppressed encoded records."""

    name = "non_uniform_entropy"
    needs: Need | None = "surprisals"
    aggregates = ("sum", "arithmetic_mean", "geometric_mean", "maximum")

    def floor(self, node: Node) -> tuple[float, ...]:
        return tuple(
            _difference(a.surprisals[1 + level], a.surprisals[0]) / math.log(2.0)
            for a, level in zip(self._catalog.attributes, node, strict=True)
        )

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        whole = suppressed * math.log(suppressed) if suppressed else 0.0
        return tuple(_difference(whole, cost) / math.log(2.0) for cost in costs)


def _difference(larger: float, smaller: float) -> float:
    """Return the difference of two large sums; 0 where it is only the noise of adding up in another order."""
    difference = larger - smaller
    return difference * (difference > NOISE * abs(larger))  # of arrays, too
