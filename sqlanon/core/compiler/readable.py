"""The statements of a verification about the source: its original values, and what generalizing and suppressing costs.

With the statements of a search they share from ``encoded_source`` what defines the input: which records take part, the
texts of their values and entities, how they are joined with the lookups, and the names of the lookups' columns.
``readable_nodes`` judges nodes from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, SOURCE, EncodedSource, least_cost, leaves
from sqlanon.core.lattice.catalog import Attribute
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    column,
    count_if,
    equal,
    lookup_rows,
    named,
    number,
    table,
    union_all,
    when,
    wide_sum,
)


def original_value(position: int) -> str:
    """Return the column of ``names.ORIGINALS`` that holds the value of the column at a position."""
    return f"value_{position}"


def originals(source: EncodedSource) -> exp.Select:
    """Return the distinct combinations of original values among the records that take part, with their counters.

    A quasi-identifier is the number of its canonical text in the lookup (``id``): a number can be joined by, where of a
    text that may be NULL no database has statistics. A sensitive value is the code that its lookup gives it, an entity
    its text.
    """
    parts: list[exp.Expr] = []
    for position, item in enumerate(source.items):
        if item.sensitive:
            parts.append(source.code(position, item.fields[0][0]))
        else:
            parts.append(column("id", names.lookup(position)))
    members = source.taking_part.members
    counted = count_if(column(names.MEMBER, SOURCE)) if members else exp.Count(this=exp.Star())
    projections = [named(part, original_value(position)) for position, part in enumerate(parts)]
    if source.entity is not None:
        parts.append(source.entity.text(SOURCE))
        projections.append(named(parts[-1], names.ENTITY))
    keys = [projection.alias for projection in projections]
    everybody: exp.Expr = exp.Count(this=exp.Star()) if source.population is None else number(0)
    projections += [named(counted, names.COUNT), named(bigint(everybody), names.POPULATION)]
    query = source.encoded(projections).group_by(*[part.copy() for part in parts], copy=False)
    return query if source.population is None else _with_population(source, query, keys)


def _with_population(source: EncodedSource, originals: exp.Select, keys: Sequence[str]) -> exp.Select:
    """Return the original values of a sample with those of its population, which are counted beside them.

    A sensitive value of the population has the code 0: nothing is counted of it.
    """
    quasi = source.people
    ids: list[exp.Expr] = [column("id", names.lookup(position)) for position in range(len(quasi.items))]
    if quasi.entity is not None:
        ids.append(quasi.entity.text(SOURCE))
    places = [*keys[: len(quasi.items)], *([names.ENTITY] if quasi.entity is not None else [])]
    found = dict(zip(places, ids, strict=True))
    values = [named(found[name].copy() if name in found else bigint(number(0)), name) for name in keys]
    counts = [named(number(0), names.COUNT), named(exp.Count(this=exp.Star()), names.POPULATION)]
    people = quasi.encoded([*values, *counts]).group_by(*[part.copy() for part in ids], copy=False)
    summed = [named(bigint(exp.Sum(this=column(name))), name) for name in (names.COUNT, names.POPULATION)]
    query = exp.select(*map(column, keys), *summed).from_(union_all([originals, people]).subquery("counted"))
    return query.group_by(*map(column, keys), copy=False)


def level_costs(attributes: Sequence[Attribute]) -> exp.Query:
    """Return a row an attribute: its position, and per level the sum of D - leaves over the records that take part."""
    tallest = max(attribute.height for attribute in attributes)
    rows = []
    for position, attribute in enumerate(attributes):
        lookup = names.lookup(position)
        costs = [
            wide_sum(
                exp.Mul(
                    this=exp.cast(column(names.COUNT, "o"), "HUGEINT"),
                    expression=exp.paren(
                        exp.Sub(this=number(attribute.domain), expression=column(leaves(level), lookup))
                    ),
                )
            )
            for level in range(attribute.height)
        ]
        costs += [exp.cast(exp.null(), "HUGEINT") for _ in range(attribute.height, tallest)]
        joined = exp.select(number(position), *costs).from_(table(names.ORIGINALS, "o"))
        rows.append(with_texts(joined, position))
    return union_all(rows)


def level_widths(attributes: Sequence[Attribute], *, of_source: bool = False) -> exp.Query:
    """Return a row an attribute: its position, and per level the number of distinct texts, NULL being one.

    Args:
        of_source: without those of values that only a population beside the source has.
    """
    tallest = max(attribute.height for attribute in attributes)
    rows = []
    for position, attribute in enumerate(attributes):
        counts: list[exp.Expr] = []
        for level in range(attribute.height):
            text = column(names.level(level))
            is_null = exp.Max(this=when(exp.Is(this=text, expression=exp.null()), number(1)))
            nulls = exp.Coalesce(this=is_null, expressions=[number(0)])
            distinct = exp.Count(this=exp.Distinct(expressions=[text.copy()]))
            counts.append(exp.Add(this=distinct, expression=nulls))
        counts += [bigint(exp.null()) for _ in range(attribute.height, tallest)]
        covered = equal(column(COVERED), number(1))
        query = exp.select(number(position), *counts).from_(lookup_rows(position)).where(covered)
        if of_source:
            query = query.where(exp.Not(this=exp.Is(this=column(names.COUNT), expression=exp.null())))
        rows.append(query)
    return union_all(rows)


def surprisals(attributes: Sequence[Attribute]) -> exp.Query:
    """Return per attribute and level its position, the level and the sum of n ln n over the level's texts.

    The level -1 stands for the original values.
    """
    rows = []
    for position, attribute in enumerate(attributes):
        lookup = names.lookup(position)
        for level in range(-1, attribute.height):
            text = column(original_value(position), "o") if level < 0 else column(names.level(level), lookup)
            grouped = exp.select(named(exp.Sum(this=column(names.COUNT, "o")), names.COUNT))
            grouped = with_texts(grouped.from_(table(names.ORIGINALS, "o")), position).group_by(text)
            rows.append(
                exp.select(number(position), number(level), exp.Sum(this=n_ln_n(column(names.COUNT))))
                .from_(grouped.subquery("grouped"))
                .where(exp.GT(this=column(names.COUNT), expression=number(0)))
            )
    return union_all(rows)


def least_costs(attributes: Sequence[Attribute]) -> exp.Query:
    """Return what suppressing a text costs, by attribute, level and number of the text: D - leaves (``cost``).

    ``cost_<l>`` is the least D - leaves at level l among the values below, for levels up to that of the text (NULL
    above).
    """
    tallest = max(attribute.height for attribute in attributes)
    rows: list[exp.Query] = []
    for position, attribute in enumerate(attributes):
        costs = [
            exp.Sub(this=number(attribute.domain), expression=exp.Max(this=column(leaves(level))))
            for level in range(attribute.height)
        ]
        for level in range(attribute.height):
            text = column(names.text_number(level))
            least = [costs[lower].copy() if lower <= level else exp.null() for lower in range(tallest)]
            rows.append(
                exp.select(
                    named(number(position), "position"),
                    named(number(level), "level"),
                    named(text, "text"),
                    named(bigint(costs[level].copy()), "cost"),
                    *[named(bigint(cost), least_cost(lower)) for lower, cost in enumerate(least)],
                )
                .from_(lookup_rows(position))
                .where(equal(column(COVERED), number(1)))
                .group_by(text.copy())
            )
    return union_all(rows)


def with_texts(query: exp.Select, position: int) -> exp.Select:
    """Join original values (``o``) with their rows of a lookup, in place.

    Of the rows of all columns none has the number of another. A condition that the row is of this column would let a
    planner expect fewer rows than there are.
    """
    lookup = names.lookup(position)
    met = equal(column(original_value(position), "o"), column("id", lookup))
    return query.join(table(names.LOOKUP, lookup), on=met, copy=False)


def n_ln_n(count: exp.Expr) -> exp.Expr:
    """Return n ln n, 0 of 0."""
    product = exp.Mul(this=count, expression=exp.Ln(this=count.copy()))
    return when(exp.GT(this=count.copy(), expression=number(0)), product, number(0))
