"""Several generalizations in one table: the penalty of local recoding beside others', on ADULT with public hierarchies.

    python benchmarks/reproduce/recoding.py --data DIR

ADULT, 30,162 records, eight quasi-identifiers, the hierarchies that ARX publishes. Penalties are computed from the
released rows by one formula (``rivals.penalty_of``), a suppressed record loses all. The figures of others are those of
their own files (``PUBLISHED``); basic Mondrian is run here, too, and must come out as published, class sizes included,
and so is the procedure of ARX, which publishes no figures of this formula.
Every release is audited by its own command; the classes of each are counted here once more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import QUASI_IDENTIFIERS, policy_of
from recording import record
from rivals import Hierarchy, arx_local_recoding, basic_mondrian, penalty_of

COLUMNS = (*QUASI_IDENTIFIERS["adult"][:7], "occupation")
SOURCE = "https://github.com/kaylode/k-anonymity/blob/86c359e494394d8293dda5038092d22effce242b/metric_result"
PUBLISHED: dict[int, dict[str, float]] = {
    2: {"basic Mondrian": 0.043, "Top-Down Greedy": 0.038, "Mondrian of ranges": 0.037},
    5: {"basic Mondrian": 0.133, "Top-Down Greedy": 0.099, "Mondrian of ranges": 0.067},
    10: {"basic Mondrian": 0.213, "Top-Down Greedy": 0.162, "Mondrian of ranges": 0.096},
    20: {"basic Mondrian": 0.294, "Top-Down Greedy": 0.248, "Mondrian of ranges": 0.130},
    50: {"basic Mondrian": 0.434, "Top-Down Greedy": 0.396, "Mondrian of ranges": 0.186},
    100: {"basic Mondrian": 0.521, "Top-Down Greedy": 0.533, "Mondrian of ranges": 0.244},
}
"""Penalties by k. *Mondrian of ranges* numbers the categories in the order of the file and publishes ranges of these
numbers: a group such as "Private to Local-gov", which no hierarchy has; its penalty is the width of the range."""
DISCERNIBILITY = {2: 236866, 5: 513256, 10: 861416, 20: 1488604, 50: 9405394, 100: 25779338}
"""Of basic Mondrian, as published: the sum of the squares of the sizes of classes."""
SEED, NODES = 1, 100


def measured(data: Path, k: int, records: list[list[str]], hierarchies: list[Hierarchy]) -> tuple[dict[str, Any], str]:
    """Return the row of one k, and what is wrong with it, or nothing."""
    mondrian = basic_mondrian(records, hierarchies, k)
    penalty = penalty_of(mondrian, hierarchies)
    squares = sum(n * n for n in Counter(mondrian).values())
    wrong = [] if abs(penalty - PUBLISHED[k]["basic Mondrian"]) <= 0.0006 else [f"basic Mondrian loses {penalty:.4f}"]
    row: dict[str, Any] = {"k": k, **PUBLISHED[k], "basic Mondrian, run here": round(penalty, 4)}
    if squares < DISCERNIBILITY[k]:
        wrong.append(f"basic Mondrian has other classes ({squares})")
    reference = arx_local_recoding(records, hierarchies, k)
    row["ARX (local recoding), run here"] = round(penalty_of(reference, hierarchies), 4)
    if min(n for shown, n in Counter(reference).items() if set(shown) != {"*"}) < k:
        wrong.append("the local recoding of ARX publishes small classes")
    case = {"dataset": "adult", "quasi_identifiers": list(COLUMNS), "suppression_limit": 1.0}
    case |= {"models": [{"type": "k_anonymity", "k": k}], "measure": "loss", "aggregate": "arithmetic_mean"}
    ways = {
        "one node, proven": None,
        "local recoding": sqlanon.LocalRecoding(nodes=NODES, seed=SEED),
        "local recoding, none held back": sqlanon.LocalRecoding(nodes=NODES, seed=SEED, hold=0),
    }
    for name, transformation in ways.items():
        policy, start = policy_of(data, case), time.process_time()
        policy = policy if transformation is None else replace(policy, transformation=transformation)
        release = sqlanon.anonymize(None, policy)
        shown = release.to_arrow().select(list(COLUMNS)).to_pylist()
        rows = [tuple(each[column] for column in COLUMNS) for each in shown]
        classes = Counter(rows)
        if min(classes.values()) < k:
            wrong.append(f"{name}: a class has {min(classes.values())} records")
        if transformation is None and not release.certificate.optimal:
            wrong.append(f"{name}: no proof")
        suppressed = [("*",) * len(COLUMNS)] * (len(records) - len(rows))
        row[name] = round(penalty_of(rows + suppressed, hierarchies), 4)
        row[f"{name}: suppressed records"] = len(suppressed)
        row[f"{name}: seconds of processor time"] = round(time.process_time() - start, 1)
    return row, "; ".join(f"k = {k}: {fault}" for fault in wrong)


def main() -> int:
    """Run and record the table; 1 when an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    header, *lines = [line.split(";") for line in (data / "adult" / "adult.csv").read_text().splitlines()]
    records = [[line[header.index(column)] for column in COLUMNS] for line in lines]
    hierarchies = [Hierarchy.read(data / "adult" / f"adult_hierarchy_{column}.csv") for column in COLUMNS]
    found = [measured(data, k, records, hierarchies) for k in PUBLISHED]
    wrong = [fault for _, fault in found if fault]
    print("\n".join(wrong or [str(record("recoding", "", [row for row, _ in found], seeds=[SEED]))]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
