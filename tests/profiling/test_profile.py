"""A profile counts what is there, on every source; recognizes what columns hold; and never shows a value."""

import itertools
import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from effort import seeds
from engine_kinds import KINDS, SOURCE, Kind
from people import COLUMNS, people

import sqlanon
from sqlanon.assess.profiling.facts import LOOKS, ColumnProfile, Profile, is_mixed
from sqlanon.assess.profiling.measuring import Measures
from sqlanon.assess.profiling.profile import profile_source
from sqlanon.assess.profiling.text import WIDTH, profile_lines
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.core.source.opening import Source, open_source
from sqlanon.core.source.words import kinds_of
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import SourceError, UnsupportedError

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
LOOKED = {name: look for name, (look, _) in COLUMNS.items()}
ROLES = {name: role for name, (_, role) in COLUMNS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people as CSV, Parquet, DuckDB and SQLite."""
    place = tmp_path_factory.mktemp("people")
    data = people(400)
    pyarrow.csv.write_csv(data, place / "people.csv")
    pq.write_table(data, place / "people.parquet")
    with duckdb.connect(str(place / "people.duckdb")) as connection:
        connection.register("data", data)
        connection.execute("CREATE TABLE people AS SELECT * FROM data")
    with sqlite3.connect(place / "people.db") as lite:
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in data.column_names)
        lite.execute(f"CREATE TABLE people ({names})")
        marks = ", ".join("?" * data.num_columns)
        rows = zip(*[column.to_pylist() for column in data.columns], strict=True)
        lite.executemany(f"INSERT INTO people VALUES ({marks})", rows)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("file", ["people.csv", "people.parquet", "people.duckdb", "people.db"])
def test_columns_are_recognized_in_every_source(folder: Path, file: str) -> None:
    found = sqlanon.profile(folder / file)
    assert {item.name: item.looks_like for item in found.columns} == LOOKED
    assert {item.name: item.role for item in found.columns} == ROLES
    assert found.table == (None if file.endswith(("csv", "parquet")) else "people")
    assert found.records == 400 and found.is_text == file.endswith(".csv")
    born = found.column("Geburtsdatum")
    assert (born.reads_as, born.date_format, born.misfits, born.ambiguous) == ("date", "%d.%m.%Y", 0, False)
    assert born.spread is not None and 1930 <= born.spread.low < born.spread.q50 < born.spread.high <= 2005
    weight = found.column("Gewicht")
    assert is_mixed(weight) and weight.reads_as == "text" and weight.question is not None


@pytest.mark.slow
def test_postgres_finds_what_duckdb_finds(request: pytest.FixtureRequest, folder: Path) -> None:
    opened = next(kind for kind in KINDS if kind.name == "postgres").open(request)
    try:
        opened.load("source", SOURCE, people(400), replayed=False)
        relation = table(SOURCE)
        here = profile_source(Source(opened, relation, dict(opened.catalog.columns(relation)), None, None))
    finally:
        opened.close()
    there = sqlanon.profile(folder / "people.parquet")
    same = (
        "looks_like",
        "role",
        "distinct",
        "alone",
        "nulls",
        "empty",
        "reads_as",
        "date_format",
        "spread",
        "frequent",
    )
    for mine, other in zip(here.columns, there.columns, strict=True):
        assert [getattr(mine, name) for name in same] == [getattr(other, name) for name in same]
    assert here.ranking == there.ranking and here.kept_together == there.kept_together


@pytest.mark.parametrize("kind", ENGINES, ids=str)
@seeds(30, 10)
def test_counts_are_those_of_a_brute_force(kind: Kind, block: Any, request: pytest.FixtureRequest) -> None:
    engine = kind.open(request)
    try:
        for seed in block:
            chance = random.Random(seed)
            pools = [
                chance.sample([None, "", " ", "a", "A", "é", "1", "01", "x y"], chance.randint(1, 9)) for _ in "abc"
            ]
            rows = [tuple(map(chance.choice, pools)) for _ in range(chance.choice([1, 3, 12, 60, 130]))]
            columns = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
            engine.drop(SOURCE)
            engine.load("source", SOURCE, pa.table({n: pa.array(v, pa.string()) for n, v in columns.items()}))
            measures = Measures(engine, table(SOURCE), dict.fromkeys("abc", "VARCHAR"))
            counts = measures.count()
            examined = measures.examine(counts)
            for name, values in columns.items():
                held = Counter(value for value in values if value is not None)
                mine = counts[name]
                assert mine.nulls == values.count(None)
                assert mine.empty == sum(count for value, count in held.items() if not value.strip())
                assert (mine.distinct, mine.most) == (len(held), max(held.values(), default=0))
                assert mine.alone == sum(count == 1 for count in held.values())
                for item in mine.frequent:
                    many = [count for count in held.values() if count >= item.at_least]
                    assert (item.values, item.records) == (len(many), sum(many))
                if held:
                    whole = [value.strip().isdigit() for value in held]
                    assert examined[name].of_values["whole"] == pytest.approx(sum(whole) / len(whole))
                    lengths = Counter()
                    for value, count in held.items():
                        lengths[len(value)] += count
                    assert examined[name].lengths == lengths
            measures.close()
    finally:
        engine.drop(SOURCE)
        engine.close()


def profiled(data: dict[str, Any], tmp_path: Path) -> Profile:
    pq.write_table(pa.table(data), tmp_path / "table.parquet")
    return sqlanon.profile(tmp_path / "table.parquet")


def test_an_empty_table_and_a_table_of_one_row(tmp_path: Path) -> None:
    empty = profiled({"age": pa.array([], pa.int64()), "zip": pa.array([], pa.string())}, tmp_path)
    assert empty.records == 0 and [item.looks_like for item in empty.columns] == ["empty", "empty"]
    assert empty.sets is None and "no records" in empty.warnings[0] and profile_lines(empty)
    one = profiled({"age": [34], "zip": ["10115"], "note": pa.array([None], pa.string())}, tmp_path)
    assert one.records == 1 and one.column("note").looks_like == "empty"
    assert all(item.separation is None for item in one.columns) and profile_lines(one)


def test_a_table_without_quasi_identifiers_says_so(tmp_path: Path) -> None:
    found = profiled({"a": [i % 3 for i in range(90)], "b": [f"x{i % 4}" for i in range(90)]}, tmp_path)
    assert not found.with_role("quasi_identifier") and "Decide which ones" in found.warnings[-1]
    assert found.candidates == ("a", "b") and found.sets is not None


@pytest.mark.slow
def test_strange_names_and_types_that_cannot_be_compared(tmp_path: Path) -> None:
    names = ['quo"te', "it's", "Größe", "UPPER", "two words", "line\nbreak", "select", "%", "x" * 60]
    found = profiled({name: [1, 2, 2] for name in names} | {"list": [[1], [2], [3]]}, tmp_path)
    assert [item.name for item in found.columns] == [*names, "list"]
    assert found.column("list").role == "identifier"
    assert all("\n" not in line for line in profile_lines(found))


def test_the_values_of_an_enum_are_not_in_its_type() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 'a'::ENUM('a', 'planted') AS e, ['a']::ENUM('a', 'planted')[] AS l"
        )
        found = sqlanon.profile(connection, "t")
    assert "planted" not in json.dumps(found.to_dict()) + repr(found.columns)
    assert [item.type for item in found.columns] == ["ENUM", "TEXT[]"]
    assert found.source == "DuckDB connection", "not the address of an object, nor a path in a draft"


def test_columns_with_our_prefix_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="prefix"):
        profiled({"sqlanon_x": [1]}, tmp_path)


def test_of_several_tables_one_must_be_named(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "two.duckdb")) as connection:
        connection.execute("CREATE TABLE patients AS SELECT 1 AS age")
        connection.execute("CREATE TABLE visits AS SELECT 1 AS day")
    with pytest.raises(SourceError, match="no table of it is named") as refused:
        sqlanon.profile(tmp_path / "two.duckdb")
    assert "patients" in refused.value.hint and "visits" in refused.value.hint
    assert sqlanon.profile(tmp_path / "two.duckdb", "visits").table == "visits"


def test_what_a_run_refuses_to_publish_is_not_kept(tmp_path: Path) -> None:
    """A column from which a quasi-identifier follows is dropped, and a number that is nobody else's is generalized."""
    chance = random.Random(1)
    ages = [chance.randint(20, 90) for _ in range(600)]
    data = {
        "age": ages,
        "cohort": [f"c{age}" for age in ages],
        "noisy": [f"n{age if chance.random() < 0.97 else 20}" for age in ages],
        "score9": chance.sample(range(10**6), 600),
    }
    found = profiled(data, tmp_path)
    assert found.column("noisy").role == "identifier" and "'age'" in found.column("noisy").reason
    assert (found.column("cohort").role, found.column("cohort").leader) == ("keep", "age")  # it travels with it
    assert found.column("score9").role != "keep"


def test_a_spread_is_of_many_records_and_rounded(tmp_path: Path) -> None:
    """The one record of 10 million, and the one that is 123 characters long, show nowhere."""
    numbers = [*range(1000, 1999), 10_000_000]
    texts = [*["ab", "abcd"] * 499, "a", "y" * 123]
    found = profiled({"amount": numbers, "text": texts}, tmp_path)
    spread, lengths = found.column("amount").spread, found.column("text").lengths
    assert spread is not None and (spread.low, spread.high, spread.step) == (1000.0, 1990.0, 10.0)
    assert lengths is not None and (lengths.shortest, lengths.longest) == (2, 4)


@pytest.mark.slow
def test_no_value_is_in_a_profile(folder: Path) -> None:
    """Texts that stand in the table alone are in no part of the profile."""
    found = sqlanon.profile(folder / "people.parquet")
    shown = json.dumps(found.to_dict()) + "\n".join(profile_lines(found))
    data = people(400)
    for name in data.column_names:
        for value in set(data.column(name).to_pylist()):
            if isinstance(value, str) and len(value) > 5:
                assert value not in shown, name


@pytest.mark.slow
def test_text_fits_a_terminal_and_looks_are_known(folder: Path) -> None:
    found = sqlanon.profile(folder / "people.csv")
    assert max(map(len, profile_lines(found))) <= WIDTH
    assert {item.looks_like for item in found.columns} <= set(LOOKS)


@pytest.mark.parametrize(
    ("name", "kind", "topic"),
    [
        ("dob", "birth_date", None), ("Geburtsdatum", "birth_date", None), ("PLZ", "postcode", None),
        ("zipCode", "zip", None), ("native-country", "country", None), ("E-Mail", "email", None),
        ("sex", None, "sex"), ("marital.status", None, "marital"), ("Religionszugehörigkeit", None, "religion"),
        ("average", None, None), ("package", None, None), ("message", "free_text", None), ("Jahresgehalt", "amount",
        "money"),
    ],
)  # fmt: skip
def test_names_speak_in_several_languages(name: str, kind: str | None, topic: str | None) -> None:
    assert (next(iter(kinds_of(name)), None), topic_of(name)) == (kind, topic)


def test_a_name_alone_decides_nothing(tmp_path: Path) -> None:
    """Ages beyond 125 are none, and e-mail addresses are recognized whatever their column is called."""
    found = profiled({"age": [i * 100 for i in range(90)], "code": [f"p{i}@example.org" for i in range(90)]}, tmp_path)
    assert found.column("age").looks_like != "age" and found.column("code").looks_like == "email"


def test_what_a_name_says_is_not_published_because_its_values_are_unclear(tmp_path: Path) -> None:
    """Names that repeat are still names; ages with words among them are still ages; a ward is no diagnosis."""
    draw = random.Random(3)
    rows = [
        {
            "Full Name": f"{draw.choice('ABCDE')}nna {draw.choice('KLM')}och",
            "name": draw.choice(["Ada", "Bob", "Eve"]),
            "product name": draw.choice(["tea", "rye", "oat"]),
            "age": draw.choice(["unknown", "65+", *map(str, range(18, 90))]),
            "when": draw.choice(["2020-01-05", "3/4/2021", "May 2022"]),
            "ward": f"W{draw.randrange(30):02d}",
        }
        for _ in range(400)
    ]
    pyarrow.csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "t.csv")
    found = {item.name: (item.looks_like, item.role) for item in sqlanon.profile(tmp_path / "t.csv").columns}
    assert found["Full Name"] == found["name"] == ("name", "identifier")
    assert found["age"] == ("age", "quasi_identifier") and found["when"][1] == "quasi_identifier"
    assert found["product name"] == ("category", "keep")
    assert found["ward"] == ("provider", "quasi_identifier"), "no diagnosis, but where a person was treated"


def test_many_values_are_judged_by_a_part_of_them(tmp_path: Path) -> None:
    """Of 30,000 values a part is examined; a value of many records is always among them."""
    values = [*range(100_000, 130_000), *[0] * 70_000]
    found = profiled({"gain": values}, tmp_path).column("gain")
    assert isinstance(found, ColumnProfile) and found.distinct == 30_001 and found.examined < 10_000
    assert found.spread is not None and (found.spread.q50, found.spread.q25) == (0.0, 0.0)
    assert 120_000 <= found.spread.q95 <= 130_000


@pytest.mark.slow
def test_the_number_of_statements_does_not_grow_with_the_columns(tmp_path: Path) -> None:
    counts = []
    for columns in (3, 30):
        data = {f"x{i}": [str(row // 3 ** (i % 3) % 7 + i) for row in range(60)] for i in range(columns)}
        pq.write_table(pa.table(data), tmp_path / "wide.parquet")

        with open_source(tmp_path / "wide.parquet", None) as opened:
            profile_source(opened)
            counts.append(len(opened.engine.journal.entries))
    assert counts[1] - counts[0] <= 10, counts


@pytest.mark.slow
def test_the_order_in_which_an_engine_answers_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More columns follow from others than are counted: the same ones are, though a UNION ALL has no order."""
    data = {f"x{i}": [str(row // 3 ** (i % 3) % 7 + i) for row in range(60)] for i in range(30)}
    pq.write_table(pa.table(data), tmp_path / "wide.parquet")
    found = []
    for turned in (False, True):
        with open_source(tmp_path / "wide.parquet", None) as opened:
            if turned:
                run = opened.engine.run
                monkeypatch.setattr(opened.engine, "run", lambda *asked, run=run: run(*asked)[::-1])
            found.append([(item.name, item.role, item.reason) for item in profile_source(opened).columns])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("dataset", "quasi"),
    [
        ("adult/adult", 8),
        ("cmc/cmc", 7),
        ("cup/cup", 6),  # the state follows from the ZIP code
    ],
)
def test_real_tables(shared: Path, dataset: str, quasi: int) -> None:
    found = sqlanon.profile(shared / f"data/{dataset}.csv")
    assert found.csv == {"delimiter": ";"} and len(found.with_role("quasi_identifier")) == quasi
    assert found.column("AGE" if dataset == "cup/cup" else "age").looks_like == "age"


def test_separation_is_the_share_of_pairs_that_differ(connection: duckdb.DuckDBPyConnection) -> None:
    values = [None, None, None, "a", "a", "b"]
    connection.execute("CREATE TABLE t (v VARCHAR, empty VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, NULL)", [[value] for value in values])
    of = {column.name: column.separation for column in sqlanon.profile(connection, table="t").columns}
    pairs = list(itertools.combinations(values, 2))
    assert of == {"v": pytest.approx(sum(a != b for a, b in pairs) / len(pairs)), "empty": 0}
