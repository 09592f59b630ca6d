"""How many classes there are of each size: what every figure of risk is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from sqlanon.core.facts import Facts

if TYPE_CHECKING:  # arrays are imported where they are used
    from sqlanon.core.sizes.special import Floats


@dataclass(frozen=True, slots=True)
class ClassSizes(Facts):
    """The classes of ``least`` to ``most`` records: those that are published, and those that are suppressed."""

    KEYS = "least most classes records"
    least: int
    most: int
    classes: int
    records: int
    suppressed_classes: int = 0
    suppressed_records: int = 0


@dataclass(frozen=True, slots=True)
class SizeHistogram:
    """Classes by size, the number of their records, or with an entity of their distinct entities.

    Attributes:
        sizes: ``(size, classes)``, in ascending order of the sizes, which are at least 1.
        suppressed: records of the same source that stand in no class, because they are not published.
        excluded: records that the basic match leaves out.
    """

    sizes: tuple[tuple[int, int], ...] = ()
    suppressed: int = 0
    excluded: int = 0
    _memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, Any]], *, suppressed: int = 0, excluded: int = 0) -> Self:
        """Return the histogram of rows of size and classes, in any order; empty classes are left out."""
        found: Counter[int] = Counter()
        for size, classes in rows:
            found[int(size)] += int(classes)
        del found[0]
        return cls(tuple(sorted(found.items())), suppressed, excluded)

    @property
    def records(self) -> int:
        """n: the records that stand in a class."""
        return sum(size * classes for size, classes in self.sizes)

    @property
    def all_records(self) -> int:
        """The records of the classes, and the suppressed ones."""
        return self.records + self.suppressed

    @property
    def classes(self) -> int:
        """C: how many classes there are."""
        return sum(classes for _, classes in self.sizes)

    @property
    def smallest(self) -> int | None:
        """The size of the smallest class; None when there is none."""
        return self.sizes[0][0] if self.sizes else None

    @property
    def largest(self) -> int | None:
        """The size of the largest class; None when there is none."""
        return self.sizes[-1][0] if self.sizes else None

    def classes_of(self, size: int) -> int:
        """Return the number of classes of a size."""
        return next((classes for found, classes in self.sizes if found == size), 0)

    def records_below(self, bound: float) -> int:
        """Return the number of records in classes of fewer than so many records."""
        return sum(size * classes for size, classes in self.sizes if size < bound)

    def pairs(self) -> int:
        """Return the number of pairs of records that share a class."""
        return sum(classes * (size * (size - 1) // 2) for size, classes in self.sizes)

    def arrays(self) -> tuple[Floats, Floats]:
        """Return the sizes, and the numbers of classes, as arrays of doubles of one length."""
        import numpy as np

        if "arrays" not in self._memo:
            both = np.asarray(self.sizes, dtype=np.float64).reshape(-1, 2)
            self._memo["arrays"] = both[:, 0], both[:, 1]
        found: tuple[Floats, Floats] = self._memo["arrays"]
        return found


@dataclass(frozen=True, slots=True)
class PopulationClasses:
    """The classes of a sample in a population.

    Attributes:
        sizes: ``(f, F, classes)``: how many classes have f records in the sample and F in the population.
    """

    sizes: tuple[tuple[int, int, int], ...]


def in_buckets(published: SizeHistogram, suppressed: SizeHistogram | None = None) -> tuple[ClassSizes, ...]:
    """Return classes by size, in a bucket per power of two from the smallest to the largest, also where none falls."""
    suppressed = suppressed or SizeHistogram()
    counts: dict[int, list[int]] = {}
    for place, histogram in ((0, published), (2, suppressed)):
        for size, classes in histogram.sizes:
            bucket = counts.setdefault(size.bit_length() - 1, [0, 0, 0, 0])
            bucket[place] += classes
            bucket[place + 1] += size * classes
    if not counts:
        return ()
    return tuple(
        ClassSizes(1 << power, (2 << power) - 1, *counts.get(power, [0, 0, 0, 0]))
        for power in range(min(counts), max(counts) + 1)
    )


def read_sizes(
    rows: Iterable[Sequence[Any]], *, suppressed: int = 0, excluded: int = 0
) -> tuple[SizeHistogram, PopulationClasses | None]:
    """Return the classes of rows of size and classes, or of size, size in the population and classes.

    Who is in the sample is in the population: where a table of it knows fewer of a class than the sample has (k-map),
    those of the sample count.
    """
    found = [tuple(map(int, row)) for row in rows]
    sizes = SizeHistogram.of(((row[0], row[-1]) for row in found), suppressed=suppressed, excluded=excluded)
    known = [(size, max(size, members), classes) for size, *more, classes in found for members in more]
    return sizes, PopulationClasses(tuple(sorted(known))) if known else None


def as_buckets(sizes: SizeHistogram) -> tuple[tuple[int, int, int, int], ...]:
    """Return ``class_sizes`` of classes by size: least and most size, classes and records of what is not empty."""
    return tuple((b.least, b.most, b.classes, b.records) for b in in_buckets(sizes) if b.classes)
