"""Entropy ℓ-diversity: the entropy of the sensitive values of every published class is at least ln ℓ.

Source: Machanavajjhala et al., 2007. Not monotone under suppression: a failing class may split into a part that passes
and one that is suppressed. But entropy is concave: let y = U + R with U the union of the published parts (u of n
records). H(U) >= the weighted mean of the parts' entropies >= ln ℓ, and H(y) >= (u/n) H(U) + (r/n) H(R) >= (u/n) ln ℓ.
So u <= n H(y) / ln ℓ, and at least n (1 - H(y)/ln ℓ) records are suppressed; all of them when y holds fewer than ℓ
values, because the entropy of a part with d values is at most ln d.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.core.models.base import LDiversity, Number, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.parameters import Parameter, number


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(LDiversity):
    """See the module's docstring; ℓ need not be whole."""

    l: float  # noqa: E741  the field's own name for it
    type = "entropy_l_diversity"
    parameters = (
        Parameter(
            "l",
            number(1),
            about="The entropy of the sensitive values of a class is at least ln ℓ: that of ℓ values, all as frequent.",
            example="3",
        ),
    )
    monotone = False

    @property
    def size(self) -> int:
        """Entropy ln ℓ needs ℓ values, ℓ rounded up (less the tolerance of the definition)."""
        return math.ceil(float(self.l) - 1e-9)

    @property
    def words(self) -> str:
        return f"entropy ℓ-diversity with ℓ = {self.l}"

    def sentence(self, who: str) -> str:
        return (
            f"The values of {self.column} in each class are as hard to guess as at least {self.l} equally frequent "
            "ones (entropy ℓ-diversity)."
        )

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, l=f"{self.l:g}")

    def audit_values(self, levels: int) -> Mapping[str, float]:
        return {"l": float(self.l)}

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        wanted = math.log(self.l)
        n = classes.n.astype(np.float64)
        counts = classes.counts.astype(np.float64)
        entropy = np.log(n) - np.add.reduceat(counts * np.log(counts), classes.starts) / n
        kept = (entropy + 1e-11) / wanted if wanted else np.inf
        least = np.ceil(n * np.maximum(1 - kept - 1e-9, 0)).astype(np.int64)
        few = np.log(classes.distinct_values) < wanted - 1e-12
        return entropy < wanted - 1e-12, np.where(few, classes.n, least)
