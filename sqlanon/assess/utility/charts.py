"""The bars of the chart of a column: its published values before and after, small ones merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sqlanon.assess.utility.facts import Bucket, Kind
from sqlanon.assess.utility.released import Real, Whole

MOST_BARS = 12
"""A chart has at most so many bars, beside those of NULL, of the other values and of the suppressed records."""
OTHER, NULL, SUPPRESSED = "other", "NULL", "suppressed"


@dataclass(frozen=True, slots=True)
class Chart:
    """The published values of a column, and which of them have bars.

    Attributes:
        before, after: per published value, the records and the released records.
        bars: the published values of each bar, in their order; several are a range.
        ordered: the bars stand in the order of the values.
    """

    before: Whole
    after: Whole
    bars: tuple[tuple[int, ...], ...]
    ordered: bool

    @property
    def named(self) -> list[int]:
        """The published values whose texts the chart shows."""
        return sorted({value for bar in self.bars for value in (bar[0], bar[-1])})


def chart_of(before: Whole, after: Whole, places: Real, least: int) -> Chart:
    """Return the bars of a column: of values in at least ``least`` released records, ``MOST_BARS`` at most.

    The values of an ordered column that have places form ranges of about equally many records where they are too many.
    Of other columns the most frequent values have bars, before those without a place of an ordered one.

    Args:
        places: per published value, its place on the scale of the column; NaN without one.
    """
    frequent = after >= least
    by_frequency = sorted(frequent.nonzero()[0].tolist(), key=lambda value: (-before[value], value))
    placed = [value for value in by_frequency if np.isfinite(places[value])]
    placed.sort(key=lambda value: (places[value], value))
    without = [value for value in by_frequency if not np.isfinite(places[value])]
    bars = [(value,) for value in placed] if len(placed) <= MOST_BARS else _ranges(placed, before)
    bars += [(value,) for value in without[: max(MOST_BARS - len(bars), 1)]]
    return Chart(before, after, tuple(bars), ordered=bool(placed))


def _ranges(values: list[int], before: Whole) -> list[tuple[int, ...]]:
    """Cut a line of values into at most ``MOST_BARS`` ranges of about equally many records."""
    records = before[values].astype(np.float64)
    middle = (np.cumsum(records) - records / 2) / records.sum()
    place = np.minimum((middle * MOST_BARS).astype(int), MOST_BARS - 1)
    starts = [0, *(np.flatnonzero(np.diff(place)) + 1).tolist(), len(values)]
    return [tuple(values[start:end]) for start, end in pairwise(starts)]


def buckets(chart: Chart, texts: Mapping[int, str | None], *, records: int, suppressed: int) -> tuple[Bucket, ...]:
    """Return the bars of a chart with their texts, then what has none, then the suppressed records.

    Args:
        texts: of the values that ``chart.named`` lists.
        records: all that take part; those that no value of the chart counts stand in ``other``.
    """

    def bucket(kind: Kind, label: str, values: int, before: int, after: int) -> Bucket:
        whole = max(records, 1)
        return Bucket(kind, label, values, before, after, before / whole, after / whole)

    found, nulls = [], []
    before_left, after_left, values_left = records, int(chart.after.sum()), int((chart.before > 0).sum())
    for bar in chart.bars:
        first, last = texts[bar[0]], texts[bar[-1]]
        before, after = int(chart.before[list(bar)].sum()), int(chart.after[list(bar)].sum())
        before_left, after_left, values_left = before_left - before, after_left - after, values_left - len(bar)
        if first is None or last is None:
            nulls.append(bucket("null", NULL, len(bar), before, after))
        elif len(bar) == 1:
            found.append(bucket("value", first, 1, before, after))
        else:
            found.append(bucket("range", f"{first} to {last}", len(bar), before, after))
    found += nulls
    if before_left or after_left:
        found.append(bucket("other", OTHER, values_left, before_left, after_left))
    if suppressed:
        found.append(bucket("suppressed", SUPPRESSED, 0, 0, suppressed))
    return tuple(found)
