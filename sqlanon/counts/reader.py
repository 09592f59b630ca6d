"""What a reader can compute of the cells of tables: what relates them, and how small and large each may be.

It shares nothing with what suppresses but the arithmetic of sparse rows: relations follow from the categories alone,
between all pairs of sets and not neighbours alone, and HiGHS is asked for the least and the greatest value among all
non-negative tables, whole or not, that agree with what is published.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations, product
from typing import Any

import numpy as np

from sqlanon.counts.facts import Flags, Floats, Kept, SparseRows, Vector
from sqlanon.counts.grid import Grid
from sqlanon.counts.programs import end_of, program
from sqlanon.errors import AuditError

Place = tuple[int, ...]
"""A cell, by the number of its category in each dimension."""
NEAR = 1e-4
"""The part of its values by which a relation may be missed: sums are no whole numbers."""


def joint_places(grid: Grid, most: int) -> list[Place]:
    """Return the cells of the table of all dimensions where they are unknowns beside those of the tables."""
    finest = [d.categories(d.levels[0]).tolist() for d in grid.dimensions]
    return [] if math.prod(map(len, finest)) > most or any(d.several for d in grid.dimensions) else [*product(*finest)]


def numbers_of(grid: Grid, most: int) -> dict[Place, int]:
    """Return the numbers of all unknowns: the cells as they are counted, and those of the table of all dimensions."""
    number = {tuple(key): cell for cell, key in enumerate(grid.all_keys.tolist())}
    for cell, place in enumerate(joint_places(grid, most), len(grid)):
        number.setdefault(place, cell)
    return number


def relations_of(grid: Grid, number: Mapping[Place, int]) -> Iterator[tuple[Mapping[int, int], bool]]:
    """Yield what relates the unknowns: the factors of a sum that is at least 0, and whether it is 0.

    An entity in several parts of a cell is in as many parts of a cell around it, where different parts of the one lie
    in different parts of the other. So the parts of the first exceed it by no more than those of the second do theirs.
    """

    def above(place: Place, levels: Place) -> int:
        steps = zip(grid.dimensions, place, levels, strict=True)
        return number[tuple(0 if level == -1 else int(d.above[level][c]) for d, c, level in steps)]

    sets: dict[Place, list[Place]] = {}
    for place in number:
        levels = tuple(int(d.level[c]) for d, c in zip(grid.dimensions, place, strict=True))
        sets.setdefault(levels, []).append(place)
    loose: dict[tuple[Place, Place], dict[int, list[int]]] = {}
    for fine, coarse in permutations(sets, 2):
        if not all(map(_is_finer, fine, coarse)):
            continue
        children: dict[int, list[int]] = {}
        for place in sets[fine]:
            children.setdefault(above(place, coarse), []).append(number[place])
        steps = zip(grid.dimensions, fine, coarse, strict=True)
        is_sum = not any((low, None if high == -1 else high) in d.several for d, low, high in steps)
        for parent, parts in children.items():
            yield {**dict.fromkeys(parts, 1), parent: -1}, is_sum
            if not is_sum:
                yield from (({parent: 1, part: -1}, False) for part in parts)
        if not is_sum:
            loose[fine, coarse] = children
    for inner, outer in permutations(loose, 2):
        if all(
            (f, c) == (of, oc) if f != c else of == oc and _is_finer(f, of)
            for f, c, of, oc in zip(*inner, *outer, strict=True)
        ):
            for place in sets[inner[1]]:
                cell, around = number[place], above(place, outer[1])
                row = Counter(loose[outer][around])
                row.subtract([around, *loose[inner][cell]])
                row[cell] += 1
                yield {each: factor for each, factor in row.items() if factor}, False


def _is_finer(one: int, other: int) -> bool:
    """Return whether a level of a dimension lies below another, or is it; -1 is the total."""
    return other == -1 or 0 <= one <= other


def rows_of(grid: Grid, most: int) -> SparseRows:
    """Return the relations of unknowns as rows."""
    relations = relations_of(grid, numbers_of(grid, most))
    return SparseRows.of(([*row], [*row.values()], 0.0, 0.0 if is_sum else np.inf) for row, is_sum in relations)


class CellAudit:
    """Judges one released table, or several, by the published numbers.

    Args:
        low, high: what each cell may be by what is published: equal ones are a shown value, NaN is suppressed. Of
            further unknowns nothing is.
    """

    def __init__(self, rows: SparseRows, low: Floats, high: Floats) -> None:
        self._rows, self._further = rows, max(int(rows.columns.max(initial=0)) + 1 - len(low), 0)
        self._low = np.nan_to_num(np.pad(low, (0, self._further)))
        self._high = np.pad(np.where(np.isnan(high), np.inf, high), (0, self._further), constant_values=np.inf)
        self._least, self._most = np.full(len(self._low), np.inf), np.full(len(self._low), -np.inf)
        self._solver: Any = None

    def learn(self, truth: Floats, witnesses: Iterable[Vector], near: float = 0.0) -> None:
        """Take from tables that are said to fit what is published how small and large cells may be; each is checked.

        Args:
            near: the part of the values of a relation by which it may be missed; counts miss none.
        """
        truth = np.pad(truth, (0, self._further))
        kept = Kept(self._rows, truth, near)
        for cells, changes in witnesses:
            low, high, now = self._low[cells], self._high[cells], truth[cells] + changes
            is_open = (low < high) & (low - NEAR <= now) & (now <= high + NEAR)
            if is_open.all() and kept.allows(cells, changes):
                self._least[cells] = np.minimum(self._least[cells], now)
                self._most[cells] = np.maximum(self._most[cells], now)

    def faults(self, threshold: int, unsafe: Flags, least: Floats | float, greatest: Floats | float) -> dict[str, int]:
        """Return what is wrong with the tables, by kind, with how many cells it concerns.

        Args:
            threshold: no published count is between 1 and below it; 0 for sums.
            least, greatest: the values that must remain possible below and above, of each unsafe cell.
        """
        size = len(unsafe)
        least, greatest = np.broadcast_to(least, size), np.broadcast_to(greatest, size)
        shown, rows = self._low == self._high, self._rows
        low, high = rows.ends(self._low, self._high)
        slack = NEAR * np.maximum(1.0, rows.sizes(np.where(np.isfinite(self._high), self._high, 0.0)))
        found = {
            "small counts": int((shown & (self._low > 0) & (self._low < threshold)).sum()),
            "relations": int(((low > rows.upper + slack) | (high < rows.lower - slack)).sum()),
            "unsafe cells published": int((unsafe & shown[:size]).sum()),
        }
        if not any(found.values()):
            narrow, is_open = 0, (self._least[:size] > least) | (self._most[:size] < greatest)
            for cell in np.flatnonzero(unsafe & is_open).tolist():
                (lowest, highest), far = self.interval(cell), 1e-5 + NEAR * (greatest[cell] - least[cell])
                narrow += bool(lowest > least[cell] + far or highest < greatest[cell] - far)
            found["unsafe cells that can be computed"] = narrow
        return {kind: count for kind, count in found.items() if count}

    def interval(self, cell: int) -> tuple[float, float]:
        """Return the least and the greatest value of a cell that agree with what is published."""
        if self._solver is None:
            self._solver = program("The audit of suppressed cells", self._rows, self._low, self._high)
        ends = []
        for sign in (1.0, -1.0):
            is_known, solution = end_of(self._solver, cell, sign)
            if not is_known and (sign > 0 or is_known is None):
                raise AuditError(
                    "What was written could not be audited: no table agrees with the published numbers.",
                    hint="nothing was published; report it as a defect of sqlanon.",
                )
            ends.append(solution.col_value[cell] if is_known else math.inf)
        return ends[0], ends[1]
