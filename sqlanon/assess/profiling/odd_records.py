"""Records of a table that are no persons of their own: exact copies of others, and rows that sum others up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from sqlanon.assess.profiling.facts import ColumnProfile
from sqlanon.assess.profiling.shapes import SHAPES
from sqlanon.core.engines.base import Engine
from sqlanon.core.source.beside import compared
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    among,
    bigint,
    canonical,
    column,
    count_rows,
    equal,
    named,
    not_null,
    number,
    or_zero,
    sum_if,
    table,
    total,
    when,
)

TOTAL = (
    r"^ *((grand|in|sub|sous)[ -]?total|totals?|totales?|totaal|totalt|(sub|zwischen|end|gesamt)?(total|summen?|sums?)"
    r"|(ins)?gesamt|sommes?|somma|suma|soma|razem|toplam|yhteensä|összesen|всего|итого) *:? *([0-9]{4})? *:?$"
)
"""Of a text in lower case: a word for a total, of a year perhaps."""
AGREES = 1e-6
"""By which share a total may differ from the sum: numbers are rounded."""
SURPRISING = 0.1
"""Copies beyond the different records, as a share of all, up to which they are said, and if all records are copies:
in a table of few values, where more agree, they are different persons. And the share of them that chance explains, up
to which they are said however many they are."""
MOST_TELLING = 3
"""Columns by whose values, those that tell most records apart, it is judged what chance explains."""
FEW = 0.02
"""Records with a word for a total that are no sums, as a share of all: beyond it the word is a category."""


def odd_record_notes(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], values: str, columns: Sequence[ColumnProfile]
) -> tuple[str, ...]:
    """Return what the user should know of copies and of sums, as sentences with counts of records.

    Args:
        types: of the columns that can be compared.
        values: the table of the distinct values of these columns, in their order: attribute, value, n.
        columns: those of the table, described.
    """
    records = max((item.records for item in columns), default=0)
    if records < 2 or not types:
        return ()
    notes = list(_copies(engine, relation, types, columns, records))
    places = {place: name for place, name in enumerate(types) if name in _reading(columns, "text")}
    numbers = [name for name in _reading(columns, "whole", "number") if name in types]
    if places and numbers:
        is_total = exp.RegexpLike(this=exp.Lower(this=column("value")), expression=exp.Literal.string(TOTAL))
        query = exp.select(exp.Distinct(expressions=[column("attribute")])).from_(table(values))
        found = engine.run("words for totals", query.where(among(list(places)), not_null(column("value")), is_total))
        named_so = [places[int(place)] for (place,) in found]
        if named_so:
            notes += _sums(engine, relation, types, sorted(named_so), numbers, records)
    return tuple(notes)


def _reading(columns: Sequence[ColumnProfile], *kinds: str) -> list[str]:
    return [item.name for item in columns if item.reads_as in kinds and item.filled]


def _copies(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile], records: int
) -> Iterator[str]:
    """Say how many records agree with another one in all columns, where chance does not explain it."""
    others = len(columns) - len(types)
    values = [compared(name, kind) for name, kind in types.items()]
    alike = exp.select(named(count_rows(), names.COUNT)).from_(relation.copy()).group_by(*values)
    many = exp.GT(this=column(names.COUNT), expression=number(1))
    counted = exp.select(count_rows(), total(column(names.COUNT))).from_(alike.subquery("alike")).where(many)
    different, held = map(int, engine.run("copies of records", counted)[0])
    alike_by_chance = math.prod(sorted(1 - (item.separation or 0.0) for item in columns)[:MOST_TELLING])
    explained = alike_by_chance * records * (records - 1) / 2
    few = held - different <= SURPRISING * records or explained <= SURPRISING * (held - different)
    if held - different > 0 and (few or held == records):
        which = f"all {len(types)} columns" + (f" that can be compared ({others} cannot)" if others else "")
        yield (
            f"{held} records are exact copies of each other in {which}: {held - different} more than there are "
            "different ones. If they are entries made twice, one person counts as several in every class: leave the "
            "copies out before the run, or name the entity. In a table of few columns different persons may agree."
        )


def _sums(
    engine: Engine,
    relation: exp.Expr,
    types: Mapping[str, str],
    named_so: Sequence[str],
    numbers: Sequence[str],
    records: int,
) -> Iterator[str]:
    """Say how many records have a word for a total, and hold the sum of the others in a column of numbers."""
    words = [
        exp.RegexpLike(this=exp.Lower(this=canonical(name, types[name])), expression=exp.Literal.string(TOTAL))
        for name in named_so
    ]
    cells = [_as_number(name, types[name]) for name in numbers]
    is_total = when(exp.or_(*words), number(1), number(0))
    marked = exp.select(
        named(is_total, "is_total"), *(named(cell, f"x_{place}") for place, cell in enumerate(cells))
    ).from_(relation.copy())  # fmt: skip
    others = equal(column("is_total"), number(0))
    sums = exp.select(
        *(named(exp.Sum(this=when(others.copy(), column(f"x_{i}"))), f"s_{i}") for i in range(len(cells)))
    ).from_(marked.copy().subquery("others"))  # fmt: skip
    fits = exp.or_(*(_agree(column(f"x_{i}"), column(f"s_{i}")) for i in range(len(cells))))
    query = (
        exp.select(bigint(or_zero(count_rows())), sum_if(fits, number(1)))
        .from_(marked.subquery("marked"))
        .join(sums.subquery("sums"), join_type="cross")
        .where(equal(column("is_total"), number(1)))
    )
    found, summing = map(int, engine.run("sums of records", query)[0])
    where = f"{found} records have a word for a total in {', '.join(map(repr, named_so))}"
    if summing:
        yield (
            f"{where}; {summing} of them hold the sum of the other records in a column of numbers: they are sums and "
            "no persons. Leave them out before the run."
        )
    elif 0 < found <= FEW * records:
        yield (
            f"{where}, and none holds the sum of the others. If they are sums of a part, leave them out before the run."
        )


def _as_number(name: str, kind: str) -> exp.Expr:
    """Return the number of a cell; NULL where it holds none."""
    text = canonical(name, kind)
    matches = exp.RegexpLike(this=text, expression=exp.Literal.string(SHAPES["number"]))
    return when(matches, exp.cast(exp.Trim(this=text.copy()), "DOUBLE"))


def _agree(value: exp.Expr, summed: exp.Expr) -> exp.Expr:
    """Return whether a number is a sum, but for rounding; 0 is no sum of anything."""
    apart = exp.Abs(this=exp.paren(exp.Sub(this=value, expression=summed.copy())))
    share = exp.Mul(this=exp.Abs(this=summed.copy()), expression=exp.Literal.number(f"{AGREES:.6f}"))
    return exp.and_(exp.NEQ(this=summed, expression=number(0)), exp.LTE(this=apart, expression=share))
