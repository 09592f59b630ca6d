"""What names persons by what it is: columns whose name or whose values say so, however often their values repeat.

A person who has many records has them under one mail address. So counts alone do not find it: here the name of a
column and the shapes of its distinct values speak; the database counts them. Some shapes speak for themselves. Others
(two capitalized words, a sentence, a long code) are those of categories too: they count where a column has many values
and few records each, or about as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.core.audit.beside import judge_columns
from sqlanon.core.audit.judged_columns import FEWEST, JudgedColumn, SourceColumn
from sqlanon.core.audit.trees import rows_of_all
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.vocabulary import PERSONAL
from sqlanon.core.source.words import kinds_of, parts_of, speaks_of_persons
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, named, number, sum_if

HALF = 0.5
"""The share of the distinct values that must have a shape: the others may be placeholders and slips."""
MANY = 30
"""Categories have so many values at most; a column has more if a shape that categories have too is to speak."""
CLEAR: dict[str, str] = {
    "e-mail addresses": r"[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,}",
    "numbers of social security": r"(^|[^0-9])[0-9]{3}-[0-9]{2}-[0-9]{4}([^0-9]|$)",
    "telephone numbers": (
        r"(^|[^0-9A-Za-z])(\+[1-9][0-9 ()./-]{6,18}[0-9]|\(?[0-9]{3}\)?[ .-][0-9]{3}[ .-][0-9]{4})([^0-9]|$)"
    ),
    "numbers of accounts": r"^ *[A-Za-z]{2}[0-9]{2} ?([0-9A-Za-z]{4} ?){3,7}[0-9A-Za-z]{0,4} *$",
    "UUIDs": r"[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "IP addresses": r"^ *([0-9]{1,3}\.){3}[0-9]{1,3} *$",
    "pairs of coordinates": r"-?[0-9]{1,3}\.[0-9]{3,}[^0-9]{1,20}-?[0-9]{1,3}\.[0-9]{3,}",
}
"""Shapes that speak for themselves, wherever they stand in a value."""
VAGUE: dict[str, str] = {
    "addresses of the web": r"(https?://|www\.)[^ ]+",
    "names of persons": (
        r"^ *((Dr|Prof|Mr|Mrs|Ms|Herr|Frau)\.? +)?[A-ZÀ-Þ][A-Za-zà-ÿ'-]+,?( +[A-ZÀ-Þ]\.)?"
        r"( +[A-ZÀ-Þ][A-Za-zà-ÿ'-]+){1,2} *$"
    ),
    "sentences": r"^ *[^ ]+( +[^ ]+){4,}",
    "documents": r"^ *[{\[<]",
    "numbers of many digits": r"[0-9]{6,}[1-9](\.0*)?( *$|[^0-9.])",
    "long codes": r"[A-Za-z0-9+/_=-]{16,}",
}
"""Shapes that names of persons share with categories."""
_DATE = r"(^|[^0-9])({0}[-./][0-9]{{1,2}}[-./][0-9]{{1,2}}|[0-9]{{1,2}}[-./][0-9]{{1,2}}[-./]{0})([^0-9]|$)"
BORN: dict[str, str] = {
    years: _DATE.format(years) for years in ("19[0-4][0-9]", "19[56][0-9]", "19[78][0-9]", "(199[0-9]|20[0-9][0-9])")
}
"""Dates of four generations."""
GENERATIONS = 3
"""Dates of birth lie in so many of them at least, with ``OF_EACH`` of the values in each; dates of visits seldom do.
A column whose name says that it is a date of something is not taken for a birth."""
OF_EACH = 0.05
DIGITS = "numbers of many digits"
NAMED = {
    "email": "e-mail addresses", "phone": "telephone numbers", "name": "names", "address": "addresses",
    "identifier": "identifiers", "free_text": "free text", "latitude": "coordinates", "longitude": "coordinates",
    "coordinates": "coordinates", "birth_date": "birth",
}  # fmt: skip
"""What the name of a column says -> what it then holds."""
OF_ONE = (
    "ssn", "nhs", "mrn", "nino", "iban", "cpr", "bsn", "pesel", "sozialversicherungsnummer", "svnr", "passport",
    "reisepass", "ausweis", "personalnummer", "matrikelnummer", "steuernummer", "steuerid", "login", "username",
    "userid", "medicalrecord", "kundennummer", "patientennummer",
)  # fmt: skip
"""Words of identifiers that only persons have, however many records they have."""
PERIODS = (
    "day", "month", "year", "tag", "monat", "jahr", "jour", "mois", "annee", "dia", "mes", "ano", "anio", "giorno",
    "anno",
)  # fmt: skip
"""Words of the parts of a date."""
OF_NUMBERS = ("identifier", "phone", "latitude", "longitude")
"""What the name of a column of numbers may say."""


def judge_published(
    engine: Engine,
    relation: exp.Expr,
    columns: Sequence[SourceColumn],
    quasi_identifiers: Sequence[SourceColumn],
    *,
    entity: exp.Expr | None = None,
    k: int = 2,
    records: int = 0,
) -> tuple[JudgedColumn, ...]:
    """Judge columns by their counts, by their names and by the shapes of their values (``core/audit/beside.py``).

    Parts of a name, coordinates in two columns, and day, month and year of birth are judged as one column too.
    """
    every = [*columns, *_joined(columns)]
    found = judge_columns(engine, relation, every, quasi_identifiers, entity=entity, k=max(2, k), records=records)
    found = _by_name_and_shape(engine, relation, columns, found)
    alone = {name for item in found if item.identifies and not item.parts for name in item.names}
    return tuple(item for item in found if not item.parts or (item.identifies and not alone & set(item.parts)))


def _joined(columns: Sequence[SourceColumn]) -> list[SourceColumn]:
    """Return columns that join those which name a person, a place or a day of birth only together."""
    published = [item for item in columns if item.role != "drop" and item.travels is None]
    of_names = [item for item in published if item.kind == "text" and _names_persons(item.name)]
    places = [item for item in published if {"latitude", "longitude"} & set(kinds_of(_own_name(item.name)))]
    births = [item for item in published if is_a_part_of_birth(_own_name(item.name))]
    joined = []
    for parts in (of_names, places, births):
        if len(parts) < 2:
            continue
        value: exp.Expr = exp.cast(parts[0].compared, "VARCHAR")
        for item in parts[1:]:
            text = exp.DPipe(this=exp.Literal.string("|"), expression=exp.cast(item.compared, "VARCHAR"), safe=True)
            value = exp.DPipe(this=value, expression=text, safe=True)
        names = tuple(item.name for item in parts)
        joined.append(SourceColumn(" with ".join(names), "keep", "text", value, parts=names))
    return joined


def _by_name_and_shape(
    engine: Engine, relation: exp.Expr, columns: Sequence[SourceColumn], found: Sequence[JudgedColumn]
) -> tuple[JudgedColumn, ...]:
    """Return the columns with what their names and shapes say; one statement asks for all shapes."""
    own = {item.name: item for item in columns}
    named_so = {item.name: _by_name(item) for item in found}
    shaped = [
        item
        for item in found
        if item.role != "drop" and not item.identifies and not named_so.get(item.name)
        and not item.parts and item.values >= FEWEST
        and (item.kind in ("text", "moment") or (item.kind == "number" and item.whole))
    ]  # fmt: skip
    shapes = {**CLEAR, **VAGUE, **BORN}
    questions = []
    for place, item in enumerate(shaped):
        value = column("sqlanon_value")
        counts: list[exp.Expr] = []
        for shape, pattern in shapes.items():
            matches = exp.RegexpLike(this=value.copy(), expression=exp.Literal.string(pattern))
            asked = item.kind == "text" or shape in ((DIGITS,) if item.kind == "number" else BORN)
            counts.append(named(sum_if(matches, number(1)) if asked else number(0), f"shape_{len(counts)}"))
        texts = exp.cast(own[item.name].compared, "VARCHAR")
        query = bind(
            "audit/shaped_values.sql",
            relations={"source": relation},
            columns={"audited_column": [texts], "shaped": counts},
        )
        query.set("expressions", [named(number(place), "place"), *query.expressions])
        questions.append(query)
    for place, values, *counted in rows_of_all(engine, "shapes beside", questions):
        shares = {shape: int(count) / int(values) for shape, count in zip(shapes, counted, strict=True)}
        item = shaped[int(place)]
        named_so[item.name] = _by_shape(item, shares)
    return tuple(
        replace(item, known=named_so.get(item.name, ""), entity_like=item.entity_like or _is_called_a_key(item))
        for item in found
    )


def _is_called_a_key(found: JudgedColumn) -> bool:
    """Return whether a column that is not published is called the key of persons, and has some records a value."""
    called = "identifier" in kinds_of(_own_name(found.name))
    often = found.may_name or _speaks_of_one(found.name)
    return found.role == "drop" and called and found.values > MANY and often


def _by_shape(found: JudgedColumn, shares: dict[str, float]) -> str:
    """Return in words what the shapes of most values say; nothing if they may be categories."""
    spoken = [shape for shape in CLEAR if shares[shape] >= HALF]
    if not spoken and found.values > MANY and found.may_name:
        spoken = [shape for shape in VAGUE if shares[shape] >= HALF]
    ages = [shares[shape] for shape in BORN] if "date" not in kinds_of(_own_name(found.name)) else []
    if found.values > MANY and sum(share >= OF_EACH for share in ages) >= GENERATIONS and sum(ages) >= HALF:
        spoken = ["dates of birth"]
    return f"they look like {spoken[0]}" if spoken else ""


def _by_name(found: JudgedColumn) -> str:
    """Return in words what the name of a column says, if its values allow it."""
    if found.role == "drop" or found.values < FEWEST:
        return ""
    if found.parts:
        return "together they name persons, places or days of birth" if found.values > MANY and found.may_name else ""
    kinds = kinds_of(_own_name(found.name))
    if found.kind == "moment":
        return "its name speaks of birth, and it holds dates" if "birth_date" in kinds else ""
    of_one = _speaks_of_one(found.name)
    if found.kind == "text" and "name" in kinds and of_one:
        return f"its name speaks of {NAMED['name']}"
    if found.values <= MANY or not (found.may_name or ("identifier" in kinds and of_one)):
        return ""
    if found.kind == "number":
        kinds = tuple(kind for kind in kinds if kind in OF_NUMBERS)
    elif {"place", "country"} & {*kinds}:  # of birth
        kinds = tuple(kind for kind in kinds if kind != "birth_date")
    for kind in kinds:
        if kind in NAMED and (kind != "name" or _names_persons(found.name)):
            return f"its name speaks of {NAMED[kind]}"
    return ""


def _speaks_of_one(name: str) -> bool:
    """Return whether the name of a column has a word that is about one person."""
    own = _own_name(name)
    return speaks_of_persons(own) or not {*PERSONAL, *OF_ONE}.isdisjoint(parts_of(own))


def _names_persons(name: str) -> bool:
    """Return whether a column is called a name, and not that of a product or a place."""
    parts = parts_of(_own_name(name))
    return "name" in kinds_of(_own_name(name)) and (len(parts) == 1 or bool(set(parts) & set(PERSONAL)))


def is_a_part_of_birth(name: str) -> bool:
    """Return whether a column is called the day, month or year of birth."""
    own = "".join(parts_of(name))
    return "birth_date" in kinds_of(name) and any(word in own for word in PERIODS)


def _own_name(name: str) -> str:
    """Return the name of a column without the table before it."""
    return name.rpartition(".")[2]


def in_words(found: Iterable[JudgedColumn]) -> str:
    """Return how columns identify persons, with figures."""
    return ", ".join(item.described() for item in found)
