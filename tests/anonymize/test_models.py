"""Every privacy model and measure on random tables: verdicts, releases, optima and bounds equal a brute force.

``SQLANON_EFFORT=20 python -m pytest tests/test_models.py`` looks at more tables than the default.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import brute
import brute_models
import duckdb
import pyarrow as pa
import pytest
from effort import cases
from test_against_brute_force import random_tree

import sqlanon
from sqlanon.lattice.nodes import leq

TABLES = cases(120)
BLOCKS = 12
VALUES: list[brute.Text] = [None, "", "NULL", "flu", "cold", "é", "*", "b", "c"]
AGGREGATES = [None, "arithmetic_mean", "sum", "geometric_mean", "maximum"]
FOLDED = ("loss", "precision", "non_uniform_entropy")
MEASURES = (*FOLDED, "discernibility", "average_class_size", "weighted_information_loss", "height")


def random_models(rng: random.Random, sensitive: list[brute.Tree | None], subset: bool):
    """One to three models, at least one of them beyond k-anonymity."""
    models: list[tuple[int | None, dict]] = []
    for column, tree in enumerate(sensitive):
        rooted = tree is not None and tree.root is not None and tree.height > 1
        kinds = ["distinct", "entropy", "recursive", "equal", "ordered"] + (["hierarchical"] * 2 if rooted else [])
        for kind in rng.sample(kinds, rng.choice([1, 1, 2])):
            if kind == "distinct":
                model = {"type": "distinct_l_diversity", "l": rng.choice([1, 2, 3])}
            elif kind == "entropy":
                model = {"type": "entropy_l_diversity", "l": rng.choice([1, 1.3, 2, 2.5, 3])}
            elif kind == "recursive":
                model = {"type": "recursive_l_diversity", "l": rng.choice([1, 2, 3]), "c": rng.choice([0.5, 1, 1.1, 3])}
            else:
                model = {"type": "t_closeness", "t": rng.choice([0, 0.1, 0.25, 0.5, 1]), "distance": kind}
            models.append((column, model))
    if subset:
        low, high = sorted(rng.choices([0, 0.05, 0.2, 0.5, 0.75, 1], k=2))
        rule = rng.choice(["ignore", "reject"])
        models.append((None, {"type": "delta_presence", "min": low, "max": high, "public_only": rule}))
    if rng.random() < 0.6 or not models:
        models.append((None, {"type": "k_anonymity", "k": rng.choice([1, 2, 3])}))
    return models


def random_world(seed: int) -> brute_models.World:
    rng = random.Random(seed)
    m, s = rng.randint(1, 3), rng.choice([0, 1, 1, 1, 2])
    pools = [rng.sample(VALUES, rng.randint(1, 5)) for _ in range(m)]
    values = [rng.sample(VALUES, rng.randint(1, 6)) for _ in range(s)]
    subset = s == 0 or rng.random() < 0.3
    size = rng.choice([1, 8, 30, 60, 90])
    skew = [[rng.random() ** 2 + 0.01 for _ in pool] for pool in values]
    records: list[brute_models.Record] = [
        (
            tuple(rng.choice(pool) for pool in pools),
            tuple(rng.choices(pool, weight)[0] for pool, weight in zip(values, skew)),
            not subset or rng.random() < 0.4,
        )
        for _ in range(size)
    ]
    uncovered = ["error", "error", "top"] if subset else ["error", "error", "top", "suppress"]
    trees = [random_tree(rng, pool, rng.choice(uncovered)) for pool in pools]
    sensitive = [random_tree(rng, pool, "error") if rng.random() < 0.6 else None for pool in values]
    models = random_models(rng, sensitive, subset)
    return brute_models.World(records, trees, sensitive, models, rng.choice(["extended", "basic"]))


def hierarchy(tree: brute.Tree) -> dict:
    return {"levels": {row[0]: list(row[1:]) for row in tree.rows}}


def document(world: brute_models.World, rng: random.Random) -> dict:
    """The policy of a world, with a random measure and limit."""
    columns: dict[str, dict] = {
        f"q{i}": {
            "role": "quasi_identifier",
            "weight": rng.choice([1, 1, 2, 0.5]),
            "hierarchy": hierarchy(tree),
            "uncovered": tree.uncovered,
        }
        for i, tree in enumerate(world.trees)
    }
    for i, tree in enumerate(world.sensitive):
        columns[f"s{i}"] = {"role": "sensitive", "models": [m for column, m in world.models if column == i]}
        if tree is not None:
            columns[f"s{i}"]["hierarchy"] = hierarchy(tree)
    columns["member"] = {"role": "drop"}
    privacy = [
        {**m, "subset": {"column": "member"}} if m["type"] == "delta_presence" else m
        for column, m in world.models
        if column is None
    ]
    measure = rng.choice(MEASURES)
    if measure == "non_uniform_entropy" and any(tree.uncovered == "suppress" for tree in world.trees):
        measure = "loss"  # not defined for values without a place in their hierarchy
    return {
        "table": "t",
        "columns": columns,
        "privacy": privacy,
        "nulls": world.nulls,
        "suppression_limit": rng.choice([0, 0.1, 0.4, 1]),
        "quality": {"measure": measure, "aggregate": rng.choice(AGGREGATES) if measure in FOLDED else None},
    }


def ordered_models(world: brute_models.World) -> list[int]:
    """The places of the world's models in the order of the policy: privacy first, then column by column."""
    place = {None: -1} | {i: i for i in range(len(world.sensitive))}
    return sorted(range(len(world.models)), key=lambda i: place[world.models[i][0]])


def load(connection: duckdb.DuckDBPyConnection, world: brute_models.World) -> None:
    columns = {f"q{i}": pa.array([r[0][i] for r in world.records], pa.string()) for i in range(len(world.trees))}
    columns |= {f"s{i}": pa.array([r[1][i] for r in world.records], pa.string()) for i in range(len(world.sensitive))}
    columns["member"] = pa.array([r[2] for r in world.records])
    connection.register("arrow_rows", pa.table(columns))
    connection.execute("CREATE TABLE t AS SELECT * FROM arrow_rows")


@pytest.mark.parametrize("block", range(BLOCKS))
def test_verdicts_optimum_release_and_bounds_equal_brute_force(block: int) -> None:
    solved = compared = 0
    for seed in range(block, TABLES, BLOCKS):
        world, rng = random_world(seed), random.Random(seed)
        policy = document(world, rng)
        measure, aggregate = policy["quality"]["measure"], policy["quality"]["aggregate"]
        weights = [c["weight"] for c in policy["columns"].values() if c["role"] == "quasi_identifier"]
        population = len(world.members)
        allowed = math.floor(policy["suppression_limit"] * population + 1e-9)
        answers = {node: brute_models.judge(world, node) for node in brute.nodes(world.trees)}
        losses = {
            n: brute_models.loss(world, n, a, measure, aggregate, weights) for n, a in answers.items() if population
        }
        feasible = [n for n, a in answers.items() if a.candidate and a.classes and a.suppressed <= allowed]
        context = (seed, policy["privacy"], policy["columns"], policy["quality"], policy["suppression_limit"])
        with duckdb.connect() as connection:
            load(connection, world)
            if not feasible:
                with pytest.raises(sqlanon.NoSolutionError):
                    sqlanon.plan(connection, sqlanon.Policy.from_dict(policy))
                continue
            solved += 1
            best = min(losses[n] for n in feasible)
            with sqlanon.anonymize(connection, sqlanon.Policy.from_dict(policy)) as release:
                plan = release.plan
                assert plan.certificate.optimal, context
                assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), context
                other = sqlanon.Policy.from_dict({**policy, "search": {"strategy": "exhaustive"}})
                assert plan.with_policy(other).certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), context
                nodes = list(answers)
                verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in nodes])
                for node, verdict in zip(nodes, verdicts):
                    answer = answers[node]
                    assert (verdict.suppressed, verdict.classes) == (answer.suppressed, answer.classes), (context, node)
                    assert verdict.smallest == answer.smallest, (context, node)
                    assert [count for _, count in verdict.by_model] == [
                        answer.by_model[i] for i in ordered_models(world)
                    ], (context, node)
                    assert verdict.ruled_out is not answer.candidate, (context, node)
                    if all(model.monotone for model in plan.question.models):
                        assert verdict.lower_bounds.suppressed == verdict.suppressed, (context, node)
                    if answer.classes:
                        assert verdict.loss == pytest.approx(losses[node], rel=1e-9, abs=1e-9), (context, node)
                compared += check_bounds(plan, verdicts, answers, feasible, losses, context)
                released = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
                assert released == answers[plan.node].released, context
    assert solved > 0 and compared > solved


def check_bounds(plan, verdicts, answers, feasible, losses, context) -> int:
    """What a verdict says of every candidate below it: suppression and, with the ground of a third node, the loss."""
    by_node = {verdict.node: verdict for verdict in verdicts}
    compared = 0
    for top in verdicts:
        for node in feasible:
            if not leq(node, top.node):
                continue
            compared += 1
            assert not plan._problem.infeasible_below(top), (context, node, top)
            assert top.lower_bounds.suppressed <= answers[node].suppressed, (context, node, top)
            for bottom in (node, plan.catalog.bottom):
                bound = plan._problem.bound(bottom, top, by_node[bottom].bottom_facts)
                assert bound <= losses[node] * (1 + 1e-12) + 1e-9, (context, node, top, bottom)
    return compared
