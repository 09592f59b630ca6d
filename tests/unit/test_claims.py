"""The claims that the bounds rest on, on random tables: f rises, g and suppression fall; order does not matter."""

import duckdb
from effort import Block, enough, seeds
from random_cases import random_case
from solved_plans import plans_of
from tables import text_table

import sqlanon
from sqlanon.core.lattice.nodes import leq


@seeds(20, 10, first=2000)
def test_f_rises_g_falls_and_suppression_falls_with_generalization(block: Block) -> None:
    compared = 0
    for seed in block:
        rows, _, document = random_case(seed)
        for plan in plans_of(rows, document):
            nodes = list(plan._problem.lattice.nodes())
            verdicts = plan.evaluate_many([plan.catalog.levels(node) for node in nodes])
            for x in verdicts:
                for y in verdicts:
                    if x.node != y.node and leq(x.node, y.node):
                        floors = plan._problem.measure.floor(x.node), plan._problem.measure.floor(y.node)
                        assert all(a <= b + 1e-12 for a, b in zip(*floors)), seed
                        for lower, higher in zip(x.lower_bounds.penalty, y.lower_bounds.penalty, strict=True):
                            assert all(a >= b - 1e-12 for a, b in zip(lower, higher, strict=False)), seed
                        assert x.suppressed >= y.suppressed, seed
                        compared += 1
    assert enough(compared > 50)


@seeds(8, 2, first=3000)
def test_permuting_rows_and_columns_changes_nothing(block: Block) -> None:
    for seed in block:
        rows, _, document = random_case(seed)
        document["search"] = {"strategy": "exhaustive"}
        losses = set()
        for turn in (1, -1):
            columns = dict(list(document["columns"].items())[::turn])
            with duckdb.connect() as connection:
                text_table(connection, list(document["columns"]), rows[::turn])
                try:
                    policy = sqlanon.Policy.from_dict({**document, "columns": columns})
                    with sqlanon.plan(connection, policy) as plan:
                        losses.add(round(plan.certificate.loss, 12))
                except sqlanon.NoSolutionError:
                    losses.add(-1.0)
        assert len(losses) == 1, seed


def test_the_statements_of_a_small_run_are_these(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",)] * 3 + [("y",)] * 4)
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"levels": {"x": "*", "y": "*"}}}}
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 3}]}
    with sqlanon.plan(connection, document) as plan:
        assert plan._session.source.engine.journal.counts() == {
            "describe": 1,
            "relations": 1,
            "private relations": 1,
            "collations": 1,
            "distinct values": 1,
            "load hierarchies": 1,
            "hierarchy facts": 1,
            "branches": 1,
            "branch facts": 1,
            "lookup": 1,
            "drop": 3,
            "load masks": 1,
            "leaf": 1,
            "base": 1,
            "reconcile": 1,
            "costs": 1,
            "transfer": 2,
        }
