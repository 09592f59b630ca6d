"""A release as a folder of Parquet in partitions: audited as written, whole or not there, its values what they were."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import sqlanon as command
from policies import document_of

import sqlanon
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.publish import partitions
from sqlanon.core.publish.papers import MANIFEST, check_papers
from sqlanon.errors import AuditError, PolicyError, SqlanonError, TargetError, UnsupportedError

pytestmark = pytest.mark.slow

HOSTILE = [
    "North", "007", "a/b", "a=b", "a%b", "%2F", "..", ".", "NULL", "null", "*", "[1-2[", "ü", "a\\b", "'", '"',
    "a\nb", "+", "2020-01-01", "1e5", "{1}", "?", "~", "#", "north ", "x" * 245, None,
]  # fmt: skip
EACH = 5


def quasi_identifier(**more: Any) -> dict[str, Any]:
    return {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, **more}


def write_policy(folder: Path, **changes: Any) -> sqlanon.Policy:
    columns = {"region": quasi_identifier(), "year": quasi_identifier(), "note": "keep"}
    keys = document_of(
        columns, changes, k=EACH, source="s.parquet", output={"file": "released", "partition_by": ["region", "year"]}
    )
    return sqlanon.Policy.from_dict(keys, base_directory=folder)


def write_source(folder: Path, regions: list[str | None]) -> list[tuple[str | None, str, str]]:
    rows = [(region, 2000 + i % 2, f"n{i // 2 % 2}") for region in regions for i in range(2 * EACH)]
    columns = dict(zip(("region", "year", "note"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "s.parquet")
    return [(region, str(year), note) for region, year, note in rows]


def read(folder: Path) -> Counter[tuple[Any, ...]]:
    query = "SELECT region, year, note FROM read_parquet(?, hive_partitioning = true, hive_types_autocast = false)"
    return Counter(duckdb.execute(query, [f"{folder}/**/*.parquet"]).fetchall())


def publish(policy: sqlanon.Policy) -> None:
    with sqlanon.anonymize(None, policy):
        pass


def test_hostile_values_read_back_as_they_were(tmp_path: Path) -> None:
    rows = write_source(tmp_path, HOSTILE)
    with sqlanon.anonymize(None, write_policy(tmp_path)) as release:
        table = release.to_arrow()
    released = tmp_path / "released"
    assert read(released) == Counter(rows)
    assert table.column_names == ["region", "year", "note"]
    assert Counter(zip(*table.to_pydict().values(), strict=True)) == Counter(rows)
    assert len(list(released.iterdir())) == len(HOSTILE)
    assert (released / "region=__HIVE_DEFAULT_PARTITION__").is_dir()  # of NULL
    assert check_papers(released).holds
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    modes = {(entry.is_dir(), f"{stat.S_IMODE(entry.stat().st_mode):o}") for entry in released.rglob("*")}
    assert modes == {(True, "700"), (False, "600")} or sys.platform == "win32"


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__", "y" * 250, "ü" * 45])
def test_values_that_no_folder_can_be_called_are_refused_without_being_shown(tmp_path: Path, value: str) -> None:
    write_source(tmp_path, ["North", value])
    with pytest.raises(TargetError, match=r"Values of 'region' cannot be names") as refused:
        publish(write_policy(tmp_path))
    assert "yyy" not in str(refused.value) and "üü" not in str(refused.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.parquet"]


def test_too_many_partitions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_source(tmp_path, ["a", "b"])
    monkeypatch.setattr(partitions, "MOST", 3)
    with pytest.raises(TargetError, match=r"has 4 partitions; at most 3"):
        publish(write_policy(tmp_path))


def test_the_redacted_and_the_generalized_have_folders_too(tmp_path: Path) -> None:
    write_source(tmp_path, ["a", "b"])
    extra = pa.table({"region": ["c"], "year": pa.array([1999], pa.int64()), "note": ["n0"]})
    pq.write_table(pa.concat_tables([pq.read_table(tmp_path / "s.parquet"), extra]), tmp_path / "s.parquet")
    publish(write_policy(tmp_path, suppressed="redact", suppression_limit=0.1))
    found = read(tmp_path / "released")
    assert sum(found.values()) == 4 * EACH + 1
    assert {len(set(row)) for row in found if row[0] == row[1]} == {1}
    publish(write_policy(tmp_path, suppression_limit=0, output={"file": "whole", "partition_by": "year"}))
    assert {row[1] for row in read(tmp_path / "whole")} == {"*"} or {row[0] for row in read(tmp_path / "whole")} == {
        "*"
    }


def plant_row(folder: Path) -> None:
    duckdb.execute(f"COPY (SELECT 'n0' AS note) TO '{folder}/region=a/year=2000/data_7.parquet' (FORMAT PARQUET)")


def plant_column(folder: Path) -> None:
    file = folder / "region=a/year=2000/data_0.parquet"
    pq.write_table(pq.read_table(file, partitioning=None).append_column("id", pa.array(range(EACH))), file)


def plant_covered(folder: Path) -> None:
    """Write a column into a file that the name of its folder hides from most readers."""
    file = folder / "region=a/year=2000/data_0.parquet"
    pq.write_table(pq.read_table(file, partitioning=None).append_column("region", pa.array(["exact"] * EACH)), file)


def plant_hidden(folder: Path) -> None:
    (folder / "region=a/.notes").write_text("x")


def rename_partition(folder: Path) -> None:
    (folder / "region=a").rename(folder / "region=z")


def move_row(folder: Path) -> None:
    """Move a record to another partition: the number of records stays, two classes change."""
    files = [folder / f"region={name}/year=2000/data_0.parquet" for name in "ab"]
    one, other = (pq.read_table(file, partitioning=None) for file in files)
    pq.write_table(one.slice(1), files[0])
    pq.write_table(pa.concat_tables([other, one.slice(0, 1)]), files[1])


@pytest.mark.parametrize("tamper", [plant_row, plant_column, plant_covered, plant_hidden, rename_partition, move_row])
def test_the_audit_finds_what_is_wrong_in_the_written_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tamper: Callable[[Path], None]
) -> None:
    write_source(tmp_path, ["a", "b"])
    write = partitions.write_partitions

    def tampered(engine: Any, query: Any, partial: Path, by: tuple[str, ...]) -> None:
        write(engine, query, partial, by)
        tamper(partial)

    monkeypatch.setattr(partitions, "write_partitions", tampered)
    with pytest.raises(SqlanonError) as found:
        publish(write_policy(tmp_path))
    assert isinstance(found.value, AuditError) or tamper is plant_row  # which the count of rows finds first
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.parquet"]


def test_a_release_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    released = tmp_path / "released"
    with pytest.raises(TargetError, match=r"exists already"):
        publish(write_policy(tmp_path))
    rows = write_source(tmp_path, ["b", "c"])
    publish(write_policy(tmp_path, if_exists="replace"))
    assert read(released) == Counter(rows) and check_papers(released).holds
    assert sorted(entry.name for entry in tmp_path.iterdir())[0] == "released"  # no workplace


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
def test_the_owner_can_move_and_empty_the_folders_of_a_release_that_nobody_may_write(tmp_path: Path) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path, output={"file": "released", "partition_by": ["region"], "mode": "0440"}))
    released = tmp_path / "released"
    modes = {(entry.is_dir(), f"{stat.S_IMODE(entry.stat().st_mode):o}") for entry in released.rglob("*")}
    assert modes == {(True, "750"), (False, "440")} and stat.S_IMODE(released.stat().st_mode) == 0o750


@pytest.mark.parametrize("kind", ["a strange file", "no manifest", "a file"])
def test_what_is_no_release_is_not_replaced(tmp_path: Path, kind: str) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    released = tmp_path / "released"
    if kind == "a strange file":
        (released / "region=a/mine.txt").write_text("x")
    elif kind == "no manifest":
        (tmp_path / f"released{MANIFEST}").unlink()
    else:
        shutil.rmtree(released)
        released.write_text("x")
    with pytest.raises(TargetError, match=r"is not replaced"):
        publish(write_policy(tmp_path, if_exists="replace"))
    assert released.exists()


def test_a_folder_that_holds_the_source_is_no_target(tmp_path: Path) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    for output in ("released", "released/more", "."):
        policy = write_policy(
            tmp_path, source="released", if_exists="replace", output={"file": output, "partition_by": "region"}
        )
        with pytest.raises(TargetError):
            publish(policy)
    assert check_papers(tmp_path / "released").holds


@pytest.mark.parametrize(
    "output", ["released/region=a/more.parquet", "released/more.csv", {"file": "released/x", "partition_by": "year"}]
)
def test_a_release_does_not_go_into_the_folder_of_another(tmp_path: Path, output: Any) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    with pytest.raises(TargetError, match=r"is in 'released', which is a release|has an equals sign"):
        publish(write_policy(tmp_path, output=output))
    assert check_papers(tmp_path / "released").holds


def test_no_error_shows_a_folder_that_names_a_value_of_the_source(tmp_path: Path) -> None:
    for name in ("planted", "b"):
        (tmp_path / f"source/region={name}").mkdir(parents=True)
        rows = pa.table({"year": [2000] * EACH, "note": ["n"] * EACH})
        pq.write_table(rows, tmp_path / f"source/region={name}/part.parquet")
    with sqlanon.plan(None, write_policy(tmp_path, source="source")) as plan:
        (tmp_path / "source/region=planted/part.parquet").unlink()
        with pytest.raises(SqlanonError) as raised:
            plan.publish()
    assert "planted" not in str(raised.value)


KILLED = """
import os, signal, sys
import sqlanon
def watch(event, arguments):
    if event == "os.rename" and str(arguments[1]) == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
with sqlanon.anonymize(None, sqlanon.Policy.from_file(sys.argv[1])):
    pass
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_run_that_is_killed_before_the_rename_leaves_the_old_release_or_nothing(
    tmp_path: Path, replaced: bool
) -> None:
    write_source(tmp_path, ["a", "b"])
    released = tmp_path / "released"
    if replaced:
        publish(write_policy(tmp_path))
        before = digest_of(released)
        write_source(tmp_path, ["b", "c"])
    policy = write_policy(tmp_path, if_exists="replace")
    (tmp_path / "p.json").write_text(json.dumps(policy.to_dict()))
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "p.json"), str(released)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(arguments, check=False, env=env).returncode == -signal.SIGKILL
    assert released.exists() == replaced
    assert command("clean", str(tmp_path)).returncode == 0
    left = {entry.name for entry in tmp_path.iterdir()} - {"s.parquet", "p.json"}
    assert all(name.startswith("released") for name in left) and bool(left) == replaced
    if replaced:
        assert digest_of(released) == before and check_papers(released).holds


def test_the_digest_is_that_of_the_list_of_files(tmp_path: Path) -> None:
    write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    released = tmp_path / "released"
    names = sorted(str(file.relative_to(released)) for file in released.rglob("*.parquet"))
    lines = [f"{hashlib.sha256((released / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    assert digest_of(released) == hashlib.sha256("".join(lines).encode()).hexdigest()
    (released / "region=a").rename(released / "region=c")
    assert not check_papers(released).holds


@pytest.mark.slow
def test_check_and_run_read_the_folder(tmp_path: Path) -> None:
    rows = write_source(tmp_path, ["a", "b"])
    publish(write_policy(tmp_path))
    released = str(tmp_path / "released")
    assert command("check", f"{released}/", "--qi", "region,year", "--k", str(EACH)).returncode == 0
    assert command("check", f"{released}/", "--qi", "region,year", "--k", str(EACH + 1)).returncode == 1
    assert command("check", f"{released}/", "--manifest").returncode == 0
    (tmp_path / "p.json").write_text(json.dumps(write_policy(tmp_path, source=str(tmp_path / "s.parquet")).to_dict()))
    assert command("attack", released, "--policy", str(tmp_path / "p.json"), "--holdout", "0").returncode == 0
    publish(write_policy(tmp_path, source="released", output={"file": "again", "partition_by": ["year"]}))
    assert read(tmp_path / "again") == Counter(rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": {"file": "released", "partition_by": ["note"]}}, "is no quasi-identifier"),
        ({"output": {"file": "released", "partition_by": ["none"]}}, "is no quasi-identifier"),
        ({"output": {"file": "released", "partition_by": ["year", "year"]}}, "names a column twice"),
        ({"output": {"file": "released.csv", "partition_by": ["year"]}}, "has another ending"),
        ({"output": {"table": "released", "partition_by": ["year"]}}, "Only a file is partitioned"),
        ({"output": {"file": "released", "partition_by": [3]}}, "output.partition_by"),
        ({"output": {"file": "released", "partition_by": 3}}, "output.partition_by"),
        ({"columns": {"region": quasi_identifier(), "year": quasi_identifier()}}, "No column is left"),
        (
            {"columns": {"a=b": quasi_identifier(), "n": {"role": "keep"}}}
            | {"output": {"file": "released", "partition_by": ["a=b"]}},
            "cannot stand in the name of a folder",
        ),
        (  # which Arrow and others take for hidden, and show no record of
            {"columns": {"_region": quasi_identifier(), "n": {"role": "keep"}}}
            | {"output": {"file": "released", "partition_by": ["_region"]}},
            "cannot stand in the name of a folder",
        ),
        ({"ledger": {"file": "l.duckdb", "record": "note", "key": {"env": "KEY"}}}, "records no partitioned"),
    ],
)
def test_policies_that_cannot_be_published_so_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        write_policy(tmp_path, **changes)


@pytest.mark.slow
def test_other_engines_paths_with_an_equals_sign_and_the_option_to_are_refused(tmp_path: Path) -> None:
    import sqlite3

    write_source(tmp_path, ["a", "b"])
    (tmp_path / "day=1").mkdir()
    with pytest.raises(TargetError, match="equals sign"):
        publish(write_policy(tmp_path, output={"file": "day=1/released", "partition_by": ["year"]}))
    (tmp_path / "p.json").write_text(json.dumps(write_policy(tmp_path).to_dict()))
    assert command("run", str(tmp_path / "p.json"), "--to", str(tmp_path / "x.csv")).returncode == 2
    assert not (tmp_path / "x.csv").exists()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("CREATE TABLE t (region TEXT, year INTEGER, note TEXT)")
        connection.executemany("INSERT INTO t VALUES ('a', 1, 'x')", [()] * EACH)
    with pytest.raises(UnsupportedError, match="is not partitioned"):
        publish(write_policy(tmp_path, source="s.db", table="t"))


def test_the_policy_is_written_with_its_partitions_and_without_them_as_before(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    assert "partition_by" in json.dumps(policy.to_dict())
    assert "partition_by" not in json.dumps(write_policy(tmp_path, output="released.parquet").to_dict())
    output = sqlanon.Output.file("released", partition_by="region")
    assert output.partition_by == ("region",)
