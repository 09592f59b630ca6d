"""The question of risk: what is asked of a relation, or of a source and its release, wherever it is asked."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.assess.risk.measure import Sample
from sqlanon.core.words import counted, spelled

DEFAULT_K = 5
"""The size below which a class is counted as small, where nobody names one."""
EACH = ", each once in every class of theirs"
"""Said of a number of entities that is a sum over classes."""
WITHOUT_NULL = "without a NULL in a quasi-identifier"


@dataclass(frozen=True, slots=True)
class RiskQuestion:
    """A question of risk: made at each door, handed on whole, and completed by what is counted.

    Attributes:
        quasi_identifiers: what the attacker knows.
        unit: ``record`` or ``entity``.
        nulls: ``extended`` or ``basic``.
        k: the size below which a class is small.
        population_size: N, for the estimates of population uniqueness; None leaves them out.
        population: the table of the population.
        weights: the column of what a record stands for.
        column_sets: look at the sets of columns too.
        partial: known when classes are counted: some records are not eligible (basic match); sentences name those that
            are.
        entities: known when classes are counted: distinct entities, of which classes may count one more than once.
    """

    quasi_identifiers: tuple[str, ...]
    unit: str = "record"
    nulls: str = "extended"
    k: int = DEFAULT_K
    population_size: int | None = None
    population: Sample | None = None
    weights: str | None = None
    column_sets: bool = False
    partial: bool = False
    entities: int | None = None

    def each(self, number: int) -> str:
        """Return what to say after a sum over classes of so many entities: more than there are count more than once."""
        return EACH if self.entities is not None and number > self.entities else ""

    @property
    def attributes(self) -> str:
        """The attributes of a target, as in ``knows a target's seven attributes``."""
        number = len(self.quasi_identifiers)
        return f"{spelled(number)} attribute{'' if number == 1 else 's'}" if number else ""

    @property
    def these(self) -> str:
        """``these attributes``, or what stands in their place."""
        return "this attribute" if len(self.quasi_identifiers) == 1 else "these attributes"

    @property
    def plural(self) -> str:
        """The unit in the plural."""
        return "records" if self.unit == "record" else "entities"

    @property
    def whom(self) -> str:
        """Which records or entities take part, after their noun; empty where all do."""
        if not self.partial:
            return ""
        return f" {WITHOUT_NULL}" if self.unit == "record" else f" with a record {WITHOUT_NULL}"

    def counted(self, number: int) -> str:
        """So many records or entities that take part."""
        return counted(number, self.unit) + self.whom + self.each(number)
