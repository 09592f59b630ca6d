"""Weighted information loss (ANON): what the levels lose by their hierarchies, weighted by priority.

    loss = sum over attributes of priority_i * phi_i(x_i)

phi_i is the information loss of each level, as the hierarchy gives it (``information_loss``; it never falls from one
level to the next), by default x_i / (height_i - 1), and 0 for attributes of height 1. Priorities are the weights of
the columns. Suppression does not enter, so the bound is the loss of the box's bottom.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.lattice.catalog import Attribute
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure


class WeightedInformationLoss(AttributeMeasure):
    """See the module's docstring."""

    name = "weighted_information_loss"
    aggregates = ("sum",)

    def floor(self, node: Node) -> tuple[float, ...]:
        """Return phi of the levels."""
        return tuple(_loss(a, level) for a, level in zip(self._catalog.attributes, node, strict=True))

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        return (0.0,) * len(node)


def _loss(attribute: Attribute, level: int) -> float:
    if attribute.losses:
        return attribute.losses[level]
    return level / (attribute.height - 1) if attribute.height > 1 else 0.0
