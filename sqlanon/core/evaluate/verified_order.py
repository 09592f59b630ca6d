"""Which classes of one size a verification suppresses: the order of SPEC-risk, by code of its own.

The search ranks keys by SQL or codes in arrays, and adds costs up (``tied_classes``). Here classes are known by the
numbers of their texts, which are in the order of the texts. What a class adds to the measure is looked up by text: the
formula of a column (``AttributeMeasure.added``) is asked once for each text, with the counts as they would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, Counts, Measure, fold
from sqlanon.core.measures.loss import Loss, record_factors
from sqlanon.core.measures.non_uniform_entropy import NonUniformEntropy
from sqlanon.core.models.release import SizeCut

NOISE = 1e-12
"""Relative: additions that are no further apart are the same (as SPEC-risk is read by the search)."""

Texts = NDArray[np.int64]
Cost = Callable[[int, int], int]
"""What suppressing a record costs by position and text: D - leaves."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What is suppressed before: per attribute, the records by text."""

    by_text: Sequence[dict[int, int]]

    def and_all(self, classes: Texts, size: int) -> Gone:
        """Return it with all of some classes."""
        found = [dict(records) for records in self.by_text]
        for records, texts in zip(found, classes, strict=True):
            for text in texts.tolist():
                records[text] = records.get(text, 0) + size
        return Gone(found)


def falling(
    catalog: Catalog, measure: Measure | None, node: Node, classes: Texts, cut: SizeCut, cost: Cost,
    gone: Callable[[], Gone], *, greatest: bool,
) -> Texts:  # fmt: skip
    """Return the classes that fall: so many of those of one size.

    Args:
        measure: None where only the number is asked for.
        classes: those of the size of the cut. A row an attribute, a column a class: the numbers of the texts.
        gone: returns what is suppressed before any of them.
        greatest: those whose values have lost most fall first.
    """
    size, many = cut.size, cut.classes
    weighed = np.zeros(classes.shape[1], np.int64)
    for position, (factor, texts) in enumerate(zip(record_factors(catalog), classes, strict=True)):
        each, places = np.unique(texts, return_inverse=True)
        weighed += np.array([factor * cost(position, text) for text in each.tolist()], np.int64)[places]
    classes = classes[:, np.lexsort((*classes[::-1], weighed if greatest else -weighed))]
    weighed = np.sort(weighed) if greatest else -np.sort(-weighed)
    last = weighed[many - 1]
    before, equal = int(((weighed < last) if greatest else (weighed > last)).sum()), weighed == last
    if measure is None or _adds_alike(measure) or before + equal.sum() == many:
        return classes[:, :many]
    sure, open_ = classes[:, :before], classes[:, equal]
    chosen = _one_by_one(catalog, measure, node, open_, size, many - before, cost, gone().and_all(sure, size))
    return np.concatenate((sure, open_[:, chosen]), axis=1)


def _adds_alike(measure: Measure) -> bool:
    """Return whether classes of one size and one weighted loss of generalization add the same: a measure of sizes, or
    the sum or mean of just these losses."""
    if measure.needs in ("costs", "surprisals"):
        return type(measure) is Loss and measure.aggregate in ("sum", "arithmetic_mean")
    return True


def _one_by_one(
    catalog: Catalog, measure: Measure, node: Node, classes: Texts, size: int, many: int, cost: Cost, gone: Gone
) -> list[int]:
    """Return the places of the classes that fall one after the other, each adding least beside those before it."""
    chosen: list[int] = []
    for _ in range(many):
        losses = _losses(catalog, measure, node, classes, size, cost, gone)
        losses[chosen] = math.inf
        least = losses.min()
        chosen.append(int(np.flatnonzero(losses <= least + NOISE * abs(least))[0]))
        gone = gone.and_all(classes[:, chosen[-1:]], size)
    return chosen


def _losses(
    catalog: Catalog, measure: Measure, node: Node, classes: Texts, size: int, cost: Cost, gone: Gone
) -> NDArray[np.float64]:
    """Return the loss if one of the classes fell, for each."""
    suppressed = sum(gone.by_text[0].values()) + size
    tables: list[list[float]] = []  # per attribute and text, the costs of all that is suppressed
    places, own_costs = [], []
    for position, texts in enumerate(classes):
        each, where = np.unique(texts, return_inverse=True)
        records = gone.by_text[position]
        if measure.needs == "surprisals":
            whole = math.fsum(n * math.log(n) for n in records.values() if n)
            n = [records.get(text, 0) for text in each.tolist()]
            tables.append([whole - (o * math.log(o) if o else 0.0) + (o + size) * math.log(o + size) for o in n])
        else:
            spent = sum(records[text] * cost(position, text) for text in records)
            tables.append([spent + size * cost(position, text) for text in each.tolist()])
        places.append(where)
        own_costs.append(tables[-1][0])
    if not isinstance(measure, AttributeMeasure) or type(measure) not in KNOWN:
        costs = zip(*[np.array(own)[where].tolist() for own, where in zip(tables, places, strict=True)], strict=True)
        return np.array([measure.loss(node, Counts(suppressed + catalog.uncovered, own)) for own in costs])
    floor, lost = measure.floor(node), []
    for position, (own, where) in enumerate(zip(tables, places, strict=True)):
        added = [
            measure.added(node, suppressed, [*own_costs[:position], one, *own_costs[position + 1 :]])[position]
            for one in own
        ]
        lost.append(np.array([min(floor[position] + one, measure.ceiling) for one in added])[where])
    weights = [attribute.weight for attribute in catalog.attributes]
    rows, of_class = np.unique(np.stack(lost), axis=1, return_inverse=True)
    folded = [fold(measure.aggregate or "sum", column, weights) for column in rows.T.tolist()]
    of_each = np.array(folded)[of_class.ravel()]
    return of_each


KNOWN: tuple[Any, ...] = (Loss, NonUniformEntropy)
"""Measures of which what a column adds depends on the costs of this column alone."""
