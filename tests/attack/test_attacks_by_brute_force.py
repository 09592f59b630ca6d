"""Every figure of every attack that guesses, on random tables with a control group, beside a count in plain Python."""

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute
import brute_attacks
import duckdb
import pytest
from effort import Block, enough, seeds
from random_cases import POOL, random_case
from sqlglot import exp
from tables import text_table

import sqlanon
from sqlanon.assess.attack.attacking import CONTROLLED, run_attacks
from sqlanon.assess.attack.world import open_world
from sqlanon.core.sqltrees.names import TARGETS
from sqlanon.core.sqltrees.trees import table

PART = "sqlanon_part"


def random_release(seed: int, folder: Path) -> tuple[Any, sqlanon.Policy, Path, list[Any], list[brute.Tree]] | None:
    """Publish a random table; return the connection with all records, the policy, the release, records and trees."""
    rng = random.Random(seed)
    rows, trees, document = random_case(seed)
    kept, secrets = rng.randint(0, 2), rng.randint(1, 2)
    pools = [rng.sample(POOL, rng.randint(1, 4)) for _ in range(kept + secrets)]
    records = [(row, tuple(rng.choice(pool) for pool in pools), int(rng.random() < 0.4)) for row in rows]
    beside = [f"k{i}" for i in range(kept)] + [f"s{i}" for i in range(secrets)]
    document["columns"] |= {name: {"role": "keep"} for name in beside[:kept]}
    models = [{"type": "distinct_l_diversity", "l": rng.choice([1, 2])}]
    document["columns"] |= {name: {"role": "sensitive", "models": models} for name in beside[kept:]}
    document |= {"suppression_limit": 1, "undeclared": "drop", "accept": beside}
    document["suppressed"] = rng.choice(["drop", "redact"])
    if rng.random() < 0.3 and document["nulls"] == "extended":
        document["transformation"] = {"type": "local_recoding"}
        document["quality"] = {"measure": "loss"}
        del document["search"]
    policy = sqlanon.Policy.from_dict(document)
    connection = duckdb.connect()
    titles = [*(f"c{i}" for i in range(len(trees))), *beside]
    for name, part in (("t", (0, 1)), ("training", (0,))):
        marked = [PART] if 1 in part else []
        drawn = [(*q, *b, *([str(p)] if marked else [])) for q, b, p in records if p in part]
        text_table(connection, [*titles, *marked], drawn, name)
    target = folder / f"{seed}.{rng.choice(['parquet', 'csv', 'duckdb'])}"
    try:
        output = sqlanon.Output.file(target)
        changed = replace(policy, table="training", output=output)
        sqlanon.anonymize(connection, changed).close()
    except (sqlanon.NoSolutionError, sqlanon.InputError):
        return None
    return connection, policy, target, records, trees


def read_release(target: Path, columns: Sequence[str]) -> list[tuple[brute.Text, ...]]:
    with duckdb.connect() as connection:
        source = f"read_csv('{target}', all_varchar=true, header=true, allow_quoted_nulls=false)"
        if target.suffix == ".duckdb":
            connection.execute(f"ATTACH '{target}' AS released (READ_ONLY)")
            source = "released.release"
        elif target.suffix == ".parquet":
            source = f"'{target}'"
        named = ", ".join(f'"{name}"' for name in columns)
        return connection.execute(f"SELECT {named} FROM {source}").fetchall()


def levels_of(target: Path, manifest: bool, trees: list[brute.Tree]) -> list[list[int]]:
    if not manifest:
        return [[*range(tree.height)] for tree in trees]
    document = json.loads(target.with_name(target.name + ".manifest.json").read_text())
    columns = {item["name"]: item for item in document["columns"]}
    return [columns[f"c{i}"].get("levels", [columns[f"c{i}"].get("level")]) for i in range(len(trees))]


@seeds(40, 10)
@pytest.mark.slow
def test_attacks_count_as_the_brute_force(block: Block, tmp_path: Path) -> None:
    compared = found_something = 0
    for seed in block:
        made = random_release(seed, tmp_path)
        if made is None:
            continue
        connection, policy, target, records, trees = made
        with_manifest = random.Random(seed).random() < 0.7
        levels = levels_of(target, with_manifest, trees)
        if not with_manifest:
            target.with_name(target.name + ".manifest.json").unlink()
        titles = [column.name for column in policy.columns]
        m, kept = len(trees), sum(column.role == "keep" for column in policy.columns)
        rows = [(row[:m], row[m:]) for row in read_release(target, titles)]
        if policy.suppressed == "redact":
            rows = [row for row in rows if {str(x)[:12] for x in (*row[0], *row[1])} != {"[suppressed]"}]
        if policy.nulls == "basic":
            records = [record for record in records if None not in record[0]]
        world = brute_attacks.Attacked(records, rows, trees, levels, kept)
        with open_world(target, policy, source=connection, part=PART) as opened:
            outcomes = run_attacks(opened, CONTROLLED)
            numbered = opened.engine.run("targets", exp.select("*").from_(table(TARGETS)).order_by("record"))
        compared += 1
        found_something += compare(world, outcomes, len(titles) - m)
        compare_numbered(world, outcomes, [(row[-1], *row[2 + m : -1]) for row in numbered], len(titles) - m)
        connection.close()
    assert enough(compared >= 3 and found_something)


Points = list[tuple[float, int, int]]


def compare_ranks(item: sqlanon.Finding, world: brute_attacks.Attacked, of_parts: Sequence[Points]) -> None:
    """Compare guesses by how sure they are, and the anonymity loss coefficient, by its formula."""
    coefficients = []
    for part, points in enumerate(of_parts):
        targets = len(world.of(part))
        if part == 0:
            shown = [] if item.ranked is None else [(p.confidence, p.attempts, p.successes) for p in item.ranked.points]
            assert {*shown} <= {*points} and shown[-1:] == points[-1:]
        enough = [point for point in points if point[1] >= min(50, points[-1][1])]
        shares = [(right / tried, tried / targets) for _, tried, right in enough]
        coefficients.append(max((p * (1 - (math.log10(r) / -4) ** 3) for p, r in shares if r > 1e-4), default=0.0))
    base = max(coefficients[1], item.baseline or 0.0)
    if item.ranked is not None and item.control is not None:
        assert item.ranked.prc == pytest.approx(coefficients[0])
        expected = None if base >= 1 else pytest.approx((coefficients[0] - base) / (1 - base), abs=1e-6)
        assert item.loss_coefficient == expected


def compare_numbered(
    world: brute_attacks.Attacked, outcomes: list[Any], records: Sequence[Sequence[int]], beside: int
) -> None:
    """Compare what depends on the numbers of the records: of their type, and of their values beside it."""
    found = {item.attack: item for item in outcomes if isinstance(item, sqlanon.Finding)}
    item = found.get("predicate_singling_out")
    if item is not None:
        classes, alone, by_control = world.predicates(1, records)
        assert (item.attempts, item.successes) == (classes, alone), item
        assert item.control is None or item.control_successes == by_control, item
    halves = [record[0] % 2 for record in records]
    for name, places in (("quasi_identifiers", range(0)), ("all_columns", range(beside))):
        item = found.get(f"membership_by_{name}")
        if item is not None:
            counts = item.attempts, item.successes, item.control_attempts, item.control_successes
            assert counts == world.membership(places, halves), item


def compare(world: brute_attacks.Attacked, outcomes: list[Any], beside: int) -> int:
    """Compare every finding, and return how many of them found something."""
    findings = [item for item in outcomes if isinstance(item, sqlanon.Finding)]
    secrets = {f"s{i}": world.kept + i for i in range(beside - world.kept)}
    known = range(world.kept)
    for item in findings:
        controlled = (item.control_attempts, item.control_successes)
        counted = (item.attempts, item.successes)
        if item.attack.startswith("singling_out"):
            places = range({"quasi": 0, "kept": world.kept, "all": beside}[item.attack.split("_")[2]])
            assert counted == world.singled_out(places, 0), item
            if item.control is not None:
                assert controlled == world.singled_out(places, 1), item
        elif item.attack == "predicate_singling_out" or item.risk == "membership":
            continue  # by compare_numbered
        elif item.attack == "linkage_register":
            assert (*counted, item.figures["nobody_else_fits"]) == world.register(0), item
            assert controlled == world.register(1)[:2], item
        elif item.attack == "linkability_of_parts":
            assert counted == world.parts(0), item
            assert item.control is None or controlled == world.parts(1), item
        elif item.attack == "definetti":
            place = secrets[item.columns[0]]
            inside, outside = world.definetti(place, 0), world.definetti(place, 1)
            assert (*counted, item.baseline_successes) == inside[:3] and controlled == outside[:2], item
            compare_ranks(item, world, [inside[3], outside[3]])
        else:
            place, also = secrets[item.columns[0]], known if "kept" in item.attack else ()
            certain = (item.figures["certain"], item.figures["certain_right"])
            assert (*counted, item.baseline_successes, *certain) == world.inferred(place, also, 0), item
            assert controlled == world.inferred(place, also, 1)[:2], item
            compare_ranks(item, world, [world.by_confidence(place, also, part) for part in (0, 1)])
    return sum(item.successes > 0 for item in findings)
