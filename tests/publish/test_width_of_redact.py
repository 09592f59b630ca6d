"""The width of redacted texts: nothing that is published shows how long the value of one record is."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from policies import document_of
from tables import text_table

import sqlanon

pytestmark = pytest.mark.slow

ORDINARY = [(f"{8000 + i % 40}", "f" if i % 3 else "m", f"p{i}") for i in range(300)]
LONG = ("8010-GRAZ-ANDRITZ", "x", "p300")


def published(folder: Path, rows: Sequence[tuple[str, ...]], redact: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Publish some records, and return all that travels; ``cells`` are the published texts."""
    folder.mkdir()
    document = {
        "table": "t",
        "columns": {
            "zip": {"role": "quasi_identifier", "hierarchy": {"redact": redact}, "min_level": 1},
            "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0},
        },
        "undeclared": "drop",
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.1,
        "output": {"file": str(folder / "released.parquet")},
        **changes,
    }
    with duckdb.connect() as connection:
        text_table(connection, ["zip", "sex", "person"], list(rows))
        policy = sqlanon.Policy.from_dict(document)
        with sqlanon.anonymize(connection, policy) as release:
            certificate = folder / "released.parquet.certificate.json"
            assert sqlanon.verify(certificate, policy, connection).holds
            return {
                "cells": sorted(set(release.to_arrow().column("zip").to_pylist())),
                "columns": release.manifest["columns"],
                "lattice": [release.manifest["certificate"]["lattice_size"], release.certificate.lattice_size],
                "nodes": {key: json.loads(certificate.read_text())[key] for key in ("bottom", "top", "chosen")},
                "script": release.sql.count("RPAD("),
            }


def test_a_suppressed_record_does_not_show_how_long_its_value_is(tmp_path: Path) -> None:
    without = published(tmp_path / "without", ORDINARY, {})
    assert published(tmp_path / "with", [*ORDINARY, LONG], {}) == without
    assert {len(cell) for cell in without["cells"]} == {4}
    assert without["columns"][0]["height"] == 5


def test_as_many_as_a_class_must_hold_set_the_width(tmp_path: Path) -> None:
    for number, height in ((4, 5), (5, 18)):
        found = published(tmp_path / str(number), [*ORDINARY, *[LONG] * number], {})
        assert found["columns"][0]["height"] == height


def test_one_person_with_many_records_does_not_set_the_width(tmp_path: Path) -> None:
    many = [*ORDINARY, *[LONG] * 9]
    assert published(tmp_path / "persons", many, {}, entity="person")["columns"][0]["height"] == 5
    assert published(tmp_path / "records", many, {})["columns"][0]["height"] == 18


@pytest.mark.parametrize("direction", ["left", "right"])
def test_the_policy_can_set_the_width(direction: str, tmp_path: Path) -> None:
    for number, rows in enumerate((ORDINARY, [*ORDINARY, *[LONG] * 9])):
        found = published(tmp_path / str(number), rows, {"width": 6, "direction": direction})
        assert {len(cell) for cell in found["cells"]} == {6}
        assert found["columns"][0]["height"] == 7
    assert found["cells"][-1] != LONG[0]


def test_another_threshold_with_another_width_needs_a_plan_of_its_own() -> None:
    quasi = {"role": "quasi_identifier", "hierarchy": {"redact": {}}}
    document = document_of({"zip": quasi}, k=5, table="t", undeclared="drop", suppression_limit=0.1)
    with duckdb.connect() as connection:
        text_table(connection, ["zip", "sex", "person"], [*ORDINARY, *[LONG] * 9])
        with sqlanon.plan(connection, document) as plan:
            assert plan.catalog.attributes[0].height == 18
            plan.with_privacy(sqlanon.KAnonymity(9))
            with pytest.raises(sqlanon.InputError, match="another width"):
                plan.with_privacy(sqlanon.KAnonymity(10))
