"""Rows of equal numbers are put into groups: by sorting, or by slots of a table where that is faster.

Sorting is several times as fast where numpy has vector instructions for it as where it has none. So which way is
faster is measured once a process. Both give the same groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

MOST_SLOTTED = 100_000
"""More rows are sorted: their slots leave the caches of a processor, and sorting runs beside other threads."""
MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplies numbers into slots (Knuth 1973, Fibonacci hashing)."""
FEW = 2_000
"""So few rows, whose slots others have taken, are sorted."""
TRIED = 16_384
"""Rows by which the two ways are compared."""


def group_starts(keys: Whole, shift: int) -> Whole:
    """Return where the groups of sorted keys begin that agree in the bits above ``shift``."""
    if not len(keys):
        return np.zeros(0, np.int64)
    differs = (keys[1:] ^ keys[:-1]) >= (1 << shift)
    starts = differs.nonzero()[0]
    starts += 1
    return np.concatenate((ZERO, starts))


def sums(amounts: Whole, starts: Whole) -> Whole:
    """Return the sums of the groups that begin at ``starts``."""
    total = amounts.cumsum()
    ends = np.empty(len(starts), np.int64)
    if len(starts):
        ends[:-1] = total[starts[1:] - 1]
        ends[-1] = total[-1]
        ends[1:] -= ends[:-1].copy()
    return ends


def by_slots(keys: Whole, amounts: Whole, low: int) -> tuple[Whole, Whole]:
    """Return the keys that occur, once each in any order, and the sums of their amounts.

    Args:
        low: so many low bits of every key are 0; amounts fit into them.
    """
    owners, first, others = _owners(keys)
    if not len(others):
        return keys[first], np.bincount(owners, amounts, len(keys))[first].astype(np.int64)
    more, left = amounts[others], amounts.copy()
    left[others] = 0
    total = np.bincount(owners, left, len(keys))[first].astype(np.int64)
    if 2 * len(others) < len(keys) and len(others) > FEW:
        rest, of_rest = by_slots(keys[others], more, low)
    else:
        rest = keys[others] | more
        rest.sort()
        starts = group_starts(rest, low)
        rest, of_rest = rest[starts] & (-1 << low), sums(rest & ((1 << low) - 1), starts)
    return np.concatenate((keys[first], rest)), np.concatenate((total, of_rest))


def ranked(numbers: Whole) -> tuple[Whole, Whole]:
    """Return per row a number below the count of those that occur, equal for equal numbers, and a row of each."""
    if not slots_serve(len(numbers)):
        return _sorted_ranks(numbers)
    owners, first, others = _owners(numbers)
    ranks = np.empty(len(numbers), np.int64)
    ranks[first] = np.arange(len(first))
    ranks = ranks[owners]
    if len(others):
        of_others, first_of_others = _sorted_ranks(numbers[others])
        ranks[others] = of_others + len(first)
        first = np.concatenate((first, others[first_of_others]))
    return ranks, first


def _owners(numbers: Whole) -> tuple[NDArray[np.int32], Whole, Whole]:
    """Give every row a slot; return the row that has taken it, these rows, and the rows whose number is another."""
    bits = len(numbers).bit_length() + 2
    mixed = numbers.view(np.uint64)
    mixed = mixed ^ (mixed >> np.uint64(32))
    mixed *= MIX
    mixed >>= np.uint64(64 - bits)
    slots = mixed.view(np.int64)
    rows, taken = np.arange(len(numbers), dtype=np.int32), np.empty(1 << bits, np.int32)
    taken[slots] = rows
    owners = taken[slots]
    return owners, (owners == rows).nonzero()[0], (numbers[owners] != numbers).nonzero()[0]


def _sorted_ranks(numbers: Whole) -> tuple[Whole, Whole]:
    bits = len(numbers).bit_length()
    if not len(numbers) or int(numbers.max()).bit_length() + bits >= 63:
        _, first, ranks = np.unique(numbers, return_index=True, return_inverse=True)
        return ranks, first
    keys = (numbers << bits) | np.arange(len(numbers))
    keys.sort()  # several times as fast as to sort row numbers by another array
    rows = keys & ((1 << bits) - 1)
    starts = group_starts(keys, bits)
    is_first = np.zeros(len(numbers), np.int64)
    is_first[starts[1:]] = 1
    ranks = np.empty(len(numbers), np.int64)
    ranks[rows] = is_first.cumsum()
    return ranks, rows[starts]


def slots_serve(rows: int) -> bool:
    """Return whether so many rows are put into groups by slots."""
    return rows <= MOST_SLOTTED and slots_are_faster()


@cache
def slots_are_faster() -> bool:
    """Return whether slots are faster than sorting here: measured once a process, in a few milliseconds."""
    amounts = np.ones(TRIED, np.int64)
    keys = np.random.default_rng(0).integers(0, TRIED, TRIED) << 32

    def sort() -> None:
        own = keys | amounts
        own.sort()
        sums(amounts, group_starts(own, 32))

    return _least_seconds(lambda: by_slots(keys, amounts, 32)) < _least_seconds(sort)


def _least_seconds(work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


ZERO = np.zeros(1, np.int64)
