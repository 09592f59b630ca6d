"""Columns that say the same are found, become one attribute, and tell no more together than their leader."""

import datetime
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import seeds
from engine_kinds import KINDS, SOURCE, Kind

import sqlanon
from sqlanon.assess.profiling.attributes import find_attributes
from sqlanon.assess.profiling.dependencies import NEARLY, Dependency, find_dependencies
from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.profile import profile, profile_source
from sqlanon.assess.profiling.text import profile_lines
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
CITIES = {"8010": "Graz", "8020": "Graz", "8041": "Graz", "1010": "Wien", "1100": "Wien", "5020": "Salzburg",
          "5026": "Salzburg", "6020": "Innsbruck", "6900": "Bregenz", "9020": "Klagenfurt", "4020": "Linz"}  # fmt: skip
STATES = {"8": "Steiermark", "1": "Wien", "5": "Salzburg", "6": "Tirol", "9": "Kärnten", "4": "Oberösterreich"}


def _persons(records: int, seed: int = 3) -> dict[str, list[Any]]:
    """Persons with a birth in four columns, a sex in two, a place in three, one of which has slips."""
    chance = random.Random(seed)
    rows = []
    for number in range(records):
        born = datetime.date(1935, 1, 1) + datetime.timedelta(days=chance.randrange(27_000))
        code = chance.choice([*CITIES, "8010", "8020", "1010"])
        sex = chance.choice([8507, 8532])
        state = "Tirol" if number % 400 == 7 else STATES[code[0]]
        rows.append(
            (number, born, born.year, born.month, born.day, born.strftime("%A"), sex, "FM"[sex == 8507], code,
             CITIES[code], state, chance.choice(["a", "b", "c"]))
        )  # fmt: skip
    names = ("person_id", "birth_datetime", "year_of_birth", "month_of_birth", "day_of_birth", "born_on",
             "gender_concept_id", "gender_source_value", "PLZ", "Ort", "Bundesland", "ward")  # fmt: skip
    return dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))


def _stored(data: dict[str, list[Any]], folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", pa.table(data))
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return str(folder / "t.duckdb")


def _groups(found: Profile) -> dict[str, dict[str, tuple[str, int]]]:
    return {item.leader: {each.column: (each.how, each.breaks) for each in item.followers} for item in found.attributes}


def _smallest_class(release: Path, columns: Sequence[str]) -> int:
    keys = ", ".join(f'"{name}"' for name in columns)
    [(smallest,)] = duckdb.sql(f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM '{release}' GROUP BY {keys})").fetchall()
    return int(smallest)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_an_attribute_has_one_leader_on_every_engine(kind: Kind, request: pytest.FixtureRequest) -> None:
    engine = kind.open(request)
    try:
        data = _persons(3000) | {"birth_datetime": [f"{day}" for day in _persons(3000)["birth_datetime"]]}
        engine.load("source", SOURCE, pa.table(data), replayed=False)
        found = profile_source(
            Source(engine, table(SOURCE), dict(engine.catalog.columns(table(SOURCE))), None, None), "none"
        )
    finally:
        engine.close()
    groups = _groups(found)
    parts = {"year_of_birth": ("year", 0), "month_of_birth": ("month", 0), "day_of_birth": ("day", 0)}
    assert groups["birth_datetime"].items() >= parts.items()
    assert groups["gender_source_value"] == {"gender_concept_id": ("same", 0)}
    assert groups["PLZ"]["Ort"] == ("value", 0)
    how, breaks = groups["PLZ"]["Bundesland"]
    assert how == "value" and 5 <= breaks <= 8
    assert found.column("Bundesland").role == "drop" and "records" in (found.column("Bundesland").reason)
    assert not {"ward", "person_id"} & {name for item in found.attributes for name in item.columns}
    quasi = [item.name for item in found.with_role("quasi_identifier")]
    assert not {"year_of_birth", "month_of_birth", "gender_concept_id", "Ort"} & {*quasi}
    [line] = [line for line in profile_lines(found) if "birth_datetime =" in line]
    assert "year_of_birth, month_of_birth, day_of_birth" in line


@pytest.mark.slow
def test_a_draft_publishes_followers_as_far_as_their_leader(tmp_path: Path) -> None:
    drafted = draft(profile(_stored(_persons(4000), tmp_path), preset="none"), folder=tmp_path)
    columns = drafted.policy.to_dict()["columns"]
    assert columns["year_of_birth"] == {"role": "keep", "with": {"column": "birth_datetime", "level": 3}}
    assert columns["gender_concept_id"]["with"] == {"column": "gender_source_value", "level": 0}
    assert columns["Ort"]["with"] == "PLZ" and columns["day_of_birth"]["role"] == "drop"
    path = tmp_path / "policy.yaml"
    path.write_text(drafted.yaml, encoding="utf-8")
    with sqlanon.anonymize(tmp_path / "t.duckdb", path) as release:
        assert release.ledger.published > 3700
    published = [name for name, keys in columns.items() if keys["role"] != "drop"]
    assert _smallest_class(tmp_path / "released.parquet", [name for name in published if name != "ward"]) >= 5


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("file", ["omop-gibleed.duckdb", "omop-synthea-1130.duckdb"])
def test_persons_of_omop_stay_in_classes_of_k_by_all_published_columns(file: str, shared: Path, tmp_path: Path) -> None:
    found = profile(shared / "data" / "omop" / file, "person", preset="none")
    lower = {item.leader.lower(): {name.lower() for name in item.columns} for item in found.attributes}
    assert lower["birth_datetime"] == {"birth_datetime", "year_of_birth", "month_of_birth", "day_of_birth"}
    assert lower["gender_source_value"] == {"gender_source_value", "gender_concept_id"}
    drafted = draft(found, folder=tmp_path, search=True)
    path = tmp_path / "policy.yaml"
    path.write_text(drafted.yaml, encoding="utf-8")
    with sqlanon.anonymize(shared / "data" / "omop" / file, path) as release:
        assert release.ledger.published > 1000
    columns = drafted.policy.to_dict()["columns"]
    published = [name for name, keys in columns.items() if keys["role"] != "drop"]
    assert _smallest_class(tmp_path / "released.parquet", published) >= 5
    rows = duckdb.read_parquet(str(tmp_path / "released.parquet")).fetchall()
    assert all(any(row[i] is not None for row in rows) for i in range(len(published)))


def test_parts_of_a_date_without_the_date_are_led_by_the_year(tmp_path: Path) -> None:
    data = {name: _persons(2000)[name] for name in ("year_of_birth", "month_of_birth", "day_of_birth", "ward")}
    found = profile(_stored(data, tmp_path), preset="none")
    assert _groups(found) == {"year_of_birth": {"month_of_birth": ("part", 0), "day_of_birth": ("part", 0)}}
    assert {item.name for item in found.with_role("quasi_identifier")} - {"ward"} == {"year_of_birth"}
    assert found.column("month_of_birth").role == "drop" and found.column("month_of_birth").question


@pytest.mark.slow
def test_a_key_of_persons_leads_nothing_but_its_twin(tmp_path: Path) -> None:
    """From a person's number follows all that the visits say of the person; that makes no attribute of it."""
    chance, data = random.Random(5), _persons(300)
    visits = [chance.randrange(300) for _ in range(6000)]
    rows = {name: [values[i] for i in visits] for name, values in data.items() if name != "Bundesland"}
    rows |= {"insurance_no": [f"V{100_000 + 7 * i}" for i in visits], "stay": [chance.randrange(9) for _ in visits]}
    found = profile(_stored(rows, tmp_path), preset="none")
    groups = _groups(found)
    assert all(len({"person_id", "insurance_no"} & {*item.columns}) in (0, 2) for item in found.attributes)
    assert set(groups.get("birth_datetime", {})) <= {"year_of_birth", "month_of_birth", "day_of_birth", "born_on"}
    assert groups["PLZ"] == {"Ort": ("value", 0)}


def test_what_follows_from_the_moment_of_an_event_is_led_by_none() -> None:
    """Two actions a moment, in one place: the moment is a key, of which the year says nothing of the place."""
    draw = random.Random(3)
    moments = [datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=37 * n) for n in range(400)]
    towns = draw.choices(["Aachen", "Bern", "Graz", "Linz"], k=400)
    data = {"at": moments * 2, "town": towns * 2, "kind": draw.choices("abc", k=800)}
    assert profile(pa.table(data)).column("town").leader is None


@pytest.mark.slow
def test_dates_that_are_written_as_texts_have_parts(tmp_path: Path) -> None:
    data = _persons(2000)
    for written in ("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d"):
        texts = [day.strftime(written) for day in data["birth_datetime"]]
        rows = {"geburtsdatum": texts, "jahr": data["year_of_birth"], "monat": data["month_of_birth"]}
        (tmp_path / written[1]).mkdir(exist_ok=True)
        Path(tmp_path / written[1] / "t.duckdb").unlink(missing_ok=True)
        found = profile(_stored(rows | {"ward": data["ward"]}, tmp_path / written[1]), preset="none")
        assert _groups(found) == {"geburtsdatum": {"jahr": ("year", 0), "monat": ("month", 0)}}, written


@pytest.mark.slow
def test_ages_lead_births_and_totals_lead_their_parts(tmp_path: Path) -> None:
    chance, rows = random.Random(4), []
    for _ in range(2000):
        born = datetime.date(1930, 1, 1) + datetime.timedelta(chance.randrange(29_000))
        came = datetime.date(2019, 1, 1) + datetime.timedelta(chance.randrange(1400))
        age = came.year - born.year - ((came.month, came.day) < (born.month, born.day))
        parts = [round(chance.expovariate(rate), 2) for rate in (0.01, 0.005, 0.02)]
        rows.append((born, age, born.year, came, round(sum(parts), 2), *parts))
    names = ("birth_date", "age", "birth_year", "admitted", "total_cost", "drugs_cost", "bed_cost", "lab_cost")
    found = profile(_stored(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), tmp_path), preset="none")
    assert _groups(found) == {
        "age": {"birth_date": ("age", 0), "birth_year": ("age", 0)},
        "total_cost": dict.fromkeys(names[-3:], ("sum", 0)),
    }
    assert {item.name for item in found.with_role("quasi_identifier")} == {"age", "admitted", "total_cost"}
    assert found.column("birth_date").otherwise == "quasi_identifier"


@pytest.mark.slow
def test_ages_on_one_day_lead_births(tmp_path: Path) -> None:
    data = _persons(3000)
    ages = [(datetime.date(2020, 6, 1) - day).days * 400 // 146_097 for day in data["birth_datetime"]]
    rows = {name: data[name] for name in ("birth_datetime", "year_of_birth", "month_of_birth", "ward")}
    found = profile(_stored(rows | {"age": ages}, tmp_path), preset="none")
    assert {item.leader: item.columns[1:] for item in found.attributes} == {
        "age": ("birth_datetime", "year_of_birth", "month_of_birth")
    }
    assert {item.name for item in found.with_role("quasi_identifier")} - {"ward"} == {"age"}


def test_of_two_categories_the_one_with_common_values_leads(tmp_path: Path) -> None:
    chance = random.Random(8)
    towns = [f"town {int(chance.paretovariate(0.7)) % 211}" for _ in range(4000)]
    rows = {"town": towns, "county": [f"county {hash_of(town)}" for town in towns], "ward": _persons(4000)["ward"]}
    found = profile(_stored(rows, tmp_path), preset="none")
    assert _groups(found) == {"county": {"town": ("finer", 0)}}
    assert found.column("town").role == "drop" and found.column("town").question


def hash_of(text: str) -> int:
    """A number of four, by the text."""
    return sum(map(ord, text)) % 4


def _found(name: str, values: Sequence[Any], role: str = "quasi_identifier") -> ColumnProfile:
    held = Counter(value for value in values if value is not None)
    records, nulls = len(values), values.count(None)
    alike = sum(count * (count - 1) for count in (*held.values(), nulls))
    separation = 1 - alike / (records * (records - 1))
    return ColumnProfile(name, "VARCHAR", records, nulls, distinct=len(held), most=max(held.values(), default=0),
                         separation=separation, role=role)  # fmt: skip


@pytest.mark.parametrize("kind", ENGINES, ids=str)
@seeds(20, 10)
def test_dependencies_are_those_of_a_brute_force(kind: Kind, block: Any, request: pytest.FixtureRequest) -> None:
    engine = kind.open(request)
    try:
        for seed in block:
            chance = random.Random(seed)
            fine = [chance.choice([None, *"abcdefgh"]) for _ in range(300)]
            broader = {value: chance.choice([None, "x", "y", "z"]) for value in {*fine}}
            rows = {
                "fine": fine,
                "broad": [broader[value] for value in fine],
                "near": ["w" if chance.random() < 0.015 else broader[value] for value in fine],
                "other": [chance.choice("pqr") for _ in fine],
                "code": [None if value is None else f"{ord(value)}" for value in fine],
            }
            engine.drop(SOURCE)
            engine.load("source", SOURCE, pa.table({n: pa.array(v, pa.string()) for n, v in rows.items()}))
            columns = [_found(name, values) for name, values in rows.items()]
            found, left = find_dependencies(engine, table(SOURCE), dict.fromkeys(rows, "VARCHAR"), columns)
            mine = {(each.of, each.follows): each.breaks for each in found}
            assert left == 0 and mine == _brute(rows), seed
    finally:
        engine.close()


def _brute(rows: dict[str, list[Any]]) -> dict[tuple[str, str], int]:
    """Every pair of columns, by plain counts."""
    result = {}
    for of, given in rows.items():
        for to, values in rows.items():
            if of == to or len({*given} - {None}) < 2 or len({*values} - {None}) < 2:
                continue
            cells: dict[Any, Counter[Any]] = {}
            for value, other in zip(given, values, strict=True):
                cells.setdefault(value, Counter())[other] += 1
            breaks = sum(sum(held.values()) - max(held.values()) for held in cells.values())
            told = [held for value, held in cells.items() if value is not None and sum(held.values()) > 1]
            shared, right = sum(sum(held.values()) for held in told), sum(max(held.values()) for held in told)
            base = max(Counter(values).values()) / len(values)
            enough = (1 - base) * shared >= 10
            if enough and breaks <= NEARLY * len(values) and (right / shared - base) / (1 - base) >= 0.95:
                result[of, to] = breaks
    return result


@pytest.mark.slow
@pytest.mark.parametrize("type_", [pa.int64(), pa.float64(), pa.string()], ids=str)
@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_of_a_number_that_nobody_shares_only_bands_follow(
    kind: Kind, type_: pa.DataType, request: pytest.FixtureRequest
) -> None:
    """Who died is told by the exact time, and by no interval of it."""
    draw = random.Random(7)
    days = [draw.randrange(100_000) for _ in range(900)]
    days += [draw.choice(days) for _ in range(300)]
    died = {day: draw.choice("yn") for day in days}
    rows = {
        "days": pa.array(days if type_ == pa.int64() else [day + 0.5 for day in days]).cast(type_),
        "band": ["<1000" if day < 10_000 else "<5000" if day < 50_000 else "more" for day in days],
        "died": [died[day] for day in days],
        "age": [draw.choice(["30", "40", "50", "60"]) for _ in days],
    }
    engine = kind.open(request)
    try:
        engine.load("source", SOURCE, pa.table(rows), replayed=False)
        types = dict(engine.catalog.columns(table(SOURCE)))
        found = profile_source(Source(engine, table(SOURCE), types, None, None), "none")
    finally:
        engine.close()
    assert found.column("died").leader is None
    assert found.column("band").leader == (None if type_ == pa.int64() else "days"), (
        "so many whole numbers may be codes"
    )


def test_what_follows_from_a_follower_follows_from_its_leader() -> None:
    values = {"a": "abcdefgh", "b": "aabbccdd", "c": "aaaabbbb"}
    columns = [replace(_found(name, [*texts], "keep"), looks_like="number") for name, texts in values.items()]
    given = [Dependency("a", "b", "value", 0), Dependency("b", "c", "value", 0)]
    [attribute] = find_attributes(columns, given)
    assert (attribute.leader, attribute.columns) == ("a", ("a", "b", "c"))
