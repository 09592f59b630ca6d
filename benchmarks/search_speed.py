"""Searches beside the published figures of the reference, and of another checkout: seconds, processor time, counters.

    python benchmarks/search_speed.py --data DIR [--oracles DIR] [--only adult "cup, limit 0" …] [--repeat 5]
        [--checkout OLD] [--out results.json] [--seconds 10 100]

DIR as ``benchmarks/cases.py`` says. Each case runs in a process of its own: it encodes the source once and searches it
``--repeat`` times, each time with a fresh evaluator and without the snapshots of the search before (where a search
writes some, every search has its own encoding). Printed per case: the least and the median seconds of a search, the
least seconds of processor time (user and system, all cores), nodes judged, statements, rows read, and how many times
faster it is than the reference, busy and quiet. The last lines are the geometric means over the cases that allow
suppression.

``--checkout OLD`` runs each case with the package in that folder first (``before``), then with the one that the
command itself would use (``after``): pairs. ``--seconds`` gives the time limits of the search over all 24 columns of
CREDITCARD, which no search finishes: what it has found then is printed, with its gap. It runs once, as any search of
more than eight seconds does.

Exits 1 when an answer is wrong: no proof, or another loss than the oracles', or, where they have none, than the one
that was once proven. The JSON file has the form of ``suite.py``'s, so ``compare.py`` reads it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import SEARCHES, oracle_loss, policy_of, problem_of

import sqlanon

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """Seconds of the reference (ARX HEAD, JVM warm, the best of several searches for the proven optimum).

    Attributes:
        busy: on two cores that other work was using, too, in pairs with version 0.1.0 of this package.
        quiet: on the same machine without other work, the least where a range was measured; None: not measured.
    """

    busy: float
    quiet: float | None = None


REFERENCE = {
    "adult": Reference(1.865, 0.802),
    "adult, limit 1": Reference(6.704),
    "adult, limit 0": Reference(0.090, 0.009),  # quiet: 9 to 27 ms
    "cup": Reference(16.1, 5.2),
    "cup, limit 1": Reference(73.8, 29.0),
    "cup, limit 0": Reference(0.55, 0.038),  # quiet: 38 to 140 ms
    "adult, t-closeness": Reference(5.3, 2.2),
    "adult, recursive": Reference(1.06),
    "adult, entropy": Reference(1.57),
    "cup, t-closeness": Reference(86.0),
    "cup, recursive": Reference(13.0),
}
"""As published in the table of the project's issue 17 with the goals of the version after 0.1.0."""
WITHOUT_SUPPRESSION = ("adult, limit 0", "cup, limit 0")
"""Not in the geometric means."""
BEST_KNOWN = 0.660146
"""The loss that the reference's heuristic search finds for all 24 columns of CREDITCARD at limit 1 after 7 s."""
ALL_COLUMNS = "creditcard, 24"
LONG = 8.0
"""A search that takes more seconds than this is not repeated."""


def arguments_of(name: str) -> dict[str, Any]:
    """What ``problem_of`` takes for a case, and the time limit of a search that is not expected to end."""
    if name.startswith(ALL_COLUMNS):
        seconds = float(name.removeprefix(f"{ALL_COLUMNS}, ").removesuffix(" s"))
        return {"dataset": "creditcard", "columns": 24, "limit": 1.0, "time_limit": seconds}
    return dict(SEARCHES[name][0])


def measure(name: str, data: Path, repeat: int) -> Figures:
    """Search one case so many times, in this process."""
    asked = arguments_of(name)
    time_limit = asked.pop("time_limit", None)
    case = problem_of(data, **asked)
    policy = policy_of(data, case, **({} if time_limit is None else {"search": {"time_limit": time_limit}}))
    seconds: dict[str, list[float]] = {"encode": [], "search": [], "cpu": []}
    encoded: sqlanon.Plan | None = None
    while True:
        if encoded is None:  # a greedy search judges a handful of nodes, and leaves an encoded source behind
            encoded = sqlanon.plan(None, policy_of(data, case, search={"strategy": "datafly"}))
            seconds["encode"].append(encoded.seconds["encode"])
        statements, processor = encoded.statements, time.process_time()
        plan = encoded.with_policy(policy)
        seconds["cpu"].append(time.process_time() - processor)
        seconds["search"].append(plan.seconds["search"])
        figures = {"seconds": seconds, **answer_of(plan, plan.statements - statements)}
        ends = len(seconds["search"]) >= repeat or time_limit is not None or seconds["search"][0] > LONG
        if ends or plan.snapshots:
            encoded.close()
            encoded = None
        if ends:
            return figures


def answer_of(plan: sqlanon.Plan, statements: int) -> Figures:
    """What a plan found, and the counters of its search."""
    found = plan.certificate
    return {
        "counters": {
            "evaluated": found.evaluated,
            "lattice": found.lattice_size,
            "statements": statements,
            "rows_read": plan._evaluator.rows_read,
            "snapshots": plan.snapshots,
        },
        "answer": {"loss": found.loss, "optimal": found.optimal, "gap": found.gap, "levels": plan.solution.levels},
    }


def in_a_process(name: str, data: Path, repeat: int, checkout: Path | None) -> Figures:
    """Measure a case in a process of its own, with the package of a checkout."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, __file__, "--data", str(data), "--repeat", str(repeat), "--measure", name]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def faults(name: str, figures: Figures, data: Path, oracles: Path | None) -> list[str]:
    """What is wrong with the answer of a case."""
    answer = figures["answer"]
    if name.startswith(ALL_COLUMNS):
        return [] if answer["gap"] is not None else ["no gap is proven"]
    arguments, expected = SEARCHES[name]
    known = oracle_loss(oracles, problem_of(data, **arguments)) if oracles is not None else None
    found = [] if answer["optimal"] else ["no proof"]
    for optimum in filter(None, (expected, known)):
        if abs(answer["loss"] - optimum) > 1e-6 * optimum:
            found.append(f"loss {answer['loss']}, the optimum is {optimum}")
    return found


def line(name: str, figures: Figures) -> str:
    """The figures of a case as a line."""
    seconds, counters, answer = figures["seconds"], figures["counters"], figures["answer"]
    told = [f"{min(seconds['search']):.3f} s (median {statistics.median(seconds['search']):.3f})"]
    told.append(f"cpu {min(seconds['cpu']):.3f}")
    told.append(f"{counters['evaluated']:,} of {counters['lattice']:,} nodes")
    told.append(f"{counters['statements']:,} statements, {counters['rows_read'] / 1e6:.1f} M rows read")
    if not answer["optimal"]:
        told.append(f"loss {answer['loss']:.6f} (the reference's heuristic: {BEST_KNOWN}), gap {answer['gap']:.1%}")
    told += [f"{ratio:.1f} times {which}" for which, ratio in ratios(name, figures).items()]
    return "; ".join(told) + (f"; WRONG: {', '.join(figures['faults'])}" if figures["faults"] else "")


def ratios(name: str, figures: Figures) -> dict[str, float]:
    """How many times faster a case is than the reference."""
    reference = REFERENCE.get(name)
    if reference is None:
        return {}
    own = min(figures["seconds"]["search"])
    known = {"busy": reference.busy, "quiet": reference.quiet}
    return {which: value / own for which, value in known.items() if value is not None}


def means(cases: dict[str, Figures]) -> str:
    """The geometric means of the ratios, over the cases that allow suppression, and the least of all ratios."""
    told = []
    for which in ("busy", "quiet"):
        found = {name: ratios(name, figures).get(which) for name, figures in cases.items()}
        logs = [math.log(ratio) for name, ratio in found.items() if ratio and name not in WITHOUT_SUPPRESSION]
        if logs:
            least = min((ratio, name) for name, ratio in found.items() if ratio)
            mean = math.exp(sum(logs) / len(logs))
            told.append(f"{which}: {mean:.1f} over {len(logs)} cases, at least {least[0]:.2f} ({least[1]})")
    return "; ".join(told)


def main() -> None:
    """Run the cases, print a line each, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--oracles", type=Path, help="the folder of the oracles")
    parser.add_argument("--only", nargs="*", help="names of cases, whole")
    parser.add_argument("--repeat", type=int, default=5, help="searches of a case")
    parser.add_argument("--checkout", type=Path, help="a folder with another version of the package, measured first")
    parser.add_argument("--seconds", type=float, nargs="*", default=[10.0], help="time limits for all of CREDITCARD")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.data, arguments.repeat), default=str))
        return
    names = [*SEARCHES, *(f"{ALL_COLUMNS}, {seconds:g} s" for seconds in arguments.seconds)]
    if unknown := set(arguments.only or []) - set(names):
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are: {'; '.join(names)}")
    sides = {"before": arguments.checkout} if arguments.checkout else {}
    found: dict[str, dict[str, Figures]] = {side: {} for side in (*sides, "after")}
    for name in names if arguments.only is None else arguments.only:
        for side, checkout in (*sides.items(), ("after", None)):
            figures = in_a_process(name, arguments.data, arguments.repeat, checkout)
            figures["faults"] = faults(name, figures, arguments.data, arguments.oracles)
            figures["median"] = {clock: statistics.median(runs) for clock, runs in figures["seconds"].items()}
            found[side][name] = figures
            print(f"{name}{f' ({side})' if sides else ''}: {line(name, figures)}", flush=True)
    for side, cases in found.items():
        if not REFERENCE.keys() & cases.keys():
            continue
        print(f"{side + ', ' if sides else ''}times the reference's speed, geometric mean: {means(cases)}")
    if arguments.out:
        versions = {"sqlanon": sqlanon.__version__, "python": platform.python_version()}
        document = {"versions": versions, "machine": {"cores": os.cpu_count()}, "cases": found["after"]}
        document["before"] = found.get("before", {})
        arguments.out.write_text(json.dumps(document, indent=2) + "\n")
    sys.exit(1 if any(figures["faults"] for cases in found.values() for figures in cases.values()) else 0)


if __name__ == "__main__":
    main()
