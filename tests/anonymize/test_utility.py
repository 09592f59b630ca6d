"""What a release is still good for, compared with its definitions record by record."""

import random
from collections import Counter
from typing import Any

import brute
import brute_utility
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from policies import quasi
from random_cases import random_tree
from tables import store

import sqlanon
from sqlanon.assess.utility import queries as queries_module
from sqlanon.assess.utility import released as released_module
from sqlanon.assess.utility.released import ReleasedTypes
from sqlanon.core.compiler.released_types import one_rule
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.planned import Planned
from sqlanon.core.plan.published import PublishedTypes
from sqlanon.core.sqltrees import names
from sqlanon.errors import HierarchyError, InputError, NoSolutionError, PolicyError, UnsupportedError

POOL: list[brute.Text] = [None, "", "NULL", "*", "a", "b", "null", " ", "é", "x" * 70]
NUMBERS: list[brute.Text] = [None, "1", "2", "3", "5", "8", "13", "-4", "100"]
HOW: list[dict[str, Any] | None] = [
    None,
    {"type": "patterns"},
    {"type": "local_recoding", "nodes": 3, "seed": 5},
]


def random_plan(seed: int) -> tuple[list[tuple], list[brute.Tree], dict[str, Any], bool]:
    """Records with an id, hierarchies, and a policy; whether the last column holds whole numbers."""
    rng = random.Random(seed)
    numeric = rng.random() < 0.5
    pools = [rng.sample(POOL, rng.randint(1, 6)) for _ in range(rng.randint(1, 3))]
    pools.append(rng.sample(NUMBERS if numeric else POOL, rng.randint(1, 6)))
    rows = [tuple(rng.choice(pool) for pool in pools) for _ in range(rng.choice([2, 8, 30, 80]))]
    how = rng.choice(HOW)
    uncovered = ["error", "error", "top", "suppress"] if how is None else ["error"]
    trees = [random_tree(rng, pool, rng.choice(uncovered)) for pool in pools]
    if how is not None and how["type"] == "patterns":
        listed = [sorted({row[i] for row in rows} - {None}) or ["a"] for i in range(len(pools))]
        trees = [brute.Tree([(value, "*") for value in values]) for values in listed]
    columns: dict[str, Any] = {
        f"c{i}": quasi(
            {"levels": {row[0]: list(row[1:]) for row in tree.rows}},
            uncovered=tree.uncovered,
            weight=rng.choice([1, 2, 0.5]),
        )
        for i, tree in enumerate(trees)
    }
    columns["id"] = {"role": "keep"}
    document = {
        "table": "t",
        "columns": columns,
        "accept": ["id"],
        "privacy": [{"type": "k_anonymity", "k": rng.choice([1, 2, 3])}],
        "suppression_limit": rng.choice([0.1, 0.5, 1]),
        "nulls": rng.choice(["extended", "basic"]),
        "quality": {"measure": rng.choice(["loss", "precision", "discernibility"]) if how is None else "loss"},
    }
    if how is not None:
        document["transformation"] = how
    return rows, trees, document, numeric


def opened(rows: list[tuple], document: dict[str, Any], numeric: bool) -> Planned:
    """A plan of the records in DuckDB."""
    connection = duckdb.connect()
    kinds = [pa.string()] * (len(rows[0]) - 1) + [pa.int64() if numeric else pa.string()]
    cells = list(zip(*rows, strict=True))
    if numeric:
        cells[-1] = tuple(None if value is None else int(value) for value in cells[-1])
    data = {f"c{i}": pa.array(of, kind) for i, (of, kind) in enumerate(zip(cells, kinds, strict=True))}
    store(connection, pa.table({**data, "id": pa.array(range(len(rows)))}))
    policy = sqlanon.Policy.from_dict(document)
    return (sqlanon.recode if policy.transformation is not None else sqlanon.plan)(connection, policy)


def records_of(
    plan: Planned, rows: list[tuple], trees: list[brute.Tree]
) -> tuple[list[brute_utility.Record], int] | None:
    """The records that are encoded with the levels at which the release has them, and how many are not covered.

    None where the texts of a level do not tell it.
    """
    released = plan.publish().to_arrow().to_pylist()
    shown = {row["id"]: [row[f"c{i}"] for i in range(len(trees))] for row in released}
    names_of_rules = list(plan.published_types().rules.values())
    found: list[brute_utility.Record] = []
    uncovered = 0
    for number, row in enumerate(rows):
        if plan.policy.nulls == "basic" and None in row:
            assert number not in shown
            continue
        if not all(tree.covers(value) for tree, value in zip(trees, row, strict=True)):
            uncovered += 1
            assert number not in shown
            continue
        if number not in shown:
            found.append((row, None))
            continue
        texts = [None if text is None else str(text) for text in shown[number]]
        fitting = [
            node
            for node in names_of_rules
            if all(t.generalize(v, level) == text for t, v, level, text in zip(trees, row, node, texts, strict=True))
        ]
        if len(fitting) != 1:
            return None
        found.append((row, fitting[0]))
    return found, uncovered


def texts_of(types: ReleasedTypes, position: int) -> dict[int, brute.Text]:
    """Per number of a value, its text."""
    words = range(types.catalog.words)
    keys = ", ".join(f"key_{word}" for word in words)
    rows = types.engine.run(
        "values", f'SELECT level_0, {keys} FROM "{names.LOOKUP}" WHERE attribute = {position} AND covered = 1'
    )
    found = types.values[position].numbers([np.array([row[1 + word] for row in rows], np.int64) for word in words])
    return {int(number): row[0] for number, row in zip(found, rows, strict=True)}


@pytest.mark.slow
@seeds(40, 10)
def test_figures_are_those_of_the_definitions(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()
    for seed in block:
        monkeypatch.setattr(released_module, "MOST_ROWS", 0 if seed % 3 == 0 else 1_000_000)
        rows, trees, document, numeric = random_plan(seed)
        try:
            plan = opened(rows, document, numeric)
        except (NoSolutionError, HierarchyError, UnsupportedError, PolicyError):
            continue
        with plan:
            found = records_of(plan, rows, trees)
            if found is None or not found[0]:
                continue
            records, uncovered = found
            seen[str(document.get("transformation"))] += 1
            compare_columns(plan, trees, records, uncovered, numeric)
            compare_queries(plan, trees, records)
    assert enough(len(seen) > 1)


def compare_columns(
    plan: Planned, trees: list[brute.Tree], records: list[brute_utility.Record], uncovered: int, numeric: bool
) -> None:
    measured = plan.utility(queries=0)
    counted = plan.published_types().count_values(plan.engine, plan.catalog)
    published = sum(levels is not None for _, levels in records)
    whole = len(records) + uncovered
    assert (measured.records, measured.published, measured.suppressed) == (whole, published, whole - published)
    for i, tree in enumerate(trees):
        column = measured.column(f"c{i}")
        values = [brute_utility.value_of(tree, row[i]) for row, _ in records]
        last = tree.height - 1
        by_level = Counter(
            last if row[i] is not None and row[i] not in tree.map else levels[i]
            for row, levels in records
            if levels is not None
        )
        assert {level.level: level.records for level in column.levels} == dict(by_level)
        assert column.suppressed == whole - published
        assert column.values_before == len(set(values))
        shown = {tree.generalize(row[i], levels[i]) for row, levels in records if levels is not None}
        assert column.values_after == len(shown) == counted.get(f"c{i}", len(shown))
        assert (f"c{i}" in counted) == (len(plan.published_levels[i]) == 1)
        expected = brute_utility.total_variations(tree, records, i, uncovered)
        assert (column.total_variation, column.total_variation_published) == pytest.approx(expected)
        if column.loss_measure == "loss":
            assert column.loss == pytest.approx(brute_utility.loss(tree, records, i, uncovered))
        is_number = numeric and i == len(trees) - 1 and any(value is not None for value in values)
        if is_number:
            assert column.ordered
            place = {value: float(value) for value in values if value is not None and value in tree.map}
            if "ROOT" not in values:  # of a value that no hierarchy lists
                area = brute_utility.moved(tree, records, i, place.get)
                assert column.wasserstein_published == pytest.approx(area)
                if area is not None:
                    share = (whole - published) / whole
                    assert column.wasserstein == pytest.approx(share + (1 - share) * area)
        assert sum(bucket.after for bucket in column.buckets) == whole
        assert sum(bucket.before for bucket in column.buckets) == whole
        for bucket in column.buckets:
            assert bucket.kind in ("other", "suppressed") or bucket.after >= measured.least
            if bucket.kind in ("value", "null"):
                text = bucket.label if bucket.kind == "value" else None
                level = column.bucket_level
                own = [tree.generalize(row[i], level) == text for row, _ in records]
                assert bucket.before == sum(own)
                assert bucket.after == sum(
                    mine and levels is not None for mine, (_, levels) in zip(own, records, strict=True)
                )


def compare_queries(plan: Planned, trees: list[brute.Tree], records: list[brute_utility.Record]) -> None:
    session = plan._session
    errors = plan.utility(queries=30, seed=7).queries
    with ReleasedTypes(plan.engine, session.encoding, plan.catalog, plan.published_types()) as types:
        columns = [i for i, values in enumerate(types.values) if values.occurs.sum() > 1]
        if not columns:
            assert errors is None
            return
        assert errors is not None and errors.queries == 30
        most = queries_module.MOST_SETS if types.held else queries_module.MOST_SETS_OF_ENGINE
        sets = queries_module.column_sets(columns, most, 7)
        texts = {i: texts_of(types, i) for i in columns}
        found = []
        for number in range(30):
            positions = sets[number % len(sets)]
            query = queries_module.draw(types.values, positions, 7, number)
            wanted = {
                i: {texts[i][value] for value in marks.nonzero()[0].tolist()} for i, marks in query.wanted.items()
            }
            truth, estimates = brute_utility.answers(trees, records, wanted)
            found.append([abs(estimate - truth) / max(truth, errors.sanity_bound) for estimate in estimates])
    for error, of in zip(errors.errors, np.array(found).T, strict=True):
        expected = [np.median(of), np.percentile(of, 95), of.mean()]
        assert [error.median, error.percentile_95, error.mean] == pytest.approx(expected)


def people(document: dict[str, Any]) -> Plan:
    """Eight persons: ages 20, 20, 30, 30, 40, 40, 50, 90 in bands of 20 to 39, 40 to 59 and 80 to 99."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT UNNEST([20, 20, 30, 30, 40, 40, 50, 90]) AS age")
    bands = {20: "20-39", 30: "20-39", 40: "40-59", 50: "40-59", 90: "80-99"}
    ages = quasi({"levels": {age: [band, "*"] for age, band in bands.items()}})
    return sqlanon.plan(connection, {"table": "t", "columns": {"age": ages}, **document})


def test_a_release_by_hand() -> None:
    with people({"privacy": [{"type": "k_anonymity", "k": 3}], "suppression_limit": 0.2}) as plan:
        measured = plan.utility(queries=0)
        assert plan.levels == {"age": 1}
    age = measured.column("age")
    assert (measured.records, measured.published, measured.suppressed) == (8, 7, 1)
    assert (age.values_before, age.values_after) == (5, 2)
    # released: 2 of 20, 2 of 30, 1.5 of 40, 1.5 of 50; before: 2, 2, 2, 1, and 1 of 90
    assert age.total_variation == pytest.approx((0.5 + 0.5 + 1 + 1) / 8 / 2)
    differences = [2 / 8 - 2 / 7, 2 / 8 - 2 / 7, 2 / 8 - 1.5 / 7, 1 / 8 - 1.5 / 7, 1 / 8]
    assert age.total_variation_published == pytest.approx(sum(map(abs, differences)) / 2)
    ahead = np.abs(np.cumsum(differences))
    moved = (ahead[0] * 10 + ahead[1] * 10 + ahead[2] * 10 + ahead[3] * 40) / 70
    assert age.wasserstein_published == pytest.approx(moved)
    assert age.wasserstein == pytest.approx(1 / 8 + 7 / 8 * moved)
    # leaves - 1 is 1 of 4, and the suppressed record counts 1
    assert age.loss == pytest.approx((7 / 4 + 1) / 8)
    assert [(b.kind, b.label, b.before, b.after) for b in age.buckets] == [
        ("value", "20-39", 4, 4),
        ("value", "40-59", 3, 3),
        ("other", "other", 1, 0),
        ("suppressed", "suppressed", 0, 1),
    ]


def test_a_release_that_changes_nothing_has_no_error() -> None:
    with people({"privacy": [{"type": "k_anonymity", "k": 1}]}) as plan:
        measured = plan.utility()
    [age] = measured.columns
    assert (age.loss, age.total_variation, age.total_variation_published) == (0, 0, 0)
    assert (age.wasserstein, age.wasserstein_published, age.suppressed) == (0, 0, 0)
    assert measured.queries is not None
    assert all((e.median, e.percentile_95, e.mean) == (0, 0, 0) for e in measured.queries.errors)


def test_where_nothing_is_published_all_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    with people({"privacy": [{"type": "k_anonymity", "k": 3}], "suppression_limit": 0.2}) as plan:
        monkeypatch.setattr(
            Plan, "published_types", lambda self: PublishedTypes(one_rule(self.question, (0,)), {0: (0,)})
        )
        monkeypatch.setattr(Plan, "attribute_losses", None)
        measured = plan.utility()
    [age] = measured.columns
    assert (age.loss, age.total_variation, age.wasserstein, age.suppressed_share) == (1, 1, 1, 1)
    assert measured.queries is not None
    assert measured.published == 0 and all(error.percentile_95 <= 1 for error in measured.queries.errors)
    assert (age.total_variation_published, age.wasserstein_published, age.values_after) == (None, None, 0)
    assert age.levels == ()
    assert [bucket.kind for bucket in age.buckets] == ["other", "suppressed"]


@pytest.mark.slow
def test_the_same_seed_draws_the_same_queries() -> None:
    with people({"privacy": [{"type": "k_anonymity", "k": 3}], "suppression_limit": 0.2}) as plan:
        first, again, other = (plan.utility(seed=seed).queries for seed in (3, 3, 4))
        assert first == again
        assert other is not None and other.seed == 4
        assert plan.publish().utility(seed=3).queries == first


@pytest.mark.parametrize("asked", [{"queries": -1}, {"queries": True}, {"queries": 10**9}, {"seed": -1}, {"seed": 1.5}])
def test_numbers_out_of_range_are_refused(asked: dict[str, Any]) -> None:
    with (
        people({"privacy": [{"type": "k_anonymity", "k": 3}], "suppression_limit": 0.2}) as plan,
        pytest.raises(InputError),
    ):
        plan.utility(**asked)
