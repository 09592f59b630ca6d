"""A search whose memory is bounded proves what it says: boxes cut depth first, a proof that is frozen, a short memo."""

import random

import duckdb
import pytest
from effort import Block, enough, seeds
from policies import document_of, quasi
from solved_plans import plans_of
from tables import text_table

import sqlanon
from sqlanon.core.evaluate import evaluator
from sqlanon.core.lattice.nodes import leq
from sqlanon.core.search import base, box, infeasible
from sqlanon.core.search.base import TIE
from sqlanon.core.search.proof import first_gap, rests_soundly


@pytest.mark.parametrize("most_claims", [10**6, 6])
@pytest.mark.parametrize("gap", [0.0, 0.2])
@seeds(12, 6, first=8400)
def test_a_tiny_memory_changes_no_optimum_and_claims_nothing_false(
    block: Block, monkeypatch: pytest.MonkeyPatch, gap: float, most_claims: int
) -> None:
    longest = _tiny(monkeypatch, most_claims)
    compared = deep = 0
    for seed in block:
        rows, document = _random_world(seed)
        document["search"] = {"gap": gap}
        for plan in plans_of(rows, document):
            nodes = list(plan._problem.lattice.nodes())
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in nodes])
            losses = {verdict.node: verdict.loss for verdict in verdicts if verdict.feasible}
            best, proof, certificate = min(losses.values()), plan.proof, plan.certificate
            assert certificate.loss <= best / (1 - gap) * (1 + 1e-9), seed
            assert certificate.lower_bound <= best * (1 + 1e-9), seed
            assert not certificate.optimal or certificate.loss == pytest.approx(best, rel=1e-9), seed
            assert gap or certificate.optimal or most_claims == 6, seed
            assert proof is not None and first_gap(proof.claims, plan._problem.lattice.bottom, proof.top) is None
            for claim in proof.claims:
                assert rests_soundly(claim), seed
                inside = [n for n in losses if leq(claim.bottom, n) and leq(n, claim.top)]
                assert claim.bound is not None or not inside, seed
                assert all(losses[n] >= claim.bound * (1 - 1e-9) - TIE for n in inside), seed
            assert plan.proof_document is not None
            compared += 1
            deep += longest["deep"] > 0
    assert longest["queue"] <= 3
    assert enough(compared > 1 and deep > 0)


def test_a_frozen_proof_keeps_a_gap_though_the_search_has_ended(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, document = _random_world(8401)
    text_table(connection, list(document["columns"]), rows)
    with sqlanon.plan(connection, document) as plan:
        assert plan.certificate.optimal
        _tiny(monkeypatch, 4)
        again = plan.with_policy(plan.policy)
        assert again.certificate.loss == pytest.approx(plan.certificate.loss, rel=1e-12)
        assert again.search.finished and not again.certificate.optimal and 0 < again.certificate.gap < 1
        assert len(again.proof.claims) < 12
        assert again.proof_document["optimal"] is False


def test_evaluations_do_not_depend_on_caps_that_are_not_reached(plan: sqlanon.Plan) -> None:
    assert plan.certificate.optimal
    assert len(plan.search._seen) == plan.search.evaluated


def _random_world(seed: int) -> tuple[list[tuple[str, ...]], dict[str, object]]:
    """Some records of four columns with random hierarchies, and a policy with a random limit and measure."""
    chance = random.Random(seed)
    columns = ["a", "b", "c", "d"]
    rows = [tuple(str(min(chance.randrange(6), chance.randrange(6))) for _ in columns) for _ in range(80)]
    hierarchies = []
    for _ in columns:
        pairs = {v: f"p{chance.randrange(4)}" for v in range(6)}
        halves = {pair: f"h{chance.randrange(2)}" for pair in sorted(set(pairs.values()))}
        hierarchies.append({str(v): [pairs[v], halves[pairs[v]], "*"] for v in range(6)})
    return rows, document_of(
        {name: quasi({"levels": levels}) for name, levels in zip(columns, hierarchies, strict=True)},
        k=chance.choice([2, 4, 7]),
        table="t",
        suppression_limit=chance.choice([0.1, 0.4, 1]),
        quality={"measure": chance.choice(["loss", "loss", "precision", "discernibility"])},
    )


def _tiny(monkeypatch: pytest.MonkeyPatch, most_claims: int) -> dict[str, int]:
    """Set every cap to next to nothing; return the largest lengths that the queue and the stack reach."""
    monkeypatch.setattr(box, "MOST_LEVELS", 3)
    monkeypatch.setattr(box, "MOST_CLAIMS", most_claims)
    monkeypatch.setattr(box, "FIRST_SHARE", 1000)
    monkeypatch.setattr(box, "RAMP", 10**6)
    monkeypatch.setattr(base, "MOST_SEEN", 4)
    monkeypatch.setattr(infeasible, "MOST_NODES", 2)
    monkeypatch.setattr(evaluator, "MOST_LEVELS", 8)
    longest = {"queue": 0, "deep": 0}
    push = box._Search.push

    def watched(state, item) -> None:
        push(state, item)
        longest["queue"] = max(longest["queue"], len(state.queue))
        longest["deep"] = max(longest["deep"], len(state.deep))

    monkeypatch.setattr(box._Search, "push", watched)
    return longest
