"""A table that is not there: the message lists those that are, by the names that a policy may write."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest
from command_line import sqlanon as shell
from postgres_server import Server, execute

import sqlanon
from sqlanon.source.opening import open_source

CREATED = 'CREATE TABLE patients (a INT); CREATE VIEW wards AS SELECT 1 AS a; CREATE TABLE "odd.name" (a INT);'


def hint(source: object, table: str | None) -> str:
    with pytest.raises(sqlanon.SourceError) as caught:
        open_source(source, table)
    return caught.value.hint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"{CREATED} CREATE SCHEMA s; CREATE TABLE s.visits (a INT); INSERT INTO patients VALUES (1)")
    return tmp_path / "d.duckdb"


def test_duckdb(file: Path) -> None:
    assert hint(file, "nowhere") == "the source has '\"odd.name\"', 'patients', 's.visits', 'wards'."
    assert hint(file, "patient").startswith("did you mean 'patients'? the source has")
    assert hint(file, None) == hint(file, "nowhere")
    for name in ('"odd.name"', "patients", "s.visits", "wards"):
        open_source(file, name).engine.close()


def test_a_connection(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TEMPORARY TABLE mine (a INT); ATTACH ':memory:' AS other; CREATE TABLE other.o (a INT)"
        )
        assert "'other.main.o', 'patients', 's.visits', 'wards'" in hint(connection, "nowhere")


def test_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        connection.executescript(f"{CREATED} CREATE TABLE sqlitedata (a INTEGER PRIMARY KEY AUTOINCREMENT);")
    assert hint(tmp_path / "d.sqlite", "nowhere") == "the source has '\"odd.name\"', 'patients', 'sqlitedata', 'wards'."


def test_postgres(postgres: Server) -> None:
    execute(postgres, *CREATED.split("; "), "CREATE SCHEMA s", "CREATE TABLE s.visits (a INT)", "CREATE ROLE r LOGIN")
    assert hint(postgres.uri(), "nowhere") == "the source has '\"odd.name\"', 'patients', 's.visits', 'wards'."
    execute(postgres, "GRANT USAGE ON SCHEMA s TO r", "GRANT SELECT (a) ON s.visits TO r")
    assert hint(postgres.uri(user="r"), "nowhere") == "the source has 's.visits'."


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        for number in range(100, 200):
            connection.execute(f"CREATE TABLE t{number} (a INT)")
    assert hint(tmp_path / "d.duckdb", "nowhere").endswith("'t129', … (100 in all).")


def test_check_speaks_of_no_policy(file: Path, tmp_path: Path) -> None:
    for arguments in ([file], [file, "nowhere"], [tmp_path / "none.csv"], [tmp_path], ["/dev/null"]):
        done = shell("check", *arguments, "--qi", "a", "--k", 2)
        printed = done.stderr.replace(str(tmp_path), "")
        assert done.returncode == 2 and "policy" not in printed and "key " not in printed, printed
