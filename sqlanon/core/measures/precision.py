"""Precision (Sweeney): how far up its hierarchy a published value stands; a suppressed record stands at the top.

    loss_i = ((N - S) * x_i / (height_i - 1) + S) / N,   0 for attributes of height 1

Why f + g is a bound: f = x_i / (height_i - 1) rises with generalization; g = S/N * (1 - f) rises with S and falls
as f rises.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure


class Precision(AttributeMeasure):
    """See the module's docstring. Needs the number of suppressed records only."""

    name = "precision"

    def _share(self, node: Node) -> list[float]:
        return [
            level / (a.height - 1) if a.height > 1 else 0.0
            for a, level in zip(self._catalog.attributes, node, strict=True)
        ]

    def _suppression(self, share: list[float], suppressed: int) -> tuple[float, ...]:
        population = self._catalog.population
        return tuple(
            suppressed * (1.0 - part) / population if a.height > 1 and population else 0.0
            for a, part in zip(self._catalog.attributes, share, strict=True)
        )

    def floor(self, node: Node) -> tuple[float, ...]:
        """Return f per attribute: generalization, plus the records that ``uncovered: suppress`` removed."""
        share = self._share(node)
        extra = self._suppression(share, self._catalog.uncovered)
        return tuple(part + more for part, more in zip(share, extra, strict=True))

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        return self._suppression(self._share(node), suppressed)
