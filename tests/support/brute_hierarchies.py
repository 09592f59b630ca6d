"""Plain Python for what computed hierarchies mean; nothing here comes from the package. None: a value is uncovered."""

import csv
import datetime
import math
import re
from pathlib import Path

SHIPPED = Path(__file__).resolve().parents[2] / "sqlanon" / "core" / "hierarchies" / "shipped"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def shipped(name: str) -> list[list[str]]:
    lines = [line for line in (SHIPPED / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.reader(lines[1:], delimiter=";"))


def prefix(value: str, lengths: list[int], mark: str) -> list[str]:
    return [*[value if len(value) <= n else value[:n] + mark for n in lengths], "*"]


def frequent(value: str, records: int, thresholds: list[int], other: str) -> list[str] | None:
    return None if value == other else [*[value if records >= n else other for n in thresholds], "*"]


def icd10(value: str) -> list[str] | None:
    code = value[:3].upper()
    if not re.fullmatch("[A-Z][0-9][0-9A-Z]", code):
        return None
    rows = shipped("icd10.csv")
    [chapter] = [label for kind, low, high, label in rows if kind == "chapter" and low <= code <= high]
    blocks = [label for kind, low, high, label in rows if kind == "block" and low <= code <= high]
    assert len(blocks) <= 1
    return [code, (blocks or [chapter])[0], chapter, "*"]


def country(value: str) -> list[str] | None:
    for two, three, names, sub_region, region in shipped("countries.csv"):
        if value.upper() in {two, three, *names.upper().split("|")}:
            return [sub_region, region, "*"]
    return None


def atc(value: str) -> list[str] | None:
    code = value.upper()
    if not re.match(r"[A-Z]($|[0-9]{2})", code):
        return None
    return [*[code[:n] for n in (5, 4, 3, 1)], "*"]


def nuts(value: str) -> list[str] | None:
    code = value.upper()
    return [*[code[:n] for n in (4, 3, 2)], "*"] if re.match(r"[A-Z]{2}($|[0-9A-Z])", code) else None


def geohash(value: str) -> list[str] | None:
    code = value.lower()
    good = re.fullmatch("[0-9b-hjkmnp-z]{1,8}", code[:8])
    return [*[code[:n] for n in range(8, 0, -1)], "*"] if good else None


def zip3(value: str, small: set[str]) -> list[str] | None:
    if re.fullmatch(r"\d{4}", value, re.ASCII):
        area = "0" + value[:2]
    elif re.fullmatch(r"\d{3}", value, re.ASCII) or re.fullmatch(r"\d{5}([- ].*)?|\d{9}", value, re.ASCII):
        area = value[:3]
    else:
        return None
    return ["000", "000", "*"] if area in {"000", *small} else [area, area[0], "*"]


def period(name: str, day: datetime.date) -> str:
    if name in ("week", "week_year"):
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}" if name == "week" else f"{year:04}-W"
    if name == "weekday":
        return DAYS[day.weekday()]
    if name == "weekend":
        return "Saturday-Sunday" if day.weekday() > 4 else "Monday-Friday"
    if name == "month_of_year":
        return MONTHS[day.month - 1]
    if name == "quarter_of_year":
        return f"Q{(day.month + 2) // 3}"
    if name == "season":
        return ("Dec-Feb", "Mar-May", "Jun-Aug", "Sep-Nov")[day.month % 12 // 3]
    return {
        "day": day.isoformat(),
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
        "half_year": f"{day.year:04}-H{1 + (day.month > 6)}",
        "decade": f"{day.year // 10 * 10}s",
        "five_years": f"{day.year - day.year % 5}-{day.year - day.year % 5 + 4}",
        "twenty_years": f"{day.year - day.year % 20}-{day.year - day.year % 20 + 19}",
    }[name]


def dates(value: str, levels: list[str], form: str) -> list[str] | None:
    """A format with separators takes days and months of one digit too."""
    if form == "%Y%m%d" and len(value) != 8:
        return None
    try:
        day = datetime.datetime.strptime(value, form).date()
    except ValueError:
        return None
    return [*[period(name, day) for name in levels], "*"]


def age(birth: datetime.date, at: datetime.date) -> int:
    return at.year - birth.year - ((birth.month, birth.day) > (at.month, at.day))


def interval(number: int, widths: list[int], lower: int | None, upper: int | None) -> list[str]:
    if lower is not None and number < lower:
        return [*[f"<{lower}"] * len(widths), "*"]
    if upper is not None and number >= upper:
        return [*[f">={upper}"] * len(widths), "*"]
    least, most = (-math.inf if lower is None else lower), (math.inf if upper is None else upper)
    starts = [number // width * width for width in widths]
    return [*[f"[{max(s, least)}, {min(s + width, most)})" for s, width in zip(starts, widths, strict=True)], "*"]
