"""Columns that travel with a quasi-identifier: what they follow from, and what is published of them.

A column follows from a level when all records whose quasi-identifier has the same text there hold one value of it (NULL
is a value). If it follows from a level it follows from those below, because a text of a level has one text above. Where
it is published only at levels from which it follows, and is NULL otherwise, two records that agree in the published
text of the quasi-identifier agree in it: it splits no class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, SOURCE, EncodedSource
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    bigint,
    canonical,
    column,
    count_distinct,
    count_rows,
    cte,
    equal,
    is_null,
    lookup_rows,
    named,
    number,
    or_zero,
    table,
    total,
    union_all,
    when,
    with_ctes,
)

PAIRS = "pairs"
NOWHERE = -1
"""The level of a column that is blank at every level."""


@dataclass(frozen=True, slots=True)
class TravellingColumn:
    """A column that travels with a quasi-identifier.

    Attributes:
        position: of the quasi-identifier it travels with.
        level: the highest level of it at which the column is published.
    """

    name: str
    position: int
    level: int = NOWHERE

    def value(self, value: exp.Expr, type_name: str, levels: Sequence[int], level: exp.Expr | None = None) -> exp.Expr:
        """Return what is published of the column: its value, or NULL.

        Args:
            levels: at which the quasi-identifier is published.
            level: of a record, where there are several.
        """
        shown = [used for used in levels if used <= self.level]
        if len(shown) == len(levels):
            return value
        nothing = exp.cast(exp.null(), data_type(type_name))
        if not shown or level is None:
            return nothing
        return exp.Case(ifs=[exp.If(this=exp.LTE(this=level, expression=number(self.level)), true=value)])


NO_TRAVELLING: Mapping[str, TravellingColumn] = MappingProxyType({})


def several_values(source: EncodedSource, position: int, height: int, name: str, type_name: str) -> exp.Query:
    """Return per level of a quasi-identifier how many of its texts hold several values of a column, and their records.

    Args:
        height: how many levels the quasi-identifier has, that of its values included.
        name, type_name: of the column.
    """
    lookup = names.lookup(position)
    texts = [named(column(names.level(level), lookup), f"text_{level}") for level in range(height)]
    records = source.quasi.encoded([*texts, named(canonical(name, type_name, SOURCE), "value")])
    if source.taking_part.members:
        records = records.where(column(names.MEMBER, SOURCE), copy=False)
    keys = [column(item.alias) for item in texts]
    counted = named(bigint(count_rows()), names.COUNT)
    pairs = exp.select(*keys, column("value"), counted).from_(records.subquery("records"))
    pairs = pairs.group_by(*[key.copy() for key in keys], column("value"))
    return with_ctes(union_all([_of_level(level) for level in range(height)]), [cte(PAIRS, pairs)])


def _of_level(level: int) -> exp.Select:
    text = column(f"text_{level}")
    null = exp.Max(this=when(is_null(column("value")), number(1), number(0)))
    values = exp.Add(this=count_distinct(column("value")), expression=null)
    texts = exp.select(named(total(column(names.COUNT)), names.COUNT)).from_(table(PAIRS)).group_by(text)
    texts = texts.having(exp.GT(this=values, expression=number(1)))
    counts = [named(count_rows(), "texts"), named(or_zero(total(column(names.COUNT))), "records")]
    return exp.select(named(number(level), "level"), *counts).from_(texts.subquery("texts"))


def shared_texts(position: int, low: Sequence[int], high: Sequence[int]) -> exp.Select:
    """Return how many texts of a quasi-identifier stand on some of the levels ``low`` and on some of ``high``, too."""
    sides = [union_all([_texts(position, level) for level in levels]) for levels in (low, high)]
    return exp.select(count_rows()).from_(exp.intersect(*sides).subquery("shared"))


def _texts(position: int, level: int) -> exp.Select:
    rows = exp.select(column(names.level(level))).from_(lookup_rows(position))
    return rows.where(equal(column(COVERED), number(1)))
