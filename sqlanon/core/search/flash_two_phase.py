"""Flash2P: Flash finds where candidates may begin, a depth-first search judges what lies above.

Sources: Kohlmayer, Prasser, Kuhn 2015, section 2.7, and Prasser, Kohlmayer, Kuhn 2016 with its implementation in ARX.
When nothing may be suppressed (``without_suppression``) the problem is monotone and Flash alone solves it. Otherwise
the paths of Flash are searched for the lowest node that is not infeasible below (``Problem.infeasible_below``: no node
at or below it can be a candidate). For k-anonymity that is a node that suppresses more records than allowed. The papers
use m-anonymity, m being the least size of a class; the lower bounds that each model proves (``models``) are
at least as strong, so that fewer nodes are judged for other models than in the papers. A depth-first search from there
judges all generalizations. Where no node is infeasible below, this is the papers' third case, an exhaustive depth-first
search.

``quality`` chooses what is done about insufficient quality, which generalizations inherit: the loss of generalization
alone has reached the best loss.

- ``ignored``: nothing, as in 2015.
- ``checked``: the bound of a node is used once the node has been judged, as in 2016.
- ``every``: the bound of every node is used, since it needs no query here; far fewer nodes are judged.

Optimal for every model and measure: each node is judged, infeasible below, or of insufficient quality. (The lower
bound of a class is at most the sum of those of its parts, so nothing above a node that is not infeasible below is.)
"""

from __future__ import annotations

from typing import Literal

import sqlanon.core.search.flash as flash  # noqa: PLR0402 - the package lists this module
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.antichain import Option, antichain
from sqlanon.core.search.base import TIE, Problem, Progress, Request, Strategy
from sqlanon.core.search.traversal import Order, finish, generalization_bound, without_suppression

Quality = Literal["ignored", "checked", "every"]
BATCH = 64
"""Nodes of the depth-first search judged at once where no verdict decides whether another one is judged."""


def search(
    problem: Problem,
    progress: Progress,
    *,
    gap: float = 0.0,
    quality: Quality = "checked",
    option: Option = "ranked_tree",
) -> Strategy:
    """Yield nodes until all are settled; ``gap`` is ignored."""
    if without_suppression(problem):
        yield from flash.search(problem, progress, option=option)
        return
    progress.lower_bound = problem.least()
    tags = _Phases(problem, progress, quality, option)
    yield from flash.walk(problem, tags)
    progress.lower_bound = None
    finish(progress, protection=tags.protection, quality=tags.quality)


class _Phases:
    """Tags of both phases.

    ``_reached`` are judged nodes that are not infeasible below. ``_visited`` are the nodes that the second phase has
    come to, True when it has gone through their generalizations too; ``_pending`` wait to be judged together. ``_open``
    are judged nodes whose bound may become insufficient with the next incumbent.
    """

    def __init__(self, problem: Problem, progress: Progress, quality: Quality, option: Option) -> None:
        self._problem, self._progress, self._mode = problem, progress, quality
        self._order = Order(problem)
        self._begun = antichain("up", option)
        self.protection, self.quality = antichain("down", option), antichain("up", option)
        self._reached: set[Node] = set()
        self._visited: dict[Node, bool] = {}
        self._open: list[Node] = []
        self._pending: list[Node] = []

    def settled(self, node: Node) -> bool:
        """Return True for nodes that the first phase leaves out: those above a reached node are left to the second."""
        return self._begun.covers(node) or self.protection.covers(node) or self._insufficient(node, judged=False)

    def check(self, node: Node) -> flash.Check:
        """Judge a node of a path (first phase)."""
        yield from self._judge([node])
        if node in self.protection:
            return False
        self._reached.add(node)
        return True

    def climb(self, node: Node) -> Strategy:
        """Visit the node and, depth first, all its generalizations that are not passed by (second phase)."""
        yield from self._visit(node)
        yield from self._judge_pending()

    def _visit(self, node: Node) -> Strategy:
        if self._passed(node):
            return
        self._visited[node] = False
        if node not in self._reached:
            self._pending.append(node)
        if len(self._pending) >= (BATCH if self._mode == "ignored" else 1):
            yield from self._judge_pending()
        for up in self._order.successors(node):
            if not self._passed(up):
                yield from self._visit(up)
        self._visited[node] = True

    def _judge_pending(self) -> Strategy:
        nodes, self._pending = self._pending, []
        yield from self._judge(nodes)

    def _passed(self, node: Node) -> bool:
        return (
            self.protection.covers(node)
            or node in self._visited
            or self._insufficient(node, judged=node in self._reached)
        )

    def _insufficient(self, node: Node, *, judged: bool) -> bool:
        """Return True when the quality of ``node`` is known to be insufficient, or found to be so here."""
        if self._mode == "ignored" or self._progress.incumbent is None:
            return False
        if self.quality.covers(node):
            return True
        if (judged or self._mode == "every") and self._too_costly(node):
            self.quality.insert(node)
            return True
        return False

    def _too_costly(self, node: Node) -> bool:
        incumbent = self._progress.incumbent
        if incumbent is None:
            return False
        return generalization_bound(self._problem, node) >= incumbent.loss - TIE * abs(incumbent.loss)

    def _judge(self, nodes: list[Node]) -> Strategy:
        """Judge what earlier verdicts have not settled, and tag what follows."""
        nodes = [node for node in nodes if not self.protection.covers(node)]
        if not nodes:
            return
        verdicts = yield [Request(node, self._problem.lattice.bottom) for node in nodes]
        for verdict in verdicts:
            before = self._progress.incumbent
            self._progress.see(verdict)
            (self.protection if self._problem.infeasible_below(verdict) else self._begun).insert(verdict.node)
            if self._mode != "ignored":
                self._note(verdict.node, improved=self._progress.incumbent is not before)

    def _note(self, node: Node, *, improved: bool) -> None:
        """Tag a judged node of insufficient quality; after a new incumbent all that have become so, in their order."""
        if improved:
            waiting, self._open = self._open, []
            for other in waiting:
                if not self._visited.get(other) and other not in self.quality:
                    self._tag(other)
        self._tag(node)

    def _tag(self, node: Node) -> None:
        if self._too_costly(node):
            self.quality.insert(node)
        else:
            self._open.append(node)
