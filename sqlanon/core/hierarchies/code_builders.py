"""Codes and categories by prefix, by system, by ZIP area and by frequency: SQL expressions, as sqlglot trees.

Each level is a function of the one below it (the argument stands with it). A value that a system of codes does not know
has no levels: all of them are NULL, and the value is uncovered.
"""

from __future__ import annotations

import csv
import io
from functools import cache, partial
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

from sqlglot import exp

from sqlanon.core.hierarchies.code_specs import Codes, FrequentValues, Prefix, Zip3
from sqlanon.core.hierarchies.expressions import (
    DIGITS,
    ROOT,
    among_texts,
    are_digits,
    character_at,
    first,
    joined,
    literal,
    unless_null,
)
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import both, column, equal, number, when
from sqlanon.errors import HierarchyError

_SHIPPED = Path(__file__).resolve().parent / "shipped"
SMALL_AREA = "000"
PREFIXES = {"atc": (5, 4, 3, 1), "nuts": (4, 3, 2), "geohash": (8, 7, 6, 5, 4, 3, 2, 1)}
"""The characters that the levels of a system of codes keep, from the second to the last but the root."""
GEOHASH = (("0", "9"), ("b", "h"), ("j", "k"), ("m", "n"), ("p", "z"))
"""The ranges of the 32 characters of a geohash."""
_ASCII_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)


def known_code(spec: Codes | Zip3, value: exp.Expr) -> exp.Expr:
    """Return what the levels of a code follow from, NULL for a text that is none.

    It is the category of ICD-10, the sub-region of a country, the area of a ZIP code; else the code, spelled one way.
    """
    if isinstance(spec, Zip3):
        return _area(value)
    return {"icd10": _category, "countries": _sub_region}.get(spec.system, partial(_spelled, spec.system))(value)


def code_levels(spec: Prefix | FrequentValues | Codes | Zip3 | object, value: exp.Expr) -> list[exp.Expr]:
    """Return the levels above a text, or above a known code (``known_code``).

    Raises:
        HierarchyError: the populations of ZIP areas cannot be read.
    """
    if isinstance(spec, Prefix):
        return _prefixes(spec, value)
    if isinstance(spec, FrequentValues):
        return _frequent(spec, value)
    root = unless_null(value, literal(ROOT))
    if isinstance(spec, Zip3):
        return [*_areas_of(spec, value), root]
    assert isinstance(spec, Codes)
    if spec.system == "icd10":
        return [*_icd10(value), root]
    if spec.system == "countries":
        return [value.copy(), _cases(_regions()[1], value), root]
    return [*[first(value, length) for length in PREFIXES[spec.system]], root]


def _prefixes(spec: Prefix, value: exp.Expr) -> list[exp.Expr]:
    """Return levels: the first characters of a longer value with the mark, a shorter value as it is.

    A tree: on a level a text is longer by the mark than what is kept, or at most as long as that. So it shows which of
    the two it is, and the next, shorter prefix follows from it.
    """
    result = []
    for length in spec.lengths:
        kept = first(value, length)
        marked = joined(kept, literal(spec.mark)) if spec.mark else kept
        result.append(when(equal(kept.copy(), value.copy()), value.copy(), marked) if spec.mark else kept)
    return [*result, unless_null(value, literal(ROOT))]


def _frequent(spec: FrequentValues, value: exp.Expr) -> list[exp.Expr]:
    """Return levels: a value that enough records have, or the group of the others.

    A tree: thresholds rise, so that the values of a level are among those of the level below, and each text but the
    group belongs to one value. A value that reads like the group could not be distinguished from it: it has no levels.
    """
    other = literal(spec.other)
    result: list[exp.Expr] = []
    for threshold in spec.at_least:
        kept = exp.GTE(this=column(names.COUNT), expression=number(threshold))
        result.append(when(exp.NEQ(this=value.copy(), expression=other.copy()), when(kept, value.copy(), other.copy())))
    return [*result, unless_null(value, literal(ROOT))]


def _spelled(system: str, value: exp.Expr) -> exp.Expr:
    """Return a code in the spelling of its system, if it begins as those do."""
    code = exp.Lower(this=value.copy()) if system == "geohash" else exp.Upper(this=value.copy())
    letters = tuple(ascii_uppercase)
    known: exp.Expr
    if system == "atc":  # one letter; two digits, unless the code is the letter alone
        second = exp.or_(equal(first(code, 1), code.copy()), are_digits(code, (2, 3)))
        known = exp.and_(among_texts(character_at(code, 1), letters), second)
    elif system == "nuts":  # two letters of a country, then letters and digits
        known = both([among_texts(character_at(code, place), letters) for place in (1, 2)])
        known = exp.and_(known, among_texts(character_at(code, 3), ("", *DIGITS, *letters)))
    else:
        deepest = PREFIXES[system][0]
        known = both([_in_geohash(character_at(code, place), empty=place > 1) for place in range(1, deepest + 1)])
    return when(known, code)


def _in_geohash(character: exp.Expr, *, empty: bool) -> exp.Expr:
    ranges = [exp.Between(this=character.copy(), low=literal(low), high=literal(high)) for low, high in GEOHASH]
    return exp.paren(exp.or_(*ranges, *([equal(character, literal(""))] if empty else [])))


def _category(value: exp.Expr) -> exp.Expr:
    """Return the category of a code of ICD-10: what follows the first three characters (a dot, signs) is left out."""
    category = exp.Upper(this=first(value, 3))
    third = among_texts(character_at(category, 3), (*DIGITS, *ascii_uppercase))
    letter = among_texts(character_at(category, 1), ascii_uppercase)
    return when(both([letter, are_digits(category, (2,)), third]), exp.cast(category, "VARCHAR"))


def _icd10(category: exp.Expr) -> list[exp.Expr]:
    """Return category, block and chapter.

    A tree: block and chapter are ranges of categories; the ranges of blocks lie apart, each within one chapter, and a
    category outside of all blocks has its chapter in their place.
    """

    def ranges(kind: str, otherwise: exp.Expr | None = None) -> exp.Expr:
        cases = [
            exp.If(this=exp.Between(this=category.copy(), low=literal(low), high=literal(high)), true=literal(label))
            for found, low, high, label in shipped_rows("icd10.csv")
            if found == kind
        ]
        return exp.Case(ifs=cases, default=otherwise)

    chapter = ranges("chapter")
    return [category.copy(), ranges("block", chapter.copy()), chapter]


@cache
def _regions() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the spellings of the countries of each sub-region, and the sub-regions of each region."""
    spellings: dict[str, list[str]] = {}
    within: dict[str, list[str]] = {}
    for two, three, written, sub_region, region in shipped_rows("countries.csv"):
        names_of = [spelled for name in written.split("|") for spelled in (name.translate(_ASCII_UPPER), name.upper())]
        spellings.setdefault(sub_region, []).extend(dict.fromkeys([two, three, *names_of]))
        if sub_region not in within.setdefault(region, []):
            within[region].append(sub_region)
    return spellings, within


def _sub_region(value: exp.Expr) -> exp.Expr:
    """Return the sub-region of a country, which is a code of two or three letters or an English name."""
    return _cases(_regions()[0], exp.Upper(this=value.copy()))


def _cases(groups: dict[str, list[str]], value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=among_texts(value, known), true=literal(name)) for name, known in groups.items()])


def _area(value: exp.Expr) -> exp.Expr:
    """Return the first three digits of a ZIP code.

    It has five digits, nine, or five and four; one of four digits lost its zero; three digits are an area already.
    """
    ends = exp.or_(
        equal(first(value, 5), value.copy()),
        among_texts(character_at(value, 6), ("-", " ")),
        exp.and_(equal(first(value, 9), value.copy()), are_digits(value, range(6, 10))),
    )
    five = exp.and_(are_digits(value, range(1, 6)), exp.paren(ends))
    four = exp.and_(are_digits(value, range(1, 5)), equal(first(value, 4), value.copy()))
    three = exp.and_(are_digits(value, range(1, 4)), equal(first(value, 3), value.copy()))
    short = joined(literal("0"), first(value, 2))
    return exp.Case(ifs=[exp.If(this=exp.or_(five, three), true=first(value, 3)), exp.If(this=four, true=short)])


def _areas_of(spec: Zip3, area: exp.Expr) -> list[exp.Expr]:
    """Return the area, or 000 for one of few people; then its first digit, with 000 apart.

    A tree: 000 keeps its text, also where it is a placeholder, and another area has one first digit.
    """
    small, large = _areas(spec)
    allowed: exp.Expr
    if large is None:
        allowed = exp.not_(among_texts(area, (SMALL_AREA, *small)))
    else:
        known = tuple(digits for digits in large if digits != SMALL_AREA)
        allowed = among_texts(area, known) if known else exp.false()
    missing = exp.If(this=exp.Is(this=area.copy(), expression=exp.null()), true=exp.null())
    return [
        exp.Case(ifs=[missing.copy(), exp.If(this=allowed.copy(), true=text)], default=literal(SMALL_AREA))
        for text in (area.copy(), first(area, 1))
    ]


def _areas(spec: Zip3) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the small areas, and all others if they are known."""
    if spec.small is not None:
        return spec.small, None
    if spec.populations is None:
        return tuple(row[0] for row in shipped_rows("zip3_small.csv")), None
    people = read_populations(spec.populations)
    return (), tuple(sorted(area for area, population in people.items() if population > spec.at_most))


def read_populations(path: Path) -> dict[str, int]:
    """Return the population of three-digit areas from a CSV file; a first line without digits is a header.

    Raises:
        HierarchyError: it cannot be read.
    """
    failure, people = "", dict[str, int]()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeError) as error:
        failure = getattr(error, "strerror", None) or "it is not utf-8 text"
    if not failure:
        for place, row in enumerate(csv.reader(io.StringIO(text.replace(";", ","))), start=1):
            good = (
                len(row) >= 2 and len(row[0].strip()) == 3 and row[0].strip().isdecimal() and row[1].strip().isdecimal()
            )
            if good:
                people[row[0].strip()] = people.get(row[0].strip(), 0) + int(row[1])
            elif row and (place > 1 or any(cell.strip().isdecimal() for cell in row)):
                failure = f"line {place} is not a three-digit area and a population"
                break
    if failure or not people:
        raise HierarchyError(
            f"The populations of ZIP areas in {path.name!r} cannot be read: {failure or 'there are none'}.",
            hint="give a CSV file of three digits and a whole number of people a line: 021,783432.",
        )
    return people


@cache
def shipped_rows(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file of ``shipped/``, without its comments and its header."""
    lines = (_SHIPPED / name).read_text(encoding="utf-8").splitlines()
    return tuple(tuple(line.split(";")) for line in lines if not line.startswith("#"))[1:]
