"""How strongly columns go together, before and after: Cramér's V without its bias, of every two columns.

Bergsma (A bias-correction for Cramér's V and Tschuprow's T, Journal of the Korean Statistical Society 42, 2013).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sqlanon.assess.utility.facts import Association, PairAssociation
from sqlanon.assess.utility.released import ReleasedTypes, Whole
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.engines.base import Engine

TOGETHER = 60
"""A statement counts so many pairs of columns at most: an engine limits how long one may be."""


def association(types: ReleasedTypes, columns: tuple[str, ...], left_out: tuple[str, ...]) -> Association | None:
    """Return the association of every two compared columns; None for fewer than two, or where nothing is published."""
    pairs = list(combinations(range(len(columns)), 2))
    if not pairs or not types.records_published:
        return None
    places = {values.attribute.name: position for position, values in enumerate(types.values)}
    before, after = (_strengths(types.engine, pairs, released=released) for released in (False, True))
    for place, pair in enumerate(pairs):
        known = [places[columns[number]] for number in pair if columns[number] in places]
        if types.held and len(known) == 2 and min(before[place], after[place]) < 1:
            for strengths, released in ((before, False), (after, True)):
                if strengths[place] < 1 and _determined(types, known, released=released):
                    strengths[place] = 1.0
    found = tuple(
        PairAssociation(columns[first], columns[second], before[place], after[place])
        for place, (first, second) in enumerate(pairs)
    )
    changes = [pair.change for pair in found]
    return Association(found, float(np.mean(changes)), float(np.max(changes)), left_out)


def _strengths(engine: Engine, pairs: list[tuple[int, int]], *, released: bool) -> list[float]:
    """Return Cramér's V of each pair."""
    strengths = []
    for start in range(0, len(pairs), TOGETHER):
        part = pairs[start : start + TOGETHER]
        rows = engine.run("pairs of columns", compiler.pairs(part, released=released))
        counted = np.array(rows, np.int64).reshape(len(rows), 4)
        for place in range(len(part)):
            own = counted[counted[:, 0] == place]
            strengths.append(cramers_v(own[:, 1], own[:, 2], own[:, 3]))
    return strengths


def _determined(types: ReleasedTypes, positions: list[int], *, released: bool) -> bool:
    """Return whether one of two quasi-identifiers follows from the other by their values, before they are merged into
    categories; of the released records, by what is published."""
    margin = types.margin(positions)
    taken = (margin.n > 0) & (margin.levels[0] >= 0 if released else True)
    sides = []
    for position, value, level in zip(positions, margin.values, margin.levels, strict=True):
        values, side = types.values[position], value.copy()
        for own in values.levels if released else ():
            at = level == own
            side[at] = own * len(values.places) + values.covering(own).cell[value[at]]
        sides.append(side[taken])
    cells = np.unique(np.stack(sides), axis=1).shape[1]
    several = [len(np.unique(side)) for side in sides]
    return min(several) > 1 and cells == max(several) and int(margin.n[taken].sum()) >= 2 * cells


def cramers_v(first: Whole, second: Whole, n: Whole) -> float:
    """Return Cramér's V without its bias, of the cells of a table; 0 where a column has one category.

    It is 1 where one category determines the other and each stands for two records on average, which the correction
    takes for chance where categories are many. With fewer records, chance determines as well.

    Args:
        first, second: the categories of each cell that is not empty.
        n: its records.
    """
    whole = float(n.sum())
    _, row = np.unique(first, return_inverse=True)
    _, column = np.unique(second, return_inverse=True)
    rows, columns = int(row.max(initial=-1)) + 1, int(column.max(initial=-1)) + 1
    if rows < 2 or columns < 2 or whole < 2:
        return 0.0
    if len(n) == max(rows, columns) and whole >= 2 * len(n):
        return 1.0
    of_row, of_column = np.bincount(row, weights=n), np.bincount(column, weights=n)
    square = float((n.astype(np.float64) ** 2 / (of_row[row] * of_column[column])).sum()) - 1
    square = max(0.0, square - (rows - 1) * (columns - 1) / (whole - 1))
    least = min(rows - (rows - 1) ** 2 / (whole - 1), columns - (columns - 1) ** 2 / (whole - 1)) - 1
    return min(1.0, float(np.sqrt(square / least))) if least > 0 else 0.0
