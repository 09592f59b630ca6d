"""The strategies of the papers, driven by dictionaries of verdicts: what they find, what they claim, what they ask.

The verdicts are those of random tables with all models and measures (tests/test_models.py), for several limits.
``SQLANON_EFFORT=30 python -m pytest -m "" tests/anonymize/test_strategies.py`` looks at more tables than the default.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from brute_models import World
from cases import policy_of
from effort import Block, blocks, enough, note_seed
from random_worlds import document, load, random_world

import sqlanon
from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import Lattice, Node, leq
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.measures.loss import Loss
from sqlanon.core.measures.weighted_information_loss import WeightedInformationLoss
from sqlanon.core.search import (
    anon,
    best_first,
    box,
    datafly,
    exhaustive,
    flash,
    flash_two_phase,
    igreedy,
    incognito,
    ola,
)
from sqlanon.core.search.antichain import OPTIONS
from sqlanon.core.search.base import Problem, Progress, Request, Strategy, Verdict
from sqlanon.core.search.traversal import generalization_bound, height, of_rank, without_suppression

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
WEIGHTED: dict[str, Search] = {"anon": anon.search}
"""Optimal for weighted information loss, whatever the models and limits."""
HEURISTIC: dict[str, Search] = {"datafly": datafly.search, "igreedy": igreedy.search}
ALL = EXACT | MONOTONE | WEIGHTED | HEURISTIC


@dataclasses.dataclass
class Case:
    problem: Problem
    verdicts: dict[Node, Verdict]
    models: list[dict]
    seed: int

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
        return Case(dataclasses.replace(self.problem, catalog=catalog), verdicts, self.models, self.seed)


Change = Callable[[dict, World, random.Random], dict]


def made(seed: int, change: Change = lambda policy, world, rng: policy) -> Case | None:
    world, rng = random_world(seed), random.Random(seed)
    if rng.random() < 0.4:  # often enough nothing but k-anonymity
        world.models, world.sensitive = [(None, {"type": "k_anonymity", "k": rng.choice([2, 3, 5])})], []
    policy = change(document(world, rng) | {"suppression_limit": 1, "undeclared": "drop"}, world, rng)
    with duckdb.connect() as connection:
        load(connection, world)
        try:
            with sqlanon.plan(connection, policy) as plan:
                nodes = list(plan._problem.lattice.nodes())
                judged = plan._evaluator.judge([Request(node, node) for node in nodes], exact=True)
                models = [model for _, model in world.models]
                return Case(plan._problem, dict(zip(nodes, judged, strict=True)), models, seed)
        except sqlanon.NoSolutionError:
            return None


def weigh(policy: dict, world: World, rng: random.Random) -> dict:
    """Weighted information loss with plateaus, weights of 0 and limits on levels."""
    columns = dict(policy["columns"])
    for i, tree in enumerate(world.trees):
        limits = sorted(rng.choices(range(tree.height), k=2))
        losses = sorted(rng.choices([0, 0, 0.25, 0.5, 1, 3, 0.1], k=tree.height))
        columns[f"q{i}"] = {
            **columns[f"q{i}"],
            "weight": rng.choice([0, 0.5, 1, 1, 3]),
            "hierarchy": {**columns[f"q{i}"]["hierarchy"], **rng.choice([{}, {"information_loss": losses}])},
            **rng.choice([{}, {"min_level": limits[0]}, {"max_level": limits[1]}]),
        }
    return {**policy, "columns": columns, "quality": {"measure": "weighted_information_loss"}}


class Cases(list[Case]):
    """Cases of a block of seeds. The seed of the case that a test fails at stands in its report."""

    def __iter__(self) -> Iterator[Case]:
        for case in super().__iter__():
            note_seed(case.seed)
            yield case
        note_seed(None)


@pytest.fixture(scope="module", params=blocks(48, 48), ids=str)
def cases(request: pytest.FixtureRequest) -> Cases:
    """Every table of a block with no, some and full suppression."""
    return of_tables(request.param, lambda policy, world, rng: policy)


@pytest.fixture(scope="module", params=blocks(48, 48), ids=str)
def weighted(request: pytest.FixtureRequest) -> Cases:
    return of_tables(request.param, weigh)


def of_tables(block: Block, change: Change) -> Cases:
    found = Cases()
    for seed in block:
        case = made(seed, change)
        if case is not None:
            population, uncovered = case.problem.catalog.population, case.problem.catalog.uncovered
            found.extend(case.limited(allowed) for allowed in (uncovered, uncovered + population // 6, population))
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


def exact(name: str, case: Case) -> bool:
    """True when a strategy is optimal for a case."""
    weighted = case.problem.measure.name == "weighted_information_loss"
    return name in EXACT or (name in WEIGHTED and weighted) or (name in MONOTONE and without_suppression(case.problem))


def driven(search: Search, case: Case) -> tuple[Progress, list[Node]]:
    progress = Progress()
    return progress, [request.node for batch in requested(search, case, progress) for request in batch]


def proven(progress: Progress) -> bool:
    bound = progress.lower_bound
    return bound is None or (progress.incumbent is not None and bound >= progress.incumbent.loss * (1 - 1e-12))


@pytest.mark.parametrize("name", ALL)
def test_it_finds_a_feasible_node_or_none_and_the_best_one_where_it_says_so(name: str, cases: Cases) -> None:
    claimed = 0
    for case in cases:
        progress, asked = driven(ALL[name], case)
        assert progress.finished and progress.evaluated == len(asked) == len(set(asked))
        assert progress.statistics["checked"] == len(asked) <= case.problem.lattice.size
        found = progress.incumbent
        assert found is None or case.verdicts[found.node].feasible
        assert not exact(name, case) or proven(progress), case.models
        if proven(progress):
            claimed += 1
            if case.best is None:
                assert found is None
            else:
                assert found is not None and found.loss == pytest.approx(case.best, rel=1e-12, abs=1e-12), case.models
    assert enough(claimed) or name in HEURISTIC


@pytest.mark.parametrize("name", ALL)
def test_its_bound_holds_whenever_it_waits(name: str, cases: Cases) -> None:
    for case in cases:
        if case.best is None:
            continue
        progress = Progress()
        for batch in requested(ALL[name], case, progress):
            assert batch and all(leq(request.floor, request.node) for request in batch)
            incumbent = progress.incumbent.loss if progress.incumbent else case.best
            assert progress.lower_bound is not None
            assert min(progress.lower_bound, incumbent) <= case.best * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("name", [*EXACT, *MONOTONE, *WEIGHTED])
def test_what_was_judged_covers_the_lattice(name: str, cases: Cases) -> None:
    """Every node is judged, below a hopeless one, or above one whose generalization alone costs the best loss."""
    for case in cases:
        problem = case.problem
        if not exact(name, case):
            continue
        if problem.measure.needs == "classes":
            continue
        progress, asked = driven(ALL[name], case)
        infeasible_below = [node for node in asked if problem.infeasible_below(case.verdicts[node])]
        for node in set(case.verdicts) - set(asked):
            loss = progress.incumbent.loss if progress.incumbent else float("inf")
            covered = any(leq(node, other) for other in infeasible_below)
            assert covered or generalization_bound(problem, node) >= loss * (1 - 1e-9) - 1e-12, (node, case.models)


def test_below_a_hopeless_node_all_nodes_are_hopeless(cases: Cases) -> None:
    """Flash2P counts on it: what lies above a node that is not hopeless is not hopeless either."""
    infeasible_below = 0
    for case in cases:
        for node, verdict in case.verdicts.items():
            if not case.problem.infeasible_below(verdict):
                continue
            infeasible_below += 1
            below = [i for i, level in enumerate(node) if level > case.problem.lattice.bottom[i]]
            parts = [case.verdicts[(*node[:i], node[i] - 1, *node[i + 1 :])] for i in below]
            assert all(case.problem.infeasible_below(part) for part in parts), (node, case.models)
            assert all(part.lower_bounds.suppressed >= verdict.lower_bounds.suppressed for part in parts), (
                node,
                case.models,
            )
    assert enough(infeasible_below)


def test_flash_may_miss_the_optimum_when_records_may_be_suppressed(cases: Cases) -> None:
    for search in MONOTONE.values():
        missed = [
            case
            for case in cases
            if (found := driven(search, case)[0].incumbent) is not None and found.loss > case.best * (1 + 1e-9)
        ]
        assert enough(missed) and not any(without_suppression(case.problem) for case in missed)


def test_best_first_judges_no_more_nodes_than_exhaustive(cases: Cases) -> None:
    fewer = 0
    for case in cases:
        checked = len(driven(best_first.search, case)[1])
        assert checked <= len(driven(exhaustive.search, case)[1]) == case.problem.lattice.size
        fewer += checked < case.problem.lattice.size
    assert enough(fewer > len(cases) // 4)


def test_known_bounds_of_all_nodes_save_checks(cases: Cases) -> None:
    counts = {name: sum(len(driven(search, case)[1]) for case in cases) for name, search in EXACT.items()}
    assert counts["flash_two_phase every"] <= counts["flash_two_phase"] <= counts["flash_two_phase 2015"]
    assert enough(counts["flash_two_phase every"] < counts["flash_two_phase"] < counts["flash_two_phase 2015"])


@pytest.mark.parametrize(
    "search", [best_first.search, flash.search, flash_two_phase.search, ola.search, incognito.search]
)
def test_every_antichain_makes_the_same_search(search: Search, cases: Cases) -> None:
    for case in cases[::7]:
        asked = {name: driven(functools.partial(search, option=name), case)[1] for name, _ in OPTIONS}
        assert all(nodes == asked["list"] for nodes in asked.values())


def test_datafly_and_igreedy_never_look_below_their_floor(cases: Cases) -> None:
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


def weighted_information_loss(case: Case, levels: Node) -> float:
    phi = [
        a.losses[level] if a.losses else level / max(a.height - 1, 1)
        for a, level in zip(case.problem.catalog.attributes, levels)
    ]
    return math.fsum(a.weight * loss for a, loss in zip(case.problem.catalog.attributes, phi))


def anonymize_table(case: Case, cost: Callable[[Node], object]) -> tuple[Node | None, list[Node]]:
    """Algorithm 2 of the report, line by line: the answer, and the nodes in the order of the privacy tests."""
    lattice = case.problem.lattice
    opened, visited, tested = [lattice.bottom], set(), []
    while opened:
        best = min(opened, key=cost)
        tested.append(best)
        if case.verdicts[best].feasible:
            return best, tested
        for i in range(len(lattice.top)):
            levels = list(best)
            if lattice.top[i] > levels[i]:
                levels[i] += 1
                child = tuple(levels)
                if child not in visited:
                    opened.append(child)
                    visited.add(child)
        opened.remove(best)
    return None, tested


def priority(case: Case) -> Callable[[Node], object]:
    """The order of nodes that cost the same, which the report leaves open."""
    return lambda node: (weighted_information_loss(case, node), sum(node), [-level for level in node])


def first_in() -> Callable[[Node], object]:
    """The order in which nodes are added."""
    places: dict[Node, int] = {}
    return lambda node: places.setdefault(node, len(places))


@pytest.mark.slow
def test_anon_visits_what_the_algorithm_of_the_paper_visits(weighted: Cases) -> None:
    limited = tied = 0
    for case in weighted:
        answer, tested = anonymize_table(case, priority(case))
        progress, asked = driven(anon.search, case)
        assert progress.statistics["visited"] == len(tested)
        assert set(tested) <= set(asked) and len(asked) <= anon.BATCH * len(tested) and proven(progress)
        assert (answer is None) is (progress.incumbent is None)
        if answer is not None:
            wanted = weighted_information_loss(case, answer)
            assert progress.incumbent.loss == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        limited += case.problem.lattice.top != case.problem.catalog.top
        tied += len({weighted_information_loss(case, node) for node in tested}) < len(tested)
    assert enough(limited > 8 and tied > 2)


def test_with_losses_that_count_levels_anon_is_breadth_first(weighted: Cases) -> None:
    """The comparison of the report, without priorities: first in, first out."""
    longer = 0
    for case in weighted:
        attributes = case.problem.catalog.attributes
        plain = tuple(dataclasses.replace(a, weight=2.0, losses=tuple(map(float, range(a.height)))) for a in attributes)
        catalog = dataclasses.replace(case.problem.catalog, attributes=plain)
        measure = WeightedInformationLoss(catalog)
        verdicts = {
            node: dataclasses.replace(v, loss=measure.bound(node, None, LowerBounds(0)))
            for node, v in case.verdicts.items()
        }
        problem = dataclasses.replace(case.problem, catalog=catalog, measure=measure)
        counted = Case(problem, verdicts, case.models, case.seed)
        answer, tested = anonymize_table(counted, first_in())
        assert tested == sorted(tested, key=lambda node: (sum(node), [-level for level in node]))
        progress, _ = driven(anon.search, counted)
        assert progress.statistics["visited"] == len(tested)
        assert answer is None or sum(progress.incumbent.node) == sum(answer)
        longer += answer is not None and len(tested) > 3
    assert enough(longer > 2)


def test_anon_box_exhaustive_and_best_first_agree(weighted: Cases) -> None:
    searches = (anon.search, box.search, exhaustive.search, best_first.search)
    solved = 0
    for case in weighted:
        found = [driven(search, case)[0] for search in searches]
        losses = [progress.incumbent.loss if progress.incumbent else None for progress in found]
        solved += case.best is not None
        assert losses == [case.best if case.best is None else pytest.approx(case.best, rel=1e-12, abs=1e-12)] * 4
        assert all(map(proven, found))
    assert enough(len(weighted) > solved > 20)


def test_anon_judges_everything_before_it_says_that_there_is_no_solution(weighted: Cases) -> None:
    impossible = [case for case in weighted if case.best is None]
    for case in impossible:
        progress, asked = driven(anon.search, case)
        assert (progress.evaluated, len(asked)) == (case.problem.lattice.size,) * 2
        assert progress.statistics["visited"] == case.problem.lattice.size and progress.lower_bound is None
    assert enough(len(impossible) > 2)


def test_anon_claims_nothing_by_itself_under_another_measure(cases: Cases) -> None:
    missed = 0
    for case in cases:
        if case.problem.measure.name == "weighted_information_loss":
            continue
        for _ in requested(anon.search, case, progress := Progress()):
            assert progress.lower_bound == case.problem.least()
        assert progress.lower_bound == case.problem.least()
        found = progress.incumbent
        missed += found is not None and case.best is not None and found.loss > case.best * (1 + 1e-9)
    assert enough(missed > 1)


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


def test_the_pruning_power_of_the_2015_paper_is_reproduced(shared: Path) -> None:
    columns = [name for name in COLUMNS if name != "occupation"]
    progress = on_adult(shared, columns, 0.05, "non_uniform_entropy", "sum", EXACT["flash_two_phase 2015"])
    assert round(100 * (1 - progress.evaluated / 4320), 1) == 29.6  # without suppression: test_paper_tables.py


@pytest.mark.parametrize("name", ["best_first", "anon", "datafly", "igreedy"])
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
                lower_bounds = LowerBounds(suppressed)
                feasible = suppressed <= catalog.allowed
                answers.append(Verdict(request.node, 1, suppressed, 5, 5, loss, feasible, 1, lower_bounds))
            requests = generator.send(answers)
    except StopIteration:
        assert progress.incumbent is not None and sum(progress.incumbent.node) == 3
