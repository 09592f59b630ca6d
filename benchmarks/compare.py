"""Two result files of the suite side by side: counters, which must not grow, and medians, which are information.

    python benchmarks/compare.py before.json after.json [--tolerance 0.02]

Exits 1 when a case of the second file is wrong or missing, or when one of its deterministic counters (evaluations, rows
read, statements) is larger than before by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

DETERMINISTIC = ("evaluated", "rows_read", "statements")


def compared(before: dict[str, Any], after: dict[str, Any], tolerance: float) -> tuple[list[str], list[str]]:
    """The lines of the comparison, and what got worse."""
    lines, worse = [], []
    for name, old in before["cases"].items():
        new = after["cases"].get(name)
        if new is None:
            worse.append(f"{name}: missing")
            continue
        worse += [f"{name}: {fault}" for fault in new["faults"]]
        told = []
        for counter in DETERMINISTIC:
            was, now = old["counters"].get(counter), new["counters"].get(counter)
            if was is None or now is None:
                continue
            if was != now:
                told.append(f"{counter} {was:,} -> {now:,}")
            if now > was * (1 + tolerance):
                worse.append(f"{name}: {counter} {was:,} -> {now:,}")
        for clock, was in old["median"].items():
            now = new["median"].get(clock)
            if now is not None and was > 0:
                told.append(f"{clock} {was:.3f} -> {now:.3f} s ({now / was:.2f})")
        lines.append(f"{name}: {', '.join(told)}")
    lines += [f"{name}: new" for name in after["cases"] if name not in before["cases"]]
    return lines, worse


def main() -> None:
    """Print the comparison and exit 1 when something got worse."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--tolerance", type=float, default=0.02, help="share by which a counter may grow")
    arguments = parser.parse_args()
    before, after = (json.loads(path.read_text()) for path in (arguments.before, arguments.after))
    lines, worse = compared(before, after, arguments.tolerance)
    print(f"{before['versions']} on {before['machine']}\n{after['versions']} on {after['machine']}")
    print("\n".join(lines))
    if worse:
        print("\nWorse:\n  " + "\n  ".join(worse))
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
