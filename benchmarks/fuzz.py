"""Run random cases against sqlanon: policies x tables x types x outputs x engines, many broken on purpose.

    python benchmarks/fuzz.py --cases 10000 --first 0 --jobs 2
    python benchmarks/fuzz.py --cases 1 --first 4711 --keep    # one case again; its files stay in /tmp/fuzz-4711

A seed is a case: the same table, policy and command on every machine. Of each it is checked that nothing but an error
of sqlanon with its cure refuses it, that no message or paper holds a value of the source, that the JSON contract and
the ledger hold, and, in plain Python from the written rows, that the classes are what the policy demands. Where plain
Python knows all of a policy, the rows are derived anew from the source, and compared. Exit code 1: a case failed; its
seed is printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests" / "support")]

from fuzzing.running import Outcome, run_case, summary  # noqa: E402

BLOCK = 100
"""Cases that one process looks at."""


def _work(first: int, cases: int, postgres: str | None, keep: bool) -> None:
    """Print a line before each case and one after it, so that a crash of the process has a seed."""
    for seed in range(first, first + cases):
        print(json.dumps({"begun": seed}), flush=True)
        print(json.dumps(asdict(run_case(seed, postgres=postgres, keep=keep))), flush=True)


def _collect(output: str, code: int) -> list[Outcome]:
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    outcomes = [Outcome(**line) for line in lines if "begun" not in line]
    if code != 0 and lines and "begun" in lines[-1]:
        outcomes.append(Outcome(lines[-1]["begun"], "crashed", faults=[f"the process ended with {code}"]))
    return outcomes


def _all(first: int, cases: int, jobs: int, postgres: str | None) -> list[Outcome]:
    """Look at all cases, in processes of their own."""
    waiting = deque((start, min(BLOCK, first + cases - start)) for start in range(first, first + cases, BLOCK))
    running: list[tuple[int, int, subprocess.Popen[str]]] = []
    outcomes: list[Outcome] = []
    while waiting or running:
        while waiting and len(running) < jobs:
            start, count = waiting.popleft()
            command = [sys.executable, __file__, "--worker", "--first", str(start), "--cases", str(count)]
            command += ["--postgres", postgres] if postgres else []
            running.append((start, count, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
        start, count, process = running.pop(0)
        found = _collect(process.communicate()[0], process.returncode)
        if process.returncode != 0 and (seen := len(found)) < count:
            waiting.appendleft((start + seen, count - seen))
        for outcome in found:
            for fault in outcome.faults:
                print(f"seed {outcome.seed}: {fault}", flush=True)
        outcomes += found
    return outcomes


def main() -> int:
    """Run the cases and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--postgres", help="the URI of a server; 'own' starts one; without it no case runs on one")
    parser.add_argument("--keep", action="store_true", help="keep the files of each case in /tmp")
    parser.add_argument("--refusals", action="store_true", help="print why cases that are not broken were refused")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker or options.keep:
        _work(options.first, options.cases, options.postgres, options.keep)
        return 0
    began = time.monotonic()
    with ExitStack() as stack:
        uri = options.postgres
        if uri == "own":
            from postgres_server import server

            uri = stack.enter_context(server()).uri()
        outcomes = _all(options.first, options.cases, options.jobs, uri)
    failed = [outcome for outcome in outcomes if outcome.faults]
    for outcome in outcomes if options.refusals else ():
        if outcome.message and not outcome.mistaken:
            print(f"seed {outcome.seed}: {outcome.state}: {outcome.message}")
    print(summary(outcomes))
    print(f"  seeds {options.first} to {options.first + options.cases - 1}; {time.monotonic() - began:.0f} seconds")
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or len(outcomes) != options.cases else 0


if __name__ == "__main__":
    sys.exit(main())
