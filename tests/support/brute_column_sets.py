"""Sets of columns in plain Python: combinations, uniques, pairs and minimal sample uniques by their definitions.

It shares nothing with the package. A record is a tuple of values, of which None is NULL.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Record = tuple[Any, ...]
Places = tuple[int, ...]


def all_sets(columns: int) -> list[Places]:
    """Every set of places but the empty one."""
    return [chosen for size in range(1, columns + 1) for chosen in combinations(range(columns), size)]


def figures(records: Sequence[Record], places: Places) -> tuple[int, int, Fraction | None]:
    """Distinct combinations, uniques, and the share of the pairs of records that differ, counted pair by pair."""
    rows = [tuple(record[place] for place in places) for record in records]
    found = Counter(rows)
    pairs = list(combinations(rows, 2))
    apart = Fraction(sum(one != other for one, other in pairs), len(pairs)) if pairs else None
    return len(found), sum(count == 1 for count in found.values()), apart


def minimal_uniques(records: Sequence[Record], columns: int, largest: int) -> list[list[Places]]:
    """For each record the sets of at most ``largest`` places on which it is alone, and on no part of them."""
    found = []
    for position, record in enumerate(records):
        others = [other for place, other in enumerate(records) if place != position]
        alone: list[Places] = []
        for places in all_sets(columns):
            own = tuple(record[place] for place in places)
            if len(places) > largest or any(set(part) < set(places) for part in alone):
                continue
            if all(tuple(other[place] for place in places) != own for other in others):
                alone.append(places)
        found.append(alone)
    return found


def score(sets: Sequence[Places], columns: int, largest: int) -> int:
    """The score of a record with these minimal uniques."""
    total = 0
    for places in sets:
        product = 1
        for i in range(len(places), largest + 1):
            product *= columns - i
        total += product
    return total
