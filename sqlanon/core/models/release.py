"""Release models: models that judge all classes of a node together, after those that judge each class alone.

A release model is given the judgement of the other models on the classes, and returns which classes fail besides.
Several of them are asked in turn, until none of them fails a class more. Its bound holds for every more specific node:
per class (``ReleaseJudgement.certain``), or for the release as a whole (``total``), where it is not known whose records
they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.base import PrivacyModel, fraction, labelled

if TYPE_CHECKING:  # arrays are handled where nodes are judged, and only there
    from sqlanon.core.models.classes import Flags, Whole

Sizes = Sequence[tuple[int, int]]
"""Classes by size, ascending: (records, classes)."""
Bounded = Sequence[tuple[int, int, int]]
"""Classes: (records, how many of these are certain to be suppressed at every more specific node, classes)."""


@dataclass(frozen=True, slots=True)
class NodeClasses:
    """All classes of a node as a release model sees them in the process, in any order.

    Attributes:
        n: records of the class; 0 where only others than the subset have such records (δ-presence).
        fails: the class fails a model so far.
        certain: of a class that fails, how many records are certain to be suppressed at every more specific node.
        values: gives, for the position of a quasi-identifier, the number of its generalized value in each class.
        known_sets: gives, for a k and an L, the classes on sets of at most L quasi-identifiers
            (``evaluate.known_sets.NodeSets``).
        first_to_go: gives those of some classes of one size, by their places, that are suppressed first: how many there
            are of them, the classes that are suppressed before, and whether those that have lost most go first.
        words: gives the words of the keys of some classes, given by their places.
        earlier: of joint cells, the number of their classes in earlier releases (``EarlierClasses``).
    """

    node: Node
    n: Whole
    fails: Flags
    certain: Whole
    values: Callable[[int], Whole]
    first_to_go: Callable[[Whole, int, Flags, bool], Whole]
    known_sets: Callable[[int, int], Any]
    words: Callable[[Whole], list[Whole]]
    earlier: Whole | None = None


@dataclass(frozen=True, slots=True)
class ReleaseJudgement:
    """The judgement of a release model on the classes of a node.

    Attributes:
        fails: the classes that fail it, beside those that failed before.
        certain: per class, at least so many records are suppressed at every more specific node; None: nothing is known.
        total: at least so many records are, of whatever classes; those of ``NodeClasses.certain`` count.
    """

    fails: Flags
    certain: Whole | None = None
    total: int = 0


@dataclass(frozen=True, slots=True)
class SizeCut:
    """The smallest classes, which fail: all of fewer records than ``size``, and so many of just ``size``."""

    size: int
    classes: int


def cut_of(sizes: Sizes, removed: int) -> SizeCut:
    """Return the cut that removes the smallest classes.

    >>> cut_of([(1, 4), (3, 2)], 5)
    SizeCut(size=3, classes=1)
    """
    for size, classes in sizes:
        if removed <= classes:
            return SizeCut(size, removed)
        removed -= classes
    return SizeCut(0, 0)


class SizeModel(PrivacyModel):
    """A release model of class sizes: classes are suppressed in ascending size until a figure of the others holds.

    Of classes of one size, those go first whose values are generalized least, so that suppressing them loses most
    (``ties``: or least); of those that are still equal, the ones that add least to the policy's measure; then by
    their generalized values in the order of the columns.
    """

    __slots__ = ()
    of_release = True
    watches = False
    column = None
    ties: str

    @property
    def file(self) -> str:
        return "model/smallest_classes.sql"

    @property
    def size(self) -> int:
        """Return the least number of records of a class that can pass."""
        return 1

    @abstractmethod
    def removed(self, sizes: Sizes) -> int:
        """Return how many classes, the smallest first, are suppressed until the figure of the others holds."""

    @abstractmethod
    def least(self, classes: Bounded) -> int:
        """Return a lower bound on the records that are suppressed at every more specific node."""

    def judge_release(self, classes: NodeClasses) -> ReleaseJudgement:
        """Return which of the smallest classes fail."""
        import numpy as np

        n, passing = classes.n, ~classes.fails & (classes.n > 0)
        sizes, counts = np.unique(n[passing], return_counts=True)
        listed = list(zip(sizes.tolist(), counts.tolist(), strict=True))
        cut = cut_of(listed, self.removed(listed))
        fails = passing & (n < cut.size)
        tied = np.flatnonzero(passing & (n == cut.size)) if cut.classes else np.zeros(0, np.int64)
        if cut.classes < len(tied):
            tied = classes.first_to_go(tied, cut.classes, classes.fails | fails, self.ties == "greatest_loss")
        fails[tied] = True
        return ReleaseJudgement(fails, np.where(fails, n, 0) if self.monotone else None, self.least(_bounded(classes)))

    def obstacle(self, catalog: Catalog) -> str | None:
        return None


class ThresholdModel(SizeModel):
    """A model of class sizes whose figure is at most a threshold, the decimal fraction that it was written as."""

    __slots__ = ()
    threshold: float | Decimal

    @property
    def monotone(self) -> bool:
        return self.threshold == 0

    @property
    def size(self) -> int:
        return 2 if self.threshold == 0 else 1

    @property
    def label(self) -> str:
        return labelled(None, self.type, threshold=f"{float(self.threshold):g}")

    def audit_values(self, levels: int) -> Mapping[str, int]:
        numerator, denominator = fraction(self.threshold)
        return {"numerator": numerator, "denominator": denominator}


def _bounded(classes: NodeClasses) -> list[tuple[int, int, int]]:
    """Return the classes as a bound reads them."""
    import numpy as np

    pairs = np.stack((classes.n, classes.certain))[:, classes.n > 0]
    if not pairs[1].any():
        sizes, counts = np.unique(pairs[0], return_counts=True)
        return [(size, 0, count) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)]
    found, counts = np.unique(pairs, axis=1, return_counts=True)
    return [(n, certain, count) for n, certain, count in zip(*found.tolist(), counts.tolist(), strict=True)]
