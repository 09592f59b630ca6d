"""Rows of equal numbers are one group, whichever way they are put into groups, and however many share a slot."""

from collections import Counter

import numpy as np
import pytest

from sqlanon.core.evaluate import grouping

LOW = 7
MIXES = {"as it is": grouping.MIX, "one slot for all": np.uint64(0), "few slots": np.uint64(1 << 40)}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("rows, values", [(0, 1), (1, 1), (50, 3), (300, 40), (300, 10**6), (3000, 2000)])
def test_groups_are_those_of_equal_numbers(monkeypatch: pytest.MonkeyPatch, mix: str, rows: int, values: int) -> None:
    monkeypatch.setattr(grouping, "MIX", MIXES[mix])
    monkeypatch.setattr(grouping, "FEW", 0)
    rng = np.random.default_rng(rows + values)
    keys = rng.integers(0, values, rows) << rng.choice([LOW, 40])
    amounts = rng.integers(0, 1 << LOW, rows) // max(rows, 1)
    wanted: Counter[int] = Counter()
    for key, amount in zip(keys.tolist(), amounts.tolist(), strict=True):
        wanted[key] += amount
    found, sums = grouping.by_slots(keys, amounts, LOW)
    assert len(found) == len(wanted) and dict(zip(found.tolist(), sums.tolist(), strict=True)) == wanted
    for faster in (True, False):
        monkeypatch.setattr(grouping, "slots_are_faster", lambda faster=faster: faster)
        ranks, first = grouping.ranked(keys)
        assert (keys[first][ranks] == keys).all() and len(first) == len(wanted)
        assert sorted(ranks[first].tolist()) == list(range(len(wanted)))
