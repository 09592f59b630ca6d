"""What a column is about: by its name, by the words among its values, and by the columns beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from sqlanon.assess.profiling.facts import ColumnProfile, percent
from sqlanon.assess.profiling.vocabulary import BIRTHS, FLAGS, NEWBORN, STUDIED, TOPICS, VOCABULARY, WEIGHTS
from sqlanon.core.source.words import kinds_of, parts_of, speaks_of

FEW_CODES = 3
"""Values of a column that may be called by one of them: ``black`` holds 0 and 1, ``smoker`` yes, no and unknown."""
TIMES = ("time", "duration", "durat", "days", "months", "weeks", "futime", "survtime", "followup")
FEW_RESULTS = 10
"""Values of what a study found, at most, if it is no number."""
MEASURED = ("occupation", "education", "household", "marital", "residence")
"""Topics whose numbers with decimals are no more what others know."""
OF_HALVES = 1
"""Digits after the point of a number of years, at most."""
MANY_NUMBERS = 30
"""Numbers with decimals that have fewer values may be logarithms of counts."""
SEVERAL_WORDS = 3
"""Values, at least, that must be words of a topic, but for those of sex."""
HEAVIEST, LIGHTEST, OF_MANY = 700, 2, 10_000
"""Heights and weights, at most; the median weight of persons, at least, and from which on it stands for many."""


@cache
def topic_of(name: str, *, coded: bool = False) -> str | None:
    """Return what a name is about, if it says so.

    Args:
        coded: the column has two or three codes, so that it may be called by a value of its topic.

    >>> topic_of("MARITAL_STATUS"), topic_of("Familienstand"), topic_of("x")
    ('marital', 'marital', None)
    >>> topic_of("black", coded=True), topic_of("hisp"), topic_of("sexe_h"), topic_of("fatheduc")
    ('race', None, 'sex', 'education')
    """
    parts = parts_of(name)
    if re.fullmatch(r"rs[0-9]{4,}.*", name.casefold()):  # a place of the genome
        return "biometrics"
    found = next((topic for topic, words in TOPICS.items() if speaks_of(parts, words)), None)
    flags = (topic for topic, words in FLAGS.items() if not {*words.split()}.isdisjoint(parts))
    return next(flags, None) if coded and found is None else found


def with_topics(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns of a table with what each is about."""
    return _in_company([replace(item, topic=_own_topic(item)) for item in columns])


def is_constant(found: ColumnProfile) -> bool:
    """Return whether a column says what stays the same from record to record of a person: sex, race, birth."""
    return found.distinct > 1 and (found.topic in ("sex", "race") or says_birth(found))


def says_birth(found: ColumnProfile) -> bool:
    """Return whether the name of a column speaks of when a person was born; the weight at birth says nothing of it."""
    return "birth_date" in kinds_of(found.name) and not speaks_of(parts_of(found.name), WEIGHTS)


def spoken(found: ColumnProfile, what: str) -> str:
    """Return in words how it is known that a column is about something."""
    topic = found.topic or ""
    if _by_name(found) == topic:
        return f"its name speaks of {what}"
    if _by_words(found) == topic:
        return f"{percent(found.shapes[f'words of {topic}'])} of its values are words of {what}"
    return f"the columns beside it speak of {what}"


def _own_topic(found: ColumnProfile) -> str | None:
    return _by_name(found) or _by_words(found)


def _by_name(found: ColumnProfile) -> str | None:
    topic = topic_of(found.name, coded=_is_flag(found))
    if topic == "death" and not _is_flag(found):
        topic = "study"
    parts = parts_of(found.name)
    weighs = speaks_of(parts, WEIGHTS) and topic in ("body", None) and not {*NEWBORN}.intersection(parts)
    if weighs and (spread := found.spread) is not None and spread.low >= 0:
        of_one = spread.places > 2 and 2 * found.alone > found.filled
        if spread.q50 > OF_MANY or (spread.places and (of_one or spread.q50 < LIGHTEST or spread.high > HEAVIEST)):
            return "sampling"
    many = found.distinct > MANY_NUMBERS and found.reads_as == "number"
    if topic in MEASURED and many and found.spread is not None and found.spread.places > OF_HALVES:
        return None  # a score or a rate, of which others know nothing
    return None if topic == "body" and not _is_of_bodies(found) else topic


def _is_of_bodies(found: ColumnProfile) -> bool:
    return found.spread is None or (found.spread.low >= 0 and found.spread.high <= HEAVIEST)


def _by_words(found: ColumnProfile) -> str | None:
    """Return the topic whose words the values of a column are."""
    for topic, (share, _) in VOCABULARY.items():
        held = found.shapes.get(f"words of {topic}", 0.0)
        enough = held * found.examined >= SEVERAL_WORDS or (topic == "sex" and found.distinct <= FEW_RESULTS)
        if found.reads_as == "text" and held >= share and enough:
            return topic
    return None


def _in_company(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns, those without a topic with the one of the columns beside them.

    Weights in a table of births are what was found. Others are those of a sample where columns speak of how it was
    drawn, and none of heights. What is called a status, an event or a time is what a study found, where several columns
    speak of health or of a study, or of a time and an event; and so is the class or the label at the end of a table.
    Flags between two flags of a topic share it.
    """
    columns = list(columns)
    if any(not {*BIRTHS}.isdisjoint(parts_of(item.name)) for item in columns):
        born = [c for c in columns if c.topic == "body" and speaks_of(parts_of(c.name), WEIGHTS)]
        columns = [replace(item, topic=None) if item in born else item for item in columns]
    bodies = [item for item in columns if item.topic == "body"]
    if all(speaks_of(parts_of(c.name), WEIGHTS) for c in bodies) and any(c.topic == "sampling" for c in columns):
        columns = [replace(item, topic="sampling") if item in bodies else item for item in columns]
    short = [item for item in columns if len(parts_of(item.name)) <= 2]
    timed = any(not {*TIMES}.isdisjoint(parts_of(item.name)) and item.distinct > FEW_RESULTS for item in short)
    ended = any(_is_flag(item) and not {*STUDIED}.isdisjoint(parts_of(item.name)) for item in short)
    topics = [item.topic for item in columns if item.topic in ("health", "study", "death")]
    studies = (
        len(topics) >= 2 or (timed and ended) or ("study" in topics and any(_is_studied(item) for item in columns))
    )
    for place, item in enumerate(columns):
        if item.topic is not None or not item.filled:
            continue
        named = _is_studied(item)
        counted = item.distinct <= FEW_RESULTS or item.reads_as in ("whole", "number")
        is_last = place == len(columns) - 1 and item.distinct <= FEW_RESULTS
        if named and ((studies and counted) or is_last):
            columns[place] = replace(item, topic="study")
    before: str | None = None
    for place, item in enumerate(columns):
        if before is not None and item.topic is None and _is_flag(item):
            after = next((other for other in columns[place:] if other.topic is not None or not _is_flag(other)), item)
            if after.topic == before and _is_flag(after):
                columns[place] = replace(item, topic=before)
        before = columns[place].topic if _is_flag(item) else None
    return columns


def _is_studied(found: ColumnProfile) -> bool:
    """Return whether a column is called a status or an arm, and nothing besides."""
    parts = {*parts_of(found.name)}
    return bool(parts) and parts <= {*STUDIED}


def _is_flag(found: ColumnProfile) -> bool:
    return 0 < found.distinct <= FEW_CODES
