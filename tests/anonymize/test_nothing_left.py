"""A column of which a release keeps nothing is said so, with a node that keeps something of it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from click.testing import CliRunner

import sqlanon
from sqlanon.cli import main

POLICY = {
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
        "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "land": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
    },
    "privacy": [{"type": "k_anonymity", "k": 4}],
}


def policy(folder: Path, rows: list[str], **keys: object) -> Path:
    """A policy over a CSV file with these rows."""
    (folder / "t.csv").write_text("zip,sex,land\n" + "".join(f"{row}\n" for row in rows))
    path = folder / "policy.json"
    path.write_text(json.dumps({**POLICY, "source": "t.csv", **keys}))
    return path


def test_what_a_lost_column_costs_to_keep_is_that_of_a_node_that_meets_the_policy(tmp_path: Path) -> None:
    rows = [f"{zip},{'mf'[i % 2]},de" for zip in ("11", "12", "21") for i in range(4)] + ["22,m,de", "22,f,de"]
    path = policy(tmp_path, rows)
    with sqlanon.plan(None, sqlanon.Policy.from_file(path)) as plan:
        assert plan.nothing_left  # a constant column has lost nothing: it was one value before
        heights = [attribute.height for attribute in plan.catalog.attributes]
        names = [attribute.name for attribute in plan.catalog.attributes]
        for name in plan.nothing_left:
            nodes = [dict(zip(names, levels, strict=True)) for levels in product(*map(range, heights))]
            verdicts = plan.evaluate_many([node for node in nodes if node[name] < heights[names.index(name)] - 1])
            best = min(verdict.loss for verdict in verdicts if verdict.feasible)
            kept = plan.cost_to_keep(name)
            assert kept is not None and kept.node[names.index(name)] < heights[names.index(name)] - 1
            assert kept.loss >= best - 1e-12 and (kept.feasible or kept.suppressed > 0)
        evaluated = plan.search.evaluated
    result = CliRunner().invoke(main, ["run", str(path), "--json"])
    document = json.loads(result.stdout)
    assert [entry["column"] for entry in document["nothing_left"]] == list(plan.nothing_left)
    assert document["evaluated"] == evaluated and document["optimal"]


def test_the_terminal_says_what_is_left_of_nothing(tmp_path: Path) -> None:
    path = policy(tmp_path, [f"{zip},{sex},de" for zip in ("11", "12") for sex in "mf" for _ in range(3)])
    result = CliRunner().invoke(main, ["run", str(path)])
    assert result.exit_code == 0, result.stderr
    [line] = [line for line in result.stdout.splitlines() if "nothing of it is left" in line]
    assert line.split(":")[0].strip() in ("zip", "sex") and "more at most" in line
    assert "land: nothing" not in result.stdout


def test_what_stands_in_the_way_of_a_column_is_counted(tmp_path: Path) -> None:
    path = policy(tmp_path, [f"{zip}1,{sex},de" for zip in "123456789" for sex in "mf"])
    document = json.loads(CliRunner().invoke(main, ["run", str(path), "--json"]).stdout)
    [entry] = [entry for entry in document["nothing_left"] if entry["column"] == "zip"]
    assert entry["keeping"]["feasible"] is False
    assert (entry["keeping"]["suppressed"], entry["keeping"]["allowed"]) == (18, 0)
    printed = CliRunner().invoke(main, ["run", str(path)]).stdout
    assert "18 records would be suppressed, and 0 may be" in printed


def test_patterns_that_keep_nothing_of_a_column_say_so_without_a_cost(tmp_path: Path) -> None:
    rows = [f"{i}1,{'mf'[i % 2]},de" for i in range(8)]
    path = policy(tmp_path, rows, transformation={"type": "patterns"})
    result = CliRunner().invoke(main, ["run", str(path)])
    assert "zip: nothing of it is left\n" in result.stdout
