"""Limits and interrupts end the choice of nodes, never what follows: what was found by then is published."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from effort import fast_of
from tables import text_table

import sqlanon
from sqlanon.core.engines.journal import Step
from sqlanon.core.policy import SearchOptions
from sqlanon.recoding.local import node_plan, trials
from sqlanon.recoding.local.trials import Trials

SINGLE = "One node is published"


@pytest.fixture
def connection() -> Any:
    """A table of 400 records and three columns of numbers."""
    rng = random.Random(5)
    rows = [tuple(str(int(8 * rng.random() ** 2)) for _ in range(3)) for _ in range(400)]
    with duckdb.connect() as own:
        text_table(own, [*"abc"], rows)
        yield own


def policy_of(search: dict[str, Any] | None = None, **changes: Any) -> sqlanon.Policy:
    levels = {str(v): [f"{v // 2}x", f"{v // 4}y", "*"] for v in range(8)}
    columns = {title: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for title in "abc"}
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 3}]}
    document |= {"suppression_limit": 0.05, "transformation": {"type": "local_recoding", "nodes": 6, "seed": 1}}
    return sqlanon.Policy.from_dict(document | ({"search": search} if search else {}) | changes)


def after_call(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, action: Callable[[Any], object]) -> None:
    """Let something happen with what a function returns."""
    function = getattr(where, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        found = function(*arguments, **named)
        action(found)
        return found

    monkeypatch.setattr(where, name, wrapped)


def published(connection: duckdb.DuckDBPyConnection, policy: sqlanon.Policy, folder: Path) -> sqlanon.Release:
    """Publish, with all audits."""
    target = sqlanon.Policy.from_dict(policy.to_dict() | {"output": {"file": str(folder / "r.parquet")}})
    release = sqlanon.anonymize(connection, target)
    assert (folder / "r.parquet").exists()
    return release


def test_choosing_that_takes_all_the_time_leaves_what_publication_needs(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = trials.choose

    def slow(*arguments: Any, limits: SearchOptions, **named: Any) -> Any:
        found = choose(*arguments, **named)
        time.sleep(limits.time_limit or 0)
        return found

    monkeypatch.setattr(trials, "choose", slow)
    with published(connection, policy_of({"time_limit": 1}), tmp_path) as release:
        assert len(release.plan.rules) > 1 and release.plan.hold == 0.1


def test_a_limit_that_ends_the_choice_at_once_publishes_the_single_node(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_plan, "CHOOSING_SECONDS", 0.0)
    with published(connection, policy_of(), tmp_path) as release:
        assert len(release.plan.rules) == 1 and release.plan.candidates == 0
        assert any(SINGLE in text for text in release.warnings)
        assert any("was stopped (time limit)" in text for text in release.warnings)


def test_the_first_single_node_may_take_the_whole_limit(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_plan, "SINGLE_SHARE", 1e-9)
    with sqlanon.recode(connection, policy_of({"time_limit": 60})) as plan:
        assert len(plan.rules) > 1


def test_choosing_has_a_limit_of_its_own_where_the_policy_sets_none() -> None:
    now = time.monotonic()
    usual = node_plan._deadline(SearchOptions(), 7)
    assert usual is not None and 0 <= usual - now - node_plan.CHOOSING_SECONDS < 10
    assert node_plan._deadline(SearchOptions(max_evaluations=5), 7) is None
    own = node_plan._deadline(SearchOptions(time_limit=60), 7)
    assert own is not None and 43 < own - now < 63


def test_an_interrupt_between_choices_publishes_the_single_node_only_when_asked_to(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, calls = Trials.fitted, []

    def interrupting(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return fitted(*arguments, **named)

    monkeypatch.setattr(Trials, "fitted", interrupting)
    with pytest.raises(KeyboardInterrupt):
        sqlanon.recode(connection, policy_of())
    calls.clear()
    with sqlanon.recode(connection, policy_of({"on_interrupt": "publish"})) as plan:
        assert len(plan.rules) == 1 and "was stopped (interrupted)" in " ".join(plan.warnings)


def test_an_interrupt_of_the_search_for_the_single_node_ends_the_choice_too(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_call(monkeypatch, node_plan, "search_plan", lambda plan: setattr(plan.search, "stopped", "interrupt"))
    with sqlanon.recode(connection, policy_of({"on_interrupt": "publish"})) as plan:
        assert (len(plan.rules), plan.candidates) == (1, 0)


@pytest.mark.parametrize("diverse", fast_of([True, False], False))
def test_larger_classes_are_tried_when_no_draw_of_a_size_is_allowed(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, diverse: bool
) -> None:
    fitted, suppressed, held = Trials.fitted, Trials.suppressed, []

    def noted(self: Trials, nodes: Any, size: int, starts: Any = None, **named: Any) -> Any:
        held.extend([(size, starts.attempt)] if starts else [])
        return fitted(self, nodes, size, starts, **named)

    def too_many(self: Trials, recoding: Any) -> int:
        return suppressed(self, recoding) + (10_000 if held and held[-1][0] == held[0][0] else 0)

    monkeypatch.setattr(Trials, "fitted", noted)
    monkeypatch.setattr(Trials, "suppressed", too_many)
    nodes = {"transformation": {"type": "local_recoding", "nodes": [{}, {"a": 3, "b": 3, "c": 3}], "seed": 1}}
    document = policy_of(**nodes).to_dict()
    if not diverse:
        with pytest.raises(sqlanon.NoSolutionError):
            sqlanon.recode(connection, document)
        assert held == [(3, attempt) for attempt in range(4)]
        return
    document["columns"]["c"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    del document["transformation"]["nodes"][1]["c"]
    with sqlanon.recode(connection, document) as plan:
        assert [attempt for _, attempt in held] == [0, 1, 2, 3, 4]
        assert plan.size == held[-1][0] > held[0][0] and plan.hold


@pytest.mark.slow
def test_watchers_see_how_many_nodes_are_chosen_of_how_many(connection: duckdb.DuckDBPyConnection) -> None:
    seen: list[Step] = []
    with sqlanon.recode(connection, policy_of(), watch=seen.append) as plan:
        assert plan.candidates
    units = [step.unit for step in seen if step.phase == "inserting nodes" and not step.statement]
    chosen = [int(unit.partition("(")[2].split(" ")[0]) for unit in units]
    assert chosen[0] == 1 and max(chosen) > 2 and all(unit.endswith("of 6 nodes chosen)") for unit in units)
