"""What a person must decide of a draft: at most ``MOST`` questions, those that change most first.

The same question about several columns is one. What goes beyond is no less true: it stands in the draft as a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlanon.assess.profiling.facts import Profile
from sqlanon.assess.profiling.roles import (
    ASK_BEYOND,
    ASK_DROPPED,
    ASK_FEW_KEPT,
    ASK_FOLLOWING,
    ASK_KEPT,
    ASK_ONLY,
    ASK_OTHERS,
    ASK_SENSITIVE,
    ASK_UNCLEAR,
)
from sqlanon.core.facts import Facts

MOST = 7
PERSONS, ROLES, ORDER_OF_DAYS, MANY, PROTECTION, USUAL = 0, 1, 2, 3, 4, 6
"""Ranks of questions: what is counted, what is protected, how values are read, how well, and the others."""
RANKS = {
    ASK_ONLY: 1, ASK_SENSITIVE: 3, ASK_KEPT: 4, ASK_FEW_KEPT: 5, ASK_UNCLEAR: 7, ASK_BEYOND: 8, ASK_OTHERS: 8,
    ASK_FOLLOWING: 9, ASK_DROPPED: 10,
}  # fmt: skip
"""What the questions about roles change: 0 most."""


@dataclass(frozen=True, slots=True)
class Decision(Facts):
    """What a person must decide of a draft: of columns, or of a key of the policy.

    Attributes:
        column: the column, or the first of several (``columns``); None where a key of the policy is asked about.
        instead: the line of the policy file that would take the place of the drafted one, of one column.
    """

    KEYS = "column key sentence instead columns"
    column: str | None
    key: str
    sentence: str
    instead: str | None = None
    columns: tuple[str, ...] = ()
    rank: int = USUAL

    @property
    def line(self) -> str:
        """The question as a list shows it: with its columns."""
        return f"{', '.join(self.columns)}: {self.sentence}" if self.columns else self.sentence


@dataclass(frozen=True, slots=True)
class DraftedColumn:
    """A column of the draft: its keys, the reason of its role, what its hierarchy does, and questions.

    Attributes:
        instead: the keys that it would have if the last question were answered otherwise.
    """

    name: str
    keys: Mapping[str, Any]
    reason: str
    remark: str = ""
    questions: tuple[str, ...] = ()
    nodes: int = 1
    instead: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Asked:
    """The questions of a draft in their order, and those beyond the most, which are notes."""

    decisions: list[Decision] = field(default_factory=list)
    notes: list[Decision] = field(default_factory=list)


def ask(
    profile: Profile, columns: Sequence[DraftedColumn], of_policy: Sequence[Decision], lines: Mapping[str, str]
) -> Asked:
    """Return the questions about a draft, and about how the file is written: each once, with its columns.

    Args:
        of_policy: those about keys of the policy.
        lines: column -> the line that would take the place of the drafted one.
    """
    grouped: dict[str, list[DraftedColumn]] = {}
    for column in columns:
        for question in column.questions:
            grouped.setdefault(question, []).append(column)
    reading: dict[str, list[str]] = {}
    by_hierarchies = {item.name for item in profile.columns if item.ambiguous and item.date_format is not None}
    for item in profile.reading:
        if item.question and item.column not in by_hierarchies:
            reading.setdefault(item.question, []).extend([item.column] if item.column else [])
    found = [Decision(None, "csv", text, columns=tuple(names), rank=ORDER_OF_DAYS) for text, names in reading.items()]
    found += of_policy
    for question, asked in grouped.items():
        first, names = asked[0], tuple(item.name for item in asked)
        instead = lines.get(first.name) if len(asked) == 1 and question == first.questions[-1] else None
        rank = ORDER_OF_DAYS if "day before the month" in question else RANKS.get(question, USUAL)
        found.append(Decision(first.name, "columns", question, instead, names, rank))
    found.sort(key=lambda item: (item.rank, -len(item.columns)))
    return Asked(found[:MOST], found[MOST:])


def questions_of(profile: Profile) -> list[Decision]:
    """Return the questions about the reading and the roles of a profile, of which there is no draft yet."""
    drafted = [
        DraftedColumn(item.name, {}, "", questions=(item.question,)) for item in profile.columns if item.question
    ]
    return ask(profile, drafted, (), {}).decisions
