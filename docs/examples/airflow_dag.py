"""Airflow: every night publish a release by its policy, then check it as it stands.

The exit code decides: 0 succeeds, 1 fails, 2 is tried again only if the database or the source could not be read, and
3 (nothing new) skips the check. Whoever is on duty hears of a failure by ``alert``. The folder of the policy is the
variable ``SQLANON_FOLDER`` of the worker, or the current directory.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime, timedelta
from typing import Any

from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import dag, task

FOLDER = os.environ.get("SQLANON_FOLDER", ".")
POLICY = os.environ.get("SQLANON_POLICY", "policy.yaml")
QI = os.environ.get("SQLANON_QI", "sex,age,zip")
K = os.environ.get("SQLANON_K", "5")
METRICS = os.environ.get("SQLANON_METRICS", "metrics.jsonl")
PASSING = {"EngineError", "SourceError", "SourceChangedError"}
"""Errors that may pass by themselves; the cure of all others is a person's."""


def sqlanon(*arguments: str) -> dict[str, Any]:
    """Run a command and return its document.

    Raises:
        AirflowSkipException: exit code 3, there is nothing new.
        AirflowFailException: exit code 1 or 2, and trying again would not help.
        AirflowException: the database or the source could not be read, or the run was killed; tried again.
    """
    done = subprocess.run(["sqlanon", *arguments, "--json"], cwd=FOLDER, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    if done.returncode == 0:
        return document
    if done.returncode == 3:
        raise AirflowSkipException("nothing new: the release of last night stands")
    reason = document.get("error") or ("does not hold" if done.returncode == 1 else "killed")
    passes = reason in PASSING or not document
    message = f"{reason}: {document.get('message') or done.stderr}"
    raise (AirflowException if passes else AirflowFailException)(message)


def alert(context: dict[str, Any]) -> None:
    """Tell whoever is on duty. The message may hold exact counts, so only the kind of the error leaves the worker."""
    kind = str(context.get("exception")).partition(":")[0]
    print(f"ALERT {POLICY}: no release tonight, that of the last night stands ({kind})")  # or a pager, or a chat


@dag(
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=15), "on_failure_callback": alert},
    tags=["sqlanon"],
)
def anonymized_release() -> None:
    """Publish, then check."""

    @task
    def publish() -> str:
        """Run the policy and return what it published; without values and without exact counts in XCom."""
        output = sqlanon("run", POLICY, "--if-changed", "--metrics", METRICS)["output"]
        released: str = next(iter(output.values()))
        return released

    @task
    def check(release: str) -> bool:
        """Check the release for k-anonymity, and that its accompanying files belong to it."""
        holds: bool = sqlanon("check", release, "--qi", QI, "--k", K, "--manifest")["holds"]
        return holds

    check(publish())


anonymized_release()
