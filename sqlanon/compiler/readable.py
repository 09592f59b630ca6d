"""The statements of a verification about the source: its original values, and what generalizing and suppressing costs.

With the statements of a search they share from ``encoded_source`` what defines the input: which records take part, the
texts of their values and entities, how they are joined with the lookups, and the names of the lookups' columns.
``readable_nodes`` judges nodes from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.encoded_source import COVERED, SOURCE, EncodedSource, least_cost, leaves
from sqlanon.lattice.catalog import Attribute
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import (
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
    projections += [named(counted, names.COUNT), named(exp.Count(this=exp.Star()), names.POPULATION)]
    query = source.encoded(projections)
    return query.group_by(*[part.copy() for part in parts], copy=False)


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


def level_widths(attributes: Sequence[Attribute]) -> exp.Query:
    """Return a row an attribute: its position, and per level the number of distinct texts, NULL being one."""
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
        rows.append(exp.select(number(position), *counts).from_(lookup_rows(position)).where(covered))
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
