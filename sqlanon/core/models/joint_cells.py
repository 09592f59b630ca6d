"""Releases judged together: what the new release and earlier ones show of a person together is shown of enough others.

A joint cell holds the persons who agree in their class, or absence, in every earlier release and in the new one; that
of the persons who are absent everywhere is nobody's. Every other cell must hold no or at least k persons (``least``).

Cells with a class of the new release are rows of a grain, because the number of the earlier classes stands in its key
(``lattice.catalog.EarlierClasses``): the models of the policy judge each of them as a class, and a published class is a
union of cells that pass. This model judges the cells without one. Let v stand for the classes of some persons in
earlier releases, M(v) for these persons, whether the source still has them or not, and P(v) for those of them who are
published. The cell (v, absent) has |M(v)| - |P(v)| persons. Where these are 1 to k - 1, and P(v) is not empty, further
cells of v are suppressed, the smallest first (of several, by the words of their keys), until the cell holds k or P(v)
is empty: then the new release shows nothing of v that the earlier ones do not show. Whole cells, so the others stay as
they were judged. Where a model watches a sensitive column (``whole``), the values that absent persons had are seen by
subtraction, so P(v) is M(v), or empty.

*Any of the releases.* A cell of the releases of some colluding recipients is a union of cells of all releases, none of
them that of the absent, because a person who is absent everywhere is absent in these. So it holds no or at least k
persons. By induction over the releases every cell of all of them holds at least as many as the smallest k that was
asked for: it was judged with the latest release, or nobody of it is in that one and it was a cell before. So the
earlier releases have to be judged together with each other, too; where recipients did not share, a run looks whether
their cells hold as many all the same, or refuses (``ledger.together``).

*The bound.* Let x be a candidate at or below y, R(v) the records of the source with the number v, and c(v) how many of
them are certain to be suppressed at x. If |M(v)| - |R(v)| + c(v) > 0 the cell (v, absent) is not empty at x: it holds k
persons, so that k - (|M(v)| - |R(v)|) records of R(v) are suppressed, or else all of R(v) are. So max(c(v), k - |M(v)|
+ |R(v)|) are, at most |R(v)|; for ``whole`` all are. Which of them is not known, unless it is all of them; the sum over
v is a bound for the release. It is not monotone: a cell that is suppressed at y to fill (v, absent) may be too large a
choice at x.

*Upward.* A node that suppresses nothing has |M(v)| - |R(v)| persons in (v, absent), as every other node that suppresses
nothing; cells of its generalizations are unions of its cells. So these suppress nothing, if the other models agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import PrivacyModel, labelled
from sqlanon.core.models.release import NodeClasses, ReleaseJudgement

Sums = Sequence[tuple[int, int, int]]
"""Per number of earlier classes: the number, its encoded records, and how many of them are certain to be suppressed."""


@dataclass(frozen=True, slots=True)
class JointCells(PrivacyModel):
    """See the docstring of the module; it is no model of a policy, but what a ledger of releases asks for.

    Attributes:
        least: persons that a joint cell holds at least.
        members: per number of earlier classes, the persons of the earlier releases with it (``EarlierClasses``).
        whole: the persons of a number are all published, or none of them is.
    """

    least: int
    members: tuple[int, ...]
    whole: bool = False
    column: None = None
    type = "joint_cells"
    watches = False
    of_release = True
    parameters = ()
    size = 1
    monotone = False

    @property
    def label(self) -> str:
        return labelled(None, self.type, k=self.least)

    @property
    def file(self) -> str:
        return "model/joint_cells.sql"

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"least": self.least, "whole": int(self.whole)}

    def obstacle(self, catalog: Catalog) -> str | None:
        return None

    def surely(self, number: int, records: int, certain: int) -> int:
        """Return how many records with a number are suppressed at every candidate, if so many certainly are."""
        absent = self.members[number] - records
        if number == 0 or absent + certain <= 0:
            return certain
        return records if self.whole else min(records, max(certain, self.least - absent))

    def total(self, sums: Sums) -> int:
        """Return how many records are suppressed at every candidate at or below a node."""
        return sum(self.surely(*of_number) for of_number in sums)

    def judge_release(self, classes: NodeClasses) -> ReleaseJudgement:
        """Return which cells fail so that those without a class of the new release hold nobody, or enough."""
        import numpy as np

        assert classes.earlier is not None
        numbers, most = classes.earlier, len(self.members)

        def summed(amounts: np.ndarray) -> np.ndarray:
            return np.bincount(numbers, amounts, most).astype(np.int64)

        members = np.array(self.members, np.int64)
        passing = ~classes.fails & (classes.n > 0)
        absent = members - summed(np.where(passing, classes.n, 0))
        absent[0] = 0  # those who are in no release are nobody's
        records, certain = summed(classes.n), summed(np.where(classes.fails, classes.certain, 0))
        total = self.total(list(zip(range(most), records.tolist(), certain.tolist(), strict=True)))
        if self.whole:
            lost = (members - records + certain > 0) & (np.arange(most) > 0)
            sure = np.where(lost[numbers], classes.n, 0)
            return ReleaseJudgement(passing & (absent[numbers] > 0), sure, total)
        places = np.flatnonzero(passing & (absent[numbers] > 0) & (absent[numbers] < self.least))
        fails = np.zeros(len(classes.n), bool)
        if len(places):
            places = places[np.lexsort((*reversed(classes.words(places)), classes.n[places], numbers[places]))]
            own, sizes = numbers[places], classes.n[places]
            before = sizes.cumsum() - sizes
            first = np.r_[True, own[1:] != own[:-1]]
            before -= before[first][first.cumsum() - 1]
            fails[places[absent[own] + before < self.least]] = True
        return ReleaseJudgement(fails, None, total)
