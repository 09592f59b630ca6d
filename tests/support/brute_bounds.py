"""The bounds of generalized values by brute force: from a value and its hierarchy, never from a published text."""

import datetime
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

Found = tuple[Any, Any, Any]
"""low, high, midpoint; None where there is none."""
NOTHING: Found = (None, None, None)


def of_interval(value: Any, spec: dict[str, Any], level: int, *, whole: bool) -> Found:
    """The bounds of the interval of a number at a level of {width, fanouts, lower, upper, origin}, or of {edges}."""
    if value is None or level > len(spec.get("fanouts", spec.get("edges", [])[1:])) + 1:
        return NOTHING
    if level == 0:
        return value, value, value
    if "edges" in spec:
        edges = [Fraction(str(edge)) for edge in spec["edges"][level - 1]]
        first, end = (
            max((e for e in edges if e <= value), default=None),
            min((e for e in edges if e > value), default=None),
        )
        low, high = (
            (first, end)
            if not whole
            else (None if first is None else ceil(first), None if end is None else ceil(end) - 1)
        )
        middle = None if first is None or end is None else (low + high) / 2 if not whole else (low + high) // 2
        return low, high, middle
    number, width = Fraction(value), Fraction(str(spec["width"]))
    lower, upper = (None if spec.get(side) is None else Fraction(str(spec[side])) for side in ("lower", "upper"))
    if lower is not None and number < lower:
        return None, (ceil(lower) - 1 if whole else lower), None
    if upper is not None and number >= upper:
        return (ceil(upper) if whole else upper), None, None
    for fanout in spec.get("fanouts", [])[: level - 1]:
        width *= fanout
    origin = Fraction(str(spec.get("origin", 0)))
    first = origin + floor((number - origin) / width) * width
    end = first + width
    first, end = first if lower is None else max(first, lower), end if upper is None else min(end, upper)
    if not whole:
        return first, end, (first + end) / 2
    low, high = ceil(first), ceil(end) - 1
    return low, high, floor(Fraction(low + high, 2))


def of_period(value: Any, periods: Sequence[str], level: int) -> Found:
    """The bounds of the calendar period of a date or timestamp at a level of ``periods``."""
    moment = isinstance(value, datetime.datetime)
    named = [name for name in periods if moment or name != "day"]
    if value is None or level > len(named):
        return NOTHING
    if level == 0:
        return value, value, value
    day = value.date() if moment else value
    day_before = datetime.timedelta(days=1)
    first = last = day
    while _period(first - day_before, named[level - 1]) == _period(day, named[level - 1]):
        first -= day_before
    while _period(last + day_before, named[level - 1]) == _period(day, named[level - 1]):
        last += day_before
    if not moment:
        return first, last, first + datetime.timedelta(days=(last - first).days // 2)
    start = datetime.datetime(first.year, first.month, first.day)
    end = datetime.datetime(last.year, last.month, last.day) + day_before
    return start, end, start + (end - start) / 2


def _period(day: datetime.date, name: str) -> Any:
    return {
        "day": day,
        "week": day.isocalendar()[:2],
        "week_year": day.isocalendar()[0],
        "month": (day.year, day.month),
        "quarter": (day.year, (day.month - 1) // 3),
        "year": day.year,
        "half_year": (day.year, day.month > 6),
        "decade": day.year // 10,
        "five_years": day.year // 5,
        "twenty_years": day.year // 20,
    }[name]


def of_listed(
    value: str | None, rows: Sequence[tuple[str | None, ...]], level: int, numbers: dict[str | None, Any]
) -> Found:
    """The bounds of what a listed value is published as: over all that the rows list below it.

    Args:
        numbers: of the listed values those that are numbers, or dates.
    """
    own = next((row for row in rows if row[0] == value), None)
    roots = {row[-1] for row in rows}
    if own is None or (level and level == len(rows[0]) - 1 and len(roots) == 1):
        return NOTHING
    below = [row[0] for row in rows if row[level] == own[level]]
    if not all(leaf in numbers for leaf in below):
        return NOTHING
    low, high = min(numbers[leaf] for leaf in below), max(numbers[leaf] for leaf in below)
    return low, high, middle(low, high)


def middle(low: Any, high: Any) -> Any:
    """The middle, rounded down to a whole number or a day where bounds are such."""
    if isinstance(low, datetime.datetime):
        return low + (high - low) / 2
    if isinstance(low, datetime.date):
        return low + datetime.timedelta(days=(high - low).days // 2)
    if isinstance(low, int):
        return int((Decimal(low + high) / 2).to_integral_value(ROUND_FLOOR))
    return (low + high) / 2
