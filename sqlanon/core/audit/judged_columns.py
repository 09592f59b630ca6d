"""A column that is published as it is: what is known of it, what is counted, and whether it identifies persons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from sqlanon.core.facts import Facts, pick
from sqlanon.core.sqltrees.trees import column

SEVERAL = 1.1
"""Records that a value of an entity holds on average, at least."""
FEW_TEXTS = 0.5
"""A text, a UUID or a document whose value fewer than k have in at least this share of its records identifies persons:
it points to most of whom it names. Codes and categories repeat; names, addresses and notes do not."""
UNIQUE_NUMBERS = 0.95
"""The same for whole numbers. A number that is given (a social security number, an account) occurs once however large
the table is, while amounts that are measured meet."""
HEAP = 0.05
"""A most frequent value of at least this share of the records is left out, as NULL is: a placeholder names nobody."""
FEWEST = 10
"""Records that must speak for a finding: of ten draws from a hundred equally frequent values, six samples in ten hold
no value twice, so that fewer show nothing."""
DETERMINES = 0.95
"""A column that spares this share of the errors gives a quasi-identifier away, as a copy with some noise does."""
NEARLY = 0.8
"""From this share on a column is reported, though it may be published. A column whose values meet by chance in pairs
spares half of the errors."""
MANY_TEXTS = 100
"""Texts that repeat evenly, at least, to look like keys."""
OF_A_PERSON = 20
"""Records that a value which names a person has on average, at most."""
EVEN = 3
"""The value of a record of a key has at most so many times the mean's records, on average: 2 where the records of
persons are geometrically distributed. Categories have a head."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a source that is to be judged.

    Attributes:
        role: ``quasi_identifier``, ``sensitive``, ``keep`` or ``drop``.
        kind: ``text`` (a label, whatever its type), ``bytes``, ``number``, or ``moment`` (dates and times).
        value: what its values are compared by; None is the column.
        generalized: of a quasi-identifier: it may be published at a level above its values.
        travels: the quasi-identifier that it travels with, and does not give away: it is blank where it would.
        parts: the columns that it joins, whose values are judged as one.
        counted: its values (``value``) with the records of each (``n``), where they were counted before.
    """

    name: str
    role: str
    kind: str = "text"
    value: exp.Expr | None = None
    generalized: bool = True
    travels: str | None = None
    parts: tuple[str, ...] = ()
    counted: exp.Expr | None = None

    @property
    def compared(self) -> exp.Expr:
        """The expression that its values are compared by."""
        return column(self.name) if self.value is None else self.value.copy()


@dataclass(frozen=True, slots=True)
class CountedValues(Facts):
    """How the values of a column repeat, NULL left out.

    Attributes:
        values: distinct values.
        records: with a value.
        alone: records whose value nobody else has; with an entity, no other entity.
        few: records whose value fewer than ``k`` records have; with an entity, fewer than ``k`` entities.
        few_values: how many such values there are.
        scarce: records whose value at most ``OF_A_PERSON`` records (or entities) have.
        whole: its values are whole numbers.
        most: records with the most frequent value.
        squares: the sum of the squares of the records of each value.
    """

    name: str
    role: str
    kind: str
    values: int
    records: int
    alone: int
    few: int = 0
    few_values: int = 0
    scarce: int = 0
    whole: bool = False
    most: int = 0
    squares: int = 0

    @property
    def unique(self) -> float:
        """The share of its records whose value nobody else has, those with a placeholder left out."""
        return self.alone / self.telling if self.telling else 0.0

    @property
    def telling(self) -> int:
        """The records with a value that is no placeholder."""
        return self.records - self.most if self._heaped else self.records

    @property
    def _heaped(self) -> bool:
        """Whether its most frequent value counts as a placeholder."""
        return self.most > 1 and self.most >= HEAP * self.records

    @property
    def _is_even(self) -> bool:
        """Whether it has many values, a placeholder left out, and none of them most of the records."""
        values, squares = self.values - self._heaped, self.squares - self.most**2 * self._heaped
        return values >= MANY_TEXTS and squares * values <= EVEN * self.telling**2

    @property
    def may_name(self) -> bool:
        """Whether it may name persons: a value has few records on average, or many values have about as many."""
        return self._is_even or self.values * OF_A_PERSON >= self.telling


@dataclass(frozen=True, slots=True)
class JudgedColumn(CountedValues):
    """The findings on a column beside the quasi-identifiers.

    Attributes:
        determines: quasi-identifier -> the share of errors in guessing its value that the column spares, where that is
            at least ``NEARLY``.
        entity_like: it looks like the entity of the records: several records a value, and most quasi-identifiers
            follow from it.
        known: what its name and the shapes of its values say that it names persons by; empty for others.
        parts: the columns that it joins, where several are judged as one.
        unit: what ``k`` counts.
    """

    KEYS = "column=name role values records alone few known_by=known determines identifies entity_like"
    determines: dict[str, float] = field(default_factory=dict)
    entity_like: bool = False
    known: str = ""
    parts: tuple[str, ...] = ()
    k: int = 2
    unit: str = "records"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about."""
        return self.parts or (self.name,)

    @property
    def singles_out(self) -> bool:
        """Whether it identifies persons by values that fewer than k have.

        Amounts that are measured are rare too. So whole numbers identify where nobody else has them, or where they
        repeat like the key of a person.
        """
        if self.few_values < FEWEST:
            return False
        if self.kind in ("text", "bytes"):
            return self.few >= FEW_TEXTS * self.telling
        return self.kind == "number" and self.whole and self.alone >= max(FEWEST, UNIQUE_NUMBERS * self.telling)

    @property
    def repeats_like_a_key(self) -> bool:
        """Whether it repeats like the key of a person: few records a value, which agree in most quasi-identifiers, or
        a hundred texts of which nearly none has many records, as that of a category would."""
        texts = self.kind in ("text", "bytes") and self.values >= MANY_TEXTS and self.unit == "records"
        rare = self._is_even or self.scarce >= DETERMINES * self.telling
        evenly = texts and rare and repeats(self.values, self.telling)
        return evenly or (self.entity_like and self.may_name)

    @property
    def gives_away(self) -> dict[str, float]:
        """The quasi-identifiers that it gives away."""
        return {name: share for name, share in self.determines.items() if share >= DETERMINES}

    @property
    def identifies(self) -> bool:
        """Whether it identifies persons when it is published."""
        return self.role != "drop" and bool(self.explained or self.gives_away)

    @property
    def explained(self) -> str:
        """How it identifies persons by itself, with figures; empty if it does not."""
        if self.singles_out and self.few == self.alone:
            return f"{self.alone} of {self.telling} values are unique"
        if self.singles_out:
            return f"in {self.few} of {self.telling} records it has a value of fewer than {self.k} {self.unit}"
        why = self.known or ("it repeats like the key of a person" if self.repeats_like_a_key else "")
        return f"{self.values} values in {self.records} records: {why}" if why else ""

    def described(self) -> str:
        """Return in words, with figures, how it identifies persons."""
        given = [f"it gives {name!r} away to {share:.1%}" for name, share in self.gives_away.items()]
        return f"{self.name!r} ({'; '.join(filter(None, [self.explained, *given]))})"

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return pick(self, self.KEYS, digits=6) | {"known_by": self.known or None}


def repeats(values: int, records: int) -> bool:
    """Return whether a column has many values with several records each, as an entity has."""
    return values >= FEWEST and records >= SEVERAL * values
