"""Which column of a table names persons who have several records."""

from __future__ import annotations

from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.looks import NEARLY_ALL, is_whole
from sqlanon.assess.profiling.topics import is_constant
from sqlanon.core.audit.judged_columns import OF_A_PERSON, SEVERAL
from sqlanon.core.source.known import OF_ONE
from sqlanon.core.source.vocabulary import PERSONAL
from sqlanon.core.source.vocabulary import PERSONS as OF_PERSONS
from sqlanon.core.source.words import parts_of, speaks_of_persons

NAMING = ("identifier", "uuid", "email", "phone")
"""Looks of columns whose values name one person each."""
PART_OF_NAME = {*PERSONAL} - {*OF_PERSONS, "full", "fullname", "contact"}
"""Words of a part of a name, which many persons share: no entity."""
TOLD_BY_A_NAME = 2
"""Quasi-identifiers that follow from a first name, at most: the sex, and where parents come from."""
MOST_OF_ONE = 0.1
"""The share of the records that one person has, at most, where no name says that a column names persons."""


def entity_of(profile: Profile, *, nulls: bool = False) -> ColumnProfile | None:
    """Return the column that names persons who have several records; None without one. A preset knows it. With
    ``nulls`` it does not name those of some records, so that no run counts by it.

    What stays the same of a person follows from it, or its name or its values are those of persons. Where nothing does,
    most quasi-identifiers follow. Of several such columns
    it is the one of fewest values: a person has several accounts. Where there is none, it is the one of most values.
    """
    fit = profile.preset
    constant = any(is_constant(item) and item.role == "quasi_identifier" for item in profile.columns)
    if fit is not None and fit.entity is not None:
        known = profile.column(fit.entity)
        if constant and known.names_persons < 0 and not _names_one(known):  # a vehicle has several drivers
            return None
        several = known.policy_role == "drop" and known.distinct < known.filled
        return known if several and bool(known.nulls) == nulls else None
    if any(item.distinct == item.records and _is_of_one(item.name) for item in profile.columns):
        return None
    named = [
        item
        for item in profile.columns
        if (item.looks_like in NAMING or (item.names_persons > 0 and item.most <= MOST_OF_ONE * item.filled))
        and (not constant or _names_one(item) or item.names_persons > 0 or parts_of(item.name) == ("id",))
        and (item.reads_as != "number" or is_whole(item))  # no share, weight or rating
        and not (item.looks_like == "name" and _is_part_of_names(item))
        and item.policy_role == "drop"
        and bool(item.nulls) == nulls
        and 0 < item.distinct * SEVERAL <= item.filled
    ]

    def likely(item: ColumnProfile) -> tuple[int, bool, int]:
        few_first = -item.distinct if item.names_persons > 0 else item.distinct
        follow = min(item.names_persons, 1) if constant else item.names_persons  # more follows from a person's orders
        return follow, item.looks_like in NAMING, few_first  # an id from which nothing follows comes last

    found = max(named, key=likely, default=None)
    if fit is not None and fit.one_record and found is not None:  # unless most of what is known follows, no person
        quasi = len(profile.with_role("quasi_identifier"))
        found = found if 2 * found.names_persons > quasi else None
    return found


def _is_of_one(name: str) -> bool:
    return speaks_of_persons(name) or not {*OF_ONE}.isdisjoint(parts_of(name))


def _is_part_of_names(item: ColumnProfile) -> bool:
    """Return whether a column of names holds first names, say, which many persons share."""
    single = item.shapes.get("full_name", 0.0) + item.shapes.get("titled", 0.0) == 0
    shared = single and item.filled > OF_A_PERSON * item.distinct and item.names_persons <= TOLD_BY_A_NAME
    return shared or not PART_OF_NAME.isdisjoint(parts_of(item.name))


def _names_one(found: ColumnProfile) -> bool:
    """Return whether a column names one person each, though what is known of them varies, as where it is mistyped."""
    numbered = max(found.shapes.get("ssn", 0.0), found.shapes.get("iban", 0.0)) >= NEARLY_ALL
    return found.looks_like in ("email", "phone") or numbered or speaks_of_persons(found.name)
