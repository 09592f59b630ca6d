"""Drafts of policies: they run as they stand on tables of every kind, read as they were meant, and hold no value."""

import csv
import datetime
import random
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from effort import seeds

import sqlanon
from sqlanon.assess.profiling.draft_text import DECIDE
from sqlanon.assess.profiling.drafted_hierarchies import _bounds, _widths, drafted_hierarchy
from sqlanon.assess.profiling.drafting import PolicyDraft, draft
from sqlanon.assess.profiling.facts import ColumnProfile, Frequent, Profile, Spread
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.questions import MOST
from sqlanon.assess.profiling.roles import MOST_KEPT, MOST_QUASI_IDENTIFIERS, settle_roles
from sqlanon.assess.profiling.text import profile_lines
from sqlanon.core.policy import as_policy
from sqlanon.core.policy.documents import read_document
from sqlanon.errors import InputError

NAMES = [
    "no", "y", "a: b", "# x", "Größe", "it's", 'say "hi"', "on", "null", "1", "1.5", "- a", "[a]", "{b}", "*", "&x",
    "a,b", "ü;ö", " lead", "tab\tx", "100%", "?", "@q", "a|b", "2024-01-01", "key: ", "e\\n", "日本", "birth date",
    "%YAML",
]  # fmt: skip


def _days(draw: random.Random, form: str) -> str:
    return (datetime.date(1940, 1, 1) + datetime.timedelta(draw.randrange(28_000))).strftime(form)


KINDS: dict[str, Callable[[random.Random], Any]] = {
    "integer": lambda r: r.randrange(1000),
    "few": lambda r: r.randrange(5),
    "decimal": lambda r: round(r.gauss(50, 10), 2),
    "wide": lambda r: r.randrange(-(10**9), 10**9),
    "tiny": lambda r: r.random() / 1e4,
    "all NULL": lambda r: None,
    "constant": lambda r: "constant",
    "flag": lambda r: r.choice(["yes", "no"]),
    "category": lambda r: r.choice("aaaaabbbbcccdde") * 3,
    "mixed": lambda r: r.choice([str(r.randrange(90)), "n/a", "k.A."]),
    "nearly numbers": lambda r: str(r.randrange(90)) if r.random() < 0.98 else "unknown",
    "German dates": lambda r: _days(r, "%d.%m.%Y"),
    "American dates": lambda r: _days(r, "%m/%d/%Y"),
    "nearly dates": lambda r: _days(r, "%Y-%m-%d") if r.random() < 0.99 else "?",
    "moments": lambda r: _days(r, "%Y-%m-%d 12:30:00"),
    "dates": lambda r: datetime.date(2000, 1, 1) + datetime.timedelta(r.randrange(5000)),
    "ZIP": lambda r: f"{r.randrange(501, 99_999):05}",
    "ICD-10": lambda r: f"{r.choice('JKLI')}{r.randrange(99):02}.{r.randrange(9)}",
    "countries": lambda r: r.choice(["AT", "DE", "US", "FR", "XX"]),
    "texts": lambda r: " ".join(r.choice(["lorem", "ipsum", "dolor", "amet"]) for _ in range(9)),
    "codes": lambda r: f"X{r.randrange(10**5)}",
}


def _table(seed: int, records: int = 200) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    kinds = list(KINDS) + draw.choices(list(KINDS), k=len(NAMES) - len(KINDS))
    draw.shuffle(kinds)
    result = {}
    for name, kind in zip(draw.sample(NAMES, len(NAMES)), kinds, strict=True):
        values = [KINDS[kind](draw) for _ in range(records)]
        sparse = draw.random() < 0.3
        result[name] = [None if sparse and draw.random() < 0.2 else value for value in values]
    return result


def _arrow(data: dict[str, list[Any]]) -> pa.Table:
    empty = {name for name, values in data.items() if set(values) == {None}}
    return pa.table({n: pa.array(values, pa.string() if n in empty else None) for n, values in data.items()})


def _csv(data: dict[str, list[Any]], folder: Path) -> tuple[str, str | None]:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*data.values(), strict=True))
    return str(folder / "t.csv"), None


def _parquet(data: dict[str, list[Any]], folder: Path) -> tuple[str, str | None]:
    pq.write_table(_arrow(data), folder / "t.parquet")
    return str(folder / "t.parquet"), None


def _duckdb(data: dict[str, list[Any]], folder: Path) -> tuple[str, str | None]:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", _arrow(data))
        connection.execute('CREATE TABLE "my table" AS SELECT * FROM given')
    return str(folder / "t.duckdb"), "my table"


def _sqlite(data: dict[str, list[Any]], folder: Path) -> tuple[str, str | None]:
    declared = {int: "INTEGER", float: "REAL", datetime.date: "DATE"}
    types = [declared.get(type(next((v for v in values if v is not None), "")), "TEXT") for values in data.values()]
    columns = ", ".join(
        f'"{name.replace(chr(34), chr(34) * 2)}" {kind}' for name, kind in zip(data, types, strict=True)
    )
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        rows = [
            [str(v) if isinstance(v, datetime.date) else v for v in row] for row in zip(*data.values(), strict=True)
        ]
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(data))})", rows)
    return str(folder / "t.db"), "t"


WRITERS = {"csv": _csv, "parquet": _parquet, "duckdb": _duckdb, "sqlite": _sqlite}
SLOW = [pytest.param(kind, seed, marks=pytest.mark.slow) for kind in WRITERS for seed in range(1, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("kind, seed", [("csv", 0), *SLOW])
@pytest.mark.few(4)
def test_a_draft_runs_as_it_stands(kind: str, seed: int, tmp_path: Path) -> None:
    data = _table(seed)
    source, table = WRITERS[kind](data, tmp_path)
    drafted = draft(profile(source, table), folder=tmp_path)
    path = tmp_path / "policy.yaml"
    path.write_text(drafted.yaml, encoding="utf-8")
    document = read_document(path)
    assert {name.strip() for name in document["columns"]} == {name.strip() for name in data}  # as CSV reads names
    texts = {value for values in data.values() for value in values if isinstance(value, str) and len(value) > 4}
    assert not [value for value in texts - {"constant"} if value in drafted.yaml]
    quasi = [name for name, keys in document["columns"].items() if keys["role"] == "quasi_identifier"]
    assert len(quasi) <= MOST_QUASI_IDENTIFIERS
    with sqlanon.anonymize(source, path) as release:  # which is audited
        assert (tmp_path / "released.parquet").exists()
        assert release.ledger.suppressed <= 0.05 * 200
        assert as_policy(path).to_dict() == drafted.policy.to_dict()


def _profile(*columns: ColumnProfile) -> Profile:
    return Profile("t.csv", None, {"delimiter": ";"}, "DuckDB", True, 1000, tuple(settle_roles(columns)))


def _found(name: str, **facts: Any) -> ColumnProfile:
    counts = {"records": 1000, "nulls": 0, "empty": 0, "distinct": 20, "alone": 0, "type": "VARCHAR"}
    return ColumnProfile(name, **{**counts, **facts})


def _asked(drafted: PolicyDraft) -> set[str]:
    return {name for item in (*drafted.decisions, *drafted.notes) for name in item.columns}


def test_names_survive_yaml_and_comments() -> None:
    names = [*NAMES, "two\nlines", "\u2028", "quote'\"", "x" * 300, "# DECIDE: x"]
    kept = [
        _found(name, distinct=1, looks_like="constant", reason=f"Of {name}.", question=f"Why {name}?") for name in names
    ]
    drafted = draft(_profile(*kept, _found("age", role="quasi_identifier", distinct=2)))
    assert set(yaml.safe_load(drafted.yaml)["columns"]) == {*names, "age"}
    assert _asked(drafted) == set(names)


def test_every_decision_is_marked_and_listed() -> None:
    drafted = draft(_profile(
        _found("birth", role="quasi_identifier", reads_as="date", looks_like="birth_date", date_format="%d/%m/%Y",
               ambiguous=True),
        _found("salary", role="sensitive", question="May others learn this?"),
    ))  # fmt: skip
    assert drafted.yaml.count(DECIDE) == len(drafted.decisions) + 1  # the head speaks of the mark
    asked = {item.column: item.sentence for item in drafted.decisions}
    assert "ages" in asked["birth"] and "before the month" in asked["birth"]
    assert "birth: Are ages enough?" in drafted.yaml.split("version")[0]
    assert drafted.to_dict()["decisions"][0]["column"] is None
    assert "format: '%d/%m/%Y'" in drafted.yaml


def test_few_columns_are_published_as_they_are() -> None:
    found = [_found(f"c{i}", distinct=6, frequent=(Frequent(20, 4, 900),)) for i in range(30)]
    columns = yaml.safe_load(draft(_profile(*found)).yaml)["columns"]
    roles = [keys["role"] for keys in columns.values()]
    assert 6 ** roles.count("keep") <= MOST_KEPT
    assert roles.count("quasi_identifier") == MOST_QUASI_IDENTIFIERS
    assert roles.count("drop") == 30 - roles.count("keep") - MOST_QUASI_IDENTIFIERS
    drafted = draft(_profile(*found))
    assert drafted.yaml.count("  #   c") == 30 - roles.count("keep")  # what they would be otherwise


def test_a_table_of_identifiers_has_a_draft_and_one_of_nothing_has_none() -> None:
    drafted = draft(_profile(_found("id", role="identifier")))
    assert yaml.safe_load(drafted.yaml)["columns"]["id"]["hierarchy"] == {"suppress": {}}
    with pytest.raises(InputError, match="No column"):
        draft(_profile(_found("tags", type="VARCHAR[]"), _found("empty", looks_like="empty")))


@pytest.mark.parametrize("low, q05, q95, high, places", [
    (17, 19, 63, 72, 0), (0, 0, 1, 1, 0), (-5.5, -3, 0.25, 9, 2), (1e-5, 2e-5, 9e-5, 1e-4, 6),
    (-1e9, -9e8, 9e8, 1e9, 0), (3, 3, 3, 3, 0), (1930, 1941, 2001, 2010, 0),
])  # fmt: skip
def test_intervals_are_round_and_lie_within_the_quantiles(
    low: float, q05: float, q95: float, high: float, places: int
) -> None:
    spread = Spread(low, q05, q05, q05, q95, q95, high, 1, places)
    width, fanouts = _widths(spread)
    assert width.normalize().as_tuple().digits in ((1,), (2,), (5,))
    assert all(fanout >= 2 for fanout in fanouts)
    assert width >= Decimal(2).scaleb(-places)
    bounds = {name: Decimal(str(bound)) for name, bound in _bounds(spread, width).items()}
    assert all(Decimal(str(low)) <= bound <= Decimal(str(high)) for bound in bounds.values())
    assert all(bound % width == 0 for bound in bounds.values())
    assert "lower" not in bounds or low != 0


@pytest.mark.parametrize("facts, kind", [
    ({"distinct": 2}, "suppress"),
    ({"looks_like": "zip"}, "zip3"),
    ({"looks_like": "icd10"}, "codes"),
    ({"looks_like": "country", "shapes": {"country_code": 1.0}}, "codes"),
    ({"looks_like": "country", "frequent": (Frequent(20, 9, 800),)}, "frequent"),
    ({"reads_as": "date", "type": "DATE"}, "dates"),
    ({"reads_as": "date", "date_format": "%y.%j"}, "suppress"),
    ({"looks_like": "category", "frequent": (Frequent(20, 20, 1000),)}, "suppress"),
    ({"reads_as": "whole", "spread": Spread(0, 1, 5, 9, 20, 30, 40, 1)}, "intervals"),
    ({"reads_as": "whole", "misfits": 3, "type": "BIGINT", "spread": Spread(0, 1, 5, 9, 20, 30, 40, 1)}, "suppress"),
])  # fmt: skip
def test_what_a_column_looks_like_decides_its_hierarchy(facts: dict[str, Any], kind: str) -> None:
    drafted = drafted_hierarchy(_found("c", **facts), is_text=True, records=1000)
    assert list(drafted.keys) == [kind]
    assert drafted.nodes >= 2


@pytest.mark.parametrize("forms", [("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"), ("%d-%b-%Y",), ("%d/%m/%y",)], ids=str)
def test_dates_in_several_formats_are_not_cut_to_their_first_characters(tmp_path: Path, forms: tuple[str, ...]) -> None:
    """The year would be hidden of some, and the day of others; which day it was would be published."""
    draw = random.Random(2)
    days = [datetime.date(2001, 1, 1) + datetime.timedelta(draw.randrange(8_000)) for _ in range(90 // len(forms))]
    texts = [draw.choice(days).strftime(draw.choice(forms)) for _ in range(900)]
    pq.write_table(pa.table({"seen": texts, "age": [draw.randrange(18, 90) for _ in texts]}), tmp_path / "t.parquet")
    drafted = draft(profile(tmp_path / "t.parquet"), folder=tmp_path)
    [seen] = [item for item in drafted.policy.quasi_identifiers if item.name == "seen"]
    assert seen.hierarchy is not None and seen.hierarchy.kind in ("frequent", "suppress")
    assert any("Are these dates?" in item.sentence for item in drafted.decisions if item.column == "seen")


def test_whole_numbers_have_whole_bands_whatever_a_few_records_hold(tmp_path: Path) -> None:
    """One half child, or a few NaN, made bands of 0.2: shares were those of the values, not of the records."""
    draw = random.Random(4)
    counts = [float(draw.choice([0, 0, 1, 2, 3, 4, 5])) for _ in range(500)]
    data = {"children": [*counts, 2.5], "siblings": [*counts, float("nan")], "days": [*counts, None]}
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    found = profile(tmp_path / "t.parquet")
    for item in found.columns:
        assert item.spread is not None and item.spread.places == 0, item.name
        keys = drafted_hierarchy(item, is_text=False, records=501).keys
        assert all(isinstance(number, int) for number in keys["intervals"].values() if not isinstance(number, list))


def test_codes_have_no_intervals_and_parts_of_a_date_of_birth_are_known_to_others(tmp_path: Path) -> None:
    """As the table of persons of OMOP has them: numbers that name a place or a concept, the month and day of birth."""
    draw = random.Random(6)
    data = {
        "race_concept_id": [draw.choice([0, 8515, 8516, 8527, 8657]) for _ in range(500)],
        "location_id": [draw.randrange(30) for _ in range(500)],
        "month_of_birth": [draw.randrange(1, 13) for _ in range(500)],
        "day_of_birth": [draw.randrange(1, 29) for _ in range(500)],
    }
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    kinds = {
        column.name: column.hierarchy.kind
        for column in draft(profile(tmp_path / "t.parquet"), folder=tmp_path).policy.quasi_identifiers
        if column.hierarchy is not None
    }
    assert set(kinds) == set(data) and kinds["month_of_birth"] == kinds["day_of_birth"] == "intervals"
    assert "intervals" not in (kinds["race_concept_id"], kinds["location_id"])


def test_what_is_unique_is_not_published_in_full_precision_as_sensitive(tmp_path: Path) -> None:
    draw = random.Random(5)
    first = datetime.date(2000, 1, 1)
    data = {
        "hiv_test": [first + datetime.timedelta(days=place) for place in range(450)] + [first] * 50,
        "diagnosis_time": [datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=61 * i) for i in range(500)],
        "salary": [Decimal(draw.randrange(10**9)) / 100 for _ in range(500)],
        "income": [round(draw.gauss(4e4, 9e3), 2) for _ in range(500)],
    }
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    for item in profile(tmp_path / "t.parquet").columns:
        assert item.role == "quasi_identifier", item.name


def _agree(found: Profile, folder: Path) -> dict[str, str]:
    """The role of each column in the table, in the JSON document and in the draft, which are the same."""
    drafted = draft(found, folder=folder)
    roles = {name: keys["role"] for name, keys in yaml.safe_load(drafted.yaml)["columns"].items()}
    assert roles == {item.name: item.policy_role for item in found.columns}
    start = next(place for place, line in enumerate(profile_lines(found)) if line.split()[:1] == ["column"]) + 1
    printed = [line.split()[-1] for line in profile_lines(found)[start : start + len(found.columns)]]
    assert printed == [roles[item.name] for item in found.columns]
    assert {item.name for item in found.columns if item.question} <= _asked(drafted)
    assert len(drafted.decisions) <= MOST
    return roles


@seeds(6, 2)
def test_the_table_of_a_profile_has_the_roles_of_its_draft(block: Any, tmp_path: Path) -> None:
    seen = set()
    for seed in block:
        draw = random.Random(seed)
        data = _table(seed, records=draw.choice([3, 40, 120]))
        names = draw.sample(list(data), draw.choice([1, 4, len(data)]))
        pq.write_table(_arrow({name: data[name] for name in names}), tmp_path / "t.parquet")
        try:
            seen |= set(_agree(profile(tmp_path / "t.parquet"), tmp_path).values())
        except InputError as error:
            assert "No column" in str(error)
    assert seen >= {"quasi_identifier", "drop"}


@pytest.mark.slow
@pytest.mark.parametrize("name, table", [
    ("adult/adult.csv", None), ("cmc/cmc.csv", None), ("omop/omop-synthea-1130.duckdb", "person"),
    ("omop/omop-synthea-1130.duckdb", "condition_occurrence"),
])  # fmt: skip
def test_the_table_has_the_roles_of_the_draft_on_real_tables(
    shared: Path, tmp_path: Path, name: str, table: str | None
) -> None:
    _agree(profile(shared / "data" / name, table), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name, most", [("adult", 0.42), ("cmc", 0.6), ("creditcard_int", 0.39), ("cup", 0.37)])
@pytest.mark.few(2)
def test_data_without_their_hierarchies(shared: Path, tmp_path: Path, name: str, most: float) -> None:
    source = shared / "data" / name.removesuffix("_int") / f"{name}.csv"
    drafted = draft(profile(source), folder=tmp_path)
    (tmp_path / "policy.yaml").write_text(drafted.yaml, encoding="utf-8")
    with sqlanon.anonymize(source, tmp_path / "policy.yaml") as release:
        assert release.certificate.loss <= most
        assert release.ledger.suppressed <= 0.05 * release.ledger.records


@pytest.mark.slow
def test_a_draft_takes_no_codes_that_less_than_half_of_the_records_hold(tmp_path: Path) -> None:
    """Codes of three letters in a column called country need not be those of countries."""
    drafted = {}
    for name, codes in {"known": ["DE", "FR", "AT", "ZZ"], "other": ["QA1", "QB", "XC", "DE"]}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("country,age\n" + "".join(f"{codes[(i + i // 60) % 4]},{20 + i % 60}\n" for i in range(400)))
        found = draft(sqlanon.profile(path), folder=tmp_path).policy.quasi_identifiers[0].hierarchy
        drafted[name] = found.kind
    assert drafted["known"] == "codes" and drafted["other"] != "codes"


def test_what_follows_from_a_sensitive_column_is_not_generalized_beside_it(tmp_path: Path) -> None:
    """A run would refuse it: the sensitive column gives away what was generalized."""
    draw = random.Random(5)
    codes = [draw.choice("ABCDEFGHIKLM") + f"{draw.randrange(7):02d}.1" for _ in range(600)]
    data = {
        "sex": [draw.choice("mf") for _ in codes],
        "diagnosis": codes,
        "unit": [f"unit {code[0]}{int(code[2]) % 3}" for code in codes],
        "kind": [draw.choice([f"kind {i}" for i in range(25)]) for _ in codes],
    }
    source, table = _csv(data, tmp_path)
    found = profile(source, table)
    assert found.column("unit").follows_from == ("diagnosis",) and found.column("kind").follows_from == ()
    drafted = draft(found, folder=tmp_path)
    roles = {name: keys["role"] for name, keys in drafted.policy.to_dict()["columns"].items()}
    assert roles == {"sex": "quasi_identifier", "diagnosis": "sensitive", "unit": "drop", "kind": "quasi_identifier"}
    path = tmp_path / "policy.yaml"
    path.write_text(drafted.yaml, encoding="utf-8")
    with sqlanon.anonymize(source, path) as release:
        assert release.ledger.published


@pytest.mark.parametrize(("name", "of_each"), [("x1", 3), ("household_id", 3), ("x1", 60)])
def test_a_number_of_households_is_asked_about(name: str, of_each: int) -> None:
    """In a class of one household nobody hides another; districts are places."""
    draw = random.Random(1)
    groups = [(draw.choice("abcd"), draw.randrange(1, 6), draw.randrange(20), draw.choice("xyz")) for _ in range(500)]
    rows = [
        {name: 1000 + n, "sex": draw.choice("fm"), "age": draw.randrange(90)}
        | dict(zip(("region", "rooms", "rent", "owner"), group, strict=True))
        for n, group in enumerate(groups)
        for _ in range(of_each)
    ]
    made = draft(profile(pa.Table.from_pylist(rows)), search=False)
    assert made.policy.entity is None
    asked = [item.sentence for item in made.decisions if item.column == name and "hide one another" in item.sentence]
    assert len(asked) == (of_each == 3) and all(f"entity: {name}" in sentence for sentence in asked)


def test_the_entity_of_a_draft_is_the_column_that_persons_follow_from(tmp_path: Path) -> None:
    """And not a reading of the blood pressure, which looks like a code and has more values."""
    draw = random.Random(9)
    persons = [(f"P{draw.randrange(10**9)}", draw.randrange(18, 90), draw.choice("mf")) for _ in range(150)]
    rows = [person for person in persons for _ in range(draw.randrange(2, 9))]
    data = {
        "x1": [f"{draw.randrange(100, 160)}/{draw.randrange(60, 99)}" for _ in rows],
        "x2": [row[0] for row in rows],
        "age": [row[1] for row in rows],
        "sex": [row[2] for row in rows],
    }
    pq.write_table(_arrow(data), tmp_path / "t.parquet")
    assert draft(profile(str(tmp_path / "t.parquet")), folder=tmp_path).policy.entity == "x2"


def test_rare_values_names_and_persons_are_looked_after(tmp_path: Path) -> None:
    """A value of one record is not published as it is, nor are names; persons with several records are counted."""
    draw = random.Random(6)
    names = [f"{first} {last}" for first in ("Ada", "Bob", "Eva", "Ida") for last in ("Koch", "Wolf", "Lang")]
    data = {
        "sex": [draw.choice("mf") for _ in range(480)],
        "teacher": [draw.choice(names) for _ in range(480)],
        "grade": ["a"] * 240 + ["b"] * 240,
        "remarkable": ["x"] * 479 + ["y"],
        "iban": [f"DE{i // 4:020d}" for i in range(480)],
    }
    source, table = _csv(data, tmp_path)
    drafted = draft(profile(source, table), folder=tmp_path)
    policy = drafted.policy.to_dict()
    assert {name: keys["role"] for name, keys in policy["columns"].items()} == {
        "sex": "quasi_identifier", "teacher": "drop", "grade": "keep", "remarkable": "quasi_identifier", "iban": "drop",
    }  # fmt: skip
    assert policy["entity"] == "iban" and "entity: iban" in drafted.yaml
    assert [item.column for item in drafted.decisions if item.key == "entity"] == ["iban"]


def test_codes_of_no_answer_are_null_and_asked_once_for_the_file(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [
        (draw.choice([*range(20, 90), *[999] * 9]), *(draw.choice([1, 2, 3, 4, 5, 5, 8, 9]) for _ in "abc"), place % 60)
        for place in range(900)
    ]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["age,q1,q2,q3,children", *(",".join(map(str, row)) for row in rows)]))
    drafted = draft(profile(path), folder=tmp_path)
    assert drafted.policy.csv["columns"] == {"age": {"null": ["999"]}, **{q: {"null": ["8", "9"]} for q in QUESTIONS}}
    assert drafted.profile.column("age").looks_like == "age"
    assert [item.columns for item in drafted.decisions if item.key == "csv"] == [("age", *QUESTIONS)]
    assert drafted.yaml.count("say that there is no answer") == 2, "in the list, and above the key csv"


QUESTIONS = ("q1", "q2", "q3")


@pytest.mark.parametrize(("named", "kind"), [("id", int), ("patient", int), ("id", float)])
def test_a_number_that_repeats_names_persons_though_nothing_follows_from_it(named: str, kind: type) -> None:
    """Patients are numbered anew in each center: as an entity, numbers count fewer persons than there are."""
    draw = random.Random(5)
    people = [(center, kind(number), draw.choice("mf")) for center in (1, 2) for number in range(60)]
    rows = [(*person, visit, draw.randrange(2)) for person in people for visit in range(4)]
    data = dict(zip(("center", named, "sex", "visit", "better"), map(list, zip(*rows, strict=True)), strict=True))
    assert draft(profile(pa.table(data))).policy.entity == named


def test_first_names_and_kinds_are_no_persons_and_neither_are_weights() -> None:
    draw = random.Random(7)
    names = [f"{first}a" for first in ("Ann", "Bett", "Car", "Don", "Ev", "Fren", "Gret", "Hann", "Id", "Jan")]
    sex = {name: draw.choice("mf") for name in names}
    called = draw.choices(names, k=3_000)
    weights = [110_000 + 37 * draw.randrange(2_000) for _ in range(3_000)]
    data = {"name": called, "sex": [sex[name] for name in called], "age": draw.choices(range(20, 70), k=3_000)}
    made = draft(profile(pa.table({**data, "wght": weights, "wage": draw.choices(range(900), k=3_000)})))
    assert made.policy.entity is None
    assert {item.name for item in made.policy.columns if item.role == "drop"} >= {"name", "wght"}


def test_numbers_with_a_point_and_a_zero_are_no_codes() -> None:
    draw = random.Random(8)
    scores = [f"{draw.randrange(20, 81)}0.0" for _ in range(700)]
    found = profile(pa.table({"score": pa.array(map(float, scores)), "sex": draw.choices("mf", k=700)}))
    assert found.column("score").looks_like == "number"


@pytest.mark.parametrize(("others", "null"), [(["1st", "2nd", "3rd"], True), (["**", "***"], False)])
def test_a_star_is_no_answer_but_among_stars(tmp_path: Path, others: list[str], null: bool) -> None:
    draw = random.Random(9)
    rows = "".join(f"{draw.choice(['*', *others])},{draw.choice('mf')}\n" for _ in range(200))
    (tmp_path / "t.csv").write_text(f"grade,sex\n{rows}")
    made = draft(profile(tmp_path / "t.csv"), folder=tmp_path)
    assert (profile(tmp_path / "t.csv").column("grade").nulls > 0) == null
    with sqlanon.plan(None, made.policy) as plan:
        assert plan.ledger.records == 200


def test_a_number_of_persons_that_some_records_lack_is_asked_about() -> None:
    draw = random.Random(5)
    numbers = [None if draw.random() < 0.05 else draw.randrange(150) for _ in range(600)]
    rows = {"id": numbers, "age": draw.choices(range(20, 70), k=600), "visit": draw.choices([1, 2, 3], k=600)}
    made = draft(profile(pa.table(rows)))
    assert made.policy.entity is None
    [asked] = [item.sentence for item in made.decisions if item.column == "id" and "whose they are" in item.sentence]
    assert asked.startswith(f"{numbers.count(None)} records") and "entity: id" in asked
