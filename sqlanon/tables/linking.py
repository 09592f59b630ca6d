"""From the tables of a policy to copies whose rows know their parents and their persons by number.

Keys are checked here: every row of a table with a key has one of its own, and every other row belongs to a row of its
parent. Then the tree of a person's rows is whole, and is copied once, so that whatever follows (hierarchies, profiles,
the release) speaks of the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy import Policy
from sqlanon.core.source.beside import kind_of
from sqlanon.core.source.columns import check_columns, is_scalar
from sqlanon.core.source.csv_types import wanted_types
from sqlanon.core.source.files import Reading, Records
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source, attached_as, closed_on_error, other_records, stamp
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    column,
    count_distinct,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    number,
    own_text,
    row_number,
    table,
    union_all,
)
from sqlanon.errors import EngineError, InputError, SourceChangedError, SourceError, UnsupportedError, instead_of
from sqlanon.tables.policy import LinkedTable, TablesPolicy

TEXT, NUMBER = "text", "number"
"""Columns of the keys of a table: the canonical text of a key, and the number of its row."""
ROWS = "rows"
"""The alias of the rows of a table."""


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """The tables of a policy, open and linked.

    Attributes:
        source: that of the persons' table, with the files of all.
        types: per table, column -> type.
        records: per table, its rows.
        excluded: per table, the rows of persons who are left out (basic match).
        beyond: per table, the rows that were not taken, because others of the same row of the parent are later.
    """

    source: Source
    types: tuple[dict[str, str], ...]
    records: tuple[int, ...]
    excluded: tuple[int, ...]
    beyond: tuple[int, ...]

    @property
    def engine(self) -> DuckDBEngine:
        """Where the tables and their copies are."""
        assert isinstance(self.source.engine, DuckDBEngine)  # see ``open_tables``
        return self.source.engine


@contextmanager
def open_tables(source: object, policy: TablesPolicy) -> Iterator[LinkedSource]:
    """Yield the tables, linked; everything is closed at the end.

    Args:
        source: a path or an open DuckDB connection that takes the place of the policy's ``source``.

    Raises:
        InputError: a table has no rows, or its keys do not link it.
        SourceError: a table cannot be read, or lacks a column.
        UnsupportedError: another engine than DuckDB.
    """
    first = policy.first
    own = _own_source(policy, policy.tables[0])
    opened = open_policy_source(None if own else source, first)
    with closed_on_error(opened.engine):
        if not isinstance(opened.engine, DuckDBEngine):
            raise UnsupportedError(
                f"Several tables are published together from DuckDB, Parquet and CSV, not from "
                f"{opened.engine.capabilities.name}.",
                hint="export the tables to Parquet, and name each: tables: {patients: {source: patients.parquet, …}}.",
            )
        with opened.engine.catalog.detaching():
            sources = [opened, *(_other(opened, policy, i) for i in range(1, len(policy.tables)))]
            for item, one in zip(policy.tables, sources, strict=True):
                _check(item, one)
            linked = _link(opened, sources, policy)
    try:
        yield linked
    finally:
        opened.engine.close()


def _own_source(policy: TablesPolicy, item: LinkedTable) -> bool:
    """Return whether a table names a source of its own, not that of the policy."""
    return item.policy.source is not None and item.policy.source != policy.source


def _other(opened: Source, policy: TablesPolicy, position: int) -> Source:
    """Return a further table as a source of the same engine."""
    item, engine = policy.tables[position], opened.engine
    own: Policy = item.policy
    what, hint = f"The table {item.name!r} cannot be read.", "check its name and its source."
    with instead_of(EngineError, lambda error: SourceError(f"{what} {error.message}", hint=hint)):
        files: tuple[Path, ...] = ()
        if not _own_source(policy, item) and not _is_flat(opened):
            found, header_line = Records(engine.catalog.source_table(str(own.table))), False
        elif own.source is None:
            raise InputError(
                f"Where the table {item.name!r} is read is not said.", hint=f"add tables.{item.name}.source."
            )
        else:
            path = own.resolve(own.source)
            reading = Reading(own.csv, own.formats, own.extensions, wanted_types(own))
            files = () if attached_as(engine, Path(path)) is not None else (Path(path),)
            found = other_records(opened, path, own.table, reading, name=names.beside_linked(position))
            header_line = reading.has_header_line(Path(path))
        types = dict(engine.catalog.columns(found.relation))
        marks = tuple(map(stamp, files))
        return Source(engine, found.relation, types, None, None, marks, warnings=found.notes, header_line=header_line)


def _is_flat(opened: Source) -> bool:
    """Return whether a source is a file of one table, in which no other is found."""
    return opened.path is not None and opened.target_catalog is None


def _check(item: LinkedTable, source: Source) -> None:
    """Raise unless the columns of a table are there and have roles, and its keys can be compared, its rows ordered."""
    try:
        check_columns(item.policy, source)
    except (SourceError, InputError) as error:
        failure: InputError = type(error)(f"Table {item.name!r}: {error.message}", hint=error.hint)
    else:
        by = None if item.latest is None else item.latest.by
        if by is not None and kind_of(source.types.get(by, "VARCHAR")) not in ("number", "moment"):
            raise InputError(
                f"Table {item.name!r}: the rows cannot be put in order by {by!r}, which is no date and no number.",
                hint="name a column that is one, or cast it: csv: {types: …}, or in a view of the source.",
            )
        unlike = [name for name in item.keys if not is_scalar(source.types[name])]
        if not unlike:
            return
        failure = UnsupportedError(
            f"Table {item.name!r}: the key {unlike[0]!r} has a type whose values cannot be compared.",
            hint="cast it to text in a view of the source.",
        )
    raise failure


def _link(opened: Source, sources: Sequence[Source], policy: TablesPolicy) -> LinkedSource:
    """Check the keys, and create the copies of the tables (``names.linked``)."""
    engine = opened.engine
    for position, (item, source) in enumerate(zip(policy.tables, sources, strict=True)):
        _number_keys(opened, policy, position, item, source)
    records, beyond = [], []
    for position, (item, source) in enumerate(zip(policy.tables, sources, strict=True)):
        query = _with_numbers(policy, position, source)
        rows = engine.create(f"link {item.name}", names.linked(position), query)
        total, taken = engine.run(f"rows of {item.name}", _counted(item, source))[0]
        if rows != taken:  # keys were checked before, in other statements
            raise SourceChangedError(
                f"The rows of the table {item.name!r} changed while they were linked.",
                hint="work on a copy that nobody writes to, and run again; nothing was published.",
            )
        records.append(rows)
        beyond.append(int(total - taken))
    for position in range(len(policy.tables)):
        if not policy.published_keys[position]:
            engine.drop(names.row_keys(position))
    excluded = _leave_out(opened, policy) if policy.nulls == "basic" else [0] * len(records)
    stamps = tuple(dict.fromkeys(mark for source in sources for mark in source.stamps))
    notes = tuple(dict.fromkeys(note for source in sources for note in source.warnings))
    return LinkedSource(
        replace(opened, stamps=stamps, warnings=notes, other_files=policy.read_files),
        tuple(source.types for source in sources),
        tuple(records),
        tuple(excluded),
        tuple(beyond),
    )


def _counted(item: LinkedTable, source: Source) -> exp.Select:
    """Return how many rows a table has, and how many of them are taken."""
    if item.latest is None:
        return exp.select(count_rows(), count_rows()).from_(source.relation.copy())
    link = own_text(str(item.link), source.types[str(item.link)], ROWS)
    each = exp.select(named(count_rows(), "n")).from_(aliased(source.relation, ROWS)).group_by(link)
    taken = exp.Least(this=column("n"), expressions=[number(item.latest.rows)])
    return exp.select(exp.Sum(this=column("n")), exp.Sum(this=taken)).from_(each.subquery("each"))


def _number_keys(opened: Source, policy: TablesPolicy, position: int, item: LinkedTable, source: Source) -> None:
    """Number the rows of a table by their keys (``names.row_keys``), with the numbers of their persons.

    Raises:
        InputError: keys are missing or repeated, or rows belong to no row of the parent.
    """
    engine, rows = opened.engine, aliased(source.relation, ROWS)
    key = None if item.key is None else own_text(item.key, source.types[item.key], ROWS)
    link = None if item.link is None else own_text(item.link, source.types[item.link], ROWS)
    if key is not None:
        counts = exp.select(count_rows(), count_if(is_null(key)), count_distinct(key)).from_(rows.copy())
        records, missing, distinct = engine.run(f"keys of {item.name}", counts)[0]
        _refuse_keys(item, missing, records - missing - distinct)
    if link is not None and item.parent is not None:
        parent = policy.tables[item.parent].name
        on = equal(link.copy(), column(TEXT, "p"))
        query = exp.select(count_if(is_null(link)), count_if(is_null(column(NUMBER, "p")))).from_(rows.copy())
        query = query.join(table(names.row_keys(item.parent), "p"), on=on, join_type="left")
        missing, orphans = engine.run(f"parents of {item.name}", query)[0]
        _refuse_orphans(item, parent, missing, orphans - missing)
    if key is None:
        return
    row = exp.Sub(this=row_number(), expression=number(1))
    numbered = exp.select(named(key, TEXT), named(row, NUMBER))
    if link is None or item.parent is None:
        numbered = numbered.select(named(row.copy(), names.PERSON)).from_(rows)
    else:
        on = equal(link.copy(), column(TEXT, "p"))
        numbered = numbered.select(column(names.PERSON, "p")).from_(rows)
        numbered = numbered.join(table(names.row_keys(item.parent), "p"), on=on)
    engine.create(f"number keys of {item.name}", names.row_keys(position), numbered)


def _refuse_keys(item: LinkedTable, missing: int, repeated: int) -> None:
    """Raise InputError if keys of a table are missing, or stand in several rows."""
    if missing:
        raise InputError(
            f"The key {item.key!r} of the table {item.name!r} is NULL in {missing} rows, so that nothing can belong to "
            "them.",
            hint="fill it in, or leave such rows out in a view of the source.",
        )
    if repeated:
        raise InputError(
            f"The key {item.key!r} of the table {item.name!r} does not identify its rows: {repeated} rows have a key "
            "that another row has.",
            hint="name the column that identifies a row, or keep one row a key in a view of the source.",
        )


def _refuse_orphans(item: LinkedTable, parent: str, missing: int, orphans: int) -> None:
    """Raise InputError if rows of a table belong to no row of its parent."""
    if missing:
        raise InputError(
            f"The column {item.link!r} of the table {item.name!r} is NULL in {missing} rows, so that they belong to "
            "nobody.",
            hint="fill it in, or leave such rows out in a view of the source.",
        )
    if orphans:
        raise InputError(
            f"{orphans} rows of the table {item.name!r} have no row in {parent!r}: their {item.link!r} does not occur "
            "there.",
            hint=f"add the rows to {parent!r}, or leave the others out in a view of the source; keys are compared as "
            "texts, so that 07 is not 7.",
        )


def _with_numbers(policy: TablesPolicy, position: int, source: Source) -> exp.Select:
    """Return the columns of a table that are encoded or published, with the numbers of row, parent and person."""
    item = policy.tables[position]
    published = [c.name for c in item.policy.columns if c.role != "drop"]
    query = exp.select(*[column(name, ROWS) for name in published]).from_(aliased(source.relation, ROWS))
    own, parent, person = number(-1), number(-1), column(names.PERSON, "own")
    if item.key is not None:
        on = equal(own_text(item.key, source.types[item.key], ROWS), column(TEXT, "own"))
        query = query.join(table(names.row_keys(position), "own"), on=on)
        own = column(NUMBER, "own")
    if item.link is not None and item.parent is not None:
        on = equal(own_text(item.link, source.types[item.link], ROWS), column(TEXT, "parent"))
        query = query.join(table(names.row_keys(item.parent), "parent"), on=on)
        parent, person = column(NUMBER, "parent"), column(names.PERSON, "parent")
    if item.latest is not None:
        query = query.qualify(_is_among(item, source, published))
    numbers = {names.OWN_ROW: own, names.PARENT_ROW: parent, names.PERSON: person}
    return query.select(*[named(exp.cast(value, "BIGINT"), name) for name, value in numbers.items()])


def _is_among(item: LinkedTable, source: Source, published: list[str]) -> exp.Expr:
    """Return the condition of the latest rows; rows of one moment are told apart by what is published of them alone."""
    assert item.latest is not None and item.link is not None
    order = [exp.Ordered(this=column(item.latest.by, ROWS), desc=True, nulls_first=False)]
    order += [exp.Ordered(this=column(name, ROWS), nulls_first=False) for name in published]
    place = row_number(partition=[own_text(item.link, source.types[item.link], ROWS)])
    place.set("order", exp.Order(expressions=order))
    return exp.LTE(this=place, expression=number(item.latest.rows))


def _leave_out(opened: Source, policy: TablesPolicy) -> list[int]:
    """Leave out the persons with a NULL in a quasi-identifier of any row; return how many rows each table loses."""
    engine = opened.engine
    queries: list[exp.Query] = []
    for position, item in enumerate(policy.tables):
        if quasi := item.policy.quasi_identifiers:
            missing = exp.or_(*[is_null(column(c.name)) for c in quasi])
            queries.append(exp.select(column(names.PERSON)).from_(table(names.linked(position))).where(missing))
    if not queries:
        return [0] * len(policy.tables)
    persons = exp.select(column(names.PERSON)).distinct().from_(union_all(queries).subquery("found"))
    engine.create("persons with NULL", names.LEFT_OUT, persons)
    lost = []
    for position in range(len(policy.tables)):
        copy = table(names.linked(position))
        theirs = exp.In(
            this=column(names.PERSON), query=exp.select(column(names.PERSON)).from_(table(names.LEFT_OUT)).subquery()
        )
        count = exp.select(count_rows()).from_(copy.copy()).where(theirs.copy())
        lost.append(int(engine.run("rows of persons with NULL", count)[0][0]))
        engine.run("leave out persons with NULL", exp.delete(copy, where=theirs))
    engine.drop(names.LEFT_OUT)
    return lost
