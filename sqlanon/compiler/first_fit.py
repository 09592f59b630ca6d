"""The statements that apply a known sequence of nodes: node by node over the rows that are left.

``ROWS`` holds the row types of the base with a number each, with their sensitive codes where a model counts values;
``FITTED`` holds which rule took which of them; ``rest_table`` holds those that were left when it was created.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.question import Question
from sqlanon.compiler.recoding import chain, class_of, kept_sums, masked_name, value_ctes
from sqlanon.lattice.catalog import Catalog
from sqlanon.sqltrees import names
from sqlanon.sqltrees.binding import bind
from sqlanon.sqltrees.trees import (
    bigint,
    column,
    cte,
    equal,
    is_null,
    keys,
    mask_columns,
    masked,
    masked_keys,
    named,
    number,
    rolled_up,
    table,
    total,
    with_ctes,
    with_id,
)

ROWS = names.PREFIX + "rows"
FITTED = names.PREFIX + "fitted"
NODES = names.PREFIX + "sequence_nodes"
"""The nodes of the sequence by number, with masks and levels."""
ID = "id"
"""Column of ``ROWS`` and ``FITTED``: the number of a row type."""


def rest_table(generation: int) -> str:
    """Return the name of the table of the rows that are left; generation 0 are all rows."""
    return f"{names.PREFIX}rest_{generation}" if generation else ROWS


def rows_to_fit(question: Question) -> exp.Select:
    """Return the row types of the base: ``id``, the key and ``n``."""
    return with_id(rolled_up(table(names.BASE), masked_keys(map(number, question.masks(question.catalog.bottom)))))


def nothing_fitted() -> exp.Select:
    """Return the columns of ``FITTED`` without a row."""
    columns = [named(exp.cast(number(0), "INTEGER"), name) for name in (ID, names.RULE)]
    return exp.select(*columns).where(exp.false())


def fitting(question: Question, rest: str, masks: Sequence[int] | None = None, rule: int | None = None) -> exp.Query:
    """Return the rows that are left whose class passes under a node: ``id`` and ``rule``.

    Args:
        masks: of the node, one a word; None: a parameter each.
        rule: its number; None: the last parameter.
    """
    words = question.catalog.words
    kept = [exp.Placeholder() if masks is None else number(masks[w]) for w in range(words)]
    parts = enumerate(masked_keys(map(bigint, kept), rest))
    flow = left(question, rest).select(named(number(0), "node"), *[named(part, masked_name(w)) for w, part in parts])
    ctes = chain(question, flow, [])
    ctes[0].set("materialized", True)
    taker = exp.cast(exp.Placeholder() if rule is None else number(rule), "INTEGER")
    taken = exp.select(column(ID, "flow_0"), named(taker, names.RULE)).from_(table("flow_0"))
    return with_ctes(taken.where(exp.Exists(this=class_of(question, 0))), ctes)


def _left(rest: str) -> exp.Select:
    """Return the rows that no node has taken."""
    return (
        exp.Select()
        .from_(table(rest))
        .join(table(FITTED), on=equal(column(ID, rest), column(ID, FITTED)), join_type="left")
        .where(is_null(column(ID, FITTED)))
    )


def left(question: Question, rest: str) -> exp.Select:
    """Return the rows that no node has taken: ``id``, the key and ``n``."""
    return _left(rest).select(column(ID, rest), *keys(question.catalog.words, rest), column(names.COUNT, rest))


def records_left(rest: str) -> exp.Select:
    """Return how many records no node has taken."""
    return _left(rest).select(total(column(names.COUNT, rest)))


def promising(question: Question, rest: str) -> exp.Select:
    """Return the numbers of the nodes with a class, of what is left, that is large enough for the models, in order.

    Two parameters: the first and the last number of the range.
    """
    catalog = question.catalog
    parts = without_codes(catalog, masked_keys(mask_columns(catalog.words, NODES), "rest"))
    between = exp.Between(this=column(names.RULE, NODES), low=exp.Placeholder(), high=exp.Placeholder())
    large = (
        exp.select(column(names.RULE, NODES))
        .from_(table("rest"))
        .join(table(NODES), join_type="cross")
        .where(between)
        .group_by(column(names.RULE, NODES), *parts)
        .having(exp.GTE(this=exp.Sum(this=column(names.COUNT, "rest")), expression=number(question.size)))
    )
    query = exp.select(column(names.RULE)).distinct().from_(table("large")).order_by(column(names.RULE))
    with_ctes(query, [cte("rest", left(question, rest), materialized=True), cte("large", large)])
    return query


def assigned(question: Question) -> exp.Select:
    """Return the row types of the quasi-identifiers with their records and rule (NULL: suppressed)."""
    catalog = question.catalog
    parts = without_codes(catalog, keys(catalog.words, ROWS))
    rows = rolled_up(table(ROWS), parts, owner=ROWS).select(column(names.RULE, FITTED))
    return rows.group_by(column(names.RULE, FITTED)).join(
        table(FITTED), on=equal(column(ID, ROWS), column(ID, FITTED)), join_type="left"
    )


def without_codes(catalog: Catalog, parts: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the words of a key with the bits of the sensitive codes cleared."""
    return [masked(part, number(~codes)) if codes else part for part, codes in zip(parts, catalog.codes, strict=True)]


def _published(words: int) -> exp.Select:
    """Return the classes of every rule: ``rule``, the key and ``n``; suppressed records are one row without a key."""
    rule = column(names.RULE, names.ASSIGNED)
    classes = rolled_up(
        table(names.ASSIGNED), masked_keys(mask_columns(words, NODES), names.ASSIGNED), rule, owner=names.ASSIGNED
    )
    return classes.join(table(NODES), on=equal(rule.copy(), column(names.RULE, NODES)), join_type="left")


def published(question: Question) -> exp.Select:
    """Return per rule, in order, and last for the suppressed records: rule, records, classes, smallest and largest."""
    return bind("patterns/by_rule.sql", relations={"published": _published(question.catalog.words)})


def kept(question: Question) -> exp.Query:
    """Return per rule and attribute, the sum of D - leaves over its records."""
    used = exp.select(column(names.RULE), column("levels")).from_(table(NODES))
    ctes = [cte("published", _published(question.catalog.words), materialized=True), cte("used", used)]
    ctes += value_ctes(question.catalog, [names.RULE], "published")
    return with_ctes(kept_sums(question.catalog, [names.RULE]), ctes)
