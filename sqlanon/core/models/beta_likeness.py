"""β-likeness: no sensitive value is much more frequent in a published class than among all records.

Source: Cao and Karras, 2012 ("Publishing microdata with a robust privacy guarantee"). With q the share of a value in
the class and p its share among all records (P, before suppression), the relative gain (q - p) / p is at most β (basic),
or at most min(β, -ln p) (enhanced: frequent values may gain less). Only gains are limited; a value may be missing.

So every value has a cap: q <= (1 + β) p, or q <= (1 + min(β, -ln p)) p. A union of classes that pass passes, because
its shares lie between theirs. A failing class may split into parts that pass and parts that are suppressed, so the
model is not monotone; what is published of it at most is in ``models.capped_shares``, with and without entities.
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
from sqlanon.parameters import Parameter, exact, flag, option


@dataclass(frozen=True, slots=True)
class BetaLikeness(ColumnModel):
    """See the docstring of the module."""

    beta: float | Decimal
    enhanced: bool = False
    type = "beta_likeness"
    parameters = (
        Parameter(
            "beta",
            exact(0, above=True),
            about="What a value gains in a class at most, relative to its share of all records.",
            example="2",
        ),
        option(
            "enhanced",
            flag(),
            about="Let a value gain no more than -ln of that share either, so that frequent values may gain less.",
            example="true",
        ),
    )
    references = ("reference",)
    monotone = False
    in_parts = True
    size = 1

    @property
    def words(self) -> str:
        return f"{'enhanced ' * self.enhanced}β-likeness with β = {self.beta}"

    def sentence(self, who: str) -> str:
        factor = figure(1 + float(self.beta))
        less = ", and frequent values less than that" if self.enhanced else ""
        return (
            f"No value of {self.column} is more than {factor} times as frequent in a class as in the whole "
            f"table{less} (β-likeness): finding the class makes no value much more likely."
        )

    @property
    def label(self) -> str:
        form = {"enhanced": "true"} if self.enhanced else {}
        return labelled(self.column, self.type, beta=f"{float(self.beta):g}", **form)

    def values(self, catalog: Catalog) -> Mapping[str, Number]:
        return self.audit_values(0)

    def audit_values(self, levels: int) -> Mapping[str, Number]:
        return {"beta": float(self.beta), "enhanced": int(self.enhanced)}

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        import numpy as np

        facts = classes.facts
        assert facts is not None
        overall = facts.share[classes.values]
        gain = np.minimum(values["beta"], -np.log(overall)) if values["enhanced"] else values["beta"]
        cap = (1 + gain) * overall
        share = classes.counts / np.repeat(classes.n, classes.distinct_values)
        fails = np.logical_or.reduceat(share > cap * (1 + 1e-12), classes.starts)
        return fails, np.where(fails, min_suppressed(classes, cap), 0)
