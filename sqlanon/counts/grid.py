"""The cells of tables of counts: which there are, what they hold, and which is the sum of which.

A *set* is a level (or the total) of each dimension, so that a table is some sets. Every combination of categories of a
set is a cell, also one that no record falls into. Cells of several tables that agree in every dimension are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from sqlanon.counts.facts import Flags, Numbers

Levels = tuple[int | None, ...]
"""A set: the level of each dimension, None for the total."""
NamedKey = tuple[tuple[str, int, str | None], ...]
"""A cell by its categories: dimension, level and text; the totals are left out."""
TOTAL = 0
"""The number of the total among the categories of every dimension."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension with the categories of its published levels; the first is the total.

    Attributes:
        levels: the published levels, the finest first.
        texts: of each category; the total and a NULL have None.
        level: of each category, the level that it stands at; -1 is the total.
        codes: of each category, its number among the texts of its level; ascending within a level.
        above: per published level, the category of that level that each category belongs to; -1 where it is above.
        several: the steps, (finer level, coarser level or None), at which an entity may have several categories.
    """

    name: str
    levels: tuple[int, ...]
    texts: tuple[str | None, ...]
    level: Numbers
    codes: Numbers
    above: dict[int, Numbers]
    several: frozenset[tuple[int, int | None]] = frozenset()

    def categories(self, level: int | None) -> Numbers:
        """Return the categories of a level; of None, the total."""
        return np.flatnonzero(self.level == (-1 if level is None else level))

    def up(self, categories: Numbers, level: int | None) -> Numbers:
        """Return the categories of a level that some categories belong to."""
        return np.zeros_like(categories) if level is None else self.above[level][categories]


@dataclass(frozen=True, slots=True)
class Grid:
    """All cells of a release, numbered set by set.

    Attributes:
        sets: the sets of all tables, and those that hold their common margins, which no table shows.
        published: whether a table shows a set.
        starts: the first cell of each set, and at the end how many cells there are.
    """

    dimensions: tuple[Dimension, ...]
    sets: tuple[Levels, ...]
    published: tuple[bool, ...]
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        starts = [0]
        for levels in self.sets:
            starts.append(starts[-1] + int(np.prod([len(c) for c in self._categories(levels)], dtype=np.int64)))
        object.__setattr__(self, "starts", tuple(starts))

    def __len__(self) -> int:
        return self.starts[-1]

    def _categories(self, levels: Levels) -> list[Numbers]:
        return [d.categories(level) for d, level in zip(self.dimensions, levels, strict=True)]

    def keys(self, number: int) -> Numbers:
        """Return the categories of the cells of a set: a row a cell, a column a dimension."""
        own = self._categories(self.sets[number])
        return np.stack([part.reshape(-1) for part in np.meshgrid(*own, indexing="ij")], axis=1)

    @property
    def all_keys(self) -> Numbers:
        """The categories of all cells."""
        return np.concatenate([self.keys(number) for number in range(len(self.sets))])

    def named_keys(self) -> list[NamedKey]:
        """Return the categories of all cells as the source names them."""
        parts = [
            [(d.name, int(level), text) for level, text in zip(d.level, d.texts, strict=True)] for d in self.dimensions
        ]
        return [
            tuple(sorted((parts[p][c] for p, c in enumerate(key) if c), key=lambda part: part[0]))
            for key in self.all_keys.tolist()
        ]

    @property
    def whole(self) -> int | None:
        """The cell of the grand total; None where no table shows it, or there is no cell."""
        total = (None,) * len(self.dimensions)
        shown = [n for n, levels in enumerate(self.sets) if levels == total and self.published[n]]
        return self.starts[shown[0]] if shown else None

    @property
    def is_published(self) -> Flags:
        """Whether a table shows each cell."""
        return np.repeat(np.array(self.published), np.diff(self.starts))

    def of_records(self) -> Grid:
        """Return the same cells of what each record has in one category: sums."""
        return replace(self, dimensions=tuple(replace(d, several=frozenset()) for d in self.dimensions))

    def with_joint(self) -> Grid:
        """Return it with the cells of the table of all dimensions: those of a set that no table shows, if need be."""
        finest = tuple(d.levels[0] for d in self.dimensions)
        if finest in self.sets:
            return self
        return replace(self, sets=(*self.sets, finest), published=(*self.published, False))

    def cells(self, number: int, keys: Numbers) -> Numbers:
        """Return the numbers of the cells of a set with these categories."""
        place = np.zeros(len(keys), np.int64)
        for position, own in enumerate(self._categories(self.sets[number])):
            place = place * len(own) + np.searchsorted(own, keys[:, position])
        return place + self.starts[number]

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of each set that lies right below another, and of that."""
        for coarse, coarser in enumerate(self.sets):
            below = [n for n, levels in enumerate(self.sets) if n != coarse and is_finer(levels, coarser)]
            for fine in below:
                if not any(n != fine and is_finer(self.sets[fine], self.sets[n]) for n in below):
                    yield fine, coarse

    def is_sum(self, fine: int, coarse: int) -> bool:
        """Return whether cells of a set are sums of those of a finer one; else they are from the largest to the sum."""
        steps = zip(self.sets[fine], self.sets[coarse], strict=True)
        return not any(step in d.several for d, step in zip(self.dimensions, steps, strict=True))

    def parents(self, number: int, coarse: int) -> Numbers:
        """Return the cell of a coarser set that each cell of a set lies in; a row of ``keys`` each."""
        keys = self.keys(number)
        above = [d.up(keys[:, p], self.sets[coarse][p]) for p, d in enumerate(self.dimensions)]
        return self.cells(coarse, np.stack(above, axis=1))

    def parts(self, fine: int, coarse: int) -> dict[int, list[int]]:
        """Return the cells of a finer set that lie in each cell of a coarser one."""
        found: dict[int, list[int]] = {}
        for child, parent in enumerate(self.parents(fine, coarse).tolist(), self.starts[fine]):
            found.setdefault(parent, []).append(child)
        return found


def is_finer(one: Levels, other: Levels) -> bool:
    """Return whether every cell of one set lies in a cell of the other; equal sets do.

    >>> is_finer((0, 1), (0, None)), is_finer((None, 1), (0, None))
    (True, False)
    """
    return all(b is None or (a is not None and a <= b) for a, b in zip(one, other, strict=True))


def with_common_margins(sets: Sequence[Levels]) -> list[Levels]:
    """Return some sets, and of every two of them the finest that both lie in: there one says something of the other.

    >>> with_common_margins([(0, None), (None, 1)])
    [(0, None), (None, 1), (None, None)]
    """
    found = list(dict.fromkeys(sets))
    for one in found:
        for other in found[: found.index(one)]:
            levels = tuple(None if a is None or b is None else max(a, b) for a, b in zip(one, other, strict=True))
            if levels not in found:
                found.append(levels)
    return found


def sets_of(dimensions: dict[str, tuple[int, ...]], totalled: Sequence[str], among: Sequence[str]) -> list[Levels]:
    """Return the sets of a table.

    Args:
        dimensions: of the table, with their levels.
        totalled: those with a total.
        among: the dimensions of all tables; of the others the table shows the total.
    """
    choices: list[list[int | None]] = [
        [*dimensions[name], *([None] if name in totalled else [])] if name in dimensions else [None] for name in among
    ]
    return list(product(*choices))
