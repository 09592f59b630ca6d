"""Kill runs at random moments (kill -9), over all kinds of outputs, and look at what stands there then.

    python benchmarks/kills.py --kills 500 --first 0

Each kill has a seed. A release of a policy stands there, or none; a run of another policy, with a script, a certificate
and a report, is killed at a random moment of its time. Then

- a reader finds the release of the one policy or of the other, whole, or none where none stood there;
- no paper stands beside a release that it does not describe, and a script, certificate or report is whole;
- after `sqlanon clean` the release that stands there has its manifest and certificate, and nothing private is left;
- the next run ends as it should, and leaves its release alone, with its papers.

Exit code 1: one of these does not hold; the seed of the kill is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sqlanon.commands.clean
import sqlanon.commands.run
import sqlanon.core.anonymizer
import sqlanon.core.engines.duckdb.engine
import sqlanon.core.engines.sqlite.engine  # noqa: F401
from sqlanon.cli import main as command

ROWS = 3000
OUTPUTS: dict[str, dict[str, str]] = {
    "parquet": {"file": "out.parquet"},
    "csv": {"file": "out.csv"},
    "duckdb": {"file": "out.duckdb"},
    "xml": {"file": "out.xml"},
    "table": {"table": "released"},
    "view": {"view": "released"},
    "live view": {"live_view": "released"},
    "table of sqlite": {"table": "released"},
    "view of sqlite": {"view": "released"},
    "folder": {"folder": "out"},
}
OLD, NEW = ("age", "zip"), ("age", "zip", "ward")
"""The columns of the release that stands there, and of that whose run is killed."""
PAPERS = (".manifest.json", ".certificate.json")
BESIDE = ("script.sql", "proof.json", "report.html")


def prepare(folder: Path, kind: str) -> None:
    """Write the source, and the policies ``old.yaml`` and ``new.yaml``."""
    rows = [(str(i), 20 + i * 7 % 60, f"{1000 + i * 13 % 40}", f"w{i % 3}") for i in range(ROWS)]
    if kind.endswith("sqlite"):
        with closing(sqlite3.connect(folder / "s.db")) as connection, connection:
            connection.execute("CREATE TABLE t (id TEXT, age INTEGER, zip TEXT, ward TEXT)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    else:
        with duckdb.connect(str(folder / "s.duckdb")) as connection:
            connection.execute("CREATE TABLE t (id VARCHAR, age INTEGER, zip VARCHAR, ward VARCHAR)")
            values = "CAST(i AS VARCHAR), 20 + i * 7 % 60, CAST(1000 + i * 13 % 40 AS VARCHAR), 'w' || i % 3"
            connection.execute(f"INSERT INTO t SELECT {values} FROM range({ROWS}) AS r(i)")
    for name, kept in (("old", OLD), ("new", NEW)):
        (folder / f"{name}.yaml").write_text(json.dumps(_policy(kind, kept)))


def _policy(kind: str, kept: tuple[str, ...]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "id": {"role": "drop"},
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2, 2]}}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
        "ward": {"role": "keep" if "ward" in kept else "drop"},
    }
    source, name = ("s.db" if kind.endswith("sqlite") else "s.duckdb"), "t"
    common = {"suppression_limit": 0.1, "if_exists": "replace"}
    if kind == "folder":
        del columns["id"]
        tables = {"people": {"source": source, "table": name, "key": "id", "columns": columns}}
        document = {"tables": tables, "privacy": [{"type": "profile_k", "k": 5}]}
        return document | common | {"output": OUTPUTS[kind]}
    return {
        "source": source, "table": name, "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}],
        **({} if kind == "live view" else {"suppressed": "drop"}), "output": OUTPUTS[kind], **common,
    }  # fmt: skip


def run(folder: Path, *arguments: str, seconds: float | None = None) -> tuple[int | None, float]:
    """Run a command in a process of its own, and kill it after some seconds.

    Returns:
        its exit code, None if it was killed; how long it took.
    """
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        with (folder / "said.txt").open("w") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        code = 70
        try:
            command(list(arguments))
        except SystemExit as done:
            code = int(done.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return (None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)), time.monotonic() - began


def release_of(folder: Path, kind: str) -> str | None:
    """Return which release a reader finds, by its columns and all of its rows: ``old``, ``new`` or none."""
    output = OUTPUTS[kind]
    place = folder / next(iter(output.values()))
    if kind == "xml":
        if not place.exists():
            return None
        text = place.read_text()
        assert text.rstrip().endswith(">") and text.count("</") > ROWS, "the release is cut off"
        return "new" if "ward" in text else "old"
    if kind == "folder":
        if not place.exists():
            return None
        [file] = place.glob("people.*")
        return _of_relation(":memory:", f"'{file}'")
    if "file" in output:
        if not place.exists():
            return None
        return _of_relation(str(place), "release") if kind == "duckdb" else _of_relation(":memory:", f"'{place}'")
    if kind.endswith("sqlite"):
        return _of_sqlite(folder)
    return _of_database(folder, kind)


def _which(columns: list[str], rows: int) -> str:
    which = {OLD: "old", NEW: "new"}.get(tuple(name for name in columns if name != "id"))
    assert which is not None, f"a release with the columns {columns}"
    assert rows >= ROWS * 0.9, f"a release of {rows} rows"
    return which


def _of_relation(database: str, relation: str) -> str:
    with duckdb.connect(database, read_only=database != ":memory:") as connection:
        found = connection.execute(f"SELECT * FROM {relation}")
        columns = [entry[0] for entry in found.description]
        return _which(columns, len(found.fetchall()))


def _of_database(folder: Path, kind: str) -> str | None:
    with duckdb.connect(str(folder / "s.duckdb")) as connection:
        query = "SELECT table_name FROM information_schema.tables"
        there = {row[0] for row in connection.execute(query).fetchall()} - {"t"}
        if not there:
            return None
        beneath = [name for name in there if name != "released"]
        assert "released" in there, f"{len(beneath)} relations without the release"
        assert all(name.startswith("released_") for name in beneath), "a relation under a temporary name"
        assert bool(beneath) == (kind != "table"), "relations beneath the release are missing, or left over"
        found = connection.execute("SELECT * FROM released")
        return _which([entry[0] for entry in found.description], len(found.fetchall()))


def _of_sqlite(folder: Path) -> str | None:
    with closing(sqlite3.connect(folder / "s.db")) as connection:
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master").fetchall()} - {"t"}
        if not there:
            return None
        assert there <= {"released", "released_released"}, "a relation under a temporary name"
        found = connection.execute("SELECT * FROM released")
        return _which([entry[0] for entry in found.description], len(found.fetchall()))


def check_papers(folder: Path, kind: str, *, settled: bool) -> None:
    """Check that papers beside a file describe it, and when ``settled`` that they are there."""
    place = folder / OUTPUTS[kind].get("file", "none")
    if "file" in OUTPUTS[kind]:
        manifest, certificate = (place.with_name(place.name + ending) for ending in PAPERS)
        if manifest.exists():
            digests = json.loads(manifest.read_text())["sha256"]
            assert place.exists(), "a manifest without its release"
            found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (place, certificate) if path.exists()}
            assert found <= set(digests.values()), "a paper that does not belong to the release beside it"
            assert not settled or len(digests) == len(found), "the release was settled without its certificate"
        else:
            assert not certificate.exists() or not settled, "a certificate without a manifest"
            assert not (settled and place.exists()), "the release was settled without its manifest"
    for name in BESIDE:
        path = folder / name
        if path.exists():
            text = path.read_text()
            assert text.endswith("\n") or text.rstrip().endswith((">", "}", ";")), f"{name} is cut off"
            if name.endswith(".json"):
                json.loads(text)


def private(folder: Path) -> list[str]:
    """Return what is left that is neither a release nor one of its papers."""
    known = {"s.duckdb", "s.db", "old.yaml", "new.yaml", "said.txt", "tmp", *BESIDE}
    known |= {"s.db-journal"}  # SQLite's own, which its next writer rolls back and removes
    left = [p.name for p in folder.iterdir() if p.name not in known and not p.name.startswith("out")]
    return left + [p.name for p in (folder / "tmp").iterdir()]


def one_kill(seed: int, kinds: list[str], times: dict[str, float], answers: Counter[str]) -> str | None:
    """Kill a run at the moment of a seed; return what does not hold, if anything."""
    rng = random.Random(seed)
    kind, stands = rng.choice(kinds), rng.random() < 0.6
    beside = zip(("--script", "--certificate", "--report"), BESIDE, strict=True)
    options = [] if kind == "folder" else [text for option in beside for text in option]
    with tempfile.TemporaryDirectory(prefix="kills ") as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        prepare(folder, kind)
        said = lambda: (folder / "said.txt").read_text()[-600:]  # noqa: E731
        if stands or kind not in times:
            code, times[kind] = run(folder, "run", "old.yaml", "--json", *options)
            if code != 0:
                return f"{kind}: the first run ended with {code}: {said()}"
        if not stands and kind in times:
            for path in (*folder.glob("out*"), *[folder / beside for beside in BESIDE], *folder.glob("s.d*")):
                _remove(path)
            prepare(folder, kind)
        code, _ = run(folder, "run", "new.yaml", "--json", *options, seconds=rng.random() * times[kind] * 1.2)
        before = "old" if stands else None
        answers["not killed" if code is not None else "killed"] += 1
        try:
            found = release_of(folder, kind)
            answers[f"found {found}"] += 1
            assert found in ("new", before), f"{found} is there instead of {before}"
            check_papers(folder, kind, settled=False)
            answers["left something"] += bool(private(folder))
            if rng.random() < 0.5:
                code, _ = run(folder, "clean", ".")
                assert code == 0, f"clean ended with {code}: {said()}"
                code, _ = run(folder, "clean", "tmp")
                assert code == 0, f"clean ended with {code}: {said()}"
                assert not private(folder), f"clean left {private(folder)}"
                assert release_of(folder, kind) in ("new", before), "clean lost the release"
                check_papers(folder, kind, settled=True)
            code, _ = run(folder, "run", "new.yaml", "--json", *options)
            assert code == 0, f"the next run ended with {code}: {said()}"
            assert release_of(folder, kind) == "new", "the next run did not publish"
            check_papers(folder, kind, settled=True)
            assert not private(folder), f"the next run left {private(folder)}"
        except AssertionError as error:
            return f"{kind}, {'replacing' if stands else 'first'}: {error}"
    return None


def _remove(path: Path) -> None:
    if path.is_dir():
        for inner in path.iterdir():
            inner.unlink()
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def main() -> int:
    """Kill runs and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=[*OUTPUTS], default=[*OUTPUTS], help="kinds of outputs")
    options = parser.parse_args()
    began, times, answers, failed = time.monotonic(), {}, Counter(), 0
    for seed in range(options.first, options.first + options.kills):
        fault = one_kill(seed, options.only, times, answers)
        if fault is not None:
            failed += 1
            print(f"seed {seed}: {fault}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(answers.items())))
    print(f"seeds {options.first} to {options.first + options.kills - 1}; {time.monotonic() - began:.0f} seconds")
    print(f"{options.kills - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
