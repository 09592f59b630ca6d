"""The statements about sensitive columns: their distribution, the ancestors of values, what audits refer to."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EncodedColumn, EncodedSource
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    bigint,
    canonical,
    column,
    count_rows,
    equal,
    is_null,
    joined_lookup,
    lookup_rows,
    masked,
    named,
    number,
    of_attribute,
    same,
    table,
    union_all,
)


def overall(position: int, item: EncodedColumn, typed: exp.Expr | None, *, counted: str = names.COUNT) -> exp.Select:
    """Return the distribution of a sensitive column among the records that take part, in the order of its values.

    Per value its code, its records and its place in the order, and what ``encode/overall.sql`` adds. NULL comes last.

    Args:
        typed: the value in the type of its column, by which the values (``v``) are ordered; None: as they are listed.
        counted: the column of the distinct values that counts their records, or with an entity their entities.
    """
    order = column("place", "h") if typed is None else typed
    null_last = [
        exp.Ordered(this=is_null(column("value", "v"))),
        exp.Ordered(this=order, nulls_first=False),
        exp.Ordered(this=column("value", "v"), nulls_first=False),
    ]
    lookup = names.lookup(position)
    placed = (
        exp.select(
            named(_code(item, lookup), "value"),
            named(column(counted, "v"), "records"),
            named(exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=null_last)), "place"),
        )
        .from_(table(names.VALUES, "v"))
        .where(of_attribute(position, "v"))
    )
    joined_lookup(placed, position, same(column("value", "v"), column("value", lookup)))
    if typed is None:
        met = exp.and_(of_attribute(position, "h"), same(column("value", "v"), column(names.level(0), "h")))
        placed.join(table(names.LISTED, "h"), on=met, join_type="left", copy=False)
    return bind("encode/overall.sql", relations={"placed": placed})


def ancestors(place: int, item: EncodedColumn) -> exp.Query:
    """Return per value of a sensitive column and level below the root: its ancestor, the ancestor's share, and
    ``alone``, the hierarchical distance between the value alone and all records."""
    levels: list[exp.Query] = []
    for level in range(item.height - 1):
        ancestor = masked(column("value"), number(code_mask(item, level)))
        share = exp.Window(this=exp.Sum(this=column("share")), partition_by=[ancestor.copy()])
        levels.append(
            exp.select(
                column("value"), named(number(level), "level"), named(ancestor, "ancestor"), named(share, "share")
            ).from_(table(names.overall(place)))
        )
    distance = exp.Sub(this=number(1), expression=column("share"))
    alone = exp.Window(this=exp.Avg(this=distance), partition_by=[column("value")])
    return exp.select("*", named(alone, "alone")).from_(union_all(levels).subquery("levels"))


def code_mask(item: EncodedColumn, level: int) -> int:
    """Return the bits of a sensitive column's code that remain at a level; all of them stand in one word."""
    return sum(((1 << bits) - 1) << shift for _, shift, bits in item.fields[level:])


def _code(item: EncodedColumn, lookup: str) -> exp.Expr:
    """Return the code of a sensitive value, from its lookup."""
    return masked(column(names.key(item.fields[0][0]), lookup), number(code_mask(item, 0)))


def reference(source: EncodedSource, position: int, *, placed: bool = False) -> exp.Select:
    """Return the distribution of a sensitive column as the audits read it, value and records, from the source itself.

    With an entity, the distinct entities of a value are taken for its records.

    Args:
        placed: with the place of each value in the order, ``place``; values without a code have none, and are left out.
    """
    item = source.items[position]
    text = canonical(item.name, item.type)
    records = count_rows() if source.entity is None else source.entity.count()
    counted = (
        exp.select(named(text, "value"), named(bigint(records), "records"))
        .from_(source.relation.copy())
        .where(source.taking_part.condition())
        .group_by(text.copy())
    )
    if not placed:
        return counted
    place = sum(1 for other in source.items[:position] if other.sensitive)
    lookup = names.lookup(position)
    query = exp.select(column("value", "s"), column("records", "s"), column("place", "o")).from_(counted.subquery("s"))
    joined_lookup(query, position, same(column("value", "s"), column("value", lookup)))
    return query.join(table(names.overall(place), "o"), on=equal(column("value", "o"), _code(item, lookup)))


def listed_ancestors(position: int, levels: int) -> exp.Expr:
    """Return per value of a sensitive column and level below the root, the published text of its ancestor."""
    selects: list[exp.Query] = [
        exp.select(column("value"), named(number(level), "level"), named(column(names.level(level)), "ancestor")).from_(
            lookup_rows(position)
        )
        for level in range(max(levels, 1))
    ]
    return union_all(selects).subquery("hierarchy")
