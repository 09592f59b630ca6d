"""Days, weeks and months in UTC: their names, where they begin, and which of them are closed."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sqlglot import exp

from sqlanon.core.policy.output import seconds_of
from sqlanon.core.sqltrees.trees import column

ZONED = "TIMESTAMP WITH TIME ZONE"
FORMATS = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
"""How a period is named, by its length; a week by its Monday."""
NAME = re.compile(r"\d{4}-\d\d(-\d\d)?")


def open_since(every: str, now: datetime, closes_after: str | None) -> date:
    """Return the first day of the first period that is not closed.

    >>> open_since("month", datetime(2024, 3, 2, 12, tzinfo=UTC), "2 days")
    datetime.date(2024, 2, 1)
    """
    day = (now - timedelta(seconds=0 if closes_after is None else seconds_of(closes_after))).date()
    if every == "month":
        return day.replace(day=1)
    return day if every == "day" else day - timedelta(days=day.weekday())


def name_of_period(every: str, name: str, type_name: str) -> exp.Expr:
    """Return the expression of the name of the period that the moment in a column belongs to."""
    moment: exp.Expr = column(name)
    if type_name == ZONED:
        moment = exp.AtTimeZone(this=moment, zone=exp.Literal.string("UTC"))
    if every == "week":
        moment = exp.TimestampTrunc(this=moment, unit=exp.var("WEEK"))
    return exp.TimeToStr(this=moment, format=exp.Literal.string(FORMATS[every]))


def within(name: str, type_name: str, first: date | None, end: date) -> list[exp.Expr]:
    """Return the conditions that the moment in a column is from a first day on, and before another."""
    bounds = [] if first is None else [exp.GTE(this=column(name), expression=_beginning(first, type_name))]
    return [*bounds, exp.LT(this=column(name), expression=_beginning(end, type_name))]


def _beginning(day: date, type_name: str) -> exp.Expr:
    """Return the first moment of a day as a value of a type, so that an index or a file's statistics serve."""
    text = f"{day.isoformat()} 00:00:00+00" if type_name == ZONED else day.isoformat()
    return exp.cast(exp.Literal.string(text), type_name.partition("_")[0])  # TIMESTAMP_NS, say
