"""The statements of bounded knowledge: which classes fall, and the judged classes without them.

They are about any table of judged classes: that of one node, whose classes are known by packed keys
(``compiler.settled``), or that of a verification, by the numbers of texts. Only the columns that know a class, and what
a set leaves of them, differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    both,
    column,
    cte,
    equal,
    equal_columns,
    is_null,
    named,
    number,
    table,
    when,
    with_ctes,
)

KNOWN_SET = "known_set"
"""Column of a table of sets: the number of the set."""


def part_of_set(place: int) -> str:
    """Return the column of a table of sets that says what a set leaves of a column by which classes are known."""
    return f"part_{place}"


def _on_set(place: int) -> str:
    return f"on_set_{place}"


def _is_gone(*, lasting: bool) -> exp.Expr:
    """Return the condition that a judged class is not counted any more."""
    fails = equal(column("fails"), number(1))
    all_records = exp.GTE(this=column("min_suppressed"), expression=column(names.COUNT))
    return both([fails, all_records]) if lasting else fails


def fallen(
    judged: str, sets: str, *, key_names: Sequence[str], on_set: Sequence[exp.Expr], lasting: bool, k: int
) -> exp.Query:
    """Return the classes that fall because of some sets (``sql/model/bounded_knowledge.sql``), by their keys.

    Args:
        judged: the table of judged classes.
        sets: the table of the sets.
        key_names: the columns by which classes are known.
        on_set: what a set leaves of these, over the columns of both tables.
        lasting: count all classes but those that fail at every more specific node, too; otherwise those that pass.
    """
    remaining = exp.select("*").from_(table(judged)).where(exp.Not(this=exp.paren(_is_gone(lasting=lasting))))
    remaining = remaining.where(exp.GT(this=column(names.COUNT), expression=number(0)))
    seen = (
        exp.select(
            *[column(name, "judged") for name in key_names],
            column(KNOWN_SET, "known"),
            *[named(value, _on_set(place)) for place, value in enumerate(on_set)],
            column(names.COUNT, "judged"),
        )
        .from_(remaining.subquery("judged"))
        .join(table(sets, "known"), join_type="cross")
    )
    query = bind(
        "model/bounded_knowledge.sql",
        columns={
            "class_key": list(key_names),
            "class_on_set": [_on_set(place) for place in range(len(on_set))],
        },
        values={"k": k},
    )
    return with_ctes(query, [cte("seen", seen, materialized=True)])


def without_fallen(
    judged: str, fell: str, *, key_names: Sequence[str], columns: Sequence[str], lasting: bool
) -> exp.Select:
    """Return the judged classes when those that fell fail, too.

    Args:
        judged, fell: the tables.
        columns: of the judged classes, in order.
        lasting: what fell does so at every more specific node, too.
    """
    left = is_null(column(key_names[0], "fell"))
    replaced: dict[str, exp.Expr] = {"fails": when(left, column("fails", "judged"), number(1))}
    if lasting:
        own, whole = column("min_suppressed", "judged"), column(names.COUNT, "judged")
        replaced["min_suppressed"] = when(left.copy(), own, whole)
    cells = [named(replaced[name], name) if name in replaced else column(name, "judged") for name in columns]
    same_class = equal_columns(key_names, "judged", "fell")
    return exp.select(*cells).from_(table(judged, "judged")).join(table(fell, "fell"), on=same_class, join_type="left")
