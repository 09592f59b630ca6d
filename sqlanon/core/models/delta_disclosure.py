"""δ-disclosure privacy: the shares of sensitive values in a class differ from those of all records by a bounded factor.

Source: Brickell and Shmatikov, 2008 ("The cost of privacy"). With q the share of a value in the class and p its share
among all records (before suppression): |log2(q / p)| < δ for every value that occurs in the class. (The paper asks it
of all values of the table, which no small class can meet; like other implementations, and SPEC-risk, we ask it of those
present.) The comparison is strict: with δ = 1, a share twice as large fails.

Not monotone: a failing class can fall into parts that all pass. From above, every value has a cap, q < 2^δ p, and so
what is published of a failing class is bounded by ``models.capped_shares``, with and without entities. From below
nothing follows: a class in which v is too rare may fall into a part that holds all of its v, and is small enough, and
the rest, which lacks v and is not asked about it; both may pass, and nothing is suppressed. For the same reason a union
of classes that pass need not pass (v may be too rare in it): a node that suppresses nothing may have a generalization
that does (``closes_upward``), and patterns and local recoding are refused, because two of their rules may publish the
same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import ColumnModel, Number, labelled
from sqlanon.core.models.capped_shares import min_suppressed
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.words import figure
from sqlanon.parameters import Parameter, exact

WIDEST = 64
"""A δ above this limits nothing in fewer than 2^64 records: no two shares differ by such a factor."""


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(ColumnModel):
    """See the docstring of the module."""

    delta: float | Decimal
    type = "delta_disclosure"
    parameters = (
        Parameter(
            "delta",
            exact(0, above=True),
            about="The share of a value in a class and its share of all records differ by a factor below 2^δ.",
            example="1",
        ),
    )
    references = ("reference",)
    monotone = False
    in_parts = True
    closes_upward = False
    size = 1

    @property
    def words(self) -> str:
        return f"δ-disclosure privacy with δ = {self.delta}"

    def sentence(self, who: str) -> str:
        factor = figure(2.0 ** min(float(self.delta), WIDEST))
        return (
            f"No value of {self.column} that occurs in a class is {factor} times as frequent there as in the whole "
            "table, or more, nor as rare by that factor (δ-disclosure privacy): finding the class changes what one may "
            "guess by less than that."
        )

    @property
    def label(self) -> str:
        return labelled(self.column, self.type, delta=f"{float(self.delta):g}")

    def values(self, catalog: Catalog) -> Mapping[str, Number]:
        """Return the largest factor between two shares: 2^δ."""
        return {"factor": 2.0 ** min(float(self.delta), WIDEST)}

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        return {"delta": float(self.delta)}

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        facts = classes.facts
        assert facts is not None
        overall = facts.share[classes.values]
        cap = values["factor"] * overall
        share = classes.counts / np.repeat(classes.n, classes.distinct_values)
        differs = (share >= cap * (1 - 1e-12)) | (share * values["factor"] <= overall * (1 + 1e-12))
        fails = np.logical_or.reduceat(differs, classes.starts)
        return fails, np.where(fails, min_suppressed(classes, cap), 0)
