"""The facts of utility: how well a release still describes its source. For the operator: counts are exact.

A label of a bucket is a published value of the release, or two of them, each in at least ``least`` released records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from sqlanon.core.facts import Facts, pick

DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "records": (
            "All records of the source but those that a NULL excludes (basic match); of a subset, its records. "
            "They are published or suppressed."
        ),
        "loss": (
            "The part of the policy's measure that the column has, before weights; where the measure has no parts, or "
            "several rules publish the records, the normalized loss (Iyengar 2002): the mean over the records of "
            "(leaves - 1) / (D - 1), a suppressed record counting 1. For columns that are published as they are, the "
            "share of the records that is suppressed."
        ),
        "levels": "The share of the records that is published at each level; with the suppressed share, 1 in all.",
        "values": (
            "Distinct values among the records, at level 0, and distinct published values in the release; NULL is one."
        ),
        "total_variation": (
            "Half the sum of the absolute differences between two distributions of the column: that of the records, "
            "and that of the release, in which a generalized value counts in equal parts as each value of the records "
            "that it covers, and 'suppressed' is a value of its own. 0: nothing changed; 1: nothing is published."
        ),
        "total_variation_published": (
            "The same between the records and the released records alone, each adding up to 1: the bias of what is "
            "published. None where nothing is published."
        ),
        "wasserstein": (
            "For numbers and dates: how far the values move on the mean, as a share of the column's range; a "
            "suppressed record counts as moved across the whole range: s + (1 - s) W, s being the suppressed share and "
            "W the distance of the released records."
        ),
        "wasserstein_published": (
            "W: the Wasserstein distance of order 1 (earth mover's distance) between the records and the released "
            "records, generalized values spread as above, divided by the range. Of a date each month has 31 days; "
            "values that are no number (NULL, NaN) are left out on both sides."
        ),
        "buckets": (
            "The records and the released records by published value, at the highest level at which the column is "
            "published. Values in fewer released records than a class must hold are merged with others; an ordered "
            "column with many values is cut into ranges of about equally many records; the suppressed records are a "
            "part of their own."
        ),
        "shape": (
            "The shares of the records before and after by the values of level 0, where the column is generalized: "
            "a published value counts in equal parts as each value that it covers; of a fully suppressed column, none "
            "counts. A column with many values is cut into ranges of about equally many records, in the order of "
            "numbers and dates, others by frequency."
        ),
        "queries": (
            "Random COUNT queries (Xiao, Tao 2006; LeFevre, DeWitt, Ramakrishnan 2006): 1 to 3 quasi-identifiers with "
            "more than one value, d of them; a selectivity s between 1 % and 10 %; of each column a share s^(1/d) of "
            "its values, in one stretch where they are ordered, otherwise any. The error of an estimate is "
            "|estimate - truth| / max(truth, sanity bound); the truth counts the suppressed records, no estimate does."
        ),
        "association": (
            "Cramér's V without its bias (Bergsma 2013) of every two columns, and 1 where one determines the "
            "other, with two records a value on average or more; by categories: numbers and dates in 10 "
            "quantiles, NULL apart; of other values the 19 most frequent and all others. After: of the released "
            "records, a generalized value being a category (of many the 19 most frequent); suppressed records "
            "count nowhere. change: the absolute difference."
        ),
        "prediction": (
            "Every third record, in the order of the categories, is for the test; the others are learnt from. "
            "original: learnt from the records, tested on them. release: learnt from the released records, tested on "
            "the same records as they are published; a suppressed one is guessed to be of the most frequent released "
            "class. majority: all are guessed to be of the most frequent class. The class of a quasi-identifier is its "
            "value at the highest level at which it is published. NULL is a value."
        ),
        "naive_bayes": "Naive Bayes with Laplace smoothing, of the categories of association, computed in the engine.",
        "logistic_regression": "scikit-learn's, each of the same categories being a feature of 0 or 1.",
        "random_forest": "scikit-learn's, of 100 trees, likewise.",
        "contained": "As published, cautiously: a released record counts if all that its values cover meets the query.",
        "overlapping": "As published, generously: a released record counts if any value that it may stand for does.",
        "uniform": (
            "A released record counts with the share of the values covered by its published ones that meets the query, "
            "multiplied over the columns: values within a cell are taken for equally frequent and independent."
        ),
    }
)
"""Each figure with its definition."""

Kind = Literal["value", "range", "null", "other", "suppressed"]
"""What a bar of a chart stands for."""


@dataclass(frozen=True, slots=True)
class LevelShare(Facts):
    """The records that are published at a level of a column."""

    level: int
    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Bucket(Facts):
    """A bar of the chart of a column.

    Attributes:
        kind: ``value``; ``range``, of the published values ``first`` to ``last``; ``null``; ``other``, the values that
            have no bar of their own; ``suppressed``.
        label: the published value, the first and last one of a range, or the kind in words.
        values: how many published values are counted here.
        before: records of the source; of ``suppressed``, none.
        after: released records; of ``suppressed``, the suppressed ones.
        before_share, after_share: the same as shares of the records, suppressed ones included.
    """

    kind: Kind
    label: str
    values: int
    before: int
    after: int
    before_share: float
    after_share: float


@dataclass(frozen=True, slots=True)
class ShapeBar(Facts):
    """The share of the records with one value of level 0, or a range of them, before and after."""

    kind: Kind
    before_share: float
    after_share: float


@dataclass(frozen=True, slots=True)
class ColumnUtility(Facts):
    """The utility of one column.

    Attributes:
        role: as in the policy.
        ordered: its values are numbers or dates.
        loss: see ``DEFINITIONS``; ``loss_measure`` names the measure that it is a part of.
        levels: ascending, those at which records are published.
        suppressed, suppressed_share: records, and their share.
        values_before, values_after: distinct values, NULL among them.
        total_variation, total_variation_published, wasserstein, wasserstein_published: see ``DEFINITIONS``.
        buckets: of the chart, in its order; ``bucket_level`` is the level of their values.
        fully_suppressed: one value is published in all records, and there were several before, or unlisted ones.
        shape: of a generalized column, the shares by its values of level 0 (see ``DEFINITIONS``); otherwise empty.
    """

    name: str
    role: str
    ordered: bool
    loss: float | None
    loss_measure: str
    levels: tuple[LevelShare, ...]
    suppressed: int
    suppressed_share: float
    values_before: int
    values_after: int
    total_variation: float
    total_variation_published: float | None
    wasserstein: float | None
    wasserstein_published: float | None
    buckets: tuple[Bucket, ...]
    bucket_level: int
    fully_suppressed: bool = False
    shape: tuple[ShapeBar, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryError(Facts):
    """The relative errors of one way to answer queries: ``contained``, ``overlapping`` or ``uniform``."""

    estimate: str
    median: float
    percentile_95: float
    mean: float


@dataclass(frozen=True, slots=True)
class QueryErrors(Facts):
    """The errors of random COUNT queries.

    Attributes:
        queries: how many were asked; fewer than were wanted where the source is large.
        seed: that they were drawn with; the same seed draws the same queries.
        sanity_bound: the least denominator of an error, in records: 0.1 % of the records, at least 10.
        columns: the quasi-identifiers that they are about.
    """

    queries: int
    seed: int
    sanity_bound: float
    columns: tuple[str, ...]
    errors: tuple[QueryError, ...]

    def error(self, estimate: str) -> QueryError:
        """Return the errors of one way to answer."""
        return next(item for item in self.errors if item.estimate == estimate)


@dataclass(frozen=True, slots=True)
class PairAssociation(Facts):
    """How strongly two columns go together, before and after: Cramér's V, 0 to 1."""

    KEYS = "first second before after change"
    first: str
    second: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """The absolute change."""
        return abs(self.after - self.before)


@dataclass(frozen=True, slots=True)
class Association(Facts):
    """The association of every two columns, and how much it changes; ``left_out``: columns that are not compared."""

    KEYS = "mean_change max_change left_out pairs"
    pairs: tuple[PairAssociation, ...]
    mean_change: float
    max_change: float
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Accuracy(Facts):
    """The share of the test that a learner guesses right: learnt from the source, and from the release."""

    learner: str
    original: float
    release: float


@dataclass(frozen=True, slots=True)
class Prediction(Facts):
    """How well a column is predicted by the others.

    Attributes:
        features: the columns that it is predicted by.
        classes: how many categories of the target there are.
        training, training_released: records that are learnt from, and the released ones of them.
        tests, tests_suppressed: records that are guessed, and the suppressed ones of them.
        majority: the accuracy of whoever guesses the most frequent class of the training.
    """

    target: str
    features: tuple[str, ...]
    classes: int
    training: int
    training_released: int
    tests: int
    tests_suppressed: int
    majority: float
    accuracies: tuple[Accuracy, ...]

    def accuracy(self, learner: str) -> Accuracy:
        """Return the accuracies of one learner."""
        return next(item for item in self.accuracies if item.learner == learner)


@dataclass(frozen=True, slots=True)
class Utility(Facts):
    """What a release is still good for, for the operator: counts are exact.

    Attributes:
        records: that take part; ``published`` and ``suppressed`` add up to them.
        excluded: records that a NULL excludes; no figure counts them.
        least: the fewest released records that a value with a bar of its own stands in.
        columns: the published columns, in the order of the policy.
        queries: None where no quasi-identifier has two values, or none was asked for.
        association: None for fewer than two columns, or where nothing is published.
        prediction: None unless a target was named, and another column predicts it.
        warnings: what the figures leave out.
    """

    records: int
    published: int
    suppressed: int
    excluded: int
    least: int
    columns: tuple[ColumnUtility, ...]
    queries: QueryErrors | None
    association: Association | None = None
    prediction: Prediction | None = None
    warnings: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnUtility:
        """Return the facts of one column."""
        return next(item for item in self.columns if item.name == name)

    def without_values(self) -> Utility:
        """Return the facts without the published values that label the bars of their charts."""
        columns = [
            replace(c, buckets=tuple(replace(b, label="") if b.kind in ("value", "range") else b for b in c.buckets))
            for c in self.columns
        ]
        return replace(self, columns=tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON has them, with the definition of each figure."""
        return pick(self) | {"definitions": dict(DEFINITIONS)}
