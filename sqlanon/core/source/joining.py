"""The source that a policy names, with the sources that it joins by key.

A join neither multiplies nor loses records: each record of what stands before meets at most one row, or NULLs where
there is none. So the ledger counts the records of the first source, whatever is joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlanon.core.audit.check import refuse_reserved
from sqlanon.core.doors import behind
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy import Join, Policy
from sqlanon.core.source.csv_types import wanted_types
from sqlanon.core.source.files import Reading, Records
from sqlanon.core.source.opening import Source, attached_as, closed_on_error, open_source, other_records, stamp
from sqlanon.core.source.rights import with_readable_columns, with_visible_rows
from sqlanon.core.source.sampling import draw_sample
from sqlanon.core.source.spark import Cluster
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    column,
    count_distinct,
    count_rows,
    equal,
    named,
    not_null,
    number,
    table,
)
from sqlanon.errors import EngineError, InputError, SourceError, instead_of, listing

BEFORE, OTHER = "before", "other"


@dataclass(frozen=True, slots=True)
class _Side:
    """A relation to be joined, with the types of its columns."""

    relation: exp.Expr
    types: Mapping[str, str]
    title: str
    header_line: bool = False
    notes: tuple[str, ...] = ()


def open_policy_source(source: object, policy: Policy, *, writable: bool = False) -> Source:
    """Open ``source``, or the policy's own, and join to it what the policy names.

    Raises:
        InputError: there is no source.
        SourceError: a source cannot be read or joined.
    """
    if source is None:
        if policy.source is None and not policy.files and (policy.engine.name != "spark" or policy.table is None):
            raise InputError("There is no source.", hint="add the key source (or files) to the policy, or pass one.")
        source = (
            policy.resolve(policy.source) if policy.source is not None else policy.patterns if policy.files else None
        )
    engine = policy.engine
    opened = open_source(
        source,
        policy.table,
        reading=Reading(policy.csv, policy.formats, policy.extensions, wanted_types(policy), needs_records=True),
        settings=engine.embedded,
        writable=writable,
        may_hold_password=any(place.path == ("source",) for place in policy.variables),
        cluster=Cluster(engine.master, engine.settings) if engine.name == "spark" else None,
    )
    with closed_on_error(opened.engine):
        if policy.join:
            opened.engine.capabilities.require("several_sources")
        if policy.transformation is not None:
            opened.engine.capabilities.require("transformation")
        read = (opened.relation, *_tables_beside(opened, policy))
        opened = replace(opened, read=read, other_files=policy.read_files)
        opened = with_visible_rows(opened, accepted=policy.row_security == "accept")
        opened = with_readable_columns(opened)
        opened = _joined(opened, policy) if policy.join else opened
        if any(item.redact for item in policy.columns):  # before a sample: who is not drawn is named in texts too
            opened = behind("redacted texts")(opened, policy)
        opened = draw_sample(opened, policy)
        if any(item.level is not None for item in policy.columns):
            from sqlanon.core.source.levels import at_levels  # few policies need it

            opened = at_levels(opened, policy)
        return opened


def _tables_beside(opened: Source, policy: Policy) -> list[exp.Table]:
    """Return the relations of the source's database that hold hierarchies, a subset, a population, or what
    is joined."""
    tables = [str(join.table) for join in policy.join if join.source is None]
    tables += [c.hierarchy.table for c in policy.columns if isinstance(c.hierarchy, specs.TableHierarchy)]
    beside = [(where or {}).get("table") for where in (policy.subset, policy.population)]
    tables += [str(name) for name in beside if name is not None]
    found = []
    for name in tables:
        with suppress(EngineError):  # it is not there; what reads it says so, and what it is for
            found.append(opened.engine.catalog.source_table(name))
    return found


def _joined(opened: Source, policy: Policy) -> Source:
    """Join the policy's further sources to the source, in one table of ours."""
    files = [Path(policy.resolve(join.source)) for join in policy.join if join.source is not None]
    stamps = tuple(stamp(file) for file in files if attached_as(opened.engine, file) is None)
    with opened.engine.catalog.detaching():
        sides = [_other(opened, policy, position, join) for position, join in enumerate(policy.join)]
        opened = replace(opened, header_line=opened.header_line or any(side.header_line for side in sides))
        _refuse_clashes(opened, sides, policy)
        warnings = _join(opened, sides, policy)
    relation = table(names.JOINED)
    return replace(
        opened,
        relation=relation,
        types=dict(opened.engine.catalog.columns(relation)),
        stamps=tuple(dict.fromkeys((*opened.stamps, *stamps))),
        warnings=(*opened.warnings, *(note for side in sides for note in side.notes), *warnings),
    )


def _join(opened: Source, sides: Sequence[_Side], policy: Policy) -> list[str]:
    """Create the table of the joined records; return what the user should know of it."""
    engine = opened.engine
    warnings: list[str] = []
    everything = exp.column(exp.Star(), table=exp.to_identifier(BEFORE, quoted=True))
    query = exp.select(everything).from_(aliased(opened.relation, BEFORE))
    available = {name: (BEFORE, type_name) for name, type_name in opened.types.items()}
    for position, (join, side) in enumerate(zip(policy.join, sides, strict=True)):
        alias = f"{OTHER}_{position}"
        condition = _matching(join, side, available, alias, policy, header_line=opened.header_line)
        _refuse_repeated_keys(opened, join, side)
        query = query.join(aliased(side.relation, alias), on=condition, join_type="left", copy=False)
        keys = [right for _, right in join.key]
        for name, type_name in side.types.items():
            if name not in keys:
                query = query.select(named(column(name, alias), name), copy=False)
                available[name] = (alias, type_name)
        query = query.select(named(not_null(column(keys[0], alias)), _found(position)), copy=False)
    records = engine.create("join", names.JOINED, query)
    _refuse_multiplied(opened, records)
    for position, (join, side) in enumerate(zip(policy.join, sides, strict=True)):
        types = {name: type_name for name, (_, type_name) in available.items()}
        warnings += _unmatched(opened, records, position, join, side, types)
    for position in range(len(sides)):
        engine.drop(names.joined_part(position))
        engine.drop_column(names.JOINED, _found(position))
    return warnings


def _found(position: int) -> str:
    return f"{names.PREFIX}found_{position}"


def _other(opened: Source, policy: Policy, position: int, join: Join) -> _Side:
    """Return the relation of a joined source."""
    parts = (Path(join.source).name if join.source is not None else None, join.table)
    title = ": ".join(part for part in parts if part is not None)
    what, hint = f"The joined source {title!r} cannot be read.", "check its path, table and format."
    with instead_of(EngineError, lambda error: SourceError(f"{what} {error.message}", hint=hint)):
        if join.source is None:
            found, header_line = Records(opened.engine.catalog.source_table(str(join.table))), False
        else:
            reading = Reading(join.csv, join.formats, policy.extensions, wanted_types(policy))
            path = policy.resolve(join.source)
            found = other_records(opened, path, join.table, reading, name=names.joined_part(position))
            header_line = reading.has_header_line(Path(path))
        types = dict(opened.engine.catalog.columns(found.relation))
        return _Side(found.relation, types, title, header_line, found.notes)


def _refuse_clashes(opened: Source, sides: Sequence[_Side], policy: Policy) -> None:
    """Raise unless every column of the joined records has a name of its own, in whatever case, and none is ours."""
    listed = [*opened.types]
    for side, join in zip(sides, policy.join, strict=True):
        missing = [right for _, right in join.key if right not in side.types]
        if missing:
            raise SourceError(
                f"The joined source {side.title!r} has no column {', '.join(map(repr, missing))}.",
                hint=f"{_columns(side.types, policy, header_line=side.header_line)} check its key.",
            )
        keys = [right for _, right in join.key]
        listed += [name for name in side.types if name not in keys]
    refuse_reserved(listed, "source")
    counts = Counter(name.casefold() for name in listed)
    twice = sorted({name for name in listed if counts[name.casefold()] > 1})
    if twice:
        raise SourceError(
            f"The joined sources share the columns {', '.join(map(repr, twice))}.",
            hint="rename them in a view of one of the sources, or join on them.",
        )


def _columns(types: Iterable[str], policy: Policy, *, header_line: bool) -> str:
    """Return the columns of a source, for a hint; of a first line, which may be a record, those of the policy alone."""
    if not header_line:
        return f"its columns are {listing(types)};"
    known = {column.name for column in policy.columns}.union(*(pair for join in policy.join for pair in join.key))
    if known.isdisjoint(types):
        return "check its format, and that its first line names the columns (csv: {header: false} for none);"
    return f"of its columns the policy names {listing(name for name in types if name in known)};"


def _matching(
    join: Join, side: _Side, available: Mapping[str, tuple[str, str]], alias: str, policy: Policy, *, header_line: bool
) -> exp.Expr:
    """Return the condition of a join: equal keys, as texts where their types differ; a NULL matches nothing."""
    conditions = []
    for left, right in join.key:
        if left not in available:
            raise SourceError(
                f"What {side.title!r} is joined to has no column {left!r}.",
                hint=f"{_columns(available, policy, header_line=header_line)} write key: {{column: its name there}}.",
            )
        owner, type_name = available[left]
        pair: list[exp.Expr] = [column(left, owner), column(right, alias)]
        if type_name != side.types[right]:
            pair = [exp.cast(item, "VARCHAR") for item in pair]
        conditions.append(equal(pair[0], pair[1]))
    return exp.and_(*conditions)


def _refuse_repeated_keys(opened: Source, join: Join, side: _Side) -> None:
    """Raise SourceError if a key occurs more than once in a joined source: records would multiply."""
    keys = [column(right, OTHER) for _, right in join.key]
    present = [not_null(key.copy()) for key in keys]
    repeated = exp.select(number(1)).from_(aliased(side.relation, OTHER)).where(*present).group_by(*keys)
    repeated = repeated.having(exp.GT(this=count_rows(), expression=number(1)))
    count = _count(opened, "repeated keys", repeated.subquery("repeated"))
    if count:
        raise SourceError(
            f"{count} keys occur more than once in the joined source {side.title!r}, so that records would multiply.",
            hint="begin with that source and join the others to it, or join a view of it with one row a key.",
        )


def _refuse_multiplied(opened: Source, records: int) -> None:
    """Raise SourceError if the join has more records than the source: keys that differ to one side may be equal to the
    other."""
    before = _count(opened, "records before the join", opened.relation)
    if records != before:
        raise SourceError(
            f"The source has {before} records, but the join has {records}: keys of different types or "
            "collations match several rows.",
            hint="give the key columns one type in a view of the sources.",
        )


def _unmatched(
    opened: Source, records: int, position: int, join: Join, side: _Side, types: Mapping[str, str]
) -> list[str]:
    """Report how many records met no row, and how many rows met no record."""
    found, title = column(_found(position)), side.title
    keys = exp.Tuple(expressions=[column(left) for left, _ in join.key])
    unmatched = records - _count(opened, "joined records", table(names.JOINED), where=found)
    rows = _count(opened, "rows to join", aliased(side.relation, OTHER))
    unused = rows - _count(opened, "used rows", table(names.JOINED), count_distinct(keys), where=found)
    warnings = []
    if unmatched:
        warnings.append(f"{unmatched} records have no row in the joined source {title!r}; its columns are NULL there.")
    if unused:
        warnings.append(f"{unused} rows of the joined source {title!r} belong to no record and are left out.")
    pairs = [(types[left], side.types[right]) for left, right in join.key]
    differing = [f"{left.split('(')[0]} and {right.split('(')[0]}" for left, right in pairs if left != right]
    if warnings and differing:
        warnings.append(f"Keys of {title!r} have different types, {', '.join(differing)}, and were compared as texts.")
    return warnings


def _count(
    opened: Source, name: str, relation: exp.Expr, count: exp.Expr | None = None, *, where: exp.Expr | None = None
) -> int:
    """Count the rows of a relation, or ``count`` of them."""
    query = exp.select(count or count_rows()).from_(relation)
    return int(opened.engine.run(name, query.where(where) if where is not None else query)[0][0])
