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


def wanted_beside_others(grid: Grid, values: Floats, hidden: Flags, unsafe: Flags, greatest: Floats) -> Floats | None:
    """Return what must be possible of unsafe cells at least, so that it is with one in each category; None where
    nothing more need be.

    Only the categories of one dimension, with their totals, are looked at together.

    Args:
        hidden: of each cell, whether it is suppressed.
        greatest: what must be possible of each unsafe cell, at least, if other cells may be 0.
    """
    wanted, needed = greatest.copy(), np.flatnonzero(unsafe)
    shown = grid.is_published & ~hidden
    for position in range(len(grid.dimensions)):
        links = _links(grid, position)
        inside = {cell for link in links for parts in link.values() for cell in parts}
        own = [cell for cell in needed.tolist() if cell in inside]
        if own:
            freely, beside = (_most(links, values, shown, floor) for floor in (0.0, 1.0))
            for cell in own:
                if beside[cell] < greatest[cell]:
                    wanted[cell] = greatest[cell] + freely[cell] - beside[cell]
    return wanted if (wanted > greatest).any() else None


def _links(grid: Grid, position: int) -> Links:
    """Return how the categories of one dimension are sums of finer ones, and the total of those."""
    nothing = [None] * len(grid.dimensions)
    levels = [*grid.dimensions[position].levels, None]
    every = [(*nothing[:position], level, *nothing[position + 1 :]) for level in levels]
    there = [grid.sets.index(each) for each in every if each in grid.sets]
    return [grid.parts(fine, coarse) for fine, coarse in pairwise(there) if grid.is_sum(fine, coarse)]


def _most(links: Links, values: Floats, shown: Flags, floor: float) -> Floats:
    """Return the most that each category can have, by what is shown of them: of a tree, its parts and then its whole
    tell all."""
    low, high = np.where(shown, values, floor), np.where(shown, values, np.inf)
    for link in links:
        for whole, parts in link.items():
            low[whole] = max(low[whole], low[parts].sum())
            high[whole] = min(high[whole], high[parts].sum())
    for link in reversed(links):
        for whole, parts in link.items():
            high[parts] = np.minimum(high[parts], high[whole] - (low[parts].sum() - low[parts]))
    return high
