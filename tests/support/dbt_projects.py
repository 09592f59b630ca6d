"""dbt as the tests run it: several steps in one process, because loading dbt takes longer than what is asked of it."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

RUNNER = """
import json, sys
from pathlib import Path
from dbt.cli.main import dbtRunner

def execute(profile, statement):
    if profile["type"] == "duckdb":
        import duckdb
        with duckdb.connect(profile["path"]) as connection:
            connection.execute(statement)
        return
    import psycopg2
    known = {"host": profile["host"], "user": profile["user"], "dbname": profile["dbname"]}
    connection = psycopg2.connect(**known)
    with connection, connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()

told, profile, steps = sys.argv[1], *map(json.loads, sys.argv[2:])
flags = ["--no-version-check", "--profiles-dir", ".", "--project-dir", "."]
for kind, *given in steps:
    success = True
    if kind == "dbt":
        success = bool(dbtRunner().invoke([*flags[:1], *given, *flags[1:]]).success)
    elif kind == "sql":
        execute(profile, given[0])
    else:
        Path(given[0]).write_text(given[1], encoding="utf-8")
    results = Path("target/run_results.json")
    found = json.loads(results.read_text()) if kind == "dbt" and results.exists() else None
    sys.stdout.flush()
    print("\\n" + told + json.dumps({"success": success, "results": found}), flush=True)
"""
TOLD = "the step says: "


@dataclass(frozen=True)
class Step:
    """What came of a step: whether dbt succeeded, what it printed, and per node its result."""

    success: bool
    printed: str
    results: Mapping[str, Mapping[str, Any]]

    def status(self, name: str) -> str:
        return str(self.results[name]["status"])


def needs(adapter: str) -> None:
    """Skip where dbt or its adapter is not installed."""
    for module in ("dbt", f"dbt.adapters.{adapter}"):
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"dbt-{adapter} is not installed")


def steps(folder: Path, profile: Mapping[str, Any], *wanted: Sequence[str]) -> list[Step]:
    """Carry out steps in a project: ("dbt", …), ("sql", statement) or ("write", path, text)."""
    name = yaml.safe_load((folder / "dbt_project.yml").read_text())["profile"]
    document = {name: {"target": "test", "outputs": {"test": dict(profile)}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(document))
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, TOLD, json.dumps(profile), json.dumps(wanted)],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found, printed = [], []
    for line in done.stdout.splitlines():
        if line.startswith(TOLD):
            said = json.loads(line.removeprefix(TOLD))
            entries = (said["results"] or {}).get("results", [])
            results = {entry["unique_id"].split(".")[2]: entry for entry in entries}
            found.append(Step(said["success"], "\n".join(printed), results))
            printed = []
        else:
            printed.append(line)
    return found
