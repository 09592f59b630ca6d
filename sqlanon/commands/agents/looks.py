"""What columns look like to an agent: judged from counts that were rounded before, so that a look tells no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlanon.assess.profiling.facts import TAIL, ColumnProfile
from sqlanon.assess.profiling.looks import look_of, reading_of
from sqlanon.assess.profiling.roles import suggest
from sqlanon.assess.profiling.topics import topic_of
from sqlanon.commands.agents.sieve import Sieve
from sqlanon.core.source.beside import kind_of
from sqlanon.core.source.columns import is_scalar

FEW_VALUES = "few_values"
"""Fewer than k records have a value, or none has."""
FEW = 3
"""Stands for all numbers of distinct values that are not told; one would be a constant, and two a flag."""


def looks_of(found: ColumnProfile, sieve: Sieve) -> dict[str, Any]:
    """Return the look of a column, and the role that it may have."""
    if not is_scalar(found.type):
        return {"looks_like": found.looks_like, "suggested_role": found.role}  # by its type alone
    rounded = _rounded(found, sieve)
    look = look_of(rounded)
    suggested = suggest(replace(rounded, looks_like=look.kind, because=look.because))
    return {"looks_like": FEW_VALUES if look.kind == "empty" else look.kind, "suggested_role": suggested.role}


def values_of(found: ColumnProfile, sieve: Sieve) -> int | str | None:
    """Return the number of distinct values: where few records have one, or where it is small, as that of small classes.

    A value may be rare unless it has as many records as a threshold of the profile from k on.
    """
    known = next((item.values for item in found.frequent if item.at_least >= sieve.k), 0)
    return sieve.kinds(found.distinct, found.records, small=known < found.distinct or found.distinct < sieve.k)


def _rounded(found: ColumnProfile, sieve: Sieve) -> ColumnProfile:
    """Return a column with the counts that an agent may know in the place of its own."""
    records = int(_part(found.records, None, sieve))

    is_told = not str(values_of(found, sieve)).startswith("<")

    def part(count: float) -> int:
        return min(records, int(_part(count, found.records, sieve)))

    values = max(found.examined, 1)
    shapes = {
        shape: _part(share * values, values, sieve) / _part(values, None, sieve)
        for shape, share in found.shapes.items()
        if values >= sieve.k
    }
    tells_bounds = sieve.k <= TAIL
    return replace(
        found,
        topic=topic_of(found.name),  # and not by values, of which few records may have one
        records=records,
        nulls=part(found.nulls),
        empty=part(found.empty),
        distinct=part(found.distinct) if is_told else FEW,
        alone=part(found.alone),
        most=part(found.most),
        shapes=shapes,
        number_share=part(found.number_share * found.records) / max(records, 1),
        reads_as=reading_of(kind_of(found.type), shapes)[0],
        spread=found.spread if tells_bounds else None,
        lengths=found.lengths if tells_bounds else None,
        examined=0,
        separation=None,
        frequent=(),
    )


def _part(count: float, whole: float | None, sieve: Sieve) -> float:
    """Return a count as a number: none where it is small, all where few are left, or else a multiple of k."""
    if count < sieve.k:
        return 0
    if whole is not None and whole - count < sieve.k:
        count = whole
    return float(sieve.count(count) or 0)
