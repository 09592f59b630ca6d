"""What protection works on: the unknowns of a release of counts, what relates them, and which of them are suppressed.

**Unknowns.** A cell that some table shows is *published*, whether its value is suppressed or not. Other unknowns, such
as the cells of the table of all dimensions, are shown by no table: nothing but the relations says anything of them.

**Relations.** ``lower <= Σ factor · unknown <= upper``, a row each, in the compressed form of sparse matrices. A
*witness* is a vector of non-negative numbers, whole ones for counts, that keeps all relations and agrees with every
published cell that is not suppressed. The true values are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
ALONE = -1
"""Of a cell, that it has not one contributor."""


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Sparse rows: the entries of row r are those from ``starts[r]`` up to ``starts[r + 1]``."""

    starts: Numbers
    columns: Numbers
    factors: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, rows: Iterable[tuple[Sequence[int], Sequence[float], float, float]]) -> SparseRows:
        """Return rows from their columns, factors and bounds, one after the other."""
        every = list(rows)
        columns = np.array([column for own, *_ in every for column in own], np.int64)
        factors = np.array([factor for _, weights, *_ in every for factor in weights], np.float64)
        limits = np.array([bounds for _, _, *bounds in every], np.float64).reshape(-1, 2)
        return cls(np.cumsum([0, *(len(own) for own, *_ in every)]), columns, factors, limits[:, 0], limits[:, 1])

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def of_entries(self) -> Numbers:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def is_equal(self) -> Flags:
        """Whether each row is an equation."""
        found: Flags = self.lower == self.upper
        return found

    def cells_of(self, row: int) -> Numbers:
        """Return the unknowns of a row."""
        return self.columns[self.starts[row] : self.starts[row + 1]]

    def summed(self, entries: Floats | Flags) -> Floats:
        """Return the sum of the numbers of the entries of each row."""
        return np.bincount(self.of_entries, entries, len(self)).astype(np.float64)

    def times(self, values: Floats) -> Floats:
        """Return the value of each row."""
        return self.summed(self.factors * values[self.columns])

    def sizes(self, values: Floats) -> Floats:
        """Return how large each row is: half the sum of its products, all taken as positive."""
        return self.summed(np.abs(self.factors * values[self.columns])) / 2

    def ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of each row, of unknowns between two vectors."""
        low, high, adds = self.factors * low[self.columns], self.factors * high[self.columns], self.factors > 0
        return self.summed(np.where(adds, low, high)), self.summed(np.where(adds, high, low))

    def joined(self, other: SparseRows) -> SparseRows:
        """Return these rows and then others."""
        rest = (np.concatenate([getattr(self, n), getattr(other, n)]) for n in ("columns", "factors", "lower", "upper"))
        return SparseRows(np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]), *rest)

    def beside(self, values: Floats) -> SparseRows:
        """Return the rows over how far each unknown is above some values, and then over how far each is below them."""
        columns = np.stack([self.columns, self.columns + len(values)], axis=1).reshape(-1)
        factors = np.stack([self.factors, -self.factors], axis=1).reshape(-1)
        now = self.times(values)
        return SparseRows(2 * self.starts, columns, factors, self.lower - now, self.upper - now)

    def combined(self, multipliers: Floats, width: int) -> Floats:
        """Return the sum of the rows, each times its multiplier, as a vector over ``width`` unknowns."""
        return np.bincount(self.columns, self.factors * multipliers[self.of_entries], width).astype(np.float64)


class Kept:
    """Says whether values with some changes keep relations.

    Args:
        near: the part of the values of a row by which it may be missed.
    """

    def __init__(self, rows: SparseRows, values: Floats, near: float = 0.0) -> None:
        self._rows, self._of_entries, self._sums = rows, rows.of_entries, rows.times(values)
        self._slack = near * np.maximum(1.0, rows.sizes(values))
        self._entries = np.argsort(rows.columns, kind="stable")
        self._starts = np.searchsorted(rows.columns[self._entries], np.arange(len(values) + 1))

    def allows(self, cells: Numbers, changes: Floats) -> bool:
        """Return whether the values with these changes keep all relations."""
        own = [self._entries[self._starts[cell] : self._starts[cell + 1]] for cell in cells.tolist()]
        entries = np.concatenate([np.empty(0, np.int64), *own])
        rows, place = np.unique(self._of_entries[entries], return_inverse=True)
        by = self._rows.factors[entries] * np.repeat(changes, [len(each) for each in own])
        sums, slack = self._sums[rows] + np.bincount(place, by, len(rows)), self._slack[rows]
        return bool((sums >= self._rows.lower[rows] - slack).all() and (sums <= self._rows.upper[rows] + slack).all())


@dataclass(frozen=True, slots=True)
class Demand:
    """That some witness has at least (``sign`` 1) or at most (-1) a value in a cell, and the true one in another.

    Attributes:
        known: the cell whose true value the witness has: an insider's; -1 for none.
    """

    cell: int
    sign: int
    value: float
    known: int = -1


Choice = tuple[Demand, ...]
"""Demands of which one is enough."""


@dataclass(frozen=True, slots=True)
class System:
    """The unknowns of a release and what must be protected.

    Attributes:
        values: the true values; of unknowns that are not published, any.
        published: whether a table shows the unknown.
        rows: the relations.
        unsafe: the published cells that are suppressed in any case.
        least, greatest: of each unsafe cell, what some witness has at most there, and another at least.
        weights: what suppressing each cell costs.
        exempt: the published cells that are not suppressed to protect others.
        contributor: of each unsafe cell of value 1, a number of whom it counts; else ``ALONE``. Whoever knows such a
            cell may not learn another unsafe one, other than of the same contributor. Empty: there are no insiders.
        grand: the cell of the grand total, which searches suppress where nothing else protects; -1 for none.
        whole: the values are whole numbers.
        waives: where nothing that may be suppressed keeps an insider from a cell, nothing is asked: both cells have the
            same contributors.
    """

    values: Floats
    published: Flags
    rows: SparseRows
    unsafe: Flags
    least: Floats
    greatest: Floats
    weights: Floats
    exempt: Flags
    contributor: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    grand: int = -1
    whole: bool = True
    waives: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def weight(self, hidden: Flags) -> float:
        """Return what the hidden cells cost that are not unsafe."""
        return float(self.weights[hidden & ~self.unsafe].sum())

    def dearest(self, hidden: Flags) -> list[int]:
        """Return the hidden cells that are not unsafe, those that cost most first."""
        further = np.flatnonzero(hidden & ~self.unsafe)
        order: list[int] = further[np.argsort(-self.weights[further], kind="stable")].tolist()
        return order

    def demands(self, cells: Iterable[int] | None = None) -> Iterator[Choice]:
        """Yield what must be met of each unsafe cell, or of some, by itself."""
        for cell in np.flatnonzero(self.unsafe).tolist() if cells is None else cells:
            for sign, value in ((1, self.greatest[cell]), (-1, self.least[cell])):
                if sign * (self.values[cell] - value) < 0:
                    yield (Demand(cell, sign, float(value)),)

    def of_insider(self, known: int, other: int) -> Choice:
        """Return what must be met so that who knows one cell does not know another: more there, or less."""
        value = float(self.values[other])
        more = Demand(other, 1, value + 1, known)
        return (more, Demand(other, -1, value - 1, known)) if value >= 1 else (more,)

    def holds(self, witness: Floats, hidden: Flags) -> bool:
        """Return whether a vector is a witness, exactly; where values are no whole numbers, a solver is believed."""
        if not self.whole:
            return True
        shown = self.published & ~hidden
        sums = self.rows.times(witness)
        return bool(
            (witness >= 0).all()
            and (witness == np.rint(witness)).all()
            and (witness[shown] == self.values[shown]).all()
            and (sums >= self.rows.lower).all()
            and (sums <= self.rows.upper).all()
        )


@dataclass(frozen=True, slots=True)
class SuppressionCut:
    """``Σ coefficient · y >= 1`` over cells that are not unsafe, and why.

    Attributes:
        multipliers: for each demand, of the relations, in parts. Empty: with all cells but those of the cut suppressed,
            no witness in whole numbers meets any of the demands, as trying shows.
    """

    choice: Choice
    cells: Numbers
    coefficients: Floats
    multipliers: tuple[Numbers, ...] = ()


Vector = tuple[Numbers, Floats]
"""A witness, by the unknowns in which it differs from the true values, and by how much."""


@dataclass(frozen=True, slots=True)
class CellSuppression:
    """Which unknowns of a system are suppressed, all unsafe ones among them, and what shows that this is needed.

    Attributes:
        lower_bound: no suppression that protects has less weight, as the cuts show.
        how: ``exact`` where cuts were looked for, else ``heuristic``.
        witnesses: that were found, also such as change what is not suppressed.
    """

    system: System
    suppressed: Flags
    lower_bound: float
    how: str
    cuts: Sequence[SuppressionCut] = ()
    witnesses: Sequence[Vector] = ()

    @property
    def weight(self) -> float:
        """Of those that are suppressed beside the unsafe ones."""
        return self.system.weight(self.suppressed)

    @property
    def optimal(self) -> bool:
        """Whether nothing of less weight protects."""
        return self.weight <= self.lower_bound
