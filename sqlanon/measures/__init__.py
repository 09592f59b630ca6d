"""Quality measures, one a file; ``MEASURES`` lists them in the order of the documentation."""

from __future__ import annotations

from sqlanon.catalog import Catalog
from sqlanon.measures.base import Measure
from sqlanon.measures.loss import Loss
from sqlanon.measures.precision import Precision

MEASURES: tuple[type[Loss] | type[Precision], ...] = (Loss, Precision)


def measure_named(name: str, catalog: Catalog) -> Measure:
    """The measure called ``name``, for an encoded source."""
    return next(measure for measure in MEASURES if measure.name == name)(catalog)
