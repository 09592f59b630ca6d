"""Bounded knowledge: whoever knows at most L of a person's quasi-identifiers finds at least k published records.

For every set S of at most L quasi-identifiers, and every published record, at least k published records have the same
generalized values on S. Sources: k^m-anonymity (Terrovitis, Mamoulis, Kalnis 2008) and LKC-privacy (Mohammed, Fung,
Hung, Lee 2009), here for full-domain generalization. With L = m, the number of quasi-identifiers, it is k-anonymity;
with less it needs far less generalization, which is what tables of many columns need. It promises nothing against an
attacker who knows more than L of the values: a record may well be the only one with all of its values.

Only the maximal sets, of min(L, m) quasi-identifiers, are judged: the class of a record on a smaller set is a union of
its classes on a maximal one, and holds them. A quasi-identifier at the top of its hierarchy distinguishes nothing, so
that sets of the others are enough.

*The least suppression.* A record that is suppressed makes its classes on all sets smaller, so k is about the published
records P, not about all. Call P valid if every record of P has, on every S, at least k records of P in its class. The
union of two valid sets is valid (each record keeps its own k), so there is a greatest valid set, and it suppresses
least. It is reached by removing every record whose class on some S has fewer than k remaining records, until there
are none: by induction no record of a valid set is ever removed, since its class on S holds the k records of that set.
All records of a class (on all quasi-identifiers) share their classes on every S, so whole classes are removed.

*Monotone.* Let x lie at or below y, and P be valid at x. Records with equal values on S at x have equal values at y, so
that P is valid at y, too: the greatest valid set of y holds that of x. What is suppressed at y is suppressed at x
(``min_suppressed`` = n), and a node that suppresses nothing has no generalization that does.

*With other models.* The records of a candidate x at or below y that meets all models are a valid set at y that avoids
every record which is certain to be suppressed for other reasons (its whole class is). So they lie in the greatest valid
set among the others, and all outside it are certain. What is suppressed at y itself starts from all classes that fail
another model, certain or not; where other release models suppress more, the rounds go on until no model does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import Number, PrivacyModel, labelled
from sqlanon.core.models.release import NodeClasses, ReleaseJudgement
from sqlanon.core.words import counted
from sqlanon.parameters import Parameter, whole


@dataclass(frozen=True, slots=True)
class BoundedKnowledge(PrivacyModel):
    """See the docstring of the module.

    Attributes:
        k: records that a class on a set holds at least.
        at_most: quasi-identifiers that an attacker knows at most (L).
    """

    k: int
    at_most: int
    column: None = None
    type = "bounded_knowledge"
    watches = False
    of_release = True
    of_sets = True
    parameters = (
        Parameter("k", whole(1), about="Least records that agree in any at_most columns.", example="5"),
        Parameter("at_most", whole(1), about="Quasi-identifiers that an attacker knows at most.", example="3"),
    )
    size = 1
    monotone = True

    @property
    def least_count(self) -> int:
        """Return how many records whoever knows at most L quasi-identifiers finds at least (``models.least_count``)."""
        return self.k

    @property
    def words(self) -> str:
        return f"bounded knowledge with k = {self.k} for {counted(self.at_most, 'known quasi-identifier')} at most"

    def sentence(self, who: str) -> str:
        return (
            f"Anyone who knows {counted(self.at_most, 'value')} of a person's quasi-identifiers at most, whichever "
            f"they are, and nothing else, finds at least {self.k:,} {who} in the release that agree with them, or none "
            "(bounded knowledge): the guess which of them is the person is right in 1 of "
            f"{self.k:,} cases at most."
        )

    @property
    def label(self) -> str:
        return labelled(None, self.type, k=self.k, at_most=self.at_most)

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        return {"k": self.k}

    def obstacle(self, catalog: Catalog) -> str | None:
        if catalog.counted >= self.k:
            return None
        return f"a class must hold {self.k} {catalog.unit}, but there are {catalog.counted}"

    def judge_release(self, classes: NodeClasses) -> ReleaseJudgement:
        """Return the classes outside of the greatest valid set, and those that are outside whatever is suppressed."""
        import numpy as np

        sets = classes.known_sets(self.k, self.at_most)
        sets.suppress(classes.fails & (classes.certain == classes.n), limited=True)
        certain = np.where(sets.fails, classes.n, 0)
        if not sets.cut:
            sets.suppress(classes.fails, limited=False)
        return ReleaseJudgement(sets.fails, certain)
