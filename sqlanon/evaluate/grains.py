"""Grains in memory: the rows of a node, from which more general nodes are judged by sorting masked keys.

A grain is held at the floor that requests name, once it was named often enough: all nodes above it are then judged from
fewer rows. What is held stays within a budget of rows; the least recently used make room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sqlanon.errors import EngineError
from sqlanon.evaluate.arrays import CodeArrays
from sqlanon.evaluate.key_layout import KeyLayout, Whole
from sqlanon.lattice.nodes import Node

USES = 2
"""A grain is built when its floor is named for the so many-th time (measured on ADULT, CUP and CREDITCARD)."""
WORTH = 0.8
"""A grain is held if it has at most this share of the rows that it was built from."""
SMALL = 1_000
"""From so few rows nothing is built: what is left to save is the work of a call."""
MOST_GRAINS = 128
"""Most grains held, beside the base."""
BUDGET = 4
"""They may hold so many times the rows of the base."""
MOST_RESTS = 8
"""Arrays of the rest that a grain keeps."""
WIDE = 2**62
"""Numbers of combinations below this fit a word."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The attributes that have no place in a key, at some levels: one number a row.

    Attributes:
        shifted: per row, the number at its place in the key.
        strides: per attribute, what one more of its values adds to the number, and how many values there are.
        ranked: per attribute and number, the number of its value; None where the strides say it.
    """

    shifted: Whole
    strides: dict[int, tuple[int, int]]
    ranked: dict[int, Whole] | None = None

    def values(self, attribute: int, numbers: Whole) -> Whole:
        """Return the numbers of an attribute's values at the level."""
        stride, width = self.strides[attribute]
        if width == 1:
            return np.zeros_like(numbers)
        found: Whole = numbers // stride % width if self.ranked is None else self.ranked[attribute][numbers]
        return found


@dataclass(slots=True)
class Grain:
    """The rows of a node.

    Attributes:
        node: its levels.
        keys: per row, the codes and the sensitive values at their places (``KeyLayout``).
        n, population: its counters.
        rest: per attribute that has no place in a key, the number of a value of level 0 below its own.
        used: when it served last.
    """

    node: Node
    keys: Whole
    n: Whole
    population: Whole | None
    rest: dict[int, Whole]
    used: int = 0
    _packed: Whole | None = None
    _rests: dict[tuple[int, ...], Rest] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.keys)

    @property
    def title(self) -> str:
        """Its name in reports."""
        return "snapshot " + ",".join(map(str, self.node)) if any(self.node) else "base"

    @property
    def packed(self) -> Whole:
        """The keys with ``n`` in their lowest bits; with a population, with the number of the row."""
        if self._packed is None:
            low = self.n if self.population is None else np.arange(self.rows)
            self._packed = self.keys | low
        return self._packed


class Grains:
    """The grains of one source, for the sensitive columns that some models watch."""

    def __init__(self, arrays: CodeArrays, layout: KeyLayout, watched: Sequence[str]) -> None:
        self.arrays = arrays
        self.layout = layout
        fields = layout.fields
        self._rest = tuple(number for number, place in enumerate(fields) if place.shift is None)
        self._masks = [
            [0 if place.shift is None else place.mask(level) << place.shift for level in range(len(place.dropped))]
            for place in fields
        ]
        self._low = (1 << layout.class_shift) - 1
        self._rest_mask = (1 << layout.rest_bits) - 1
        self._base: Grain | None = self._built_base(watched)
        self._held: list[Grain] = []
        self._nodes = np.zeros((0, 0), np.int64)
        self._named: Counter[Node] = Counter()
        self._clock = 0
        self.built = 0

    def _built_base(self, watched: Sequence[str]) -> Grain:
        arrays, layout = self.arrays, self.layout
        keys = np.zeros(len(arrays.n), np.int64)
        rest = {}
        for number, (place, values) in enumerate(zip(layout.fields, arrays.attributes, strict=True)):
            code = place.code(arrays.keys)
            if place.shift is None:
                rest[number] = values.numbers(code, 0)
            else:
                keys |= code << place.shift
        shift = layout.value_shift
        for name, bits in zip(watched, layout.value_bits, strict=True):
            keys |= arrays.sensitive[name].of(arrays.keys) << shift
            shift += bits
        return Grain(arrays.catalog.bottom, keys, arrays.n, arrays.population, rest)

    @property
    def base(self) -> Grain:
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

    def nearest(self, nodes: Sequence[Node]) -> list[Grain]:
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
                    self._build(floor, source)

    def _build(self, floor: Node, source: Grain) -> None:
        grain = self.rolled_up(source, floor)
        if grain.rows > WORTH * source.rows:
            return
        room = BUDGET * self.base.rows - grain.rows
        for victim in sorted(self._held, key=lambda held: held.used):
            if len(self._held) < MOST_GRAINS and sum(held.rows for held in self._held) <= room:
                break
            self._held.remove(victim)
        self._held.append(replace(grain, used=self._clock))
        self.built += 1
        self._held.sort(key=lambda held: held.rows)
        self._nodes = np.array([held.node for held in (*self._held, self.base)])

    def sorted_keys(self, grain: Grain, node: Node, keep: int = -1) -> tuple[Whole, Rest | None]:
        """Return the keys of a grain's rows at a node, sorted, and what the numbers of the rest mean.

        Args:
            keep: of the bits below the class, those that are kept.
        """
        mask = sum([own[level] for own, level in zip(self._masks, node, strict=True)]) | (self._low & keep)
        keys = grain.packed & mask
        rest = None
        if self._rest:
            rest = self._numbered(grain, node)
            keys |= rest.shifted
        keys.sort()
        return keys, rest

    def rolled_up(self, source: Grain, node: Node) -> Grain:
        """Return the grain of a more general node."""
        keys, rest = self.sorted_keys(source, node)
        starts, n, population = self.grouped(source, keys, self.layout.count_bits)
        first = keys[starts]
        digits = {}
        if rest is not None:
            numbers = self.rest_numbers(first)
            for number in self._rest:
                of_level = rest.values(number, numbers)
                digits[number] = self.arrays.attributes[number].below[node[number]][of_level]
            first &= ~(self._rest_mask << self.layout.class_shift)
        return Grain(node, first & ~self.layout.counts, n, population, digits)

    def grouped(self, source: Grain, keys: Whole, shift: int) -> tuple[Whole, Whole, Whole | None]:
        """Return where the groups of sorted keys begin that agree above ``shift``, and their counters."""
        starts = group_starts(keys, shift)
        low = keys & self.layout.counts
        if source.population is None:
            return starts, sums(low, starts), None
        return starts, sums(source.n[low], starts), sums(source.population[low], starts)

    def rest_numbers(self, keys: Whole) -> Whole:
        """Return the numbers of the rest in some keys."""
        return (keys >> self.layout.class_shift) & self._rest_mask

    def _numbered(self, grain: Grain, node: Node) -> Rest:
        """Return the rest at the levels of a node."""
        levels = tuple(node[number] for number in self._rest)
        known = grain._rests.get(levels)
        if known is None:
            if len(grain._rests) >= MOST_RESTS:
                grain._rests.pop(next(iter(grain._rests)))
            known = grain._rests[levels] = self._number(grain, levels)
        return known

    def _number(self, grain: Grain, levels: Sequence[int]) -> Rest:
        """Give every combination of values a number that fits: their product if there are few, or else their rank."""
        combined, product = np.zeros(grain.rows, np.int64), 1
        of_rows = {}
        for number, level in zip(self._rest, levels, strict=True):
            values = self.arrays.attributes[number]
            width = len(values.levels[level].codes)
            if width == 1:
                continue
            of_rows[number] = values.above[level][grain.rest[number]]
            if product * width >= WIDE:
                unique, combined = np.unique(combined, return_inverse=True)
                product = len(unique)
            combined = combined * width + of_rows[number]
            product *= width
        ranked: dict[int, Whole] | None = None
        if product > self._rest_mask:
            _, first, combined = np.unique(combined, return_index=True, return_inverse=True)
            ranked = {number: values[first] for number, values in of_rows.items()}
        strides, stride = {}, 1
        for number, level in zip(reversed(self._rest), reversed(levels), strict=True):
            width = len(self.arrays.attributes[number].levels[level].codes)
            strides[number] = stride, width
            stride *= width
        return Rest(combined << self.layout.class_shift, strides, ranked)


def group_starts(keys: Whole, shift: int) -> Whole:
    """Return where the groups of sorted keys begin that agree in the bits above ``shift``."""
    if not len(keys):
        return np.zeros(0, np.int64)
    differs = (keys[1:] ^ keys[:-1]) >= (1 << shift)
    starts = differs.nonzero()[0]
    starts += 1
    return np.concatenate((ZERO, starts))


def sums(amounts: Whole, starts: Whole) -> Whole:
    """Return the sums of the groups that begin at ``starts``."""
    total = amounts.cumsum()
    ends = np.empty(len(starts), np.int64)
    if len(starts):
        ends[:-1] = total[starts[1:] - 1]
        ends[-1] = total[-1]
        ends[1:] -= ends[:-1].copy()
    return ends


ZERO = np.zeros(1, np.int64)
