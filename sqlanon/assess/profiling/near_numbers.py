"""Numbers that say the same as others, but for some records or their unit, or bound them: counted in the database."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from sqlglot import exp

from sqlanon.assess.profiling.dependencies import FEW_NUMBERS, MOST_NUMBERS, VALUE, Dependency
from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile, NearNumbers
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees.trees import canonical, count_if, or_zero, when

EQUAL, FEWEST_VALUES = 0.6, 4
"""The share of the records, beyond those that hold the most frequent value, in which two numbers are equal, at least;
and values of each."""
FAR, LARGEST = 1e6, 1e100
"""How many ranges a number lies from the median, at most, that is looked at; and bounds of the ranges that are."""
TOLD, NOT_ALONE = 2e-3, 0.99
"""What two numbers leave unexplained of the variance of one that they tell, and how alike any two of these are, at
most."""
BOUND = 0.005
"""The share of the records in which a number may be more than one that bounds it."""
LINEAR = 1e-4
"""What a straight line leaves unexplained of the variance of a number that it gives, at most."""


def find_near_numbers(
    engine: Engine, relation: exp.Expr, types: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> tuple[dict[str, NearNumbers], list[Dependency]]:
    """Return of numbers those that are equal in most records, and those that are hardly ever less, or hardly ever more,
    as the time of a visit and that of the end are; and those of many values of which each is a linear function of the
    other, as pounds are of kilograms."""
    numbers = [
        item
        for item in columns
        if item.reads_as in ("whole", "number") and not item.misfits and item.role not in DROPPED
        and item.spread is not None and item.distinct >= FEWEST_VALUES
        and max(abs(item.spread.low), abs(item.spread.high)) <= LARGEST
    ][:MOST_NUMBERS]  # fmt: skip
    pairs = list(combinations(numbers, 2))
    if not pairs:
        return {}, []
    values = {item.name: _scaled(item, types[item.name]) for item in numbers}
    held = {item.name: exp.cast(canonical(item.name, types[item.name]), "DOUBLE") for item in numbers}
    sums = [[value.copy(), exp.Mul(this=value.copy(), expression=value.copy())] for value in values.values()]
    sums += [[exp.Mul(this=values[one.name].copy(), expression=values[other.name].copy())] for one, other in pairs]
    equal = [count_if(exp.EQ(this=held[one.name].copy(), expression=held[other.name].copy())) for one, other in pairs]
    above = [
        count_if(exp.GT(this=held[a.name].copy(), expression=held[b.name].copy()))
        for pair in pairs
        for a, b in (pair, pair[::-1])
    ]
    asked = [*above, *equal, *(or_zero(exp.Sum(this=term)) for terms in sums for term in terms)]
    [row] = engine.run("near numbers", exp.select(*asked).from_(relation.copy()))
    more, counts, moments = row[: len(above)], row[len(above) :][: len(pairs)], [*map(float, row[3 * len(pairs) :])]
    each = {item.name: (moments[2 * place], moments[2 * place + 1]) for place, item in enumerate(numbers)}
    equals: dict[str, str] = {}
    linear: list[Dependency] = []
    bounds: dict[str, tuple[str, ...]] = {}
    for place, pair in enumerate(pairs):
        for (low, high), breaks in zip((pair, pair[::-1]), more[2 * place :], strict=False):
            if int(breaks) <= BOUND * min(low.filled, high.filled) and _meet(low, high):
                bounds |= {a.name: (*bounds.get(a.name, ()), b.name) for a, b in (pair, pair[::-1])}
    alike: dict[frozenset[str], float] = {}
    for (one, other), same, product in zip(pairs, counts, moments[2 * len(numbers) :], strict=True):
        base = max(one.most, other.most)
        if int(same) - base >= EQUAL * (one.records - base) > 0:
            equals.setdefault(other.name, one.name)
        if one.nulls or other.nulls:
            continue
        r = alike[frozenset((one.name, other.name))] = _correlation(
            each[one.name], each[other.name], product, one.records
        )
        if min(one.distinct, other.distinct) > FEW_NUMBERS and 1 - r * r <= LINEAR:
            linear += [Dependency(one.name, other.name, VALUE, 0), Dependency(other.name, one.name, VALUE, 0)]
    told = _told_by_two([item.name for item in numbers if item.distinct > FEW_NUMBERS], alike)
    names = {*equals, *bounds, *told}
    return {name: NearNumbers(equals.get(name), bounds.get(name, ()), told.get(name)) for name in names}, linear


def _told_by_two(names: Sequence[str], alike: Mapping[frozenset[str], float]) -> dict[str, tuple[str, str]]:
    """Return the numbers that two others tell together, and neither alone: the age at a visit, that at the first visit
    and the time between. Of several such pairs it is the best one.

    Args:
        names: of numbers that have many values.
        alike: the correlation of each two numbers.
    """
    told: dict[str, tuple[str, str]] = {}
    best = dict.fromkeys(names, 1 - TOLD)
    for a, b in map(sorted, alike):
        between = alike[frozenset((a, b))]
        for name in names:
            of = [alike.get(frozenset((name, other)), 1.0) for other in (a, b)] if name not in (a, b) else [1.0]
            if max(map(abs, (*of, between))) < NOT_ALONE:
                x, y = of
                explained = (x * x + y * y - 2 * x * y * between) / (1 - between * between)
                if explained >= best[name]:
                    best[name], told[name] = explained, (a, b)
    return told


def _meet(low: ColumnProfile, high: ColumnProfile) -> bool:
    """Return whether a large one of some numbers says something of others that are never less."""
    assert low.spread is not None and high.spread is not None
    return float(low.spread.high) > float(high.spread.q50)


def _scaled(item: ColumnProfile, type_name: str) -> exp.Expr:
    """Return the numbers of a column less their median, by their range, so that sums of squares keep their digits; NULL
    for those that lie ``FAR`` beyond, whose squares no engine could add."""
    assert item.spread is not None
    middle, width = float(item.spread.q50), float(item.spread.high - item.spread.low) or 1.0
    low, high, middle_of, by = (
        exp.Literal.number(repr(bound)) for bound in (middle - FAR * width, middle + FAR * width, middle, width)
    )
    value = exp.cast(canonical(item.name, type_name), "DOUBLE")
    scaled = exp.Div(this=exp.paren(exp.Sub(this=value.copy(), expression=middle_of)), expression=by)
    near = exp.and_(exp.GTE(this=value.copy(), expression=low), exp.LTE(this=value.copy(), expression=high))
    return when(near, exp.paren(scaled))


def _correlation(one: tuple[float, float], other: tuple[float, float], product: float, records: int) -> float:
    """Return the correlation of two numbers, by their sums, those of their squares, and of their products."""
    a, b = (squares / records - (total / records) ** 2 for total, squares in (one, other))
    both = product / records - one[0] * other[0] / records**2
    return both / math.sqrt(a * b) if a > 0 and b > 0 else 0.0
