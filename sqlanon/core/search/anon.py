"""ANON: priority-based best-first search by weighted information loss.

Source: Ciglic, Eder, Koncilia, "ANON - a flexible tool for achieving optimal k-anonymous and l-diverse tables",
Algorithms 2 and 3, after Stark, Eder, Zatloukal 2006. A queue holds nodes by their weighted information loss, the sum
over the attributes of priority times the information loss of the level; the cheapest is judged, and expanded by one
level of every attribute when it fails. The first that passes ends the search. Priorities are the weights of the
columns, information losses those of the hierarchies, generalization limits the columns' ``max_level``.

Optimal for the measure ``weighted_information_loss``, whatever the models and the limit on suppression: that loss never
falls upwards, so every node that is cheaper than the answer was judged. Under another measure it is a heuristic
that returns the best of what it judged, or nothing.

Of nodes that cost the same, the ones with fewer generalizations come first, then the lexicographically greater: with
equal priorities and losses that count levels this is the breadth-first search that the report compares with ("without
priorities"). Every node is queued by one predecessor only, so that the nodes seen need not be remembered.

``BATCH`` nodes are judged at once. The first of a batch is one that Algorithm 2 visits; the others may cost more than
the answer and are judged in vain. ``statistics["visited"]`` counts the nodes that Algorithm 2 visits.
"""

from __future__ import annotations

import heapq

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.measures.weighted_information_loss import WeightedInformationLoss
from sqlanon.core.search.base import Problem, Progress, Request, Strategy
from sqlanon.core.search.traversal import finish, unique_successors

BATCH = 16
"""Fixed, so that the answer does not depend on the machine."""

Entry = tuple[float, int, tuple[int, ...]]
"""A place in the queue: weighted information loss, sum of the levels, levels negated."""


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield batches of the cheapest nodes until one passes; ``gap`` is ignored."""
    lattice = problem.lattice
    ordered = WeightedInformationLoss(problem.catalog)
    decides = problem.measure.name == ordered.name
    nothing = LowerBounds(problem.catalog.uncovered)

    def entry(node: Node) -> Entry:
        return (ordered.bound(node, None, nothing), sum(node), tuple(-level for level in node))

    progress.lower_bound = problem.least()
    queue = [entry(lattice.bottom)]
    found: Entry | None = None
    failed: list[Entry] = []
    while queue and (found is None or queue[0] < found):
        if decides:
            progress.lower_bound = queue[0][0]
        taken: list[Entry] = []
        while queue and len(taken) < BATCH and (found is None or queue[0] < found):
            taken.append(heapq.heappop(queue))
        nodes = [tuple(-level for level in entry[2]) for entry in taken]
        verdicts = yield [Request(node, lattice.bottom) for node in nodes]
        for place, verdict in zip(taken, verdicts, strict=True):
            progress.see(verdict)
            if verdict.feasible:
                found = place if found is None else min(found, place)
            else:
                failed.append(place)
                for child in unique_successors(verdict.node, lattice.bottom, lattice.top):
                    heapq.heappush(queue, entry(child))
    progress.statistics["visited"] = len(failed) if found is None else 1 + sum(place < found for place in failed)
    if decides:
        progress.lower_bound = min((place[0] for place in (found, *queue[:1]) if place is not None), default=None)
    finish(progress)
