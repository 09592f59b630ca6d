"""Whoever watches a run sees which phase it is in, which statement has begun, and how much is done."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

import sqlanon
from sqlanon.commands import demo_world
from sqlanon.core.engines.journal import Step
from sqlanon.core.progress import line
from sqlanon.core.publish.papers import CERTIFICATE
from sqlanon.core.verifying import NODES_AT_ONCE
from sqlanon.recoding.local import insertion

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small demo."""
    demo_world.generate(tmp_path / "demo", records=1_000)
    return tmp_path / "demo"


def watched(folder: Path, **keys: Any) -> list[Step]:
    """What is seen of a run of the demo's policy with other keys."""
    document = yaml.safe_load((folder / "policy.yaml").read_text()) | keys
    seen: list[Step] = []
    policy = sqlanon.Policy.from_dict(document, base_directory=folder)
    sqlanon.anonymize(None, policy, watch=seen.append).close()
    return seen


def phases(steps: list[Step]) -> list[str]:
    """The phases in their order, each once in a row."""
    return [
        step.phase
        for step, before in zip(steps, [None, *steps], strict=False)
        if before is None or step.phase != before.phase
    ]


@pytest.mark.parametrize("output", [{"file": "r.parquet"}, {"file": "r.duckdb"}, {"view": "r"}])
def test_a_run_names_its_phases_in_their_order(folder: Path, output: dict[str, str]) -> None:
    steps = watched(folder, output=output)
    assert phases(steps)[:5] == ["reading", "encoding", "searching", "publishing", "auditing"]
    assert set(phases(steps)) == {"reading", "encoding", "searching", "publishing", "auditing"}
    for phase, statement in (("publishing", "write"), ("auditing", "count written rows")):
        assert statement in {step.statement for step in steps if step.phase == phase}
    assert not [step for step in steps if step.statement == "write" and step.phase == "searching"]
    done = [step.done for step in steps if step.phase == "searching"]
    assert done == sorted(done) and done[-1] > 10
    last = [step for step in steps if step.phase == "searching"][-1]
    assert last.loss is not None and last.lower_bound is not None and last.lower_bound <= last.loss


def test_patterns_and_local_recoding_name_what_they_do(folder: Path) -> None:
    patterns = watched(folder, transformation={"type": "patterns", "at_most": 3, "outliers": True}, suppression_limit=1)
    assert phases(patterns)[:4] == ["reading", "encoding", "trying patterns", "publishing"]
    tried = [step for step in patterns if step.phase == "trying patterns" and step.total]
    assert tried and all(step.done <= step.total for step in tried if step.total)
    recoded = watched(folder, transformation={"type": "local_recoding", "nodes": 4, "seed": 1})
    assert phases(recoded)[:7] == [
        "reading",
        "encoding",
        "searching",
        "inserting nodes",
        "assigning records",
        "proving a bound",
        "publishing",
    ]
    inserted = [step for step in recoded if step.phase == "inserting nodes" and not step.statement]
    losses = [step.loss for step in inserted if step.loss is not None]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    assert len(inserted) * insertion.AT_ONCE >= inserted[-1].done > 0


def test_nobody_is_called_when_a_run_has_ended(folder: Path) -> None:
    seen: list[Step] = []
    policy = sqlanon.Policy.from_file(folder / "policy.yaml")
    with sqlanon.plan(None, policy, watch=seen.append) as plan:
        before = len(seen)
        plan.evaluate({})
        assert len(seen) == before


def test_a_verification_says_how_many_nodes_it_has_judged(folder: Path) -> None:
    watched(folder)
    seen: list[Step] = []
    found = sqlanon.verify(folder / f"released.parquet{CERTIFICATE}", folder / "policy.yaml", watch=seen.append)
    searched = ["reading", "encoding", "searching"]  # a recipient's certificate holds no proof, so one is searched for
    assert found.holds and phases(seen) == [*searched, "reading", "encoding", "judging"]
    judged = [(step.done, step.total) for step in seen if step.phase == "judging" and not step.statement]
    assert judged[0] == (1, found.nodes) and judged[-1] == (found.nodes, found.nodes)
    assert judged == sorted(set(judged)) and len(judged) <= 1 + math.ceil(found.nodes / NODES_AT_ONCE)


def test_a_large_demo_is_generated_in_parts_that_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_world, "discharge_batches", partial(demo_world.discharge_batches, batch=1_000))
    seen: list[Step] = []
    demo_world.generate(tmp_path / "demo", records=2_500, watch=seen.append)
    assert [(step.phase, step.done, step.total) for step in seen] == [
        ("generating", done, 2_500) for done in (0, 1_000, 2_000, 2_500)
    ]
    with duckdb.connect(tmp_path / "demo" / "hospital.duckdb") as database:
        counts = database.execute("SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM discharges").fetchall()
    assert counts == [(2_500, 2_500)]


def test_the_line_of_a_terminal_never_says_more_than_is_known() -> None:
    assert line(Step("publishing", "write")) == "publishing (write)"
    assert line(Step("generating", total=5, unit="records")) == "generating: 0 of 5 records"
    assert line(Step("searching", done=7, unit="nodes judged", loss=0.5)) == "searching: 7 nodes judged, loss 0.5000"
