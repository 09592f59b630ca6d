"""Quality measures, one a file; ``MEASURES`` lists them in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.measures.average_class_size import AverageClassSize
from sqlanon.core.measures.base import Measure
from sqlanon.core.measures.discernibility import Discernibility
from sqlanon.core.measures.height import Height
from sqlanon.core.measures.loss import Loss
from sqlanon.core.measures.non_uniform_entropy import NonUniformEntropy
from sqlanon.core.measures.precision import Precision
from sqlanon.core.measures.weighted_information_loss import WeightedInformationLoss

MeasureKind = Callable[[Catalog, str | None, int], Measure]
"""The class of a measure: called with the catalog, the aggregate of the attributes' losses (None is its own default)
and the least number of records of a class that can pass the policy's models."""

MEASURES: tuple[MeasureKind, ...] = (
    Loss,
    NonUniformEntropy,
    Precision,
    Discernibility,
    AverageClassSize,
    WeightedInformationLoss,
    Height,
)
