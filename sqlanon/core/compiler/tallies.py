"""From judged classes to one row of counts a node, and one row of costs a node and attribute (``sql/judge``)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler import distinct_entities, profiles
from sqlanon.core.compiler.encoded_source import least_cost
from sqlanon.core.compiler.question import Question
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    as_keys,
    bigint,
    column,
    count_rows,
    cte,
    drop_columns,
    equal,
    masked,
    named,
    number,
    or_zero,
    sum_if,
    table,
    total,
)

TOTALS = -1
"""The ``attribute`` of the row that holds a node's counts; other rows hold an attribute's cost."""
CELLS = "cells"
"""Column: how many joint cells were added up."""


def totals(question: Question) -> list[exp.CTE]:
    """Return ``totals``: one row a node, with the columns of the question; costs are NULL."""
    columns, min_suppressed = question.columns, _min_suppressed(question)
    size, population = max(question.size, 1), question.catalog.population
    query = bind("judge/totals.sql", columns=min_suppressed, values={"size": size, "population": population})
    if question.catalog.earlier is not None:
        query = query.from_(published_classes(question).subquery("judged"), copy=False)
    no_cost = exp.cast(exp.null(), "DOUBLE" if question.needs == "surprisals" else "BIGINT")
    counts = {item.alias_or_name: item for item in query.expressions}
    if question.catalog.earlier is not None:
        counts["grain"] = named(total(column(CELLS)), "grain")
    for i, name in enumerate(question.model_columns):
        alone = sum_if(equal(column(f"fails_{i}"), number(1)), column(names.COUNT))
        counts[name] = named(total(column(profiles.alone(i))) if question.of_persons else alone, name)
    counts |= {name: named(no_cost.copy(), name) for name in question.cost_columns}
    query.set("expressions", [counts[name] for name in columns if name in counts])
    if question.of_persons:
        return distinct_entities.totals(query, columns, profiles.person_counts(monotone=question.monotone))
    if question.catalog.has_entity:
        of_entities = distinct_entities.entity_counts(question.catalog, monotone=question.monotone)
        return distinct_entities.totals(query, columns, of_entities)
    return [cte("totals", query, materialized=True)]


def published_classes(question: Question) -> exp.Select:
    """Return ``judged`` with the joint cells of a class added up: those that pass, and those that fail, apart.

    What is counted over cells is the same, and a row that passes is a published class.
    """
    catalog = question.catalog
    by_model = [f"fails_{i}" for i in range(len(question.models))] if question.by_model else []
    # a model that counts no value in a class does not judge it
    by = [column("node"), column("fails"), *(or_zero(column(name)) for name in by_model)]
    parts = class_without_earlier(catalog)
    counters = [names.COUNT, *([] if question.monotone else ["min_suppressed"])]
    query = exp.select(*[named(item.copy(), name) for item, name in zip(by, ("node", "fails", *by_model), strict=True)])
    query = query.select(*as_keys(parts), *[named(total(column(name)), name) for name in counters])
    query = query.select(named(bigint(count_rows()), CELLS)).from_(table("judged"))
    return query.group_by(*[item.copy() for item in (*by, *parts)])


def class_without_earlier(catalog: Catalog, owner: str | None = None) -> list[exp.Expr]:
    """Return the words of the key of a published class, from those of its joint cells."""
    return [
        masked(column(names.key(word), owner), number(~hidden)) if hidden else column(names.key(word), owner)
        for word, hidden in ((word, catalog.hidden_bits(word)) for word in range(catalog.words))
    ]


def costs(question: Question) -> tuple[list[exp.CTE], exp.Select]:
    """Return the rows of costs, one a node and attribute, and the relations that they are summed from."""
    words = range(question.catalog.words)
    masks = [names.mask(word) for word in words]
    levels = bind("judge/levels.sql", relations={"masks": table(names.MASKS)}, columns={"mask": masks})
    parts = [masked(column(names.key(w), "judged"), column(names.mask(w), "levels")) for w in words]
    failing = bind(
        "judge/failing.sql",
        columns={
            "generalized_key": [named(part, names.key(w)) for w, part in enumerate(parts)],
            "certain": [question.limited],
        },
        values={"limit": question.limit or 0},
    )
    if question.limit is None:
        failing.args["joins"].pop()
    if question.monotone:
        drop_columns(failing, {"min_suppressed"})
    return [cte("levels", levels), cte("failing", failing)], _cost_rows(question)


def _cost_rows(question: Question) -> exp.Select:
    min_suppressed = _min_suppressed(question)
    no_counts = [exp.null() for _ in question.columns[2 : -len(question.cost_columns)]]
    if question.needs == "surprisals":
        query = bind("judge/surprisals.sql", columns={"no_counts": no_counts, **min_suppressed})
    else:
        counter = column(names.COUNT if question.monotone else "min_suppressed", "failing")
        levels = [name for name in question.cost_columns if name != "cost"]
        least = [
            named(total(exp.Mul(this=counter.copy(), expression=column(least_cost(level), "leaf"))), name)
            for level, name in enumerate(levels)
        ]
        keys = [names.key(word) for word in range(question.catalog.words)]
        query = bind(
            "judge/costs.sql",
            relations={"leaf": table(names.LEAF)},
            columns={"no_counts": no_counts, "min_costs": least, "class_key": keys},
        )
    if question.monotone:
        drop_columns(query, {"cost"})
    return query


def _min_suppressed(question: Question) -> dict[str, Sequence[str]]:
    """Return what ``min_suppressed`` stands for in the files: where all models are monotone, all records of a class."""
    return {"min_suppressed": [names.COUNT]} if question.monotone else {}


def digit_of(nodes: str, masks: str) -> exp.Expr:
    """Return the character of ``levels`` that stands for the attribute of ``masks``: portable, and one value a node."""
    start = exp.Add(this=column("attribute", masks), expression=number(1))
    return exp.Substring(this=column("levels", nodes), start=start, length=number(1))


def digits(node: Node) -> str:
    """Return the levels of a node, one character each."""
    return "".join(chr(ord("0") + level) for level in node)


def mask_rows(masks: Sequence[Sequence[Sequence[int]]], words: int) -> dict[str, list[int] | list[str]]:
    """Return the rows of the table of masks, by column: attribute, level, digit, and one mask a word.

    Args:
        masks: by attribute, level and word.
    """
    pairs = [(i, level) for i, levels in enumerate(masks) for level in range(len(levels))]
    rows: dict[str, list[int] | list[str]] = {
        "attribute": [i for i, _ in pairs],
        "level": [level for _, level in pairs],
        "digit": [digits((level,)) for _, level in pairs],
    }
    for word in range(words):
        rows[names.mask(word)] = [masks[i][level][word] for i, level in pairs]
    return rows
