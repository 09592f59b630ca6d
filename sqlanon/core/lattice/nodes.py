"""The generalization lattice: nodes are tuples of levels, ordered attribute by attribute. Nothing is enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import le

Node = tuple[int, ...]
"""One generalization level per quasi-identifier, in the order of the policy."""


def leq(a: Node, b: Node) -> bool:
    """Return True when ``b`` generalizes ``a`` (every level of ``a`` is at most that of ``b``)."""
    return all(map(le, a, b))


@dataclass(frozen=True, slots=True)
class Lattice:
    """All nodes between ``bottom`` and ``top``, both included.

    >>> Lattice((0, 0), (1, 2)).size
    6
    """

    bottom: Node
    top: Node

    @property
    def size(self) -> int:
        """Number of nodes; 1 without quasi-identifiers."""
        return math.prod(high - low + 1 for low, high in zip(self.bottom, self.top, strict=True))

    def nodes(self) -> Iterator[Node]:
        """Return every node, lazily, in lexicographic order."""
        return itertools.product(*(range(low, high + 1) for low, high in zip(self.bottom, self.top, strict=True)))

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple) and len(node) == len(self.bottom) and leq(self.bottom, node) and leq(node, self.top)
        )
