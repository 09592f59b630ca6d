"""Patterns, and the order in which they are tried.

A pattern vector of the paper (Definition 2) has ☆ where a column is suppressed; ``Pattern`` holds these positions.
The order of a set is least total weight first, then fewest ☆ (without weights the same), and then one of ``TIES``:

- ``descending``: descending lexicographic order of the ascending positions: (2, 3), (1, 3), (1, 2);
- ``colexicographic``: ascending order of the descending positions: (1, 2), (1, 3), (2, 3);
- ``random``: by chance, from a seed;
- ``listed``: of a list only, as it lists them.

The paper does not specify how it breaks ties, and its tables differ: Table 4 (CMC, all patterns) is what ``descending``
gives, Table 7 (at most two ☆) what ``colexicographic`` does.

**One mechanism.** ``colexicographic`` is the descending order when columns are numbered from the last to the first,
and ``random`` when they are numbered by chance (``places``). So ``random`` draws one of the m! numberings, not one of
all orders of equals: a pattern of equally many ☆ comes first because of its columns. A list is shuffled instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

Pattern = tuple[int, ...]
"""The positions of the suppressed columns, ascending."""

Ties = Literal["descending", "colexicographic", "random", "listed"]
TIES = get_args(Ties)
"""How equals are ordered."""

Rank = tuple[Fraction, int, tuple[int, ...]]
"""The place of a pattern in an order: its weight, its number of ☆, and its place among equals."""

Never = Callable[[int], bool]
"""True of a set of columns (bits) when no pattern whose ☆ are all among them is wanted."""


def stars(pattern: Pattern) -> int:
    """Return the suppressed columns as bits.

    >>> stars((0, 2))
    5
    """
    return sum(1 << position for position in pattern)


def columns_of(bits: int) -> Pattern:
    """Return the columns of a set of bits.

    >>> columns_of(5)
    (0, 2)
    """
    return tuple(position for position in range(bits.bit_length()) if bits >> position & 1)


def weight(pattern: Pattern, weights: Sequence[float] | None) -> Fraction:
    """Return the cost of a pattern for a record, exactly: its number of ☆, or the sum of their weights."""
    return Fraction(len(pattern)) if weights is None else sum((Fraction(weights[p]) for p in pattern), Fraction())


def shuffled(number: int, seed: int | None) -> tuple[int, ...]:
    """Return the numbers from 0 to ``number`` - 1 in random order; any release of Python draws the same from a seed.

    >>> sorted(shuffled(3, seed=1))
    [0, 1, 2]
    """
    chance = random.Random(seed)
    drawn = [chance.random() for _ in range(number)]
    return tuple(sorted(range(number), key=drawn.__getitem__))


@lru_cache(maxsize=64)
def places(columns: int, ties: Ties, seed: int | None = None) -> tuple[int, ...]:
    """Return the number of each column, by which equals are in descending order.

    >>> places(3, "colexicographic")
    (2, 1, 0)
    """
    if ties == "random":
        return shuffled(columns, seed)
    return tuple(range(columns))[:: -1 if ties == "colexicographic" else 1]


def rank(pattern: Pattern, weights: Sequence[float] | None = None, places: Sequence[int] | None = None) -> Rank:
    """Return the place of a pattern in the order: sets are sorted by it.

    Args:
        pattern: the pattern.
        weights: of the columns; None: all 1.
        places: the numbers of the columns; None: their positions.
    """
    turned = pattern if places is None else sorted(places[position] for position in pattern)
    return (weight(pattern, weights), len(pattern), tuple(-place for place in turned))
