"""t-closeness: the sensitive values of every published class are distributed nearly as among all records.

Source: Li, Li and Venkatasubramanian, 2007: earth mover's distance at most t, with equal, hierarchical or ordered
ground distance (SPEC-measures). P is the distribution over all records, before suppression.

Not monotone under suppression. But the distance D is convex: let y = U + R with U the union of the published parts (u
of n records). D(U) <= the weighted mean of the parts' distances <= t, and D(y) <= (u/n) D(U) + (r/n) D(R) <= (u/n) t
+ (r/n) D_max, where D_max is the largest distance of a distribution over the values of y; being convex, D is largest
at a single value. So at least n (D(y) - t) / (D_max - t) records are suppressed.

Where entities are counted a class is not the disjoint union of its parts: an entity with several records may be in
several of them. But let h(v) be the entities of value v in y, r its records, U the entities by value of all published
parts, one part after the other, and A the suppressed records. Each entity of v has a record with v that is published or
not, so U + A holds at least h(v) of each v, and at most r in all. With D' the distance computed from h as if y held r:
r D' = sum of max(h - r P, 0) <= that of U + A <= |U| t + |A| D_max, and |A| >= r (D' - t) / (D_max - t): the same
formula with n = r (``in_parts``). The ordered distance has no such form: there a lack at one place is a surplus at the
next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import ColumnModel, Number, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.parameters import Parameter, choice, number, option

if TYPE_CHECKING:
    from sqlanon.core.models.classes import Real

DISTANCE = choice(
    equal="all values are equally far from each other",
    hierarchical="along the hierarchy of the column",
    ordered="along the order of the values, which are numbers or dates",
)


@dataclass(frozen=True, slots=True)
class TCloseness(ColumnModel):
    """See the docstring of the module."""

    t: float
    distance: str = "equal"
    type = "t_closeness"
    parameters = (
        Parameter(
            "t",
            number(0, 1),
            about="The distance of the sensitive values of a class from those of all records, at most.",
            example="0.2",
        ),
        option("distance", DISTANCE, about="How far two values are from each other.", example="ordered"),
    )
    monotone = False
    size = 1

    @property
    def in_parts(self) -> bool:
        """Whether ``min_suppressed``, with a class's records for ``n``, holds where an entity is in several parts."""
        return self.distance != "ordered"

    @property
    def file(self) -> str:
        """One file a distance."""
        return f"model/t_closeness_{self.distance}.sql"

    @property
    def audit_file(self) -> str:
        return f"audit/t_closeness_{self.distance}.sql"

    @property
    def references(self) -> tuple[str, ...]:
        """The distribution among all records, and for a hierarchical distance the hierarchy."""
        return ("reference", "hierarchy") if self.distance == "hierarchical" else ("reference",)

    @property
    def words(self) -> str:
        return f"t-closeness with t = {self.t}"

    def sentence(self, who: str) -> str:
        return (
            f"The values of {self.column} in each class are distributed as in the whole table, to a distance of "
            f"{self.t} (t-closeness): finding the class says little more than the table does."
        )

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, t=f"{float(self.t):g}", distance=self.distance)

    def values(self, catalog: Catalog) -> Mapping[str, Number]:
        attribute = catalog.sensitive_attribute(self.column)
        if self.distance == "hierarchical":
            return {"t": float(self.t), "levels": attribute.height - 1}
        if self.distance == "ordered":
            return {"t": float(self.t), "places": attribute.values, "area": float(attribute.area)}
        return {"t": float(self.t)}

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        t = {"t": float(self.t)}
        return {**t, "levels": levels} if self.distance == "hierarchical" else t

    def obstacle(self, catalog: Catalog) -> str | None:
        """Return that the hierarchical distance lacks a root; otherwise one class of all records has the distance 0."""
        if self.distance == "hierarchical" and not catalog.sensitive_attribute(self.column).rooted:
            return f"the hierarchy of column {self.column!r} has no levels, or no single root"
        return None

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        distance, farthest = _DISTANCES[self.distance](classes, values)
        t = float(self.t)
        fails = distance > t + 1e-12
        share = np.maximum((distance - t - 1e-11) / (farthest - t + 1e-11) - 1e-9, 0)
        return fails, np.where(fails, np.ceil(classes.n * share), 0).astype(np.int64)


def _equal(classes: ClassArrays, values: Mapping[str, Number]) -> tuple[Real, Real]:
    """Return per class its distance from all records, and the largest distance of one of its values."""
    import numpy as np

    facts = classes.facts
    assert facts is not None
    share = facts.share[classes.values]
    size = np.repeat(classes.n, classes.distinct_values)
    more = np.maximum(classes.counts / size - share, 0)
    return np.add.reduceat(more, classes.starts), 1 - np.minimum.reduceat(share, classes.starts)


def _hierarchical(classes: ClassArrays, values: Mapping[str, Number]) -> tuple[Real, Real]:
    """Return the same where the values are leaves of a tree: the mean over its levels below the root."""
    import numpy as np

    facts = classes.facts
    assert facts is not None and facts.alone_in_tree is not None
    starts = classes.starts
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(classes.counts)))
    is_first = np.zeros(len(classes.values), bool)
    is_first[starts] = True
    number = np.cumsum(is_first) - 1
    distance = np.zeros(len(classes.n))
    for level in facts.ancestors:
        ancestor = level.ancestor[classes.values]
        begins = is_first.copy()
        begins[1:] |= ancestor[1:] != ancestor[:-1]
        first = np.flatnonzero(begins)
        held = np.diff(total[first], append=total[-1:])
        owner = number[first]
        more = np.maximum(held / classes.n[owner] - level.share[classes.values[first]], 0)
        distance += np.bincount(owner, more, len(distance))
    return distance / len(facts.ancestors), np.maximum.reduceat(facts.alone_in_tree[classes.values], starts)


def _ordered(classes: ClassArrays, values: Mapping[str, Number]) -> tuple[Real, Real]:
    """Return the same where the values stand in a row: see ``sql/model/t_closeness_ordered.sql``."""
    import numpy as np

    facts = classes.facts
    assert facts is not None
    starts, places, area = classes.starts, int(values["places"]), float(values["area"])
    if places < 2:  # there is no distance between values
        return np.zeros(len(classes.n)), np.ones(len(classes.n))
    owner = np.repeat(np.arange(len(classes.n)), classes.distinct_values)
    row = np.lexsort((facts.place[classes.values], owner))
    ranked, counts = classes.values[row], classes.counts[row]
    place, alone = facts.place[ranked], facts.alone[ranked]
    area_before = facts.area[ranked] - facts.through[ranked]
    total = np.cumsum(counts)
    so_far = total - np.repeat(total[starts] - counts[starts], classes.distinct_values)
    held = so_far / classes.n[owner]
    last = np.append(starts[1:], len(ranked)) - 1
    next_place, next_area = np.append(place[1:], 0), np.append(area_before[1:], 0.0)
    next_place[last], next_area[last] = places + 1, area
    crossing = np.searchsorted(facts.crossings, held, side="right")  # the place of it; 0: there is none
    crossing_area = np.where(crossing > 0, facts.areas[np.maximum(crossing, 1) - 1], 0.0)
    early, late = crossing < place, crossing >= next_place
    turn = np.where(early, place - 1, np.where(late, next_place - 1, crossing))
    turn_area = np.where(early, area_before, np.where(late, next_area, crossing_area))
    stretch = (turn - place + 1) * held - (turn_area - area_before) + (next_area - turn_area)
    stretch -= (next_place - 1 - turn) * held
    stretch[starts] += area_before[starts]
    return np.add.reduceat(stretch, starts) / (places - 1), np.maximum.reduceat(alone, starts) / (places - 1)


_DISTANCES = {"equal": _equal, "hierarchical": _hierarchical, "ordered": _ordered}
