"""Patterns, and the order in which they are tried.

A pattern vector of the paper (Definition 2) has ☆ where a column is suppressed; ``Pattern`` holds these positions.
The order of a set is least total weight first, then fewest ☆ (without weights the same), and then one of ``TIES``.

The paper does not say how it breaks ties, and its tables differ: Table 4 (CMC, all patterns) is what ``descending``
gives, Table 7 (at most two ☆) what ``colexicographic`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, get_args

Pattern = tuple[int, ...]
"""The positions of the suppressed columns, ascending."""

Ties = Literal["descending", "colexicographic", "listed"]
TIES = get_args(Ties)
"""How equals are ordered: descending lexicographic order of the ascending positions (2, 3), (1, 3), (1, 2); ascending
order of the descending positions (1, 2), (1, 3), (2, 3); or, for a list, as it lists them."""

Never = Callable[[int], bool]
"""True of a set of columns (bits) when no pattern whose ☆ are all among them is wanted."""


def stars(pattern: Pattern) -> int:
    """The suppressed columns as bits.

    >>> stars((0, 2))
    5
    """
    return sum(1 << position for position in pattern)


def columns_of(bits: int) -> Pattern:
    """The columns of a set of bits.

    >>> columns_of(5)
    (0, 2)
    """
    return tuple(position for position in range(bits.bit_length()) if bits >> position & 1)


def weight(pattern: Pattern, weights: Sequence[float] | None) -> Fraction:
    """What a pattern suppresses of a record, exactly: its number of ☆, or the sum of their weights."""
    return Fraction(len(pattern)) if weights is None else sum((Fraction(weights[p]) for p in pattern), Fraction())


def rank(
    pattern: Pattern, weights: Sequence[float] | None = None, ties: Ties = "descending"
) -> tuple[Fraction, int, Pattern]:
    """The place of a pattern in the order: sets are sorted by it (a list in its own order stays in it)."""
    place = {"descending": tuple(-p for p in pattern), "colexicographic": pattern[::-1], "listed": ()}[ties]
    return (weight(pattern, weights), len(pattern), place)
