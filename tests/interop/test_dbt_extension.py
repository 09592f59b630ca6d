"""The installed model of examples/extension in a dbt project: dbt builds it, and its audit finds tampering."""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import yaml
from dbt_projects import needs, steps

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "extension"


def installed(folder: Path) -> dict[str, str]:
    """The environment of a process in which the example is installed: its package, and what pip leaves of it."""
    info = folder / "site" / "hospital_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hospital-rules\nVersion: 1.0\n")
    point = re.search(r'^max_share = "(.*)"$', (EXAMPLE / "pyproject.toml").read_text(), re.MULTILINE)
    assert point
    (info / "entry_points.txt").write_text(f"[sqlanon.models]\nmax_share = {point[1]}\n")
    paths = [str(EXAMPLE), str(info.parent), str(EXAMPLE.parents[1])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_dbt_builds_and_tests_a_model_from_outside(tmp_path: Path) -> None:
    needs("duckdb")
    chance, path = random.Random(7), str(tmp_path / "warehouse.duckdb")
    rows = [(chance.choice("abcd"), chance.choices(["flu", "cold", "angina"], [4, 3, 2])[0]) for _ in range(80)]
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE visits (ward VARCHAR, diagnosis VARCHAR)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", [*rows, *[("e", "flu")] * 8])
    policy = {
        "source": path,
        "table": "main.visits",
        "columns": {
            "ward": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "diagnosis": {"role": "sensitive", "models": [{"type": "max_share", "share": 0.75}]},
        },
        "suppression_limit": 0.2,
    }
    (tmp_path / "visits.yml").write_text(yaml.safe_dump(policy))
    project = tmp_path / "project"
    command = [sys.executable, "-m", "sqlanon.cli", "dbt", str(tmp_path / "visits.yml"), "--to", str(project)]
    done = subprocess.run(command, env=installed(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    model = project / "models" / "visits_released.sql"
    weaker = model.read_text().replace(" * 4 <= ", " * 0 <= ")
    assert weaker != model.read_text()
    profile = {"type": "duckdb", "path": path, "threads": 1}
    write = ("write", "models/visits_released.sql", weaker)
    _, built, _, tampered = steps(project, profile, ("dbt", "deps"), ("dbt", "build"), write, ("dbt", "build"))
    audit = "visits_released_max_share_0"
    assert built.success and built.status(audit) == "pass", built.printed
    assert not tampered.success and tampered.status(audit) == "fail"
    with duckdb.connect(path) as connection:
        shown = Counter(connection.execute("SELECT ward, diagnosis FROM visits_released").fetchall())
    assert ("e", "flu") in shown  # the weaker model shows it; its test said so
