"""What suppression costs at nodes that are judged in the process: ``sql/judge/failing.sql``, ``costs.sql`` and
``surprisals.sql`` over arrays.

The values in failing classes are counted, for all small attributes of a node at once; the counts of a batch of nodes
are multiplied with the costs of the values. Sums of costs are below 2^53, so they are exact in floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlanon.core.compiler.question import Question
from sqlanon.core.evaluate.arrays import Real
from sqlanon.core.evaluate.class_values import ClassValues
from sqlanon.core.evaluate.grains import Grain, Grains, Rest
from sqlanon.core.evaluate.key_layout import Whole
from sqlanon.core.lattice.nodes import Node

COUNTED_BITS = 8
"""The values of attributes whose codes have at most so many bits are counted at once, those of others one by one."""

Costs = tuple[Sequence[float], Sequence[Sequence[float]]]
"""Per attribute, the cost of its suppressed records; and per level up to the node's, the least of the certain ones."""


@dataclass(frozen=True, slots=True)
class FailingClasses:
    """The failing classes of a node: their keys, their records, and how many of these are certain to be suppressed at
    every more specific node, too (None: all)."""

    grain: Grain
    keys: Whole
    rest: Rest | None
    n: Real
    min_suppressed: Real | None


def no_costs(node: Node) -> Costs:
    """Return the costs of a node that suppresses nothing, or whose costs are not asked for."""
    return [0] * len(node), [(0,) * (level + 1) for level in node]


class NodeCosts:
    """Sums what suppression costs, for the nodes of a batch."""

    def __init__(self, grains: Grains, question: Question) -> None:
        self._grains = grains
        self._surprisals = question.needs == "surprisals"
        self._monotone = question.monotone
        fields = grains.layout.fields
        self._counted = [i for i, f in enumerate(fields) if f.shift is not None and f.bits <= COUNTED_BITS]
        self._others = [i for i in range(len(fields)) if i not in self._counted]
        self._shifts = np.array([[fields[i].shift or 0] for i in self._counted], np.int64)
        self._codes = np.array([[(1 << fields[i].bits) - 1] for i in self._counted], np.int64)
        sizes = [1 << fields[i].bits for i in self._counted]
        self._ends = np.cumsum(sizes, dtype=np.int64)
        self._begins = self._ends - sizes
        self._size = int(self._ends[-1]) if self._counted else 0
        self._blocks = [self._block(i) for i in self._counted]
        width = sum(block.shape[1] for block in self._blocks)
        self._starts = np.cumsum([0, *[block.shape[1] for block in self._blocks]]).tolist()
        self._width = width

    def _block(self, number: int) -> Real:
        """Return per code of an attribute, level of a node and level up to it, the least cost of the value there."""
        values = self._grains.arrays.attributes[number]
        height = len(values.levels)
        block = np.zeros((1 << values.place.bits, height * (height + 1) // 2))
        for level, of_level in enumerate(values.levels):
            start = level * (level + 1) // 2
            block[of_level.codes, start : start + level + 1] = of_level.costs.T
        return block

    def of(self, nodes: Sequence[tuple[Node, FailingClasses]]) -> list[Costs]:
        """Return the costs of some nodes."""
        if not nodes:
            return []
        by_n = self._sums([(node, failing, failing.n) for node, failing in nodes])
        if self._monotone:
            return [([amounts[-1] for amounts in least], least) for least in by_n]
        certain = [(node, failing, _certain(failing)) for node, failing in nodes]
        least = self._sums(certain)
        return [([amounts[-1] for amounts in own], below) for own, below in zip(by_n, least, strict=True)]

    def _sums(self, work: Sequence[tuple[Node, FailingClasses, Real]]) -> list[list[Sequence[float]]]:
        """Return per node, attribute and level up to the node's the sum of weights times costs."""
        counts = np.stack([self._count(node, failing.keys, weights) for node, failing, weights in work])
        if self._surprisals:
            return self._summed_surprisals(work, counts)
        rows = np.empty((len(work), self._width))
        for place, block in enumerate(self._blocks):
            of_attribute = counts[:, self._begins[place] : self._ends[place]]
            rows[:, self._starts[place] : self._starts[place + 1]] = of_attribute @ block
        found = []
        for row, (node, failing, weights) in zip(rows.tolist(), work, strict=True):
            amounts: list[Sequence[float]] = [()] * len(node)
            for number, start in zip(self._counted, self._starts, strict=False):
                level = node[number]
                start += level * (level + 1) // 2
                amounts[number] = row[start : start + level + 1]
            values = self._values(node, failing)
            total = float(weights.sum())
            of_rest = {} if failing.rest is None else failing.rest.marginals(values.rest_numbers, weights)
            for number in self._others:
                costs = self._grains.arrays.attributes[number].levels[node[number]].costs
                if costs.shape[1] == 1:
                    amounts[number] = [cost * total for cost in costs[:, 0].tolist()]
                else:
                    counted: Real = (
                        of_rest[number]
                        if number in of_rest
                        else np.bincount(values.numbers(number), weights, costs.shape[1]).astype(np.float64, copy=False)
                    )
                    amounts[number] = np.einsum("lv,v->l", costs, counted).tolist()  # on one core: `@` wakes all
            found.append(amounts)
        return found

    def _values(self, node: Node, failing: FailingClasses) -> ClassValues:
        """Return the values of the failing classes of a node."""
        return ClassValues(self._grains, failing.grain, node, failing.keys, failing.rest)

    def _summed_surprisals(
        self, work: Sequence[tuple[Node, FailingClasses, Real]], counts: Real
    ) -> list[list[Sequence[float]]]:
        """Return per node and attribute the sum of n ln n, for each level."""
        logs = _n_log_n(counts)
        found = []
        for row, (node, failing, weights) in zip(logs, work, strict=True):
            amounts: list[Sequence[float]] = [()] * len(node)
            for place, number in enumerate(self._counted):
                total = float(row[self._begins[place] : self._ends[place]].sum())
                amounts[number] = (total,) * (node[number] + 1)
            values = self._values(node, failing)
            for number in self._others:
                of_values = np.bincount(values.numbers(number), weights).astype(np.float64)
                amounts[number] = (float(_n_log_n(of_values).sum()),) * (node[number] + 1)
            found.append(amounts)
        return found

    def _count(self, node: Node, keys: Whole, weights: Real) -> Real:
        """Return how many records every value of the counted attributes has."""
        found = np.zeros(self._size)
        if not len(keys):
            return found
        split = []
        for place, number in enumerate(self._counted):
            codes = self._grains.arrays.attributes[number].levels[node[number]].codes
            if len(codes) > 1:
                split.append(place)
            else:
                found[self._begins[place] + codes[0]] = weights.sum()
        if split:
            codes = keys >> self._shifts[split]
            codes &= self._codes[split]
            codes += self._begins[split, None]
            tiled = np.broadcast_to(weights, codes.shape).ravel()
            found += np.bincount(codes.ravel(), tiled, self._size)
        return found


def _certain(failing: FailingClasses) -> Real:
    return failing.n if failing.min_suppressed is None else failing.min_suppressed


def _n_log_n(counts: Real) -> Real:
    return counts * np.log(np.where(counts > 0, counts, 1.0))
