"""The roles among which a search of releases chooses: what would be kept is generalized, or an outcome with a model."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from sqlanon.assess.profiling.attributes import LEFT_OUT, settled_followers
from sqlanon.assess.profiling.dependencies import SUM, VALUE
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.interest import (
    ENDED,
    MOST_BANDS,
    asked_alike,
    by_interest,
    by_variety,
    is_a_number_of_things,
    is_measured_subject,
    observed_times,
    says_how_old,
    subject_scores,
    tells_apart,
)
from sqlanon.assess.profiling.looks import FEW_NUMBERS
from sqlanon.assess.profiling.roles import (
    ASK_BEYOND,
    ASK_FEW_KEPT,
    ASK_FOLLOWING,
    ASK_OTHERS,
    DISTINGUISHES,
    K,
    has_rare_values,
    suggest,
)

ASK_LEFT_OUT = (
    "May others learn it of a person? Then keep it. Is it what the table is about? Then publish it with its model, and "
    "drop others."
)
ASK_OUTCOME = (
    "May others know it of a person? Then make it a quasi_identifier, with a hierarchy in place of its models."
)
ASK_RARE = "May its rare values be seen beside the others? Otherwise leave them merged."
NEARLY_CONSTANT = 0.95
"""The share of one value from which on the others of a sensitive column are too few to be merged."""
FEW_OUTCOMES, MOST_KINDS, MOST_OUTCOMES, OF_KINDS, ABOUT_IT = 10, 30, 7, 0.25, 1.0
"""Values of an outcome, at most, that are not put in bands if they are numbers, and of any; outcomes, at most; and what
speaks for kinds, and for counts from 0, being what the table is about, at least (``subject_scores``): others know how
many children somebody has."""
OUTCOME = "It is what the table is about: its model protects it, so that it need not be generalized."
FLAG = "A model protects it in place of a hierarchy, so that it parts no class."
MOST_FLAGS = 3
"""Flags of which nothing is known, at most, that a model protects."""
BANDS = "It is what the table is about: its model protects it, in bands, so that it need not part the classes."
NUMBERS = "By its name its values number things or persons, which says nothing of these."
PRODUCT = "It is called by {!r} and {!r}, and seems to be made of them."
TOLD = "{!r} and {!r} tell it, together: beside them it would tell more of both than their bands do."
KNOWN_EVENT = (
    "A model would leave out many of those to whom it happened. Others may know of it: it parts the classes instead."
)
ASK_BANDS = "May others know it of a person, if only about? Then make it a quasi_identifier, without level and models."
FEWEST_COUNTED = 3
"""Numbers of a count, more than which it has."""
MOSTLY = 0.8
"""The share of the records in one arm of a study from which on who is in another is known of few."""
MOSTLY_HELD = 0.5
"""The share of the records with a value from which on a number is published in bands."""
MOST_SEARCHED = 20
"""Columns among which the search of a draft chooses."""


def as_searched(profile: Profile, entity: str | None = None) -> Profile:
    """Return a profile whose columns are quasi-identifiers where they would be kept, so that none parts a class, or
    were left out because there were many: the search chooses among ``MOST_SEARCHED``, those of most interest."""

    def judged(item: ColumnProfile) -> ColumnProfile:
        if item.name in measured:
            return _in_bands(item, by_name[item.near.equals] if item.near.equals in measured else item)
        if item.role == "sensitive" and item.name in beside:
            reason = f"It gives {beside[item.name]!r} away, of which it says more."
            return replace(item, role="drop", otherwise="sensitive", question=ASK_LEFT_OUT, reason=reason)
        if item.role == "sensitive" and (has_rare_values(item) or item.name in constant):
            return _in_bands(item) if _has_bands(item) else _merged(item)
        if item.topic == "study" and item.role == "sensitive" and _is_rare_arm(item):
            reason = f"{item.reason} Few records hold its other values, and others may know of whom: generalized."
            return replace(item, role="quasi_identifier", otherwise="sensitive", reason=reason)
        if item.leader in restored and item.reason.endswith(LEFT_OUT):
            reason = f"It follows from {item.leader!r}, and is published as far as that is."
            return replace(item, role="keep", reason=reason)
        if item.name in outcomes and _has_bands(item):
            return _in_bands(item)
        if item.name in outcomes or item.name in flags:
            why = OUTCOME if item.name in outcomes else FLAG
            return replace(item, role="sensitive", reason=f"{item.reason} {why}", question=ASK_OUTCOME)
        if item.question == ASK_BEYOND:
            return replace(item, role="quasi_identifier", question=None, otherwise=None)
        if item.policy_role != "keep" or item.leader is not None or item.distinct + (item.nulls > 0) < 2:
            return item
        givers = [name for name in item.follows_from if name in sensitive and not item.decides]
        if givers:
            return replace(item, role="drop", otherwise="keep", question=ASK_FOLLOWING,
                           reason=f"It follows from {givers[0]!r}, which is published as it is.")  # fmt: skip
        reason = f"{item.reason} {DISTINGUISHES}"
        return replace(item, role="quasi_identifier", otherwise="keep", question=ASK_FEW_KEPT, reason=reason)

    title = (profile.source, profile.table)
    linking = {c.name for c in profile.columns if entity in c.follows_from}  # these join the records of a person
    followed = observed_times(profile.columns)
    profile = replace(profile, columns=tuple(_by_itself(c) if c.how == SUM and c.name in followed else c
                                             for c in profile.columns))  # fmt: skip
    measured, by_name = _measured(profile, title, linking), {item.name: item for item in profile.columns}
    profile = replace(profile, columns=tuple(_freed(item, measured) for item in profile.columns))
    outcomes = _outcomes(profile, title) - linking
    flags = _unknown_flags(profile, title, outcomes) - linking
    restored = {item.name for item in profile.columns if item.question == ASK_BEYOND}
    sensitive = {item.name for item in profile.columns if item.role == "sensitive"} | outcomes | flags
    beside = {name: item.name for item in profile.columns if item.decides for name in item.follows_from}
    scores = subject_scores(profile.columns, profile.columns, title)
    constant = {c.name for c in profile.columns if c.most > NEARLY_CONSTANT * c.filled and scores[c.name] <= 0}
    products, told = _products(profile.columns), _told(profile, title)
    columns = [_said_otherwise(judged(item), products, told) for item in profile.columns]
    candidates = [item for item in columns if item.role in ("quasi_identifier", "sensitive")]
    beyond = {*by_interest(candidates, columns, title)[MOST_SEARCHED:]}
    columns = [
        replace(item, role="drop", question=ASK_OTHERS, otherwise="quasi_identifier")
        if item.name in beyond and item.role == "quasi_identifier"
        else item
        for item in columns
    ]
    return replace(profile, columns=tuple(settled_followers(columns)))


def _is_rare_arm(item: ColumnProfile) -> bool:
    """Return whether nearly all records are in one arm of a study; whether something happened is no arm."""
    return item.most > MOSTLY * item.records and not item.name.casefold().endswith((*ENDED,))


def with_known_events(profile: Profile, names: Container[str]) -> Profile:
    """Return a profile of which some flags of what happened to persons whom a study followed, and that have a model,
    are what others know: generalized with it, they are published of all classes."""

    def known(item: ColumnProfile) -> ColumnProfile:
        is_event = item.topic == "death" or item.name.casefold().endswith((*ENDED,))
        if item.name not in names or item.role != "sensitive" or item.distinct != 2 or not is_event:
            return item
        reason = f"{item.reason} {KNOWN_EVENT}"
        return replace(item, role="quasi_identifier", otherwise="sensitive", reason=reason, question=None)

    return replace(profile, columns=tuple(map(known, profile.columns)))


def _products(columns: Sequence[ColumnProfile]) -> dict[str, tuple[str, str]]:
    """Return the columns that are called by two others, whose product they are: ``y82educ`` of ``y82`` and ``educ``."""
    names = {item.name.casefold(): item.name for item in columns if item.reads_as in ("whole", "number")}
    cut = ((name, name[:place], name[place:]) for name in names for place in range(1, len(name)))
    return {names[name]: (names[a], names[b]) for name, a, b in cut if a in names and b in names}


def _told(profile: Profile, title: Sequence[object]) -> dict[str, list[str]]:
    """Return the numbers that two others tell, with these: of the three the one of least interest, beside which the
    bands of the others would be narrower than they are."""
    of_three = [{item.name, *item.near.told_by} for item in profile.columns if item.near.told_by]
    used = {item.name: item for item in profile.columns if item.policy_role != "drop" or item.question == ASK_BEYOND}
    order = by_interest([*used.values()], profile.columns, title)
    found: dict[str, list[str]] = {}
    for names in of_three:
        if names <= used.keys() - found.keys():
            *others, last = sorted(names, key=order.index)
            found[last] = others
    return found


def _said_otherwise(
    item: ColumnProfile, products: Mapping[str, tuple[str, str]], told: Mapping[str, Sequence[str]]
) -> ColumnProfile:
    """Return a column without a role in the release if its values number things or persons, which says nothing, or are
    made of other columns."""
    numbers = is_a_number_of_things(item)
    if item.policy_role == "drop" or not (numbers or item.name in products or item.name in told):
        return item
    named = PRODUCT.format(*products[item.name]) if item.name in products else ""
    reason = NUMBERS if numbers else named or TOLD.format(*told[item.name])
    return replace(item, role="drop", otherwise="quasi_identifier", question=ASK_OTHERS, reason=reason, keys=None)


def _merged(item: ColumnProfile) -> ColumnProfile:
    """Return a sensitive column some of whose values fewer than k records hold, which no model keeps from being seen:
    generalized, so that they become one value with others; or left out where nearly all records hold one value."""
    if item.most > NEARLY_CONSTANT * item.filled:
        reason = f"{item.reason} Nearly all records hold one value of it, and the others stand out."
        return replace(item, role="drop", otherwise="sensitive", question=ASK_LEFT_OUT, reason=reason)
    reason = f"{item.reason} Some of its values have fewer than {K} records, and would be seen one by one: merged."
    return replace(item, role="quasi_identifier", otherwise="sensitive", question=ASK_RARE, reason=reason)


def _measured(profile: Profile, title: Sequence[object], linking: Container[str]) -> set[str]:
    """Return the numbers that a table is most about, without a sign that others know them of a person: in bands, and
    protected by a model, they leave the classes whole. None that bounds what is generalized: a high band of the time of
    a visit would narrow the time at which a person left.

    Args:
        linking: what stays the same of a person, and joins its records.
    """
    open_to = [item for item in profile.columns if item.role == "quasi_identifier" or item.question == ASK_BEYOND]
    scores = subject_scores(open_to, profile.columns, title)
    fitting = [
        item
        for item in open_to
        if is_measured_subject(item) and item.leader is None and scores[item.name] > 0
        and _has_bands(item) and tells_apart(item)
    ]  # fmt: skip
    measured = {name for name in by_interest(fitting, profile.columns, title)[:MOST_BANDS] if name not in linking}
    generalized = {item.name for item in open_to} - measured
    while narrowing := [c for c in fitting if c.name in measured and not generalized.isdisjoint(c.near.bounds)]:
        measured -= {item.name for item in narrowing}
        generalized |= {item.name for item in narrowing}
    return measured


def _freed(item: ColumnProfile, measured: Container[str]) -> ColumnProfile:
    """Return a column of few values that follows from a number by itself again, where that is published in bands."""
    if item.leader not in measured or item.how != VALUE or not 2 <= item.distinct <= FEW_OUTCOMES:
        return item
    return _by_itself(item)


def _by_itself(item: ColumnProfile) -> ColumnProfile:
    """Return a column that follows another, and need not, with the role that it has by itself."""
    own = suggest(item)
    return replace(
        item, leader=None, how="", role=own.role, reason=own.reason, question=own.question, otherwise=own.otherwise
    )


def _has_bands(item: ColumnProfile) -> bool:
    """Return whether a column holds numbers, in most records, that can be published in bands."""
    held = item.filled - item.empty >= MOSTLY_HELD * item.records and item.reads_as != "text"
    many = item.distinct > FEW_NUMBERS or has_rare_values(item)
    return held and many and item.spread is not None and len(item.spread.bands) > 1


def _in_bands(item: ColumnProfile, like: ColumnProfile | None = None) -> ColumnProfile:
    """Return a number as a sensitive column that is published in bands, those of a number that is the same in most
    records, so that the edges of the one do not part the bands of the other."""
    spread = (like or item).spread
    assert spread is not None
    keys = {
        "hierarchy": {"intervals": {"edges": [[*spread.bands]]}},
        "level": 1,
        "models": [{"type": "distinct_l_diversity", "l": 2}],
    }
    return replace(item, role="sensitive", reason=f"{item.reason} {BANDS}", question=ASK_BANDS, keys=keys)


def _counts(item: ColumnProfile) -> bool:
    """Return whether it counts something from 0 on, or years of age."""
    spread = item.spread
    from_0 = item.reads_as == "whole" and spread is not None and spread.low == 0 and item.distinct > FEWEST_COUNTED
    return from_0 or item.name.casefold().endswith("age")


def _outcomes(profile: Profile, title: Sequence[object]) -> set[str]:
    """Return the columns of few values, none of them rare, that a table is most about, without a sign that others know
    them of a person, and the questions like one of these: protected by a model they need not be generalized, and leave
    the classes whole."""
    open_to = [
        c for c in profile.columns if c.role in ("quasi_identifier", "sensitive", "keep") or DISTINGUISHES in c.reason
    ]
    scores, alike = subject_scores(open_to, profile.columns, title), asked_alike(open_to)
    fitting = [
        item
        for item in open_to
        if (item.role == "keep" or DISTINGUISHES in item.reason) and item.leader is None and not says_how_old(item)
        and 2 <= item.distinct <= MOST_KINDS and scores[item.name] >= (ABOUT_IT if _counts(item) else OF_KINDS)
        and (not has_rare_values(item) or _has_bands(item)) and tells_apart(item)
    ]  # fmt: skip
    most = {item.name for item, _ in by_variety(fitting, scores)[:MOST_OUTCOMES]}
    return most | {item.name for item in fitting if item.name in alike}


def _unknown_flags(profile: Profile, title: Sequence[object], others: Container[str]) -> set[str]:
    """Return the flags of which nothing is known, those first that a table is most about: a model protects them, and
    they part no class."""
    fitting = [
        item
        for item in profile.columns
        if (item.role == "keep" or DISTINGUISHES in item.reason) and item.leader is None and item.topic is None
        and item.distinct + (item.nulls > 0) == 2 and item.name not in others
        and not has_rare_values(item) and tells_apart(item)
    ]  # fmt: skip
    scores = subject_scores(fitting, profile.columns, title)
    return {item.name for item in sorted(fitting, key=lambda item: -scores[item.name])[:MOST_FLAGS]}
