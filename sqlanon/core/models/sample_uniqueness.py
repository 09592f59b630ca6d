"""Sample uniqueness: the published records that are alone in their class are at most a share of those published.

Source: Skinner and Elliot, 2002 (a record at risk is unique in the sample); SPEC-risk. A release model: records that
are alone are suppressed until it holds. Each takes one from both sides of ``alone <= θ published``, and of a larger
class the suppression takes from the right side alone, so that this is the least number.

The bound. A record that is alone at y is alone or suppressed at every x at or below y. Let y have u of them, t of which
x suppresses; and let A of the other records be certain to be suppressed at x. x publishes at most N - A - t records, at
least u - t of them alone, so ``u - t <= θ (N - A - t)``: t is at least ``(u - θ (N - A)) / (1 - θ)``, and no less than
how many of them are certain. With θ = 0 every record that is alone fails, and stays so: that is k-anonymity with k = 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlanon.core.models.average_risk import TIES_OPTION
from sqlanon.core.models.base import fraction
from sqlanon.core.models.release import Bounded, Sizes, ThresholdModel
from sqlanon.core.words import figure
from sqlanon.parameters import Parameter, exact


@dataclass(frozen=True, slots=True)
class SampleUniqueness(ThresholdModel):
    """See the module's docstring; the threshold is taken as the decimal fraction it was written as."""

    threshold: float | Decimal
    ties: str = "least_loss"
    type = "sample_uniqueness"
    parameters = (
        Parameter(
            "threshold",
            exact(0, 1),
            about="The share of the published records that are alone in their class, at most.",
            example="0.01",
        ),
        TIES_OPTION,
    )

    @property
    def words(self) -> str:
        return f"sample uniqueness of at most {self.threshold}"

    def sentence(self, who: str) -> str:
        share = figure(100 * float(self.threshold))
        return (
            f"At most {share} % of the published records share their quasi-identifiers with no other (sample "
            "uniqueness)."
        )

    def removed(self, sizes: Sizes) -> int:
        alone, records = sum(count for size, count in sizes if size == 1), sum(size * count for size, count in sizes)
        return self._suppressed(alone, records)

    def _suppressed(self, alone: int, records: int) -> int:
        """Return how many of the records that are alone must be suppressed, of so many records in all."""
        numerator, denominator = fraction(self.threshold)
        if numerator == denominator:
            return 0
        return max(-(-(denominator * alone - numerator * records) // (denominator - numerator)), 0)

    def least(self, classes: Bounded) -> int:
        alone = sum(count for n, _, count in classes if n == 1)
        certain = sum(certain * count for n, certain, count in classes if n == 1)
        others = sum(certain * count for n, certain, count in classes if n > 1)
        records = sum(n * count for n, _, count in classes)
        return others + max(certain, self._suppressed(alone, records - others))
