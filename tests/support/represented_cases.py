"""Random tables with numbers and dates of every type, their hierarchies, and the bounds by brute force."""

import datetime
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import brute_bounds as brute
import pyarrow as pa

Values = list[Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A column: its values, its hierarchy as a policy writes it, how many levels that has, and the bounds of a value
    at a level."""

    values: Values
    type: pa.DataType
    hierarchy: dict[str, Any]
    height: int
    bounds: Callable[[Any, int], brute.Found]
    uncovered: str = "error"


def _drawn(draw: random.Random, count: int, make: Callable[[], Any]) -> Values:
    pool = [make() for _ in range(draw.randint(1, 12))]
    return [None if draw.random() < 0.1 else draw.choice(pool) for _ in range(count)]


def whole(draw: random.Random, count: int) -> Case:
    width = draw.choice([1, 5, 7, "2.5", 10])
    spec: dict[str, Any] = {"width": width, "fanouts": [draw.randint(2, 4) for _ in range(draw.randint(0, 2))]}
    if draw.random() < 0.5:
        spec |= {"lower": draw.choice([-7, 0, "2.5"]), "upper": draw.choice([20, "33.5", 40])}
    if draw.random() < 0.3:
        spec["origin"] = draw.choice([1, -3, "0.5"])
    if draw.random() < 0.3 and width not in ("2.5",) and "origin" not in spec:
        spec["labels"] = "start"
    values = _drawn(draw, count, lambda: draw.randint(-30, 60))
    kind = draw.choice([pa.int64(), pa.int32()])
    return Case(
        values, kind, {"intervals": spec}, len(spec["fanouts"]) + 3,
        lambda value, level: brute.of_interval(value, spec, level, whole=True),
    )  # fmt: skip


def fraction(draw: random.Random, count: int) -> Case:
    spec: dict[str, Any] = {"width": draw.choice(["0.5", 3, "12.25"]), "fanouts": [2] * draw.randint(0, 2)}
    if draw.random() < 0.5:
        spec |= {"lower": draw.choice(["-1.5", 0]), "upper": draw.choice([9, "15.25"])}
    height = len(spec["fanouts"]) + 3
    if draw.random() < 0.3:
        spec, height = {"edges": [["-3", 1, "7.25", 20], [1, 20]]}, 4
    decimal = draw.random() < 0.5
    values: Values = _drawn(draw, count, lambda: Decimal(draw.randint(-800, 2400)) / 100)
    kind = pa.decimal128(8, 2) if decimal else pa.float64()
    values = [value if decimal or value is None else float(value) for value in values]
    return Case(
        values, kind, {"intervals": spec}, height,
        lambda value, level: brute.of_interval(value, spec, level, whole=False),
    )  # fmt: skip


def calendar(draw: random.Random, count: int) -> Case:
    of_weeks = draw.choice([["day", "week"], ["week"], ["week", "week_year"]])
    periods = draw.choice(
        [["month", "quarter", "half_year", "year", "five_years", "decade", "twenty_years"], of_weeks, ["day", "year"]]
    )
    values: Values = _drawn(draw, count, lambda: datetime.date(1995, 1, 1) + datetime.timedelta(draw.randint(0, 9999)))
    kind, height = pa.date32(), len(periods) + 2 - ("day" in periods)
    if draw.random() < 0.4:
        values = [v and datetime.datetime(v.year, v.month, v.day, draw.randint(0, 23), 30) for v in values]
        kind, height = pa.timestamp("us"), len(periods) + 2
    return Case(values, kind, {"dates": periods}, height, lambda value, level: brute.of_period(value, periods, level))


def listed(draw: random.Random, count: int) -> Case:
    """Texts with an inline hierarchy: numbers or dates, most of them without a record, and now and then others."""
    kind = draw.choice(["whole", "fraction", "date"])
    make: dict[str, Callable[[int], Any]] = {
        "whole": lambda i: i,
        "fraction": lambda i: Decimal(i) / 4 + Decimal("0.25"),
        "date": lambda i: datetime.date(2000, 1, 1) + datetime.timedelta(i),
    }
    numbers = {str(value): value for value in (make[kind](i) for i in draw.sample(range(200), draw.randint(2, 20)))}
    if kind == "fraction" and all(value == int(value) for value in numbers.values()):
        numbers["0.5"] = Decimal("0.5")
    leaves: list[str | None] = [*numbers, *draw.sample(["90+", "unknown"], draw.randint(0, 2))]
    if draw.random() < 0.3:
        leaves.append(None)
    groups = {leaf: f"g{draw.randint(0, 4)}" for leaf in leaves}
    above = {group: f"h{draw.randint(0, 1)}" for group in groups.values()}
    rooted = draw.random() < 0.7
    rows = [(leaf, groups[leaf], above[groups[leaf]], *(["*"] if rooted else [])) for leaf in leaves]
    occurring = draw.sample(leaves, draw.randint(1, len(leaves)))
    uncovered = "top" if rooted and draw.random() < 0.4 else "error"
    if uncovered == "top":
        occurring = [*occurring, "not listed"]
    values = [draw.choice(occurring) for _ in range(count)]
    return Case(
        values, pa.string(), {"levels": {row[0]: list(row[1:]) for row in rows}}, len(rows[0]),
        lambda value, level: brute.of_listed(value, rows, level, numbers),
        uncovered,
    )  # fmt: skip


def suppressed(draw: random.Random, count: int) -> Case:
    values = _drawn(draw, count, lambda: draw.randint(-5, 5))
    return Case(
        values, pa.int32(), {"suppress": {}}, 2,
        lambda value, level: brute.NOTHING if level or value is None else (value, value, value),
    )  # fmt: skip


MAKERS = (whole, fraction, calendar, listed, listed, suppressed)
