"""The generalized values of the classes of a node, and the order in which classes of one size are suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlanon.evaluate.grains import Grain, Grains, Rest
from sqlanon.evaluate.key_layout import Whole
from sqlanon.lattice.nodes import Node
from sqlanon.measures.loss import record_factors


@dataclass(frozen=True)
class ClassValues:
    """Some classes of a node by their keys, and the grain that they were formed from."""

    grains: Grains
    grain: Grain
    node: Node
    keys: Whole
    rest: Rest | None

    @cached_property
    def _rest_numbers(self) -> Whole:
        assert self.rest is not None
        return self.grains.rest_numbers(self.keys, self.rest)

    def numbers(self, attribute: int) -> Whole:
        """Return the numbers of an attribute's generalized values."""
        place, values = self.grains.layout.fields[attribute], self.grains.arrays.attributes[attribute]
        if place.shift is None:
            assert self.rest is not None
            return self.grains.rest_values(self.grain, self.node, self.rest, attribute, self._rest_numbers)
        return values.numbers((self.keys >> place.shift) & place.mask(0), self.node[attribute])

    def ranked(self, places: Whole, greatest: bool) -> Whole:
        """Return the places of some classes in the order of ``compiler.settled.ranked``.

        That is what suppressing one of their records costs by the measure ``loss``, the most first, or for ``greatest``
        the least; then the words of their keys, as the source has them.
        """
        some = self._of(places)
        arrays = self.grains.arrays
        cost = np.zeros(len(places), np.int64)
        for attribute, factor in enumerate(record_factors(arrays.catalog)):
            numbers, level = some.numbers(attribute), arrays.attributes[attribute].levels[self.node[attribute]]
            cost += factor * level.costs[-1][numbers].astype(np.int64)
        order = np.lexsort((*reversed(some.words()), cost if greatest else -cost))
        ordered: Whole = places[order]
        return ordered

    def words_of(self, places: Whole) -> list[Whole]:
        """Return the words of the keys of some classes, as the source has them, without the earlier classes."""
        return self._of(places).words()

    def words(self) -> list[Whole]:
        """Return the words of the keys, as the source has them, without the earlier classes."""
        arrays = self.grains.arrays
        words = [np.zeros(len(self.keys), np.int64) for _ in range(arrays.catalog.words)]
        for attribute, values in enumerate(arrays.attributes):
            codes = values.levels[self.node[attribute]].codes[self.numbers(attribute)]
            for word, shift, bits, place in values.place.pieces:
                words[word] |= ((codes >> place) & ((1 << bits) - 1)) << shift
        return words

    def _of(self, places: Whole) -> ClassValues:
        """Return some of the classes, given by their places."""
        return ClassValues(self.grains, self.grain, self.node, self.keys[places], self.rest)
