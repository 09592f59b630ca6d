"""Distinct ℓ-diversity: every published class holds at least ℓ values of the sensitive attribute.

Source: Machanavajjhala et al., 2007. Monotone: a part of a class holds no more values than the class, so all records of
a failing class are suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.core.models.base import LDiversity, Number, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.words import counted
from sqlanon.parameters import Parameter, whole


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(LDiversity):
    """See the docstring of the module."""

    l: int  # noqa: E741  the field's own name for it
    type = "distinct_l_diversity"
    parameters = (Parameter("l", whole(1), about="Values of the sensitive column in a class, at least.", example="3"),)
    monotone = True

    @property
    def words(self) -> str:
        return f"distinct ℓ-diversity with ℓ = {self.l}"

    def sentence(self, who: str) -> str:
        values = counted(self.l, "different value")
        return f"Each class holds at least {values} of {self.column} (distinct ℓ-diversity)."

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, l=self.l)

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        return classes.distinct_values < self.l, None
