"""Look, before any work, whether the dates of a source can be shifted, and stay in the calendar that all files have."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Policy
from sqlanon.core.policy.keyed import shift_of
from sqlanon.core.sqltrees.trees import both, canonical, column, count_if, named, not_null
from sqlanon.errors import InputError, UnsupportedError

DAY = "____-__-__"
LENGTH = 10
CALENDAR = (datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
OF_NANOSECONDS = (datetime.date(1677, 9, 22), datetime.date(2262, 4, 10))
"""The days of TIMESTAMP_NS."""


def check_shifted(engine: Engine, relation: exp.Expr, policy: Policy, types: Mapping[str, str]) -> None:
    """Raise unless every date that is to be shifted can be.

    Raises:
        UnsupportedError: a column holds no dates; or the engine has no keyed hash.
        InputError: some values are no days of the calendar, or are so near to its end that a shift would leave it.
    """
    shifted = [item.name for item in policy.columns if item.role == "shift"]
    if policy.key is not None and any(item.role in ("pseudonym", "shift") for item in policy.columns):
        engine.capabilities.require("keyed")
    window = shift_of(policy)
    if window is None or window.days is None:
        return
    odd = [name for name in shifted if not _is_date(types[name])]
    if odd:
        listed = ", ".join(f"{name!r} ({types[name].split('(')[0]})" for name in odd)
        raise UnsupportedError(
            f"Dates are shifted, and these columns hold no DATE or TIMESTAMP: {listed}.",
            hint="cast them in a view of the source: CAST(admitted AS DATE); of a CSV file, say how they are written "
            "(csv: {date_format: …}).",
        )
    counts = [_unfit(name, types[name], window.days) for name in shifted]
    query = exp.select(*[item for pair in counts for item in pair]).from_(relation.copy())
    found = engine.run("dates to shift", query)[0]
    for place, name in enumerate(shifted):
        unread, near = found[2 * place], found[2 * place + 1]
        if unread:
            raise InputError(
                f"{unread} values of the column {name!r} do not read as days of the years 1 to 9999 (2024-01-31).",
                hint="correct them, or make them NULL, in a view of the source.",
            )
        if near:
            raise InputError(
                f"{near} values of the column {name!r} are within {window.days} days of the end of the calendar of "
                f"{types[name]}. They are no dates of events, and shifted they would reveal by how many days.",
                hint="make them NULL in a view of the source: NULLIF(discharged, DATE '9999-12-31').",
            )


def _is_date(type_name: str) -> bool:
    return type_name.upper() == "DATE" or type_name.upper().startswith("TIMESTAMP")


def _unfit(name: str, type_name: str, days: int) -> list[exp.Expr]:
    """Return how many values do not read as a day, and how many of the others a shift could take out of the calendar.

    Values are read as texts, because a column of SQLite holds any value, and dates may be infinite or before Christ.
    """
    text = canonical(name, type_name)
    day = exp.Substring(this=text.copy(), start=exp.Literal.number(1), length=exp.Literal.number(LENGTH))

    def like(value: exp.Expr, pattern: str) -> exp.Expr:
        return exp.Like(this=value, expression=exp.Literal.string(pattern))

    shapes = [like(text.copy(), DAY)]
    if type_name.upper() != "DATE":
        shapes += [like(text.copy(), f"{DAY}{mark}__:__%") for mark in (" ", "T")]
    read = both(
        [
            exp.paren(exp.or_(*shapes)),
            exp.not_(like(exp.Upper(this=text.copy()), "%BC%")),
            not_null(exp.TryCast(this=day.copy(), to=exp.DataType.build("DATE", dialect="duckdb"))),
        ]
    )
    first, last = OF_NANOSECONDS if type_name.upper() == "TIMESTAMP_NS" else CALENDAR
    margin = datetime.timedelta(days=days)
    low, high = (exp.Literal.string(each.isoformat()) for each in (first + margin, last - margin))
    outside = exp.paren(exp.or_(exp.LT(this=day, expression=low), exp.GT(this=day.copy(), expression=high)))
    given = not_null(column(name))
    unread = count_if(both([given, exp.not_(exp.paren(read))]))
    near = count_if(both([given.copy(), exp.paren(read.copy()), outside]))
    return [named(unread, f"unread_{name}"), named(near, f"near_{name}")]
