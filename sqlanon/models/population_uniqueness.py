"""Population uniqueness: the estimated share of the population that is unique in it is at most a threshold.

The published records are taken for a sample of N people; ``sizes.population`` has the estimators of Zayatz (1991) and
of Pitman (Hoshino 2001) with their formulas. Who is not alone in the sample is not alone in the population either:
where nobody is alone among the published records, the share of those at risk is 0 whatever the population. Where
Pitman's equations have no solution nothing is known, and the model does not hold, unless nobody is alone.

A release model: records that are alone in their class are suppressed, as many as it takes. The number is found by
halving: with so many the estimate is at most the threshold, and with one less it is not.

The bound. No estimate is monotone: what is suppressed at a node says nothing of more special ones, where more
records are alone, but other classes besides. So no record is certain, and a node that suppresses nothing may have a
generalization that does (``closes_upward``). With θ = 0 every record that is alone fails, and stays
so, because neither estimate is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlanon.errors import InputError
from sqlanon.lattice.catalog import Catalog
from sqlanon.models.average_risk import TIES_OPTION
from sqlanon.models.base import labelled
from sqlanon.models.release import Bounded, SizeModel, Sizes
from sqlanon.parameters import Parameter, choice, exact, whole
from sqlanon.sizes.histogram import SizeHistogram

ESTIMATORS = ("pitman", "zayatz")


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(SizeModel):
    """See the docstring of the module."""

    threshold: float | Decimal
    population: int
    estimator: str
    ties: str = "least_loss"
    type = "population_uniqueness"
    parameters = (
        Parameter(
            "threshold",
            exact(0, 1),
            about="The estimated share of the population that is unique in it, at most.",
            example="0.001",
        ),
        Parameter(
            "population",
            whole(1),
            about="How many people the records were drawn from.",
            unit="people",
            example="317238626",
        ),
        Parameter("estimator", choice(*ESTIMATORS), about="By which equations it is estimated.", example="pitman"),
        TIES_OPTION,
    )

    @property
    def monotone(self) -> bool:
        return self.threshold == 0

    @property
    def closes_upward(self) -> bool:
        """Return whether a node that suppresses nothing has no generalization that does."""
        return self.threshold == 0

    @property
    def size(self) -> int:
        return 2 if self.threshold == 0 else 1

    @property
    def label(self) -> str:
        shown = {"threshold": f"{float(self.threshold):g}", "population": self.population, "estimator": self.estimator}
        return labelled(None, self.type, **shown)

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"holds": 0}

    def obstacle(self, catalog: Catalog) -> str | None:
        if self.population < catalog.population:
            raise InputError(
                f"{self.type} names a population of {self.population}, but {catalog.population} records take part.",
                hint="give the number of people that the records were drawn from.",
            )
        return None

    def removed(self, sizes: Sizes) -> int:
        alone = sum(count for size, count in sizes if size == 1)
        if not alone or self.threshold == 0 or self._holds(sizes, 0):
            return alone if self.threshold == 0 else 0
        fails, holds = 0, alone
        while holds - fails > 1:
            middle = (fails + holds) // 2
            if self._holds(sizes, middle):
                holds = middle
            else:
                fails = middle
        return holds

    def _holds(self, sizes: Sizes, removed: int) -> bool:
        return self.holds([(size, count - removed if size == 1 else count) for size, count in sizes])

    def holds(self, sizes: Sizes) -> bool:
        """Return whether a release of these classes meets the model."""
        from sqlanon.sizes.population import pitman, zayatz

        histogram = SizeHistogram(tuple((size, count) for size, count in sizes if count))
        if not histogram.classes_of(1):
            return True
        if self.estimator == "zayatz":
            return zayatz(histogram, self.population) <= float(self.threshold)
        model = pitman(histogram)
        return model is not None and model.uniques(self.population) / self.population <= float(self.threshold)

    def least(self, classes: Bounded) -> int:
        return 0
