"""The judged nodes that are infeasible below (``Problem.infeasible_below``): which of them stands above a given node.

Per attribute and level the nodes that reach this level are the bits of an integer, so those above a node are the AND of
an integer an attribute: a few machine words for thousands of nodes, where a prefix tree (``antichain``) looks at
hundreds of branches. Nothing is dropped: a bit costs less than the look for what it implies. When it is full, nothing
more is added: what stands below such a node is judged.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Lattice, Node

MOST_NODES = 200_000
"""Nodes that are held."""


class InfeasibleBelow:
    """A growing set of nodes of a lattice; everything below one of them is known to be infeasible.

    >>> known = InfeasibleBelow(Lattice((0, 0), (2, 2)))
    >>> known.insert((2, 1))
    >>> known.above((1, 1)), known.above((0, 2))
    ((2, 1), None)
    """

    def __init__(self, lattice: Lattice) -> None:
        self._nodes: list[Node] = []
        self._bottom = lattice.bottom
        self._reaching = [
            dict.fromkeys(range(low, high + 1), 0) for low, high in zip(lattice.bottom, lattice.top, strict=True)
        ]

    def insert(self, node: Node) -> None:
        """Add a node, while there is room."""
        if len(self._nodes) >= MOST_NODES:
            return
        bit = 1 << len(self._nodes)
        self._nodes.append(node)
        for reaching, low, own in zip(self._reaching, self._bottom, node, strict=True):
            for level in range(low + 1, own + 1):
                reaching[level] |= bit

    def above(self, node: Node) -> Node | None:
        """Return an inserted node that stands at or above ``node``; None when there is none."""
        found = (1 << len(self._nodes)) - 1
        for reaching, low, own in zip(self._reaching, self._bottom, node, strict=True):
            if own > low:
                found &= reaching[own]
                if not found:
                    return None
        return self._nodes[found.bit_length() - 1] if found else None
