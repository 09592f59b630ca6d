"""Bounds that add up over groups of columns: each holds for every node of small problems, and a false one is found."""

import json
import math
import random
from itertools import product
from pathlib import Path

import brute
import brute_models
import duckdb
import pytest
from effort import Block, enough, scaled, seeds
from random_cases import random_tree
from random_worlds import VALUES, document, load, mapped_world, random_release_world, random_world
from tables import text_table

import sqlanon
from sqlanon.core.publish.proof_file import digest, write_proof
from sqlanon.core.search import box, groups
from sqlanon.core.search.proof import first_gap, group_lattice

ADDITIVE = ("loss", "precision", "non_uniform_entropy", "weighted_information_loss", "height")
MAKERS = (random_world, mapped_world, random_release_world)


NEXT = groups.ColumnGroups.next


def groups_first(monkeypatch: pytest.MonkeyPatch, *largest: int) -> None:
    """Search groups of at most so many columns, however small the lattice, before any box is cut."""
    monkeypatch.setattr(groups, "WIDE", 1)
    monkeypatch.setattr(groups, "LARGEST", largest)
    monkeypatch.setattr(groups, "TRIAL", 10**6)
    monkeypatch.setattr(groups.ColumnGroups, "next", lambda self, cut, least: NEXT(self, 10**6, least))


def part(world, node, answer, quality: tuple[str, str], columns, weights: list[float]) -> float:
    """What some columns contribute to the loss of a node."""
    measure, aggregate = quality
    if measure == "height":
        return float(sum(node[i] for i in columns))
    own = [weight if i in columns else 0.0 for i, weight in enumerate(weights)]
    if measure == "weighted_information_loss":
        return brute_models.loss(world, node, answer, measure, None, own)
    total = sum(weights) if aggregate == "arithmetic_mean" else 1.0
    return brute_models.loss(world, node, answer, measure, "sum", own) / total


def between(low, node, high, columns) -> bool:
    return all(low[i] <= node[i] <= high[i] for i in columns)


def hanging_together(world, rng: random.Random):
    """The world with more records, and two to four columns that are nearly the same: groups prove much alone."""
    many, noise = rng.randint(2, 4), rng.choice([0, 0.02, 0.1, 0.4])
    pool = rng.sample(VALUES, rng.randint(5, len(VALUES)))
    shares = [rng.random() ** 3 + 0.01 for _ in pool]

    def quasi() -> tuple:
        [value] = rng.choices(pool, shares)
        return (value, *(rng.choice(pool) if rng.random() < noise else value for _ in range(many - 1)))

    world.records = [(quasi(), *rng.choice(world.records)[1:]) for _ in range(rng.choice([30, 60, 100]))]
    if world.population is not None:
        world.population = [*(record[0] for record in world.records), *(quasi() for _ in range(30))]
    tree = max((random_tree(rng, pool, world.trees[0].uncovered) for _ in range(5)), key=lambda tree: tree.height)
    world.trees = [tree] * many
    if rng.random() < 0.5:
        world.models.append((None, {"type": "k_anonymity", "k": rng.choice([4, 8])}))
    return world


@pytest.mark.slow
@seeds(120, 15, first=41_000)
def test_every_bound_holds_for_every_candidate(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every model, measure of attributes and limit; optima are those of the brute force, certificates hold."""
    rested = {"groups": 0, "by groups": 0, "certificates": 0}
    for seed in block:
        rng = random.Random(seed)
        world = MAKERS[seed % len(MAKERS)](seed)
        world = hanging_together(world, rng) if rng.random() < 0.9 else world
        asked = document(world, rng)
        measure = rng.choice(ADDITIVE)
        if measure == "non_uniform_entropy" and any(tree.uncovered == "suppress" for tree in world.trees):
            measure = "loss"
        aggregate = "sum" if measure in ADDITIVE[3:] else rng.choice(["sum", "arithmetic_mean"])
        asked |= {"quality": {"measure": measure, "aggregate": aggregate}, "search": {"strategy": "box"}}
        asked["suppression_limit"] = rng.choice([0, 0.1, 0.5, 1])
        world.quality = (measure, aggregate)
        weights = [float(asked["columns"][f"q{i}"]["weight"]) for i in range(len(world.trees))]
        world.weights = weights
        groups_first(monkeypatch, *rng.choice([(1,), (1,), (2,), (1, 2)]))
        if rng.random() < 0.2:
            monkeypatch.setattr(groups.ColumnGroups, "next", NEXT)
        policy = sqlanon.Policy.from_dict(asked)
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                plan = sqlanon.plan(connection, policy)
            except sqlanon.NoSolutionError:
                plan = None
            answers = {node: brute_models.judge(world, node) for node in brute.nodes(world.trees)}
            allowed = math.floor(asked["suppression_limit"] * len(world.members) + 1e-9)
            solutions = {n: a for n, a in answers.items() if a.candidate and a.classes and a.suppressed <= allowed}
            if plan is None:
                assert not solutions, seed
                continue
            everything = range(len(weights))
            losses = {n: part(world, n, a, world.quality, everything, weights) for n, a in solutions.items()}
            noise = 1e-9 * max(1.0, *losses.values())
            with plan:
                assert plan.certificate.optimal, seed
                assert plan.certificate.loss == pytest.approx(min(losses.values()), rel=1e-9, abs=noise), seed
                proof, written = plan.proof, plan.proof_document
            for columns, claims in (group for partition in proof.groups for group in partition.items()):
                rested["groups"] += 1
                for claim in claims:
                    inside = [n for n in solutions if between(claim.bottom, n, claim.top, columns)]
                    if claim.bound is None:
                        assert not inside, (seed, claim)
                    for node in inside:
                        own = part(world, node, solutions[node], world.quality, columns, weights)
                        assert own >= claim.bound - noise, (seed, claim, node)
            for claim in proof.claims:
                inside = [n for n in solutions if between(claim.bottom, n, claim.top, everything)]
                rested["by groups"] += claim.by_groups
                if claim.bound is None:
                    assert not inside, (seed, claim)
                assert all(losses[node] >= claim.bound - noise for node in inside), (seed, claim)
            if written is not None and any(claim.by_groups for claim in proof.claims):
                path = tmp_path / "certificate.json"
                write_proof(written, path)
                found = sqlanon.verify(path, policy, connection)
                assert found.holds and found.optimal, (seed, found.faults)
                rested["certificates"] += 1
    assert enough(all(rested.values()))


@pytest.mark.slow
@seeds(12, 3, first=0)
def test_groups_of_several_columns_keep_the_optimum(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their searches end with boxes that an incumbent has closed: these are claims as well, and cover their nodes."""
    rested = 0
    for seed in block:
        rng = random.Random(seed)
        names, power, noise = [f"c{i}" for i in range(8)], rng.choice([1, 2, 4]), rng.choice([0.1, 0.3, 1])
        rows = []
        for _ in range(300):
            hidden = rng.random() ** power
            own = [hidden if rng.random() > noise else rng.random() ** power for _ in names]
            rows.append(tuple(str(int(8 * value)) for value in own))
        levels = {str(v): [str(v // 2), str(v // 4), "*"] for v in range(8)}
        policy = sqlanon.Policy.from_dict(
            {
                "table": "t",
                "columns": {name: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for name in names},
                "privacy": [{"type": "k_anonymity", "k": 5}],
                "suppression_limit": rng.choice([0.05, 0.3, 1]),
            }
        )
        with duckdb.connect() as connection, monkeypatch.context() as patched:
            text_table(connection, names, rows)
            with sqlanon.plan(connection, policy) as plan:
                groups_first(patched, 4)
                again = plan.with_policy(policy)
            assert again.certificate.optimal and again.certificate.loss == pytest.approx(plan.certificate.loss), seed
            proof, lattice = again.proof, again._problem.lattice
            for columns, claims in (group for partition in proof.groups for group in partition.items()):
                own_nodes = group_lattice(lattice, proof.top, columns)
                assert first_gap(claims, own_nodes.bottom, own_nodes.top) is None, (seed, columns)
            rested += any(claim.by_groups for claim in proof.claims)
            if seed % 3 == 0:
                write_proof(again.proof_document, tmp_path / "certificate.json")
                assert sqlanon.verify(tmp_path / "certificate.json", policy, connection).optimal, seed
    assert enough(rested > 0)


@pytest.fixture
def resting(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch):
    """A plan of three columns that say nearly the same: boxes of its proof rest on groups of one."""
    groups_first(monkeypatch, 1)
    rng = random.Random(3)
    columns = ["a", "b", "c"]
    rows = []
    for _ in range(600):
        value = str(rng.randrange(48))
        rows.append((value, value, value if rng.random() < 0.99 else "3"))
    text_table(connection, columns, rows)
    levels = {str(v): [str(v // 2), str(v // 4), "*"] for v in range(48)}
    policy = {
        "table": "t",
        "columns": {c: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for c in columns},
        "privacy": [{"type": "k_anonymity", "k": 12}],
        "suppression_limit": 1,
    }
    with sqlanon.plan(connection, policy) as plan:
        yield plan


@pytest.mark.slow
def test_what_is_changed_in_the_proof_of_a_group_is_found(connection, resting, tmp_path: Path) -> None:
    written = resting.proof_document
    path = tmp_path / "certificate.json"
    write_proof(written, path)
    found = sqlanon.verify(path, resting.policy, connection)
    assert found.holds and found.optimal and any(box[2] == "groups" for box in written["boxes"]), found.faults
    [partition] = written["groups"]
    assert len(partition) == 3

    def faults(**keys: object) -> list[str]:
        document = {**written, **keys}
        path.write_text(json.dumps({**document, "sha256": digest(document)}))
        return sqlanon.verify(path, resting.policy, connection).faults

    bottom, top = written["bottom"], written["useful_top"]
    rested = [number for number, box in enumerate(written["boxes"]) if box[2] != "groups" and box[3] == "loss"]
    for number in random.Random(1).sample(rested, min(scaled(3), len(rested))):
        others = written["boxes"][:number] + written["boxes"][number + 1 :]
        assert faults(boxes=[*others, [*written["boxes"][number][:2], "groups", None]]), "a box is said to be empty"
    low = written["nodes"].index(min(written["nodes"]))
    by_groups = [number for number, box in enumerate(written["boxes"]) if box[2] == "groups" and len(box) == 5]
    for number in by_groups[: max(1, scaled(3))]:
        others, box = written["boxes"][:number] + written["boxes"][number + 1 :], written["boxes"][number]
        assert faults(boxes=[*others, [*box[:4], low]]), "the node that stands beside the groups is not above the box"
        assert faults(boxes=[*others, [*box[:3], None, box[4]]]), "a box is said to be empty"
    bare = [box[:4] if box[2] == "groups" else box for box in written["boxes"]]
    assert faults(boxes=bare), "the groups do not show the optimum without the boxes' own nodes"
    whole = [[bottom, top, "groups", "loss"]]
    assert faults(boxes=whole), "the groups do not show the optimum by themselves"
    assert faults(boxes=[[bottom, top, "groups", None]])
    assert faults(groups=[[partition[0], *partition]]), "a column counts twice"
    assert faults(groups=[]), "there are no groups"
    assert faults(groups=[[]]), "there are no groups"
    for place, (columns, boxes) in [*enumerate(partition)][: max(1, scaled(3))]:

        def with_boxes(changed: list, place: int = place, columns: list = columns) -> list:
            return [[[columns, changed] if at == place else group for at, group in enumerate(partition)]]

        assert faults(groups=with_boxes(boxes[1:])), "a box of a group is missing"
        assert faults(groups=with_boxes([])), "a group has no boxes"
        shown = next(number for number, box in enumerate(boxes) if box[3] is not None)
        empty = [[*box[:3], None] if number == shown else box for number, box in enumerate(boxes)]
        assert faults(groups=with_boxes(empty)), "a box of a group is said to be empty"
        lifted = [[box[0], box[1], None, box[3]] if number == shown else box for number, box in enumerate(boxes)]
        assert faults(boxes=whole, groups=with_boxes(lifted))
        moved = [[*box[:2], low, box[3]] if box[1] != written["nodes"][low] else box for box in boxes]
        assert faults(groups=with_boxes(moved)), "a node does not stand above its box"
        narrowed = [[box[0], "".join(map(min, box[1], "2222")), *box[2:]] for box in boxes]
        assert faults(groups=with_boxes(narrowed)), "a box holds for others at a lower level only"


@pytest.mark.slow
def test_no_forged_groups_prove_a_node_that_is_not_optimal(connection, resting, tmp_path: Path) -> None:
    written, path = resting.proof_document, tmp_path / "certificate.json"
    chosen, loss = max(
        (
            (node, verdict.loss)
            for node in product(range(4), repeat=3)
            if (verdict := resting.evaluate(dict(zip("abc", node, strict=True)))).feasible
        ),
        key=lambda pair: pair[1],
    )
    boxes = [[written["bottom"], written["useful_top"], "groups", "loss"]]
    forged = {**written, "chosen": "".join(map(str, chosen)), "loss": loss, "lower_bound": loss, "boxes": boxes}
    [partition] = written["groups"]
    for parts in (
        [partition],
        [partition * 9],
        [[[[0, 0, 0, 1, 1, 1, 2, 2, 2], partition[0][1]]]],
        [[[[7], []]]],
        [],
        [[]],
    ):
        document = {**forged, "groups": parts}
        path.write_text(json.dumps({**document, "sha256": digest(document)}))
        assert not sqlanon.verify(path, resting.policy, connection).holds


@pytest.mark.slow
def test_a_wide_search_proves_more_in_as_many_evaluations(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(5)
    names = [f"c{i}" for i in range(14)]
    text_table(connection, names, [tuple(str(rng.randrange(9)) for _ in names) for _ in range(500)])
    levels = {str(v): [str(v // 3), "*"] for v in range(9)}
    policy = sqlanon.Policy.from_dict(
        {
            "table": "t",
            "columns": {name: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for name in names},
            "privacy": [{"type": "k_anonymity", "k": 5}],
            "suppression_limit": 1,
            "search": {"max_evaluations": 800},
        }
    )
    bounds = []
    for wide in (groups.WIDE, 1):
        monkeypatch.setattr(groups, "WIDE", wide)
        monkeypatch.setattr(groups, "LARGEST", (7,))
        with sqlanon.plan(connection, policy) as plan:
            assert plan.certificate.evaluated <= 800 and plan.certificate.lower_bound <= plan.certificate.loss
            bounds.append(plan.certificate.lower_bound)
    assert bounds[1] > 1.1 * bounds[0]


@pytest.mark.slow
def test_a_local_search_that_gains_nothing_waits_where_a_proof_is_near(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof then takes fewer evaluations; in a wide lattice the local search goes on."""
    rng = random.Random(9)
    names = [f"c{i}" for i in range(7)]
    text_table(connection, names, [tuple(str(int(8 * rng.random() ** 4)) for _ in names) for _ in range(400)])
    levels = {str(v): [str(v // 2), str(v // 4), "*"] for v in range(8)}
    policy = sqlanon.Policy.from_dict(
        {
            "table": "t",
            "columns": {name: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for name in names},
            "privacy": [{"type": "k_anonymity", "k": 5}],
            "suppression_limit": 0.05,
        }
    )
    monkeypatch.setattr(box, "LARGE", 1)
    monkeypatch.setattr(box, "LOCAL_FROM", 40)
    found = []
    for wide in (box.WIDE, 1):
        monkeypatch.setattr(box, "WIDE", wide)
        with sqlanon.plan(connection, policy) as plan:
            assert plan.certificate.optimal
            found.append((plan.certificate.loss, plan.certificate.evaluated))
    assert found[0][0] == found[1][0] and found[0][1] < found[1][1]


def test_the_bound_that_is_expected_to_be_higher_goes_on() -> None:
    """A bound that has come to rest is expected to stay, one that still rises to rise with every doubling.

    One that rests for one doubling only is not given up.
    """
    resting, rising, pausing = groups.Pace(), groups.Pace(), groups.Pace()
    for evaluated in (0, 300, 600, 1200, 2400):
        resting.note(evaluated, min(evaluated, 300) / 1000)
        rising.note(evaluated, 0.05 * math.log2(1 + evaluated / 300))
        pausing.note(evaluated, min(evaluated, 1200) / 6000)
    assert resting.after(100) == resting.after(10_000) == 0.3
    assert rising.after(1) < 0.3 < rising.after(100_000)
    assert rising.after(2400) == pytest.approx(0.05 * (math.log2(9) + math.log2(9 / 3) / 2))
    assert pausing.after(10_000) > 0.3 > pausing.after(100)
