"""The section about utility: how well a release describes its columns, in figures and in charts without a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlanon.report.blocks import Block, Cell, Field, Pair, Picture, PictureBar, Pictures, Sentence, Table
from sqlanon.report.wording import count, counted, figure, share

if TYPE_CHECKING:
    from sqlanon.utility.facts import Association, ColumnUtility, Prediction, QueryErrors, Utility

QUERIES = 200
"""Random counts that a report asks: enough for a median and a 95th percentile, in a part of a second."""
LABELLED = ("value", "range")
"""Kinds of bars whose label is a published value, which no report holds."""
ESTIMATES = {
    "contained": "counting a record where it surely fits",
    "overlapping": "counting a record where it may fit",
    "uniform": "spreading each record evenly over what it covers",
}
"""How counts are estimated from a release, by the names of the facts."""
MOST_PAIRS = 10
STRENGTH = "\N{WHITE CIRCLE} before, \N{BLACK CIRCLE} after; a line goes from 0 to 1."
GO_TOGETHER = (
    "Cramér's V: 0 for two columns that say nothing of each other, 1 for one that follows from the other. The pairs "
    "that change most."
)
MOVED = (
    "Moved: the share of the records that would have to hold another value for the column to look as in the source "
    "(total variation distance), with the suppressed records and among the published ones alone. Shifted: how far "
    "values move on average, in percent of the column's range (Wasserstein distance); suppressed ones across all of it."
)
PICTURES = (
    "Each picture shows the share of the records by published value, before and after: numbers and dates in their "
    "order, others by frequency. Values are not named: a report holds none. N: NULL; …: other values; ×: suppressed."
)
ASKED = (
    "Random counts over one to three quasi-identifiers, each of 1 to 10 % of the records. The error is relative to the "
    "true count, suppressed records among it."
)


def without_values(utility: Utility) -> Utility:
    """Return the facts without the published values that label the bars of their charts."""
    columns = tuple(
        replace(
            column,
            buckets=tuple(replace(b, label="") if b.kind in LABELLED else b for b in column.buckets),
        )
        for column in utility.columns
    )
    return replace(utility, columns=columns)


def lost(utility: Utility) -> Iterable[Block]:
    """Yield the section of the operator's report."""
    if utility.columns:
        yield _columns(utility)
        yield Sentence(MOVED)
        drawn = tuple(_picture(column) for column in utility.columns if _is_drawn(column))
        if drawn:
            yield Pictures(drawn, PICTURES)
    if utility.queries is not None and utility.queries.errors:
        yield from _queries(utility.queries)
    if utility.association is not None and utility.association.pairs:
        yield from _association(utility.association)
    if utility.prediction is not None:
        yield from _prediction(utility.prediction)
    yield from (Sentence(warning) for warning in utility.warnings)


def _is_drawn(column: ColumnUtility) -> bool:
    """Return whether a picture of the column would show more than one published value."""
    return sum(bucket.kind != "suppressed" for bucket in column.buckets) > 1


def _columns(utility: Utility) -> Table:
    several = any(len(column.levels) > 1 for column in utility.columns)
    ordered = any(column.wasserstein is not None for column in utility.columns)
    fields = [Field("Column", width=24, style="column", plain="")]
    fields += [Field("Share by level", width=26)] if several else []
    fields += [Field("Moved", "number"), Field("Moved, published alone", "number")]
    fields += [Field("Shifted", "number")] if ordered else []
    rows: list[tuple[Cell, ...]] = []
    for column in utility.columns:
        levels = ", ".join(f"{level.level}: {share(float(level.share))}" for level in column.levels)
        moved = (column.total_variation, column.total_variation_published)
        rows.append(
            (
                column.name,
                *([levels] if several else []),
                *map(_share, moved),
                *([_share(column.wasserstein)] if ordered else []),
            )
        )
    return Table(tuple(fields), tuple(rows), style="stack")


def _share(part: float | None) -> str:
    return "–" if part is None else share(round(float(part), 6))


def _picture(column: ColumnUtility) -> Picture:
    bars = tuple(PictureBar(b.kind, float(b.before_share), float(b.after_share)) for b in column.buckets)
    return Picture(column.name, f"{_share(column.total_variation)} moved", bars)


def _association(found: Association) -> Iterable[Block]:
    """Yield the pairs of columns whose association changes most."""
    most = sorted(found.pairs, key=lambda pair: -pair.change)[:MOST_PAIRS]
    fields = (
        Field("Two columns that go together", width=48, plain="two columns that go together"),
        Field("Before", "number"),
        Field("After", "number"),
        Field("", "pair"),
    )
    rows = tuple(
        (f"{p.first}, {p.second}", figure(p.before), figure(p.after), Pair(p.before, p.after, 1.0)) for p in most
    )
    caption = f"Mean change over {counted(len(found.pairs), 'pair')}: {figure(found.mean_change)}. "
    yield Table(fields, rows, caption, "stack", legend=STRENGTH)
    yield Sentence(GO_TOGETHER)


def _prediction(found: Prediction) -> Iterable[Block]:
    """Yield how well a column is predicted, from the source and from the release."""
    fields = (Field("Learner", width=40), Field("From the source", "number"), Field("From the release", "number"))
    majority = ("always the most frequent class", share(found.majority), share(found.majority))
    rows = (majority, *((a.learner.replace("_", " "), share(a.original), share(a.release)) for a in found.accuracies))
    yield Table(fields, rows, f"Right guesses of {found.target}, of records that were not learnt from.", "stack")


def _queries(found: QueryErrors) -> Iterable[Block]:
    fields = (
        Field("Error of counts from the release", width=50),
        Field("Half of them, at most", "number"),
        Field("95 %, at most", "number"),
    )
    rows = tuple((ESTIMATES.get(e.estimate, e.estimate), share(e.median), share(e.percentile_95)) for e in found.errors)
    yield Table(fields, rows, f"{count(found.queries)} random counts.", style="stack")
    yield Sentence(ASKED)
