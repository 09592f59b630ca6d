"""The rows of all tables as arrays of codes, and the classes of persons at a node.

**Profiles.** The profile of a row at a node is its generalized values together with, for each table below, the multiset
of the profiles of its child rows. Whoever sees the published tables sees of each person the tree of their rows, linked
by pseudonyms that reveal nothing else: what is known of a person is the profile. So persons with equal profiles are a
class. (The rows of a join are not enough: visits with the diagnoses {x, y}, {x', y'} and {x, x'}, {y, y'} give the same
ones.)

**Monotone.** Let y generalize x. Generalizing is a function of the values at x, so by induction from the leaves the
profile at y is a function of the profile at x: equal multisets have equal images. Hence each class at y is a union of
classes at x; a class of fewer than k persons at y consists of such classes, and who is suppressed at y is suppressed
at every more specific node. Persons are suppressed with all their rows, so what the costs of their rows are is certain
at every level, too. (Suppressing single rows would change profiles, and classes would split.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sqlanon.core.evaluate.profiles import Numbers, number_multisets, number_tuples
from sqlanon.core.lattice.nodes import Node

Amounts = npt.NDArray[np.float64]
KEPT_NUMBERS = 30_000_000
"""Numbers of profiles that are kept for nodes that share the levels of some tables; the oldest make room."""


@dataclass(frozen=True, slots=True)
class LevelCodes:
    """The distinct values of a quasi-identifier by number.

    Attributes:
        groups: per level, the number of the generalized value of each value.
        costs: per level, D - leaves of each value's generalization: what suppressing a row costs.
    """

    groups: tuple[Numbers, ...]
    costs: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True)
class CodedTable:
    """The rows of a table.

    Attributes:
        parent: the position of its parent; None for the persons' table.
        parents: the row of the parent that each row belongs to.
        persons: the person of each row.
        values: per quasi-identifier, the number of each row's value.
        codes: per quasi-identifier, its values.
    """

    parent: int | None
    parents: Numbers
    persons: Numbers
    values: tuple[Numbers, ...]
    codes: tuple[LevelCodes, ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.persons)


@dataclass(frozen=True, slots=True)
class PersonClasses:
    """The classes of a node: the class of each person, and the number of persons in each class."""

    of_person: Numbers
    sizes: Numbers


class Forest:
    """The trees of all persons.

    Args:
        tables: each after its parent, the persons' table first.
        weights: how many persons of the source each person here stands for.
    """

    def __init__(self, tables: Sequence[CodedTable], weights: Numbers | None = None) -> None:
        self.tables = tuple(tables)
        self.weights = np.ones(tables[0].rows, np.int64) if weights is None else weights
        self._places: list[range] = []  # where a node has the levels of each table
        start = 0
        for item in tables:
            self._places.append(range(start, start + len(item.codes)))
            start += len(item.codes)
        self._children = [[c for c, item in enumerate(tables) if item.parent == p] for p in range(len(tables))]
        self._kept: OrderedDict[tuple[int, tuple[int, ...]], tuple[Numbers, int]] = OrderedDict()
        self._kept_numbers = 0

    @property
    def persons(self) -> int:
        """How many persons of the source there are."""
        return int(self.weights.sum())

    def classes(self, node: Node) -> PersonClasses:
        """Return the classes of persons at a node."""
        numbers, count = self._profiles(0, node)
        return PersonClasses(numbers, np.bincount(numbers, self.weights, count).astype(np.int64))

    def rows_of(self, chosen: npt.NDArray[np.bool_]) -> tuple[int, ...]:
        """Return how many rows of each table are of chosen persons."""
        return tuple(int(chosen[item.persons].sum()) for item in self.tables)

    def costs(self) -> list[Amounts]:
        """Return per quasi-identifier a row a level: what suppressing each person costs, times whom they stand for."""
        amounts = []
        for item in self.tables:
            for values, codes in zip(item.values, item.codes, strict=True):
                per_level = [
                    np.bincount(item.persons, costs[values].astype(np.float64), self.tables[0].rows) * self.weights
                    for costs in codes.costs
                ]
                amounts.append(np.stack(per_level))
        return amounts

    def merged(self) -> tuple[Forest, Numbers]:
        """Return a forest with one person for all that no node distinguishes, and who stands for each person here."""
        classes = self.classes(tuple(0 for places in self._places for _ in places))
        _, chosen = np.unique(classes.of_person, return_index=True)  # in the order of the classes
        place = np.full(self.tables[0].rows, -1, np.int64)
        place[chosen] = np.arange(len(chosen))
        tables: list[CodedTable] = []
        places: list[Numbers] = []  # per table, the new row of each old one, or -1
        for position, item in enumerate(self.tables):
            kept = chosen if position == 0 else np.flatnonzero(place[item.persons] >= 0)
            own = np.full(item.rows, -1, np.int64)
            own[kept] = np.arange(len(kept))
            places.append(own)
            tables.append(
                replace(
                    item,
                    parents=item.parents[kept] if item.parent is None else places[item.parent][item.parents[kept]],
                    persons=place[item.persons[kept]],
                    values=tuple(values[kept] for values in item.values),
                )
            )
        return Forest(tables, classes.sizes), classes.of_person

    def _profiles(self, position: int, node: Node) -> tuple[Numbers, int]:
        """Return the number of the profile of each row of a table, and how many there are."""
        levels = self._levels(position, node)
        if (known := self._kept.get((position, levels))) is not None:
            self._kept.move_to_end((position, levels))
            return known
        item = self.tables[position]
        own = self._places[position]
        columns = [
            codes.groups[node[place]][values] for place, codes, values in zip(own, item.codes, item.values, strict=True)
        ]
        for child in self._children[position]:
            numbers, _ = self._profiles(child, node)
            columns.append(number_multisets(self.tables[child].parents, numbers, item.rows)[0])
        numbered = number_tuples(columns) if columns else (np.zeros(item.rows, np.int64), min(item.rows, 1))
        self._keep((position, levels), numbered)
        return numbered

    def _levels(self, position: int, node: Node) -> tuple[int, ...]:
        """Return the levels of a node that the profiles of a table depend on: its own and those below it."""
        own = tuple(node[place] for place in self._places[position])
        return sum((self._levels(child, node) for child in self._children[position]), own)

    def _keep(self, key: tuple[int, tuple[int, ...]], profiles: tuple[Numbers, int]) -> None:
        """Keep the numbers of profiles, as long as there is room."""
        self._kept[key] = profiles
        self._kept_numbers += len(profiles[0])
        while self._kept_numbers > KEPT_NUMBERS and len(self._kept) > 1:
            _, (numbers, _) = self._kept.popitem(last=False)
            self._kept_numbers -= len(numbers)
