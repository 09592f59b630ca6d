"""Dagster: every night a release as an asset, and its models as an asset check.

The exit code decides: 0 materializes, 1 fails, 2 is tried again only if the database or the source could not be read,
and 3 (nothing new) leaves the release as it is. The folder of the policy is the variable ``SQLANON_FOLDER``, or the
current directory.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import dagster

FOLDER = os.environ.get("SQLANON_FOLDER", ".")
POLICY = os.environ.get("SQLANON_POLICY", "policy.yaml")
RELEASE = os.environ.get("SQLANON_RELEASE", "released.parquet")
QI = os.environ.get("SQLANON_QI", "sex,age,zip")
K = os.environ.get("SQLANON_K", "5")
METRICS = os.environ.get("SQLANON_METRICS", "metrics.jsonl")
PASSING = {"EngineError", "SourceError", "SourceChangedError"}
"""Errors that may pass by themselves; the cure of all others is a person's."""


def sqlanon(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command and return its exit code, 0, 1 or 3, and its document.

    Raises:
        dagster.Failure: nothing was judged (exit code 2, or it was killed); tried again only where that may help.
    """
    done = subprocess.run(["sqlanon", *arguments, "--json"], cwd=FOLDER, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    if done.returncode not in (0, 1, 3):
        passes = not document or document.get("error") in PASSING
        raise dagster.Failure(document.get("message") or done.stderr, allow_retries=passes)
    return done.returncode, document


@dagster.asset(
    description="The release of the policy, audited before it is put in place.",
    retry_policy=dagster.RetryPolicy(max_retries=2, delay=900),
)
def release() -> dagster.MaterializeResult:
    """Publish, and show what the manifest shows: counts below k stay hidden."""
    code, document = sqlanon("run", POLICY, "--if-changed", "--metrics", METRICS)
    if code == 1:
        raise dagster.Failure(document.get("message", "the policy cannot be met"), allow_retries=False)
    if code == 3:
        return dagster.MaterializeResult(metadata={"unchanged": True})
    manifest = json.loads(Path(FOLDER, f"{RELEASE}.manifest.json").read_text(encoding="utf-8"))
    shown = {"levels": document["levels"], "ledger": manifest["ledger"], "models": manifest["models"]}
    return dagster.MaterializeResult(metadata=shown)


@dagster.asset_check(asset=release, blocking=True)
def models_hold() -> dagster.AssetCheckResult:
    """Check the release as it stands; what depends on it waits for this."""
    code, document = sqlanon("check", RELEASE, "--qi", QI, "--k", K, "--manifest")
    models = {model["model"]: model["holds"] for model in document["models"]}
    return dagster.AssetCheckResult(passed=code == 0, metadata={"models": models})


nightly = dagster.ScheduleDefinition(
    name="nightly", target=dagster.AssetSelection.assets(release), cron_schedule="0 2 * * *"
)
definitions = dagster.Definitions(assets=[release], asset_checks=[models_hold], schedules=[nightly])
