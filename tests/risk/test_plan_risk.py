"""The risk of plans and releases: the source's records and the published rows, counted by a brute force."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import brute
import brute_models
import brute_risk
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import enough, scaled, seeds
from engine_kinds import KINDS, Kind, planned, texts
from policies import document_of, quasi
from random_cases import random_case, random_tree
from random_worlds import document, random_world
from solved_plans import plans_of
from tables import text_table

import sqlanon
from sqlanon.assess.risk.facts import Risk, RiskComparison
from sqlanon.errors import InputError, NoSolutionError, UnsupportedError


def agrees(risk: Risk, sizes: Sequence[int], suppressed: int, context: object) -> None:
    """Compare all figures of the classes with those of the brute force."""
    assert (risk.records, risk.classes, risk.suppressed) == (sum(sizes), len(sizes), suppressed), context
    if not sizes:
        assert risk.figures == (), context
        return
    for key, (value, of_all) in brute_risk.figures(sizes, suppressed, risk.k).items():
        found = (risk[key].value, risk[key].of_all)
        assert found == (pytest.approx((value, of_all), rel=1e-12) if value is not None else (None, None)), (
            context,
            key,
        )


def columns_of(release: sqlanon.Release, prefix: str = "c") -> list[tuple[Any, ...]]:
    """The quasi-identifiers of the released rows."""
    table = release.to_arrow()
    names = [name for name in table.column_names if name.startswith(prefix)]
    return list(zip(*[table[name].to_pylist() for name in names], strict=True))


@pytest.mark.slow
@seeds(80, 10)
def test_before_and_after_are_the_records_and_the_released_rows(block: Any) -> None:
    solved = 0
    for seed in block:
        rows, trees, keys = random_case(seed)
        with duckdb.connect() as connection:
            text_table(connection, [f"c{i}" for i in range(len(trees))], rows)
            others = [random.Random(seed).choice(rows) for _ in range(20)] + [("new",) * len(trees)]
            text_table(connection, [f"c{i}" for i in range(len(trees))], rows + others, "everybody")
            try:
                release = sqlanon.anonymize(connection, keys)
            except NoSolutionError:
                continue
            with release:
                solved += 1
                basic = keys["nulls"] == "basic"
                before = brute_risk.classes(rows, basic=basic)
                if not before:
                    with pytest.raises(InputError, match="No record of the source takes part"):
                        release.risk()
                    continue
                plan = release.plan
                assert isinstance(plan, sqlanon.Plan)
                found = release.risk(k=3)
                agrees(found.before, list(before.values()), 0, seed)
                published = brute_risk.classes(columns_of(release))
                agrees(found.after, list(published.values()), release.ledger.suppressed, seed)
                assert found.before.excluded == found.after.excluded == release.ledger.excluded
                with_population = release.risk(population_table="everybody")
                _check_population(with_population, plan, rows, others, trees, basic, published)
    assert enough(solved)


def _check_population(
    found: RiskComparison,
    plan: sqlanon.Plan,
    rows: list[Any],
    others: list[Any],
    trees: Sequence[brute.Tree],
    basic: bool,
    published: dict[Any, int],
) -> None:
    """Of a population, the values that the source holds are generalized as its own; a record of others counts not."""
    everybody = [row for row in rows + others if not (basic and None in row)]
    raw = brute_risk.classes(everybody, basic=basic)
    taking_part = brute_risk.classes(rows, basic=basic)
    highest, average = brute_risk.journalist(taking_part, raw)
    assert found.before["journalist_highest"].value == pytest.approx(highest)
    assert found.before["journalist_average"].value == pytest.approx(average)
    if not published:
        return
    known = [
        row
        for row in everybody
        if all(tree.covers(value) for tree, value in zip(trees, row, strict=True)) and row[0] != "new"
    ]
    texts_of = [
        tuple(tree.generalize(v, level) for tree, v, level in zip(trees, row, plan.node, strict=True)) for row in known
    ]
    highest, average = brute_risk.journalist(published, brute_risk.classes(texts_of))
    assert found.after["journalist_highest"].value == pytest.approx(highest)
    assert found.after["journalist_average"].value == pytest.approx(average)
    assert any("not generalized" in note for note in found.after.notes)


@pytest.mark.slow
@seeds(60, 10)
def test_models_subsets_and_their_population(block: Any) -> None:
    """A subset (δ-presence) is a sample, and its source the population: the journalist is known without a table."""
    solved = 0
    for seed in block:
        world = random_world(seed)
        keys = {**document(world, random.Random(seed)), "suppression_limit": 1}
        for plan in plans_of(world, keys):
            if not world.members:
                continue
            solved += 1
            found = plan.risk()
            answer = brute_models.judge(world, plan.node)
            before = brute_risk.classes([record[0] for record in world.members])
            agrees(found.before, list(before.values()), 0, seed)
            agrees(found.after, [len(records) for records in answer.published], answer.suppressed, seed)
            if not plan.catalog.has_population:
                assert found.before["journalist_highest"].bound
                continue
            everybody = brute_risk.classes([record[0] for record in world.taking_part])
            highest, average = brute_risk.journalist(before, everybody)
            assert found.before["journalist_highest"].value == pytest.approx(highest), seed
            assert found.before["journalist_average"].value == pytest.approx(average), seed
            classes = world.classes(plan.node)
            of_class = {id(record): len(records) for records in classes.values() for record in records}
            if answer.published:
                shares = [1 / of_class[id(record)] for records in answer.published for record in records]
                assert found.after["journalist_highest"].value == pytest.approx(max(shares)), seed
                assert found.after["marketer"].value == pytest.approx(sum(shares) / len(shares)), seed
    assert enough(solved)


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_entities_count_once_in_each_class(seed: int) -> None:
    rng = random.Random(seed)
    pools = [rng.sample([None, "a", "b", "c"], rng.randint(1, 3)) for _ in range(2)]
    rows, persons = [], []
    for person in range(rng.choice([3, 12, 25])):
        for _ in range(rng.choice([1, 2, 3])):
            rows.append(tuple(rng.choice(pool) for pool in pools))
            persons.append(f"p{person}")
    trees = [random_tree(rng, pool, "error") for pool in pools]
    basic = rng.random() < 0.4
    columns: dict[str, Any] = {
        f"c{i}": quasi({"levels": {r[0]: list(r[1:]) for r in tree.rows}}) for i, tree in enumerate(trees)
    }
    keys = {"table": "t", "columns": {**columns, "person": {"role": "drop"}}, "entity": "person",
            "privacy": [{"type": "k_anonymity", "k": rng.choice([2, 3])}], "suppression_limit": 1,
            "nulls": "basic" if basic else "extended"}  # fmt: skip
    with duckdb.connect() as connection:
        text_table(connection, ["c0", "c1", "person"], [(*row, p) for row, p in zip(rows, persons, strict=True)])
        text_table(connection, ["c0", "c1", "person"], [(*row, p) for row, p in zip(rows, persons, strict=True)], "all")
        try:
            plan = sqlanon.plan(connection, keys)
        except NoSolutionError:
            return
        with plan:
            before = brute_risk.classes(rows, persons, basic=basic)
            if not before:
                return
            found = plan.risk(population_table="all")
            assert found.before.unit == found.after.unit == "entity"
            agrees(found.before, list(before.values()), 0, seed)
            general = [
                tuple(t.generalize(v, level) for t, v, level in zip(trees, row, plan.node, strict=True))
                for row in rows
                if not (basic and None in row)
            ]
            owners = [p for row, p in zip(rows, persons, strict=True) if not (basic and None in row)]
            classes = brute_risk.classes(general, owners)
            k = keys["privacy"][0]["k"]
            published = [size for size in classes.values() if size >= k]
            agrees(found.after, published, sum(classes.values()) - sum(published), seed)
            assert found.before["journalist_highest"].value == found.before["prosecutor_highest"].value
            if published:
                assert found.after["journalist_average"].value == found.after["prosecutor_average"].value
            with pytest.raises(InputError, match="entities are counted"):
                plan.risk(weights="c0")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(scaled(12)))
@pytest.mark.parametrize("kind", ["local_recoding", "patterns"])
def test_several_rules(kind: str, seed: int) -> None:
    """The classes of a release of several rules are those of the texts that a reader sees."""
    rng = random.Random(seed)
    rows = [(rng.choice("aaab"), rng.choice("pq"), rng.choice("uvwx")) for _ in range(60)]
    levels = {value: ["*"] for value in "abpquvwx"}
    hierarchy = {"levels": levels} if kind == "local_recoding" else {"suppress": {}}
    transformation = {"type": "local_recoding", "nodes": 3} if kind == "local_recoding" else {"type": "patterns"}
    columns = {f"c{i}": {"role": "quasi_identifier", "hierarchy": hierarchy} for i in range(3)}
    keys = document_of({**columns, "w": "drop"}, k=3, table="t", suppression_limit=0.5, transformation=transformation)
    with duckdb.connect() as connection:
        text_table(connection, ["c0", "c1", "c2", "w"], [(*row, "2") for row in rows])
        with sqlanon.anonymize(connection, keys) as release:
            assert isinstance(release.plan, sqlanon.RecodedPlan)
            found = release.risk(column_sets=True)
            agrees(found.before, list(brute_risk.classes(rows).values()), 0, seed)
            published = brute_risk.classes(columns_of(release))
            agrees(found.after, list(published.values()), release.ledger.suppressed, seed)
            assert found.after.column_sets is not None
            assert found.after.column_sets.whole.combinations == len(published)
            with pytest.raises(UnsupportedError, match="one node"):
                release.risk(population_table="t")
            if release.plan._split:  # weights are of records, and chance says which of equal ones a rule has
                with pytest.raises(UnsupportedError, match="left to chance"):
                    release.risk(weights="w")
                return
            weighted = release.risk(weights="w")
            expected = sum(size * brute_risk.individual(size, 2 * size) for size in published.values())
            assert weighted.after["expected_reidentifications"].value == pytest.approx(expected, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name != "spark"], ids=str)
def test_every_engine(kind: Kind, request: pytest.FixtureRequest) -> None:
    rng = random.Random(4)
    rows = [(rng.choice(["a", "b", None]), rng.choice("pqr"), str(rng.choice([1, 2.5]))) for _ in range(40)]
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    keys = document_of({"c0": hidden, "c1": hidden, "w": "drop"}, k=7, table="t", suppression_limit=0.3)
    with closing(kind.open(request)) as engine:
        data = texts({name: [row[i] for row in rows] for i, name in enumerate(("c0", "c1", "w"))})
        plan = planned(engine, data, keys)
        found = plan.risk(weights="W", population_size=4000, column_sets=True)
        keys_of = [row[:2] for row in rows]
        agrees(found.before, list(brute_risk.classes(keys_of).values()), 0, kind)
        general = [tuple("*" if level else v for v, level in zip(row, plan.node, strict=True)) for row in keys_of]
        classes = Counter(general)
        published = {key: size for key, size in classes.items() if size >= 7}
        agrees(found.after, list(published.values()), 40 - sum(published.values()), kind)
        for risk, labels, kept in ((found.before, keys_of, set(keys_of)), (found.after, general, set(published))):
            sums: Counter[Any] = Counter()
            for label, row in zip(labels, rows, strict=True):
                sums[label] += float(row[2])  # type: ignore[assignment]
            sizes = Counter(labels)
            expected = sum(sizes[key] * brute_risk.individual(sizes[key], sums[key]) for key in kept)
            assert risk["expected_reidentifications"].value == pytest.approx(expected, rel=1e-7)
        assert found.before.column_sets is not None and found.after.column_sets is not None
        with pytest.raises(InputError, match="smaller than the sample"):
            plan.risk(population_size=39)


def test_a_population_in_a_file_and_options_that_are_wrong(tmp_path: Path) -> None:
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    keys = {"table": "t", "columns": {"c0": hidden}, "privacy": [{"type": "k_anonymity", "k": 2}]}
    pq.write_table(pa.table({"C0": ["a"] * 4 + ["b"] * 6 + ["z"]}), tmp_path / "people.parquet")
    pq.write_table(pa.table({"other": ["a"]}), tmp_path / "others.parquet")
    with duckdb.connect() as connection:
        text_table(connection, ["c0"], [("a",), ("a",), ("b",), ("b",)])
        with sqlanon.plan(connection, keys) as plan:
            found = plan.risk(population=tmp_path / "people.parquet").before
            assert found["journalist_highest"].value == 1 / 4
            assert found["marketer"].value == pytest.approx((2 / 4 + 2 / 6) / 4)
            with pytest.raises(sqlanon.SourceError, match="no column 'c0'"):
                plan.risk(population=tmp_path / "others.parquet")
            with pytest.raises(sqlanon.SourceError):
                plan.risk(population=tmp_path / "nowhere.parquet")
            with pytest.raises(sqlanon.SourceError):
                plan.risk(population_table="nowhere")
            with pytest.raises(sqlanon.SourceError, match="no column 'nix'"):
                plan.risk(weights="nix")
            assert math.isclose(plan.risk().after["prosecutor_highest"].value or 0, 1 / 2)


def test_an_empty_source_has_no_risk() -> None:
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    keys = document_of({"c0": hidden}, k=2, table="t", nulls="basic", suppression_limit=1)
    with duckdb.connect() as connection:
        text_table(connection, ["c0"], [("a",), ("a",), (None,)])
        with sqlanon.plan(connection, keys) as plan:
            found = plan.risk()
            assert (found.before.records, found.before.excluded, found.before.nulls) == (2, 1, "basic")
