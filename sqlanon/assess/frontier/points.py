"""A frontier: proven optima over a grid of k and limits, which of them are dominated, the knees, and what a step costs.

Risk is the highest prosecutor risk, 1 / records (or entities) of the smallest published class; utility is the loss, in
which suppressed records are counted by all measures but those that ignore suppression (height, weighted information
loss).

A point is **dominated** if another one has no higher risk and no greater loss, and is better in one of the two.

A **knee** is the point of a curve beyond which less risk costs ever more: of the points that are not dominated, with
risk and loss both scaled to [0, 1], the one farthest below the chord from the first to the last (Satopaa, Albrecht,
Irwin, Raghavan 2011: "Finding a 'kneedle' in a haystack"). A curve of fewer than three points, or that nowhere runs
below its chord, has none. Of equally far points it is the one of less risk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlanon.core.cards import WithCard
from sqlanon.core.facts import Facts, pick
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.words import share, trimmed

NEAR = 1e-9
"""Scaled distances from a chord below this are none."""


@dataclass(frozen=True, slots=True)
class FrontierPoint(Facts):
    """The optimum for one k and one limit on suppression.

    Attributes:
        limit: the share of records (or entities) that may be suppressed, as it was written.
        levels: of the best node; None without a solution.
        certificate: what is proven of its loss; None without a solution.
        ledger: the account of every record; None without a solution.
        reason: why there is no solution, a sentence; None when there is one.
        stopped: the search ended without a solution, which does not prove that there is none.
        carried: the search was stopped by a limit, and the node or its bound comes from other points.
    """

    KEYS = (
        "k limit found levels loss=certificate.loss lower_bound=certificate.lower_bound gap=certificate.gap optimal "
        "evaluated=certificate.evaluated records=ledger.records published=ledger.published "
        "suppressed=ledger.suppressed excluded=ledger.excluded classes=ledger.classes smallest_class "
        "entities?=ledger.entities highest_risk average_risk carried reason"
    )
    k: int
    limit: Decimal
    levels: dict[str, int] | None = None
    certificate: Certificate | None = None
    ledger: Ledger | None = None
    reason: str | None = None
    stopped: bool = False
    carried: bool = False

    @property
    def found(self) -> bool:
        """Whether there is a solution."""
        return self.ledger is not None

    @property
    def place(self) -> tuple[int, Decimal]:
        """Its k and its limit."""
        return self.k, self.limit

    @property
    def loss(self) -> float:
        """The loss of the best node; only of points with a solution."""
        assert self.certificate is not None
        return self.certificate.loss

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no node loses less."""
        return self.certificate is not None and self.certificate.optimal

    @property
    def smallest_class(self) -> int | None:
        """The entities of the published class that has the fewest, or its records without an entity."""
        if self.ledger is None:
            return None
        entities = self.ledger.entities
        return self.ledger.smallest_class if entities is None else entities.smallest_class

    @property
    def highest_risk(self) -> float:
        """The highest prosecutor risk: 1 / the smallest class; 0 without a solution."""
        return 1.0 / self.smallest_class if self.smallest_class else 0.0

    @property
    def average_risk(self) -> float | None:
        """The average prosecutor risk, classes / published records; None with an entity, or without a solution."""
        if self.ledger is None or self.ledger.entities is not None or not self.ledger.published:
            return None
        return self.ledger.classes / self.ledger.published

    @property
    def suppressed(self) -> int:
        """What counts against the limit: suppressed records, or entities that lose any; 0 without a solution."""
        if self.ledger is None:
            return 0
        return self.ledger.suppressed if self.ledger.entities is None else self.ledger.entities.suppressed

    @property
    def suppressed_share(self) -> float:
        """These as a share of all records, or entities; 0 without a solution."""
        if self.ledger is None:
            return 0.0
        whole = self.ledger.records if self.ledger.entities is None else self.ledger.entities.total
        return self.suppressed / whole

    def to_dict(self) -> dict[str, Any]:
        """Return the facts of the point, for the operator: counts are exact. Without a solution they are None."""
        return pick(self, self.KEYS) | {"highest_risk": self.highest_risk if self.found else None}


@dataclass(frozen=True, slots=True)
class Knee(Facts):
    """The knee of a curve.

    Attributes:
        limit: the limit whose points form the curve; None: all points do.
        point: where it is.
        distance: how far below the chord it stands, between 0 and 1, both axes scaled to [0, 1].
    """

    KEYS = "of_limit=limit k=point.k limit=point.limit distance"
    limit: Decimal | None
    point: FrontierPoint
    distance: float


@dataclass(frozen=True, slots=True)
class FrontierStep:
    """What it costs to go from one point to its neighbour: to the next k, or to the next larger limit.

    Attributes:
        loss: what is lost more; negative when less is lost.
        share: this as a share of the loss before; None when that is 0.
        sentence: the same in words.
    """

    before: FrontierPoint
    after: FrontierPoint
    loss: float
    share: float | None
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the step by the places of its points."""
        ends = {"from": pick(self.before, "k limit"), "to": pick(self.after, "k limit")}
        risk = {"highest_risk": self.after.highest_risk - self.before.highest_risk}
        return {**ends, **pick(self, "loss share"), **risk, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class Effort:
    """What the searches of a frontier took, and what they spared each other.

    Attributes:
        evaluated: nodes that the searches gave a verdict, each search by itself.
        judged: nodes whose counts were computed; the other verdicts came from another point with the same k.
        formed: nodes whose classes were formed; those of the others came from another k. None where the database
            judges, which keeps none.
        encodings: how often the source was encoded: for several k's at once, unless a width depends on k.
        seconds: ``encode`` and ``search``.
    """

    evaluated: int
    judged: int
    formed: int | None
    encodings: int
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, repr=False)
class Frontier(WithCard, Facts):
    """The proven optima of a policy over a grid of k and limits on suppression.

    Attributes:
        points: one a k and limit; k ascending, then the limit ascending.
        measure, aggregate: what ``loss`` is.
        warnings: what the user should know of the source.
    """

    KEYS = "measure aggregate k=ks limit=limits points knees steps effort warnings"
    points: tuple[FrontierPoint, ...]
    measure: str
    aggregate: str | None
    unit: str
    effort: Effort
    warnings: tuple[str, ...] = ()
    dominated: dict[tuple[int, Decimal], FrontierPoint] = field(init=False)
    knees: tuple[Knee, ...] = field(init=False)
    steps: tuple[FrontierStep, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [point for point in self.points if point.found]
        object.__setattr__(self, "dominated", dominated_points(found))
        object.__setattr__(self, "knees", tuple(_knees(found)))
        object.__setattr__(self, "steps", tuple(_steps(self.points, self.unit)))

    def point(self, k: int, limit: float | str | Decimal) -> FrontierPoint:
        """Return the point of a k and a limit.

        Raises:
            KeyError: the grid has no such point.
        """
        return {point.place: point for point in self.points}[k, Decimal(str(limit))]

    @property
    def ks(self) -> tuple[int, ...]:
        """The k's of the grid, ascending."""
        return tuple(dict.fromkeys(point.k for point in self.points))

    @property
    def limits(self) -> tuple[Decimal, ...]:
        """The limits of the grid, ascending."""
        return tuple(dict.fromkeys(point.limit for point in self.points))

    @property
    def pareto(self) -> tuple[FrontierPoint, ...]:
        """The points that none dominates, from the highest risk to the lowest."""
        left = [point for point in self.points if point.found and point.place not in self.dominated]
        return tuple(sorted(left, key=lambda point: (-point.highest_risk, point.loss)))

    def remark(self, point: FrontierPoint) -> str:
        """Return in words what is special of a point: a knee, dominated, not proven, carried over; empty if nothing."""
        own = [knee.limit for knee in self.knees if knee.point.place == point.place]
        parts = ["knee" if None in own or len(self.limits) == 1 else "knee of its limit"] if own else []
        if (better := self.dominated.get(point.place)) is not None:
            parts.append(f"dominated by k = {better.k}, limit {percent(better.limit)}")
        if point.certificate is not None and not point.optimal:
            parts.append(point.certificate.nearness)
        if point.carried:
            parts.append("carried over from other points")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the frontier as a JSON document, for the operator: counts are exact."""
        knees = {knee.point.place for knee in self.knees}
        points = [
            {**point.to_dict(), "dominated_by": self._dominating(point), "knee": point.place in knees}
            for point in self.points
        ]
        return pick(self, self.KEYS) | {"points": points}

    def _dominating(self, point: FrontierPoint) -> dict[str, Any] | None:
        better = self.dominated.get(point.place)
        return None if better is None else {"k": better.k, "limit": float(better.limit)}


def dominated_points(points: Sequence[FrontierPoint]) -> dict[tuple[int, Decimal], FrontierPoint]:
    """Return, by the places of the dominated points, one that dominates each: that of least loss, then least risk."""
    found = {}
    for point in points:
        better = [
            other
            for other in points
            if other.highest_risk <= point.highest_risk
            and other.loss <= point.loss
            and (other.highest_risk < point.highest_risk or other.loss < point.loss)
        ]
        if better:
            found[point.place] = min(better, key=lambda other: (other.loss, other.highest_risk, other.place))
    return found


def knee_of(points: Sequence[FrontierPoint]) -> tuple[FrontierPoint, float] | None:
    """Return the knee of the points that none dominates, and its distance below the chord; None without one."""
    dominated = dominated_points(points)
    curve = {(point.highest_risk, point.loss): point for point in reversed(points) if point.place not in dominated}
    if len(curve) < 3:
        return None
    risks, losses = [risk for risk, _ in curve], [loss for _, loss in curve]
    wide, tall = max(risks) - min(risks), max(losses) - min(losses)
    best: tuple[float, float, FrontierPoint] | None = None
    for (risk, loss), point in curve.items():  # without dominated points risk falls as loss rises: both have a width
        below = 1.0 - (risk - min(risks)) / wide - (loss - min(losses)) / tall
        if below > NEAR and (best is None or (below, -risk) > best[:2]):
            best = (below, -risk, point)
    return None if best is None else (best[2], best[0])


def _knees(points: Sequence[FrontierPoint]) -> Iterable[Knee]:
    """Yield the knee of all points, and that of each limit."""
    limits = dict.fromkeys(point.limit for point in points)
    for limit in (None, *limits) if len(limits) > 1 else (*limits,):
        knee = knee_of([point for point in points if limit in (None, point.limit)])
        if knee is not None:
            yield Knee(limit, *knee)


def _steps(points: Sequence[FrontierPoint], unit: str) -> Iterable[FrontierStep]:
    """Yield the steps to the next k at each limit, then to the next limit at each k; past what has no solution."""
    found = [point for point in points if point.found]
    for limit in sorted({point.limit for point in found}):
        line = [point for point in found if point.limit == limit]
        for before, after in pairwise(line):
            start = f"At a limit of {percent(limit)}, going from k = {before.k} to k = {after.k}"
            yield _step(before, after, f"{start} {_cost(before, after)} and {_risk(before, after)}.")
    for k in sorted({point.k for point in found}):
        line = [point for point in found if point.k == k]
        for before, after in pairwise(line):
            start = f"At k = {k}, going from a limit of {percent(before.limit)} to {percent(after.limit)}"
            yield _step(before, after, f"{start} {_cost(before, after)} and {_suppression(before, after, unit)}.")


def _step(before: FrontierPoint, after: FrontierPoint, sentence: str) -> FrontierStep:
    more = after.loss - before.loss
    return FrontierStep(before, after, more, more / before.loss if before.loss else None, sentence)


def _cost(before: FrontierPoint, after: FrontierPoint) -> str:
    """Return in words what a step loses more or less; where one end is not proven to be optimal, that it may differ."""
    more = after.loss - before.loss
    open_ended = "" if before.optimal and after.optimal else " (not proven: one of the two may be no optimum)"
    if abs(more) <= NEAR * max(abs(before.loss), abs(after.loss)):
        return f"leaves the loss as it is{open_ended}"
    part = f" ({share(abs(more) / before.loss)} of it)" if before.loss else ""
    return f"{'raises' if more > 0 else 'lowers'} the loss by {abs(more):.4g}{part}{open_ended}"


def _risk(before: FrontierPoint, after: FrontierPoint) -> str:
    """Return in words what a step does to the highest risk."""
    old, new = before.highest_risk, after.highest_risk
    change = f"from {shown_risk(before)} to {shown_risk(after)}"
    if new == old:
        return f"leaves the highest risk at {shown_risk(after)}"
    if 2 * new == old:
        return f"halves the highest risk, {change}"
    return f"{'lowers' if new < old else 'raises'} the highest risk {change}"


def _suppression(before: FrontierPoint, after: FrontierPoint, unit: str) -> str:
    """Return in words what a step to another limit suppresses more."""
    more = after.suppressed - before.suppressed
    if not more:
        return f"suppresses as many {unit}"
    return f"suppresses {abs(more):,} {'more' if more > 0 else 'fewer'} {unit}"


def shown_risk(point: FrontierPoint) -> str:
    """Return the highest risk in words: one in so many."""
    return f"1 in {point.smallest_class:,}"


def percent(share: Decimal) -> str:
    """Return a share as it was written, in percent.

    >>> percent(Decimal("0.050")), percent(Decimal("0")), percent(Decimal("1"))
    ('5 %', '0 %', '100 %')
    """
    return trimmed(f"{share * 100:f}") + " %"
