"""Which of several classes of one size go first, where the measure decides (SPEC-risk, order of suppression).

Classes go in ascending size; of one size, as ``ties`` says by the loss of generalization, weighted as in the measure
``loss``. Of those that are equal in this too, one after the other goes: the one whose suppression, beside all that is
suppressed before it, adds least to the policy's measure, then the first by its generalized values.

How many classes go follows from sizes alone, and the bounds of the search from what is certain of every more specific
node (``min_suppressed``, ``min_total``): neither asks which of the equal classes go, so both hold for any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlanon.core.evaluate.arrays import Real
from sqlanon.core.evaluate.key_layout import Whole
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, Counts, Measure
from sqlanon.core.measures.loss import Loss
from sqlanon.core.measures.non_uniform_entropy import NonUniformEntropy

NOISE = 1e-12
"""Relative: losses that are no further apart are equal."""


@dataclass(frozen=True, slots=True)
class TiedClasses:
    """Classes of one size and one loss of generalization, in the order of their values; and what is suppressed before.

    Attributes:
        size: records of each class.
        values: per attribute, the number of its generalized value in each class.
        costs: per attribute, what suppressing a record of each class costs: D - leaves.
        suppressed: encoded records that are suppressed before.
        spent: per attribute, what these cost.
        gone: per attribute, how many of them have each value, by its number.
    """

    size: int
    values: Sequence[Whole]
    costs: Sequence[Whole]
    suppressed: int
    spent: Sequence[int]
    gone: Sequence[Whole]


def first_to_go(measure: Measure, catalog: Catalog, node: Node, tied: TiedClasses, many: int) -> list[int]:
    """Return the places of so many classes in the order in which they go."""
    adding = _by_values(tied) if measure.needs == "surprisals" else _by_costs(tied)
    goes: list[int] = []
    left = np.ones(len(tied.values[0]), bool)
    for suppressed in range(tied.suppressed + tied.size, tied.suppressed + tied.size * (many + 1), tied.size):
        losses = np.where(left, _losses(measure, catalog, node, suppressed, adding.costs()), np.inf)
        least = float(losses.min())
        goes.append(int(np.argmax(losses <= least + NOISE * abs(least))))
        left[goes[-1]] = False
        adding.take(goes[-1])
    return goes


@dataclass(slots=True)
class _Adding:
    """What the suppressed records and those of one class more cost, per attribute and class."""

    tied: TiedClasses
    spent: list[float]
    steps: list[Real]
    gone: list[Real] | None

    def costs(self) -> list[Real]:
        """Return per attribute, for each class, the costs once it is suppressed."""
        if self.gone is None:
            return [spent + step for spent, step in zip(self.spent, self.steps, strict=True)]
        return [spent + step[v] for spent, step, v in zip(self.spent, self.steps, self.tied.values, strict=True)]

    def take(self, place: int) -> None:
        """Suppress a class."""
        for i, (values, step) in enumerate(zip(self.tied.values, self.steps, strict=True)):
            at = place if self.gone is None else values[place]
            self.spent[i] += float(step[at])
            if self.gone is not None:
                self.gone[i][at] += self.tied.size
                step[at] = _step(self.gone[i][at : at + 1], self.tied.size)[0]


def _by_costs(tied: TiedClasses) -> _Adding:
    return _Adding(
        tied, [*map(float, tied.spent)], [costs.astype(np.float64) * tied.size for costs in tied.costs], None
    )


def _by_values(tied: TiedClasses) -> _Adding:
    gone = [records.astype(np.float64) for records in tied.gone]
    spent = [float(_n_log_n(records).sum()) for records in gone]
    return _Adding(tied, spent, [_step(records, tied.size) for records in gone], gone)


def _step(records: Real, size: int) -> Real:
    """Return how much n ln n rises when a class joins so many records of its value."""
    return _n_log_n(records + size) - _n_log_n(records)


def _n_log_n(records: Real) -> Real:
    return records * np.log(np.maximum(records, 1.0))


def _adds_arrays(measure: Measure) -> bool:
    """Return whether what suppression adds to a measure can be computed over arrays."""
    return type(measure) is Loss or type(measure) is NonUniformEntropy


def _losses(measure: Measure, catalog: Catalog, node: Node, suppressed: int, costs: Sequence[Real]) -> Real:
    """Return the loss of a node for each of some costs."""
    if not isinstance(measure, AttributeMeasure) or not _adds_arrays(measure):
        counts = (Counts(suppressed + catalog.uncovered, own) for own in zip(*[c.tolist() for c in costs], strict=True))
        return np.array([measure.loss(node, own) for own in counts])
    weights = [attribute.weight for attribute in catalog.attributes]
    added = measure.added(node, suppressed, costs)  # type: ignore[arg-type]  # of arrays, arrays
    parts = np.broadcast_arrays(
        *[np.minimum(f + g, measure.ceiling) * w for f, g, w in zip(measure.floor(node), added, weights, strict=True)]
    )
    folded: Real = np.sum(parts, axis=0)  # of a mean, too: the order is the same
    if measure.aggregate == "maximum":
        folded = np.max(parts, axis=0)
    elif measure.aggregate == "geometric_mean":
        folded = np.prod([part + 1.0 for part in parts], axis=0) ** (1.0 / len(parts)) - 1.0
    return folded
