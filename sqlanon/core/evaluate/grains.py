"""Grains in memory: the rows of a node, from which more general nodes are judged by sorting masked keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlanon.core.evaluate.arrays import CodeArrays, Real
from sqlanon.core.evaluate.grouping import by_slots, group_starts, ranked, slots_serve, sums
from sqlanon.core.evaluate.held_grains import HeldGrains
from sqlanon.core.evaluate.key_layout import KeyLayout, Whole
from sqlanon.core.lattice.nodes import Node

MOST_RESTS = 4
"""A large grain keeps so many arrays of the rest."""
REST_ROWS = 1_000_000
"""A small one keeps so many that they have so many rows together."""
VALUE_ROWS = 4_000_000
"""Rows of the generalized values of the rest, of attributes and levels together, that a grain keeps."""
WIDE = 2**62
"""Numbers of combinations below this fit a word."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The attributes that have no place in a key, at some levels: one number a row.

    Attributes:
        shifted: per row, the number at its place in the key.
        strides: per attribute, what one more of its values adds to the number, and how many values there are.
        first: per number, a row that has it; None where the strides determine the values of a number.
    """

    shifted: Whole
    strides: dict[int, tuple[int, int]]
    first: Whole | None = None

    def marginals(self, numbers: Whole, weights: Real) -> dict[int, Real]:
        """Return per attribute the weights of its values, of rows with these numbers; {} for ranks."""
        if self.first is not None:
            return {}
        product = max((stride * width for stride, width in self.strides.values()), default=1)
        table = np.bincount(numbers, weights, product)
        shapes = ((at, (-1, width, stride)) for at, (stride, width) in self.strides.items() if width > 1)
        return {at: table.reshape(shape).sum(axis=(0, 2)) for at, shape in shapes}


@dataclass(frozen=True, slots=True)
class Combined:
    """A number a row for some attributes at some levels, below ``product``; ``ranked``: no product of their values."""

    numbers: Whole
    product: int
    ranked: bool = False


@dataclass(slots=True)
class Grain:
    """The rows of a node.

    Attributes:
        node: its levels.
        keys: per row, the codes and the sensitive values at their places (``KeyLayout``).
        n, population: its counters.
        rest: per attribute that has no place in a key, the number of a value of level 0 below its own.
        of_base: per row of the base, the row that holds it; None for the base, and where nobody asks.
        by_row: its rows stay known by their numbers: there is a population, or ``of_base`` is asked for.
        used: when it served last.
        rests, combined, values: what was computed of the rest, by levels; ``values`` are those of an attribute at one.
    """

    node: Node
    keys: Whole
    n: Whole
    population: Whole | None
    rest: dict[int, Whole]
    by_row: bool = False
    of_base: Whole | None = None
    used: int = 0
    _packed: Whole | None = None
    rests: dict[tuple[int, ...], Rest] = field(default_factory=dict)
    combined: dict[tuple[int, tuple[int, ...]], Combined] = field(default_factory=dict)
    values: dict[tuple[int, int], Whole] = field(default_factory=dict)

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
        """The keys with ``n`` in their lowest bits, or ``by_row`` with the number of the row."""
        if self._packed is None:
            low = np.arange(self.rows) if self.by_row else self.n
            self._packed = self.keys | low
        return self._packed


class Grains(HeldGrains[Grain]):
    """The grains of one source, for the sensitive columns that some models watch.

    Args:
        traced: for every row of the base the class that it is in can be asked for (``Grain.of_base``).
    """

    def __init__(self, arrays: CodeArrays, layout: KeyLayout, watched: Sequence[str], *, traced: bool = False) -> None:
        self.arrays = arrays
        self.traced = traced
        self.layout = layout
        fields = layout.fields
        self._rest = tuple(number for number, place in enumerate(fields) if place.shift is None)
        self._masks = [
            [0 if place.shift is None else place.mask(level) << place.shift for level in range(len(place.dropped))]
            for place in fields
        ]
        self._low = (1 << layout.class_shift) - 1
        self._kept = (1 << layout.rest_shift) - 1 - self._low
        self._rest_mask = (1 << layout.rest_bits) - 1
        super().__init__(self._built_base(watched), [values.widths for values in arrays.attributes])

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
        earlier = arrays.catalog.earlier
        if earlier is not None:
            keys |= ((arrays.keys[earlier.word] & earlier.mask) >> earlier.shift) << layout.class_shift
        by_row = self.traced or arrays.population is not None
        return Grain(arrays.catalog.bottom, keys, arrays.n, arrays.population, rest, by_row)

    def sorted_keys(self, grain: Grain, node: Node, keep: int = -1) -> tuple[Whole, Rest | None]:
        """Return the keys of a grain's rows at a node, sorted, and what the numbers of the rest mean.

        Args:
            keep: of the bits below the class, those that are kept.
        """
        keys, rest = self._keys(grain, node, grain.packed, keep)
        keys.sort()
        return keys, rest

    def _keys(self, grain: Grain, node: Node, keys: Whole, keep: int) -> tuple[Whole, Rest | None]:
        mask = sum([own[level] for own, level in zip(self._masks, node, strict=True)]) | self._kept | (self._low & keep)
        keys = keys & mask
        rest = None
        if self._rest:
            rest = self._numbered(grain, node)
            keys |= rest.shifted
        return keys, rest

    def groups(
        self, grain: Grain, node: Node, shift: int, *, ordered: bool = True
    ) -> tuple[Whole, Rest | None, Whole, Whole | None]:
        """Return the groups of a grain's rows that agree at a node above ``shift``: a key each, the rest, counters.

        Args:
            ordered: in ascending order.
        """
        if not ordered and not grain.by_row and slots_serve(grain.rows):
            keys, rest = self._keys(grain, node, grain.keys, -1 << shift)
            keys, n = by_slots(keys, grain.n, self.layout.count_bits)
            return keys, rest, n, None
        keys, rest = self.sorted_keys(grain, node)
        starts, n, population = self.grouped(grain, keys, shift)
        return keys[starts], rest, n, population

    def parts(self, grain: Grain, node: Node, of_value: int) -> tuple[Whole, Rest | None, Whole, Whole | None, Whole]:
        """Return the groups of a grain's rows that agree at a node and in some bits of sensitive values, in order.

        Returns: a key each, the rest, counters, and where ``traced`` the sorted keys of all rows.
        """
        counts = self.layout.counts
        if grain.by_row or not slots_serve(grain.rows):
            keys, rest = self.sorted_keys(grain, node, keep=of_value | counts)
            starts, n, population = self.grouped(grain, keys, self.layout.value_shift)
            return keys[starts], rest, n, population, keys
        keys, rest = self._keys(grain, node, grain.keys, of_value)
        keys, n = by_slots(keys, grain.n, self.layout.count_bits)
        keys |= n
        keys.sort()
        return keys, rest, keys & counts, None, keys

    def rolled_up(self, source: Grain, node: Node, most: int) -> Grain | int:
        of_base = None
        if self.traced:
            keys, rest = self.sorted_keys(source, node)
            starts, n, population = self.grouped(source, keys, self.layout.count_bits)
            first, of_base = keys[starts], self.of_base(source, keys, starts)
        else:
            first, rest, n, population = self.groups(source, node, self.layout.count_bits, ordered=False)
        if len(first) > most:
            return len(first)
        digits = {}
        if rest is not None:
            numbers = self.rest_numbers(first, rest)
            for number in self._rest:
                of_level = self.rest_values(source, node, rest, number, numbers)
                digits[number] = self.arrays.attributes[number].below[node[number]][of_level]
            first = first & ~(self._rest_mask << self.layout.rest_shift)
        return Grain(node, first & ~self.layout.counts, n, population, digits, source.by_row, of_base)

    def of_base(self, source: Grain, keys: Whole, starts: Whole) -> Whole:
        """Return for every row of the base the group of sorted keys that holds it; groups begin at ``starts``."""
        of_keys = np.zeros(len(keys), np.int64)
        of_keys[starts[1:]] = 1
        of_source = np.empty(len(keys), np.int64)
        of_source[keys & self.layout.counts] = of_keys.cumsum()
        return of_source if source.of_base is None else of_source[source.of_base]

    def grouped(self, source: Grain, keys: Whole, shift: int) -> tuple[Whole, Whole, Whole | None]:
        """Return where the groups of sorted keys begin that agree above ``shift``, and their counters."""
        starts = group_starts(keys, shift)
        low = keys & self.layout.counts
        if not source.by_row:
            return starts, sums(low, starts), None
        population = None if source.population is None else sums(source.population[low], starts)
        return starts, sums(source.n[low], starts), population

    def rest_numbers(self, keys: Whole, rest: Rest) -> Whole:
        """Return the numbers of the rest in some keys; for ranks, rows that have them."""
        numbers = (keys >> self.layout.rest_shift) & self._rest_mask
        return numbers if rest.first is None else rest.first[numbers]

    def _numbered(self, grain: Grain, node: Node) -> Rest:
        """Return the rest at the levels of a node."""
        levels = tuple(node[number] for number in self._rest)
        known = grain.rests.get(levels)
        if known is None:
            known = self._number(grain, levels)
            keep(grain.rests, levels, known, grain.rows)
        return known

    def _number(self, grain: Grain, levels: tuple[int, ...]) -> Rest:
        """Give every combination of values a number that fits: their product if there are few, or else their rank."""
        middle = len(levels) // 2
        high = self._combine(grain, self._rest[:middle], levels[:middle])
        low = self._combine(grain, self._rest[middle:], levels[middle:])
        if high.product * low.product >= WIDE:
            high = rank(high)[0]
        combined = Combined(
            high.numbers * low.product + low.numbers, high.product * low.product, high.ranked or low.ranked
        )
        first: Whole | None = None
        if combined.ranked or combined.product > self._rest_mask:
            combined, first = rank(combined)
        strides, stride = {}, 1
        for number, level in zip(reversed(self._rest), reversed(levels), strict=True):
            width = self.arrays.attributes[number].widths[level]
            strides[number] = stride, width
            stride *= width
        return Rest(combined.numbers << self.layout.rest_shift, strides, first)

    def _combine(self, grain: Grain, attributes: Sequence[int], levels: tuple[int, ...]) -> Combined:
        """Return a number for the values of some attributes; a search often changes those of others only."""
        slot = (attributes[0] if attributes else -1, levels)
        known = grain.combined.get(slot)
        if known is not None:
            return known
        found = Combined(np.zeros(grain.rows, np.int64), 1)
        for number, level in zip(attributes, levels, strict=True):
            width = self.arrays.attributes[number].widths[level]
            if width == 1:
                continue
            if found.product * width >= WIDE:
                found = rank(found)[0]
            numbers = found.numbers * width + self._values(grain, number, level)
            found = Combined(numbers, found.product * width, found.ranked)
        if found.product.bit_length() > (62 - grain.rows.bit_length()) // 2:
            found = rank(found)[0]  # so that two of them, and the number of a row, fit a word
        keep(grain.combined, slot, found, grain.rows)
        return found

    def rest_values(self, grain: Grain, node: Node, rest: Rest, attribute: int, numbers: Whole) -> Whole:
        """Return the numbers of an attribute's values at its level of a node, for what ``rest_numbers`` returned."""
        if rest.first is None:
            stride, width = rest.strides[attribute]
            return numbers // stride % width
        return self._values(grain, attribute, node[attribute])[numbers]

    def _values(self, grain: Grain, attribute: int, level: int) -> Whole:
        """Return per row the number of the value of an attribute of the rest at a level."""
        found = grain.values.get((attribute, level))
        if found is None:
            found = self.arrays.attributes[attribute].above[level][grain.rest[attribute]]
            if (len(grain.values) + 1) * grain.rows <= VALUE_ROWS:
                grain.values[attribute, level] = found
        return found


def rank(combined: Combined) -> tuple[Combined, Whole]:
    """Return the numbers' ranks among those that occur, and a row of each rank."""
    ranks, first = ranked(combined.numbers)
    return Combined(ranks, len(first), True), first


def keep(kept: dict[Any, Any], slot: Any, found: Any, rows: int) -> None:
    """Keep an array of a grain; the oldest make room."""
    if len(kept) >= max(MOST_RESTS, REST_ROWS // max(rows, 1)):
        oldest, *_ = kept  # in one step: other threads may add to it and take from it
        kept.pop(oldest, None)
    kept[slot] = found
