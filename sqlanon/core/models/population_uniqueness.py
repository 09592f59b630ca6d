"""Population uniqueness: the estimated share of the population that is unique in it is at most a threshold.

The published records are taken for a sample of N people; ``sizes.population`` has the estimators of Zayatz (1991) and
of Pitman (Hoshino 2001) with their formulas. Who is not alone in the sample is not alone in the population either:
where nobody is alone among the published records, the share of those at risk is 0 whatever the population. Where
Pitman's equations have no solution nothing is known, and the model does not hold, unless nobody is alone.

A release model: records that are alone in their class are suppressed, the least number with which it holds.

- Zayatz' share ``c_1/n · c_1/(c_1 + Σ c_i h(i)/h(1))``, i > 1, falls with each of them, so that the number is found by
  halving. The first factor does, because c_1 <= n. With a record less in the sample each
  ``h(i)/h(1) = i Π (N-n-j)/(N-1-j)``, j < i - 1, is at least as large, and c_1 is less: so the second factor does.
- Pitman's equations may have a solution for some numbers and none for larger ones. So every number counts, in turn:
  ``sizes.population.may_meet_pitman`` solves the equations for all of them side by side, and those that may hold by it
  are judged one by one.

The bound. Neither estimate is monotone in the node: what is suppressed at a node says nothing of more specific ones,
where more records are alone, but other classes besides; nor of more general ones, where the equations may lose their
solution. So no record is certain, the lower bound is that of the other models (``least`` is 0), and a node that
suppresses nothing may have a generalization that does (``closes_upward``). With θ = 0 every record that is alone fails,
and stays so, because neither estimate is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.average_risk import TIES_OPTION
from sqlanon.core.models.base import labelled
from sqlanon.core.models.release import Bounded, Sizes, ThresholdModel
from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.core.words import figure
from sqlanon.errors import InputError
from sqlanon.parameters import Parameter, choice, exact, whole

ESTIMATORS = ("pitman", "zayatz")
FEWEST_AT_ONCE, MOST_AT_ONCE = 256, 8192
"""Numbers of records for which Pitman's equations are solved side by side."""


@dataclass(frozen=True, slots=True)
class PopulationUniqueness(ThresholdModel):
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
    def closes_upward(self) -> bool:
        """Return whether a node that suppresses nothing has no generalization that does."""
        return self.threshold == 0

    @property
    def words(self) -> str:
        return (
            f"population uniqueness of at most {self.threshold} of {self.population:,} ({self.estimator.capitalize()})"
        )

    def sentence(self, who: str) -> str:
        return (
            f"By the estimate of {self.estimator.capitalize()}, at most {figure(100 * float(self.threshold))} % of the "
            f"population of {self.population:,} are unique in it by the quasi-identifiers (population uniqueness). It "
            "takes the release for a random sample of the population."
        )

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
        if self.estimator == "pitman":
            return next((number for number in self._worth_solving(sizes, alone) if self._holds(sizes, number)), alone)
        fails, holds = 0, alone
        while holds - fails > 1:
            middle = (fails + holds) // 2
            if self._holds(sizes, middle):
                holds = middle
            else:
                fails = middle
        return holds

    def _worth_solving(self, sizes: Sizes, alone: int) -> Iterator[int]:
        """Yield in ascending order the numbers of records with which Pitman's estimate may hold, before ``alone``."""
        import numpy as np

        from sqlanon.core.sizes.population import may_meet_pitman

        histogram, first = SizeHistogram(tuple(sizes)), 1
        while first < alone:
            some = np.arange(first, min(max(FEWEST_AT_ONCE, 4 * first), first + MOST_AT_ONCE, alone), dtype=np.float64)
            found = may_meet_pitman(histogram, self.population, float(self.threshold), some)
            yield from some[found].astype(int).tolist()
            # what follows one that surely meets the threshold, but is not taken, is asked for anew
            first = int(some[found[-1]]) + 1 if len(found) else first + len(some)

    def _holds(self, sizes: Sizes, removed: int) -> bool:
        return self.holds([(size, count - removed if size == 1 else count) for size, count in sizes])

    def holds(self, sizes: Sizes) -> bool:
        """Return whether a release of these classes meets the model."""
        from sqlanon.core.sizes.population import pitman, zayatz

        histogram = SizeHistogram(tuple((size, count) for size, count in sizes if count))
        if not histogram.classes_of(1):
            return True
        if self.estimator == "zayatz":
            return zayatz(histogram, self.population) <= float(self.threshold)
        model = pitman(histogram)
        return model is not None and model.uniques(self.population) / self.population <= float(self.threshold)

    def least(self, classes: Bounded) -> int:
        return 0
