"""δ-presence: in every published class the share of records that belong to the subset lies between min and max.

Source: Nergiz, Atzori and Clifton, 2007. The source is the population; the subset is what is published and what all
other models, measures and limits are about. A class without records of the subset publishes nothing: with
``public_only: ignore`` it does not count; with ``reject`` it has presence 0, cannot be suppressed, and rules the node
out when min > 0.

Not monotone under suppression. Above max: let U be the published parts of a failing class (share at most max, so
u <= max p_U), R the suppressed ones; R holds at least as many records of the population as of the subset. Then
n = u + r <= max (p - r) + r, so r >= (n - max p) / (1 - max). Below min: with ``reject`` at least 1, because at a
candidate every part holds records of the subset, and parts that all reach min would make the whole reach it; with
``ignore`` 0, because a part without records of the subset can absorb the excess. A class without records of the subset
stays one in every part, so with ``reject`` it rules out all more specific nodes too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import Number, PrivacyModel, fraction, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.words import figure
from sqlanon.parameters import TEXT, Parameter, choice, exact, is_number, option, shaped

SUBSET_KINDS = ("file", "table", "column")
FILE_OPTIONS = ("delimiter", "null", "quote", "encoding", "header")


def records_schema(*kinds: str) -> dict[str, Any]:
    """Return the JSON Schema of what names records: the path of a file, or one of ``kinds`` as a key."""
    options = {name: {"type": "boolean" if name == "header" else "string"} for name in FILE_OPTIONS}
    named = [
        {
            "type": "object",
            "properties": {kind: TEXT, **(options if kind == "file" else {})},
            "required": [kind],
            "additionalProperties": False,
        }
        for kind in kinds
    ]
    return {"anyOf": [TEXT, *named]}


def subset_fault(value: Any) -> str | None:
    """Return what is wrong with the ``subset`` of a policy; None when nothing is."""
    kinds = [kind for kind in SUBSET_KINDS if isinstance(value, Mapping) and kind in value]
    if len(kinds) != 1 or not isinstance(value[kinds[0]], str) or not value[kinds[0]]:
        return "write {file: …}, {table: …} or {column: …}."
    unknown = [str(key) for key in value if key != kinds[0] and (kinds != ["file"] or key not in FILE_OPTIONS)]
    if unknown:
        return f"remove {', '.join(unknown)}; beside file there may be {', '.join(FILE_OPTIONS)}."
    return None


@dataclass(frozen=True, slots=True)
class DeltaPresence(PrivacyModel):
    """See the module's docstring; min and max are taken as the decimal fractions they were written as."""

    min: float | Decimal
    max: float | Decimal
    public_only: str = "ignore"
    column: None = None
    type = "delta_presence"
    watches = False
    parameters = (
        Parameter(
            "min",
            exact(0, 1),
            about="The share of the records of a class that belong to the subset, at least.",
            example="0.05",
        ),
        Parameter("max", exact(0, 1), about="That share at most.", example="0.15"),
        Parameter(
            "subset",
            shaped(records_schema(*SUBSET_KINDS), "a file, or a mapping with file, table or column", subset_fault),
            about="What is published of the source, which is the population: a file (with the options of CSV files) or "
            "a table of the records, or a column that is true of them.",
            example="{column: member}",
        ),
        option(
            "public_only",
            choice(
                ignore="such a class does not count",
                reject="such a class has the share 0 and cannot be suppressed",
            ),
            about="What a class without records of the subset means.",
            example="reject",
        ),
    )
    references = ("population",)
    monotone = False
    size = 1

    @property
    def needs_rejection(self) -> bool:
        return self.public_only == "reject" and self.min > 0

    @property
    def words(self) -> str:
        return f"δ-presence between {self.min} and {self.max}"

    def sentence(self, who: str) -> str:
        low, high = (figure(100 * float(share)) for share in (self.min, self.max))
        return (
            "Anyone who knows the quasi-identifiers of a person of the population takes it with a probability of "
            f"{low} to {high} % that this person is in the data (δ-presence)."
        )

    @property
    def label(self) -> str:
        return labelled(None, self.type, min=f"{float(self.min):g}", max=f"{float(self.max):g}")

    def values(self, catalog: Catalog) -> Mapping[str, int]:
        return {**self.audit_values(0), "below": int(self.needs_rejection)}

    def audit_values(self, levels: int) -> Mapping[str, int]:
        low, high = fraction(self.min), fraction(self.max)
        return {
            "min_numerator": low[0],
            "min_denominator": low[1],
            "max_numerator": high[0],
            "max_denominator": high[1],
        }

    @staticmethod
    def faults(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Yield the fault of a range that ends before it begins."""
        low, high = parameters.get("min"), parameters.get("max")
        if is_number(low) and is_number(high) and Decimal(str(low)) > Decimal(str(high)):
            yield "min", "min is above max.", "swap them."

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        n, population = classes.n, classes.population
        assert population is not None
        bounds = {name: int(value) for name, value in values.items()}
        most = max(int(population.max(initial=0)), int(n.max(initial=0)))
        if most * max(bounds.values()) >= 2**61:
            n, population = n.astype(object), population.astype(object)
        room = max(bounds["max_denominator"] - bounds["max_numerator"], 1)
        excess = n * bounds["max_denominator"] - population * bounds["max_numerator"]
        above = (excess > 0).astype(bool)
        below = (n * bounds["min_denominator"] < population * bounds["min_numerator"]).astype(bool)
        least = np.minimum(n, (np.maximum(excess, 0) + room - 1) // room).astype(np.int64)
        return above | below, np.where(above, least, bounds["below"])
