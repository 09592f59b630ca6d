"""How single columns of a text file are written: the keys below ``csv.columns``, and what each may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlanon.parameters import TEXT, Check, ValueCheck, choice, option, shaped, suggest

DIRECTIVES = "dmYyHMSbBIp"
"""What may follow a % in a format of dates: day, month, year, two digits of a year, time, name of a month, hour of
half a day with its half."""
THOUSANDS = (".", ",", " ", "'")
"""A space stands for every kind of space in a number, an apostrophe for both kinds."""


UNIT = re.compile(r"[^\d+\-−–.,()'’]*[^\d+\-−–.,()'’\s](?:[23]|\.)?")
"""A unit: a digit may end it as an exponent, a point as that of a shortened word."""


def is_text(value: Any) -> bool:
    """Return True for a text that is not empty."""
    return isinstance(value, str) and bool(value)


def texts_of(value: Any) -> tuple[str, ...]:
    """Return one text, or a list of them, as a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def text_or_texts(example: str, *, empty: bool = False) -> ValueCheck:
    """Return a check for one text or a list of texts that are not empty; ``empty``: one alone may be."""

    def check(value: Any) -> str | None:
        listed = isinstance(value, list | tuple) and bool(value) and all(isinstance(item, str) for item in value)
        good = listed or is_text(value) or (empty and value == "")
        return None if good else f"write a text in quotes, or a list such as {example}."

    listed = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return shaped({"anyOf": [{"type": "string"} if empty else TEXT, listed]}, "a text, or a list of texts", check)


def one_of(*known: str) -> ValueCheck:
    """Return a check for one of a few signs or words."""

    def check(value: Any) -> str | None:
        shown = ", ".join(map(repr, known))
        return None if isinstance(value, str) and value in known else f"choose one of {shown}, in quotes."

    return shaped({"enum": [*known]}, "one of " + ", ".join(map(repr, known)), check)


def format_fault(written: str) -> str | None:
    """Return the fault of a format of dates; None if it has a day, a month and a year, each once.

    >>> format_fault("%d.%m.%Y"), format_fault("%d.%m.")
    (None, 'a format has a day (%d), a month (%m, %b) and a year (%Y, %y), each once.')
    """
    found = "".join(re.findall(r"%(.)", written))
    day, month, year = found.count("d"), len(re.findall("[mbB]", found)), len(re.findall("[Yy]", found))
    if set(found) - {*DIRECTIVES} or len(set(found)) < len(found):
        return f"a format is made of %{', %'.join(DIRECTIVES)}, each once, and what stands between them."
    if (day, month, year) != (1, 1, 1):
        return "a format has a day (%d), a month (%m, %b) and a year (%Y, %y), each once."
    if ("I" in found) != ("p" in found) or {"H", "I"} <= {*found}:
        return "an hour is one of 24 (%H), or one of 12 (%I) with AM or PM (%p)."
    return None


def _dates(value: Any) -> str | None:
    fault = text_or_texts('["%d.%m.%Y", "%Y-%m-%d"]')(value)
    return fault or next((fault for item in texts_of(value) if (fault := format_fault(item))), None)


def _units(value: Any) -> str | None:
    fault = text_or_texts("[kg, Kg]")(value)
    usual = fault or all(UNIT.fullmatch(item.strip()) for item in texts_of(value))
    return fault if usual else "a unit is a text without digits and signs of numbers, such as kg, kg/m2 or Std."


def _pivot(value: Any) -> str | None:
    good = isinstance(value, int) and 1900 <= value <= 2200
    return None if good else "give a year from 1900 to 2200, such as 2026."


def _words(value: Any) -> str | None:
    good = isinstance(value, Mapping) and bool(value)
    good = good and all(is_text(text) for pair in value.items() for text in pair)
    return None if good else 'write {ja: "yes", nein: "no"}, each text in quotes.'


_UNITS = shaped(text_or_texts("").schema, "a text, or a list of texts", _units)
_PIVOT = shaped({"type": "integer", "minimum": 1900, "maximum": 2200}, "a year", _pivot)
_DATES = shaped(text_or_texts("").schema, "a format, or a list of formats", _dates)
COLUMN_OPTIONS = (
    option("null", text_or_texts("[NA, '-']"), about="Words that are NULL here, in place of those of the table."),
    option("decimal", one_of(",", "."), about="The sign before the decimals of a number."),
    option("thousands", one_of(*THOUSANDS), about="The sign between groups of three digits."),
    option("unit", _UNITS, about="A unit or a currency beside the number, or spellings of one; it is left out."),
    option("negative", choice(parentheses="(5)", trailing="5-"), about="How a number below 0 is written."),
    option("dates", _DATES, about="The formats of dates."),
    option("pivot", _PIVOT, about="The last year that two digits may mean: with 2026, 27 is 1927."),
    option("words", shaped({"type": "object"}, "mapping of texts", _words), about="Texts -> what they are read as."),
)
KINDS: Mapping[str, tuple[str, ...]] = {
    "numbers": ("decimal", "thousands", "unit", "negative"), "dates": ("dates", "pivot"), "words": ("words",)
}  # fmt: skip
"""A column has keys of one kind; ``null`` may stand beside each."""


def same_sign(keys: Mapping[str, Any]) -> bool:
    """Return True if decimals, of a point without an option, and thousands have the same sign."""
    return keys.get("thousands") is not None and keys["thousands"] == (keys.get("decimal") or ".")


def column_readings(value: Any) -> str | None:
    """Return a hint unless ``value`` maps columns to how they are read."""
    if not isinstance(value, Mapping) or not all(isinstance(item, Mapping) and item for item in value.values()):
        return 'write {column: {decimal: ","}}.'
    checks: dict[str, Check] = {item.name: item.check for item in COLUMN_OPTIONS}
    for column, keys in value.items():
        for key, given in keys.items():
            if key not in checks:
                return f"in {column!r}: {suggest(key, checks)}"
            if (fault := checks[key](given)) is not None:
                return f"in {column!r}, {key}: {fault}"
        kinds = [kind for kind, names in KINDS.items() if any(name in keys for name in names)]
        if len(kinds) > 1:
            return f"{column!r} is read as {' and '.join(kinds)}; keep the keys of one."
        if same_sign(keys):
            return f"in {column!r}, decimals and thousands have the same sign; name another decimal."
        short = any("%y" in item for item in texts_of(keys.get("dates")))
        if "pivot" in keys and not short:
            return f"in {column!r}, pivot stands beside dates with a year of two digits (%y)."
        if short and "pivot" not in keys:
            return f"in {column!r}, say pivot: 2026, the last year that two digits (%y) may mean."
    return None


READINGS = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            item.name: dict(item.check.schema) for item in COLUMN_OPTIONS if isinstance(item.check, ValueCheck)
        },
    },
}
"""The JSON Schema of ``csv.columns``."""
