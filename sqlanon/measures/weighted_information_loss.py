"""Weighted information loss (ANON): the levels on the scale of their hierarchies, weighted by priority.

    loss = sum over attributes of priority_i * x_i / (height_i - 1),   0 for attributes of height 1

Priorities are the weights of the columns. Suppression does not enter, so the bound is the loss of the box's bottom.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.lattice import Node
from sqlanon.measures.base import AttributeMeasure


class WeightedInformationLoss(AttributeMeasure):
    """See the module's docstring."""

    name = "weighted_information_loss"
    aggregates = ("sum",)

    def floor(self, node: Node) -> tuple[float, ...]:
        """The levels on the scale of their hierarchies."""
        return tuple(
            level / (a.height - 1) if a.height > 1 else 0.0
            for a, level in zip(self._catalog.attributes, node, strict=True)
        )

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        """Nothing."""
        return (0.0,) * len(node)
