"""Entities: models, limits, bounds and audits count distinct persons; a brute force and seeded mistakes hold them to it.

``SQLANON_TABLES=3000 python -m pytest tests/test_entities.py`` looks at more tables than the default.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import brute
import brute_entities
import brute_models
import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sqlglot import exp
from test_models import document, hierarchy, ordered_models, random_models
from test_against_brute_force import random_tree

import sqlanon
from sqlanon import names
from sqlanon.audit.check import check_relation
from sqlanon.cli import main
from sqlanon.compiler import distinct_entities
from sqlanon.compiler.trees import column, named, table, total
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.errors import (
    AuditError,
    InputError,
    NoSolutionError,
    PolicyError,
    SearchStoppedError,
    SourceError,
    UnsupportedError,
)
from sqlanon.lattice import leq
from sqlanon.models.k_anonymity import KAnonymity
from sqlanon.policy import Output
from sqlanon.report.proof_file import write_proof

TABLES = int(os.environ.get("SQLANON_TABLES", "80"))
BLOCKS = 8
STRATEGIES = ("best_first", "flash", "flash_two_phase", "ola", "incognito")
VALUES: list[brute.Text] = [None, "", "NULL", "flu", "cold", "é", "*"]
NAMES = ("person", "n", "order", 'a"b', "entity", "key_0", "x; DROP TABLE t")


def random_owned(seed: int) -> brute_entities.Owned:
    """A table whose persons have one to five records each, some of them alike."""
    rng = random.Random(seed)
    m, s = rng.randint(1, 3), rng.choice([0, 0, 1, 1, 2])
    pools = [rng.sample(VALUES, rng.randint(1, 4)) for _ in range(m)]
    values = [rng.sample(VALUES, rng.randint(1, 4)) for _ in range(s)]
    subset = rng.random() < 0.3
    records: list[brute_models.Record] = []
    persons: list[Any] = []
    for person in range(rng.choice([1, 4, 12, 25])):
        own = tuple(rng.choice(pool) for pool in pools)
        for _ in range(rng.choice([1, 1, 2, 3, 5])):
            quasi = own if rng.random() < 0.6 else tuple(rng.choice(pool) for pool in pools)
            member = not subset or rng.random() < 0.5
            records.append((tuple(list(quasi)), tuple(rng.choice(pool) for pool in values), member))
            persons.append(person)
    trees = [random_tree(rng, pool, rng.choice(["error", "error", "top"])) for pool in pools]
    sensitive = [random_tree(rng, pool, "error") if rng.random() < 0.6 else None for pool in values]
    models = random_models(rng, sensitive, subset)
    if not subset and rng.random() < 0.4:  # what is monotone has the sharpest bounds
        models = [(None, {"type": "k_anonymity", "k": rng.choice([1, 2, 3, 4])})]
        models += [(column, {"type": "distinct_l_diversity", "l": 2}) for column in range(s)]
    world = brute_models.World(records, trees, sensitive, models, rng.choice(["extended", "basic"]))
    return brute_entities.Owned(world, persons)


def load(connection: duckdb.DuckDBPyConnection, owned: brute_entities.Owned, entity: str, seed: int) -> None:
    """The records in random order; persons as numbers, or as texts that look like none."""
    world, chance = owned.world, random.Random(seed)
    order = chance.sample(range(len(world.records)), len(world.records))
    records = [world.records[i] for i in order]
    odd = ["", "NULL", "*", " ", "null"]
    persons: list[Any] = [owned.persons[i] for i in order]
    kind = chance.choice([pa.int64(), pa.float64(), pa.string()])
    if kind == pa.string():
        persons = [odd[p] if p < len(odd) else f"p{p}" for p in persons]
    columns = {f"q{i}": pa.array([r[0][i] for r in records], pa.string()) for i in range(len(world.trees))}
    columns |= {f"s{i}": pa.array([r[1][i] for r in records], pa.string()) for i in range(len(world.sensitive))}
    columns |= {"member": pa.array([r[2] for r in records], pa.bool_()), entity: pa.array(persons, kind)}
    connection.register("arrow_rows", pa.table(columns))
    connection.execute("CREATE TABLE t AS SELECT * FROM arrow_rows")


def compare(seed: int) -> tuple[bool, int]:
    """Hold everything about one random table against the brute force; whether it has a solution, and bounds compared."""
    owned, rng = random_owned(seed), random.Random(seed)
    world, entity = owned.world, rng.choice(NAMES)
    keys = document(world, rng) | {"entity": entity}
    measure, aggregate = keys["quality"]["measure"], keys["quality"]["aggregate"]
    weights = [c["weight"] for c in keys["columns"].values() if c["role"] == "quasi_identifier"]
    population = len(owned.people(world.members))
    allowed = math.floor(keys["suppression_limit"] * population + 1e-9)
    answers = {node: brute_entities.judge(owned, node) for node in brute.nodes(world.trees)} if population else {}
    losses = {n: brute_models.loss(world, n, a.plain, measure, aggregate, weights) for n, a in answers.items()}
    feasible = [n for n, a in answers.items() if a.plain.candidate and a.plain.classes and a.suppressed <= allowed]
    context = (seed, keys)
    with duckdb.connect() as connection:
        load(connection, owned, entity, seed)
        if not feasible:
            with pytest.raises(NoSolutionError):
                sqlanon.plan(connection, sqlanon.Policy.from_dict(keys))
            return False, 0
        best = min(losses[n] for n in feasible)
        with sqlanon.anonymize(connection, sqlanon.Policy.from_dict(keys)) as release:
            plan = release.plan
            assert isinstance(plan, sqlanon.Plan)
            assert plan.certificate.optimal, context
            assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), context
            for strategy in ("exhaustive", rng.choice(STRATEGIES)):
                check_strategy(plan, keys, strategy, best, context)
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in answers])
            for (node, answer), verdict in zip(answers.items(), verdicts, strict=True):
                plain = answer.plain
                assert (verdict.suppressed, verdict.classes) == (plain.suppressed, plain.classes), (context, node)
                assert (verdict.suppressed_entities, verdict.smallest_entities) == (
                    answer.suppressed, answer.smallest,
                ), (context, node)  # fmt: skip
                assert verdict.smallest == plain.smallest, (context, node)
                assert [count for _, count in verdict.by_model] == [
                    plain.by_model[i] for i in ordered_models(world)
                ], (context, node)
                assert verdict.feasible is (node in feasible), (context, node)
                if plain.classes:
                    assert verdict.loss == pytest.approx(losses[node], rel=1e-9, abs=1e-9), (context, node)
            compared = check_bounds(plan, verdicts, answers, feasible, losses, context)
            check_ledger(plan, owned, answers[plan.node])
            if seed % 3 == 0:
                check_proof(plan, keys, connection, context)
            released = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
            assert released == answers[plan.node].plain.released, context
    return True, compared


def check_strategy(plan: sqlanon.Plan, keys: dict[str, Any], strategy: str, best: float, context: object) -> None:
    """What a strategy calls optimal is."""
    policy = sqlanon.Policy.from_dict({**keys, "search": {"strategy": strategy}})
    try:
        certificate = plan.with_policy(policy).certificate
    except SearchStoppedError:
        assert strategy in ("flash", "ola", "incognito"), (context, strategy)
        return
    lower = certificate.lower_bound
    assert lower is None or lower <= best + 1e-9 * max(1.0, best), (context, strategy)
    if certificate.optimal or strategy in ("exhaustive", "best_first", "flash_two_phase"):
        assert certificate.optimal, (context, strategy)
        assert certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), (context, strategy)


def check_bounds(plan, verdicts, answers, feasible, losses, context) -> int:
    """What a verdict says of every node below it: records and persons that are lost, candidates, and their loss."""
    by_node = {verdict.node: verdict for verdict in verdicts}
    compared = 0
    for top in verdicts:
        for node, answer in answers.items():
            if not leq(node, top.node):
                continue
            assert top.certain.suppressed <= answer.plain.suppressed, (context, node, top)
            assert top.certain.charged <= answer.suppressed, (context, node, top)
            if node not in feasible:
                continue
            compared += 1
            assert not plan.problem.hopeless(top), (context, node, top)
            for bottom in (node, plan.catalog.bottom):
                bound = plan.problem.bound(bottom, top, by_node[bottom].ground)
                assert bound <= losses[node] * (1 + 1e-12) + 1e-9, (context, node, top, bottom)
    return compared


def check_ledger(plan: sqlanon.Plan, owned: brute_entities.Owned, answer: brute_entities.Answer) -> None:
    world, entities = owned.world, plan.ledger.entities
    everyone = owned.people([record for record in world.records if record[2]])
    taking_part = owned.people(world.members)
    assert entities is not None
    assert (entities.total, entities.excluded) == (len(everyone), len(everyone - taking_part))
    assert (entities.suppressed, entities.published) == (answer.suppressed, len(taking_part) - answer.suppressed)


def check_proof(plan: sqlanon.Plan, keys: dict[str, Any], connection: Any, context: object) -> None:
    """The second path, over original values, agrees with the first about persons."""
    proof = plan.proof_document
    assert proof is not None, context
    path = Path(os.environ["SQLANON_TEST_PROOF"])
    write_proof(proof, path)
    verified = sqlanon.verify(path, sqlanon.Policy.from_dict(keys), connection)
    assert verified.holds, (context, verified.faults)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_verdicts_optima_bounds_proofs_and_releases_count_persons(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLANON_TEST_PROOF", str(tmp_path / "proof.json"))
    results = [compare(seed) for seed in range(block, TABLES, BLOCKS)]
    solved = sum(found for found, _ in results)
    assert solved >= max(1, len(results) // 5)
    assert sum(bounds for _, bounds in results) > solved
