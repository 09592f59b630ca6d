"""Real datasets against the reference's optima: levels, loss to 1e-6 relative, suppressed records, and evaluations."""

import csv
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import brute
import pytest
from cases import FILES, Plans, faults, lines, policy_of
from random_worlds import MEASURES

import sqlanon

EVERY = int(os.environ.get("SQLANON_ORACLES", "1"))
"""Look at every n-th line of the oracles only: all of them take some twenty minutes."""

EIGHT = ["age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass"]
NINE = [*EIGHT, "occupation"]
CUP = ["AGE", "GENDER", "INCOME", "MINRAMNT", "NGIFTALL", "RAMNTALL", "STATE", "ZIP"]


@pytest.fixture(scope="module")
def plans(shared: Path) -> Iterator[Plans]:
    """Plans over encodings that the cases share."""
    with Plans(shared / "data") as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_line_of_the_oracles(shared: Path, plans: Plans, name: str) -> None:
    found = lines(shared / "oracles", name)
    assert len(found) >= 10
    wrong = {}
    for case in found[::EVERY]:
        reported = list(faults(plans.plan(case), case))
        if reported:
            wrong[str({k: case[k] for k in ("models", "suppression_limit", "measure", "aggregate")})] = reported
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta_disclosure", "beta_likeness", "average_risk", "sample_uniqueness"])
def test_every_line_of_the_other_models(shared: Path, plans: Plans, kind: str) -> None:
    """They state losses alone."""
    found = [case for case in lines(shared / "oracles", "adult_risk_models") if case["models"][0]["type"] == kind]
    assert len(found) >= 4
    for case in found:
        plan = plans.plan(case)
        assert plan.certificate.optimal
        assert plan.certificate.loss == pytest.approx(case["loss"], rel=1e-6), case


def case_of(dataset: str, columns: list[str], model: dict, **changes: object) -> dict:
    return {
        "dataset": dataset,
        "quasi_identifiers": columns,
        "sensitive": "occupation",
        "models": [model],
        "suppression_limit": 0.05,
        "measure": "loss",
        "aggregate": "arithmetic_mean",
        **changes,
    }


@pytest.mark.parametrize(
    "dataset, columns, model, most",
    [
        ("adult", NINE, {"type": "k_anonymity", "k": 5}, 400),
        ("cup", CUP, {"type": "k_anonymity", "k": 5}, 160),
        ("adult", EIGHT, {"type": "k_anonymity", "k": 5}, 110),
        ("adult", EIGHT, {"type": "recursive_l_diversity", "c": 4, "l": 3}, 110),
        ("adult", EIGHT, {"type": "entropy_l_diversity", "l": 3}, 200),
        ("adult", EIGHT, {"type": "t_closeness", "t": 0.2, "distance": "hierarchical"}, 1300),
        ("adult", EIGHT, {"type": "delta_disclosure", "delta": 1}, 420),
        ("adult", EIGHT, {"type": "beta_likeness", "beta": 4, "enhanced": True}, 900),
    ],
)
def test_few_nodes_are_judged(plans: Plans, dataset: str, columns: list[str], model: dict, most: int) -> None:
    plan = plans.plan(case_of(dataset, columns, model))
    assert plan.certificate.optimal
    assert plan.search.evaluated <= most


def test_box_and_exhaustive_agree_for_all_models_and_measures(plans: Plans) -> None:
    """On ADULT: each model alone, each measure, two of three limits (of them some, where SQLANON_ORACLES says so). A
    lattice of four attributes keeps exhaustive short."""
    columns = ["age", "education", "marital-status", "sex"]
    models = [
        {"type": "k_anonymity", "k": 5},
        {"type": "distinct_l_diversity", "l": 4},
        {"type": "entropy_l_diversity", "l": 3},
        {"type": "recursive_l_diversity", "c": 2, "l": 3},
        {"type": "t_closeness", "t": 0.25, "distance": "equal"},
        {"type": "t_closeness", "t": 0.2, "distance": "hierarchical"},
        {"type": "t_closeness", "t": 0.1, "distance": "ordered"},
        {"type": "delta_disclosure", "delta": 2},
        {"type": "beta_likeness", "beta": 2},
        {"type": "delta_presence", "min": 0.05, "max": 0.15, "public_only": "ignore"},
        {"type": "delta_presence", "min": 0.02, "max": 0.25, "public_only": "reject"},
    ]
    for number, model in enumerate(models):
        for place, measure in enumerate(MEASURES):
            if EVERY > 1 and (number + place) % 4:
                continue
            for limit in (0.05, (0.0, 1.0)[(number + place) % 2]):
                case = case_of("adult", columns, model, measure=measure, aggregate=None, suppression_limit=limit)
                reported = (model, measure, limit)
                found = [_optimum(plans, case, strategy) for strategy in ("box", "exhaustive")]
                assert found[0] == pytest.approx(found[1], rel=1e-12), reported


def _optimum(plans: Plans, case: dict, strategy: str) -> float:
    try:
        plan = plans.plan(case, search={"strategy": strategy})
    except sqlanon.NoSolutionError:
        return -1.0
    assert plan.certificate.optimal
    return plan.certificate.loss


def test_verdicts_on_adult_equal_brute_force_on_a_sample_of_nodes(shared: Path) -> None:
    case = case_of("adult", NINE, {"type": "k_anonymity", "k": 5})
    columns = case["quasi_identifiers"]
    with (shared / "data/adult/adult.csv").open() as file:
        records = Counter(tuple(row[c] for c in columns) for row in csv.DictReader(file, delimiter=";"))
    trees = []
    for name in columns:
        with (shared / f"data/adult/adult_hierarchy_{name}.csv").open() as file:
            trees.append(brute.Tree([tuple(row) for row in csv.reader(file, delimiter=";")]))
    rng = random.Random(7)
    nodes = [tuple(rng.randrange(tree.height) for tree in trees) for _ in range(200)]
    with sqlanon.plan(None, policy_of(shared / "data", case)) as plan:
        verdicts = plan.evaluate_many([dict(zip(columns, node)) for node in nodes])
    k = case["models"][0]["k"]
    total = sum(records.values())
    leaves = [[Counter(row[level] for row in tree.rows) for level in range(tree.height)] for tree in trees]
    for node, verdict in zip(nodes, verdicts):
        classes: Counter = Counter()
        for row, count in records.items():
            classes[tuple(t.map[v][level] for t, v, level in zip(trees, row, node))] += count
        published = {key: count for key, count in classes.items() if count >= k}
        suppressed = total - sum(published.values())
        losses = []
        for i, tree in enumerate(trees):
            d = len(tree.rows)
            cost = sum(count * (leaves[i][node[i]][key[i]] - 1) for key, count in published.items())
            losses.append((cost + suppressed * (d - 1)) / (total * (d - 1)))
        assert (verdict.suppressed, verdict.classes) == (suppressed, len(published)), node
        assert verdict.loss == pytest.approx(sum(losses) / len(losses), rel=1e-9), node
