"""Recursive (c, ℓ)-diversity: r1 < c (r_ℓ + r_(ℓ+1) + …) for the sorted counts of every published class, and ℓ values.

Source: Machanavajjhala et al., 2007. Not monotone under suppression. But let v be the most frequent value of a failing
class y, and T the records of y whose value is none of its ℓ - 1 most frequent ones (the tail). In a published part C,
n_v(C) <= r1(C) < c tail(C), and tail(C) <= the records of C in T, because the ℓ - 1 most frequent values of C cover at
least as much of C as those of y do. Summed over the published parts: n_v < c |T|. So at least
floor(r1 - c |T|) + 1 records of v are suppressed; all records of y are when y holds fewer than ℓ values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import LDiversity, Number, fraction, labelled, too_few_values
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.words import counted
from sqlanon.parameters import Parameter, exact, whole


@dataclass(frozen=True, slots=True)
class RecursiveLDiversity(LDiversity):
    """See the module's docstring; c > 0 is taken as the decimal fraction it was written as."""

    l: int  # noqa: E741  the field's own name for it
    c: float | Decimal
    type = "recursive_l_diversity"
    parameters = (
        Parameter("l", whole(1), about="Values of the sensitive column in a class, at least.", example="3"),
        Parameter(
            "c",
            exact(0, above=True),
            about="The most frequent value has fewer than c times the records of all but the ℓ - 1 most frequent ones.",
            example="4",
        ),
    )
    monotone = False

    @property
    def words(self) -> str:
        return f"recursive (c, ℓ)-diversity with c = {self.c}, ℓ = {self.l}"

    def sentence(self, who: str) -> str:
        values = counted(self.l, "different value")
        return (
            f"Each class holds at least {values} of {self.column}, and its most frequent one is less than {self.c} "
            "times as frequent as the rare ones together (recursive ℓ-diversity)."
        )

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, l=self.l, c=f"{float(self.c):g}")

    def values(self, catalog: Catalog) -> Mapping[str, int]:
        """Return the placeholders of the file; a c above all counts means the same as one more than all of them."""
        numerator, denominator = fraction(min(self.c, catalog.population + 1))
        return {"l": self.l, "c_numerator": numerator, "c_denominator": denominator}

    def audit_values(self, levels: int) -> Mapping[str, int]:
        numerator, denominator = fraction(self.c)
        return {"l": self.l, "c_numerator": numerator, "c_denominator": denominator}

    def obstacle(self, catalog: Catalog) -> str | None:
        """Return that the source has fewer values than ℓ, or that no class can beat c.

        The tail of a class holds at most v - ℓ + 1 of v values.
        """
        few = too_few_values(catalog, self.column, self.l)
        if few is not None:
            return few
        present = catalog.sensitive_attribute(self.column).values
        longest = present - self.l + 1
        numerator, denominator = fraction(self.c)
        if longest * numerator > denominator:  # r1 < c * tail <= c * longest * r_ℓ <= c * longest * r1
            return None
        return (
            f"c = {float(self.c):g} is too small for column {self.column!r}: with {present} values and ℓ = {self.l} "
            f"the tail of a class holds at most {longest} times its largest count"
        )

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        numerator, denominator = int(values["c_numerator"]), int(values["c_denominator"])
        held, n, starts = classes.distinct_values, classes.n, classes.starts
        of_part = np.repeat(np.arange(len(n)), held)
        descending = classes.counts[np.lexsort((-classes.counts, of_part))]
        total = np.cumsum(descending)  # the sums up to each part
        before = total[starts] - descending[starts]
        first = np.minimum(starts + self.l - 1, starts + held)  # where the tail begins
        tail = before + n - np.where(first > starts, total[first - 1], before)
        largest = descending[starts]
        if int(n.max(initial=0)) * max(numerator, denominator) >= 2**62:
            largest, tail = largest.astype(object), tail.astype(object)
        excess = largest * denominator - tail * numerator
        few = held < self.l
        fails = few | (excess >= 0).astype(bool)
        least = np.where(few, n, np.minimum(n, (np.maximum(excess, 0) // denominator + 1).astype(np.int64)))
        return fails, least
