"""Height: the sum of the levels. Weights and suppression do not enter, so the bound is the height of the box's
bottom."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure


class Height(AttributeMeasure):
    """See the module's docstring."""

    name = "height"
    aggregates = ("sum",)

    def __init__(self, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> None:
        super().__init__(catalog, aggregate, size)
        self._weights = (1.0,) * len(catalog.attributes)

    def floor(self, node: Node) -> tuple[float, ...]:
        return tuple(map(float, node))

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        return (0.0,) * len(node)
