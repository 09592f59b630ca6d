"""Generated hospital discharges by the million: a run within a memory limit, and an audit of what it wrote.

    python benchmarks/engines/large.py --records 1000000 --memory 1GB
    python benchmarks/engines/large.py --records 10000000 --memory 4GB

Fails when the ledger does not add up to the record, or when a class of the release has fewer than k records.
Reports seconds (information) and the peak memory of the run's own process.
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
import yaml
from pyarrow import parquet

from sqlanon.commands.demo_world import POLICY, codes, discharge_batches

NINE = {
    "department": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
    "discharge_to": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
    "length_of_stay": {"role": "keep"},
}


def prepare(folder: Path, records: int, memory: str) -> dict:
    """Write the Parquet source, the hierarchy and the policy of nine quasi-identifiers."""
    writer = None
    for batch in discharge_batches(records):
        writer = writer or parquet.ParquetWriter(folder / "discharges.parquet", batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()
    (folder / "hierarchies").mkdir()
    rows = "".join(f"{code};{group};{chapter};*\n" for code, group, chapter in codes())
    (folder / "hierarchies" / "diagnosis.csv").write_text(rows)
    policy = yaml.safe_load(POLICY)
    policy |= {"source": "discharges.parquet", "engine": {"memory_limit": memory, "threads": 2}}
    policy["columns"] |= NINE
    policy.pop("table")
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
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = prepare(folder, arguments.records, arguments.memory)
        done = subprocess.run(
            [sys.executable, "-m", "sqlanon.cli", "run", str(folder / "policy.yaml"), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(done.stderr)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        answer = json.loads(done.stdout)
        check(folder, policy, answer, arguments.records)
        keys = ("records", "published", "suppressed", "evaluated", "lattice_size", "statements", "seconds")
        print(json.dumps({k: answer[k] for k in keys} | {"memory_limit": arguments.memory, "peak_mib": round(peak)}))


if __name__ == "__main__":
    main()
