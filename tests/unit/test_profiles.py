"""Numbers of multisets against plain Python."""

import random

import numpy as np
import pytest

from sqlanon.core.evaluate.profiles import number_multisets, number_tuples


@pytest.mark.parametrize("seed", range(40))
def test_owners_share_a_number_when_they_own_the_same_multiset(seed: int) -> None:
    chance = random.Random(seed)
    count, most = chance.randint(0, 30), chance.choice([1, 2, 3, 9, 40])
    owned = [[chance.randrange(chance.choice([1, 2, 4])) for _ in range(chance.randint(0, most))] for _ in range(count)]
    items = [(owner, number) for owner, numbers in enumerate(owned) for number in numbers]
    chance.shuffle(items)
    owners, numbers = (np.array([item[i] for item in items], np.int64) for i in (0, 1))
    found, distinct = number_multisets(owners, numbers, count)
    assert distinct == len({tuple(sorted(numbers)) for numbers in owned})
    assert len({*zip(found.tolist(), map(tuple, map(sorted, owned)), strict=True)}) == distinct
    assert sorted(set(found.tolist())) == list(range(distinct))


def test_lists_that_differ_in_length_alone_differ() -> None:
    owned = [[0] * length for length in range(20)]
    owners = np.array([owner for owner, numbers in enumerate(owned) for _ in numbers], np.int64)
    assert number_multisets(owners, np.zeros(len(owners), np.int64), 20)[1] == 20


def test_tuples_share_a_number_when_all_columns_agree() -> None:
    chance = np.random.default_rng(3)
    columns = [chance.integers(0, 4, 200) for _ in range(3)]
    found, distinct = number_tuples(columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert distinct == len(set(rows)) == len({*zip(found.tolist(), rows, strict=True)})


@pytest.mark.parametrize("most", [50, 2**30, 2**45])
def test_large_numbers_are_compared_as_small_ones(most: int) -> None:
    """Numbers are marked in a table, sorted with their places, or sorted alone."""
    chance = np.random.default_rng(most)
    few = chance.integers(0, most, 60)
    items = few[chance.integers(0, 60, 300)]
    for offset in (0, 2**62 - most):
        found, distinct = number_tuples([items + offset])
        assert distinct == len(set(items.tolist()))
        assert np.array_equal(found, np.unique(items, return_inverse=True)[1])
