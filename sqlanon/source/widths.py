"""The width of ``redact``: how many characters its texts have, and so how many levels.

Every published text, the number of levels in the manifest, the certificate and the size of the lattice show the width.
If it were the length of the longest value, they would show the length of one record's value, also of a record that is
suppressed. So it is a length that as many records reach as a class must hold, which singles nobody out; longer values
are cut. ``redact: {width: 5}`` sets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.compiler.encoded_source import EncodedSource
from sqlanon.engines.base import Engine
from sqlanon.models import least_size
from sqlanon.policy import Column, Policy
from sqlanon.policy.hierarchy.specs import Redact
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import canonical, column, named, not_null, number, table, total

Lengths = tuple[tuple[int, int], ...]
"""Pairs of a length in characters, and the records (or entities) whose (longest) value has it."""


def is_open(spec: Column) -> bool:
    """Return whether the width of a column follows from its values."""
    return spec.role == "quasi_identifier" and isinstance(spec.hierarchy, Redact) and spec.hierarchy.width is None


def with_width(
    engine: Engine, source: EncodedSource, position: int, spec: Column, type_name: str, policy: Policy
) -> tuple[Column, Lengths]:
    """Return a column whose hierarchy has a width, and the lengths that it follows from; any other column as it is."""
    if not is_open(spec):
        return spec, ()
    assert isinstance(spec.hierarchy, Redact)
    query = _lengths(source, position, canonical(spec.name, type_name))
    lengths = tuple((int(length), int(held)) for length, held in engine.run("lengths", query))
    return replace(spec, hierarchy=replace(spec.hierarchy, width=shared_width(lengths, policy))), lengths


def shared_width(lengths: Lengths, policy: Policy) -> int:
    """Return the greatest length that as many records (or entities) reach as a class must hold; at least 1.

    Where there are fewer than that at all, none is published, and the least length is returned.

    >>> from sqlanon.policy import Model
    >>> policy = Policy((Column.quasi_identifier("zip", Redact()),), (Model("k_anonymity", {"k": 5}),))
    >>> shared_width(((4, 90), (5, 7), (9, 1)), policy)
    5
    """
    needed, reached = max(2, least_size(policy.models)), 0
    ordered: Sequence[tuple[int, int]] = sorted(lengths, reverse=True)
    for length, held in ordered:
        reached += held
        if reached >= needed:
            return max(1, length)
    return max(1, ordered[-1][0]) if ordered else 1


def _lengths(source: EncodedSource, position: int, text: exp.Expr) -> exp.Query:
    """Return how many records, or entities, have a value of which length; of an entity its longest counts."""
    if source.entity is None:
        of_values = named(exp.Length(this=column("value")), "length"), named(column(names.COUNT), "held")
        held = exp.select(*of_values).from_(table(names.distinct_values(position))).where(not_null(column("value")))
    else:
        longest = named(exp.Max(this=exp.Length(this=text)), "length"), named(number(1), "held")
        held = exp.select(*longest).from_(source.relation.copy()).group_by(source.entity.text())
        held = held.where(source.taking_part.of_population.condition(), not_null(text.copy()))
    counted = exp.select(column("length"), named(total(column("held")), "held")).from_(held.subquery("lengths"))
    return counted.group_by(column("length"))
