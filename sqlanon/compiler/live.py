"""The SELECT of a live view: level vector and lookups are frozen, the sizes of the classes are counted on every read.

It fails closed. A record is published only when each of its quasi-identifiers has exactly one row in its lookup and its
class, as it stands at the moment of reading, meets every model. A model that fails a class suppresses all its records.

    WITH records AS (   -- the source JOINed with its lookups: class_<i>, the published cells, what the models look at
    ), ranked AS (      -- DENSE_RANK of a value (a person) within its class; left out when no model asks for it
    ), judged AS (      -- per record: n of its class, the population, the number of values
    )
    SELECT … FROM judged WHERE n >= k AND … ORDER BY RANDOM()

Why it is right:

- A class is a partition by the *published* cells, so what is counted is what a reader could count.
- A JOIN loses the records without a row in a lookup. A value with several rows would multiply its records, and so
  swell the class; it is taken for a value without a row.
- What the models look at, and why, stands in ``compiler/live_models.py``.

Portable: no QUALIFY, no ENUM, no FILTER, no COUNT(DISTINCT …) OVER; keys that may be NULL meet by an equality, which
every engine can hash. It runs on DuckDB, PostgreSQL and SQLite.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon import names
from sqlanon.compiler.encode import SOURCE
from sqlanon.compiler.live_models import (
    ENTITY,
    LEAST,
    FrozenColumn,
    LiveView,
    class_of,
    counters,
    given,
    over,
    passes,
    present,
    ranks,
    refuse_models,
    rejecting,
    value_of,
    watched,
)
from sqlanon.compiler.release import typed
from sqlanon.compiler.trees import aliased, both, canonical, column, cte, named, number, table, with_ctes
from sqlanon.errors import UnsupportedError

__all__ = [
    "TEXT",
    "VALUE",
    "FrozenColumn",
    "LiveView",
    "live_view",
    "losing",
    "member_flag",
    "refuse_models",
    "takes_part",
]

VALUE, TEXT = "value", "text"
"""The columns of a lookup: the canonical text of the source, and what the frozen level publishes for it."""
FLAGS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
"""Types, besides BOOLEAN, of a column that tells the records of the subset: 0 is another record."""


def live_view(view: LiveView) -> exp.Query:
    """The SELECT of a live view.

    Raises:
        UnsupportedError: see ``refuse_models`` and ``member_flag``.
    """
    refuse_models(view.models)
    ctes = [cte("records", _records(view))]
    before = "records"
    passing = [column(name) for name in _columns(view)]
    if ranked := ranks(view):
        ctes.append(cte("ranked", exp.select(*passing, *ranked).from_(table(before))))
        before = "ranked"
    ctes.append(cte("judged", exp.select(*passing, *counters(view)).from_(table(before))))
    before = "judged"
    if rejecting(view):
        least = named(over(exp.Min(this=column(names.COUNT)), []), LEAST)
        ctes.append(cte("compared", exp.select(exp.Star(), least).from_(table(before))))
        before = "compared"
    cells = {item.name: class_of(position) for position, item in enumerate(view.quasi)}
    rows = exp.select(*[named(column(cells.get(name, _cell(i))), name) for i, name in enumerate(view.published)])
    if view.told:
        rows = rows.select(named(column(ENTITY), names.ENTITY), copy=False)
    query = with_ctes(rows.from_(table(before)).where(passes(view), copy=False), ctes)
    assert isinstance(query, exp.Select)
    return query.order_by(exp.Rand(), copy=False) if view.shuffled else query


def takes_part(view: LiveView) -> exp.Select:
    """One row about the source: all records (of the subset), and those of them that take part (not excluded)."""
    wanted = [] if view.member is None else [exp.EQ(this=_flag(view), expression=number(1))]
    included = both([*wanted, *present(view)])
    counts = []
    for name, condition in (("records", both(wanted)), ("included", included)):
        case = exp.Case(ifs=[exp.If(this=condition.copy(), true=number(1))], default=number(0))
        counts.append(named(exp.Coalesce(this=exp.Sum(this=case), expressions=[number(0)]), name))
    return exp.select(*counts).from_(aliased(view.source, SOURCE))


def losing(view: LiveView) -> exp.Select:
    """One row about the persons with a record that takes part: all, and those who lose a record in the view."""
    assert view.entity is not None
    wanted = [given(view.entity), *present(view)]
    if view.member is not None:
        wanted.append(exp.EQ(this=_flag(view), expression=number(1)))
    rows = live_view(replace(view, shuffled=False, told=True)).subquery("shown")

    def per_person(relation: exp.Expr, name: str) -> exp.Select:
        counted = exp.select(named(column(name), ENTITY), named(exp.Count(this=exp.Star()), names.COUNT))
        return counted.from_(relation).group_by(column(name))

    all_records = per_person(aliased(view.source, SOURCE), view.entity).where(both(wanted), copy=False)
    shown = exp.Coalesce(this=column(names.COUNT, "shown"), expressions=[number(0)])
    loses = exp.LT(this=shown, expression=column(names.COUNT, "everything"))
    lost = exp.Sum(this=exp.Case(ifs=[exp.If(this=loses, true=number(1))], default=number(0)))
    return (
        exp.select(
            named(exp.Count(this=exp.Star()), "entities"),
            named(exp.Coalesce(this=lost, expressions=[number(0)]), "losing"),
        )
        .from_(all_records.subquery("everything"))
        .join(
            per_person(rows, names.ENTITY).subquery("shown"),
            on=exp.EQ(this=column(ENTITY, "everything"), expression=column(ENTITY, "shown")),
            join_type="left",
        )
    )


def member_flag(name: str, type_name: str, relation: str | None = None) -> exp.Expr:
    """1 for a record of the subset, 0 for another, NULL where the column does not say.

    Raises:
        UnsupportedError: the column is neither BOOLEAN nor a whole number.
    """
    flag: exp.Expr = column(name, relation)
    if type_name.upper() != "BOOLEAN":
        if type_name.upper() not in FLAGS:
            raise UnsupportedError(
                f"A live view cannot read the subset from column {name!r} of the type {type_name.split('(')[0]}.",
                hint="use a BOOLEAN column, or 0 and 1.",
            )
        flag = exp.NEQ(this=flag, expression=number(0))
    return exp.Case(
        ifs=[exp.If(this=exp.Is(this=column(name, relation), expression=exp.null()), true=exp.null())],
        default=exp.Case(ifs=[exp.If(this=flag, true=number(1))], default=number(0)),
    )


def _cell(position: int) -> str:
    return f"column_{position}"


def _columns(view: LiveView) -> list[str]:
    """What passes from one step to the next, besides ranks and counters."""
    quasi = {item.name for item in view.quasi}
    cells = [_cell(position) for position, name in enumerate(view.published) if name not in quasi]
    flags = [names.MEMBER] if view.member is not None else []
    persons = [ENTITY] if view.told else []
    return [*[class_of(position) for position in range(len(view.quasi))], *cells, *flags, *persons]


def _flag(view: LiveView, relation: str | None = SOURCE) -> exp.Expr:
    assert view.member is not None
    return member_flag(view.member, view.member_type, relation)


def _signed(text: exp.Expr) -> exp.Expr:
    """A text that is there for NULL too, so that an equality finds NULL, by a hash."""
    sign = exp.DPipe(this=exp.Literal.string("="), expression=text, safe=True)
    return exp.Coalesce(this=sign, expressions=[exp.Literal.string("-")])


def _plain(name: str, relation: str) -> exp.Expr:
    """What stands behind the sign."""
    is_null = exp.EQ(this=column(name, relation), expression=exp.Literal.string("-"))
    rest = exp.Substring(this=column(name, relation), start=number(2))
    return exp.Case(ifs=[exp.If(this=is_null, true=exp.null())], default=rest)


def _records(view: LiveView) -> exp.Select:
    """The records that take part and have a row in every lookup: class, published cells, what models look at."""
    cells: list[exp.Expr] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    position_of = {item.name: position for position, item in enumerate(view.quasi)}
    for position, item in enumerate(view.quasi):
        type_name = view.published.get(item.name, item.type)
        if item.lookup is None:
            value: exp.Expr = typed(column(item.name, SOURCE), type_name, generalized=False)
        else:
            alias = names.lookup(position)
            text = _plain(TEXT, alias) if item.signed else column(TEXT, alias)
            value = typed(text, type_name, generalized=True)
            key = _signed(canonical(item.name, item.type, SOURCE))
            joins.append((_single(item).subquery(alias), exp.EQ(this=key, expression=column(VALUE, alias))))
        cells.append(named(value, class_of(position)))
    for index, (name, type_name) in enumerate(view.published.items()):
        if name not in position_of:
            cells.append(named(typed(column(name, SOURCE), type_name, generalized=False), _cell(index)))
    conditions = present(view)
    if view.member is not None:
        cells.append(named(_flag(view), names.MEMBER))
        conditions.append(given(view.member))
    cells += [named(column(name, SOURCE), value_of(position)) for position, name in enumerate(watched(view))]
    if view.entity is not None:
        cells.append(named(column(view.entity, SOURCE), ENTITY))
        conditions.append(given(view.entity))
    query = exp.select(*cells).from_(aliased(view.source, SOURCE))
    for relation, condition in joins:
        query = query.join(relation, on=condition, copy=False)
    return query.where(both(conditions), copy=False) if conditions else query


def _single(item: FrozenColumn) -> exp.Select:
    """The values of a lookup, with their sign, and their texts; a value with several rows is NULL, and equals nothing.

    Not a HAVING: PostgreSQL would expect one row of it, and compare each record with each value.
    """
    assert item.lookup is not None
    one = exp.EQ(this=exp.Count(this=exp.Star()), expression=number(1))
    value = column(VALUE) if item.signed else _signed(column(VALUE))
    found = named(exp.Case(ifs=[exp.If(this=one, true=value)]), VALUE)
    rows = exp.select(found, named(exp.Min(this=column(TEXT)), TEXT)).from_(aliased(item.lookup, "listed"))
    return rows.group_by(column(VALUE, "listed"))
