"""The recipes of docs/examples, run by Airflow and Dagster themselves where they are installed.

They pin much, so each has an environment of its own: install one of them beside sqlanon and run this module there.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import forks
import pytest
from policies import document_of, quasi

ROOT = Path(__file__).resolve().parents[2]
POLICY = document_of(
    {"age": quasi({"groups": {"low": ["0", "1"], "high": ["2", "3"]}}), "sex": "suppress", "diagnosis": "keep"},
    k=5,
    source="clinic.csv",
    accept=["diagnosis"],
    output={"file": "released.csv"},
    if_exists="replace",
    repeats="accept",
)
OF_DAGSTER = """
import dagster, json, sys
sys.path.insert(0, sys.argv[1])
import dagster_assets as found
defs = found.definitions
result = defs.get_implicit_global_asset_job_def().execute_in_process(raise_on_error=False)
kind = "ASSET_CHECK_EVALUATION"
checks = [e.asset_check_evaluation_data.passed for e in result.all_events if e.event_type_value == kind]
shown = [
    sorted(e.materialization.metadata) for e in result.get_asset_materialization_events()
    for e in [e.event_specific_data]
]
print("RESULT " + json.dumps({"success": result.success, "checks": checks, "shown": shown}))
"""
OF_AIRFLOW = """
import json, sys
sys.path.insert(0, sys.argv[1])
import airflow_dag as found
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
dag = found.anonymized_release()
assert {task.task_id for task in dag.tasks} == {"publish", "check"}
assert dag.get_task("check").upstream_task_ids == {"publish"}
outcome = {}
try:
    try:
        release = dag.get_task("publish").python_callable()
    except AirflowSkipException:
        release = "released.csv"
    outcome["release"] = release
    outcome["holds"] = dag.get_task("check").python_callable(release)
except AirflowFailException as error:
    outcome["failed"] = str(error)
except AirflowException as error:
    outcome["again"] = str(error)
print("RESULT " + json.dumps(outcome))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A source, its policy, and the program on the path."""
    rows = [f"{i % 4},{i % 2},{'flu' if i % 3 else 'cold'}" for i in range(80)]
    (tmp_path / "clinic.csv").write_text("age,sex,diagnosis\n" + "\n".join(rows) + "\n")
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    program = tmp_path / "bin" / "sqlanon"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {forks.started()} "$@"\n')
    program.chmod(0o755)
    return tmp_path


def outcome(folder: Path, program: str, **given: str) -> dict[str, object]:
    """Run a program on a recipe, and return what it says came of it."""
    settings = {
        "SQLANON_FOLDER": str(folder), "SQLANON_RELEASE": "released.csv", "SQLANON_QI": "age,sex",
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "AIRFLOW_HOME": str(folder / "airflow"),
        "DAGSTER_HOME": "", "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "docs" / "examples")],
        cwd=folder, env={**os.environ, **settings, **given}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found: dict[str, object] = json.loads(line.removeprefix("RESULT "))
    return found


@pytest.mark.slow
def test_dagster_materializes_the_release_and_checks_it(folder: Path) -> None:
    if find_spec("dagster") is None:
        pytest.skip("Dagster is not installed")
    found = outcome(folder, OF_DAGSTER)
    assert found["success"] and found["checks"] == [True] and "ledger" in str(found["shown"])
    found = outcome(folder, OF_DAGSTER)
    assert found["checks"] == [True] and "unchanged" in str(found["shown"])
    found = outcome(folder, OF_DAGSTER, SQLANON_K="50")
    assert found["checks"] == [False]
    found = outcome(folder, OF_DAGSTER, SQLANON_QI="nowhere")
    assert not found["success"] and found["checks"] == []


@pytest.mark.slow
def test_airflow_publishes_and_checks(folder: Path) -> None:
    if find_spec("airflow") is None:
        pytest.skip("Airflow is not installed")
    found = outcome(folder, OF_AIRFLOW)
    assert found == {"release": str(folder / "released.csv"), "holds": True}
    assert outcome(folder, OF_AIRFLOW) == {"release": "released.csv", "holds": True}
    assert "does not hold" in str(outcome(folder, OF_AIRFLOW, SQLANON_K="50")["failed"])
    assert "nowhere" in str(outcome(folder, OF_AIRFLOW, SQLANON_QI="nowhere")["again"])
