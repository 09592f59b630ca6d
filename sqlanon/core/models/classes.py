"""The classes of one node as arrays, from which the built-in models judge them without SQL (their method ``judge``).

A model's file in ``sql/model`` is its definition. Its method ``judge`` is the same formula over numpy arrays, with the
same tolerances, for grains that fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # arrays are handled where nodes are judged, and only there
    import numpy as np
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]
    Real = NDArray[np.float64]
    Flags = NDArray[np.bool_]

Judgement = tuple["Flags", "Whole | None"]
"""Per class, whether it fails, and the ``min_suppressed`` of those that do; None: all their records."""


@dataclass(frozen=True, slots=True)
class AncestorLevel:
    """One level of a hierarchy below its root: per value, the number of its ancestor, and the ancestor's share.

    Values that have an ancestor in common have consecutive numbers.
    """

    ancestor: Whole
    share: Real


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """The distribution of a sensitive column among all records, by the number of the value (``sqlanon_overall_i``).

    Attributes:
        share: of the records.
        place, through, area, alone: see ``sql/encode/overall.sql``.
        crossings: ``through`` in the order of the places.
        areas: ``area`` in that order.
        ancestors: the levels below the root; () where the hierarchy has no single root.
        alone_in_tree: the hierarchical distance of the value alone.
    """

    share: Real
    place: Whole
    through: Real
    area: Real
    alone: Real
    crossings: Real
    areas: Real
    ancestors: tuple[AncestorLevel, ...] = ()
    alone_in_tree: Real | None = None


@dataclass(frozen=True, slots=True)
class ClassArrays:
    """The classes of a node as a model sees them, in any order; with a histogram, those that have a record.

    Attributes:
        n: records of the class.
        population: its records of the population (δ-presence).
        starts: where the parts of the class begin, which follow each other; None without a histogram.
        counts: per part, its records; at least 1.
        values: per part, the number of its value in the watched column. They rise within a class.
        facts: of the watched column.
    """

    n: Whole
    population: Whole | None = None
    starts: Any = None
    counts: Any = None
    values: Any = None
    facts: ValueFacts | None = None

    @property
    def distinct_values(self) -> Whole:
        """The values of each class."""
        import numpy as np

        lengths: Whole = np.diff(self.starts, append=len(self.counts))
        return lengths
