"""The statements of counts: what each cell of all tables holds, and whether entities have one category each.

Nothing leaves the database but numbers of cells, and the texts of categories. ``codes`` is the source with the numbers
of its categories, which the lookups know, in one row for each combination (and entity):

    code_0_1 | code_1_0 | who | held | amount     (the last three with our prefix)
    ---------+----------+-----+------+-------
           3 |        1 | 711 |    2 |   1200
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE, EncodedSource, EntityColumn
from sqlanon.core.compiler.keyed import persons_by_key
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import GROUPED_AS_THEY_ARE
from sqlanon.core.sqltrees.trees import (
    HEX_NUMBER,
    bigint,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    cte,
    equal,
    is_null,
    named,
    number,
    or_zero,
    row_number,
    table,
    total,
    union_all,
    when,
    with_ctes,
)
from sqlanon.counts.grid import Levels

WHO, HELD, AMOUNT = (names.PREFIX + name for name in ("who", "held", "amount"))
"""Columns of ``codes``: the contributor, its records, and the sum of the measured column over them."""
HALVES = tuple(names.PREFIX + name for name in ("high", "low"))
"""Columns of the halves of keys, of 32 bits each: their sums are summed as whole numbers on every engine."""
PURPOSE = "counts"
"""Of the key that the keys of entities are made by."""
CODES, KEYS, CONTRIBUTIONS, RANKED = "codes", "keys", "contributions", "ranked"
SAMPLE = 50_000
"""So many records tell whether entities have several of the same categories: only the time depends on it."""
TOP = 2
"""So many of the largest contributors of a cell are looked at."""
FALLING = exp.Ordered(this=column(AMOUNT), desc=True, nulls_first=False)
"""The order of contributions, the largest first."""


@dataclass(frozen=True, slots=True)
class CountedSource:
    """A source whose dimensions have lookups.

    Attributes:
        source: its records and the columns of the dimensions.
        levels: of each dimension, the levels that are published, the finest first.
        measured: the column that is summed, with its type.
        keyed: the keys of the entities stand in ``names.KEYED``, and are summed; nothing is measured then.
        repeats: entities have several records of the same categories, and are grouped before they are counted.
    """

    source: EncodedSource
    levels: tuple[tuple[int, ...], ...]
    measured: tuple[str, str] | None = None
    keyed: bool = False
    repeats: bool = False


Step = tuple[int, int, int | None]
"""A dimension, one of its levels, and a level above it; None is the total."""
NO_STEP = exp.cast(exp.null(), "INT")
"""What stands in a row for the steps that it says nothing of."""

several = names.namer("several")
"""Name of the column that says whether an entity has several categories at a step."""
largest = names.namer("largest")
"""Name of the column with the largest contribution of a cell (1), or the second largest (2)."""


def code(position: int, level: int) -> str:
    """Return the name of the column that numbers the categories of a dimension at a level."""
    return f"code_{position}_{level}"


def cells_query(counted: CountedSource, sets: Sequence[Levels], *, by_sets: bool) -> exp.Query:
    """Return a row for each cell with a contributor: its codes, contributors, records, and of sums the amount and the
    two largest contributions.

    Args:
        sets: the grouping sets; a code that is not grouped by is NULL.
        by_sets: the engine groups by several sets in one reading of the rows.
    """
    shown = [code(p, level) for p, levels in enumerate(counted.levels) for level in levels]
    parts = [cte(CODES, codes(counted), materialized=not by_sets)]
    is_entity = counted.source.entity is not None
    count, held = bigint(count_rows()), total(column(HELD))
    if counted.measured is None and not counted.keyed:
        contributors = bigint(count_distinct(column(WHO))) if is_entity else held.copy()
        figures = [named(contributors, "contributors"), named(held, "records")]
        return with_ctes(_by_sets(CODES, sets, shown, figures, by_sets=by_sets), parts)
    if counted.keyed:
        own = equal(column(WHO, CODES), column("value", names.KEYED))
        rows = exp.select(*[column(name, CODES) for name in (*shown, WHO)], *map(column, HALVES)).from_(table(CODES))
        parts.append(cte(KEYS, rows.join(table(names.KEYED), on=own), materialized=not by_sets))
        people = _by_sets(KEYS, sets, shown, [], by_sets=by_sets, beside=(WHO, *HALVES))
        halves = [named(total(column(name)), name) for name in HALVES]
        query = exp.select(*map(column, shown), named(count, "contributors"), *halves).from_(table(CONTRIBUTIONS))
        return with_ctes(query.group_by(*map(column, shown)), [*parts, cte(CONTRIBUTIONS, people)])
    sums = [named(exp.Sum(this=column(AMOUNT)), AMOUNT), named(held, HELD)]
    parts.append(cte(CONTRIBUTIONS, _by_sets(CODES, sets, shown, sums, by_sets=by_sets, beside=(WHO,))))
    is_one = number(1) if is_entity else when(equal(column(HELD), number(1)), number(1), number(0))
    place = _place(shown, exp.Ordered(this=is_one, desc=True), FALLING)
    ranked = exp.select(*map(column, shown), column(HELD), column(AMOUNT), named(is_one.copy(), "is_one"), place)
    parts.append(cte(RANKED, ranked.from_(table(CONTRIBUTIONS))))
    query = exp.select(
        *map(column, shown),
        named(count if is_entity else held.copy(), "contributors"),
        named(held.copy(), "records"),
        named(exp.cast(exp.Sum(this=column(AMOUNT)), "DOUBLE"), AMOUNT),
    )
    for top in range(1, TOP + 1):
        is_it = exp.and_(equal(column(names.PLACE), number(top)), equal(column("is_one"), number(1)))
        query = query.select(named(exp.cast(exp.Max(this=when(is_it, column(AMOUNT))), "DOUBLE"), largest(top)))
    return with_ctes(query.from_(table(RANKED)).group_by(*map(column, shown)), parts)


def _place(keys: Sequence[str], *order: exp.Expr) -> exp.Expr:
    """Return the place of a row among those of the same keys."""
    order_by = exp.Order(expressions=[each.copy() for each in order])
    window = exp.Window(this=exp.RowNumber(), partition_by=[*map(column, keys)], order=order_by)
    return named(window, names.PLACE)


def keys_query(relation: exp.Expr, entity: EntityColumn) -> exp.Select:
    """Return the entities: ``value``, as ``codes`` compares them, and the halves of their keys, of 64 bits."""
    people = persons_by_key(relation, entity, PURPOSE, as_compared=True)
    halves = []
    for name, start in zip(HALVES, (1, 9), strict=True):
        digits = exp.Substring(this=column("pseudonym"), start=number(start), length=number(8))
        padded = exp.DPipe(this=exp.Literal.string("0" * 7), expression=digits)
        halves.append(named(exp.Anonymous(this=HEX_NUMBER, expressions=[padded]), name))
    return exp.select(column("value"), *halves).from_(people.subquery("people"))


def codes(counted: CountedSource) -> exp.Select:
    """Return the records by the numbers of their categories, grouped before they meet the lookups."""
    source, entity = counted.source, counted.source.entity
    items = [item if _is_plain(item.type) else replace(item, type="VARCHAR") for item in source.items]
    base = _base(counted)
    held = [column(HELD, SOURCE)]
    held += [column(AMOUNT, SOURCE)] if counted.measured is not None else []
    held += [column(WHO, SOURCE)] if entity is not None or counted.measured is not None else []
    based = EncodedSource(base.subquery("base"), tuple(items), replace(source.taking_part, basic=False))
    wanted = [
        named(column(names.text_number(level), names.lookup(p)), code(p, level))
        for p, levels in enumerate(counted.levels)
        for level in levels
    ]
    return based.joined([*wanted, *held])


def differing_query(counted: CountedSource) -> exp.Select:
    """Return one row: how many of the first ``SAMPLE`` records differ in their entity or a category."""
    source, entity = counted.source, counted.source.entity
    assert entity is not None
    first = exp.select(*_categories(counted), named(entity.compared(), WHO)).from_(source.relation.copy()).limit(SAMPLE)
    keys = [column(name) for name in (*[item.name for item in source.items], WHO)]
    differing = exp.select(*keys).distinct().from_(first.subquery("records"))
    return exp.select(named(bigint(count_rows()), "differing")).from_(differing.subquery("differing"))


def _categories(counted: CountedSource) -> list[exp.Expr]:
    """Return the raw categories of a record, each as it is compared."""
    return [
        named(column(item.name) if _is_plain(item.type) else canonical(item.name, item.type), item.name)
        for item in counted.source.items
    ]


def _is_plain(kind: str) -> bool:
    return kind.upper() in GROUPED_AS_THEY_ARE


def _base(counted: CountedSource) -> exp.Select:
    """Return the records by their raw categories and contributor, with how many they are and what they sum up to."""
    source, entity = counted.source, counted.source.entity
    keys = [item.name for item in source.items]
    records = exp.select(*_categories(counted)).from_(source.relation.copy()).where(source.taking_part.condition())
    held, amount = named(bigint(count_rows()), HELD), named(exp.Sum(this=column(AMOUNT)), AMOUNT)
    if counted.measured is not None:
        records = records.select(named(_summable(*counted.measured), AMOUNT))
    if entity is not None:
        records = records.select(named(entity.compared(), WHO))
        keys.append(WHO)
    if entity is not None and counted.measured is None and not counted.repeats:
        return records.select(named(number(1), HELD))
    rows = records.subquery("records")
    if counted.measured is None or entity is not None:
        sums = [held] if counted.measured is None else [held, amount]
        return exp.select(*map(column, keys), *sums).from_(rows).group_by(*map(column, keys))
    # the largest records of the finest cells are kept apart: those of a parent are among those of its children
    ranked = exp.select(*map(column, keys), column(AMOUNT), _place(keys, FALLING)).from_(rows)
    rest = when(exp.LTE(this=column(names.PLACE), expression=number(TOP)), column(names.PLACE), number(TOP + 1))
    summed = exp.select(*map(column, keys), held, amount).from_(ranked.subquery("placed"))
    columns = [*keys, HELD, AMOUNT]
    numbered = named(row_number(*map(column, columns)), WHO)
    placed = summed.group_by(*map(column, keys), rest).subquery("summed")
    return exp.select(*map(column, columns), numbered).from_(placed)


def _summable(name: str, kind: str) -> exp.Expr:
    """Return a measured value in a type whose sums are exact, where the source's is."""
    if _is_plain(kind):
        return exp.cast(column(name), "DECIMAL(38, 0)")
    return column(name) if kind.upper().startswith("DECIMAL") else exp.cast(column(name), "DOUBLE")


def _by_sets(
    relation: str,
    sets: Sequence[Levels],
    shown: Sequence[str],
    figures: Sequence[exp.Expr],
    *,
    by_sets: bool,
    beside: Iterable[str] = (),
) -> exp.Query:
    """Return figures of a relation for each of the grouping sets.

    Args:
        beside: columns that every set groups by, too.
    """
    keys = [[code(p, level) for p, level in enumerate(levels) if level is not None] for levels in sets]
    if by_sets:
        grouping = [exp.Tuple(expressions=[column(name) for name in (*own, *beside)]) for own in keys]
        query = exp.select(*[column(name) for name in (*shown, *beside)], *figures).from_(table(relation))
        query.set("group", exp.Group(expressions=[exp.GroupingSets(expressions=grouping)]))
        return query
    found: list[exp.Query] = []
    for own in keys:
        values = [column(n) if n in own else named(exp.cast(exp.null(), "BIGINT"), n) for n in shown]
        query = exp.select(*values, *map(column, beside), *[item.copy() for item in figures]).from_(table(relation))
        by = [column(name) for name in (*own, *beside)]
        if by:
            query = query.group_by(*by)
        found.append(query)
    return union_all(found)


def several_query(counted: CountedSource, steps: Sequence[Step]) -> exp.Query:
    """Return whether an entity has several categories at each step, a column each; of each level above, and of the
    total, one row, in which the steps to others are NULL."""
    found: list[exp.Query] = []
    for above in dict.fromkeys(_above(step) for step in steps):
        keys = [column(WHO), *([] if above is None else [column(code(*above))])]
        flags = []
        for place, step in enumerate(steps):
            lower = column(code(*step[:2]))
            differs = exp.LT(this=exp.Min(this=lower), expression=exp.Max(this=lower.copy()))
            flags.append(named(when(differs, number(1)) if _above(step) == above else NO_STEP.copy(), several(place)))
        groups = exp.select(*flags).from_(table(CODES)).group_by(*keys)
        most = [named(exp.Max(this=column(several(place))), several(place)) for place in range(len(steps))]
        found.append(exp.select(*most).from_(groups.subquery("groups")))
    return with_ctes(union_all(found), [cte(CODES, codes(counted), materialized=True)])


def _above(step: Step) -> tuple[int, int] | None:
    """Return the dimension and the level above of a step; None is the total, of whatever dimension."""
    position, _, coarser = step
    return None if coarser is None else (position, coarser)


def categories_query(position: int, levels: Sequence[int]) -> exp.Select:
    """Return the categories of a dimension that occur: the number and the text of each level, the finest first."""
    wanted = [column(of(level)) for level in levels for of in (names.text_number, names.level)]
    rows = exp.select(*wanted).distinct().from_(table(names.LOOKUP))
    occurs = exp.GT(this=column(names.COUNT), expression=number(0))
    return rows.where(equal(column("attribute"), number(position)), occurs)


def measure_query(counted: CountedSource) -> exp.Select:
    """Return one row: how many values of the measured column are below 0, how many lack, how many are not finite."""
    assert counted.measured is not None
    source, (name, _) = counted.source, counted.measured
    negative = count_if(exp.LT(this=column(name), expression=number(0)))
    endless = count_if(exp.GT(this=exp.cast(column(name), "DOUBLE"), expression=exp.Literal.number("1.7e308")))
    counts = {"negative": negative, "missing": count_if(is_null(column(name))), "endless": endless}
    query = exp.select(*[named(or_zero(count), alias) for alias, count in counts.items()])
    return query.from_(source.relation.copy()).where(source.taking_part.condition())


def left_out_query(counted: CountedSource) -> exp.Select:
    """Return one row: all records, and those that take part."""
    taking_part = counted.source.taking_part
    taken = named(count_if(taking_part.condition()), "taken")
    return exp.select(named(bigint(count_rows()), "records"), taken).from_(counted.source.relation.copy())
