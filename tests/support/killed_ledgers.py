"""Kill a run with a ledger before each of its statements and changes of files, and look at what stands there then.

Run as a script: ``killed_ledgers.py FOLDER KIND FIRST STEP`` prints a JSON document for every STEP-th kill point. The
process itself opens no database: whatever does is a child of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import killed_publications
import ledger_worlds as worlds

import sqlanon
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy import Key
from sqlanon.ledger.releases import ReleaseLedger

AUDITED = killed_publications.CHANGES


def in_child(work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns (for JSON), from a child of its own; None if it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                json.dump({"answer": work()}, out)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as found:
        text = found.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    return json.loads(text)["answer"]


def killing(before: int, work: Callable[[], Any]) -> Callable[[], Any]:
    """Return ``work``, killed before its n-th statement or change of a file."""

    def killed() -> Any:
        left, run = [before], DuckDBEngine.run

        def count() -> None:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event != "open" or int(arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
            if event in AUDITED and writes:
                count()

        def counted(engine: DuckDBEngine, *arguments: Any) -> Any:
            count()
            return run(engine, *arguments)

        DuckDBEngine.run = counted  # type: ignore[method-assign]
        sys.addaudithook(watch)
        return work()

    return killed


def output(folder: Path, kind: str) -> dict[str, str]:
    return {"file": str(folder / "out" / "released.parquet")} if kind == "file" else {"table": "released"}


def publish(folder: Path, kind: str, width: int) -> bool:
    """Publish a release; what it holds depends on ``width``, and so does who receives it, who shares with nobody."""
    keys = worlds.document(folder, output=output(folder, kind))
    keys["ledger"] |= {"recipient": f"width {width}", "colludes": "none", "source": "cases"}
    keys["columns"]["age"]["hierarchy"]["intervals"]["width"] = width
    if width == 2:  # whatever the nodes, the releases differ
        keys["columns"]["ill"] = {"role": "drop"}
    sqlanon.anonymize(None, keys).close()
    return True


def seen(folder: Path, kind: str, settle: bool) -> dict[str, Any]:
    """What stands there: the digest of a file or the columns of a table, and the entries of the ledger."""
    ledger, target = folder / "private" / "ledger.duckdb", folder / "out" / "released.parquet"
    if settle:
        key = Key(file=str(folder / "secret.key"))
        ReleaseLedger.open(ledger, key, source="cases", person_column="case_id").close()
    if kind == "file":
        stands = digest_of(target) if target.exists() else None
    else:
        with duckdb.connect(str(folder / "source.duckdb"), read_only=True) as connection:
            query = "SELECT md5(string_agg(r::VARCHAR, ' ' ORDER BY r::VARCHAR)) FROM released r"
            there = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'released'").fetchone()
            stands = connection.execute(query).fetchone()[0] if there != (0,) else None  # type: ignore[index]
    query = "SELECT r.state, r.digest, (SELECT count(*) FROM members m WHERE m.number = r.number) FROM releases r"
    entries = worlds.rows_of(ledger, f"{query} ORDER BY r.number") if ledger.exists() else []
    return {"stands": stands, "entries": entries}


def main(directory: Path, kind: str, first: int, step: int, *, old: bool) -> None:
    """Print what is seen before, after every kill, after that was settled, and at times after another run."""
    template = directory / "template"
    in_child(lambda: worlds.prepare(template) and None)
    if old:
        in_child(lambda: publish(template, kind, 5))
    before = in_child(lambda: seen(template, kind, False))
    point, ended = first, False
    while not ended:
        folder = directory / str(point)
        shutil.copytree(template, folder)
        ended = in_child(killing(point, lambda folder=folder: publish(folder, kind, 2))) is True
        looks = [before, in_child(lambda folder=folder: seen(folder, kind, False))]
        looks.append(in_child(lambda folder=folder: seen(folder, kind, True)))
        if (point - first) // step % 3 == 0:
            in_child(lambda folder=folder: publish(folder, kind, 2))
            looks.append(in_child(lambda folder=folder: seen(folder, kind, False)))
        print(json.dumps({"point": point, "ended": ended, "looks": looks}), flush=True)
        point += step


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), old="old" in sys.argv[5:])
