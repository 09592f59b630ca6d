"""Monotone box branch and bound: the default strategy. Optimal, with a certificate at any time.

Source: docs/design.md, section "The search". A box [a, b] is all nodes between a and b. What is certainly suppressed
at b is suppressed at every candidate of the box (each privacy model proves its share, ``models/``), so if that is
beyond the limit the box holds no candidate; and with what generalization costs at least at a it bounds the loss of
all of them (each measure proves its bound, ``measures/``). Best-first over boxes; when the least bound reaches the
incumbent, the incumbent is optimal.

Measures of classes draw their bound from a judged node at the bottom of the box too, so for them both halves of a
split box are judged: the top of the lower, the bottom of the upper one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from sqlanon.lattice import Node
from sqlanon.measures.base import Ground
from sqlanon.search.base import TIE, Problem, Progress, Request, Strategy, Verdict

BATCH = 8
"""Boxes split at once: one statement judges the tops of all of them."""


@dataclass(order=True, slots=True)
class Box:
    """All nodes between ``bottom`` and the node of ``top``, which has been judged; ``ground`` is of a judged node at or
    below the bottom, for measures of classes."""

    bound: float
    serial: int
    bottom: Node = field(compare=False)
    top: Verdict = field(compare=False)
    ground: Ground | None = field(compare=False)


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield batches of nodes to judge until the incumbent is proven within ``gap`` (relative) of the optimum.

    ``progress.lower_bound`` is valid whenever the generator is suspended, so a search may stop at any time.
    """
    lattice = problem.lattice
    grounded = problem.measure.needs == "classes"
    queue: list[Box] = []
    serial = 0

    def push(bottom: Node, top: Verdict, ground: Ground | None, inherited: float) -> None:
        nonlocal serial
        if problem.hopeless(top) or bottom == top.node:
            return
        bound = max(inherited, problem.bound(bottom, top, ground))
        if _reached(bound, progress, 0.0):
            return
        serial += 1
        heapq.heappush(queue, Box(bound, serial, bottom, top, ground))

    progress.lower_bound = problem.least()
    first = [useful_top(problem)]
    if grounded and lattice.bottom != first[0]:
        first.append(lattice.bottom)
    verdicts = yield [Request(node, lattice.bottom) for node in first]
    for verdict in verdicts:
        progress.see(verdict)
    push(lattice.bottom, verdicts[0], verdicts[-1].ground, 0.0)
    while queue and not _reached(queue[0].bound, progress, gap):
        progress.lower_bound = queue[0].bound
        taken = [heapq.heappop(queue)]
        while queue and len(taken) < BATCH and not _reached(queue[0].bound, progress, gap):
            taken.append(heapq.heappop(queue))
        halves = [_split(problem, box) for box in taken]
        requests = [Request(low_top, box.bottom) for box, (low_top, _) in zip(taken, halves, strict=True)]
        if grounded:
            requests += [Request(high_bottom, box.bottom) for box, (_, high_bottom) in zip(taken, halves, strict=True)]
        verdicts = yield requests
        for verdict in verdicts:
            progress.see(verdict)
        tops, grounds = verdicts[: len(taken)], [verdict.ground for verdict in verdicts[len(taken) :]]
        for number, (box, (_, high_bottom), top) in enumerate(zip(taken, halves, tops, strict=True)):
            push(box.bottom, top, box.ground, box.bound)
            push(high_bottom, box.top, grounds[number] if grounded else None, box.bound)
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
    """Top of the lower half and bottom of the upper half, cut where the widest gap of an attribute's gauge halves."""
    bottom, top = box.bottom, box.top.node
    low, high = problem.measure.gauge(bottom), problem.measure.gauge(top)

    def width(i: int) -> tuple[float, int]:
        return (high[i] - low[i], top[i] - bottom[i])

    axis = max((i for i in range(len(top)) if top[i] > bottom[i]), key=width)
    middle = (low[axis] + high[axis]) / 2.0

    def distance(level: int) -> float:
        return abs(problem.measure.gauge((*top[:axis], level, *top[axis + 1 :]))[axis] - middle)

    cut = min(range(bottom[axis], top[axis]), key=distance)
    return (*top[:axis], cut, *top[axis + 1 :]), (*bottom[:axis], cut + 1, *bottom[axis + 1 :])
