"""The records of a ledger about a release: frozen facts, which hold no value of a cell and no small count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.core.facts import Facts
from sqlanon.core.sqltrees.trees import normal_text

OF_COUNTS = "counts "
"""What the names of a ledger's facts begin with that are releases of counts."""
PENDING, PUBLISHED = "pending", "published"
"""States of a release. A pending one was about to be put in place when its run ended: it counts as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEntry(Facts):
    """The entry of a release in the ledger.

    Attributes:
        release: its id, random.
        time: when it was recorded, UTC (ISO 8601).
        source: what was released of (``identity``).
        person_column: the column by which persons are known.
        recipient: who received it; None: nobody was named.
        colludes: ``all``, ``none`` or the names of recipients that it was judged together with.
        policy_fingerprint: of its policy.
        hierarchies: per quasi-identifier, the SHA-256 of its hierarchy.
        levels: per quasi-identifier, the levels at which records were published, ascending.
        models: the privacy models, as in the manifest.
        columns: the published columns, in order.
        output: ``{"file" | "table" | "view": target}``.
        digest: the SHA-256 of a file; None for a table or a view.
        k: the least size of a class that its models allow.
        classes, persons: how many were published.
        person_type: of the values of ``person_column`` (``identity.kind_of_key``); empty: not known.
        person_form: ``normal`` where the normal forms of these values were digested (``trees.normal_text``), ``cased``
            where they kept their capitals, ``exact`` where they were as they stood; empty in entries that are older
            than normal forms: as they stood.
    """

    release: str
    time: str
    source: str
    person_column: str
    recipient: str | None
    colludes: str | tuple[str, ...]
    policy_fingerprint: str
    hierarchies: Mapping[str, str]
    levels: Mapping[str, tuple[int, ...]]
    models: tuple[Mapping[str, Any], ...]
    columns: tuple[str, ...]
    output: Mapping[str, str]
    digest: str | None
    k: int
    classes: int
    persons: int
    person_type: str = ""
    person_form: str = ""
    cohorts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EarlierRelease(Facts):
    """A release that a ledger holds.

    Attributes:
        number: by which its members are found.
        state: ``published``, or ``pending``.
        entry: what was written down.
    """

    KEYS = "number state *entry"
    number: int
    state: str
    entry: ReleaseEntry


def collude(one: ReleaseEntry, other: ReleaseEntry) -> bool:
    """Return True if somebody may have both releases: one recipient, or two of whom either's policy says so.

    Names are compared in their normal form (``same_name``).
    """
    if one.recipient is not None and other.recipient is not None and same_name(one.recipient, other.recipient):
        return True
    return _shares(one, other) or _shares(other, one)


def in_one_hand(one: ReleaseEntry, other: ReleaseEntry, among: Iterable[ReleaseEntry]) -> bool:
    """Return True if somebody may have both releases: they collude, or whoever has one ``among`` others with each."""
    return collude(one, other) or any(collude(third, one) and collude(third, other) for third in among)


def _shares(one: ReleaseEntry, other: ReleaseEntry) -> bool:
    if one.recipient is None or one.colludes == "all":
        return True
    named = one.colludes if isinstance(one.colludes, tuple) else ()
    return other.recipient is not None and any(same_name(name, other.recipient) for name in named)


def same_name(one: str, other: str) -> bool:
    """Return whether two names are one: blanks at their ends, capitals and the width of letters are all the same."""
    return normal_text(one) == normal_text(other)
