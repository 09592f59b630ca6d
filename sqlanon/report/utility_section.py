"""The section about utility: how well a release describes its columns, in figures and in charts without a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlanon.report import wording
from sqlanon.report.blocks import Block, Cell, Field, Pair, Picture, PictureBar, Pictures, Sentence, Table
from sqlanon.report.wording import count, counted, figure, share

if TYPE_CHECKING:
    from sqlanon.assess.utility.facts import Association, ColumnUtility, Prediction, QueryErrors, Utility

DASH = "–"
MOST_PICTURES = 6
"""The columns that are drawn: those that lost most."""
MOST_PAIRS = 10
MOST_LEVELS = 3
"""A line names so many levels, those with most records."""
ESTIMATES = {
    "contained": "lower bound: records that surely match",
    "overlapping": "upper bound: records that may match",
    "uniform": "estimate: records spread evenly over their values",
}
"""How counts are estimated from a release, by the names of the facts."""
LEARNERS = {
    "naive_bayes": "naive Bayes",
    "logistic_regression": "logistic regression",
    "random_forest": "random forest",
}
STRENGTH = "\N{WHITE CIRCLE} before, \N{BLACK CIRCLE} after; a line goes from 0 to 1."
GO_TOGETHER = (
    "Association is Cramér's V: 0 for two independent columns, 1 where one column determines the other. Listed are the "
    "pairs that change most."
)
DISTANCE = (
    "Distance: the share of the records that would have to change their value for the column to be distributed as in "
    "the source (total variation distance), with the suppressed records, and among the published records alone. Shift: "
    "how far values move on average, in percent of the column's range (Wasserstein distance); a suppressed record "
    "counts as moved across the whole range. A generalized value counts in equal parts as each value that it covers."
)
PICTURES = (
    "The share of the records by value, before and after. Numbers and dates stand in their "
    "order, others by frequency. A generalized value counts in equal parts as each value that it covers. Values are "
    "not named: a report holds none. …: other values; ×: suppressed."
)
ASKED = (
    "Random counts over one to three quasi-identifiers, each of 1 to 10 % of the records. The error is relative to the "
    "true count, which includes the suppressed records."
)


def measured(utility: Utility) -> Iterable[Block]:
    """Yield the blocks of utility that a command prints by itself, for the operator."""
    excluded = f"; {count(utility.excluded)} more are excluded for a NULL" if utility.excluded else ""
    counts = f"{count(utility.published)} published, {count(utility.suppressed)} suppressed"
    yield Sentence(f"{counted(utility.records, 'record')}: {counts}{excluded}. For the operator: counts are exact.")
    yield from lost(utility, alone=True)
    if utility.queries is None:
        yield Sentence("No random counts were asked.")


def lost(utility: Utility, *, alone: bool = False) -> Iterable[Block]:
    """Yield the section of the operator's report.

    Args:
        alone: no other section has the levels and the loss of a column, and warnings are told elsewhere.
    """
    if utility.columns:
        yield _columns(utility, alone=alone)
        yield Sentence(DISTANCE)
        drawn = pictures(utility, MOST_PICTURES)
        if drawn.pictures:
            yield drawn
    if utility.queries is not None and utility.queries.errors:
        yield from _queries(utility.queries)
    if utility.association is not None and utility.association.pairs:
        yield from _association(utility.association)
    if utility.prediction is not None:
        yield from _prediction(utility.prediction)
    yield from (Sentence(warning) for warning in utility.warnings if not alone)


def pictures(utility: Utility, most: int | None = None) -> Pictures:
    """Return the columns' distributions before and after, those that lost most first; None: of all columns."""
    drawn = sorted((column for column in utility.columns if column.shape), key=_lost_most)
    caption = PICTURES if most is None else f"The columns that lost most. {PICTURES}"
    return Pictures(tuple(map(_picture, drawn[:most])), caption)


def _lost_most(column: ColumnUtility) -> tuple[float, float]:
    """Return the key that orders columns by their loss, the most first: fully suppressed ones, then by distance."""
    return (0.0 if column.fully_suppressed else 1.0, -column.total_variation)


def _columns(utility: Utility, *, alone: bool) -> Table:
    several = alone or any(len(column.levels) > 1 for column in utility.columns)
    ordered = any(column.wasserstein is not None for column in utility.columns)
    fields = [Field("Column", width=24, style="column", plain="")]
    fields += [Field("Share by level", width=26)] if several else []
    fields += [Field("Loss", "number"), Field("Values", "number")] if alone else []
    fields += [Field("Distance", "number"), Field("Of published records", "number", plain="Of published")]
    fields += [Field("Shift", "number")] if ordered else []
    rows: list[tuple[Cell, ...]] = []
    for column in utility.columns:
        most = sorted(column.levels, key=lambda level: -level.records) if alone else column.levels
        shown = [f"{level.level}: {share(float(level.share))}" for level in most]
        rest = [f"{len(shown) - MOST_LEVELS} more"] if alone and len(shown) > MOST_LEVELS else []
        levels = ", ".join([*shown[:MOST_LEVELS], *rest] if alone else shown)
        figures = [_share(column.total_variation), _share(column.total_variation_published)]
        figures += [_share(column.wasserstein)] if ordered else []
        if column.fully_suppressed:
            figures = [wording.FULLY_SUPPRESSED, *[DASH] * (len(figures) - 1)]
        loss = DASH if column.loss is None else figure(column.loss)
        own = (loss, f"{count(column.values_before)} to {count(column.values_after)}") if alone else ()
        rows.append((column.name, *([levels] if several else []), *own, *figures))
    return Table(tuple(fields), tuple(rows), style="stack")


def _share(part: float | None) -> str:
    return DASH if part is None else share(round(float(part), 6))


def _picture(column: ColumnUtility) -> Picture:
    bars = tuple(PictureBar(bar.kind, bar.before_share, bar.after_share) for bar in column.shape)
    fully = column.fully_suppressed
    return Picture(
        column.name, wording.FULLY_SUPPRESSED if fully else f"distance {_share(column.total_variation)}", bars
    )


def _association(association: Association) -> Iterable[Block]:
    """Yield the pairs of columns whose association changes most."""
    most = sorted(association.pairs, key=lambda pair: -pair.change)[:MOST_PAIRS]
    fields = (
        Field("Association of two columns", width=48),
        Field("Before", "number"),
        Field("After", "number"),
        Field("", "pair"),
    )
    rows = tuple(
        (f"{p.first}, {p.second}", figure(p.before), figure(p.after), Pair(p.before, p.after, 1.0)) for p in most
    )
    caption = f"Mean change over {counted(len(association.pairs), 'pair')}: {figure(association.mean_change)}; "
    caption += f"the largest: {figure(association.max_change)}."
    yield Table(fields, rows, f"{caption} ", "stack", legend=STRENGTH)
    if association.left_out:
        yield Sentence(f"Not compared: {', '.join(association.left_out)}.")
    yield Sentence(GO_TOGETHER)


def _prediction(prediction: Prediction) -> Iterable[Block]:
    """Yield how well a column is predicted, from the source and from the release."""
    fields = (
        Field("Learner", width=40),
        Field("Trained on the source", "number"),
        Field("Trained on the release", "number"),
    )
    majority = ("always the most frequent class", share(prediction.majority), share(prediction.majority))
    rows = (majority, *((LEARNERS[a.learner], share(a.original), share(a.release)) for a in prediction.accuracies))
    caption = (
        f"Accuracy of predicting {prediction.target} ({prediction.classes} classes), on "
        f"{counted(prediction.tests, 'record')} held out from training, of which "
        f"{count(prediction.tests_suppressed)} are suppressed."
    )
    yield Table(fields, rows, caption, "stack")


def _queries(errors: QueryErrors) -> Iterable[Block]:
    fields = (
        Field("Error of counts from the release", width=50),
        Field("Median error", "number"),
        Field("95th percentile", "number"),
    )
    rows = tuple((ESTIMATES[e.estimate], share(e.median), share(e.percentile_95)) for e in errors.errors)
    caption = f"{counted(errors.queries, 'random count')} (seed {errors.seed}; true counts below "
    caption += f"{figure(errors.sanity_bound)} records count as that many)."
    yield Table(fields, rows, caption, style="stack")
    yield Sentence(ASKED)
