"""What does not fit into memory goes to a private folder, encrypted, and does not stay there."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sqlanon.core.disk import folders
from sqlanon.core.disk.folders import LOCK, SPILL, PrivateFolder
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.sqlite.engine import SQLiteEngine
from sqlanon.errors import InputError

CANARY = "canary-5b1d"
SPILLING = (
    f"CREATE TABLE records AS SELECT '{CANARY}' || md5(CAST(i AS VARCHAR)) AS name FROM range(300000) AS t(i)",
    "CREATE TABLE twice AS SELECT name || '-' || name AS name FROM records",
)
LIMITS = {"memory_limit": "24MB", "threads": 1}


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}


@pytest.fixture
def spilled(tmp_path: Path) -> DuckDBEngine:
    engine = DuckDBEngine(settings={**LIMITS, "temp_directory": str(tmp_path / "room")})
    for statement in SPILLING:
        engine.run("spill", statement)
    return engine


def test_spilled_values_are_encrypted_in_a_folder_of_their_own(spilled: DuckDBEngine, tmp_path: Path) -> None:
    [folder] = (tmp_path / "room").iterdir()
    files = [path for path in folder.iterdir() if path.stat().st_size]
    assert sum(path.stat().st_size for path in files) > 1_000_000, "nothing was spilled, so nothing was tested"
    assert not any(CANARY.encode() in path.read_bytes() for path in files)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert spilled.run("read", f"SELECT COUNT(*) FROM twice WHERE name LIKE '{CANARY}%-{CANARY}%'") == [(300000,)]
    spilled.close()
    assert list((tmp_path / "room").iterdir()) == []


def test_nothing_is_spilled_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "system"))
    (tmp_path / "system").mkdir()
    engine = DuckDBEngine(settings=LIMITS)
    for statement in SPILLING:
        engine.run("spill", statement)
    assert [path.name for path in tmp_path.iterdir()] == ["system"]
    assert [path.name.startswith(SPILL) for path in (tmp_path / "system").iterdir()] == [True]
    engine.close()
    assert list((tmp_path / "system").iterdir()) == []


def test_an_engine_that_nobody_closed_leaves_no_folder(tmp_path: Path) -> None:
    DuckDBEngine(settings={"temp_directory": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
engine = DuckDBEngine(settings={"temp_directory": sys.argv[1]})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_spilled_is_removed_by_the_next(tmp_path: Path) -> None:
    script = [sys.executable, "-c", KILLED, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(script, check=False, env=env).returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    living = DuckDBEngine(settings={"temp_directory": str(tmp_path)})
    assert not left.exists()
    [own] = tmp_path.iterdir()
    DuckDBEngine(settings={"temp_directory": str(tmp_path)}).close()
    assert list(tmp_path.iterdir()) == [own]  # of a living process
    living.close()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list the files of a process")
def test_sqlite_spills_to_a_file_that_has_no_name() -> None:
    engine = SQLiteEngine()
    engine.run("session", "PRAGMA temp.cache_size = -100")
    series = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 40000) SELECT i FROM t"
    engine.run("spill", f"CREATE TEMPORARY TABLE records AS SELECT '{CANARY}' || hex(i * 7919) AS name FROM ({series})")
    found = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    spilled = [name for name in found if "etilqs" in name]
    engine.close()
    assert spilled and all(name.endswith("(deleted)") for name in spilled)


@pytest.mark.parametrize("content", [["other.txt"], [LOCK + "x"]])
def test_a_folder_that_is_not_ours_is_not_removed(tmp_path: Path, content: list[str]) -> None:
    foreign = tmp_path / f"{SPILL}0123"
    foreign.mkdir()
    for name in content:
        (foreign / name).write_text("x")
    DuckDBEngine(settings={"temp_directory": str(tmp_path)}).close()
    assert [path.name for path in foreign.iterdir()] == content


def test_a_folder_is_claimed_by_one_at_a_time(tmp_path: Path) -> None:
    first = PrivateFolder.claim(tmp_path / "a")
    assert first is not None and PrivateFolder.claim(tmp_path / "a") is None
    assert PrivateFolder.left_behind(tmp_path / "a") is None
    assert modes(tmp_path / "a") == {"a": 0o700, LOCK: 0o600}
    first.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_removes_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, removed = folders.is_own, []

    def removing(path: Path) -> bool:
        """Look at the folder after another start has taken it for what a dead process left behind."""
        if not removed:
            removed.append(PrivateFolder.left_behind(path) or path)
        return look(path)

    monkeypatch.setattr(folders, "is_own", removing)
    with monkeypatch.context() as patch:
        patch.setattr(PrivateFolder, "left_behind", staticmethod(lambda path: path.rmdir()))
        claimed = PrivateFolder.claim(tmp_path / "mine")
    assert removed and claimed is not None and (tmp_path / "mine" / LOCK).exists()


def test_a_place_that_cannot_hold_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="temporary files") as raised:
        DuckDBEngine(settings={"temp_directory": str(tmp_path / "file")})
    assert "engine.temp_directory" in raised.value.hint
