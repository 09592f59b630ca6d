"""Carry a case out in this process, as the command line does, and look at all that it says and leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click.testing

import sqlanon.errors
from fuzzing import judging, mistakes, worlds
from fuzzing.cases import Case, random_case, scratch
from fuzzing.columns import CANARY
from fuzzing.tidying import tidy
from sqlanon.cli import main

SECONDS = 120
"""After so many seconds a case counts as one that does not end."""
SHOWS_VALUES = ("explain", "dialect", "profile", "convert", "utility")
"""Commands whose answer holds values on purpose: SQL with its lookups, and the values that a chart names."""
DIALECTS = ("snowflake", "bigquery", "databricks", "clickhouse", "trino", "postgres", "duckdb", "sqlite")


@dataclass
class Outcome:
    """What became of a case. ``state``: ``released``, or the name of the error that refused it."""

    seed: int
    state: str = ""
    source: str = ""
    output: str = ""
    derived: bool = False
    """The rows were compared with those that plain Python derives from the source."""
    mistaken: bool = False
    message: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def run_case(seed: int, *, postgres: str | None = None, keep: bool = False) -> Outcome:
    """Carry out the case of a seed; every exception is a fault."""
    outcome, began = Outcome(seed), time.monotonic()
    with scratch() as name:
        folder, before = Path(name), Path.cwd()
        os.chdir(folder)
        try:
            with _limited(SECONDS):
                _carry_out(random_case(seed, folder, postgres=postgres is not None), outcome, postgres)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome.faults.append(
                f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {error}"[:600]
            )
        finally:
            os.chdir(before)
            if keep:
                print(f"kept: {folder}")
                os.system(f"cp -r '{folder}' /tmp/fuzz-{seed}")
    outcome.seconds = time.monotonic() - began
    return outcome


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"the case did not end within {seconds} seconds")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def _carry_out(case: Case, outcome: Outcome, postgres: str | None) -> None:
    rng = random.Random(~case.seed)
    if rng.random() < 0.85:
        tidy(rng, case)
    mistakes.break_policy(rng, case)
    worlds.write_source(case, postgres)
    mistakes.break_files(rng, case)
    outcome.source, outcome.mistaken = case.source, case.mistake is not None
    said = command("run", "policy.yaml", "--json", *case.options)
    document = _contract(said, outcome)
    if said.code != 0 and document is not None and "error" not in document:
        outcome.faults.append(f"exit code {said.code} without an error")
        return
    _check_secrets(case, "run", said, outcome)
    if said.code == 0 and document is not None:
        outcome.state, outcome.output = "released", "".join([*document["output"]][:1])
        _check_release(case, document, outcome)
    elif document is not None:
        outcome.state, outcome.message = document["error"], document["message"]
        if outcome.state == "AuditError" or (outcome.state == "EngineError" and not case.broken_files):
            outcome.faults.append(f"{outcome.state}: {document['message']}")
    if not outcome.faults and case.after is not None:
        _after(case, rng, document, outcome)
    if left := [path.name for path in case.folder.iterdir() if path.name.startswith(".")]:
        outcome.faults.append(f"left behind: {left}")


def command(*arguments: str) -> Said:
    """Run a command in this process.

    Raises:
        Exception: whatever is no error of ours; a warning of a library that computes with what it should not.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = click.testing.CliRunner().invoke(main, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, result.stdout, result.stderr)


def _contract(said: Said, outcome: Outcome) -> dict[str, Any] | None:
    """Check the exit code, and that there is one JSON document, which names an error of ours with its cure."""
    try:
        document = worlds.strict_json(said.out)
    except ValueError as error:
        outcome.faults.append(f"exit code {said.code}, and no JSON document: {error}; {said.err[-300:]}")
        return None
    if "Traceback" in said.err:
        outcome.faults.append("a traceback on standard error")
    if said.code == 0 or (said.code == 1 and "error" not in document):  # a check failed, or a grid has no solution
        return document
    kind = getattr(sqlanon.errors, document.get("error", ""), None)
    if not (isinstance(kind, type) and issubclass(kind, sqlanon.errors.SqlanonError)):
        outcome.faults.append(f"exit code {said.code} without an error of ours")
    elif kind.exit_code != said.code:
        outcome.faults.append(f"{kind.__name__} with exit code {said.code}")
    elif not (document.get("hint") or all(fault["hint"] for fault in document.get("faults", [{"hint": ""}]))):
        outcome.faults.append(f"{kind.__name__} without a hint: {document['message'][:300]}")
    elif not document["message"].strip():
        outcome.faults.append(f"{kind.__name__} without a message")
    return document


def _check_secrets(case: Case, what: str, said: Said, outcome: Outcome) -> None:
    """Look for values of the source in what is printed, and in the papers beside a release."""
    if what in SHOWS_VALUES:
        return
    values = {value for column in case.columns for value in column.values if value is not None}
    if case.mistake is not None:  # a value may have become a key or a name of the policy, which messages do quote
        values = set()
    secret = [value for value in values if CANARY in value or (len(value) > 15 and value.strip("-").isdigit())]
    papers = [("standard output", said.out), ("standard error", said.err), *worlds.papers(case.folder)]
    for name, text in papers:
        if any(value in text or json.dumps(value)[1:-1] in text for value in secret):
            outcome.faults.append(f"{what}: {name} holds a value of the source")


def _check_release(case: Case, document: dict[str, Any], outcome: Outcome) -> None:
    if case.mistake is not None:
        return
    found = worlds.read_release(case, document)
    if found is not None:
        outcome.derived = judging.is_known(case)
        outcome.faults += judging.faults(case, *found, document)


def _after(case: Case, rng: random.Random, document: dict[str, Any] | None, outcome: Outcome) -> None:
    """Run another command on the same policy, or on its release."""
    arguments = _arguments(case, rng, document)
    if arguments is None:
        return
    said = command(*arguments)
    if "--json" in arguments:
        _contract(said, outcome)
    elif said.code not in (0, 1, 2):
        outcome.faults.append(f"{arguments[0]} ended with exit code {said.code}")
    _check_secrets(case, str(case.after), said, outcome)
    released = outcome.state == "released" and case.mistake is None
    must_hold = case.after in ("verify", "check", "explain") and released
    if must_hold and said.code != 0 and not (case.after == "explain" and "UnsupportedError" in said.err):
        outcome.faults.append(f"{case.after} of a release ended with exit code {said.code}: {said.err[-400:]}")
    if case.after == "again" and released and document is not None and document["output"] and said.code != 2:
        outcome.faults.append(f"a second run for one target ended with exit code {said.code}")


def _arguments(case: Case, rng: random.Random, document: dict[str, Any] | None) -> list[str] | None:
    place = (document or {}).get("output") or {}
    quasi = [part for name, column in case.document["columns"].items() if isinstance(column, dict)
             and column.get("role") == "quasi_identifier" for part in ("--qi", str(name))
             ] if isinstance(case.document.get("columns"), dict) else []  # fmt: skip
    plain = all("," not in name and '"' not in name and name.strip() for name in quasi[1::2])
    file = place.get("file")
    if case.after in ("explain", "convert", "utility", "refresh", "frontier", "dialect"):
        more = {
            "explain": [],
            "dialect": ["--dialect", rng.choice(DIALECTS)],
            "convert": ["definition.xml", "--json"],
            "utility": ["--json", "--queries", "20"],
            "refresh": ["--json"],
            "frontier": ["--json", "--k", "2,3", "--limit", "0,0.2"],
        }[case.after]
        return ["explain" if case.after == "dialect" else case.after, "policy.yaml", *more]
    if case.after == "again":
        return ["run", "policy.yaml", "--json"]
    if case.after == "risk":
        compare = ["--compare", file] if file and rng.random() < 0.5 else []
        return ["risk", "--policy", "policy.yaml", "--json", *compare]
    if case.after == "profile" and case.source != "postgres":
        return ["profile", case.place, "--json"]
    if case.after == "verify" and (case.folder / "proof.json").exists():
        return ["verify", "proof.json", "policy.yaml", "--json"]
    models = case.document.get("privacy")
    models = [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    counted = {str(model.get("type")): model for model in models}
    whole = file and quasi and plain and case.document.get("suppressed") != "redact" and case.mistake is None
    if whole and document is not None and document["published"] and "k_anonymity" in counted:
        if case.after == "check":
            return ["check", file, *quasi, "--k", str(counted["k_anonymity"]["k"]), "--json"]
        if case.after == "nulls":
            return ["nulls", file, *quasi, "--json"]
    return None


def summary(outcomes: list[Outcome]) -> str:
    """Return in words what became of many cases."""
    states = Counter(outcome.state for outcome in outcomes)
    sources = Counter(outcome.source for outcome in outcomes)
    outputs = Counter(outcome.output or "none" for outcome in outcomes if outcome.state == "released")
    derived = sum(outcome.derived for outcome in outcomes)
    broken = sum(outcome.mistaken for outcome in outcomes)
    slow = sorted(outcomes, key=lambda outcome: -outcome.seconds)[:3]
    lines = [
        f"{len(outcomes)} cases, {broken} of them broken on purpose; {derived} releases derived anew",
        "  ended: " + ", ".join(f"{name or '?'} {n}" for name, n in states.most_common()),
        "  sources: " + ", ".join(f"{name} {n}" for name, n in sources.most_common()),
        "  released as: " + ", ".join(f"{name} {n}" for name, n in outputs.most_common()),
        "  slowest: " + ", ".join(f"seed {outcome.seed} {outcome.seconds:.1f} s" for outcome in slow),
    ]
    return "\n".join(lines)
