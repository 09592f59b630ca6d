"""The world of any file beside a source, without a policy: synthetic records, or a release of another tool.

What a text of the file may stand for is read from it (``sql/attack/covered_values.sql``). Synthetic records are about
nobody, so that few of them equal a person: a person whom no row covers has the rows that are nearest. In a column of
numbers or moments those are near that are in the same twentieth of the values, or else in the same fifth; texts must
be equal. That stands in the place of the nearest neighbours of Giomi et al. (PoPETs 2023), by joins of equal values.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from sqlanon.assess.attack import statements
from sqlanon.assess.attack.statements import CLASS, CONTROL, DISTANCE, IN_RELEASE, TYPE, TargetRecords, text, value
from sqlanon.assess.attack.world import AttackWorld, attacking, count_targets, number_records, read_beside
from sqlanon.core.audit.check import refuse_reserved
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.source.beside import kind_of
from sqlanon.core.source.columns import is_scalar, match_columns
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import ONLY_TABLE, open_source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.data_types import INTEGERS
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    canonical,
    column,
    count_distinct,
    count_if,
    equal,
    is_null,
    named,
    number,
    sum_if,
    table,
    union_all,
)
from sqlanon.errors import InputError, SourceError, listing

HELD_OUT, PART = names.PREFIX + "held_out", names.PREFIX + "part"
PARTS = (20, 5)
"""Into how many parts the values of a number are divided, for what is near at each distance from 1 on."""
near = names.namer(names.PREFIX + "near")
"""Name of the table of what is covered at a distance; and of the column of what is equal there."""


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """What an attacker knows of everybody, and what is guessed; in the order of the user, or of the source."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()


@contextmanager
def open_file_world(
    release: str | os.PathLike[str],
    columns: KnownColumns,
    *,
    source: object,
    table_name: str | None,
    control: str | os.PathLike[str] | None,
    seed: int,
    watch: Watcher | None,
) -> Iterator[tuple[AttackWorld, tuple[str, ...]]]:
    """Read a file, the source that it is about and a control group; yield what attacks look at, with warnings.

    Args:
        columns: without a sensitive column, each other column that file and source share is guessed.
        source: a path, a frame or a connection; or a pair of one of these and the name of its table.
        control: a file with records that the release was not made of.

    Raises:
        InputError: there is no source, or nothing to compare.
        SourceError: a file cannot be read, or lacks a column.
        UnsupportedError: the engine of the source is none beside which files are read.
    """
    if source is None:
        raise InputError("There is no source.", hint="name the records that the file was made of (--source).")
    if not columns.quasi_identifiers:
        raise InputError("No quasi-identifiers are named.", hint='name columns, e.g. ["age", "zip"].')
    path, of_source = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    opened = open_source(path, of_source or ONLY_TABLE, reading=Reading(finds_delimiter=True))
    with attacking(opened, watch) as engine:
        relations, types = {"source": opened.relation}, {"source": dict(engine.catalog.columns(opened.relation))}
        for name, place, file in (("release", names.ATTACKED_RELEASE, release), ("control", HELD_OUT, control)):
            if file is not None:
                wanted = (table_name or ONLY_TABLE) if name == "release" else ONLY_TABLE
                relations[name], types[name] = read_beside(opened, file, wanted, Reading(finds_delimiter=True), place)
        quasi = match_columns(opened, columns.quasi_identifiers)
        shared = [name for name, kind in opened.types.items() if is_scalar(kind) and name in types["release"]]
        secrets = match_columns(opened, columns.sensitive) or [name for name in shared if name not in quasi]
        if both_roles := [name for name in secrets if name in quasi]:
            raise InputError(f"{listing(both_roles)} cannot be known and guessed.", hint="name each column once.")
        refuse_reserved((*quasi, *secrets), "source")
        engine.journal.report("attacking")
        yield _prepared(engine, relations, types, (tuple(quasi), tuple(secrets)), seed)


def _prepared(
    engine: Engine,
    relations: Mapping[str, exp.Expr],
    types: Mapping[str, Mapping[str, str]],
    columns: tuple[tuple[str, ...], tuple[str, ...]],
    seed: int,
) -> tuple[AttackWorld, tuple[str, ...]]:
    quasi, secrets = columns
    kinds = {name: _common_type(name, types) for name in (*quasi, *secrets)}
    texts = [name for name in secrets if kinds[name] == "VARCHAR"]
    people = {file: own for file, own in types.items() if file != "release"}
    first = {name: _common_type(name, people) for name in kinds}
    numbers = _written_apart(engine, _projected(relations["source"], types["source"], (first, kinds)), texts)
    alike = {
        name: _projected(relation, types[name], (first, kinds) if name in people else (kinds,), numbers)
        for name, relation in relations.items()
    }
    release = alike["release"]
    parts = [exp.select(exp.Star(), named(number(IN_RELEASE), PART)).from_(alike["source"])]
    if "control" in alike:
        parts.append(exp.select(exp.Star(), named(number(CONTROL), PART)).from_(alike["control"]))
    source = union_all(parts).subquery("source")
    read = [(name, kinds[name]) for name in quasi]
    engine.create("known values", names.KNOWN_VALUES, _known_values(source, release, read), replayed=False)
    engine.create("known texts", names.KNOWN_TEXTS, _known_texts(release, read), replayed=False)
    words = [(name, kinds[name], kinds[name]) for name in secrets]
    group = exp.cast(column(PART, statements.SOURCE), "INTEGER")
    published, _ = number_records(engine, TargetRecords(source, exp.true(), group), (release, {}), read, read, words)
    _find_covering(engine, len(quasi))
    records, controls = count_targets(engine)
    world = AttackWorld(
        engine=engine,
        seed=seed,
        quasi_identifiers=quasi,
        kept=(),
        sensitive=secrets,
        published=published,
        records=records,
        controls=controls if "control" in alike else None,
    )
    return world, (*_not_understood(engine, quasi), *_never_right(world), *_overlapping(world))


def _common_type(name: str, types: Mapping[str, Mapping[str, str]]) -> str:
    """Return the type in which a column is compared.

    Raises:
        SourceError: a file has no such column, or its values are no scalars.
    """
    lacking = [file for file, own in types.items() if name not in own or not is_scalar(own[name])]
    if lacking:
        raise SourceError(
            f"The {' and the '.join(lacking)} has no column {name!r} whose values can be compared.",
            hint="name columns that all files have, spelled alike.",
        )
    found = {own[name] for own in types.values()}
    if len(found) == 1:
        return found.pop()
    kinds = {*map(kind_of, found)}
    if kinds == {"number"}:
        return "HUGEINT" if found <= {*INTEGERS} else "DOUBLE"
    return "TIMESTAMP" if kinds == {"moment"} and "TIME" not in found else "VARCHAR"


def _projected(
    relation: exp.Expr, types: Mapping[str, str], kinds: Sequence[Mapping[str, str]], numbers: Collection[str] = ()
) -> exp.Subquery:
    """Return the compared columns of a file, in their common types.

    Args:
        kinds: the types that are taken one after the other: source and control become alike before they become texts.
        numbers: columns of texts whose numbers are compared however they are written.
    """
    shown = []
    for name in kinds[-1]:
        read: exp.Expr = column(name)
        for before, kind in pairwise([types[name], *[each[name] for each in kinds]]):
            read = read if before == kind else exp.cast(read, kind)
        shown.append(named(_as_number(read) if name in numbers else read, name))
    return exp.select(*shown).from_(relation.copy()).subquery("compared")


def _as_number(text: exp.Expr) -> exp.Expr:
    read = exp.TryCast(this=text.copy(), to=exp.DataType.build("DOUBLE"))
    return exp.Coalesce(this=exp.cast(read, "VARCHAR"), expressions=[text])


def _written_apart(engine: Engine, source: exp.Expr, names_of: Sequence[str]) -> list[str]:
    """Return the columns of texts in which no two values of the source are one number, so that 65 may be read as 65.0;
    codes such as 250.0 and 250.00 are not."""
    if not names_of:
        return []
    counts = [count_distinct(each) for name in names_of for each in (column(name), _as_number(column(name)))]
    [found] = engine.run("numbers that are written apart", exp.select(*counts).from_(source))
    return [name for name, texts, values in zip(names_of, found[::2], found[1::2], strict=True) if texts == values]


def _overlapping(world: AttackWorld) -> Iterator[str]:
    """Yield whether most of a control group look like records of the source."""
    if not world.controls:
        return
    by = [column(TYPE), *[column(statements.other(place)) for place in range(len(world.beside))]]
    counts = [named(count_if(equal(column(statements.PART), number(part))), f"of_{part}") for part in (0, 1)]
    groups = exp.select(*counts).from_(table(names.TARGETS)).group_by(*by).subquery("groups")
    alike = exp.select(sum_if(exp.GT(this=column("of_0"), expression=number(0)), column("of_1"))).from_(groups)
    [(found,)] = world.engine.run("controls in the source", alike)
    if int(found or 0) * 2 > world.controls:
        yield (
            f"{int(found):,} of {world.controls:,} records of the control group equal records of the source in all "
            "compared columns. Where they are the same people, they are no control, and the excess is too small."
        )


def _values(relation: exp.Expr, position: int, name: str, kind: str, title: str) -> exp.Select:
    shown = [named(number(position), "attribute"), named(canonical(name, kind), title)]
    return exp.select(*shown).distinct().from_(relation.copy())


def _known_values(source: exp.Expr, release: exp.Expr, quasi: Sequence[tuple[str, str]]) -> exp.Query:
    """Return attribute, value, ``v``, its number, and per distance what is equal there: the values of the source, and
    those of the release that are numbers or moments."""
    every = union_all(
        _values(relation, position, name, kind, "value").select(named(number(of_source), "of_source"))
        for position, (name, kind) in enumerate(quasi)
        for relation, of_source in ((source, 1), (release, 0))
    )
    return bind("attack/known_values.sql", relations={"listed": every}, values={"many": PARTS[0], "few": PARTS[1]})


def _known_texts(release: exp.Expr, quasi: Sequence[tuple[str, str]]) -> exp.Query:
    """Return attribute, text, its number ``t``, and ``v`` of each value that it may stand for; NULL without any."""
    texts = union_all([_values(release, i, name, kind, "text") for i, (name, kind) in enumerate(quasi)])
    covered = bind("attack/covered_values.sql", relations={"texts": texts, "known": table(names.KNOWN_VALUES)})
    order = exp.Order(expressions=[exp.Ordered(this=column("text"), nulls_first=False)])
    rank = exp.Window(this=exp.DenseRank(), partition_by=[column("attribute")], order=order)
    return exp.select(exp.Star(), named(bigint(rank), "t")).from_(covered.subquery("covered"))


def _find_covering(engine: Engine, count: int) -> None:
    """Find the classes of each type that cover it, or else those that are nearest."""
    found = [near(distance) for distance in range(1 + len(PARTS))]
    for distance, name in enumerate(found):
        query = _covering_at(distance, count)
        for before in found[:distance]:
            covered = exp.select(column(TYPE)).from_(table(before)).subquery()
            query = query.where(exp.not_(exp.In(this=column(TYPE, "types"), query=covered)))
        engine.create("nearest classes", name, query, replayed=False)
    every = union_all([exp.select(exp.Star()).from_(table(name)) for name in found])
    engine.create("covering", names.COVERING, every, replayed=False)
    for name in found:
        engine.drop(name)


def _covering_at(distance: int, count: int) -> exp.Select:
    """Return the types and classes whose values are all equal at a distance."""
    own = near(distance)
    query = exp.select(column(TYPE, "types"), column(CLASS, "classes"), named(number(distance), DISTANCE)).distinct()
    query = query.from_(table(names.TARGET_TYPES, "types"))
    met: list[exp.Expr] = []
    for position in range(count):
        of_types, of_texts = f"of_types_{position}", f"of_texts_{position}"
        here = equal(column("attribute", of_types), number(position))
        met_type = equal(column("v", of_types), column(value(position), "types"))
        query = query.join(table(names.KNOWN_VALUES, of_types), on=both([here, met_type]))
        read = exp.select(column("t", "texts"), column(own, "values")).distinct()
        read = read.from_(table(names.KNOWN_TEXTS, "texts"))
        on = [equal(column(name, "texts"), column(name, "values")) for name in ("attribute", "v")]
        read = read.join(table(names.KNOWN_VALUES, "values"), on=both(on))
        read = read.where(equal(column("attribute", "texts"), number(position)))
        query = query.join(read.subquery(of_texts), on=equal(column(own, of_texts), column(own, of_types)))
        met.append(equal(column(text(position), "classes"), column("t", of_texts)))
    return query.join(table(names.RELEASED_CLASSES, "classes"), on=both(met))


def _not_understood(engine: Engine, quasi: Sequence[str]) -> Iterator[str]:
    """Yield in how many rows a column holds a text that stands for no value of the source."""
    covers = exp.select(column("attribute"), column("t")).from_(table(names.KNOWN_TEXTS)).where(is_null(column("v")))
    for position, name in enumerate(quasi):
        strange = exp.select(column("t")).from_(covers.subquery("strange"))
        strange = strange.where(equal(column("attribute"), number(position)))
        found = count_if(exp.In(this=column(text(position)), query=strange.subquery()))
        [(rows,)] = engine.run("texts of the release", exp.select(found).from_(table(names.RELEASED_ROWS)))
        if rows:
            yield (
                f"In {int(rows):,} rows {name!r} is neither a value of the source nor a range, bound, mask or set that "
                "can be read, so that they cover nobody. A policy with its hierarchy says what they mean."
            )


def _never_right(world: AttackWorld) -> Iterator[str]:
    """Yield which guessed columns have no value in common with the source."""
    for place, name in enumerate(world.beside):
        own = column(statements.other(place))
        met = count_if(exp.In(this=own, query=exp.select(own.copy()).from_(table(names.TARGETS)).subquery()))
        [(rows,)] = world.engine.run("values in the source", exp.select(met).from_(table(names.RELEASED_ROWS)))
        if world.published and not rows:
            yield (
                f"No row has a value of {name!r} that the source has, so that no guess of it can be right. Write its "
                "values in both files alike, or guess other columns."
            )
