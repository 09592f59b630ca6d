"""Monotone box branch and bound: the default strategy. Optimal, with a certificate at any time.

Source: docs/design.md, section "The search". For a box [a, b] every node x in it has
loss_i(x) >= f_i(a) + g_i(b) per attribute, and an aggregate that rises with every attribute's loss turns this into
a bound on the loss. Suppression falls with generalization, so if b suppresses more than the limit, all of the box
does. Best-first over boxes; when the least bound reaches the incumbent, the incumbent is optimal.

The argument holds for models whose failing records stay failing when the data is made more specific
(k-anonymity here).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from sqlanon.lattice import Node
from sqlanon.measures.base import weights
from sqlanon.search.base import TIE, Problem, Progress, Request, Strategy, Verdict

BATCH = 8
"""Boxes split at once: one statement judges the tops of all of them."""


@dataclass(order=True, slots=True)
class Box:
    """All nodes between ``bottom`` and the node of ``top``, which has been judged."""

    bound: float
    serial: int
    bottom: Node = field(compare=False)
    top: Verdict = field(compare=False)


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield batches of nodes to judge until the incumbent is proven within ``gap`` (relative) of the optimum.

    ``progress.lower_bound`` is valid whenever the generator is suspended, so a search may stop at any time.
    """
    lattice = problem.lattice
    queue: list[Box] = []
    serial = 0

    def push(bottom: Node, top: Verdict, inherited: float) -> None:
        nonlocal serial
        if top.suppressed > problem.catalog.allowed or top.classes == 0:
            return  # so does, or publishes nothing, every node of the box
        if bottom == top.node:
            return  # judged already
        bound = max(inherited, problem.loss(problem.measure.floor(bottom), top.penalty))
        if _reached(bound, progress, 0.0):
            return
        serial += 1
        heapq.heappush(queue, Box(bound, serial, bottom, top))

    progress.lower_bound = 0.0
    [verdict] = yield [Request(useful_top(problem), lattice.bottom)]
    progress.see(verdict)
    push(lattice.bottom, verdict, 0.0)
    while queue and not _reached(queue[0].bound, progress, gap):
        progress.lower_bound = queue[0].bound
        taken = [heapq.heappop(queue)]
        while queue and len(taken) < BATCH and not _reached(queue[0].bound, progress, gap):
            taken.append(heapq.heappop(queue))
        halves = [_split(problem, box) for box in taken]
        verdicts = yield [Request(low_top, box.bottom) for box, (low_top, _) in zip(taken, halves, strict=True)]
        for verdict in verdicts:
            progress.see(verdict)
        for box, (_, high_bottom), verdict in zip(taken, halves, verdicts, strict=True):
            push(box.bottom, verdict, box.bound)
            push(high_bottom, box.top, box.bound)
    progress.lower_bound = queue[0].bound if queue else None
    progress.finished = True


def useful_top(problem: Problem) -> Node:
    """The least general node that has the classes of the lattice's top.

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


def _reached(bound: float, progress: Progress, gap: float) -> bool:
    if progress.incumbent is None:
        return False
    loss = progress.incumbent.loss
    return bound >= loss * (1.0 - gap) - TIE * abs(loss)


def _split(problem: Problem, box: Box) -> tuple[Node, Node]:
    """Top of the lower half and bottom of the upper half, cut where the widest f-gap of an attribute halves."""
    bottom, top = box.bottom, box.top.node
    low, high = problem.measure.floor(bottom), problem.measure.floor(top)
    importance = weights(problem.catalog)

    def width(i: int) -> tuple[float, int]:
        return ((high[i] - low[i]) * importance[i], top[i] - bottom[i])

    axis = max((i for i in range(len(top)) if top[i] > bottom[i]), key=width)
    middle = (low[axis] + high[axis]) / 2.0

    def distance(level: int) -> float:
        return abs(problem.measure.floor((*top[:axis], level, *top[axis + 1 :]))[axis] - middle)

    cut = min(range(bottom[axis], top[axis]), key=distance)
    return (*top[:axis], cut, *top[axis + 1 :]), (*bottom[:axis], cut + 1, *bottom[axis + 1 :])
