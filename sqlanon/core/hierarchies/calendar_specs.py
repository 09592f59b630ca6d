"""The hierarchies of dates: calendar periods, periods that come round again, and ages at a stated day."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal, get_args

from sqlanon.core.hierarchies.spec_values import (
    FANOUTS,
    YEARS,
    Exact,
    Found,
    canonical_text,
    exact,
    is_list,
    set_fields,
)
from sqlanon.parameters import Parameter, option, or_nothing, shaped, text, whole

Period = Literal[
    "day", "week", "month", "quarter", "half_year", "year", "five_years", "decade", "twenty_years",
    "weekday", "weekend", "month_of_year", "quarter_of_year", "season", "week_year",
]  # fmt: skip
DATE_LEVELS: tuple[Period, ...] = get_args(Period)
CALENDAR = DATE_LEVELS[:9]
"""The periods that come once, finest first; the others come round again, but for the year of weeks (ISO 8601), which
begins with its first week."""
YEARS_OF: Mapping[str, int] = {"year": 1, "five_years": 5, "decade": 10, "twenty_years": 20}
"""The years of a period of several."""
_OF_MONTHS = frozenset({"month_of_year", "quarter_of_year", "season"})
LIES_IN: Mapping[str, frozenset[str]] = {
    "day": frozenset(DATE_LEVELS) - {"day"},
    "week": frozenset({"week_year"}),
    "month": frozenset({"quarter", "half_year", *YEARS_OF}) | _OF_MONTHS,
    "quarter": frozenset({"half_year", *YEARS_OF, "quarter_of_year"}),
    "half_year": frozenset(YEARS_OF),
    **{
        name: frozenset(other for other, more in YEARS_OF.items() if more > years and not more % years)
        for name, years in YEARS_OF.items()
    },
    "weekday": frozenset({"weekend"}),
    "weekend": frozenset(),
    "month_of_year": _OF_MONTHS - {"month_of_year"},
    "quarter_of_year": frozenset(),
    "season": frozenset(),
    "week_year": frozenset(),
}
"""The periods of which each lies in one."""
FORMAT = re.compile(r"%([dmYb])([^%\w])%([dmYb])\2%([dmYb])( .*|T.*)?|%Y%m%d")
"""A format of dates in texts: day, month and year apart by one sign, or without any; a time of day may follow."""
FORMAT_ABOUT = "How the dates are written, where the source holds them as texts: %d.%m.%Y, say."
FORMAT_HINT = 'write %d, %m (or %b) and %Y apart by one sign, as "%d.%m.%Y", or "%Y%m%d"; a time of day may follow.'


def format_faults(written: Any) -> Found:
    """Yield a format of dates that does not name day, month and year, each once."""
    if written is None:
        return
    found = FORMAT.fullmatch(written) if isinstance(written, str) else None
    if found is None or (found.group(1) and len(set(format_parts(written))) < 3):
        yield "format", "This is not a format of dates that can be read.", FORMAT_HINT


def format_parts(written: str) -> tuple[str, ...]:
    """Return what a format with separators names, in its order.

    >>> format_parts("%d. %b")
    ()
    >>> format_parts("%d.%m.%Y %H:%M")
    ('d', 'm', 'Y')
    """
    found = FORMAT.fullmatch(written)
    parts = (found.group(1), found.group(3), found.group(4)) if found and found.group(1) else ()
    return tuple(part.replace("b", "m") for part in parts)


@dataclass(frozen=True, slots=True, init=False)
class Dates:
    """Calendar periods, finest first; the root last: ``Dates(["month", "quarter", "year"])``.

    Attributes:
        format: how the dates are written, where the source holds them as texts; values that do not read so are
            uncovered. None: the column is of dates.
    """

    kind: ClassVar[str] = "dates"
    example: ClassVar[str] = "[month, quarter, year]"
    options: ClassVar[tuple[Parameter, ...]] = (
        option(
            "levels",
            shaped({"type": "array", "items": {"enum": list(DATE_LEVELS)}}, f"list of {', '.join(DATE_LEVELS)}"),
            about="The periods, finest first. A column of dates has no level for day: level 0 reads the same.",
            example="[month, quarter, year]",
        ),
        option(
            "format", or_nothing(text()), about=FORMAT_ABOUT, example='"%d.%m.%Y"', default="the column is of dates"
        ),
    )
    levels: tuple[Period, ...]
    format: str | None

    def __init__(
        self, levels: Sequence[Period] = ("day", "month", "quarter", "year", "decade"), format: str | None = None
    ) -> None:
        set_fields(self, levels=tuple(levels) if is_list(levels) else levels, format=format)

    def faults(self) -> Found:
        """Yield what are no periods, and periods that do not contain those before them."""
        known = ", ".join(DATE_LEVELS)
        yield from format_faults(self.format)
        if not isinstance(self.levels, tuple) or not all(level in DATE_LEVELS for level in self.levels):
            yield "", "These are not periods.", f"choose from {known}."
            return
        pairs = list(zip(self.levels, self.levels[1:], strict=False))
        if any(finer == "week" and coarser in CALENDAR[2:] for finer, coarser in pairs):
            hint = "leave out week, or end with it or with week_year, its ISO year."
            yield "", "Weeks cross the borders of months and years.", hint
        elif any(coarser not in LIES_IN[finer] for finer, coarser in pairs):
            order = ", ".join(CALENDAR)
            others = "week before week_year; weekday before weekend; month_of_year before season or quarter_of_year"
            yield "", "The periods do not grow.", f"put them in the order {order}, each once ({others})."


@dataclass(frozen=True, slots=True, init=False)
class Ages:
    """Birth dates as ages in full years on a day, then as intervals of ages: ``Ages("2024-01-01")``.

    Attributes:
        at: the day, as ``2024-01-01``.
        width, fanouts, lower, upper: of the intervals (``Intervals``); from ``upper`` on there is one label.
        format: how the dates are written, where the source holds them as texts.
    """

    kind: ClassVar[str] = "ages"
    example: ClassVar[str] = "{at: 2024-01-01}"
    options: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "at",
            shaped({"type": "string", "pattern": r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"}, "date"),
            about="The day on which the ages are taken. It is never today: the release of tomorrow must be the same.",
            example="2024-01-01",
        ),
        option("width", YEARS, about="The width of an interval on level 1.", unit="years", example="5"),
        option("fanouts", FANOUTS, about="How many intervals are joined, level by level.", example="[5, 2]"),
        option(
            "lower", or_nothing(YEARS), about="Ages below have one label on all levels.", unit="years", example="18"
        ),
        option(
            "upper",
            or_nothing(YEARS),
            about="Ages from here on have one label on all levels.",
            unit="years",
            example="80",
        ),
        option(
            "format", or_nothing(text()), about=FORMAT_ABOUT, example='"%d.%m.%Y"', default="the column is of dates"
        ),
    )
    at: str
    width: Decimal
    fanouts: tuple[int, ...]
    lower: Decimal | None
    upper: Decimal | None
    format: str | None

    def __init__(
        self,
        at: str | datetime.date,
        width: Exact = 1,
        fanouts: Sequence[int] = (5, 2, 2),
        lower: Exact | None = 0,
        upper: Exact | None = 90,
        format: str | None = None,
    ) -> None:
        set_fields(self, at=canonical_text(at), width=exact(width), lower=exact(lower), upper=exact(upper))
        set_fields(self, fanouts=tuple(fanouts) if is_list(fanouts) else fanouts, format=format)

    def faults(self) -> Found:
        """Yield a day that is none, and options out of their range."""
        if not isinstance(self.at, str) or not _is_day(self.at):
            hint = (
                "say on which day the ages are taken, as at: 2024-01-01. It is never today: a release must be the same "
            )
            yield "at", "This is not a day.", hint + "when it is made again."
        yield from format_faults(self.format)
        if not isinstance(self.fanouts, tuple) or any(whole(2)(fanout) for fanout in self.fanouts):
            yield "fanouts", "This is not a list of whole numbers of at least 2.", "write fanouts: [5, 2]."
        for name in ("width", "lower", "upper"):
            number = getattr(self, name)
            good = isinstance(number, Decimal) and number.is_finite() and number == number.to_integral_value()
            if (name == "width" or number is not None) and not (good and (name != "width" or number > 0)):
                yield name, "This is not a whole number in the range.", "ages are whole numbers of years."


def _is_day(written: str) -> bool:
    try:
        return re.fullmatch(r"[1-9]\d{3}-\d\d-\d\d", written) is not None and bool(datetime.date.fromisoformat(written))
    except ValueError:
        return False
