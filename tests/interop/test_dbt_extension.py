"""The installed model of examples/extension in a dbt project: dbt builds it, and its audit finds tampering."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import yaml
from click.testing import CliRunner
from dbt_projects import needs, steps

from sqlanon.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "extension"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What pip leaves of the example: its package on the path, and its entry point."""
    info = tmp_path / "site" / "hospital_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hospital-rules\nVersion: 1.0\n")
    project = (EXAMPLE / "pyproject.toml").read_text()
    point = re.search(r'^max_share = "(.*)"$', project, re.MULTILINE)
    assert point
    (info / "entry_points.txt").write_text(f"[sqlanon.models]\nmax_share = {point[1]}\n")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(info.parent))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "hospital_rules"]:
        del sys.modules[name]


@pytest.mark.usefixtures("installed")
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
    done = CliRunner().invoke(main, ["dbt", str(tmp_path / "visits.yml"), "--to", str(project)])
    assert done.exit_code == 0, done.output
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
