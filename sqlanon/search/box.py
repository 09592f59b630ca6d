"""Monotone box branch and bound: the default strategy. Optimal, with a certificate at any time.

Source: docs/design.md, section "The search". A box [a, b] is all nodes between a and b. What is certainly suppressed
at b is suppressed at every candidate of the box (each privacy model proves its share, ``models/``), so if that is
beyond the limit the box holds no candidate; and with what generalization costs at least at a it bounds the loss of
all of them (each measure proves its bound, ``measures/``). Best-first over boxes; when the least bound reaches the
incumbent, the incumbent is optimal.

A box is cut where the two halves' bounds are expected to rise the most (``branching``). The top of the lower half is
judged, unless a node above it is known to suppress too much. Beside the boxes of least bound every batch holds one
of a dive: from a box to one of its halves, the lower one if its top is a candidate, down to a single node, for an early
incumbent; dives take a tenth of the evaluations, as long as the gap is wide.

Measures of classes draw their bound from a judged node at the bottom of the box too, so for them both halves of a
split box are judged: the top of the lower, the bottom of the upper one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from sqlanon.lattice.nodes import Node, leq
from sqlanon.search.antichain import RankedTree
from sqlanon.search.base import TIE, Claim, Problem, Progress, Request, Strategy, Verdict
from sqlanon.search.branching import Branching, Cut

FIRST_SHARE = 4
"""The first batches request ``batch // FIRST_SHARE`` nodes: many boxes are queued that an incumbent would prune."""
RAMP = 4
"""After the first batches, request at most ``evaluated // RAMP`` nodes at once."""
DIVE_SHARE = 0.1
"""Dives may take this share of the evaluations."""
DIVE_GAP = 0.02
"""Dive only while the gap is wider than this."""


@dataclass(order=True, slots=True)
class Box:
    """All nodes between ``bottom`` and the node of ``top``, which has been judged.

    ``witness`` is of a judged node at or above the top, ``below``, for measures of classes, of one at or below the
    bottom: the bound rests on them.
    """

    bound: float
    serial: int
    bottom: Node = field(compare=False)
    top: Verdict = field(compare=False)
    witness: Verdict = field(compare=False)
    below: Verdict | None = field(compare=False)

    def claim(self, bound: float | None) -> Claim:
        """Return the claim that the box has this bound."""
        below = self.below.node if self.below is not None else None
        return Claim(self.bottom, self.top.node, self.witness.node, below, bound)


class _Search:
    """The state of one search: the queue of boxes, the dive, the known infeasible nodes, and the proof so far."""

    def __init__(self, problem: Problem, progress: Progress, gap: float) -> None:
        self.problem = problem
        self.progress = progress
        self.gap = gap
        self.of_classes = problem.measure.needs == "classes"
        self.branching = Branching(problem)
        self.queue: list[Box] = []
        self.infeasible_below = RankedTree("down")
        self._infeasible_nodes: list[Node] = []
        self.diving: Box | None = None
        self.next_dive = 0
        self.dive_started = 0
        self.claims: list[Claim] = []
        self._serial = 0

    def reached(self, bound: float, gap: float = 0.0) -> bool:
        """Return True when the bound proves that nothing better than the incumbent (by more than the gap) is left."""
        incumbent = self.progress.incumbent
        return incumbent is not None and bound >= incumbent.loss * (1.0 - gap) - TIE * abs(incumbent.loss)

    def see(self, verdict: Verdict) -> None:
        """Account for a verdict."""
        self.progress.see(verdict)
        if self.problem.infeasible_below(verdict) and self.infeasible_below.insert(verdict.node):
            self._infeasible_nodes.append(verdict.node)

    def infeasible_witness(self, node: Node) -> Node:
        """Return a node that is infeasible below, at or above a node that is covered by one."""
        return next(other for other in self._infeasible_nodes if leq(node, other))

    def box(self, bottom: Node, top: Verdict, witness: Verdict, below: Verdict | None, other: Verdict | None) -> Box:
        """Return a box with the best bound that its own top, an older witness, and two judged nodes below it give."""
        self._serial += 1
        best: Box | None = None
        for above in (top,) if witness is top else (top, witness):
            for lower in (below, other) if other is not None else (below,):
                bound = self.problem.bound(bottom, above, lower.bottom_facts if lower is not None else None)
                if best is None or bound > best.bound:
                    best = Box(bound, self._serial, bottom, top, above, lower)
        assert best is not None
        return best

    def settle(self, box: Box) -> Box | None:
        """Return the box if it is still open; otherwise put it into the proof."""
        if self.problem.infeasible_below(box.top):
            self.claims.append(Claim(box.bottom, box.top.node, box.top.node, None, None))
        elif box.bottom == box.top.node:
            exact = box.top.loss if box.top.feasible else None
            self.claims.append(Claim(box.bottom, box.bottom, box.bottom, None, exact))
        elif self.reached(box.bound):
            self.claims.append(box.claim(box.bound))
        else:
            return box
        return None

    def push(self, box: Box | None) -> None:
        """Queue a box, if it is open."""
        if box is not None:
            heapq.heappush(self.queue, box)

    def wanted(self) -> list[Box]:
        """Return the boxes to cut next: that of the dive, then those of least bound."""
        progress, queue = self.progress, self.queue
        if self.diving is None and queue and progress.evaluated >= self.next_dive and not self._close():
            self.diving, self.dive_started = heapq.heappop(queue), progress.evaluated
        taken = [self.diving] if self.diving is not None else []
        batch = self.problem.batch
        room = max(2, batch // FIRST_SHARE, min(batch, progress.evaluated // RAMP))
        while queue and len(taken) < room and not self.reached(queue[0].bound, self.gap):
            taken.append(heapq.heappop(queue))
        return taken

    def _close(self) -> bool:
        """Return True when the gap is narrow: dives have little to find."""
        return self.reached(self.queue[0].bound, max(self.gap, DIVE_GAP))

    def dive_on(self, low: Box | None, high: Box | None) -> None:
        """Go on diving with one half, and queue the other."""
        down = low is not None and (low.top.feasible or high is None)
        self.diving = low if down else high
        self.push(high if down else low)
        if self.diving is None:
            evaluated = self.progress.evaluated
            self.next_dive = evaluated + int((evaluated - self.dive_started) / DIVE_SHARE)

    def open_claims(self, taken: list[Box]) -> list[Claim]:
        """Return the claims about the boxes that are still open."""
        return [box.claim(box.bound) for box in (*self.queue, *taken)]


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield batches of nodes to judge until the incumbent is proven within ``gap`` (relative) of the optimum.

    ``progress.lower_bound`` is valid whenever the generator is suspended, so a search may stop at any time.
    """
    lattice = problem.lattice
    state = _Search(problem, progress, gap)
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
        state.see(verdict)
    top, below = verdicts[0], verdicts[-1] if state.of_classes else None
    state.push(state.settle(state.box(lattice.bottom, top, top, below, None)))
    progress.frontier = lambda: state.open_claims(taken)

    while state.diving is not None or (state.queue and not state.reached(state.queue[0].bound, gap)):
        taken = [box for box in state.wanted() if state.settle(box) is not None]
        if state.diving is not None and (not taken or taken[0] is not state.diving):
            state.dive_on(None, None)
        if not taken:
            continue
        progress.lower_bound = min(box.bound for box in (*state.queue[:1], *taken))
        cuts = [state.branching.cut(box.bottom, box.top, box.below, progress.incumbent) for box in taken]
        requests = _requests(state, taken, cuts)
        verdicts = (yield requests) if requests else []
        for verdict in verdicts:
            state.see(verdict)
        judged = {verdict.node: verdict for verdict in verdicts}
        boxes, taken = taken, []
        for box, cut in zip(boxes, cuts, strict=True):
            low, high = _halves(state, box, cut, judged)
            if box is state.diving:
                state.dive_on(low, high)
            else:
                state.push(low)
                state.push(high)
    progress.lower_bound = state.queue[0].bound if state.queue else None
    progress.finished = True


def _requests(state: _Search, taken: list[Box], cuts: list[Cut]) -> list[Request]:
    """Request the tops of the lower halves that are not known to be infeasible.

    For measures of classes, request the bottoms of the upper halves, too.
    """
    requests = [
        Request(cut.low_top, box.bottom)
        for box, cut in zip(taken, cuts, strict=True)
        if not state.infeasible_below.covers(cut.low_top)
    ]
    if state.of_classes:
        requests += [Request(cut.high_bottom, box.bottom) for box, cut in zip(taken, cuts, strict=True)]
    return requests


def _halves(state: _Search, box: Box, cut: Cut, judged: dict[Node, Verdict]) -> tuple[Box | None, Box | None]:
    """Return the two halves of a box, as far as they are still open."""
    low_top, below = judged.get(cut.low_top), judged.get(cut.high_bottom) if state.of_classes else None
    low = None
    if low_top is None:
        state.claims.append(Claim(box.bottom, cut.low_top, state.infeasible_witness(cut.low_top), None, None))
    else:
        state.branching.learn(cut, box.bottom, box.top, box.below, low_top, below)
        low = state.settle(state.box(box.bottom, low_top, box.witness, box.below, None))
    high = state.settle(state.box(cut.high_bottom, box.top, box.witness, box.below, below))
    return low, high


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
        same = (level for level in range(low, high + 1) if attribute.widths[level] == attribute.widths[high])
        top.append(next(same))
    return tuple(top)
