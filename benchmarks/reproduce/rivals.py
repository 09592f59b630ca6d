"""Basic Mondrian over hierarchies, the local recoding of ARX, and the normalized certainty penalty by which others
report what they lose.

The penalty of a published category is the share of the hierarchy's leaves that it stands for, 0 of a leaf; that of a
table is the mean over records and columns (Xu et al. 2006). Basic Mondrian (LeFevre, DeWitt, Ramakrishnan 2006, with
hierarchies) cuts a class by the column of the greatest penalty into the children of its category there, if none that
has records has fewer than k. It is here to check the formula and the files: its published figures come out.

The local recoding of ARX (``ARXResult.optimizeIterativeFast``, with what its window sets: the loss with factor 0 and a
hundredth of the records a round) takes, round by round, the node that publishes so many records at least and of all
such loses least in those that it publishes; the records that it suppresses are the input of the next round.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A tree of categories; the root is ``*``.

    Attributes:
        penalty: of each category, the share of the leaves that it stands for; 0 of a leaf.
        children: of each category, those right below it.
        path: of each leaf, the categories from the root down to it.
    """

    penalty: Mapping[str, float]
    children: Mapping[str, Sequence[str]]
    path: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, file: Path) -> Hierarchy:
        """Read a hierarchy from a file with a line a leaf: the leaf, then its categories up to the root."""
        rows = [line.split(";") for line in file.read_text().splitlines() if line]
        children: dict[str, dict[str, None]] = {}
        for row in rows:
            for below, above in pairwise(row):
                children.setdefault(above, {})[below] = None
        leaves = Counter(category for row in rows for category in set(row[1:]))
        penalty = {row[0]: 0.0 for row in rows} | {category: n / len(rows) for category, n in leaves.items()}
        return cls(
            penalty, {node: list(below) for node, below in children.items()}, {row[0]: row[::-1] for row in rows}
        )


def penalty_of(rows: Iterable[Sequence[str]], columns: Sequence[Hierarchy]) -> float:
    """Return the penalty of published rows, from 0 to 1."""
    counts = Counter(map(tuple, rows))
    lost = sum(n * sum(c.penalty[v] for c, v in zip(columns, row, strict=True)) for row, n in counts.items())
    return lost / len(columns) / counts.total()


def basic_mondrian(records: Sequence[Sequence[str]], columns: Sequence[Hierarchy], k: int) -> list[tuple[str, ...]]:
    """Return the rows that basic Mondrian publishes of some records, in no order."""
    published: list[tuple[str, ...]] = []
    stack = [(list(records), ("*",) * len(columns), frozenset(range(len(columns))))]
    while stack:
        members, shown, left = stack.pop()
        if not left:
            published += [shown] * len(members)
            continue
        place = max(sorted(left), key=lambda p: columns[p].penalty[shown[p]])
        parts: dict[str, list[Sequence[str]]] = {}
        below = columns[place].children.get(shown[place], ())
        for record in members if below else ():
            path = columns[place].path[record[place]]
            parts.setdefault(path[path.index(shown[place]) + 1], []).append(record)
        if not parts or any(len(part) < k for part in parts.values()):
            stack.append((members, shown, left - {place}))
            continue
        for category, part in parts.items():
            stack.append((part, (*shown[:place], category, *shown[place + 1 :]), frozenset(range(len(columns)))))
    return published


def arx_local_recoding(
    records: Sequence[Sequence[str]], columns: Sequence[Hierarchy], k: int, rounds: int = 100
) -> list[tuple[str, ...]]:
    """Return the rows that the local recoding of ARX publishes of some records, in their order; the others hold ``*``.

    Every round is searched to its optimum; of nodes with equal losses ARX may take another.
    """
    texts, codes, losses = [], [], []
    for place, hierarchy in enumerate(columns):
        values = [hierarchy.path[record[place]][::-1] for record in records]
        texts.append([[value[level] for value in values] for level in range(len(values[0]))])
        codes.append([np.unique(level, return_inverse=True)[1] for level in texts[-1]])
        losses.append([np.array([_loss(hierarchy, text) for text in level]) for level in texts[-1]])
    published = [("*",) * len(columns)] * len(records)
    left = np.arange(len(records))
    while len(left):
        fewest = min(math.ceil(len(records) / rounds), len(left))
        own = [[level[left] for level in each] for each in losses]
        least = [[level.min() for level in each] for each in own]
        nodes = sorted(
            (sum(least[place][level] for place, level in enumerate(node)), node)
            for node in product(*[range(len(each)) for each in codes])
        )
        best, chosen, fits = math.inf, (0,) * len(columns), np.zeros(len(left), bool)
        for bound, node in nodes:
            if fewest * bound >= best:
                break  # no record loses less at this node or a later one
            keys = np.zeros(len(left), np.int64)
            for place, level in enumerate(node):
                keys = keys * (codes[place][level].max() + 1) + codes[place][level][left]
            _, of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
            passing = sizes[of] >= k
            lost = sum(own[place][level][passing].sum() for place, level in enumerate(node))
            if passing.sum() >= fewest and lost < best:
                best, chosen, fits = lost, node, passing
        if not fits.any():
            break
        for record in left[fits]:
            published[record] = tuple(texts[place][level][record] for place, level in enumerate(chosen))
        left = left[~fits]
    return published


def _loss(hierarchy: Hierarchy, text: str) -> float:
    """Return the loss of a category (Iyengar): 0 of a leaf, 1 of the root."""
    leaves = len(hierarchy.path)
    return max(hierarchy.penalty[text] * leaves - 1, 0) / (leaves - 1)
