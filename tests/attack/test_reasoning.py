"""What a reader concludes from several rules is what a brute force concludes on tiny tables, and is right; on ADULT the
figures do not rise."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brute_reasoning as brute
import duckdb
import pytest
from effort import Block, enough, seeds
from policies import document_of, quasi
from reasoned import load_classes
from tables import text_table

import sqlanon
from sqlanon.assess.attack import first_fit, left_behind
from sqlanon.assess.attack.downcoding import downcode
from sqlanon.assess.attack.facts import Finding

VALUES = ["", "NULL", "*", "a", "b", "é", "7"]
SECRETS = [None, "", "flu", "cold", "NULL"]


def random_tree(rng: random.Random, most: int) -> dict[str | None, tuple[str | None, ...]]:
    """A hierarchy of two to four levels with a root; a NULL that it does not list stays NULL below the root."""
    leaves = rng.sample(VALUES, rng.randint(min(2, most), most))
    height = rng.choice([2, 3, 3, 4])
    rows = {value: [value] for value in leaves}
    groups: list[list[str]] = [[value] for value in leaves]
    for level in range(1, height - 1):
        parts = rng.randint(1, len(groups))
        merged: list[list[str]] = [[] for _ in range(parts)]
        for number, group in enumerate(rng.sample(groups, len(groups))):
            merged[number if number < parts else rng.randrange(parts)] += group
        for number, group in enumerate(merged):
            for value in group:
                rows[value].append(f"{level}.{number}")
        groups = merged
    return {value: (*row, "root") for value, row in rows.items()}


def random_tiny(rng: random.Random) -> brute.Tiny:
    wide = rng.choice([1, 1, 2, 2, 3])
    trees = [random_tree(rng, (7, 5, 3)[wide - 1]) for _ in range(wide)]
    pools: list[list[str | None]] = [
        rng.sample([*tree], max(1, len(tree) - rng.choice([0, 0, 0, 1, 2]))) for tree in trees
    ]
    for tree, pool in zip(trees, pools):
        if rng.random() < 0.3:
            pool.append(None)
            tree[None] = (*[None] * (len(next(iter(tree.values()))) - 1), "root")
    secrets = rng.sample(SECRETS, rng.randint(2, 5))
    skew, own = rng.choice([1, 2, 2, 3]), rng.choice([1, 3, 5])
    rows = [
        (
            tuple(pool[int(len(pool) * rng.random() ** skew)] for pool in pools),
            secrets[int(len(secrets) * rng.random() ** own)],
        )
        for _ in range(rng.choice([10, 20, 40, 60]))
    ]
    top = tuple(len(next(iter(tree.values()))) - 1 for tree in trees)
    nodes = {(0,) * wide, top, *(tuple(rng.randint(0, level) for level in top) for _ in range(rng.randint(1, 6)))}
    rules = sorted(
        rng.sample(sorted(nodes), max(1, len(nodes) - rng.randint(0, 1))), key=lambda node: (sum(node), rng.random())
    )
    return brute.Tiny(rows, trees, rules, rng.choice([2, 3, 4, 5]), rng.choice([1, 1, 2, 2, 3, 4]))


def document(world: brute.Tiny) -> dict[str, Any]:
    columns: dict[str, Any] = {
        f"q{i}": quasi({"levels": {value: [*row[1:]] for value, row in tree.items() if value is not None}})
        for i, tree in enumerate(world.trees)
    }
    columns["s"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 1}]}
    return document_of(columns, k=1, table="t")


@contextmanager
def recoded(world: brute.Tiny) -> Iterator[sqlanon.Plan]:
    """An encoded source of a world with the classes that its rules publish; it keeps the rules that publish any."""
    of_row, classes = world.published()
    used = sorted({place for place, _ in classes})
    world.rules = [world.rules[place] for place in used]
    with duckdb.connect() as connection:
        text_table(connection, [*(f"q{i}" for i in range(len(world.trees))), "s"], [(*key, s) for key, s in world.rows])
        with sqlanon.plan(connection, document(world)) as plan:
            places = [None if place is None else used.index(place) for place in of_row]
            load_classes(plan, world.rows, world.rules, places)
            yield plan


@seeds(60, 60)
@pytest.mark.slow
def test_conclusions_are_those_of_a_brute_force_and_right(block: Block) -> None:
    reached = dict.fromkeys(("narrowed", "finer", "original", "downcoded", "certain", "few"), 0)
    for seed in block:
        world = random_tiny(random.Random(seed))
        with recoded(world) as plan:
            engine, catalog, rules = plan.engine, plan.catalog, world.rules
            refined = first_fit.conclude(engine, catalog, rules)
            downcoded = downcode(engine, catalog, rules, world.k).finer if world.l == 1 else 0
            least = max(world.l, 2)
            inferred = left_behind.infer(engine, catalog, catalog.sensitive[0], k=world.k, l=least)
        assert (refined.records, refined.narrowed, refined.finer, refined.original) == brute.refined(world), seed
        assert brute.contradictions(world) == 0
        assert downcoded == (brute.downcoded(world) if world.l == 1 else 0), seed
        if world.l > 1:
            assert counts_of(inferred) == inferred_by_brute_force(world), seed
            assert inferred.certain == inferred.certain_right, "the order of the rules is known"
            assert inferred.few == inferred.few_right
            reached["certain"] += inferred.certain
            reached["few"] += inferred.few
        for name, count in {**refined.to_dict(), "downcoded": downcoded}.items():
            reached[name] = reached.get(name, 0) + count
    assert enough(reached["narrowed"] and reached["finer"]), reached


def counts_of(found: left_behind.Inferred) -> tuple[int, int, int, int]:
    return found.certain, found.certain_right, found.few, found.few_right


def inferred_by_brute_force(world: brute.Tiny) -> tuple[int, int, int, int]:
    """Count the claims about persons, and those that are right."""
    left = brute.inferred(world)
    claims = [(left[key], value) for key, value in world.rows if key in left]
    return (
        sum(len(values) == 1 for values, _ in claims),
        sum(len(values) == 1 and value in values for values, value in claims),
        sum(len(values) < world.l for values, _ in claims),
        sum(len(values) < world.l and value in values for values, value in claims),
    )


LEVELS: dict[str | None, tuple[str | None, ...]] = {
    "a": ("a", "ab", "root"), "b": ("b", "ab", "root"), "c": ("c", "cd", "root"), "d": ("d", "cd", "root"),
}  # fmt: skip


def planted(rows: list[tuple[tuple[str | None, ...], str | None]], rules: list[tuple[int, ...]], l: int) -> brute.Tiny:
    return brute.Tiny(rows, [LEVELS] * len(rules[0]), rules, 5, l)


def test_a_branch_that_is_left_alone_is_known() -> None:
    """a and b are published; three of c and three of d are at the root, where only their group is left."""
    rows = [((value,), "flu") for value in "aaaaabbbbbcccddd"]
    world = planted(rows, [(0,), (2,)], 1)
    with recoded(world) as plan:
        found = first_fit.conclude(plan.engine, plan.catalog, world.rules)
        written = downcode(plan.engine, plan.catalog, world.rules, 5)
    assert (found.records, found.narrowed, found.finer, found.original) == (16, 6, 6, 0)
    assert (written.finer, written.classes) == (4, 1), "of six records in two parts of less than five, two are in each"


def test_an_original_value_that_is_left_alone_is_known() -> None:
    """All combinations of a, c and d in the first column are published; b is left of it, whatever the second is."""
    rows = [((one, two), "flu") for one in "acd" for two in "abcd" for _ in range(5)]
    rows += [(("b", two), "flu") for two in "abcd" for _ in range(2)]
    world = planted(rows, [(0, 0), (2, 2)], 1)
    with recoded(world) as plan:
        found = first_fit.conclude(plan.engine, plan.catalog, world.rules)
    assert (found.narrowed, found.finer, found.original) == (8, 8, 8)


def test_a_sensitive_value_follows_from_a_class_that_was_not_published() -> None:
    """Six of a have one value, so their class failed; with three others they stand at the root. d is published."""
    rows: list[tuple[tuple[str | None, ...], str | None]] = [(("a",), "flu")] * 6
    rows += [(("b",), "cold"), (("b",), "flu"), (("c",), "cold"), *[(("d",), value) for value in ("flu", "cold") * 3]]
    world = planted(rows, [(0,), (2,)], 2)
    with recoded(world) as plan:
        found = left_behind.infer(plan.engine, plan.catalog, plan.catalog.sensitive[0], k=5, l=2)
    assert counts_of(found) == (6, 6, 6, 6)
    assert found.persons == 15


def released(folder: Path, rows: list[tuple[tuple[str | None, ...], str | None]], **asked: Any) -> dict[str, Any]:
    """Publish rows by a policy, attack the release, and return the findings by attack."""
    with duckdb.connect(str(folder / "source.duckdb")) as connection:
        text_table(connection, [*(f"q{i}" for i in range(len(rows[0][0]))), "s"], [(*key, s) for key, s in rows])
    document = {
        "source": str(folder / "source.duckdb"),
        "table": "t",
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "output": {"file": str(folder / "released.parquet")},
        **asked,
    }
    policy = sqlanon.Policy.from_dict(document)
    sqlanon.anonymize(None, policy)
    report = sqlanon.attack(folder / "released.parquet", policy)
    assert not {item.attack for item in report.findings} & {item.attack for item in report.not_applicable}
    return {item.attack: item.to_dict() for item in report.findings}


@pytest.mark.slow
def test_patterns_are_attacked_by_their_release_and_manifest(tmp_path: Path) -> None:
    rows: list[Any] = [((one, two), "flu") for one in "acd" for two in "abcd" for _ in range(5)]
    rows += [(("b", two), "flu") for two in "abcd" for _ in range(2)]
    columns = {name: {"role": "quasi_identifier"} for name in ("q0", "q1")} | {"s": {"role": "drop"}}
    transformation = {"type": "patterns", "patterns": [[], ["q0", "q1"]]}
    found = released(tmp_path, rows, columns=columns, transformation=transformation)
    refinement, downcoding = found["refinement"], found["downcoding"]
    assert (refinement["attempts"], refinement["successes"]) == (68, 8)
    assert (refinement["figures"]["narrowed"], refinement["figures"]["original"]) == (8, 8)
    assert refinement["figures"]["contradicted"] == 0
    assert downcoding["successes"] == 0, "eight records in four parts: none is certain to hold any"


@pytest.mark.slow
def test_one_node_gives_a_sensitive_value_away_if_it_alone_can_have_failed(tmp_path: Path) -> None:
    """Of two classes one level below the optimum, which is proven, only one can have a single value."""
    rows: list[Any] = [(("a",), "flu")] * 6 + [(("b",), value) for value in ("flu", *("cold", "cough", "none", "") * 2)]
    columns = {
        "q0": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "s": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
    }
    found = released(tmp_path, rows, columns=columns)
    assert "refinement" not in found
    assert found["minimality"]["successes"] == 6 and found["minimality"]["figures"]["certain"] == 6
    assert found["minimality"]["attempts"] == 15


@pytest.mark.slow
def test_one_class_that_alone_can_have_split_is_written_finer(tmp_path: Path) -> None:
    rows: list[Any] = [(("a",), "flu")] * 6 + [(("b",), "flu")] * 3
    columns = {"q0": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "s": {"role": "drop"}}
    found = released(tmp_path, rows, columns=columns)
    assert (found["downcoding"]["attempts"], found["downcoding"]["successes"]) == (9, 2)


ADULT = (
    "age", "education", "marital-status", "native-country", "occupation", "race", "salary-class", "sex", "workclass",
)  # fmt: skip
"""The greedy solver breaks ties by the order of the columns."""


@pytest.mark.slow
def test_figures_of_adult_do_not_rise(shared: Path, tmp_path: Path) -> None:
    """k = 5: patterns leave values out that a reader excludes; one node for all records gives nothing away."""
    data = shared / "data" / "adult"
    columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in ADULT}
    base = {"source": str(data / "adult.csv"), "csv": {"delimiter": ";"}, "undeclared": "drop", "if_exists": "replace"}
    base |= {"privacy": [{"type": "k_anonymity", "k": 5}], "output": {"file": str(tmp_path / "released.parquet")}}
    policy = sqlanon.Policy.from_dict({**base, "columns": columns, "transformation": {"type": "patterns"}})
    found = attacked(policy, tmp_path)
    assert found["refinement"].successes == 0 and found["refinement"].figures["narrowed"] <= 7378
    assert found["downcoding"].successes <= 772
    for name, spec in columns.items():
        spec["hierarchy"] = {"file": str(data / f"adult_hierarchy_{name}.csv"), "delimiter": ";"}
    found = attacked(sqlanon.Policy.from_dict({**base, "columns": columns, "suppression_limit": 0.05}), tmp_path)
    assert found["downcoding"].successes == 0 and "refinement" not in found


def attacked(policy: sqlanon.Policy, folder: Path) -> dict[str, Finding]:
    sqlanon.anonymize(None, policy)
    return {item.attack: item for item in sqlanon.attack(folder / "released.parquet", policy).findings}
