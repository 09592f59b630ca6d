"""A full disk, too little memory, kills, locked databases, time zones: a clear error, and what was there still is."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import effort
import kills
import pytest
from click.testing import CliRunner
from policies import document_of

import sqlanon
from sqlanon.cli import main
from sqlanon.commands import run as run_command
from sqlanon.core.disk import locks
from sqlanon.core.disk.folders import PrivateFolder
from sqlanon.errors import TargetError

FREE = (0, 8, 48, 96, 24, 64, 160, 400)
"""Kilobytes that are left on the disk: some fail at each step of a run. A small effort leaves the first four."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this machine mounts no disks")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def run(folder: Path, name: str, *options: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["run", str(folder / name), "--json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", kills.OUTPUTS)
@pytest.mark.parametrize("stands", [False, True], ids=["first", "replace"])
@pytest.mark.few(4)
def test_a_full_disk_is_a_clear_error_and_leaves_what_was_there(disk: Path, kind: str, stands: bool) -> None:
    codes = Counter()
    options = [] if kind == "folder" else ["--certificate", str(disk / "proof.json")]
    for free in FREE[: max(4, effort.scaled(len(FREE)))]:
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        kills.prepare(disk, kind)
        if stands:
            assert run(disk, "old.yaml", *options)[0] == 0
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "filler").write_bytes(bytes(max(0, room - free * 1024)))
        code, document = run(disk, "new.yaml", *options)
        codes[code] += 1
        assert code == 0 or (code == 2 and "room" in document["hint"]), document
        found = kills.release_of(disk, kind)
        assert found == "new" if code == 0 else found in ("new", "old" if stands else None)
        kills.check_papers(disk, kind, settled=True)
        assert not [path.name for path in disk.iterdir() if path.name.startswith(".")]
    assert codes[2] > 1


def test_a_folder_whose_lock_has_no_room_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(locks.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        PrivateFolder.claim(tmp_path / "work")
    assert not [*tmp_path.iterdir()]


def test_a_report_that_cannot_be_written_does_not_hide_why_the_run_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills.prepare(tmp_path, "csv")
    policy = json.loads((tmp_path / "new.yaml").read_text()) | {"table": "missing"}
    (tmp_path / "new.yaml").write_text(json.dumps(policy))

    def full(*_: object, **__: object) -> None:
        raise TargetError("The file 'report.html' could not be written.", hint="make room.")

    monkeypatch.setattr(run_command, "write_report", full)
    code, document = run(tmp_path, "new.yaml", "--report", str(tmp_path / "report.html"))
    assert (code, document["error"]) == (2, "SourceError")


def test_memory_that_ends_is_an_error_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    kills.prepare(tmp_path, "csv")
    monkeypatch.setattr(run_command, "anonymize", exhausted)
    code, document = run(tmp_path, "new.yaml")
    assert (code, document["error"]) == (2, "EngineError") and "memory" in document["message"] and document["hint"]


def test_a_memory_limit_that_is_too_small_is_named(tmp_path: Path) -> None:
    duckdb.sql("SELECT hash(i) AS a, hash(i + 1) AS b FROM range(400000) r(i)").write_parquet(
        str(tmp_path / "s.parquet")
    )
    quasi = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    columns = {"a": quasi, "b": quasi}
    policy = document_of(
        columns, k=5, source="s.parquet", engine={"memory_limit": "5MB", "threads": 1}, output={"file": "out.csv"}
    )
    (tmp_path / "p.yaml").write_text(json.dumps(policy))
    code, document = run(tmp_path, "p.yaml")
    assert code == 2 and "memory_limit" in document["hint"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.yaml", "s.parquet"]


@pytest.mark.slow
def test_a_full_folder_of_temporary_files_is_named(disk: Path, tmp_path: Path) -> None:
    """Not the memory, of which there may be enough for another machine."""
    wide = ", ".join(f"md5(CAST(i + {n} AS VARCHAR)) AS c{n}" for n in range(2))
    duckdb.sql(f"SELECT {wide} FROM range(600000) r(i)").write_parquet(str(tmp_path / "s.parquet"))
    policy = {
        "source": "s.parquet",
        "columns": {f"c{n}": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for n in range(2)},
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "engine": {"memory_limit": "80MB", "threads": 1, "temp_directory": str(disk)},
    }
    (tmp_path / "p.yaml").write_text(json.dumps(policy))
    code, document = run(tmp_path, "p.yaml")
    assert code == 2 and "temporary files" in document["message"] and "OutOfMemory" not in document["message"]
    assert "engine.temp_directory" in document["hint"] and not [*disk.iterdir()]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked to be killed")
def test_a_run_that_is_killed_at_a_random_moment_is_settled() -> None:
    script = Path(kills.__file__)
    command = [sys.executable, str(script), "--kills", str(effort.scaled(20))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("role", effort.fast_of(["quasi_identifier", "keep"], "quasi_identifier"))
@pytest.mark.parametrize("ending", effort.fast_of(["parquet", "csv"], "csv"))
@pytest.mark.slow
def test_a_release_does_not_depend_on_the_time_zone_of_the_session(tmp_path: Path, role: str, ending: str) -> None:
    found = []
    for zone in ("UTC", "Europe/Berlin", "America/New_York"):
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            moments = "SELECT TIMESTAMPTZ '2024-03-30 20:00+00' + i * INTERVAL 1 HOUR AS moment FROM range(60) r(i)"
            connection.execute(f"CREATE TABLE t AS {moments}")
            connection.execute(f"SET TimeZone = '{zone}'")
            column: dict[str, Any] = {"role": role}
            if role == "quasi_identifier":
                column |= {"hierarchy": {"dates": ["day", "month"]}, "min_level": 1, "max_level": 1}
            path = tmp_path / f"{zone.replace('/', ' ')}.{ending}"
            document = {
                "table": "t",
                "columns": {"moment": column},
                "privacy": [{"type": "k_anonymity", "k": 2}],
                "accept": ["moment"] if role == "keep" else [],
                "output": {"file": str(path)},
                "suppression_limit": 0.5,
            }
            sqlanon.anonymize(connection, document).close()
            assert connection.execute("SELECT current_setting('TimeZone')").fetchone() == (zone,)
        with duckdb.connect() as reader:
            reader.execute("SET TimeZone = 'UTC'")
            found.append(Counter(reader.execute(f"SELECT CAST(moment AS VARCHAR) FROM '{path}'").fetchall()))
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "tr_TR.UTF-8", "TZ": "America/New_York"},
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "2", "TZ": "", "LC_ALL": "POSIX"},
    ],
    ids=lambda setting: " ".join(setting),
)
@pytest.mark.few(2)
def test_a_release_does_not_depend_on_locale_zone_or_hashes(tmp_path: Path, setting: dict[str, str]) -> None:
    folder = tmp_path / "Übung ı İ 名"
    folder.mkdir()
    kills.prepare(folder, "csv")
    command = [sys.executable, "-m", "sqlanon.cli", "run", str(folder / "new.yaml"), "--json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | setting
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    plain = run(folder, "new.yaml")[1]
    assert [document[key] for key in ("levels", "loss", "published")] == [
        plain[key] for key in ("levels", "loss", "published")
    ]
    closed = subprocess.run([*command, "--dry-run"], stdout=None, env=environment, check=False, close_fds=True,
                            preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE)  # fmt: skip
    assert b"Traceback" not in closed.stderr


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of files are bytes")
def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "Übung"
    folder.mkdir()
    kills.prepare(folder, "csv")
    command = [sys.executable, "-m", "sqlanon.cli", "run", str(folder / "new.yaml"), "--json"]
    setting = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, env=os.environ | setting, check=False)
    document = json.loads(done.stdout)
    assert (done.returncode, document["error"]) == (2, "InputError") and "PYTHONUTF8" in document["hint"]


@pytest.mark.slow
def test_a_database_that_another_process_holds_is_a_clear_error(tmp_path: Path) -> None:
    kills.prepare(tmp_path, "table")
    held = f"c = duckdb.connect({str(tmp_path / 's.duckdb')!r})"
    code = f"import duckdb, sys; {held}; print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        exit_code, document = run(tmp_path, "new.yaml")
        assert exit_code == 2 and document["hint"] and "lock" in document["message"].lower(), document
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait()
    assert run(tmp_path, "new.yaml")[0] == 0
