"""The search over the quasi-identifiers of all tables: one lattice, one loss, one proof."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from sqlanon.core.engines.journal import Journal
from sqlanon.core.evaluate.problem import check_levels
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import Counts
from sqlanon.core.measures.loss import Loss
from sqlanon.core.search.base import Problem, Progress, Request, Verdict
from sqlanon.core.search.verdicts import verdict_of
from sqlanon.errors import NoSolutionError
from sqlanon.tables.forest import Forest
from sqlanon.tables.policy import TablesPolicy

BATCH = 4
"""Nodes that a search requests at once."""


class TablesLoss(Loss):
    """The loss of several tables: that of each quasi-identifier is a share of the rows of its own table.

    As in ``Loss``, f rises with generalization and g with every suppressed row, so that the bounds of attribute
    measures hold; the rows of a suppressed person are all suppressed.

    Args:
        records: per quasi-identifier, the rows of its table that take part.
    """

    name = "loss"

    def __init__(self, catalog: Catalog, aggregate: str | None, records: Sequence[int]) -> None:
        super().__init__(catalog, aggregate)
        self._scale = tuple(
            rows * (a.domain - 1) if a.domain > 1 else 0 for a, rows in zip(catalog.attributes, records, strict=True)
        )
        self._floor = tuple(
            tuple(max(scale - cost, 0) / scale if scale else 0.0 for cost in a.costs)
            for a, scale in zip(catalog.attributes, self._scale, strict=True)
        )


def build_tables_problem(policy: TablesPolicy, catalogs: Sequence[Catalog], *, persons: int, excluded: int) -> Problem:
    """Return the problem that several encoded tables pose.

    Args:
        catalogs: of the tables; their records are those that take part.
        persons: how many take part; ``excluded`` do not.

    Raises:
        HierarchyError: a column asks for levels that its hierarchy does not have.
        NoSolutionError: there are fewer persons than a class must have.
    """
    columns = [column for item in policy.tables for column in item.policy.quasi_identifiers]
    encoded = [(i, attribute) for i, catalog in enumerate(catalogs) for attribute in catalog.attributes]
    attributes = []
    for (position, attribute), column in zip(encoded, columns, strict=True):
        check_levels(attribute, column)
        attributes.append(
            replace(
                attribute,
                name=qualified(policy, position, attribute.name),
                weight=float(column.weight),
                losses=column.information_loss or (),
            )
        )
    first = policy.first
    catalog = Catalog(
        attributes=tuple(attributes),
        words=0,
        records=persons + excluded,
        excluded=excluded,
        uncovered=0,
        base_rows=persons,
        allowed=first.allowed_suppressions(persons),
        entities=persons,
        excluded_entities=excluded,
        shares_of_records=((1, persons),) if persons else (),
    )
    lattice = Lattice(
        tuple(c.min_level or 0 for c in columns),
        tuple(a.height - 1 if c.max_level is None else c.max_level for a, c in zip(attributes, columns, strict=True)),
    )
    if persons < policy.k:
        raise NoSolutionError(
            f"A class must hold {policy.k} persons, but there are {persons} to publish ({excluded} excluded).",
            hint="lower k, or use more data.",
            nearest=None,
        )
    records = [catalogs[position].records for position, _ in encoded]
    measure = TablesLoss(catalog, first.quality.aggregate, records)
    return Problem(catalog, lattice, measure, BATCH)


def qualified(policy: TablesPolicy, position: int, column: str) -> str:
    """Return the name of a quasi-identifier among those of all tables."""
    return f"{policy.tables[position].name}.{column}"


class ForestEvaluator:
    """Judges nodes by the profiles of persons; nodes in, verdicts out, as ``evaluate.Evaluator``.

    Args:
        forest: merged, so that each of its persons stands for all with the same values.
    """

    def __init__(self, problem: Problem, forest: Forest, k: int, journal: Journal) -> None:
        self._problem, self._forest, self._k = problem, forest, k
        self._journal = journal
        self._costs = forest.costs()
        self._memo: dict[Node, Verdict] = {}

    @property
    def judged(self) -> Collection[Verdict]:
        """All verdicts so far."""
        return self._memo.values()

    def forget(self) -> None:
        """Keep all verdicts: they are small beside the arrays."""

    def report(self, progress: Progress) -> None:
        """Say how far a search is, to whoever watches."""
        best = progress.incumbent
        self._journal.report(
            "searching",
            done=progress.evaluated,
            unit="nodes judged",
            loss=None if best is None else best.loss,
            lower_bound=progress.lower_bound,
        )

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """Return the verdicts of the requested nodes, in their order; all are exact."""
        for request in requests:
            if request.node not in self._memo:
                counts = self.counts(request.node)
                self._memo[request.node] = verdict_of(self._problem, (), request.node, counts)
        return [self._memo[request.node] for request in requests]

    def suppressed(self, node: Node) -> np.ndarray:
        """Return per person of the forest whether they are suppressed at a node."""
        classes = self._forest.classes(node)
        fails: np.ndarray = (classes.sizes < self._k)[classes.of_person]
        return fails

    def counts(self, node: Node) -> Counts:
        """Count at a node. Who is suppressed there is suppressed at every more specific node (``forest``)."""
        classes = self._forest.classes(node)
        fails = classes.sizes < self._k
        passing = classes.sizes[~fails]
        suppressed = int(classes.sizes[fails].sum())
        smallest = int(passing.min()) if len(passing) else None
        where = np.flatnonzero(fails[classes.of_person])
        least = [
            [float(costs[lower][where].sum()) for lower in range(level + 1)]
            for costs, level in zip(self._costs, node, strict=True)
        ]
        return Counts(
            suppressed=suppressed,
            costs=[per_level[-1] for per_level in least],
            classes=len(passing),
            grain=len(classes.sizes),
            smallest=smallest,
            largest=int(passing.max()) if len(passing) else None,
            min_suppressed=suppressed,
            min_costs=least,
            suppressed_entities=suppressed,
            min_suppressed_entities=suppressed,
            smallest_entities=smallest,
        )


def own_losses(problem: Problem, evaluator: ForestEvaluator, node: Node) -> dict[str, float]:
    """Return the own loss of each quasi-identifier at a node, before weights and folding."""
    losses = problem.measure.losses(node, evaluator.counts(node))
    return {a.name: loss for a, loss in zip(problem.catalog.attributes, losses, strict=True)}
