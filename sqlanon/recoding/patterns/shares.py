"""Shares: how many records of a row type a pattern takes, as a solver gives them and as SQL applies them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlanon.recoding.patterns.reductions import RowTypes


class Share(NamedTuple):
    """Records of a row type that one pattern takes.

    Attributes:
        row: the row type, its position in the input.
        pattern: the position of the pattern.
        records: how many.
    """

    row: int
    pattern: int
    records: int


class Stretch(NamedTuple):
    """A share as SQL applies it: of the records of a row type, numbered from 1, ``first`` to ``last``."""

    row: int
    pattern: int
    first: int
    last: int


def stretches(assignment: Iterable[Share]) -> list[Stretch]:
    """Return the shares as intervals of the numbered records of each row type, for a join.

    >>> [tuple(each) for each in stretches([Share(0, 2, 3), Share(0, 5, 1), Share(1, 2, 4)])]
    [(0, 2, 1, 3), (0, 5, 4, 4), (1, 2, 1, 4)]
    """
    stretches: list[Stretch] = []
    for row, pattern, records in assignment:
        before = stretches[-1].last if stretches and stretches[-1].row == row else 0
        stretches.append(Stretch(row, pattern, before + 1, before + records))
    return stretches


def broken(
    table: RowTypes,
    patterns: Sequence[tuple[int, ...]],
    k: int,
    assignment: Sequence[Share],
    *,
    left_over: bool = True,
) -> list[str]:
    """Return the faults that keep shares from being a solution, found from the row types themselves; usually none."""
    (row_types, counts), faults = table, []
    taken = [0] * len(counts)
    held: dict[tuple[int, tuple[int, ...]], int] = {}
    for row, pattern, records in assignment:
        taken[row] += records
        hidden = set(patterns[pattern])
        kept = tuple(value for position, value in enumerate(row_types[row].tolist()) if position not in hidden)
        held[pattern, kept] = held.get((pattern, kept), 0) + records
    if any(share.records < 1 for share in assignment):
        faults.append("a share holds no record.")
    wrong = sum(mine != count for mine, count in zip(taken, counts.tolist(), strict=True))
    if wrong:
        faults.append(f"{wrong} row types have other numbers of records than the input.")
    small = sum(number < k for (_, kept), number in held.items() if kept or not left_over)
    if small:
        faults.append(f"{small} row types of the output hold fewer than {k} records.")
    return faults
