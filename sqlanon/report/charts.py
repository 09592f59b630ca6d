"""The geometry of a report's charts, from numbers: along the page in percent, so that they fit any width, upwards in
pixels; and bars of block characters for plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlanon.core.sizes.histogram import ClassSizes
from sqlanon.report.blocks import Picture

VISIBLE = 0.6
"""The least percent of a bar for a part that is not zero, so that it is seen."""
PLOT = 150.0
"""Height of the tallest column of a histogram."""
HEADROOM = 34.0
"""Height above the tallest column, for its number and the mark of k."""
SMALL = 64.0
"""Height of a small picture."""
MARKS = {"null": "N", "other": "…", "suppressed": "×"}
"""What stands below bars that are no values, by their kind."""
FOOT = 24.0
"""Height below the columns, for the labels of the axis."""
GAP = 0.12
"""Share of a histogram's slot that stays free."""
UNIT = ("loss", "precision", "weighted_information_loss")
"""Measures by which an attribute loses between 0 and 1."""
EIGHTHS = " ▏▎▍▌▋▊▉█"
Item = TypeVar("Item")


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


def inset(value: float, scale: float) -> float:
    """Return where a mark stands on a scale, in percent, so that all of it lies within the picture.

    >>> inset(0.0, 1.0), inset(0.5, 1.0), inset(1.0, 1.0)
    (4.0, 50.0, 96.0)
    """
    return round(4.0 + 92.0 * min(max(value / scale, 0.0), 1.0), 3) if scale > 0 else 4.0


def loss_scale(measure: str, losses: Sequence[float]) -> float:
    """Return what a full bar of an attribute's loss means: 1 where losses are shares, otherwise the largest of them."""
    largest = max(losses, default=0.0)
    return 1.0 if measure in UNIT and largest <= 1.0 else largest


@dataclass(frozen=True, slots=True)
class PairOfColumns:
    """Two columns side by side, before and after: each as (start, width) in percent and (top, height) in pixels."""

    places: tuple[tuple[float, float], tuple[float, float]]
    heights: tuple[tuple[float, float], tuple[float, float]]
    middles: tuple[float, float]
    numbers: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairedHistogram:
    """Records by class size before and after, on an axis that doubles; ``mark`` is where k stands, in percent."""

    columns: tuple[PairOfColumns, ...]
    ticks: tuple[Tick, ...]
    mark: float | None
    mark_anchor: str
    base: float
    height: float


def paired_histogram(rows: Sequence[tuple[ClassSizes, ClassSizes]], k: int | None) -> PairedHistogram:
    """Return the histogram of buckets before and after, which double from one to the next without a gap."""
    slot = 100.0 / max(len(rows), 1)
    tallest = max((bucket.records for row in rows for bucket in row), default=0)
    foot, half = HEADROOM + PLOT, (1 - GAP) / 2
    columns = []
    for place, row in enumerate(rows):
        starts = [(place + GAP / 2 + half * i) * slot for i in (0, 1)]
        heights = [_height(bucket.records, tallest) for bucket in row]
        columns.append(
            PairOfColumns(
                places=_two([(round(start, 3), round(half * slot, 3)) for start in starts]),
                heights=_two([(round(foot - height, 2), round(height, 2)) for height in heights]),
                middles=_two([round(start + half * slot / 2, 3) for start in starts]),
                numbers=_two([compact(bucket.records) if bucket.records else "" for bucket in row]),
            )
        )
    earlier = [first for first, _ in rows]
    mark = _mark(earlier, k, slot)
    return PairedHistogram(tuple(columns), _ticks(earlier), mark, _side(mark), foot, foot + FOOT)


@dataclass(frozen=True, slots=True)
class SmallChart:
    """A small picture: bars as (style, start, width, top, height) and marks below them as (place, text)."""

    bars: tuple[tuple[str, float, float, float, float], ...]
    marks: tuple[tuple[float, str], ...]


def small_chart(picture: Picture) -> SmallChart:
    """Return the picture of a distribution before and after: along the page in percent, upwards in pixels."""
    slot = 100.0 / max(len(picture.bars), 1)
    half = slot * (1 - GAP) / 2
    tallest = max((max(bar.before, bar.after) for bar in picture.bars), default=0.0)
    bars, marks = [], []
    for place, item in enumerate(picture.bars):
        start = place * slot + slot * GAP / 2
        after = "suppressed" if item.kind == "suppressed" else "published"
        for style, value, left in (("earlier", item.before, start), (after, item.after, start + half)):
            if value > 0 and tallest:
                height = round(max(SMALL * value / tallest, 1.0), 2)
                bars.append((style, round(left, 3), round(half, 3), round(SMALL - height, 2), height))
        if item.kind in MARKS:
            marks.append((round(start + half, 3), MARKS[item.kind]))
    return SmallChart(tuple(bars), tuple(marks))


def _two(items: Sequence[Item]) -> tuple[Item, Item]:
    first, second = items
    return first, second


def _side(mark: float | None) -> str:
    """Return the anchor of the label of a mark, which stays within the picture."""
    return "end" if mark is not None and mark > 80 else "start"


def _ticks(buckets: Sequence[ClassSizes]) -> tuple[Tick, ...]:
    """Return a tick at each end of a bucket."""
    slots = max(len(buckets), 1)
    edges = [b.least for b in buckets] + [b.most + 1 for b in buckets[-1:]]
    return tuple(
        Tick(
            round(i * 100.0 / slots, 3),
            f"{edge:,}" if len(edges) <= 12 else compact(edge),
            "start" if i == 0 else "end" if i == slots else "middle",
        )
        for i, edge in enumerate(edges)
    )


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
    mark = _mark(buckets, k, slot)
    return Histogram(
        columns=tuple(columns),
        ticks=_ticks(buckets),
        mark=mark,
        mark_anchor=_side(mark),
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
