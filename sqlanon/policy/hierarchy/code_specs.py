"""The hierarchies of codes and categories: prefixes, systems of codes, US ZIP areas, frequent values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sqlanon.parameters import text, whole
from sqlanon.policy.hierarchy.spec_values import Found, is_list, set_fields

SYSTEMS = ("atc", "countries", "geohash", "icd10", "nuts")
"""The systems of codes that ``codes`` knows."""
OTHER = "(other)"
"""What ``frequent`` calls the values that are too rare, unless the policy names it."""
HIPAA_POPULATION = 20_000
"""The population that a three-digit ZIP area must exceed: 45 CFR 164.514(b)(2)(i)(B)."""


def _numbers(values: Any) -> tuple[Any, ...] | Any:
    return tuple(values) if is_list(values) else (values,)


@dataclass(frozen=True, slots=True, init=False)
class Prefix:
    """The first characters of codes, fewer at each level: ``Prefix([4, 3, 1])``; the root last.

    Attributes:
        lengths: characters that are kept, level by level, descending.
        mark: stands for the rest of a longer value, so that ``10*`` is not taken for the value ``10``.
    """

    kind: ClassVar[str] = "prefix"
    lengths: tuple[int, ...]
    mark: str

    def __init__(self, lengths: Sequence[int] | int, mark: str = "*") -> None:
        set_fields(self, lengths=_numbers(lengths), mark=mark)

    def faults(self) -> Found:
        """Yield lengths that do not fall, and a mark that is no text."""
        if not self.lengths or any(whole(1)(length) for length in self.lengths):
            yield "lengths", "These are not numbers of characters.", "write lengths: [4, 3, 1]."
        elif any(finer <= coarser for finer, coarser in zip(self.lengths, self.lengths[1:], strict=False)):
            yield "lengths", "The lengths do not fall.", "keep fewer characters at each level: [4, 3, 1]."
        if not isinstance(self.mark, str) or len(self.mark) > 1:
            yield "mark", "This is neither one character nor empty.", 'say mark: "*", or mark: "".'


@dataclass(frozen=True, slots=True, init=False)
class FrequentValues:
    """Values that enough records have, the others as one group; then, with a higher threshold, fewer values.

    Attributes:
        at_least: how many records a value must have to be kept, level by level, ascending.
        other: the text of the group, which must be no value of the column.
    """

    kind: ClassVar[str] = "frequent"
    at_least: tuple[int, ...]
    other: str

    def __init__(self, at_least: Sequence[int] | int, other: str = OTHER) -> None:
        set_fields(self, at_least=_numbers(at_least), other=other)

    def faults(self) -> Found:
        """Yield thresholds that do not rise, and a group without a name."""
        if not self.at_least or any(whole(2)(number) for number in self.at_least):
            hint = "write at_least: [50, 500]; each is a number of records of at least 2."
            yield "at_least", "These are not numbers of records.", hint
        elif any(finer >= coarser for finer, coarser in zip(self.at_least, self.at_least[1:], strict=False)):
            yield "at_least", "The numbers of records do not rise.", "keep fewer values at each level: [50, 500]."
        hint_of_other = "choose another text: * is the root." if self.other == "*" else text()(self.other)
        if hint_of_other:
            yield "other", "This cannot be the name of the group.", hint_of_other


@dataclass(frozen=True, slots=True)
class Codes:
    """The groups of a system of codes: ``Codes("icd10")``. Values that are no code of it are uncovered."""

    kind: ClassVar[str] = "codes"
    system: str

    def faults(self) -> Found:
        """Yield a system that is not known."""
        if self.system not in SYSTEMS:
            yield "", "This is not a system of codes that is shipped.", f"choose one of {', '.join(SYSTEMS)}."


@dataclass(frozen=True, slots=True, init=False)
class Zip3:
    """US ZIP codes to three digits by the rule of HIPAA Safe Harbor, then to one.

    Areas of few people read ``000``. Values that are no ZIP codes are uncovered.

    Attributes:
        populations: a CSV file of three-digit areas with their populations; areas that it does not list are small.
        at_most: the population up to which an area is small.
        small: the small areas; None, without ``populations``: those of the census of 2000.
    """

    kind: ClassVar[str] = "zip3"
    populations: Path | None
    at_most: int
    small: tuple[str, ...] | None

    def __init__(
        self,
        populations: str | Path | None = None,
        at_most: int = HIPAA_POPULATION,
        small: Sequence[str] | None = None,
    ) -> None:
        path = Path(populations) if isinstance(populations, str) and populations else populations
        set_fields(self, populations=path, at_most=at_most, small=small if small is None else _numbers(small))

    def faults(self) -> Found:
        """Yield options that are not of their kind, or that contradict each other."""
        if self.populations is not None and not isinstance(self.populations, Path):
            yield "populations", "This is not a path.", "give a CSV file: three digits, a comma, a population."
        if hint := whole(0)(self.at_most):
            yield "at_most", "This is not a number of people.", hint
        areas = self.small if isinstance(self.small, tuple) else () if self.small is None else (None,)
        if not all(isinstance(area, str) and re.fullmatch(r"[0-9]{3}", area) for area in areas):
            yield "small", "These are not three-digit areas.", 'write them in quotes: small: ["036", "059"].'
        if self.small is not None and self.populations is not None:
            yield "small", "The small areas follow from the populations already.", "say one of the two."
