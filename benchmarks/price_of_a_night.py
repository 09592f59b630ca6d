"""What a night costs that releases again what was released before: processor seconds beside those of the first night.

Run from the repository:

    python benchmarks/price_of_a_night.py [--records 200000] [--repeat 5]

Records of eight quasi-identifiers and a kept column are invented; a day brings 1 % more. Each run is ``sqlanon run`` in
a process of its own, in turn with the others:

- ``first``: a search, and a new file;
- ``like``: the same levels over 1 % more records, in the place of the first file;
- ``periods``: closed periods of a day, all 100 of them;
- ``next period``: one day more, beside the 100.

Printed, a line of JSON a run: ``processor``, the median seconds of the processor (user and system, all cores, the start
of Python too); ``share`` of the first night of its kind; ``phases``, the medians of ``--metrics`` (what is left is the
start and the papers); how many statements ran, nodes were judged and records were read.

Exits 1 where a night judges more than the node of the first, does not read the records that it should, or runs more
statements than ``MOST``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

MOST = {"first": 36, "like": 40, "periods": 45, "next period": 44}
"""Statements of a run: they do not depend on the number of records."""
DAYS = 100
WIDTHS = {"region": 20, "job": 14, "education": 16, "country": 40, "marital": 7, "insurance": 4, "sex": 2}
"""Quasi-identifiers beside the age, and how many values each has; low numbers are frequent."""


def create(path: Path, records: int) -> None:
    """Write the tables ``day_0`` and ``day_1``, of 100 days up to the day before yesterday and of one more."""
    cells = ", ".join(
        f"'{name} ' || lpad(floor({width} * pow(hash(i, {place}) % 10000 / 1e4, 2))::INT::TEXT, 2, '0') AS {name}"
        for place, (name, width) in enumerate(WIDTHS.items())
    )
    with duckdb.connect(str(path)) as connection:
        for table, more in (("day_0", 0), ("day_1", 1)):
            connection.execute(f"""
                CREATE TABLE {table} AS
                SELECT i AS id,
                       current_date - {DAYS + 1} + CAST(least(i * {DAYS} // {records}, {DAYS}) AS INTEGER) AS day,
                       18 + (hash(i, 90) % 40 + hash(i, 91) % 30)::INTEGER AS age, {cells},
                       'diagnosis ' || hash(i, 92) % 30 AS diagnosis
                FROM range({records + more * (records // DAYS)}) AS r(i)
            """)


def policies(folder: Path) -> dict[str, list[str]]:
    """Write the policies, and return the words of each run."""
    quasi: dict[str, Any] = {
        "age": {"hierarchy": {"intervals": {"width": 5, "fanouts": [2, 2], "lower": 15, "upper": 95}}},
        **{name: {"hierarchy": {"redact": {"width": len(name) + 3}} if width > 10 else {"suppress": {}}}
           for name, width in WIDTHS.items()},
    }  # fmt: skip
    common = {"source": "records.duckdb", "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 5}]}
    columns = {name: {"role": "quasi_identifier", **item} for name, item in quasi.items()}
    columns["diagnosis"] = {"role": "keep"}
    whole = {"columns": columns, "output": {"file": "released.parquet"}, "if_exists": "replace"}
    by_day = {"columns": {**columns, "day": {"role": "quasi_identifier"}}, "suppression_limit": 0.3}
    to = {"output": {"file": "periods", "partition_by": ["day"]}}
    period = {"column": "day", "every": "day"}
    for name, own in {
        "first": {"table": "day_0", "suppression_limit": 0.05, **whole},
        "like": {"table": "day_1", "suppression_limit": 0.1, **whole},
        "periods": {"table": "day_0", **by_day, "periods": {**period, "closes_after": "1 days"}, **to},
        "next period": {"table": "day_1", **by_day, "suppression_limit": 0.5,
                        "periods": {**period, "closes_after": "1 minutes"}, **to},
    }.items():  # fmt: skip
        (folder / f"{name}.yaml").write_text(json.dumps({**common, **own}))
    like = ["--like", "released.parquet.manifest.json"]
    return {name: [f"{name}.yaml", *(like if name == "like" else [])] for name in MOST}


def prepare(folder: Path, name: str) -> None:
    """Put in place what a run finds: nothing, or the release of the first night."""
    target = "periods" if "period" in name else "released.parquet"
    for path in folder.glob(f"{target}*"):
        if path.suffix != ".yaml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (folder / "kept").glob(f"{target}*") if name in ("like", "next period") else ():
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / path.name)


def keep(folder: Path, name: str) -> None:
    """Keep the release of a first night for the nights after it."""
    for path in folder.glob("periods*" if name == "periods" else "released.parquet*"):
        if path.suffix != ".yaml":
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / "kept" / path.name)


def run(folder: Path, words: list[str]) -> tuple[float, dict[str, Any]]:
    """Run a command; return its processor seconds, and its lines of metrics by phase."""
    metrics = folder / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    arguments = [sys.executable, "-m", "sqlanon.cli", "run", *words, "-q", "--metrics", metrics.name]
    process = os.fork()
    if not process:
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.execvp(arguments[0], arguments)
    _, status, used = os.wait4(process, 0)
    if status:
        sys.exit(f"{words} failed")
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    return used.ru_utime + used.ru_stime, {line["phase"]: line for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kept").mkdir()
        create(folder / "records.duckdb", asked.records)
        runs, spent = policies(folder), dict[str, list[float]]()
        phases: dict[str, list[dict[str, Any]]] = {}
        for turn in range(asked.repeat + 1):  # the first is not counted
            for kind, words in runs.items():
                prepare(folder, kind)
                seconds, lines = run(folder, words)
                if not turn and kind in ("first", "periods"):
                    keep(folder, kind)
                elif turn:
                    spent.setdefault(kind, []).append(seconds)
                    phases.setdefault(kind, []).append(lines)
        more = asked.records // DAYS
        due = {"first": asked.records, "like": asked.records + more, "periods": asked.records, "next period": more}
        wrong = []
        for kind, found in spent.items():
            whole = phases[kind][0]["run"]
            first = statistics.median(spent["periods" if "period" in kind else "first"])
            processor = {
                phase: round(statistics.median(lines[phase]["processor_seconds"] for lines in phases[kind]), 3)
                for phase in phases[kind][0]
                if phase != "run"
            }
            line = {
                "run": kind, "processor": round(statistics.median(found), 3),
                "share": round(statistics.median(found) / first, 3), "phases": processor,
                **{item: whole[item] for item in ("statements", "evaluated", "records")},
            }  # fmt: skip
            print(json.dumps(line), flush=True)
            if whole["records"] != due[kind] or whole["statements"] > MOST[kind]:
                wrong.append(kind)
            if kind in ("like", "next period") and whole["evaluated"] != 1:
                wrong.append(kind)
        if wrong:
            sys.exit(f"other nodes, records or statements than expected: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
