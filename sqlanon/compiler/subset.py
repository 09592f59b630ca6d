"""The statements that find the records of a subset in its source (δ-presence)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.compiler.encode import SOURCE
from sqlanon.sqltrees import names
from sqlanon.sqltrees.data_types import data_type
from sqlanon.sqltrees.trees import (
    bigint,
    both,
    canonical,
    column,
    count_if,
    greatest,
    named,
    number,
    same,
    total,
)


def memberships(
    source: exp.Expr, subset: exp.Expr, shared: Sequence[tuple[str, str]], columns: Sequence[str]
) -> exp.Select:
    """The records of the source, each with whether it belongs to the subset; copies are matched one to one.

    Args:
        shared: the columns that the subset has, with the types that they have in the source.
        columns: all those of the source.
    """
    numbered = exp.select(
        "*",
        named(
            exp.Window(this=exp.RowNumber(), partition_by=[canonical(name, type_) for name, type_ in shared]),
            "sqlanon_copy",
        ),
    ).from_(source.copy())
    counted = _copies(subset, shared)
    on = both(
        same(canonical(name, type_, SOURCE), column(f"c_{i}", "subset")) for i, (name, type_) in enumerate(shared)
    )
    member = exp.LTE(
        this=column("sqlanon_copy", SOURCE),
        expression=exp.Coalesce(this=column("copies", "subset"), expressions=[number(0)]),
    )
    return (
        exp.select(*[column(name, SOURCE) for name in columns], named(member, names.MEMBER))
        .from_(numbered.subquery(SOURCE))
        .join(counted.subquery("subset"), on=on, join_type="left")
    )


def membership_faults(
    source: exp.Expr, subset: exp.Expr, shared: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]
) -> exp.Select:
    """One row: records of the subset without a record of the source, and ambiguous ones: of records that agree in the
    shared columns only some belong to the subset, though they differ in ``others``."""
    rows = (
        exp.select(
            *[named(canonical(name, type_), f"c_{i}") for i, (name, type_) in enumerate(shared)],
            named(bigint(exp.Count(this=exp.Star())), "records"),
            named(
                exp.Count(
                    this=exp.Distinct(
                        expressions=[
                            exp.Struct(
                                expressions=[
                                    exp.PropertyEQ(this=exp.to_identifier(f"o_{i}"), expression=canonical(name, type_))
                                    for i, (name, type_) in enumerate(others)
                                ]
                            )
                        ]
                    )
                )
                if others
                else number(1),
                "kinds",
            ),
        )
        .from_(source.copy())
        .group_by(*[canonical(name, type_) for name, type_ in shared])
    )
    on = both(same(column(f"c_{i}", "r"), column(f"c_{i}", "s")) for i in range(len(shared)))
    records = exp.Coalesce(this=column("records", "r"), expressions=[number(0)])
    missing = greatest(exp.Sub(this=column("copies", "s"), expression=records), number(0))
    unclear = exp.and_(
        exp.GT(this=column("kinds", "r"), expression=number(1)),
        exp.LT(this=column("copies", "s"), expression=column("records", "r")),
    )
    return (
        exp.select(named(total(missing), "missing"), named(count_if(unclear), "unclear"))
        .from_(_copies(subset, shared).subquery("s"))
        .join(rows.subquery("r"), on=on, join_type="left")
    )


def _copies(subset: exp.Expr, shared: Sequence[tuple[str, str]]) -> exp.Select:
    """The distinct records of the subset as texts of the source's types, with their number."""
    texts = [canonical(name, type_) for name, type_ in shared]
    typed = exp.select(*[named(exp.cast(column(name), data_type(type_)), name) for name, type_ in shared]).from_(
        subset.copy()
    )
    return (
        exp.select(
            *[named(text, f"c_{i}") for i, text in enumerate(texts)],
            named(bigint(exp.Count(this=exp.Star())), "copies"),
        )
        .from_(typed.subquery("typed"))
        .group_by(*[text.copy() for text in texts])
    )
