"""Records by the million: seconds and peak memory of a run, end to end, over records that repeat and such that do not.

    python benchmarks/reproduce/scale.py [--records 1000000 10000000] [--nine 1000000000]

Runs ``benchmarks/engines/large.py``, which counts the classes of what was written and compares it with the ledger.
*Nine* columns of invented discharges repeat more or less; *wide* ones (30,000 ZIP codes, days of birth) hardly ever.
A billion records are invented in half an hour, and take 12 GB of disk: what is done is recorded at each step.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from recording import record

LARGE = Path(__file__).parents[1] / "engines" / "large.py"


def main() -> int:
    """Run and record the table; 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="not used: the records are invented")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--nine", type=int, nargs="*", default=[], help="records of the nine columns alone")
    parser.add_argument("--memory", default="4GB")
    options = parser.parse_args()
    listed = " ".join(map(str, options.records))
    listed += f" --nine {' '.join(map(str, options.nine))}" if options.nine else ""
    rows = []
    asked = [(records, shape) for records in options.records for shape in ("nine", "wide")]
    for records, shape in [*asked, *((records, "nine") for records in options.nine)]:
        command = [sys.executable, str(LARGE), "--records", str(records), "--memory", options.memory]
        command += ["--wide"] if shape == "wide" else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return 1
        found = json.loads(done.stdout)
        seconds = found["seconds"]
        rows.append(
            {
                "records": records,
                "shape": shape,
                "nodes": found["lattice_size"],
                "nodes judged": found["evaluated"],
                **{f"seconds: {part}": round(seconds[part], 1) for part in ("encode", "search", "publish")},
                "processor seconds": found["processor_seconds"],
                "peak MiB": found["peak_mib"],
            }
        )
        print(record("scale", f"--records {listed} --memory {options.memory}", rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
