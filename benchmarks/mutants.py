"""How well the tests guard the three rooms where a fault would be a wrong claim: models, search, audit.

Prints, for each room, the lines and branches that tests run, and the share of mutants (a changed comparison, constant,
call, …, made by mutmut) that some test notices. The mutants are a sample with a seed, because all of them take a day.

    ./run mutants                          30 mutants of each room
    ./run mutants --mutants 100 --seed 7   another sample; every mutant that survived is named

It exits with 0 whatever the scores are: they say where a test is missing. `mutmut show NAME` shows a mutant.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("models", "search", "audit")
TESTS = (
    "unit/test_accounting.py", "unit/test_antichain.py", "unit/test_bounds.py", "unit/test_capped_shares.py",
    "unit/test_claims.py", "unit/test_constructors.py", "unit/test_incumbents.py", "unit/test_search.py",
    "anonymize/test_bounded_knowledge.py", "anonymize/test_joint_cells.py", "anonymize/test_k_map.py",
    "anonymize/test_models.py", "anonymize/test_no_solution.py", "anonymize/test_profile_k.py",
    "anonymize/test_strategies.py", "contract/test_in_process.py", "publish/test_audit.py",
    "publish/test_beside.py", "publish/test_judged_together.py", "publish/test_linked_tables.py",
    "publish/test_model_audits.py", "publish/test_release_models.py", "publish/test_verification.py",
)  # fmt: skip
"""The tests that are asked about a mutant: those of the three rooms, with a twentieth of their random cases."""
MARKS = ["-m", "not (postgres or spark or dbt or chdb or shared)"]
PASSED, NO_TESTS = 0, (5, 33)
"""Exit codes of the tests of a mutant, as mutmut records them, that say that none noticed it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=30, metavar="N", help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    options = parser.parse_args()
    os.environ.setdefault("SQLANON_EFFORT", "0.05")
    tests = [f"tests/{name}" for name in TESTS]
    show_coverage(tests)
    folder = ROOT / "build" / "mutants"
    prepare(folder, tests)
    mutate(folder, ["none"])  # makes the mutants, and runs no test
    chosen = {room: sample(folder, room, options) for room in ROOMS}
    mutate(folder, [name for names in chosen.values() for name in names])
    print(f"\n{'room':10} {'mutants':>8} {'sample':>7} {'noticed':>8} {'score':>6}")
    survivors = []
    for room, names in chosen.items():
        codes = exit_codes(folder, room)
        noticed = [name for name in names if codes[name] not in (PASSED, *NO_TESTS, None)]
        survivors += sorted({*names} - {*noticed})
        print(f"{room:10} {len(codes):8,} {len(names):7} {len(noticed):8} {len(noticed) / len(names):6.0%}")
    print("\nNot noticed:", *survivors, sep="\n  ")
    return 0


def show_coverage(tests: list[str]) -> None:
    """Run the tests once and print the lines and branches of each room that they run."""
    rooms = [f"--cov=sqlanon/core/{room}" for room in ROOMS]
    report = ["--cov-branch", "--cov-report=json:build/coverage.json"]
    command = [sys.executable, "-m", "pytest", *MARKS, *rooms, *report, *tests]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    files = json.loads((ROOT / "build" / "coverage.json").read_text(encoding="utf-8"))["files"]
    print(f"{'room':10} {'lines':>8} {'run':>6} {'branches':>9} {'taken':>6}")
    for room in ROOMS:
        of_room = [facts["summary"] for name, facts in files.items() if f"core/{room}/" in name.replace(os.sep, "/")]
        lines, run, branches, taken = (
            sum(summary[key] for summary in of_room)
            for key in ("num_statements", "covered_lines", "num_branches", "covered_branches")
        )
        print(f"{room:10} {lines:8,} {run / lines:6.1%} {branches:9,} {taken / branches:6.1%}")


def prepare(folder: Path, tests: list[str]) -> None:
    """Copy the clone to a folder of its own, and tell mutmut what to mutate and which tests to ask."""
    shutil.rmtree(folder, ignore_errors=True)
    copied = ["sqlanon", "sql", "tests", "benchmarks", "examples", "docs", "README.md", "run"]
    for name in copied:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
    settings = {
        "source_paths": [f"sqlanon/core/{room}/" for room in ROOMS],
        "also_copy": [*copied, "pyproject.toml"],
        "pytest_add_cli_args": [*MARKS, "-n", "0", "-x", "-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": tests,
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(f"{project}\n[tool.mutmut]\n{lines}", encoding="utf-8")


def mutate(folder: Path, names: list[str]) -> None:
    """Let mutmut run the tests on these mutants."""
    done = subprocess.run(["mutmut", "run", *names], cwd=folder, check=False, capture_output=True, text=True)
    if names != ["none"] and done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])


def exit_codes(folder: Path, room: str) -> dict[str, int | None]:
    """Return every mutant of a room with the exit code of its tests, or None where none was run."""
    codes: dict[str, int | None] = {}
    for path in sorted((folder / "mutants" / "sqlanon" / "core" / room).rglob("*.meta")):
        codes |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return codes


def sample(folder: Path, room: str, options: argparse.Namespace) -> list[str]:
    """Return a sample of the mutants of a room."""
    names = sorted(exit_codes(folder, room))
    return sorted(random.Random(f"{room} {options.seed}").sample(names, min(options.mutants, len(names))))


if __name__ == "__main__":
    sys.exit(main())
