"""Which grains are held in memory, and which of them a node is judged from.

A grain is held at the floor that requests name, once it was named often enough, and if it is expected to be small: all
nodes above it are then judged from fewer rows. How much a grain shrinks is learnt from those that were built, as with
snapshots. What is held stays within a budget of rows; the least recently used make room.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from sqlanon.core.lattice.nodes import Node
from sqlanon.errors import EngineError

SHRINKAGE = 0.3
"""The assumed shrinkage of the first grain: the logarithm of its share, per unit of the attributes' own."""
TRUST = 4.0
"""The units of what was observed that the assumption counts for."""
USES = 2
"""A grain is built when its floor is named for the so many-th time (measured on ADULT, CUP and CREDITCARD)."""
WORTH = 0.8
"""A grain is built if it is expected to have at most this share of the rows of the nearest one, and held if it has."""
SMALL = 1_000
"""From so few rows nothing is built: what is left to save is the work of a call."""
MOST_GRAINS = 128
"""Most grains held, beside the base."""
BUDGET = 4
"""They may hold so many times the rows of the base."""


class HeldGrain(Protocol):
    """The rows of a node, and when they served last."""

    node: Node
    used: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...


G = TypeVar("G", bound=HeldGrain)


class HeldGrains(ABC, Generic[G]):
    """The grains of one source.

    Args:
        base: the grain of the bottom node.
        widths: per attribute and level, the number of its values.
    """

    def __init__(self, base: G, widths: Sequence[Sequence[int]]) -> None:
        self._base: G | None = base
        self._held: list[G] = []
        self._nodes = np.zeros((0, 0), np.int64)
        self._named: Counter[Node] = Counter()
        self._logs = [[math.log(max(width, 1)) for width in levels] for levels in widths]
        self._shrinkage, self._observed = SHRINKAGE * TRUST, TRUST
        self._clock = 0
        self.built = 0

    @abstractmethod
    def rolled_up(self, source: G, node: Node, most: int) -> G | int:
        """Return the grain of a more general node; of more than ``most`` rows, their number alone may do."""

    @property
    def base(self) -> G:
        """The grain of the bottom node.

        Raises:
            EngineError: the plan is closed.
        """
        if self._base is None:
            raise EngineError(
                "The plan is closed.", hint="ask before the end of its block.", statement="", kind="closed"
            )
        return self._base

    def close(self) -> None:
        """Forget all rows."""
        self._base = None
        self._held.clear()

    @property
    def held(self) -> int:
        """Number of grains beside the base."""
        return len(self._held)

    def nearest(self, nodes: Sequence[Node]) -> list[G]:
        """Return per node the grain of fewest rows from which it can be judged."""
        self._clock += 1
        if not self._held:
            return [self.base] * len(nodes)
        stands_below = (self._nodes[None, :, :] <= np.array(nodes)[:, None, :]).all(axis=2)
        found = []
        for number in stands_below.argmax(axis=1).tolist():  # the smallest first; the base is the last
            grain = self._held[number] if number < len(self._held) else self.base
            grain.used = self._clock
            found.append(grain)
        return found

    def prepare(self, floors: Sequence[Node]) -> None:
        """Account for requests at or above these floors, and build grains that are worth it."""
        if len(self._named) > 16 * MOST_GRAINS:
            self._named.clear()
        for floor in floors:
            self._named[floor] += 1
            if self._named[floor] == USES:
                [source] = self.nearest([floor])
                if source.rows > SMALL and source.node != floor:
                    self._try(floor, source)

    def _try(self, floor: Node, source: G) -> None:
        """Build the grain of a floor if it is expected to be small, and hold it if it is."""
        fewer = sum(of[low] - of[high] for of, low, high in zip(self._logs, source.node, floor, strict=True))
        if math.exp(-self._shrinkage / self._observed * fewer) > WORTH:
            return
        most = int(WORTH * source.rows)
        grain = self.rolled_up(source, floor, most)
        self._shrinkage += math.log(source.rows / max(grain if isinstance(grain, int) else grain.rows, 1))
        self._observed += fewer
        if isinstance(grain, int) or grain.rows > most:
            return
        room = BUDGET * self.base.rows - grain.rows
        for victim in sorted(self._held, key=lambda held: held.used):
            if len(self._held) < MOST_GRAINS and sum(held.rows for held in self._held) <= room:
                break
            self._held.remove(victim)
        grain.used = self._clock
        self._held.append(grain)
        self.built += 1
        self._held.sort(key=lambda held: held.rows)
        self._nodes = np.array([held.node for held in (*self._held, self.base)])
