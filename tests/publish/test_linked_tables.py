"""Several tables: what is refused before anything is done, what the audits find, and what a failure leaves behind."""

import contextlib
import json
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import effort
import pytest
from command_line import sqlanon as run_command
from digests import without_digests
from policies import file_of

import sqlanon
from sqlanon.core.audit.linked import AuditedTable, audit_links
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy.columns import Column
from sqlanon.core.policy.facts import ROLES
from sqlanon.core.policy.parts import keys_of
from sqlanon.core.publish.papers import check_papers
from sqlanon.core.publish.workplace import settle_left_behind
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import (
    AuditError,
    IdentifyingColumnError,
    InputError,
    NoSolutionError,
    PolicyError,
    SourceChangedError,
    SqlanonError,
    TargetError,
    UnsupportedError,
)
from sqlanon.parameters import names_of
from sqlanon.tables import publishing
from sqlanon.tables.keys import COLUMN_KEYS, COLUMN_ROLES

KINDS = effort.fast_of(
    [{"file": "out.duckdb"}, {"folder": "out"}, {"folder": "out", "format": "csv"}], {"file": "out.duckdb"}
)
SUPPRESS = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}


def document(**changes: Any) -> dict[str, Any]:
    return {
        "source": "clinic.duckdb",
        "tables": {
            "patients": {"key": "pid", "columns": {"sex": SUPPRESS}},
            "visits": {"key": "vid", "parent": {"patients": "patient"}, "columns": {"year": SUPPRESS}},
            "diagnoses": {"parent": {"visits": "visit"}, "columns": {"icd": SUPPRESS, "ward": {"role": "keep"}}},
        },
        "privacy": [{"type": "profile_k", "k": 2}],
        "suppression_limit": 1,
        **changes,
    }


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Path]:
    """A folder with a database of 40 patients, and a policy for it."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("""
            CREATE TABLE patients AS SELECT i AS pid, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex
            FROM range(40) AS t(i);
            CREATE TABLE visits AS SELECT i AS vid, i % 20 AS patient, 2000 + i % 2 AS year FROM range(30) AS t(i);
            CREATE TABLE diagnoses AS SELECT i AS visit, 'J' || (i % 3)::TEXT AS icd, 'w' || (i % 2)::TEXT AS ward
            FROM range(25) AS t(i);
        """)
    return tmp_path


def anonymize(folder: Path, **changes: Any) -> sqlanon.TablesRelease:
    return sqlanon.anonymize_tables(sqlanon.TablesPolicy.from_dict(document(**changes), base_directory=folder))


def test_values_that_no_hierarchy_reads_are_warned_of_by_table(clinic: Path) -> None:
    groups = {"role": "quasi_identifier", "hierarchy": {"groups": {"early": ["1990"], "late": ["1991"]}}}
    tables = {name: dict(item) for name, item in document()["tables"].items()}
    tables["visits"]["columns"] = {"year": groups}
    warnings = anonymize(clinic, tables=tables, uncovered="top").warnings
    [warning] = [text for text in warnings if "cannot read" in text]
    assert warning.startswith("Table 'visits': ") and "'year': 30 of 30" in warning


def change(folder: Path, statement: str) -> None:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(statement)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE visits SET vid = NULL WHERE vid < 3", "is NULL in 3 rows"),
        ("UPDATE visits SET vid = 4 WHERE vid IN (5, 6)", "2 rows have a key that another row has"),
        ("INSERT INTO patients VALUES (0, 'f')", "1 rows have a key that another row has"),
        ("UPDATE visits SET patient = NULL WHERE vid < 2", "is NULL in 2 rows"),
        ("UPDATE visits SET patient = 99 WHERE vid < 4", "4 rows of the table 'visits' have no row in 'patients'"),
        ("DELETE FROM visits WHERE vid = 7", "1 rows of the table 'diagnoses' have no row in 'visits'"),
    ],
)
def test_keys_that_do_not_link_are_errors_with_their_number(clinic: Path, statement: str, message: str) -> None:
    change(clinic, statement)
    with pytest.raises(InputError, match=message):
        anonymize(clinic)


@pytest.mark.slow
def test_a_column_of_another_table_that_gives_a_value_away_is_refused(clinic: Path) -> None:
    change(clinic, "ALTER TABLE diagnoses ADD COLUMN code VARCHAR")
    change(
        clinic, "UPDATE diagnoses SET code = (SELECT sex FROM patients JOIN visits ON pid = patient WHERE vid = visit)"
    )
    tables = document()["tables"]
    tables["diagnoses"]["columns"]["code"] = {"role": "keep"}
    with pytest.raises(IdentifyingColumnError, match=r"'diagnoses\.code' .*gives 'patients\.sex' away"):
        anonymize(clinic, tables=tables)
    tables["diagnoses"]["accept"] = ["code"]
    assert any("'diagnoses.code'" in warning for warning in anonymize(clinic, tables=tables).warnings)


@pytest.mark.parametrize("kind, value", [
    ("VARCHAR", "'no ' || patient"), ("VARCHAR[]", "['no ' || patient]"),
    ("STRUCT(n VARCHAR)", "{n: 'no ' || patient}"),
])  # fmt: skip
def test_a_column_that_names_persons_is_refused_however_often_each_stands(clinic: Path, kind: str, value: str) -> None:
    change(clinic, f"ALTER TABLE visits ADD COLUMN phone {kind}")
    change(clinic, f"UPDATE visits SET phone = {value}")
    tables = document()["tables"]
    tables["visits"]["columns"]["phone"] = {"role": "keep"}
    with pytest.raises(IdentifyingColumnError, match=r"'visits\.phone'"):
        anonymize(clinic, tables=tables)


def mistakes() -> list[Any]:
    """Changes of a sound policy, with the key of the fault that each is."""

    def of_table(name: str, **keys: Any) -> Callable[[dict[str, Any]], None]:
        return lambda policy: policy["tables"][name].update(keys)

    def of_column(table_name: str, column: str, value: Any) -> Callable[[dict[str, Any]], None]:
        return lambda policy: policy["tables"][table_name]["columns"].update({column: value})

    def of_policy(**keys: Any) -> Callable[[dict[str, Any]], None]:
        return lambda policy: policy.update(keys)

    watched = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    uncovered = {**SUPPRESS, "uncovered": "suppress"}
    return [
        (of_policy(privacy=[{"type": "k_anonymity", "k": 2}]), "privacy[0]"),
        (of_policy(privacy=[{"type": "profile_k", "k": 1}]), "privacy[0].k"),
        (of_policy(privacy=[{"type": "profile_k", "k": 2, "at_most": 1}]), "privacy[0].at_most"),
        (of_policy(privacy=[{"type": "profile_k", "k": 2}] * 2), "privacy"),
        (of_policy(privacy=[]), "privacy"),
        (of_policy(tables={}), "tables"),
        (of_policy(table="patients"), "table"),
        (of_policy(transformation={"type": "patterns"}), "transformation"),
        (of_policy(entity="pid"), "entity"),
        (of_policy(patients={}), "patients"),
        (of_policy(nulls="ignored"), "nulls"),
        (of_policy(output={"file": "out.parquet"}), "output.file"),
        (of_policy(output={"table": "out"}), "output.table"),
        (of_policy(output={"folder": "out", "format": "xml"}), "output.format"),
        (of_policy(quality={"measure": "discernibility"}), "quality.measure"),
        (of_policy(key={"file": "a", "env": "B"}), "key"),
        (of_policy(suppression_limit=2), "suppression_limit"),
        (of_table("visits", parent={"nobody": "patient"}), "tables.visits.parent"),
        (of_table("visits", parent="patients"), "tables.visits.parent"),
        (of_table("visits", key="patient"), "tables.visits.key"),
        (of_table("visits", key=None), "tables.visits.key"),
        (of_table("visits", columns={}), "tables.visits.columns"),
        (of_table("patients", parent={"diagnoses": "icd"}), "tables"),
        (lambda policy: policy["tables"]["visits"].pop("parent"), "tables"),
        (of_column("visits", "vid", {"role": "keep"}), "tables.visits.columns.vid.role"),
        (of_column("visits", "year", watched), "tables.visits.columns.year.role"),
        (of_column("visits", "year", {"role": "pseudonym"}), "tables.visits.columns.year.role"),
        (of_column("visits", "year", {"role": "shift", "days": 9}), "tables.visits.columns.year.role"),
        (of_column("visits", "year", {**SUPPRESS, "days": 9}), "tables.visits.columns.year.days"),
        (of_column("visits", "year", uncovered), "tables.visits.columns.year.uncovered"),
        (of_column("visits", "year", {"role": "quasi_identifier"}), "tables.visits.columns.year.hierarchy"),
    ]


@pytest.mark.parametrize(("change_policy", "key"), mistakes())
def test_faults_of_a_policy_name_their_keys(change_policy: Callable[[dict[str, Any]], None], key: str) -> None:
    policy = json.loads(json.dumps(document()))
    change_policy(policy)
    with pytest.raises(PolicyError) as raised:
        sqlanon.TablesPolicy.from_dict(policy)
    assert key in [fault.key for fault in raised.value.faults]
    assert all(fault.hint for fault in raised.value.faults)


def test_a_policy_of_several_tables_is_refused_where_one_is_needed() -> None:
    with pytest.raises(PolicyError, match="can be run, and nothing else"):
        sqlanon.Policy.from_dict(document())


def test_other_engines_are_refused_early(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "clinic.db") as connection:
        connection.execute("CREATE TABLE patients (pid INTEGER, sex TEXT)")
    with pytest.raises(UnsupportedError, match="SQLite"):
        anonymize(tmp_path, source="clinic.db")


@pytest.mark.slow
def test_a_table_that_is_not_there_is_named(clinic: Path) -> None:
    tables = document()["tables"]
    tables["visits"]["table"] = "stays"
    with pytest.raises(InputError, match="'visits' cannot be read"):
        anonymize(clinic, tables=tables)
    tables = document()["tables"]
    tables["visits"]["columns"]["month"] = SUPPRESS
    with pytest.raises(InputError, match=r"Table 'visits': .*'month'"):
        anonymize(clinic, tables=tables)


TREES = {
    "patients": [("p1", "f"), ("p2", "f"), ("p3", "m"), ("p4", "m")],
    "visits": [("v1", "p1", "x"), ("v2", "p1", "x"), ("v3", "p2", "x"), ("v4", "p2", "x"), ("v5", "p3", None),
               ("v6", "p4", None)],
    "diagnoses": [("v1", "a"), ("v1", "b"), ("v2", "c"), ("v3", "c"), ("v4", "b"), ("v4", "a"), ("v5", "a"),
                  ("v6", "a")],
}  # fmt: skip
"""Two pairs of persons with the same trees."""


def audited(changes: dict[str, list[Any]], k: int = 2) -> None:
    """Audit trees of which some tables have other rows."""
    engine = DuckDBEngine()
    columns = {"patients": "pid, sex", "visits": "vid, patient, year", "diagnoses": "visit, icd"}
    links = {"patients": (None, "pid", None), "visits": (0, "vid", "patient"), "diagnoses": (1, None, "visit")}
    try:
        tables = []
        for name, listed in columns.items():
            rows = changes.get(name, TREES[name])
            engine.run("create", f"CREATE TABLE {name} ({listed.replace(',', ' VARCHAR,')} VARCHAR)")
            for row in rows:
                engine.run("insert", f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", list(row))
            parent, key, link = links[name]
            tables.append(AuditedTable(name, table(name), (listed.split(", ")[-1],), parent, key, link))
        audit_links(engine, tables, k=k)
    finally:
        engine.close()


def test_whole_trees_pass_in_any_order() -> None:
    audited({})
    draw = random.Random(2)
    for _ in range(5):
        audited({name: draw.sample(rows, len(rows)) for name, rows in TREES.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("audit", "changes"),
    [
        ("small_profiles", {"patients": [*TREES["patients"][:3], ("p4", "f")]}),
        ("small_profiles", {"visits": [*TREES["visits"][:5], ("v6", "p4", "x")]}),
        ("small_profiles", {"visits": [*TREES["visits"], ("v7", "p4", None)]}),
        ("small_profiles", {"diagnoses": [*TREES["diagnoses"], ("v6", "a")]}),
        # the same rows of the join, in other visits
        ("small_profiles", {"diagnoses": [("v1", "a"), ("v1", "b"), ("v2", "c"), ("v3", "a"), ("v4", "b"), ("v4", "c"),
                                          *TREES["diagnoses"][6:]]}),
        ("lost_rows of visits", {"patients": TREES["patients"][:3]}),
        ("lost_rows of diagnoses", {"visits": TREES["visits"][:5]}),
        ("lost_rows of diagnoses", {"diagnoses": [*TREES["diagnoses"], (None, "a")]}),
        ("repeated_keys of patients", {"patients": [*TREES["patients"], ("p1", "f")]}),
        ("repeated_keys of visits", {"visits": [*TREES["visits"], (None, "p1", "x")]}),
    ],
)  # fmt: skip
def test_planted_faults_are_found(audit: str, changes: dict[str, list[Any]]) -> None:
    with pytest.raises(AuditError) as raised:
        audited(changes)
    assert audit in raised.value.message


def test_classes_of_k_persons_pass_and_no_smaller_ones() -> None:
    with pytest.raises(AuditError, match=r"small_profiles \(2 offending\)"):
        audited({}, k=3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(2)
def test_tampered_rows_are_found_and_nothing_is_left(
    clinic: Path, kind: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each table loses a row, gets one more, or is forgotten, after it was planned and before it is written."""
    before = sorted(clinic.iterdir())
    original = publishing.publish_tables

    def publish_with(tamper: Callable[[list[Any]], list[Any]]) -> None:
        monkeypatch.setattr(
            "sqlanon.tables.anonymizing.publish_tables",
            lambda linked, target, drafts, *rest: original(linked, target, tamper(drafts), *rest),
        )

    def fewer(place: int) -> Callable[[list[Any]], list[Any]]:
        return lambda drafts: [replace(d, query=d.query.limit(1)) if i == place else d for i, d in enumerate(drafts)]

    for tamper in (*map(fewer, range(3)), lambda drafts: drafts[:2]):
        publish_with(tamper)
        with pytest.raises((AuditError, SourceChangedError)):
            anonymize(clinic, output=kind)
        assert sorted(clinic.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.few(2)
def test_a_release_is_whole_or_not_there(clinic: Path, kind: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    target = clinic / next(iter(kind.values()))
    release = anonymize(clinic, output=kind)
    digest = json.loads((clinic / f"{target.name}.manifest.json").read_text())["sha256"]["release"]
    assert digest_of(target) == digest
    assert stat.S_IMODE(target.stat().st_mode) & 0o077 == 0
    with pytest.raises(TargetError, match="exists already"):
        anonymize(clinic, output=kind)
    for failure in (KeyboardInterrupt(), OSError(28, "No space left on device")):

        def fail(*_: object, failure: BaseException = failure) -> None:
            raise failure

        with monkeypatch.context() as patched:
            patched.setattr("sqlanon.core.publish.workplace.Workplace.prepare", fail)
            with pytest.raises((KeyboardInterrupt, OSError)):
                anonymize(clinic, output=kind, if_exists="replace")
        assert digest_of(target) == digest
        assert not [path for path in clinic.iterdir() if path.name.startswith(".")]
    again = anonymize(clinic, output=kind, if_exists="replace")
    assert digest_of(target) != digest  # the pseudonyms of each release are its own
    assert again.levels == release.levels


def test_what_stands_in_the_way_is_not_replaced(clinic: Path) -> None:
    (clinic / "out").mkdir()
    (clinic / "out" / "notes.txt").write_text("mine")
    with pytest.raises(TargetError, match="no folder of released tables alone"):
        anonymize(clinic, output={"folder": "out"}, if_exists="replace")
    with pytest.raises(TargetError, match="source"):
        anonymize(clinic, output={"file": "clinic.duckdb"}, if_exists="replace")
    with pytest.raises(TargetError, match="source"):
        anonymize(clinic, output={"folder": "."}, if_exists="replace")


@pytest.mark.slow
def test_pseudonyms_join_and_follow_the_key(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINIC_KEY", "0123456789abcdef" * 4)
    found = []
    for key in ({"env": "CLINIC_KEY", "context": "study"}, {"env": "CLINIC_KEY", "context": "study"},
                {"env": "CLINIC_KEY"}, None):  # fmt: skip
        changes = {} if key is None else {"key": key}
        release = anonymize(clinic, output={"file": "out.duckdb"}, if_exists="replace", **changes)
        assert any("same pseudonyms" in text for text in release.warnings) == ("context" in (key or {}))
        keys = [c for t in release.manifest["tables"] for c in t["columns"] if c["role"] == "pseudonym"]
        assert {c["differs_by_release"] for c in keys} == {"context" not in (key or {})}
        with duckdb.connect(str(clinic / "out.duckdb"), read_only=True) as connection:
            found.append({row[0] for row in connection.execute("SELECT pid FROM patients").fetchall()})
            joined = "FROM diagnoses JOIN visits ON visit = vid JOIN patients ON patient = pid"
            assert (
                connection.execute(f"SELECT COUNT(*) {joined}").fetchall()
                == connection.execute("SELECT COUNT(*) FROM diagnoses").fetchall()
            )
            own = connection.execute("SELECT COUNT(*) FROM patients JOIN visits ON pid = vid").fetchall()
            assert own == [(0,)]  # of each table their own, though both count from 0
    assert found[0] == found[1]
    assert not found[0] & found[2] and not found[2] & found[3]
    monkeypatch.delenv("CLINIC_KEY")
    with pytest.raises(InputError, match="CLINIC_KEY"):
        anonymize(clinic, output={"file": "other.duckdb"}, key={"env": "CLINIC_KEY"})
    assert not (clinic / "other.duckdb").exists()


@pytest.mark.slow
def test_the_command_prints_the_ledger_of_each_table(clinic: Path) -> None:
    file = file_of(clinic / "policy.json", document(output={"folder": "out", "format": "csv"}))
    done = run_command("run", file, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["optimal"] and found["entities"]["total"] == 40
    assert {name: item["records"] for name, item in found["tables"].items()} == {
        "patients": 40, "visits": 30, "diagnoses": 25,
    }  # fmt: skip
    for name, item in found["tables"].items():
        assert item["records"] == item["published"] + item["suppressed"] + item["excluded"]
        lines = (clinic / "out" / item["output"]).read_text().splitlines()
        assert len(lines) == item["published"] + 1, name
    again = run_command("run", file)
    assert again.returncode != 0 and "exists already" in again.stderr
    assert "40 persons" in run_command("run", file, "--dry-run").stdout
    assert "--report" in run_command("run", file, "--report", clinic / "r.html", "--dry-run").stderr
    for command in (["explain", file], ["frontier", file], ["verify", file, file]):
        assert run_command(*command).returncode != 0


@pytest.mark.slow
def test_papers_hold_no_value_and_no_count_of_what_is_not_published(clinic: Path) -> None:
    change(clinic, "INSERT INTO visits VALUES (900, 39, 1999)")  # one person alone is suppressed
    release = anonymize(clinic, output={"file": "out.duckdb"}, suppression_limit=0.5)
    text = (clinic / "out.duckdb.manifest.json").read_text()
    found = json.loads(text)
    assert release.persons.suppressed >= 1
    assert found["certificate"]["loss"] is None and found["certificate"]["lower_bound"] is None
    assert all(set(item) == {"name", "columns", "published"} | ({"parent"} & set(item)) for item in found["tables"])
    assert "1999" not in without_digests(text) and "'f'" not in text and str(clinic) not in text


@pytest.mark.slow
def test_no_solution_says_how_many_persons_would_go(clinic: Path) -> None:
    change(clinic, "INSERT INTO visits SELECT 1000 + i, 39, 1999 FROM range(9) AS t(i)")
    with pytest.raises(NoSolutionError, match="of 40 entities"):
        anonymize(clinic, suppression_limit=0)


@pytest.mark.slow
def test_errors_are_ours(clinic: Path) -> None:
    with pytest.raises(SqlanonError):
        sqlanon.anonymize_tables(3)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        sqlanon.anonymize_tables(clinic / "nothing.yaml")


@pytest.mark.slow
def test_tables_without_rows_and_persons_without_any_are_published(clinic: Path) -> None:
    change(clinic, "DELETE FROM diagnoses; DELETE FROM visits")
    release = anonymize(clinic, output={"file": "out.duckdb"}, suppression_limit=0)
    assert release.persons.published == 40 and release.tables["visits"].records == 0
    assert release.levels["patients.sex"] == 0 and release.certificate.loss == 0
    with duckdb.connect(str(clinic / "out.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT COUNT(*) FROM visits").fetchall() == [(0,)]
    change(clinic, "UPDATE patients SET sex = NULL")
    with pytest.raises(NoSolutionError, match="40 excluded"):
        anonymize(clinic, nulls="basic")


@pytest.mark.slow
def test_one_table_alone_is_k_anonymous(clinic: Path) -> None:
    tables = {"patients": document()["tables"]["patients"]}
    release = anonymize(clinic, tables=tables, output={"folder": "out"}, suppression_limit=0)
    assert (release.persons.smallest_class, release.classes) == (20, 2)
    with duckdb.connect() as connection:  # no table refers to the key
        found = connection.sql(f"FROM '{clinic / 'out' / 'patients.parquet'}'")
        assert found.columns == ["sex"]


def test_what_a_column_of_one_table_may_be_is_known_here() -> None:
    """A role or a key that is new to one table is refused in several until somebody says what it means there."""
    assert set(COLUMN_ROLES) == {"quasi_identifier", "keep", "drop"}
    policy = sqlanon.TablesPolicy.from_dict(document())
    assert {column.role for item in policy.tables for column in item.policy.columns} <= set(COLUMN_ROLES)
    for role in set(ROLES) - set(COLUMN_ROLES):
        changed = json.loads(json.dumps(document()))
        changed["tables"]["visits"]["columns"]["year"] = {"role": role}
        with pytest.raises(PolicyError):
            sqlanon.TablesPolicy.from_dict(changed)
    for key in set(names_of(keys_of(Column))) - set(names_of(COLUMN_KEYS)):
        changed = json.loads(json.dumps(document()))
        changed["tables"]["visits"]["columns"]["year"][key] = None
        with pytest.raises(PolicyError):
            sqlanon.TablesPolicy.from_dict(changed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"file": "out.duckdb"}, {"folder": "out"}, {"folder": "out", "format": "csv"}])
def test_names_are_what_they_are(tmp_path: Path, kind: dict[str, str]) -> None:
    """Words of SQL, blanks and points in the names of tables and columns."""
    tables = {
        "order": {"key": "my key", "columns": {"a b": SUPPRESS}},
        "Visits.v2": {"table": '"Visits.v2"', "parent": {"order": "group"}, "columns": {"sélect": SUPPRESS}},
    }
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE "order" AS SELECT i AS "my key", i % 2 AS "a b" FROM range(20) AS t(i)')
        connection.execute('CREATE TABLE "Visits.v2" AS SELECT i % 10 AS "group", 1 AS "sélect" FROM range(20) AS t(i)')
        policy = {"tables": tables, "privacy": [{"type": "profile_k", "k": 2}], "output": kind}
        found = sqlanon.anonymize_tables(
            sqlanon.TablesPolicy.from_dict(policy, base_directory=tmp_path), source=connection
        )
        assert [item.published for item in found.tables.values()] == [20, 20]
        left = "SELECT COUNT(*) FROM duckdb_tables() WHERE table_name LIKE 'sqlanon%'"
        assert connection.execute(left).fetchall() == [(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"file": "out.duckdb"}, {"folder": "out"}])
@pytest.mark.few(1)
def test_a_killed_run_leaves_a_whole_release_or_none(clinic: Path, kind: dict[str, str]) -> None:
    """Whoever comes next finds the release of before or the new one, with its papers, and nothing else."""
    file, target = clinic / "policy.json", clinic / next(iter(kind.values()))
    file.write_text(json.dumps(document(output=kind, if_exists="replace")))
    command = [sys.executable, "-m", "sqlanon.cli", "run", str(file)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.perf_counter() - start
    for part in range(1, 5):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(whole * (0.3 + part / 6))
            process.kill()
        settle_left_behind(target)
        assert check_papers(target).holds
    subprocess.run(command, check=True, capture_output=True)
    assert not [path for path in clinic.iterdir() if path.name.startswith(".")]


def words(found: object) -> Iterator[str]:
    """Every text and number in a document."""
    if isinstance(found, dict | list):
        for item in [*found, *(found.values() if isinstance(found, dict) else [])]:
            yield from words(item)
    else:
        yield str(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_catalog_is_told_of_every_table(clinic: Path, kind: dict[str, str]) -> None:
    file, events = clinic / "policy.json", clinic / "events.jsonl"
    file.write_text(json.dumps(document(output=kind, if_exists="replace")))
    done = run_command("run", file, "--openlineage", events, "--json")
    assert done.returncode == 0, done.stderr
    begun, ended = map(json.loads, events.read_text().splitlines())
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert [item["name"] for item in ended["inputs"]] == ["patients", "visits", "diagnoses"]
    assert {item["namespace"] for item in ended["inputs"]} == {f"duckdb://{clinic / 'clinic.duckdb'}"}
    names = ["patients", "visits", "diagnoses"]
    form = kind.get("format", "parquet")
    places = names if "file" in kind else [str(clinic / "out" / f"{name}.{form}") for name in names]
    assert [item["name"] for item in ended["outputs"]] == places
    rows = {name: item["published"] for name, item in json.loads(done.stdout)["tables"].items()}
    assert [item["outputFacets"]["outputStatistics"]["rowCount"] for item in ended["outputs"]] == [*rows.values()]
    fields = ended["outputs"][1]["facets"]["columnLineage"]["fields"]
    assert [*fields] == ["vid", "patient", "year"] and fields["year"]["inputFields"][0]["name"] == "visits"
    assert fields["vid"]["inputFields"][0]["transformations"][0]["masking"]
    for item in ended["outputs"]:  # the columns of every table decide whose rows are left out
        filters = [(found["name"], found["field"]) for found in item["facets"]["columnLineage"]["dataset"]]
        assert filters == [("patients", "sex"), ("visits", "year"), ("diagnoses", "icd")]
    manifest = json.loads((clinic / f"out{'.duckdb' if 'file' in kind else ''}.manifest.json").read_text())
    assert [item["name"].split(".")[-1] for item in manifest["openlineage"]["outputs"]] == names
    assert not any("clinic" in word for word in words(manifest))


@pytest.mark.slow
def test_a_run_of_several_tables_that_fails_is_told(clinic: Path) -> None:
    file, events = clinic / "policy.json", clinic / "events.jsonl"
    file.write_text(json.dumps(document(privacy=[{"type": "profile_k", "k": 41}], output={"folder": "out"})))
    assert run_command("run", file, "--openlineage", events).returncode == 1
    message = json.loads(events.read_text().splitlines()[1])["run"]["facets"]["errorMessage"]["message"]
    assert "NoSolutionError" in message and "40" not in message
    file.write_text(json.dumps(document(output={"file": "out.duckdb"})))
    assert run_command("run", file, "--dry-run", "--openlineage", events).returncode == 0
    assert json.loads(events.read_text().splitlines()[1])["outputs"] == []
    for place in (clinic / "clinic.duckdb", file, clinic / "out.duckdb", clinic / "out.duckdb.manifest.json"):
        done = run_command("run", file, "--dry-run", "--openlineage", place)
        assert done.returncode == 2 and "another file of this run" in done.stderr
    (clinic / "out").mkdir()
    file.write_text(json.dumps(document(output={"folder": "out"}, if_exists="replace")))
    done = run_command("run", file, "--openlineage", clinic / "out" / "events.jsonl")
    assert done.returncode == 2 and "TargetError" in done.stderr


@pytest.mark.slow
def test_what_changed_since_an_earlier_release_of_several_tables(clinic: Path) -> None:
    file, old = clinic / "policy.json", clinic / "old.json"
    file.write_text(json.dumps(document(output={"file": "out.duckdb"}, if_exists="replace", repeats="accept")))
    assert run_command("run", file).returncode == 0
    old.write_bytes((clinic / "out.duckdb.manifest.json").read_bytes())
    same = run_command("run", file, "--dry-run", "--diff", old, "-q")
    assert same.stdout == "since the earlier release nothing changed that manifests show\n", same.stderr
    change(clinic, "INSERT INTO visits SELECT 100 + i, 39, 2000 FROM range(9) AS t(i)")  # the nine visits of one person
    tables = document()["tables"]
    tables["diagnoses"]["columns"] = {"icd": SUPPRESS, "ward": {"role": "drop"}}
    file.write_text(
        json.dumps(document(tables=tables, output={"file": "out.duckdb"}, if_exists="replace", repeats="accept"))
    )
    done = run_command("run", file, "--json", "--diff", old)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    found = shown["diff"]
    assert found["policy"] == {"changed": True, "keys": ["columns"]}
    assert found["columns"]["removed"] == ["diagnoses.ward"] and found["tables"]["changed"] == {}
    for name, pair in found["counts"].items():
        assert pair == {"before": None, "after": None} or name == "smallest_class", name
    again = run_command("run", file, "--dry-run", "--diff", clinic / "out.duckdb.manifest.json", "-q")
    assert "nothing changed" in again.stdout
    for manifest in ({"manifest_version": 1}, {**json.loads(old.read_text()), "persons": {}}):
        old.write_text(json.dumps(manifest))
        assert run_command("run", file, "--dry-run", "--diff", old).returncode == 2
    assert "--report" in run_command("run", file, "--report", clinic / "r.html", "--diff", old).stderr
