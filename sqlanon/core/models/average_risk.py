"""Average risk: the mean of the prosecutor risks 1/f over the published records, C/n, is at most a threshold.

C is the number of published classes, n that of their records. Source: Dankar and El Emam, 2010 (marketer risk with the
sample for its population); SPEC-risk. A release model: classes are suppressed in ascending size until it holds, which
is the least number of records: of all sets of C' classes the largest ones have the most records, and each of the other
sets that meet C'/n <= θ is exceeded by the largest of as many classes.

The bound. Let x be a candidate at or below y, and publish at y just the records that x publishes: each published class
of y holds at least one of x, and no two the same, so that C' <= C_x classes of y hold the n_x records of x, of which
C_x <= θ n_x. Of a class of n records with m certain to be suppressed at x, at most n - m are among them. So n_x is at
most the sum of the C' largest n - m, for a C' with C' <= θ times this sum. The mean of the C' largest falls with C',
so the largest sum is that which is left when the smallest are taken away until it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlanon.core.models.base import fraction
from sqlanon.core.models.release import Bounded, Sizes, ThresholdModel
from sqlanon.core.words import figure
from sqlanon.parameters import Parameter, choice, exact, option

TIES_OPTION = option(
    "ties",
    choice(
        least_loss="those whose values have lost least by generalization",
        greatest_loss="those whose values have lost most by generalization",
    ),
    about="Which of the classes of one size are suppressed first; of those still equal, the ones that add least to the "
    "policy's measure, then by their values.",
    example="greatest_loss",
)
"""Which of classes of one size are suppressed first: those whose generalized values have lost least, or most."""


@dataclass(frozen=True, slots=True)
class AverageRisk(ThresholdModel):
    """See the module's docstring; the threshold is taken as the decimal fraction it was written as."""

    threshold: float | Decimal
    ties: str = "least_loss"
    type = "average_risk"
    parameters = (
        Parameter(
            "threshold",
            exact(0, 1, above=True),
            about="Published classes per published record, at most.",
            example="0.05",
        ),
        TIES_OPTION,
    )
    monotone = False

    @property
    def words(self) -> str:
        return f"average risk of at most {self.threshold}"

    def sentence(self, who: str) -> str:
        return (
            "Anyone who knows the quasi-identifiers of all persons of the release, and nothing else, takes the right "
            f"record for {figure(100 * float(self.threshold))} % of them at most, on average (average risk): single "
            "records may be easier to find."
        )

    def removed(self, sizes: Sizes) -> int:
        numerator, denominator = fraction(self.threshold)
        classes, records = sum(count for _, count in sizes), sum(size * count for size, count in sizes)
        removed = 0
        for size, count in sizes:
            lacking = denominator * classes - numerator * records
            if lacking <= 0:
                break
            # the mean size is below 1/θ, and so is that of the smallest: without one of them less is lacking
            taken = min(-(-lacking // (denominator - numerator * size)), count)
            removed, classes, records = removed + taken, classes - taken, records - size * taken
        return removed

    def least(self, classes: Bounded) -> int:
        most: dict[int, int] = {}
        for n, certain, count in classes:
            if n > certain:
                most[n - certain] = most.get(n - certain, 0) + count
        sizes = sorted(most.items())
        removed, kept = self.removed(sizes), 0
        for size, count in sizes:
            taken = min(removed, count)
            removed, kept = removed - taken, kept + size * (count - taken)
        return sum(n * count for n, _, count in classes) - kept
