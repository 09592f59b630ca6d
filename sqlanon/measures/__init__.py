"""Quality measures, one a file; ``MEASURES`` lists them in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable

from sqlanon.catalog import Catalog
from sqlanon.measures.average_class_size import AverageClassSize
from sqlanon.measures.base import Measure
from sqlanon.measures.discernibility import Discernibility
from sqlanon.measures.height import Height
from sqlanon.measures.loss import Loss
from sqlanon.measures.non_uniform_entropy import NonUniformEntropy
from sqlanon.measures.precision import Precision
from sqlanon.measures.weighted_information_loss import WeightedInformationLoss

MEASURES: tuple[Callable[[Catalog, str | None, int], Measure], ...] = (
    Loss,
    NonUniformEntropy,
    Precision,
    Discernibility,
    AverageClassSize,
    WeightedInformationLoss,
    Height,
)


def measure_named(name: str, catalog: Catalog, aggregate: str | None = None, size: int = 1) -> Measure:
    """The measure called ``name``, for an encoded source.

    Args:
        aggregate: how the losses of the attributes fold; None is the measure's own default.
        size: the least number of records of a class that can pass the policy's models.
    """
    return next(kind for kind in MEASURES if getattr(kind, "name", None) == name)(catalog, aggregate, size)
