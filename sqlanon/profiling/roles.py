"""The role that a profile suggests for a column, with the reason, and the question that a person must answer.

Nothing here decides: a suggestion is a place to start. What identifies persons by itself is dropped. What others know
or find out of a person is a quasi-identifier. What others must not learn is sensitive. Everything else is kept, and the
profile asks whether others can know it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlanon.audit.beside import JudgedColumn
from sqlanon.profiling.facts import ColumnProfile, percent
from sqlanon.profiling.words import KNOWN, SENSITIVE, kinds_of
from sqlanon.source.beside import kind_of

SINGLES_OUT = 0.2
"""A number whose value is nobody else's in this share of the records is a quasi-identifier: whoever learns it anywhere
finds the record."""
DIRECT = {
    "uuid": "it identifies a record or a person", "identifier": "it identifies a record or a person",
    "email": "an e-mail address identifies a person", "phone": "a telephone number identifies a person",
    "name": "a name identifies a person", "address": "an address identifies a household",
    "url": "an address of the web may identify a person", "ip": "an IP address identifies a household or a person",
    "free_text": "free text may name persons, and nothing generalizes it",
}  # fmt: skip
"""Looks that are dropped, and why."""
KNOWABLE = {
    "birth_date": "a date of birth is known to many, and with place and sex it singles out most people",
    "age": "others know or guess the age of a person", "year": "others may know the year",
    "date": "others may know when something happened", "moment": "others may know when something happened",
    "zip": "others know where a person lives", "postcode": "others know where a person lives",
    "place": "others know where a person lives or was", "country": "others know where a person comes from",
    "latitude": "it says where a person lives or was", "longitude": "it says where a person lives or was",
    "coordinates": "they say where a person lives or was",
}  # fmt: skip
"""Looks that others know or find out of a person, and why."""
ASK_SENSITIVE = (
    "May others learn this of a person? If not, leave it sensitive and choose a model (distinct_l_diversity, say), or "
    "drop it; if so, keep it."
)
ASK_KEPT = "Can anybody outside know this of a person? Then make it a quasi_identifier with a hierarchy."
ASK_DROPPED = "Does anybody need it? Whoever links records with it can do so only before they are anonymized."
ASK_UNCLEAR = "Is it what its name says? Mend its values where they are written in several ways; fewer are then lost."
ASK_DATES = "Is the order of events needed, or is the year enough? Fewer levels lose less."


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A role with its reason and, where a person must decide, a question."""

    role: str
    reason: str
    question: str | None = None


def suggest(found: ColumnProfile) -> Suggestion:
    """Return the role that is suggested for a column, by what it looks like, its topic and its counts."""
    look = found.looks_like
    if look in ("empty", "constant"):
        return Suggestion("keep", "It distinguishes nobody.")
    if look in DIRECT:
        return Suggestion("identifier", f"{_sentence(DIRECT[look])} ({found.because}).", _ask_dropped(look))
    if found.topic in SENSITIVE or look in ("icd10", "atc"):
        topic = SENSITIVE.get(found.topic or "", "health")
        if beside(found).singles_out:
            return _by_values(found, f"it may reveal {topic}, and ")
        return Suggestion("sensitive", f"It may reveal {topic} ({found.because}).", ASK_SENSITIVE)
    if look in KNOWABLE:
        asked = ASK_DATES if look in ("date", "moment") else None
        return Suggestion("quasi_identifier", f"{_sentence(KNOWABLE[look])} ({found.because}).", asked)
    if found.topic in KNOWN:
        return Suggestion("quasi_identifier", f"Its name speaks of {KNOWN[found.topic or '']}, which others may know.")
    if beside(found).singles_out or (found.uniqueness >= SINGLES_OUT and found.alone >= 10):
        return _by_values(found, "")
    if found.reads_as == "text" and (named := [kind for kind in kinds_of(found.name) if _may_be(found, kind)]):
        reason = f"{_sentence(KNOWABLE[named[0]])} (its name says so, but not all of its values)."
        return Suggestion("quasi_identifier", reason, ASK_UNCLEAR)
    return Suggestion("keep", f"Nothing says that others know it ({found.because}).", ASK_KEPT)


def _may_be(found: ColumnProfile, kind: str) -> bool:
    """Return whether texts may be what a name says that others know; for dates, some must be written like them."""
    dated = any(shape.startswith("date ") and share >= 0.1 for shape, share in found.shapes.items())
    return kind in KNOWABLE and (dated or kind not in ("date", "birth_date"))


def _by_values(found: ColumnProfile, before: str) -> Suggestion:
    """Return the role of a column that singles records out by itself."""
    share = f"{before}its value alone singles out {percent(found.uniqueness)} of the records"
    if found.reads_as != "text":
        return Suggestion("quasi_identifier", f"{_sentence(share)}.", "Is an interval of it enough? Otherwise drop it.")
    if beside(found).singles_out:
        return Suggestion("identifier", f"{_sentence(share)}.", ASK_DROPPED)
    return Suggestion("quasi_identifier", f"{_sentence(share)}.", ASK_KEPT)


def _ask_dropped(look: str) -> str | None:
    return ASK_DROPPED if look in ("identifier", "uuid", "url", "ip", "name", "free_text") else None


def beside(found: ColumnProfile) -> JudgedColumn:
    """Return the column as a run judges it where it is published as it is (``audit/beside.py``)."""
    kind = kind_of(found.type)
    whole = kind == "number" and found.reads_as == "whole"
    return JudgedColumn(found.name, "keep", kind, found.distinct, found.filled, found.alone, whole, found.most)


def refused(found: ColumnProfile, judged: JudgedColumn) -> ColumnProfile:
    """Return a column that a run would refuse to publish as it is with another role.

    Args:
        judged: it, beside the quasi-identifiers that are suggested.
    """
    if judged.gives_away:
        known = max(judged.gives_away, key=lambda name: judged.gives_away[name])
        reason = f"Whoever knows it knows {known!r} too ({percent(judged.gives_away[known])}), which is generalized."
        return replace(found, role="identifier", reason=reason, question=ASK_DROPPED)
    suggestion = _by_values(found, "")
    return replace(found, role=suggestion.role, reason=suggestion.reason, question=suggestion.question)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
