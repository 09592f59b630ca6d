"""A quality measure from outside the package, tried before a search relies on it.

What generalization alone costs (``floor``) is known for every level without a query, so a loss that falls is found
here. Whether the bounds of a measure hold on data is for its author's tests: see ``sqlanon.testing``.
"""

from __future__ import annotations

import math
from itertools import pairwise

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.measures.base import AGGREGATES, AttributeMeasure, BottomFacts, Counts, LowerBounds, Measure
from sqlanon.errors import InputError, attempt

NOISE = 1e-9
"""Relative: what floating point may take back."""


def refuse_unsound(name: str, measure: Measure, catalog: Catalog) -> None:
    """Raise InputError when a measure cannot be used, or its loss falls where it must rise."""
    if measure.needs == "surprisals" and catalog.attributes and not catalog.attributes[0].surprisals:
        return  # they are counted next, and it is tried with them
    what = f"The quality measure {name!r}"
    if measure.needs not in (None, "costs", "surprisals", "classes") or not set(measure.aggregates) <= set(AGGREGATES):
        raise InputError(f"{what} has needs or aggregates that are not known.", hint="see sqlanon.extending.Measure.")
    first, counts = catalog.bottom, Counts(catalog.uncovered, [0] * len(catalog.attributes), 1, catalog.population**2)
    ground = BottomFacts(catalog.population**2, 1, 0) if measure.needs == "classes" else None
    losses = [
        attempt(what, lambda: float(measure.loss(first, counts))),
        attempt(what, lambda: float(measure.bound(first, ground, LowerBounds(catalog.uncovered)))),
    ]
    if any(math.isnan(loss) or loss < 0 for loss in losses):
        raise InputError(f"{what} gives a loss that is negative, or no number.", hint="let no loss be below 0.")
    if isinstance(measure, AttributeMeasure):
        attempt(what, lambda: _try_levels(what, measure, catalog))


def _try_levels(what: str, measure: AttributeMeasure, catalog: Catalog) -> None:
    """Raise InputError unless f rises with the level, and f + g with both where suppression is a matter of numbers."""
    top, none = catalog.top, [0] * len(catalog.attributes)
    nodes = [tuple(min(level, high) for high in top) for level in range(max(top, default=-1) + 1)]
    amounts = (0, catalog.encoded // 2, catalog.encoded) if measure.needs is None else (0,)
    before: list[list[float]] = []
    for amount in amounts:
        rows: list[list[float]] = []
        for node in nodes:
            added = measure.added(node, amount, none) if amount else [0.0] * len(node)
            rows.append([f + g for f, g in zip(measure.floor(node), added, strict=True)])
        for number, attribute in enumerate(catalog.attributes):
            where = f"of column {attribute.name!r}"
            losses = [rows[level][number] for level in range(attribute.height)]
            for level, (low, high) in enumerate(pairwise(losses), start=1):
                _refuse_falling(what, low, high, f"{where} falls from level {level - 1} to {level}")
            for level, loss in enumerate(losses if before else ()):
                _refuse_falling(
                    what, before[level][number], loss, f"{where} at level {level} falls with the suppressed records"
                )
        before = rows


def _refuse_falling(what: str, low: float, high: float, fault: str) -> None:
    if not high >= low - NOISE * max(1.0, abs(low)):
        raise InputError(
            f"{what} cannot be searched with: its loss {fault}.",
            hint="a proof rests on a loss that rises with generalization and with every suppressed record.",
        )
