"""Monotone box branch and bound: the default strategy. Optimal, with a certificate at any time.

Source: docs/design/search.md. A box [a, b] is all nodes between a and b. What is certainly suppressed
at b is suppressed at every candidate of the box (each privacy model proves its share, ``models/``), so if that is
beyond the limit the box holds no candidate; and with what generalization costs at least at a it bounds the loss of
all of them (each measure proves its bound, ``measures/``). Best-first over boxes; when the least bound reaches the
incumbent, the incumbent is optimal.

A box is cut where the two halves' bounds are expected to rise the most (``branching``). The top of the lower half is
judged, unless a node above it is known to suppress too much.

Early incumbents come from beside the boxes of least bound, for a tenth of the evaluations as long as the gap is wide.
At first every batch holds a box of a dive: from a box to one of its halves, the lower one if its top is a candidate,
down to a single node. A search that lasts goes on with a local search instead (``incumbents``); in a lattice that is
too large to be proven soon it begins with it.

In a wide lattice groups of attributes are searched by themselves first, and their bounds added up (``groups``).

Measures of classes draw their bound from a judged node at the bottom of the box too, so for them both halves of a
split box are judged: the top of the lower, the bottom of the upper one.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import partial

from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import BottomFacts, BoxBounds, PartBounds
from sqlanon.core.search.base import TIE, Claim, Problem, Progress, Request, Strategy, Verdict
from sqlanon.core.search.branching import Branching, Cut
from sqlanon.core.search.groups import WIDE, ColumnGroups, groups_of
from sqlanon.core.search.incumbents import LocalSearch
from sqlanon.core.search.infeasible import InfeasibleBelow

FIRST_SHARE = 4
"""The first batches request ``batch // FIRST_SHARE`` nodes: many boxes are queued that an incumbent would prune."""
RAMP = 4
"""After the first batches, request at most ``evaluated // RAMP`` nodes at once."""
DIVE_SHARE = 0.1
"""Dives, and a local search, may take this share of the evaluations."""
DIVE_GAP = 0.02
"""Dive, and search locally, only while the gap is wider than this."""
LOCAL_FROM = 1000
"""After so many evaluations, and twice as many as a proof usually takes, a local search takes the place of the dives.

A proof takes about the square root of the number of nodes (CREDITCARD, 10 to 15 columns: 0.8 to 1.2 times)."""
LARGE = 4000
"""Where a proof takes more than that, it begins at once, and has ``LOCAL_FROM`` evaluations more.

After ``LOCAL_FROM`` that gained nothing it waits until a proof has taken twice as long as usual, unless the lattice is
wide."""
MOST_LEVELS = 2_000_000
"""Levels of the boxes that are queued, 80,000 of 24 columns, say; beyond, boxes are cut depth first."""
MOST_CLAIMS = 1_000_000
"""Claims of a proof. With more, it stays as it is then, and only the lower bound rises."""


@dataclass(slots=True)
class Top:
    """A judged node that boxes hang from, with their bounds."""

    verdict: Verdict
    bounds: BoxBounds


@dataclass(order=True, slots=True)
class Box:
    """All nodes between ``bottom`` and the node of ``top``, which has been judged.

    ``witness`` is a judged node at or above the top, ``below``, for measures of classes, one at or below the bottom:
    the bound rests on them, or, ``by_groups``, on the node of the top and the proofs of the groups.
    """

    bound: float
    serial: int
    bottom: Node = field(compare=False)
    top: Top = field(compare=False)
    witness: Top = field(compare=False)
    below: Verdict | None = field(compare=False)
    by_groups: bool = field(default=False, compare=False)

    @property
    def facts(self) -> BottomFacts | None:
        """What is known of the classes of all nodes of the box."""
        return None if self.below is None else self.below.bottom_facts

    def claim(self, bound: float | None) -> Claim:
        """Return the claim that the box has this bound."""
        if self.by_groups:
            return Claim(self.bottom, self.top.verdict.node, self.top.verdict.node, None, bound, by_groups=True)
        below = self.below.node if self.below is not None else None
        return Claim(self.bottom, self.top.verdict.node, self.witness.verdict.node, below, bound)


class _Search:
    """The state of one search: the queue of boxes, the dive, the known infeasible nodes, and the proof so far."""

    def __init__(self, problem: Problem, progress: Progress, gap: float, of_group: bool) -> None:
        self.problem = problem
        self.progress = progress
        self.gap = gap
        self.of_group = of_group
        self.of_classes = problem.measure.needs == "classes"
        self.branching = Branching(problem)
        self.queue: list[Box] = []
        self.infeasible = InfeasibleBelow(problem.lattice)
        self.diving: Box | None = None
        self.next_dive = 0
        self.dive_started = 0
        self.local: LocalSearch | None = None
        self.local_requests = 0
        self.local_from = self.local_again = self.local_gained = 0
        self.local_best: Verdict | None = None
        self.groups: ColumnGroups | None = None
        self.claims: list[Claim] = []
        self.frozen = False
        self.deep: list[Box] = []
        self.left_bound = math.inf
        self._most_boxes = MOST_LEVELS // max(len(problem.lattice.top), 1)
        self._serial = 0

    def reached(self, bound: float, gap: float = 0.0) -> bool:
        """Return True when the bound proves that nothing better than the incumbent (by more than the gap) is left."""
        incumbent = self.progress.incumbent
        return incumbent is not None and bound >= incumbent.loss * (1.0 - gap) - TIE * abs(incumbent.loss)

    def open(self, bottom: Node, top: Top, witness: Top, below: Verdict | None, other: Verdict | None) -> Box | None:
        """Return a box, if it is open; otherwise put it into the proof.

        Its bound is the best that its own top, an older witness, and two judged nodes below it give.
        """
        self._serial += 1
        best = Box(-math.inf, self._serial, bottom, top, top, below)
        for lower in (below,) if other is None else (below, other):
            facts = None if lower is None else lower.bottom_facts
            for above in (top,) if witness is top else (top, witness):
                bound = above.bounds.of(bottom, facts)
                if bound > best.bound:
                    best.bound, best.witness, best.below = bound, above, lower
        return self.bounded(best)

    def bounded(self, box: Box) -> Box | None:
        """Return a box with the bound of the groups, where that is higher, if it is open."""
        under = box.top.bounds
        if self.groups is not None and self.groups.claims and isinstance(under, PartBounds):
            bound = self.groups.bound(box.bottom, box.top.verdict.node, under.parts)
            if bound > box.bound:
                box.bound, box.by_groups = bound, True
        return self.settle(box)

    def settle(self, box: Box) -> Box | None:
        """Return the box if it is still open; otherwise put it into the proof."""
        top = box.top.verdict
        if box.bottom == top.node:
            self.prove(Claim(box.bottom, box.bottom, box.bottom, None, top.loss if top.feasible else None))
        elif box.bound == math.inf:
            self.prove(box.claim(None))
        elif self.reached(box.bound):
            self.prove(box.claim(box.bound))
        else:
            return box
        return None

    def prove(self, claim: Claim) -> None:
        """Add a claim to the proof, unless it is frozen."""
        if not self.frozen:
            self.claims.append(claim)

    def freeze(self, taken: list[Box]) -> None:
        """Keep a proof that is too large as it is: with the boxes that are still open it covers everything.

        It holds for good, but shows no more than the bounds that these boxes have now.
        """
        still_open = len(self.queue) + len(self.deep) + len(taken)
        if not self.frozen and len(self.claims) + still_open >= MOST_CLAIMS:
            self.claims += self.open_claims(taken)
            self.frozen = True

    def push(self, box: Box | None) -> None:
        """Queue a box, if it is open.

        Where too many are queued, boxes are cut depth first: such a stack is no longer than a box has levels, times
        the boxes of a batch. What is within the gap there is left as it is.
        """
        if box is None:
            return
        if not self.deep and len(self.queue) < self._most_boxes:
            heapq.heappush(self.queue, box)
        elif self.reached(box.bound, self.gap):
            self.prove(box.claim(box.bound))
            self.left_bound = min(self.left_bound, box.bound)
        else:
            self.deep.append(box)

    @property
    def least(self) -> float:
        """The least bound of what is not settled; infinite when nothing is left."""
        return min(self.left_bound, *(box.bound for box in (*self.queue[:1], *self.deep)), math.inf)

    def proven(self, taken: list[Box]) -> float:
        """Return the lower bound on what is not settled: that of the boxes, or of the groups if it is higher."""
        bound = min([self.least, *(box.bound for box in taken)])
        least = -math.inf if self.groups is None else self.groups.least
        return max(bound, least) if least < math.inf else bound

    def group_requests(self) -> list[Request]:
        """Return what the groups want judged before a box is cut."""
        groups = self.groups
        if groups is None:
            return []
        return groups.next(self.progress.evaluated - self.local_requests - groups.evaluated, self.least)

    def bound_again(self, groups: ColumnGroups) -> None:
        """Bound the queued boxes by a partition whose searches have ended."""
        self.progress.groups = groups.claims
        boxes, self.queue = self.queue, []
        self.queue += [box for box in boxes if self.bounded(box) is not None]
        heapq.heapify(self.queue)

    @property
    def open_boxes(self) -> bool:
        """Whether a box is left that must be cut."""
        if self.gap and self.groups is not None and self.reached(self.groups.least, self.gap):
            return False
        return bool(self.deep) or bool(self.queue and not self.reached(self.queue[0].bound, self.gap))

    def cut(self, box: Box) -> Cut:
        """Return where to cut a box."""
        incumbent = self.progress.incumbent
        most = math.inf if incumbent is None else incumbent.loss
        return self.branching.cut(box.bottom, box.top.verdict, box.top.bounds, box.facts, most)

    def wanted(self) -> list[Box]:
        """Return the boxes to cut next: that of the dive, then those of least bound."""
        progress, queue = self.progress, self.queue
        dives = self.diving is None and self.next_dive <= progress.evaluated < self.local_from
        if dives and queue and not self._close():
            self.diving, self.dive_started = heapq.heappop(queue), progress.evaluated
        taken = [self.diving] if self.diving is not None else []
        batch = self.problem.batch
        cut = progress.evaluated - self.local_requests
        room = max(2, batch // FIRST_SHARE, min(batch, cut // RAMP))
        while self.deep and len(taken) < room:
            taken.append(self.deep.pop())
        if not taken or len(queue) < self._most_boxes:
            while queue and len(taken) < room and not self.reached(queue[0].bound, self.gap):
                taken.append(heapq.heappop(queue))
        return taken

    def _close(self) -> bool:
        """Return True when the gap is narrow: dives have little to find."""
        return not (self.queue or self.deep) or self.reached(self.least, max(self.gap, DIVE_GAP))

    def begin(self, top: Verdict) -> None:
        """Prepare the local search under the top of the lattice, and those of groups; a group's has neither."""
        if self.of_group:
            return
        self.groups = groups_of(self.problem, top.node, partial(search, of_group=True))
        self.local = LocalSearch(self.problem, top)
        usual = math.isqrt(Lattice(self.problem.lattice.bottom, top.node).size)
        self.local_from = -int(LOCAL_FROM / DIVE_SHARE) if usual >= LARGE else max(LOCAL_FROM, 2 * usual)
        self.local_again = 2 * usual if usual < WIDE else 0

    def local_nodes(self) -> list[Node]:
        """Return the nodes that the local search wants judged now."""
        if self.local is None or self._close():
            return []
        if self.local_requests >= DIVE_SHARE * (self.progress.evaluated - self.local_from):
            return []
        if self.progress.incumbent is not self.local_best:
            self.local_best, self.local_gained = self.progress.incumbent, self.local_requests
        if self.local_requests - self.local_gained >= LOCAL_FROM and self.progress.evaluated < self.local_again:
            return []
        self.local_requests += len(self.local.wanted)
        return self.local.wanted

    def dive_on(self, low: Box | None, high: Box | None) -> None:
        """Go on diving with one half, and queue the other."""
        down = low is not None and (low.top.verdict.feasible or high is None)
        self.diving = low if down else high
        self.push(high if down else low)
        if self.diving is None:
            evaluated = self.progress.evaluated
            self.next_dive = evaluated + int((evaluated - self.dive_started) / DIVE_SHARE)

    def open_claims(self, taken: list[Box]) -> list[Claim]:
        """Return the claims about the boxes that are still open."""
        return [] if self.frozen else [box.claim(box.bound) for box in (*self.queue, *self.deep, *taken)]


def search(problem: Problem, progress: Progress, *, gap: float = 0.0, of_group: bool = False) -> Strategy:
    """Yield batches of nodes to judge until the incumbent is proven within ``gap`` (relative) of the optimum.

    ``progress.lower_bound`` is valid whenever the generator is suspended, so a search may stop at any time. That of a
    group of attributes (``of_group``) looks for no incumbents beside the boxes of least bound.
    """
    lattice = problem.lattice
    state = _Search(problem, progress, gap, of_group)
    taken: list[Box] = []
    first = [useful_top(problem)]
    everything = Claim(lattice.bottom, first[0], None, None, problem.least())
    progress.claims = state.claims
    progress.frontier = lambda: [everything]
    progress.lower_bound = everything.bound
    if state.of_classes and lattice.bottom != first[0]:
        first.append(lattice.bottom)
    verdicts = yield [Request(node, lattice.bottom) for node in first]
    for verdict in verdicts:
        progress.see(verdict)
    highest, below = verdicts[0], verdicts[-1] if state.of_classes else None
    if problem.infeasible_below(highest):
        state.prove(Claim(lattice.bottom, highest.node, highest.node, None, None))
    else:
        top = Top(highest, problem.bounds_under(highest))
        state.push(state.open(lattice.bottom, top, top, below, None))
        state.begin(highest)
    progress.frontier = lambda: state.open_claims(taken)

    while state.diving is not None or state.open_boxes:
        if wanted := state.group_requests():
            yield from _judge_for_groups(state, wanted)
            continue
        taken = [box for box in state.wanted() if state.settle(box) is not None]
        if state.diving is not None and (not taken or taken[0] is not state.diving):
            state.dive_on(None, None)
        if not taken:
            continue
        progress.lower_bound = state.proven(taken)
        state.freeze(taken)
        cuts = [state.cut(box) for box in taken]
        known = [state.infeasible.above(cut.low_top) for cut in cuts]
        requests = _requests(state, taken, cuts, known)
        local = state.local_nodes()
        asked = {request.node for request in requests}
        requests += [Request(node, lattice.bottom) for node in local if node not in asked]
        judged: dict[Node, Verdict] = {}
        if requests:
            verdicts = yield requests
            for verdict in verdicts:
                progress.see(verdict)
                judged[verdict.node] = verdict
            if state.local is not None and local:
                state.local.see([judged[node] for node in local])
        boxes, taken = taken, []
        for box, cut, above in zip(boxes, cuts, known, strict=True):
            low = _lower_half(state, box, cut, judged) if above is None else None
            if above is not None:
                state.prove(Claim(box.bottom, cut.low_top, above, None, None))
            high = _upper_half(state, box, cut, judged)
            if box is state.diving:
                state.dive_on(low, high)
            else:
                state.push(low)
                state.push(high)
    if state.least < math.inf or not state.frozen:
        progress.lower_bound = state.proven([]) if state.least < math.inf else None
    progress.finished = True


def _judge_for_groups(state: _Search, wanted: list[Request]) -> Strategy:
    """Let the groups go on with verdicts of what they want judged, and the local search with its own."""
    progress, groups, local = state.progress, state.groups, state.local_nodes()
    assert groups is not None
    progress.lower_bound = state.proven([])
    verdicts = yield wanted + [Request(node, state.problem.lattice.bottom) for node in local]
    for verdict in verdicts:
        progress.see(verdict)
    if groups.see(verdicts[: len(wanted)]):
        state.bound_again(groups)
    if state.local is not None and local:
        state.local.see(verdicts[len(wanted) :])


def _requests(state: _Search, taken: list[Box], cuts: list[Cut], known: list[Node | None]) -> list[Request]:
    """Request the tops of the lower halves that are not known to be infeasible.

    For measures of classes, request the bottoms of the upper halves, too.
    """
    requests = [
        Request(cut.low_top, box.bottom) for box, cut, above in zip(taken, cuts, known, strict=True) if above is None
    ]
    if state.of_classes:
        requests += [Request(cut.high_bottom, box.bottom) for box, cut in zip(taken, cuts, strict=True)]
    return requests


def _lower_half(state: _Search, box: Box, cut: Cut, judged: dict[Node, Verdict]) -> Box | None:
    """Return the lower half of a box, whose top has been judged, if it is still open."""
    problem, verdict = state.problem, judged[cut.low_top]
    infeasible = problem.infeasible_below(verdict)
    bounds = problem.bounds_under(verdict) if verdict.exact or not infeasible else None
    gained = bounds.of(box.bottom, box.facts) if bounds is not None and verdict.exact else None
    state.branching.learn_down(cut, box.top.verdict, verdict, gained)
    if infeasible or bounds is None:
        state.infeasible.insert(verdict.node)
        state.prove(Claim(box.bottom, verdict.node, verdict.node, None, None))
        return None
    return state.open(box.bottom, Top(verdict, bounds), box.witness, box.below, None)


def _upper_half(state: _Search, box: Box, cut: Cut, judged: dict[Node, Verdict]) -> Box | None:
    """Return the upper half of a box, if it is still open."""
    other = judged[cut.high_bottom] if state.of_classes else None
    if other is not None:
        state.branching.learn_up(cut, box.bottom, box.top.bounds.of(cut.high_bottom, other.bottom_facts))
    return state.open(cut.high_bottom, box.top, box.witness, box.below, other)


def useful_top(problem: Problem) -> Node:
    """Return the least general node that has the classes of the lattice's top.

    Levels are partitions of the values, each a coarsening of the one below; equally many parts mean the same
    partition. A level with the partition of a lower one forms the same classes and costs at least as much, so no
    node above this one can be better than its projection into the box below.
    """
    top = []
    for attribute, low, high in zip(
        problem.catalog.attributes, problem.lattice.bottom, problem.lattice.top, strict=True
    ):
        same = (level for level in range(low, high + 1) if attribute.same_parts(level, high))
        top.append(next(same))
    return tuple(top)
