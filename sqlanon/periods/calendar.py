"""Days, weeks and months in UTC: their names, where they begin, and which of them are closed."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sqlglot import exp

from sqlanon.core.policy.output import seconds_of
from sqlanon.core.sqltrees.trees import column, is_null

ZONED = "TIMESTAMP WITH TIME ZONE"
INFINITY = "infinity"
"""The moment after all others, as DuckDB and PostgreSQL write it."""
FORMATS = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
"""How a period is named, by its length; a week by its Monday."""
NAME = re.compile(r"\d{4}-\d\d(-\d\d)?")


def open_since(every: str, now: datetime, closes_after: str | None) -> date:
    """Return the first day of the first period that is not closed.

    >>> open_since("month", datetime(2024, 3, 2, 12), "2 days")
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
    """Return the conditions that the moment in a column is from a first day on, and before another; not at infinity."""
    if first is None:
        bound: exp.Expr = exp.GT(this=column(name), expression=_moment(f"-{INFINITY}", type_name))
    else:
        bound = exp.GTE(this=column(name), expression=_beginning(first, type_name))
    return [bound, exp.LT(this=column(name), expression=_beginning(end, type_name))]


def without_period(name: str, type_name: str) -> exp.Expr:
    """Return the condition that a column holds no moment, or one at infinity."""
    ends = [_moment(text, type_name) for text in (INFINITY, f"-{INFINITY}")]
    return exp.or_(is_null(column(name)), exp.In(this=column(name), expressions=ends))


def _beginning(day: date, type_name: str) -> exp.Expr:
    """Return the first moment of a day as a value of a type, so that an index or a file's statistics serve."""
    return _moment(f"{day.isoformat()} 00:00:00+00" if type_name == ZONED else day.isoformat(), type_name)


def _moment(text: str, type_name: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), type_name.partition("_")[0])  # TIMESTAMP_NS, say
