"""What a column is, by its name in twelve languages, by its values, and by the columns beside it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlanon
from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.core.hierarchies.specs import Intervals
from sqlanon.core.source.words import kinds_of, parts_of

RECORDS = 2_000


def profiled(data: dict[str, Any], tmp_path: Path) -> Profile:
    pq.write_table(pa.table(data), tmp_path / "table.parquet")
    return sqlanon.profile(tmp_path / "table.parquet")


def drawn(draw: random.Random, *values: Any) -> list[Any]:
    return [draw.choice(values) for _ in range(RECORDS)]


def own_role(found: ColumnProfile) -> str:
    """Return the role that a column has by itself, before what the others leave of it."""
    return found.otherwise or found.role


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("płeć", "sex"), ("kön", "sex"), ("cinsiyet", "sex"), ("sesso", "sex"), ("geslacht", "sex"),
        ("stan_cywilny", "marital"), ("estado_civil", "marital"), ("medeni durum", "marital"), ("marstat", "marital"),
        ("wyznanie", "religion"), ("relig4", "religion"), ("doença", "health"), ("rozpoznanie", "health"),
        ("DIAG1", "health"), ("dx2", "health"), ("hcpcs_cd", "health"), ("SysBP", "health"), ("HbA1c", "health"),
        ("hhinc", "money"), ("maaş", "money"), ("wynagrodzenie", "money"), ("lwage", "money"),
        ("mothereduc", "education"), ("wykształcenie", "education"), ("yrke", "occupation"), ("NKids", "household"),
        ("died", "study"), ("zgon", "study"), ("exitus", "study"), ("peso", "body"), ("rs1234567", "biometrics"),
        ("information", None), ("statement", None), ("reduced", None), ("placebo_lot", "study"), ("average", None),
    ],
)  # fmt: skip
def test_names_are_about_something_in_many_languages(name: str, topic: str | None) -> None:
    assert topic_of(name) == topic


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("data_urodzenia", "birth_date"), ("fødselsdato", "birth_date"), ("data_nascimento", "birth_date"),
        ("gebj", "birth_date"), ("kod_pocztowy", "postcode"), ("miasto", "place"), ("gemeente", "place"),
        ("county_fips", "place"), ("imię", "name"), ("etternavn", "name"), ("wiek", "age"), ("idade", "age"),
        ("household_id", "household"), ("HHNr", "household"), ("hospital_id", "provider"), ("NPI", "provider"),
        ("hospital_days", None), ("household_income", "amount"), ("platelet", None), ("nr_pacjenta", "identifier"),
    ],
)  # fmt: skip
def test_names_say_what_a_column_looks_like_in_many_languages(name: str, kind: str | None) -> None:
    assert next(iter(kinds_of(name)), None) == kind


def test_capitals_are_cut_where_a_word_begins() -> None:
    assert parts_of("HHIncome") == ("hh", "income") and parts_of("PLZ") == ("plz",) and parts_of("CD4count") == (
        "cd4", "count")  # fmt: skip


def test_flags_have_the_topic_of_the_value_that_they_are_called_by(tmp_path: Path) -> None:
    """Race, sex and death as 0 and 1, as Y and N, and as T and F are no flags that nobody knows."""
    draw = random.Random(1)
    data = {
        "black": drawn(draw, 0, 1),
        "hispan": drawn(draw, "Y", "N"),
        "male": drawn(draw, "T", "F"),
        "married": drawn(draw, 1, 2),
        "nodegree": drawn(draw, 0, 1),
        "died": drawn(draw, *[0] * 8, 1),
        "south": drawn(draw, 0, 1),
        "white": drawn(draw, *range(40)),
    }
    found = profiled(data, tmp_path)
    assert {item.name: (item.topic, own_role(item)) for item in found.columns} == {
        "black": ("race", "quasi_identifier"), "hispan": ("race", "quasi_identifier"),
        "male": ("sex", "quasi_identifier"), "married": ("marital", "quasi_identifier"),
        "nodegree": ("education", "quasi_identifier"), "died": ("study", "sensitive"),
        "south": ("residence", "quasi_identifier"), "white": (None, "keep"),
    }  # fmt: skip
    assert found.column("black").reason.startswith("Its name speaks of race or ethnic origin")


def test_values_and_neighbours_say_what_a_column_is_about(tmp_path: Path) -> None:
    draw = random.Random(2)
    data = {
        "c1": drawn(draw, "m", "f"),
        "c2": drawn(draw, "Roman Catholic", "protestantisch", "Muslim", "none"),
        "c3": drawn(draw, "Asthma", "Type 2 Diabetes", "Bronchitis", "Fracture of wrist", "check", "other"),
        "c4": drawn(draw, "CDU", "SPD", "Grüne", "FDP", "AfD"),
        "c5": drawn(draw, "verheiratet", "ledig", "geschieden", "verwitwet"),
        "c6": drawn(draw, "t", "f"),
        "diabetes": drawn(draw, 0, 1),
        "x17": drawn(draw, 0, 1),
        "stroke": drawn(draw, 0, 1),
        "status": drawn(draw, 0, 1),
        "size": drawn(draw, "S", "M", "L"),
    }
    topics = {item.name: item.topic for item in profiled(data, tmp_path).columns}
    assert topics == {
        "c1": "sex", "c2": "religion", "c3": "health", "c4": "politics", "c5": "marital", "c6": None,
        "diabetes": "health", "x17": "health", "stroke": "health", "status": "study", "size": None,
    }  # fmt: skip
    found = profiled(data, tmp_path)
    assert "% of its values are words of it" in found.column("c2").reason
    assert "columns beside it" in found.column("x17").reason


def test_codes_are_no_numbers(tmp_path: Path) -> None:
    """By name, and by ties and gaps in numbers of one length; measured and round numbers are none."""
    draw = random.Random(3)
    wards = [draw.randrange(1_000, 9_999) for _ in range(60)]
    data = {
        "gender_concept_id": drawn(draw, 8507, 8532, 8551),
        "unit": drawn(draw, *wards),
        "adm_typ": drawn(draw, 1, 2, 3, 4, 7, 9),
        "pressure": [round(draw.gauss(130, 15)) for _ in range(RECORDS)],
        "paid": [draw.randrange(100, 990) * 10 for _ in range(RECORDS)],
    }
    found = profiled(data, tmp_path)
    looks = {item.name: item.looks_like for item in found.columns}
    assert looks == {
        "gender_concept_id": "code", "unit": "code", "adm_typ": "code", "pressure": "number", "paid": "number",
    }  # fmt: skip
    kinds = {item.name: item.hierarchy for item in draft(found).policy.quasi_identifiers}
    assert "unit" in kinds and not any(isinstance(kinds[name], Intervals) for name in {"unit", "adm_typ"} & {*kinds})


def test_households_and_providers_are_never_kept(tmp_path: Path) -> None:
    draw = random.Random(4)
    data = {
        "hh": drawn(draw, *range(700)),
        "hospital_id": drawn(draw, *range(1_000, 1_040)),
        "station": drawn(draw, "A1", "A2", "B1", "C3"),
        "fips": drawn(draw, *range(17_001, 17_050)),
        "patient_id": drawn(draw, *range(150)),
        "household_income": [draw.randrange(1_000) * 7 for _ in range(RECORDS)],
    }
    found = {item.name: (item.looks_like, own_role(item)) for item in profiled(data, tmp_path).columns}
    assert found["hh"] == ("household", "identifier") and found["patient_id"] == ("identifier", "identifier")
    assert found["hospital_id"] == found["station"] == ("provider", "quasi_identifier")
    assert found["fips"] == ("place", "quasi_identifier") and found["household_income"][0] == "amount"


@pytest.mark.parametrize("places", [1, 2, 4])
def test_measurements_of_health_are_not_published_in_full_precision(tmp_path: Path, places: int) -> None:
    draw = random.Random(5)
    data = {"bmi": [round(draw.gauss(26, 5), places) for _ in range(300)], "sex": [i % 2 for i in range(300)]}
    found = profiled(data, tmp_path).column("bmi")
    assert found.role == "quasi_identifier" and "health" in found.reason
