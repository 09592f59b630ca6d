"""The geometry of a report's charts, from numbers: along the page in percent, so that they fit any width, upwards in
pixels; and bars of block characters for plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.report.summary import ClassSizes

VISIBLE = 0.6
"""The least percent of a bar for a part that is not zero, so that it is seen."""
PLOT = 150.0
"""Height of the tallest column of a histogram."""
HEADROOM = 34.0
"""Height above the tallest column, for its number and the mark of k."""
FOOT = 24.0
"""Height below the columns, for the labels of the axis."""
GAP = 0.12
"""Share of a histogram's slot that stays free."""
UNIT = ("loss", "precision", "weighted_information_loss")
"""Measures by which an attribute loses between 0 and 1."""
EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar, in percent of it."""

    start: float
    width: float


@dataclass(frozen=True, slots=True)
class HistogramColumn:
    """A column of a histogram: where it stands in percent, and its two parts as (top, height) in pixels."""

    start: float
    width: float
    published: tuple[float, float]
    suppressed: tuple[float, float]
    middle: float
    number: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of the axis, in percent; ``anchor`` keeps the outer ones within the picture."""

    place: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """Records by class size on an axis that doubles; ``mark`` is where k stands, in percent."""

    columns: tuple[HistogramColumn, ...]
    ticks: tuple[Tick, ...]
    mark: float | None
    mark_anchor: str
    base: float
    height: float


def stacked(values: Sequence[float], *, visible: float = VISIBLE) -> tuple[Segment, ...]:
    """Return the parts of a bar side by side, one per value; no part of a positive value is too thin to be seen.

    >>> stacked([75, 0, 25])
    (Segment(start=0.0, width=75.0), Segment(start=75.0, width=0.0), Segment(start=75.0, width=25.0))
    """
    total = math.fsum(values)
    widths = [100.0 * value / total if total else 0.0 for value in values]
    thin = [0.0 < width < visible for width in widths]
    rest = math.fsum(width for width, small in zip(widths, thin, strict=True) if not small)
    stretch = (100.0 - visible * sum(thin)) / rest if rest else 1.0
    segments, start = [], 0.0
    for width, small in zip(widths, thin, strict=True):
        drawn = visible if small else width * stretch
        segments.append(Segment(round(start, 3), round(drawn, 3)))
        start += drawn
    return tuple(segments)


def bar(value: float, scale: float) -> float:
    """Return the width of a bar in percent of its full scale."""
    if value <= 0 or scale <= 0:
        return 0.0
    return round(max(min(100.0 * value / scale, 100.0), VISIBLE), 3)


def loss_scale(measure: str, losses: Sequence[float]) -> float:
    """Return what a full bar of an attribute's loss means: 1 where losses are shares, otherwise the largest of them."""
    largest = max(losses, default=0.0)
    return 1.0 if measure in UNIT and largest <= 1.0 else largest


def histogram(buckets: Sequence[ClassSizes], k: int | None) -> Histogram:
    """Return the histogram of ``buckets``, which double from one to the next without a gap."""
    slots = max(len(buckets), 1)
    slot = 100.0 / slots
    tallest = max((b.records + b.suppressed_records for b in buckets), default=0)
    columns = []
    for place, bucket in enumerate(buckets):
        below, above = (_height(records, tallest) for records in (bucket.records, bucket.suppressed_records))
        foot = HEADROOM + PLOT
        columns.append(
            HistogramColumn(
                start=round((place + GAP / 2) * slot, 3),
                width=round((1 - GAP) * slot, 3),
                published=(round(foot - below, 2), round(below, 2)),
                suppressed=(round(foot - below - above, 2), round(above, 2)),
                middle=round((place + 0.5) * slot, 3),
                number=compact(bucket.records + bucket.suppressed_records),
            )
        )
    edges = [b.least for b in buckets] + [b.most + 1 for b in buckets[-1:]]
    ticks = tuple(
        Tick(
            round(i * slot, 3),
            f"{edge:,}" if len(edges) <= 12 else compact(edge),
            "start" if i == 0 else "end" if i == slots else "middle",
        )
        for i, edge in enumerate(edges)
    )
    mark = _mark(buckets, k, slot)
    return Histogram(
        columns=tuple(columns),
        ticks=ticks,
        mark=mark,
        mark_anchor="end" if mark is not None and mark > 80 else "start",
        base=HEADROOM + PLOT,
        height=HEADROOM + PLOT + FOOT,
    )


def _height(records: int, tallest: int) -> float:
    return max(PLOT * records / tallest, 1.5) if records else 0.0


def _mark(buckets: Sequence[ClassSizes], k: int | None, slot: float) -> float | None:
    if k is None or not buckets:
        return None
    doublings = math.log2(k) - math.log2(buckets[0].least)
    return round(min(max(doublings, 0.0), float(len(buckets))) * slot, 3)


def compact(number: int) -> str:
    """Return a number in few characters.

    >>> compact(508), compact(1126), compact(10267), compact(65536), compact(2_500_000)
    ('508', '1.1k', '10.3k', '65.5k', '2.5M')
    """
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return str(number)


def blocks(value: float, scale: float, cells: int) -> str:
    """Return a bar of block characters, to an eighth of a cell; a positive value has one eighth at least.

    >>> blocks(0.5, 1.0, 3), blocks(0.001, 1.0, 3), blocks(0.0, 1.0, 3)
    ('█▌', '▏', '')
    """
    if value <= 0 or scale <= 0:
        return ""
    eighths = max(round(8 * cells * min(value / scale, 1.0)), 1)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()
