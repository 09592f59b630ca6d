"""The codes and counts of an encoded source as arrays: what nodes are judged from in the process.

They are fetched once, through Arrow, from the tables that ``transfer`` lists: codes and counts, no record and no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import numpy_column
from sqlanon.core.evaluate.key_layout import CodeField, Whole
from sqlanon.core.evaluate.transfer import Transferred, as_plain
from sqlanon.core.lattice.catalog import Catalog, SensitiveAttribute
from sqlanon.core.models.classes import AncestorLevel, ValueFacts
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table

Real = NDArray[np.float64]
Columns = dict[str, NDArray[np.generic]]

TABLE_BITS = 16
"""Codes of at most so many bits are looked up in a table, others by bisection."""


@dataclass(frozen=True, slots=True)
class LevelValues:
    """The generalized values of an attribute at a level, by number, in the order of their codes.

    Attributes:
        codes: of the values, ascending.
        costs: one row a level up to this one: per value, at least so many leaves are lost there by suppressing a record
            (``sql/judge/costs.sql``: cost_0, cost_1, …). The last row is the value's own cost.
    """

    codes: Whole
    costs: Real


@dataclass(frozen=True)
class AttributeValues:
    """The values of an attribute at all its levels, and how to find their numbers."""

    place: CodeField
    levels: tuple[LevelValues, ...]

    def numbers(self, codes: Whole, level: int) -> Whole:
        """Return the numbers of the values with these codes at a level."""
        if self.place.bits <= TABLE_BITS:
            found: Whole = self._tables[level][codes]
            return found
        return np.searchsorted(self.levels[level].codes, codes)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of values at each level."""
        return tuple(len(level.codes) for level in self.levels)

    @cached_property
    def _tables(self) -> tuple[Whole, ...]:
        tables = []
        for level in self.levels:
            numbers = np.zeros(1 << self.place.bits, np.int64)
            numbers[level.codes] = np.arange(len(level.codes))
            tables.append(numbers)
        return tuple(tables)

    @cached_property
    def above(self) -> tuple[Whole, ...]:
        """Per level, the number of the generalized value of every value of level 0."""
        leaves = self.levels[0].codes
        return tuple(self.numbers(leaves & self.place.mask(at), at) for at in range(len(self.levels)))

    @cached_property
    def below(self) -> tuple[Whole, ...]:
        """Per level, the number of a value of level 0 that every value stands for."""
        found = []
        for numbers, level in zip(self.above, self.levels, strict=True):
            first = np.zeros(len(level.codes), np.int64)
            first[numbers[::-1]] = np.arange(len(numbers))[::-1]
            found.append(first)
        return tuple(found)


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column by number: those with a common ancestor follow each other.

    ``absent`` is the number of ``SensitiveAttribute.absent``.
    """

    word: int
    code: int
    codes: Whole
    numbers: Whole
    facts: ValueFacts
    absent: int | None = None

    def of(self, keys: Sequence[Whole]) -> Whole:
        """Return the numbers of the values that stand in the words of some keys of the source."""
        found: Whole = self.numbers[np.searchsorted(self.codes, keys[self.word] & self.code)]
        return found


@dataclass
class CodeArrays:
    """What was fetched: the base, the costs of suppression, and the distributions of sensitive columns.

    Attributes:
        keys: the words of the base's keys.
        n, population: its counters.
        owners: with an entity, its number per row.
        attributes: the values of the quasi-identifiers.
        sensitive: those of the sensitive columns, in the order of the catalog.
        fetched: the tables that this was read from.
        orders: per attribute and level, the places of its values in the order of their texts; None: not asked for.
    """

    catalog: Catalog
    keys: tuple[Whole, ...]
    n: Whole
    population: Whole | None
    attributes: tuple[AttributeValues, ...]
    sensitive: dict[str, SensitiveValues] = field(default_factory=dict)
    fetched: tuple[Transferred, ...] = ()
    owners: Whole | None = None
    orders: tuple[tuple[Whole, ...], ...] | None = None

    def close(self) -> None:
        """Forget the rows of the base."""
        self.keys, self.n, self.population, self.owners = (), np.zeros(0, np.int64), None, None


def fetch(engine: Engine, catalog: Catalog) -> CodeArrays:
    """Return the codes and counts of an encoded source.

    Raises:
        EngineError: the engine refused a statement, or a count does not fit 64 bits.
    """
    fetched: list[Transferred] = []

    def columns(name: str) -> Columns:
        data = as_plain(name, engine.arrow("transfer", exp.select("*").from_(table(name))))
        fetched.append(Transferred(name, data.num_rows, data.nbytes))
        return {field.name: numpy_column(data.column(field.name)) for field in data.schema}

    base = columns(names.BASE)
    keys = tuple(_whole(base[names.key(word)]) for word in range(catalog.words))
    leaf = columns(names.LEAF) if catalog.attributes else {}
    attributes = tuple(_attribute(catalog, number, leaf) for number in range(len(catalog.attributes)))
    sensitive = {}
    for place, attribute in enumerate(catalog.sensitive):
        tree = columns(names.ancestors(place)) if attribute.rooted else None
        sensitive[attribute.name] = _sensitive(attribute, columns(names.overall(place)), tree)
    population = _whole(base[names.POPULATION]) if catalog.has_population else None
    owners = _whole(base[names.ENTITY]) if catalog.has_entity else None
    n = _whole(base[names.COUNT])
    arrays = CodeArrays(catalog, keys, n, population, attributes, sensitive, tuple(fetched), owners)
    if catalog.ordered:
        fetch_orders(engine, arrays)
    return arrays


def fetch_orders(engine: Engine, arrays: CodeArrays) -> None:
    """Add the order of the values, from ``names.VALUE_PLACES``."""
    data = as_plain(names.VALUE_PLACES, engine.arrow("transfer", exp.select("*").from_(table(names.VALUE_PLACES))))
    places = {field.name: _whole(numpy_column(data.column(field.name))) for field in data.schema}
    orders = []
    for number, attribute in enumerate(arrays.attributes):
        rows = np.flatnonzero(places["attribute"] == number)
        keys = [places[names.key(word)][rows] for word in range(arrays.catalog.words)]
        order = np.lexsort((attribute.place.code(keys), places["level"][rows]))
        ends = np.cumsum(attribute.widths)[:-1]
        orders.append(tuple(np.split(places["place"][rows][order], ends)))
    arrays.orders = tuple(orders)
    arrays.fetched += (Transferred(names.VALUE_PLACES, data.num_rows, data.nbytes),)


def _whole(column: NDArray[np.generic]) -> Whole:
    return column.astype(np.int64, copy=False)


def _real(column: NDArray[np.generic]) -> Real:
    return column.astype(np.float64, copy=False)


def _attribute(catalog: Catalog, number: int, leaf: Columns) -> AttributeValues:
    """Return the values of an attribute from the table of costs."""
    place = CodeField.of(catalog.attributes[number])
    of_attribute = np.flatnonzero(leaf["attribute"] == number)
    codes = place.code([_whole(leaf[names.key(word)])[of_attribute] for word in range(catalog.words)])
    level_of = leaf["level"][of_attribute]
    levels = []
    for level in range(catalog.attributes[number].height):
        rows = np.flatnonzero(level_of == level)
        rows = rows[np.argsort(codes[rows])]
        costs = [_real(leaf[f"cost_{lower}"])[of_attribute][rows] for lower in range(level + 1)]
        levels.append(LevelValues(codes[rows], np.array(costs)))
    return AttributeValues(place, tuple(levels))


def _sensitive(attribute: SensitiveAttribute, overall: Columns, tree: Columns | None) -> SensitiveValues:
    """Return the values of a sensitive column from its distribution and its ancestors."""
    codes, place = _whole(overall["value"]), _whole(overall["place"])
    by_code = np.argsort(codes)
    levels: list[tuple[Whole, Real, Real]] = []
    order = [place]
    if tree is not None:
        value, level = _whole(tree["value"]), _whole(tree["level"])
        for at in range(attribute.height - 1):
            rows = np.flatnonzero(level == at)
            rows = rows[np.argsort(value[rows])][np.argsort(np.argsort(codes))]
            levels.append((_whole(tree["ancestor"])[rows], _real(tree["share"])[rows], _real(tree["alone"])[rows]))
            order.append(levels[-1][0])
    ranked = np.lexsort(order)
    number = np.empty(len(codes), np.int64)
    number[ranked] = np.arange(len(codes))
    real = {name: _real(overall[name])[ranked] for name in ("share", "through", "area", "alone")}
    by_place = np.argsort(place[ranked])
    facts = ValueFacts(
        place=place[ranked],
        crossings=real["through"][by_place],
        areas=real["area"][by_place],
        ancestors=tuple(AncestorLevel(ancestor[ranked], share[ranked]) for ancestor, share, _ in levels),
        alone_in_tree=levels[0][2][ranked] if levels else None,
        **real,
    )
    absent = None
    if attribute.absent is not None:
        absent = int(number[by_code][np.searchsorted(codes[by_code], attribute.absent)])
    return SensitiveValues(attribute.word, attribute.code, codes[by_code], number[by_code], facts, absent)
