"""Large tables: cells that may be exchanged against each other in whole numbers, so that no program is needed.

**Moves.** Take one or two finest categories of each dimension, the second with the sign -1, and all categories above
them. Their product adds 1 to some cells, takes 1 from others, and changes no relation of a parent and its parts: what
is added to the parts is added to the parent. Where the same finest categories meet the same parent, both cancel. (The
hypercubes of Repsilber 1994, of any hierarchy, with lines up to the total; moves of Diaconis and Sturmfels, Annals of
Statistics 1998.) A move may be made as often as the least value that it takes from, so that no cell falls below 0. A
sum of moves is a *witness*, of whole numbers where the table is.

**Search.** For each unsafe cell the cheapest moves are summed up until it is as large, or as small, as it must be able
to be; what they change is suppressed, and costs nothing from then on. Then each further cell is published again, the
dearest first, if other witnesses do without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from sqlanon.counts.facts import ALONE, Flags, Floats, Kept, Numbers, System, Vector
from sqlanon.counts.grid import Dimension, Grid

MOST_PLACES = 50_000_000
"""Combinations of categories of all levels, at most: more are not numbered in memory."""
LOOKS = 1_500
"""Moves of one kind that are compared for a cell, at most."""
FOR_PROGRAMS = 20_000
"""Up to so many cells what only the grand total protects is left to programs, which may find something else."""
STEPS = 8
"""A witness of sums has so many moves, at most."""
LEAVES = 24
"""Finest categories below a coarse one that are tried."""
EXCHANGED = 100
"""Finest categories below a coarse one that are exchanged against those of others, at most."""
Option = tuple[Numbers, Numbers, Floats]
"""Categories of one dimension, a row a choice, the sign of each column, and what each row costs."""


class MoveSearch:
    """Suppresses cells of one grid until moves protect the unsafe ones.

    Args:
        system: its first unknowns are the cells of the grid; the relations of the grid are its only ones.
        until: of ``time.monotonic``; after it nothing is published again.
    """

    def __init__(self, grid: Grid, system: System, until: float) -> None:
        self.grid, self.system, self._until = grid, system, until
        self._keys = grid.all_keys
        self._shape = [len(dimension.texts) for dimension in grid.dimensions]
        self._index = np.full(int(np.prod(self._shape)), len(grid), np.int64)  # the last place: no cell
        self._index[self._flat(self._keys)] = np.arange(len(grid))
        self._now = np.append(system.values, np.inf)
        self._banned = np.zeros(len(grid) + 1, bool)
        self._prices = np.append(np.where(system.exempt, np.inf, system.weights), 0.0)
        self._prices[:-1][~system.published | system.unsafe] = 0.0
        if system.grand >= 0 and len(grid) <= FOR_PROGRAMS:
            self._prices[system.grand] = np.inf
        self._own_prices = self._prices.copy()
        self.hidden: Flags = system.unsafe.copy()
        own = system.contributor if len(system.contributor) else np.full(len(system), ALONE)
        self._knows = np.append(system.unsafe & (own != ALONE), False)
        self.witnesses: dict[int, Vector] = {}
        self._of_cell: dict[int, set[int]] = {}
        self._options: dict[tuple[int, int], list[tuple[Numbers, Numbers]]] = {}
        loose = (system.rows.lower < system.rows.upper).any()
        self._kept = Kept(system.rows, system.values) if loose else None
        self._number, self._leaves = 0, LEAVES

    def _flat(self, keys: Numbers) -> Numbers:
        flat: Numbers = np.ravel_multi_index(tuple(keys.T), self._shape)
        return flat

    def suppress(self, *, freely: bool = False) -> list[tuple[int, int]]:
        """Suppress what moves need; return what none protects: an unsafe cell, and who knows too much of it or -1.

        Args:
            freely: the grand total may be suppressed in tables of any size, and all finest categories are tried.
        """
        grand = self.system.grand
        if freely:
            self._leaves, self._options = len(self.grid), {}
            if grand >= 0 and not self.hidden[grand]:
                self._prices[grand] = self.system.weights[grand]
        order = np.flatnonzero(self.system.unsafe)
        order = order[np.argsort(self.system.values[order], kind="stable")]
        left = [(cell, -1) for cell in order.tolist() if not self._protect(cell, free=False)]
        for cell in order.tolist():
            left += [(cell, known) for known in self._hide_from_insiders(cell, free=False)]
        return left

    def _reach(self, cell: int, without: frozenset[int] = frozenset()) -> tuple[float, float]:
        """Return by how much witnesses let a cell grow and fall."""
        own = [self.witnesses[number] for number in self._of_cell.get(cell, set()) - without]
        changes = [0.0, *(float(by[cells == cell][0]) for cells, by in own)]
        return max(changes), -min(changes)

    def _protect(self, cell: int, *, free: bool, without: frozenset[int] = frozenset()) -> bool:
        """Add witnesses until a cell may be as large and as small as it must; return whether there are.

        Args:
            free: nothing more is suppressed for it.
            without: witnesses that do not count.
        """
        value, system = self.system.values[cell], self.system
        for sign, need in ((1, system.greatest[cell] - value), (-1, value - system.least[cell])):
            if self._reach(cell, without)[0 if sign > 0 else 1] < need and not self._witness(cell, sign, need, free):
                return False
        return True

    def _knowing(self, cell: int, without: frozenset[int] = frozenset()) -> set[int]:
        """Return the cells that change with every witness that changes a cell, of such as somebody knows."""
        found: set[int] | None = None
        for number in self._of_cell.get(cell, set()) - without:
            cells, _ = self.witnesses[number]
            own = set(cells[self._knows[cells]].tolist())
            found = own if found is None else found & own
            if not found - {cell}:
                return set()
        return set(np.flatnonzero(self._knows).tolist()) - {cell} if found is None else found - {cell}

    def _hide_from_insiders(self, cell: int, *, free: bool, without: frozenset[int] = frozenset()) -> set[int]:
        """Add witnesses until nobody who knows another cell knows this one; return whom none keeps from it."""
        if not self._knows.any():
            return set()
        for one_by_one in (False, True):
            left = self._knowing(cell, without)
            for known in [{each} for each in left] if one_by_one else [left]:
                places = sorted(known)
                self._banned[places] = True
                if known and not self._witness(cell, 1, 1.0, free):
                    self._witness(cell, -1, 1.0, free)
                self._banned[places] = False
            if free or not (left := self._knowing(cell, without)):
                break
        return self._knowing(cell, without)

    def _witness(self, cell: int, sign: int, need: float, free: bool) -> bool:
        """Add a sum of cheap moves by which a cell differs as it needs; return whether there is one."""
        changes: dict[int, float] = {}
        left, near = need, 0.0 if self.system.whole else 1e-9 * need
        while left > near:
            found = self._cheapest(cell, sign, left, 1.0 if self.system.whole else min(left, need / STEPS))
            if found is None or (free and self._prices[found[0]].any()):
                break
            cells, steps = found
            self._now[cells] += steps
            for place, step in zip(cells.tolist(), steps.tolist(), strict=True):
                changes[place] = changes.get(place, 0.0) + step
            left -= abs(float(steps[cells == cell][0]))
        cells = np.array([place for place, change in changes.items() if change], np.int64)
        self._now[list(changes)] = self.system.values[list(changes)]
        return left <= near and self.add((cells, np.array([change for change in changes.values() if change])))

    def add(self, vector: Vector) -> bool:
        """Take a witness among the others, if it is one, and what takes the same from the truth, if that is one."""
        cells, by = vector
        if self._kept is not None and not self._kept.allows(cells, by):
            return False
        turns = (self.system.values[cells] >= by).all() and (self._kept is None or self._kept.allows(cells, -by))
        for changes in (by, -by) if turns else (by,):
            self.witnesses[self._number] = cells, changes
            for cell in cells.tolist():
                self._of_cell.setdefault(cell, set()).add(self._number)
            self._number += 1
        fresh = cells[self.system.published[cells]]
        self.hidden[fresh] = True
        self._prices[fresh] = 0.0
        return True

    def _cheapest(self, cell: int, sign: int, left: float, step: float) -> tuple[Numbers, Floats] | None:
        """Return the cells and steps of the move that adds to a cell, or takes from it, and costs least for it.

        Args:
            left, step: what the cell needs, and what the move must bring at least.
        """
        keys = self._keys[cell]
        parts = [self._pruned(place, keys, sign, left, step) for place in range(len(keys))]
        best: tuple[float, Numbers, Floats] | None = None
        for chosen in sorted(product(*parts), key=lambda each: sum(float(costs[0]) for *_, costs in each)):
            least = sum(float(costs[0]) for *_, costs in chosen)  # a product has the cells of its parts, at least
            if best is not None and least >= best[0]:
                break
            cells, signs = self._cells_of(chosen)
            costs, room = self._costs(cells, signs * sign, left, step)
            row = int(np.argmin(costs))
            if np.isfinite(costs[row]) and (best is None or costs[row] < best[0]):
                own = cells[row] < len(self.grid)
                best = (float(costs[row]), cells[row][own], signs[own] * sign * min(left, float(room[row])))
        return None if best is None else best[1:]

    def _costs(self, cells: Numbers, signs: Numbers, left: float, step: float) -> tuple[Floats, Floats]:
        """Return what each row of cells costs, and how often it may change by its signs."""
        room = self._now[cells[:, signs < 0]].min(axis=1, initial=np.inf)
        costs = self._prices[cells].sum(axis=1)
        costs = costs * (1 + (left - np.minimum(room, left)) / left)  # who needs more than one costs more
        costs += 1e-3 * self._knows[cells].sum(axis=1) + 1e-5 * len(signs)
        wrong = (room < step) | self._banned[cells].any(axis=1)
        return np.where(wrong, np.inf, costs), room

    def _pruned(self, place: int, keys: Numbers, sign: int, left: float, step: float) -> list[Option]:
        """Return the best options of one dimension: those whose cells, the other categories kept, cost least."""
        most = max(4, int(LOOKS ** (1 / len(keys))))
        found = []
        for categories, signs in self._options_of(place, int(keys[place])):
            all_keys = np.broadcast_to(keys, (*categories.shape, len(keys))).copy()
            all_keys[:, :, place] = categories
            cells = self._index[self._flat(all_keys.reshape(-1, len(keys)))].reshape(categories.shape)
            costs, _ = self._costs(cells, signs * sign, left, step)
            rows = np.argsort(costs, kind="stable")[:most]
            rows = rows[np.isfinite(costs[rows])]
            if len(rows):
                found.append((categories[rows], signs, costs[rows]))
        return found

    def _cells_of(self, chosen: tuple[Option, ...]) -> tuple[Numbers, Numbers]:
        """Return the cells of all products of options, a row a product, and their signs."""
        flat, signs = np.zeros((1, 1), np.int64), np.ones(1, np.int64)
        for (categories, own, _), size in zip(chosen, self._shape, strict=True):
            flat = flat[:, None, :, None] * size + categories[None, :, None, :]
            flat = flat.reshape(flat.shape[0] * flat.shape[1], -1)
            signs = (signs[:, None] * own[None, :]).reshape(-1)
        return self._index[flat], signs

    def _options_of(self, place: int, category: int) -> list[tuple[Numbers, Numbers]]:
        if (place, category) not in self._options:
            self._options[place, category] = list(_options(self.grid.dimensions[place], category, self._leaves))
        return self._options[place, category]

    def reduce(self) -> None:
        """Publish cells again that other witnesses do without, the dearest first, while there is time."""
        for cell in self.system.dearest(self.hidden):
            if time.monotonic() >= self._until:
                return
            gone, first = frozenset(self._of_cell.get(cell, ())), self._number
            self._prices[cell] = np.inf
            if self._do_without(gone):
                self.hidden[cell] = False
                self._prices[cell] = self._own_prices[cell]
                self._drop(gone)
            else:
                self._drop(range(first, self._number))
                self._prices[cell] = 0.0

    def _do_without(self, gone: frozenset[int]) -> bool:
        """Add witnesses among suppressed cells in the place of some; return whether all unsafe cells stay safe."""
        cells = {c for number in gone for c in self.witnesses[number][0].tolist() if self.system.unsafe[c]}
        return all(self._protect(cell, free=True, without=gone) for cell in sorted(cells)) and not any(
            self._hide_from_insiders(cell, free=True, without=gone) for cell in sorted(cells)
        )

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for cell in self.witnesses.pop(number)[0].tolist():
                self._of_cell[cell].discard(number)


def has_moves(grid: Grid) -> bool:
    """Return whether the combinations of categories can be numbered in memory."""
    return float(np.prod([float(len(d.texts)) for d in grid.dimensions])) <= MOST_PLACES


def _options(dimension: Dimension, category: int, most: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the ways to change a category: with its line up to the total, or against another of its level.

    Each adds 1 to the category and to finest ones below it, of which so many are tried at most. Options of one shape
    are yielded together.
    """
    levels = dimension.levels
    leaves = dimension.categories(levels[0])
    chains = np.stack([*[dimension.above[level][leaves] for level in levels], np.zeros_like(leaves)], axis=1)
    below = (chains == category).any(axis=1)
    own = chains[below][:most]
    yield own, np.ones(own.shape[1], np.int64)
    if category == 0:
        return
    for chain in own[: min(most // 4, EXCHANGED)]:
        others = chains[~below]
        differing = (others != chain).sum(axis=1)
        for depth in np.unique(differing).tolist():
            rows = others[differing == depth][:, :depth]
            mine = np.broadcast_to(chain[:depth], rows.shape)
            yield np.concatenate([mine, rows], axis=1), np.repeat([1, -1], depth)
