"""The strategies of the papers, driven by dictionaries of verdicts: what they find, what they claim, what they ask.

The verdicts are those of random tables with all models and measures (tests/test_models.py), for several limits.
``SQLANON_TABLES=1500 python -m pytest tests/test_strategies.py`` looks at more tables than the default.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from cases import policy_of
from test_models import document, load, random_world

import sqlanon
from sqlanon.catalog import Attribute, Catalog
from sqlanon.lattice import Lattice, Node, leq
from sqlanon.measures.base import Certain
from sqlanon.measures.loss import Loss
from sqlanon.search import best_first, datafly, exhaustive, flash, flash_two_phase, igreedy, incognito, ola
from sqlanon.search.antichain import OPTIONS
from sqlanon.search.base import Problem, Progress, Request, Strategy, Verdict
from sqlanon.search.traversal import generalization_bound, height, of_rank, without_suppression

Search = Callable[..., Strategy]
EXACT: dict[str, Search] = {
    "best_first": best_first.search,
    "flash_two_phase": flash_two_phase.search,
    "flash_two_phase 2015": functools.partial(flash_two_phase.search, quality="ignored"),
    "flash_two_phase every": functools.partial(flash_two_phase.search, quality="every"),
}
"""Optimal for every model, measure and limit."""
MONOTONE: dict[str, Search] = {"flash": flash.search, "ola": ola.search, "incognito": incognito.search}
"""Optimal when nothing may be suppressed."""
HEURISTIC: dict[str, Search] = {"datafly": datafly.search, "igreedy": igreedy.search}
ALL = EXACT | MONOTONE | HEURISTIC
TABLES = range(int(os.environ.get("SQLANON_TABLES", "96")))


@dataclasses.dataclass
class Case:
    problem: Problem
    verdicts: dict[Node, Verdict]
    models: list[dict]

    @property
    def best(self) -> float | None:
        return min((v.loss for v in self.verdicts.values() if v.feasible), default=None)

    def limited(self, allowed: int) -> Case:
        """The same table with another limit on suppression."""
        catalog = dataclasses.replace(self.problem.catalog, allowed=allowed)
        verdicts = {
            node: dataclasses.replace(v, feasible=v.classes > 0 and v.suppressed <= allowed and not v.ruled_out)
            for node, v in self.verdicts.items()
        }
        return Case(dataclasses.replace(self.problem, catalog=catalog), verdicts, self.models)


def made(seed: int) -> Case | None:
    world, rng = random_world(seed), random.Random(seed)
    if rng.random() < 0.4:  # often enough nothing but k-anonymity
        world.models, world.sensitive = [(None, {"type": "k_anonymity", "k": rng.choice([2, 3, 5])})], []
    policy = document(world, rng) | {"suppression_limit": 1, "undeclared": "drop"}
    with duckdb.connect() as connection:
        load(connection, world)
        try:
            with sqlanon.plan(connection, sqlanon.Policy.from_dict(policy)) as plan:
                nodes = list(plan._problem.lattice.nodes())
                judged = plan._evaluator.judge([Request(node, node) for node in nodes], exact=True)
                models = [model for _, model in world.models]
                return Case(plan._problem, dict(zip(nodes, judged, strict=True)), models)
        except sqlanon.NoSolutionError:
            return None


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Every table with no, some and full suppression."""
    found = []
    for seed in TABLES:
        case = made(seed)
        if case is not None:
            population, uncovered = case.problem.catalog.population, case.problem.catalog.uncovered
            found += [case.limited(allowed) for allowed in (uncovered, uncovered + population // 6, population)]
    return found


def requested(search: Search, case: Case, progress: Progress) -> Iterator[list[Request]]:
    """Drive a strategy; hand out its batches before they are answered."""
    generator = search(case.problem, progress)
    try:
        requests = next(generator)
        while True:
            yield requests
            requests = generator.send([case.verdicts[request.node] for request in requests])
    except StopIteration:
        return


def driven(search: Search, case: Case) -> tuple[Progress, list[Node]]:
    progress = Progress()
    return progress, [request.node for batch in requested(search, case, progress) for request in batch]


def proven(progress: Progress) -> bool:
    bound = progress.lower_bound
    return bound is None or (progress.incumbent is not None and bound >= progress.incumbent.loss * (1 - 1e-12))


@pytest.mark.parametrize("name", ALL)
def test_it_finds_a_feasible_node_or_none_and_the_best_one_where_it_says_so(name: str, cases: list[Case]) -> None:
    claimed = 0
    for case in cases:
        progress, asked = driven(ALL[name], case)
        assert progress.finished and progress.evaluated == len(asked) == len(set(asked))
        assert progress.statistics["checked"] == len(asked) <= case.problem.lattice.size
        found = progress.incumbent
        assert found is None or case.verdicts[found.node].feasible
        exact = name in EXACT or (name in MONOTONE and without_suppression(case.problem))
        assert not exact or proven(progress), case.models
        if proven(progress):
            claimed += 1
            if case.best is None:
                assert found is None
            else:
                assert found is not None and found.loss == pytest.approx(case.best, rel=1e-12, abs=1e-12), case.models
    assert claimed or name in HEURISTIC


@pytest.mark.parametrize("name", ALL)
def test_its_bound_holds_whenever_it_waits(name: str, cases: list[Case]) -> None:
    for case in cases:
        if case.best is None:
            continue
        progress = Progress()
        for batch in requested(ALL[name], case, progress):
            assert batch and all(leq(request.floor, request.node) for request in batch)
            incumbent = progress.incumbent.loss if progress.incumbent else case.best
            assert progress.lower_bound is not None
            assert min(progress.lower_bound, incumbent) <= case.best * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("name", [*EXACT, *MONOTONE])
def test_what_was_judged_covers_the_lattice(name: str, cases: list[Case]) -> None:
    """Every node is judged, below a hopeless one, or above one whose generalization alone costs the best loss."""
    for case in cases:
        problem = case.problem
        if name in MONOTONE and not without_suppression(problem):
            continue
        if problem.measure.needs == "classes":
            continue
        progress, asked = driven(ALL[name], case)
        hopeless = [node for node in asked if problem.hopeless(case.verdicts[node])]
        for node in set(case.verdicts) - set(asked):
            loss = progress.incumbent.loss if progress.incumbent else float("inf")
            covered = any(leq(node, other) for other in hopeless)
            assert covered or generalization_bound(problem, node) >= loss * (1 - 1e-9) - 1e-12, (node, case.models)


def test_below_a_hopeless_node_all_nodes_are_hopeless(cases: list[Case]) -> None:
    """Flash2P counts on it: what lies above a node that is not hopeless is not hopeless either."""
    hopeless = 0
    for case in cases:
        for node, verdict in case.verdicts.items():
            if not case.problem.hopeless(verdict):
                continue
            hopeless += 1
            below = [i for i, level in enumerate(node) if level > case.problem.lattice.bottom[i]]
            parts = [case.verdicts[(*node[:i], node[i] - 1, *node[i + 1 :])] for i in below]
            assert all(case.problem.hopeless(part) for part in parts), (node, case.models)
            assert all(part.certain.suppressed >= verdict.certain.suppressed for part in parts), (node, case.models)
    assert hopeless


def test_flash_may_miss_the_optimum_when_records_may_be_suppressed(cases: list[Case]) -> None:
    for search in MONOTONE.values():
        missed = [
            case
            for case in cases
            if (found := driven(search, case)[0].incumbent) is not None and found.loss > case.best * (1 + 1e-9)
        ]
        assert missed and not any(without_suppression(case.problem) for case in missed)


def test_best_first_judges_no_more_nodes_than_exhaustive(cases: list[Case]) -> None:
    fewer = 0
    for case in cases:
        checked = len(driven(best_first.search, case)[1])
        assert checked <= len(driven(exhaustive.search, case)[1]) == case.problem.lattice.size
        fewer += checked < case.problem.lattice.size
    assert fewer > len(cases) // 4


def test_known_bounds_of_all_nodes_save_checks(cases: list[Case]) -> None:
    counts = {name: sum(len(driven(search, case)[1]) for case in cases) for name, search in EXACT.items()}
    assert counts["flash_two_phase every"] < counts["flash_two_phase"] < counts["flash_two_phase 2015"]


@pytest.mark.parametrize(
    "search", [best_first.search, flash.search, flash_two_phase.search, ola.search, incognito.search]
)
def test_every_antichain_makes_the_same_search(search: Search, cases: list[Case]) -> None:
    for case in cases[::7]:
        asked = {name: driven(functools.partial(search, option=name), case)[1] for name, _ in OPTIONS}
        assert all(nodes == asked["list"] for nodes in asked.values())


def test_datafly_and_igreedy_never_look_below_their_floor(cases: list[Case]) -> None:
    for search in HEURISTIC.values():
        for case in cases[::5]:
            floor = case.problem.lattice.bottom
            for batch in requested(search, case, Progress()):
                assert all(leq(floor, request.floor) for request in batch)
                floor = batch[0].floor


def test_ranks_partition_the_lattice_and_go_from_the_greatest_node_down() -> None:
    for lattice in (
        Lattice((), ()),
        Lattice((1, 0, 2), (3, 0, 4)),
        Lattice((0, 0), (0, 0)),
        Lattice((0,) * 4, (2,) * 4),
    ):
        ranks = [list(of_rank(lattice.bottom, lattice.top, rank)) for rank in range(height(lattice) + 1)]
        assert sorted(node for rank in ranks for node in rank) == list(lattice.nodes())
        assert all(rank == sorted(rank, reverse=True) for rank in ranks)
        assert not list(of_rank(lattice.bottom, lattice.top, height(lattice) + 1))


COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
"""ADULT in the order of its file: the papers' implementation breaks ties by it."""


def on_adult(
    shared: Path, columns: Sequence[str], limit: float, measure: str, aggregate: str, search: Search
) -> Progress:
    """Drive a strategy by the evaluator of a plan, as the driver does."""
    case = {
        "dataset": "adult_2015",
        "quasi_identifiers": columns,
        "models": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": limit,
        "measure": measure,
        "aggregate": aggregate,
    }
    progress = Progress()
    with sqlanon.plan(None, policy_of(shared / "data", case)) as plan:
        generator = search(plan._problem, progress)
        requests = next(generator)
        with pytest.raises(StopIteration):
            while True:
                requests = generator.send(plan._evaluator.judge(requests))
        assert progress.incumbent.loss == pytest.approx(plan.certificate.loss, rel=1e-12)
    return progress


def test_the_statistics_of_the_2016_paper_are_reproduced(shared: Path) -> None:
    told = on_adult(shared, COLUMNS, 0.05, "loss", "geometric_mean", flash_two_phase.search).statistics
    assert (told["checked"], told["quality_inserts"], told["protection_inserts"]) == (1180, 1062, 887)
    assert [round(100 * told[f"quality_{name}"], 2) for name in ("hits", "antichain")] == [74.69, 73.54]
    assert [round(100 * told[f"protection_{name}"], 2) for name in ("hits", "antichain")] == [15.37, 93.01]


def test_the_pruning_power_of_the_2015_paper_is_reproduced(shared: Path) -> None:
    columns = [name for name in COLUMNS if name != "occupation"]
    for limit, pruned in ((0, 97.3), (0.05, 29.6)):
        progress = on_adult(shared, columns, limit, "non_uniform_entropy", "sum", EXACT["flash_two_phase 2015"])
        assert round(100 * (1 - progress.evaluated / 4320), 1) == pruned


@pytest.mark.parametrize("name", ["best_first", "datafly", "igreedy"])
def test_a_huge_lattice_is_neither_walked_nor_held(name: str) -> None:
    """4 ** 30 nodes; three steps suffice, and nothing else costs less."""
    attributes = tuple(
        Attribute(f"q{i}", "VARCHAR", 4, 4, ((),) * 4, (300, 200, 100, 0), (8, 4, 2, 1), (True,) * 4) for i in range(30)
    )
    catalog = Catalog(attributes, 1, 100, 0, 0, 100, 5)
    problem = Problem(catalog, Lattice(catalog.bottom, catalog.top), Loss(catalog))
    search, progress = ALL[name], Progress()
    generator = search(problem, progress)
    requests = next(generator)
    try:
        while True:
            assert progress.evaluated < 10_000
            answers = []
            for request in requests:
                suppressed = max(0, 90 - 30 * sum(request.node))
                loss = generalization_bound(problem, request.node) + suppressed
                certain = Certain(suppressed)
                feasible = suppressed <= catalog.allowed
                answers.append(Verdict(request.node, 1, suppressed, 5, 5, loss, feasible, 1, certain))
            requests = generator.send(answers)
    except StopIteration:
        assert progress.incumbent is not None and sum(progress.incumbent.node) == 3
