"""The greedy heuristic (Algorithm 1): patterns in their order, each takes the groups that hold k of the records left.

The work is done by one statement a block of patterns (``recoding.compiler.patterns``). What is left over is
fully suppressed: fewer than k records, or, of patterns without the one of ☆ alone, whatever no pattern takes.

**Nothing left over** (beyond the paper). Where fewer than k fully suppressed records are not wanted, and the pattern of
☆ alone is allowed, one output row type is suppressed fully too and joins them: the one for which this costs least,
records × (weight of all columns - weight of its pattern); of several the first pattern's, then the first by its key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.policy.pattern_order import Pattern, columns_of, stars, weight
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import number
from sqlanon.errors import UnsupportedError, check_time
from sqlanon.recoding.compiler import pattern_quality
from sqlanon.recoding.compiler import patterns as compiler
from sqlanon.recoding.patterns.bounds import Bounds, pattern_table
from sqlanon.recoding.patterns.pattern_set import PatternSet

BLOCK_PAIRS = 150_000
"""Pairs of a row type and a pattern that a block looks at, unless one pattern makes more."""
MOST_PATTERNS = 4096
"""Patterns that are loaded at once."""
SMALL_ROWS = 120_000
"""Row types that one thread reads (DuckDB's threads share row groups of 122,880): more threads only wait."""
REPLAYED = ("row types", "decided", "patterns", "pairs", "assign patterns", "assigned")
"""The statements that the replayable script contains."""
BOUND_SHARE = 2
"""What bounds may cost, as a multiple of what fruitless blocks have cost."""
MOST_BOUND_PAIRS = 500_000_000
"""Pairs of a row type and a set of columns that bounds may cost before the first pattern is tried."""
FRUITLESS = 100
"""A block that takes less than this part of the row types may be followed by tests of bounds."""


@dataclass(frozen=True, slots=True)
class Use:
    """A pattern that took rows.

    Attributes:
        number: its number in the table ``names.ASSIGNED``; numbers ascend in the order of the patterns.
        pattern: the suppressed columns.
        records: published records.
        rows: row types of the input that it took, or records of which it took (an exact solution may share them).
        row_types: row types of the output.
        smallest: records of the smallest of them.
        largest: records of the largest of them.
    """

    number: int
    pattern: Pattern
    records: int
    rows: int
    row_types: int
    smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """The patterns and figures of a solution; its rows stand in the table ``names.ASSIGNED``.

    Attributes:
        k: the size that each row type of the output has at least, but that of the left over.
        columns: number of columns.
        uses: the patterns that took rows, in order.
        left_over: records that no pattern took; they are fully suppressed.
        left_over_rows: their row types of the input.
        tried: patterns that were tried; the others were skipped by bounds, or nothing was left for them.
        statements: how many were run.
        weights: of the columns, None when all are 1.
    """

    k: int
    columns: int
    uses: tuple[Use, ...]
    left_over: int
    left_over_rows: int
    tried: int
    statements: int
    weights: tuple[float, ...] | None = None

    @property
    def records(self) -> int:
        """All records: published and left over."""
        return sum(use.records for use in self.uses) + self.left_over

    @property
    def suppressions(self) -> int:
        """Suppressed cells (s in the paper), those of the left over included."""
        return sum(use.records * len(use.pattern) for use in self.uses) + self.left_over * self.columns

    @property
    def cost(self) -> float:
        """Suppressed cells, each times the weight of its column."""
        everything = weight(tuple(range(self.columns)), self.weights)
        return float(
            sum(use.records * weight(use.pattern, self.weights) for use in self.uses) + self.left_over * everything
        )

    @property
    def row_types(self) -> int:
        """Row types of the output (#h in the paper); those left over are one, unless full suppression is there."""
        apart = self.left_over > 0 and not any(len(use.pattern) == self.columns for use in self.uses)
        return sum(use.row_types for use in self.uses) + int(apart)


class Uses(NamedTuple):
    """The uses of patterns in the table ``names.ASSIGNED``, in the words of ``Assignment``."""

    uses: tuple[Use, ...]
    left_over: int
    left_over_rows: int


def uses(engine: Engine, catalog: Catalog, patterns: Sequence[Pattern]) -> Uses:
    """Return the patterns that are used, of those of ``names.PATTERNS`` by number, and what is left over."""
    rows = engine.run("patterns used", pattern_quality.used(catalog))
    used = [
        Use(number, patterns[number], records, rows, row_types, smallest, largest)
        for number, records, row_types, smallest, largest, rows in rows
        if number is not None
    ]
    left_over_rows, left_over = next(((row[5], row[1]) for row in rows if row[0] is None), (0, 0))
    return Uses(tuple(used), left_over, left_over_rows)


def forget(engine: Engine) -> None:
    """Drop the solution of a run before, in the database and in the script."""
    for name in (names.ASSIGNED, names.PATTERNS):
        engine.drop(name)
    engine.replay[:] = [entry for entry in engine.replay if entry[0] not in REPLAYED]


def greedy(
    engine: Engine,
    catalog: Catalog,
    patterns: PatternSet,
    k: int,
    *,
    weights: Sequence[float] | None = None,
    left_over: bool = True,
    time_limit: float | None = None,
) -> Assignment:
    """Assign a pattern to each row type of the base, and leave them in ``names.ASSIGNED`` (created anew).

    Args:
        engine: where the base of ``catalog`` stands.
        patterns: of as many columns as there are quasi-identifiers.
        k: at least 1.
        weights: of the columns; None: all 1.
        left_over: whether records may be left over. When they may not, they still are where the pattern of ☆ alone is
            not allowed, or where there are fewer than k records at all.
        time_limit: seconds; None: none.

    Raises:
        SearchStoppedError: the time was up before all patterns were tried.
        UnsupportedError: too many patterns could succeed to put them in order by weight.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    run = _GreedyRun(engine, catalog, patterns, k, None if weights is None else tuple(weights), left_over, deadline)
    forget(engine)
    try:
        return run.assignment()
    finally:
        for name in (names.ROW_TYPES, names.DECIDED):
            engine.drop(name)


@dataclass(slots=True)
class _GreedyRun:
    """One run: the patterns that were loaded and tried, and how many row types are left."""

    engine: Engine
    catalog: Catalog
    patterns: PatternSet
    k: int
    weights: tuple[float, ...] | None
    left_over: bool
    deadline: float | None
    loaded: list[Pattern] = field(default_factory=list)
    tried: int = 0
    rows: int = 0
    waves: int = 0
    text: str = ""

    def assignment(self) -> Assignment:
        before = self.engine.journal.statements
        self.rows = self.engine.create("row types", names.ROW_TYPES, compiler.row_types(self.catalog))
        self.engine.create("decided", names.DECIDED, compiler.nothing_decided())
        self.engine.create("patterns", names.PATTERNS, compiler.no_patterns(self.catalog))
        with self.engine.side_by_side() if self.rows <= SMALL_ROWS else nullcontext():
            self._assign()
            joining = None if self.left_over else self._joining()
            self.engine.create("assigned", names.ASSIGNED, compiler.assigned(self.catalog, joining))
            used = uses(self.engine, self.catalog, self.loaded)
        return Assignment(
            k=self.k,
            columns=len(self.catalog.attributes),
            **used._asdict(),
            tried=self.tried,
            statements=self.engine.journal.statements - before,
            weights=self.weights,
        )

    def _assign(self) -> None:
        bounds = Bounds(self.engine, self.catalog, self.k, self._in_time)
        coming = self._coming(bounds)
        patterns_left = self.patterns.size
        first = 0  # number of the first pattern that was loaded but not tried
        while self._enough():
            self._in_time()
            self.engine.journal.report(
                "trying patterns", done=self.tried, total=self.patterns.size, unit="patterns tried"
            )
            if first == len(self.loaded) and not self._load(list(islice(coming, MOST_PATTERNS))):
                return
            last = min(first + max(1, BLOCK_PAIRS // self.rows), len(self.loaded)) - 1
            take = self._take if self.engine.capabilities.recurs_freely else self._take_in_waves
            taken = take(first, last)
            tried = last - first + 1
            self.tried, patterns_left, first = self.tried + tried, patterns_left - tried, last + 1
            work = self.rows * tried
            self.rows -= taken
            if taken * FRUITLESS < self.rows and patterns_left * self.rows > BLOCK_PAIRS:
                bounds.allow(BOUND_SHARE * work)
                if bounds.deepen(self.rows):
                    if bounds.possible is not None and self.patterns.patterns is None:
                        coming, waiting = iter(self._after(self.loaded[last], bounds.possible)), []
                    else:
                        waiting = [p for p in self.loaded[first:] if not bounds.exclude(stars(p))]
                    first = len(self.loaded)  # those that wait get new numbers
                    self._load(waiting)

    def _take(self, first: int, last: int) -> int:
        """Assign the patterns of a block to the row types that they take, in one statement; return how many."""
        if not self.text:
            block = compiler.block(self.catalog, self.k)
            self.text = self.engine.render(exp.insert(block, exp.to_table(names.DECIDED, quoted=True)))
        taken = self.engine.add("assign patterns", self.text, [first, last])
        self.engine.replay.append(("assign patterns", partial(self._replayed, first, last)))
        return taken

    def _take_in_waves(self, first: int, last: int) -> int:
        """Assign the patterns of a block as ``_take`` does, in a statement a wave."""
        engine, taken = self.engine, 0
        before = compiler.pairs_after(self.waves)
        left = engine.create("pairs", before, _numbered(compiler.candidates(self.catalog, self.k), first, last))
        while left:
            self._in_time()
            self.waves += 1
            after = compiler.pairs_after(self.waves)
            pairs = engine.create("pairs", after, compiler.wave(before, self.k))
            engine.drop(before)
            before, settled = after, int(engine.run("settled", compiler.settled_count(after))[0][0])
            engine.insert("assign patterns", names.DECIDED, compiler.settled(after))
            taken, left = taken + settled, pairs - settled
        engine.drop(before)
        self.waves += 1
        return taken

    def _coming(self, bounds: Bounds) -> Iterator[Pattern]:
        """Return the patterns in order.

        By weight many sets of columns can come before the first that is wanted, so that many patterns are not
        enumerated: which sets can be kept at all is found out before.
        """
        if self.weights is None or self.patterns.patterns is not None or self.patterns.size <= MOST_PATTERNS:
            return self.patterns.ordered(self.weights, partial(self._never, bounds))
        if self.rows == 0:
            return iter(())
        bounds.allow(MOST_BOUND_PAIRS)
        bounds.deepen(self.rows)
        if bounds.possible is None:
            raise UnsupportedError(
                f"Too many of the {self.patterns.size:,} patterns could succeed to put them in order by weight.",
                hint="allow fewer patterns (at_most, never), or give all columns one weight.",
            )
        return iter(self._after(None, bounds.possible))

    def _never(self, bounds: Bounds, suppressed: int) -> bool:
        """Return whether no pattern within these columns can succeed; called so often that it checks the clock."""
        self._in_time()
        return bounds.exclude(suppressed)

    def _in_time(self) -> None:
        check_time(self.deadline, "patterns")

    def _after(self, tried: Pattern | None, kept: Sequence[int]) -> list[Pattern]:
        """Return the patterns that keep one of some sets of columns and come after one, in order."""
        everything = stars(self.patterns.nothing_kept)
        patterns = [columns_of(everything & ~columns) for columns in kept]
        place = self.patterns.ranking(self.weights)
        allowed = (p for p in patterns if p in self.patterns)
        return sorted((p for p in allowed if tried is None or place(p) > place(tried)), key=place)

    def _joining(self) -> compiler.Joining | None:
        """Return the output row type that joins those left over; None when none are, or none can."""
        everything = self.patterns.nothing_kept
        if self.rows == 0 or everything not in self.patterns:
            return None
        sizes = self.engine.run("smallest row types", compiler.smallest(self.catalog))
        if not sizes:
            return None
        most = weight(everything, self.weights)
        taken, _, *key = min(sizes, key=lambda row: row[1] * (most - weight(self.loaded[row[0]], self.weights)))
        self._load([everything])  # the last in order, so that it may have the last number
        return compiler.Joining(taken, self.loaded[taken], tuple(key), len(self.loaded) - 1)

    def _enough(self) -> bool:
        """Return whether some group may hold k records."""
        if self.rows >= self.k or self.rows == 0:
            return self.rows > 0
        return int(self.engine.run("records left", compiler.records_left())[0][1]) >= self.k

    def _load(self, patterns: list[Pattern]) -> bool:
        if patterns:
            self.engine.load("patterns", names.PATTERNS, self._table(patterns), more=True)
            self.loaded += patterns
        return bool(patterns)

    def _table(self, patterns: Sequence[Pattern]) -> pa.Table:
        return pattern_table(self.catalog, patterns, len(self.loaded))

    def _replayed(self, first: int, last: int) -> exp.Expr:
        """Return the statement of a block with its numbers, for the script."""
        block = _numbered(compiler.block(self.catalog, self.k), first, last)
        return exp.insert(block, exp.to_table(names.DECIDED, quoted=True))


def _numbered(query: exp.Select, first: int, last: int) -> exp.Select:
    """Return the statement of a block with the numbers of its first and last pattern."""
    for placeholder, value in zip(list(query.find_all(exp.Placeholder)), (first, last), strict=True):
        placeholder.replace(number(value))
    return query
