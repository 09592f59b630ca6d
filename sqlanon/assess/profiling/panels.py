"""Persons with several records in a table in which no column says whose they are: a panel without an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from sqlglot import exp

from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile
from sqlanon.assess.profiling.topics import says_birth
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.expressions import number_in_text
from sqlanon.core.source.words import kinds_of, parts_of
from sqlanon.core.sqltrees.trees import bigint, column, count_if, count_rows, named, number, or_zero, own_text, total

PERIODS = ("wave", "welle", "round", "period", "visit", "year", "jahr", "annee", "month", "quarter", "week", "session")
"""Words of the column by which the records of a person differ."""
MOST_PERIODS = 60
CONSTANT = ("sex", "race", "education", "religion")
"""Topics that stay the same from record to record of a person, nearly always."""
FEWEST_OTHERS = 0.5
"""Records of the same person in other periods, on average, beyond what chance explains, at least."""
BEYOND_CHANCE = 0.1
"""The same as a share of what chance explains."""
FEWEST_VALUES, MOST_LOOKED_AT = 30, 5
"""Values of a number that is precise enough to tell persons apart beside another, at least; and such numbers."""
ALONE, EACH, FURTHER = 0.05, 2, 1.5
"""The share of the pairs of numbers that one record has, at most, where each person has several; how many have a pair
on average, at least; and by how much there are more pairs than values of either, so that neither gives the other."""


def panel_warning(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str | None:
    """Return that persons seem to have several records, if no column names them; None otherwise."""
    named_so = [c for c in columns if (c.role in DROPPED and c.names_persons > 0) or "identifier" in kinds_of(c.name)]
    if any(c.filled and 0 < c.distinct * 1.1 <= c.filled and c.distinct > 10 for c in named_so):
        return None
    return _over_periods(engine, relation, types, columns) or _by_numbers(engine, relation, types, columns)


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


def _by_numbers(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str | None:
    """Return the warning where hardly any record is alone with two numbers that do not follow from each other, though
    they could make more pairs than there are records."""
    precise = [c for c in columns if c.reads_as == "number" and c.distinct >= FEWEST_VALUES and not c.nulls]
    precise.sort(key=lambda item: (item.uniqueness > ALONE, -item.distinct))
    found: tuple[int, str] | None = None
    for one, other in combinations(precise[:MOST_LOOKED_AT], 2):
        if one.distinct * other.distinct < EACH * one.records:
            continue
        keys = [own_text(item.name, types[item.name]) for item in (one, other)]
        pairs = exp.select(named(count_rows(), "n")).from_(relation.copy()).group_by(*keys).subquery("pairs")
        alone = count_if(exp.EQ(this=column("n"), expression=number(1)))
        [(held, single)] = engine.run("pairs of numbers", exp.select(count_rows(), alone).from_(pairs))
        further = held >= FURTHER * max(one.distinct, other.distinct)
        if further and EACH * held <= one.records and single <= ALONE * held and (found is None or held > found[0]):
            found = held, f"hardly one is alone with its {one.name!r} and {other.name!r}, as if these repeat"
    return None if found is None else _warning(columns[0].records / found[0], found[1])


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
