"""Whoever has all states of a large table: the attacks of the package on what they show together, state after state.

A joint release has a row a record that any state showed: its class, and as a kept column the classes of all states
(``seen``). The attacker follows each row from state to state, and knows of each person in which states she was shown.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from effort import scaled

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from every_night import World, cheapest_path, invented
from package_nights import Numbers, policy, release_nights, write_world

ATTACKS = ("linkage_register", "singling_out_kept_columns")
DAYS = max(9, scaled(14))


def found_in(
    folder: Path, world: World, states: Sequence[Numbers], cells: Sequence[tuple[str, ...]]
) -> dict[str, float]:
    """The rates of the attacks on the joint release of states.

    Args:
        states: per state, the number of each record's class, from 1; 0: it is not shown.
        cells: of the classes, by their numbers.
    """
    shown = np.array(states)
    records = np.flatnonzero(shown.any(axis=0))
    last = [int(own[own > 0][-1]) for own in shown[:, records].T]
    seen = [".".join(map(str, own)) for own in shown[:, records].T]
    names = [f"q{place}" for place in range(world.rows.shape[1])]
    joint = {name: [cells[number - 1][place] for number in last] for place, name in enumerate(names)}
    known = {name: [f"0:{value}" for value in world.rows[records, place]] for place, name in enumerate(names)}
    for file, columns in (("joint", joint), ("known", known)):
        pq.write_table(pa.table({**columns, "seen": seen}), folder / f"{file}.parquet")
    asked: dict[str, Any] = policy(folder, world.table, 5, {}, 0.1)
    asked["columns"] = {name: asked["columns"][name] for name in names} | {"seen": {"role": "keep"}}
    asked |= {"source": str(folder / "known.parquet"), "accept": ["seen"]}
    del asked["table"], asked["ledger"], asked["key"]
    report = sqlanon.attack(folder / "joint.parquet", asked, holdout=0)
    rates = {item.attack: item.rate for item in report.findings if item.attack in ATTACKS}
    assert rates.keys() == {*ATTACKS}
    return rates


@pytest.mark.slow
def test_what_attacks_find_does_not_rise_with_the_states_that_somebody_has(tmp_path: Path) -> None:
    table = invented(4_000)
    made = release_nights(
        tmp_path, table, days=DAYS, seed=2, k=5, cohorts={"margin": 3, "coarser_after": 7}, limit=0.1
    )  # fmt: skip
    cells = [*made.numbers]
    for some in (1, 2, 8, DAYS + 1):
        assert found_in(tmp_path, made.world, made.classes[:some], cells) == dict.fromkeys(ATTACKS, 0)
    assert len({tuple(own) for own in np.array(made.classes).T}) > len(cells), "histories are more than classes"


@pytest.mark.slow
def test_the_same_attacks_find_newcomers_in_states_that_are_replaced(tmp_path: Path) -> None:
    table = invented(4_000)
    world = World.draw(table, DAYS, 2)
    write_world(tmp_path, table)
    levels = cheapest_path(table)[4]
    own, _ = table.node(world.rows, levels)
    cells: list[tuple[str, ...]] = [()] * (own.max() + 1)
    for number, row in zip(own, world.rows, strict=True):
        cells[number] = tuple(
            text_at(int(value), level, groups) for value, level, groups in zip(row, levels, table.groups, strict=True)
        )
    states = []
    for day in range(DAYS + 1):
        alive = (world.born <= day) & (world.dies > day)
        large = np.bincount(own[alive], minlength=len(cells)) >= 5
        states.append(np.where(alive & large[own], own + 1, 0))
    found = [found_in(tmp_path, world, states[:some], cells) for some in (1, 2, 8, DAYS + 1)]
    for attack in ATTACKS:
        first, *rates = [rates[attack] for rates in found]
        assert first == 0
        assert 0 < rates[0] < rates[1] < rates[2]


def text_at(value: int, level: int, groups: Numbers) -> str:
    """What a value reads at a level, as ``write_world`` writes it."""
    if level == groups.shape[1] - 1:
        return "*"
    return f"{level}:{groups[value][level]}" if level else f"0:{value}"
