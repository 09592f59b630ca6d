"""What a quality measure answers, and the aggregates that fold the losses of the attributes into one number.

Every aggregate here rises (weakly) with each attribute's loss, which is all that a box bound needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from sqlanon.catalog import Catalog
from sqlanon.lattice import Node


class Measure(Protocol):
    """An attribute-based quality measure: loss = f + g.

    ``floor(node)`` is f per attribute, what generalization alone costs; ``penalty(...)`` is g per attribute,
    what suppression adds. Both are >= 0, f rises with generalization, and g falls with it for every model
    whose failing records stay failing when the data is made more specific. So for x in a box [a, b]:
    loss_i(x) >= f_i(a) + g_i(b). (DESIGN section 4)
    """

    name: str
    needs_costs: bool

    def floor(self, node: Node) -> tuple[float, ...]:
        """f per attribute."""
        ...

    def penalty(self, node: Node, suppressed: int, costs: Sequence[int]) -> tuple[float, ...]:
        """g per attribute, of ``suppressed`` encoded records whose D - leaves sum to ``costs``."""
        ...


def aggregate(name: str, losses: Sequence[float], weights: Sequence[float]) -> float:
    """Fold attribute losses into one number (SPEC-measures, aggregates).

    Weights multiply the attribute's loss; a mean divides by the sum of weights. Without attributes: 0.

    >>> aggregate("arithmetic_mean", [0.0, 1.0], [1.0, 3.0])
    0.75
    """
    if not losses:
        return 0.0
    weighted = [loss * weight for loss, weight in zip(losses, weights, strict=True)]
    if name == "sum":
        return math.fsum(weighted)
    if name == "maximum":
        return max(weighted)
    if name == "geometric_mean":
        return math.prod(loss + 1.0 for loss in weighted) ** (1.0 / len(weighted)) - 1.0
    total = math.fsum(weights)
    return math.fsum(weighted) / total if total > 0 else 0.0


AGGREGATES = ("arithmetic_mean", "sum", "geometric_mean", "maximum")


def weights(catalog: Catalog) -> tuple[float, ...]:
    """The attributes' weights."""
    return tuple(attribute.weight for attribute in catalog.attributes)
