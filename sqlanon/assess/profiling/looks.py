"""What a column looks like: by its name and by the shapes of its values, each with the reason in words.

The name proposes, the values decide: an ``age`` whose numbers reach 5,000 is none, and a column called ``code`` whose
values are e-mail addresses holds e-mail addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.assess.profiling.facts import ColumnProfile, Spread, is_mixed, percent
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.assess.profiling.vocabulary import CARERS, CODED, OTHER_PERSONS
from sqlanon.core.source.known import CLEAR, HALF
from sqlanon.core.source.vocabulary import KINDS, PERSONAL, PERSONS
from sqlanon.core.source.words import kinds_of, parts_of, speaks_of_persons

_YEAR, _MONTH, _DAY = "(18|19|20)[0-9]{2}", "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])"

ISO = "%Y-%m-%d"
FORMATS: dict[str, str] = {
    ISO: f"^{_YEAR}-{_MONTH}-{_DAY}$",
    "%Y/%m/%d": f"^{_YEAR}/{_MONTH}/{_DAY}$",
    "%d.%m.%Y": rf"^{_DAY}\.{_MONTH}\.{_YEAR}$",
    "%d/%m/%Y": f"^{_DAY}/{_MONTH}/{_YEAR}$",
    "%m/%d/%Y": f"^{_MONTH}/{_DAY}/{_YEAR}$",
    "%d-%m-%Y": f"^{_DAY}-{_MONTH}-{_YEAR}$",
    "%m-%d-%Y": f"^{_MONTH}-{_DAY}-{_YEAR}$",
    "%Y.%m.%d": rf"^{_YEAR}\.{_MONTH}\.{_DAY}$",
    "%Y%m%d": "^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$",
}
"""The formats of dates that a CSV source can be read by (``core/source/csv_types.py``), with a pattern of their texts.
Two formats that differ by the order of day and month stand beside each other."""
SWAPPED = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}
"""Formats that both fit where no day is beyond 12."""

OF_AN_ID = re.compile(
    r"(?<!pa)(?<!sa)(?<!ra)(?<!a)(?<!^b)(?<!cov)(?<!ac)(?<!flu)(?<!lip)(?<!ro)(?<!sol)(?<!val)(?<!gr)(?<!^m)"
    r"(?<!liqu)(?<!hum)(?<!pyram)id$"
)
"""Ends of the names of numbers of persons or records, and of no amount that was paid and no thyroid."""
SCHOOLS, MANY_SCHOOLS = ("school", "sch", "schule", "ecole", "escuela", "scuola", "skola", "szkola"), 60
"""Words of schools, which are years of schooling where there are few."""
OF_A_CENTURY = (30, 99)
"""The least and the largest year that is written without its century."""
OF_A_YEAR = re.compile(r"^(yr|year|jahr|annee)(?!s)|(?<!s)(yr|year|jahr|annee)$")
"""Names of years, as birthyr and yronset are."""
NEARLY_ALL = 0.95
"""The share of the values that must have a shape."""
MOST = 0.8
"""The same where the name says so too."""
MIXED = 0.5
"""The share of the records that must hold numbers where the name says that they are ages, and others hold texts."""
SEVERAL_AGES = 20
"""Numbers of a column that begins with ``age`` are ages if there are so many of them."""
SEVERAL_NAMES = 5
"""Values that are written like names of persons are names if there are so many of them."""
FEW_NUMBERS = 30
"""Whole numbers with so many values at most are codes of categories."""
FEW_TEXTS = 200
"""Texts with so many values at most are categories, if they repeat."""
SENTENCE = 25
"""Signs that half of the texts have which say something in words, at least."""
REPEATS = 0.2
"""The share of the records that the values of a category are, at most."""
GAPS = 5
"""Codes lie in a range that has so many times as many numbers, at least."""
SHAPED = ("uuid", "email", "url", "ip", "atc", "icd10", "coordinates", "phone")
"""Shapes that speak for themselves, the most specific first."""
SHAPE_WORDS: Mapping[str, str] = {
    "uuid": "UUIDs", "email": "e-mail addresses", "url": "addresses of the web", "ip": "IP addresses",
    "atc": "ATC codes", "icd10": "ICD-10 codes", "coordinates": "pairs of coordinates", "phone": "telephone numbers",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """What a column looks like, and because of what."""

    kind: str
    because: str


def reading_of(kind: str, of_records: Mapping[str, float]) -> tuple[str, str | None]:
    """Return what the values of a column read as, and the shape that they must have.

    Args:
        kind: ``text``, ``number``, ``moment`` or ``bytes`` (``core/source/beside.py``).
        of_records: shape -> share of the records that have it.
    """

    def holds(shape: str) -> bool:
        return of_records.get(shape, 0.0) >= NEARLY_ALL

    if kind == "moment":
        return ("date", f"date {ISO}") if holds(f"date {ISO}") else ("moment", "moment") if holds("moment") else (
            "text", None)  # fmt: skip
    if kind == "bytes":
        return "text", None
    dated = [written for written in FORMATS if holds(f"date {written}")]
    if kind == "text" and dated:
        return "date", f"date {max(dated, key=lambda written: of_records[f'date {written}'])}"
    if kind == "text" and holds("moment"):
        return "moment", "moment"
    if holds("whole"):
        return "whole", "whole"
    return ("number", "number") if holds("number") else ("text", None)


def is_ambiguous(written: str, of_records: Mapping[str, float]) -> bool:
    """Return whether day and month could change places in all dates that were looked at."""
    other = SWAPPED.get(written)
    return other is not None and of_records.get(f"date {other}", 0.0) == of_records.get(f"date {written}") == 1.0


def look_of(found: ColumnProfile) -> Look:
    """Return what a column looks like, from its counts, shapes and name."""
    if not found.filled:
        return Look("empty", "all of its values are NULL")
    if found.empty == found.filled:
        return Look("empty", "its texts have no characters")
    if found.distinct == 1 and not found.nulls:  # beside NULL, the one value says something of a person
        return Look("constant", "all of its records have the same value")
    named = kinds_of(found.name)
    if any(re.fullmatch("age[a-z]{1,2}", part) for part in parts_of(found.name)) and found.distinct > SEVERAL_AGES:
        named = ("age", *named)  # agea, agec, agedx
    return (
        _by_shape(found)
        or _by_date(found, named)
        or _by_name(found, named)
        or _by_texts(found, named)
        or _by_code(found)
        or _by_counts(found)
    )


def _share(found: ColumnProfile, shape: str) -> float:
    return found.shapes.get(shape, 0.0)


def is_whole(found: ColumnProfile) -> bool:
    """Return whether nearly all values are whole numbers, some of them written as 1.0."""
    wholes = _share(found, "whole") + _share(found, "point_zero")
    return found.reads_as == "whole" or (found.reads_as == "number" and wholes >= NEARLY_ALL)


def _percent(share: float) -> str:
    return "all" if share >= 0.99995 else percent(share)


def _of_values(share: float, what: str) -> str:
    return f"{_percent(share)} of its values {what}"


def _by_shape(found: ColumnProfile) -> Look | None:
    """Return the look of values that speak for themselves."""
    if found.reads_as != "text":
        return None
    for shape in SHAPED:
        named = shape in kinds_of(found.name) or (shape == "icd10" and topic_of(found.name) == "health")
        share = _share(found, shape)
        if shape in ("icd10", "atc") and not named and not _is_code(found):
            continue
        if shape == "icd10" and not named and _of_one_length(found):  # five signs and no point: codes of something else
            continue
        if share >= (MOST if named else NEARLY_ALL):
            return Look(shape, _of_values(share, f"are written like {SHAPE_WORDS[shape]}"))
    held = {shape: _share(found, f"holds {shape}") for shape in CLEAR if shape != "pairs of coordinates"}
    if sum(held.values()) >= HALF:  # a contact is one or the other
        return Look("identifier", _of_values(min(sum(held.values()), 1.0), f"hold {max(held, key=lambda s: held[s])}"))
    if _share(found, "ssn") >= NEARLY_ALL or _share(found, "iban") >= NEARLY_ALL:
        return Look("identifier", "its values are written like numbers of persons or accounts")
    return None


def _of_one_length(found: ColumnProfile) -> bool:
    return found.lengths is not None and found.lengths.usual >= 5 and found.lengths.usual_share >= NEARLY_ALL


def _is_code(found: ColumnProfile) -> bool:
    """Return whether values without a name that says so are codes: several, and longer than those of wards or rooms."""
    return found.distinct >= 10 and not _share(found, "whole") and (found.lengths is None or found.lengths.longest > 3)


def _by_date(found: ColumnProfile, named: tuple[str, ...]) -> Look | None:
    """Return the look of dates, and of years."""
    if found.reads_as in ("date", "moment"):
        written = "" if found.date_format is None else f", written {found.date_format}"
        if "birth_date" in named:
            return Look("birth_date", f"its name speaks of birth, and its values are dates{written}")
        return Look(found.reads_as if found.reads_as == "moment" else "date", f"its values are dates{written}")
    if _share(found, "year") >= NEARLY_ALL and found.reads_as == "whole":
        if "year" in named or "birth_date" in named:
            return Look("year", "its name speaks of it, and its values are years from 1800 to 2099")
        if not named and topic_of(found.name) is None and found.distinct <= 150:
            return Look("year", "its values are whole numbers from 1800 to 2099")
    of_century = found.reads_as == "whole" and found.distinct > 1 and _within(found.spread, *OF_A_CENTURY)
    called = (
        OF_A_YEAR.search("".join(parts_of(found.name))) is not None
        and "age" not in named
        and topic_of(found.name) is None
    )
    if of_century and called and found.spread is not None:
        return Look("year", "its name says so, and its values are years of a century")
    return None


def _within(spread: Spread | None, low: float, high: float) -> bool:
    """Return whether numbers are within bounds; True where there are too few to say."""
    return spread is None or (spread.low >= low - spread.step and spread.high <= high + spread.step)


def _by_name(found: ColumnProfile, named: tuple[str, ...]) -> Look | None:
    """Return the look that the name proposes, if the values allow it."""
    numbers = found.reads_as in ("whole", "number")
    for kind in named:
        says = f"its name says {_in_words(kind)}"
        if kind == "age" and numbers and _within(found.spread, 0, 125):
            return Look("age", f"{says}, and its numbers are within 0 and 125")
        if kind == "age" and is_mixed(found) and found.number_share >= MIXED:
            return Look("age", f"{says}, and {_percent(found.number_share)} of its records hold numbers")
        if kind in ("latitude", "longitude") and numbers:
            limit = 90 if kind == "latitude" else 180
            if _within(found.spread, -limit, limit):
                return Look(kind, f"{says}, and its numbers are within -{limit} and {limit}")
        if kind in ("zip", "postcode"):
            look = _post(found, kind, says)
            if look is not None:
                return look
        if kind == "identifier" and _identifies(found):
            return Look(kind, f"{says}, and {_percent(found.distinction)} of its values differ")
        if kind == "household" and _is_numbered(found) and found.distinct > FEW_NUMBERS:
            return Look(kind, f"{says}, by {found.distinct:,} numbers")
        if kind == "provider" and _names_carers(found):
            return Look("name", f"{says}, and its values are numbers of persons or written like their names")
        if kind == "provider" and found.distinct > 2 and (is_whole(found) or found.reads_as == "text"):
            return Look(kind, f"{says}, by {found.distinct:,} values")
        if kind in ("country", "place") and found.reads_as == "text" and topic_of(found.name) != "marital":
            return Look(kind, says)  # and no civil state
        if kind == "place" and is_whole(found) and found.distinct > 2:
            return Look(kind, f"{says}, by codes")
        if kind in ("name", "address", "free_text", "phone", "email") and _allows_text(found, kind, named):
            return Look(kind, says)
        if kind == "amount" and numbers and found.distinct > FEW_NUMBERS:
            return Look(kind, f"{says}, and its values are numbers")
    if _names_carers(found) and found.lengths is not None and found.lengths.usual_share >= NEARLY_ALL:
        return Look("name", "its name speaks of a person at work, and its values are numbers of one length")
    return None


def _names_carers(found: ColumnProfile) -> bool:
    """Return whether a column names the persons who treat or teach, not their houses."""
    if found.reads_as == "text" and found.distinct > 1 and _share(found, "titled") >= MIXED:
        return True
    if {*CARERS.split()}.isdisjoint(parts_of(found.name)) or found.distinct < SEVERAL_NAMES:
        return False
    return _share(found, "full_name") >= NEARLY_ALL or (is_whole(found) and found.distinct > FEW_TEXTS)


def _speaks_of_a_person(name: str) -> bool:
    """Return whether a word of a name is that of a person, as in ``main_tenant``."""
    return not {*PERSONS, *CARERS.split(), *OTHER_PERSONS.split()}.isdisjoint(parts_of(name))


def _post(found: ColumnProfile, kind: str, says: str) -> Look | None:
    """Return the look of postal codes."""
    five = _share(found, "five_digits") + _share(found, "zip_plus_four")
    if kind == "zip" and (five >= MOST or (found.type != "VARCHAR" and found.reads_as == "whole")):
        return Look("zip", f"{says}, and {_percent(five)} of its values have five digits" if five else says)
    coded = max(five, _share(found, "four_digits"), _share(found, "postcode"), _share(found, "whole"))
    if coded >= MOST:
        return Look("postcode", f"{says}, and {_of_values(coded, 'are written like one')}")
    return None


def _identifies(found: ColumnProfile) -> bool:
    """Return whether the values of a column that is called an identifier point to records or persons."""
    if found.reads_as != "text" and not is_whole(found):  # the balance of an account
        return False
    named = {*parts_of(found.name)} <= {*KINDS["identifier"].split()} or speaks_of_persons(found.name)
    many = found.distinct > FEW_TEXTS and found.distinction >= 0.01
    return many or found.distinction >= 0.5 or (named and found.distinct >= SEVERAL_NAMES and _is_numbered(found))


def _is_numbered(found: ColumnProfile) -> bool:
    """Return whether values are numbers, or codes without a blank."""
    return is_whole(found) or (found.reads_as == "text" and _share(found, "code") >= NEARLY_ALL)


def _allows_text(found: ColumnProfile, kind: str, named: tuple[str, ...]) -> bool:
    if kind == "phone":
        return _share(found, "phone") + _share(found, "whole") >= 0.5 and found.distinct > FEW_NUMBERS
    if kind == "email":
        return _share(found, "email") >= 0.5
    if found.reads_as != "text":
        return False
    if kind == "name":  # of a product or of a country, not of a person
        parts = parts_of(found.name)
        return (
            len(parts) == 1
            or bool(set(parts) & set(PERSONAL))
            or (not set(named) & {"country", "place"} and found.distinction >= 0.01)
        )
    return kind != "free_text" or found.distinction >= REPEATS or _share(found, "words") >= 0.3


def _by_texts(found: ColumnProfile, named: tuple[str, ...]) -> Look | None:
    """Return the look of texts whose name says nothing: sentences, and values that differ in most records."""
    if found.reads_as != "text" or is_mixed(found):
        return None
    if found.distinct > 1 and _share(found, "titled") >= NEARLY_ALL:
        return Look("name", "its values are names with a title")
    known = topic_of(found.name) is not None or set(named) & {"country", "place"}
    if _share(found, "full_name") >= NEARLY_ALL and found.distinct >= SEVERAL_NAMES and not known:
        return Look("name", "its values are written like names of persons")
    capitals = _share(found, "capital_words") >= NEARLY_ALL and _share(found, "code") <= 1 - NEARLY_ALL
    if capitals and found.distinct > FEW_NUMBERS and not known and _speaks_of_a_person(found.name):
        return Look("name", "its name speaks of a person, and its values are capitalized words")
    if _share(found, "words") >= 0.5 and (found.distinction >= REPEATS or found.distinct > FEW_TEXTS):
        return Look("free_text", _of_values(_share(found, "words"), "have five words or more"))
    sentences = _share(found, "words") >= 0.2 and found.lengths is not None and found.lengths.median >= SENTENCE
    if sentences and found.distinct > FEW_TEXTS / 2:
        return Look("free_text", _of_values(_share(found, "words"), "have five words or more"))
    if found.distinction >= 0.5 and found.distinct >= 10:
        if _share(found, "capital_words") >= NEARLY_ALL and not _share(found, "number"):
            return Look("name", "its values are capitalized words, and most of them differ")
        if _share(found, "code") >= NEARLY_ALL:
            return Look("identifier", f"{_percent(found.distinction)} of its values differ, and none holds a blank")
        return Look("free_text", f"{_percent(found.distinction)} of its values differ")
    return None


def _by_code(found: ColumnProfile) -> Look | None:
    """Return the look of whole numbers that are codes: by name, or by ties and gaps in numbers of one length."""
    if not is_whole(found) or found.distinct <= 2:
        return None
    parts = parts_of(found.name)
    if found.distinct > FEW_TEXTS and OF_AN_ID.search(parts[-1] if parts else ""):
        return Look("identifier", f"its name ends with id, and it has {found.distinct:,} whole numbers")
    if found.distinct > MANY_SCHOOLS and {*parts} & {*SCHOOLS} and {*parts} <= {*SCHOOLS, "id", "nr", "no", "code"}:
        return Look("provider", f"its name says school, by {found.distinct:,} numbers")
    if found.distinction > REPEATS:
        return None
    if not {*CODED.split()}.isdisjoint(parts_of(found.name)):
        return Look("code", f"its name says code, and its {found.distinct:,} whole numbers repeat")
    lengths, spread = found.lengths, found.spread
    if lengths is None or spread is None or lengths.usual < 3 or lengths.usual_share < NEARLY_ALL:
        return None
    if _share(found, "point_zero") > 0:  # 500.0: which numbers are round is not known
        return None
    gaps = found.distinct <= FEW_TEXTS and spread.high - spread.low >= GAPS * found.distinct
    if gaps and _share(found, "round") < REPEATS and found.topic != "money":
        return Look("code", f"its whole numbers have {lengths.usual} digits, ties and gaps, as codes have")
    return None


def _by_counts(found: ColumnProfile) -> Look:
    """Return the look of numbers and categories."""
    if found.distinct + (found.nulls > 0) <= 2:
        return Look("flag", "it has two values" if found.distinct == 2 else "it has one value, or none")
    if found.reads_as == "whole":
        if found.distinct <= FEW_NUMBERS:
            return Look("category", f"it has {found.distinct} whole numbers, as codes have")
        if found.distinction >= NEARLY_ALL and found.uniqueness >= NEARLY_ALL and found.filled >= 20:
            return Look("identifier", f"{_percent(found.uniqueness)} of its whole numbers are unique")
        return Look("number", "its values are whole numbers")
    if found.reads_as == "number":
        return Look("number", "its values are numbers")
    if is_mixed(found):
        return Look("other", f"{_percent(found.number_share)} of its records hold numbers, the others texts")
    if found.distinct <= FEW_TEXTS or found.distinction <= REPEATS:
        return Look("category", f"it has {found.distinct:,} values, which repeat")
    return Look("other", "neither its name nor its values are clear")


def _in_words(kind: str) -> str:
    words = {"zip": "ZIP code", "email": "e-mail", "icd10": "ICD-10", "atc": "ATC", "birth_date": "birth",
             "free_text": "free text", "ip": "IP address"}  # fmt: skip
    return words.get(kind, kind)


def year_is_last(written: str) -> bool:
    """Return whether the last four characters are the year; otherwise the first four are."""
    return written.endswith("%Y")
