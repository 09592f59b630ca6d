"""From an open source to the cells of all tables: hierarchies meet the values, and one statement counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import encode
from sqlanon.core.compiler.encoded_source import EncodedSource, TakingPart
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import numpy_column
from sqlanon.core.policy import Policy
from sqlanon.core.source.columns import check_columns
from sqlanon.core.source.encoding import entity_column
from sqlanon.core.source.matching import measure_columns, refuse_uncovered
from sqlanon.core.source.opening import Source
from sqlanon.core.source.packing import pack
from sqlanon.core.source.release_key import ReleaseKey, dropping
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import NUMBERS
from sqlanon.core.words import counted as counted_words
from sqlanon.counts import statements
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import Floats, Numbers
from sqlanon.counts.grid import Dimension, Grid, Levels, sets_of, with_common_margins
from sqlanon.counts.statements import CountedSource, Step
from sqlanon.errors import InputError, UnsupportedError

MOST_CELLS = 2_000_000
"""Cells of all tables, at most."""
MANY_RECORDS = 1.5
"""Further records of an entity's categories from which on they are grouped before they are counted."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The cells of a release with their true values, for the operator alone.

    Attributes:
        contributors: of each cell, the distinct entities, or the records.
        amounts: of each cell, the sum of the measured column; None where nothing is summed.
        largest: of each cell, the largest and the second largest contribution.
        records: of the source; ``left_out`` of them have a NULL that the match excludes.
        query: the statement that counted.
        keys: of each cell, the sum of the keys of its entities, mod 2⁶⁴, where the document needs keys.
    """

    grid: Grid
    contributors: Numbers
    amounts: Floats | None
    largest: Floats | None
    records: int
    left_out: int
    query: exp.Query
    warnings: tuple[str, ...] = ()
    keys: np.ndarray[Any, np.dtype[np.uint64]] | None = None


def counting_query(source: Source, policy: CountsPolicy, *, by_sets: bool) -> exp.Query:
    """Return the statement that counts, which reads the working tables of the source's session.

    Raises:
        InputError and its children: a column, a hierarchy or a level cannot be used.
    """
    sets = with_common_margins([each for own in sets_of_tables(policy) for each in own])
    return statements.cells_query(_encoded(source, policy, []), sets, by_sets=by_sets)


def sets_of_tables(policy: CountsPolicy) -> list[list[Levels]]:
    """Return the sets that each table shows."""
    return [sets_of(dict(table.dimensions), table.totalled, [*policy.dimensions]) for table in policy.tables]


def count_cells(source: Source, policy: CountsPolicy) -> Counted:
    """Count the cells of all tables in the source's database; raises as ``counts``."""
    engine, warnings = source.engine, list(source.warnings)
    if policy.rules.by_key:
        engine.capabilities.require("keyed")
    key = release_key(policy.policy) if policy.rules.by_key else None  # one that cannot be read is refused at once
    counted = _encoded(source, policy, warnings)
    _check_measure(engine, counted)
    dimensions = tuple(
        _dimension(engine, position, name, levels, policy.rules.total)
        for position, (name, levels) in enumerate(policy.dimensions.items())
    )
    shown = [levels for own in sets_of_tables(policy) for levels in own]
    sets = with_common_margins(shown)
    grid = Grid(dimensions, tuple(sets), tuple(levels in shown for levels in sets))
    if len(grid) > MOST_CELLS:
        raise InputError(
            f"The tables have {len(grid):,} cells; at most {MOST_CELLS:,} are counted together.",
            hint="show coarser levels, fewer dimensions in one table, or fewer margins.",
        )
    records, taken = engine.run("count records", statements.left_out_query(counted))[0]
    if counted.source.entity is not None and counted.measured is None:
        [(differing,)] = engine.run("records of an entity", statements.differing_query(counted))
        pairs = 2 * max(0, statements.SAMPLE - int(differing)) / statements.SAMPLE**2  # of one entity, among all pairs
        counted = replace(counted, repeats=pairs * int(records) > MANY_RECORDS)
    query = statements.cells_query(counted, sets, by_sets=engine.capabilities.groups_by_sets)
    with _keyed(source, counted, key):
        found = engine.arrow("count cells", query.copy())
    is_summed, both = counted.measured is not None, [*map(statements.largest, (1, 2))]
    beside = statements.HALVES if counted.keyed else (statements.AMOUNT, *both) if is_summed else ()
    figures = _filled(grid, found, ("contributors", *beside))
    if counted.source.entity is not None:
        grid = _with_several(engine, counted, *_by_counts(grid, figures["contributors"]))
    high, low = (figures[name].astype(np.uint64) for name in statements.HALVES) if counted.keyed else (None, None)
    return Counted(
        grid,
        figures["contributors"],
        figures[statements.AMOUNT].astype(np.float64) if is_summed else None,
        np.stack([figures[name] for name in both], axis=1).astype(np.float64) if is_summed else None,
        int(records),
        int(records) - int(taken or 0),
        query,
        tuple(warnings),
        None if high is None or low is None else (high << np.uint64(32)) + low,
    )


def _encoded(source: Source, policy: CountsPolicy, warnings: list[str]) -> CountedSource:
    """Return the source with the lookups of its dimensions, which number their categories."""
    engine, read, types = source.engine, policy.policy, source.types
    check_columns(read, source)
    dimensions = policy.dimensions
    read = replace(read, columns=tuple(next(c for c in read.columns if c.name == name) for name in dimensions))
    entity = entity_column(engine, source.relation, read, types)
    taking_part = TakingPart(tuple(dimensions), read.nulls == "basic")
    encoded = EncodedSource(source.relation, (), taking_part, entity)
    measured = measure_columns(engine, encoded, read, types, warnings)
    refuse_uncovered(engine, read, measured, source.relation)
    for fact in measured:
        wrong = [level for level in dimensions[fact.spec.name] if level >= fact.item.height]
        if wrong:
            raise InputError(
                f"The hierarchy of column {fact.spec.name!r} has the levels 0 to {fact.item.height - 1}, and a table "
                f"shows level {wrong[0]}.",
                hint="show a level that there is.",
            )
    items, _, words = pack(measured)
    tallest = max(item.height for item in items)
    engine.create("lookup", names.LOOKUP, encode.numbered(encode.lookup(items, words), tallest))
    for relation in (names.BRANCHES, names.LISTED, names.VALUES):
        engine.drop(relation)
    encoded = replace(encoded, items=items)
    summed = None if policy.measured is None else (policy.measured, types[policy.measured])
    return CountedSource(encoded, tuple(dimensions.values()), summed, policy.rules.by_key)


def _check_measure(engine: Engine, counted: CountedSource) -> None:
    """Refuse values that the protection of sums knows nothing of."""
    if counted.measured is None:
        return
    name, kind = counted.measured
    if kind.upper().partition("(")[0] not in NUMBERS:
        raise UnsupportedError(f"The measured column {name!r} holds no numbers.", hint="measure a column of numbers.")
    faults = ("a value below 0, of which sums are not protected", "no value", "a value that is not finite")
    found = engine.run("measured values", statements.measure_query(counted))[0]
    for fault, records in zip(faults, found, strict=True):
        if records:
            raise InputError(
                f"The measured column {name!r} has {fault} in {counted_words(int(records), 'record')}.",
                hint="leave such records out in a view of the source, or give them a value there.",
            )


def _dimension(engine: Engine, position: int, name: str, levels: tuple[int, ...], label: str) -> Dimension:
    """Return a dimension with the categories that occur."""
    found = engine.arrow("categories", statements.categories_query(position, levels)).to_pydict()
    numbers = {n: np.array([int(v) for v in found[names.text_number(n)]], np.int64) for n in levels}
    texts: list[str | None] = [None]
    level_of, codes = [-1], [0]
    place: dict[int, Numbers] = {}  # per level, the category of each row
    for level in levels:
        known, first, inverse = np.unique(numbers[level], return_index=True, return_inverse=True)
        place[level] = inverse.reshape(-1) + len(texts)
        texts += [found[names.level(level)][row] for row in first]
        level_of += [level] * len(known)
        codes += known.tolist()
    if label in texts:
        raise InputError(
            f"A category of the dimension {name!r} is called as its total is.",
            hint="give the total another name: total: All.",
        )
    above = {}
    for level in levels:
        own = np.full(len(texts), -1, np.int64)
        for finer in [each for each in levels if each <= level]:
            own[place[finer]] = place[level]
        above[level] = own
    return Dimension(name, levels, tuple(texts), np.array(level_of, np.int64), np.array(codes, np.int64), above)


def _steps(grid: Grid) -> list[Step]:
    """Return every step from a level of a dimension to one above it, or to its total."""
    return [
        (position, finer, coarser)
        for position, dimension in enumerate(grid.dimensions)
        for finer in dimension.levels
        for coarser in (*[level for level in dimension.levels if level > finer], None)
    ]


def _by_counts(grid: Grid, contributors: Numbers) -> tuple[Grid, list[Step]]:
    """Return the grid with the steps at which its counts show an entity in several categories, and those still open.

    The entities of a cell are counted once more by each further part that they are in. Sets without other dimensions
    say so of every entity.
    """
    held = [int(contributors[start:end].sum()) for start, end in pairwise(grid.starts)]
    open_steps, more = [], []
    for position, finer, coarser in _steps(grid):
        total = [None] * len(grid.dimensions)
        fine, coarse = ((*total[:position], level, *total[position + 1 :]) for level in (finer, coarser))
        if fine not in grid.sets or coarse not in grid.sets:
            open_steps.append((position, finer, coarser))
        elif held[grid.sets.index(fine)] > held[grid.sets.index(coarse)]:
            more.append((position, finer, coarser))
    return _marked(grid, more), open_steps


def _with_several(engine: Engine, counted: CountedSource, grid: Grid, steps: Sequence[Step]) -> Grid:
    """Return the grid with those of the steps at which the database finds an entity in several categories."""
    if not steps:
        return grid
    rows = engine.run("entities of several categories", statements.several_query(counted, steps))
    return _marked(grid, [step for step, found in zip(steps, zip(*rows, strict=True), strict=True) if any(found)])


def _marked(grid: Grid, steps: Sequence[Step]) -> Grid:
    """Return the grid with further steps at which an entity may have several categories."""
    own = [
        {(finer, coarser) for p, finer, coarser in steps if p == position} for position in range(len(grid.dimensions))
    ]
    marked = [replace(d, several=d.several | more) for d, more in zip(grid.dimensions, own, strict=True)]
    return replace(grid, dimensions=tuple(marked))


def _filled(grid: Grid, found: pa.Table, wanted: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return figures of all cells by their names; what no row counts is 0."""
    codes = {
        (position, level): numpy_column(found.column(statements.code(position, level))).astype(np.float64)
        for position, dimension in enumerate(grid.dimensions)
        for level in dimension.levels
    }
    figures = {name: np.nan_to_num(numpy_column(found.column(name))) for name in wanted}
    filled = {name: np.zeros(len(grid), values.dtype) for name, values in figures.items()}
    for number, levels in enumerate(grid.sets):
        rows = np.all([np.isnan(own) != (levels[place] == level) for (place, level), own in codes.items()], axis=0)
        keys = np.zeros((int(rows.sum()), len(levels)), np.int64)
        for position, (dimension, grouped) in enumerate(zip(grid.dimensions, levels, strict=True)):
            if grouped is not None:
                own = dimension.categories(grouped)
                keys[:, position] = own[np.searchsorted(dimension.codes[own], codes[position, grouped][rows])]
        cells = grid.cells(number, keys)
        for name, values in figures.items():
            filled[name][cells] = values[rows]
    return filled


@contextmanager
def _keyed(source: Source, counted: CountedSource, key: ReleaseKey | None) -> Iterator[None]:
    """Let a statement read the keys of the entities, from ``names.KEYED``, where it sums them.

    They are made by the secret and the context of the policy's key alone, so that an entity has one key in all tables.
    """
    engine, entity = source.engine, counted.source.entity
    if not counted.keyed or key is None or entity is None:
        yield
        return
    with key.loaded(engine, [statements.PURPOSE]):
        query = statements.keys_query(source.relation, entity)
        engine.create("keys of entities", names.KEYED, query, replayed=False)
    with dropping(engine, names.KEYED):
        yield


def release_key(policy: Policy) -> ReleaseKey:
    """Return the key of all releases of counts with the secret of a policy, and its context."""
    assert policy.key is not None
    return ReleaseKey(policy.key.secret(), f"{statements.PURPOSE}\0{policy.key.context or ''}")
