"""The categories by which columns are compared with each other: values of equal weight binned, rare ones merged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sqlanon.assess.utility.columns import chart_level
from sqlanon.assess.utility.others import OtherColumn, OtherColumns
from sqlanon.assess.utility.released import QuasiValues, Real, ReleasedTypes, Whole
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.engines.columns import whole_column
from sqlanon.core.sqltrees import names

BINS = 10
"""The values of an ordered column form at most so many categories of about equally many records."""
MOST_CATEGORIES = 20
"""Other values form at most so many: the most frequent ones, and one of all others."""
OF_LEVEL = 1000
"""The categories of the generalized values of a level begin at so many times the level."""
MOST_COLUMNS = 20
"""Of so many columns the association is measured: quasi-identifiers first, then sensitive columns, then others."""


def of_values(records: Whole, places: Real) -> Whole:
    """Return the category of each value: the quantile of its place, or its rank by frequency.

    Values without a place of an ordered column are one more category.
    """
    placed = np.isfinite(places)
    if not placed.any():
        return of_frequency(records)
    order = np.flatnonzero(placed)[np.argsort(places[placed], kind="stable")]
    through = np.cumsum(records[order])
    whole = max(int(through[-1]), 1)
    found = np.full(len(records), BINS, np.int64)
    found[order] = np.minimum((2 * through - records[order]) * BINS // (2 * whole), BINS - 1)
    return found


def of_frequency(records: Whole) -> Whole:
    """Return the rank of each value by its records, the last category being that of all others."""
    rank = np.empty(len(records), np.int64)
    rank[np.argsort(-records, kind="stable")] = np.arange(len(records))
    most = MOST_CATEGORIES - 1 if len(records) > MOST_CATEGORIES else len(records)
    return np.minimum(rank, most)


def of_level(values: QuasiValues, level: int) -> Whole:
    """Return the category of each value as it is published at a level; at level 0, that of the value."""
    if level == 0:
        return of_values(values.before, values.places)
    covering = values.covering(level)
    records = np.bincount(covering.cell, weights=values.before, minlength=len(covering.sizes)).astype(np.int64)
    return level * OF_LEVEL + of_frequency(records)[covering.cell]


class ComparedRecords:
    """The records of a source by the categories of its published columns, until the end of the block.

    Attributes:
        names: of the columns that are compared, in order of their numbers.
        left_out: the others.
    """

    def __init__(self, types: ReleasedTypes, others: OtherColumns, target: str | None) -> None:
        quasi = [values.attribute.name for values in types.values]
        rest = sorted(others.columns, key=lambda column: column.role != "sensitive")
        ranked = [*quasi, *(column.name for column in rest)]
        taken = ranked[:MOST_COLUMNS]
        if target is not None and target not in taken:
            taken[-1] = target
        self.left_out = tuple(name for name in ranked if name not in taken)
        self._types, self._target = types, target
        self._positions = [i for i, name in enumerate(quasi) if name in taken]
        self._others: list[OtherColumn] = [column for column in others.columns if column.name in taken]
        self._numbers = [i for i, column in enumerate(others.columns) if column.name in taken]
        self.names = (*(quasi[i] for i in self._positions), *(column.name for column in self._others))

    def __enter__(self) -> ComparedRecords:
        engine = self._types.engine
        try:
            self._load()
            levels = [self._known_levels(position)[0] for position in self._positions]
            target = None if self._target is None else self.names.index(self._target)
            query = compiler.compared(self._types.catalog, self._positions, levels, self._numbers, target)
            engine.create("compared records", names.COMPARED, query, replayed=False)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in (names.RULE_LEVELS, names.CATEGORIES, names.COMPARED):
            self._types.engine.drop(name)

    def _known_levels(self, position: int) -> tuple[int, ...]:
        return self._types.values[position].levels or (0,)

    def _load(self) -> None:
        """Load the levels of the rules and the categories of the values."""
        types = self._types
        words = range(types.catalog.words)
        rows: dict[str, list[Whole]] = {
            name: [] for name in ("attribute", "level", *map(names.key, words), "before", "after", compiler.CLASS)
        }

        def add(number: int, level: int, bits: Sequence[Whole], of: tuple[Whole, Whole, Whole]) -> None:
            count = len(of[0])
            cells = [np.full(count, number), np.full(count, level), *bits, *of]
            for name, column in zip(rows, cells, strict=True):
                rows[name].append(column)

        for number, position in enumerate(self._positions):
            values = types.values[position]
            bits = [np.zeros(len(values.places), np.int64) for _ in words]
            for (word, _), code in zip(values.words, values.codes, strict=True):
                bits[word] = code
            before, predicted = of_level(values, 0), of_level(values, chart_level(values))
            for level in self._known_levels(position):
                add(number, level, bits, (before, of_level(values, level), predicted))
        for number, column in enumerate(self._others, start=len(self._positions)):
            own = of_values(column.before, column.places)
            empty = [np.zeros(len(own), np.int64) for _ in words][1:]
            add(number, 0, [column.ids, *empty], (own, own, own))
        types.engine.drop(names.RULE_LEVELS)
        types.engine.load("levels of rules", names.RULE_LEVELS, self._rule_levels(), replayed=False)
        types.engine.drop(names.CATEGORIES)
        columns = {name: pa.array(np.concatenate([np.zeros(0, np.int64), *parts])) for name, parts in rows.items()}
        types.engine.load("categories", names.CATEGORIES, pa.table(columns), replayed=False)
        types.engine.drop(names.COMPARED)

    def _rule_levels(self) -> pa.Table:
        """Return the levels of each rule."""
        numbers, nodes = self._types.nodes()
        data = {names.RULE: pa.array(np.array(numbers, np.int32), pa.int32())}
        for position in range(len(self._types.catalog.attributes)):
            data[names.level(position)] = whole_column([node[position] for node in nodes])
        return pa.table(data)
