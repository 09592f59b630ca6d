"""What enumeration of all tables of whole numbers says of a small system of counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from sqlanon.counts.facts import ALONE, Choice, Flags, Floats, System


def all_tables(system: System, above: int) -> Floats:
    """All vectors of whole numbers that keep the relations, each at most so much above the largest inner cell."""
    rows = system.rows
    own = [rows.cells_of(row).tolist() for row in range(len(rows))]
    factors = [rows.factors[rows.starts[r] : rows.starts[r + 1]] for r in range(len(rows))]
    found = np.zeros((1, 0))
    for cell in range(len(system)):
        last = [r for r, cells in enumerate(own) if max(cells) == cell]
        exact = [r for r in last if rows.is_equal[r]]
        if exact:
            row = exact[0]
            known = found[:, own[row][:-1]] @ factors[row][:-1]
            found = np.hstack([found, known[:, None]])
        else:
            top = int(system.values[cell]) + above
            found = np.hstack([np.repeat(found, top + 1, axis=0), np.tile(np.arange(top + 1.0), len(found))[:, None]])
        for row in last:
            value = found[:, own[row]] @ factors[row]
            found = found[(value >= rows.lower[row]) & (value <= rows.upper[row])]
        found = found[found[:, cell] >= 0]
    return found


def every_choice(system: System) -> Iterator[Choice]:
    """Everything that must be met of a system."""
    yield from system.demands()
    unsafe = np.flatnonzero(system.unsafe).tolist()
    if len(system.contributor):
        for known, other in itertools.permutations(unsafe, 2):
            if system.contributor[known] != ALONE:
                yield system.of_insider(known, other)


class Enumerated:
    """What enumeration says of a system: per choice, the least sets of further cells that make a table possible."""

    def __init__(self, system: System, above: int) -> None:
        self.system, self.tables = system, all_tables(system, above)
        self.moved = (self.tables != system.values) & system.published
        self.bits = np.int64(1) << np.arange(len(system), dtype=np.int64)
        further = (self.moved & ~system.unsafe) @ self.bits
        allowed = (further & self.of(system.exempt & ~system.unsafe)) == 0
        self.supports: list[list[int]] = []
        for choice in every_choice(system):
            meets = np.zeros(len(self.tables), bool)
            for demand in choice:
                fits = demand.sign * (self.tables[:, demand.cell] - demand.value) >= 0
                if demand.known >= 0:
                    fits &= ~self.moved[:, demand.known]
                meets |= fits
            left, least = np.unique(further[meets & allowed]), []
            while len(left):
                fewest = left[np.argmin(np.bitwise_count(left))]
                least.append(int(fewest))
                left = left[(left & fewest) != fewest]
            self.supports.append(least)

    def of(self, cells: Flags) -> np.int64:
        """Return cells as the bits of a number."""
        return np.int64(self.bits[cells].sum())

    def unmet(self, hidden: int) -> list[int] | None:
        """Return the sets of which one must be suppressed, for a demand that is not met; None if all are."""
        unmet = [sets for sets in self.supports if all(each & ~hidden for each in sets)]
        return min(unmet, key=len, default=None)

    def protects(self, hidden: Flags) -> bool:
        """Return whether some table meets each demand and differs in hidden cells alone."""
        return self.unmet(int(self.of(hidden))) is None

    def least(self) -> float | None:
        """Return the weight of the least suppression; None where there is none."""
        best: float | None = None
        seen = set()

        def further(hidden: int) -> None:
            nonlocal best
            if hidden in seen:
                return
            seen.add(hidden)
            cells = [c for c in range(len(self.system)) if hidden >> c & 1]
            weight = float(self.system.weights[cells].sum())
            if best is not None and weight >= best:
                return
            sets = self.unmet(hidden)
            if sets is None:
                best = weight
            for each in sets or ():
                further(hidden | each)

        further(0)
        return best

    def interval(self, hidden: Flags, cell: int) -> tuple[float, float]:
        """Return the least and greatest value of a cell."""
        witnesses = self.tables[~(self.moved & ~hidden).any(axis=1)]
        return float(witnesses[:, cell].min()), float(witnesses[:, cell].max())
