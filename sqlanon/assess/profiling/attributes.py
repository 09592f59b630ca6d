"""Columns that say the same are one attribute: one of them leads, and the others follow it or are left out.

The leader is a quasi-identifier, or what its columns are otherwise; the search looks at it alone. A follower is
published as far as it follows from what is published of the leader (``with`` in a policy), or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlanon.assess.profiling.dependencies import AGE, NUMBERS, PARTS, SUM, VALUE, Dependency
from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile, Follower, SameColumns, few_or
from sqlanon.assess.profiling.looks import FEW_TEXTS
from sqlanon.assess.profiling.topics import is_constant
from sqlanon.assess.profiling.vocabulary import CODED
from sqlanon.core.source.words import kinds_of, parts_of

DATES = ("birth_date", "date", "moment")
NATURAL = (*DATES, "zip", "postcode", "icd10", "atc", "country", "age", "year", *NUMBERS)
"""Looks of columns that lead those which follow from them, the best first: their hierarchies are known."""
PLACES, POINTS = ("place", "postcode", "zip"), ("latitude", "longitude", "coordinates")
FEWEST_PLACES, MOST_PLACES = 3, 2_000
LEFT_OUT = ", which is left out."
COMMON, MANY_CODES = 0.75, 100
FEW_TOGETHER, MOST_TOGETHER = 10, 40
"""Records of a number of a group, a household's or a couple's, at most: of one on average, and of the largest."""
OF_A_GROUP = "Most columns follow from it: it is the number of a person or of a group of records."
KEY = 4
"""A column from which more than half of the others follow, and so many at least, is a key."""
PERIODS: Mapping[str, tuple[str, ...]] = {
    "year": ("year", "jahr", "annee", "anio", "ano", "anno", "jaar", "yr"),
    "month": ("month", "monat", "mois", "mes", "mese", "maand"),
    "day": ("day", "tag", "jour", "dia", "giorno", "dag"),
}
MOST_VALUES = {"month": 12, "day": 31}
Columns = Mapping[str, ColumnProfile]
Leaders = dict[str, Follower]
Found = Mapping[tuple[str, str, str], int]
"""Column, what follows from it, and how -> the records that contradict."""
SAME, FINER, PART, POINT = "same", "finer", "part", "point"
"""How a column follows besides ``VALUE`` and ``PARTS``: it says the same, says more, is a part of one date, or a point
of a place."""


def find_attributes(columns: Sequence[ColumnProfile], dependencies: Iterable[Dependency]) -> tuple[SameColumns, ...]:
    """Return the attributes of several columns, in the order of their leaders in the table.

    Args:
        columns: with the role that each would have by itself.
    """
    by_name = {item.name: item for item in columns}
    found = {
        (each.of, each.follows, each.how): each.breaks
        for each in dependencies
        if not by_name[each.follows].decides  # what others say more of leads
    }
    leaders: dict[str, Follower] = {}
    _lead_twins(by_name, found, leaders)
    free = {name for name, item in by_name.items() if name not in leaders and _is_known(item)}
    keys = _keys(by_name, free, found)
    _lead_points(by_name, free, leaders)
    free -= {*leaders}
    for (of, to, how), breaks in found.items():
        if how in (AGE, SUM) and {of, to} <= free - {*leaders}:
            leaders[to] = Follower(to, of, how, breaks)
    _lead_parts(by_name, free, found, leaders)
    natural = {name for name in free - keys if _leads_naturally(by_name[name])}
    _lead_values(by_name, free, natural, found, leaders)
    _lead_finer(by_name, free - keys, found, leaders)
    _lead_values(by_name, free, free - keys, found, leaders)
    _lead_parts_of_none(columns, leaders)
    return _grouped(columns, leaders)


def _lead_points(by_name: Columns, free: set[str], leaders: Leaders) -> None:
    """Let the place of most values lead the points of a map: half a point, or its band, says nothing beside it."""
    of_place = [by_name[name] for name in free if by_name[name].looks_like in PLACES]
    places = [item for item in of_place if FEWEST_PLACES <= item.distinct <= MOST_PLACES]
    if places:
        place = max(places, key=lambda item: (item.distinct, item.name)).name
        points = (name for name in sorted(free) if by_name[name].looks_like in POINTS)
        leaders.update({name: Follower(name, place, POINT, 0) for name in points})


def find_keys(columns: Sequence[ColumnProfile], dependencies: Iterable[Dependency]) -> tuple[str, ...]:
    """Return the numbers of persons or groups that no name says: most columns follow from them, and records repeat."""
    by_name = {item.name: item for item in columns}
    found = {(each.of, each.follows, each.how): each.breaks for each in dependencies}
    free = {name for name, item in by_name.items() if _is_known(item)}
    numbers = ("number", "code", "category", "other")
    return tuple(
        name
        for name in _keys(by_name, free, found)
        if (item := by_name[name]).distinct > FEW_TEXTS and item.looks_like in numbers and item.reads_as == "whole"
    )


def belong_together(found: ColumnProfile) -> bool:
    """Return whether a number that is dropped seems to be that of households: most columns follow from it, or its name
    says so, and few records have the same."""
    few = 2 * found.distinct <= found.filled <= FEW_TOGETHER * found.distinct and found.most <= MOST_TOGETHER
    named = found.looks_like == "household" or (
        found.looks_like == "identifier" and "household" in kinds_of(found.name)
    )
    return few and found.policy_role == "drop" and (found.reason == OF_A_GROUP or named)


def _is_known(item: ColumnProfile) -> bool:
    return item.role in ("quasi_identifier", "keep")


def _lead_twins(by_name: Columns, found: Found, leaders: Leaders) -> None:
    """Let of columns of which each follows from the other the best one lead."""
    twins = [(of, to) for of, to, how in found if how == VALUE and (to, of, VALUE) in found]
    for name in sorted({of for of, _ in twins}, key=lambda name: _rank(by_name[name], by_name)):
        if name in leaders:
            continue
        for other in (to for of, to in twins if of == name):
            if other not in leaders and not any(item.leader == other for item in leaders.values()):
                leaders[other] = Follower(other, name, SAME, max(found[name, other, VALUE], found[other, name, VALUE]))


def _rank(item: ColumnProfile, names: Container[str] = ()) -> tuple[object, ...]:
    """Return how well a column leads those that say the same: what must be protected first, then what reads best."""
    looks = "" if item.looks_like in NUMBERS else item.looks_like  # a label says more than a bound of what it labels
    natural = NATURAL.index(looks) if looks in NATURAL else len(NATURAL)
    computed = re.match(r"(log|ln)[_. ]?[a-z]|.*(sq|_z|_std)$", item.name.casefold()) is not None
    computed |= item.name[:1] in "lL" and item.name[1:] in names
    return (item.role != "sensitive", computed, natural, item.reads_as != "text", -item.filled, item.name)


def _keys(by_name: Columns, free: set[str], found: Found) -> set[str]:
    """Return the columns from which most others follow, or several with what stays the same of a person: their keys."""
    given: dict[str, set[str]] = {name: set() for name in free}
    for of, to, how in found:
        if how == VALUE and of in free and to in free:
            given[of].add(to)
    return {
        name
        for name, follow in given.items()
        if (len(follow) >= KEY and 2 * len(follow) > len(free) - 1)
        or (
            len(follow) > 1
            and by_name[name].distinct > FEW_TEXTS
            and by_name[name].looks_like in ("number", "category", "code", "other")
            and any(is_constant(by_name[to]) for to in follow)
        )
    }


def _open(free: set[str], leaders: Mapping[str, Follower]) -> list[str]:
    """Return the columns that may follow another: they follow none, and are no age or total that leads."""
    return sorted(free - {*leaders} - {item.leader for item in leaders.values() if item.how in (AGE, SUM)})


def _lead_parts(by_name: Columns, free: set[str], found: Found, leaders: Leaders) -> None:
    """Let dates lead their years, quarters, months and days; a birth before others."""
    dates = sorted((name for name in free if by_name[name].looks_like in DATES), key=lambda name: _rank(by_name[name]))
    for of in dates:
        for name in _open(free - {of}, leaders):
            parts = [(found[of, name, how], PARTS.index(how), how) for how in PARTS if (of, name, how) in found]
            if parts and by_name[name].looks_like not in DATES:
                breaks, _, how = min(parts)
                leaders[name] = Follower(name, of, how, breaks)


def _lead_values(by_name: Columns, free: set[str], leading: set[str], found: Found, leaders: Leaders) -> None:
    """Let columns lead those that follow from their values; of several, the one with the fewest values."""
    for name in _open(free, leaders):
        givers = [
            of
            for of, follows, how in found
            if follows == name and how == VALUE and of in leading and (name, of, VALUE) not in found
            and by_name[of].looks_like != "moment"  # it is the key of an event
            and (of not in leaders or leaders[of].how != FINER)
        ]  # fmt: skip
        if givers:
            giver = min(givers, key=lambda of: by_name[of].distinct)
            leaders[name] = Follower(name, giver, VALUE, found[giver, name, VALUE])


def _lead_finer(by_name: Columns, free: set[str], found: Found, leaders: Leaders) -> None:
    """Let the finer of two categories follow the coarser one, where the finer has rare values."""
    for of in _open(free, leaders):
        if _leads_naturally(by_name[of]):
            continue
        coarser = [
            to
            for start, to, how in found
            if start == of
            and how == VALUE
            and to in free
            and to not in leaders
            and (to, of, VALUE) not in found
            and not (by_name[of].looks_like in NUMBERS and by_name[to].reads_as != "text")  # numbers lead their bands
        ]
        labels = [to for to in coarser if by_name[to].reads_as == "text" and not _is_coded(to)]
        if coarser and (not _is_common(by_name[of]) or (labels and _is_coded(of))):
            common = [to for to in coarser if _is_common(by_name[to])] if not _is_common(by_name[of]) else labels
            best = max(common, key=lambda to: by_name[to].distinct) if common else coarser[0]
            leaders[of] = Follower(of, best, FINER, found[of, best, VALUE])


def _leads_naturally(item: ColumnProfile) -> bool:
    """Return whether a column leads what follows from it; not so many whole numbers, which may be codes of kinds."""
    codes = item.looks_like == "number" and item.reads_as == "whole" and item.distinct > MANY_CODES
    return item.looks_like in NATURAL and not codes


def _is_coded(name: str) -> bool:
    return not {*CODED.split(), "raw"}.isdisjoint(parts_of(name))


def _is_common(item: ColumnProfile) -> bool:
    """Return whether values that a twentieth of the records have hold most of the records."""
    held = max((each.records for each in item.frequent if 20 * each.at_least >= item.records), default=0)
    return held >= COMMON * item.filled


def _lead_parts_of_none(columns: Sequence[ColumnProfile], leaders: dict[str, Follower]) -> None:
    """Let a year lead the month and the day of the same date, where the date itself is not there."""
    years = {
        _of_period(item.name, "year"): item.name
        for item in columns
        if item.looks_like == "year" and item.name not in leaders and _is_known(item)
    }
    for item in columns:
        for period, most in MOST_VALUES.items():
            stem = _of_period(item.name, period)
            fits = item.reads_as == "whole" and item.distinct <= most and _is_known(item) and item.name not in leaders
            if fits and stem is not None and stem in years:
                leaders[item.name] = Follower(item.name, years[stem], PART, 0)


def _of_period(name: str, period: str) -> str | None:
    """Return of what a column is the year, month or day, by its name; None if it is called none.

    >>> _of_period("year_of_birth", "year"), _of_period("Geburtsmonat", "month"), _of_period("weight", "day")
    ('ofbirth', 'geburts', None)
    """
    joined = "".join(parts_of(name))
    word = next((word for word in PERIODS[period] if word in joined), None)
    return None if word is None else joined.replace(word, "", 1)


def _grouped(columns: Sequence[ColumnProfile], leaders: Mapping[str, Follower]) -> tuple[SameColumns, ...]:
    """Return the attributes: what follows from a follower follows from its leader."""
    groups: dict[str, list[Follower]] = {}
    for item in columns:
        if (follower := leaders.get(item.name)) is None:
            continue
        leader, how, breaks = follower.leader, follower.how, follower.breaks
        seen = {item.name}
        while (above := leaders.get(leader)) is not None and leader not in seen:
            seen.add(leader)
            leader, breaks = above.leader, max(breaks, above.breaks)
            rough = next((one for one in (FINER, AGE, SUM) if one in (how, above.how)), None)
            how = rough or (above.how if above.how in PARTS or how == SAME else how)
        groups.setdefault(leader, []).append(replace(follower, leader=leader, how=how, breaks=breaks))
    return tuple(SameColumns(item.name, tuple(groups[item.name])) for item in columns if item.name in groups)


def with_attributes(columns: Sequence[ColumnProfile], attributes: Sequence[SameColumns]) -> list[ColumnProfile]:
    """Return the columns with the roles that they have as leaders and followers."""
    by_name = {item.name: item for item in columns}
    for attribute in attributes:
        leader = by_name[attribute.leader]
        if attribute.followers[0].how == SUM and leader.role != "quasi_identifier":
            continue
        members = [by_name[follower.column] for follower in attribute.followers]
        known = next((item for item in members if item.role == "quasi_identifier"), None)
        if leader.role == "keep" and known is not None:
            reason = f"It says the same as {known.name!r}: {known.reason}"
            leader = replace(leader, role=known.role, reason=reason, question=known.question)
        by_name[leader.name] = leader
        for follower in attribute.followers:
            by_name[follower.column] = _following(by_name[follower.column], follower, leader)
    return [by_name[item.name] for item in columns]


def _following(item: ColumnProfile, follower: Follower, leader: ColumnProfile) -> ColumnProfile:
    """Return a follower: published with its leader where it follows exactly, and otherwise not."""
    item = replace(item, leader=leader.name, how=follower.how, question=None, otherwise=None)
    if leader.role not in ("quasi_identifier", "keep"):
        reason = f"It says the same as {leader.name!r}."
        return replace(item, role=leader.role if leader.role in DROPPED else "drop", reason=reason)
    records = f"{few_or(follower.breaks)} record{'s' * (follower.breaks != 1)}"
    if follower.how in (AGE, SUM, FINER, POINT):
        contradict = f"{records} contradict" if follower.breaks else "values that few records have"
        reason = {
            AGE: f"It says the same as {leader.name!r}, which has bands that readers know.",
            SUM: f"It is a part of the total {leader.name!r}.",
            POINT: f"It is a point of a map, whose place is {leader.name!r}.",
            FINER: f"{leader.name!r} follows from it: it says more, {'but' if follower.breaks else 'in'} {contradict}.",
        }[follower.how]
        question = f"Is it needed more than {leader.name!r}? Then give it the role quasi_identifier, and drop that one."
        return replace(item, role="drop", reason=reason, question=question, otherwise="quasi_identifier")
    if follower.breaks:
        reason = f"It follows from {leader.name!r}, but in {records}."
        question = f"Correct these records, and it can be published with {leader.name!r}."
        return replace(item, role="drop", reason=reason, question=question)
    if follower.how == PART:
        reason = f"It is a part of the date whose year is {leader.name!r}."
        question = "Is the order within a year needed? Then make one date of its parts, in a view of the source."
        return replace(item, role="drop", reason=reason, question=question)
    if follower.how == "day" or (leader.looks_like in DATES and follower.how in (VALUE, SAME)):
        return replace(item, role="drop", reason=f"It follows from {leader.name!r}, which is published.")
    if leader.misfits or leader.no_codes:
        reason = f"It follows from {leader.name!r}, of which some values cannot be read and are published as *."
        return replace(item, role="drop", reason=reason)
    reason = f"It follows from {leader.name!r}, and is published as far as that is."
    return replace(item, role="keep", reason=reason)


def settled_followers(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns, without followers whose leader is not published, or which a run would refuse."""
    roles = {item.name: item.role for item in columns}
    result = []
    for item in columns:
        if item.leader is not None and item.role not in DROPPED:
            led = roles[item.leader]
            if item.role != "keep" or led not in ("quasi_identifier", "keep"):
                why = LEFT_OUT if led in DROPPED else ", which is sensitive."
                reason = item.reason if item.role != "keep" else f"It follows from {item.leader!r}{why}"
                item = replace(item, role="drop", reason=reason, question=None, otherwise=None)
        result.append(item)
    return result
