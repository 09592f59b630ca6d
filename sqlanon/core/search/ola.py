"""OLA: Optimal Lattice Anonymization, divide and conquer with predictive tagging.

Source: El Emam, Dankar, Issa, Jonker, Amyot, Cogo et al. 2009, "A globally optimal k-anonymity method for the
de-identification of health data". The nodes half-way up a sub-lattice are judged one after the other; a node that meets
the policy tags its generalizations and leaves the sub-lattice below it, one that does not tags its specializations
and leaves the one above it. Sub-lattices in which all is tagged are left alone; the paper goes through them again.

Optimal when nothing may be suppressed (``without_suppression``): every least candidate is judged, and all above it lose
no less. With a suppression limit it is a heuristic that returns a feasible node or nothing, and claims no bound.

Only the sub-lattice at hand is walked, one node at a time; what is tagged is held in two antichains.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.antichain import Antichain, Option, antichain
from sqlanon.core.search.base import Problem, Progress, Request, Strategy
from sqlanon.core.search.traversal import finish_tagging, of_rank


def search(problem: Problem, progress: Progress, *, gap: float = 0.0, option: Option = "ranked_tree") -> Strategy:
    """Yield one node at a time, since each decides on the next; ``gap`` is ignored."""
    progress.lower_bound = problem.least()
    sufficient, protection = antichain("up", option), antichain("down", option)

    def judge(node: Node) -> Strategy:
        (verdict,) = yield [Request(node, problem.lattice.bottom)]
        progress.see(verdict)
        (sufficient if verdict.feasible else protection).insert(node)

    def conquer(bottom: Node, top: Node) -> Strategy:
        if not _untagged(bottom, top, sufficient, protection):
            return
        height = sum(top) - sum(bottom)
        if height <= 1:
            for node in dict.fromkeys((bottom, top)):
                if not (sufficient.covers(node) or protection.covers(node)):
                    yield from judge(node)
            return
        for node in of_rank(bottom, top, height // 2):
            if not (sufficient.covers(node) or protection.covers(node)):
                yield from judge(node)
            yield from conquer(bottom, node) if node in sufficient else conquer(node, top)

    yield from conquer(problem.lattice.bottom, problem.lattice.top)
    finish_tagging(problem, progress, sufficient, protection)


def _untagged(bottom: Node, top: Node, sufficient: Antichain, protection: Antichain) -> bool:
    """Return True when a node between ``bottom`` and ``top`` is not tagged.

    All are when the bottom is sufficient or the top is not protected; otherwise the answer is that of the halves, down
    to single nodes.
    """
    boxes = [(bottom, top)]
    while boxes:
        low, high = boxes.pop()
        if low in sufficient or high in protection:
            continue
        if low == high:
            return True
        axis = max(range(len(low)), key=lambda i: high[i] - low[i])
        middle = (low[axis] + high[axis]) // 2
        boxes.append((low, (*high[:axis], middle, *high[axis + 1 :])))
        boxes.append(((*low[:axis], middle + 1, *low[axis + 1 :]), high))
    return False
