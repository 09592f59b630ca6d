"""What a search needs of an encoded source, carried to another engine: codes and counts, no record and no value.

The tables are those that ``evaluate`` reads (``transferred_tables``), and the order of the values where models of
sizes suppress classes by it. Lookups stay behind, and with them every text of the source: what is carried reveals how
many records share which codes, but not, without the lookups, what the codes mean. With an entity it also reveals which
of them belong to one entity, by its place in the order of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.errors import EngineError


@dataclass(frozen=True, slots=True)
class Transferred:
    """A table that was carried: its name, its rows, and the bytes of its columns in Arrow."""

    table: str
    rows: int
    bytes: int


def transferred_tables(catalog: Catalog) -> tuple[str, ...]:
    """Return the tables that judging nodes reads, the base first."""
    tables = [names.BASE]
    if catalog.attributes:
        tables += [names.LEAF, names.MASKS]
    for place, attribute in enumerate(catalog.sensitive):
        tables.append(names.overall(place))
        if attribute.rooted:
            tables.append(names.ancestors(place))
    if catalog.earlier is not None:
        tables.append(names.EARLIER_CLASSES)
    return tuple(tables)


def transfer(giving: Engine, taking: Engine, catalog: Catalog) -> tuple[Transferred, ...]:
    """Copy the tables that judging nodes reads from one engine to another, and return what was carried.

    Columns arrive as BIGINT, DOUBLE or VARCHAR, whatever types an engine returned.

    Args:
        giving: where the source was encoded.
        taking: where nodes are to be judged; it has no tables of these names yet.
        catalog: of the encoded source.

    Raises:
        EngineError: one of the engines refused a statement, or a count does not fit.
    """
    return tuple(carry(giving, taking, name) for name in transferred_tables(catalog))


def carry(giving: Engine, taking: Engine, name: str) -> Transferred:
    """Copy one table; for errors see ``transfer``."""
    rows = size = 0
    for place, batch in enumerate(giving.read_batches("transfer", name)):
        data = as_plain(name, batch)
        taking.load("transfer", name, data, replayed=False, more=place > 0)
        rows, size = rows + data.num_rows, size + data.nbytes
    return Transferred(name, rows, size)


def as_plain(name: str, data: pa.Table) -> pa.Table:
    """Return the same rows in the three types that the statements of a search know."""
    schema = pa.schema([pa.field(field.name, _kind(field.type)) for field in data.schema])
    if schema.types == data.schema.types:  # a cast loads pyarrow's kernels, a tenth of a second
        return data
    try:
        return data.cast(schema)
    except pa.ArrowException:
        kind = "ArrowException"
    raise EngineError(
        f"The table {name!r} holds a number that does not fit 64 bits.",
        hint="search where the source was encoded: search: {where: engine}.",
        statement="transfer",
        kind=kind,
    )


def _kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else pa.string()
