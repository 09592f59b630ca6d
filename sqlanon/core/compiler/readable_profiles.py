"""The profiles of persons at nodes, over original values, for the verification of certificates.

Who has the same rows as whom is found by the SQL of the audits (``sql/audit/profiles.sql``), not by that of a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.sqltrees import names, row_sets
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    column,
    equal,
    equal_columns,
    is_null,
    named,
    number,
    table,
    total,
    union_all,
    when,
)

PROFILE = names.PREFIX + "profile"
"""The column that holds the number of a profile."""


def profiles(records: exp.Query, node: str, texts: Sequence[str]) -> exp.Select:
    """Return per node and entity the profile.

    Args:
        records: per node what is left of every record: ``texts``, the entity and ``n``.
    """
    wanted = [column(name) for name in (node, *texts, names.ENTITY)]
    counted = exp.select(*wanted, named(total(column(names.COUNT)), names.PREFIX + "records"))
    counted = counted.from_(records.subquery("records")).group_by(*[item.copy() for item in wanted])
    return bind(
        "audit/profiles.sql",
        relations={"counted": counted},
        columns={"quasi_identifier": list(texts), "entity": [node, names.ENTITY]},
    )


def with_profiles(records: exp.Query, node: str) -> exp.Select:
    """Return records with the profiles of their entities, from ``names.PROFILES``."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("owned", quoted=True))
    query = exp.select(everything, column(PROFILE, "profiles")).from_(records.subquery("owned"))
    return query.join(table(names.PROFILES, "profiles"), on=equal_columns((node, names.ENTITY), "owned", "profiles"))


def suppressed_whole(judged: exp.Select, node: str, keys: Sequence[str]) -> exp.Select:
    """Return the judged rows of profiles such that all of a profile fail where one does, and are certain where one is.

    Args:
        keys: of a row: its texts and the profile.
    """
    of_profile = [column(node), column(PROFILE)]

    def any_of(condition: exp.Expr) -> exp.Expr:
        flag = exp.Max(this=when(condition, number(1), number(0)))
        return exp.Window(this=flag, partition_by=[item.copy() for item in of_profile])

    fails = equal(column("fails"), number(1))
    certain = exp.and_(fails.copy(), exp.GTE(this=column("min_suppressed"), expression=column(names.COUNT)))
    counters = [column(name) for name in (node, *keys, names.COUNT, "entities")]
    least = when(equal(any_of(certain), number(1)), column(names.COUNT), number(0))
    shown = [named(any_of(fails), "fails"), named(least, "min_suppressed")]
    return exp.select(*counters, *shown).from_(judged.subquery("rows"))


def by_rows(node: str, texts: Sequence[str]) -> exp.Subquery:
    """Return the judged rows of all profiles, those that are the same text and fate as one."""
    keys = [column(name) for name in (node, *texts, "fails")]
    sums = [named(total(column(name)), name) for name in (names.COUNT, "entities", "min_suppressed")]
    query = exp.select(*keys, *sums).from_(table(names.JUDGED)).group_by(*[key.copy() for key in keys])
    return query.subquery("judged")


def entities(records: exp.Query, node: str, texts: Sequence[str]) -> exp.Select:
    """Return per node the entities with suppressed records (``sql/audit/node_entities.sql``)."""
    keys = (node, *texts)
    hit = (
        with_fates(with_profiles(records, node), node, "shown")
        .join(table(names.JUDGED, "judged"), on=equal_columns((*keys, PROFILE), "records", "judged"))
        .join(
            by_rows(node, texts).this.subquery("shown"),
            on=exp.and_(equal_columns(keys, "judged", "shown"), equal_columns(["fails"], "judged", "shown")),
        )
    )
    return bind("audit/node_entities.sql", relations={"judged": hit})


def with_fates(records: exp.Query, node: str, shown: str) -> exp.Select:
    """Select what ``sql/audit/node_entities.sql`` reads of records; ``judged``, and ``shown`` if it is another, are to
    be joined."""
    return exp.select(
        column(node, "records"),
        named(column(names.ENTITY, "records"), "entity"),
        *[column(name, "judged") for name in ("fails", "min_suppressed")],
        named(column(names.COUNT, "judged"), "records"),
        named(column(names.COUNT, "records"), names.COUNT),
        column("entities", shown),
    ).from_(records.subquery("records"))


def persons(records: exp.Query, node: str) -> exp.Select:
    """Return per node and entity the entity as its profile: where few rows are known, each person is judged alone."""
    shown = [column(node), column(names.ENTITY), named(column(names.ENTITY), PROFILE)]
    return exp.select(*shown).distinct().from_(records.subquery("records"))


def rows_of_persons(node: str, of_node: int, texts: Sequence[str]) -> exp.Select:
    """Return the rows of the persons of a node from ``names.JUDGED``, as ``row_sets`` wants them."""
    query = exp.select(
        named(column(PROFILE), row_sets.OWNER),
        named(column(names.COUNT), row_sets.COPIES),
        named(row_sets.ranked(texts), row_sets.PLACE),
    ).from_(table(names.JUDGED))
    return query.where(equal(column(node), number(of_node)))


def rows_of_others(rows: str, at_most: int, k: int) -> exp.Query:
    """Return the rows of the persons of whom every sub-multiset of at most so many rows is held by k of them all."""
    few = union_all([row_sets.owners_in_few(rows, shape, k) for shape in row_sets.shapes(at_most)])
    failing = exp.select(column(row_sets.OWNER)).distinct().from_(few.subquery("few"))
    kept = [column(name, "kept") for name in (row_sets.OWNER, row_sets.COPIES, row_sets.PLACE)]
    query = exp.select(*kept).from_(table(rows, "kept"))
    same = equal_columns([row_sets.OWNER], "kept", "failing")
    query = query.join(failing.subquery("failing"), on=same, join_type="left")
    return query.where(is_null(column(row_sets.OWNER, "failing")))


def without_others(node: str, texts: Sequence[str], left: Mapping[int, str]) -> exp.Query:
    """Return ``names.JUDGED`` such that all persons fail of whom a node has no rows left.

    Args:
        left: by the number of a node, the table of the rows that are left.
    """
    passing = [
        exp.select(named(number(of_node), "passing_node"), column(row_sets.OWNER)).distinct().from_(table(rows))
        for of_node, rows in left.items()
    ]
    same = exp.and_(
        equal(column(node, "judged"), column("passing_node", "passing")),
        equal(column(PROFILE, "judged"), column(row_sets.OWNER, "passing")),
    )
    fails = is_null(column(row_sets.OWNER, "passing"))
    records = column(names.COUNT, "judged")
    shown: list[exp.Expr] = [column(name, "judged") for name in (node, *texts, PROFILE, names.COUNT, "entities")]
    shown += [
        named(when(fails, number(1), number(0)), "fails"),
        named(when(fails.copy(), records, number(0)), "min_suppressed"),
    ]
    query = exp.select(*shown).from_(table(names.JUDGED, "judged"))
    return query.join(union_all(passing).subquery("passing"), on=same, join_type="left")
