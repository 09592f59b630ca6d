"""Airflow: publish a release by its policy, then check it as it stands. Exit code 1 fails, 2 may be tried again.

The folder of the policy is the variable ``SQLANON_FOLDER`` of the worker, or the current directory.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from typing import Any

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

FOLDER = os.environ.get("SQLANON_FOLDER", ".")
POLICY = os.environ.get("SQLANON_POLICY", "policy.yaml")
QI = os.environ.get("SQLANON_QI", "sex,age,zip")
K = os.environ.get("SQLANON_K", "5")


def sqlanon(*arguments: str) -> dict[str, Any]:
    """Run a command and return its document.

    Raises:
        AirflowFailException: exit code 1, the policy cannot be met or the check does not hold; the task is not retried.
        AirflowException: exit code 2 or an interrupt, nothing was judged; the task is retried if it has retries.
    """
    done = subprocess.run(["sqlanon", *arguments, "--json"], cwd=FOLDER, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    if done.returncode == 1:
        raise AirflowFailException(document.get("message") or f"sqlanon {arguments[0]}: it does not hold")
    if done.returncode:
        raise AirflowException(document.get("message") or done.stderr)
    return document


@dag(schedule=None, start_date=datetime(2026, 1, 1), catchup=False, tags=["sqlanon"])
def anonymized_release() -> None:
    """Publish, then check."""

    @task
    def publish() -> str:
        """Run the policy and return the file that it published; without values and without exact counts in XCom."""
        release: str = sqlanon("run", POLICY)["output"]["file"]
        return release

    @task
    def check(release: str) -> bool:
        """Check the release for k-anonymity, and that its accompanying files belong to it."""
        holds: bool = sqlanon("check", release, "--qi", QI, "--k", K, "--manifest")["holds"]
        return holds

    check(publish())


anonymized_release()
