"""Every figure of every attack that guesses, on random tables with a control group, beside a count in plain Python."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute_attacks
import pytest
from attacked_releases import PART, attacked_by_hand, random_release
from effort import Block, enough, seeds
from sqlglot import exp

import sqlanon
from sqlanon.assess.attack.attacking import CONTROLLED, run_attacks
from sqlanon.assess.attack.composition import by_composition
from sqlanon.assess.attack.world import open_world
from sqlanon.core.sqltrees.names import TARGETS
from sqlanon.core.sqltrees.trees import table


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
        world = attacked_by_hand(target, policy, records, trees, manifest=with_manifest)
        if not with_manifest:
            target.with_name(target.name + ".manifest.json").unlink()
        m, beside = len(trees), len(policy.columns) - len(trees)
        with open_world(target, policy, source=connection, part=PART) as opened:
            outcomes = run_attacks(opened, CONTROLLED)
            numbered = opened.engine.run("targets", exp.select("*").from_(table(TARGETS)).order_by("record"))
        compared += 1
        found_something += compare(world, outcomes, beside)
        compare_numbered(world, outcomes, [(row[-1], *row[2 + m : -1]) for row in numbered], beside)
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


@seeds(20, 10)
@pytest.mark.slow
def test_several_releases_leave_what_all_of_them_leave(block: Block, tmp_path: Path) -> None:
    compared = right = 0
    for seed in block:
        made = random_release(seed, tmp_path)
        if made is None or made[1].suppressed == "redact":
            continue
        connection, policy, target, records, trees = made
        coarse = [tree.height > 1 and random.Random(seed + i).random() < 0.5 for i, tree in enumerate(trees)]
        columns = tuple(
            replace(item, min_level=1) if i < len(trees) and coarse[i] else item
            for i, item in enumerate(policy.columns)
        )
        second = tmp_path / f"{seed}.other.csv"
        other = replace(policy, columns=columns, table="training", output=sqlanon.Output.file(second))
        try:
            sqlanon.anonymize(connection, other).close()
        except (sqlanon.NoSolutionError, sqlanon.InputError):
            continue
        inside = [record for record in records if record[2] == 0]
        releases = [(target, replace(policy, table="training")), (second, other)]
        releases = [(target, replace(policy, table="training")), (second, other)]
        worlds = [attacked_by_hand(path, own, inside, trees, manifest=True) for path, own in releases]
        for item in by_composition(releases, source=connection, table_name=None, seed=1, watch=None):
            assert isinstance(item, sqlanon.Finding)
            place = worlds[0].kept + int(item.columns[0][1:])
            counts = worlds[0].composed(place, worlds[1])
            figures = item.figures["certain"], item.figures["certain_right"], item.figures["certain_in_one"]
            assert (item.attempts, item.successes, item.baseline_successes, *figures) == counts, item
            right += item.successes
        compared += 1
        connection.close()
    assert enough(compared >= 2 and right)
