"""The search for the proven optimum beside the reference's published figures.

    python benchmarks/reproduce/searches.py --data DIR [--oracles DIR]

Runs ``benchmarks/search_speed.py``, which checks each answer by the known optimum, and records its figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from recording import record
from search_speed import ALL_COLUMNS, REFERENCE, ratios


def rows_of(cases: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row a search that ends with a proof."""
    rows = []
    for name, figures in cases.items():
        if name.startswith(ALL_COLUMNS):
            continue
        seconds, counters, reference = figures["seconds"], figures["counters"], REFERENCE.get(name)
        rows.append(
            {
                "search": name,
                "loss": round(figures["answer"]["loss"], 6),
                "proven": figures["answer"]["optimal"],
                "nodes": counters["lattice"],
                "nodes judged": counters["evaluated"],
                "seconds": round(min(seconds["search"]), 3),
                "seconds of processor time": round(min(seconds["cpu"]), 3),
                "reference, seconds, busy": None if reference is None else reference.busy,
                "reference, seconds, quiet": None if reference is None else reference.quiet,
                **{f"times faster, {which}": round(ratio, 1) for which, ratio in ratios(name, figures).items()},
            }
        )
    return rows


def main() -> int:
    """Run and record the table; 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--oracles", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        speed = Path(__file__).parents[1] / "search_speed.py"
        command = [sys.executable, str(speed), "--data", str(options.data), "--seconds", "--out", str(out)]
        command += [] if options.oracles is None else ["--oracles", str(options.oracles)]
        if subprocess.run(command, check=False).returncode:
            return 1
        print(record("searches", "", rows_of(json.loads(out.read_text())["cases"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
