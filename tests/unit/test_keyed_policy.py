"""Policies with pseudonyms and shifted dates: what they must say, how they are written, and who refuses them."""

import datetime
import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from effort import fast_of
from tables import store

import sqlanon
from sqlanon import Column, KAnonymity, Key, Policy
from sqlanon.cli import main
from sqlanon.core.policy import keyed as rules

SECRET = bytes(range(40, 90))


def document(**changes: Any) -> dict[str, Any]:
    return {
        "source": "visits.duckdb",
        "table": "t",
        "entity": "person",
        "key": {"file": "secret.key"},
        "columns": {
            "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "admitted": {"role": "shift", "days": 180, "keep_weekday": True},
            "left": {"role": "shift", "days": 180, "keep_weekday": True},
        },
        "privacy": [{"type": "k_anonymity", "k": 2}],
        "undeclared": "drop",
        **changes,
    }


def with_column(name: str, column: dict[str, Any], **changes: Any) -> dict[str, Any]:
    keys = document(**changes)
    return keys | {"columns": {**keys["columns"], name: column}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.key").write_bytes(SECRET)
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def visits(folder: Path, **columns: Any) -> None:
    """A table of ten persons with two visits each, on which columns are put."""
    day = datetime.date(2024, 1, 1)
    data = {
        "person": [n // 2 for n in range(20)],
        "sex": ["fm"[n % 2] for n in range(20)],
        "admitted": [day + datetime.timedelta(days=n) for n in range(20)],
        "left": [datetime.datetime(2024, 2, 1, 12) + datetime.timedelta(days=n) for n in range(20)],
    }
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        store(connection, pa.table(data))
        for name, (kind, value) in columns.items():
            connection.execute(f'ALTER TABLE t ALTER "{name}" TYPE {kind}')
            if value is not None:
                connection.execute(f'UPDATE t SET "{name}" = $${value}$$ WHERE person = 3')


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (document(key=None), "The role shift needs a key"),
        (document(entity=None), "the policy does not say whose they are"),
        (with_column("left", {"role": "shift"}), "Shifted dates need a window"),
        (with_column("left", {"role": "shift", "days": 0}), "not a window"),
        (with_column("left", {"role": "shift", "days": 36_501}), "not a window"),
        (with_column("left", {"role": "shift", "days": 1.5}), "not a window"),
        (with_column("left", {"role": "shift", "days": True}), "not a window"),
        (with_column("left", {"role": "shift", "days": 6, "keep_weekday": True}), "from 7 to"),
        (with_column("left", {"role": "shift", "days": 180, "keep_weekday": "yes"}), "neither true nor false"),
        (with_column("left", {"role": "shift", "days": 90, "keep_weekday": True}), "another window"),
        (with_column("left", {"role": "shift", "days": 180}), "another window"),
        (with_column("left", {"role": "shift", "days": 180, "keep_weekday": True, "max_level": 1}), "quasi-identif"),
        (with_column("left", {"role": "shift", "days": 180, "keep_weekday": True, "hierarchy": {"suppress": {}}}),
         "takes none"),
        (with_column("left", {"role": "keep", "days": 180}), "belongs to dates that are shifted"),
        (with_column("left", {"role": "drop", "keep_weekday": True}), "belongs to dates that are shifted"),
        (with_column("person", {"role": "shift", "days": 180, "keep_weekday": True}), "identifies the entity"),
        (with_column("person", {"role": "pseudonym"}), "Pseudonyms link the records of a person"),
        (with_column("ward", {"role": "pseudonym"}), "the column that identifies the person"),
        (with_column("person", {"role": "pseudonym"}, key=None), "The role pseudonym needs a key"),
    ],
)  # fmt: skip
def test_faults(keys: dict[str, Any], fault: str) -> None:
    with pytest.raises(sqlanon.PolicyError, match=fault):
        Policy.from_dict({key: value for key, value in keys.items() if value is not None})


def test_constructors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "PROTECTING", ("k_anonymity",))
    built = Policy(
        source="visits.duckdb",
        table="t",
        entity="person",
        key=Key(file="secret.key"),
        columns=(
            Column.quasi_identifier("sex", sqlanon.Suppress()),
            Column.shifted("admitted", 180, keep_weekday=True),
            Column.shifted("left", 180, keep_weekday=True),
            Column.pseudonym("person"),
        ),
        privacy=(KAnonymity(2),),
        undeclared="drop",
        base_directory=folder,
    )
    read = Policy.from_dict(with_column("person", {"role": "pseudonym"}), base_directory=folder)
    assert built == read
    assert built.to_dict() == read.to_dict()
    assert Policy.from_dict(built.to_dict()) == read
    assert built.to_dict()["columns"]["left"] == {"role": "shift", "days": 180, "keep_weekday": True}
    other = Policy.from_dict(document(key={"file": "secret.key", "context": "a"}), base_directory=folder)
    assert other.fingerprint() != Policy.from_dict(document(), base_directory=folder).fingerprint()
    assert other.question_fingerprint() == Policy.from_dict(document()).question_fingerprint()


def run(folder: Path, keys: dict[str, Any]) -> sqlanon.Release:
    return sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=folder))


def test_the_key_is_looked_for_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(sqlanon.InputError, match="key file"):
        run(tmp_path, document())  # there is no source either


def test_planning_needs_no_key(folder: Path) -> None:
    visits(folder)
    (folder / "secret.key").unlink()
    with sqlanon.plan(None, Policy.from_dict(document(), base_directory=folder)) as plan:
        assert "sqlanon_keyed" in plan.release_sql
        with pytest.raises(sqlanon.InputError, match="key file"):
            plan.publish().to_arrow()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"left": ("VARCHAR", None)}, sqlanon.UnsupportedError, r"hold no DATE or TIMESTAMP: 'left' \(VARCHAR\)"),
        ({"left": ("TIMESTAMP", "9999-12-31")}, sqlanon.InputError, r"2 values .* 'left' are within 180 days"),
        ({"left": ("TIMESTAMP", "0001-02-03 10:00:00")}, sqlanon.InputError, "2 values .* within 180 days"),
        ({"left": ("TIMESTAMP", "infinity")}, sqlanon.InputError, "2 values .* do not read as days"),
        ({"admitted": ("DATE", "0044-03-15 (BC)")}, sqlanon.InputError, "2 values .* do not read as days"),
        ({"left": ("TIMESTAMP_NS", "2262-01-01")}, sqlanon.InputError, "2 values .* within 180 days"),
        ({"admitted": ("DATE", "12024-03-15")}, sqlanon.InputError, "2 values .* do not read as days"),
    ],
)
def test_dates_that_cannot_be_shifted(
    folder: Path, columns: dict[str, Any], error: type[Exception], message: str
) -> None:
    visits(folder, **columns)
    with pytest.raises(error, match=message) as raised:
        run(folder, document())
    assert "Hint" in str(raised.value)
    assert "9999-12-31" not in str(raised.value).split("Hint")[0]


def test_another_policy_over_the_same_plan_is_looked_at_too(folder: Path) -> None:
    visits(folder, left=("TIMESTAMP", "9999-12-31"))
    narrow = document()
    narrow["columns"]["left"] = {"role": "drop"}
    wide = Policy.from_dict(document(), base_directory=folder)
    with (
        sqlanon.plan(None, Policy.from_dict(narrow, base_directory=folder)) as plan,
        pytest.raises(sqlanon.InputError, match="within 180 days"),
    ):
        plan.with_policy(wide)


TYPES = ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", fast_of(TYPES, "DATE", "TIMESTAMPTZ"))
def test_all_types_of_dates(folder: Path, kind: str) -> None:
    visits(folder, left=(kind, None))
    with run(folder, document()) as release:
        assert release.to_arrow().num_rows == 20
        with duckdb.connect(str(folder / "visits.duckdb"), read_only=True) as connection:
            source = connection.sql("SELECT * FROM t").to_arrow_table()
        types = [str(found.schema.field("left").type).replace("Etc/", "") for found in (source, release.to_arrow())]
        assert types[0] == types[1]


def test_nanoseconds_are_kept(folder: Path) -> None:
    visits(folder, left=("TIMESTAMP_NS", "2024-01-31 10:00:00.123456789"))
    with run(folder, document(output={"file": "out.csv"})):
        assert (folder / "out.csv").read_text().count(" 10:00:00.123456789") == 2


def test_who_cannot_shift_says_so_early(folder: Path) -> None:
    visits(folder)
    live = document(output={"live_view": "safe"})
    with pytest.raises(sqlanon.UnsupportedError, match="live view is read by anyone who may, and would need the key"):
        run(folder, live)
    (folder / "policy.json").write_text(json.dumps(document(source="nowhere.duckdb")))
    policy = str(folder / "policy.json")
    for arguments in (["explain", policy, "--dialect", "snowflake"], ["dbt", policy, "--to", str(folder / "dbt")]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert "key" in result.stderr
        assert "role drop" in result.stderr
    with pytest.raises(sqlanon.UnsupportedError, match="count records"):
        run(folder, document(transformation={"type": "local_recoding"}))


def test_a_collation_says_who_is_one_person(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ann and ann are one person where the column says so, and have one pseudonym."""
    monkeypatch.setattr(rules, "PROTECTING", ("k_anonymity",))
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE t (person VARCHAR COLLATE NOCASE, sex VARCHAR)")
        connection.execute("INSERT INTO t VALUES ('Ann', 'f'), ('ann', 'f'), ('Bea', 'f'), ('BEA', 'f'), ('cleo', 'f')")
    keys = document(key={"file": "secret.key", "context": "study"})
    keys["columns"] = {"person": {"role": "pseudonym"}, "sex": keys["columns"]["sex"]}
    with run(folder, keys) as release:
        found = release.to_arrow().column("person").to_pylist()
    assert len(found) == 5
    assert len(set(found)) == 3


def test_a_definition_has_no_such_role(folder: Path) -> None:
    (folder / "policy.json").write_text(json.dumps(document()))
    result = CliRunner().invoke(main, ["convert", str(folder / "policy.json"), str(folder / "policy.xml")])
    assert result.exit_code == 2
    assert "role" in result.stderr
    assert not (folder / "policy.xml").exists()


@pytest.mark.parametrize(
    "value",
    fast_of(["31.01.2024", "2024-02-30", 19_753, 2460341.5, "2024-W05-3", "20240131", "2024-01-31x"], "2024-W05-3"),
)
def test_what_sqlite_holds_in_a_column_of_dates(folder: Path, value: Any) -> None:
    with sqlite3.connect(folder / "visits.sqlite") as connection:
        connection.execute("CREATE TABLE t (person INTEGER, sex TEXT, admitted DATE, left TIMESTAMP)")
        rows = [(n // 2, "f", "2024-01-31", "2024-02-28 09:30:00.125") for n in range(6)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        connection.execute("UPDATE t SET admitted = ? WHERE person = 1", [value])
    with pytest.raises(sqlanon.InputError, match="2 values of the column 'admitted' do not read as days"):
        run(folder, document(source="visits.sqlite"))
    with sqlite3.connect(folder / "visits.sqlite") as connection:
        connection.execute("UPDATE t SET admitted = NULL WHERE person = 1")
    with run(folder, document(source="visits.sqlite", output={"file": "out.parquet"})) as release:
        found = release.to_arrow().to_pylist()
    assert len(found) == 6
    assert sum(row["admitted"] is None for row in found) == 2
    assert all(str(row["left"])[11:23] == "09:30:00.125" for row in found)
