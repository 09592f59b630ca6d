"""Bounds of the records that patterns can keep, by which patterns are skipped without being tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.policy.pattern_order import Pattern, columns_of
from sqlanon.core.sqltrees import names
from sqlanon.recoding.compiler import patterns as compiler

WORD_BITS = 62
"""Columns whose sets fit an integer of numpy."""
LARGE_PAIRS = 2_000_000
"""Pairs of a row type and a set of columns that one statement tests."""


def pattern_table(catalog: Catalog, patterns: Sequence[Pattern], first: int = 0) -> pa.Table:
    """Return patterns as the table ``names.PATTERNS`` holds them, numbered from ``first``."""
    columns = compiler.pattern_rows(catalog, patterns, first)
    small = (names.PATTERN, "stars")
    return pa.table({name: pa.array(v, pa.int32() if name in small else pa.int64()) for name, v in columns.items()})


class Bounds:
    """Sets of columns that no pattern can keep any more, because no k of the records that are left agree in them.

    Sets are tested by size, smallest first, and only when each part of them may be kept; what it may cost is what
    fruitless blocks have cost (``allow``). A set stays excluded; the others are tested again when half of the row
    types are gone.

    Args:
        in_time: called again and again; it raises when the time limit has passed.

    Attributes:
        possible: all sets of columns that may be kept, as bits, when all others are known to be excluded.
    """

    def __init__(self, engine: Engine, catalog: Catalog, k: int, in_time: Callable[[], None] = lambda: None) -> None:
        self._engine = engine
        self._in_time = in_time
        self._catalog = catalog
        self._text = engine.render(compiler.fruitful(catalog, k))
        self._excluded: list[int] = []
        self._kind = object if len(catalog.attributes) > WORD_BITS else np.int64
        self._compared: NDArray[Any] = np.array([], self._kind)
        self._fruitful: list[list[int]] = [[0]]  # by size
        self._budget = 0
        self._rows: int | None = None
        self.possible: list[int] | None = None

    def exclude(self, suppressed: int) -> bool:
        """Return whether no pattern whose ☆ are all among these columns (bits) can succeed."""
        return bool(((self._compared & suppressed) == 0).any())

    def allow(self, pairs: int) -> None:
        """Add to the number of pairs of a row type and a set that tests may cost."""
        self._budget += pairs

    def deepen(self, rows: int) -> bool:
        """Test the next sizes, as far as the budget allows, and return whether something was learned."""
        if self._rows is None or rows * 2 <= self._rows:
            self._rows, self._fruitful = rows, [[0]]
        if not self._fruitful[-1]:
            return False  # all is known
        known, before = len(self._excluded), self.possible
        while self._fruitful[-1]:
            sets = list(islice(self._extended(), self._budget // rows + 1))
            if len(sets) * rows > self._budget:
                break
            self._budget -= len(sets) * rows
            share = max(1, LARGE_PAIRS // rows)
            fruitful = [
                kept for begin in range(0, len(sets), share) for kept in self._test(sets[begin : begin + share])
            ]
            self._fruitful.append(fruitful)
            self._excluded += sorted(set(sets).difference(fruitful))
        else:
            self.possible = [kept for sets_ in self._fruitful for kept in sets_]
        self._compared = np.array(self._excluded, self._kind)
        return len(self._excluded) > known or self.possible is not before

    def _extended(self) -> Iterator[int]:
        """Yield the sets with one column more than those tested last, without those that hold an excluded set."""
        last = set(self._fruitful[-1])
        for kept in self._fruitful[-1]:
            self._in_time()
            for column in range(kept.bit_length(), len(self._catalog.attributes)):
                wider = kept | 1 << column
                if all(wider & ~(1 << other) in last for other in columns_of(wider)):
                    yield wider

    def _test(self, sets: Sequence[int]) -> list[int]:
        """Return those of the sets in which k of the records that are left agree."""
        self._in_time()
        everything = (1 << len(self._catalog.attributes)) - 1
        patterns = [columns_of(everything & ~kept) for kept in sets]
        self._engine.load("kept columns", names.KEPT, pattern_table(self._catalog, patterns), replayed=False)
        try:
            return [sets[row[0]] for row in self._engine.run("bound patterns", self._text)]
        finally:
            self._engine.drop(names.KEPT)
