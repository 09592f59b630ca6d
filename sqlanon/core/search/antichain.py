"""Sets of nodes with a property that is inherited, held as what is left when everything implied is dropped.

Source: Prasser, Kohlmayer, Kuhn 2016, "Efficient management of predictive properties". A property that is inherited
to generalizations (``up``) or to specializations (``down``) is stored for the nodes at which it was found; a node has
it when a stored one lies below it (above it). Stored nodes that another one implies are dropped, so what is stored is
an antichain. Nothing is stored for any other node, whatever the size of the lattice.

The four implementations are the options of the paper's comparison: a plain list, a list that keeps the antichain, a
prefix tree that keeps it, and a prefix tree that also knows the least rank (sum of levels) below each branch. They
answer alike and count alike, except that the plain list drops nothing.

``down`` is ``up`` in the mirrored lattice: all of them negate the levels of a node first, and know one direction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

from sqlanon.core.lattice.nodes import Node, leq

Direction = Literal["up", "down"]
Option = Literal["list", "antichain_list", "tree", "ranked_tree"]
Branch = dict[int, tuple[int, Any]]
"""A branch of a prefix tree: level -> least rank below it, and the next branch."""


class Antichain(ABC):
    """Nodes with a property that all their generalizations (``up``) or specializations (``down``) inherit.

    Attributes:
        inserts: calls of ``insert``.
        queries, hits: calls of ``covers``, and those that were answered with True.
        largest: the most nodes that were stored at a time.

    >>> insufficient = RankedTree("up")
    >>> insufficient.insert((1, 0, 2))
    True
    >>> insufficient.covers((1, 1, 2)), insufficient.covers((0, 3, 3))
    (True, False)
    """

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.inserts = self.queries = self.hits = self.largest = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def insert(self, node: Node) -> bool:
        """Store that ``node`` has the property; False when that was known already."""
        self.inserts += 1
        node = self._mirrored(node)
        new = self._add(node)
        self.largest = max(self.largest, self._size)
        return new

    def covers(self, node: Node) -> bool:
        """Return True when ``node`` has the property: it was stored, or inherits it."""
        self.queries += 1
        covered = self._covers(self._mirrored(node))
        self.hits += covered
        return covered

    def __contains__(self, node: Node) -> bool:
        """Answer like ``covers``, without counting the query."""
        return self._covers(self._mirrored(node))

    def report(self, name: str, statistics: dict[str, float]) -> None:
        """Write the counters under ``name_…``, as in the paper's table.

        These are inserts, queries, hits as a share of the queries, and the antichain as a share of the inserts.
        """
        statistics[f"{name}_inserts"] = self.inserts
        statistics[f"{name}_queries"] = self.queries
        statistics[f"{name}_hits"] = self.hits / self.queries if self.queries else 0.0
        statistics[f"{name}_antichain"] = self.largest / self.inserts if self.inserts else 0.0

    def _mirrored(self, node: Node) -> Node:
        return node if self.direction == "up" else tuple([-level for level in node])

    @abstractmethod
    def _add(self, node: Node) -> bool: ...

    @abstractmethod
    def _covers(self, node: Node) -> bool: ...


class PlainList(Antichain):
    """Option 1: every node that was inserted, in a list."""

    def __init__(self, direction: Direction) -> None:
        super().__init__(direction)
        self._nodes: list[Node] = []

    def _add(self, node: Node) -> bool:
        new = not self._covers(node)
        self._nodes.append(node)
        self._size += 1
        return new

    def _covers(self, node: Node) -> bool:
        return any(leq(stored, node) for stored in self._nodes)


class AntichainList(PlainList):
    """Option 2: a list without nodes that another one implies."""

    def _add(self, node: Node) -> bool:
        if self._covers(node):
            return False
        self._nodes = [stored for stored in self._nodes if not leq(node, stored)]
        self._nodes.append(node)
        self._size = len(self._nodes)
        return True


class Tree(Antichain):
    """Option 3: a prefix tree. A branch maps a level of its attribute to its least rank and the branch of the next one.

    A least rank stays as it is when its node is dropped: it is then too low, which costs a look, not an answer. This
    option does not use it.
    """

    def __init__(self, direction: Direction) -> None:
        super().__init__(direction)
        self._root: Branch = {}

    def _add(self, node: Node) -> bool:
        if self._covers(node):
            return False
        self._size += 1 - (_drop(self._root, node, 0) if self._size else 0)
        rank, branch = sum(node), self._root
        for level in node:
            least, child = branch.get(level) or (rank, {})
            branch[level] = (min(least, rank), child)
            branch = child
        return True

    def _covers(self, node: Node) -> bool:
        return self._size > 0 and _below(self._root, node, 0)


class RankedTree(Tree):
    """Option 4: a prefix tree that passes by branches whose least rank is higher than that of the node."""

    def _covers(self, node: Node) -> bool:
        return self._size > 0 and _below_ranked(self._root, node, 0, len(node), sum(node))


def _below(branch: Branch, node: Node, depth: int) -> bool:
    """Return True when a stored node lies at or below ``node``."""
    if depth == len(node):
        return True
    own = node[depth]
    return any(level <= own and _below(child, node, depth + 1) for level, (_, child) in branch.items())


def _below_ranked(branch: Branch, node: Node, depth: int, end: int, rank: int) -> bool:
    """Do as ``_below``, but look only where a node of at most this rank is stored."""
    if depth == end:
        return True
    own = node[depth]
    for level, (least, child) in branch.items():
        if level <= own and least <= rank and _below_ranked(child, node, depth + 1, end, rank):
            return True
    return False


def _drop(branch: Branch, node: Node, depth: int) -> int:
    """Remove the stored nodes above ``node``; return how many."""
    if depth == len(node):
        return 1
    dropped = 0
    for level in [level for level in branch if level >= node[depth]]:
        child = branch[level][1]
        dropped += _drop(child, node, depth + 1)
        if not child:
            del branch[level]
    return dropped


OPTIONS: tuple[tuple[Option, type[Antichain]], ...] = (
    ("list", PlainList),
    ("antichain_list", AntichainList),
    ("tree", Tree),
    ("ranked_tree", RankedTree),
)


def antichain(direction: Direction, option: Option = "ranked_tree") -> Antichain:
    """Return an empty antichain of the option called ``option``."""
    return dict(OPTIONS)[option](direction)
