"""Table 5 of the 2015 paper on the cost of quality (ARX): what 5 % suppression saves.

    python benchmarks/papers/table5.py --data DIR

The loss at 5 % suppression as a share of that without suppression, both less the loss of the ungeneralized data, for
ADULT and CUP, four measures, and the five combinations of models without δ-presence (its subset was drawn at random).
Prints the paper's cells beside ours; exits 1 when one of the 40 differs by more than rounding. The paper prints its
recursive diversity as c = 4, ℓ = 3; its cells come out with c = 3, ℓ = 4, and with the hierarchies of ``adult_2015``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import Plans

QUASI_IDENTIFIERS = {
    "adult_2015": ["age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass"],
    "cup": ["AGE", "GENDER", "INCOME", "MINRAMNT", "NGIFTALL", "STATE", "ZIP"],
}
SENSITIVE = {"adult_2015": "occupation", "cup": "RAMNTALL"}
K = {"type": "k_anonymity", "k": 5}
L = {"type": "recursive_l_diversity", "l": 4, "c": 3}
T = {"type": "t_closeness", "t": 0.2, "distance": "hierarchical"}
ROWS: dict[str, list[dict[str, Any]]] = {"(k)": [K], "(l)": [L], "(t)": [T], "(k, l)": [K, L], "(k, t)": [K, T]}
PAPER: dict[str, dict[str, tuple[int, int]]] = {
    "non_uniform_entropy": {"(k)": (55, 64), "(l)": (64, 63), "(t)": (94, 70), "(k, l)": (64, 64), "(k, t)": (94, 70)},
    "precision": {"(k)": (48, 39), "(l)": (57, 38), "(t)": (86, 50), "(k, l)": (57, 39), "(k, t)": (86, 50)},
    "discernibility": {"(k)": (16, 6), "(l)": (22, 6), "(t)": (82, 8), "(k, l)": (22, 6), "(k, t)": (82, 8)},
    "average_class_size": {"(k)": (4, 1), "(l)": (6, 1), "(t)": (21, 2), "(k, l)": (6, 1), "(k, t)": (21, 2)},
}
"""Measure -> row -> per cent for ADULT and CUP."""


def share(plans: Plans, dataset: str, models: list[dict[str, Any]], measure: str) -> float:
    """The cell, in per cent."""
    case = {
        "dataset": dataset,
        "quasi_identifiers": QUASI_IDENTIFIERS[dataset],
        "sensitive": SENSITIVE[dataset],
        "models": models,
        "measure": measure,
        "aggregate": None,
        "suppression_limit": 0.0,
    }
    least = 0.0
    if measure in ("discernibility", "average_class_size"):  # of the ungeneralized data, nothing suppressed
        raw = plans.plan({**case, "models": [{"type": "k_anonymity", "k": 1}], "suppression_limit": 1.0})
        least = raw.evaluate({}).loss
    none, some = (plans.plan({**case, "suppression_limit": limit}).certificate for limit in (0.0, 0.05))
    assert none.optimal and some.optimal
    return 100.0 * (some.loss - least) / (none.loss - least)


def main() -> None:
    """Print the table and exit 1 when a cell is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    wrong = cells = 0
    print("measure              models   ADULT: paper    ours   CUP: paper    ours")
    with Plans(arguments.data) as plans:
        for measure, rows in PAPER.items():
            for row, paper in rows.items():
                ours = [share(plans, dataset, ROWS[row], measure) for dataset in QUASI_IDENTIFIERS]
                right = [abs(own - cell) <= 0.5 + 1e-9 for own, cell in zip(ours, paper, strict=True)]
                wrong, cells = wrong + right.count(False), cells + len(right)
                told = [
                    f"{cell:10} % {own:6.2f}{'' if fits else ' !'}"
                    for cell, own, fits in zip(paper, ours, right, strict=True)
                ]
                print(f"{measure:20} {row:8} {'  '.join(told)}", flush=True)
    print(f"{cells - wrong} of {cells} cells within rounding.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
