"""k-map: the records of every published class agree with at least k members of the population.

Source: Sweeney, 2002 (k-map); El Emam and Dankar, JAMIA 15(5), 2008, for the estimates. F is the number of records of a
class in a table of the population, generalized like the release: whoever links a published record with the population
finds at least k persons (the journalist's risk is at most 1/k). Where there is no such table but its size N is known,
F of a class of f records is taken from the sampling fraction pi = n/N: X is a Poisson variable with lambda = k pi, the
records that the sample would hold of a class of k (Pannekoek 1999: given that it holds any), and k' is the least number
with P(X >= k') <= significance. A class of k' records would be so unlikely if F were below k that F >= k is concluded;
a class passes with min(k, k') records.

Monotone: F of a part of a class is no larger than F of the class, so the records of a class with F < k are in such
classes at every more specific node; all of them are suppressed. The estimates are k-anonymity with another number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import Number, PrivacyModel, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.models.delta_presence import FILE_OPTIONS, records_schema
from sqlanon.core.words import figure
from sqlanon.parameters import Parameter, choice, is_number, number, option, shaped, whole

POISSON, ZERO_TRUNCATED = "poisson", "zero_truncated_poisson"
SOURCE = "source"
"""The population is the source, of which a subset is published."""
TABLE_KINDS = ("file", "table")
SIGNIFICANCE = 0.05
EXAMPLE = "privacy: [{type: k_map, k: 5, population: {file: people.parquet}}]"
TOLERANCE = 1e-12
"""Relative: a probability this close to the significance counts as equal to it, as it would in exact arithmetic."""


def population_fault(value: Any) -> str | None:
    """Return what is wrong with the ``population`` of a policy; None when nothing is."""
    hint = "write {file: …}, {table: …}, source (the source of a subset), or the number of its records."
    if isinstance(value, Mapping):
        kinds = [kind for kind in TABLE_KINDS if kind in value]
        if len(kinds) != 1 or not isinstance(value[kinds[0]], str) or not value[kinds[0]]:
            return hint
        unknown = [str(key) for key in value if key != kinds[0] and (kinds != ["file"] or key not in FILE_OPTIONS)]
        return f"remove {', '.join(unknown)}; beside file there may be {', '.join(FILE_OPTIONS)}." if unknown else None
    return None if value == SOURCE or whole(1)(value) is None else hint


def _significance_fault(value: Any) -> str | None:
    return None if number(0, 1)(value) is None and 0 < value < 1 else "give a number between 0 and 1, such as 0.05."


@dataclass(frozen=True, slots=True)
class KMap(PrivacyModel):
    """See the docstring of the module.

    Attributes:
        population: N, from which the size of a class in the population is estimated; None, or ``source``: its records
            in the population are counted.
        records: n, all records (or entities) of the source, excluded ones too; None until a source is known.
    """

    k: int
    population: int | str | None = None
    estimator: str = POISSON
    significance: float | Decimal = SIGNIFICANCE
    records: int | None = None
    column: None = None
    type = "k_map"
    watches = False
    parameters = (
        Parameter(
            "k", whole(1), about="Records of the population that a class agrees with, at least.", example=EXAMPLE
        ),
        option(
            "population",
            shaped(
                {"anyOf": [{"type": "integer", "minimum": 1}, records_schema(*TABLE_KINDS)]},
                "a number of records, source, a file, or a mapping with file or table",
                population_fault,
            ),
            about="The population: a file (with the options of CSV files) or a table of its records; their number, "
            "from which the size of a class is estimated; or source, of which a subset is published (delta_presence).",
            example=EXAMPLE,
            default="source",
        ),
        option(
            "estimator",
            choice(POISSON, ZERO_TRUNCATED),
            about="How the size of a class is estimated, where the population is a number; its sample is all records "
            "of the source, excluded ones too.",
            example="privacy: [{type: k_map, k: 5, population: 317238626, estimator: zero_truncated_poisson}]",
        ),
        option(
            "significance",
            shaped(
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "number between 0 and 1",
                _significance_fault,
            ),
            about="How improbable a class of that size is if it has fewer members in the population, at most.",
            example="privacy: [{type: k_map, k: 5, population: 317238626, significance: 0.01}]",
        ),
    )
    monotone = True

    @property
    def estimates(self) -> bool:
        """Whether the size of a class in the population is estimated, not counted."""
        return isinstance(self.population, int)

    @property
    def file(self) -> str:
        return "model/k_anonymity.sql" if self.estimates else "model/k_map.sql"

    @property
    def audit_file(self) -> str:
        return "audit/small_classes.sql" if self.estimates else "audit/k_map.sql"

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.estimates else ("population",)

    @property
    def size(self) -> int:
        """Return the records that a class needs by the estimate; a class that is counted may hold a single one."""
        return self.needed if self.estimates and self.records is not None else 1

    @property
    def needed(self) -> int:
        """The records of the sample that a class needs: min(k, k')."""
        assert isinstance(self.population, int) and self.records is not None
        expected = float(Decimal(self.k) * Decimal(self.records) / Decimal(self.population))
        return least_size_of(self.k, expected, float(self.significance), truncated=self.estimator == ZERO_TRUNCATED)

    @property
    def words(self) -> str:
        return (
            f"k-map with k = {self.k}, estimated for a population of {self.population:,} "
            f"({'zero-truncated Poisson' if self.estimator == ZERO_TRUNCATED else 'Poisson'})"
            if isinstance(self.population, int)
            else f"k-map with k = {self.k}"
        )

    def sentence(self, who: str) -> str:
        if not isinstance(self.population, int):
            return (
                "Anyone who knows the quasi-identifiers of a person of the population, and not whether this person is "
                f"in the data, finds at least {self.k:,} persons of the population that agree with a record of the "
                f"release (k-map): the link is right in 1 of {self.k:,} cases at most (journalist's risk)."
            )
        return (
            f"By estimate, at least {self.k:,} persons of the population of {self.population:,} agree with each record "
            "of the release (k-map): who does not know whether a person is in the data links a record rightly in 1 of "
            f"{self.k:,} cases at most. It takes the data for a random sample of the population, and errs for a class "
            f"with a probability of {figure(100 * float(self.significance))} % at most."
        )

    @property
    def label(self) -> str:
        if not self.estimates:
            return labelled(None, self.type, k=self.k)
        found = {} if self.records is None else {"least": self.needed}
        return labelled(None, self.type, k=self.k, population=self.population, estimator=self.estimator, **found)

    def for_source(self, catalog: Catalog) -> KMap:
        if not self.estimates:
            return self
        if catalog.entities is not None:
            return replace(self, records=catalog.entities + catalog.excluded_entities)
        return replace(self, records=catalog.records)

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"k": self.needed if self.estimates else self.k}

    def obstacle(self, catalog: Catalog) -> str | None:
        if not self.estimates:
            return None
        assert isinstance(self.population, int) and self.records is not None
        if self.population < self.records:
            return f"the population of {self.population} is smaller than its sample of {self.records} {catalog.unit}"
        if catalog.counted >= self.needed:
            return None
        return f"a class must hold {self.needed} {catalog.unit}, but there are {catalog.counted}"

    @staticmethod
    def faults(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Yield the faults of what belongs to an estimate alone."""
        if not is_number(parameters.get("population")):
            for name in ("estimator", "significance"):
                if name in parameters:
                    yield name, "The population is counted, not estimated.", "remove it, or give population a number."

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        counted = classes.n if self.estimates else classes.population
        assert counted is not None
        return counted < values["k"], None


def least_size_of(k: int, expected: float, significance: float, *, truncated: bool) -> int:
    """Return min(k, k'), k' the least number with P(X >= k') <= ``significance`` for a Poisson variable X.

    (The reference's variant returns k' + 1 for it.) The tail is summed from its far end, each term through its
    logarithm, so that nothing overflows, and nothing is lost where the probabilities of single values are too small
    for a float.

    Args:
        expected: lambda, the mean of X.
        truncated: of X given that X >= 1.

    >>> least_size_of(5, 0.5, 0.05, truncated=False), least_size_of(1000, 900.0, 0.05, truncated=False)
    (3, 951)
    """
    if expected <= 0:
        return 1
    # X >= 1 is certain when truncated, and P(X >= 0) = 1 otherwise
    log_scale = math.log(-math.expm1(-expected)) if truncated else 0.0
    limit = significance * (1 + TOLERANCE)

    def log_term(size: int) -> float:
        return size * math.log(expected) - expected - math.lgamma(size + 1) - log_scale

    # from here on P(X >= size) is negligible: so far above the mean terms fall faster than a geometric series
    size = int(expected + 12 * math.sqrt(expected)) + 60
    while log_term(size) > math.log(limit) - 40:
        size += size // 8
    tail = 0.0
    while size > 1:
        tail += math.exp(log_term(size - 1))
        if tail > limit:
            return min(k, size)
        size -= 1
    return 1
