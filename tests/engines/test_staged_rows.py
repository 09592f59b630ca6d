"""Where joining records with lookups is dear, a release is read from the table that its findings were counted in."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from policies import document_of, intervals, quasi
from sqlglot import exp

import sqlanon
from sqlanon import KAnonymity, Output
from sqlanon.core.source.beside import judge_source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table

PEOPLE = [(i, str(10 + i % 3 if i % 41 else 77 + i), 20 + i % 7, i % 5) for i in range(300)]
STATEMENTS = ("stage release", "stage beside", "write")


def document(**changes: Any) -> dict[str, Any]:
    columns = {"id": "drop", "zip": quasi({"redact": {"width": 2}}), "age": intervals(5), "stay": "keep"}
    return document_of(columns, changes, k=3, table="people", suppression_limit=0.1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Records in a file of SQLite."""
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER, zip TEXT, age INTEGER, stay INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", PEOPLE)
    return path


@pytest.fixture
def plan(source: Path) -> Iterator[Any]:
    """A plan that suppresses records."""
    with sqlanon.plan(source, document()) as found:
        assert found.ledger.suppressed > 0
        yield found


def counts(plan: Any) -> list[int]:
    return [plan.engine.journal.counts().get(name, 0) for name in STATEMENTS]


def staged(plan: Any) -> list[str]:
    query = "SELECT name FROM sqlite_temp_schema WHERE type = 'table'"
    return [name for (name,) in plan.engine.run("tables", query) if name.startswith(names.STAGED_RELEASE)]


def expected(plan: Any) -> list[tuple[Any, ...]]:
    return sorted(plan.engine.run("rows", plan._release_query()), key=repr)


def written(path: Path) -> list[tuple[Any, ...]]:
    return sorted(duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall(), key=repr)


def test_records_meet_their_lookups_once(source: Path) -> None:
    """The classes that pass, their texts and those of the columns are tables of their own, joined with the codes of
    the records."""
    with sqlanon.plan(source, document(output={"table": "released"})) as plan:
        plan.publish()
        assert counts(plan) == [5, 0, 1]
        assert staged(plan) == []
        released = sorted(plan.engine.run("read", "SELECT * FROM released"), key=repr)
        assert released == expected(plan)
        plan.publish(Output("table", "again"))
        assert counts(plan) == [5, 0, 6]
        assert sorted(plan.engine.run("read", "SELECT * FROM again"), key=repr) == released


def test_a_release_of_quasi_identifiers_alone_is_not_staged(source: Path) -> None:
    asked = document(output={"table": "released"})
    asked["columns"]["stay"] = {"role": "drop"}
    with sqlanon.plan(source, asked) as plan:
        plan.publish()
        assert counts(plan) == [0, 0, 5]


@pytest.mark.slow
def test_plans_over_one_source_publish_their_own_rows(plan: Any, tmp_path: Path) -> None:
    coarse = plan.with_privacy(KAnonymity(k=40))
    assert coarse.levels != plan.levels
    for found in (plan, coarse):
        assert found.beside_release.records == found.ledger.published
    assert len(staged(plan)) == 2
    for place, found in enumerate((plan, coarse)):
        path = tmp_path / f"{place}.parquet"
        found.publish(Output.file(path))
        assert written(path) == expected(found)
    assert staged(plan) == []


def test_a_source_that_changed_after_the_rows_were_staged_is_refused(source: Path) -> None:
    asked = document(output={"table": "released"})
    with sqlanon.plan(source, asked) as plan:
        assert plan.all_warnings is not None and len(staged(plan)) == 1
        with closing(sqlite3.connect(source)) as other, other:
            other.execute("DELETE FROM people WHERE id < 9")
        with pytest.raises(sqlanon.SourceChangedError):
            plan.publish()
    with closing(sqlite3.connect(source)) as other:
        assert other.execute("SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE '%release%'").fetchall() == [(0,)]


def test_records_that_change_after_they_were_staged_are_published_as_they_are(tmp_path: Path) -> None:
    """An open connection of DuckDB does not tell that another wrote to its tables."""
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, zip TEXT, age INTEGER, stay INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", PEOPLE)
        with sqlanon.plan(connection, document()) as plan:
            assert plan.all_warnings is not None and counts(plan) == [1, 0, 0]
            connection.execute("UPDATE people SET stay = stay + 100")
            path = tmp_path / "released.parquet"
            plan.publish(Output.file(path))
            assert written(path) == expected(plan)
            assert min(row[-1] for row in written(path)) >= 100


def test_of_a_file_records_meet_their_lookups_once_on_duckdb(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "people.duckdb"))) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, zip TEXT, age INTEGER, stay INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", PEOPLE)
    with sqlanon.plan(tmp_path / "people.duckdb", document()) as plan:
        plan.publish(Output.file(tmp_path / "released.parquet"))
        assert counts(plan) == [1, 0, 1]
        listed = "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, ?)"
        assert plan.engine.run("tables", listed, [names.STAGED_RELEASE]) == []
        assert written(tmp_path / "released.parquet") == expected(plan)


@pytest.mark.parametrize(
    "changes",
    [
        {"nulls": "basic"},
        {"uncovered": "top"},
        {"uncovered": "suppress", "suppressed": "redact"},
        {"privacy": [{"type": "average_risk", "threshold": 0.1}, {"type": "k_anonymity", "k": 2}]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_codes_of_records_publish_what_their_lookups_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """Records whose key takes two words, with NULLs, values that no hierarchy lists, and names of columns of ours."""
    draw = random.Random(7)
    people = [
        (
            draw.choice("abc") if draw.random() < 0.97 else draw.choice([None, "unlisted"]),
            *("".join(draw.choices("wxyz", k=9)) if draw.random() < 0.97 else None for _ in range(4)),
            draw.choice(["flu", "gout", None]),
            draw.randrange(5),
        )
        for _ in range(900)
    ]
    path = tmp_path / "people.sqlite"
    texts = ("key_0", "n", "column_0", "records")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"CREATE TABLE people (kind TEXT, {' TEXT, '.join(texts)} TEXT, illness TEXT, key_1 INTEGER)"
        )
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", people)
    (tmp_path / "kinds.csv").write_text("a;*\nb;*\nc;*\n")
    columns: dict[str, Any] = {"kind": {"role": "quasi_identifier", "hierarchy": "kinds.csv"}}
    columns |= {name: {"role": "quasi_identifier", "hierarchy": {"redact": {"width": 9}}} for name in texts}
    columns |= {"illness": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}}
    columns |= {"key_1": {"role": "keep"}}
    asked = {"uncovered": "top", **document(columns=columns, suppression_limit=0.3), **changes}
    with sqlanon.plan(path, sqlanon.Policy.from_dict(asked, base_directory=tmp_path)) as plan:
        assert plan.catalog.words > 1 and plan.ledger.suppressed > 0
        query = plan._rows_query()
        assert {found.name for found in query.find_all(exp.Table)} & {names.CODED, "people"} == {names.CODED}
        assert sorted(plan.engine.run("rows", query), key=repr) == expected(plan) != []
        counted, run = list[Any](), plan.engine.run

        def noted(name: str, *asked: Any) -> Any:
            counted.append((name, run(name, *asked)))
            return counted[-1][1]

        monkeypatch.setattr(plan.engine, "run", noted)
        source = replace(plan._session.encoding.source, population=table("people"))  # then no lookup counts
        for encoding in (plan._session.encoding, replace(plan._session.encoding, source=source)):
            assert judge_source(plan.engine, encoding, plan.policy) == plan.beside_source
        values = [rows for name, rows in counted if name == "values beside"]
        assert values[: len(values) // 2] == values[len(values) // 2 :] != []
