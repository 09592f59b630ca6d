"""The hierarchy that a draft gives a quasi-identifier, by what a profile found of it.

Every bound is a rounded quantile that many records lie beyond, and every threshold a round number of records: a draft
holds no value of a record. A value that a hierarchy cannot read is published as ``*`` (``uncovered: top``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlanon.assess.profiling.facts import ColumnProfile, Spread
from sqlanon.assess.profiling.looks import is_whole
from sqlanon.assess.profiling.vocabulary import CODED, COUNTED
from sqlanon.core.hierarchies.calendar_specs import format_faults
from sqlanon.core.source.columns import without_enum
from sqlanon.core.source.words import kinds_of, parts_of, speaks_of

Keys = Mapping[str, Any]
INTERVALS = 20
"""About so many intervals of the finest level lie between the quantiles of 5 and 95 %."""
FACTORS = {1: 5, 2: 5, 5: 2}
"""By the first digit of a width, how many intervals the next level joins, so that widths stay round."""
FEWEST_DATES = 12
"""Texts of a column that is called a date or a birth, at least, for it to be asked whether they are dates."""
NARROW = 15
"""Ages that span so many years at most have bands of two."""
OLDEST = 90
"""From this age on there is one label: HIPAA Safe Harbor (45 CFR 164.514(b)(2)(i)(C))."""
FEWEST_KEPT = 20
"""The least threshold of ``frequent``: values that fewer records have make small classes."""
MOST_THRESHOLDS = 4
FEW_NUMBERS = 30
"""Whole numbers with so many values at most are counts, scales or codes."""
MOST_COUNTED = 5
"""Counts from so many on are one group, at most."""
MOST_ON_A_SCALE = 10
SKEWED, LONG_TAILED = Decimal("2.5"), 3
"""Numbers are skewed if the middle lies so many times as far from one outer quantile as from the other, or if the outer
quantiles lie so many times as far apart as the quartiles."""
GAPS = 0.8
"""Whole numbers that are fewer than this share of all up to the quantile of 95 % are codes: counts have gaps beyond."""
UNORDERED = ("sex", "race", "religion", "politics", "sexuality", "crime", "union", "marital", "occupation")
"""Topics whose numbers are codes."""
IN_ORDER = ("education", "body", "household", "money")
"""Topics whose numbers have an order, whatever gaps are between them: years of schooling, children."""
ALL_WHOLE = 0.999
WIDE = 8
"""Intervals of the finest level between the bounds, from which on these are edges of the next level too."""
CODED_LOOKS = ("code", "postcode", "place", "provider")
"""Looks of columns whose numbers are codes, without an order."""
DATED = 0.1
"""The share of the values from which on those that look like dates are not cut to their first characters."""
KNOWN_CODES = {"icd10": "block and chapter of ICD-10", "atc": "groups of ATC codes"}


@dataclass(frozen=True, slots=True)
class DraftedHierarchy:
    """The keys of a hierarchy in a policy, with a remark on what it does, and what a person must decide of it."""

    keys: Keys
    remark: str
    question: str | None = None

    @property
    def nodes(self) -> int:
        """About how many levels it has, level 0 included."""
        [(kind, options)] = self.keys.items()
        listed = options if isinstance(options, list) else []
        if isinstance(options, Mapping):
            listed = options.get("levels") or options.get("edges") or [0, *(options.get("fanouts") or [])]
        return 2 + (
            len(listed) if kind in ("intervals", "dates", "frequent", "prefix") else 2 if kind != "suppress" else 0
        )


SUPPRESS: Keys = {"suppress": {}}


def drafted_hierarchy(found: ColumnProfile, *, is_text: bool, records: int) -> DraftedHierarchy:
    """Return the hierarchy of a quasi-identifier.

    Args:
        is_text: the source is a text file, whose columns become numbers and dates where a hierarchy needs them.
        records: of the table.
    """
    texts = without_enum(found.type).upper() == "VARCHAR"
    if found.distinct <= 2:
        return DraftedHierarchy(SUPPRESS, "two values: published, or suppressed")
    if 2 * found.no_codes > found.filled:  # a hierarchy of codes would publish most records as *
        return _codes_or_values(found, records)
    if found.looks_like == "zip":
        return _zip(found)
    if found.looks_like in KNOWN_CODES:
        return DraftedHierarchy({"codes": found.looks_like}, KNOWN_CODES[found.looks_like])
    if found.reads_as in ("date", "moment") and (texts or not found.misfits):
        drafted = _dates(found, texts=texts, is_text=is_text)
        if drafted is not None:
            return drafted
    if found.looks_like == "country" and (found.shapes.get("country_code", 0) > 0.95):
        question = "Are these codes of ISO 3166? Otherwise take frequent."
        return DraftedHierarchy({"codes": "countries"}, "sub-regions and regions of UN M49", question)
    is_number = found.reads_as in ("whole", "number") and (texts or not found.misfits)
    if is_number and found.spread is not None and not _is_code(found, found.spread) and found.distinct > 3:
        return _few_numbers(found, found.spread) or _intervals(found, found.spread)
    if _is_in_years(found):
        keys = {"width": 5, "fanouts": [2, 2], "lower": 20, "upper": OLDEST}
        return DraftedHierarchy({"intervals": keys}, "intervals of 5, 10, 20, with open ends; what is no number as *")
    return _codes_or_values(found, records)


def travels_with(found: ColumnProfile, leader: Keys) -> Any:
    """Return ``with`` of a column that follows from a quasi-identifier: up to the level that says what it says.

    Args:
        leader: the hierarchy of the quasi-identifier.
    """
    if "prefix" in leader and found.how == "value":
        return found.leader  # the run finds how many characters it follows from
    levels = leader.get("dates", ())
    levels = levels["levels"] if isinstance(levels, Mapping) else levels
    return {"column": found.leader, "level": levels.index(found.how) + 1 if found.how in levels else 0}


def _zip(found: ColumnProfile) -> DraftedHierarchy:
    question = (
        "Are these ZIP codes of the United States? Otherwise write prefix: [3, 2, 1]. For HIPAA add min_level: 1, and "
        "give current populations (zip3: {populations: FILE})."
    )
    return DraftedHierarchy({"zip3": {}}, "three digits, areas of few people as 000; then one digit", question)


def _dates(found: ColumnProfile, *, texts: bool, is_text: bool) -> DraftedHierarchy | None:
    """Return calendar periods; None for texts whose format cannot be read."""
    years = (found.spread.high - found.spread.low) if found.spread is not None else 0
    levels = ["month", "quarter", *(["half_year"] if years <= 5 else []), "year"]
    levels += [*(["five_years"] if years >= 5 else []), *(["decade"] if years >= 10 else [])]
    levels += ["twenty_years"] if years >= 50 else []
    if found.reads_as == "moment":
        levels.insert(0, "day")
    keys: dict[str, Any] = {"dates": levels}
    converted = is_text and not found.misfits and found.date_format is None
    if texts and not converted:
        written = found.date_format or "%Y-%m-%d" + (" %H:%M:%S" if found.reads_as == "moment" else "")
        if any(format_faults(written)):
            return None
        keys = {"dates": {"levels": levels, "format": written}}
    question = None
    if found.looks_like == "birth_date":
        question = (
            "Are ages enough? Then say at which day, instead of dates: ages: {at: YEAR-MONTH-DAY, fanouts: [5, 2, 2]}, "
            "which also joins all ages of 90 and over."
        )
    if found.ambiguous:
        question = " ".join(filter(None, [question, "Is the day before the month? All values can be read either way."]))
    return DraftedHierarchy(keys, ", then ".join(levels).replace("_", " "), question)


def _is_code(found: ColumnProfile, spread: Spread) -> bool:
    """Return whether numbers are codes, without an order: by the look, the name, or the gaps between few of them."""
    if found.looks_like in CODED_LOOKS or not {*CODED.split()}.isdisjoint(parts_of(found.name)):
        return True
    few = found.looks_like == "category" or (is_whole(found) and found.distinct <= FEW_NUMBERS)  # 1.0 beside NULL
    if few and found.topic in UNORDERED and not speaks_of(parts_of(found.name), COUNTED):
        return True
    return (
        found.looks_like == "category"
        and found.topic not in IN_ORDER
        and found.distinct < GAPS * (spread.q95 - spread.low + 1)
    )


def _few_numbers(found: ColumnProfile, spread: Spread) -> DraftedHierarchy | None:
    """Return what keeps the order of few whole numbers: counts up to one from which on all are one group, or the halves
    of a scale; None for other numbers."""
    low, high = int(spread.low), int(spread.high)
    if found.reads_as != "whole" or found.distinct > FEW_NUMBERS or found.looks_like in ("age", "year"):
        return None
    if low == 0 and spread.q95 <= MOST_COUNTED:
        most = max(2, int(spread.q95))
        keys = {"width": 1, "upper": most, "labels": "start"}
        return DraftedHierarchy({"intervals": keys}, f"single numbers, those from {most} on as one")
    if low != 1 or found.distinct != high or high > MOST_ON_A_SCALE or found.shapes.get("whole", 0) < ALL_WHOLE:
        return None
    half = high // 2
    parts = [(1, half), *([(half + 1, half + 1)] if high % 2 else []), (high - half + 1, high)]
    groups = {f"{a}-{b}" if a < b else f"{a}": list(range(a, b + 1)) for a, b in parts}
    question = "Are these numbers in an order? If they are codes of kinds, write groups of your own, or suppress: {}."
    return DraftedHierarchy({"groups": groups}, "groups that keep the order", question)


def _intervals(found: ColumnProfile, spread: Spread) -> DraftedHierarchy:
    """Return round intervals between round quantiles, with open ends."""
    if found.looks_like in ("latitude", "longitude"):
        cells = [Decimal("0.01"), Decimal("0.1")][spread.places < 2 or spread.high - spread.low > 20 :]
        keys = {"width": _number(cells[0]), "fanouts": [10, 10]}
        remark = "grid cells, about 111 km a degree of latitude"
        return DraftedHierarchy({"intervals": keys}, remark)
    if _is_in_years(found):
        width, fanouts = Decimal(2 if spread.high - spread.low <= NARROW else 5), [2, 2]
    elif 0 <= spread.low <= 10 and 90 < spread.high <= 100:  # percentages, scores
        width, fanouts = Decimal(10), [2]
    elif found.looks_like != "year" and (edges := _edges(spread)):
        remark = f"{', '.join(str(len(level) + 1) for level in edges)} intervals between round quantiles"
        return DraftedHierarchy({"intervals": {"edges": edges}}, remark)
    else:
        width, fanouts = _widths(spread)
    keys = {"width": _number(width), "fanouts": fanouts}
    keys |= _bounds(spread, width * fanouts[0] if fanouts and spread.high - spread.low >= WIDE * width else width)
    if _is_in_years(found):
        keys["upper"] = min(keys.get("upper", OLDEST), OLDEST)
    if not fanouts:
        del keys["fanouts"]
    widths = [width * math.prod(fanouts[:depth]) for depth in range(len(fanouts) + 1)]
    remark = f"intervals of {', '.join(str(_number(item)) for item in widths)}"
    if {"lower", "upper"} & {*keys}:
        remark += " between round quantiles, with open ends"
    question = None
    if found.looks_like == "category":
        question = (
            "Are these numbers in an order? If they are codes of kinds, write groups: {…} or suppress: {} instead."
        )
    return DraftedHierarchy({"intervals": keys}, remark, question)


def _is_in_years(found: ColumnProfile) -> bool:
    """Return whether a column holds ages in years; not those in tens of years."""
    tens = found.spread is not None and found.spread.places > 0 and found.spread.high < NARROW
    return found.looks_like == "age" and not tens


def _edges(spread: Spread) -> list[list[int | float]]:
    """Return the edges of intervals that hold shares of skewed numbers: of many intervals, of some, and of three;
    nothing where numbers are not skewed, which have intervals of one width.

    Where a quarter of the records or more hold 0, it is an interval of its own; where three quarters do, so are those
    beyond the quantile of 95 %.
    """
    q05, q25, q50, q75, q95 = (Decimal(str(q)) for q in (spread.q05, spread.q25, spread.q50, spread.q75, spread.q95))
    if spread.low == q75 == 0 < spread.high:  # most hold 0: the others, and the largest, are apart
        least = Decimal(1).scaleb(-spread.places)
        large = [edge for edge in _rounded((q95,), 1) if least < edge < spread.high]
        return [[_number(edge) for edge in level] for level in ([least, *large], [least])[not large :]]
    sides = sorted((q50 - q05, q95 - q50))
    if sides[1] <= SKEWED * sides[0] and q95 - q05 <= LONG_TAILED * (q75 - q25):
        return []
    quartiles = _rounded((q25, q50, q75), 1)
    if len(quartiles) < 3 or any(b - a < abs(a) / 4 for a, b in pairwise(quartiles)):
        quartiles = _rounded((q25, q50, q75), 2)
    if q05 == q25 == spread.low == 0:
        quartiles = sorted({Decimal(1).scaleb(-spread.places), *(edge for edge in quartiles if edge)})
    some = sorted({*quartiles, *_rounded((q05, q95), 1)} - {Decimal(0)})
    inner = [edge for edge in some if spread.low < edge < spread.high]
    few = [edge for edge in quartiles if edge in inner] if len(quartiles) > 1 else inner
    if len(few) < 2:
        return []
    sizes = [edge.adjusted() for edge in inner[len(inner) > 2 and q25 == 0 :]]
    signs = {Decimal(1).copy_sign(edge) for edge in inner}
    series = {
        sign * digit * Decimal(1).scaleb(place)
        for place in range(min(sizes), max(sizes) + 1)
        for digit in (1, 2, 5)
        for sign in signs
    }
    apart = {edge for edge in series if all(abs(edge - other) > abs(other) / 4 for other in inner)}
    many = sorted({*inner, *(edge for edge in apart if inner[0] < edge < spread.high)})
    levels = [many, inner, [few[0], few[-1]]]
    return [[_number(edge) for edge in level] for place, level in enumerate(levels) if level not in levels[:place]]


def bands(spread: Spread) -> list[int | float]:
    """Return the edges of bands of numbers that hold about a quarter of the records each, the outer ones cut once more
    where a twentieth lies beyond; where a quarter or more hold 0, it is a band of its own.

    Nothing where there are fewer than three bands.
    """
    q05, q25, q50, q75, q95 = (Decimal(str(q)) for q in (spread.q05, spread.q25, spread.q50, spread.q75, spread.q95))
    edges = {*_rounded((q25, q50, q75), 2), *_rounded((q05, q95), 2)}
    if q05 == q25 == spread.low == 0:
        edges = {Decimal(1).scaleb(-spread.places), *(edge for edge in edges if edge)}
    inner = sorted(edge for edge in edges if spread.low < edge < spread.high)
    return [_number(edge) for edge in inner] if len(inner) > 1 else []


def _rounded(quantiles: Iterable[Decimal], digits: int) -> list[Decimal]:
    """Return numbers, each once, with so many digits that are not zero."""
    return sorted({round(n, digits - 1 - n.adjusted()) + Decimal(0) if n else n for n in quantiles})


def _widths(spread: Spread) -> tuple[Decimal, list[int]]:
    """Return the least width, of one digit, and fan-outs up to half of the range."""
    low, high = (spread.q05, spread.q95) if spread.q95 > spread.q05 else (spread.low, spread.high)
    span = Decimal(str(high)) - Decimal(str(low))
    least = Decimal(2).scaleb(-spread.places)  # one step of the numbers themselves would join nothing
    wanted = max(span / INTERVALS, least)
    unit = Decimal(1).scaleb(wanted.adjusted())
    digit = next(digit for digit in (1, 2, 5, 10) if digit * unit >= wanted)
    width, fanouts = digit * unit, list[int]()
    joined = width
    while joined * FACTORS[_first_digit(joined)] <= span * 2 / 3 and len(fanouts) < 4:
        fanouts.append(FACTORS[_first_digit(joined)])
        joined *= fanouts[-1]
    return width, fanouts or ([2] if 2 * width <= span * 2 / 3 else [])


def _first_digit(number: Decimal) -> int:
    return number.normalize().as_tuple().digits[0]


def _bounds(spread: Spread, step: Decimal) -> dict[str, int | float]:
    """Return the outer quantiles, rounded inward to a step, as ``lower`` and ``upper``, of a long tail the one of 95 %;
    none where no two steps lie between them. Nothing lies below 0 where the numbers begin there."""
    low = -(-Decimal(str(spread.low)) // step) * step
    far = spread.high - spread.q50 > LONG_TAILED * (spread.q95 - spread.q50) > 0
    high = Decimal(str(spread.q95 if far else spread.high)) // step * step
    low = low if low >= Decimal(str(spread.low)) else low + step
    high = high if high <= Decimal(str(spread.high)) else high - step
    if high - low < (1 if far else 2) * step:
        return {}
    return ({} if spread.low == 0 else {"lower": _number(low)}) | {"upper": _number(high)}


def _number(value: Decimal) -> int | float:
    """Return a number as a policy shows it best."""
    return int(value) if value == value.to_integral_value() else float(value)


def _codes_or_values(found: ColumnProfile, records: int) -> DraftedHierarchy:
    """Return prefixes of codes of one length that are many, or frequent values; suppression where neither helps."""
    lengths = found.lengths
    if found.looks_like != "postcode" and (found.shapes.get("date_like", 0) > DATED or _is_called_a_date(found)):
        question = (
            "Are these dates? Write them in one way where they are made; then dates: [month, quarter, year] reads them."
        )
        thresholds = _thresholds(found, records)  # first characters would hide the year of some and keep their day
        keys = {"frequent": thresholds} if thresholds else SUPPRESS
        return DraftedHierarchy(keys, _kept(found) if thresholds else "published, or suppressed", question)
    coded = found.looks_like == "postcode" or found.shapes.get("code", 0) > 0.95
    many = found.distinct > 50 and not _thresholds(found, records, at_most=0.5)
    if lengths is not None and lengths.longest >= 3 and (found.looks_like == "postcode" or (coded and many)):
        longest = min(lengths.longest - 1, 4)
        return DraftedHierarchy({"prefix": list(range(longest, 0, -1))}, "first characters, fewer at each level")
    thresholds = _thresholds(found, records)
    if thresholds:
        question = (
            "Do values belong together (regions, kinds)? Groups of your own (groups: {…}) lose less than frequent."
        )
        return DraftedHierarchy({"frequent": thresholds}, _kept(found), question if found.distinct > 8 else None)
    if coded and lengths is not None and lengths.longest > 1 and lengths.usual_share > 0.95 and found.distinct > 8:
        return DraftedHierarchy({"prefix": list(range(lengths.longest - 1, 0, -1))}, "first characters")
    return DraftedHierarchy(SUPPRESS, "published, or suppressed; values: " + _how_many(found))


def _is_called_a_date(found: ColumnProfile) -> bool:
    return (
        bool({"date", "birth_date"} & {*kinds_of(found.name)})
        and found.reads_as == "text"
        and found.distinct > FEWEST_DATES
    )


def _how_many(found: ColumnProfile) -> str:
    return "few" if found.distinct <= 20 else "many"


def _kept(found: ColumnProfile) -> str:
    return "values that so many records have are kept, the others are one group"


def _thresholds(found: ColumnProfile, records: int, *, at_most: float = 1.0) -> list[int]:
    """Return round numbers of records that ever fewer values have; each keeps some value, and groups two at least.

    Args:
        at_most: the share of the records that the first threshold may leave in the group.
    """
    result: list[int] = []
    before = found.distinct
    for item in sorted(found.frequent, key=lambda frequent: frequent.at_least):
        if item.at_least < FEWEST_KEPT or not 0 < item.values < before or found.distinct - item.values < 2:
            continue
        if not result and found.filled - item.records > at_most * found.filled:
            return []
        number = _round_up(item.at_least)
        if result and number < 2 * result[-1]:
            continue
        result.append(number)
        before = item.values
    return result if len(result) <= MOST_THRESHOLDS else [result[0], *result[1 - MOST_THRESHOLDS :]]


def _round_up(number: int) -> int:
    """Return a number with two digits that are not zero, at most.

    >>> _round_up(302), _round_up(20), _round_up(1509)
    (310, 20, 1600)
    """
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
