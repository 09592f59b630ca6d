"""Flash: greedy depth-first paths through the lattice, each searched binarily.

Source: Kohlmayer, Prasser, Eckert, Kemper, Kuhn 2012, "Flash: Efficient, stable and optimal k-anonymity", and ARX.
Nodes are gone through rank by rank. From each one that is not settled a path of unsettled nodes is drawn to
the top, always to the preferred successor (``Order``); on the path, the lowest node that meets the policy is found
binarily. A node that meets it settles its generalizations, one that does not its specializations; unsettled
successors of the latter start the next paths, among equals the one found last (ARX leaves that to its queue).

Optimal when nothing may be suppressed (``without_suppression``): all generalizations of a candidate are then candidates
of no less loss, and every least candidate is judged. With a suppression limit it is a heuristic that returns a feasible
node or nothing, and claims no bound.

All ranks are gone through, so its time grows with the lattice; its memory grows with the unsettled nodes of one rank.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator
from typing import Protocol

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.antichain import Option, antichain
from sqlanon.core.search.base import Problem, Progress, Request, Strategy, Verdict
from sqlanon.core.search.traversal import Order, finish_tagging, height, of_rank

Check = Generator[list[Request], list[Verdict], bool]
"""Judges what is needed; returns whether a node has the property that paths are searched for."""


class Tags(Protocol):
    """What is known of nodes, and what is to be done where a path meets the property it is searched for."""

    def settled(self, node: Node) -> bool:
        """Return True when there is nothing to learn at ``node``."""
        ...

    def check(self, node: Node) -> Check:
        """Judge ``node`` and tag what follows from it."""
        ...

    def climb(self, node: Node) -> Strategy:
        """Go on from the lowest node of a path that has the property."""
        ...


def search(problem: Problem, progress: Progress, *, gap: float = 0.0, option: Option = "ranked_tree") -> Strategy:
    """Yield one node at a time, since each decides on the next; ``gap`` is ignored."""
    progress.lower_bound = problem.least()
    tags = _Anonymity(problem, progress, option)
    yield from walk(problem, tags)
    finish_tagging(problem, progress, tags.sufficient, tags.protection)


def walk(problem: Problem, tags: Tags) -> Strategy:
    """Walk the lattice as Flash does: ranks, paths, and a queue of where the next paths start."""
    lattice, order = problem.lattice, Order(problem)
    newest = 0
    for rank in range(height(lattice) + 1):
        starts = [node for node in of_rank(lattice.bottom, lattice.top, rank) if not tags.settled(node)]
        for start in sorted(starts, key=order.key):
            queue = [(order.key(start), 0, start)]
            while queue:
                _, _, node = heapq.heappop(queue)
                if tags.settled(node):
                    continue
                lowest, opened = yield from _search_path(_path(node, order, tags), order, tags)
                for up in opened:
                    newest -= 1
                    heapq.heappush(queue, (order.key(up), newest, up))
                if lowest is not None:
                    yield from tags.climb(lowest)


def _path(node: Node, order: Order, tags: Tags) -> list[Node]:
    path = [node]
    while (following := next((up for up in order.successors(path[-1]) if not tags.settled(up)), None)) is not None:
        path.append(following)
    return path


def _search_path(
    path: list[Node], order: Order, tags: Tags
) -> Generator[list[Request], list[Verdict], tuple[Node | None, list[Node]]]:
    """Find the lowest node of the path with the property, if there is one, and what is unsettled above the others."""
    low, high = 0, len(path) - 1
    lowest = None
    opened: list[Node] = []
    while low <= high:
        middle = (low + high) // 2
        node = path[middle]
        if tags.settled(node):
            high = middle - 1
        elif (yield from tags.check(node)):
            lowest, high = node, middle - 1
        else:
            opened += [up for up in order.successors(node) if not tags.settled(up)]
            low = middle + 1
    return lowest, opened


class _Anonymity:
    """Tags of Flash: feasible nodes settle what is above them, the others what is below."""

    def __init__(self, problem: Problem, progress: Progress, option: Option) -> None:
        self._progress, self._bottom = progress, problem.lattice.bottom
        self.sufficient, self.protection = antichain("up", option), antichain("down", option)

    def settled(self, node: Node) -> bool:
        return self.sufficient.covers(node) or self.protection.covers(node)

    def check(self, node: Node) -> Check:
        (verdict,) = yield [Request(node, self._bottom)]
        self._progress.see(verdict)
        (self.sufficient if verdict.feasible else self.protection).insert(node)
        return verdict.feasible

    def climb(self, node: Node) -> Strategy:
        yield from ()
