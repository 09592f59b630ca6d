"""Persons with several records in a table in which no column says whose they are: a panel without an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.assess.profiling.dependencies import LOOKED_AT
from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile
from sqlanon.assess.profiling.topics import says_birth
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.expressions import number_in_text
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.words import kinds_of, parts_of
from sqlanon.core.sqltrees.trees import (
    bigint,
    column,
    count_distinct,
    count_rows,
    named,
    number,
    or_zero,
    own_text,
    total,
    when,
)

PERIODS = ("wave", "welle", "round", "period", "visit", "year", "jahr", "annee", "month", "quarter", "week", "session")
"""Words of the column by which the records of a person differ."""
MOST_PERIODS = 60
CONSTANT = ("sex", "race", "education", "religion")
"""Topics that stay the same from record to record of a person, nearly always."""
FEWEST_OTHERS = 0.5
"""Records of the same person in other periods, on average, beyond what chance explains, at least."""
BEYOND_CHANCE = 0.1
"""The same as a share of what chance explains."""
ORDERED, MOST_COLUMNS = ("duckdb", "sqlite"), 40
"""Dialects of engines that read a table in the order in which its rows were written; and columns that are looked at."""
SAME_AS_BEFORE, RUNS = 0.5, 3
"""How often, beyond chance, a record agrees with the one before it in what stays the same of a person, at least, where
persons have several: twice in four with two records each. And how many persons are of the same kind, at least: fewer
are sorted by what they are."""


def panel_warning(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str | None:
    """Return that persons seem to have several records, if no column names them; None otherwise."""
    named_so = [c for c in columns if (c.role in DROPPED and c.names_persons > 0) or "identifier" in kinds_of(c.name)]
    if any(c.filled and 0 < c.distinct * 1.1 <= c.filled and c.distinct > 10 for c in named_so):
        return None
    return _over_periods(engine, relation, types, columns) or _by_order(engine, relation, types, columns)


def _over_periods(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str | None:
    """Return the warning where the records of a person differ by their period.

    Records of one period that agree in what stays the same of a person are of different persons. If records of
    different periods agree more often than these, the rest are of the same persons. An age stays the same too, less
    the year.
    """
    periods = [c for c in columns if _is_period(c)]
    if not periods:
        return None
    period = min(periods, key=lambda item: (item.looks_like != "year", item.distinct))
    alike = {c.name: own_text(c.name, types[c.name]) for c in columns if _is_constant(c) and c.name != period.name}
    ages = [c for c in columns if c.looks_like == "age" and period.looks_like == "year"]
    if ages:
        text = [own_text(c.name, types[c.name]) for c in (period, ages[0])]
        alike[ages[0].name] = exp.Sub(this=number_in_text(text[0]), expression=number_in_text(text[1]))
    if len(alike) < 2:
        return None
    at = own_text(period.name, types[period.name])
    within, across = _pairs(engine, relation, [*alike.values()], at)
    of_period, all_pairs = _pairs(engine, relation, [], at)
    if not of_period:
        return None
    chance = within * (all_pairs - of_period) / of_period
    beyond = across - within - chance
    if beyond < max(FEWEST_OTHERS * period.records, BEYOND_CHANCE * chance):
        return None
    return _warning(
        1 + beyond / period.records,
        f"records with another {period.name!r} agree in {', '.join(map(repr, alike))} more often than those with the "
        "same one",
    )


def _by_order(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str | None:
    """Return the warning where records agree with the one before far more often than chance explains, though the table
    is sorted by no column: persons stand one after the other."""
    constant = [item for item in columns if _is_constant(item)]
    varying = [item for item in columns if is_scalar(item.type) and item.distinct > 2 and item not in constant]
    if engine.capabilities.dialect not in ORDERED or len(constant) < 2:
        return None
    looked_at = [*constant, *varying[:MOST_COLUMNS]]
    part = exp.select("*").from_(relation.copy()).limit(LOOKED_AT).subquery("part")
    keys = [named(own_text(item.name, types[item.name]), f"key_{place}") for place, item in enumerate(looked_at)]
    rows = exp.select(*keys, named(exp.Window(this=exp.RowNumber()), "place")).from_(part.copy())
    in_order = exp.Order(expressions=[exp.Ordered(this=column("place"))])
    own = [column(f"key_{place}") for place in range(len(looked_at))]
    previous = [named(exp.Window(this=exp.Lag(this=key.copy()), order=in_order.copy()), f"before_{place}")
               for place, key in enumerate(own)]  # fmt: skip
    steps = exp.select(*own, *previous).from_(rows.subquery("numbered")).subquery("steps")
    changes = [exp.NullSafeNEQ(this=key.copy(), expression=column(f"before_{place}")) for place, key in enumerate(own)]
    counts = [total(when(change.copy(), number(1), number(0))) for change in changes]
    values = [count_distinct(key.copy()) for key in own]
    differs = total(when(exp.or_(*[change.copy() for change in changes[: len(constant)]]), number(1), number(0)))
    [(records, other, *each)] = engine.run(
        "records beside each other", exp.select(count_rows(), differs, *counts, *values).from_(steps)
    )
    runs = zip(each[: len(counts)], each[len(counts) :], strict=True)
    if records < 2 or any(change <= distinct + 1 for change, distinct in runs):  # NULL is one more
        return None  # it is sorted by this one
    alike = [own_text(item.name, types[item.name]) for item in constant]
    _, agreeing = _pairs(engine, part, alike, alike[0])
    chance = agreeing / (records * (records - 1))
    beyond = 1 - other / records / (1 - chance) if chance < 1 else 0.0
    kinds = exp.select(number(1)).from_(part.copy()).group_by(*[value.copy() for value in alike]).subquery("kinds")
    [(different,)] = engine.run("kinds of persons", exp.select(count_rows()).from_(kinds))
    if beyond < SAME_AS_BEFORE or other < RUNS * different:
        return None
    said = ", ".join(repr(item.name) for item in constant)
    return _warning(1 / (1 - beyond), f"most agree with the one before in {said}, and no column sorts them")


def _warning(each: float, because: str) -> str:
    return (
        f"Persons seem to have about {each:.1f} records each, and no column says whose: {because}. Add the number of "
        "the person and name it (entity): otherwise k counts records, and not persons."
    )


def _is_period(found: ColumnProfile) -> bool:
    called = found.looks_like == "year" or not {*PERIODS}.isdisjoint(parts_of(found.name))
    return (
        called and 1 < found.distinct <= MOST_PERIODS and not found.nulls and "birth_date" not in kinds_of(found.name)
    )


def _is_constant(found: ColumnProfile) -> bool:
    return found.distinct > 1 and (found.topic in CONSTANT or says_birth(found))


def _pairs(engine: Engine, relation: exp.Expr, alike: Sequence[exp.Expr], at: exp.Expr) -> tuple[int, int]:
    """Return the ordered pairs of records that agree in some values, those of the same period first, then all."""
    keys = [named(value.copy(), f"key_{place}") for place, value in enumerate(alike)]
    texts = exp.select(*keys, named(at.copy(), "period")).from_(relation.copy()).subquery("texts")
    own = [column(f"key_{place}") for place in range(len(alike))]
    counted = exp.select(*own, named(count_rows(), "n")).from_(texts).group_by(*own, column("period"))
    square = exp.Mul(this=column("n"), expression=exp.paren(exp.Sub(this=column("n"), expression=number(1))))
    summed = exp.select(named(total(square), "same"), named(total(column("n")), "n")).from_(counted.subquery("counted"))
    summed = summed.group_by(*[key.copy() for key in own]) if own else summed
    query = exp.select(bigint(or_zero(exp.Sum(this=column("same")))), bigint(or_zero(exp.Sum(this=square.copy()))))
    [(same, every)] = engine.run("records of a person", query.from_(summed.subquery("summed")))
    return int(same), int(every)
