"""The row types of a source and what a release publishes of them, as codes and counts: no record, no text.

A value is one of level 0 of a quasi-identifier that occurs among the records that take part. A generalized value covers
the values below it; one that no hierarchy lists (``uncovered: top``) is published at the root, and covers all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqlanon.core.compiler import released_types as compiler
from sqlanon.core.compiler.encoded_source import leaves
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import numpy_column
from sqlanon.core.hierarchies.specs import Redact
from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.plan.published import PublishedTypes
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import NUMBERS

Whole = NDArray[np.int64]
Real = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_ROWS = 1_000_000
"""Up to so many row types are held in the process; beyond, each sum is a GROUP BY in the engine."""
DENSE = 4_000_000
"""Up to so many combinations are counted in a table with a place for each, more by sorting."""
SUPPRESSED = -1
"""The level of a suppressed record."""


def scale_of(type_name: str) -> str | None:
    """Return what the values of a type are on a scale: ``number``, ``date``, ``text`` (if all read as numbers), or
    None."""
    kind = type_name.upper().split("(")[0].strip()
    if kind in NUMBERS:
        return "number"
    if kind.startswith(("DATE", "TIMESTAMP")):
        return "date"
    return "text" if kind in ("VARCHAR", "TEXT") else None


@dataclass(frozen=True, slots=True)
class Covering:
    """Which values the generalized values of a level cover.

    Attributes:
        cell: per value, the number of the generalized value that it is published as.
        sizes: per generalized value, how many values it covers.
        unlisted: the generalized value that covers all, although other values are published apart; None: there is none.
    """

    cell: Whole
    sizes: Whole
    unlisted: int | None

    def covered(self, marks: Flags) -> Whole:
        """Return per generalized value how many of the marked values it covers."""
        found = np.bincount(self.cell[marks], minlength=len(self.sizes))
        if self.unlisted is not None:
            found[self.unlisted] = marks.sum()
        return found

    def spread(self, records: Real, occurs: Flags) -> Real:
        """Return per value the records of generalized values, each in equal parts to the values that it covers."""
        share = np.divide(records, self.sizes, out=np.zeros(len(records)), where=self.sizes > 0)
        everywhere = 0.0
        if self.unlisted is not None:
            everywhere, share[self.unlisted] = share[self.unlisted], 0.0
        return np.where(occurs, share[self.cell] + everywhere, 0.0)


@dataclass(slots=True)
class QuasiValues:
    """The values of a quasi-identifier, by number: in their order where they have one, those without a place last.

    Attributes:
        words: of the key that hold its bits, with their masks.
        codes: per such word, the bits of each value.
        leaves: per level and value, the leaves of the hierarchy below what it is published as.
        places: per value, its place on the scale of the column; NaN without one.
        ordered: the values are numbers or dates.
        unlisted: per value, whether its hierarchy does not list it.
        records: per level and value the records: ``records[0]`` the suppressed ones, ``records[l + 1]`` those that are
            published at level l.
    """

    attribute: Attribute
    words: tuple[tuple[int, int], ...]
    codes: tuple[Whole, ...]
    leaves: Whole
    places: Real
    ordered: bool
    unlisted: Flags
    records: Whole = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    _found: dict[int, Covering] = field(default_factory=dict)
    _index: tuple[tuple[Whole, ...], Whole, Whole] | None = None

    @property
    def before(self) -> Whole:
        """Per value, its records."""
        found: Whole = self.records.sum(axis=0)
        return found

    @property
    def occurs(self) -> Flags:
        """Per value, whether any record that takes part holds it."""
        return self.before > 0

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels at which records are published, ascending."""
        return tuple((self.records[1:].sum(axis=1) > 0).nonzero()[0].tolist())

    def numbers(self, keys: Sequence[Whole]) -> Whole:
        """Return the numbers of the values whose bits stand in the words of some keys."""
        if self._index is None:
            parts = tuple(np.unique(code) for code in self.codes)
            combined = _combined(self.codes, parts, len(self.places))
            order = np.argsort(combined)
            self._index = (parts, combined[order], order)
        parts, ranked, order = self._index
        wanted = _combined([keys[word] & mask for word, mask in self.words], parts, len(keys[0]))
        found: Whole = order[np.searchsorted(ranked, wanted)]
        return found

    def covering(self, level: int) -> Covering:
        """Return which values the generalized values of a level cover."""
        if level not in self._found:
            bits = [
                code & self.attribute.mask(level, word) for (word, _), code in zip(self.words, self.codes, strict=True)
            ]
            count = len(self.places)
            cell = (
                np.unique(np.stack(bits), axis=1, return_inverse=True)[1].reshape(-1)
                if bits
                else np.zeros(count, np.int64)
            )
            sizes = np.bincount(cell[self.occurs], minlength=int(cell.max(initial=-1)) + 1)
            apart = self.unlisted.nonzero()[0]
            unlisted = int(cell[apart[0]]) if len(apart) and level < self.attribute.height - 1 else None
            if unlisted is not None:
                sizes[unlisted] = self.occurs.sum()
            self._found[level] = Covering(cell, sizes, unlisted)
        return self._found[level]


@dataclass(frozen=True, slots=True)
class Margin:
    """The records by the values of some quasi-identifiers and the levels at which they are published.

    Attributes:
        values, levels: an array a quasi-identifier, a row a combination; ``SUPPRESSED`` for the suppressed records.
        n: records.
    """

    values: tuple[Whole, ...]
    levels: tuple[Whole, ...]
    n: Whole


class ReleasedTypes:
    """The row types of a source with what is published of them. They are dropped at the end of its block."""

    def __init__(self, engine: Engine, encoding: Encoding, catalog: Catalog, published: PublishedTypes) -> None:
        self.engine, self.encoding, self.catalog = engine, encoding, catalog
        self._published = published
        self._keys: tuple[Whole, ...] = ()
        self._rules: Whole = np.zeros(0, np.int64)
        self._n: Whole = np.zeros(0, np.int64)
        self._held = False
        self._records_published = 0
        numbers = list(published.rules)
        self._rule_numbers = np.array([SUPPRESSED, *numbers], np.int64)
        heights = [(SUPPRESSED,) * len(catalog.attributes), *(published.rules[number] for number in numbers)]
        self._levels = np.array(heights, np.int64).reshape(len(heights), len(catalog.attributes))
        self.values: tuple[QuasiValues, ...] = ()

    def __enter__(self) -> ReleasedTypes:
        engine = self.engine
        engine.drop(names.RELEASED_TYPES)
        rows = engine.create("released types", names.RELEASED_TYPES, self._published.row_types, replayed=False)
        try:
            self._held = rows <= MOST_ROWS
            if self._held:
                self._keys, self._rules, self._n = self._fetched(None)
            _, rules, n = (self._keys, self._rules, self._n) if self._held else self._fetched([])
            self._records_published = int(n[rules > 0].sum())
            self.values = self._read_values() if self.catalog.attributes else ()
            for position, values in enumerate(self.values):
                margin = self.margin([position])
                height = values.attribute.height
                flat = (margin.levels[0] + 1) * len(values.places) + margin.values[0]
                counts = np.zeros((height + 1) * len(values.places), np.int64)
                np.add.at(counts, flat, margin.n)
                values.records = counts.reshape(height + 1, len(values.places))
        except BaseException:
            engine.drop(names.RELEASED_TYPES)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.drop(names.RELEASED_TYPES)

    @property
    def held(self) -> bool:
        """Whether the row types are held in the process."""
        return self._held

    @property
    def records_published(self) -> int:
        """How many records are published."""
        return self._records_published

    @property
    def split(self) -> bool:
        """Whether rules share the records of a row type."""
        return self._published.split

    def nodes(self) -> tuple[list[int], list[Node]]:
        """Return the numbers of the rules, and their nodes."""
        return list(self._published.rules), list(self._published.rules.values())

    def rules_at(self, position: int, level: int) -> list[int]:
        """Return the numbers of the rules that publish a quasi-identifier at a level."""
        return [number for number, node in self._published.rules.items() if node[position] == level]

    def margin(self, positions: Sequence[int]) -> Margin:
        """Return the records by the values and levels of some quasi-identifiers, each combination once."""
        keys, rules, n = (self._keys, self._rules, self._n) if self._held else self._fetched(positions)
        levels = [self._levels[rules, i] for i in positions]
        numbers = [self.values[i].numbers(keys) for i in positions]
        sizes = [size for i in positions for size in (len(self.values[i].places), self.values[i].attribute.height + 1)]
        parts = [part for pair in zip(numbers, [level + 1 for level in levels], strict=True) for part in pair]
        if not self._held or not positions:
            return Margin(tuple(numbers), tuple(levels), n)
        slots, n = _summed(parts, sizes, n)
        split = np.unravel_index(slots, sizes)
        return Margin(tuple(split[0::2]), tuple(level - 1 for level in split[1::2]), n)

    def _fetched(self, positions: Sequence[int] | None) -> tuple[tuple[Whole, ...], Whole, Whole]:
        """Return the words of the keys, the places of the rules in ``_levels``, and the records."""
        data = self.engine.arrow("released types", compiler.grouped_types(self.catalog, positions))
        found = {item.name: numpy_column(data.column(item.name)) for item in data.schema}
        rule = np.nan_to_num(found[names.RULE].astype(np.float64), nan=SUPPRESSED).astype(np.int64)
        order = np.argsort(self._rule_numbers)
        places = order[np.searchsorted(self._rule_numbers[order], rule)]
        keys = tuple(found[names.key(word)].astype(np.int64, copy=False) for word in range(self.catalog.words))
        return keys, places, found[names.COUNT].astype(np.int64, copy=False)

    def _read_values(self) -> tuple[QuasiValues, ...]:
        catalog, columns = self.catalog, self.encoding.columns
        scales = [
            None if isinstance(columns[a.name].spec.hierarchy, Redact) else scale_of(a.type) for a in catalog.attributes
        ]
        query = compiler.covered_values(
            self.encoding.source, catalog, [kind == "text" for kind in scales], [kind is not None for kind in scales]
        )
        data = self.engine.arrow("covered values", query)
        found = {item.name: numpy_column(data.column(item.name)) for item in data.schema}
        values = []
        for position, (attribute, kind) in enumerate(zip(catalog.attributes, scales, strict=True)):
            rows = np.flatnonzero(found["attribute"] == position)
            places = found[compiler.POSITION][rows].astype(np.float64)
            ordered = kind is not None and not (kind == "text" and found[compiler.MISFIT][rows].astype(bool).any())
            ordered = ordered and bool(np.isfinite(places).any())
            if not ordered:
                places = np.full(len(rows), np.nan)
            words = tuple((w, mask) for w in range(catalog.words) if (mask := attribute.mask(0, w)))
            codes = [found[names.key(word)][rows].astype(np.int64) for word, _ in words]
            order = np.lexsort((*reversed(codes), places))
            values.append(
                QuasiValues(
                    attribute,
                    words,
                    tuple(code[order] for code in codes),
                    np.array([found[leaves(i)][rows][order] for i in range(attribute.height)]),
                    places[order],
                    ordered,
                    found[compiler.UNLISTED][rows][order].astype(bool),
                )
            )
        return tuple(values)


def _combined(codes: Sequence[Whole], parts: Sequence[Whole], rows: int) -> Whole:
    """Return one number a row for its bits in several words, ``parts`` being all that occur in each."""
    combined = np.zeros(rows, np.int64)
    for code, part in zip(codes, parts, strict=True):
        combined = combined * len(part) + np.searchsorted(part, code)
    return combined


def _summed(parts: Sequence[Whole], sizes: Sequence[int], n: Whole) -> tuple[Whole, Whole]:
    """Return the combinations that occur, as numbers of ``np.ravel_multi_index``, and the sum of ``n`` of each."""
    flat = np.ravel_multi_index(tuple(parts), tuple(sizes))
    if int(np.prod(np.array(sizes, object))) <= DENSE:
        counts = np.zeros(int(np.prod(sizes)), np.int64)
        np.add.at(counts, flat, n)
        slots = counts.nonzero()[0]
        return slots, counts[slots]
    order = np.argsort(flat, kind="stable")
    ranked = flat[order]
    starts = (
        np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(ranked) else np.zeros(0, np.int64)
    )
    return ranked[starts], np.add.reduceat(n[order], starts) if len(starts) else n[:0]
