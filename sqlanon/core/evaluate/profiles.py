"""Profiles: persons with the same rows, whatever their order, get the same number. Pure functions over arrays.

Who sees several rows of a person sees all of them together, so that what must not be rare is the multiset of their
generalized rows. Numbers are equal exactly when what they stand for is equal: lists are compared, never their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
"""One whole number an item, from 0 without gaps where a function returns them."""

TABLE = 4
"""Numbers up to this many times as many as there are items are marked in a table."""
WORD = 63
"""Bits of a whole number that is not negative."""


def number_tuples(columns: Sequence[Numbers]) -> tuple[Numbers, int]:
    """Return a number for each place, equal where all columns are equal there, and how many numbers there are.

    The columns hold numbers from 0, each of the same length, of which there must be at least one.

    >>> number_tuples([np.array([4, 0, 4]), np.array([1, 1, 1])])
    (array([1, 0, 1]), 2)
    """
    numbers, many = _without_gaps(columns[0])
    for column in columns[1:]:
        own, distinct = _without_gaps(column)
        numbers, many = _without_gaps(numbers * distinct + own)  # both are below 2**31: they count rows
    return numbers, many


def number_multisets(owners: Numbers, numbers: Numbers, count: int) -> tuple[Numbers, int]:
    """Return a number for each of ``count`` owners, equal where they own the same multiset of numbers.

    Each owner's numbers are sorted, and neighbours are paired and numbered, round after round, until one number an
    owner is left; a last one without a neighbour is paired with a sign of its own. So equal numbers mean equal
    lists, padded with this sign to one length, and that is: equal lists. The rounds are as many as the binary
    logarithm of the most numbers of an owner, and each halves the work.

    Args:
        owners: the owner of each item, from 0 to ``count`` - 1.
        numbers: the number of each item, from 0.

    >>> number_multisets(np.array([0, 0, 1, 1, 3]), np.array([5, 2, 2, 5, 5]), 4)[0].tolist()
    [1, 1, 0, 2]
    """
    items, distinct = _without_gaps(numbers)
    whole = np.sort(owners * max(distinct, 1) + items)
    owners, items = whole // max(distinct, 1), whole % max(distinct, 1) + 1
    while len(owners):
        positions = np.arange(len(owners))
        first = np.where(np.diff(owners, prepend=-1) > 0, positions, 0)  # where the items of each owner begin
        place = positions - np.maximum.accumulate(first)
        begins = place % 2 == 0
        if place.max() == 0:
            break
        nexts = np.zeros(len(items), np.int64)  # 0 is the sign of no neighbour
        paired = np.flatnonzero(begins[:-1] & (owners[1:] == owners[:-1]))
        nexts[paired] = items[paired + 1]
        items = number_tuples([items[begins], nexts[begins]])[0] + 1
        owners = owners[begins]
    found = np.zeros(count, np.int64)  # 0: who owns nothing
    found[owners] = items
    return _without_gaps(found)


def _without_gaps(numbers: npt.NDArray[Any]) -> tuple[Numbers, int]:
    """Return whole numbers from 0 in the same order without gaps, and how many there are.

    A few times as many numbers as items are marked in a table. Otherwise they are sorted, with their places in the
    lowest bits where there is room: numpy sorts numbers several times as fast as it sorts places by numbers.
    """
    if not len(numbers):
        return numbers.astype(np.int64), 0
    most = int(numbers.max()) + 1
    if most <= TABLE * len(numbers):
        marked = np.zeros(most, bool)
        marked[numbers] = True
        ranks = np.cumsum(marked)
        return ranks[numbers] - 1, int(ranks[-1])
    room = len(numbers).bit_length()
    if most.bit_length() + room > WORD:
        found, places = np.unique(numbers, return_inverse=True)
        return places.astype(np.int64), len(found)
    packed = np.sort(numbers.astype(np.int64) << room | np.arange(len(numbers)))
    begins = np.diff(packed >> room, prepend=-1) > 0
    without_gaps = np.empty(len(numbers), np.int64)
    without_gaps[packed & ((1 << room) - 1)] = np.cumsum(begins) - 1
    return without_gaps, int(begins.sum())
