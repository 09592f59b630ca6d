"""The statements of a sequence of nodes that is given: node by node over the rows that are left.

``ROWS`` holds the row types of the base with a number each, with their sensitive codes where a model counts values;
``FITTED`` tells which rule took which of them; ``rest_table`` holds those that were left when it was made.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.question import Question
from sqlanon.compiler.recoding import chain, class_of, kept_sums, masked_name, value_ctes
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import bigint, column, cte, equal, keys, masked, named, number, table, total, with_ctes

ROWS = names.PREFIX + "rows"
FITTED = names.PREFIX + "fitted"
NODES = names.PREFIX + "sequence_nodes"
"""The nodes of the sequence by number, with masks and levels."""
ID = "id"


def rest_table(generation: int) -> str:
    """Name of the table of the rows that are left; generation 0 are all rows."""
    return f"{names.PREFIX}rest_{generation}" if generation else ROWS


def rows(question: Question) -> exp.Select:
    """The row types of the base: ``id``, the key and ``n``."""
    masks = question.masks(question.catalog.bottom)
    parts = [masked(column(names.key(w)), number(mask)) for w, mask in enumerate(masks)]
    query = exp.select(named(exp.cast(exp.Window(this=exp.RowNumber()), "INTEGER"), ID))
    return (
        query.select(*[named(part, names.key(w)) for w, part in enumerate(parts)])
        .select(named(total(column(names.COUNT)), names.COUNT))
        .from_(table(names.BASE))
        .group_by(*[part.copy() for part in parts])
    )


def nothing_fitted() -> exp.Select:
    """The columns of ``FITTED`` without a row."""
    columns = [named(exp.cast(number(0), "INTEGER"), name) for name in (ID, names.RULE)]
    return exp.select(*columns).where(exp.false())


def fitting(question: Question, rest: str, masks: Sequence[int] | None = None, rule: int | None = None) -> exp.Query:
    """The rows that are left whose class passes under a node: ``id`` and ``rule``.

    Args:
        masks: of the node, one a word; None: a parameter each.
        rule: its number; None: the last parameter.
    """
    words = question.catalog.words
    kept: list[exp.Expr] = [number(mask) for mask in masks] if masks is not None else [exp.Placeholder()] * words
    flow = left(question, rest).select(named(number(0), "node"))
    for w, mask in enumerate(kept):
        flow.select(named(masked(column(names.key(w), rest), bigint(mask.copy())), masked_name(w)), copy=False)
    ctes = chain(question, flow, [])
    ctes[0].set("materialized", True)
    told = exp.cast(exp.Placeholder() if rule is None else number(rule), "INTEGER")
    taken = exp.select(column(ID, "flow_0"), named(told, names.RULE)).from_(table("flow_0"))
    return with_ctes(taken.where(exp.Exists(this=class_of(question, 0))), ctes)


def _left(rest: str) -> exp.Select:
    """The rows that no node has taken."""
    return (
        exp.Select()
        .from_(table(rest))
        .join(table(FITTED), on=equal(column(ID, rest), column(ID, FITTED)), join_type="left")
        .where(exp.Is(this=column(ID, FITTED), expression=exp.null()))
    )


def left(question: Question, rest: str) -> exp.Select:
    """The rows that no node has taken: ``id``, the key and ``n``."""
    return _left(rest).select(column(ID, rest), *keys(question.catalog.words, rest), column(names.COUNT, rest))


def records_left(rest: str) -> exp.Select:
    """How many records no node has taken."""
    return _left(rest).select(total(column(names.COUNT, rest)))


def promising(question: Question, rest: str) -> exp.Select:
    """The numbers of the nodes with a class, of what is left, that is large enough for the models, in order.

    Two parameters: the first and the last number that are asked about.
    """
    parts = [
        masked(column(names.key(w), "rest"), column(names.mask(w), NODES))
        if not codes
        else masked(masked(column(names.key(w), "rest"), column(names.mask(w), NODES)), number(~codes))
        for w, codes in enumerate(question.catalog.codes)
    ]
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
    """The row types of the quasi-identifiers with their records and rule (NULL: suppressed)."""
    parts = [
        masked(column(names.key(w), ROWS), number(~codes)) if codes else column(names.key(w), ROWS)
        for w, codes in enumerate(question.catalog.codes)
    ]
    return (
        exp.select(*[named(part, names.key(w)) for w, part in enumerate(parts)])
        .select(named(total(column(names.COUNT, ROWS)), names.COUNT), column(names.RULE, FITTED))
        .from_(table(ROWS))
        .join(table(FITTED), on=equal(column(ID, ROWS), column(ID, FITTED)), join_type="left")
        .group_by(*[part.copy() for part in parts], column(names.RULE, FITTED))
    )


def _published(words: int) -> exp.Select:
    """The classes of every rule: ``rule``, the key and ``n``; the suppressed records are one row without a key."""
    parts = [masked(column(names.key(w), names.ASSIGNED), column(names.mask(w), NODES)) for w in range(words)]
    rule = column(names.RULE, names.ASSIGNED)
    return (
        exp.select(rule, *[named(part, names.key(w)) for w, part in enumerate(parts)])
        .select(named(total(column(names.COUNT, names.ASSIGNED)), names.COUNT))
        .from_(table(names.ASSIGNED))
        .join(table(NODES), on=equal(rule.copy(), column(names.RULE, NODES)), join_type="left")
        .group_by(rule.copy(), *[part.copy() for part in parts])
    )


def published(question: Question) -> exp.Select:
    """Per rule, in order, and last for the suppressed records: rule, records, classes, smallest and largest."""
    size = column(names.COUNT, "published")
    return (
        exp.select(
            column(names.RULE, "published"),
            total(size),
            bigint(exp.Count(this=exp.Star())),
            exp.Min(this=size.copy()),
            exp.Max(this=size.copy()),
        )
        .from_(_published(question.catalog.words).subquery("published"))
        .group_by(column(names.RULE, "published"))
        .order_by(exp.Ordered(this=column(names.RULE, "published"), nulls_first=False))
    )


def kept(question: Question) -> exp.Query:
    """Per rule and attribute, the sum of D - leaves over its records."""
    used = exp.select(column(names.RULE), column("levels")).from_(table(NODES))
    ctes = [cte("published", _published(question.catalog.words), materialized=True), cte("used", used)]
    ctes += value_ctes(question.catalog, [names.RULE], "published")
    return with_ctes(kept_sums(question.catalog, [names.RULE]), ctes)
