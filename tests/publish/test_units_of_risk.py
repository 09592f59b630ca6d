"""What counts persons, and what counts records, says so wherever the risk of a release is shown."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from command_line import sqlanon as run_cli

import sqlanon


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Forty persons of five visits each, ten to a class; each ward has four persons of a class, or two."""
    duckdb.sql(
        "COPY (SELECT range // 5 AS person, range // 50 AS a, (range // 5) % 10 // 4 AS ward FROM range(200)) "
        f"TO '{tmp_path}/v.parquet'"
    )
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    document: dict[str, Any] = {
        "source": "v.parquet", "entity": "person", "columns": {"person": {"role": "drop"}, "a": hidden,
        "ward": {"role": "keep"}}, "accept": ["ward"], "privacy": [{"type": "k_anonymity", "k": 5}],
        "output": {"file": "r.parquet"}, "if_exists": "replace",
    }  # fmt: skip
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_the_card_of_a_risk_counts_one_thing(visits: Path) -> None:
    with sqlanon.plan(None, sqlanon.Policy.from_file(visits)) as plan:
        after = plan.risk().after
    shown = after._repr_html_()
    assert "40 entities (each once in every class of theirs) in 4 classes" in shown
    assert "Entities (upwards) by the number of entities in their class" in shown
    for heading in ("Records by the size", "Records (upwards)", ">Records in a class<", ">Records published<"):
        assert heading not in shown, heading
    assert "records at risk" not in shown and "a record" not in shown


@pytest.mark.slow
def test_groups_of_persons_are_called_so(visits: Path) -> None:
    """All records are in groups of fewer than five persons, but of ten records at least."""
    folder = visits.parent
    counted = "0 in groups of one entity, 200 in groups of fewer than 5 entities"
    for audience in ("operator", "recipient"):
        done = run_cli("run", visits, "--report", folder / "r.txt", "--audience", audience)
        assert done.returncode == 0 and counted in " ".join(done.stderr.split()), done.stderr
        report = " ".join((folder / "r.txt").read_text(encoding="utf-8").split())
        assert "with no other entity." in report and "in such groups of fewer than k entities." in report
    assert run_cli("evidence", visits, "--to", folder / "pack").returncode == 0
    assert "in groups of fewer than 5 persons |" in (folder / "pack/attacks.md").read_text(encoding="utf-8")
    found = run_cli("attack", folder / "r.parquet", "--policy", visits, "--holdout", "0", "--json")
    report = json.loads(found.stdout)
    assert any("Attempts count records, of which an entity may have several" in text for text in report["warnings"])
    assert not any("people whose" in finding["meaning"] for finding in report["findings"])
