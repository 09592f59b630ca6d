"""Which records bounded knowledge suppresses: rows of the base by every set of at most L attributes, over arrays.

A node is judged in two steps (``models.bounded_knowledge`` has the definition and the proofs):

1. For every maximal set of attributes at its levels in the node, the rows whose class on that set is too small among
   *all* rows. That depends on the set and its levels alone, so it is kept for the next nodes as one bit a row; a set
   that is clean at lower levels is clean here, and not looked at.
2. What is suppressed makes other classes on sets smaller. So the remaining records of every class on every set stand in
   tables; suppressed rows are subtracted, the rows of classes that became too small are suppressed, until none do.

Classes on a set are identified by the mixed-radix number of their values; where there are too many such numbers, by
their rank among those that occur. No number is a hash.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.evaluate.arrays import CodeArrays
from sqlanon.core.evaluate.key_layout import Whole
from sqlanon.core.lattice.nodes import Node

Set = tuple[int, ...]
"""A set of attributes by their places, ascending."""
Flags = NDArray[np.bool_]
Bits = NDArray[np.uint8]

KEPT_BYTES = 256 * 2**20
"""Bytes of bits and tables that are kept for other nodes; the least recently used make room."""
DENSE = 1 << 16
"""Tables of at most so many numbers are indexed by them; larger ones, too, while they have few numbers a row."""
DENSE_A_ROW = 4
BLOCK = 1 << 20
"""Numbers of the tables of a block of sets, and numbers that are computed at a time."""
MOST_SMALLEST = 500_000
"""The sizes of the smallest classes of so many sets are remembered."""
FEW = 16
"""The rows of classes below so many times k are kept by class: they are those that others take along."""
LOOK = 32
"""After so many sets the rows that failed are counted: beyond the limit no more sets are looked at."""


@dataclass(frozen=True, slots=True)
class BaseRows:
    """The rows of a base as sets of attributes are judged from it.

    Attributes:
        n: per row, its records; a row without any is in no class.
        widths: per attribute and level, how many generalized values there are.
        numbers: the number of each row's generalized value, for an attribute and a level.
    """

    n: Whole
    widths: Sequence[Sequence[int]]
    numbers: Callable[[int, int], Whole]

    @classmethod
    def of(cls, arrays: CodeArrays) -> BaseRows:
        """Return the rows of an encoded source."""
        lowest = [values.numbers(values.place.code(arrays.keys), 0) for values in arrays.attributes]
        found: dict[tuple[int, int], Whole] = {}

        def numbers(attribute: int, level: int) -> Whole:
            if (attribute, level) not in found:
                of_rows = arrays.attributes[attribute].above[level][lowest[attribute]]
                found[attribute, level] = of_rows.astype(np.int32)
            return found[attribute, level]

        return cls(arrays.n, [values.widths for values in arrays.attributes], numbers)


class KeptOfSets:
    """What was computed of sets at some levels, within ``KEPT_BYTES``."""

    def __init__(self) -> None:
        self._items: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()  # threads judge nodes side by side

    def find(self, slot: Any) -> Any:
        """Return what is kept in a slot; None: nothing."""
        with self._lock:
            found = self._items.get(slot)
            if found is None:
                return None
            self._items.move_to_end(slot)
            return found[0]

    def keep(self, slot: Any, value: Any, size: int) -> None:
        """Keep something of so many bytes."""
        with self._lock:
            if slot in self._items:
                return
            self._items[slot] = value, size
            self._bytes += size
            while self._bytes > KEPT_BYTES and len(self._items) > 1:
                _, (_, freed) = self._items.popitem(last=False)
                self._bytes -= freed

    def clear(self) -> None:
        """Forget everything."""
        self._items.clear()
        self._bytes = 0


@dataclass(frozen=True, slots=True)
class _Table:
    """The records of the classes on a set, among all rows.

    Attributes:
        counts: by number of the class.
        ranks: per row, that number; None: the mixed-radix number of its values.
    """

    counts: Whole
    ranks: Whole | None


@dataclass(frozen=True, slots=True)
class _Few:
    """The rows of the classes on a set that have fewer than ``FEW`` times k records.

    Attributes:
        classes: the number of the class of each, ascending.
        rows: the rows.
    """

    classes: Whole
    rows: Whole


@dataclass(slots=True)
class _SetTables:
    """The remaining records of the classes on some sets, one table after the other.

    Attributes:
        sets: the sets; those with ranks have them in ``ranks``.
        starts: where the table of each begins; the end of the last one.
        left: the records.
        applied: how many of the suppressed rows are subtracted already.
    """

    sets: NDArray[np.intp]
    starts: Whole
    left: Whole
    ranks: dict[int, Whole] = field(default_factory=dict)
    applied: int = 0


class KnownSets:
    """The classes of a source on all sets of at most ``at_most`` attributes, for any node.

    Args:
        k: records that a class on a set holds at least.
        kept: what was computed for other k, too; None: nothing.
    """

    def __init__(self, rows: BaseRows, at_most: int, k: int, kept: KeptOfSets | None = None) -> None:
        self._rows, self._at_most, self._k = rows, at_most, k
        self._weights = None if len(rows.n) and int(rows.n.max()) == 1 == int(rows.n.min()) else rows.n
        self._kept = KeptOfSets() if kept is None else kept
        self._clean: dict[Set, list[tuple[int, ...]]] = {}
        self._smallest: dict[tuple[Set, tuple[int, ...]], int] = {}
        self.looked_at = 0

    def sets(self, node: Node) -> list[Set]:
        """Return the maximal sets at a node, those of most values first; attributes at one value are left out."""
        widths = [self._rows.widths[attribute][level] for attribute, level in enumerate(node)]
        active = [attribute for attribute, width in enumerate(widths) if width > 1]
        logs = [math.log(width) for width in widths]
        found = list(combinations(active, min(self._at_most, len(active))))
        return sorted(found, key=lambda known: (-sum([logs[a] for a in known]), known))

    def start(self, node: Node, limit: int | None = None) -> Suppression:
        """Return the suppression of a node, from the rows whose class on some set is too small among all rows.

        Args:
            limit: beyond so many suppressed records the count may end; then the suppression is ``cut``.
        """
        return Suppression(self, node, limit)

    def _failing(self, known: Set, levels: tuple[int, ...]) -> Bits | None:
        """Return the rows whose class on a set is too small among all rows, a bit each; None: there are none."""
        slot = "bits", self._k, known, levels
        bits: Bits | None = self._kept.find(slot)
        if bits is not None:
            return bits
        clean = self._clean.setdefault(known, [])
        if any(all(map(int.__le__, low, levels)) for low in clean):
            return None
        self.looked_at += 1
        numbers, size = self._numbers(known, levels)
        if size > max(DENSE, DENSE_A_ROW * len(numbers)):
            _, numbers = np.unique(numbers, return_inverse=True)
            size = int(numbers.max(initial=-1)) + 1
        counts = np.bincount(numbers, self._weights, size)
        small = (counts < self._k) & (counts > 0)
        if not small.any():
            clean[:] = [low for low in clean if not all(map(int.__le__, levels, low))]
            clean.append(levels)
            return None
        bits = np.packbits(small[numbers])
        self._kept.keep(slot, bits, bits.nbytes + 200)
        return bits

    def _numbers(self, known: Set, levels: tuple[int, ...], of: Any = None) -> tuple[Whole, int]:
        """Return the mixed-radix number of the values of rows on a set, and how many such numbers there are."""
        widths = [self._rows.widths[a][level] for a, level in zip(known, levels, strict=True)]
        size = 1
        found = np.zeros(len(self._rows.n) if of is None else len(of), np.int64)
        for attribute, level, width in zip(known, levels, widths, strict=True):
            if size * width >= 2**62:
                assert of is None  # such sets have ranks
                _, found = np.unique(found, return_inverse=True)
                size = int(found.max(initial=-1)) + 1
            numbers = self._rows.numbers(attribute, level)
            if size > 1:
                found *= width
            found += numbers if of is None else numbers[of]
            size *= width
        return found, size

    def _least(self, known: Set, levels: tuple[int, ...]) -> int:
        """Return the records of the smallest class on a set."""
        slot = known, levels
        least = self._smallest.get(slot)
        if least is None:
            if len(self._smallest) >= MOST_SMALLEST:
                self._smallest.clear()
            counts = self._table(known, levels).counts
            least = self._smallest[slot] = int(counts[counts > 0].min(initial=2**31 - 1))
        return least

    def _few(self, known: Set, levels: tuple[int, ...]) -> _Few:
        """Return the rows of the small classes on a set, class by class."""
        slot = "few", self._k, known, levels
        few: _Few | None = self._kept.find(slot)
        if few is None:
            table = self._table(known, levels)
            numbers = self._numbers(known, levels)[0] if table.ranks is None else table.ranks
            rows = np.flatnonzero((table.counts < self._k * FEW)[numbers])
            classes = numbers[rows]
            order = np.argsort(classes, kind="stable")
            few = _Few(classes[order].astype(np.int64), rows[order].astype(np.int32))
            self._kept.keep(slot, few, few.classes.nbytes + few.rows.nbytes + 300)
        return few

    def _table(self, known: Set, levels: tuple[int, ...]) -> _Table:
        """Return the records of the classes on a set."""
        slot = "table", known, levels
        table: _Table | None = self._kept.find(slot)
        if table is None:
            numbers, size = self._numbers(known, levels)
            ranks = None
            if size > max(DENSE, DENSE_A_ROW * len(numbers)):
                _, ranks = np.unique(numbers, return_inverse=True)
                numbers, size = ranks, int(ranks.max(initial=-1)) + 1
            counts = np.bincount(numbers, self._weights, size).astype(np.int64, copy=False)
            if counts.max(initial=0) < 2**31:
                counts = counts.astype(np.int32)
            if ranks is not None:
                ranks = ranks.astype(np.int32)
            table = _Table(counts, ranks)
            self._kept.keep(slot, table, counts.nbytes + (0 if ranks is None else ranks.nbytes) + 300)
        return table


class NodeSets:
    """The classes of a node on all sets of attributes: which of its classes are suppressed, to which more can be added.

    Args:
        of_rows: per row of the base, the class of the node that it is in.
        classes: how many classes there are.
        limit: beyond so many suppressed records the count may end; then it is ``cut``.
    """

    def __init__(self, known: KnownSets, node: Node, of_rows: Whole, classes: int, limit: int | None) -> None:
        self._rows = known.start(node, limit)
        self._rows.settle()
        self._of_rows, self._classes = of_rows, classes

    @property
    def cut(self) -> bool:
        """Whether the count ended beyond the limit: then the node may suppress more classes than these."""
        return self._rows.cut

    @property
    def fails(self) -> Flags:
        """Per class, whether it is suppressed."""
        fails = np.zeros(self._classes, bool)
        fails[self._of_rows[self._rows.rows]] = True
        return fails

    def suppress(self, classes: Flags, *, limited: bool) -> None:
        """Suppress more classes, and what they take along.

        Args:
            limited: the count may end at the limit.
        """
        self._rows.suppress(classes[self._of_rows], limited=limited)


class Suppression:
    """The rows that a node suppresses, to which more can be added.

    Attributes:
        cut: the count ended beyond the limit: the suppressed rows are some of those that the node suppresses.
    """

    def __init__(self, known: KnownSets, node: Node, limit: int | None) -> None:
        self._known, self._node, self._limit = known, node, limit
        self._n = known._rows.n
        rows = len(self._n)
        self._order = np.empty(rows, np.int64)
        self._count = 0
        self._removed = np.zeros(rows, bool)
        self.records = 0
        self.cut = False
        self._sets = known.sets(node)
        self._blocks: list[_SetTables] = []
        self._waiting: list[tuple[int, Set]] | None = None
        self._first()

    @property
    def rows(self) -> Flags:
        """Per row of the base, whether it is suppressed."""
        return self._removed

    def suppress(self, rows: Flags, *, limited: bool = True) -> None:
        """Suppress more rows (flags of all rows), and what they take along; ``limited``: until the limit is passed."""
        if not limited and not self.cut:
            self._limit = None
        self._remove(np.flatnonzero(rows & ~self._removed))
        self.settle()

    def settle(self) -> None:
        """Suppress rows of classes on sets that became too small, until there are none or the limit is passed."""
        if self.cut or self._beyond() or not self._count:
            return
        while True:
            before = self._count
            self._admit()
            for block in self._blocks:
                if block.applied < self._count:
                    self._apply(block)
                    if self._beyond():
                        return
            if self._count == before and all(block.applied == before for block in self._blocks):
                return

    def _first(self) -> None:
        """Suppress the rows whose class on some set is too small among all rows."""
        bits = np.zeros(-(-len(self._n) // 8), np.uint8)
        found = False
        for number, known in enumerate(self._sets):
            of_set = self._known._failing(known, self._levels(known))
            if of_set is not None:
                bits |= of_set
                found = True
            if found and number % LOOK == 0 and self._limit is not None and self._so_many(bits) > self._limit:
                break
        rows = np.unpackbits(bits, count=len(self._n)).view(bool)
        self._remove(np.flatnonzero(rows))
        self._beyond()

    def _so_many(self, bits: Bits) -> int:
        """Return the records of the rows of some bits."""
        if self._known._weights is None:
            return int(np.count_nonzero(np.unpackbits(bits)))
        return int(self._n[np.unpackbits(bits, count=len(self._n)).view(bool)].sum())

    def _beyond(self) -> bool:
        self.cut = self.cut or (self._limit is not None and self.records > self._limit)
        return self.cut

    def _levels(self, known: Set) -> tuple[int, ...]:
        return tuple([self._node[attribute] for attribute in known])

    def _remove(self, rows: Whole) -> None:
        self._order[self._count : self._count + len(rows)] = rows
        self._count += len(rows)
        self._removed[rows] = True
        self.records += int(self._n[rows].sum())

    def _admit(self) -> None:
        """Form blocks of the sets that have a class which the suppressed records could make too small."""
        if self._waiting is None:
            self._waiting = [
                (self._known._least(known, self._levels(known)) - self._known._k, known) for known in self._sets
            ]
        due = [known for margin, known in self._waiting if margin < self.records]
        if not due:
            return
        self._waiting = [item for item in self._waiting if item[0] >= self.records]
        self._blocks.extend(self._formed(due))

    def _formed(self, due: Sequence[Set]) -> Iterator[_SetTables]:
        """Yield the blocks of some sets."""
        block: list[tuple[Set, _Table]] = []
        size = 0
        for known in due:
            table = self._known._table(known, self._levels(known))
            if block and size + len(table.counts) > BLOCK:
                yield self._block(block)
                block, size = [], 0
            block.append((known, table))
            size += len(table.counts)
        yield self._block(block)

    def _block(self, tables: Sequence[tuple[Set, _Table]]) -> _SetTables:
        starts = np.cumsum([0, *[len(table.counts) for _, table in tables]])
        ranks = {i: table.ranks for i, (_, table) in enumerate(tables) if table.ranks is not None}
        left = np.concatenate([table.counts for _, table in tables])
        return _SetTables(np.array([known for known, _ in tables], np.intp), starts, left, ranks)

    def _apply(self, block: _SetTables) -> None:
        """Subtract the rows that were suppressed meanwhile, and suppress those of classes that became too small."""
        fresh = self._order[block.applied : self._count]
        block.applied = self._count
        width = max(BLOCK // max(len(block.sets), 1), 1)
        for begin in range(0, len(fresh), width):
            self._subtract(block, fresh[begin : begin + width])
        bad = (block.left > 0) & (block.left < self._known._k)
        where = np.flatnonzero(bad)
        if not len(where):
            return
        of_sets = np.searchsorted(block.starts, where, side="right") - 1
        firsts = np.flatnonzero(np.diff(of_sets, prepend=-1))
        found = []
        for number, classes in zip(of_sets[firsts].tolist(), np.split(where, firsts[1:]), strict=True):
            found += self._members(block, number, classes - block.starts[number])
        rows = np.unique(np.concatenate(found))
        self._remove(rows[~self._removed[rows]])

    def _members(self, block: _SetTables, number: int, classes: Whole) -> list[Whole]:
        """Return the rows of some classes on a set of a block."""
        known = tuple(block.sets[number].tolist())
        few = self._known._few(known, self._levels(known))
        ends = np.searchsorted(few.classes, classes, side="right").tolist()
        starts = np.searchsorted(few.classes, classes).tolist()
        found = [few.rows[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
        if len(found) == len(classes):
            return found
        rows = np.flatnonzero(~self._removed)  # once large classes
        ranks = block.ranks.get(number)
        numbers = self._known._numbers(known, self._levels(known), rows)[0] if ranks is None else ranks[rows]
        of_rows = np.zeros(int(block.starts[number + 1] - block.starts[number]), bool)
        of_rows[classes] = True
        return [rows[of_rows[numbers]]]

    def _subtract(self, block: _SetTables, rows: Whole) -> None:
        """Subtract some rows from the tables of a block."""
        widths = np.array([self._known._rows.widths[a][level] for a, level in enumerate(self._node)], np.int64)
        listed = [self._known._rows.numbers(a, level)[rows] for a, level in enumerate(self._node)]
        of_rows = np.array(listed, np.int64).reshape(len(listed), len(rows))  # also without a quasi-identifier
        numbers = np.zeros((len(block.sets), len(rows)), np.int64)
        for place in range(block.sets.shape[1]):
            attributes = block.sets[:, place]
            if place:
                numbers *= widths[attributes][:, None]
            numbers += of_rows[attributes]
        for number, ranks in block.ranks.items():
            numbers[number] = ranks[rows]
        numbers += block.starts[:-1, None]
        weights = None
        if self._known._weights is not None:
            weights = np.broadcast_to(self._n[rows], numbers.shape).ravel()
        gone = np.bincount(numbers.ravel(), weights, len(block.left))
        block.left = block.left - gone.astype(block.left.dtype)
