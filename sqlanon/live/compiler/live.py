"""The SELECT of a live view: level vector and lookups are frozen, the sizes of the classes are counted on every read.

It fails closed. A record is published only when each of its quasi-identifiers has exactly one row in its lookup and its
class, as it stands at the moment of reading, meets every model. A model that fails a class suppresses all its records.

    WITH records AS (   -- the source JOINed with its lookups: class_<i>, the published cells, what the models look at
    ), ranked AS (      -- DENSE_RANK of a value (a person) within its class; left out when no model asks for it
    ), judged AS (      -- per record: n of its class, the population, the number of values
    )                   -- the last of them is materialized
    SELECT … FROM judged WHERE n >= k AND … ORDER BY GEN_RANDOM_UUID() OFFSET 0

Why it is right:

- A class is a partition by the *published* cells, so what is counted is what a reader could count: texts are compared
  by a collation in which only the same text is equal, floats are published as value + 0, and what is equal but may read
  differently is distinguished by its canonical text.
- A JOIN loses the records without a row in a lookup. A value with several rows would multiply its records, and so
  swell the class; it is taken for a value without a row.
- Nothing depends on the settings of the session that reads. Where the text of a value would, the lookup is met by the
  value (``FrozenColumn.by_value``); and the order is one that no reader can seed: beneath it lies that of the source.
- A filter of a reader's stays above. Were it pushed below the windows, the plan with its numbers of rows (EXPLAIN
  ANALYZE) would reveal the size of a class that is suppressed. The last step is materialized, and OFFSET 0 keeps the
  filter, and with it the planner's statistics of the source, out of the query altogether.
- What the models look at, and why, stands in ``live/compiler/live_models.py``.

Portable: no QUALIFY, no ENUM, no FILTER, no COUNT(DISTINCT …) OVER; keys that may be NULL meet by equalities, which
every engine can hash. It runs on DuckDB and PostgreSQL, and unshuffled on SQLite.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.compiler.release import typed
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    aliased,
    both,
    canonical,
    column,
    count_rows,
    cte,
    equal,
    is_null,
    named,
    not_null,
    number,
    or_zero,
    table,
    when,
    with_ctes,
)
from sqlanon.errors import UnsupportedError
from sqlanon.live.compiler.live_models import (
    ENTITY,
    FLAGS,
    FLOATS,
    LEAST,
    PLACED,
    FrozenColumn,
    LiveView,
    SensitiveColumn,
    class_of,
    counters,
    in_source,
    is_text,
    keeps_all,
    passes,
    ranks,
    refuse_models,
    rejecting,
    taking_part,
    value_of,
    watched,
    window,
)
from sqlanon.live.compiler.live_values import PLACE, counted_items, lookup_alias, value_cells, value_ranks, with_values
from sqlanon.live.compiler.value_models import value_counters, value_predicates

VALUE, TEXT, KEY = "value", "text", "key"
"""The columns of a lookup: the canonical text of the source, what the frozen level publishes for it, and, where the
source is compared by value, the value."""
_cell = names.namer("column")
"""Name of the column that holds the published cell at a position of ``LiveView.published``."""


def live_view(view: LiveView) -> exp.Query:
    """Return the SELECT of a live view.

    Raises:
        UnsupportedError: see ``refuse_models`` and ``member_flag``.
    """
    refuse_models(view.models)
    ctes = [cte("records", _records(view))]
    before = "records"
    passing = [column(name) for name in _columns(view)]
    counting = value_ranks(view)
    if ranked := [*ranks(view), *counting]:
        cells = [exp.Star()] if counting else passing
        ctes.append(cte("ranked", exp.select(*cells, *ranked).from_(table(before))))
        before = with_values(view, ctes, "ranked")
    last = not rejecting(view)
    counted = [*counters(view), *value_counters(view)]
    ctes.append(cte("judged", exp.select(*passing, *counted).from_(table(before)), materialized=last))
    before = "judged"
    if not last:
        least = named(window(exp.Min(this=column(names.COUNT)), []), LEAST)
        ctes.append(cte("compared", exp.select(exp.Star(), least).from_(table(before)), materialized=True))
        before = "compared"
    rows = exp.select(*[named(cell, name) for name, cell in _shown(view).items()])
    if view.with_entities:
        rows = rows.select(named(column(ENTITY), names.ENTITY), copy=False)
    wanted = both([passes(view), *value_predicates(view)])
    query = with_ctes(rows.from_(table(before)).where(wanted, copy=False), ctes)
    assert isinstance(query, exp.Select)
    return query.order_by(exp.Uuid(), copy=False).offset(0, copy=False) if view.shuffled else query


def takes_part(view: LiveView) -> exp.Select:
    """Return one row about the source: all records (of the subset), and those of them that take part (not excluded)."""
    included = [*_of_subset(view), *taking_part(view)]
    counts = []
    for name, conditions in (("records", _of_subset(view)), ("included", included)):
        case = when(both(conditions), number(1), number(0))
        counts.append(named(or_zero(exp.Sum(this=case)), name))
    return exp.select(*counts).from_(aliased(view.source, SOURCE))


def losing(view: LiveView) -> exp.Select:
    """Return one row about the persons with a record that takes part: all, and those who lose a record in the view."""
    rows = live_view(replace(view, shuffled=False, with_entities=True)).subquery("shown")
    shown = or_zero(column(names.COUNT, "shown"))
    loses = exp.LT(this=shown, expression=column(names.COUNT, "everything"))
    losing = or_zero(exp.Sum(this=when(loses, number(1), number(0))))
    return (
        exp.select(named(count_rows(), "entities"), named(losing, "losing"))
        .from_(_records_of_persons(view).subquery("everything"))
        .join(
            _per_person(rows, names.ENTITY).subquery("shown"),
            on=equal(column(ENTITY, "everything"), column(ENTITY, "shown")),
            join_type="left",
        )
    )


def persons(view: LiveView) -> exp.Select:
    """Return one row about the persons with a record that takes part: how many there are."""
    return exp.select(named(count_rows(), "entities")).from_(_records_of_persons(view).subquery("everything"))


def _records_of_persons(view: LiveView) -> exp.Select:
    """Return the persons with their numbers of records that take part."""
    assert view.entity is not None
    wanted = [not_null(in_source(view.entity)), *taking_part(view), *_of_subset(view)]
    return _per_person(aliased(view.source, SOURCE), view.entity).where(both(wanted), copy=False)


def _per_person(relation: exp.Expr, name: str) -> exp.Select:
    return (
        exp.select(named(column(name), ENTITY), named(count_rows(), names.COUNT)).from_(relation).group_by(column(name))
    )


def member_flag(name: str, type_name: str, relation: str | None = None) -> exp.Expr:
    """Return 1 for a record of the subset, 0 for another, NULL where the column is NULL.

    Raises:
        UnsupportedError: the column is neither BOOLEAN nor a whole number.
    """
    flag: exp.Expr = column(name, relation)
    if type_name.upper() != "BOOLEAN":
        if type_name.upper() not in FLAGS:
            kind = type_name.partition("(")[0]
            raise UnsupportedError(
                f"A live view cannot read the subset from column {name!r} of the type {kind}.",
                hint="use a BOOLEAN column, or 0 and 1.",
            )
        flag = exp.NEQ(this=flag, expression=number(0))
    return when(is_null(column(name, relation)), exp.null(), when(flag, number(1), number(0)))


def _columns(view: LiveView) -> list[str]:
    """Return the columns that pass from one step to the next, besides ranks and counters."""
    quasi = {item.name for item in view.quasi}
    cells = [_cell(position) for position, name in enumerate(view.published) if name not in quasi]
    flags = [names.MEMBER] if view.member is not None else []
    persons = [ENTITY] if view.with_entities else []
    placed = [PLACED] if keeps_all(view) else []
    return [*[class_of(position) for position in range(len(view.quasi))], *cells, *flags, *persons, *placed]


def _shown(view: LiveView) -> dict[str, exp.Expr]:
    """Return the published cells by column, in order; a class that is a text is read as the type of its column."""
    position_of = {item.name: position for position, item in enumerate(view.quasi)}
    shown: dict[str, exp.Expr] = {}
    for index, (name, type_name) in enumerate(view.published.items()):
        position = position_of.get(name)
        shown[name] = column(_cell(index) if position is None else class_of(position))
        if position is not None and is_text(view.quasi[position]) and type_name != "VARCHAR":
            shown[name] = typed(shown[name], type_name, generalized=True)
    return shown


def _zeroed(name: str, type_name: str) -> exp.Expr:
    """Return a value of the source; of a float, + 0, so that no sign distinguishes one zero from the other."""
    if type_name.upper() not in FLOATS:
        return in_source(name)
    return exp.cast(exp.Add(this=in_source(name), expression=number(0)), data_type(type_name))


def _of_subset(view: LiveView) -> list[exp.Expr]:
    """Return the condition that a record belongs to the subset, if there is one."""
    return [] if view.member is None else [equal(member_flag(view.member, view.member_type, SOURCE), number(1))]


def _signed(text: exp.Expr) -> exp.Expr:
    """Return a text with a sign before it, which NULL has too: so that an equality finds NULL, by a hash."""
    sign = exp.DPipe(this=exp.Literal.string("="), expression=text, safe=True)
    return exp.Coalesce(this=sign, expressions=[exp.Literal.string("-")])


def _plain(name: str, relation: str) -> exp.Expr:
    """Return the text behind the sign."""
    rest = exp.Substring(this=column(name, relation), start=number(2))
    return when(equal(column(name, relation), exp.Literal.string("-")), exp.null(), rest)


def _records(view: LiveView) -> exp.Select:
    """Return the records that take part and have a row in every lookup: class, published cells, what models look at."""
    cells: list[exp.Expr] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    for position, item in enumerate(view.quasi):
        if item.lookup is not None:
            alias = names.lookup(position)
            value: exp.Expr = _plain(TEXT, alias) if item.signed else column(TEXT, alias)
            joins.append((_single(item).subquery(alias), _meets(item, alias)))
        elif is_text(item):
            value = canonical(item.name, item.type, SOURCE)
        else:
            value = _zeroed(item.name, item.type)
        cells.append(named(value, class_of(position)))
    quasi = {item.name for item in view.quasi}
    for index, (name, type_name) in enumerate(view.published.items()):
        if name not in quasi:
            cells.append(named(typed(in_source(name), type_name, generalized=False), _cell(index)))
    conditions = taking_part(view)
    if view.member is not None:
        cells.append(named(member_flag(view.member, view.member_type, SOURCE), names.MEMBER))
        conditions.append(not_null(in_source(view.member)))
    for position, name in enumerate(watched(view)):
        kind = view.published.get(name, "")
        cells.append(named(typed(in_source(name), kind, generalized=False), value_of(position)))
    if view.entity is not None:
        cells.append(named(in_source(view.entity), ENTITY))
        conditions.append(not_null(in_source(view.entity)))
    cells += value_cells(view, _zeroed)
    for position, counted in enumerate(counted_items(view)):
        if counted.lookup is not None:
            alias = lookup_alias(position)
            joins.append((_single(counted).subquery(alias), _meets(counted, alias)))
    if keeps_all(view):
        present = [not_null(column(VALUE, relation.alias)) for relation, _ in joins]
        cells.append(named(when(both(present), number(1), number(0)), PLACED))
    query = exp.select(*cells).from_(aliased(view.source, SOURCE))
    for relation, condition in joins:
        query = query.join(relation, on=condition, join_type="left" if keeps_all(view) else "", copy=False)
    return query.where(both(conditions), copy=False) if conditions else query


def _meets(item: FrozenColumn | SensitiveColumn, alias: str) -> exp.Expr:
    """Return the condition that a record meets its row of a lookup: by its text, or by its value, NULL included."""
    if not item.by_value:
        return equal(_signed(canonical(item.name, item.type, SOURCE)), column(VALUE, alias))
    value = _never_null(_zeroed(item.name, item.type), item.type)
    return both([equal(value, column(KEY, alias)), equal(_null_flag(in_source(item.name)), column(VALUE, alias))])


def _never_null(value: exp.Expr, type_name: str) -> exp.Expr:
    """Return a value with another in place of NULL, which ``_null_flag`` distinguishes."""
    other = exp.Literal.string("0" if type_name.upper() in FLOATS else "1970-01-01")
    return exp.Coalesce(this=value, expressions=[exp.cast(other, data_type(type_name))])


def _null_flag(value: exp.Expr) -> exp.Expr:
    return when(is_null(value.copy()), number(1), number(0))


def _single(item: FrozenColumn | SensitiveColumn) -> exp.Select:
    """Return the values of a lookup, with their sign, and their texts; of a sensitive column its ancestors and place.

    A value with several rows is NULL, and equals nothing. Of one that is met by value: the value, and whether it is
    NULL. Not a HAVING: PostgreSQL would expect one row of it, and compare each record with each value.
    """
    assert item.lookup is not None
    signed = isinstance(item, FrozenColumn) and item.signed
    one = equal(count_rows(), number(1))
    texts = [named(exp.Min(this=column(name)), name) for name in _told(item)]
    if item.by_value:
        typed_value = exp.cast(_plain(VALUE, "listed"), data_type(item.type))
        key: exp.Expr = typed_value if signed else column(KEY, "listed")
        found = when(one, _never_null(key, item.type))
        rows = exp.select(named(found, KEY), named(_null_flag(key), VALUE), *texts)
        return rows.from_(aliased(item.lookup, "listed")).group_by(key.copy())
    value = column(VALUE) if signed else _signed(column(VALUE))
    found = when(one, value)
    rows = exp.select(named(found, VALUE), *texts).from_(aliased(item.lookup, "listed"))
    return rows.group_by(column(VALUE, "listed"))


def _told(item: FrozenColumn | SensitiveColumn) -> list[str]:
    """Return the columns of a lookup that describe a value."""
    if isinstance(item, FrozenColumn):
        return [TEXT]
    return [*map(names.level, range(1, item.levels)), *([PLACE] if item.placed else [])]
