"""Columns that are published as they are, association and prediction, compared with their definitions."""

import json
import random
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import brute
import brute_utility
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from command_line import sqlanon as sqlanon_command
from effort import Block, enough, seeds
from policies import document_of, intervals
from random_cases import random_tree
from tables import store

import sqlanon
from sqlanon.assess.utility import categories
from sqlanon.assess.utility.categories import ComparedRecords
from sqlanon.assess.utility.others import OtherColumns
from sqlanon.assess.utility.prediction import prediction
from sqlanon.assess.utility.released import ReleasedTypes
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.plan.planned import Planned
from sqlanon.core.sqltrees import names
from sqlanon.errors import HierarchyError, InputError, NoSolutionError, UnsupportedError

POOL: list[brute.Text] = [None, "", "n", "v", "NULL", "a", "b", " ", "é", "x" * 70]
HOW: list[dict[str, Any] | None] = [
    None,
    {"type": "patterns"},
    {"type": "local_recoding", "nodes": 3, "seed": 5, "hold": 0},
]


def random_release(seed: int) -> tuple[list[tuple], list[brute.Tree], dict[str, Any]]:
    """Records of quasi-identifiers q0, q1, …, a diagnosis, an amount and an id; hierarchies and a policy."""
    rng = random.Random(seed)
    how = rng.choice(HOW)
    pools = [rng.sample(POOL, rng.randint(1, 6)) for _ in range(rng.randint(1, 3))]
    diagnoses = rng.sample(POOL, rng.randint(1, 5))
    rows = [
        (
            *(rng.choice(pool) for pool in pools),
            rng.choice(diagnoses),
            rng.choice([None, 1.5, -2.0, 7.25, 100.0]),
            number,
        )
        for number in range(rng.choice([8, 30, 60]))
    ]
    trees = [random_tree(rng, pool, "error") for pool in pools]
    if how is not None and how["type"] == "patterns":
        values = [sorted({row[i] for row in rows} - {None}) or ["a"] for i in range(len(pools))]
        trees = [brute.Tree([(value, "*") for value in of]) for of in values]
    columns: dict[str, Any] = {
        f"q{i}": {"role": "quasi_identifier", "hierarchy": {"levels": {row[0]: list(row[1:]) for row in tree.rows}}}
        for i, tree in enumerate(trees)
    }
    columns |= {"diagnosis": {"role": "keep"}, "amount": {"role": "keep"}, "id": {"role": "keep"}}
    document = {
        "table": "t",
        "columns": columns,
        "accept": ["id", "amount", "diagnosis"],
        "privacy": [{"type": "k_anonymity", "k": rng.choice([1, 2, 3])}],
        "suppression_limit": rng.choice([0.1, 0.5, 1]),
        "nulls": rng.choice(["extended", "basic"]),
    }
    if how is not None:
        document["transformation"] = how
    return rows, trees, document


def opened(rows: list[tuple], document: dict[str, Any]) -> Planned:
    """A plan of the records in DuckDB."""
    connection = duckdb.connect()
    *quasi, diagnosis, amount, number = zip(*rows, strict=True)
    data = {f"q{i}": pa.array(column, pa.string()) for i, column in enumerate(quasi)}
    data |= {"diagnosis": pa.array(diagnosis, pa.string()), "amount": pa.array(amount, pa.float64())}
    store(connection, pa.table({**data, "id": pa.array(number)}))
    policy = sqlanon.Policy.from_dict(document)
    return (sqlanon.recode if policy.transformation is not None else sqlanon.plan)(connection, policy)


@seeds(20, 5)
@pytest.mark.slow
def test_comparisons_are_those_of_the_definitions(block: Block) -> None:
    seen: Counter[str] = Counter()
    for seed in block:
        rows, trees, document = random_release(seed)
        try:
            plan = opened(rows, document)
        except (NoSolutionError, HierarchyError):
            continue
        with plan:
            taking_part = [row for row in rows if plan.policy.nulls == "extended" or None not in row[: len(trees)]]
            released = {row["id"]: row for row in plan.publish().to_arrow().to_pylist()}
            if not taking_part:
                continue
            compare_others(plan, taking_part, released, len(trees))
            compare_associations(plan, taking_part, released, len(trees))
            compare_prediction(plan, random.Random(seed).choice(["diagnosis", "q0", "amount"]))
            seen[str(document.get("transformation"))] += 1
    assert enough(len(seen) > 1)


def compare_others(plan: Planned, rows: list[tuple], released: dict[int, dict[str, Any]], quasi: int) -> None:
    measured = plan.utility(queries=0)
    assert [column.name for column in measured.columns] == [column.name for column in plan.policy.columns]
    n, kept = len(rows), len(released)
    for place, name in ((quasi, "diagnosis"), (quasi + 1, "amount")):
        column = measured.column(name)
        before = Counter(row[place] for row in rows)
        after = Counter(row[name] for row in released.values())
        assert (column.values_before, column.values_after) == (len(before), len(after))
        assert column.suppressed == n - kept
        assert column.total_variation == column.loss == pytest.approx(1 - kept / n)
        differences = sum(abs(before[value] / n - after[value] / kept) for value in before) / 2
        assert column.total_variation_published == pytest.approx(differences)
        for bucket in column.buckets:
            if bucket.kind in ("value", "null"):
                texts = {None if value is None else str(value): value for value in before}
                value = texts[bucket.label if bucket.kind == "value" else None]
                assert (bucket.before, bucket.after) == (before[value], after[value])
                assert bucket.after >= measured.least
    amount = measured.column("amount")
    numbers = [row[quasi + 1] for row in rows if row[quasi + 1] is not None]
    assert amount.ordered == bool(numbers)
    shown = [row["amount"] for row in released.values() if row["amount"] is not None]
    if numbers and shown:
        cuts = sorted(set(numbers))
        area = sum(
            abs(sum(x <= low for x in numbers) / len(numbers) - sum(x <= low for x in shown) / len(shown))
            * (high - low)
            for low, high in pairwise(cuts)
        )
        length = cuts[-1] - cuts[0]
        assert amount.wasserstein_published == pytest.approx(area / length if length else 0)


def compare_associations(plan: Planned, rows: list[tuple], released: dict[int, dict[str, Any]], quasi: int) -> None:
    """Texts alone, of which none is merged: a category is a value, or a text at the level of its rule."""
    found = plan.utility(queries=0).association
    assert found is not None
    several = len(plan.published_types().rules) > 1  # then equal texts of two levels are two categories
    texts = [*(f"q{i}" for i in range(quasi)), "diagnosis"]
    for pair in found.pairs:
        if pair.first in texts and pair.second in texts:
            places = [texts.index(pair.first), texts.index(pair.second)]
            expected = brute_utility.cramers_v([(row[places[0]], row[places[1]]) for row in rows])
            assert pair.before == pytest.approx(expected, abs=1e-9)
            if not several:
                shown = [(row[pair.first], row[pair.second]) for row in released.values()]
                assert pair.after == pytest.approx(brute_utility.cramers_v(shown), abs=1e-9)
    changes = [abs(pair.after - pair.before) for pair in found.pairs]
    assert found.mean_change == pytest.approx(np.mean(changes)) and found.max_change == pytest.approx(max(changes))


def compare_prediction(plan: Planned, target: str) -> None:
    engine = plan.engine
    others = [
        (column.name, column.role, plan._session.encoding.types[column.name])
        for column in plan.policy.columns
        if column.role == "keep"
    ]
    with (
        ReleasedTypes(engine, plan._session.encoding, plan.catalog, plan.published_types()) as types,
        OtherColumns(types, others) as found,
        ComparedRecords(types, found, target) as compared,
    ):
        measured = prediction(engine, compared.names, target)
        count = len(compared.names)
        parted = engine.run("parted", f'SELECT * FROM "{names.PARTED}"')
    assert sum(row[-2] for row in parted) == types.records_published + sum(row[-2] for row in parted if row[count] < 0)
    tests = sum(row[-1] for row in parted)
    if not tests:
        assert measured is None
        return
    assert measured is not None
    assert tests == sum(row[-2] for row in parted) // compiler.EVERY == measured.tests
    features = [i for i, name in enumerate(compared.names) if name != target]
    for released, accuracy in ((False, measured.accuracies[0].original), (True, measured.accuracies[0].release)):
        offset = count if released else 0
        usable = [row for row in parted if not released or row[count] >= 0]
        training = [
            (tuple(row[offset + i] for i in features), row[2 * count])
            for row in usable
            for _ in range(row[-2] - row[-1])
        ]
        sizes = Counter(guess for _, guess in training)
        if not sizes:
            assert accuracy == 0
            continue
        fallback = min(sizes, key=lambda guess: (-sizes[guess], guess))
        asked = [row for row in usable if row[-1]]
        guesses = brute_utility.naive_bayes(training, [tuple(row[offset + i] for i in features) for row in asked])
        surely = sum(row[-1] for row, best in zip(asked, guesses, strict=True) if best == [row[2 * count]])
        maybe = sum(row[-1] for row, best in zip(asked, guesses, strict=True) if row[2 * count] in best)
        if released:
            gone = sum(row[-1] for row in parted if row[count] < 0 and row[2 * count] == fallback)
            surely, maybe = surely + gone, maybe + gone
        assert surely - 1e-9 <= accuracy * tests <= maybe + 1e-9


def test_quantiles_hold_about_equally_many_records() -> None:
    records = np.array([5, 1, 1, 1, 1, 1, 40, 50])
    places = np.array([np.nan, 5.0, 4.0, 3.0, 2.0, 1.0, 6.0, 7.0])
    assert categories.of_values(records, places).tolist() == [10, 0, 0, 0, 0, 0, 2, 7]


def test_rare_values_are_one_category() -> None:
    found = categories.of_frequency(np.arange(30))
    assert found[29] == 0 and found[11] == 18 and set(found[:11].tolist()) == {19}


@pytest.mark.slow
def test_learners_of_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i % 7 AS a, i % 5 AS b, CASE WHEN i % 7 < 3 THEN 'low' ELSE 'high' END AS c "
        "FROM range(700) r(i)"
    )
    quasi = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    document = document_of({"a": quasi, "b": {**quasi, "min_level": 1}, "c": "keep"}, k=5, table="t")
    with sqlanon.plan(connection, document) as plan:
        found = plan.utility("c", queries=0, ml=True).prediction
        assert found == plan.utility("c", queries=0, ml=True).prediction
        with pytest.raises(InputError, match="nothing to predict"):
            plan.utility(ml=True)
    assert found is not None and found.tests == 233
    assert [item.learner for item in found.accuracies] == ["naive_bayes", "logistic_regression", "random_forest"]
    assert all(item.original == item.release == 1 for item in found.accuracies)  # a says all of c
    assert found.majority == pytest.approx(4 / 7, abs=0.01)


def test_without_scikit_learn_the_hint_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    rows, _, document = random_release(4)
    with opened(rows, document) as plan, pytest.raises(UnsupportedError) as refused:
        plan.utility("diagnosis", ml=True)
    assert "sqlanon[ml]" in str(refused.value)


@pytest.mark.slow
def test_the_number_of_statements_does_not_depend_on_that_of_columns() -> None:
    counts = []
    for extra in (1, 6):
        connection = duckdb.connect()
        cells = ", ".join(f"i % {column + 11} AS k{column}" for column in range(extra))
        connection.execute(f"CREATE TABLE t AS SELECT i % 7 AS a, i % 5 AS b, {cells} FROM range(700) r(i)")
        quasi = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
        columns = {"a": quasi, "b": quasi, **{f"k{column}": {"role": "keep"} for column in range(extra)}}
        document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}]}
        document["accept"] = list(columns)[2:]
        with sqlanon.plan(connection, document) as plan:
            before = plan.statements
            plan.utility("a", queries=20)
            counts.append(plan.statements - before)
    assert counts[0] == counts[1]


def test_nothing_is_left_in_the_database() -> None:
    rows, _, document = random_release(4)
    with opened(rows, document) as plan:
        plan.utility("diagnosis", queries=5)
        left = plan.engine.run("left", "SELECT table_name FROM information_schema.tables")
    ours = {names.RELEASED_TYPES, names.RELEASED_RECORDS, names.OTHER_VALUES, names.CATEGORIES, names.COMPARED}
    ours |= {names.PARTED, names.LIKELIHOODS, names.SHOWN_VALUES, names.RULE_LEVELS}
    assert left and not ours & {name for (name,) in left}


@pytest.mark.slow
def test_the_command_prints_figures_and_no_value(tmp_path: Path) -> None:
    people = [f"{20 + i % 9},Ulm{i % 3},{'fc'[i % 2]}lu" for i in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,illness", *people]) + "\n")
    columns = {"age": intervals(5), "town": "suppress", "illness": "keep"}
    policy = document_of(columns, k=12, source="people.csv", suppression_limit=0.1, output={"file": "released.csv"})
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    done = sqlanon_command("utility", tmp_path / "policy.json", "--target", "illness")
    assert done.returncode == 0, done.stderr
    assert "naive Bayes" in done.stdout and "Ulm" not in done.stdout and "flu" not in done.stdout
    done = sqlanon_command("utility", tmp_path / "policy.json", "--json", "--queries", "7", "--seed", "3")
    document = json.loads(done.stdout)
    assert (document["queries"]["queries"], document["queries"]["seed"], document["prediction"]) == (7, 3, None)
    assert document["records"] == 90 and set(document["definitions"]) >= {"uniform", "association"}
    assert not (tmp_path / "released.csv").exists()
    done = sqlanon_command("utility", tmp_path / "policy.json", "--target", "name")
    assert done.returncode == 2 and "predicted" in done.stderr


def test_a_target_that_is_not_published_is_refused() -> None:
    rows, _, document = random_release(4)
    document["columns"]["id"] = {"role": "drop"}
    document["accept"] = ["amount", "diagnosis"]
    with opened(rows, document) as plan:
        for target in ("id", "nothing"):
            with pytest.raises(InputError, match="predicted"):
                plan.utility(target)


def test_with_many_columns_some_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(categories, "MOST_COLUMNS", 2)
    rows, _, document = random_release(4)
    with opened(rows, document) as plan:
        found = plan.utility("amount", queries=0)
    assert found.association is not None and found.prediction is not None
    assert len(found.association.pairs) == 1 and found.association.pairs[0].second == "amount"
    assert "id" in found.association.left_out


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["adult", "cup"])
def test_on_real_data_shares_and_losses_agree(shared: Path, dataset: str) -> None:
    folder = shared / "data" / dataset
    prefix = f"{dataset}_hierarchy_"
    columns: dict[str, Any] = {
        path.stem.removeprefix(prefix): {"role": "quasi_identifier", "hierarchy": {"file": str(path), "delimiter": ";"}}
        for path in sorted(folder.glob(f"{prefix}*.csv"))
    }
    target = {"adult": "salary-class", "cup": "GENDER"}[dataset]
    columns[target] = {"role": "keep"}
    document = {
        "source": str(folder / f"{dataset}.csv"),
        "csv": {"delimiter": ";"},
        "columns": columns,
        "undeclared": "drop",
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.05,
    }
    with sqlanon.plan(None, document) as plan:
        found = plan.utility(target)
        losses, ledger = plan.attribute_losses, plan.ledger
    assert losses is not None and found.queries is not None and found.prediction is not None
    assert (found.published, found.suppressed) == (ledger.published, ledger.suppressed)
    for column in found.columns:
        share = found.suppressed / found.records
        assert column.suppressed_share == pytest.approx(share)
        assert sum(level.share for level in column.levels) == pytest.approx(1 - share)
        assert column.total_variation >= share - 1e-12
        assert sum(bucket.before_share for bucket in column.buckets) == pytest.approx(1)
        if column.name in losses:
            assert column.loss == losses[column.name]
    errors = {name: found.queries.error(name) for name in ("contained", "uniform", "overlapping")}
    assert errors["contained"].percentile_95 <= 1 + 1e-12 and errors["uniform"].mean < errors["overlapping"].mean
    [bayes] = found.prediction.accuracies
    assert 0.5 < found.prediction.majority <= bayes.original + 0.02 and bayes.release <= bayes.original + 0.02
