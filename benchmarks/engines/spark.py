"""A policy on a cluster of Spark: growth with records and executors, and what reaches the driver.

    python benchmarks/engines/spark.py --data DIR --records 1000000 10000000 --executors 1 2
    python benchmarks/engines/spark.py --data DIR --records 100000000 --executors 2 --memory 3072 [--search-only]

The records are those of ``generated.py`` (IHIS-shaped, eight quasi-identifiers, k = 5, 5 %, loss), in as many Parquet
files as there are millions, at most 16. Each run is a process of its own: it starts a local cluster, encodes there,
carries codes and counts to the driver, searches there, and writes the release as a folder, which is audited on the
cluster. Fails when node, loss or ledger differ from those of the embedded engine on the same records, when the optimum
is not proven, when a class of the release has fewer than k records, or when anything but aggregates reached the driver.

Seconds are those of this machine at that time; ``cpu`` are the seconds of processors that the run and its cluster took.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from pyarrow import parquet

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
import generated

K = 5
MOST_FILES = 16
PER_RECORD = 0.2
"""The most rows a record, of all tables and statements together, that may reach the driver, from a million records
on: distinct values and distinct combinations. Of fewer records the combinations are most."""


def prepare(data: Path, folder: Path, records: int) -> None:
    """Write the records as a folder of Parquet files."""
    whole = folder / "whole.parquet"
    generated.write("ihis", data, whole, records)
    source = folder / "source.parquet"
    source.mkdir()
    size = -(-records // min(MOST_FILES, max(2, records // 1_000_000)))
    writer: Any = None
    written = number = 0
    for batch in parquet.ParquetFile(whole).iter_batches(batch_size=100_000):
        if writer is None or written >= size:
            if writer is not None:
                writer.close()
            writer = parquet.ParquetWriter(source / f"{number:02d}.parquet", batch.schema)
            written, number = 0, number + 1
        writer.write_batch(batch)
        written += batch.num_rows
    writer.close()
    whole.unlink()


def policy(data: Path, folder: Path, **changes: Any) -> sqlanon.Policy:
    """The policy of the paper over the folder."""
    return generated.policy("ihis", data, folder / "source.parquet", **changes)


def embedded(data: Path, folder: Path) -> dict[str, Any]:
    """The answer of the embedded engine, which reads the same files."""
    begun = time.perf_counter()
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW people AS SELECT * FROM read_parquet('{folder}/source.parquet/*.parquet')")
    made = policy(data, folder, table="people")
    with sqlanon.plan(connection, made) as plan:
        seconds = round(time.perf_counter() - begun, 2)
        return {"seconds": seconds, "levels": plan.levels, "loss": plan.solution.loss, "ledger": ledger(plan.ledger)}


def ledger(told: Any) -> list[int]:
    """What a ledger says of records and classes."""
    return [told.records, told.published, told.suppressed, told.excluded, told.classes]


def cluster(data: Path, folder: Path, executors: int, memory: int, *, publishing: bool) -> dict[str, Any]:
    """Start a cluster, anonymize on it (or encode and search alone), and tell how long each part took."""
    from sqlanon.core.engines.spark.engine import SparkEngine

    begun = time.perf_counter()
    settings = {"spark.executor.memory": f"{memory}m", "spark.driver.memory": "3g"}
    starter = SparkEngine(master=f"local-cluster[{executors},1,{memory}]", settings=settings)
    session = starter.session
    session.read.parquet(str(folder / "source.parquet")).createOrReplaceTempView("people")
    session.sql("SELECT COUNT(*) FROM people WHERE AGE IS NULL").collect()  # executors are there
    started = time.perf_counter() - begun
    target = folder / f"release-{executors}.parquet"
    shutil.rmtree(target, ignore_errors=True)
    with sqlanon.plan(session, policy(data, folder, table="people")) as plan:
        engine: Any = plan._session.engine
        searched = dict(engine.received)
        seconds = plan.publish(sqlanon.Output("file", str(target))).seconds if publishing else plan.seconds
        answer = {
            "seconds": {"start": started, **seconds},
            "levels": plan.levels,
            "loss": plan.solution.loss,
            "ledger": ledger(plan.ledger),
            "optimal": plan.certificate.optimal,
            "statements": len(engine.journal.entries),
            "slowest": _slowest(engine.journal.entries),
            "carried": {item.table: [item.rows, item.bytes] for item in plan._session.transferred},
            "received": {name: list(told) for name, told in searched.items()},
            "received to publish": {
                name: [told[0] - searched.get(name, (0, 0))[0], told[1] - searched.get(name, (0, 0))[1]]
                for name, told in engine.received.items()
                if told != searched.get(name)
            },
        }
    starter.close()
    return answer


def _slowest(entries: Any) -> dict[str, float]:
    """Seconds of the statements that took most, by name."""
    seconds: dict[str, float] = {}
    for entry in entries:
        seconds[entry.name] = seconds.get(entry.name, 0.0) + entry.seconds
    return {name: round(told, 2) for name, told in sorted(seconds.items(), key=lambda item: -item[1])[:8]}


def processors(group: int) -> float:
    """Seconds of processors that the living processes of a group have taken, in a Linux machine."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(told[2]) == group:
            ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def apart(arguments: list[str]) -> dict[str, Any]:
    """Run this file as a process of its own; its answer, with what processors it took."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as child:
        cpu = 0.0
        while child.poll() is None:
            cpu = max(cpu, processors(child.pid))
            try:
                child.wait(timeout=1)
            except subprocess.TimeoutExpired:
                continue
        out, err = child.communicate()
    if child.returncode:
        raise SystemExit(err.decode()[-2000:])
    answer: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return answer | {"cpu": round(cpu, 1)}


def check(expected: dict[str, Any], answer: dict[str, Any], folder: Path, records: int, executors: int) -> None:
    """The optimum is the embedded engine's, the release has large classes only, and few rows reached the driver."""
    assert answer["optimal"], answer
    for key in ("levels", "loss", "ledger"):
        assert answer[key] == expected[key], (key, answer[key], expected[key])
    rows = sum(told[0] for part in ("received", "received to publish") for told in answer[part].values())
    answer["rows received"] = rows
    if records >= 10_000_000:
        assert rows <= PER_RECORD * records, (rows, records)
    if not (folder / f"release-{executors}.parquet").exists():
        return
    names = ", ".join(f'"{name}"' for name in generated.DATASETS["ihis"].quasi_identifiers)
    files = str(folder / f"release-{executors}.parquet" / "*.parquet")
    smallest, total = duckdb.execute(
        f"SELECT MIN(n), SUM(n) FROM (SELECT COUNT(*) AS n FROM read_parquet(?) GROUP BY {names})", [files]
    ).fetchall()[0]
    assert smallest >= K and total == answer["ledger"][1], (smallest, total)


def main() -> None:
    """Report one line of JSON a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds ihis")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", type=int, default=2048, help="MiB of each executor")
    parser.add_argument("--search-only", action="store_true", help="encode and search, publish nothing")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        publishing = not arguments.search_only
        executors, memory = arguments.executors[0], arguments.memory
        print(json.dumps(cluster(arguments.data, arguments.folder, executors, memory, publishing=publishing)))
        return
    for records in arguments.records:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(arguments.data, folder, records)
            expected = embedded(arguments.data, folder)
            for executors in arguments.executors:
                common = ["--data", str(arguments.data), "--memory", str(arguments.memory)]
                common += ["--search-only"] if arguments.search_only else []
                answer = apart([*common, "--folder", name, "--executors", str(executors)])
                check(expected, answer, folder, records, executors)
                told = {"records": records, "executors": executors, "embedded": expected["seconds"], **answer}
                print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
