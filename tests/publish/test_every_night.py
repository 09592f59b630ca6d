"""What releases every night sustain: theorems against a simulation (``benchmarks/every_night.py``), and a forecast."""

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import numpy as np
import pytest
from command_line import sqlanon as command

import sqlanon
from sqlanon.ledger.sustained import Rates, cohorts_of_newcomers, held_share, sustain, true_rows

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from every_night import Run, Strategy, Table, World, chain_of, cheapest_path, invented, strategies


def equal_classes(size: int, classes: int, days: int, rates: tuple[float, float, float], seed: int = 3) -> World:
    """A world of classes of one size."""
    groups = np.array([np.arange(classes), np.zeros(classes, int)]).T
    table = Table("equal", np.repeat(np.arange(classes), size)[:, None], (groups,))
    return World.draw(table, days, seed, rates)


def simulate(world: World, strategy: Strategy) -> Run:
    run = Run(world, strategy, [(0,)])
    run.go()
    return run


def test_a_cohort_shows_all_but_k_minus_1_of_its_days() -> None:
    """Of m the last k - 1 are withdrawn, so the rows that are true sum to (m - k + 1) lives; and some are held."""
    for size, k in ((5, 5), (10, 5), (25, 5), (30, 10)):
        shown = true_rows(size, k, 0.002, 8_000).sum() * 0.002
        assert shown == pytest.approx(size - k + 1, rel=0.02)
    assert held_share(5, 5) == 0
    assert held_share(6, 5) == pytest.approx((1 / 5) / (1 / 5 + 2))


def test_waiting_is_that_of_a_gamma_distribution_where_nobody_leaves() -> None:
    """Of b who come together, the one before j others waits as long as j arrivals take."""
    mean, needed = 0.2, 7

    def at_least(number: int, expected: float) -> float:
        return 1 - sum(math.exp(-expected) * expected**i / math.factorial(i) for i in range(number))

    *_, seen = cohorts_of_newcomers(mean, needed, 0.0, 0)
    for nights in (7, 20, 30):
        exact = sum(at_least(j, mean * (nights - 0.5)) for j in range(needed)) / needed
        assert seen[nights - 1] == pytest.approx(exact, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("size, margin", [(20, 5), (60, 0), (60, 5), (200, 5), (200, 20), (1_000, 5)])
def test_the_forecast_is_what_the_simulation_shows(size: int, margin: int) -> None:
    classes = max(10, 40_000 // size)
    world = equal_classes(size, classes, 250, (0.01, 0.01, 0.002))
    run = simulate(world, Strategy("cohorts", 5, margin=margin, mixed=True))
    found = sustain([{size: classes}], 5, margin, Rates(0.01, 0.01, 0.002), 250)
    true, alive = (np.array(run.measured[name][1:]) for name in ("true", "alive"))
    assert found.true.sum() / found.present.sum() == pytest.approx(true.sum() / alive.sum(), abs=0.015)
    assert found.true[-1] / found.present[-1] == pytest.approx(true[-1] / alive[-1], abs=0.02)
    for nights in (7, 30):  # cohorts of few newcomers are one event each: the error is of cohorts, not of records
        came = 0.01 * size * classes * 150 / (5 + margin)
        assert found.seen[nights - 1] == pytest.approx(run.within(nights, since=100), abs=3 * 0.5 / math.sqrt(came))


@pytest.mark.slow
@pytest.mark.parametrize("start, margin, turn", [(4, 5, 7), (2, 20, 7)])
def test_newcomers_in_turns_at_a_chain_of_nodes_are_forecast(start: int, margin: int, turn: int) -> None:
    """Those who wait are taken to be in the classes of coarser nodes by their sizes, which promises a little much."""
    table = invented(20_000)
    chain = chain_of(cheapest_path(table), start, 4)
    strategy = Strategy("cohorts", 5, margin=margin, coarser=turn, join=turn, turns=True)
    run = Run(World.draw(table, 200, 4, (0.01, 0.01, 0.002)), strategy, chain)
    run.go()
    sizes = [Counter(np.bincount(table.node(table.rows, levels)[0]).tolist()) for levels in chain]
    found = sustain(sizes, 5, margin, Rates(0.01, 0.01, 0.002), 200, turn)
    true, alive = (np.array(run.measured[name][1:]) for name in ("true", "alive"))
    assert found.true.sum() / found.present.sum() == pytest.approx(true.sum() / alive.sum(), abs=0.03)
    assert found.true[-30:].sum() / found.present[-30:].sum() == pytest.approx(
        true[-30:].sum() / alive[-30:].sum(), abs=0.05
    )
    for nights in (2, 7, 30):
        assert found.seen[nights - 1] == pytest.approx(run.within(nights, since=30), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ledger", "hide"])
def test_what_shows_nothing_untrue_shows_one_day_in_k(kind: str) -> None:
    """Where one of a group leaves a night. With k or more a night it costs nothing, until the group has shrunk."""
    k, size = 3, 14
    run = simulate(equal_classes(size, 120, 2_500, (0.0, 0.002, 0.0)), Strategy(kind, k))
    true, alive = (np.array(run.measured[name]) for name in ("true", "alive"))
    assert run.smallest() >= k
    assert true.sum() / alive.sum() == pytest.approx((size // k) / size, abs=0.03)
    many = simulate(equal_classes(4_000, 3, 40, (0.0, 0.01, 0.0)), Strategy(kind, k))
    assert many.measured["true"] == many.measured["alive"]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [one for one in strategies(5) if one.promises], ids=str)
def test_no_history_is_of_fewer_than_k(strategy: Strategy) -> None:
    """Counted from the states that were shown, night by night, and not from what decided."""
    table = invented(6_000)
    path = cheapest_path(table)
    run = Run(World.draw(table, 60, 2), strategy, chain_of(path, 3, strategy.steps if strategy.coarser else 0))
    states: list[Any] = []
    note = run._note

    def keep(alive: Any, day: int) -> None:
        note(alive, day)
        rows = np.flatnonzero(run.shown).tolist()
        states.append(
            {r: (int(run.position[r]), int(run.classes[run.position[r]][r]), int(run.version[r])) for r in rows}
        )

    run._note = keep  # type: ignore[method-assign]
    run.go()
    histories: dict[Any, int] = {}
    for record in {record for state in states for record in state}:
        own = tuple(state.get(record) for state in states)
        histories[own] = histories.get(own, 0) + 1
    assert min(histories.values()) == run.smallest() >= 5


def test_replacement_without_memory_singles_out() -> None:
    run = simulate(equal_classes(40, 30, 20, (0.01, 0.01, 0.0)), Strategy("replace", 5))
    assert run.smallest() < 5


@pytest.mark.slow
def test_the_command_counts_the_classes_of_the_source(tmp_path: Path) -> None:
    policy = worlds.document(tmp_path)
    worlds.prepare(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    done = command("ledger", "forecast", tmp_path / "policy.json", "--days", "50", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["frozen"], found["measured"], found["arrivals"], found["departures"]) == (False, None, 0.01, 0.01)
    with sqlanon.plan(None, {name: own for name, own in policy.items() if name != "ledger"}) as plan:
        sizes = [*plan.class_sizes(), *plan.class_sizes(published=False)]
        assert found["levels"] == plan.levels
    assert found["classes"] == sum(row[2] for row in sizes)
    assert found["counted"] == sum(row[3] for row in sizes)
    assert [item["margin"] for item in found["margins"]] == [0, 2, 5, 10, 20, 50]
    shares = [item["within_7"] for item in found["margins"]]
    assert shares == sorted(shares, reverse=True)
    assert "most true days: margin" in command("ledger", "forecast", tmp_path / "policy.json").stdout


@pytest.mark.slow
def test_rates_are_measured_from_the_releases(tmp_path: Path) -> None:
    """Of a ledger with two releases, whose levels stay: the rates are of the persons that both show."""
    ledger = worlds.prepare(tmp_path)
    documents = [worlds.document(tmp_path, output={"file": str(tmp_path / "out" / f"{n}.parquet")}) for n in "ab"]
    for document in documents:
        sqlanon.anonymize(None, document).close()
    (tmp_path / "policy.json").write_text(json.dumps(documents[0]))
    found = json.loads(command("ledger", "forecast", tmp_path / "policy.json", "--json").stdout)
    assert found["frozen"] is True
    assert (found["measured"]["releases"], found["measured"]["arrivals"], found["measured"]["departures"]) == (2, 0, 0)
    with duckdb.connect(str(ledger), read_only=True) as connection:
        [(persons,)] = connection.execute("SELECT COUNT(*) FROM members WHERE number = 1").fetchall()
    assert found["measured"]["persons_first"] == found["measured"]["persons_last"] == persons


def test_rates_are_shares(tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_dict(worlds.document(tmp_path))
    from sqlanon.ledger.forecast import forecast

    with pytest.raises(sqlanon.InputError, match="share of the records"):
        forecast(policy, (2.0, None, 0.0), 30)


def test_a_cohort_whose_records_are_surely_gone_shows_none() -> None:
    found = true_rows(30, 5, 0.99, 400)
    assert found[0] == 30 and found[-1] == 0 and (found >= 0).all(), "no chance that underflows is a number no more"
