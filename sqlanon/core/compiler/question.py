"""The question that a batch answers for each of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Measure, Need
from sqlanon.core.models.base import PrivacyModel, judges_persons


@dataclass(frozen=True, slots=True)
class Question:
    """What is computed for every node: the models, what the measure needs, and how many details.

    Attributes:
        models: the privacy models of the policy.
        size: the least number of records of a class that can pass them.
        needs: what the quality measure asks for.
        limit: nodes that certainly suppress more encoded records (or entities) have no cost rows; None: all have.
        by_model: also count what each model suppresses alone; of release models, which SQL judges one by one, 0.
        settled: the working table of the judged classes of the one node that is asked about (``compiler.settled``);
            None: they are judged where they are read, which is not enough where there are release models.
        measure: decides which of equal classes release models suppress; None: only how many matters.
    """

    catalog: Catalog
    models: tuple[PrivacyModel, ...]
    size: int
    needs: Need | None
    limit: int | None = None
    by_model: bool = False
    settled: str | None = None
    measure: Measure | None = None

    def beyond(self, suppressed: int) -> bool:
        """Return whether a node is no candidate: then which of equal classes are suppressed does not matter."""
        return self.limit is not None and suppressed > self.limit

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result: ``node``, ``attribute``, counts (``measures.base.Counts``), and costs.

        A row of counts has no costs, a row of costs nothing else.
        """
        certain = [] if self.monotone else ["min_suppressed"]
        counts = ["grain", "classes", "suppressed", "smallest", "largest", *certain]
        if self.catalog.has_entity:
            counts += ["smallest_entities", "suppressed_entities", *(f"{name}_entities" for name in certain)]
        if self.needs == "classes":
            counts += ["squares", "spread", "forced", "large", "small_records"]
        if self.rejects:
            counts.append("public_only")
        return ("node", "attribute", *counts, *self.model_columns, *self.cost_columns)

    @property
    def model_columns(self) -> tuple[str, ...]:
        """The columns of what each model suppresses alone."""
        return tuple(f"model_{i}" for i in range(len(self.models))) if self.by_model else ()

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """What suppressed records cost (``cost``), and at least what the certain ones cost by level (``min_cost_<l>``).

        When all suppressed records are certain their cost is that of the node's own level. Surprisals do not ask for
        the level.
        """
        if not self.has_costs:
            return ()
        tallest = max(attribute.height for attribute in self.catalog.attributes)
        levels = 1 if self.needs == "surprisals" else tallest
        return (*(() if self.monotone else ("cost",)), *(f"min_cost_{level}" for level in range(levels)))

    def masks(self, node: Node) -> tuple[int, ...]:
        """Return one mask per word: the node's, with the sensitive codes where a model counts values."""
        return self.catalog.grain_masks(node) if self.histograms else self.catalog.masks(node)

    @property
    def monotone(self) -> bool:
        """Whether all records of a failing class stay suppressed at more specific nodes: then they are counted once."""
        return all(model.monotone for model in self.models)

    @property
    def of_persons(self) -> bool:
        """Whether classes are of persons, by all of their rows (``compiler.profiles``)."""
        return judges_persons(self.models)

    @property
    def limited(self) -> str:
        """The count of what is certain to be suppressed, which is held against the limit."""
        counted = "suppressed" if self.monotone else "min_suppressed"
        return f"{counted}_entities" if self.catalog.has_entity else counted

    @property
    def rejects(self) -> bool:
        """Whether a class without records of the subset rules a node out."""
        return any(model.needs_rejection for model in self.models)

    @property
    def has_costs(self) -> bool:
        """Whether there are rows of costs."""
        return self.needs in ("costs", "surprisals") and bool(self.catalog.attributes)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The sensitive columns whose values the models count, in the order of the catalog."""
        watched = {model.column for model in self.models}
        return tuple(s.name for s in self.catalog.sensitive if s.name in watched)
