"""Random tables with every privacy model, measure and aggregate, for a comparison with the brute force."""

import random

import brute
import brute_models
import brute_release
import duckdb
import pyarrow as pa
from random_cases import random_tree
from tables import store

VALUES: list[brute.Text] = [None, "", "NULL", "flu", "cold", "é", "*", "b", "c"]
THRESHOLDS: dict[str, list] = {
    "average_risk": [0.1, 0.2, 0.3, 0.4, 0.5, 0.9, 1],
    "sample_uniqueness": [0, 0.02, 0.05, 0.1, 0.3, 1],
    "population_uniqueness": [0, 0.001, 0.01, 0.05, 0.2],
}
AGGREGATES = [None, "arithmetic_mean", "sum", "geometric_mean", "maximum"]
FOLDED = ("loss", "precision", "non_uniform_entropy")
MEASURES = (*FOLDED, "discernibility", "average_class_size", "weighted_information_loss", "height")


def random_models(rng: random.Random, sensitive: list[brute.Tree | None], subset: bool):
    """One to three models, at least one of them beyond k-anonymity."""
    models: list[tuple[int | None, dict]] = []
    for column, tree in enumerate(sensitive):
        rooted = tree is not None and tree.root is not None and tree.height > 1
        kinds = ["distinct", "entropy", "recursive", "equal", "ordered", "disclosure", "likeness"] + (
            ["hierarchical"] * 2 if rooted else []
        )
        for kind in rng.sample(kinds, rng.choice([1, 1, 2])):
            if kind == "distinct":
                model = {"type": "distinct_l_diversity", "l": rng.choice([1, 2, 3])}
            elif kind == "entropy":
                model = {"type": "entropy_l_diversity", "l": rng.choice([1, 1.3, 2, 2.5, 3])}
            elif kind == "recursive":
                model = {"type": "recursive_l_diversity", "l": rng.choice([1, 2, 3]), "c": rng.choice([0.5, 1, 1.1, 3])}
            elif kind == "disclosure":
                model = {"type": "delta_disclosure", "delta": rng.choice([0.3, 0.7, 1, 1, 2, 3])}
            elif kind == "likeness":
                model = {
                    "type": "beta_likeness",
                    "beta": rng.choice([0.2, 0.5, 1, 1, 2]),
                    "enhanced": rng.random() < 0.3,
                }
            else:
                model = {"type": "t_closeness", "t": rng.choice([0, 0.1, 0.25, 0.5, 1]), "distance": kind}
            models.append((column, model))
    if subset:
        low, high = sorted(rng.choices([0, 0.05, 0.2, 0.5, 0.75, 1], k=2))
        rule = rng.choice(["ignore", "reject"])
        models.append((None, {"type": "delta_presence", "min": low, "max": high, "public_only": rule}))
    if rng.random() < 0.6 or not models:
        models.append((None, {"type": "k_anonymity", "k": rng.choice([1, 2, 3])}))
    return models


def random_world(seed: int) -> brute_models.World:
    rng = random.Random(seed)
    m, s = rng.randint(1, 3), rng.choice([0, 1, 1, 1, 2])
    pools = [rng.sample(VALUES, rng.randint(1, 5)) for _ in range(m)]
    values = [rng.sample(VALUES, rng.randint(1, 6)) for _ in range(s)]
    subset = s == 0 or rng.random() < 0.3
    size = rng.choice([1, 8, 30, 60, 90])
    skew = [[rng.random() ** 2 + 0.01 for _ in pool] for pool in values]
    records: list[brute_models.Record] = [
        (
            tuple(rng.choice(pool) for pool in pools),
            tuple(rng.choices(pool, weight)[0] for pool, weight in zip(values, skew)),
            not subset or rng.random() < 0.4,
        )
        for _ in range(size)
    ]
    uncovered = ["error", "error", "top"] if subset else ["error", "error", "top", "suppress"]
    trees = [random_tree(rng, pool, rng.choice(uncovered)) for pool in pools]
    sensitive = [random_tree(rng, pool, "error") if rng.random() < 0.6 else None for pool in values]
    models = random_models(rng, sensitive, subset)
    return brute_models.World(records, trees, sensitive, models, rng.choice(["extended", "basic"]))


def mapped_world(seed: int) -> brute_models.World:
    """A random world with k-map, in most of which a table of a population stands beside the records."""
    world, rng = random_world(seed), random.Random(~seed)
    k = rng.choice([1, 2, 3, 5, 9])
    if any(model["type"] == "delta_presence" for _, model in world.models):  # the records are the population
        world.models.append((None, {"type": "k_map", "k": k, **rng.choice([{}, {"population": "source"}])}))
        return world
    pools = [[v for v in (None, *VALUES, "extra") if rng.random() < 0.7] or [None] for _ in world.trees]
    known = [record[0] for record in world.records if rng.random() < rng.choice([0.3, 1])]
    strangers = [tuple(rng.choice(pool) for pool in pools) for _ in range(rng.choice([0, 5, 60, 200]))]
    near = [
        tuple(rng.choice(pool) if rng.random() < 0.3 else v for pool, v in zip(pools, rng.choice(world.records)[0]))
        for _ in range(rng.choice([0, 50]))
    ]
    world.population = [*known, *strangers, *near]
    rng.shuffle(world.population)
    world.models.append((None, {"type": "k_map", "k": k, "population": {"table": "people"}}))
    return world


def random_release_world(seed: int) -> brute_models.World:
    """A world with one or two models of the whole release, alone or beside others."""
    rng, world = random.Random(seed + 1_000_000), random_world(seed)
    if rng.random() < 0.4:
        world.models = [(None, model) for _, model in world.models if model["type"] == "k_anonymity"]
        world.sensitive, world.records = [], [(quasi, (), True) for quasi, _, _ in world.records]
    ties = rng.choice([None, None, "greatest_loss"])
    for kind in rng.sample(brute_release.KINDS, rng.choice([1, 1, 2])):
        model = {"type": kind, "threshold": rng.choice(THRESHOLDS[kind])}
        if kind == "population_uniqueness":
            model |= {"population": rng.choice([100, 300, 10_000]), "estimator": "zayatz"}
        world.models.append((None, model if ties is None else {**model, "ties": ties}))
    return world


def hierarchy(tree: brute.Tree) -> dict:
    return {"levels": {row[0]: list(row[1:]) for row in tree.rows}}


def document(world: brute_models.World, rng: random.Random) -> dict:
    """The policy of a world, with a random measure and limit."""
    columns: dict[str, dict] = {
        f"q{i}": {
            "role": "quasi_identifier",
            "weight": rng.choice([1, 1, 2, 0.5]),
            "hierarchy": hierarchy(tree),
            "uncovered": tree.uncovered,
        }
        for i, tree in enumerate(world.trees)
    }
    for i, tree in enumerate(world.sensitive):
        columns[f"s{i}"] = {"role": "sensitive", "models": [m for column, m in world.models if column == i]}
        if tree is not None:
            columns[f"s{i}"]["hierarchy"] = hierarchy(tree)
    columns["member"] = {"role": "drop"}
    privacy = [
        {**m, "subset": {"column": "member"}} if m["type"] == "delta_presence" else m
        for column, m in world.models
        if column is None
    ]
    measure = rng.choice(MEASURES)
    if measure == "non_uniform_entropy" and any(tree.uncovered == "suppress" for tree in world.trees):
        measure = "loss"  # not defined for values without a place in their hierarchy
    return {
        "table": "t",
        "columns": columns,
        "privacy": privacy,
        "nulls": world.nulls,
        "suppression_limit": rng.choice([0, 0.1, 0.4, 1]),
        "quality": {"measure": measure, "aggregate": rng.choice(AGGREGATES) if measure in FOLDED else None},
    }


def ordered_models(world: brute_models.World) -> list[int]:
    """The places of the world's models in the order of the policy: privacy first, then column by column."""
    place = {None: -1} | {i: i for i in range(len(world.sensitive))}
    return sorted(range(len(world.models)), key=lambda i: place[world.models[i][0]])


def load(connection: duckdb.DuckDBPyConnection, world: brute_models.World) -> None:
    columns = {f"q{i}": pa.array([r[0][i] for r in world.records], pa.string()) for i in range(len(world.trees))}
    columns |= {f"s{i}": pa.array([r[1][i] for r in world.records], pa.string()) for i in range(len(world.sensitive))}
    columns["member"] = pa.array([r[2] for r in world.records])
    store(connection, pa.table(columns))
    if world.population is not None:
        people = {f"q{i}": pa.array([r[i] for r in world.population], pa.string()) for i in range(len(world.trees))}
        store(connection, pa.table({"other": pa.nulls(len(world.population)), **people}), "people")
