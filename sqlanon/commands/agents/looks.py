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


def looks_of(profile: ColumnProfile, sieve: Sieve) -> dict[str, Any]:
    """Return the look of a column, and the role that it may have."""
    if not is_scalar(profile.type):
        return {"looks_like": profile.looks_like, "suggested_role": profile.role}  # by its type alone
    rounded = _rounded(profile, sieve)
    look = look_of(rounded)
    suggested = suggest(replace(rounded, looks_like=look.kind, because=look.because))
    return {"looks_like": FEW_VALUES if look.kind == "empty" else look.kind, "suggested_role": suggested.role}


def values_of(profile: ColumnProfile, sieve: Sieve) -> int | str | None:
    """Return the number of distinct values: where few records have one, or where it is small, as that of small classes.

    A value may be rare unless it has as many records as a threshold of the profile from k on.
    """
    known = next((item.values for item in profile.frequent if item.at_least >= sieve.k), 0)
    return sieve.kinds(profile.distinct, profile.records, small=known < profile.distinct or profile.distinct < sieve.k)


def _rounded(profile: ColumnProfile, sieve: Sieve) -> ColumnProfile:
    """Return a column with the counts that an agent may know in the place of its own."""
    records = int(_part(profile.records, None, sieve))

    is_told = not str(values_of(profile, sieve)).startswith("<")

    def part(count: float) -> int:
        return min(records, int(_part(count, profile.records, sieve)))

    values = max(profile.examined, 1)
    shapes = {
        shape: _part(share * values, values, sieve) / _part(values, None, sieve)
        for shape, share in profile.shapes.items()
        if values >= sieve.k
    }
    tells_bounds = sieve.k <= TAIL
    return replace(
        profile,
        topic=topic_of(profile.name),  # and not by values, of which few records may have one
        records=records,
        nulls=part(profile.nulls),
        empty=part(profile.empty),
        distinct=part(profile.distinct) if is_told else FEW,
        alone=part(profile.alone),
        most=part(profile.most),
        shapes=shapes,
        number_share=part(profile.number_share * profile.records) / max(records, 1),
        reads_as=reading_of(kind_of(profile.type), shapes)[0],
        spread=profile.spread if tells_bounds else None,
        lengths=profile.lengths if tells_bounds else None,
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
