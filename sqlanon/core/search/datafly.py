"""Datafly: generalize the attribute with the most distinct values until the policy is met.

Source: Sweeney 1997, "Datafly: A system for providing anonymity in medical data". One path from the bottom; the values
are counted as the path has generalized them, attributes at their top level are left out, and the first of equals is
taken.

A heuristic: it returns the first feasible node of its path or nothing, and claims no bound.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.base import Problem, Progress, Request, Strategy
from sqlanon.core.search.traversal import finish


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield the nodes of the path one by one; ``gap`` is ignored."""
    progress.lower_bound = problem.least()
    node: Node | None = problem.lattice.bottom
    while node is not None:
        (verdict,) = yield [Request(node, node)]
        progress.see(verdict)
        node = None if verdict.feasible else _generalized(problem, node)
    finish(progress)


def _generalized(problem: Problem, node: Node) -> Node | None:
    """Return the node one level up for the attribute with the most distinct values; None at the top."""
    attributes, top = problem.catalog.attributes, problem.lattice.top
    open_ones = [i for i, level in enumerate(node) if level < top[i]]
    if not open_ones:
        return None
    widest = max(open_ones, key=lambda i: attributes[i].widths[node[i]])
    return (*node[:widest], node[widest] + 1, *node[widest + 1 :])
