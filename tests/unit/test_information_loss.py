"""Information losses, weights and limits of levels: what a policy may say, and what searches make of it."""

import itertools
import json
import math
import random
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from effort import scaled
from tables import text_table

import sqlanon
from sqlanon.core.search.base import Progress
from sqlanon.errors import HierarchyError, NoSolutionError, PolicyError, SearchStoppedError

LEVELS = {str(i): [f"p{i // 2}", f"q{i // 4}", "*"] for i in range(8)}
STRATEGIES = ("box", "anon", "exhaustive", "best_first")


def column(losses: Any = None, **keys: Any) -> dict:
    hierarchy = {"levels": LEVELS} | ({} if losses is None else {"information_loss": losses})
    return {"role": "quasi_identifier", "hierarchy": hierarchy, **keys}


def policy(*columns: dict, k: int = 3, limit: float = 0, **keys: Any) -> sqlanon.Policy:
    document = {
        "table": "t",
        "columns": {f"c{i}": item for i, item in enumerate(columns)},
        "privacy": [{"type": "k_anonymity", "k": k}],
        "quality": {"measure": "weighted_information_loss"},
        "suppression_limit": limit,
        **keys,
    }
    return sqlanon.Policy.from_dict(document)


def faults(*columns: dict) -> dict[str, str]:
    with pytest.raises(PolicyError) as caught:
        policy(*columns)
    return {fault.key: fault.message for fault in caught.value.faults}


def rows(seed: int, columns: int, size: int = 60) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    return [tuple(str(min(int(rng.expovariate(0.6)), 7)) for _ in range(columns)) for _ in range(size)]


def generalized(value: str, level: int) -> str:
    return [value, *LEVELS[value]][level]


class TestParsing:
    @pytest.mark.parametrize(
        ("losses", "key", "told"),
        [
            ([0, 0.5, 0.4, 1], "", "falls from level 1 to 2"),
            ([0, -0.1, 0.4, 1], "[1]", "not a number in the range"),
            ([0, 0, 0, math.nan], "[3]", "not a number in the range"),
            ([0, 0, 0, math.inf], "[3]", "not a number in the range"),
            ([0, 0, 0, 1e10], "[3]", "not a number in the range"),
            ([0, "0.5", 0.7, 1], "[1]", "not a number in the range"),
            ([0, None, 0.7, 1], "[1]", "not a number in the range"),
            ([False, True, True, True], "[0]", "not a number in the range"),
            ([0, [0.5], 0.7, 1], "[1]", "not a number in the range"),
            ([], "", "not a list of numbers"),
            ("0, 1", "", "not a list of numbers"),
            (0.5, "", "not a list of numbers"),
            ({"0": 1}, "", "not a list of numbers"),
        ],
    )
    def test_a_loss_that_is_none_is_a_fault(self, losses: Any, key: str, told: str) -> None:
        found = faults(column(losses))
        assert told in found[f"columns.c0.hierarchy.information_loss{key}"]

    def test_every_number_that_is_none_is_told(self) -> None:
        found = faults(column([-1, 0, "x", math.nan]), column([1, 0]))
        assert [key.removeprefix("columns.") for key in found] == [
            "c0.hierarchy.information_loss[0]", "c0.hierarchy.information_loss[2]",
            "c0.hierarchy.information_loss[3]", "c1.hierarchy.information_loss",
        ]  # fmt: skip

    @pytest.mark.parametrize("role", ["sensitive", "keep", "drop"])
    def test_it_belongs_to_quasi_identifiers(self, role: str) -> None:
        models = {"models": [{"type": "distinct_l_diversity", "l": 2}]} if role == "sensitive" else {}
        found = faults(column(), column([0, 1, 2, 3], role=role, **models))
        assert "belongs to quasi-identifiers" in found["columns.c1.hierarchy.information_loss"]

    @pytest.mark.parametrize("weight", [-1, math.nan, math.inf, 1e10, "2", True])
    def test_a_weight_that_is_none_is_a_fault(self, weight: Any) -> None:
        assert "columns.c0.weight" in faults(column(weight=weight))

    def test_the_largest_numbers_do_not_overflow(self, connection: duckdb.DuckDBPyConnection) -> None:
        text_table(connection, ["c0", "c1"], rows(1, 2))
        chosen_policy = policy(*[column([0, 1e9, 1e9, 1e9], weight=1e9)] * 2, k=5)
        for strategy in STRATEGIES:
            with sqlanon.plan(connection, searched(chosen_policy, strategy)) as plan:
                assert 0 < plan.certificate.loss < math.inf and plan.certificate.optimal

    def test_hand_made_columns_are_checked_too(self) -> None:
        spec = policy(column()).columns[0].hierarchy
        model = sqlanon.Model("k_anonymity", {"k": 2})
        for losses in ((1.0, 0.5), (math.nan,), (), ("a",), "01"):
            with pytest.raises(PolicyError):
                sqlanon.Policy((sqlanon.Column("a", "quasi_identifier", spec, information_loss=losses),), (model,))

    def test_decimals_and_whole_numbers_are_numbers(self) -> None:
        chosen_policy = policy(column([0, Decimal("0.25"), 1, 2.5]))
        assert chosen_policy.columns[0].information_loss == (0.0, 0.25, 1.0, 2.5)

    @pytest.mark.parametrize(
        "hierarchy",
        [
            {"levels": LEVELS},
            {"suppress": {}},
            {"intervals": {"width": 2, "fanouts": [2], "lower": 0, "upper": 8}},
            {"redact": {"char": "#", "steps": 2}},
            {"dates": ["month", "year"]},
            {"groups": {"g": ["a", "b"], "h": ["c"]}},
            {"table": "levels"},
        ],
    )
    def test_a_policy_is_written_and_read_back(self, hierarchy: dict) -> None:
        item = {"role": "quasi_identifier", "hierarchy": {**hierarchy, "information_loss": [0, 0.5, 0.5, 2]}}
        chosen_policy = policy({**item, "weight": 3, "min_level": 1, "max_level": 1})
        document = json.loads(json.dumps(chosen_policy.to_dict()))
        again = sqlanon.Policy.from_dict(document)
        assert document["columns"]["c0"]["hierarchy"]["information_loss"] == [0, 0.5, 0.5, 2]
        assert again == chosen_policy and again.fingerprint() == chosen_policy.fingerprint()

    def test_the_fingerprint_tells_losses_weights_and_limits(self) -> None:
        columns = [
            column(),
            column([0, 1, 2, 3]),
            column([0, 1, 2, 4]),
            column([0, 1, 2]),
            column(weight=2),
            column(min_level=1),
            column(max_level=1),
        ]
        assert len({policy(item).fingerprint() for item in columns}) == len(columns)
        assert policy(column(None)).fingerprint() == policy(column(weight=1)).fingerprint()


class TestLevels:
    """What the hierarchy has not is refused when it is known, by a plan and by its offspring."""

    @pytest.fixture
    def plan(self, connection: duckdb.DuckDBPyConnection):
        text_table(connection, ["c0", "c1"], rows(2, 2))
        with sqlanon.plan(connection, policy(column(), column())) as found_plan:
            yield found_plan

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("item", "told"),
        [
            (column([0, 1]), "gives 2 information losses, but its hierarchy has 4 levels"),
            (column([0, 1, 2, 3, 4]), "gives 5 information losses, but its hierarchy has 4 levels"),
            (column(max_level=4), "asks for max_level 4, but its hierarchy ends at level 3"),
            (column(min_level=9), "asks for min_level 9, but its hierarchy ends at level 3"),
        ],
    )
    def test_levels_that_the_hierarchy_has_not(self, plan, connection, item: dict, told: str) -> None:
        for bad in (policy(item, column()), policy(column(), item)):
            name = "c0" if bad.columns[0] != plan.policy.columns[0] else "c1"
            with pytest.raises(HierarchyError, match=f"^Column '{name}' {told}"):
                plan.with_policy(bad)
            with pytest.raises(HierarchyError, match=told):
                sqlanon.plan(connection, bad)
        assert plan.with_policy(plan.policy).solution == plan.solution  # which is as good as before

    @pytest.mark.slow
    def test_a_plan_takes_other_losses_weights_and_limits(self, plan, connection) -> None:
        for columns in (
            (column([0, 0, 0, 5]), column([0, 1, 5, 9])),
            (column([0, 1, 5, 9], weight=0.1), column([0, 0, 0, 5])),
            (column(weight=0), column(min_level=1, max_level=2)),
            (column([3, 3, 3, 3]), column()),
        ):
            other = policy(*columns, k=4)
            with sqlanon.plan(connection, other) as fresh:
                shared = plan.with_policy(other)
                assert (shared.solution, shared.certificate.loss) == (fresh.solution, fresh.certificate.loss)
                assert shared.certificate.optimal


def brute_force(data: list[tuple[str, ...]], made: sqlanon.Policy) -> float | None:
    """The least weighted information loss of all nodes within the limits, from the definition."""
    allowed = made.allowed_suppressions(len(data))
    k = made.privacy[0].parameters["k"]
    ranges = [range(c.min_level or 0, (3 if c.max_level is None else c.max_level) + 1) for c in made.columns]
    best = None
    for node in itertools.product(*ranges):
        classes: dict[tuple[str, ...], int] = {}
        for row in data:
            key = tuple(map(generalized, row, node))
            classes[key] = classes.get(key, 0) + 1
        suppressed = sum(size for size in classes.values() if size < k)
        if suppressed <= allowed and suppressed < len(data):
            loss = sum(c.weight * (c.information_loss or (0, 1 / 3, 2 / 3, 1))[x] for c, x in zip(made.columns, node))
            best = loss if best is None else min(best, loss)
    return best


def random_column(rng: random.Random) -> dict:
    low, high = sorted(rng.choices(range(4), k=2))
    losses = sorted(rng.choices([0, 0.1, 0.2, 0.25, 1, 1, 7], k=4))
    limits = rng.choice([{}, {"min_level": low}, {"max_level": high}, {"min_level": low, "max_level": high}])
    return column(rng.choice([None, losses, losses]), weight=rng.choice([0, 0.3, 1, 1, 2]), **limits)


def searched(made: sqlanon.Policy, strategy: str, **options: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict({**made.to_dict(), "search": {"strategy": strategy, **options}})


class TestSearch:
    @pytest.mark.parametrize("seed", range(scaled(10)))
    @pytest.mark.slow
    def test_every_exact_strategy_proves_the_optimum_of_a_brute_force(self, connection, seed: int) -> None:
        rng = random.Random(seed)
        count = rng.choice([1, 2, 3, 3])
        data = rows(seed, count, rng.choice([5, 20, 60]))
        text_table(connection, [f"c{i}" for i in range(count)], data)
        columns = [random_column(rng) for _ in range(count)]
        chosen_policy = policy(*columns, k=rng.choice([2, 4, 8]), limit=rng.choice([0, 0.05, 0.3]))
        best = brute_force(data, chosen_policy)
        for strategy in STRATEGIES:
            seen: list[Progress] = []
            if best is None:
                with pytest.raises(NoSolutionError):
                    sqlanon.plan(connection, searched(chosen_policy, strategy), watch=seen.append)
                continue
            with sqlanon.plan(connection, searched(chosen_policy, strategy)) as plan:
                assert plan.certificate.loss == pytest.approx(best, rel=1e-12, abs=1e-12), strategy
                assert plan.certificate.optimal and plan.certificate.gap == 0, strategy
                assert plan.proof is not None

    @pytest.mark.slow
    def test_limits_that_leave_no_solution(self, connection) -> None:
        data = [(str(i % 8), str(i // 8), str(i)[-1].replace("8", "0").replace("9", "0")) for i in range(16)]
        text_table(connection, ["c0", "c1", "c2"], data)
        chosen_policy = policy(
            column([0, 0.1, 0.5, 1], max_level=2), column([0, 0, 0, 2], max_level=2), column(max_level=2), k=9
        )
        assert brute_force(data, chosen_policy) is None
        for strategy in STRATEGIES:
            seen: list[Progress] = []
            with pytest.raises(NoSolutionError, match="with everything generalized the policy is met") as caught:
                sqlanon.plan(connection, searched(chosen_policy, strategy), watch=seen.append)
            assert caught.value.nearest["suppressed"] == 16 and caught.value.nearest["allowed"] == 0
            if strategy == "anon":
                assert seen[-1].evaluated == 27  # the whole lattice

    @pytest.mark.parametrize("strategy", ["anon", "box", "best_first"])
    @pytest.mark.slow
    def test_a_search_that_is_stopped_has_a_sound_lower_bound(self, connection, strategy: str) -> None:
        data = rows(5, 3, 80)
        text_table(connection, ["c0", "c1", "c2"], data)
        chosen_policy = policy(
            column([0, 0, 0.2, 1], weight=2), column([0, 0.3, 0.3, 5], min_level=1), column(weight=0.5), k=12
        )
        best = brute_force(data, chosen_policy)
        stopped = refusals = 0
        for most in range(1, 61, 6):
            try:
                with sqlanon.plan(connection, searched(chosen_policy, strategy, max_evaluations=most)) as plan:
                    certificate = plan.certificate
            except SearchStoppedError:
                stopped += 1
                continue
            assert certificate.evaluated <= most
            assert certificate.lower_bound is None or certificate.lower_bound <= best + 1e-12
            assert certificate.loss >= best - 1e-12
            assert not certificate.optimal or certificate.loss == pytest.approx(best)
            refusals += certificate.optimal
        assert refusals and (stopped or strategy == "box")

    @pytest.mark.slow
    def test_equal_losses_and_weights_of_zero_change_no_verdict(self, connection) -> None:
        data = rows(7, 2)
        text_table(connection, ["c0", "c1"], data)
        for items in ((column([2, 2, 2, 2]), column([0, 0, 0, 0])), (column(weight=0), column(weight=0))):
            chosen_policy = policy(*items, k=5)
            for strategy in STRATEGIES:
                with sqlanon.plan(connection, searched(chosen_policy, strategy)) as plan:
                    assert plan.certificate.loss == brute_force(data, chosen_policy) and plan.certificate.optimal

    def test_anon_counts_the_nodes_of_the_algorithm(self, connection) -> None:
        text_table(connection, ["c0", "c1"], [("0", str(i)) for i in range(8)])
        chosen_policy = searched(policy(column([0, 1, 2, 3]), column([0, 0.25, 0.5, 0.75])), "anon")
        with sqlanon.plan(connection, chosen_policy) as plan:
            assert plan.solution.levels == {"c0": 0, "c1": 2}
            assert plan.search.statistics["visited"] == 3 and plan.certificate.strategy == "anon"

    def test_the_certificate_of_anon_holds(self, connection, tmp_path) -> None:
        text_table(connection, ["c0", "c1"], rows(9, 2))
        output = {"output": {"file": str(tmp_path / "release.parquet")}}
        chosen_policy = policy(column([0, 0, 0.5, 1], weight=2), column([0, 1, 1, 1], min_level=1), k=4, **output)
        with sqlanon.anonymize(connection, searched(chosen_policy, "anon")) as release:
            assert release.certificate.optimal
        found = sqlanon.verify(tmp_path / "release.parquet.certificate.json", chosen_policy, connection)
        assert found.holds and found.optimal, found.faults
        dearer = policy(column([0.1, 0.1, 0.6, 1.1], weight=2), column([0, 1, 1, 1], min_level=1), k=4, **output)
        again = sqlanon.verify(tmp_path / "release.parquet.certificate.json", dearer, connection)
        assert not again.holds and "created for another policy" in again.faults[0]
