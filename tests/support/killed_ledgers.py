"""Kill a run with a ledger before each of its statements and changes of files, and look at what stands there then.

Run as a script: ``killed_ledgers.py FOLDER KIND FIRST STEP FINEST`` prints a JSON document for every STEP-th point,
and for points at most FINEST apart where what stands there changes. The process itself opens no database: whatever does
is a child of its own.
"""

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

COHORTS = "cohorts"
"""The word by which releases in cohorts are asked for."""
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
    """Publish a release; what it holds depends on ``width``, and so does who receives it, who shares with nobody.

    In cohorts: publish the next one, after 30 records came and some left.
    """
    if COHORTS in sys.argv:
        return publish_next(folder, kind)
    keys = worlds.document(folder, output=output(folder, kind))
    keys["ledger"] |= {"recipient": f"width {width}", "colludes": "none", "source": "cases"}
    keys["columns"]["age"]["hierarchy"]["intervals"]["width"] = width
    if width == 2:  # whatever the nodes, the releases differ
        keys["columns"]["ill"] = {"role": "drop"}
    sqlanon.anonymize(None, keys).close()
    return True


def publish_next(folder: Path, kind: str) -> bool:
    """Publish the next release in cohorts. What comes and leaves depends on how many the ledger holds."""
    ledger = folder / "private" / "ledger.duckdb"
    done = len(worlds.states(ledger)) if ledger.exists() else 0
    keys = worlds.document(folder, output=output(folder, kind))
    keys["ledger"] |= {"cohorts": {"margin": 0}, "source": "cases"}
    keys["columns"]["ill"] = {"role": "keep"}
    if done:
        with duckdb.connect(str(folder / "source.duckdb")) as connection:
            connection.execute(f"DELETE FROM t WHERE tag LIKE 'n{done}%' OR hash(tag) % 7 = 0")
            key = f"'n{done}_' || case_id"
            connection.execute(f"INSERT INTO t SELECT {key}, sex, place, age, ill, {key} FROM t WHERE tag LIKE 'k%'")
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


def look_at(directory: Path, kind: str, point: int, before: dict[str, Any], again: bool) -> dict[str, Any]:
    """What is seen before, after a kill at a point, after that was settled, and then after another run, if asked."""
    template, folder = directory / "template", directory / str(point)
    shutil.copytree(template, folder)
    ended = in_child(killing(point, lambda: publish(folder, kind, 2))) is True
    looks = [before, *(in_child(lambda settle=settle: seen(folder, kind, settle)) for settle in (False, True))]
    if again:
        in_child(lambda: publish(folder, kind, 2))
        looks.append(in_child(lambda: seen(folder, kind, False)))
    return {"point": point, "ended": ended, "looks": looks}


def main(directory: Path, kind: str, first: int, step: int, finest: int, *, old: bool) -> None:
    """Print what is seen at every ``step``-th point, and at points ``finest`` apart where what stands there changes."""
    template = directory / "template"
    in_child(lambda: worlds.prepare(template) and None)
    if old:
        in_child(lambda: publish(template, kind, 5))
    before = in_child(lambda: seen(template, kind, False))
    points: dict[int, dict[str, Any]] = {}

    def add(point: int) -> bool:
        points[point] = look_at(directory, kind, point, before, again=len(points) % 3 == 0)
        return points[point]["ended"]

    def state(point: int) -> tuple[Any, ...]:
        after = points[point]["looks"][1]
        return after["stands"] != before["stands"], *(state for state, *_ in after["entries"])

    def refine(low: int, high: int) -> None:
        if high - low > finest and state(low) != state(high):
            middle = (low + high) // 2
            add(middle)
            refine(low, middle)
            refine(middle, high)

    last = first
    while not add(last):
        last += step
    for point in range(first, last, step):
        refine(point, point + step)
    for _, looked in sorted(points.items()):
        print(json.dumps(looked))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6]), old="old" in sys.argv[6:])
