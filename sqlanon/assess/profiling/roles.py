"""The role that a profile suggests for a column, with the reason, and the question that a person must answer.

Nothing here decides: a suggestion is a place to start. What identifies persons by itself is dropped. What others know
or find out of a person is a quasi-identifier. What others must not learn is sensitive. Everything else is kept, and the
profile asks whether others can know it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, fields, replace

from sqlanon.assess.profiling.attributes import settled_followers
from sqlanon.assess.profiling.facts import DROPPED, ColumnProfile, is_mixed, percent
from sqlanon.assess.profiling.looks import FEW_NUMBERS, is_whole, look_of
from sqlanon.assess.profiling.topics import spoken, with_topics
from sqlanon.assess.profiling.vocabulary import KNOWN, SENSITIVE
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.source.beside import kind_of
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.known import is_a_part_of_birth
from sqlanon.core.source.words import kinds_of

K = 5
"""A value that fewer records hold stands for persons, before a policy says how many."""
SINGLES_OUT = 0.2
"""A number whose value is nobody else's in this share of the records is a quasi-identifier: whoever learns it anywhere
finds the record."""
DAYS = 31
"""Numbers in a column of the days or months of birth, at most."""
MOSTLY_UNIQUE = 0.5
"""What others must not learn is not published in full precision where its value is nobody else's in this share of the
records: it would be a key to them."""
MOST_QUASI_IDENTIFIERS = 10
"""Quasi-identifiers that are suggested at most. With each one, classes of k records keep less of every column."""
MOST_KEPT = 20
"""Combinations of values, at most, of the columns that are published as they are before a person has said that they may
be: each combination is one more way to distinguish the records of a class."""
DIRECT = {
    "uuid": "it identifies a record or a person", "identifier": "it identifies a record or a person",
    "email": "an e-mail address identifies a person", "phone": "a telephone number identifies a person",
    "name": "a name identifies a person", "address": "an address identifies a household",
    "household": "it says who lives together",
    "url": "an address of the web may identify a person", "ip": "an IP address identifies a household or a person",
    "free_text": "free text may name persons, and nothing generalizes it",
}  # fmt: skip
"""Looks that are dropped, and why."""
KNOWABLE = {
    "birth_date": "a date of birth is known to many, and with place and sex it singles out most people",
    "age": "others know or guess the age of a person", "year": "others may know the year",
    "date": "others may know when something happened", "moment": "others may know when something happened",
    "zip": "others know where a person lives", "postcode": "others know where a person lives",
    "place": "others know where a person lives or was",
    "provider": "others know where a person was treated, taught or insured",
    "country": "others know where a person comes from",
    "latitude": "it says where a person lives or was", "longitude": "it says where a person lives or was",
    "coordinates": "they say where a person lives or was",
}  # fmt: skip
"""Looks that others know or find out of a person, and why."""
BEST_KNOWN = (
    "birth_date", "zip", "postcode", "age", "place", "country", "coordinates", "latitude", "longitude", "year", "date",
    "moment",
)  # fmt: skip
"""Looks of quasi-identifiers, those that most people know of others first; topics such as sex count as ``age`` does."""
ASKED_FIRST = ("age", "birth_date", "year", "date", "moment", "zip", "postcode", "place", "country")
"""Looks of what a reader of a release asks for first, as sex is: who, when and where."""
ASK_SENSITIVE = (
    "May others learn this of a person? If not, leave it sensitive and choose a model (distinct_l_diversity, say), or "
    "drop it; if so, keep it."
)
ASK_KEPT = "Can others know this of a person? Then make it a quasi_identifier with a hierarchy."
ASK_DROPPED = "Is it needed? Do any record linkage before anonymizing."
ASK_UNCLEAR = "Is it what its name says? Correct values that are written in several ways; fewer are then lost."
ASK_FOLLOWING = "May it be published as it is too?"
ASK_FEW_KEPT = "Can others surely not know it? Then publish it as it is (role: keep)."
ASK_BEYOND = (
    f"Left out, because classes of more than {MOST_QUASI_IDENTIFIERS} quasi-identifiers say little of each. Is it "
    "needed more than another? Then give that one the role drop, and this one the role quasi_identifier."
)
ASK_OTHERS = (
    "Left out, because other columns seem to be more what the table is about. Is it needed more than one of these? "
    "Then give that one the role drop, and this one the role quasi_identifier."
)
DISTINGUISHES = "But it would tell apart who agrees in what others know, so it is treated as that is."
ASK_ONLY = "Every column looks as if it identified persons. This one is published only when generalized to *."
ASK_SAMPLING = (
    "Are weighted figures needed? Without it, figures are those of the sample, not of the population. Publish it in "
    "intervals (role: quasi_identifier), or the weighted figures themselves."
)
ASK_INTERVAL = "Is an interval of it enough? Otherwise drop it."
ASK_DATES = "Is the order of events needed, or is the year enough? Fewer levels lose less."


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A role with its reason and, where a person must decide, a question."""

    role: str
    reason: str
    question: str | None = None
    otherwise: str | None = None


def with_own_roles(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns with what each is about and looks like, and the role that it would have by itself."""
    found = []
    for item in with_topics(columns):
        if is_scalar(item.type):
            look = look_of(item)
            item = replace(item, looks_like=look.kind, because=look.because)
            suggestion = suggest(item)
            item = replace(item, **{each.name: getattr(suggestion, each.name) for each in fields(suggestion)})
        found.append(item)
    return found


def how_known(item: ColumnProfile) -> int:
    """Return the place of a column among those that others know of a person, the best known first."""
    if item.topic in KNOWN:
        return BEST_KNOWN.index("age")
    return BEST_KNOWN.index(item.looks_like) if item.looks_like in BEST_KNOWN else len(BEST_KNOWN)


def suggest(found: ColumnProfile) -> Suggestion:
    """Return the role that is suggested for a column, by what it looks like, its topic and its counts."""
    look = found.looks_like
    if look in ("empty", "constant"):
        return Suggestion("keep", "It distinguishes no records.")
    if found.topic == "sampling":
        share = f", and {_rarity(found)}" if found.alone else ""
        reason = f"{_sentence(spoken(found, 'a sample'))}, of which others may know how it was drawn{share}."
        return Suggestion("drop", reason, ASK_SAMPLING, "quasi_identifier")
    if look in DIRECT:
        return Suggestion("identifier", f"{_sentence(DIRECT[look])} ({found.because}).", _ask_dropped(look))
    if look in KNOWABLE:
        asked = ASK_DATES if look in ("date", "moment") else None
        return Suggestion("quasi_identifier", f"{_sentence(KNOWABLE[look])} ({found.because}).", asked)
    if found.topic in SENSITIVE or look in ("icd10", "atc"):
        topic = SENSITIVE.get(found.topic or "", "health")
        unique = found.uniqueness >= MOSTLY_UNIQUE and found.alone >= 10
        if beside(found).singles_out or unique or _is_measured(found):
            return _by_values(found, f"it may reveal {topic}, and ")
        if look in ("number", "amount") and found.reads_as != "text" and found.distinct > FEW_NUMBERS:
            reason = f"It may reveal {topic}, and numbers of several columns together single records out."
            return Suggestion("quasi_identifier", reason, ASK_INTERVAL)
        because = spoken(found, "it") if found.topic in SENSITIVE else found.because
        return Suggestion("sensitive", f"It may reveal {topic} ({because}).", ASK_SENSITIVE)
    kinds = kinds_of(found.name)
    if "birth_date" in kinds and is_whole(found) and (found.distinct <= DAYS or is_a_part_of_birth(found.name)):
        return Suggestion("quasi_identifier", "Its name speaks of birth: a part of a date that is known to many.")
    if "age" in kinds and found.reads_as != "text":
        return Suggestion("quasi_identifier", "Its name speaks of age, which others know or guess.")
    if found.topic in KNOWN:
        asked = ASK_UNCLEAR if is_mixed(found) else None
        return Suggestion(
            "quasi_identifier", f"{_sentence(spoken(found, KNOWN[found.topic or '']))}, which others may know.", asked
        )
    if look == "code" and found.distinct > FEW_NUMBERS:
        reason = f"Others may know which of many kinds it names ({found.because})."
        return Suggestion("quasi_identifier", reason, ASK_KEPT)
    if beside(found).singles_out or (found.uniqueness >= SINGLES_OUT and found.alone >= 10):
        return _by_values(found, "")
    if found.reads_as == "text" and (named := [kind for kind in kinds_of(found.name) if _may_be(found, kind)]):
        reason = f"{_sentence(KNOWABLE[named[0]])} (its name says so, but not all of its values)."
        return Suggestion("quasi_identifier", reason, ASK_UNCLEAR)
    return Suggestion("keep", f"Neither its name nor its values say that others know it ({found.because}).", ASK_KEPT)


def _is_measured(found: ColumnProfile) -> bool:
    """Return whether it is a number whose value few others have in many records: a key, where it is published whole."""
    return found.reads_as != "text" and beside(found).few >= SINGLES_OUT * found.filled and found.alone >= 10


def _may_be(found: ColumnProfile, kind: str) -> bool:
    """Return whether texts may be what a name says that others know; for dates, some must be written like them."""
    dated = any(shape.startswith("date ") and share >= 0.1 for shape, share in found.shapes.items())
    return kind in KNOWABLE and (dated or kind not in ("date", "birth_date"))


def _by_values(found: ColumnProfile, before: str) -> Suggestion:
    """Return the role of a column that singles records out by itself."""
    share = f"{before}{_rarity(found)}"
    if found.reads_as != "text":
        return Suggestion("quasi_identifier", f"{_sentence(share)}.", ASK_INTERVAL)
    if beside(found).singles_out:
        return Suggestion("identifier", f"{_sentence(share)}.", ASK_DROPPED)
    return Suggestion("quasi_identifier", f"{_sentence(share)}.", ASK_KEPT)


def _rarity(found: ColumnProfile) -> str:
    """Return in words how many records have a value that few have."""
    few = beside(found).few
    if few > found.alone and found.uniqueness < SINGLES_OUT:
        return f"{percent(few / found.filled)} of the records hold a value of fewer than {K}"
    return f"its value alone singles out {percent(found.uniqueness)} of the records"


def _ask_dropped(look: str) -> str | None:
    return ASK_DROPPED if look in ("identifier", "uuid", "url", "ip", "name", "free_text") else None


def beside(found: ColumnProfile) -> JudgedColumn:
    """Return the column as a run judges it where it is published as it is (``core/audit/beside.py``)."""
    kind = kind_of(found.type)
    whole = kind == "number" and found.reads_as == "whole"
    many = next((item for item in found.frequent if item.at_least == K), None)
    few = found.filled - many.records if many is not None else found.alone
    few_values = found.distinct - many.values if many is not None else found.alone
    return JudgedColumn(
        found.name, "keep", kind, found.distinct, found.filled, found.alone, few, few_values, 0, whole, found.most, k=K
    )


def refused(found: ColumnProfile, judged: JudgedColumn, followers: Container[str] = ()) -> ColumnProfile:
    """Return a column that a run would refuse to publish as it is with another role.

    Args:
        judged: it, beside the quasi-identifiers that are suggested.
        followers: the columns that follow from it: where one of them is generalized, so is it.
    """
    if judged.gives_away and all(name in followers for name in judged.gives_away):
        reason = f"{next(iter(judged.gives_away))!r}, which follows from it, is generalized."
        return replace(found, role="quasi_identifier", reason=reason, question=None)
    if judged.gives_away:
        known = max(judged.gives_away, key=lambda name: judged.gives_away[name])
        reason = f"Anyone who knows it knows {known!r} too ({percent(judged.gives_away[known])}), which is generalized."
        return replace(found, role="identifier", reason=reason, question=ASK_DROPPED)
    is_measured = found.looks_like in ("number", "amount") and found.reads_as != "text" and not judged.entity_like
    if judged.known and is_measured:
        is_measured = found.reads_as == "number"  # a number of many digits: with a point, none of an account
    if (judged.known or judged.repeats_like_a_key) and not is_measured:
        return replace(found, role="identifier", reason=_sentence(f"{judged.explained}."), question=ASK_DROPPED)
    suggestion = _by_values(found, "")
    return replace(found, role=suggestion.role, reason=suggestion.reason, question=suggestion.question)


def settle_roles(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return columns with the roles that a draft gives them, which depend on each other.

    Args:
        columns: with the role that each would have by itself.
    """
    columns = [
        replace(item, role="drop", reason="It holds no value.", question=None) if item.looks_like == "empty"
        else item if is_scalar(item.type) or item.role in DROPPED else replace(item, role="drop")
        for item in columns
    ]  # fmt: skip
    columns = settled_followers(_within_limit(_few_kept(columns)))
    return columns if any(item.role not in DROPPED for item in columns) else _something_left(columns)


def published_as_they_are(columns: Sequence[ColumnProfile]) -> set[str]:
    """Return the columns that a draft publishes as they are: those of the fewest values stay, and none with a value of
    few records. Followers distinguish no more than their leaders."""
    kept = [item for item in columns if item.role == "keep" and item.leader is None and not has_rare_values(item)]
    combinations, staying = 1, {c.name for c in columns if c.role == "sensitive" or c.leader is not None}
    for item in sorted(kept, key=_values):
        combinations *= _values(item)
        if combinations <= MOST_KEPT:
            staying.add(item.name)
    return staying


def _few_kept(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Make quasi-identifiers of columns that would be published as they are, unless these have few values together.

    What follows from a column that is published as it is, is dropped.
    """
    staying = published_as_they_are(columns)
    result = []
    for item in columns:
        givers = [name for name in item.follows_from if name in staying]
        if item.role == "keep" and item.name not in staying:
            role, question = ("drop", ASK_FOLLOWING) if givers else ("quasi_identifier", ASK_FEW_KEPT)
            reason = f"{item.reason} {DISTINGUISHES}"
            if givers:
                reason = f"It follows from {givers[0]!r}, which is published as it is."
            item = replace(item, role=role, reason=reason, question=question, otherwise="keep")
        result.append(item)
    return result


def _values(found: ColumnProfile) -> int:
    """Return how many values a column has, NULL counted."""
    return max(1, found.distinct + (found.nulls > 0))


def has_rare_values(found: ColumnProfile) -> bool:
    """Return whether fewer than k records have one of the values of a column, NULL included."""
    frequent = next((item.values for item in found.frequent if item.at_least >= K), 0)
    if found.distinct == 1 and found.filled >= K:
        frequent = 1
    return frequent < found.distinct or 0 < found.nulls < K


def _within_limit(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Drop quasi-identifiers beyond the limit.

    Columns go first of which only the values suggest that others know them, then those of what is known less, such as
    height and weight; of these the most distinguishing ones.
    """

    def importance(item: ColumnProfile) -> tuple[int, float]:
        known = 1 if item.looks_like in KNOWABLE or item.topic in KNOWN else 2
        return (0 if item.looks_like in ASKED_FIRST or item.topic == "sex" else known, item.separation or 0.0)

    quasi = sorted((item for item in columns if item.role == "quasi_identifier"), key=importance)
    beyond = {item.name for item in quasi[MOST_QUASI_IDENTIFIERS:]}
    return [
        replace(item, role="drop", question=ASK_BEYOND, otherwise="quasi_identifier") if item.name in beyond else item
        for item in columns
    ]


def _something_left(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns with one that is published, since a release has one at least, if any could be."""
    chosen = next((item.name for item in columns if is_scalar(item.type) and item.looks_like != "empty"), None)
    return [
        replace(item, role="quasi_identifier", question=ASK_ONLY, otherwise="drop") if item.name == chosen else item
        for item in columns
    ]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
