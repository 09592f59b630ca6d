"""Joint cells: what each person's classes in several releases are together, as one number.

Releases are relations of their members: ``person`` and ``class``, a row a person who is in it. Persons with the same
classes in all of them, absence included, have one number. Only numbers and counts are read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Column, Policy
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    column,
    count_distinct,
    count_rows,
    equal,
    named,
    not_null,
    number,
    or_zero,
    sum_if,
    table,
    union_all,
    when,
)
from sqlanon.errors import UnsupportedError

OF_EQUAL_VALUES = ("distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity")
"""Models that only ask which values are equal."""
NULL = "null"
"""What stands for the value NULL among digests."""
PERSON, CLASS, RELEASE = "person", "class", "release"
MEMBERS = "members"
of_release = names.namer("class")
"""Name of the column of a person's class in the release at a position; NULL: absent."""


@dataclass(frozen=True, slots=True)
class FormerValues:
    """The values of a sensitive column that an earlier release shows, some of which have changed since.

    Attributes:
        name: the column that a labelled source has of them (``names.FORMER``).
        column: the sensitive column.
        values: who had which value: a relation with ``person`` and ``value``, a digest; NULL is the value NULL.
    """

    name: str
    column: str
    values: exp.Expr


@dataclass(frozen=True, slots=True)
class LabelledSource:
    """A source whose records have the number of their person's classes in earlier releases.

    Attributes:
        relation: the records, with the column ``names.EARLIER``, 0 for persons who are in no earlier release, and the
            columns of ``FormerValues``.
        members: per number, the persons of the earlier releases with it (``EarlierClasses.members``).
    """

    relation: exp.Expr
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JointCounts(Facts):
    """How many joint cells some releases have.

    Attributes:
        cells: those that hold anybody; the persons who are in no release are in none.
        persons: in any of the releases.
        small: cells of fewer than k persons.
        small_persons: the persons in these.
        smallest: the least number of persons of a cell; None without any.
    """

    KEYS = "cells persons small_cells=small persons_in_small_cells=small_persons smallest_cell=smallest"
    cells: int
    persons: int
    small: int
    small_persons: int
    smallest: int | None


def count_joint(engine: Engine, members: Sequence[exp.Expr], k: int) -> JointCounts:
    """Return how many joint cells some releases have, and how many of them hold fewer than k persons.

    Args:
        members: a relation a release, with ``person`` and ``class``.

    Raises:
        UnsupportedError: a person is in several classes of a release.
    """
    if not members:
        return JointCounts(0, 0, 0, 0, None)
    _refuse_several_classes(engine, members)
    classes = [column(of_release(place)) for place in range(len(members))]
    cells = exp.select(named(count_rows(), "n")).from_(_classes_of_persons(members).subquery("persons"))
    cells = cells.group_by(*classes)
    small = exp.LT(this=column("n"), expression=number(k))
    counts = exp.select(
        count_rows(),
        or_zero(exp.Sum(this=column("n"))),
        sum_if(small, number(1)),
        sum_if(small.copy(), column("n")),
        exp.Min(this=column("n")),
    )
    counts = exp.select(*[named(item, f"count_{i}") for i, item in enumerate(counts.expressions)])
    row = engine.run("joint cells", counts.from_(cells.subquery("cells")))[0]
    every, persons, few, of_few, smallest = (None if count is None else int(count) for count in row)
    return JointCounts(every or 0, persons or 0, few or 0, of_few or 0, smallest)


def label_source(
    engine: Engine,
    relation: exp.Expr,
    types: Mapping[str, str],
    record: str,
    persons: exp.Expr,
    members: Sequence[exp.Expr],
    former: Sequence[FormerValues] = (),
) -> LabelledSource:
    """Return a source whose records have the number of their person's classes in earlier releases.

    Args:
        types: of the columns of the source.
        record: the column that identifies the person of a record; each record has a value of its own.
        persons: a relation with the values of that column (``EntityColumn.text``, as ``value``), and their ``person``.
        members: a relation an earlier release, with ``person`` and ``class``.
        former: what earlier releases show of sensitive columns.

    Raises:
        UnsupportedError: a person is in several classes of a release.
    """
    key = EntityColumn(record, types[record])
    _refuse_several_classes(engine, members)
    engine.create("earlier classes", names.EARLIER_PERSONS, numbered_persons(members, names.EARLIER), replayed=False)
    counted = exp.select(named(column(names.EARLIER), "earlier"), named(count_rows(), MEMBERS))
    counted = counted.from_(table(names.EARLIER_PERSONS)).group_by(column(names.EARLIER))
    nobody = exp.select(named(number(0), "earlier"), named(number(0), MEMBERS))
    engine.create("earlier classes", names.EARLIER_CLASSES, union_all([counted, nobody]), replayed=False)
    listed = exp.select(column("earlier"), column(MEMBERS)).from_(table(names.EARLIER_CLASSES))
    sizes = {int(label): int(persons) for label, persons in engine.run("earlier classes", listed)}
    labelled = (
        exp.select(*[column(name, "unlabelled") for name in types])
        .select(named(or_zero(column(names.EARLIER, "known")), names.EARLIER))
        .select(*[named(column(item.name, "known"), item.name) for item in former])
        .from_(exp.select("*").from_(relation.copy()).subquery("unlabelled"))
        .join(
            _with_number(persons, former).subquery("known"),
            on=equal(key.text("unlabelled"), column("value", "known")),
            join_type="left",
        )
    )
    return LabelledSource(labelled.subquery("labelled"), tuple(sizes[label] for label in range(len(sizes))))


def numbered_persons(members: Sequence[exp.Expr], name: str) -> exp.Select:
    """Return the persons of any release with a number, which those have in common who have the same class in each.

    Args:
        members: as for ``count_joint``.
        name: of the number.
    """
    classes = [column(of_release(place)) for place in range(len(members))]
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=c) for c in classes]))
    numbered = exp.select(column(PERSON), named(rank, name))
    return numbered.from_(_classes_of_persons(members).subquery("persons"))


def _with_number(persons: exp.Expr, former: Sequence[FormerValues]) -> exp.Select:
    """Return the persons of the source who are in earlier releases: by what they are known there (``value``), with the
    numbers of their classes and what the releases show of them."""
    query = exp.select(column("value", "present"), column(names.EARLIER, "earlier"))
    query = query.from_(exp.select("*").from_(persons.copy()).subquery("present"))
    met = equal(column(PERSON, "present"), column(PERSON, "earlier"))
    query = query.join(table(names.EARLIER_PERSONS, "earlier"), on=met)
    for place, item in enumerate(former):
        own = f"former_{place}"
        shown = exp.Coalesce(this=column("value", own), expressions=[exp.Literal.string(NULL)])
        query = query.select(named(when(not_null(column(PERSON, own)), shown), item.name))
        query = query.join(
            exp.select("*").from_(item.values.copy()).subquery(own),
            on=equal(column(PERSON, "present"), column(PERSON, own)),
            join_type="left",
        )
    return query


def former_policy(policy: Policy, former: Sequence[FormerValues]) -> Policy:
    """Return the policy that a labelled source is encoded with: what earlier releases show is judged as what is shown.

    Raises:
        UnsupportedError: a model compares values with those of all records, which are others now.
    """
    own = {item.name: item for item in policy.sensitive}
    columns = []
    for item in former:
        for model in own[item.column].models:
            if model.type not in OF_EQUAL_VALUES:
                raise UnsupportedError(
                    f"Values of column {item.column!r} have changed since an earlier release showed them; what the "
                    f"releases show together is not judged by {model.type}.",
                    hint=f"use {', '.join(OF_EQUAL_VALUES)}, or forget that release if nobody has it.",
                )
        columns.append(Column(item.name, "sensitive", models=own[item.column].models))
    return replace(policy, columns=(*policy.columns, *columns))


def _classes_of_persons(members: Sequence[exp.Expr]) -> exp.Select:
    """Return a row a person of any release, with the class in each."""
    parts = [
        exp.select(column(PERSON), column(CLASS), named(number(place), RELEASE)).from_(relation.copy())
        for place, relation in enumerate(members)
    ]
    own = [
        named(exp.Max(this=when(equal(column(RELEASE), number(place)), column(CLASS))), of_release(place))
        for place in range(len(members))
    ]
    every = exp.select(column(PERSON), *own).from_(union_all(parts).subquery("every"))
    return every.group_by(column(PERSON))


def _refuse_several_classes(engine: Engine, members: Sequence[exp.Expr]) -> None:
    """Raise UnsupportedError if a person is in several classes of one release."""
    counts = [
        exp.select(named(count_rows(), "members"), named(count_distinct(column(PERSON)), "persons")).from_(part.copy())
        for part in members
    ]
    if any(members != persons for members, persons in engine.run("members of releases", union_all(counts))):
        raise UnsupportedError(
            "A person is in several classes of an earlier release; what such releases show together is not judged.",
            hint="leave out entity, and name a key of the records (ledger: {record: …}).",
        )
