"""Which numbers or dates a generalized value stands for: from the hierarchy alone, never from values that occur.

Of a computed hierarchy the text itself says it (``[20, 25)``, ``2024-Q1``); of one that lists its values, the least and
the greatest of those that it lists below, whether they occur or not. So the bounds of a value are a function of the
column, the hierarchy and the published text, and reveal nothing more of a record than that text does.

A value without bounds has NULL: the only root of a hierarchy (it stands for NULL too, and for what is not listed),
NULL, ``far``, NaN and infinities, and what stands for a listed value that is no number or date (``90+``, NULL). The
open ends of intervals (``<0``, ``>=100``) have one bound, and cut the intervals that they lie in: with an ``upper`` of
90, ``[80, 90)`` stands in the place of ``[80, 100)`` (and the start 80, with ``labels: start``, for 80 to 89).

Of whole numbers and dates, ``high`` is the last one that belongs to the value: 24 of ``[20, 25)``, 2024-03-31 of
``2024-Q1``. Of other numbers and of timestamps it is the bound itself, which does not belong to a half-open interval:
25 of ``[20, 25)``, 2024-04-01 00:00:00 of ``2024-Q1``. Of listed values it is the greatest, which always belongs.
``midpoint`` lies in the middle of both, rounded down to a whole number or day.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, localcontext
from typing import Any, Literal

from sqlanon.core.hierarchies.builders import FLOATS
from sqlanon.core.hierarchies.specs import Dates, HierarchySpec, Intervals, Rows
from sqlanon.core.sqltrees.data_types import INTEGERS

DIGITS = 38
"""Digits of a DECIMAL."""
WHOLE = re.compile(r"[+-]?[0-9]{1,39}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")
RANGE = re.compile(r"\[(-?[0-9.]+), (-?[0-9.]+)\)")
START = re.compile(r"-?[0-9.]+")
OPEN = re.compile(r"(<|>=)(-?[0-9.]+)")
PERIOD = re.compile(r"([0-9]{4})(?:-(?:W([0-9]{2}|)|Q([1-4])|H([12])|([0-9]{4})|([0-9]{2})(?:-([0-9]{2}))?)|(s))?")
MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


@dataclass(frozen=True, slots=True)
class ValueBounds:
    """The least and the greatest number or date that a published value stands for; None where there is none."""

    low: Any = None
    high: Any = None

    @property
    def midpoint(self) -> Any:
        """What lies in the middle; None where a bound is missing."""
        if self.low is None or self.high is None:
            return None
        if isinstance(self.low, Decimal):
            with localcontext(prec=400):
                return (self.low + self.high) / 2
        if isinstance(self.low, int):
            return (self.low + self.high) // 2
        return self.low + (self.high - self.low) // 2

    def with_(self, other: ValueBounds) -> ValueBounds:
        """Return the bounds of what either stands for."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        return ValueBounds(low, None if self.high is None or other.high is None else max(self.high, other.high))


NOTHING = ValueBounds()


@dataclass(frozen=True, slots=True)
class ValueType:
    """What the bounds of a column are.

    Attributes:
        kind: whole numbers, numbers, dates or timestamps.
        name: the type of the published columns.
    """

    kind: Literal["whole", "number", "date", "moment"]
    name: str

    def read(self, text: str | None) -> Any:
        """Return the value that a text is; None for another text."""
        if text is None:
            return None
        try:
            return _READERS[self.kind](text)
        except (ValueError, ArithmeticError):
            return None

    def within(self, bounds: ValueBounds) -> ValueBounds:
        """Return the part of bounds that the type holds."""
        if self.kind != "whole":
            return bounds
        least, most = _limits(self.name)
        low = None if bounds.low is None else max(bounds.low, least)
        high = None if bounds.high is None else min(bounds.high, most)
        return NOTHING if low is not None and high is not None and low > high else ValueBounds(low, high)

    def half_open(self, start: Decimal | None, end: Decimal | None) -> ValueBounds:
        """Return the bounds of the numbers from ``start`` on and below ``end``."""
        if self.kind != "whole":
            return ValueBounds(start, end)
        first = None if start is None else math.ceil(start)
        return self.within(ValueBounds(first, None if end is None else math.ceil(end) - 1))


def _whole(text: str) -> int | None:
    return int(text) if WHOLE.fullmatch(text) else None


def _number(text: str) -> Decimal | None:
    return Decimal(text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if DAY.fullmatch(text) else None


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if MOMENT.fullmatch(text) else None


_READERS: Mapping[str, Callable[[str], Any]] = {"whole": _whole, "number": _number, "date": _day, "moment": _moment}


def _limits(type_name: str) -> tuple[int, int]:
    """Return the least and the greatest number of an integer type."""
    bits = {"TINY": 8, "SMALL": 16, "INTEGER": 32, "BIG": 64, "HUGE": 128}
    unsigned = type_name.startswith("U")
    size = next(bits[word] for word in bits if type_name.removeprefix("U").startswith(word))
    return (0, 2**size - 1) if unsigned else (-(2 ** (size - 1)), 2 ** (size - 1) - 1)


def value_type(type_name: str, spec: HierarchySpec | None, rows: Rows | None) -> ValueType | None:
    """Return what the bounds of a column are; None where neither its type nor its hierarchy says it.

    Numbers and dates keep the type of the source; a DECIMAL gets as many digits as its bounds need. Of texts the
    listed values decide: BIGINT where all that are numbers are whole, otherwise DOUBLE; DATE or TIMESTAMP.

    Args:
        type_name: of the column in the source.
        rows: what the hierarchy lists; None where it is computed.
    """
    name = type_name.upper()
    base = name.split("(")[0]
    if base in INTEGERS:
        return ValueType("whole", base)
    if base in FLOATS:
        return ValueType("number", base)
    if base == "DECIMAL":
        return ValueType("number", _decimal(name, spec, rows))
    if name == "DATE":
        return ValueType("date", name)
    if name in MOMENTS:
        return ValueType("moment", name)
    return _of_texts({row[0] for row in rows if row[0] is not None}) if name == "VARCHAR" and rows else None


def _of_texts(texts: set[str]) -> ValueType | None:
    """Return what those of some texts are that are numbers, or dates; None for neither, and for both."""
    numbers = [text for text in texts if ValueType("number", "DOUBLE").read(text) is not None]
    moments = [text for text in texts if ValueType("moment", "TIMESTAMP").read(text) is not None]
    if bool(numbers) == bool(moments):
        return None
    if moments:
        return ValueType("date", "DATE") if all(map(DAY.fullmatch, moments)) else ValueType("moment", "TIMESTAMP")
    least, most = _limits("BIGINT")
    whole = all(WHOLE.fullmatch(text) and least <= int(text) <= most for text in numbers)
    return ValueType("whole", "BIGINT") if whole else ValueType("number", "DOUBLE")


def _decimal(name: str, spec: HierarchySpec | None, rows: Rows | None) -> str:
    """Return the DECIMAL that holds bounds and midpoints exactly, or DOUBLE where none does."""
    if "(" not in name:
        return name
    digits, _, places = name.rstrip(")").partition("(")[2].partition(",")
    numbers: list[Decimal] = []
    if isinstance(spec, Intervals):
        widest = [] if spec.edges else [spec.width, spec.width * math.prod(spec.fanouts)]
        given = (*widest, spec.origin, spec.lower, spec.upper, *(spec.edges or [()])[0])
        numbers = [n for n in given if n is not None]
    numbers += [found for row in rows or () if (found := ValueType("number", name).read(row[0])) is not None]
    scale = max([int(places or 0), *(-int(n.as_tuple().exponent) for n in numbers)]) + 1
    whole = max([int(digits) - int(places or 0), *(n.adjusted() + 1 for n in numbers)]) + 1
    return f"DECIMAL({DIGITS},{scale})" if whole + scale <= DIGITS else "DOUBLE"


def computed_bounds(spec: HierarchySpec | None, values: ValueType, level: int, text: str) -> ValueBounds:
    """Return the bounds of a text that a computed hierarchy has on a level above 0."""
    if isinstance(spec, Intervals):
        return _interval(spec, values, level, text)
    return _period(values, text) if isinstance(spec, Dates) else NOTHING


def _interval(spec: Intervals, values: ValueType, level: int, text: str) -> ValueBounds:
    """Return the bounds of an interval: what lies beyond ``lower`` or ``upper`` has another text."""
    if found := OPEN.fullmatch(text):
        edge = Decimal(found[2])
        return values.half_open(None, edge) if found[1] == "<" else values.half_open(edge, None)
    if found := RANGE.fullmatch(text):
        return _cut(spec, values, Decimal(found[1]), Decimal(found[2]))
    if spec.labels == "start" and START.fullmatch(text):
        with localcontext(prec=400):
            start = Decimal(text)
            return _cut(spec, values, start, start + spec.width * math.prod(spec.fanouts[: level - 1]))
    return NOTHING


def _cut(spec: Intervals, values: ValueType, start: Decimal, end: Decimal) -> ValueBounds:
    """Return the bounds of the part of an interval that lies from ``lower`` on and below ``upper``."""
    start = start if spec.lower is None else max(start, spec.lower)
    end = end if spec.upper is None else min(end, spec.upper)
    return values.half_open(start, end) if start < end else NOTHING


def _period(values: ValueType, text: str) -> ValueBounds:
    """Return the bounds of a calendar period; one that reaches beyond the year 9999 has no last day."""
    found = PERIOD.fullmatch(text)
    try:
        first, following = _days(*found.groups()) if found else (None, None)
    except (ValueError, OverflowError):
        return NOTHING
    if first is None:
        return NOTHING
    if values.kind == "date":
        return ValueBounds(first, date.max if following is None else following - timedelta(days=1))
    if following is None:
        return ValueBounds(datetime.combine(first, time()), None)
    return ValueBounds(datetime.combine(first, time()), datetime.combine(following, time()))


def _days(
    year: str,
    week: str | None,
    quarter: str | None,
    half: str | None,
    last: str | None,
    month: str | None,
    day: str | None,
    decade: str | None,
) -> tuple[date, date | None]:
    """Return the first day of a period, and the first after it; None after the last year."""
    if week == "":
        ends = int(year) == date.max.year
        return date.fromisocalendar(int(year), 1, 1), None if ends else date.fromisocalendar(int(year) + 1, 1, 1)
    if week is not None:
        first = date.fromisocalendar(int(year), int(week), 1)
        return first, first + timedelta(days=7) if date.max - first >= timedelta(days=7) else None
    if day is not None:
        first = date(int(year), int(month or 1), int(day))
        return first, first + timedelta(days=1) if first < date.max else None
    if last is not None:
        months = 12 * (int(last) + 1 - int(year))
    else:
        months = 120 if decade else 3 if quarter else 6 if half else 1 if month else 12
    start = 3 * int(quarter) - 2 if quarter else 6 * int(half) - 5 if half else int(month or 1)
    first = date(int(year), start, 1)
    ordinal = 12 * first.year + first.month - 1 + months
    return first, date(ordinal // 12, ordinal % 12 + 1, 1) if ordinal // 12 <= date.max.year else None


def listed_bounds(rows: Rows, values: ValueType, level: int) -> dict[str, ValueBounds]:
    """Return the bounds of the texts of a level: the least and the greatest value that the rows list below each.

    The only root has none, and neither has what stands for a value that is no number or date.
    """
    height = len(rows[0])
    if level == height - 1 > 0 and len({row[-1] for row in rows}) == 1:
        return {row[-1]: NOTHING for row in rows if row[-1] is not None}
    found: dict[str, ValueBounds] = {}
    for row in rows:
        text, value = row[level], values.read(row[0])
        if text is not None:
            own = values.within(ValueBounds(value, value))
            found[text] = found[text].with_(own) if text in found else own
    return found


def joined(parts: Iterable[Iterable[tuple[str, ValueBounds]]]) -> dict[str, ValueBounds]:
    """Return the bounds of texts that may stand on several levels: those of all that a text stands for."""
    found: dict[str, ValueBounds] = {}
    for part in parts:
        for text, bounds in part:
            found[text] = found[text].with_(bounds) if text in found else bounds
    return found


def as_text(values: ValueType, value: Any) -> str | None:
    """Return a bound as a text that reads as the type of its column."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        return format(value, "f") if values.name.startswith("DECIMAL") else str(value)
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
