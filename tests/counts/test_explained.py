"""``sqlanon explain`` of a document of counts: what it prints counts the cells, for whoever has the table alone."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import duckdb
import pytest
import sqlglot
from command_line import sqlanon
from postgres_server import Server

DOCUMENT = """
source: people.duckdb
table: people
entity: person
columns: {age: {hierarchy: {intervals: {width: 10, fanouts: [2]}}}}
counts: {by: {dimensions: {sex: 0, age: [1, 2]}}, other: {dimensions: [region]}}
"""
ROWS = [(n % 70, "fm"[n % 7 < 3], n * 5 % 43, f"r{n % 5}" if n % 11 else None) for n in range(300)]
"""Persons with several ages and regions."""


def expected() -> Counter[int]:
    """The true counts of persons of all cells with any: sex by ages and by regions, and their totals."""
    persons: dict[tuple[object, ...], set[int]] = {}
    for person, sex, age, region in ROWS:
        for own in (sex, None):
            for group in (("", age // 10), ("2", age // 20), None):
                persons.setdefault(("a", own, group), set()).add(person)
        persons.setdefault(("r", region, "in"), set()).add(person)
    return Counter(len(each) for each in persons.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table in DuckDB and SQLite, and its document."""
    monkeypatch.chdir(tmp_path)
    Path("counts.yaml").write_text(DOCUMENT)
    with duckdb.connect("people.duckdb") as connection, sqlite3.connect("people.sqlite") as other:
        for each in (connection, other):
            each.execute("CREATE TABLE people (person INT, sex TEXT, age INT, region TEXT)")
            each.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", ROWS)
    return tmp_path


@pytest.mark.parametrize("dialect", [None, "duckdb", "sqlite"])
def test_the_statement_counts_the_cells(folder: Path, dialect: str | None) -> None:
    done = sqlanon("explain", "counts.yaml", *([] if dialect is None else ["--dialect", dialect]))
    assert done.returncode == 0 and "Nothing is suppressed" in done.stdout
    assert ("GROUPING SETS" in done.stdout) == (dialect != "sqlite")
    opened = sqlite3.connect("people.sqlite") if dialect == "sqlite" else duckdb.connect("people.duckdb")
    counts = opened.execute(f"SELECT contributors FROM ({done.stdout.rstrip().rstrip(';')})").fetchall()
    opened.close()
    assert Counter(count for (count,) in counts) == expected()


@pytest.mark.parametrize("dialect", ["postgres", "spark", "databricks", "snowflake", "bigquery", "trino", "clickhouse"])
def test_other_dialects_have_it_too(folder: Path, dialect: str) -> None:
    done = sqlanon("explain", "counts.yaml", "--dialect", dialect, "--source-table", "clinic.people")
    assert done.returncode == 0 and not [*folder.glob("*.csv")]
    [tree] = sqlglot.parse(done.stdout, dialect="spark" if dialect == "databricks" else dialect)
    assert tree is not None and {
        t.sql().lower().replace("`", '"') for t in tree.find_all(sqlglot.exp.Table) if t.db
    } == {'"clinic"."people"'}


def test_options_of_policies_alone_are_refused(folder: Path) -> None:
    for options in (["--node", "0"], ["--lookups", "x"], ["--source-table", "t"]):
        done = sqlanon("explain", "counts.yaml", *options)
        assert done.returncode == 2 and options[0] in done.stderr and not done.stdout


@pytest.mark.slow
def test_the_statement_counts_the_cells_in_postgresql(folder: Path, postgres: Server) -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")
    printed = sqlanon("explain", "counts.yaml", "--dialect", "postgres", "--source-table", "explained").stdout
    with dbapi.connect(postgres.uri()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE explained (person INT, sex TEXT, age INT, region TEXT)")
        cursor.executemany("INSERT INTO explained VALUES ($1, $2, $3, $4)", ROWS)
        cursor.execute(f"SELECT contributors FROM ({printed.rstrip().rstrip(';')}) AS cells")
        assert "GROUPING SETS" in printed and Counter(count for (count,) in cursor.fetchall()) == expected()
