"""What a column is, by its name in twelve languages, by its values, and by the columns beside it."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlanon
from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.core.hierarchies.specs import Intervals
from sqlanon.core.policy import Model
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
        ("died", "death"), ("zgon", "death"), ("exitus", "death"), ("peso", "body"), ("rs1234567", "biometrics"),
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
        ("account_paid_percent", None), ("share_id", "identifier"), ("account_length", None), ("agegr", "age"),
        ("customer_id_total", "identifier"), ("patient_number_count", "identifier"),
        ("num_assure_social", "identifier"), ("no_client_interne", "identifier"),
        ("agecat5", "age"), ("number_customer_calls", None), ("custo", "amount"), ("nr_of_customer", "identifier"),
        ("international_plan", None), ("nation", "country"),
        ("data_nasc", "birth_date"), ("bairro", "place"), ("DS_OBS", "free_text"),
    ],
)  # fmt: skip
def test_names_say_what_a_column_looks_like_in_many_languages(name: str, kind: str | None) -> None:
    assert next(iter(kinds_of(name)), None) == kind


def test_capitals_are_cut_where_a_word_begins() -> None:
    assert parts_of("HHIncome") == ("hh", "income") and parts_of("PLZ") == ("plz",) and parts_of("CD4count") == (
        "cd4", "count")  # fmt: skip


@pytest.mark.slow
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
        "nodegree": ("education", "quasi_identifier"), "died": ("death", "quasi_identifier"),
        "south": ("residence", "quasi_identifier"), "white": (None, "keep"),
    }  # fmt: skip
    assert found.column("black").reason.startswith("Its name speaks of race or ethnic origin")


@pytest.mark.slow
def test_values_and_neighbours_say_what_a_column_is_about(tmp_path: Path) -> None:
    draw = random.Random(2)
    data = {
        "c1": drawn(draw, "m", "f"),
        "c2": drawn(draw, "Roman Catholic", "protestantisch", "Muslim", "none"),
        "c3": drawn(draw, "Asthma", "Type 2 Diabetes", "Bronchitis", "Fracture of wrist", "check", "other"),
        "c4": drawn(draw, "CDU", "SPD", "Grüne", "FDP", "AfD"),
        "c5": drawn(draw, "verheiratet", "ledig", "geschieden", "verwitwet"),
        "c6": drawn(draw, "t", "f"),
        "c7": drawn(draw, "przemoc domowa", "Alkoholismus", "homeless", "ciąża", "other", "none", "gesucht"),
        "diabetes": drawn(draw, 0, 1),
        "x17": drawn(draw, 0, 1),
        "stroke": drawn(draw, 0, 1),
        "status": drawn(draw, 0, 1),
        "size": drawn(draw, "S", "M", "L"),
    }
    topics = {item.name: item.topic for item in profiled(data, tmp_path).columns}
    assert topics == {
        "c1": "sex", "c2": "religion", "c3": "health", "c4": "politics", "c5": "marital", "c6": None,
        "c7": "hardship", "diabetes": "health", "x17": "health", "stroke": "health", "status": "study", "size": None,
    }  # fmt: skip
    found = profiled(data, tmp_path)
    assert "% of its values are words of it" in found.column("c2").reason
    assert "columns beside it" in found.column("x17").reason


def test_weights_of_surveys_are_no_weights_of_bodies(tmp_path: Path) -> None:
    """By name, or by numbers that no body has; where a sample is spoken of, any weight beside no height is its own."""
    draw = random.Random(5)
    drawn_by = {
        "weight": lambda: round(draw.lognormvariate(0, 0.5), 3), "poids": lambda: round(draw.gauss(74, 13), 1),
        "wt": lambda: round(draw.uniform(50, 90), 6), "gewicht": lambda: round(draw.lognormvariate(7, 0.6), 1),
        "fnlwgt": lambda: draw.randrange(12_000, 900_000), "strata": lambda: draw.randrange(40),
        "height": lambda: draw.randint(150, 199),
    }  # fmt: skip
    data = {name: [of() for _ in range(RECORDS)] for name, of in drawn_by.items()}
    found = profiled(data, tmp_path)
    bodies = {item.name for item in found.columns if item.topic == "body"}
    others = [item for item in found.columns if item.name not in bodies]
    assert bodies == {"poids", "height"} and {item.topic for item in others} == {"sampling"}
    assert {(item.role, item.otherwise) for item in others} == {("drop", "quasi_identifier")}
    del data["height"]
    assert profiled(data, tmp_path).column("poids").topic == "sampling"


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


def test_names_are_dropped_where_they_repeat_and_where_half_of_them_are_missing(tmp_path: Path) -> None:
    """A person has several visits; a contact is a mail address or a telephone number; most of a column is empty."""
    draw = random.Random(6)
    persons = [
        f"{draw.choice('ABCDEFGH')}{draw.choice(['nna', 'lla', 'rik'])}{i % 7 * 'a'} Berg{i}" for i in range(150)
    ]
    names = [
        " ".join(word.rstrip("0123456789") + "abcdefghij"[i % 10] for word in n.split()) for i, n in enumerate(persons)
    ]
    data = {
        "behandelt": drawn(draw, *names),
        "erreichbar": drawn(draw, *[f"p{i}@example.org" for i in range(90)], *[f"+49 30 55{i:04d}" for i in range(60)]),
        "mail": [f"p{i % 40}@example.org" if i % 3 == 0 else None for i in range(RECORDS)],
        "sex": drawn(draw, "m", "f"),
    }
    found = {item.name: item.policy_role for item in profiled(data, tmp_path).columns}
    assert found == {"behandelt": "drop", "erreichbar": "drop", "mail": "drop", "sex": "quasi_identifier"}


@pytest.mark.slow
@pytest.mark.parametrize("is_panel", [True, False])
def test_a_panel_without_an_id_is_said(tmp_path: Path, is_panel: bool) -> None:
    """600 persons in five years, and 3,000 persons of whom each is asked once."""
    draw = random.Random(7)

    def person() -> tuple[str, int, str, int]:
        return draw.choice("mf"), draw.randrange(8, 19), draw.choice(["white", "black", "asian"]), draw.randrange(60)

    persons = [person() for _ in range(600)]
    rows = [(year, *(who if is_panel else person())) for who in persons for year in range(2001, 2006)]
    data = {
        "year": [row[0] for row in rows], "sex": [row[1] for row in rows], "educ": [row[2] for row in rows],
        "race": [row[3] for row in rows], "age": [row[4] + row[0] - 1985 for row in rows],
    }  # fmt: skip
    found = profiled(data, tmp_path)
    said = [warning for warning in found.warnings if "Persons seem to have about" in warning]
    assert bool(said) == is_panel and (not is_panel or "about 5.0 records each" in said[0])
    data["id"] = [place // 5 for place in range(len(rows))]
    assert not any("Persons seem to have" in warning for warning in profiled(data, tmp_path).warnings)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["persons", "towns", "drawn"])
def test_a_panel_is_said_by_the_order_of_records_where_no_column_is_a_period(tmp_path: Path, order: str) -> None:
    """400 persons with five records each, one after the other; not where a column sorts the records, or none does."""
    draw = random.Random(7)
    rows = []
    for _ in range(400):
        who = draw.choice("mf"), draw.randrange(8, 19), draw.choice(["white", "black", "asian"])
        rows += [(*who, draw.randrange(9), draw.choice("abcdefgh")) for _ in range(5)]
    if order == "towns":
        rows.sort(key=lambda row: (row[4], row[0], row[1], row[2]))
    elif order == "drawn":
        draw.shuffle(rows)
    data = dict(zip(("sex", "educ", "race", "visits", "town"), map(list, zip(*rows, strict=True)), strict=True))
    said = [warning for warning in profiled(data, tmp_path).warnings if "Persons seem to have about" in warning]
    assert bool(said) == (order == "persons") and (not said or "about 5.0 records each" in said[0])


def test_numbers_whose_names_end_with_id_are_no_amounts_and_many_schools_no_years(tmp_path: Path) -> None:
    draw = random.Random(3)
    numbers = [draw.randrange(10_000, 99_000) for _ in range(1_500)]
    data = {
        "uid": numbers, "amt_paid": numbers[::-1], "school": [draw.randrange(1, 300) for _ in numbers],
        "schoolyears": [draw.randrange(6, 19) for _ in numbers], "race4": drawn(draw, 1.0, 2.0, 3.0, None)[:1_500],
    }  # fmt: skip
    data["race4"] += [4.0] * (len(numbers) - len(data["race4"]))
    found = profiled(data, tmp_path)
    looks = {item.name: item.looks_like for item in found.columns}
    assert looks["uid"] == "identifier" and looks["amt_paid"] != "identifier"
    assert looks["school"] == "provider" and looks["schoolyears"] not in ("identifier", "provider")
    [race] = [item.keys for item in draft(found).columns if item.name == "race4"]
    assert "intervals" not in race["hierarchy"], "its numbers have no order"


@pytest.mark.parametrize("name", ["familyid", "hhid", "clinicno"])
def test_numbers_of_groups_are_known_by_their_names(name: str) -> None:
    assert {"household", "provider"} & {*kinds_of(name)}


def test_a_number_of_a_child_names_one_and_its_age_and_their_number_do_not(tmp_path: Path) -> None:
    draw = random.Random(2)
    data = {
        "childid": [place // 4 for place in range(640)], "child": drawn(draw, 0, 1, 2)[:640],
        "sex": ["mf"[place // 4 % 2] for place in range(640)], "score": [draw.randrange(90) for _ in range(640)],
        "year": [66 + place % 4 for place in range(640)],
    }  # fmt: skip
    found = profiled(data, tmp_path)
    assert found.column("childid").looks_like == "identifier" and found.column("child").looks_like != "identifier"
    assert found.column("year").looks_like == "year", "written without its century"


@pytest.mark.slow
def test_one_value_beside_null_says_something_of_a_person(tmp_path: Path) -> None:
    """Exports hold "yes" or nothing. Such columns were taken for constants, and kept in silence, any number of them."""
    draw = random.Random(3)
    data: dict[str, list[Any]] = {
        "sex": [draw.choice("mf") for _ in range(1_500)],
        "age": [draw.randrange(20, 80) for _ in range(1_500)],
        "hiv": [draw.choice(["positive", *[None] * 40]) for _ in range(1_500)],
        "ceo_email": ["gerda.schmidt@example.com" if i < 6 else None for i in range(1_500)],
        **{f"q{i}": ["yes" if draw.random() < 0.3 else None for _ in range(1_500)] for i in range(20)},
        "country": ["DE"] * 1_500,
    }
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    found = sqlanon.profile(tmp_path / "t.parquet")
    roles = {item.name: item.policy_role for item in found.columns}
    assert roles["hiv"] != "keep" and roles["ceo_email"] == "drop" and roles["country"] == "keep"
    assert sum(roles[f"q{i}"] == "keep" for i in range(20)) <= 4


def test_names_in_capitals_under_a_word_of_persons_are_dropped(tmp_path: Path) -> None:
    draw = random.Random(4)
    people = [f"{first} DA {last}" for first in ("ANA", "RUI", "EVA", "JOSE") for last in map(chr, range(65, 91))]
    data = {
        "NM_PACIENT": draw.choices([f"{name}UZ" for name in people], k=900),
        "main_tenant": draw.choices([name.title() for name in people], k=900),
        "patient_city": draw.choices([f"Bad {name.title()}" for name in people], k=900),
        "ORD_VALUE": [draw.choice(["low", f"{draw.random() * 9_000:.2f}"]) for _ in range(900)],
        "diagnosis": draw.choices(["I10", "E11"], k=900),
    }
    found = profiled(data, tmp_path)
    assert {name: found.column(name).looks_like for name in ("NM_PACIENT", "main_tenant")} == {
        "NM_PACIENT": "name",
        "main_tenant": "name",
    }
    assert found.column("NM_PACIENT").policy_role == found.column("main_tenant").policy_role == "drop"
    assert found.column("patient_city").looks_like == "place" and found.column("ORD_VALUE").role != "sensitive"


@pytest.mark.parametrize(("sign", "keys"), [("$", {"thousands": ",", "unit": "$"}), ("€", None)])
def test_dollars_have_thousands_and_euros_are_asked(tmp_path: Path, sign: str, keys: dict[str, str] | None) -> None:
    draw = random.Random(8)
    rows = [f"{sign}{draw.randrange(1_000, 99_000):,};{draw.choice('ab')}" for _ in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["cost;kind", *rows]), encoding="utf-8")
    assert sqlanon.profile(tmp_path / "t.csv").csv.get("columns", {}).get("cost") == keys


def test_numbers_of_persons_at_work_are_dropped_and_what_is_counted_of_them_is_not() -> None:
    draw = random.Random(8)
    badges = draw.sample(range(1000, 10_000), 300)
    data = {
        "officer_badge": draw.choices(badges, k=3_000),
        "Rendering_NPI": draw.choices([10**9 + badge for badge in badges], k=3_000),
        "teacher_hours": [int(draw.expovariate(1 / 150)) for _ in range(3_000)],
        "C.P.": draw.choices(["28001", "28021", "28041", "28901"], k=3_000),
    }
    looks = {item.name: item.looks_like for item in profile(pa.table(data)).columns}
    assert [looks["officer_badge"], looks["Rendering_NPI"], looks["C.P."]] == ["name", "name", "postcode"]
    assert looks["teacher_hours"] != "name"


@pytest.mark.slow
def test_what_the_values_of_a_column_say_beside_its_name(tmp_path: Path) -> None:
    draw = random.Random(3)
    ended = drawn(draw, "J", "N", "N")
    data = {
        "agea": drawn(draw, *range(15, 95)),
        "agency": drawn(draw, *range(15)),
        "account_balance": [round(draw.gauss(900, 300), 2) for _ in range(RECORDS)],
        "district": drawn(draw, "north", "south", "east", "west"),
        "lat": [round(48 + draw.random(), 5) for _ in range(RECORDS)],
        "lon": [round(16 + draw.random(), 5) for _ in range(RECORDS)],
        "burgerlijke staat": drawn(draw, "gehuwd", "ongehuwd", "weduwe"),
        "income": drawn(draw, *range(1_000, 9_000, 10)),
        "disease": drawn(draw, *["no"] * 19, "yes"),
        "ended": ended,
        "end_reason": [draw.choice("abc") if item == "J" else None for item in ended],
    }
    found = profiled(data, tmp_path)
    looks = {item.name: item.looks_like for item in found.columns}
    assert looks["agea"] == "age" and looks["agency"] == "category" and looks["account_balance"] == "amount"
    assert looks["burgerlijke staat"] == "category" and found.column("burgerlijke staat").topic == "marital"
    assert {found.column(name).leader for name in ("lat", "lon")} == {"district"}, "half a point says nothing"
    assert own_role(found.column("income")) == "quasi_identifier", "exact numbers together single persons out"
    assert {item.name: item.decides for item in found.columns if item.decides} == {"ended": ("end_reason",)}
    assert found.column("ended").leader is None
    made = draft(found, folder=tmp_path).policy
    [model] = next(item.models for item in made.columns if item.name == "disease")
    assert model == Model("t_closeness", {"t": 0.3}), "19 of 20 have none: that value may stand alone"


@pytest.mark.slow
def test_no_column_names_persons_twice_where_each_record_has_its_own(tmp_path: Path) -> None:
    draw = random.Random(4)
    mails = [f"{draw.choice('abcdefgh')}{draw.randrange(90)}@example.org" for _ in range(RECORDS)]
    data = {"employee_id": [*range(RECORDS)], "email": mails, "sex": drawn(draw, "m", "f"), "job": drawn(draw, *"abcd")}
    assert draft(profiled(data, tmp_path), folder=tmp_path).policy.entity is None
    del data["employee_id"]
    assert draft(profiled(data, tmp_path), folder=tmp_path).policy.entity == "email"
    del data["email"]
    first = drawn(draw, "Ann", "Bob", "Cem", "Dora", "Eva", "Finn", "Gina", "Hans")
    data |= {"firstname": first, "sex": ["fm"[item in ("Bob", "Cem", "Finn", "Hans")] for item in first]}
    data["born"] = [1950 + len(item) for item in first]
    assert draft(profiled(data, tmp_path), folder=tmp_path).policy.entity is None, "many persons are called Ann"


@pytest.mark.parametrize("name", ["patient_id1", "pid1", "subject2"])
def test_a_number_of_few_persons_is_dropped_and_counted_by(tmp_path: Path, name: str) -> None:
    draw = random.Random(4)
    data = {name: [place % 10 for place in range(600)], "age": [draw.randrange(20, 80) for _ in range(600)]}
    made = draft(profiled(data, tmp_path))
    assert {item.name: item.role for item in made.policy.columns}[name] == "drop" and made.policy.entity == name


@pytest.mark.parametrize("far", [1e200, 1.7e308, float("nan")])
def test_a_number_far_beyond_all_others_is_profiled(tmp_path: Path, far: float) -> None:
    draw = random.Random(4)
    data = {name: [draw.gauss(50, 9) for _ in range(400)] for name in ("x", "y")}
    data["x"][7] = far
    assert {item.name for item in profiled(data, tmp_path).columns} == {"x", "y"}
