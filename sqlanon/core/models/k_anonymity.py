"""k-anonymity: every published class holds at least k records. Source: Samarati and Sweeney, 1998.

Monotone: a part of a class is no larger than the class, so the records of a class smaller than k are in classes
smaller than k at every more specific node; all of them are suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import Number, PrivacyModel, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.parameters import Parameter, whole


@dataclass(frozen=True, slots=True)
class KAnonymity(PrivacyModel):
    """See the docstring of the module."""

    k: int
    column: None = None
    type = "k_anonymity"
    watches = False
    parameters = (
        Parameter("k", whole(1), about="Records in a class, at least; with an entity, persons.", example="5"),
    )
    audit_file = "audit/small_classes.sql"
    monotone = True

    @property
    def size(self) -> int:
        return self.k

    @property
    def words(self) -> str:
        return f"k-anonymity with k = {self.k}"

    def sentence(self, who: str) -> str:
        return (
            f"Anyone who knows the quasi-identifiers of a person, and nothing else, finds at least {self.k:,} {who} in "
            "the release that agree with them, or none (k-anonymity): the guess which of them is the person is right "
            f"in 1 of {self.k:,} cases at most."
        )

    @property
    def label(self) -> str:
        return labelled(None, self.type, k=self.k)

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"k": self.k}

    def obstacle(self, catalog: Catalog) -> str | None:
        if catalog.counted >= self.k:
            return None
        return f"a class must hold {self.k} {catalog.unit}, but there are {catalog.counted}"

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        return classes.n < self.k, None
