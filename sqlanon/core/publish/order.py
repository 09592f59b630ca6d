"""The order in which the rows of a release are written: it depends on them alone, or on chance.

Rows that repeat are counted, sorted by all their values and written as often as they stand in the release. Equal rows
are one row with a number then, so that neither the source's order nor any other trace of a record is left to be seen.
Rows that mostly stand once are shuffled.

Sorted rows are written in one thread (``Draft.writing``): equal releases are equal files, to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.base import Engine
from sqlanon.core.publish.written_rows import release_query, typed_rows
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, column, count_rows, named, number, table, union_all

REPEATS = 4
"""Rows that stand at least this often on average are counted and sorted; with fewer, a shuffle costs less."""
STRETCH = 16
"""Equal rows that one entry of the sorted table stands for, at most; of a larger release more, so that it has at most
``ENTRIES`` entries beyond its distinct rows. Some thousands of entries are read at once, however many rows they are."""
ENTRIES = 2**20
EXACT = (
    "BIGINT", "BLOB", "BOOLEAN", "DATE", "HUGEINT", "INTEGER", "SMALLINT", "TIME", "TIMESTAMP", "TIMESTAMP_MS",
    "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMP WITH TIME ZONE", "TINYINT", "UBIGINT", "UHUGEINT", "UINTEGER",
    "USMALLINT", "UTINYINT", "UUID", "VARCHAR",
)  # fmt: skip
"""Types whose equal values are the same to the bit (DECIMAL too), so that one can stand for another. Not so INTERVAL,
in which a month equals thirty days."""
SIGNED_ZERO = ("DOUBLE", "FLOAT")
"""Types in which 0 equals -0."""


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """The rows of a release, in any order.

    Attributes:
        query: the rows.
        counted: where they are counted already: the distinct rows, and last how often each stands (``copies_of``).
        least, most: how many distinct rows there are, as far as that is known (None: it is not).
        table: the working table that they are read from.
    """

    query: exp.Query
    counted: exp.Query | None = None
    least: int = 0
    most: int | None = None
    table: str | None = None


def stage(engine: Engine, name: str, query: exp.Query, types: Mapping[str, str], total: int) -> ReleasedRows:
    """Write the rows of a release to a working table: distinct ones with their counts where the engine repeats rows.

    Args:
        total: how many rows are expected; if they are all distinct, their counts are not read again.
    """
    plain, copies = exp.select(*_columns(types)).from_(table(name)), copies_of(types)
    if not _can_repeat(engine, types):
        engine.create("stage release", name, query, replayed=False)
        return ReleasedRows(plain, table=name)
    distinct = engine.create("stage release", name, _counted(query, types), replayed=False)
    if distinct == total:
        return ReleasedRows(plain, None, distinct, distinct, name)
    return ReleasedRows(_repeated(table(name), types), plain.select(column(copies)), distinct, distinct, name)


@contextmanager
def ordered(
    engine: Engine, released: ReleasedRows, types: Mapping[str, str], claim: ReleaseClaim
) -> Iterator[tuple[exp.Query, bool]]:
    """Yield the statement that writes a release, and whether it reads sorted rows.

    Args:
        types: of the rows.
        claim: of what is written: its types, the number of rows, redacted ones and their marker.
    """
    marker, redacted, written = claim.marker, claim.redacted, claim.types
    total, copies = claim.published + redacted, copies_of(types)
    if not _can_repeat(engine, written) or not repeats(engine, released, types, total):
        yield release_query(released.query, types, written, marker=marker, redacted=redacted), False
        return
    if released.counted is not None:
        counted: exp.Query = typed_rows(released.counted, types, written, copies)
    else:
        counted = _counted(typed_rows(released.query, types, written), written)
    if marker is not None and redacted:
        texts = [named(exp.Literal.string(marker), name) for name in written]
        counted = union_all([counted, exp.select(*texts, named(bigint(number(redacted)), copies))])
    engine.create("order rows", names.ORDERED, entries_of(counted, written, total), replayed=False)
    try:
        yield _repeated(table(names.ORDERED), written), True
    finally:
        engine.drop(names.ORDERED)


def entries_of(counted: exp.Query, types: Mapping[str, str], total: int) -> exp.Select:
    """Return ``total`` counted rows in the order of their values, none counted higher than a stretch.

    A count is split, because a table is read entry by entry.
    """
    copies, piece = copies_of(types), names.unused("piece", types)
    stretch = max(STRETCH, -(-total // ENTRIES))
    pieces = exp.IntDiv(this=exp.paren(column(copies) + (stretch - 1)), expression=number(stretch))
    split = exp.select(*_columns(types), column(copies), named(_each(pieces), piece)).from_(counted.subquery("counted"))
    left = column(copies) - column(piece) * stretch
    entries = exp.select(*_columns(types), named(exp.Least(this=left, expressions=[number(stretch)]), copies))
    return entries.from_(split.subquery("pieces")).order_by(*_columns(types), *_signs(types), column(copies))


def copies_of(columns: Iterable[str]) -> str:
    """Return the name of the column that says how often a row of these columns stands."""
    return names.unused(names.COPIES, columns)


def repeats(engine: Engine, released: ReleasedRows, types: Mapping[str, str], total: int) -> bool:
    """Return True if the rows stand ``REPEATS`` times on average, as far as one pass over them shows."""
    if released.least * REPEATS > total:
        return False
    if released.counted is not None or (released.most is not None and released.most * REPEATS <= total):
        return True
    whole = exp.Anonymous(this="HASH", expressions=[column(name) for name in types])
    estimate = exp.select(exp.ApproxDistinct(this=whole)).from_(released.query.subquery("released"))
    return int(engine.run("repeated rows", estimate)[0][0]) * REPEATS <= total


def _can_repeat(engine: Engine, types: Mapping[str, str]) -> bool:
    return engine.capabilities.repeats_rows and can_be_counted(types)


def can_be_counted(types: Mapping[str, str]) -> bool:
    """Return True if of each type equal values are the same, or can be distinguished."""
    known = (*EXACT, *SIGNED_ZERO, "DECIMAL")
    return bool(types) and all(re.sub(r"\(\d+(,\d+)?\)$", "", kind.upper()) in known for kind in types.values())


def _counted(rows: exp.Query, types: Mapping[str, str]) -> exp.Select:
    """Return the distinct rows with how often each stands."""
    # a column of texts may have a collation that makes different texts equal: a cast compares them byte by byte
    cells = {name: exp.cast(column(name), kind) if kind == "VARCHAR" else column(name) for name, kind in types.items()}
    shown = [named(cell, name) for name, cell in cells.items()]
    query = exp.select(*shown, named(count_rows(), copies_of(types))).from_(rows.subquery("released"))
    return query.group_by(*[cell.copy() for cell in cells.values()], *_signs(types))


def _repeated(relation: exp.Expr, types: Mapping[str, str]) -> exp.Select:
    """Return counted rows as often as each stands."""
    rows = exp.select(*_columns(types), named(_each(column(copies_of(types))), names.unused("copy", types)))
    return exp.select(*_columns(types)).from_(rows.from_(relation).subquery("released"))


def _columns(listed: Iterable[str]) -> list[exp.Expr]:
    return [column(name) for name in listed]


def _signs(types: Mapping[str, str]) -> list[exp.Expr]:
    """Return what distinguishes 0 from -0."""
    floats = [name for name, kind in types.items() if kind.upper() in SIGNED_ZERO]
    return [exp.Anonymous(this="SIGNBIT", expressions=[column(name)]) for name in floats]


def _each(times: exp.Expr) -> exp.Expr:
    """Return a projection that repeats its row."""
    return exp.Explode(this=exp.Anonymous(this="RANGE", expressions=[times]))
