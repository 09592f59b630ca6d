"""``sqlanon profile`` prints a table of the columns or one JSON document, and refuses what it cannot do."""

import json
import sqlite3
from pathlib import Path

import pyarrow.csv
import pytest
from command_line import sqlanon
from people import people


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(people(120), tmp_path / "people.csv", pyarrow.csv.WriteOptions(delimiter=";"))
    return tmp_path / "people.csv"


@pytest.mark.slow
def test_the_text_shows_columns_roles_and_sets(source: Path) -> None:
    done = sqlanon("profile", source)
    assert done.returncode == 0, done.stderr
    assert "120 records, 24 columns" in done.stdout and "delimiter ';'" in done.stdout
    assert "birth date" in done.stdout and "Which columns together single records out:" in done.stdout
    assert "add --write policy.yaml" in done.stdout


@pytest.mark.slow
def test_json_is_one_document(source: Path) -> None:
    done = sqlanon("profile", source, "--json", "--delimiter", ";")
    found = json.loads(done.stdout)
    assert found["records"] == 120 and len(found["columns"]) == 24
    assert found["csv"] == {"delimiter": ";", "null": ["n/a"]}
    assert "'n/a' for NULL" in [item["form"] for item in found["reading"]]
    assert {"name", "looks_like", "role", "reason", "question", "spread", "uniqueness"} <= set(found["columns"][0])
    assert found["sets"]["sets_looked_at"] == len(found["sets"]["sets"])


def test_a_file_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("34,10115\n35,10117\n36,10119\n")
    done = sqlanon("profile", tmp_path / "bare.csv", "--no-header", "--json")
    found = json.loads(done.stdout)
    assert found["records"] == 3 and "34" not in [item["name"] for item in found["columns"]]


def test_a_database_of_several_tables_lists_them(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "two.db") as lite:
        lite.execute("CREATE TABLE patients (age)")
        lite.execute("CREATE TABLE visits (day)")
    done = sqlanon("profile", tmp_path / "two.db")
    assert done.returncode == 2 and "patients" in done.stderr and "visits" in done.stderr
    assert sqlanon("profile", tmp_path / "two.db", "--table", "visits").returncode == 0
    done = sqlanon("profile", tmp_path / "two.db", "--table", "visit")
    assert done.returncode == 2 and "did you mean 'visits'" in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [("policy.txt", "would not be YAML"), ("there.yaml", "is there already"), ("no/where.yaml", "is not there")],
)
def test_a_draft_that_cannot_be_written_is_refused_before_any_work(source: Path, name: str, message: str) -> None:
    (source.parent / "there.yaml").write_text("source: x\n")
    done = sqlanon("profile", source, "--write", source.parent / name)
    assert done.returncode == 2 and message in done.stderr and not done.stdout
    assert (source.parent / "there.yaml").read_text() == "source: x\n"


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    done = sqlanon("profile", tmp_path / "absent.csv", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["error"] == "SourceError"


@pytest.mark.slow
def test_a_draft_runs_from_another_folder_as_it_stands(source: Path) -> None:
    target = source.parent / "policies" / "people.yaml"
    target.parent.mkdir()
    done = sqlanon("profile", source, "--write", target, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["written"] == str(target)
    run = sqlanon("run", target, "--dry-run", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["smallest_class"] >= 5
    again = sqlanon("profile", source, "--write", target)
    assert again.returncode == 2 and "--replace" in again.stderr
    assert sqlanon("profile", source, "--write", target, "--replace", "--no-search").returncode == 0
    assert "output: {file: released.parquet}" in target.read_text()
    other = target.with_name("others.yml")  # neither has run
    assert sqlanon("profile", source, "--write", other, "--no-search").returncode == 0
    assert "output: {file: others_released.parquet}" in other.read_text()
