"""What is published beside the quasi-identifiers: identifying columns are refused, the rest is counted."""

import json
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml
from beside_world import IDENTIFYING, OTHERS, QUASI, alone, apart, document, persons, visits
from command_line import sqlanon as run_cli
from sqlglot import exp
from tables import store

import sqlanon
from sqlanon.core.audit.beside import AT_ONCE, LIKELY, judge_columns
from sqlanon.core.audit.judged_columns import SourceColumn
from sqlanon.core.audit.trees import TERMS
from sqlanon.core.engines.base import Row
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.errors import IdentifyingColumnError, PolicyError, SqlanonError


@pytest.fixture
def people() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        load(connection, persons())
        yield connection


@pytest.fixture
def clinic() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        load(connection, visits())
        yield connection


def load(connection: duckdb.DuckDBPyConnection, data: pa.Table) -> None:
    store(connection, data)


def policy(data: pa.Table, *published: str, **changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(data, published, **changes))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", IDENTIFYING)
@pytest.mark.few(3)
def test_a_column_that_identifies_persons_is_refused_unless_it_is_accepted(
    people: duckdb.DuckDBPyConnection, name: str
) -> None:
    asked = policy(persons(), name, output={"table": "released"})
    with pytest.raises(IdentifyingColumnError, match=f"'{name}'") as refused:
        sqlanon.anonymize(people, asked)
    assert refused.value.exit_code == 2
    assert f"accept: [{name}]" in refused.value.hint and "drop" in refused.value.hint
    assert any(character.isdigit() for character in refused.value.message), "there is no figure"
    assert people.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
    with sqlanon.anonymize(people, replace(asked, accept=(name,))) as release:
        assert name in release.to_arrow().column_names
        assert any("accepts it" in warning and f"'{name}'" in warning for warning in release.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dirty", "unique"),
    [
        ("email", "CASE WHEN i % 20 < 11 THEN 'unknown' ELSE email END", 270),
        ("ssn", "CASE WHEN i % 10 = 0 THEN 0 ELSE ssn END", 540),
        ("account", "CASE WHEN i = 3 THEN 0.5 ELSE account END", 600),
    ],
)
def test_placeholders_and_dirty_values_hide_no_identifying_column(
    people: duckdb.DuckDBPyConnection, name: str, dirty: str, unique: int
) -> None:
    people.execute(
        f"CREATE OR REPLACE TABLE t AS SELECT * EXCLUDE (i) REPLACE ({dirty} AS {name}) "
        "FROM (SELECT row_number() OVER () - 1 AS i, * FROM t)"
    )
    with pytest.raises(IdentifyingColumnError, match=f"{unique} of {unique} values") as refused:
        sqlanon.plan(people, policy(persons(), name))
    assert refused.value.columns[name]["alone"] == unique


@pytest.mark.slow
def test_all_identifying_columns_are_named_at_once(people: duckdb.DuckDBPyConnection) -> None:
    for way in (sqlanon.plan, sqlanon.anonymize):
        with pytest.raises(IdentifyingColumnError) as refused:
            way(people, policy(persons(), *IDENTIFYING, *OTHERS))
    assert tuple(refused.value.columns) == IDENTIFYING
    assert refused.value.columns["email"]["alone"] == refused.value.columns["email"]["records"] == 600
    assert refused.value.columns["years"]["determines"]["age"] > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", ["email", "age_copy"])
def test_a_sensitive_column_that_identifies_persons_is_refused(people: duckdb.DuckDBPyConnection, name: str) -> None:
    asked = document(persons(), ())
    asked["columns"][name] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    with pytest.raises(IdentifyingColumnError, match=name):
        sqlanon.plan(people, asked)


@pytest.mark.slow
def test_transformations_and_live_views_refuse_them_too(people: duckdb.DuckDBPyConnection) -> None:
    for changes in (
        {"transformation": {"type": "patterns"}},
        {"transformation": {"type": "local_recoding", "nodes": 2}},
        {"output": {"live_view": "v"}},
    ):
        with pytest.raises(IdentifyingColumnError):
            sqlanon.anonymize(people, policy(persons(), "email", **changes))


@pytest.mark.slow
def test_another_policy_over_the_same_encoding_is_judged_anew(people: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.plan(people, policy(persons(), "stay")) as plan:
        assert plan.with_privacy(sqlanon.KAnonymity(7)).policy.privacy[0].parameters["k"] == 7
        with pytest.raises(IdentifyingColumnError, match="email"):
            plan.with_policy(policy(persons(), "stay", "email"))


@pytest.mark.slow
def test_a_column_that_stays_as_it_is_cannot_be_given_away(people: duckdb.DuckDBPyConnection) -> None:
    data = persons()
    load(people, data.set_column(0, "age", pa.array([20 + i % 2 for i in range(600)])))
    people.execute("UPDATE t SET years = age")
    asked = document(data, ("years",))
    with pytest.raises(IdentifyingColumnError, match="gives 'age' away"):
        sqlanon.plan(people, asked)
    fixed = {**asked["columns"], "age": {**QUASI["age"], "max_level": 0}}
    sqlanon.plan(people, {**asked, "columns": fixed}).close()


def test_a_copy_is_refused_though_no_value_of_it_occurs_twice(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("CREATE OR REPLACE TABLE t AS SELECT seen, seen AS copy, sex, seen + INTERVAL 1 DAY AS later FROM t")
    seen = {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}}
    asked = document(persons(), ("copy", "later"), columns={"seen": seen, "copy": {"role": "keep"}})
    with pytest.raises(IdentifyingColumnError, match="it gives 'seen' away to 100"):
        sqlanon.plan(people, asked)
    columns = {"seen": seen, "later": {"role": "keep"}}
    sqlanon.plan(people, {**asked, "columns": columns}).close()


@pytest.mark.slow
def test_few_records_are_not_enough_to_refuse(people: duckdb.DuckDBPyConnection) -> None:
    for number, refused in ((9, False), (10, True)):
        load(people, persons(number))
        asked = policy(persons(number), "email", privacy=[{"type": "k_anonymity", "k": 2}], suppression_limit=1)
        if refused:
            with pytest.raises(IdentifyingColumnError):
                sqlanon.anonymize(people, asked)
        else:
            sqlanon.anonymize(people, asked).close()


@pytest.mark.slow
def test_what_is_not_published_does_not_count(people: duckdb.DuckDBPyConnection) -> None:
    """Records outside the subset and, under the basic match, with a NULL hold values that are not published."""
    people.execute("UPDATE t SET sex = NULL, diagnosis = email WHERE age < 60")
    with pytest.raises(IdentifyingColumnError, match="diagnosis"):
        sqlanon.plan(people, policy(persons(), "diagnosis"))
    sqlanon.plan(people, policy(persons(), "diagnosis", nulls="basic")).close()


def test_only_columns_that_are_published_can_be_accepted() -> None:
    for accepted in (["age"], ["nothing"], "email", [5]):
        with pytest.raises(PolicyError, match="accept"):
            policy(persons(), "email", accept=accepted)


# -- what is reported --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_records_that_are_alone_by_kept_columns_are_reported_with_their_number(
    people: duckdb.DuckDBPyConnection,
) -> None:
    with sqlanon.anonymize(people, policy(persons(), *OTHERS)) as release:
        rows, found = release.to_arrow(), release.plan.beside_release
        assert found.records == rows.num_rows
        assert found.alone == tuple(
            (columns, alone(rows, [*QUASI, *columns]), alone(rows, [*QUASI, *columns], 5))
            for columns in (*((name,) for name in OTHERS), OTHERS)
        )
        counts = {columns: records for columns, records, _ in found.alone}
        assert counts[OTHERS] > counts["diagnosis",] > counts["stay",]
        [warning] = [warning for warning in release.warnings if "unique or rare" in warning]
        assert f"Among {found.records:,} published records" in warning and f": {counts[OTHERS]:,} unique" in warning


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["patterns", "local_recoding"])
def test_records_that_are_alone_are_counted_of_several_rules(people: duckdb.DuckDBPyConnection, kind: str) -> None:
    asked = policy(persons(), "diagnosis", "stay", transformation={"type": kind, "seed": 1} if kind != "patterns" else
                   {"type": kind}, suppression_limit=0.5)  # fmt: skip
    with sqlanon.anonymize(people, asked) as release:
        rows = release.to_arrow()
        for columns, records, few in release.plan.beside_release.alone:
            assert records == alone(rows, [*QUASI, *columns]) > 0
            assert few == alone(rows, [*QUASI, *columns], 5) > records


def test_a_column_that_nearly_gives_a_quasi_identifier_away_is_reported(people: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.plan(people, policy(persons(), "about")) as plan:
        [warning] = [warning for warning in plan.warnings if "'about'" in warning]
        assert "'age'" in warning and "%" in warning
        assert 0.8 <= plan.beside["columns"][0]["determines"]["age"] < 0.95


@pytest.mark.slow
def test_a_policy_that_protects_nobody_says_so(people: duckdb.DuckDBPyConnection) -> None:
    nothing = {"columns": {"stay": {"role": "keep"}}}
    with sqlanon.anonymize(people, policy(persons(), **nothing)) as release:
        assert any("No column is a quasi-identifier" in warning for warning in release.warnings)
    with sqlanon.anonymize(people, policy(persons(), privacy=[{"type": "k_anonymity", "k": 1}])) as release:
        assert any("k is 1" in warning for warning in release.warnings)
    with sqlanon.anonymize(people, policy(persons())) as release:
        assert release.warnings == ()


def test_records_that_few_share_by_several_kept_columns_are_reported_though_none_is_alone(
    people: duckdb.DuckDBPyConnection,
) -> None:
    """Decade and unit of the age, each kept: together they are the age, and no class holds five of one age."""
    people.execute(
        "CREATE OR REPLACE TABLE t AS SELECT 20 + (i // 2) % 60 AS age, 20 + (i // 2) % 60 AS years, "
        "(20 + (i // 2) % 60) // 10 AS tens, (i // 2) % 10 AS units FROM range(240) AS numbers(i)"
    )
    columns = {"age": QUASI["age"], "tens": {"role": "keep"}, "units": {"role": "keep"}}
    with sqlanon.anonymize(people, policy(persons(), columns=columns)) as release:
        rows, found = release.to_arrow(), release.plan.beside_release
        [(names, none, few)] = [counts for counts in found.alone if len(counts[0]) > 1]
        assert (names, none) == (("tens", "units"), 0)
        assert few == alone(rows, ["age", "tens", "units"], 5) == found.records == 240
        [warning] = [warning for warning in release.warnings if "unique or rare" in warning]
        assert "'tens', 'units': 0 unique, 240 in groups of fewer than 5" in warning
        [*_, together] = release.plan.beside["alone"]
        assert together == {"columns": ["tens", "units"], "records": 0, "fewer": 240}


@pytest.mark.slow
def test_what_few_share_is_counted_in_entities(clinic: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.anonymize(clinic, policy(visits(), "quarter", entity="person", suppression_limit=0.5)) as release:
        plan = release.plan
        query = plan.generalized_query({**plan.released, "person": "VARCHAR"})
        held: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
        for *group, person in plan.engine.run("released persons", query):
            held[tuple(group)].append(person)
        few = sum(len(found) for found in held.values() if len(set(found)) < 5)
        single = sum(len(found) for found in held.values() if len(set(found)) == 1)
        assert plan.beside_release.alone == ((("quarter",), single, few),)
        assert few > single > 0
        [warning] = [warning for warning in release.warnings if "unique or rare" in warning]
        assert f"{single} in groups of one entity, {few} in groups of fewer than 5 entities" in warning


@pytest.mark.slow
def test_a_column_that_is_accepted_but_does_not_identify_is_counted_as_others_are(
    people: duckdb.DuckDBPyConnection,
) -> None:
    counts = {}
    for accept in ([], ["seen", "email"]):
        with sqlanon.anonymize(people, policy(persons(), "seen", *accept[1:], accept=accept)) as release:
            counts[len(accept)] = release.plan.beside_release.alone
            assert any("'seen'" in warning for warning in release.warnings)
    assert counts[0] == counts[2] != ()


@pytest.mark.slow
def test_a_sensitive_column_of_nearly_unique_values_is_reported(people: duckdb.DuckDBPyConnection) -> None:
    models = [{"type": "distinct_l_diversity", "l": 2}]
    for name, reported in (("seen", True), ("weight", True), ("diagnosis", False)):
        asked = document(persons(), ("stay",))
        asked["columns"][name] = {"role": "sensitive", "models": models}
        with sqlanon.anonymize(people, asked) as release:
            rows = release.to_arrow()
            counts = [counts for counts in release.plan.beside_release.alone if counts[0] == (name,)]
            warnings = [warning for warning in release.warnings if f"The sensitive column '{name}'" in warning]
            assert len(warnings) == len(counts) == reported
            assert counts == [((name,), *(alone(rows, [*QUASI, name], k) for k in (2, 5)))][:reported]
            assert all(f"of {rows.num_rows} published records {counts[0][1]} unique" in warning for warning in warnings)
            assert len([warning for warning in release.warnings if "unique or rare" in warning]) == 1


@pytest.mark.slow
def test_a_warning_names_a_few_of_many_columns(people: duckdb.DuckDBPyConnection) -> None:
    many = [f"kept_{i}" for i in range(40)]
    people.execute(f"CREATE OR REPLACE TABLE t AS SELECT *, {', '.join(f'stay AS {name}' for name in many)} FROM t")
    with sqlanon.anonymize(people, policy(persons(), *many)) as release:
        [warning] = [warning for warning in release.warnings if "unique or rare" in warning]
        assert "'kept_5' and 34 more:" in warning and "'kept_6'" not in warning and len(warning) < 700
        assert release.plan.beside_release.alone[-1][0] == tuple(many)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["file", "table"])
def test_where_counting_the_release_fails_nothing_is_published(
    tmp_path: Path, people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    target = tmp_path / "released.parquet"
    asked = policy(persons(), "stay", output={"file": str(target)} if output == "file" else {"table": "released"})
    with sqlanon.plan(people, asked) as plan:
        run = type(plan.engine).run

        def failing(engine: Any, name: str, *rest: Any, **options: Any) -> Any:
            if name == "records beside":
                raise SqlanonError("no space", hint="make some.")
            return run(engine, name, *rest, **options)

        with monkeypatch.context() as patched:
            patched.setattr(type(plan.engine), "run", failing)
            with pytest.raises(SqlanonError):
                plan.publish()
        assert list(tmp_path.iterdir()) == []
        assert people.sql("SELECT table_name FROM duckdb_tables() WHERE table_name = 'released'").fetchall() == []
        plan.publish()
        assert target.exists() == (output == "file")


@pytest.mark.slow
def test_models_that_allow_classes_of_one_record_say_so(people: duckdb.DuckDBPyConnection) -> None:
    for model in ({"type": "distinct_l_diversity", "l": 1}, {"type": "t_closeness", "t": 1}):
        asked = document(persons(), (), privacy=[])
        asked["columns"]["diagnosis"] = {"role": "sensitive", "models": [model]}
        with sqlanon.plan(people, asked) as plan:
            assert any("may hold a single record" in warning for warning in plan.all_warnings)
    asked["privacy"] = [{"type": "k_anonymity", "k": 5}]
    with sqlanon.plan(people, asked) as plan:
        assert not any("may hold a single record" in warning for warning in plan.all_warnings)


@pytest.mark.slow
def test_quasi_identifiers_that_hold_one_value_are_reported(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("UPDATE t SET age = 40, zip = '1', sex = 'f'")
    with sqlanon.plan(people, policy(persons(), "stay")) as plan:
        assert any("holds one value in all records" in warning for warning in plan.all_warnings)
    people.execute("UPDATE t SET sex = 'm' WHERE salary % 20 = 0")
    with sqlanon.plan(people, policy(persons(), "stay")) as plan:
        assert not any("holds one value" in warning for warning in plan.all_warnings)


@pytest.mark.slow
def test_the_number_of_statements_does_not_grow_with_the_columns(people: duckdb.DuckDBPyConnection) -> None:
    data = persons().select(list(QUASI))
    load(people, data)
    counts = {}
    for published in ((), ("stay", "diagnosis"), OTHERS):
        if published:
            load(people, persons().select([*QUASI, *published]))
        with sqlanon.anonymize(people, policy(data, *published)) as release:
            journal = release.plan.engine.journal
            counts[published] = sum(journal.counts().get(name, 0) for name in BESIDE)
    # columns of few values are not grouped: their pairs are counted at once
    assert counts == {(): 0, ("stay", "diagnosis"): 4, OTHERS: 5}


BESIDE = ("repeats beside", "values beside", "groups beside", "quasi-identifiers beside", "stage release",
          "records beside", "constant beside", "linked entities")  # fmt: skip


@pytest.mark.parametrize("spilled", [10, 1000])
def test_columns_of_many_records_are_grouped_one_at_a_time(
    people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, spilled: int
) -> None:
    """What cannot fit into memory is counted by groups, which may be spilled, and the judgement is the same."""
    monkeypatch.setattr("sqlanon.core.audit.beside.SPILLED", spilled)
    shown = ["CASE WHEN i % 5 > 0 THEN i // 7 END", "i", "i % 3", "NULL", "i // 3"]
    wide = ", ".join(f"({value})::VARCHAR AS c{place}" for place, value in enumerate(shown))
    people.execute(f"CREATE OR REPLACE TABLE t AS SELECT i // 7 % 60 AS age, {wide} FROM range(300) r(i)")
    engine = Counted(connection=people)
    columns = [SourceColumn(f"c{place}", "drop") for place in range(5)]
    found = judge_columns(engine, exp.to_table("t"), columns, [SourceColumn("age", "quasi_identifier")], records=300)
    assert [(item.name, item.values, item.entity_like) for item in found] == [("c0", 43, True), ("c4", 100, True)]
    assert [name for name, _ in engine.terms].count("repeats beside") == (5 if spilled == 10 else 1)


class Counted(DuckDBEngine):
    """DuckDB that counts the queries that its statements join by UNION ALL."""

    def run(self, name: str, statement: exp.Expr | str, parameters: Sequence[Any] = ()) -> list[Row]:
        if name in BESIDE:
            assert isinstance(statement, exp.Expr)
            self.terms = [*getattr(self, "terms", []), (name, 1 + len(list(statement.find_all(exp.Union))))]
        return super().run(name, statement, parameters)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["keep", "drop"])
def test_wide_tables_are_judged_by_short_statements(people: duckdb.DuckDBPyConnection, role: str) -> None:
    """Hundreds of columns that repeat, as an entity does: no statement holds more than some tens of queries."""
    wide = ", ".join(f"(i // 7)::VARCHAR || 'c' AS c{place}" for place in range(90))
    people.execute(f"CREATE OR REPLACE TABLE t AS SELECT i % 60 AS age, i % 40 AS zip, {wide} FROM range(300) r(i)")
    quasi = [SourceColumn(name, "quasi_identifier") for name in ("age", "zip")]
    columns = [SourceColumn(f"c{place}", role) for place in range(90)]
    engine = Counted(connection=people)
    found = judge_columns(engine, exp.to_table("t"), columns, quasi)
    asked = Counter(name for name, _ in engine.terms)
    assert max(terms for _, terms in engine.terms) <= TERMS
    if role == "keep":
        assert [item.name for item in found] == [f"c{place}" for place in range(90)]
        assert asked["values beside"] == -(-92 // TERMS) and asked["repeats beside"] == 0
    else:
        assert len(found) == LIKELY
        assert asked["repeats beside"] == -(-90 // AT_ONCE) and asked["values beside"] == 1
        assert sum(terms for _, terms in engine.terms) <= 90 // AT_ONCE + 1 + (LIKELY + 2) + LIKELY + 2 * LIKELY


@pytest.mark.slow
def test_a_wide_file_of_sqlite_is_published(tmp_path: Path) -> None:
    """SQLite takes a statement of 500 queries at most."""
    draw = random.Random(1)
    quasi, kept = [f"q{place}" for place in range(5)], [f"k{place}" for place in range(110)]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} INTEGER' for name in (*quasi, *kept))})")
        rows = [[draw.randrange(10 if place < 5 else 30) for place in range(115)] for _ in range(60)]
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 115)})", rows)
        connection.commit()
    asked = {
        "source": "s.db", "table": "t", "privacy": [{"type": "k_anonymity", "k": 2}], "suppression_limit": 1,
        "columns": dict.fromkeys(quasi, QUASI["sex"]) | {name: {"role": "keep"} for name in kept},
        "output": {"file": "released.csv"},
    }  # fmt: skip
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(asked), encoding="utf-8")
    done = run_cli("run", path, "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["beside"]["columns"]) == 110


# -- bytes of SQLite ---------------------------------------------------------------------------------------------------


def photos(path: Path, role: str) -> Path:
    """Write a policy over persons with photos, declared as such and in a column of texts."""
    with closing(sqlite3.connect(path / "s.db")) as connection:
        connection.execute("CREATE TABLE t (age INTEGER, photo BLOB, file TEXT)")
        rows = [(i % 20, bytes([255, i % 250, i // 250]), bytes([254, i % 250])) for i in range(300)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
    asked = document(persons(), (), source="s.db")
    asked["columns"] = {"age": QUASI["age"], "photo": {"role": "drop"}, "file": {"role": "drop"}} | (
        {} if role == "drop" else {role: {"role": "keep"}}
    )
    (path / "policy.yaml").write_text(yaml.safe_dump(asked), encoding="utf-8")
    return path / "policy.yaml"


def test_bytes_that_are_not_published_fail_no_run(tmp_path: Path) -> None:
    done = run_cli("run", photos(tmp_path, "drop"), "--json")
    assert done.returncode == 0, done.stderr


def test_bytes_that_are_published_are_judged(tmp_path: Path) -> None:
    refused = json.loads(run_cli("run", photos(tmp_path, "photo"), "--json").stdout)
    assert refused["error"] == "IdentifyingColumnError"
    assert refused["columns"]["photo"]["alone"] == 300


def test_bytes_in_a_column_of_texts_are_refused_by_its_name(tmp_path: Path) -> None:
    refused = json.loads(run_cli("run", photos(tmp_path, "file"), "--json").stdout)
    assert refused["error"] == "UnsupportedError"
    assert "'file'" in refused["message"] and "drop" in refused["hint"]


# -- persons with several records --------------------------------------------------------------------------------------


def test_a_dropped_column_that_looks_like_the_person_is_reported(clinic: duckdb.DuckDBPyConnection) -> None:
    data = visits()
    with sqlanon.anonymize(clinic, policy(data)) as release:
        [(name, classes, fewer)] = [item for item in release.plan.beside_release.few if item[0] == "person"]

        held: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)
        query = release.plan.generalized_query({**release.plan.released, "person": "VARCHAR"})
        for *of_class, person in release.plan.engine.run("released persons", query):
            held[tuple(of_class)].add(person)
        assert (name, classes, fewer) == ("person", len(held), sum(len(found) < 5 for found in held.values()))
        assert fewer > 0
        [warning] = [warning for warning in release.warnings if "'person'" in warning]
        assert f"{fewer} of {classes} classes" in warning and "entity: person" in warning
    with sqlanon.anonymize(clinic, policy(data, entity="person")) as release:
        assert release.warnings == () and release.plan.beside_release.few == ()


@pytest.mark.slow
def test_a_kept_column_that_names_persons_with_several_records_is_refused(clinic: duckdb.DuckDBPyConnection) -> None:
    for changes in ({}, {"entity": "person"}):
        with pytest.raises(IdentifyingColumnError, match="pseudonym"):
            sqlanon.plan(clinic, policy(visits(), "pseudonym", **changes))


@pytest.mark.slow
def test_linked_records_of_persons_are_reported_with_the_number_of_persons(clinic: duckdb.DuckDBPyConnection) -> None:
    data = visits()
    quarter = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    asked = document(data, ("pseudonym", "blood"), entity="person", accept=["pseudonym"], suppression_limit=0.5)
    asked["columns"]["quarter"] = {**quarter, "max_level": 0}
    with sqlanon.anonymize(clinic, asked) as release:
        rows, found = release.to_arrow().to_pylist(), release.plan.beside_release
        assert found.linking == ("pseudonym", "blood")
        pairs = [(row["pseudonym"], tuple(row[name] for name in (*QUASI, "quarter"))) for row in rows]
        assert found.linked == len({person for person, _ in pairs})
        assert found.apart == apart(pairs, 5) > 0
        [warning] = [warning for warning in release.warnings if "linked" in warning]
        assert f"{found.apart} of {found.linked} persons" in warning
    del asked["columns"]["pseudonym"]
    with sqlanon.anonymize(clinic, {**asked, "accept": []}) as release:
        assert not any("linked" in warning for warning in release.warnings), "four blood groups link nobody"


# -- where it is read --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_terminal_json_and_report_tell_the_same(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        load(connection, persons())
    asked = document(persons(), ("email", "diagnosis"), source="s.duckdb")
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(asked), encoding="utf-8")
    refused = run_cli("run", path, "--json")
    assert refused.returncode == 2
    document_of_error = json.loads(refused.stdout)
    assert document_of_error["error"] == "IdentifyingColumnError"
    assert document_of_error["columns"]["email"]["alone"] == 600
    assert "example.org" not in refused.stdout + refused.stderr
    path.write_text(yaml.safe_dump({**asked, "accept": ["email"]}), encoding="utf-8")
    report = tmp_path / "report.txt"
    done = run_cli("run", path, "--json", "--report", report)
    found = json.loads(done.stdout)
    assert [item["column"] for item in found["beside"]["columns"]] == ["email", "diagnosis"]
    [of_diagnosis] = found["beside"]["alone"]
    for text in (done.stderr, " ".join(report.read_text(encoding="utf-8").split())):
        assert "accepts it" in text and f"'diagnosis': {of_diagnosis['records']}" in text
    assert any("unique or rare" in warning for warning in found["warnings"])
    explained = run_cli("explain", path, "--dialect", "duckdb")
    assert f"'diagnosis': {of_diagnosis['records']}" in explained.stderr and "unique or rare" not in explained.stdout


@pytest.mark.slow
def test_a_policy_that_generalizes_less_is_judged_as_by_itself() -> None:
    """The judgement of a source is shared by policies of which one generalizes less; entities count persons."""
    with duckdb.connect() as connection:
        for data, published, more in (
            (persons(), ("about", "stay", "diagnosis", "salary"), {}),
            (visits(), ("blood", "quarter"), {"entity": "person"}),
        ):
            load(connection, data)
            full = document(data, published, **more, privacy=[{"type": "k_anonymity", "k": 1}])
            names = [name for name in QUASI if name in data.column_names]
            with sqlanon.plan(connection, full) as plan:
                for number in range(0, 2 ** len(names), 3):
                    kept = [name for place, name in enumerate(names) if number >> place & 1]
                    columns = {
                        name: {**column, "max_level": 0} if name in kept else column
                        for name, column in full["columns"].items()
                    }
                    less = sqlanon.Policy.from_dict({**full, "columns": columns})
                    with sqlanon.plan(connection, less) as own:
                        assert plan.with_policy(less).beside == own.beside, kept


@pytest.mark.parametrize("ordered", [False, True])
def test_what_the_first_records_decide_is_what_all_say(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    """Also where the first records are those of which no guess errs, or each."""
    draw, found = random.Random(3), [SourceColumn("kept", "keep"), SourceColumn("noisy", "keep")]
    shares: set[bool] = set()
    with closing(DuckDBEngine()) as engine:
        for noise in [place / 24 for place in range(24)] * 2:
            rows = [(value, *[draw.choice("xyz") if draw.random() < noise else value for _ in range(2)])
                    for value in draw.choices("abc", (8, 3, 1), k=400)]  # fmt: skip
            rows.sort(key=(lambda row: (row[0] != row[1]) == ordered) if draw.random() < 0.7 else None)
            columns = dict(zip(("guessed", "kept", "noisy"), zip(*rows, strict=True), strict=True))
            engine.load("rows", "rows", pa.table({name: list(cells) for name, cells in columns.items()}))
            judged = []
            for many in (1, 10**9):
                monkeypatch.setattr("sqlanon.core.audit.beside.MANY", many)
                quasi = [SourceColumn("guessed", "quasi_identifier")]
                judged.append(judge_columns(engine, exp.to_table("rows"), found, quasi))
            assert judged[0] == judged[1]
            shares.add(bool(judged[0][0].determines))
            engine.drop("rows")
        counts = engine.journal.counts()
    assert (
        shares == {False, True} and 48 < counts["quasi-identifiers beside"] < 96 == counts["first records beside"] * 2
    )
