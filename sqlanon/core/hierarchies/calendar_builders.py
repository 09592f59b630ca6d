"""Dates as calendar periods, as periods that come round again, and as ages: SQL expressions, as sqlglot trees."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.hierarchies.calendar_specs import YEARS_OF, Ages, Dates, format_parts
from sqlanon.core.hierarchies.expressions import (
    ROOT,
    among_texts,
    are_digits,
    bind_template,
    first,
    joined,
    literal,
    unless_null,
)
from sqlanon.core.sqltrees.trees import when
from sqlanon.errors import UnsupportedError

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
SEASONS: dict[str, tuple[str, ...]] = {
    "Dec-Feb": ("12", "01", "02"),
    "Mar-May": ("03", "04", "05"),
    "Jun-Aug": ("06", "07", "08"),
    "Sep-Nov": ("09", "10", "11"),
}
"""The meteorological seasons by their months, which both hemispheres read."""
WEEKDAYS = ("Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
YEARS_BEFORE = 8000
"""A multiple of 400 years, after which weekdays repeat: added, all years that dates have here are positive."""


def date_levels(spec: Dates, value: exp.Expr, type_name: str) -> list[exp.Expr]:
    """Return the periods: a day has one month, a month one quarter, a quarter one year, a year one decade.

    Raises:
        UnsupportedError: the column is not of dates.
    """
    moment, is_day = _moment(value, type_name, "dates")
    finite = exp.Anonymous(this="ISFINITE", expressions=[moment.copy()])
    result: list[exp.Expr] = []
    for name in spec.levels:
        if name == "day" and is_day and spec.format is None:
            continue  # level 0 reads the same
        period = when(finite.copy(), _period(name, moment), exp.cast(value.copy(), "VARCHAR"))
        result.append(unless_null(value, period))
    return [*result, unless_null(value, literal(ROOT))]


def age_of(spec: Ages, value: exp.Expr, type_name: str) -> exp.Expr:
    """Return the age in full years on a day; who was born on February 29 is a year older from March 1 on.

    Raises:
        UnsupportedError: see ``date_levels``.
    """
    moment, _ = _moment(value, type_name, "ages")
    year, rest = int(spec.at[:4]), spec.at[5:]
    month = exp.Anonymous(this="RIGHT", expressions=[_text(moment, "%Y-%m-%d"), exp.Literal.number(5)])
    later = exp.GT(this=month, expression=literal(rest))
    age = exp.Sub(this=exp.convert(year), expression=_year(moment))
    aged = exp.Sub(this=age, expression=exp.paren(when(later, exp.convert(1), exp.convert(0))))
    finite = exp.Anonymous(this="ISFINITE", expressions=[moment.copy()])
    return when(finite, exp.cast(exp.paren(aged), "INTEGER"))


def _moment(value: exp.Expr, type_name: str, kind: str) -> tuple[exp.Expr, bool]:
    """Return the value as DATE or TIMESTAMP, and whether it is a DATE."""
    base_type = type_name.upper()
    if base_type == "DATE":
        return value.copy(), True
    if base_type.startswith("TIMESTAMP"):
        return exp.cast(value.copy(), "TIMESTAMP"), False
    hint = "cast the column to DATE in a view of the source, or use another hierarchy."
    if base_type == "VARCHAR":
        hint = f'say how they are written, {kind}: {{…, format: "%d.%m.%Y"}}, or {hint}'
    raise UnsupportedError(f"{kind} cannot serve the type {base_type}.", hint=hint)


def day_written(written: str, value: exp.Expr) -> exp.Expr:
    """Return a text in a format with its year, month and day as in 2024-01-31; a time of day is left out."""
    parts = format_parts(written)
    if parts:
        found = _parts(written, parts, value)
    else:  # %Y%m%d
        places = {"Y": (1, 4), "m": (5, 2), "d": (7, 20)}
        found = {
            name: exp.Substring(this=value.copy(), start=exp.convert(start), length=exp.convert(length))
            for name, (start, length) in places.items()
        }
    return joined(found["Y"], literal("-"), found["m"], literal("-"), found["d"])


def as_day(written_day: exp.Expr) -> exp.Expr:
    """Return the DATE that a text as 2024-01-31 is, NULL for another text."""
    shape = are_digits(written_day, (1, 2, 3, 4, 6, 7, 9, 10))
    whole = exp.and_(shape, exp.EQ(this=first(written_day, 10), expression=written_day.copy()))
    return when(whole, exp.TryCast(this=written_day.copy(), to=exp.DataType.build("DATE", dialect="duckdb")))


def _parts(written: str, parts: tuple[str, ...], value: exp.Expr) -> dict[str, exp.Expr]:
    """Return day, month and year of a text whose parts stand apart, with two digits for day and month."""
    found = {name: _split(value, written[2], place) for place, name in enumerate(parts, start=1)}
    if len(written) > len("%d.%m.%Y"):
        last = parts[-1]
        found[last] = _split(found[last], "T" if written[8] == "T" else " ", 1)
    found["d"] = _two_digits(found["d"])
    if "%b" not in written:
        return found | {"m": _two_digits(found["m"])}
    short = exp.Upper(this=first(found["m"], 3))
    names = [
        exp.If(
            this=exp.EQ(this=short.copy(), expression=literal(name[:3].upper())),
            true=literal(f"{number:02d}"),
        )
        for number, name in enumerate(MONTHS, start=1)
    ]
    return found | {"m": exp.Case(ifs=names)}


def _split(value: exp.Expr, separator: str, place: int) -> exp.Expr:
    return exp.Anonymous(this="SPLIT_PART", expressions=[value.copy(), literal(separator), exp.convert(place)])


def _two_digits(part: exp.Expr) -> exp.Expr:
    """Return the number of a day or a month with two digits; a text of one character gets a zero."""
    short = exp.EQ(this=first(part, 1), expression=part.copy())
    return when(short, joined(literal("0"), part.copy()), part.copy())


def _year(moment: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="YEAR", expressions=[moment.copy()])


def _text(moment: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="STRFTIME", expressions=[moment.copy(), literal(pattern)])


def _period(name: str, moment: exp.Expr) -> exp.Expr:
    """Return the text of the period that a date or a moment lies in."""
    if name in PATTERNS:
        return _text(moment, PATTERNS[name])
    if name == "week_year":
        return joined(_split(_text(moment, PATTERNS["week"]), "W", 1), literal("W"))
    quarter = exp.Anonymous(this="QUARTER", expressions=[moment.copy()])
    if name == "half_year":
        early = exp.LTE(this=quarter, expression=exp.convert(2))
        return joined(_text(moment, "%Y"), when(early, literal("-H1"), literal("-H2")))
    if name in ("quarter", "quarter_of_year"):
        number = exp.cast(quarter, "VARCHAR")
        if name == "quarter_of_year":
            return joined(literal("Q"), number)
        return joined(_text(moment, "%Y"), literal("-Q"), number)
    if name in YEARS_OF:
        years = YEARS_OF[name]
        share = exp.Div(this=_year(moment), expression=exp.cast(exp.convert(years), "DOUBLE"))
        start = exp.Mul(this=exp.cast(exp.Floor(this=share), "BIGINT"), expression=exp.convert(years))
        if name == "decade":
            return joined(exp.cast(start, "VARCHAR"), literal("s"))
        end = exp.Add(this=start.copy(), expression=exp.convert(years - 1))
        return joined(exp.cast(start, "VARCHAR"), literal("-"), exp.cast(exp.paren(end), "VARCHAR"))
    month = exp.Anonymous(this="RIGHT", expressions=[_text(moment, "%Y-%m"), exp.Literal.number(2)])
    if name == "month_of_year":
        groups: dict[str, tuple[str, ...]] = {label: (f"{number:02d}",) for number, label in enumerate(MONTHS, start=1)}
    elif name == "season":
        groups = SEASONS
    else:
        return _weekday(name, moment, month)
    return exp.Case(
        ifs=[exp.If(this=among_texts(month, texts), true=literal(label)) for label, texts in groups.items()]
    )


PATTERNS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}


def _number(text: exp.Expr) -> exp.Expr:
    """Return the number of a day or a month; NULL of infinity, which has neither."""
    return exp.TryCast(this=text.copy(), to=exp.DataType.build("BIGINT", dialect="duckdb"))


def _weekday(name: str, moment: exp.Expr, month: exp.Expr) -> exp.Expr:
    """Return the day of the week by the arithmetic of Zeller's congruence (1882), which every engine has.

    January and February are the months 13 and 14 of the year before.
    """
    early = when(among_texts(month, ("01", "02")), exp.convert(1), exp.convert(0))
    day = exp.Anonymous(this="RIGHT", expressions=[_text(moment, "%Y-%m-%d"), exp.Literal.number(2)])
    year = bind_template(":year - :early + :before", "BIGINT", year=_year(moment), early=early, before=YEARS_BEFORE)
    days = bind_template(
        ":day + (:month + :twelve * :early + :one) * :thirteen // :five + :year + :year // :four - :year // :century "
        "+ :year // :cycle",
        "BIGINT", day=_number(day), month=_number(month), twelve=12, early=early, one=1,
        thirteen=13, five=5, year=year, four=4, century=100, cycle=400,
    )  # fmt: skip
    number = bind_template(":days - :days // :seven * :seven", "BIGINT", days=days, seven=7)
    groups: dict[str, tuple[int, ...]] = {label: (place,) for place, label in enumerate(WEEKDAYS)}
    if name == "weekend":
        groups = {"Monday-Friday": (2, 3, 4, 5, 6), "Saturday-Sunday": (0, 1)}
    choices = [
        exp.If(this=exp.In(this=number.copy(), expressions=[exp.convert(place) for place in places]),
               true=literal(label))
        for label, places in groups.items()
    ]  # fmt: skip
    return exp.Case(ifs=choices)
