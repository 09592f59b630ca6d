"""The statements about sensitive columns: their distribution, the ancestors of values, what audits refer to."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.encode import EncodedColumn, included
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import bigint, column, equal, masked, named, number, same, table


def overall(position: int, item: EncodedColumn, *, listed_order: bool, counted: str = names.COUNT) -> exp.Select:
    """The distribution of a sensitive column among the records that take part, in the order of its values.

    ``counted`` is the column of the distinct values that is taken for their records: with an entity, its entities.

    Per value: its code, its records, its share, its place in the order, the cumulative share up to it (``through``),
    the sum of these up to it (``area``), and ``alone``: the sum over all places of the difference between the
    cumulative share and that of the value alone (ordered distance times v - 1). NULL comes last.
    """
    order = column("place", "h") if listed_order else column("raw", "v")
    placed = (
        exp.select(
            named(masked(_code_word(position, item), number(code_mask(item, 0))), "value"),
            named(column(counted, "v"), "records"),
            named(
                exp.Window(
                    this=exp.RowNumber(),
                    order=exp.Order(
                        expressions=[
                            exp.Ordered(this=exp.Is(this=column("value", "v"), expression=exp.null())),
                            exp.Ordered(this=order, nulls_first=False),
                            exp.Ordered(this=column("value", "v"), nulls_first=False),
                        ]
                    ),
                ),
                "place",
            ),
        )
        .from_(table(names.distinct_values(position), "v"))
        .join(
            table(names.lookup(position), names.lookup(position)),
            on=same(column("value", "v"), column("value", names.lookup(position))),
        )
    )
    if listed_order:
        placed = placed.join(
            table(names.listed(position), "h"),
            on=same(column("value", "v"), column(names.level(0), "h")),
            join_type="left",
        )
    everyone = exp.Window(this=exp.Sum(this=column("records")))
    share = exp.Div(this=exp.cast(column("records"), "DOUBLE"), expression=everyone, typed=False, safe=False)
    shared = exp.select("*", named(share, "share")).from_(placed.subquery("placed"))
    through = exp.select("*", named(_running(column("share")), "through")).from_(shared.subquery("shared"))
    area = exp.select("*", named(_running(column("through")), "area")).from_(through.subquery("cumulated"))
    before = exp.paren(exp.Sub(this=column("area"), expression=column("through")))
    last = exp.Window(this=exp.Max(this=column("area")))
    count = exp.Window(this=exp.Max(this=column("place")))
    alone = exp.Sub(
        this=exp.Add(
            this=exp.Add(
                this=before,
                expression=exp.paren(
                    exp.Sub(this=count, expression=exp.paren(exp.Sub(this=column("place"), expression=number(1))))
                ),
            ),
            expression=before.copy(),
        ),
        expression=last,
    )
    return exp.select("*", named(alone, "alone")).from_(area.subquery("measured"))


def _running(value: exp.Expr) -> exp.Window:
    return exp.Window(this=exp.Sum(this=value), order=exp.Order(expressions=[exp.Ordered(this=column("place"))]))


def ancestors(place: int, item: EncodedColumn) -> exp.Query:
    """Per value of a sensitive column and level below the root: its ancestor, the ancestor's share, and ``alone``, the
    hierarchical distance between the value alone and all records."""
    levels = []
    for level in range(item.height - 1):
        ancestor = masked(column("value"), number(code_mask(item, level)))
        levels.append(
            exp.select(
                column("value"),
                named(number(level), "level"),
                named(ancestor, "ancestor"),
                named(exp.Window(this=exp.Sum(this=column("share")), partition_by=[ancestor.copy()]), "share"),
            ).from_(table(names.overall(place)))
        )
    query: exp.Query = levels[0]
    for other in levels[1:]:
        query = exp.union(query, other, distinct=False, copy=False)
    distance = exp.Sub(this=number(1), expression=column("share"))
    alone = exp.Window(this=exp.Avg(this=distance), partition_by=[column("value")])
    return exp.select("*", named(alone, "alone")).from_(query.subquery("levels"))


def code_mask(item: EncodedColumn, level: int) -> int:
    """The bits of a sensitive column's code that remain at a level; all of them stand in one word."""
    return sum(((1 << bits) - 1) << shift for _, shift, bits in item.fields[level:])


def _code_word(position: int, item: EncodedColumn) -> exp.Expr:
    return column(names.key(item.fields[0][0]), names.lookup(position))


def reference(
    source: exp.Expr,
    items: Sequence[EncodedColumn],
    position: int,
    basic: bool,
    *,
    entities: exp.Expr | None = None,
    placed: bool = False,
) -> exp.Select:
    """The distribution of a sensitive column as the audits read it, value and records, from the source itself.

    Args:
        entities: counts the distinct entities of a value, which are then taken for its records.
        placed: with the place of each value in the order, ``place``; values without a code have none, and are left out.
    """
    item = items[position]
    quasi = [other.name for other in items if not other.sensitive]
    text = exp.cast(column(item.name), "VARCHAR")
    records = exp.Count(this=exp.Star()) if entities is None else entities
    counted = (
        exp.select(named(text, "value"), named(bigint(records), "records"))
        .from_(source.copy())
        .where(included(quasi, basic, members=item.has_population))
        .group_by(text.copy())
    )
    if not placed:
        return counted
    code = masked(column(names.key(item.fields[0][0]), "l"), number(code_mask(item, 0)))
    place = sum(1 for other in items[:position] if other.sensitive)
    return (
        exp.select(column("value", "s"), column("records", "s"), column("place", "o"))
        .from_(counted.subquery("s"))
        .join(table(names.lookup(position), "l"), on=same(column("value", "s"), column("value", "l")))
        .join(table(names.overall(place), "o"), on=equal(column("value", "o"), code))
    )


def listed_ancestors(position: int, levels: int) -> exp.Expr:
    """Per value of a sensitive column and level below the root, the published text of its ancestor."""
    selects = [
        exp.select(column("value"), named(number(level), "level"), named(column(names.level(level)), "ancestor")).from_(
            table(names.lookup(position))
        )
        for level in range(max(levels, 1))
    ]
    query: exp.Query = selects[0]
    for other in selects[1:]:
        query = exp.union(query, other, distinct=False, copy=False)
    return query.subquery("hierarchy")
