"""The order in which columns are given room in a release: what the table is about, before what is beside it.

Two thirds of what readers ask for are the same in all tables: who (sex, age), when and where. The rest is the table's
subject: what was found, decided, measured, paid, or of which kind a record is. Names, values and places say so: a word
of the table's own name, a kind, a result, an amount or a number with decimals rather than a flag; the first and the
last column, where outcomes often stand. What is like a column before it comes later. Subject and frame take turns, so
that neither uses up the room of the other. Of events, whose dates lie within a few years, when and where come before
the age of whom they concern, unless the table is about health or persons. A second place or age says little beside the
first: it comes late, and other flags last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from sqlanon.assess.profiling.attributes import SAME
from sqlanon.assess.profiling.facts import ColumnProfile
from sqlanon.assess.profiling.topics import says_birth
from sqlanon.assess.profiling.vocabulary import ASKERS, CODED, KNOWN, SENSITIVE, STUDIED, SUBJECTS
from sqlanon.core.source.vocabulary import PERSONS
from sqlanon.core.source.words import kinds_of, parts_of, speaks_of, speaks_of_persons

AGES = ("age", "birth_date")
TIMES = ("date", "year", "moment")
PLACES = ("place", "postcode", "zip", "country", "coordinates", "latitude", "longitude")
"""Looks of who, when and where, the one that says most to readers first."""
FEWEST_BIRTHS = 20
"""Values of a part of a birth that says an age, at least: months and quarters do not."""
MANY_PLACES = 1_000
"""Places are houses or streets rather than towns from so many on."""
FEW_YEARS = 5
"""Dates within so many years are those of events, and of no birth, build or entry."""
MOST_MEASURED, MOST_BANDS = 3, 6
"""Numbers that say what a table is about, at most, before other columns have their turn; and those in bands."""
KINDS = range(3, 31)
"""Values of a column of kinds."""
EVENLY = 0.6
"""The share of the more frequent value of a flag that parts the records evenly, at most."""
RARE, RARER = 0.9, 0.95
"""The share of one value from which on the others are those of few, and of very few."""
SPARSE, ONE_VALUE = 0.5, 0.98
"""The share of the records without a value from which on a column is about few of them; and with the same value, from
which on it tells nobody apart."""
BESIDE: Mapping[str, float] = {"race": 0.0, "education": 0.1, "occupation": 0.1, "marital": 0.5, "household": 0.5}
"""Topics of what others know -> how much less than the subject they are what a table is about; the others 1."""
OF_PERSONS = ("education", "occupation", "marital", "household")
"""Topics of which tables of events have one at most."""
BELIEFS = ("religion", "politics", "union", "sexuality", "biometrics")
"""Topics that are sensitive, and seldom what a table is about."""
NEAR_DATE = "It lies in the years of {!r}, beside which the days between both say more: a view can count them."
SECOND_AGE = "Beside {!r} another age says little, and parts each class once more."
ENDED = frozenset(("status", "stat", "event", "cens", "censored", "censor", "delta", "fail", "failed", "failure",
                   "dead", "died", "death"))  # fmt: skip
"""Words of whether something happened, or who was followed for a time was lost."""
OF_A_PAIR = 3.0
"""What speaks for a time until something happens, and for whether it did."""
MOST_ENDS, UNTIL = 4, re.compile("time$|durat|surv|follow|fol$|^(days|weeks|months|years)|(days|weeks|months|years)$")
"""Values of such a column, at most; and names of the time until then."""
OF_AN_ASKER = 2.0
"""How much less a table is about who asked."""
OF_ANOTHER = 0.75
"""How much less than the education of a person that of a relative is what a table is about."""
OF_A_THING = re.compile(r"(num|nbr|seq|\b(nr|no|code|number)|[a-z]{3}(?<![aiou])(?<![aou][clv])id)$")
"""Ends of the names of whole numbers that count nothing: ``compid``, and not ``paid`` or ``acid``."""
FIRST = 2
"""Columns that a table is about most: they are not given up, and several rules say of them what a single one would."""
WHO, OF_ASKED = ("sex", "education"), 1.25
"""Topics of what most readers ask of persons, beside their age, and how much more these say, and race."""
HALF_AS_MUCH, OF_FLAGS, OF_NAMESAKES, OF_SUBJECTS, TOLD = 6, 0.2, 0.6, 0.6, 2.2
"""How many columns stand between one and another that says half as much; what a flag says of which nothing is known,
unless it parts the records evenly, as arms of trials do; and what a column says beside one that shares a word with
it; what one that the table is about says at least, however rare its values; and by what the share of the records
without the most frequent value counts, up to 1."""
ALIKE = 0.75
"""How much less is said by a column that shares a word, or its topic, with one before."""
FEWEST_ASKED, ANSWERS, NUMBERED = 3, range(3, 11), re.compile(r"[0-9]+[a-z]?$")
"""Questions that are asked alike, at least; the values of their answers; and the ends of their names."""
OF_A_YEAR = re.compile(r"(y|yr|year|wave|d)_?[0-9]{2,4}")
"""Names of flags of one year, which decide who was asked what."""
GENERAL = frozenset(("data", "dataset", "table", "export", "file", "list", "report", "full", "test", "sample", "survey",
                     "records", *PERSONS))  # fmt: skip
"""Words of the names of tables that say nothing of what they are about."""


def by_interest(
    columns: Sequence[ColumnProfile], among: Iterable[ColumnProfile] = (), title: Sequence[object] = ()
) -> list[str]:
    """Return the names of the columns, those first that a table is about.

    Args:
        columns: those that could be published, in the order of the table.
        among: all of its columns.
        title: what the table and its file are called; what is no text says nothing.
    """
    left = list(columns)
    sex = _taken(left, [item for item in left if item.topic == "sex"])
    births = [item for item in left if _is_age(item)]
    named = [item for item in left if parts_of(item.name) == ("age",) and item.distinct > FEWEST_BIRTHS]  # in months
    age = _taken(left, _by_look(left, AGES) or births or named)
    when = _taken(left, _by_look(left, TIMES))
    where = _taken(left, sorted(_by_look(left, PLACES), key=lambda item: item.distinct > MANY_PLACES))
    again = [item for item in left if item.looks_like in (*AGES, *TIMES, *PLACES) or item.topic == "sex"]
    others = [item for item in left if item not in again]
    scores = subject_scores(columns, among, title)
    varied = by_variety([item for item in others if scores[item.name] > 0], scores)
    numbers = [item for item, _ in varied if is_measured_subject(item)][MOST_MEASURED:]
    subjects = [item for item, score in varied if score >= -ALIKE / 2 and item not in numbers]
    later = {item.name: score for item, score in varied}
    beside = [item for item in others if item not in subjects and item not in numbers]
    beside.sort(key=lambda item: -later.get(item.name, scores[item.name]))
    studied = sum(item.topic in ("health", "study", "death") for item in columns) > 1
    persons = any(item.distinct == item.records and speaks_of_persons(item.name) for item in among)
    persons |= sum(item.topic in OF_PERSONS for item in columns) > 1 or any(c.topic == "sampling" for c in among)
    of_events = when is not None and _is_of_events(when) and not studied and not persons
    order = (when, sex, where, age) if of_events else (sex, age, when, where)
    frame = [item for item in order if item is not None]
    turns: Iterable[ColumnProfile | None] = (item for pair in zip_longest(subjects, frame) for item in pair)
    flags = [item for item in beside if _is_flag(item)]
    kinds = [item for item in beside if item not in flags]
    return [item.name for item in (*turns, *kinds, *numbers, *again, *flags) if item is not None]


def tells_apart(found: ColumnProfile) -> bool:
    """Return whether a column tells records apart: not where nearly all hold one value, or none, and not by dates to
    come, which were shifted."""
    if (
        found.looks_like in ("date", "moment")
        and found.spread is not None
        and found.spread.low > datetime.now(UTC).year
    ):
        return False
    return max(found.most, found.nulls, found.empty) <= ONE_VALUE * found.records


def is_asked_of_persons(found: ColumnProfile) -> bool:
    """Return whether it is what most readers ask of persons."""
    return found.looks_like == "age" or found.topic in WHO


def worths_of(
    order: Sequence[str], found: Mapping[str, ColumnProfile], scores: Mapping[str, float]
) -> dict[str, float]:
    """Return how much each column says of a table: by its place in the order of interest, less where most records hold
    one value of it, unless the table is about it, and less again where it is a flag of which nothing is known, or one
    before says the like.

    Args:
        scores: see ``subject_scores``.
    """
    worths: dict[str, float] = {}
    for place, name in enumerate(order):
        item, about_it = found[name], scores[name] > 0
        said = min(1.0, max(OF_SUBJECTS * about_it, TOLD * (1 - item.most / max(1, item.filled))))
        unknown = _is_flag(item) and item.topic is None and "age" not in kinds_of(item.name)
        unknown &= place >= FIRST and not about_it and item.most > EVENLY * item.filled
        said *= OF_FLAGS if unknown else OF_ASKED if is_asked_of_persons(item) or item.topic == "race" else 1.0
        said *= OF_NAMESAKES if any(_says_again(item, found[other]) for other in worths) else 1.0
        worths[name] = said / (1 + place / HALF_AS_MUCH)
    return worths


def said_before(order: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return what is left out beside a column before it in an order, and why: a second date of events in the same
    years, a second age."""
    events = [item for item in order if item.looks_like in ("date", "moment") and _is_of_events(item)]
    first, *ages = [item.name for item in order if _is_age(item)] or [""]
    found = {name: SECOND_AGE.format(first) for name in ages}
    for place, item in enumerate(events):
        near = (other.name for other in events[:place] if other.name not in found and _in_same_years(item, other))
        if (before := next(near, None)) is not None:
            found[item.name] = NEAR_DATE.format(before)
    return found


def _is_age(found: ColumnProfile) -> bool:
    """Return whether it is an age, or says one: the year of a birth, and no weight, order or month of it."""
    of_birth = says_birth(found) and ("year" in kinds_of(found.name) or found.distinct > FEWEST_BIRTHS)
    return found.looks_like in AGES or of_birth


def _in_same_years(one: ColumnProfile, other: ColumnProfile) -> bool:
    a, b = one.spread, other.spread
    return a is not None and b is not None and max(abs(a.low - b.low), abs(a.high - b.high)) <= 1


def _is_of_events(when: ColumnProfile) -> bool:
    return when.looks_like != "year" and when.spread is not None and when.spread.high - when.spread.low <= FEW_YEARS


def _is_measured(found: ColumnProfile) -> bool:
    """Return whether it is an amount, or a number with decimals that says nothing of a body or a place."""
    decimals = found.spread is not None and found.spread.places > 0
    return found.looks_like == "amount" or (decimals and found.looks_like == "number" and found.topic not in KNOWN)


def is_measured_subject(found: ColumnProfile) -> bool:
    """Return whether it is a number of many values, of which nothing says that others know it, and no number of a thing
    (``persnum``)."""
    many = found.looks_like in ("number", "amount") and found.distinct > max(KINDS) and found.topic not in KNOWN
    return many and not is_a_number_of_things(found) and not says_how_old(found)  # in months, or a day of birth


def says_how_old(found: ColumnProfile) -> bool:
    """Return whether its name is of an age or a birth, however that is written, and of nothing at an age."""
    beside = found.topic is not None or "for" in parts_of(found.name)  # height for age
    return not beside and not {"age", "birth_date"}.isdisjoint(kinds_of(found.name))


def asked_alike(columns: Iterable[ColumnProfile]) -> set[str]:
    """Return the questions of a questionnaire that are answered with the same few values, and numbered: ``A1``."""
    groups: dict[str, list[ColumnProfile]] = {}
    for item in columns:
        if NUMBERED.search(item.name.casefold()) and item.distinct in ANSWERS and item.topic not in KNOWN:
            groups.setdefault(NUMBERED.sub("", item.name.casefold()), []).append(item)
    alike = [
        group
        for group in groups.values()
        if len(group) >= FEWEST_ASKED and max(c.distinct for c in group) - min(c.distinct for c in group) <= 1
    ]
    return {item.name for group in alike for item in group}


def is_a_number_of_things(found: ColumnProfile) -> bool:
    """Return whether whole numbers of many values number things or persons, by the end of their name."""
    many = found.looks_like == "number" and found.reads_as == "whole" and found.distinct > max(KINDS)
    return many and OF_A_THING.search(" ".join(parts_of(found.name))) is not None


def _is_counted(found: ColumnProfile) -> bool:
    """Return whether it is a whole number of many values, and no code."""
    whole = found.looks_like == "number" and found.reads_as == "whole" and found.topic not in KNOWN
    return whole and found.distinct > max(KINDS) and {*CODED.split()}.isdisjoint(parts_of(found.name))


def _is_flag(found: ColumnProfile) -> bool:
    return found.distinct + (found.nulls > 0) <= 2


def subject_scores(
    columns: Sequence[ColumnProfile], among: Iterable[ColumnProfile] = (), title: Sequence[object] = ()
) -> dict[str, float]:
    """Return how much speaks for each column being what the table is about (``by_interest``)."""
    scores, whole = {item.name: subject_score(item) for item in columns}, list(among) or columns
    alike = asked_alike(whole)
    for item, more in ((whole[-1], 1.0), (whole[0], 0.5)) if whole else ():
        if (
            item.name in scores
            and item.name not in alike
            and (item.topic not in KNOWN or item.topic in ("education", "occupation"))
        ):
            scores[item.name] += more
    named_twice = {item.leader for item in whole if item.how == SAME}  # a code with its label
    words, observed = _words_of(title), observed_times(whole)
    for item in columns:
        decides = item.decides and item.topic not in KNOWN and not OF_A_YEAR.fullmatch(item.name.casefold())
        scores[item.name] += (item.name in named_twice) + 3.5 * bool(decides) + OF_A_PAIR * (item.name in observed)
        scores[item.name] += item.topic == "death"  # the outcome of most studies that ask it
        scores[item.name] -= OF_ANOTHER * any(_is_of_another(item, other) for other in columns)
        scores[item.name] += 1.5 * any(_same_word(part, word) for part in parts_of(item.name) for word in words)
    return scores


def _is_of_another(one: ColumnProfile, other: ColumnProfile) -> bool:
    """Return whether a column is called by another of its topic, with more: ``huseduc`` is the one of a relative."""
    long, short = one.name.casefold(), other.name.casefold()
    return (
        long != short
        and long.endswith(short)
        and len(short) >= 3
        and one.topic is not None
        and one.topic == other.topic
    )


def observed_times(columns: Sequence[ColumnProfile]) -> set[str]:
    """Return times until something happens, with the columns that say whether it did: one says nothing without the
    other. ``srv`` with ``srvstat``; or a time, where a column is called status or event."""
    names = {item.name: "".join(parts_of(item.name)) for item in columns}
    numbers = [item.name for item in columns if is_measured_subject(item)]
    ends = [item for item in columns if 2 <= item.distinct <= MOST_ENDS]
    pairs = [
        (t, e.name) for t in numbers for e in ends if names[e.name] in {names[t] + word for word in ENDED if names[t]}
    ]
    ended = [e.name for e in ends if e.topic == "death" or names[e.name].endswith((*ENDED,))]
    times = [name for name in numbers if UNTIL.search(names[name])]
    return {name for pair in pairs for name in pair} | ({*times, *ended} if times and ended else set())


def _words_of(title: Iterable[object]) -> set[str]:
    """Return the words of what a table is called that say what it is about."""
    names = (re.split(r"[/\\]", str(item))[-1].split(".")[0] for item in title if isinstance(item, str | os.PathLike))
    return {part for name in names for part in parts_of(name) if len(part) >= 4} - GENERAL


def _same_word(one: str, other: str) -> bool:
    """Return whether two words have the same stem, or one stands within the other.

    >>> _same_word("loans", "loan"), _same_word("smoke", "smoking"), _same_word("logwage", "wage")
    (True, True, True)
    """
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and (short in long or (len(short) > 4 and long.startswith(short[:-1])))


def by_variety(subjects: Iterable[ColumnProfile], scores: Mapping[str, float]) -> list[tuple[ColumnProfile, float]]:
    """Return the columns by their scores, each less for those before that are like it, with these scores."""
    left, chosen = list(subjects), list[tuple[ColumnProfile, float]]()

    def score(item: ColumnProfile) -> float:
        return scores[item.name] - ALIKE * sum(_are_alike(item, other) for other, _ in chosen)

    while left:
        best = max(left, key=score)
        left.remove(best)
        chosen.append((best, score(best)))
    return chosen


def _says_again(one: ColumnProfile, other: ColumnProfile) -> bool:
    """Return whether two columns share a word, or are of one topic of persons, as the education of both parents."""
    dates = one.looks_like in TIMES and other.looks_like in TIMES
    return _share_a_word(one, other) or dates or (one.topic in (*OF_PERSONS, "race") and one.topic == other.topic)


def _share_a_word(one: ColumnProfile, other: ColumnProfile) -> bool:
    """Return whether the names of two columns have a word in common, or their numbers are the same in most records."""
    mine, its = {*parts_of(one.name)}, {*parts_of(other.name)}
    return (
        mine == its
        or one.name == other.near.equals
        or other.name == one.near.equals
        or any(_same_word(part, other_part) for part in mine for other_part in its)
    )


def _are_alike(one: ColumnProfile, other: ColumnProfile) -> bool:
    words = _share_a_word(one, other)
    unnamed = one.topic is None and other.topic is None and _is_measured(one) and _is_measured(other)
    return words or unnamed or (one.topic is not None and one.topic == other.topic)


def subject_score(found: ColumnProfile) -> float:
    """Return how much speaks for a column being what the table is about; nothing does at 0 and below."""
    named = sum(speaks_of((part,), SUBJECTS) or part in STUDIED for part in parts_of(found.name))
    named = max(named, speaks_of(parts_of(found.name), SUBJECTS))
    score = 2.0 * min(named, 1) + 0.5 * (named > 1)
    of_subject = (found.topic in SENSITIVE and found.topic not in BELIEFS) or found.topic == "death"
    score += 1.5 * (of_subject or found.looks_like in ("icd10", "atc"))
    score += 0.5 * (found.distinct in KINDS) + 1.0 * _is_measured(found) + 0.5 * _is_counted(found)
    score -= BESIDE.get(found.topic or "", 1.0) * (found.topic in KNOWN and found.topic != "death")
    score -= 2.5 * (found.nulls + found.empty > SPARSE * found.records)
    score -= OF_AN_ASKER * speaks_of(parts_of(found.name), ASKERS)
    least = ONE_VALUE if named or found.topic in ("death", "study", "health") else RARE
    score -= 1.0 * (found.most > least * found.filled) + 1.0 * (found.most > max(RARER, least) * found.filled)
    return score - 0.75 * (_is_flag(found) and found.topic != "race") - 0.25


def _by_look(columns: Sequence[ColumnProfile], looks: Sequence[str]) -> list[ColumnProfile]:
    """Return the columns with one of some looks, in the order of these; ``age``, and the fewest NULLs, first."""

    def place(item: ColumnProfile) -> tuple[int, bool, int]:
        return looks.index(item.looks_like), parts_of(item.name) != ("age",), item.nulls

    return sorted((item for item in columns if item.looks_like in looks), key=place)


def _taken(left: list[ColumnProfile], fitting: Sequence[ColumnProfile]) -> ColumnProfile | None:
    """Take the first of the fitting columns out of those that are left."""
    if not fitting:
        return None
    left.remove(fitting[0])
    return fitting[0]
