"""The generalized values of the classes of a node, and the order in which classes of one size are suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlanon.core.evaluate.grains import Grain, Grains, Rest
from sqlanon.core.evaluate.key_layout import Whole
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Measure
from sqlanon.core.measures.loss import decides, record_factors


@dataclass(frozen=True)
class ClassValues:
    """Some classes of a node by their keys, and the grain that they were formed from."""

    grains: Grains
    grain: Grain
    node: Node
    keys: Whole
    rest: Rest | None

    @cached_property
    def rest_numbers(self) -> Whole:
        """The numbers of the rest; for ranks, rows that have them."""
        assert self.rest is not None
        return self.grains.rest_numbers(self.keys, self.rest)

    def numbers(self, attribute: int) -> Whole:
        """Return the numbers of an attribute's generalized values."""
        place, values = self.grains.layout.fields[attribute], self.grains.arrays.attributes[attribute]
        if place.shift is None:
            assert self.rest is not None
            return self.grains.rest_values(self.grain, self.node, self.rest, attribute, self.rest_numbers)
        return values.numbers((self.keys >> place.shift) & place.mask(0), self.node[attribute])

    def first_to_go(
        self, places: Whole, many: int, n: Whole, *, catalog: Catalog, measure: Measure | None, greatest: bool
    ) -> Whole:
        """Return the places of those of some classes of one size that go first (``tied_classes``), in that order.

        Args:
            n: the records of those of all classes that are suppressed before, and of these; 0 of the others.
            measure: of the policy; None: only the number matters.
            greatest: of classes of one size, those whose values have lost most go first.
        """
        some, orders = self._of(places), self.grains.arrays.orders
        assert orders is not None  # fetched where there are models of sizes
        attributes = range(len(self.node))
        numbers = [some.numbers(i) for i in attributes]
        costs = [self._costs(i)[numbers[i]] for i in attributes]
        cost = np.zeros(len(places), np.int64)
        for factor, own in zip(record_factors(catalog), costs, strict=True):
            cost += factor * own
        texts = [orders[i][self.node[i]][numbers[i]] for i in attributes]
        order = np.lexsort((*reversed(texts), cost if greatest else -cost))
        equal = np.flatnonzero(cost[order] == cost[order[many - 1]])
        start, end = int(equal[0]), int(equal[-1]) + 1
        if not decides(measure) or measure is None or end == many:
            first: Whole = places[order[:many]]
            return first
        from sqlanon.core.evaluate.tied_classes import TiedClasses, first_to_go  # few policies need it

        gone = n.copy()
        gone[places[order[start:]]] = 0
        where = np.flatnonzero(gone)
        others, records = self._of(where), gone[where]
        tied, counted = order[start:end], [others.numbers(i) for i in attributes]
        facts = TiedClasses(
            int(n[places[0]]),
            [own[tied] for own in numbers],
            [own[tied] for own in costs],
            int(records.sum()),
            [int((self._costs(i)[counted[i]] * records).sum()) for i in attributes],
            [np.bincount(counted[i], records, len(self._costs(i))).astype(np.int64) for i in attributes],
        )
        goes = first_to_go(measure, catalog, self.node, facts, many - start)
        chosen: Whole = places[np.concatenate((order[:start], tied[goes]))]
        return chosen

    def _costs(self, attribute: int) -> Whole:
        """Return per value of an attribute what suppressing it costs: D - leaves."""
        costs = self.grains.arrays.attributes[attribute].levels[self.node[attribute]].costs[-1]
        found: Whole = costs.astype(np.int64, copy=False)
        return found

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
