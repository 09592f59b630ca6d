"""From judged classes to one row of counts a node, and one row of costs a node and attribute."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler import distinct_entities
from sqlanon.compiler.encoded_source import least_cost
from sqlanon.compiler.judged import _case
from sqlanon.compiler.question import Question
from sqlanon.lattice.catalog import Catalog
from sqlanon.lattice.nodes import Node
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import (
    bigint,
    both,
    column,
    count_if,
    cte,
    equal,
    greatest,
    masked,
    named,
    number,
    sum_if,
    table,
    total,
    when,
    wide_sum,
)

TOTALS = -1
"""The ``attribute`` of the row that holds a node's counts; other rows hold an attribute's cost."""


def _totals(question: Question) -> exp.Select:
    """One row a node: the counts of its classes."""
    catalog = question.catalog
    size = column(names.COUNT)
    counted = exp.GT(this=size, expression=number(0))
    passes: exp.Expr = equal(column("fails"), number(0))
    fails: exp.Expr = equal(column("fails"), number(1))
    if catalog.has_population:
        passes, fails = exp.and_(counted.copy(), passes), exp.and_(counted.copy(), fails)
    wide = exp.cast(size.copy(), "HUGEINT")
    rest = bigint(number(max(question.size, 1)))
    at_least = greatest(size.copy(), rest)
    large = exp.GTE(this=size.copy(), expression=rest.copy())
    small = exp.LT(this=size.copy(), expression=rest.copy())
    everything: dict[str, exp.Expr] = {
        "grain": bigint(exp.Count(this=exp.Star())),
        "classes": count_if(passes),
        "suppressed": sum_if(fails.copy(), size.copy()),
        "min_suppressed": sum_if(fails.copy(), column("min_suppressed")),
        "smallest": exp.Min(this=when(passes.copy(), size.copy())),
        "largest": exp.Max(this=when(passes.copy(), size.copy())),
        distinct_entities.SMALLEST: exp.Min(this=when(passes.copy(), column("entities"))),
        "squares": wide_sum(_case(passes.copy(), exp.Mul(this=wide, expression=size.copy()), number(0))),
        "spread": wide_sum(exp.Mul(this=wide.copy(), expression=at_least)),
        "forced": wide_sum(
            _case(
                fails.copy(),
                exp.Mul(
                    this=exp.cast(_min_suppressed(question), "HUGEINT"),
                    expression=exp.paren(
                        greatest(exp.Sub(this=number(catalog.population), expression=at_least.copy()), number(0))
                    ),
                ),
                number(0),
            )
        ),
        "large": count_if(large),
        "small_records": sum_if(small, size.copy()),
        "public_only": count_if(exp.Not(this=exp.paren(counted.copy()))),
        **{
            f"model_{i}": sum_if(exp.and_(counted.copy(), equal(column(f"fails_{i}"), number(1))), size.copy())
            for i in range(len(question.models))
        },
        **dict.fromkeys(question.cost_columns, _no_cost(question)),
    }
    wanted = [named(everything[name].copy(), name) for name in question.columns[2:] if name in everything]
    attribute = named(bigint(number(TOTALS)), "attribute")
    return exp.select(column("node"), attribute, *wanted).from_(table("judged")).group_by(column("node"))


def _min_suppressed(question: Question, relation: str | None = None) -> exp.Expr:
    """The lost records of a failing class."""
    return column(names.COUNT if question.monotone else "min_suppressed", relation)


def _no_cost(question: Question) -> exp.Expr:
    return exp.cast(exp.null(), "DOUBLE" if question.needs == "surprisals" else "BIGINT")


def _cost_ctes(question: Question, mask_names: Sequence[str]) -> list[exp.CTE]:
    """``levels`` of the nodes by attribute, and per attribute the generalized values in failing classes
    (``values``)."""
    words = question.catalog.words
    levels = (
        exp.select(
            column("node", "nodes"),
            column("attribute", "m"),
            column("level", "m"),
            *[column(mask, "m") for mask in mask_names],
        )
        .from_(table("nodes"))
        .join(table(names.MASKS, "m"), on=equal(digit_of("nodes", "m"), column("digit", "m")))
    )
    parts = [masked(column(names.key(w), "judged"), column(mask_names[w], "levels")) for w in range(words)]
    dimensions = [column("node", "levels"), column("attribute", "levels"), column("level", "levels")]
    failing = (
        exp.select(
            *[item.copy() for item in dimensions],
            *[named(part, names.key(w)) for w, part in enumerate(parts)],
            named(total(column(names.COUNT, "judged")), names.COUNT),
            *([] if question.monotone else [named(total(column("min_suppressed", "judged")), "min_suppressed")]),
        )
        .from_(table("judged"))
        .join(table("levels"), on=equal(column("node", "judged"), column("node", "levels")))
        .where(equal(column("fails", "judged"), number(1)))
        .group_by(*dimensions, *[part.copy() for part in parts])
    )
    if question.limit is not None:
        failing = failing.join(
            table("totals"),
            on=exp.and_(
                equal(column("node", "totals"), column("node", "levels")),
                exp.LTE(
                    this=column(question.limited, "totals"),
                    expression=number(question.limit),
                ),
            ),
        )
    return [cte("levels", levels), cte("failing", failing)]


def _costs(question: Question) -> exp.Select:
    """One row a node and attribute: what suppressing costs there, and what the lost records cost at least."""
    words = question.catalog.words
    costs = question.cost_columns
    nothing = [exp.null() for _ in question.columns[2 : -len(costs)]]
    count, min_suppressed = column(names.COUNT, "failing"), _min_suppressed(question, "failing")
    query = exp.select(column("node", "failing"), column("attribute", "failing"), *nothing).from_(table("failing"))
    query = query.group_by(column("node", "failing"), column("attribute", "failing"))
    if question.needs == "surprisals":
        return query.select(*[_surprisal(count if name == "cost" else min_suppressed) for name in costs])
    leaf_keys = ["attribute", "level", *[names.key(w) for w in range(words)]]
    own = [] if question.monotone else [total(exp.Mul(this=count, expression=column("cost", "leaf")))]
    tallest = len(costs) - len(own)
    least = [
        total(exp.Mul(this=min_suppressed.copy(), expression=column(least_cost(level), "leaf")))
        for level in range(tallest)
    ]
    return query.join(
        table(names.LEAF, "leaf"),
        on=both(equal(column(c, "failing"), column(c, "leaf")) for c in leaf_keys),
    ).select(*own, *least)


def _surprisal(count: exp.Expr) -> exp.Expr:
    """Sum of n ln n; 0 ln 0 = 0."""
    product = exp.Mul(this=count, expression=exp.Ln(this=count.copy()))
    return exp.Coalesce(
        this=exp.Sum(
            this=_case(exp.GT(this=count.copy(), expression=number(0)), product, exp.cast(number(0), "DOUBLE"))
        ),
        expressions=[number(0)],
    )


def digit_of(nodes: str, masks: str) -> exp.Expr:
    """The character of ``levels`` that stands for the attribute of ``masks``: portable, and one value a node."""
    start = exp.Add(this=column("attribute", masks), expression=number(1))
    return exp.Substring(this=column("levels", nodes), start=start, length=number(1))


def digits(node: Node) -> str:
    """The levels of a node, one character each."""
    return "".join(chr(ord("0") + level) for level in node)


def mask_rows(catalog: Catalog) -> dict[str, list[int] | list[str]]:
    """The rows of the table of masks, by column: attribute, level, digit, and one mask a word."""
    pairs = [(i, a, level) for i, a in enumerate(catalog.attributes) for level in range(a.height)]
    rows: dict[str, list[int] | list[str]] = {
        "attribute": [i for i, _, _ in pairs],
        "level": [level for _, _, level in pairs],
        "digit": [digits((level,)) for _, _, level in pairs],
    }
    for word in range(catalog.words):
        rows[f"mask_{word}"] = [a.mask(level, word) for _, a, level in pairs]
    return rows
