"""Ages, prefixes, codes, ZIP areas, frequent values and dates in texts: on every engine what plain Python says."""

import datetime
import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import brute_hierarchies as brute
import pyarrow as pa
import pytest
from engine_kinds import Kind, encoded

from sqlanon.core.compiler.encoded_source import COVERED
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, lookup_rows

ODD = ["", " ", "*", "x", "J", "-", "é", "00", "12-3", "(other)", "😀😀😀", "1e3", "a'b", "NaN", "٣٤", "123456", "AT1 "]
SMALL = {row[0] for row in brute.shipped("zip3_small.csv")}
AT = datetime.date(2024, 2, 29)


def _codes(draw: random.Random) -> list[str]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    icd = [f"{draw.choice(letters)}{draw.randrange(100):02}{draw.choice(['', '.1', '.90', '-'])}" for _ in range(60)]
    icd += ["j45.0", "C4A.1", "Z3A", "D49", "B99", "A29", "U07.1"]
    lands = [draw.choice(row)[:60].split("|")[0] for row in brute.shipped("countries.csv") for _ in range(1)]
    lands += ["at", "Usa", "côte d'ivoire", "Côte d'Ivoire", "CÔTE D'IVOIRE", "Austria-Hungary"]
    other = ["a02bc01", "N02B", "N", "AT13", "DE", "de3", "u4pruydqqvj", "U4PRU", "u4pa"]
    zips = ["02138", "2138", "02138-1234", "021381234", "0213812", "036", "03601", "3601", "99950 12", "82190"]
    zips += ["00000", "00012"]  # placeholders
    return [*icd, *draw.sample(lands, 40), *lands[-6:], *other, *zips, *ODD]


def _texts_of_dates(draw: random.Random, form: str) -> list[str]:
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(draw.randrange(40_000)) for _ in range(30)]
    written = [day.strftime(form) for day in days]
    short = [text.replace(".0", ".").removeprefix("0") for text in written] if "." in form else []
    return [*written, *short, "31.02.2020", "2020-02-30", "20200230", "1.1.20", "01.13.2020", *ODD]


Expected = Callable[[str], list[str] | None]
CASES: list[tuple[str, Any, list[str], Expected]] = [
    ("prefix", {"prefix": [5, 3, 1]}, [], lambda v: brute.prefix(v, [5, 3, 1], "*")),
    ("unmarked", {"prefix": {"lengths": [2], "mark": ""}}, [], lambda v: brute.prefix(v, [2], "")),
    ("icd10", {"codes": "icd10"}, [], brute.icd10),
    ("countries", {"codes": "countries"}, [], brute.country),
    ("atc", {"codes": "atc"}, [], brute.atc),
    ("nuts", {"codes": "nuts"}, [], brute.nuts),
    ("geohash", {"codes": "geohash"}, [], brute.geohash),
    ("zip3", {"zip3": {}}, [], lambda v: brute.zip3(v, SMALL)),
    ("zip3_of_list", {"zip3": {"small": ["021", "999"]}}, [], lambda v: brute.zip3(v, {"021", "999"})),
]
for form, chain in (
    ("%d.%m.%Y", ["day", "month", "quarter", "half_year", "year", "five_years", "decade", "twenty_years"]),
    ("%Y-%m-%d", ["weekday", "weekend"]),
    ("%Y-%m-%d", ["week", "week_year"]),
    ("%Y%m%d", ["month_of_year", "quarter_of_year"]),
    ("%m/%d/%Y", ["day", "season"]),
    ("%d %b %Y", ["month"]),
):
    written = _texts_of_dates(random.Random(form), form)
    CASES.append((f"{form} {chain[0]}", {"dates": {"levels": chain, "format": form}}, written,
                  lambda v, chain=chain, form=form: brute.dates(v, chain, form)))  # type: ignore[misc]  # fmt: skip


def _rows(kind: Kind, request: pytest.FixtureRequest, data: pa.Table, hierarchies: dict[str, Any]) -> dict[str, dict]:
    """By column, its values with their levels; an uncovered value has none."""
    columns = {name: {"role": "quasi_identifier", "hierarchy": spec} for name, spec in hierarchies.items()}
    document = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 2}], "uncovered": "suppress"}
    with closing(kind.open(request)) as engine:
        found = encoded(engine, data, document)
        result: dict[str, dict] = {}
        for position, item in enumerate(found.encoding.catalog.attributes):
            shown = [column("value"), column(COVERED), *[column(names.level(n)) for n in range(1, item.height)]]
            rows = engine.run("lookup", lookup_rows(position).this.copy().select(*shown, append=False))
            result[item.name] = {row[0]: list(row[2:]) if row[1] == 1 else None for row in rows}
        return result


@pytest.mark.slow
def test_texts_have_the_levels_of_plain_python(kind: Kind, request: pytest.FixtureRequest) -> None:
    draw = random.Random(5)
    shared = list(dict.fromkeys(_codes(draw)))
    own = {name: list(dict.fromkeys(values or shared)) for name, _, values, _ in CASES}
    longest = max(map(len, own.values()))
    data = pa.table({name: [values[i % len(values)] for i in range(longest)] for name, values in own.items()})
    found = _rows(kind, request, data, {name: spec for name, spec, _, _ in CASES})
    for name, _, _, expected in CASES:
        for value in own[name]:
            assert found[name][value] == expected(value), (name, value)


def test_frequent_values_are_counted_in_the_database(kind: Kind, request: pytest.FixtureRequest) -> None:
    draw = random.Random(7)
    values = [draw.choice("aaaaaaaabbbbccd*'") for _ in range(200)] + ["(other)"] * 3 + [None] * 30
    found = _rows(kind, request, pa.table({"v": values}), {"v": {"frequent": [20, 60]}})["v"]
    counts = Counter(values)
    del found[None]
    assert found == {v: brute.frequent(v, counts[v], [20, 60], "(other)") for v in counts if v is not None}
    assert {len(set(levels or [])) for levels in found.values()} >= {0, 2, 3}


def test_ages_and_numbers_in_texts(kind: Kind, request: pytest.FixtureRequest) -> None:
    draw = random.Random(9)
    days = [datetime.date(1915, 1, 1) + datetime.timedelta(draw.randrange(42_000)) for _ in range(80)]
    days += [datetime.date(year, 2, 28 + leap) for year, leap in ((1934, 0), (1934, 0), (1932, 1), (2000, 1))]
    numbers = ["12", "-3", "+7", "0012", "12.5", ".5", "5.", "1e3", "n/a", "", "--1", "1-2", " 3", "9.99", "10", "-0"]
    data = pa.table({
        "birth": days,
        "text": [day.strftime("%d.%m.%Y") for day in days],
        "mixed": [numbers[i % len(numbers)] for i in range(len(days))],
    })  # fmt: skip
    ages = {"at": AT.isoformat(), "fanouts": [5, 2]}
    found = _rows(kind, request, data, {
        "birth": {"ages": ages},
        "text": {"ages": {**ages, "format": "%d.%m.%Y"}},
        "mixed": {"intervals": {"width": 5, "fanouts": [2], "lower": 0, "upper": 10}},
    })  # fmt: skip
    for day in days:
        expected = brute.interval(brute.age(day, AT), [1, 5, 10], 0, 90)
        assert found["birth"][day.isoformat()] == found["text"][day.strftime("%d.%m.%Y")] == expected
    good = {"12": 12, "-3": -3, "+7": 7, "0012": 12, "12.5": 12, ".5": 0, "5.": 5, "9.99": 9, "10": 10, "-0": 0}
    for text in numbers:
        assert found["mixed"][text] == (brute.interval(good[text], [5, 10], 0, 10) if text in good else None), text
