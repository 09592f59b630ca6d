"""The ledger of releases: what it holds, who may read it, and that a release and its entry come and go together."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pyarrow as pa
import pytest
from effort import enough, seeds
from tables import store

import sqlanon
from sqlanon.core.disk.folders import PrivateFolder
from sqlanon.core.disk.writing import workplace_of
from sqlanon.core.source.opening import Source
from sqlanon.ledger import database as files
from sqlanon.ledger.review import accept_state, check_ledger_file, show_ledger
from sqlanon.ledger.seals import head_file


def publish(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    """Publish the source of a world and return the rows of the release."""
    with sqlanon.anonymize(None, worlds.document(folder, **changes)) as release:
        return release.to_arrow().to_pylist()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.0)


# -- what is in it -----------------------------------------------------------------------------------------------------


@seeds(20, 5)
@pytest.mark.slow
def test_members_are_the_persons_of_the_release_by_their_classes(block: range, tmp_path: Path) -> None:
    done = 0
    for seed in block:
        folder = tmp_path / str(seed)
        ledger = worlds.prepare(folder, worlds.records(seed))
        try:
            released = publish(folder)
        except sqlanon.NoSolutionError:
            assert not ledger.exists()
            continue
        worlds.check_members(ledger, 1, released)
        worlds.check_values(ledger, 1, released)
        done += 1
    assert enough(done >= 3)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".duckdb", ".parquet"])
def test_every_kind_of_file_has_its_digest_and_members(ending: str, tmp_path: Path) -> None:
    ledger, target = worlds.prepare(tmp_path), tmp_path / "out" / f"released{ending}"
    publish(tmp_path, output={"file": str(target)})
    [(state, digest)] = worlds.rows_of(ledger, "SELECT state, digest FROM releases")
    assert state == "published"
    assert digest == json.loads(Path(f"{target}.manifest.json").read_text())["sha256"]["release"]
    [(persons,)] = worlds.rows_of(ledger, "SELECT count(DISTINCT person) FROM members")
    assert persons


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_table_and_a_view_are_recorded(kind: str, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    released = publish(tmp_path, output={kind: "released"})
    worlds.check_members(ledger, 1, released)
    assert worlds.rows_of(ledger, "SELECT state, digest FROM releases") == [("published", None)]


@pytest.mark.slow
def test_an_entry_says_what_was_released_to_whom(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    keys = {"file": str(ledger), "record": "case_id", "recipient": "ministry", "colludes": ["press"]}
    publish(tmp_path, ledger=keys)
    [(facts,)] = worlds.rows_of(ledger, "SELECT facts FROM releases")
    entry = json.loads(facts)
    assert entry["source"] == f"{tmp_path.resolve()}/source.duckdb t"
    assert (entry["recipient"], entry["colludes"], entry["person_column"], entry["k"]) == (
        "ministry", ["press"], "case_id", 3,
    )  # fmt: skip
    assert set(entry["levels"]) == set(entry["hierarchies"]) == {"sex", "place", "age"}
    assert entry["time"].endswith("+00:00")
    assert entry["policy_fingerprint"] == sqlanon.Policy.from_dict(worlds.document(tmp_path, ledger=keys)).fingerprint()


@pytest.mark.slow
def test_no_value_and_no_key_is_in_the_file(tmp_path: Path) -> None:
    """Keys and values are long, or random bytes would hold some of them by chance."""
    data = worlds.records(2).to_pylist()
    rows = [row | {name: f"{row[name]} of a person" for name in ("case_id", "tag", "ill")} for row in data]
    ledger = worlds.prepare(tmp_path, pa.Table.from_pylist(rows, schema=worlds.records(2).schema))
    publish(tmp_path)
    content = ledger.read_bytes()
    for text in {row[name] for row in rows for name in ("case_id", "ill")}:
        assert text.encode() not in content
    assert worlds.SECRET not in content
    assert worlds.SECRET.hex().encode() not in content


@pytest.mark.slow
def test_a_run_says_what_it_recorded(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    found = []
    for _ in range(2):
        with sqlanon.anonymize(None, worlds.document(tmp_path)) as release:
            assert release.recorded is not None
            found.append(release.recorded.to_dict())
    assert [item["earlier"] for item in found] == [0, 1]
    assert len({item["release"] for item in found}) == 2


def test_without_an_output_nothing_is_recorded(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    with sqlanon.anonymize(None, worlds.document(tmp_path, output=None)) as release:
        assert release.recorded is not None
        assert (release.recorded.release, release.recorded.earlier) == (None, 0)
    assert not ledger.exists()
    assert list(ledger.parent.iterdir()) == []


@pytest.mark.slow
def test_a_plan_that_is_published_later_is_recorded(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    with sqlanon.plan(None, worlds.document(tmp_path, output=None)) as plan:
        plan.publish(sqlanon.Output.file(tmp_path / "out" / "later.parquet"))
    assert worlds.states(ledger) == ["published"]


# -- who shares with whom ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "now", "together"),
    [
        ({}, {}, True),
        ({"recipient": "a"}, {"recipient": "b"}, True),
        ({"recipient": "a", "colludes": "none"}, {"recipient": "b", "colludes": "none"}, False),
        ({"recipient": "a", "colludes": "none"}, {"recipient": "a", "colludes": "none"}, True),
        ({"recipient": "a", "colludes": "none"}, {"recipient": "b", "colludes": ["a"]}, True),
        ({"recipient": "a", "colludes": "none"}, {"recipient": "b", "colludes": ["c"]}, False),
        ({}, {"recipient": "b", "colludes": "none"}, True),
        ({"recipient": "a", "colludes": "none"}, {}, True),
    ],
)
@pytest.mark.few(4)
def test_recipients_that_may_share(before: dict[str, Any], now: dict[str, Any], together: bool, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    own = {"file": str(ledger), "record": "case_id"}
    publish(tmp_path, ledger=own | before)
    with sqlanon.anonymize(None, worlds.document(tmp_path, ledger=own | now)) as release:
        assert release.recorded is not None
        assert release.recorded.earlier == int(together)


@pytest.mark.slow
def test_another_source_is_another_history_unless_it_has_one_name(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    own = {"file": str(ledger), "record": "case_id"}
    publish(tmp_path, ledger=own)
    (tmp_path / "source.duckdb").rename(tmp_path / "moved.duckdb")
    moved = str(tmp_path / "moved.duckdb")
    with sqlanon.anonymize(None, worlds.document(tmp_path, source=moved, ledger=own)) as release:
        assert release.recorded is not None
        assert release.recorded.earlier == 0
        assert any("source: NAME" in warning for warning in release.warnings)
    for earlier in range(2):
        named = own | {"source": "cases"}
        with sqlanon.anonymize(None, worlds.document(tmp_path, source=moved, ledger=named)) as release:
            assert release.recorded is not None
            assert release.recorded.earlier == earlier


# -- what is refused ---------------------------------------------------------------------------------------------------


def refused(folder: Path, words: str, **changes: Any) -> None:
    with pytest.raises(sqlanon.InputError, match=words):
        publish(folder, **changes)


def test_another_key_is_refused(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    publish(tmp_path)
    (tmp_path / "secret.key").write_bytes(worlds.SECRET[::-1])
    refused(tmp_path, "another key")


@pytest.mark.slow
def test_a_ledger_has_a_key_of_its_own_if_the_policy_says_so(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    own = tmp_path / "own.key"
    own.touch(0o600)
    own.write_bytes(worlds.SECRET[::-1])
    released = publish(tmp_path, key=None, ledger={"file": str(ledger), "record": "case_id", "key": {"file": str(own)}})
    assert worlds.members_of(ledger, 1).keys() == {worlds.person(row["tag"], worlds.SECRET[::-1]) for row in released}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    old = os.umask(0)
    try:
        publish(tmp_path)
    finally:
        os.umask(old)
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in ledger.parent.iterdir()] == [ledger.name]
    ledger.chmod(0o640)
    refused(tmp_path, "others .its permissions are 0640.")


def foreign(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS a")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def scrambled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(byte ^ 0x5A for byte in content[4096:])
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [foreign, cut, scrambled])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    if spoil is not foreign:
        publish(tmp_path)
        (tmp_path / "out" / "released.parquet").unlink()
    spoil(ledger)
    ledger.chmod(0o600)
    before = ledger.read_bytes()
    refused(tmp_path, "no ledger")
    assert ledger.read_bytes() == before
    assert not (tmp_path / "out" / "released.parquet").exists()


@pytest.mark.slow
def test_texts_are_no_ledger(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    ledger.write_text("hello")
    ledger.chmod(0o600)
    refused(tmp_path, "no ledger")


@pytest.mark.slow
def test_a_record_key_is_there_once_a_record(tmp_path: Path) -> None:
    data = worlds.records(3)
    keys = data.column("case_id").to_pylist()
    ledger = worlds.prepare(tmp_path, data.set_column(0, "case_id", [[keys[1], *keys[1:]]]))
    refused(tmp_path, "no record key: 60 records have 59")
    worlds.write_source(tmp_path, data.set_column(0, "case_id", [[None, *keys[1:]]]))
    refused(tmp_path, "NULL in 1 records")
    assert not ledger.exists()
    refused(tmp_path, "no column 'nothing'", ledger={"file": str(ledger), "record": "nothing"})


@pytest.mark.slow
def test_persons_are_known_by_one_column(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    publish(tmp_path)
    keys = worlds.document(tmp_path)
    columns = keys["columns"] | {"tag": {"role": "drop"}}
    refused(
        tmp_path, "by the column 'case_id'", columns=columns, accept=[], ledger={"file": str(ledger), "record": "tag"}
    )


@pytest.mark.slow
def test_places_that_are_no_place_for_a_ledger(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    for file, words in (
        (tmp_path / "source.duckdb", "reads"),
        (tmp_path / "nowhere" / "ledger.duckdb", "folder of the ledger"),
    ):
        refused(tmp_path, words, ledger={"file": str(file), "record": "case_id"})
    target = tmp_path / "out" / "same.duckdb"
    words = "is to be written to"
    refused(tmp_path, words, output={"file": str(target)}, ledger={"file": str(target), "record": "case_id"})
    assert not target.exists()


@pytest.mark.slow
def test_a_ledger_beside_its_release_is_warned_about(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    keys = {"file": str(tmp_path / "out" / "ledger.duckdb"), "record": "case_id"}
    with sqlanon.anonymize(None, worlds.document(tmp_path, ledger=keys)) as release:
        assert any("in the folder of the release" in warning for warning in release.warnings)


@pytest.mark.slow
def test_a_source_in_memory_needs_a_name(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    keys = worlds.document(tmp_path)
    del keys["source"]
    connection = duckdb.connect()
    store(connection, worlds.records(1))
    with pytest.raises(sqlanon.InputError, match="source: discharges"):
        sqlanon.anonymize(connection, keys)
    keys["ledger"]["source"] = "cases"
    with sqlanon.anonymize(connection, keys) as release:
        assert release.recorded is not None
    assert connection.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchone() == (1,)


@pytest.mark.slow
@pytest.mark.parametrize("output", [{"live_view": "released"}])
def test_a_live_view_has_no_ledger(output: dict[str, str], tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    refused(tmp_path, "live view", output=output)
    later = worlds.document(tmp_path, output=None)
    with sqlanon.plan(None, later, writable=True) as plan, pytest.raises(sqlanon.UnsupportedError, match="ledger"):
        plan.publish(sqlanon.Output.live_view("released"))


# -- together or not at all --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_another_run_waits_or_is_refused(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    with sqlanon.plan(None, worlds.document(tmp_path, output=None)):
        refused(tmp_path, "Another run works with the ledger")
    publish(tmp_path)
    folder = PrivateFolder.claim(workplace_of(ledger))
    assert folder is not None
    refused(tmp_path, "process")
    folder.abandon()
    publish(tmp_path)
    assert worlds.states(ledger) == ["published"] * 2


@pytest.mark.parametrize("kind", ["file", "table"])
def test_what_is_not_published_is_not_recorded(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = worlds.prepare(tmp_path)
    seen = []

    def changed(_: Source) -> None:
        seen.append(1)
        raise sqlanon.SourceChangedError("It changed.")

    monkeypatch.setattr(Source, "verify", changed)
    target = {"file": str(tmp_path / "out" / "released.parquet")} if kind == "file" else {"table": "released"}
    with pytest.raises(sqlanon.SourceChangedError, match="It changed"):
        publish(tmp_path, output=target)
    assert seen
    assert worlds.states(ledger) == []
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.slow
def test_a_release_whose_entry_cannot_be_written_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = worlds.prepare(tmp_path)
    publish(tmp_path)
    before = (tmp_path / "out" / "released.parquet").read_bytes()

    def full(*_: object) -> None:
        raise sqlanon.EngineError("Full.", statement="write ledger", kind="IOException")

    monkeypatch.setattr(files.LedgerDatabase, "insert", full)
    refused(tmp_path, "cannot be written")
    assert worlds.states(ledger) == ["published"]
    assert (tmp_path / "out" / "released.parquet").read_bytes() == before


@pytest.mark.slow
def test_an_entry_that_cannot_be_confirmed_stays_pending_until_the_release_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlanon.ledger.releases import ReleaseLedger

    ledger = worlds.prepare(tmp_path)

    def full(*_: object) -> None:
        raise sqlanon.InputError("Full.")

    with monkeypatch.context() as patched:
        patched.setattr(ReleaseLedger, "confirm", full)
        with sqlanon.anonymize(None, worlds.document(tmp_path)) as release:
            assert any("pending" in warning for warning in release.warnings)
    assert worlds.states(ledger) == ["pending"]
    with sqlanon.plan(None, worlds.document(tmp_path, output=None)) as plan:
        assert plan.policy.ledger is not None
    assert worlds.states(ledger) == ["published"]


@pytest.mark.slow
def test_two_runs_at_once_are_both_recorded(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    for name in ("one", "two"):
        keys = worlds.document(tmp_path, output={"file": str(tmp_path / "out" / f"{name}.parquet")})
        (tmp_path / f"{name}.json").write_text(json.dumps(keys))
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "sqlanon.cli", "run", str(tmp_path / f"{name}.json"), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for name in ("one", "two")
    ]
    answers = [json.loads(run.communicate()[0])["ledger"]["earlier"] for run in runs]
    assert sorted(answers) == [0, 1]
    assert worlds.states(ledger) == ["published"] * 2


# -- edited, rolled back, deleted --------------------------------------------------------------------------------------

EDITS = {
    "entries": "UPDATE releases SET facts = replace(facts, 'all', 'none') WHERE number = 1",
    "persons": "UPDATE members SET class = 1 WHERE number = 1",
    "deleted": "DELETE FROM releases WHERE number = 2; DELETE FROM members WHERE number = 2",
    "cut": "DELETE FROM seals WHERE write > 2; DELETE FROM releases WHERE number = 2; DELETE FROM members "
    "WHERE number = 2; DELETE FROM contents WHERE number = 2; DELETE FROM sensitive WHERE number = 2",
    "unsealed": "DROP TABLE seals; DROP TABLE contents; UPDATE ledger SET value = 'sqlanon ledger 1' "
    "WHERE name = 'format'; DELETE FROM members WHERE class = 1",
}
DAMAGES = {
    "no entry": "UPDATE releases SET facts = 'x'",
    "an entry of others": 'UPDATE releases SET facts = \'{"k": "a"}\'',
    "a count in words": """UPDATE releases SET facts = replace(facts, '"persons": ', '"persons": "a", "p": ')""",
    "no members": "DROP TABLE members",
    "accepted": "INSERT INTO ledger VALUES ('accepted', '{')",
}
WORDS = "changed or deleted|other persons|earlier day|older than its seals"


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.few(3)
def test_an_edited_ledger_is_refused_until_somebody_accepts_it(edit: str, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    for _ in range(2):
        publish(tmp_path)
    with duckdb.connect(str(ledger)) as connection:
        connection.execute(EDITS[edit])
    before = ledger.read_bytes()
    refused(tmp_path, WORDS)
    policy = sqlanon.Policy.from_dict(worlds.document(tmp_path))
    assert not check_ledger_file(ledger, policy).holds
    assert ledger.read_bytes() == before
    accept_state(ledger, policy)
    if edit == "unsealed":
        refused(tmp_path, "more or fewer persons of release 1 than its entry states")
    else:
        publish(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("edit", DAMAGES)
@pytest.mark.few(2)
def test_a_damaged_ledger_is_said_to_be_damaged(edit: str, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    publish(tmp_path)
    with duckdb.connect(str(ledger)) as connection:
        connection.execute(DAMAGES[edit])
    policy = sqlanon.Policy.from_dict(worlds.document(tmp_path))
    refused(tmp_path, "damaged|changed or deleted")
    with pytest.raises(sqlanon.InputError, match=r"or damaged|cannot be written"):
        accept_state(ledger, policy)
    looks: list[Callable[[], object]] = [lambda: check_ledger_file(ledger, policy), lambda: show_ledger(ledger)]
    for look in looks[: {"accepted": 0, "no members": 1}.get(edit)]:  # what does not read it does not notice
        with pytest.raises(sqlanon.InputError, match="or damaged"):
            look()


@pytest.mark.slow
def test_a_ledger_that_is_rolled_back_or_missing_is_refused_until_somebody_accepts_it(tmp_path: Path) -> None:
    ledger, copy = worlds.prepare(tmp_path), tmp_path / "copy.duckdb"
    policy = sqlanon.Policy.from_dict(worlds.document(tmp_path))
    publish(tmp_path)
    shutil.copy2(ledger, copy)
    publish(tmp_path)
    shutil.copy2(copy, ledger)
    refused(tmp_path, "written to 4 times, and this copy 2 times")
    ledger.unlink()
    refused(tmp_path, "is missing")
    head_file(ledger).unlink()
    refused(tmp_path, "no release of the ledger")
    accept_state(ledger, policy)
    publish(tmp_path)
    assert worlds.states(ledger) == ["published"]
    head_file(ledger).unlink()
    with sqlanon.anonymize(None, worlds.document(tmp_path)) as release:
        assert any("No head of the ledger was kept on this" in warning for warning in release.warnings)
    (tmp_path / "out" / "released.parquet").write_bytes(b"other")
    head_file(ledger).unlink()
    refused(tmp_path, "no release of the ledger")
    for _ in range(2):
        publish(tmp_path, output={"table": "released"})
    with duckdb.connect(str(tmp_path / "source.duckdb")) as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS a")
    refused(tmp_path, "no release of the ledger", output={"table": "other"})


@pytest.mark.slow
def test_a_head_that_cannot_be_kept_is_said_and_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = worlds.prepare(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "file"))
    with sqlanon.anonymize(None, worlds.document(tmp_path)) as release:
        assert any("XDG_STATE_HOME" in warning for warning in release.warnings)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    publish(tmp_path)
    assert head_file(ledger).exists()


@pytest.mark.slow
def test_a_ledger_of_a_newer_version_is_named_as_one(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    publish(tmp_path)
    with duckdb.connect(str(ledger)) as connection:
        connection.execute("UPDATE ledger SET value = 'sqlanon ledger 3' WHERE name = 'format'")
    refused(tmp_path, "newer sqlanon: its form is 'sqlanon ledger 3'")
