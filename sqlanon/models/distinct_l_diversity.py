"""Distinct ℓ-diversity: every published class holds at least ℓ values of the sensitive attribute.

Source: Machanavajjhala et al., 2007. Monotone: a part of a class holds no more values than the class, so all records of
a failing class are suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.lattice.catalog import Catalog
from sqlanon.models.base import labelled, too_few_values
from sqlanon.parameters import Parameter, whole


@dataclass(frozen=True, slots=True)
class DistinctLDiversity:
    """See the docstring of the module."""

    column: str
    l: int  # noqa: E741  the field's own name for it
    type = "distinct_l_diversity"
    watches = True
    parameters = (Parameter("l", whole(1)),)
    file = "model/distinct_l_diversity.sql"
    audit_file = "audit/distinct_l_diversity.sql"
    references = ()
    monotone = True
    needs_rejection = False

    @property
    def size(self) -> int:
        """ℓ values need ℓ records."""
        return self.l

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, l=self.l)

    def values(self, catalog: Catalog) -> Mapping[str, int]:
        return {"l": self.l}

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"l": self.l}

    def obstacle(self, catalog: Catalog) -> str | None:
        return too_few_values(catalog, self.column, self.l)
