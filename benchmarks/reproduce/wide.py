"""Tables of many columns: the loss that is found and the gap that is proven after a time, no optimum expected.

    python benchmarks/reproduce/wide.py --data DIR [--seconds 60]

All 24 columns of CREDITCARD, and two invented tables of 50 and 97 columns (no public table with hierarchies is that
wide): 30,000 records, numbers from 0 to 63 that depend on one hidden number of the record, five levels each. k = 5,
any number of records may be suppressed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import search_case
from recording import record

SEED, RECORDS = 1, 30_000
REFERENCE = 0.660146
"""The loss that the reference's heuristic search finds for CREDITCARD."""


def invented(columns: int) -> pa.Table:
    """Return the records of an invented table."""
    draw = np.random.default_rng(SEED)
    hidden = draw.random(RECORDS)
    parts = {f"c{number}": np.clip(hidden * 40 + draw.gamma(2, 6, RECORDS), 0, 63) for number in range(columns)}
    return pa.table({name: pa.array(own.astype(np.int64)) for name, own in parts.items()})


def policy_over(table: pa.Table, seconds: float) -> dict[str, Any]:
    """Return the keys of a policy over an invented table."""
    intervals = {"intervals": {"width": 4, "fanouts": [2, 2, 2, 2], "lower": 0, "upper": 64}}
    columns = {name: {"role": "quasi_identifier", "hierarchy": intervals} for name in table.column_names}
    return {
        "columns": columns,
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 1.0,
        "search": {"time_limit": seconds},
    }


def row_of(name: str, source: object, policy: Any, known: float | None = None) -> dict[str, Any]:
    """Search one table, and return its figures."""
    start = time.process_time()
    with sqlanon.plan(source, policy) as plan:
        found = plan.certificate
        assert found.gap is not None, "no gap is proven"
        assert found.loss >= found.lower_bound - 1e-9, "the loss is below its bound"
        return {
            "table": name,
            "columns": len(plan.solution.levels),
            "nodes": float(found.lattice_size),
            "nodes judged": found.evaluated,
            "loss": round(found.loss, 4),
            "lower bound": round(found.lower_bound, 4),
            "gap": round(found.gap, 4),
            "seconds of processor time": round(time.process_time() - start, 1),
            "reference's loss": known,
        }


def main() -> None:
    """Run and record the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    search = {"time_limit": options.seconds}
    credit = search_case(options.data, "creditcard", 24, limit=1.0, search=search)
    rows = [row_of("CREDITCARD", None, credit, REFERENCE)]
    for columns in (50, 97):
        table = invented(columns)
        rows.append(row_of("invented", table, policy_over(table, options.seconds)))
    print(record("wide", f"--seconds {options.seconds:g}", rows, seeds=[SEED]))


if __name__ == "__main__":
    main()
