"""Encode the linked tables one after the other, and fetch their codes: numbers of rows and of values, never a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.encoded_source import leaves
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.profiles import Numbers
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.source.encoding import Encoding, encode_source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, or_zero, table
from sqlanon.tables.beside import judge_beside
from sqlanon.tables.forest import CodedTable, Forest, LevelCodes
from sqlanon.tables.linking import LinkedSource
from sqlanon.tables.policy import TablesPolicy

SAME_PSEUDONYMS = (
    "Releases of one key and context have the same pseudonyms: who has several links the persons in them, and k "
    "holds for each release alone."
)


@dataclass(frozen=True, slots=True)
class EncodedTables:
    """The linked tables with their codes.

    Attributes:
        encodings: per table; its lookups stand in ``names.linked_lookup``.
        forest: the rows of all.
        persons: the numbers by which the working tables know the persons of the forest, in its order.
        warnings: what the user should know.
    """

    encodings: tuple[Encoding, ...]
    forest: Forest
    persons: Numbers
    warnings: tuple[str, ...]

    @property
    def catalogs(self) -> tuple[Catalog, ...]:
        """The facts about each table."""
        return tuple(encoding.catalog for encoding in self.encodings)


def encode_tables(linked: LinkedSource, policy: TablesPolicy) -> EncodedTables:
    """Encode each table by its own policy, judge what it publishes beside, and fetch the codes of its rows.

    Raises:
        HierarchyError, UncoveredValuesError: see ``encode_source``.
        IdentifyingColumnError: a table publishes columns that identify persons, and does not accept them.
    """
    engine = linked.engine
    warnings = [*linked.source.warnings, *judge_beside(engine, policy, linked.types)]
    if policy.key is not None and policy.key.context is not None:
        warnings.append(SAME_PSEUDONYMS)
    encodings, coded = [], []
    rows_of: list[Numbers] = []  # per table, the numbers of its rows, in order
    for position, (item, types) in enumerate(zip(policy.tables, linked.types, strict=True)):
        known = {c.name: types[c.name] for c in item.policy.columns if c.role != "drop"}
        relation = table(names.linked(position))
        encoding = encode_source(engine, relation, item.policy, known, numbered=True)
        everything = exp.select(exp.Star()).from_(table(names.LOOKUP))
        if encoding.source.items:
            engine.create("keep lookups", names.linked_lookup(position), everything)
        found, row_numbers = _coded_table(engine, encoding, item.parent, rows_of)
        rows_of.append(row_numbers)
        coded.append(found)
        encodings.append(encoding)
        for name in (names.LOOKUP, names.BASE, names.LEAF, names.MASKS):  # the next table has its own
            engine.drop(name)
        warnings += [f"Table {item.name!r}: {warning}" for warning in encoding.warnings]
    persons = rows_of[0]
    return EncodedTables(tuple(encodings), Forest(coded), persons, tuple(dict.fromkeys(warnings)))


def _coded_table(
    engine: Engine, encoding: Encoding, parent: int | None, rows_of: list[Numbers]
) -> tuple[CodedTable, Numbers]:
    """Return the codes of a table that was encoded just now, and the numbers of its rows, in order."""
    source, quasi = encoding.source, encoding.source.quasi.items
    wanted: list[exp.Expr] = [column(name, "source") for name in (names.OWN_ROW, names.PARENT_ROW, names.PERSON)]
    wanted += [named(column("id", names.lookup(position)), f"value_{position}") for position in range(len(quasi))]
    data = engine.arrow("rows by codes", source.encoded(wanted))
    rows, parents, persons, *values = (_numbers(data.column(i)) for i in range(data.num_columns))
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    first = rows if parent is None else rows_of[0]
    codes, places = _level_codes(engine, encoding)
    return (
        CodedTable(
            parent=parent,
            parents=np.zeros(len(rows), np.int64) if parent is None else _places(rows_of[parent], parents[order]),
            persons=_places(first, persons[order]),
            values=tuple(known[found[order]] for known, found in zip(places, values, strict=True)),
            codes=codes,
        ),
        rows,
    )


def _level_codes(engine: Engine, encoding: Encoding) -> tuple[tuple[LevelCodes, ...], list[Numbers]]:
    """Return the texts of each level of the quasi-identifiers' values, and their places by the lookup's ids."""
    attributes = encoding.catalog.attributes
    if not attributes:
        return (), []
    words, tallest = encoding.catalog.words, max(a.height for a in attributes)
    wanted = [named(column(name), name) for name in ("attribute", "id")]
    wanted += [named(or_zero(column(names.key(word))), names.key(word)) for word in range(words)]
    wanted += [named(or_zero(column(leaves(level))), leaves(level)) for level in range(tallest)]
    data = engine.arrow("lookup codes", exp.select(*wanted).from_(table(names.LOOKUP)))
    numbers = {name: _numbers(data.column(name)) for name in data.column_names}
    codes, places = [], []
    for position, attribute in enumerate(attributes):
        own = np.flatnonzero(numbers["attribute"] == position)
        ids = numbers["id"][own]
        place = np.zeros(int(numbers["id"].max(initial=0)) + 1, np.int64)
        place[ids] = np.arange(len(own))
        groups, costs = [], []
        for level in range(attribute.height):
            bits = [numbers[names.key(word)][own] & attribute.mask(level, word) for word in range(words)]
            groups.append(np.unique(np.stack(bits), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64))
            costs.append(attribute.domain - numbers[leaves(level)][own])
        codes.append(LevelCodes(tuple(groups), tuple(costs)))
        places.append(place)
    return tuple(codes), places


def _numbers(values: Any) -> Numbers:
    """Return a column of whole numbers as an array."""
    whole: pa.ChunkedArray = values
    numbers: Numbers = whole.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _places(known: Numbers, wanted: Numbers) -> Numbers:
    """Return where each wanted number stands in an ascending array that holds them all."""
    places: Numbers = np.searchsorted(known, wanted).astype(np.int64)
    return places
