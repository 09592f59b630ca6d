"""The statements that find the records of a subset in its source (δ-presence)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    greatest,
    named,
    number,
    or_zero,
    row_number,
    same,
    total,
)

Columns = Sequence[tuple[str, str]]
"""Columns with the types that they have in the source."""


def memberships(source: exp.Expr, subset: exp.Expr, shared: Columns, columns: Sequence[str]) -> exp.Select:
    """Return the records of the source, each with whether it belongs to the subset; copies are matched one to one.

    Args:
        shared: the columns that the subset has.
        columns: all those of the source.
    """
    copy = named(row_number(partition=_texts(shared)), "sqlanon_copy")
    on = both(same(text, column(f"c_{i}", "subset")) for i, text in enumerate(_texts(shared, SOURCE)))
    copies = or_zero(column("copies", "subset"))
    member = exp.LTE(this=column("sqlanon_copy", SOURCE), expression=copies)
    return (
        exp.select(*[column(name, SOURCE) for name in columns], named(member, names.MEMBER))
        .from_(exp.select("*", copy).from_(source.copy()).subquery(SOURCE))
        .join(_copies(subset, shared).subquery("subset"), on=on, join_type="left")
    )


def membership_faults(source: exp.Expr, subset: exp.Expr, shared: Columns, others: Columns) -> exp.Select:
    """Return counts: records of the subset without a record of the source, and ambiguous ones: of records that agree
    in the shared columns only some belong to the subset, though they differ in ``others``."""
    kind = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(f"o_{i}"), expression=text) for i, text in enumerate(_texts(others))
        ]
    )
    kinds = named(count_distinct(kind) if others else number(1), "kinds")
    rows = _counted(source, shared, "records").select(kinds)
    on = both(same(column(f"c_{i}", "r"), column(f"c_{i}", "s")) for i in range(len(shared)))
    copies = column("copies", "s")
    missing = greatest(exp.Sub(this=copies, expression=or_zero(column("records", "r"))), number(0))
    unclear = exp.and_(
        exp.GT(this=column("kinds", "r"), expression=number(1)),
        exp.LT(this=copies.copy(), expression=column("records", "r")),
    )
    return (
        exp.select(named(total(missing), "missing"), named(count_if(unclear), "unclear"))
        .from_(_copies(subset, shared).subquery("s"))
        .join(rows.subquery("r"), on=on, join_type="left")
    )


def _copies(subset: exp.Expr, shared: Columns) -> exp.Select:
    """Return the distinct records of the subset as texts of the source's types, with their number."""
    cast = [named(exp.cast(column(name), data_type(type_)), name) for name, type_ in shared]
    typed = exp.select(*cast).from_(subset.copy())
    return _counted(typed.subquery("typed"), shared, "copies")


def _counted(relation: exp.Expr, columns: Columns, counter: str) -> exp.Select:
    """Return the distinct texts of some columns (``c_<i>``), with their number."""
    texts = [named(text, f"c_{i}") for i, text in enumerate(_texts(columns))]
    query = exp.select(*texts, named(bigint(count_rows()), counter)).from_(relation.copy())
    return query.group_by(*_texts(columns))


def _texts(columns: Columns, relation: str | None = None) -> list[exp.Expr]:
    return [canonical(name, type_, relation) for name, type_ in columns]
