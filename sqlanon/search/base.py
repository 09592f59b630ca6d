"""What strategies and the evaluator say to each other.

A strategy is a generator: it yields batches of ``Request`` and is sent the verdicts in the same order. It does no
I/O, so a test can drive it with a dictionary.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from sqlanon.catalog import Catalog
from sqlanon.lattice import Lattice, Node
from sqlanon.measures.base import Measure, aggregate, weights

TIE = 1e-12
"""Losses that differ by less than this share are equal (SPEC-measures, ties)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A node to judge. ``floor`` is a hint: all further requests of its kind lie at or above this node."""

    node: Node
    floor: Node


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of an evaluated node.

    Attributes:
        node: its levels.
        classes: number of published classes.
        suppressed: records suppressed in all, those of ``uncovered: suppress`` included.
        smallest, largest: sizes of the smallest and largest published class, None when nothing is published.
        penalty: g per attribute, what suppression adds to the loss.
        loss: the aggregated loss.
        feasible: the suppressed count is within the limit, and something is published.
        grain: rows of the node's grain.
        exact: ``penalty`` and ``loss`` are exact; False for a node that suppresses more than the limit, whose
            costs a search need not know: they are lower bounds then.
    """

    node: Node
    classes: int
    suppressed: int
    smallest: int | None
    largest: int | None
    penalty: tuple[float, ...]
    loss: float
    feasible: bool
    grain: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """What a strategy may know: the lattice, the measure, how losses fold, and the limits of the search."""

    catalog: Catalog
    lattice: Lattice
    measure: Measure
    aggregate: str

    def loss(self, floor: Sequence[float], penalty: Sequence[float]) -> float:
        """The aggregated loss of attribute losses f + g; also a lower bound when f and g are lower bounds."""
        parts = [min(f + g, 1.0) for f, g in zip(floor, penalty, strict=True)]
        return aggregate(self.aggregate, parts, weights(self.catalog))


@dataclass(slots=True)
class Progress:
    """Where a search stands; one owner, the strategy that runs.

    ``lower_bound`` is a proven lower bound on the loss of every feasible node not yet judged or pruned,
    or None before there is one; the certificate takes the least of it and the incumbent.
    """

    evaluated: int = 0
    incumbent: Verdict | None = None
    nearest: Verdict | None = None
    lower_bound: float | None = None
    finished: bool = False
    solutions: list[Verdict] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def see(self, verdict: Verdict) -> None:
        """Account for a verdict: incumbent (ties as in SPEC-measures), nearest, and the list of solutions."""
        self.evaluated += 1
        if (verdict.classes and (self.nearest is None or _nearer(verdict, self.nearest))) or self.nearest is None:
            self.nearest = verdict
        if not verdict.feasible:
            return
        self._keep(verdict)
        if self.incumbent is None or better(verdict, self.incumbent):
            self.incumbent = verdict

    def _keep(self, verdict: Verdict, keep: int = 1000) -> None:
        self.solutions.append(verdict)
        if len(self.solutions) >= 2 * keep:
            self.solutions = sorted(self.solutions, key=rank)[:keep]


def _nearer(verdict: Verdict, other: Verdict) -> bool:
    if not other.classes:
        return True
    return (verdict.suppressed, verdict.loss, verdict.node) < (other.suppressed, other.loss, other.node)


def rank(verdict: Verdict) -> tuple[float, int, Node]:
    """Sort key of solutions: loss, suppressed records, levels."""
    return (verdict.loss, verdict.suppressed, verdict.node)


def better(verdict: Verdict, other: Verdict) -> bool:
    """True when ``verdict`` beats ``other``: lower loss, then fewer suppressed, then lexicographically less."""
    margin = TIE * max(abs(verdict.loss), abs(other.loss))
    if abs(verdict.loss - other.loss) > margin:
        return verdict.loss < other.loss
    return (verdict.suppressed, verdict.node) < (other.suppressed, other.node)


Strategy = Generator[list[Request], list[Verdict], None]
