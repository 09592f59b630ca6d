"""How the strategies of the papers walk the lattice: ranks, successors, the order of Flash, and bounds without a query.

The rank of a node is the sum of its levels, counted from the lattice's bottom. Nothing here holds more than one node.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.search.antichain import Antichain
from sqlanon.core.search.base import Problem, Progress

Key = tuple[int, float, float]


def successors(node: Node, top: Node) -> Iterator[Node]:
    """Yield the direct generalizations of ``node`` up to ``top``, in the order of the attributes.

    >>> list(successors((0, 1), (1, 1)))
    [(1, 1)]
    """
    for i, level in enumerate(node):
        if level < top[i]:
            yield (*node[:i], level + 1, *node[i + 1 :])


def unique_successors(node: Node, bottom: Node, top: Node) -> Iterator[Node]:
    """Yield the direct generalizations that no other predecessor yields.

    They are one step of the last generalized attribute, or of one after it. Every node above ``bottom`` is reached by
    one path only, so that the nodes seen need not be remembered.

    >>> list(unique_successors((0, 1), (0, 0), (1, 2)))
    [(0, 2)]
    """
    last = max((i for i, level in enumerate(node) if level > bottom[i]), default=0)
    for i in range(last, len(node)):
        if node[i] < top[i]:
            yield (*node[:i], node[i] + 1, *node[i + 1 :])


def height(lattice: Lattice) -> int:
    """Return the rank of the lattice's top."""
    return sum(lattice.top) - sum(lattice.bottom)


def of_rank(bottom: Node, top: Node, rank: int) -> Iterator[Node]:
    """Yield the nodes between ``bottom`` and ``top`` whose rank above ``bottom`` is ``rank``, lazily, greatest first.

    >>> list(of_rank((0, 0), (2, 1), 2))
    [(2, 0), (1, 1)]
    """
    spans = [high - low for low, high in zip(bottom, top, strict=True)]
    rooms = [sum(spans[i:]) for i in range(len(spans) + 1)]

    def fill(prefix: Node, left: int) -> Iterator[Node]:
        i = len(prefix)
        if i == len(spans):
            yield prefix
            return
        for step in range(min(left, spans[i]), max(0, left - rooms[i + 1]) - 1, -1):
            yield from fill((*prefix, bottom[i] + step), left - step)

    if 0 <= rank <= rooms[0]:
        yield from fill((), rank)


class Order:
    """The order by which Flash prefers nodes: lower rank, then less generalization and more distinct values on average.

    Source: Kohlmayer et al. 2012 and ARX. Nodes that are equal in all of it stay in the order in which they are
    sorted: the lexicographically greater one first.
    """

    def __init__(self, problem: Problem) -> None:
        self._attributes = problem.catalog.attributes
        self._top = problem.lattice.top

    def key(self, node: Node) -> Key:
        """Return the sort key of a node."""
        share = distinct = 0.0
        for level, highest, attribute in zip(node, self._top, self._attributes, strict=True):
            distinct += attribute.widths[level] / max(attribute.widths[0], 1)
            share += level / highest if highest else 0.0
        count = max(len(node), 1)
        return (sum(node), share / count, 1.0 - distinct / count)

    def successors(self, node: Node) -> list[Node]:
        """Return the direct generalizations, the preferred one first."""
        return sorted(successors(node, self._top), key=self.key)


def generalization_bound(problem: Problem, node: Node) -> float:
    """Return the loss of generalization alone at ``node``: no generalization of it has less. Needs no query."""
    return problem.measure.bound(node, None, LowerBounds(problem.catalog.uncovered))


def without_suppression(problem: Problem) -> bool:
    """Return True when nothing may be suppressed: then every model and measure rises or falls with generalization.

    The exceptions: δ-presence, where a class without records of the subset is ignored or rules the node out: merged
    with a class that passes, it may fail it; and models of shares where entities are counted: an entity in two classes
    counts once in their union (``Problem.upward_closed``).
    """
    catalog = problem.catalog
    return catalog.allowed <= catalog.uncovered and not catalog.has_population and problem.upward_closed


def finish(progress: Progress, **antichains: Antichain) -> None:
    """Report what a strategy counted, and that it has ended by itself."""
    for name, nodes in antichains.items():
        nodes.report(name, progress.statistics)
    progress.statistics["checked"] = progress.evaluated
    progress.finished = True


def finish_tagging(problem: Problem, progress: Progress, sufficient: Antichain, protection: Antichain) -> None:
    """End a strategy that tags sufficient nodes and those of insufficient protection.

    When nothing may be suppressed, no untagged node is better than the incumbent.
    """
    if without_suppression(problem):
        progress.lower_bound = None
    finish(progress, sufficient=sufficient, protection=protection)
