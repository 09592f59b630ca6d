"""The statements by which a verification lets release models settle the classes of its nodes (``models.release``).

They read ``names.JUDGED``: the classes of several nodes by the numbers of their texts. How many classes fail is found
by ``evaluate.verified_sizes``, and which of them by ``evaluate.verified_order``; neither is shared with the search.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, leaves
from sqlanon.core.compiler.readable_nodes import NODE, text_of
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_rows,
    equal,
    lookup_rows,
    named,
    not_null,
    number,
    table,
    total,
    union_all,
    when,
)

CUTS = names.PREFIX + "cuts"
"""The table of what is cut off each node: its number, and the size below which all classes fail."""
CHOSEN = names.PREFIX + "chosen"
"""The classes of this size that fail, by their nodes and texts."""


def counted_classes() -> exp.Select:
    """Return per node how many classes have how many records, whether they fail, and how many are certain to be
    suppressed at every more specific node."""
    by = [column(name) for name in (NODE, names.COUNT, "fails", "min_suppressed")]
    query = exp.select(*by, bigint(count_rows())).from_(table(names.JUDGED))
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    return query.where(has_records).group_by(*[item.copy() for item in by])


def costs_of_texts(catalog: Catalog) -> exp.Query:
    """Return per attribute, level and number of a text what suppressing it costs (D - leaves)."""
    rows: list[exp.Query] = []
    for position, attribute in enumerate(catalog.attributes):
        for level in range(attribute.height):
            text = column(names.text_number(level))
            cost = exp.Sub(this=number(attribute.domain), expression=exp.Max(this=column(leaves(level))))
            rows.append(
                exp.select(number(position), number(level), text, bigint(cost))
                .from_(lookup_rows(position))
                .where(equal(column(COVERED), number(1)))
                .group_by(text.copy())
            )
    return union_all(rows)


def _of_node(catalog: Catalog, node: int) -> exp.Select:
    """Return the judged classes of a node that have records."""
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    query = exp.select(*map(column, texts), column(names.COUNT), column("fails")).from_(table(names.JUDGED))
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    return query.where(equal(column(NODE), number(node))).where(has_records)


def passing(catalog: Catalog, node: int, size: int) -> exp.Select:
    """Return the texts of the classes of a size at a node that do not fail."""
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    passes = both([equal(column("fails"), number(0)), equal(column(names.COUNT), number(size))])
    return exp.select(*map(column, texts)).from_(_of_node(catalog, node).subquery("judged")).where(passes)


def suppressed_texts(catalog: Catalog, node: int, size: int) -> exp.Query:
    """Return per attribute and text how many records fail at a node, or are in classes below a size."""
    gone = exp.or_(equal(column("fails"), number(1)), exp.LT(this=column(names.COUNT), expression=number(size)))
    parts: list[exp.Query] = []
    for position in range(len(catalog.attributes)):
        text = column(text_of(position))
        query = exp.select(number(position), text, bigint(total(column(names.COUNT))))
        parts.append(query.from_(_of_node(catalog, node).subquery("judged")).where(gone.copy()).group_by(text.copy()))
    return union_all(parts)


def without_smallest(catalog: Catalog, *, lasts: bool) -> exp.Query:
    """Return the judged classes when those fail, too, that are smaller than ``CUTS`` says, and those of ``CHOSEN``.

    Args:
        lasts: a class that fails is suppressed whole at every more specific node.
    """
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    query = exp.select(*[column(name, "judged") for name in (NODE, *texts, names.COUNT)])
    passed = [
        equal(column("fails", "judged"), number(0)),
        exp.GT(this=column(names.COUNT, "judged"), expression=number(0)),
    ]
    smaller = exp.LT(this=column(names.COUNT, "judged"), expression=column("size", "cuts"))
    is_chosen = not_null(column(NODE, "chosen"))
    falls = both([*passed, exp.paren(exp.or_(smaller, is_chosen))])
    failed = exp.or_(equal(column("fails", "judged"), number(1)), falls)
    certain = column(names.COUNT, "judged") if lasts else number(0)
    least = when(falls.copy(), certain, column("min_suppressed", "judged"))
    query = query.select(
        named(when(failed, number(1), number(0)), "fails"), named(bigint(least), "min_suppressed"), copy=False
    )
    same_class = both(equal(column(name, "judged"), column(name, "chosen")) for name in (NODE, *texts))
    query = query.from_(table(names.JUDGED, "judged"))
    query = query.join(table(CUTS, "cuts"), on=equal(column(NODE, "judged"), column(NODE, "cuts")), join_type="left")
    return query.join(table(CHOSEN, "chosen"), on=same_class, join_type="left")
