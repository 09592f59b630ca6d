"""The generalization lattice: nodes are tuples of levels, ordered attribute by attribute. Nothing is enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import le

from sqlanon.core.plain import plain
from sqlanon.errors import InputError

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


def node_of(levels: Mapping[str, int], heights: Mapping[str, int]) -> Node:
    """Return the node of levels by column; columns without one stay at level 0.

    Args:
        heights: how many levels each quasi-identifier has, in the order of the policy.

    Raises:
        InputError: an unknown column, or a level that its hierarchy does not have.
    """
    levels = plain(levels)
    if not isinstance(levels, Mapping):
        raise InputError("This is not a node.", hint="write {column: level}; columns without a level stay at 0.")
    for name, level in levels.items():
        if name not in heights:
            raise InputError(
                f"{name!r} is not a quasi-identifier of the policy.",
                hint=f"the quasi-identifiers are {', '.join(map(repr, heights))}.",
            )
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < heights[name]:
            raise InputError(
                f"Column {name!r} has no such level; its levels are 0 to {heights[name] - 1}.",
                hint="give a whole number in that range.",
            )
    return tuple(levels.get(name, 0) for name in heights)
