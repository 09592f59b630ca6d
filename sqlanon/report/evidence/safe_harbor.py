"""The checklist of the Safe Harbor identifiers, matched with the columns of a policy by their names alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.core.facts import Facts
from sqlanon.report.evidence.catalogs import catalog


@dataclass(frozen=True, slots=True)
class ReviewedColumn(Facts):
    """A column as the annexes list it: its name, its role, and how it is published, in words."""

    KEYS = "column=name role published_as"
    name: str
    role: str
    published_as: str

    @property
    def is_published(self) -> bool:
        """Whether the release holds it."""
        return self.role != "drop"


@dataclass(frozen=True, slots=True)
class Identifier(Facts):
    """An identifier of the list, with the columns whose names point to it.

    Attributes:
        published: columns of the release, each with how it is published.
        left_out: names of columns of the source that are not in the release.
    """

    letter: str
    identifier: str
    published: tuple[ReviewedColumn, ...]
    left_out: tuple[str, ...]


def checklist(columns: Sequence[ReviewedColumn]) -> tuple[Identifier, ...]:
    """Return the identifiers of 45 CFR 164.514(b)(2)(i) in their order, with the columns that may be one of them."""
    listed: Sequence[Mapping[str, Any]] = catalog("safe_harbor")["identifiers"]
    identifiers = []
    for item in listed:
        words = set(item["words"])
        matched = [column for column in columns if words & _words(column.name)]
        identifiers.append(
            Identifier(
                letter=item["letter"],
                identifier=item["identifier"],
                published=tuple(column for column in matched if column.is_published),
                left_out=tuple(column.name for column in matched if not column.is_published),
            )
        )
    return tuple(identifiers)


def _words(name: str) -> set[str]:
    """Return the words of a name, and the name as one word.

    >>> sorted(_words("birthDate_2")), sorted(_words("E-Mail"))
    (['2', 'birth', 'birthdate2', 'date'], ['e', 'email', 'mail'])
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word.lower() for word in re.split(r"[\W_]+", apart) if word]
    return {*words, "".join(words)}
