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

from sqlanon.lattice.catalog import Catalog
from sqlanon.models.base import ColumnModel, Number, labelled
from sqlanon.parameters import Parameter, choice, number

DISTANCES = ("equal", "hierarchical", "ordered")


@dataclass(frozen=True, slots=True)
class TCloseness(ColumnModel):
    """See the docstring of the module."""

    t: float
    distance: str = "equal"
    type = "t_closeness"
    parameters = (Parameter("t", number(0, 1)), Parameter("distance", choice(*DISTANCES), required=False))
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
