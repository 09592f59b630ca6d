"""Generated hospital discharges by the million: a run within a memory limit, and an audit of what it wrote.

    python benchmarks/engines/large.py --records 1000000 --memory 1GB
    python benchmarks/engines/large.py --records 10000000 --memory 4GB [--wide]

``--wide`` adds a date of birth, and has 30,000 ZIP codes and 1,600 diagnoses: then hardly two records are equal.
Fails when the ledger does not add up to the record, or when a class of the release has fewer than k records.
Reports seconds (information), the processor time and the peak memory of the run's own process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import yaml
from pyarrow import parquet

from sqlanon.commands.demo_world import POLICY, SEED, codes, discharge_batches

NINE = {
    "department": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
    "discharge_to": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
    "length_of_stay": {"role": "keep"},
}


WIDE = {"birth": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "quarter", "year", "decade"]}}}


def widened(batch: pa.Table, number: int) -> pa.Table:
    """Return discharges with a day of birth in place of the age, 30,000 ZIP codes, and diagnoses with a digit more."""
    rng = np.random.default_rng(SEED + number)
    drawn = rng.choice(30_000, batch.num_rows, p=(weights := np.arange(1, 30_001) ** -0.6) / weights.sum())
    zips = pa.array([f"{1000 + place * 7919 % 98999:05d}" for place in range(30_000)]).take(pa.array(drawn))
    age = batch["age"].to_numpy(zero_copy_only=False)
    days = (np.nan_to_num(age, nan=40.0) + rng.random(batch.num_rows)) * 365.25
    birth = pa.array(np.datetime64("2024-01-01") - days.astype("timedelta64[D]"), pa.date32(), mask=np.isnan(age))
    digit = rng.integers(0, 10, batch.num_rows)
    pairs = zip(batch["diagnosis"].to_pylist(), digit, strict=True)
    diagnosis = [None if code is None else f"{code}.{more}" for code, more in pairs]
    columns = {name: batch[name] for name in batch.column_names if name != "age"}
    return pa.table(columns | {"zip": zips, "birth": birth, "diagnosis": pa.array(diagnosis)})


def prepare(folder: Path, records: int, memory: str, *, wide: bool = False) -> dict:
    """Write the Parquet source, the hierarchy and the policy of nine quasi-identifiers."""
    writer = None
    for number, batch in enumerate(discharge_batches(records)):
        batch = widened(batch, number) if wide else batch
        writer = writer or parquet.ParquetWriter(folder / "discharges.parquet", batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()
    (folder / "hierarchies").mkdir()
    rows = "".join(f"{code};{group};{chapter};*\n" for code, group, chapter in codes())
    if wide:
        rows = "".join(f"{row[:3]}.{digit};{row}\n" for row in rows.splitlines() for digit in range(10))
    (folder / "hierarchies" / "diagnosis.csv").write_text(rows)
    policy = yaml.safe_load(POLICY)
    policy |= {"source": "discharges.parquet", "engine": {"memory_limit": memory, "threads": 2}}
    policy["columns"] |= NINE
    del policy["table"], policy["report"]
    if wide:
        policy["columns"].pop("age")
        policy["columns"] |= WIDE
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    return policy


def check(folder: Path, policy: dict, answer: dict, records: int) -> None:
    """Independent of the package: the ledger adds up, and no class is small."""
    assert answer["records"] == records == answer["published"] + answer["suppressed"] + answer["excluded"], answer
    names = [name for name, c in policy["columns"].items() if c["role"] == "quasi_identifier"]
    assert len(names) == 9
    listed = ", ".join(f'"{name}"' for name in names)
    smallest, total = duckdb.execute(
        f"SELECT min(n), sum(n) FROM (SELECT count(*) n FROM read_parquet(?) GROUP BY {listed})",
        [str(folder / "released.parquet")],
    ).fetchone()
    assert smallest >= 5 and total == answer["published"], (smallest, total)
    assert answer["optimal"], answer


def main() -> None:
    """Run and report one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--wide", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = prepare(folder, arguments.records, arguments.memory, wide=arguments.wide)
        done = subprocess.run(
            [sys.executable, "-m", "sqlanon.cli", "run", str(folder / "policy.yaml"), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(done.stderr)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer = json.loads(done.stdout)
        check(folder, policy, answer, arguments.records)
        keys = ("records", "published", "suppressed", "evaluated", "lattice_size", "statements", "seconds")
        measured = {
            "memory_limit": arguments.memory,
            "peak_mib": round(used.ru_maxrss / 1024),
            "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        }
        print(json.dumps({k: answer[k] for k in keys} | measured))


if __name__ == "__main__":
    main()
