"""Lower bounds of wide lattices that add up over groups of attributes.

Source: additive pattern databases (Korf and Felner 2002; Felner, Korf and Hanan 2004). Of many attributes a box's own
bound is weak, because its top suppresses little. What a group of them costs at least by itself, all others at their
top, is found by a search of its own lattice, and the groups' bounds add up (``proof.GroupBounds`` has the proof). It
holds for every model, because all that a group's search uses of a judged node is what holds for every candidate below
it, and for sums and means over the attributes (``AttributeMeasure.adds_up``).

The searches are those of ``box``, of the same problem with another lattice and measure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import AttributeMeasure
from sqlanon.core.search.base import TIE, Claim, Problem, Progress, Request, Search, Verdict
from sqlanon.core.search.proof import GroupBounds, Parts, group_lattice

WIDE = 100_000
"""Groups are searched where a proof would take more evaluations than this, the square root of the number of nodes."""
LARGEST = (8, 12)
"""Most attributes of a group: of the first partition, which is searched soon, and of a second one that proves more."""
TRIAL, TRIAL_SHARE = 300, 0.125
"""A partition and the boxes take turns until it has had so many evaluations, and this share of all."""
HORIZON = 8
"""Then those go on that are expected to prove more so many times later: boxes may come to rest before groups do."""

Partition = tuple[tuple[int, ...], ...]
"""Groups of attributes, by their positions."""


class _GroupSearch:
    """The search of one group.

    Attributes:
        wanted: the requests that it waits for; empty when it has ended.
        claims: then, the claims about its boxes, of those that were not cut, too: together they cover its lattice.
        shown: then, its claims that may hold candidates, with the parts of the group's attributes at their nodes.
    """

    def __init__(self, problem: Problem, top: Node, columns: tuple[int, ...], search: Search) -> None:
        assert isinstance(problem.measure, AttributeMeasure)
        self.columns = columns
        self.measure = problem.measure.of_group(columns)
        self.problem = replace(problem, lattice=group_lattice(problem.lattice, top, columns), measure=self.measure)
        self.progress = Progress()
        self._steps = search(self.problem, self.progress)
        self.wanted: list[Request] = next(self._steps, [])
        self._least: float | None = None
        self._parts: dict[Node, Parts] = {}
        self.claims: list[Claim] = []
        self.shown: list[tuple[Claim, Parts]] = []

    def see(self, verdicts: Sequence[Verdict]) -> None:
        """Go on with verdicts of the whole problem.

        All that is taken from them is what holds for every candidate below: the loss is the group's bound, and what is
        not infeasible below counts as feasible.
        """
        try:
            self.wanted = self._steps.send([self._part(verdict) for verdict in verdicts])
        except StopIteration:
            self.wanted = []
            self.claims = [*(self.progress.claims or ()), *self.progress.frontier()]
            held = [claim for claim in self.claims if claim.bound is not None]
            self.shown = [(claim, self._parts[claim.witness]) for claim in held if claim.witness is not None]
            self._least = min([math.inf, *(claim.bound for claim in held if claim.bound is not None)])
            self._parts.clear()

    def _part(self, verdict: Verdict) -> Verdict:
        feasible = not self.problem.infeasible_below(verdict)
        if feasible:
            parts = self.problem.parts_under(verdict)
            self._parts[verdict.node] = tuple(parts[i] for i in self.columns)
        loss = self.measure.bound(verdict.node, None, verdict.lower_bounds)
        return replace(verdict, loss=loss, feasible=feasible)

    @property
    def least(self) -> float:
        """A lower bound on the group's part of every candidate's loss."""
        if self._least is not None:
            return self._least
        best = self.progress.incumbent
        bound = self.progress.lower_bound if self.progress.lower_bound is not None else -math.inf
        return bound if best is None else min(bound, best.loss * (1.0 - TIE))


class Pace:
    """How a lower bound rises with the evaluations that it has had: as with their logarithm, for some time.

    >>> pace = Pace()
    >>> pace.note(100, 0.25)
    >>> pace.note(400, 0.5)
    >>> pace.after(400)
    0.625
    """

    def __init__(self) -> None:
        self._marks = [(0, 0.0)]

    def note(self, evaluated: int, bound: float) -> None:
        """Remember the bound after so many evaluations."""
        if evaluated > 1.05 * self._marks[-1][0]:
            self._marks.append((evaluated, bound))

    def after(self, more: int) -> float:
        """Return the bound expected after so many more evaluations: it rises by each doubling as by the last two.

        By the last one alone it would rest for good wherever it rests for a while.
        """
        evaluated, bound = self._marks[-1]
        before = next(at for number, at in reversed(self._marks) if number <= evaluated / 4)
        return bound + (bound - before) / 2 * math.log2(1 + more / max(evaluated, 1))


class ColumnGroups:
    """The groups of a wide problem, in one or more partitions of its attributes: their searches, then their bounds.

    Attributes:
        evaluated: the nodes that the searches have asked for so far.
        claims: of each partition whose searches have ended, per group, the claims about its own loss.
    """

    def __init__(self, problem: Problem, top: Node, partitions: Sequence[Partition], search: Search) -> None:
        self._searches = [[_GroupSearch(problem, top, group, search) for group in groups] for groups in partitions]
        self.evaluated = 0
        self._pace, self._boxes, self._began = Pace(), Pace(), 0
        assert isinstance(problem.measure, AttributeMeasure)
        self._unit = problem.measure.unit or 0.0
        self.claims: list[dict[tuple[int, ...], list[Claim]]] = []
        self._bounds: list[GroupBounds] = []
        self._asking = self._searches[0][0]

    def next(self, cut: int, least: float) -> list[Request]:
        """Return what the next group wants judged; nothing when it is the turn of the boxes, or all have ended.

        Groups and boxes take turns at first. After a trial those go on whose bound is expected to be higher when they
        have had ``HORIZON`` times as many evaluations as were made so far.

        Args:
            cut: nodes that were judged for boxes.
            least: the bound of these.
        """
        if self.ended:
            return []
        own, more = self.evaluated - self._began, self.evaluated + cut
        self._boxes.note(cut, least)
        self._pace.note(own, self._least_of(len(self.claims)))
        trial = own < max(TRIAL, TRIAL_SHARE * more)
        later = HORIZON * more
        if own > cut if trial else self._pace.after(later) <= self._boxes.after(later):
            return []
        groups = self._searches[len(self.claims)]
        self._asking = min((group for group in groups if group.wanted), key=lambda group: group.progress.evaluated)
        self.evaluated += len(self._asking.wanted)
        return self._asking.wanted

    def see(self, verdicts: Sequence[Verdict]) -> bool:
        """Go on with the verdicts of the nodes that ``next`` returned; return whether a partition has ended."""
        self._asking.see(verdicts)
        groups = self._searches[len(self.claims)]
        if any(group.wanted for group in groups):
            return False
        self._pace, self._began = Pace(), self.evaluated
        self.claims.append({group.columns: group.claims for group in groups})
        self._bounds.append(GroupBounds(self._unit, {group.columns: group.shown for group in groups}))
        return True

    @property
    def ended(self) -> bool:
        """Whether all searches have ended."""
        return len(self.claims) == len(self._searches)

    @property
    def least(self) -> float:
        """A lower bound on the loss of every candidate."""
        return max(map(self._least_of, range(len(self._searches))))

    def _least_of(self, partition: int) -> float:
        return math.fsum(group.least for group in self._searches[partition])

    def bound(self, bottom: Node, top: Node, under: Parts) -> float:
        """Return the bound of a box by the partitions that have ended; infinite when it holds no candidate.

        Args:
            under: the parts of a judged node at or above ``top``.
        """
        return max((bounds.of(bottom, top, under) for bounds in self._bounds), default=-math.inf)


def groups_of(problem: Problem, top: Node, search: Search) -> ColumnGroups | None:
    """Return the groups of a problem under ``top``; None where it is not wide, or its loss does not add up."""
    wide = math.isqrt(Lattice(problem.lattice.bottom, top).size) >= WIDE
    if not wide or not isinstance(problem.measure, AttributeMeasure) or not problem.measure.adds_up:
        return None
    partitions = list(dict.fromkeys(_parted(problem, top, largest) for largest in LARGEST))
    partitions = [groups for groups in partitions if len(groups) > 1]
    return ColumnGroups(problem, top, partitions, search) if partitions else None


def _parted(problem: Problem, top: Node, largest: int) -> Partition:
    """Return the groups: every n-th column, so that neighbours, which are often alike, are in different ones."""
    free = [i for i, (low, high) in enumerate(zip(problem.lattice.bottom, top, strict=True)) if low < high]
    fixed = [i for i in range(len(top)) if i not in free]
    many = -(-len(free) // largest)
    return tuple(tuple(sorted(free[first::many] + (fixed if first == 0 else []))) for first in range(many))
