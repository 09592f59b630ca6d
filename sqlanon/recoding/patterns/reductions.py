"""The integer program of pattern-guided k-anonymity as arrays of pairs, and what can be taken out of it beforehand.

A *group* is an output row type: one pattern and the values that it keeps. A *pair* is a row type and one of its groups.
The program (section 2.2) chooses for each pair how many records x of the row type go to the group, and for each group
whether it is used (u): a used group holds at least k records, another none. A *free* group may hold any number.

The reductions, each with its reason. "A solution" is one of the program before the reduction.

1. *Small groups.* A group whose row types hold fewer than k records in all is never used.
2. *Dominated groups.* Let g and h have the same row types, g cost no more a record, h not free. Moving all records of h
   to g gives a solution that costs no more: if h is used, g then holds at least k. So h goes.
3. *Equal row types.* Row types with the same groups enter every constraint and the objective as a sum, and any numbers
   with this sum give a solution; they become one with the sum of their counts. The relaxation loses nothing: numbers in
   proportion to the counts hold x ≤ count · u one by one.
4. *Forced groups.* A row type with one group is there. If such row types hold k records of a group, its constraint
   always holds: the group is free.
5. *Components.* A free group restricts nothing. Row types that no chain of other groups connects are programs apart.

What is *not* sound: to keep a row type with k records or more as it is, because this costs nothing. Others may need its
records to fill their groups. With k = 2 and the patterns (), (1,), (2,), (0, 1, 2), let (1, 1, 1) occur twice,
(1, 1, 2) and (1, 2, 1) once. To keep the first costs 6; to give one record of it to each of the others costs 4 (the
paper's proof of Theorem 4 has the case of any k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlanon.errors import NoSolutionError, UnsupportedError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_PAIRS = 30_000_000
"""Pairs of a row type and a pattern that the exact solution takes in; a gigabyte."""


class RowTypes(NamedTuple):
    """The distinct row types of a table.

    Attributes:
        codes: the row types, coded: one row each, one column a quasi-identifier.
        counts: records of each row type, at least 1.
    """

    codes: Ints
    counts: Ints


@dataclass(frozen=True, slots=True)
class Program:
    """Row types, groups and pairs; pairs are sorted by row type, then group; groups by pattern.

    Attributes:
        k: records of a used group that is not free.
        counts: records of each row type.
        row: of each pair.
        group: of each pair.
        pattern: of each group, its position in the list of patterns.
        cost: of each group, for one record.
        free: of each group.
    """

    k: int
    counts: Ints
    row: Ints
    group: Ints
    pattern: Ints
    cost: Ints
    free: Bools

    @property
    def capacity(self) -> Ints:
        """Records that each pair can carry: those of its row type."""
        return self.counts[self.row]

    @property
    def sizes(self) -> Ints:
        """Records of all row types of each group."""
        return total(self.group, self.capacity, len(self.cost))

    @property
    def least(self) -> Ints:
        """The cost of a record of each row type in its cheapest group."""
        costs = np.full(len(self.counts), np.iinfo(np.int64).max)
        np.minimum.at(costs, self.row, self.cost[self.group])
        return costs

    def part(self, pairs: Bools) -> Program:
        """Return the program of these pairs, which are all of their row types; rows and groups are numbered anew."""
        rows, row = np.unique(self.row[pairs], return_inverse=True)
        groups, group = np.unique(self.group[pairs], return_inverse=True)
        return Program(
            self.k, self.counts[rows], row, group, self.pattern[groups], self.cost[groups], self.free[groups]
        )

    def price(self, records: Ints) -> int:
        """Return the cost of these records of the pairs."""
        return int((records * self.cost[self.group]).sum())

    def left(self, records: Ints) -> Ints:
        """Return the records of each row type that are in no group."""
        return self.counts - total(self.row, records, len(self.counts))

    def holds(self, records: Ints) -> bool:
        """Return whether every group that is not free holds no record or at least k."""
        held = total(self.group, records, len(self.cost))
        return bool(np.all(self.free | (held == 0) | (held >= self.k)))


def total(index: Ints, values: Ints, length: int) -> Ints:
    """Return the sum of the values of each index, in integers."""
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, index, values)
    return sums


def check_size(row_types: int, patterns: int) -> None:
    """Refuse a program that is too large.

    Raises:
        UnsupportedError: there are more than ``MOST_PAIRS`` pairs of a row type and a pattern.
    """
    if row_types * patterns > MOST_PAIRS:
        raise UnsupportedError(
            f"The exact solution would hold {row_types:,} row types under {patterns:,} patterns.",
            hint="allow fewer patterns, or take the greedy solution.",
        )


def program(table: RowTypes, patterns: Sequence[tuple[int, ...]], costs: Sequence[int], k: int) -> Program:
    """Return the program of all pairs whose groups hold k records; a group that keeps nothing is free to hold any.

    Raises:
        NoSolutionError: a row type has no group.
        UnsupportedError: there are more than ``MOST_PAIRS`` pairs of a row type and a pattern.
    """
    row_types, counts = table
    height, width = row_types.shape
    check_size(height, len(patterns))
    rows, groups, owners, known = [], [], [], 0
    for number, suppressed in enumerate(patterns):
        kept = [position for position in range(width) if position not in suppressed]
        of_row = number_rows(row_types[:, kept])
        enough = total(of_row, counts, int(of_row.max()) + 1) >= (k if kept else 1)
        inside = np.flatnonzero(enough[of_row])
        rows.append(inside)
        groups.append((np.cumsum(enough) - 1 + known)[of_row[inside]])
        owners += [number] * int(enough.sum())
        known += int(enough.sum())
    row, group = np.concatenate(rows), np.concatenate(groups)
    uncoverable = height - len(np.unique(row))
    if uncoverable:
        raise NoSolutionError(
            f"{uncoverable} of {height} row types are in no group of {k} records "
            f"under any of the {len(patterns)} patterns.",
            hint="allow the pattern that suppresses all columns, or more patterns, or lower k.",
            nearest=None,
        )
    order = np.lexsort((group, row))
    pattern = np.array(owners, dtype=np.int64)
    nothing_kept = np.array([len(suppressed) == width for suppressed in patterns])
    return Program(
        k=k,
        counts=counts,
        row=row[order],
        group=group[order],
        pattern=pattern,
        cost=np.array(costs, dtype=np.int64)[pattern],
        free=nothing_kept[pattern],
    )


def number_rows(values: Ints) -> Ints:
    """Number rows from 0; equal rows get equal numbers."""
    numbers = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        codes = np.unique(column, return_inverse=True)[1]
        numbers = np.unique(numbers * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return numbers


def first_fit(given: Program) -> Ints:
    """Run Algorithm 1: return the records of each pair when patterns take their groups in order of cost.

    Some records may be left.
    """
    left, records = given.counts.copy(), np.zeros(len(given.row), dtype=np.int64)
    pattern_of = given.pattern[given.group]
    by_pattern = np.argsort(pattern_of, kind="stable")
    present, first = np.unique(pattern_of[by_pattern], return_index=True)
    blocks = np.split(by_pattern, first[1:])
    cost = given.cost[given.group[by_pattern[first]]]
    for turn in np.lexsort((present, cost)):
        pairs = blocks[turn]
        row, group = given.row[pairs], given.group[pairs] - given.group[pairs].min()
        held = total(group, left[row], int(group.max()) + 1)
        taken = (held[group] >= given.k) | given.free[given.group[pairs]]
        records[pairs[taken]] = left[row[taken]]
        left[row[taken]] = 0
    return records


@dataclass(frozen=True, slots=True)
class Reduction:
    """A smaller program with the same optimum, and the way there and back.

    Attributes:
        given: the program before.
        small: the program after.
        row: of each row type before, the one after.
        group: of each group before, the one after.
        kept: of each group after, the one before.
    """

    given: Program
    small: Program
    row: Ints
    group: Ints
    kept: Ints

    def forth(self, records: Ints) -> Ints:
        """Return a solution of the program before, for the one after; it costs no more."""
        rows, groups = self.row[self.given.row], self.group[self.given.group]
        return total(_places(self.small, rows, groups), records, len(self.small.row))

    def back(self, records: Ints) -> Ints:
        """Return a solution of the program after, for the one before: merged row types fill their groups in turn.

        Row types, sorted by the one that they became, and pairs cut the line of all records into intervals; the cuts
        of both make the shares.
        """
        order = np.argsort(self.row, kind="stable")
        by_row, by_pair = np.cumsum(self.given.counts[order]), np.cumsum(records)
        ends = np.unique(np.concatenate([by_row, by_pair[records > 0]]))
        rows, pairs = order[np.searchsorted(by_row, ends)], np.searchsorted(by_pair, ends)
        places = _places(self.given, rows, self.kept[self.small.group[pairs]])
        return total(places, np.diff(ends, prepend=0), len(self.given.row))


def reduce_program(given: Program) -> Reduction:
    """Reduce a program: without dominated groups (2), equal row types (3) and bounds of forced groups (4)."""
    leader = _dominating(given)
    kept = np.unique(leader)
    alive = leader[given.group] == given.group
    row, group = given.row[alive], np.searchsorted(kept, given.group[alive])
    same = _equal_lists(row, group, len(given.counts))
    chosen, merged = np.unique(same, return_inverse=True)
    stay = same[row] == row
    small = replace(
        given,
        counts=total(merged, given.counts, len(chosen)),
        row=merged[row[stay]],
        group=group[stay],
        pattern=given.pattern[kept],
        cost=given.cost[kept],
        free=given.free[kept],
    )
    alone = np.bincount(small.row, minlength=len(chosen))[small.row] == 1
    forced = total(small.group[alone], small.capacity[alone], len(kept)) >= given.k
    return Reduction(given, replace(small, free=small.free | forced), merged, np.searchsorted(kept, leader), kept)


def components(given: Program) -> Ints:
    """Return the component (5) of each row type: the least of its row types."""
    bound = ~given.free[given.group]
    row, group = given.row[bound], given.group[bound]
    label = np.arange(len(given.counts))
    while True:
        of_group = np.full(len(given.cost), len(label))
        np.minimum.at(of_group, group, label[row])
        lower = label.copy()
        np.minimum.at(lower, row, of_group[group])
        lower = lower[lower]
        if np.array_equal(lower, label):
            return label
        label = lower


def _places(given: Program, rows: Ints, groups: Ints) -> Ints:
    """Return where the pairs of these row types and groups stand."""
    width = len(given.cost)
    return np.searchsorted(given.row * width + given.group, rows * width + groups)


def _dominating(given: Program) -> Ints:
    """Return, for each group, the cheapest with the same row types, the first of several; for a free group itself."""
    by_group = np.lexsort((given.row, given.group))
    same = _equal_lists(given.group[by_group], given.row[by_group], len(given.cost))
    order = np.lexsort((np.arange(len(same)), given.cost, same))
    first = np.unique(same[order], return_index=True)[1]
    cheapest = np.empty(len(same), dtype=np.int64)
    cheapest[same[order[first]]] = order[first]
    return np.where(given.free, np.arange(len(same)), cheapest[same])


def _equal_lists(owner: Ints, item: Ints, owners: int) -> Ints:
    """Return, for each owner, the first owner seen with the same items.

    Pairs are sorted by owner, then item, without repeats.

    Owners whose items agree in number, sum and sum of squares are compared with the first of them, item by item. Two
    equal lists that such a first one keeps apart are not found, which loses a reduction only.
    """
    length = np.bincount(owner, minlength=owners)
    start = np.cumsum(length) - length
    marks = (length, total(owner, item, owners), total(owner, item * item, owners))
    alike = number_rows(np.stack(marks, axis=1))
    leader = np.unique(alike, return_index=True)[1][alike]
    differs = item != item[start[leader[owner]] + np.arange(len(owner)) - start[owner]]
    return np.where(np.bincount(owner[differs], minlength=owners) == 0, leader, np.arange(owners))
