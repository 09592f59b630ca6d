"""The local search for incumbents: it finds good nodes early, takes its share only, and leaves every proof as it is."""

import random

import duckdb
import pytest
from effort import Block, enough, seeds
from random_cases import random_case
from tables import text_table

import sqlanon
from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import Lattice
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.measures.height import Height
from sqlanon.core.search import box
from sqlanon.core.search.base import Problem, Request, Verdict
from sqlanon.core.search.incumbents import LocalSearch

COLUMNS = 18


def test_the_walk_finds_the_optimum_of_a_small_lattice_and_ends(plan: sqlanon.Plan) -> None:
    walks = []
    for _ in range(2):
        local, asked, losses = LocalSearch(plan._problem, _verdict(plan, plan._problem.lattice.top)), [], []
        while local.wanted:
            asked.append(local.wanted)
            verdicts = [_verdict(plan, node) for node in local.wanted]
            losses += [verdict.loss for verdict in verdicts if verdict.feasible]
            local.see(verdicts)
        assert min(losses) == pytest.approx(plan.certificate.loss, rel=1e-12)
        nodes = [node for wanted in asked for node in wanted]
        assert len(set(nodes)) == len(nodes) and set(nodes) <= set(plan._problem.lattice.nodes())
        walks.append(asked)
    assert walks[0] == walks[1]


@seeds(20, 6, first=8100)
def test_with_a_local_search_from_the_start_every_optimum_is_proven_as_before(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    for seed in block:
        rows, _, document = random_case(seed)
        losses, solved = [], False
        for large in (box.LARGE, 1):
            monkeypatch.setattr(box, "LARGE", large)
            with duckdb.connect() as connection:
                text_table(connection, list(document["columns"]), rows)
                try:
                    with sqlanon.plan(connection, document) as plan:
                        assert plan.certificate.optimal, seed
                        losses.append((plan.certificate.loss, plan.solution.suppressed))
                        solved = True
                except sqlanon.NoSolutionError:
                    losses.append((-1.0, 0))
        assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-9), seed
        compared += solved
        monkeypatch.undo()
    assert enough(compared > 0)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 0.1])
def test_of_many_columns_a_good_node_is_found_early(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, limit: float
) -> None:
    document = _many_columns(connection, limit)
    found = {}
    for share in ("with", "without"):
        if share == "without":
            monkeypatch.setattr(box, "LARGE", 10**9)
        with sqlanon.plan(connection, document) as plan:
            assert plan.certificate.evaluated <= 500
            assert plan.certificate.lower_bound <= plan.certificate.loss
            found[share] = plan.certificate.loss
    assert found["with"] < 0.98 * found["without"]


def test_a_search_of_a_few_hundred_evaluations_has_no_local_part(
    plan: sqlanon.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Watched(LocalSearch):
        def see(self, verdicts):
            asked.append(verdicts)
            super().see(verdicts)

    monkeypatch.setattr(box, "LocalSearch", Watched)
    again = plan.with_policy(plan.policy)
    assert again.certificate.optimal and not asked


def test_the_walk_leaves_a_valley_that_a_few_columns_do_not_lead_out_of() -> None:
    """Of seven columns of two levels, every level down costs more, until all but one are down: then nothing does."""
    attribute = Attribute("q", "TEXT", 2, 2, (), (1, 0), (2, 1), (True, True))
    catalog = Catalog((attribute,) * 7, 1, 10, 0, 0, 10, 10)
    problem = Problem(catalog, Lattice(catalog.bottom, catalog.top), Height(catalog))

    def verdict(node: tuple[int, ...]) -> Verdict:
        height = sum(node)
        loss = height if height <= 1 else 20 - height
        return Verdict(node, 1, 0, 10, 10, float(loss), True, 1, LowerBounds(0))

    local, best, judged = LocalSearch(problem, verdict(catalog.top)), catalog.top, 0
    while local.wanted and sum(best):
        judged += len(local.wanted)
        best = min(best, *local.wanted, key=lambda node: verdict(node).loss)
        local.see([verdict(node) for node in local.wanted])
    assert best == catalog.bottom and judged < 128


def _many_columns(connection: duckdb.DuckDBPyConnection, limit: float) -> dict[str, object]:
    """A table of columns that hang together, and its policy: a lattice of 3^18 nodes."""
    chance = random.Random(7)
    names = [f"c{i}" for i in range(COLUMNS)]
    rows = []
    for _ in range(400):
        group = chance.randrange(4)
        rows.append(tuple(str(group if chance.random() < 0.8 else chance.randrange(8)) for _ in names))
    text_table(connection, names, rows)
    levels = {str(v): [str(v // 3), "*"] for v in range(8)}
    return {
        "table": "t",
        "columns": {name: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for name in names},
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": limit,
        "search": {"max_evaluations": 500},
    }


def _verdict(plan: sqlanon.Plan, node):
    return plan._evaluator.judge([Request(node, node)])[0]
