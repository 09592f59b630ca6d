"""How the columns of a text file are written: words for NULL, numbers, units, dates, yes and no.

A look at a few hundred of a column's texts proposes; counts of all records decide, in the database. Where they leave
two readings, the texts stay as they are and a person is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlglot import exp

from sqlanon.assess.reading.findings import ReadingFinding
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.csv_readings import (
    BLANKS,
    MINUS,
    SPACES,
    ColumnReading,
    Readings,
    count_readings,
    english_months,
    format_pattern,
    full_match,
    trimmed,
)
from sqlanon.core.source.csv_types import DAYS
from sqlanon.core.sqltrees.trees import both, column, count_if, count_rows, named, not_null
from sqlanon.core.sqltrees.trees import total as summed

LOOKED_AT = 400
"""Distinct texts of a column that are looked at."""
NEARLY_ALL = 0.95
FEW = 3
"""Dates that only one format reads: fewer may be mistyped."""
MISSING = (
    "NA", "N/A", "n/a", "n.a.", "N.A.", "NaN", "nan", "NULL", "null", "#N/A", "#NV", "#NULL!", "<NA>", "(null)",
    "[NULL]", "\\N", "-", "--", "---", "–", "—", ".", "?", "??", "*", "k.A.", "k. A.", "k.A", "K.A.", "n.v.", "s/d",
    "n.d.",
)  # fmt: skip
"""Words that stand for no answer. A word that means "unknown" or "none" is an answer."""
CODES = ("-1", "-2", *(f"{sign}{head}{last}" for sign in ("", "-") for size in range(6) for last in (
    "7", "8", "9") for head in {"9" * size, last * size}))  # fmt: skip
"""Numbers that may stand for no answer: 9, 98, 888, -99. Where they lie apart from all others, they do."""
DATES_OF_NONE = tuple(dict.fromkeys(
    written.replace("Y", year).replace("D", day).replace("M", month)
    for year, month, day in (("1900", "01", "01"), ("1901", "01", "01"), ("1800", "01", "01"), ("9999", "12", "31"))
    for written in ("Y-M-D", "D.M.Y", "D/M/Y", "D-M-Y", "M/D/Y", "Y/M/D", "YMD")
))  # fmt: skip
"""Dates that may stand for no answer, where no other date lies in their year."""
FEWEST, DENSE, SOME = 10, 0.5, 30
"""Records with such a number; the part of their range that up to ``SOME`` other numbers fill."""
FEWEST_BESIDE = 3
"""Numbers of a column, at least, the largest of which may be such a code where another column has one."""
MOST_CODED = 0.5
"""The share of the records that say that there is no answer, at most: what most say is one."""
ASK_CODES = (
    "Do these numbers or dates at the end of a range say that there is no answer? They are read as NULL (csv: columns: "
    "null); take those out that are answers."
)
UNITS = (
    ("kg", "Kg", "KG"), ("g",), ("mg",), ("µg", "μg", "ug"), ("t",), ("cm", "CM"), ("mm",), ("m",), ("km",), ("l", "L"),
    ("ml", "mL"), ("dl", "dL"), ("%",), ("‰",), ("°C", "° C"), ("°F",), ("€", "EUR", "Euro", "euro"),
    ("$", "USD", "US$"), ("£", "GBP"), ("CHF", "Fr.", "SFr."), ("h", "Std.", "Std"), ("min", "Min.", "min."),
    ("s", "sec", "Sek."), ("d",), ("J.", "Jahre", "Jahr", "years", "year", "yrs", "ans", "años", "anni"),
    ("mmHg", "mm Hg"), ("mmol/l", "mmol/L"), ("mg/dl", "mg/dL"), ("g/dl", "g/dL"), ("kg/m²", "kg/m2"),
    ("m²", "m2", "qm"), ("bpm",), ("/min",), ("kcal",), ("kJ",), ("kWh",), ("km/h",), ("lb", "lbs"), ("ft",), ("oz",),
)  # fmt: skip
"""Units and currencies, each with its spellings."""
FAMILIES = (
    ("%Y-%m-%d",), ("%Y/%m/%d",), ("%Y.%m.%d",), ("%Y%m%d",), ("%d.%m.%Y", "%m.%d.%Y"), ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d-%m-%Y", "%m-%d-%Y"), ("%d.%m.%y", "%m.%d.%y"), ("%d/%m/%y", "%m/%d/%y"), ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    ("%d. %B %Y",), ("%d %B %Y",), ("%d-%b-%Y",), ("%d-%b-%y",), ("%B %d, %Y",), ("%Y-%m-%dT%H:%M:%S",),
    ("%d.%m.%y %H:%M",),
    *(
        tuple(f"{day} {hours}" for day in days)
        for days in (
            ("%Y-%m-%d",), ("%Y/%m/%d",), ("%d.%m.%Y",), ("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"),
            ("%d-%b-%Y",),
        )
        for hours in ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
    ),
)  # fmt: skip
"""Formats of dates; those of a family have the same signs. With points, the day stands first where both fit."""
_WRITTEN = {family: re.compile(format_pattern(family[0])) for family in FAMILIES}
_DATED = re.compile("|".join(pattern.pattern for pattern in _WRITTEN.values()))
PLAIN = ("%Y-%m-%d", "%Y/%m/%d", *DAYS, "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
"""Formats that are read without an option where a column has no other."""
YES_NO: Mapping[str, tuple[str, ...]] = {
    "German": ("ja", "nein", "j", "n"), "English": ("yes", "no", "y", "n"), "French": ("oui", "non", "o", "n"),
    "Spanish": ("sí", "si", "no", "s", "n"), "Italian": ("sì", "si", "no", "s", "n"),
}  # fmt: skip
_INT, _GROUP = "(?:0|[1-9][0-9]*)", "[1-9][0-9]{0,2}"
SHAPES: Mapping[str, str] = {
    "whole": _INT,
    "point 3": rf"{_GROUP}\.[0-9]{{3}}",
    "comma 3": rf"{_GROUP},[0-9]{{3}}",
    "points": rf"{_GROUP}(?:\.[0-9]{{3}}){{2,}}",
    "commas": rf"{_GROUP}(?:,[0-9]{{3}}){{2,}}",
    "point": rf"{_INT}?\.[0-9]+",
    "comma": rf"{_INT}?,[0-9]+",
    "points, comma": rf"{_GROUP}(?:\.[0-9]{{3}})+,[0-9]+",
    "commas, point": rf"{_GROUP}(?:,[0-9]{{3}})+\.[0-9]+",
    **{
        f"{name}{rest}": f"{_GROUP}(?:{sign}[0-9]{{3}})+{decimals}"
        for name, sign in (("spaces", f"[{SPACES}]"), ("quotes", "['’]"))
        for rest, decimals in (("", ""), (", point", r"\.[0-9]+"), (", comma", ",[0-9]+"))
    },
    "list": "[0-9]+(?:,[0-9]+){2,}",
    "zeros": "0[0-9]+",
}
"""What numbers can look like; the first that fits is that of a text. ``point 3`` and ``comma 3`` can be read twice."""
SPELLINGS = tuple(sorted((name for names in UNITS for name in names), key=len, reverse=True))
_UNIT = "|".join(map(re.escape, SPELLINGS))
OF_POINTS = ("USD", "US$", "$", "GBP", "£")
"""Currencies whose amounts have two decimals, after a point."""
_MONEY = "|".join(map(re.escape, ("EUR", "Euro", "euro", "€", *OF_POINTS, "CHF", "SFr.", "Fr.")))
"""Currencies: what may stand before a number; L1 and t0 are codes."""
_BEFORE = f"[(+{MINUS}]?[{BLANKS}]*(?:(?:{_MONEY})[{BLANKS}]*)?[+{MINUS}]?[{BLANKS}]*"
_AFTER = rf"(?:[{BLANKS}]*(?:{_UNIT}))?[)-]?(?:[{BLANKS}]*(?:{_UNIT}))?"
PLAIN_NUMBER = r"-?[0-9]*\.?[0-9]+"
LOOSE = re.compile(rf"{_BEFORE}[0-9.,][0-9.,'’{SPACES}]*{_AFTER}")


@dataclass(slots=True)
class _Found:
    """What is recognised of a column: the keys below ``csv.columns``, and findings to be counted."""

    keys: dict[str, Any] = field(default_factory=dict)
    findings: list[ReadingFinding] = field(default_factory=list)


def recognise_columns(
    engine: Engine, relation: exp.Expr, columns: Sequence[str], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[ReadingFinding]]:
    """Return the options of columns, stated ones included, and what was found.

    Args:
        columns: of the relation, all of them texts as they stand in the file.
        given: the options ``csv`` that are stated or known.
    """
    stated: Mapping[str, Any] = given.get("columns") or {}
    looks = {name: _look(engine, relation, name) for name in columns}
    csv = dict(given)
    findings: list[ReadingFinding] = []
    own: dict[str, dict[str, Any]] = {name: dict(stated.get(name, {})) for name in columns}
    if "null" not in given:
        words, disputed, findings = _missing(looks)
        csv |= {"null": list(words)} if words else {}
        for name, kept in disputed.items():
            if {*words} & {*kept}:
                own[name].setdefault("null", [word for word in words if word not in kept] or [""])
        coded = {name: _codes_of_none(looks[name]) for name in columns if "null" not in stated.get(name, {})}
        if any({*"".join(codes)} == {"9"} for codes in coded.values()):  # who writes 9 here writes 99 there
            coded |= {name: codes or _nines(looks[name]) for name, codes in coded.items()}
        for name, codes in coded.items():
            if codes:
                own[name]["null"] = [*own[name].get("null", words), *codes]
                records, shown = sum(looks[name][code] for code in codes), ", ".join(map(repr, codes))
                findings.append(ReadingFinding(name, "missing", f"{shown} for NULL", records, 0, ASK_CODES))
    nulls = tuple(csv.get("null") or ()) if not isinstance(csv.get("null"), str) else ()
    for name in columns:
        if {*own[name]} - {"null"} or given.get("decimal") or given.get("thousands"):
            continue
        missing = ColumnReading.of(own[name], nulls)
        texts = {text: n for text, n in looks[name].items() if text and text not in missing.null}
        held = both([not_null(column(name)), exp.not_(missing.missing(column(name)))])
        found = _recognise(engine, exp.select(column(name)).from_(relation.copy()).where(held), name, texts)
        own[name] |= found.keys
        findings += found.findings
    told_of = {name: keys for name, keys in own.items() if keys}
    csv |= {"columns": told_of} if told_of else {}
    readings = {name: ColumnReading.of(keys, nulls) for name, keys in own.items()}
    told = count_readings(engine, relation, {name: item for name, item in readings.items() if item.kind})
    return csv, [_counted(item, told) for item in findings]


def _counted(finding: ReadingFinding, told: Readings) -> ReadingFinding:
    name = finding.column
    if name is None or name not in told.changed or finding.what not in ("numbers", "dates") or not finding.applied:
        return finding
    return replace(finding, records=told.changed[name], misfits=told.misfits[name])


def _look(engine: Engine, relation: exp.Expr, name: str) -> dict[str, int]:
    """Return some of the texts of a column, the same ones whatever the order of records, and how many have each; words
    for NULL are always among them."""
    texts = exp.select(named(trimmed(column(name)), "text"), named(count_rows(), "n")).from_(relation.copy())
    texts = texts.where(not_null(column(name))).group_by(exp.convert(1))
    order = exp.Anonymous(this="HASH", expressions=[column("text")])
    query = exp.select(column("text"), column("n")).from_(texts.subquery("texts"))
    missing = exp.In(
        this=column("text"), expressions=[exp.Literal.string(word) for word in (*MISSING, *CODES, *DATES_OF_NONE)]
    )
    rows = engine.run("look at texts", query.order_by(exp.not_(missing), order, column("text")).limit(LOOKED_AT))
    return {str(text): int(n) for text, n in rows}


def _missing(
    looks: Mapping[str, Mapping[str, int]],
) -> tuple[list[str], dict[str, list[str]], list[ReadingFinding]]:
    """Return the words for NULL, by column those that are none there, and what was found."""
    words: dict[str, None] = {}
    disputed: dict[str, list[str]] = {}
    findings = []
    for name, texts in looks.items():
        counts = {word: texts[word] for word in MISSING if word in texts}
        others = [text for text in texts if text and text not in MISSING]
        codes = [text for text in others if re.fullmatch("[A-Z]{1,3}", text)]
        capitals = len(others) > 1 and all(text.isupper() and not re.search("[0-9]", text) for text in others)
        beside = capitals or (len(codes) > 1 and len(codes) >= 0.9 * len(others))
        signs = [text for text in others if not re.search(r"\w", text)]
        kept = [word for word in counts if signs and not re.search(r"\w", word)]
        asked = [word for word in counts if word in ("NA", "NULL") and beside]
        if kept or asked:
            disputed[name] = [*kept, *asked]
        for word in asked:
            question = (
                f"Is {word} a code here, as those beside it are? It stays a text; csv: {{null: …}} makes it NULL."
            )
            findings.append(ReadingFinding(name, "missing", f"{word!r} among codes", counts[word], 0, question, False))
        found = [word for word in MISSING if word in counts and word not in (*kept, *asked)]
        words |= dict.fromkeys(found)
        if found:
            shown = ", ".join(map(repr, found))
            findings.append(ReadingFinding(name, "missing", f"{shown} for NULL", sum(counts[word] for word in found)))
    return [word for word in MISSING if word in words], disputed, findings


def _codes_of_none(texts: Mapping[str, int]) -> list[str]:
    """Return the numbers that stand for no answer, of one length, beyond a gap above or below all others.

    Each stands in ``FEWEST`` records, and what is next to the gap does too. Where only a part of the texts was looked
    at, each has ten times as many records as most others.
    """
    held = {text: n for text, n in texts.items() if text and text not in MISSING}
    if dates := [text for text in DATES_OF_NONE if held.get(text, 0) >= FEWEST]:
        years, others = {_year(text) for text in dates}, [text for text in held if text not in DATES_OF_NONE]
        few = sum(held[text] for text in dates) <= MOST_CODED * sum(held.values())
        apart = all(_DATED.fullmatch(text) and _year(text) not in years for text in others)
        return dates if others and few and apart else []
    if not all(re.fullmatch(PLAIN_NUMBER, text) and not re.match("-?0[0-9]", text) for text in held):
        return []
    usual = sorted(held.values())[len(held) // 2] if len(texts) == LOOKED_AT else 0
    order = sorted(held, key=float)
    for side in (order[::-1], order):
        for cut in range(min(4, len(side) - 2), 0, -1):
            found, rest = side[:cut], side[cut:]
            known = found[0] not in ("7", "8") and all(len(text) == len(found[0]) and text in CODES for text in found)
            often = min(held[text] for text in found) >= max(FEWEST, 10 * usual)
            few = sum(held[text] for text in found) <= MOST_CODED * sum(held.values())
            if known and often and few and _is_apart(float(found[-1]), [*map(float, rest)]):
                return found[::-1] if held[rest[0]] >= FEWEST or len(rest) > SOME else []
    return []


def _nines(texts: Mapping[str, int]) -> list[str]:
    """Return the largest whole number beyond a gap, of nines alone, in a file in which nines stand for no answer
    elsewhere: in ``FEWEST`` records, or in half as many where all others are less than half of it."""
    held = {text: n for text, n in texts.items() if text and text not in MISSING}
    if len(held) < FEWEST_BESIDE or not all(re.fullmatch("[0-9]{1,4}", text) for text in held):
        return []
    last, *others = sorted(held, key=float, reverse=True)
    far = 2 * float(others[0]) < float(last) and len(last) > 1 and 2 * held[last] >= FEWEST
    often = held[last] >= FEWEST and _is_apart(float(last), [*map(float, others)])
    few = held[last] <= MOST_CODED * sum(held.values())
    return [last] if {*last} == {"9"} and few and (far or often) else []


def _year(text: str) -> str:
    return next(iter(re.findall("(?<![0-9])[0-9]{4}(?=[0-9]{4}|[^0-9]|$)", text)), "")


def _is_apart(code: float, others: Sequence[float]) -> bool:
    """Return whether a number lies apart from others, the nearest first, which fill their range if they are few."""
    nearest, low, high = others[0], min(others), max(others)
    if code < 0:
        return low >= 0 and (code < -6 or low > 0 or len(others) > 4)
    full = len(others) > SOME or len(others) >= DENSE * (high - low + 1)
    return code - nearest > max(1.0, nearest / 10) and full


def _recognise(engine: Engine, held: exp.Select, name: str, texts: Mapping[str, int]) -> _Found:
    """Return how a column is written.

    Args:
        held: its texts but words for NULL.
        texts: some of them, and how many records have each.
    """
    folded = {text.casefold() for text in texts}
    for language, words in YES_NO.items():
        if len(folded) == 2 and folded <= {*words}:
            records = int(
                engine.run("records with a text", exp.select(count_rows()).from_(held.subquery("held")))[0][0]
            )
            return _Found(findings=[ReadingFinding(name, "yes_no", f"yes and no in {language}", records)])
    most = 0.9 * sum(texts.values())
    dated = {text: shown for text in texts if _DATED.fullmatch(shown := _in_english(text))}
    if dated and sum(texts[text] for text in dated) >= most:
        families = [family for family, pattern in _WRITTEN.items() if any(map(pattern.fullmatch, dated.values()))]
        return _dates(engine, held, name, families)
    numbers = {text: n for text, n in texts.items() if LOOSE.fullmatch(text)}
    odd = (text for text in numbers if not re.fullmatch(PLAIN_NUMBER, text) or re.fullmatch(SHAPES["point 3"], text))
    if texts and sum(numbers.values()) >= most and any(odd):
        return _numbers(engine, held, name)
    return _Found()


def _in_english(text: str) -> str:
    """Return a text with the names of months as they are read, if it may hold one."""
    return english_months(text) if re.search(r"[^\W0-9_]{3}", text) and re.search("[0-9]", text) else text


def _dates(engine: Engine, held: exp.Select, name: str, families: Sequence[tuple[str, ...]]) -> _Found:
    """Return the formats of a column of dates, one of each family, by counts of all its texts."""
    pivot = datetime.now(UTC).year
    formats = [written for family in families for written in family]
    one = {written: partial(ColumnReading(dates=(written,), pivot=pivot).fitting, column(name)) for written in formats}
    counts = [named(count_if(not_null(one[written]())), f"f{place}") for place, written in enumerate(formats)]
    either = [exp.or_(*(not_null(one[written]()) for written in family)) for family in families]
    counts += [named(count_if(condition), f"e{place}") for place, condition in enumerate(either)]
    differ = [exp.or_(exp.false(), *(exp.NEQ(this=one[family[0]](), expression=one[other]()) for other in family[1:]))
              for family in families]  # fmt: skip
    counts += [named(count_if(condition), f"d{place}") for place, condition in enumerate(differ)]
    row = engine.run("formats of dates", exp.select(named(count_rows(), "n"), *counts).from_(held.subquery("held")))[0]
    total, fits = int(row[0]), dict(zip(formats, map(int, row[1:]), strict=False))
    of_family = [int(n) for n in row[1 + len(formats) : 1 + len(formats) + len(families)]]
    twofold = [int(n) for n in row[1 + len(formats) + len(families) :]]
    if not total or sum(of_family) < NEARLY_ALL * total:
        return _Found()
    chosen, asked, misfits = [], [], total - sum(of_family)
    for family, records, both_ways in zip(families, of_family, twofold, strict=True):
        best = max(family, key=fits.__getitem__)  # the first of equal ones
        odd = records - fits[best]
        decide = records - max((fits[written] for written in family if written != best), default=0)
        sure = not both_ways or decide >= max(FEW, (1 - NEARLY_ALL) * records)
        if records and sure and not odd:
            chosen.append(best)
        elif records and family[0].startswith("%d.%m.%Y") and records - fits[family[0]] <= (1 - NEARLY_ALL) * records:
            chosen.append(family[0])
            misfits += records - fits[family[0]]
        elif records:
            asked.append((family, records, both_ways))
    shown = " and ".join(map(repr, chosen))
    if asked:
        orders = ", ".join(" or ".join(map(repr, family)) for family, *_ in asked)
        several = sum(both_ways for *_, both_ways in asked)
        asks = f"Which format do the dates have: {orders}? {several:,} of them can be read in several ways."
        records = sum(records for _, records, _ in asked)
        return _Found(findings=[ReadingFinding(name, "dates", f"dates, as {orders}", records, misfits, asks, False)])
    if len(chosen) == 1 and chosen[0] in PLAIN:
        return _Found(findings=[ReadingFinding(name, "dates", f"dates written {shown}", total - misfits, misfits)])
    keys: dict[str, Any] = {"dates": chosen if len(chosen) > 1 else chosen[0]}
    question: str | None = None
    if any("%y" in written for written in chosen):
        keys["pivot"] = pivot
        question = f"Do years of two digits end with {pivot} ({pivot % 100:02d}), so that {(pivot + 1) % 100:02d} is " \
                   f"{pivot - 99}? (pivot)"  # fmt: skip
    return _Found(keys, [ReadingFinding(name, "dates", f"dates written {shown}", total, misfits, question)])


def _texts(held: exp.Select, name: str) -> exp.Subquery:
    """Return the distinct texts of a column, and how many records have each."""
    return (
        exp.select(column(name), named(count_rows(), "n"))
        .from_(held.subquery("held"))
        .group_by(column(name))
        .subquery("texts")
    )


def _numbers(engine: Engine, held: exp.Select, name: str) -> _Found:
    """Return the signs and the unit of a column of numbers, by the shapes of all its texts."""
    text = trimmed(column(name))
    ifs = [exp.If(this=full_match(text, f"{_BEFORE}{shape}{_AFTER}"), true=exp.Literal.string(title))
           for title, shape in SHAPES.items()]  # fmt: skip
    before, after = _BEFORE.replace(f"(?:{_MONEY})", f"({_MONEY})"), _AFTER.replace(f"(?:{_UNIT})", f"({_UNIT})")
    within = exp.Literal.string(f"^{before}[0-9.,](?:.*[0-9])?{after}$")
    groups = [[text.copy(), within.copy(), exp.convert(place)] for place in (1, 2, 3)]
    unit = exp.Concat(expressions=[exp.Anonymous(this="REGEXP_EXTRACT", expressions=group) for group in groups])
    shaped = exp.select(
        named(exp.Case(ifs=ifs, default=exp.Literal.string("other")), "shape"),
        named(unit, "unit"),
        named(full_match(text, r".*\(.*\).*"), "closed"),
        named(full_match(text, ".*[0-9].*-"), "trailing"),
        named(full_match(text, f".*[0-9][{BLANKS}]+[^0-9]+"), "apart"),
        named(exp.Length(this=text.copy()), "length"),
        column("n"),
    ).from_(_texts(held, name))
    listed = ("shape", "unit", "closed", "trailing", "apart")
    lengths = (exp.Min(this=column("length")), exp.Max(this=column("length")))
    query = exp.select(*map(column, listed), summed(column("n")), *lengths)
    rows = engine.run("shapes of numbers", query.from_(shaped.subquery("shaped")).group_by(*map(column, listed)))
    return _decide(name, [_Shaped(row[0], row[1] or "", *map(bool, row[2:5]), *map(int, row[5:])) for row in rows])


@dataclass(frozen=True, slots=True)
class _Shaped:
    """How many texts have a shape and a unit, and how long they are."""

    shape: str
    unit: str
    closed: bool
    trailing: bool
    apart: bool
    records: int
    shortest: int
    longest: int


def _decide(name: str, rows: Sequence[_Shaped]) -> _Found:
    """Return how the numbers of a column are written, from the shapes of its texts."""
    count = dict.fromkeys((*SHAPES, "other"), 0)
    for row in rows:
        count[row.shape] += row.records
    total = sum(count.values())
    if not total or count["zeros"] or count["list"] or count["other"] > (1 - NEARLY_ALL) * total:
        return _Found()
    fits = [row for row in rows if row.shape != "other"]
    form, question, keys = _signs(count, fits)
    units = {_canonical(row.unit) for row in fits if row.unit}
    spelled = sorted({row.unit for row in fits if row.unit})
    bare = sum(row.records for row in fits if not row.unit)
    questions = [question] if question else []
    applied = question is None
    if len(units) > 1:
        questions.append(
            f"The numbers have several units ({', '.join(spelled)}): which one is meant? None is left out."
        )
        applied = False
    elif units and bare > total / 2:
        return _Found()
    elif units:
        keys["unit"] = spelled if len(spelled) > 1 else spelled[0]
        form = ", ".join(filter(None, [form, f"with the unit {' or '.join(spelled)}"]))
        questions += [f"{bare:,} numbers have no unit: are they in {spelled[0]} too?"] if bare else []
        if min(map(len, spelled)) == 1 and spelled[0].isalpha() and not any(map(_has_unit, fits)):
            questions.append(f"Is {spelled[0]} a unit, or are these codes (csv: {{columns: …}}: unit)?")
            applied = False
    closed = sum(row.records for row in fits if row.closed)
    trailing = sum(row.records for row in fits if row.trailing)
    if closed or trailing:
        keys["negative"] = "parentheses" if closed else "trailing"
        way = "in parentheses" if closed else "with a sign behind it"
        questions.append(f"Is a number {way} one below 0 ({closed or trailing:,} records)?")
        applied = applied and not (closed and trailing)
    if not keys and not questions:
        return _Found()
    asked = " ".join(questions) or None
    finding = ReadingFinding(name, "numbers", f"numbers {form}".strip(), total, count["other"], asked, applied)
    return _Found(keys if applied else {}, [finding])


def _has_unit(row: _Shaped) -> bool:
    """Return True if texts have decimals, or a blank before the unit: codes such as 1h have neither."""
    return bool(row.unit) and (row.apart or row.shape.endswith(("point", "comma", "point 3", "comma 3")))


def _signs(count: Mapping[str, int], rows: Sequence[_Shaped]) -> tuple[str, str | None, dict[str, Any]]:
    """Return the signs of numbers in words, a question where two readings are left, and the keys."""

    def held(*shapes: str) -> int:
        return sum(count[shape] for shape in shapes)

    comma = held("comma", "points, comma", "spaces, comma", "quotes, comma")
    point = held("point", "commas, point", "spaces, point", "quotes, point")
    grouped = {".": held("points", "points, comma"), ",": held("commas", "commas, point"),
               " ": sum(n for shape, n in count.items() if shape.startswith("spaces")),
               "'": sum(n for shape, n in count.items() if shape.startswith("quotes"))}  # fmt: skip
    decimal = "," if comma else "." if point else "," if grouped["."] else "." if grouped[","] else None
    money = decimal is None and not held("point 3") and all(row.unit in OF_POINTS for row in rows)
    if decimal == "," and not point:
        grouped["."] += count["point 3"]
    elif decimal == "." or money:
        grouped[","] += count["comma 3"]
    signs = [sign for sign, n in grouped.items() if n]
    clash = (comma and point and (signs or held("point 3", "comma 3"))) or len(signs) > 1 or decimal in signs
    twofold = decimal is None and not money and held("point 3", "comma 3")
    if not clash and not comma and not point and signs and signs[0] != "'" and not twofold:
        lengths = {length for row in rows for length in (row.shortest, row.longest)}
        clash = len(lengths) == 1  # all alike: codes are written so
    if clash or twofold:
        way = "a comma" if count["comma 3"] and not count["point 3"] else "a point"
        sign = f"{way} before three digits" if twofold else "signs that do not go together, or are those of codes"
        return f"with {sign}", "Are these decimals, thousands or codes (csv: {columns: …}: decimal, thousands)?", {}
    keys: dict[str, Any] = {"decimal": ","} if decimal == "," else {}
    keys |= {"thousands": signs[0]} if signs else {}
    words = [f"with the decimal sign {decimal!r}"] if decimal == "," else []
    return " and ".join([*words, *(f"with {sign!r} between thousands" for sign in signs)]), None, keys


def _canonical(unit: str) -> tuple[str, ...]:
    return next(names for names in UNITS if unit in names)
