"""Columns of texts that are written otherwise than sqlanon reads them: numbers, dates and words become canonical texts.

``csv: {columns: …}`` says how a column is written. A text that fits is rewritten while the file is staged, in SQL: a
number to its sign, digits and a decimal point, a date to ISO 8601, a word to what stands for it. A text that does not
fit stays as it is; both are counted, and said. What is behind reads the canonical texts alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.policy.csv_columns import texts_of
from sqlanon.core.sqltrees.trees import both, column, count_if, equal, is_null, named, not_null, when
from sqlanon.errors import SourceError

SPACES = " \u00a0\u202f\u2009"
"""Kinds of space in a number: of a keyboard, without a break, narrow, thin."""
BLANKS = f"{SPACES}\t"
GROUPING = {" ": f"[{SPACES}]", "'": "['’]", ".": r"\.", ",": ","}
"""Signs between three digits -> a pattern."""
MINUS = "−–-"
"""Signs of a number below 0, the one of a keyboard last: inside brackets of a pattern it stands at the end."""
WIDTHS = {"d": "[0-9]{1,2}", "m": "[0-9]{1,2}", "Y": "[0-9]{4}", "y": "[0-9]{2}", "H": "[0-9]{1,2}", "M": "[0-9]{2}",
          "S": "[0-9]{2}", "b": "[A-Za-z]{3}", "B": "[A-Za-z]{3}", "I": "[0-9]{1,2}", "p": "[AaPp][Mm]"}  # fmt: skip
"""Directives of a format of dates -> a pattern; names of months are brought to three letters of English before."""
MONTHS = {
    "Jan": "januar|jänner|january|janvier|janv|enero|ene|gennaio|gen|januari|jan",
    "Feb": "februar|february|février|févr|fév|febrero|febbraio|februari|feb",
    "Mar": "märz|mär|mrz|march|mars|marzo|maart|mrt|mar",
    "Apr": "april|avril|avr|abril|abr|aprile|apr",
    "May": "mai|may|mayo|maggio|mag|mei",
    "Jun": "juni|june|juin|junio|giugno|giu|jun",
    "Jul": "juli|july|juillet|juil|julio|luglio|lug|jul",
    "Aug": "august|août|agosto|ago|augustus|aug",
    "Sep": "september|septembre|septiembre|settembre|sept|set|sep",
    "Oct": "oktober|october|octobre|octubre|ottobre|okt|oct|ott",
    "Nov": "november|novembre|noviembre|nov",
    "Dec": "dezember|december|décembre|diciembre|dicembre|dez|déc|dic|dec",
}
"""Names of months in German, English, French, Spanish, Italian and Dutch."""
RAW = "_raw"
"""Ends the name of the table that holds the texts of a file as they are written."""


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How a column is written: the keys of a policy below ``csv.columns``.

    Attributes:
        null: words that are NULL.
        whole: it is said of the table, and holds for a column only if all of its texts fit.
    """

    null: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    unit: tuple[str, ...] = ()
    negative: str | None = None
    dates: tuple[str, ...] = ()
    pivot: int | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False

    @classmethod
    def of(cls, keys: Mapping[str, Any], null: tuple[str, ...]) -> ColumnReading:
        """Return the reading of a column by its keys; ``null`` are the words of the table."""
        listed = {name: texts_of(keys[name]) for name in ("unit", "dates") if name in keys}
        words = texts_of(keys["null"]) if "null" in keys else null
        return cls(**{**keys, **listed, "null": tuple(filter(None, words))})

    @property
    def kind(self) -> str | None:
        """What the texts become: ``numbers``, ``dates`` or ``words``; None: nothing else."""
        if self.decimal or self.thousands or self.unit or self.negative:
            return "numbers"
        return "dates" if self.dates else "words" if self.words else None

    def missing(self, text: exp.Expr) -> exp.Expr:
        """Return the condition that a text is a word for NULL; blanks around it do not count."""
        words = [exp.Literal.string(word.strip(BLANKS)) for word in self.null]
        return exp.In(this=trimmed(text), expressions=words) if words else exp.false()

    def fitting(self, text: exp.Expr) -> exp.Expr:
        """Return what a text becomes; NULL where it does not fit."""
        if self.kind == "numbers":
            return self._number(text)
        if self.kind == "dates":
            stamp = "%Y-%m-%d %H:%M:%S" if any(re.search("%[HI]", item) for item in self.dates) else "%Y-%m-%d"
            moment: exp.Expr = exp.Coalesce(this=self._moment(text, self.dates[0]), expressions=[
                self._moment(text, item) for item in self.dates[1:]])  # fmt: skip
            return exp.Anonymous(this="STRFTIME", expressions=[moment, exp.Literal.string(stamp)])
        if self.kind == "words":
            pairs = [
                exp.If(this=exp.Literal.string(word.strip(BLANKS)), true=exp.Literal.string(read))
                for word, read in self.words.items()
            ]
            return exp.Case(this=trimmed(text), ifs=pairs)
        return text

    def rewritten(self, name: str) -> exp.Expr:
        """Return what is read of a column."""
        value = exp.Coalesce(this=self.fitting(column(name)), expressions=[column(name)]) if self.kind else column(name)
        return when(self.missing(column(name)), exp.null(), value) if self.null else value

    def misfits(self, name: str) -> exp.Expr:
        """Return the condition that a text is no word for NULL and does not fit."""
        if self.kind is None:
            return exp.false()
        return both([not_null(column(name)), exp.not_(self.missing(column(name))), is_null(self.fitting(column(name)))])

    def changed(self, name: str) -> exp.Expr:
        """Return the condition that a text becomes another."""
        value = self.fitting(column(name))
        differs = exp.NEQ(this=value, expression=column(name))
        return both([exp.not_(self.missing(column(name))), not_null(value), differs])

    def ambiguous(self, name: str) -> exp.Expr:
        """Return the condition that two of the formats read other dates in a text."""
        moments = [self._moment(column(name), item) for item in self.dates]
        differ = [exp.NEQ(this=a.copy(), expression=b.copy()) for a, b in combinations(moments, 2)]
        return exp.or_(*differ) if differ else exp.false()

    def pattern(self) -> str:
        """Return the pattern of a number: signs (1, 2, 4) and digits (3), with units beside them."""
        group = GROUPING[self.thousands] if self.thousands else ""
        grouped = f"|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+" if group else ""
        sign = r"\." if self.decimal != "," else "," if self.thousands == "." else "[.,]"
        digits = f"((?:0|[1-9][0-9]*{grouped})(?:{sign}[0-9]+)?|{sign}[0-9]+)"
        units = "|".join(re.escape(item.strip(BLANKS)) for item in sorted(self.unit, key=len, reverse=True))
        space = f"[{BLANKS}]*"
        opening = f"[(+{MINUS}]?" if self.negative == "parentheses" else f"[+{MINUS}]?"
        end = r"\)?" if self.negative == "parentheses" else "-?" if self.negative == "trailing" else ""
        before, after = (f"(?:(?:{units}){space})?", f"(?:{space}(?:{units}))?") if units else ("", "")
        return f"{space}({opening}){space}{before}([+{MINUS}]?){space}{digits}{after}({end}){after}{space}"

    def _number(self, text: exp.Expr) -> exp.Expr:
        pattern = self.pattern()
        digits = _replaced(text.copy(), f"^{pattern}$", r"\3")
        if self.thousands:
            digits = _replaced(digits, GROUPING[self.thousands], "", everywhere=True)
        if self.decimal == ",":
            digits = _replaced(digits, ",", ".")
        signs = _replaced(text.copy(), f"^{pattern}$", r"\1\2\4")
        # one sign stands for a number below 0, and a parenthesis is closed
        known = {"": "", "+": "+", **dict.fromkeys(MINUS, "-")} | (
            {"()": "-"} if self.negative == "parentheses" else {}
        )
        ifs = [exp.If(this=exp.Literal.string(sign), true=exp.Literal.string(value)) for sign, value in known.items()]
        signed = exp.Concat(expressions=[exp.Case(this=signs, ifs=ifs), digits])
        fits = full_match(text, pattern)
        one = exp.In(this=signs.copy(), expressions=[exp.Literal.string(sign) for sign in known])
        return when(both([fits, one]), signed, exp.null())

    def _moment(self, text: exp.Expr, written: str) -> exp.Expr:
        """Return the moment that a text is by a format; NULL where it is none."""
        found = trimmed(text)
        if re.search("%[bB]", written):
            written = written.replace("%B", "%b")
            for month, names in MONTHS.items():
                found = _replaced(found, rf"(?i)\b(?:{names})\b\.?", month)
        moment: exp.Expr = exp.Anonymous(this="TRY_STRPTIME", expressions=[found, exp.Literal.string(written)])
        if "%y" in written and self.pivot is not None:
            moment = _in_century(moment, self.pivot)
        return when(full_match(found, format_pattern(written)), moment, exp.null())


def format_pattern(written: str) -> str:
    """Return the pattern of texts in a format of dates; without signs between them, days and months have two digits."""
    packed = re.search("%.%", written) is not None
    parts = re.split("%(.)", written)
    return "".join(
        (WIDTHS[part].replace("{1,2}", "{2}") if packed else WIDTHS[part]) if place % 2 else re.escape(part)
        for place, part in enumerate(parts)
    )


def english_months(text: str) -> str:
    """Return a text with the names of months as they are read: three letters of English."""
    for month, names in MONTHS.items():
        text = re.sub(rf"(?i)\b(?:{names})\b\.?", month, text)
    return text


def _in_century(moment: exp.Expr, pivot: int) -> exp.Expr:
    """Return a moment whose year is the last one up to ``pivot`` with its two digits; NULL for a day it has not."""
    year = exp.Anonymous(this="YEAR", expressions=[moment])
    behind = exp.paren(exp.Sub(this=exp.convert(pivot), expression=year), copy=False)
    centuries = exp.Floor(this=exp.Div(this=behind, expression=exp.convert(100)))
    years = exp.cast(exp.Mul(this=centuries, expression=exp.convert(100)), "INTEGER")
    moved = exp.paren(exp.Add(this=moment.copy(), expression=exp.Anonymous(this="TO_YEARS", expressions=[years])))
    same_day = equal(*(exp.Anonymous(this="DAY", expressions=[item]) for item in (moved.copy(), moment.copy())))
    return when(same_day, moved, exp.null())


def csv_readings(csv: Mapping[str, Any], columns: Sequence[str], title: str) -> dict[str, ColumnReading]:
    """Return how the columns of a text file are read, of those that are not taken as they stand.

    Raises:
        SourceError: the options name a column that is not there.
    """
    given: Mapping[str, Mapping[str, Any]] = csv.get("columns") or {}
    missing = [name for name in given if name not in columns]
    if missing:
        raise SourceError(
            f"The file {title!r} has no column {', '.join(map(repr, missing))}, whose reading is named.",
            hint="check the key csv.columns.",
        )
    null = csv.get("null")
    words = tuple(filter(None, texts_of(null))) if not isinstance(null, str) else ()
    table = ColumnReading(words, csv.get("decimal"), csv.get("thousands"), whole=True)
    found = {name: ColumnReading.of(given[name], words) if name in given else table for name in columns}
    return {name: item for name, item in found.items() if item.kind or item.null}


@dataclass(frozen=True, slots=True)
class Readings:
    """What the readings of columns change: counts of records.

    Attributes:
        readings: of the columns for which one holds.
        missing: words that became NULL, by column; ``changed``: texts that became others; ``misfits``: those that stay.
        left: columns that are not read as the table says, and how many of their texts are no such numbers.
    """

    readings: Mapping[str, ColumnReading]
    missing: Mapping[str, int]
    changed: Mapping[str, int]
    misfits: Mapping[str, int]
    left: Mapping[str, int]

    def note(self, title: str) -> str | None:
        """Return what was changed, in a sentence or two; None if nothing was."""
        parts = []
        for name, item in self.readings.items():
            done = [f"{self.changed[name]:,} texts rewritten as {item.kind}"] if self.changed[name] else []
            done += [f"{self.misfits[name]:,} that are none and stay as they are"] if self.misfits[name] else []
            done += [f"{self.missing[name]:,} words for NULL"] if self.missing[name] else []
            parts += [f"{name!r} {', '.join(done)}"] if done else []
        text = f"Columns of {title!r} read by the options csv: {'; '.join(parts)}." if parts else ""
        if self.left:
            left = ", ".join(f"{name!r} ({count:,} texts)" for name, count in self.left.items())
            text += f" Left as they are, because some of their texts are no such numbers: {left}."
        return text.strip() or None


def count_readings(engine: Engine, relation: exp.Expr, readings: Mapping[str, ColumnReading]) -> Readings:
    """Return what the readings of columns change in a relation of texts.

    Raises:
        SourceError: a text is a date by two formats of its column, and they read other dates.
    """
    conditions: tuple[Callable[[ColumnReading, str], exp.Expr], ...] = (
        lambda item, name: item.missing(column(name)),
        ColumnReading.changed,
        ColumnReading.misfits,
        ColumnReading.ambiguous,
    )
    counts = [named(count_if(of(item, name)), f"c{i}_{j}") for i, (name, item) in enumerate(readings.items())
              for j, of in enumerate(conditions)]  # fmt: skip
    row = engine.run("readings of texts", exp.select(*counts).from_(relation.copy()))[0] if counts else ()
    by_name = {name: tuple(map(int, row[4 * i : 4 * i + 4])) for i, name in enumerate(readings)}
    for name, (*_, ambiguous) in by_name.items():
        if ambiguous:
            raise SourceError(
                f"{ambiguous:,} texts of column {name!r} are dates by two formats, which read other dates.",
                hint="name one of them below csv.columns, or write the dates alike.",
            )
    left: dict[str, int] = {}
    kept = dict(readings)
    for name, (_, changed, misfits, _) in by_name.items():
        item = readings[name]
        if item.whole and item.kind and (misfits or not changed):
            left |= {name: misfits} if changed else {}
            kept[name] = ColumnReading(item.null)
            by_name[name] = (by_name[name][0], 0, 0, 0)
    missing, changed_, misfits_ = ({name: row[place] for name, row in by_name.items()} for place in range(3))
    return Readings(kept, missing, changed_, misfits_, left)


def read_columns(columns: Sequence[str], readings: Mapping[str, ColumnReading], relation: exp.Expr) -> exp.Select:
    """Return the records of a relation of texts, each column as it is read."""
    read = [named(readings[name].rewritten(name) if name in readings else column(name), name) for name in columns]
    return exp.select(*read).from_(relation.copy())


def blank_columns(engine: Engine, relation: exp.Expr, unnamed: Sequence[str]) -> list[str]:
    """Return the columns without a name that hold no text in any record."""
    if not unnamed:
        return []
    empty = exp.Literal.string("")
    held = [count_if(exp.NEQ(this=trimmed(column(name)), expression=empty)) for name in unnamed]
    row = engine.run("blank columns", exp.select(*held).from_(relation.copy()))[0]
    return [name for name, count in zip(unnamed, row, strict=True) if not count]


def trimmed(text: exp.Expr) -> exp.Expr:
    """Return a text without blanks around it."""
    return exp.Anonymous(this="TRIM", expressions=[text.copy(), exp.Literal.string(BLANKS)])


def full_match(text: exp.Expr, pattern: str) -> exp.Expr:
    """Return the condition that a whole text has a pattern."""
    return exp.Anonymous(this="REGEXP_FULL_MATCH", expressions=[text.copy(), exp.Literal.string(pattern)])


def _replaced(text: exp.Expr, pattern: str, by: str, *, everywhere: bool = False) -> exp.Expr:
    listed = [text, *map(exp.Literal.string, (pattern, by, *(["g"] if everywhere else [])))]
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=listed)
