"""Every case of the oracles against the reference's optimum: loss, levels, suppressed records, proof, effort.

    python benchmarks/oracles.py --data DIR --oracles DIR [--only adult cup] [--every 10]

DIR as ``benchmarks/cases.py`` says. Prints one line a case and exits 1 when any is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cases import FILES, Plans, faults, lines


def main() -> None:
    """Print one line a case and exit 1 when any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--oracles", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=FILES, default=FILES)
    parser.add_argument("--every", type=int, default=1, help="look at every n-th case only")
    arguments = parser.parse_args()
    wrong = looked = superseded = 0
    print(
        "dataset     limit  measure (aggregate)                        loss  evaluated/lattice   search  right  models"
    )
    for name in arguments.only:
        with Plans(arguments.data) as plans:
            for case in lines(arguments.oracles, name)[:: arguments.every]:
                plan = plans.plan(case)
                told = list(faults(plan, case))
                wrong, looked = wrong + bool(told), looked + 1
                superseded += case["superseded_by"] is not None
                measure = case["measure"] + (f" ({case['aggregate']})" if case["aggregate"] else "")
                models = ", ".join(label for label, _ in plan.evaluate(plan.solution.levels).by_model)
                print(
                    f"{name:10} {case['suppression_limit']:6} {measure:35} {plan.certificate.loss:14.6f} "
                    f"{plan.search.evaluated:9}/{plan.certificate.lattice_size:<8}{plan.seconds['search']:7.2f} s  "
                    f"{'yes  ' if not told else 'NO   '}  {models}{'; '.join(['', *told])}",
                    flush=True,
                )
    print(f"{looked} cases, {wrong} wrong; {superseded} lines stand corrected by another line of the same problem.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
