"""The protocol of a quality measure, and the aggregates that fold the losses of the attributes into one number.

A search needs two things of a measure: the loss of a judged node, and a lower bound for all candidates of a box
[a, b] of nodes. The bound may use what is certain because of the box's top (``LowerBounds``), and what follows from
the classes of a judged node at or below the box's bottom (``BottomFacts``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node

AGGREGATES = ("arithmetic_mean", "sum", "geometric_mean", "maximum")
Need = Literal["costs", "surprisals", "classes"]
"""What a measure needs to know of every node.

- ``costs``: per attribute, the sum of D - leaves over its suppressed records.
- ``surprisals``: per attribute, the sum of s ln s over the generalized values of its suppressed records.
- ``classes``: the counts of its classes in ``BottomFacts`` and ``Counts``.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """The exact counts of a judged node: what its classes come to, and what holds of every more specific node.

    ``suppressed`` and ``min_suppressed`` include the records of ``uncovered: suppress``.

    Attributes:
        suppressed: records in failing classes.
        costs: per attribute, what the measure needs of the suppressed encoded records (``Need``).
        classes: published classes.
        squares: sum of the squared sizes of the published classes.
        grain: rows of the node's table of classes.
        smallest, largest: sizes of the smallest and largest published class, None when nothing is published.
        min_suppressed: at least so many of the suppressed records are suppressed at every more specific node too.
        min_total: at least so many records are suppressed there in all, of whatever classes (release models).
        min_costs: per attribute and level up to the node's, at least what the measure needs of these.
        forced: see ``LowerBounds``.
        spread, large, small_records: see ``BottomFacts``.
        public_only: classes without records of the subset (δ-presence).
        by_model: per privacy model, the records in classes that it fails, were it alone; () when not asked for.
        suppressed_entities: entities with a suppressed record; None without an entity.
        min_suppressed_entities: those with a record in a class that is suppressed whole at every more specific node.
        smallest_entities: entities of the published class that has the fewest.
    """

    suppressed: int
    costs: Sequence[float] = ()
    classes: int = 0
    squares: int = 0
    grain: int = 0
    smallest: int | None = None
    largest: int | None = None
    min_suppressed: int = 0
    min_total: int = 0
    min_costs: Sequence[Sequence[float]] = ()
    forced: int = 0
    spread: int = 0
    large: int = 0
    small_records: int = 0
    public_only: int = 0
    by_model: tuple[int, ...] = ()
    suppressed_entities: int | None = None
    min_suppressed_entities: int | None = None
    smallest_entities: int | None = None

    @classmethod
    def from_row(
        cls,
        row: Mapping[str, Any],
        *,
        required: Collection[str],
        uncovered: int,
        costs: Sequence[float],
        min_costs: Sequence[Sequence[float]],
    ) -> Self:
        """Read the row of a node, by the names of its columns; a count that was not asked for keeps its default.

        A statement that does not count ``min_suppressed`` is about models that suppress a failing class whole at every
        more specific node: then it is ``suppressed``. The same holds of entities.

        Args:
            row: ``model_<i>`` is what the model at place i suppresses alone; numbers may be decimals.
            required: the counts that a verdict rests on (``search.verdicts.required_counts``).
            uncovered: the records of ``uncovered: suppress``, which no row counts.

        Raises:
            KeyError: the row lacks a required count. That is a fault of the statement, never of the data.
        """
        if missing := set(required) - row.keys():
            raise KeyError(f"The statement does not count {', '.join(sorted(missing))}.")
        counts = {name: None if (n := row[name]) is None else int(n) for name in cls.__slots__ if name in row}
        suppressed: int = counts.pop("suppressed") or 0
        least = counts.pop("min_suppressed", suppressed) or 0
        counts.setdefault("min_suppressed_entities", counts.get("suppressed_entities"))
        by_model = tuple(int(n) for name, n in row.items() if name.startswith("model_"))
        known: dict[str, Any] = {**counts, "by_model": by_model, "costs": costs, "min_costs": min_costs}
        return cls(suppressed=suppressed + uncovered, min_suppressed=least + uncovered, **known)

    @property
    def bottom_facts(self) -> BottomFacts:
        """The facts about these classes that bound every node above."""
        return BottomFacts(self.spread, self.large, self.small_records)


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """What holds for every candidate at or below a judged node y, by the bounds of the models (``min_suppressed``).

    Attributes:
        suppressed: at least so many records are suppressed, those of ``uncovered: suppress`` included.
        penalty: per attribute and level up to that of y, what suppressing them adds at least to what generalizing
            everything to that level costs; () when nothing is certain to be suppressed.
        forced: sum over the failing classes of y of min_suppressed * (N - max(m, n)), m being the least size of a
            class.
        entities: at least so many entities have a suppressed record; None when records are counted, or none is.
    """

    suppressed: int
    penalty: tuple[tuple[float, ...], ...] = ()
    forced: int = 0
    entities: int | None = None

    @property
    def counted_against_limit(self) -> int:
        """The amount that certainly counts against the limit on suppression."""
        return self.suppressed if self.entities is None else self.entities


@dataclass(frozen=True, slots=True)
class BottomFacts:
    """Facts about the classes of a judged node z that bound every node above.

    m is the least size of a class that can pass.

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
        """What it needs to know of every node; None for nothing."""
        ...

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The aggregates it may fold with, its default first; () for measures of classes."""
        ...

    @property
    def aggregate(self) -> str | None:
        """The aggregate it folds with."""
        ...

    def loss(self, node: Node, counts: Counts) -> float:
        """Return the loss of a node."""
        ...

    def losses(self, node: Node, counts: Counts) -> tuple[float, ...]:
        """Return the own loss of each attribute at a node, before weights and folding; () for measures of classes."""
        ...

    def penalty(
        self, node: Node, min_suppressed: int, costs: Sequence[Sequence[float]]
    ) -> tuple[tuple[float, ...], ...]:
        """Return g of the records that are certain to be suppressed, per attribute and level up to that of ``node``.

        It is () for measures of classes.

        Args:
            min_suppressed: how many encoded records these are.
            costs: per attribute and level, at least what the measure needs of these records (``Need``).
        """
        ...

    def bound(self, bottom: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds) -> float:
        """Return a lower bound on the loss of every candidate between ``bottom`` and the node of ``lower_bounds``."""
        ...

    def bounds_along_axes(
        self, bottom: Node, top: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds
    ) -> list[list[float]]:
        """Return per attribute the bounds when ``bottom`` climbs along it alone, level by level, up to ``top``."""
        ...

    def gauge(self, node: Node) -> tuple[float, ...]:
        """Return per attribute how far up a node stands, on a scale by which a search cuts boxes."""
        ...


class AttributeMeasure(ABC):
    """A measure whose loss is folded from losses of the attributes, loss_i = f_i + g_i.

    ``floor(node)`` is f, what generalization alone costs: it rises with generalization and needs no query.
    ``added(...)`` is g, what suppression adds: it rises with every suppressed record, and falls when the generalized
    values of suppressed records become more general.

    A bound for a candidate x in a box [a, b]: the records certainly suppressed at b are suppressed at x, whose loss is
    at least what it would be if x stood at a's levels and suppressed those records alone: f(a) + g(those records at the
    levels of a), folded by any aggregate. What they cost at the levels of a is not known by their class at b, but
    the least of what it can be. (docs/design/search.md)
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
        """Return f per attribute."""

    @abstractmethod
    def added(self, node: Node, suppressed: int, costs: Sequence[float]) -> tuple[float, ...]:
        """Return g per attribute of so many suppressed encoded records."""

    def penalty(
        self, node: Node, min_suppressed: int, costs: Sequence[Sequence[float]]
    ) -> tuple[tuple[float, ...], ...]:
        rows = []
        for level in range(max(node, default=-1) + 1):
            lower = tuple(min(own, level) for own in node)
            rows.append(self.added(lower, min_suppressed, [per[at] for per, at in zip(costs, lower, strict=True)]))
        return tuple(tuple(rows[level][i] for level in range(own + 1)) for i, own in enumerate(node))

    def loss(self, node: Node, counts: Counts) -> float:
        return self._fold(
            [loss * weight for loss, weight in zip(self.losses(node, counts), self._weights, strict=True)]
        )

    def losses(self, node: Node, counts: Counts) -> tuple[float, ...]:
        added = self.added(node, counts.suppressed - self._catalog.uncovered, counts.costs)
        return tuple([min(f + g, self.ceiling) for f, g in zip(self.floor(node), added, strict=True)])

    def bound(self, bottom: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds) -> float:
        return self._fold([part for (part,) in self._parts(bottom, bottom, lower_bounds)])

    def bounds_along_axes(
        self, bottom: Node, top: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds
    ) -> list[list[float]]:
        under = PartBounds(self, top, lower_bounds)
        now, (rows, unit) = under.of(bottom, bottom_facts), under.climbs(bottom, bottom_facts)
        return [
            [now + (row[level] - row[low]) * unit for level in range(low, high + 1)]
            for row, low, high in zip(rows, bottom, top, strict=True)
        ]

    def gauge(self, node: Node) -> tuple[float, ...]:
        return tuple(f * weight for f, weight in zip(self.floor(node), self._weights, strict=True))

    @property
    def adds_up(self) -> bool:
        """Whether the loss is the sum of the losses of groups of attributes (``of_group``), and its bounds are too.

        So it is for a sum and an arithmetic mean, unless a measure from outside has a loss or bounds of its own.
        """
        own = type(self)
        names = ("loss", "losses", "bound", "bounds_along_axes")
        return self.unit is not None and all(getattr(own, n) is getattr(AttributeMeasure, n) for n in names)

    def of_group(self, columns: Collection[int]) -> Self:
        """Return what some attributes contribute to this measure: the others weigh nothing."""
        group = copy(self)
        group._total = self._total
        group._weights = tuple(weight if i in columns else 0.0 for i, weight in enumerate(self._weights))
        return group

    @cached_property
    def _floors(self) -> tuple[tuple[float, ...], ...]:
        """Return f per attribute and level."""
        top = self._catalog.top
        rows = [self.floor(tuple(min(level, high) for high in top)) for level in range(max(top, default=-1) + 1)]
        return tuple(tuple(rows[level][i] for level in range(high + 1)) for i, high in enumerate(top))

    def _parts(self, bottom: Node, top: Node, lower_bounds: LowerBounds) -> tuple[tuple[float, ...], ...]:
        """Return per attribute, for the levels from ``bottom`` to ``top``, its weighted part of a bound: f + g."""
        ceiling, penalty = self.ceiling, lower_bounds.penalty or self._no_penalty
        rows = zip(self._floors, penalty, bottom, top, self._weights, strict=True)
        return tuple(  # of tuples, which the garbage collector soon forgets
            [
                tuple(
                    [
                        (loss if (loss := f + g) < ceiling else ceiling) * weight
                        for f, g in zip(floors[low : high + 1], more[low : high + 1], strict=True)
                    ]
                    if weight
                    else (0.0,) * (high + 1 - low)
                )
                for floors, more, low, high, weight in rows
            ]
        )

    def _fold(self, parts: list[float]) -> float:
        """Fold the weighted losses of the attributes."""
        return _folded(self.aggregate or "sum", parts, self._total)

    @cached_property
    def _no_penalty(self) -> tuple[tuple[float, ...], ...]:
        return tuple((0.0,) * len(floors) for floors in self._floors)

    @cached_property
    def _total(self) -> float:
        return math.fsum(self._weights)

    @cached_property
    def unit(self) -> float | None:
        """What a step of one weighted part adds to the folded loss; None where that depends on the others."""
        if self.aggregate == "arithmetic_mean":
            return 1.0 / self._total if self._total > 0 else 0.0
        return 1.0 if self.aggregate == "sum" else None


class ClassMeasure(ABC):
    """A measure of the sizes of classes; its bounds come from judged nodes below and above a box."""

    needs: Need | None = "classes"
    aggregates: tuple[str, ...] = ()
    aggregate: str | None = None

    def __init__(self, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> None:
        self._catalog = catalog
        self._size = max(size, 1)

    def losses(self, node: Node, counts: Counts) -> tuple[float, ...]:
        return ()

    def penalty(
        self, node: Node, min_suppressed: int, costs: Sequence[Sequence[float]]
    ) -> tuple[tuple[float, ...], ...]:
        return ()

    @abstractmethod
    def bound(self, bottom: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds) -> float: ...

    def bounds_along_axes(
        self, bottom: Node, top: Node, bottom_facts: BottomFacts | None, lower_bounds: LowerBounds
    ) -> list[list[float]]:
        """Repeat the bound at every level: it rests on judged nodes only, so climbing does not raise it."""
        now = self.bound(bottom, bottom_facts, lower_bounds)
        return [[now] * (high - low + 1) for low, high in zip(bottom, top, strict=True)]

    def gauge(self, node: Node) -> tuple[float, ...]:
        """Return how many times fewer values an attribute has than at level 0, on a logarithmic scale."""
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
    return _folded(name, [loss * weight for loss, weight in zip(losses, weights, strict=True)], math.fsum(weights))


def _folded(name: str, weighted: list[float], total: float) -> float:
    if not weighted:
        return 0.0
    if name == "sum":
        return math.fsum(weighted)
    if name == "maximum":
        return max(weighted)
    if name == "geometric_mean":
        return math.prod([loss + 1.0 for loss in weighted]) ** (1.0 / len(weighted)) - 1.0
    return math.fsum(weighted) / total if total > 0 else 0.0


class BoxBounds:
    """Lower bounds on the losses of all candidates in the boxes under one judged node; of any measure.

    A search cuts many boxes from under a node: what they share is computed once.
    """

    def __init__(self, measure: Measure, top: Node, lower_bounds: LowerBounds) -> None:
        self._measure, self._top, self._lower_bounds = measure, top, lower_bounds

    def of(self, bottom: Node, bottom_facts: BottomFacts | None) -> float:
        """Return the bound of the box from ``bottom`` up to the node."""
        return self._measure.bound(bottom, bottom_facts, self._lower_bounds)

    def climbs(self, bottom: Node, bottom_facts: BottomFacts | None) -> tuple[Sequence[Sequence[float]], float]:
        """Return how the bound rises when ``bottom`` climbs along one attribute alone.

        Returns: per attribute a number for every level from that of the bottom on (those of lower levels mean nothing),
            and what a difference of two of them is to be multiplied with.
        """
        steps = self._measure.bounds_along_axes(bottom, self._top, bottom_facts, self._lower_bounds)
        return [steps[:1] * low + steps for steps, low in zip(steps, bottom, strict=True)], 1.0


class PartBounds(BoxBounds):
    """The same of a measure of attributes: the parts of the attributes are looked up, and folded.

    Attributes:
        parts: per attribute and level up to that of the node, its weighted part of the bound.
    """

    def __init__(self, measure: AttributeMeasure, top: Node, lower_bounds: LowerBounds) -> None:
        self._fold, self.unit = measure._fold, measure.unit
        self.parts = measure._parts((0,) * len(top), top, lower_bounds)

    def of(self, bottom: Node, bottom_facts: BottomFacts | None) -> float:
        return self._fold([parts[level] for parts, level in zip(self.parts, bottom, strict=True)])

    def climbs(self, bottom: Node, bottom_facts: BottomFacts | None) -> tuple[Sequence[Sequence[float]], float]:
        if self.unit is not None:
            return self.parts, self.unit
        now = [parts[level] for parts, level in zip(self.parts, bottom, strict=True)]
        return [
            [self._fold([*now[:axis], part, *now[axis + 1 :]]) for part in parts]
            for axis, parts in enumerate(self.parts)
        ], 1.0


def bounds_under(measure: Measure, top: Node, lower_bounds: LowerBounds) -> BoxBounds:
    """Return the bounds of the boxes under a judged node; those of a measure that has its own come from it."""
    own: Any = type(measure)
    if isinstance(measure, AttributeMeasure) and (own.bound, own.bounds_along_axes) == (
        AttributeMeasure.bound,
        AttributeMeasure.bounds_along_axes,
    ):
        return PartBounds(measure, top, lower_bounds)
    return BoxBounds(measure, top, lower_bounds)
