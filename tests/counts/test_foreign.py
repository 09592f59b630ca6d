"""Tables of counts made elsewhere: they read as a person reads them, and their intervals are those of all tables."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
from effort import Block, seeds

from sqlanon.counts.foreign_audit import check_counts
from sqlanon.counts.foreign_cells import AskedOfTable


def compositions(total: int, parts: int) -> np.ndarray[Any, Any]:
    """All vectors of whole numbers of a sum."""
    bars = np.array([*itertools.combinations(range(total + parts - 1), parts - 1)], np.int64).reshape(-1, parts - 1)
    ends = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def random_table(chance: random.Random) -> tuple[list[str], dict[tuple[str, ...], list[int]], list[int]]:
    """The dimensions of a table, of each cell the finest cells that it is the sum of, and the values of these."""
    shape = chance.choice([(2, 3), (3, 3), (2, 2, 2), (2, 4)])
    finest = [*itertools.product(*map(range, shape))]
    cells = {}
    for place in itertools.product(*(range(size + 1) for size in shape)):
        labels = tuple("Total" if at == size else f"{'pqr'[d]}{at}" for d, (at, size) in enumerate(zip(place, shape)))
        inside = [n for n, own in enumerate(finest) if all(a in (b, s) for a, b, s in zip(place, own, shape))]
        cells[labels] = inside
    return ["one", "two", "three"][: len(shape)], cells, [chance.choice([0, 0, 1, 1, 2, 3]) for _ in finest]


@seeds(60)
def test_intervals_are_those_of_all_tables_of_whole_numbers(block: Block, tmp_path: Path) -> None:
    for seed in block:
        look_at(seed, tmp_path / "table.csv")


def look_at(seed: int, path: Path) -> None:
    """Compare what is computed of a random table with what all tables of whole numbers allow."""
    chance = random.Random(seed)
    names, cells, values = random_table(chance)
    values[0] += max(0, 3 - sum(values))
    total, words, bounds = sum(values), {}, {}
    every = compositions(total, len(values))
    agrees = np.ones(len(every), bool)
    for labels, inside in cells.items():
        truth, drawn = sum(values[n] for n in inside), chance.random()
        if drawn < 0.4 and len(inside) < len(values):
            words[labels] = chance.choice(["x", "..", "[c]"])
        elif drawn < 0.55 and 0 < truth < 4 and len(inside) < len(values):
            words[labels], bounds[labels] = "1-3", (1, 3)
        else:
            words[labels], bounds[labels] = str(truth), (truth, truth)
        if labels in bounds:
            own = every[:, inside].sum(axis=1)
            agrees &= (own >= bounds[labels][0]) & (own <= bounds[labels][1])
    rows = [[*labels, word] for labels, word in words.items()]
    chance.shuffle(rows)
    path.write_text("\n".join(",".join(row) for row in [[*names, "n"], *rows]) + "\n")
    found = check_counts(path, asked=AskedOfTable(rounded=1))
    assert not found.contradictions
    computed = {tuple(each.cell.values()): each for each in found.computed}
    assert computed.keys() == {labels for labels, word in words.items() if not word.isdigit()}
    for labels, each in computed.items():
        own = every[agrees][:, cells[labels]].sum(axis=1)
        assert (each.low, each.high) == (own.min(), own.max()), labels
        assert (each.finding == "exact") == (own.min() == own.max())
