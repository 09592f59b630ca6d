"""The statements by which a verification lets release models settle the classes of its nodes (``models.release``).

They read ``names.JUDGED``: the classes of several nodes by the numbers of their texts. What is shared with the search
is the definition alone: how many of the smallest classes fail, and in which order (``SizeModel``).
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.compiler.encoded_source import COVERED, leaves
from sqlanon.compiler.readable_nodes import NODE, text_of
from sqlanon.lattice.catalog import Catalog
from sqlanon.measures.loss import record_factors
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import (
    bigint,
    both,
    column,
    count_rows,
    cte,
    equal,
    lookup_rows,
    masked,
    named,
    number,
    row_number,
    table,
    union_all,
    when,
    with_ctes,
)

CUTS = names.PREFIX + "cuts"
"""The table of what is cut off each node: its number, the size of the largest classes that fail, and how many do."""


def counted_classes() -> exp.Select:
    """Return per node how many classes have how many records, whether they fail, and how many are certain to be
    suppressed at every more special node."""
    by = [column(name) for name in (NODE, names.COUNT, "fails", "min_suppressed")]
    query = exp.select(*by, bigint(count_rows())).from_(table(names.JUDGED))
    has_records = exp.GT(this=column(names.COUNT), expression=number(0))
    return query.where(has_records).group_by(*[item.copy() for item in by])


def ranked_texts(catalog: Catalog) -> exp.Query:
    """Return per attribute, level and number of a text what suppressing it costs (D - leaves), and its code."""
    rows: list[exp.Query] = []
    for position, attribute in enumerate(catalog.attributes):
        for level in range(attribute.height):
            text = column(names.text_number(level))
            cost = exp.Sub(this=number(attribute.domain), expression=exp.Max(this=column(leaves(level))))
            codes = [
                exp.Min(this=masked(column(names.key(word)), number(attribute.mask(level, word))))
                for word in range(catalog.words)
            ]
            rows.append(
                exp.select(
                    named(number(position), "position"),
                    named(number(level), "level"),
                    named(text, "text"),
                    named(bigint(cost), "cost"),
                    *[named(bigint(code), names.key(word)) for word, code in enumerate(codes)],
                )
                .from_(lookup_rows(position))
                .where(equal(column(COVERED), number(1)))
                .group_by(text.copy())
            )
    return union_all(rows)


def without_smallest(catalog: Catalog, *, greatest: bool, lasts: bool) -> exp.Query:
    """Return the judged classes when those that ``CUTS`` names fail, too.

    Args:
        greatest: of classes of one size, those whose values have lost most come first.
        lasts: a class that fails is suppressed whole at every more special node.
    """
    texts = [text_of(position) for position in range(len(catalog.attributes))]
    query = exp.select(*[column(name, "judged") for name in (NODE, *texts, names.COUNT)])
    passed = [
        equal(column("fails", "judged"), number(0)),
        exp.GT(this=column(names.COUNT, "judged"), expression=number(0)),
    ]
    smaller = exp.LT(this=column(names.COUNT, "judged"), expression=column("size", "cuts"))
    first = exp.LTE(this=column("place", "ranked"), expression=column("classes", "cuts"))
    falls = both([*passed, exp.paren(exp.or_(smaller, first))])
    failed = exp.or_(equal(column("fails", "judged"), number(1)), falls)
    certain = column(names.COUNT, "judged") if lasts else number(0)
    least = when(falls.copy(), certain, column("min_suppressed", "judged"))
    query = query.select(
        named(when(failed, number(1), number(0)), "fails"), named(bigint(least), "min_suppressed"), copy=False
    )
    same_class = both(equal(column(name, "judged"), column(name, "ranked")) for name in (NODE, *texts))
    query = query.from_(table(names.JUDGED, "judged"))
    query = query.join(table(CUTS, "cuts"), on=equal(column(NODE, "judged"), column(NODE, "cuts")), join_type="left")
    query = query.join(table("ranked"), on=same_class, join_type="left")
    return with_ctes(query, [cte("ranked", _ranked(catalog, texts, greatest=greatest))])


def _ranked(catalog: Catalog, texts: list[str], *, greatest: bool) -> exp.Select:
    """Return the classes of just the size of a cut, with their places in the order in which they are suppressed."""
    keys = [column(name, "judged") for name in (NODE, *texts)]
    cost: exp.Expr = bigint(number(0))
    codes: list[list[exp.Expr]] = [[] for _ in range(catalog.words)]
    query = exp.select(*keys).from_(table(names.JUDGED, "judged"))
    tied = [
        equal(column(NODE, "judged"), column(NODE, "cuts")),
        equal(column(names.COUNT, "judged"), column("size", "cuts")),
        equal(column("fails", "judged"), number(0)),
    ]
    query = query.join(table(CUTS, "cuts"), on=both(tied))
    query = query.join(table(names.CERTIFIED, "nodes"), on=equal(column(NODE, "nodes"), column(NODE, "judged")))
    for position, factor in enumerate(record_factors(catalog)):
        own = f"text_of_{position}"
        met = [
            equal(column("position", own), number(position)),
            equal(column("level", own), column(names.level(position), "nodes")),
            equal(column("text", own), column(text_of(position), "judged")),
        ]
        query = query.join(table(names.RANKED_TEXTS, own), on=both(met))
        cost = exp.Add(this=cost, expression=exp.Mul(this=bigint(number(factor)), expression=column("cost", own)))
        for word, parts in enumerate(codes):
            parts.append(column(names.key(word), own))
    order = [cost if greatest else exp.Neg(this=exp.paren(cost)), *[_summed(parts) for parts in codes]]
    return query.select(named(row_number(*order, partition=[column(NODE, "judged")]), "place"))


def _summed(parts: list[exp.Expr]) -> exp.Expr:
    """Return the sum of the codes of all attributes in a word, which have no bit in common."""
    found: exp.Expr = bigint(number(0))
    for part in parts:
        found = exp.Add(this=found, expression=part)
    return found
