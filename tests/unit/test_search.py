"""Strategies driven without a database, and what the driver proves when a search is stopped."""

import duckdb
import pytest

import sqlanon
from sqlanon.core.evaluate.driver import run_search
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.policy import SearchOptions
from sqlanon.core.search import box
from sqlanon.core.search.base import Progress


@pytest.mark.slow
def test_a_strategy_needs_no_database(plan: sqlanon.Plan) -> None:
    verdicts = {node: plan._evaluator.judge([_request(node)])[0] for node in plan._problem.lattice.nodes()}
    progress = Progress()
    generator = box.search(plan._problem, progress)
    requests = next(generator)
    with pytest.raises(StopIteration):
        while True:
            requests = generator.send([verdicts[request.node] for request in requests])
    best = min(v.loss for v in verdicts.values() if v.feasible)
    assert progress.finished and progress.incumbent.loss == pytest.approx(best, rel=1e-12)
    assert progress.evaluated < len(verdicts)


@pytest.mark.slow
def test_a_bound_never_exceeds_the_best_node_of_the_open_boxes(plan: sqlanon.Plan) -> None:
    optimum = plan.certificate.loss
    for limit in range(1, plan.search.evaluated):
        options = SearchOptions(max_evaluations=limit)
        try:
            found = run_search(plan._problem, _evaluator(plan), options)
        except sqlanon.SearchStoppedError:
            continue
        verdict, certificate = found.verdict, found.certificate
        assert found.progress.evaluated <= limit
        assert certificate.lower_bound <= optimum * (1 + 1e-12) <= verdict.loss * (1 + 2e-12)
        assert certificate.gap == pytest.approx((verdict.loss - certificate.lower_bound) / verdict.loss)
        assert not certificate.optimal or verdict.loss == pytest.approx(optimum, rel=1e-12)


@pytest.mark.slow
def test_ctrl_c_keeps_the_incumbent_and_tells_the_gap(plan: sqlanon.Plan) -> None:
    class Interrupted(Evaluator):
        batches = 0

        def judge(self, requests, *, exact=False):
            self.batches += 1
            if self.batches == 3:
                raise KeyboardInterrupt
            return super().judge(requests, exact=exact)

    built = Interrupted(plan._session.source.engine, plan._session.snapshots, plan._problem, plan.policy.models)
    found = run_search(plan._problem, built, SearchOptions(on_interrupt="publish"))
    verdict, certificate = found.verdict, found.certificate
    assert not certificate.optimal and 0 < certificate.gap <= 1
    assert certificate.lower_bound <= plan.certificate.loss <= verdict.loss
    built.batches = 0
    with pytest.raises(sqlanon.Interrupted) as raised:
        run_search(plan._problem, built, SearchOptions())
    assert raised.value.incumbent == {
        "levels": plan.catalog.levels(verdict.node),
        "loss": verdict.loss,
        "lower_bound": certificate.lower_bound,
        "gap": certificate.gap,
    }


def test_stopped_before_any_solution_is_an_error_of_its_own(plan: sqlanon.Plan) -> None:
    with pytest.raises(sqlanon.SearchStoppedError):
        run_search(plan._problem, _evaluator(plan), SearchOptions(time_limit=0))


def test_a_gap_that_is_good_enough_ends_the_search_early(plan: sqlanon.Plan) -> None:
    found = run_search(plan._problem, _evaluator(plan), SearchOptions(gap=0.5))
    assert found.certificate.gap <= 0.5 and found.progress.evaluated < plan.search.evaluated


def test_level_limits_bind_and_shrink_the_lattice_only(connection: duckdb.DuckDBPyConnection, plan) -> None:
    document = plan.policy.to_dict()
    document["columns"]["a"] |= {"min_level": 1, "max_level": 2}
    with sqlanon.plan(connection, document) as limited:
        assert limited.certificate.lattice_size == 2 * 4**3
        assert limited.solution.levels["a"] in (1, 2)
        assert limited.catalog.attributes[0].height == 4


def test_raising_k_never_lowers_the_loss_and_reuses_the_base(plan: sqlanon.Plan) -> None:
    losses = []
    for k in (2, 3, 6, 12):
        other = plan.with_privacy(sqlanon.Model("k_anonymity", {"k": k}))
        losses.append(other.certificate.loss)
        assert other.certificate.optimal
    assert losses == sorted(losses)
    assert plan._session.source.engine.journal.counts()["base"] == 1


@pytest.mark.slow
def test_a_verdict_from_a_snapshot_equals_the_verdict_from_the_base(plan: sqlanon.Plan) -> None:
    store = plan._session.snapshots
    nodes = [n for n in plan._problem.lattice.nodes() if n >= (1, 1, 0, 0) and min(n[:2]) >= 1][:40]
    from_base = [_evaluator(plan).judge([_request(n)], exact=True)[0] for n in nodes]
    store._materialise((1, 1, 0, 0), store.base)
    assert store.materialised or not store._kept
    store._kept.setdefault((1, 1, 0, 0), _forced(plan))
    from_snapshot = [_evaluator(plan).judge([_request(n)], exact=True)[0] for n in nodes]
    assert from_snapshot == from_base


def _forced(plan: sqlanon.Plan):
    from sqlanon.core.compiler.batch import roll_up
    from sqlanon.core.evaluate.snapshots import Snapshot
    from sqlanon.core.sqltrees import names

    node = (1, 1, 0, 0)
    engine = plan._session.source.engine
    rows = engine.create("snapshot", names.snapshot(node), roll_up(names.BASE, plan.catalog.masks(node)))
    return Snapshot(node, names.snapshot(node), rows)


def _request(node):
    from sqlanon.core.search.base import Request

    return Request(node, node)


def _evaluator(plan: sqlanon.Plan) -> Evaluator:
    return Evaluator(plan._session.source.engine, plan._session.snapshots, plan._problem, plan.policy.models)
