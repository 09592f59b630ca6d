"""What a quality measure answers, and the aggregates that fold the losses of the attributes into one number.

A search needs two things of a measure: the loss of a judged node, and a lower bound for all candidates of a box
[a, b] of nodes. The bound may use what is certain because of the box's top (``Certain``), and what the classes of a
judged node at or below the box's bottom say (``Ground``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sqlanon.catalog import Catalog
from sqlanon.lattice import Node

AGGREGATES = ("arithmetic_mean", "sum", "geometric_mean", "maximum")
Need = Literal["costs", "surprisals", "classes"]
"""What a measure asks of every node: per attribute the sum of D - leaves over its suppressed records, or the sum of
s ln s over the generalized values of its suppressed records; or what ``Ground`` and ``Tally`` say about its classes."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a node does to the records: exact counts.

    Attributes:
        suppressed: records, those of ``uncovered: suppress`` included.
        costs: per attribute, what the measure needs of the suppressed encoded records (``Need``).
        classes: published classes.
        squares: sum of the squared sizes of the published classes.
    """

    suppressed: int
    costs: Sequence[float]
    classes: int
    squares: int = 0


@dataclass(frozen=True, slots=True)
class Certain:
    """What holds for every candidate at or below a judged node y, by the bounds of the models (``lost``).

    Attributes:
        suppressed: at least so many records are suppressed, those of ``uncovered: suppress`` included.
        penalty: g per attribute, at least so much is what suppression adds.
        forced: sum over the failing classes of y of lost * (N - max(m, n)), m being the least size of a class.
    """

    suppressed: int
    penalty: tuple[float, ...] = ()
    forced: int = 0


@dataclass(frozen=True, slots=True)
class Ground:
    """What the classes of a judged node z say about every node above it; m is the least size of a class that can pass.

    Attributes:
        spread: sum over the classes of n * max(m, n).
        large: number of classes with at least m records.
        small_records: records in smaller ones.
    """

    spread: int
    large: int
    small_records: int


class Measure(Protocol):
    """A quality measure for an encoded source. Smaller is better, nothing is negative."""

    @property
    def name(self) -> str:
        """Its name in a policy."""
        ...

    @property
    def needs(self) -> Need | None:
        """What it asks of every node."""
        ...

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The aggregates it may fold with, its default first; () for measures of classes."""
        ...

    @property
    def aggregate(self) -> str | None:
        """The aggregate it folds with."""
        ...

    def loss(self, node: Node, tally: Tally) -> float:
        """The loss of a node."""
        ...

    def penalty(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        """g per attribute of so many suppressed encoded records; () for measures of classes."""
        ...

    def bound(self, bottom: Node, ground: Ground | None, certain: Certain) -> float:
        """A lower bound on the loss of every candidate between ``bottom`` and the node that ``certain`` is of."""
        ...

    def gauge(self, node: Node) -> tuple[float, ...]:
        """Per attribute, how far up a node stands on a scale that tells a search where to cut a box."""
        ...


class AttributeMeasure(ABC):
    """A measure whose loss is folded from losses of the attributes, loss_i = f_i + g_i.

    ``floor(node)`` is f, what generalization alone costs: it rises with generalization and needs no query.
    ``penalty(...)`` is g, what suppression adds: it rises with every suppressed record, and falls when the generalized
    values of suppressed records become more general. So for x in a box [a, b], every aggregate of f_i(a) + g_i of what
    is certainly suppressed at b is a lower bound. (docs/design.md, "The search")
    """

    needs: Need | None = None
    aggregates: tuple[str, ...] = AGGREGATES
    ceiling = math.inf

    def __init__(self, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> None:
        self._catalog = catalog
        self._weights = tuple(attribute.weight for attribute in catalog.attributes)
        self.aggregate: str | None = aggregate if aggregate in self.aggregates else self.aggregates[0]

    @abstractmethod
    def floor(self, node: Node) -> tuple[float, ...]:
        """f per attribute."""

    @abstractmethod
    def penalty(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        """g per attribute."""

    def loss(self, node: Node, tally: Tally) -> float:
        """The folded loss."""
        suppressed = tally.suppressed - self._catalog.uncovered
        return self._fold(self.floor(node), self.penalty(node, suppressed, tally.costs))

    def bound(self, bottom: Node, ground: Ground | None, certain: Certain) -> float:
        """f of the bottom and g of what is certain."""
        return self._fold(self.floor(bottom), certain.penalty)

    def gauge(self, node: Node) -> tuple[float, ...]:
        """f times the weights."""
        return tuple(f * weight for f, weight in zip(self.floor(node), self._weights, strict=True))

    def _fold(self, floor: Sequence[float], penalty: Sequence[float]) -> float:
        parts = [min(f + g, self.ceiling) for f, g in zip(floor, penalty, strict=True)]
        return fold(self.aggregate or "sum", parts, self._weights)


class ClassMeasure:
    """A measure of the sizes of classes; its bounds come from judged nodes below and above a box."""

    needs: Need | None = "classes"
    aggregates: tuple[str, ...] = ()
    aggregate: str | None = None

    def __init__(self, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> None:
        self._catalog = catalog
        self._size = max(size, 1)

    def penalty(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        """Nothing: the loss has no parts by attribute."""
        return ()

    def gauge(self, node: Node) -> tuple[float, ...]:
        """How many times fewer values an attribute has than at level 0, on a logarithmic scale."""
        return tuple(
            math.log(max(a.widths[0], 1) / max(a.widths[level], 1))
            for a, level in zip(self._catalog.attributes, node, strict=True)
        )


def fold(name: str, losses: Sequence[float], weights: Sequence[float]) -> float:
    """Fold attribute losses into one number (SPEC-measures, aggregates); rises with each of them.

    Weights multiply the attribute's loss; a mean divides by the sum of weights. Without attributes: 0.

    >>> fold("arithmetic_mean", [0.0, 1.0], [1.0, 3.0])
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
