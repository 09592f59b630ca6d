"""Dagster: a release as an asset, and its models as an asset check. Exit code 1 does not pass, 2 is an error.

The folder of the policy is the variable ``SQLANON_FOLDER``, or the current directory.
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


def sqlanon(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command and return its exit code, 0 or 1, and its document.

    Raises:
        dagster.Failure: nothing was judged (exit code 2, or an interrupt).
    """
    done = subprocess.run(["sqlanon", *arguments, "--json"], cwd=FOLDER, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    if done.returncode not in (0, 1):
        raise dagster.Failure(document.get("message") or done.stderr)
    return done.returncode, document


@dagster.asset(description="The release of the policy, audited before it is put in place.")
def release() -> dagster.MaterializeResult:
    """Publish, and show what the manifest shows: counts below k stay hidden."""
    code, document = sqlanon("run", POLICY)
    if code:
        raise dagster.Failure(document.get("message", "the policy cannot be met"), allow_retries=False)
    manifest = json.loads(Path(f"{document['output']['file']}.manifest.json").read_text(encoding="utf-8"))
    shown = {"levels": document["levels"], "ledger": manifest["ledger"], "models": manifest["models"]}
    return dagster.MaterializeResult(metadata=shown)


@dagster.asset_check(asset=release, blocking=True)
def models_hold() -> dagster.AssetCheckResult:
    """Check the release as it stands; what depends on it waits for this."""
    code, document = sqlanon("check", RELEASE, "--qi", QI, "--k", K, "--manifest")
    models = {model["model"]: model["holds"] for model in document["models"]}
    return dagster.AssetCheckResult(passed=code == 0, metadata={"models": models})


definitions = dagster.Definitions(assets=[release], asset_checks=[models_hold])
