"""Bounded knowledge on CREDITCARD: seconds, nodes, loss and gap, by the number of columns and of known values.

    python benchmarks/bounded_knowledge.py --data DIR [--only 10,3 15,3] [--seconds 1200]

DIR as ``benchmarks/cases.py`` says. Each case runs in a process of its own: the first columns of CREDITCARD, k = 5, at
most 5 % suppressed, the loss. Printed: loss, gap, nodes judged, seconds, processor time and the greatest memory.

Exits 1 when an answer is wrong: in the release some class on a set of columns, counted from its rows set by set, has
fewer than k records; or a case with as many known values as columns has another loss than k-anonymity.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from cases import SEARCHES, policy_of, problem_of

import sqlanon

K = 5
CASES = ("10,3", "10,10", "15,3", "15,4", "24,3", "24,4")
"""Columns, and known values at most."""


def measure(data: Path, columns: int, at_most: int, seconds: float) -> dict[str, Any]:
    """Search one case, and count the classes of its release."""
    case = problem_of(data, "creditcard", columns, limit=0.05)
    case["models"] = []
    privacy = [{"type": "bounded_knowledge", "k": K, "at_most": at_most}]
    start, processor = time.perf_counter(), time.process_time()
    policy = policy_of(data, case, privacy=privacy, search={"time_limit": seconds})
    with sqlanon.plan(None, policy) as plan:
        found = plan.certificate
        figures: dict[str, Any] = {
            "columns": columns,
            "at_most": at_most,
            "loss": plan.solution.loss,
            "optimal": found.optimal,
            "gap": found.gap,
            "judged": found.evaluated,
            "lattice": found.lattice_size,
            "suppressed": plan.ledger.suppressed,
            "seconds": round(time.perf_counter() - start, 1),
            "cpu": round(time.process_time() - processor, 1),
            "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "levels": plan.levels,
        }
        with plan.publish() as release:
            rows = release.to_arrow()
    figures["faults"] = faults(rows, at_most)
    if rows.num_rows + figures["suppressed"] != plan.ledger.records:
        figures["faults"].append("published and suppressed records are not all")
    if at_most >= columns and f"creditcard, {columns}" in SEARCHES:
        expected = SEARCHES[f"creditcard, {columns}"][1]
        if abs(figures["loss"] - expected) > 1e-9:
            figures["faults"].append(f"loss {figures['loss']}, of k-anonymity {expected}")
    return figures


def faults(rows: pa.Table, at_most: int) -> list[str]:
    """Return the sets of columns on which a class of the released rows has fewer than k records."""
    columns = [column.combine_chunks().dictionary_encode() for column in rows.columns]
    numbers = [column.indices.to_numpy() for column in columns]
    found = []
    for known in combinations(range(len(numbers)), at_most):
        _, counts = np.unique(np.stack([numbers[place] for place in known]), axis=1, return_counts=True)
        if counts.min(initial=K) < K:
            found.append(f"{counts.min()} records on {[rows.column_names[place] for place in known]}")
    return found


def main() -> int:
    """Run the cases, print a line each, and return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=CASES)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        columns, at_most = map(int, given.case.split(","))
        print(json.dumps(measure(given.data, columns, at_most, given.seconds)))
        return 0
    wrong = 0
    for case in given.only:
        command = [sys.executable, __file__, "--data", str(given.data), "--seconds", str(given.seconds), "--case", case]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        wrong += bool(figures["faults"])
        print(json.dumps(figures), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
