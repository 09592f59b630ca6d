"""What readers know of categories: each that is listed has somebody.

Five categories that are suppressed, of which a total says that they have five together, have one each. So a suppressed
category is as large as the threshold only if what is left beside it has one in each of the others.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sqlanon.counts.facts import Flags, Floats
from sqlanon.counts.grid import Grid

Links = list[dict[int, list[int]]]
"""The parts of each category and of the total, the finest level first."""


def wanted_beside_others(
    grid: Grid, values: Floats, hidden: Flags, unsafe: Flags, greatest: Floats, exempt: Flags
) -> dict[int, float] | None:
    """Return cells that must be suppressed, too, so that unsafe cells are safe with one in each category: by how much
    each must be able to fall (below 0), or a total to grow. None where there are no such.

    Only the categories of one dimension, with their totals, are looked at together. What stands beside small ones is
    the smallest category that is enough, or else their total.

    Args:
        hidden: of each cell, whether it is suppressed.
        greatest: what must be possible of each unsafe cell, at least.
    """
    wanted: dict[int, float] = {}
    shown = grid.is_published & ~hidden
    for position in range(len(grid.dimensions)):
        links = _links(grid, position)
        above = {part: whole for link in links for whole, parts in link.items() for part in parts}
        every = {whole: parts for link in links for whole, parts in link.items()}
        most, lacking = _most(links, values, shown), dict[int, float]()
        for cell in np.flatnonzero(unsafe).tolist():
            if cell not in above or most[cell] >= greatest[cell]:
                continue
            whole: int | None = above[cell]
            while whole is not None and not shown[whole]:
                whole = above.get(whole)
            if whole is not None:
                lacking[whole] = max(lacking.get(whole, 0.0), float(greatest[cell] - most[cell]))
        for whole, by in lacking.items():
            beside = [p for p in every[whole] if shown[p] and not exempt[p] and values[p] > by]
            if beside:
                wanted[min(beside, key=lambda part: values[part])] = -by
            elif exempt[whole]:
                return None
            else:
                wanted[whole] = by
    return wanted


def _links(grid: Grid, position: int) -> Links:
    """Return how the categories of one dimension are sums of finer ones, and the total of those."""
    nothing = [None] * len(grid.dimensions)
    levels = [*grid.dimensions[position].levels, None]
    every = [(*nothing[:position], level, *nothing[position + 1 :]) for level in levels]
    there = [grid.sets.index(each) for each in every if each in grid.sets]
    return [grid.parts(fine, coarse) for fine, coarse in pairwise(there) if grid.is_sum(fine, coarse)]


def _most(links: Links, values: Floats, shown: Flags) -> Floats:
    """Return the most that each category can have, by what is shown of them: of a tree, its parts and then its whole
    tell all."""
    low, high = np.where(shown, values, 1.0), np.where(shown, values, np.inf)
    for link in links:
        for whole, parts in link.items():
            low[whole] = max(low[whole], low[parts].sum())
            high[whole] = min(high[whole], high[parts].sum())
    for link in reversed(links):
        for whole, parts in link.items():
            high[parts] = np.minimum(high[parts], high[whole] - (low[parts].sum() - low[parts]))
    return high
