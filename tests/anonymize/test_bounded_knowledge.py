"""Bounded knowledge on random tables, alone and beside the other models: verdicts, bounds, optima and releases."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute
import brute_knowledge
import brute_models
import duckdb
import pytest
from command_line import sqlanon as sqlanon_command
from effort import Block, enough, seeds
from random_worlds import document, load, random_world
from solved_plans import plans_of
from tables import text_table
from whole_runs import compare

import sqlanon
from sqlanon.core.evaluate import known_sets, settling_sets
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.core.search.base import Verdict


def known_world(seed: int) -> brute_models.World:
    """A random world with bounded knowledge: alone, or beside some of its models."""
    world, rng = random_world(seed), random.Random(seed)
    bounded = [(None, {"type": "bounded_knowledge", "k": rng.choice([1, 2, 3, 5]), "at_most": rng.choice([1, 2, 3])})
               for _ in range(rng.choice([1, 1, 1, 2]))]  # fmt: skip
    if not world.sensitive and rng.random() < 0.5:
        world.models = bounded
        world.records = [(quasi, sensitive, True) for quasi, sensitive, _ in world.records]
    else:
        world.models += bounded
    return world


@seeds(120)
@pytest.mark.slow
def test_verdicts_optimum_release_and_bounds_equal_brute_force(block: Block) -> None:
    results = [compare(known_world(seed), seed, brute_knowledge.judge) for seed in block]
    solved = sum(found for found, _ in results)
    assert enough(solved > 0 and sum(bounds for _, bounds in results) > solved)


def counts_of(verdict: Verdict) -> Verdict:
    """A verdict without its losses, which are added up in another order."""
    lower_bounds = replace(verdict.lower_bounds, penalty=())
    return replace(verdict, loss=0, by_attribute=(), lower_bounds=lower_bounds)


@pytest.mark.slow
@seeds(40, 10)
def test_by_sql_the_verdicts_are_those_of_the_arrays(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    for seed in block:
        world, rng = known_world(seed), random.Random(seed)
        policy = document(world, rng)
        monkeypatch.setattr(settling_sets, "MOST_SETS", rng.choice([1, 2, 1000]))  # tables of few sets
        monkeypatch.setattr(known_sets, "DENSE", rng.choice([1, 4, 2**16]))  # classes known by their ranks
        monkeypatch.setattr(known_sets, "DENSE_A_ROW", rng.choice([0, 4]))
        monkeypatch.setattr(known_sets, "BLOCK", rng.choice([1, 50, 2**20]))
        monkeypatch.setattr(known_sets, "FEW", rng.choice([1, 16]))
        monkeypatch.setattr(known_sets, "KEPT_BYTES", rng.choice([0, 2**20]))
        for plan in plans_of(world, policy):
            levels = [plan.catalog.levels(node) for node in brute.nodes(world.trees)]
            by_sql = plan.with_policy(sqlanon.Policy.from_dict({**policy, "search": {"where": "engine"}}))
            assert by_sql.certificate.loss == pytest.approx(plan.certificate.loss, rel=1e-9, abs=1e-9), seed
            for one, other in zip(plan.evaluate_many(levels), by_sql.evaluate_many(levels), strict=True):
                assert counts_of(one) == counts_of(other), (seed, policy["privacy"])
                assert one.loss == pytest.approx(other.loss, rel=1e-9, abs=1e-9), seed
                compared += 1
    assert enough(compared > 0)


@pytest.mark.slow
@seeds(30, 10)
def test_certificates_hold(block: Block, tmp_path: Path) -> None:
    held = 0
    for seed in block:
        world = known_world(seed)
        policy = sqlanon.Policy.from_dict(document(world, random.Random(seed)))
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                plan = sqlanon.plan(connection, policy)
            except sqlanon.NoSolutionError:
                continue
            with plan:
                assert plan.proof_document is not None
                write_proof(plan.proof_document, tmp_path / "certificate.json")
            found = sqlanon.verify(tmp_path / "certificate.json", policy, connection)
            assert found.holds and found.optimal, (seed, found.faults)
            held += 1
    assert enough(held > 0)


PEOPLE = [("20", "10"), ("20", "11"), ("21", "10"), ("21", "11"), ("30", "12"), ("30", "12"), ("31", "10")]
"""Ages and areas: pairs of either are frequent, both together are rare."""


def policy_of(**changes: Any) -> dict[str, Any]:
    column = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    return {
        "table": "t",
        "columns": {"age": column, "area": column},
        "privacy": [{"type": "bounded_knowledge", "k": 2, "at_most": 1}],
        "suppression_limit": 0.5,
        **changes,
    }


@pytest.fixture
def people(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    text_table(connection, ["age", "area"], PEOPLE)
    return connection


def test_what_is_known_of_one_column_is_shared_and_of_both_need_not_be(people: duckdb.DuckDBPyConnection) -> None:
    """31 is alone; without it area 10 still holds two records, and nothing else falls."""
    with sqlanon.anonymize(people, policy_of()) as release:
        assert release.levels == {"age": 0, "area": 0} and release.ledger.suppressed == 1
        assert release.ledger.smallest_class == 1
        assert sorted(zip(*release.to_arrow().to_pydict().values(), strict=True)) == PEOPLE[:-1]


def test_what_falls_takes_others_along(people: duckdb.DuckDBPyConnection) -> None:
    """With three: ages 20 and 21 fall, then area 10; nobody is left at level 0."""
    privacy = [{"type": "bounded_knowledge", "k": 3, "at_most": 1}]
    with sqlanon.plan(people, policy_of(privacy=privacy, suppression_limit=1)) as plan:
        bottom = plan.evaluate({})
        assert (bottom.suppressed, bottom.classes, bottom.lower_bounds.suppressed) == (7, 0, 7)
        assert plan.evaluate({"age": 1}).suppressed == 4


def test_as_many_as_there_are_columns_is_k_anonymity(people: duckdb.DuckDBPyConnection) -> None:
    for at_most in (2, 3, 99):
        known = policy_of(privacy=[{"type": "bounded_knowledge", "k": 2, "at_most": at_most}])
        with sqlanon.plan(people, known) as plan, sqlanon.plan(people, policy_of(privacy=[K_ANONYMITY])) as other:
            assert plan.certificate.loss == other.certificate.loss and plan.levels == other.levels
            assert plan.ledger.suppressed == other.ledger.suppressed


K_ANONYMITY = {"type": "k_anonymity", "k": 2}


def test_a_planted_record_is_found_by_the_audit(
    people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that forgets one of the sets publishes a record that is alone on it, and the audit says so."""
    monkeypatch.setattr(settling_sets, "combinations", lambda attributes, size: [(1,)])
    monkeypatch.setattr(known_sets, "combinations", lambda attributes, size: [(1,)])
    with pytest.raises(sqlanon.AuditError, match="bounded_knowledge"):
        sqlanon.anonymize(people, policy_of(output={"table": "released"}))


def test_a_relation_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,area\n" + "".join(f"{age},{area}\n" for age, area in PEOPLE))
    done = sqlanon_command("check", path, "--qi", "age,area", "--bounded-knowledge", "k=2,at_most=1", "--json")
    [found] = json.loads(done.stdout)["models"]
    assert done.returncode == 1 and (found["failing_classes"], found["failing_records"]) == (1, 1)
    path.write_text("age,area\n" + "".join(f"{age},{area}\n" for age, area in PEOPLE[:-1]))
    assert sqlanon_command("check", path, "--qi", "age,area", "--bounded-knowledge", "k=2,at_most=1").returncode == 0
    assert sqlanon_command("check", path, "--qi", "age,area", "--bounded-knowledge", "k=2,at_most=2").returncode == 1
    assert sqlanon_command("check", path, "--qi", "age,area", "--bounded-knowledge", "k=2").returncode == 2


def test_a_check_by_entities_counts_persons_on_every_set(tmp_path: Path) -> None:
    """Two rows of one person are one."""
    path = tmp_path / "visits.csv"
    path.write_text("who,age,area\n1,20,10\n1,20,11\n2,21,10\n2,21,11\n")
    asked = ("check", path, "--qi", "age,area", "--bounded-knowledge", "k=2,at_most=1", "--json")
    assert sqlanon_command(*asked).returncode == 0
    done = sqlanon_command(*asked, "--entity", "who")
    assert done.returncode == 1 and json.loads(done.stdout)["models"][0]["failing_classes"] == 2


@pytest.mark.parametrize(
    "changes, key",
    [
        ({"entity": "who"}, "privacy[0].type"),
        ({"transformation": {"type": "patterns"}}, "privacy[0].type"),
        ({"transformation": {"type": "local_recoding"}}, "privacy[0].type"),
        ({"output": {"live_view": "v"}}, "privacy[0].type"),
        ({"privacy": [{"type": "bounded_knowledge", "k": 0, "at_most": 1}]}, "privacy[0].k"),
        ({"privacy": [{"type": "bounded_knowledge", "k": 2}]}, "privacy[0].at_most"),
        ({"privacy": [{"type": "bounded_knowledge", "k": 2, "at_most": 0}]}, "privacy[0].at_most"),
        ({"privacy": [{"type": "k_anonymity", "k": 5}, {"type": "bounded_knowledge", "k": 2, "at_most": 1}],
          "publish": {"age": {"as": ["class_mean"]}}}, "publish"),
    ],
)  # fmt: skip
def test_what_it_is_not_defined_for_is_a_fault_of_the_policy(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(sqlanon.PolicyError) as error:
        sqlanon.Policy.from_dict(policy_of(**changes))
    assert key in [fault.key for fault in error.value.faults]


def test_without_a_quasi_identifier_all_records_are_one_class() -> None:
    """A class that fails another model takes records from sets of no column."""
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT CASE WHEN i = 0 THEN 'y' ELSE 'x' END AS ill FROM range(9) s(i)")
        keys = {
            "table": "t",
            "columns": {"ill": {"role": "sensitive", "models": [{"type": "recursive_l_diversity", "l": 2, "c": 1.1}]}},
            "accept": ["ill"],
            "privacy": [{"type": "k_anonymity", "k": 2}, {"type": "bounded_knowledge", "k": 3, "at_most": 3}],
        }
        with pytest.raises(sqlanon.NoSolutionError):
            sqlanon.plan(database, keys)
