"""What is asked of every node of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.compiler import distinct_entities
from sqlanon.lattice.catalog import Catalog
from sqlanon.lattice.nodes import Node
from sqlanon.measures.base import Need
from sqlanon.models.base import PrivacyModel

COUNTS = ("grain", "classes", "suppressed", "smallest", "largest")
"""The counts of every totals row, after ``node`` and ``attribute``; ``Question.columns`` has the rest."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every node: the models, what the measure needs, and how far details are wanted.

    Attributes:
        models: the privacy models of the policy.
        size: the least number of records of a class that can pass them.
        needs: what the quality measure asks for.
        limit: nodes that certainly suppress more encoded records (or entities) have no cost rows; None: all have.
        by_model: also count what each model suppresses alone.
    """

    catalog: Catalog
    models: tuple[PrivacyModel, ...]
    size: int
    needs: Need | None
    limit: int | None = None
    by_model: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result: ``node``, ``attribute``, counts and costs; a totals row has no costs, a cost row
        nothing else."""
        counts = list(COUNTS) if self.monotone else [*COUNTS, "min_suppressed"]
        if self.catalog.has_entity:
            counts += [distinct_entities.SMALLEST, distinct_entities.SUPPRESSED]
            counts += [] if self.monotone else [distinct_entities.MIN_SUPPRESSED]
        if self.needs == "classes":
            counts += ["squares", "spread", "forced", "large", "small_records"]
        if self.rejects:
            counts.append("public_only")
        if self.by_model:
            counts += [f"model_{i}" for i in range(len(self.models))]
        return ("node", "attribute", *counts, *self.cost_columns)

    def masks(self, node: Node) -> tuple[int, ...]:
        """One mask per word: the node's, with the sensitive codes where a model counts values."""
        return self.catalog.grain_masks(node) if self.histograms else self.catalog.masks(node)

    @property
    def monotone(self) -> bool:
        """All records of a failing class are lost, so that nothing needs counting twice."""
        return all(model.monotone for model in self.models)

    @property
    def limited(self) -> str:
        """The count that the limit is held against, of what is certain."""
        if self.catalog.has_entity:
            return distinct_entities.SUPPRESSED if self.monotone else distinct_entities.MIN_SUPPRESSED
        return "suppressed" if self.monotone else "min_suppressed"

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """What suppressed records cost (``cost``), and what the lost ones cost at least, by level (``lost_<level>``).

        When all suppressed records are lost their cost is that of the node's own level. Surprisals do not ask for
        the level.
        """
        if not self.has_costs:
            return ()
        tallest = max(attribute.height for attribute in self.catalog.attributes)
        levels = 1 if self.needs == "surprisals" else tallest
        return (*(() if self.monotone else ("cost",)), *(f"min_cost_{level}" for level in range(levels)))

    @property
    def rejects(self) -> bool:
        """A class without records of the subset rules a node out."""
        return any(model.needs_rejection for model in self.models)

    @property
    def has_costs(self) -> bool:
        """There are cost rows."""
        return self.needs in ("costs", "surprisals") and bool(self.catalog.attributes)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The sensitive columns whose values the models count, in the order of the catalog."""
        watched = {model.column for model in self.models}
        return tuple(s.name for s in self.catalog.sensitive if s.name in watched)
