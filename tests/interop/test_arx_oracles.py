"""Problems of the oracles, written as ARX would save them: the imported policy has the optimum that ARX reports."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import arx_projects as arx
import pytest
import yaml
from arx_projects import Attribute, Project
from cases import WITHOUT_COLUMN, faults, lines

import sqlanon
from sqlanon.interop.anon.convert import convert

MEASURES = {
    "loss": ("Loss (0.5/1.0/1.0)", "MetricMDNMLoss"),
    "non_uniform_entropy": ("Non-monotonic non-uniform entropy", "MetricMDNUNMEntropyPrecomputed"),
    "precision": ("Non-monotonic precision", "MetricMDNMPrecision"),
    "discernibility": ("Non-monotonic discernability", "MetricSDNMDiscernability"),
    "average_class_size": ("Average equivalence class size", "MetricSDAECS"),
    "height": ("Height", "MetricMDHeight"),
}
CHOSEN = [
    ("loss", "geometric_mean", "k_anonymity", 0.05),
    ("loss", "maximum", "k_anonymity", 0.05),
    ("loss", "arithmetic_mean", "entropy_l_diversity", 0.05),
    ("loss", "arithmetic_mean", "distinct_l_diversity", 0.0),
    ("non_uniform_entropy", "sum", "t_closeness", 0.05),
    ("non_uniform_entropy", "sum", "delta_presence", 0.05),
    ("precision", "arithmetic_mean", "recursive_l_diversity", 0.05),
    ("discernibility", None, "k_anonymity", 1.0),
    ("average_class_size", None, "delta_presence", 0.05),
    ("height", None, "k_anonymity", 0.05),
]
"""Measure, aggregate, first model and limit of a line of the oracles."""


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=";"))


def criterion(model: dict[str, Any], column: str) -> tuple[str, Any]:
    made = {
        "k_anonymity": lambda k: arx.k_anonymity(k),
        "distinct_l_diversity": lambda l: arx.distinct(column, l),
        "entropy_l_diversity": lambda l: arx.entropy(column, l),
        "recursive_l_diversity": lambda l, c: arx.recursive(column, c, l),
        "t_closeness": lambda t, distance="equal": arx.closeness(column, t, distance),
        "delta_presence": lambda min, max, public_only: arx.presence(float(min), float(max)),
    }
    return made[model["type"]](**{key: value for key, value in model.items() if key != "type"})


def project_of(data: Path, case: dict[str, Any]) -> Project:
    """Return the project of a line of the oracles, on ADULT."""
    header, *records = rows(data / "adult.csv")
    watched = any(model["type"] not in (*WITHOUT_COLUMN, "delta_presence") for model in case["models"])
    attributes = {}
    for index, name in enumerate(header):
        path = data / f"adult_hierarchy_{name}.csv"
        values = sorted({row[index] for row in records})
        hierarchy = rows(path) if path.exists() else [[value, "*"] for value in values]
        sensitive = watched and name == case["sensitive"]
        kind = arx.QUASI if name in case["quasi_identifiers"] else arx.SENSITIVE if sensitive else arx.IDENTIFYING
        attributes[name] = Attribute(kind, None if kind == arx.IDENTIFYING else hierarchy)
    aggregate = (case["aggregate"] or "sum").upper() if case["measure"] not in ("discernibility",) else None
    return Project(
        attributes,
        records,
        [criterion(model, case["sensitive"]) for model in case["models"]],
        arx.measure(*MEASURES[case["measure"]], aggregate, 0.5),
        limit=case["suppression_limit"],
        subset=subset_of(data, records) if any(m["type"] == "delta_presence" for m in case["models"]) else None,
    )


def subset_of(data: Path, records: list[list[str]]) -> list[int]:
    """Return the numbers of the records that the file of the subset holds, each once."""
    places = defaultdict(list)
    for number, record in enumerate(records):
        places[tuple(record)].append(number)
    return sorted(places[tuple(record)].pop() for record in rows(data / "adult_subset.csv")[1:])


@pytest.mark.slow
@pytest.mark.parametrize("wanted", CHOSEN, ids=lambda wanted: "-".join(map(str, wanted)))
@pytest.mark.few(5)
def test_the_imported_policy_has_the_optimum_of_arx(shared: Path, tmp_path: Path, wanted: tuple[Any, ...]) -> None:
    measure, aggregate, kind, limit = wanted
    case = next(
        case
        for case in lines(shared / "oracles", "adult")
        if (case["measure"], case["aggregate"], case["suppression_limit"]) == (measure, aggregate, limit)
        and case["models"][-1]["type"] == kind
        and not (kind != "k_anonymity" and len(case["models"]) > 2)
        and all(model.get("public_only", "reject") == "reject" for model in case["models"])
    )
    project = project_of(shared / "data" / "adult", case)
    notes = convert(project.write(tmp_path / "p.deid"), tmp_path / "p.yaml", data=True)
    assert not [note for note in notes if note.startswith(("Not protected", "Not expressed"))]
    document = yaml.safe_load((tmp_path / "p.yaml").read_text())
    with sqlanon.plan(None, sqlanon.Policy.from_dict(document, base_directory=tmp_path)) as plan:
        assert not list(faults(plan, case))
