"""Best-first branch and bound, bottom-up, with predictive properties in antichains.

Source: Prasser, Kohlmayer, Kuhn 2016, "Effective pruning in large search spaces". A priority queue holds nodes by what
their generalization alone costs at least; the head is judged and its successors are queued. A node whose bound has
reached the best loss has insufficient quality, and so have its generalizations; a node that is infeasible
below (``Problem.infeasible_below``) has insufficient protection, and so have its specializations, which are not judged
but still expanded.

Optimal for every model and measure. The bound is that of the measure by generalization alone, for measures of classes
also what follows from the classes of a judged specialization (``BottomFacts``). It never falls upwards, so the head of
the queue is a proven bound at any time. It also means that specializations come first: insufficient protection settles
only nodes of equal bound, and every node that is cheap enough is judged, infeasible or not. The paper calls it a first
step.

Every node is queued by one predecessor only, the one that lacks a step of its last generalized attribute: the nodes
seen need not be remembered. Memory grows with the queue and the antichains, not with the lattice.

``problem.batch`` nodes are judged at once: at most so many more than one at a time.
"""

from __future__ import annotations

import heapq

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.search.antichain import Option, antichain
from sqlanon.core.search.base import TIE, Problem, Progress, Request, Strategy, Verdict
from sqlanon.core.search.traversal import finish, unique_successors

Entry = tuple[float, Node]


def search(problem: Problem, progress: Progress, *, gap: float = 0.0, option: Option = "ranked_tree") -> Strategy:
    """Yield batches of nodes until the least bound is within ``gap`` (relative) of the incumbent."""
    lattice = problem.lattice
    protection, quality = antichain("down", option), antichain("up", option)
    nothing = LowerBounds(problem.catalog.uncovered)

    def reached(bound: float, allowance: float) -> bool:
        incumbent = progress.incumbent
        return incumbent is not None and bound >= incumbent.loss * (1.0 - allowance) - TIE * abs(incumbent.loss)

    def push(node: Node, inherited: float, judged: Verdict | None) -> None:
        if quality.covers(node):
            return
        facts = judged.bottom_facts if judged is not None else None
        bound = max(inherited, problem.measure.bound(node, facts, nothing))
        if reached(bound, 0.0):
            quality.insert(node)
        else:
            heapq.heappush(queue, (bound, node))

    queue: list[Entry] = [(problem.least(), lattice.bottom)]
    while queue and not reached(queue[0][0], gap):
        progress.lower_bound = queue[0][0]
        taken: list[Entry] = []
        while queue and len(taken) < problem.batch and not reached(queue[0][0], gap):
            taken.append(heapq.heappop(queue))
        unsettled = [node for _, node in taken if not protection.covers(node)]
        verdicts: dict[Node, Verdict] = {}
        if unsettled:
            answers = yield [Request(node, lattice.bottom) for node in unsettled]
            verdicts = {verdict.node: verdict for verdict in answers}
        for verdict in verdicts.values():
            progress.see(verdict)
            if problem.infeasible_below(verdict):
                protection.insert(verdict.node)
        for bound, node in taken:
            for child in unique_successors(node, lattice.bottom, lattice.top):
                push(child, bound, verdicts.get(node))
    progress.lower_bound = queue[0][0] if queue else None
    finish(progress, protection=protection, quality=quality)
