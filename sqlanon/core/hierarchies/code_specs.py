"""The hierarchies of codes and categories: prefixes, systems of codes, US ZIP areas, frequent values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sqlanon.core.hierarchies.spec_values import Found, is_list, set_fields
from sqlanon.parameters import Parameter, ValueCheck, choice, option, or_nothing, shaped, suggest, text, whole, words_of

OTHER = "(other)"
"""What ``frequent`` calls the values that are too rare, unless the policy names it."""
HIPAA_POPULATION = 20_000
"""The population that a three-digit ZIP area must exceed: 45 CFR 164.514(b)(2)(i)(B)."""


_AREA = {"type": "string", "pattern": "^[0-9]{3}$"}


def _whole_numbers(least: int) -> ValueCheck:
    one = {"type": "integer", "minimum": least}
    return shaped(
        {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]},
        f"list of whole numbers of at least {least}",
    )


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
    example: ClassVar[str] = "[4, 2]"
    options: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "lengths",
            _whole_numbers(1),
            about="How many characters are kept, level by level, falling.",
            unit="characters",
            example="[4, 2]",
        ),
        option(
            "mark",
            shaped({"type": "string", "maxLength": 1}, "one character, or none"),
            about="Stands for the rest of a longer value.",
            example='""',
        ),
    )
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
    example: ClassVar[str] = "[50, 500]"
    options: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "at_least",
            _whole_numbers(2),
            about="How many records a value must have to be kept, level by level, rising. Choose them at k or above.",
            unit="records",
            example="[50, 500]",
        ),
        option(
            "other",
            text(),
            about="What the other values are called; it must be no value of the column.",
            example="rest",
        ),
    )
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
    example: ClassVar[str] = "icd10"
    options: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "system",
            choice(
                atc="the Anatomical Therapeutic Chemical classification: first 5, 4, 3 characters, the letter",
                countries="sub-region and region of UN M49, of ISO 3166 codes or English names",
                geohash="geohashes: first 8 to 1 characters",
                icd10="ICD-10: categories of three characters, blocks, chapters",
                nuts="regions of the European Union: first 4, 3, 2 characters",
            ),
            about="The system of codes.",
            example="icd10",
        ),
    )
    system: str

    def faults(self) -> Found:
        """Yield a system that is not known."""
        if self.system not in SYSTEMS:
            yield "", "This is not a system of codes that is shipped.", suggest(self.system, SYSTEMS)


SYSTEMS = words_of(Codes.options, "system")
"""The systems of codes that ``codes`` knows."""


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
    example: ClassVar[str] = "{}"
    options: ClassVar[tuple[Parameter, ...]] = (
        option(
            "populations",
            or_nothing(text()),
            about="A CSV file of three-digit areas with their populations; areas that it does not list are small.",
            example="zip3.csv",
            default="the areas of the census of 2000",
        ),
        option(
            "at_most", whole(0), about="The population up to which an area is small.", unit="people", example="20000"
        ),
        option(
            "small",
            or_nothing(shaped({"anyOf": [_AREA, {"type": "array", "items": _AREA}]}, "list of texts of three digits")),
            about="The small areas, which read 000.",
            example='["036", "059"]',
            default="those of the census of 2000, or of populations",
        ),
    )
    populations: Path | None
    at_most: int
    small: tuple[str, ...] | None

    def __init__(
        self, populations: str | Path | None = None, at_most: int = HIPAA_POPULATION, small: Sequence[str] | None = None
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
