"""How strongly columns go together, before and after: Cramér's V without its bias, of every two columns.

Bergsma (A bias-correction for Cramér's V and Tschuprow's T, Journal of the Korean Statistical Society 42, 2013).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sqlanon.compiler import compared_records as compiler
from sqlanon.engines.base import Engine
from sqlanon.utility.facts import Association, PairAssociation
from sqlanon.utility.released import Whole

TOGETHER = 60
"""A statement counts so many pairs of columns at most: an engine limits how long one may be."""


def association(
    engine: Engine, columns: tuple[str, ...], left_out: tuple[str, ...], published: int
) -> Association | None:
    """Return the association of every two compared columns; None for fewer than two, or where nothing is published."""
    pairs = list(combinations(range(len(columns)), 2))
    if not pairs or not published:
        return None
    before, after = (_strengths(engine, pairs, released=released) for released in (False, True))
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


def cramers_v(first: Whole, second: Whole, n: Whole) -> float:
    """Return Cramér's V without its bias, of the cells of a table; 0 where a column has one category.

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
    of_row, of_column = np.bincount(row, weights=n), np.bincount(column, weights=n)
    square = float((n.astype(np.float64) ** 2 / (of_row[row] * of_column[column])).sum()) - 1
    square = max(0.0, square - (rows - 1) * (columns - 1) / (whole - 1))
    least = min(rows - (rows - 1) ** 2 / (whole - 1), columns - (columns - 1) ** 2 / (whole - 1)) - 1
    return min(1.0, float(np.sqrt(square / least))) if least > 0 else 0.0
