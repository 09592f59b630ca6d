"""Which owners hold some rows together: sub-multisets of counted rows, by self joins.

The sets serve audits and verifications alone; a search forms them by other statements (``compiler.known_rows``).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.sqltrees.trees import both, column, count_rows, equal, named, number, table

OWNER, PLACE, COPIES = "owner", "place", "copies"
"""Columns of a relation of counted rows: whose a row is, the number of its values, how often the owner has it."""


def ranked(values: Sequence[str]) -> exp.Expr:
    """Return the number of a row's values among all: the same for equal values, NULLs among them."""
    if not values:
        return number(1)
    ordered = [exp.Ordered(this=column(name), nulls_first=False) for name in values]
    return exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=exp.Order(expressions=ordered))


def compositions(size: int) -> list[tuple[int, ...]]:
    """Return the ways to write a number as a sum in order.

    >>> compositions(3)
    [(1, 1, 1), (1, 2), (2, 1), (3,)]
    """
    if not size:
        return [()]
    return [(first, *rest) for first in range(1, size + 1) for rest in compositions(size - first)]


def shapes(at_most: int) -> list[tuple[int, ...]]:
    """Return the shapes of sub-multisets of at most so many rows: how often each of their different rows stands."""
    return [shape for size in range(1, at_most + 1) for shape in compositions(size)]


def holders(rows: str, shape: Sequence[int]) -> exp.Select:
    """Return the owners of each sub-multiset of a shape, once each: ``owner`` and the places of the different rows.

    Args:
        rows: the relation of counted rows; an owner has each place once.
        shape: how often each of the different rows stands at least.
    """
    names = [f"row_{i}" for i in range(len(shape))]
    places = [named(column(PLACE, name), f"place_{i}") for i, name in enumerate(names)]
    query = exp.select(column(OWNER, names[0]), *places).from_(table(rows, names[0]))
    for before, name in itertools.pairwise(names):
        later = exp.LT(this=column(PLACE, before), expression=column(PLACE, name))
        query = query.join(table(rows, name), on=both([equal(column(OWNER, names[0]), column(OWNER, name)), later]))
    often = [exp.GTE(this=column(COPIES, name), expression=number(n)) for name, n in zip(names, shape, strict=True)]
    return query.where(both(often))


def held_by_few(rows: str, shape: Sequence[int], k: int) -> exp.Select:
    """Return the sub-multisets of a shape that fewer than k owners hold: their owners, as ``records``."""
    few = exp.LT(this=count_rows(), expression=number(k))
    query = exp.select(named(count_rows(), "records")).from_(holders(rows, shape).subquery("holders"))
    return query.group_by(*_places(shape)).having(few)


def owners_in_few(rows: str, shape: Sequence[int], k: int) -> exp.Select:
    """Return the owners of sub-multisets of a shape that fewer than k owners hold; one may come several times."""
    many = exp.Window(this=count_rows(), partition_by=_places(shape))
    counted = exp.select(column(OWNER), named(many, "many")).from_(holders(rows, shape).subquery("holders"))
    few = exp.LT(this=column("many"), expression=number(k))
    return exp.select(column(OWNER)).from_(counted.subquery("counted")).where(few)


def _places(shape: Sequence[int]) -> list[exp.Expr]:
    return [column(f"place_{i}") for i in range(len(shape))]
