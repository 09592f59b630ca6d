"""A whole run against the brute force: what is found, published, said of every node, and bounded by it."""

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import brute
import brute_entities
import brute_models
import duckdb
import pytest
from random_worlds import document, load, ordered_models

import sqlanon
from sqlanon.core.lattice.nodes import leq
from sqlanon.core.publish.proof_file import write_proof

Node = tuple[int, ...]
Judge = Callable[[brute_models.World, Sequence[int]], brute_models.Answer]


def compare(world: brute_models.World, seed: int, judge: Judge) -> tuple[bool, int]:
    """Hold a world against the brute force; whether it has a solution, and how many bounds were compared."""
    policy, population = document(world, random.Random(seed)), len(world.members)
    world.weights = weights_of(policy)
    world.quality = policy["quality"]["measure"], policy["quality"]["aggregate"]
    allowed = math.floor(policy["suppression_limit"] * population + 1e-9)
    answers = {node: judge(world, node) for node in brute.nodes(world.trees)}
    losses = losses_of(world, answers, policy) if population else {}
    feasible = [n for n, a in answers.items() if a.candidate and a.classes and a.suppressed <= allowed]
    context = (seed, policy["privacy"], policy["columns"], policy["quality"], policy["suppression_limit"])
    with duckdb.connect() as connection:
        load(connection, world)
        if not feasible:
            with pytest.raises(sqlanon.NoSolutionError):
                sqlanon.plan(connection, policy)
            return False, 0
        best = min(losses[n] for n in feasible)
        with sqlanon.anonymize(connection, policy) as release:
            plan = release.plan
            assert plan.certificate.optimal, context
            assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), context
            other = sqlanon.Policy.from_dict({**policy, "search": {"strategy": "exhaustive"}})
            assert plan.with_policy(other).certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), context
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in answers])
            for (node, answer), verdict in zip(answers.items(), verdicts, strict=True):
                check_counts(verdict, answer, world, (context, node))
                assert verdict.ruled_out is not answer.candidate, (context, node)
                if all(model.monotone for model in plan.question.models):
                    assert verdict.lower_bounds.suppressed == verdict.suppressed, (context, node)
                if answer.classes:
                    assert verdict.loss == pytest.approx(losses[node], rel=1e-9, abs=1e-9), (context, node)
            compared = check_bounds(plan, verdicts, answers, feasible, losses, context)
            released = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
            assert released == answers[plan.node].released, context
    return True, compared


def weights_of(policy: Mapping[str, Any]) -> list[float]:
    """The weights of the quasi-identifiers."""
    return [column["weight"] for column in policy["columns"].values() if column["role"] == "quasi_identifier"]


def losses_of(
    world: brute_models.World, answers: Mapping[Node, brute_models.Answer], policy: Mapping[str, Any]
) -> dict[Node, float]:
    """What each node loses, by the measure of a policy."""
    measure, aggregate, weights = policy["quality"]["measure"], policy["quality"]["aggregate"], weights_of(policy)
    return {node: brute_models.loss(world, node, found, measure, aggregate, weights) for node, found in answers.items()}


def check_counts(verdict: Any, answer: brute_models.Answer, world: brute_models.World, context: object) -> None:
    """What a verdict says of records and classes."""
    counted = (verdict.suppressed, verdict.classes, verdict.smallest)
    assert counted == (answer.suppressed, answer.classes, answer.smallest), context
    assert [count for _, count in verdict.by_model] == [answer.by_model[i] for i in ordered_models(world)], context


def check_bounds(plan: Any, verdicts: Any, answers: Any, feasible: Any, losses: Any, context: object) -> int:
    """What a verdict says of every candidate below it: suppression and, with the facts of a third node, the loss."""
    by_node = {verdict.node: verdict for verdict in verdicts}
    compared = 0
    for top in verdicts:
        for node in feasible:
            if not leq(node, top.node):
                continue
            compared += 1
            assert not plan.problem.infeasible_below(top), (context, node, top)
            assert top.lower_bounds.suppressed <= answers[node].suppressed, (context, node, top)
            for bottom in (node, plan.catalog.bottom):
                bound = plan.problem.bound(bottom, top, by_node[bottom].bottom_facts)
                assert bound <= losses[node] * (1 + 1e-12) + 1e-9, (context, node, top, bottom)
    return compared


def compare_persons(
    owned: brute_entities.Owned,
    keys: dict[str, Any],
    judge: Callable[[brute_entities.Owned, Node], brute_entities.Answer],
    load: Callable[[duckdb.DuckDBPyConnection], None],
    check_search: Callable[[sqlanon.Plan, float], None],
    proof: Path | None,
) -> tuple[bool, int]:
    """Hold a table of persons against the brute force, as ``compare`` does; and a proof, written to a path, where one
    is given: the second path, over original values, agrees with the first about persons."""
    world = owned.world
    population = len(owned.people(world.members))
    allowed = math.floor(keys["suppression_limit"] * population + 1e-9)
    answers = {node: judge(owned, node) for node in brute.nodes(world.trees)} if population else {}
    losses = losses_of(world, {node: answer.plain for node, answer in answers.items()}, keys)
    feasible = [n for n, a in answers.items() if a.plain.candidate and a.plain.classes and a.suppressed <= allowed]
    with duckdb.connect() as connection:
        load(connection)
        if not feasible:
            with pytest.raises(sqlanon.NoSolutionError):
                sqlanon.plan(connection, keys)
            return False, 0
        best = min(losses[n] for n in feasible)
        with sqlanon.anonymize(connection, keys) as release:
            plan = release.plan
            assert isinstance(plan, sqlanon.Plan)
            assert plan.certificate.optimal, keys
            assert plan.certificate.loss == pytest.approx(best, rel=1e-9, abs=1e-9), keys
            check_search(plan, best)
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in answers])
            for (node, answer), verdict in zip(answers.items(), verdicts, strict=True):
                check_counts_of_persons(verdict, answer, world, (keys, node))
                assert verdict.feasible is (node in feasible), (keys, node)
                if answer.plain.classes:
                    assert verdict.loss == pytest.approx(losses[node], rel=1e-9, abs=1e-9), (keys, node)
            compared = check_bounds_of_persons(plan, verdicts, answers, feasible, losses, keys)
            check_ledger_of_persons(plan, owned, answers[plan.node])
            if proof is not None:
                assert plan.proof_document is not None, keys
                write_proof(plan.proof_document, proof)
                verified = sqlanon.verify(proof, keys, connection)
                assert verified.holds, (keys, verified.faults)
            released = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
            assert released == answers[plan.node].plain.released, keys
    return True, compared


def check_counts_of_persons(verdict: Any, answer: brute_entities.Answer, world: Any, context: object) -> None:
    """What a verdict says of records, classes and persons."""
    check_counts(verdict, answer.plain, world, context)
    assert (verdict.suppressed_entities, verdict.smallest_entities) == (answer.suppressed, answer.smallest), context


def check_bounds_of_persons(
    plan: sqlanon.Plan, verdicts: Any, answers: Mapping[Node, brute_entities.Answer], feasible: Any, losses: Any,
    context: object,
) -> int:  # fmt: skip
    """What a verdict says of every node below it: records and persons that are lost; of candidates, their loss."""
    for top in verdicts:
        for node, answer in answers.items():
            if leq(node, top.node):
                assert top.lower_bounds.suppressed <= answer.plain.suppressed, (context, node, top)
                assert top.lower_bounds.counted_against_limit <= answer.suppressed, (context, node, top)
    plain = {node: answer.plain for node, answer in answers.items()}
    return check_bounds(plan, verdicts, plain, feasible, losses, context)


def check_ledger_of_persons(plan: sqlanon.Plan, owned: brute_entities.Owned, answer: brute_entities.Answer) -> None:
    """The persons of the ledger."""
    entities = plan.ledger.entities
    everyone = owned.people([record for record in owned.world.records if record[2]])
    taking_part = owned.people(owned.world.members)
    assert entities is not None
    assert (entities.total, entities.excluded) == (len(everyone), len(everyone - taking_part))
    assert (entities.suppressed, entities.published) == (answer.suppressed, len(taking_part) - answer.suppressed)
