"""Loss (Iyengar): the share of the domain that a published value may stand for.

Per attribute, leaves(v) of D leaves lie under a published value v; a suppressed record counts D. Normalised so
that an ungeneralized value costs 0 and a fully generalized or suppressed one 1 (SPEC-measures):

    loss_i = (A_i - N/D) / (N - N/D) = sum over records of (leaves - 1) / (N * (D - 1))

Why f + g is a bound: leaves(v) does not fall when v is generalized, so f = sum of (leaves - 1) over all records
rises; g = sum over suppressed records of (D - leaves) rises with every record and falls as leaves rises.
Numerators are integers and are divided once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, Measure, Need


def record_factors(catalog: Catalog) -> tuple[int, ...]:
    """Return per attribute a whole number: times D - leaves, summed over the attributes, that is what suppressing a
    record costs by its weighted loss, on a scale that fits 62 bits.

    Whole numbers add up to the same sum on every engine and in any order, so that classes are ranked by them.
    """
    most = max((attribute.weight for attribute in catalog.attributes), default=0.0)
    scale = 1 << (62 - len(catalog.attributes).bit_length())
    shares = [
        Fraction(str(a.weight)) / Fraction(str(most)) / (a.domain - 1) if most > 0 and a.domain > 1 else Fraction(0)
        for a in catalog.attributes
    ]
    whole = math.lcm(*[share.denominator for share in shares])
    scale -= scale % whole if whole <= scale else 0  # so that equal sums of shares are equal numbers
    return tuple(int(share * scale) for share in shares)


class Loss(AttributeMeasure):
    """See the module's docstring. ``costs`` are sums of D - leaves over suppressed encoded records."""

    name = "loss"
    needs: Need | None = "costs"
    ceiling = 1.0

    def __init__(self, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> None:
        super().__init__(catalog, aggregate, size)
        population, encoded = catalog.population, catalog.encoded
        self._scale = tuple(
            population * (attribute.domain - 1) if attribute.domain > 1 else 0 for attribute in catalog.attributes
        )
        # Records that `uncovered: suppress` removed cost D - 1 whatever the node.
        self._floor = tuple(
            tuple(
                max(encoded * (a.domain - 1) - cost + catalog.uncovered * (a.domain - 1), 0) / scale if scale else 0.0
                for cost in a.costs
            )
            for a, scale in zip(catalog.attributes, self._scale, strict=True)
        )

    def floor(self, node: Node) -> tuple[float, ...]:
        return tuple([per_level[level] for per_level, level in zip(self._floor, node, strict=True)])

    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        return tuple([cost / scale if scale else 0.0 for cost, scale in zip(costs, self._scale, strict=True)])

    def penalty(
        self, node: Node, min_suppressed: int, costs: Sequence[Sequence[float]]
    ) -> tuple[tuple[float, ...], ...]:
        """Do as ``added``, level by level: what the records cost at one does not depend on the others."""
        return tuple(
            [
                tuple([cost / scale if scale else 0.0 for cost in per[: level + 1]])
                for per, scale, level in zip(costs, self._scale, node, strict=True)
            ]
        )


def decides(measure: Measure | None) -> bool:
    """Return whether classes of one size may add unlike amounts to a measure though their values have lost as much by
    the weighted ``loss``: which of them are suppressed is then for the measure to decide (SPEC-risk)."""
    if measure is None or measure.needs not in ("costs", "surprisals"):
        return False  # it depends on sizes
    return type(measure) is not Loss or measure.aggregate not in ("arithmetic_mean", "sum")
