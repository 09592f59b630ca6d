"""The messages between strategies and the evaluator.

A strategy is a generator: it yields batches of ``Request`` and is sent the verdicts in the same order. It does no
I/O, so a test can drive it with a dictionary.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import BottomFacts, BoxBounds, LowerBounds, Measure, PartBounds, bounds_under

TIE = 1e-12
"""Losses that differ by less than this share are equal (SPEC-measures, ties)."""

MOST_SEEN = 1_000_000
"""Nodes that a search remembers to have counted; one that is judged again after so many others counts again."""


@dataclass(frozen=True, slots=True)
class Request:
    """A node to judge. ``floor`` is a hint: all further requests of its kind lie at or above this node."""

    node: Node
    floor: Node


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on an evaluated node.

    Attributes:
        node: its levels.
        classes: number of published classes.
        suppressed: records suppressed in all, those of ``uncovered: suppress`` included.
        smallest, largest: sizes of the smallest and largest published class, None when nothing is published.
        loss: by the policy's measure; a lower bound unless ``exact``.
        feasible: the suppressed count is within the limit, something is published, and nothing rules the node out.
        grain: rows of the node's table of classes.
        lower_bounds: what holds for every candidate at or below the node.
        ruled_out: no node at or below this one can be a candidate (δ-presence, ``public_only: reject``).
        bottom_facts: what the classes imply for every node above, for measures that need it.
        exact: ``loss`` is exact; False for a node that cannot be a candidate, whose costs a search need not know.
        by_model: per privacy model of the policy, the records in classes that it fails, were it alone; only from
            ``Plan.evaluate``.
        by_attribute: each attribute's own loss, before weights and folding; only from ``Plan.evaluate``, and () for
            measures of classes.
        suppressed_entities: entities with a suppressed record, which the limit counts; None without an entity.
        smallest_entities: entities of the published class that has the fewest; None without an entity.
    """

    node: Node
    classes: int
    suppressed: int
    smallest: int | None
    largest: int | None
    loss: float
    feasible: bool
    grain: int
    lower_bounds: LowerBounds
    ruled_out: bool = False
    bottom_facts: BottomFacts | None = None
    exact: bool = True
    by_model: tuple[tuple[str, int], ...] = ()
    by_attribute: tuple[float, ...] = ()
    suppressed_entities: int | None = None
    smallest_entities: int | None = None

    @property
    def counted_against_limit(self) -> int:
        """What counts against the limit on suppression: suppressed records, or entities with a suppressed record."""
        return self.suppressed if self.suppressed_entities is None else self.suppressed_entities


@dataclass(frozen=True, slots=True)
class Claim:
    """A step of a proof: what holds for every candidate in a box of nodes, and the judged node that shows it.

    Attributes:
        bottom, top: the box is all nodes between them.
        witness: a judged node at or above ``top``; None when the bound needs none.
        below: for measures of classes, a judged node at or below ``bottom``.
        bound: the loss of every candidate is at least this; None: the box holds no candidate.
        by_groups: the bound rests on the proofs of groups of attributes (``search.groups``), and on the witness.
    """

    bottom: Node
    top: Node
    witness: Node | None
    below: Node | None
    bound: float | None
    by_groups: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """What a strategy may know: the lattice and the measure. ``catalog.allowed`` is the limit on suppression.

    ``batch`` is a hint: how many nodes are judged together at little more than the cost of one. ``upward_closed``:
    where a node suppresses nothing, no generalization of it does.
    """

    catalog: Catalog
    lattice: Lattice
    measure: Measure
    batch: int = 8
    upward_closed: bool = True

    def infeasible_below(self, verdict: Verdict) -> bool:
        """Return True when no node at or below this one can be a candidate: too much is certainly suppressed, or all.

        The limit may count entities; that all of them lose something does not mean that nothing is published.
        """
        catalog, lower_bounds = self.catalog, verdict.lower_bounds
        return (
            verdict.ruled_out
            or lower_bounds.counted_against_limit > catalog.allowed
            or lower_bounds.suppressed >= catalog.population
        )

    def bound(self, bottom: Node, top: Verdict, bottom_facts: BottomFacts | None = None) -> float:
        """Return a lower bound on the loss of every candidate between ``bottom`` and ``top``."""
        return self.measure.bound(bottom, bottom_facts, top.lower_bounds)

    def bounds_under(self, top: Verdict) -> BoxBounds:
        """Return lower bounds for the boxes under ``top``."""
        return bounds_under(self.measure, top.node, top.lower_bounds)

    def parts_under(self, top: Verdict) -> Sequence[Sequence[float]]:
        """Return the parts that the bounds under ``top`` add up, of a measure that adds up (``PartBounds.parts``)."""
        bounds = self.bounds_under(top)
        assert isinstance(bounds, PartBounds)
        return bounds.parts

    def least(self) -> float:
        """Return a lower bound on the loss of every node, without any verdict."""
        return self.measure.bound(self.lattice.bottom, None, LowerBounds(self.catalog.uncovered))


@dataclass(slots=True)
class Progress:
    """Where a search stands; one owner, the strategy that runs.

    Attributes:
        nearest: the judged node that is nearest to the policy, as long as none meets it.
        lower_bound: a proven lower bound on the loss of every feasible node not yet judged or pruned, None when there
            is none; valid whenever the strategy is suspended.
        finished: the strategy has ended by itself.
        stopped: the limit that ended the search, ``time_limit``, ``max_evaluations`` or ``interrupt``; empty: none.
        claims: the steps of a proof, of a strategy that keeps one; with ``frontier``, the claims about what is open.
        groups: of partitions of the attributes (``search.groups``), per group the claims that others rest on.
        statistics: what a strategy counts of its own work, by name.
    """

    evaluated: int = 0
    incumbent: Verdict | None = None
    nearest: Verdict | None = None
    lower_bound: float | None = None
    finished: bool = False
    stopped: str = ""
    solutions: list[Verdict] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    statistics: dict[str, float] = field(default_factory=dict)
    claims: list[Claim] | None = None
    frontier: Callable[[], list[Claim]] = list
    groups: list[dict[tuple[int, ...], list[Claim]]] = field(default_factory=list)
    _seen: set[Node] = field(default_factory=set)

    def see(self, verdict: Verdict) -> None:
        """Account for a verdict: incumbent (ties as in SPEC-measures), nearest, and the list of solutions."""
        if verdict.node in self._seen:
            return
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen.add(verdict.node)
        self.evaluated += 1
        if verdict.feasible:
            self._keep(verdict)
            if self.incumbent is None or better(verdict, self.incumbent):
                self.incumbent = verdict
        elif self.incumbent is None and (self.nearest is None or _nearer(verdict, self.nearest)):
            self.nearest = verdict

    def _keep(self, verdict: Verdict, keep: int = 1000) -> None:
        self.solutions.append(verdict)
        if len(self.solutions) >= 2 * keep:
            self.solutions = sorted(self.solutions, key=rank)[:keep]


def _nearer(verdict: Verdict, other: Verdict) -> bool:
    if not verdict.classes or not other.classes:
        return verdict.classes > 0
    return (verdict.counted_against_limit, verdict.loss, verdict.node) < (
        other.counted_against_limit,
        other.loss,
        other.node,
    )


def rank(verdict: Verdict) -> tuple[float, int, Node]:
    """Return the sort key of solutions: loss, suppressed records, levels."""
    return (verdict.loss, verdict.suppressed, verdict.node)


def better(verdict: Verdict, other: Verdict) -> bool:
    """Return True when ``verdict`` beats ``other``: lower loss, then fewer suppressed, then lexicographically less."""
    margin = TIE * max(abs(verdict.loss), abs(other.loss))
    if abs(verdict.loss - other.loss) > margin:
        return verdict.loss < other.loss
    return (verdict.suppressed, verdict.node) < (other.suppressed, other.node)


Strategy = Generator[list[Request], list[Verdict], None]

Search = Callable[..., Strategy]
"""A strategy before it runs: called with the problem, the progress it owns, and the keyword ``gap``."""
