"""ADULT and CUP against the reference's optima: evaluations, seconds, and whether the answer is right.

    python benchmarks/oracles.py --data DIR --oracles DIR

DIR hold one folder a dataset (``adult/adult.csv``, ``adult/adult_hierarchy_<column>.csv``) and ``adult.jsonl``.
Fails when a loss differs by more than 1e-6 (relative), a suppressed count differs, or a proof is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sqlanon

DATASETS = ("adult", "cup")


def policy_of(data: Path, case: dict) -> sqlanon.Policy:
    """The policy that a line of the oracles describes."""
    folder = data / case["dataset"]
    columns = {
        name: {
            "role": "quasi_identifier",
            "hierarchy": {"file": str(folder / f"{case['dataset']}_hierarchy_{name}.csv")},
        }
        for name in case["quasi_identifiers"]
    }
    document = {
        "source": str(folder / f"{case['dataset']}.csv"),
        "csv": {"delimiter": ";"},
        "undeclared": "drop",
        "columns": columns,
        "privacy": case["models"],
        "suppression_limit": case["suppression_limit"],
        "quality": {"measure": case["measure"], "aggregate": case["aggregate"]},
    }
    return sqlanon.Policy.from_dict(document)


def main() -> None:
    """Print one line a case and exit 1 when any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--oracles", type=Path, required=True)
    arguments = parser.parse_args()
    wrong = 0
    print("dataset    k  limit measure   aggregate             loss    evaluated  of lattice  seconds  right")
    for dataset in DATASETS:
        for line in (arguments.oracles / f"{dataset}.jsonl").read_text().splitlines():
            case = json.loads(line)
            if [m["type"] for m in case["models"]] != ["k_anonymity"] or case["measure"] not in ("loss", "precision"):
                continue
            with sqlanon.plan(None, policy_of(arguments.data, case)) as plan:
                same_loss = abs(plan.certificate.loss - case["loss"]) <= 1e-6 * max(case["loss"], 1e-300)
                tied = plan.solution.levels != case["levels"]
                same_count = tied or case["suppressed"] in (None, plan.solution.suppressed)
                right = same_loss and same_count and plan.certificate.optimal
                wrong += not right
                print(
                    f"{dataset:6} {case['models'][0]['k']:5} {case['suppression_limit']:6} {case['measure']:9} "
                    f"{case['aggregate']:16} {plan.certificate.loss:9.6f} {plan.search.evaluated:12} "
                    f"{plan.certificate.lattice_size:11} {plan.seconds['search']:8.2f}  {'yes' if right else 'NO'}"
                )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
