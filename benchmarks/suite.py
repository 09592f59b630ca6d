"""All benchmarks of the search and of whole runs, by one command: each checks its own answer.

    python benchmarks/suite.py --data DIR --out results.json [--only adult cup …] [--repeat 5] [--records N] [--huge]

DIR as ``benchmarks/cases.py`` and ``benchmarks/generated.py`` say. Prints a line a case, writes all figures as JSON
(versions, machine, medians, deterministic counters) and exits 1 when an answer is wrong. ``python benchmarks/compare.py
before.json after.json`` compares two such files. Seconds depend on the machine; evaluations and rows read do not.

- search cases: ADULT, CUP and CREDITCARD with 10, 12 and 15 quasi-identifiers. Right: proven, at the known optimum, and
  (a small lattice) the certificate holds when it is verified.
- strategies: every strategy on ADULT. Right: feasible, and at the optimum where it claims to be.
- run cases: IHIS- and ATUS-shaped records in Parquet, end to end through the command line, with the peak memory of that
  process (at least that of this one, which it is forked from). Right: proven, the ledger adds up, and no class of the
  release has fewer than k records. ``--records`` adds runs with so many records; ``--huge`` one of 100,000,000 with
  ``memory_limit: 8GB``.
- growth: how cost grows with records, quasi-identifiers and lattice.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import generated
from cases import SEARCHES, search_case

import sqlanon
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.core.search import STRATEGIES
from sqlanon.version import VERSION

Figures = dict[str, Any]
"""``seconds`` (name -> runs), ``counters``, ``answer``, and ``faults``: what is wrong, empty when all is right."""

VERIFIED = 20_000
"""Lattices of at most so many nodes have their certificates verified."""
SLOW = ("creditcard, 12", "creditcard, 15")
"""Timed once."""


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark: its name, and what runs and checks it."""

    name: str
    run: Callable[[], Figures]


def search_figures(policy: sqlanon.Policy, expected: float | None, repeat: int, *, exact: bool = True) -> Figures:
    """Plan from scratch so many times; the last plan is checked."""
    seconds: dict[str, list[float]] = {"encode": [], "search": []}
    progress: list[tuple[float, int, float | None, float]] = []
    for turn in range(repeat):
        begun = time.perf_counter()

        def watch(found: Any, begun: float = begun, turn: int = turn) -> None:
            now = time.perf_counter() - begun
            if turn == 0 and found.incumbent is not None and (not progress or now > 1.5 * progress[-1][0]):
                loss, bound = found.incumbent.loss, found.lower_bound or 0.0
                progress.append((round(now, 2), found.evaluated, round(loss, 6), round(1 - bound / loss, 6)))

        with sqlanon.plan(None, policy, watch=watch) as plan:
            for name in seconds:
                seconds[name].append(plan.seconds[name])
            if turn + 1 == repeat:
                certificate = plan.certificate
                evaluator = plan._evaluator
                faults = list(_search_faults(plan, policy, expected, exact=exact))
                return {
                    "seconds": seconds,
                    "counters": {
                        "evaluated": certificate.evaluated,
                        "lattice": certificate.lattice_size,
                        "rows_read": evaluator.rows_read,
                        "base_rows": plan.catalog.base_rows,
                        "statements": plan.statements,
                        "snapshots": plan.snapshots,
                    },
                    "answer": {
                        "loss": certificate.loss,
                        "optimal": certificate.optimal,
                        "gap": certificate.gap,
                        "levels": plan.solution.levels,
                        "suppressed": plan.solution.suppressed,
                    },
                    "gap_over_time": progress,
                    "faults": faults,
                }
    raise ValueError("repeat at least once")


def _search_faults(plan: sqlanon.Plan, policy: sqlanon.Policy, expected: float | None, *, exact: bool) -> Iterator[str]:
    """What is wrong with a plan."""
    found = plan.certificate
    if exact and not found.optimal:
        yield "no proof"
    differs = expected is not None and abs(found.loss - expected) > 1e-6 * expected
    if differs and (exact or found.optimal or found.loss < expected):
        yield f"loss {found.loss}, the optimum is {expected}"
    if found.optimal and found.lattice_size <= VERIFIED:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.json"
            assert plan.proof_document is not None
            write_proof(plan.proof_document, path)
            yield from sqlanon.verify(path, policy).faults


def run_figures(policy: sqlanon.Policy, folder: Path) -> Figures:
    """One run through the command line in a process of its own."""
    released = folder / "released.parquet"
    document = {**policy.to_dict(), "output": {"file": str(released)}, "if_exists": "replace"}
    path = folder / "policy.json"
    path.write_text(json.dumps(document, default=str))
    begun = time.perf_counter()
    with (folder / "answer.json").open("w") as out:
        process = subprocess.Popen([sys.executable, "-m", "sqlanon.cli", "run", str(path), "--json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    whole = time.perf_counter() - begun
    answer = json.loads((folder / "answer.json").read_text())
    if status:
        return {"seconds": {"whole": [whole]}, "counters": {}, "answer": answer, "faults": [answer["message"]]}
    columns = ", ".join(f'"{column.name}"' for column in policy.quasi_identifiers)
    with duckdb.connect(config={"memory_limit": "8GB", "temp_directory": str(folder)}) as connection:
        smallest, published = connection.execute(
            f"SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM read_parquet(?) GROUP BY {columns})",
            [str(released)],
        ).fetchall()[0]
    faults = []
    if not answer["optimal"]:
        faults.append("no proof")
    if smallest < 5 or published != answer["published"]:
        faults.append(f"the release has {published} records, the smallest class {smallest}")
    if answer["records"] != answer["published"] + answer["suppressed"] + answer["excluded"]:
        faults.append("the ledger does not add up")
    return {
        "seconds": {**{name: [value] for name, value in answer["seconds"].items()}, "whole": [whole]},
        "counters": {
            "records": answer["records"],
            "evaluated": answer["evaluated"],
            "lattice": answer["lattice_size"],
            "statements": answer["statements"],
            "peak_mib": round(usage.ru_maxrss / 1024),
        },
        "answer": {key: answer[key] for key in ("loss", "optimal", "gap", "suppressed", "levels")},
        "faults": faults,
    }


def generated_run(name: str, data: Path, records: int | None, columns: int | None = None, **changes: Any) -> Figures:
    """Records in the shape of ``name``, run end to end."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / f"{name}.parquet"
        generated.write(name, data, source, records)
        policy = generated.policy(name, data, source, engine={"temp_directory": str(folder), **changes})
        if columns is not None:
            document = policy.to_dict()
            document["columns"] = dict(list(document["columns"].items())[:columns])
            policy = sqlanon.Policy.from_dict(document)
        return run_figures(policy, folder)


def cases(arguments: argparse.Namespace) -> list[Case]:
    """All cases, in the order of the report."""
    data, repeat = arguments.data, arguments.repeat
    listed = []
    for name, (wanted, loss) in SEARCHES.items():
        turns = 1 if name in SLOW else repeat
        policy = search_case(data, **wanted)
        listed.append(Case(name, lambda p=policy, loss=loss, turns=turns: search_figures(p, loss, turns)))
    for strategy in [name for name, _ in STRATEGIES]:
        policy = search_case(data, "adult", 9, search={"strategy": strategy})
        optimum = SEARCHES["adult"][1]
        listed.append(
            Case(f"strategy {strategy}", lambda p=policy, best=optimum: search_figures(p, best, 1, exact=False))
        )
    for name in generated.DATASETS:
        listed.append(Case(f"run {name}", lambda name=name: generated_run(name, data, None)))
    for records in (150_000, 300_000, 600_000, *arguments.records):
        listed.append(Case(f"growth, {records:,} records", lambda n=records: generated_run("ihis", data, n)))
    for columns in (4, 6):
        listed.append(Case(f"growth, {columns} columns", lambda n=columns: generated_run("ihis", data, None, n)))
    if arguments.huge:
        listed.append(
            Case("run ihis, 100,000,000", lambda: generated_run("ihis", data, 100_000_000, memory_limit="8GB"))
        )
    return [case for case in listed if not arguments.only or any(case.name.startswith(p) for p in arguments.only)]


def main() -> None:
    """Run the cases, print a line each, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--only", nargs="*", help="names of cases, or how they begin")
    parser.add_argument("--repeat", type=int, default=5, help="runs of a search, of which the median is told")
    parser.add_argument("--records", type=int, nargs="*", default=[], help="more runs of IHIS with so many records")
    parser.add_argument("--huge", action="store_true", help="a run of 100,000,000 records")
    arguments = parser.parse_args()
    found: dict[str, Figures] = {}
    for case in cases(arguments):
        figures = case.run()
        figures["median"] = {name: statistics.median(runs) for name, runs in figures["seconds"].items()}
        found[case.name] = figures
        times = ", ".join(f"{name} {value:.3f} s" for name, value in figures["median"].items())
        counters = ", ".join(f"{name} {value:,}" for name, value in figures["counters"].items())
        right = "right" if not figures["faults"] else "WRONG: " + "; ".join(figures["faults"])
        print(f"{case.name}: {right}; {times}; {counters}", flush=True)
    versions = {"sqlanon": VERSION, "duckdb": duckdb.__version__, "python": platform.python_version()}
    machine = {"cores": os.cpu_count(), "memory_gib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30}
    document = {"versions": versions, "machine": machine, "cases": found}
    arguments.out.write_text(json.dumps(document, indent=2, default=str) + "\n")
    sys.exit(1 if any(figures["faults"] for figures in found.values()) else 0)


if __name__ == "__main__":
    main()
