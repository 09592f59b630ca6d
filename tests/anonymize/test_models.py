"""Every privacy model and measure on random tables: verdicts, releases, optima and bounds equal a brute force.

``SQLANON_EFFORT=20 python -m pytest -m "" tests/anonymize/test_models.py`` looks at more tables than the default.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable

import brute
import brute_models
import duckdb
import pytest
from effort import Block, enough, seeds
from random_worlds import document, load, mapped_world, ordered_models, random_release_world, random_world

import sqlanon
from sqlanon.lattice.nodes import leq

Make = Callable[[int], brute_models.World]


@pytest.mark.parametrize("make", [random_world, mapped_world, random_release_world])
@seeds(120)
def test_verdicts_optimum_release_and_bounds_equal_brute_force(block: Block, make: Make) -> None:
    solved = compared = 0
    for seed in block:
        world, rng = make(seed), random.Random(seed)
        policy = document(world, rng)
        measure, aggregate = policy["quality"]["measure"], policy["quality"]["aggregate"]
        weights = [c["weight"] for c in policy["columns"].values() if c["role"] == "quasi_identifier"]
        world.weights, population = weights, len(world.members)
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
    assert enough(solved > 0 and compared > solved)


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


@pytest.mark.parametrize("strategy", ["flash", "ola", "incognito", "box"])
def test_what_passes_may_fail_when_it_is_generalized_further(
    connection: duckdb.DuckDBPyConnection, strategy: str
) -> None:
    """Of δ-disclosure: v is frequent enough in x, and missing in y; in x and y together it is too rare."""
    rows = [("x", "v")] * 2 + [("x", "w")] * 4 + [("y", "w")] * 12 + [("z", "v")] * 10 + [("z", "w")] * 14
    connection.execute("CREATE TABLE t (q VARCHAR, s VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    tree = {"x": ["low", "*"], "y": ["low", "*"], "z": ["high", "*"]}
    document = {
        "table": "t",
        "columns": {
            "q": {"role": "quasi_identifier", "hierarchy": {"levels": tree}},
            "s": {"role": "sensitive", "models": [{"type": "delta_disclosure", "delta": 1}]},
        },
        "search": {"strategy": strategy},
    }
    with sqlanon.plan(connection, sqlanon.Policy.from_dict(document)) as plan:
        suppressed = [verdict.suppressed for verdict in plan.evaluate_many([{"q": level} for level in range(3)])]
        assert suppressed == [0, 18, 0]
        assert not plan._problem.upward_closed
        assert (plan.node, plan.certificate.optimal) == ((0,), True) or not plan.certificate.optimal
