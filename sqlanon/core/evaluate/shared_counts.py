"""Counts of judged nodes that several searches share, where they ask the same question under other limits.

What a limit on suppression changes is which nodes are candidates, and whether a search asks for the costs of a node;
the counts of a node do not depend on it. So the verdicts of a search that shares counts are those that it would have
reached alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlanon.core.compiler.question import Question
from sqlanon.core.evaluate.node_costs import no_costs
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Counts

MOST_LEVELS = 2_000_000
"""Levels of the nodes whose counts are held; beyond, nodes are judged by each search."""


@dataclass(slots=True)
class SharedCounts:
    """The counts of nodes by the models and the measure of one policy, whatever its limit.

    Attributes:
        answered: how many nodes were answered from here.
        judged: how many were judged, and are held.
    """

    answered: int = 0
    judged: int = 0
    _known: dict[Node, tuple[Counts, bool]] = field(default_factory=dict)

    def find(self, question: Question, node: Node) -> tuple[Counts, bool] | None:
        """Return the counts of a node as a question asks for them, and whether they hold its costs.

        None when nobody has asked for the node, or not for its costs, which this question needs.
        """
        known = self._known.get(node)
        if known is None:
            return None
        counts, has_costs = known
        if question.has_costs and question.limit is not None and _certain(question, counts) > question.limit:
            own, least = no_costs(node)
            counts, has_costs = replace(counts, costs=own, min_costs=least), False
        elif not has_costs:
            return None
        self.answered += 1
        return counts, has_costs

    def keep(self, node: Node, counts: Counts, *, has_costs: bool) -> None:
        """Hold the counts of a node that was judged."""
        self.judged += 1
        if len(self._known) * max(len(node), 1) < MOST_LEVELS:
            self._known[node] = (counts, has_costs)


def _certain(question: Question, counts: Counts) -> int:
    """Return what is certain to be suppressed, as it is held against the limit of a question (``limited``)."""
    if question.catalog.has_entity:
        return counts.min_suppressed_entities or 0
    return max(counts.min_suppressed, counts.min_total) - question.catalog.uncovered
