"""IGreedy: step to the successor that comes nearest to the policy, until one meets it.

Source: Babu, Reddy, Kumar, Elliot, Jena 2013, "Achieving k-anonymity using improved greedy heuristics for very large
relational databases", as the benchmark of Prasser et al. 2016 implements it: all successors of a node are judged and
the best one is taken, without a way back. There, the best one has the largest least class, and ties go by distinct
values. A verdict knows no classes that are suppressed, so here the best one suppresses the fewest records; ties go to
the attribute with the most distinct values, as in Datafly, then to the first.

A heuristic: it returns the best of the first feasible successors or nothing, and claims no bound.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.base import Problem, Progress, Request, Strategy, Verdict
from sqlanon.core.search.traversal import finish, successors


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield the bottom, then all successors of the node at hand at once; ``gap`` is ignored."""
    progress.lower_bound = problem.least()
    node = problem.lattice.bottom
    requests = [Request(node, node)]
    while requests:
        verdicts = yield requests
        for verdict in verdicts:
            progress.see(verdict)
        if any(verdict.feasible for verdict in verdicts):
            break
        node = min(verdicts, key=lambda verdict: _rank(problem, node, verdict)).node
        requests = [Request(up, node) for up in successors(node, problem.lattice.top)]
    finish(progress)


def _rank(problem: Problem, node: Node, verdict: Verdict) -> tuple[int, int]:
    """Return the sort key: fewest suppressed records, then most distinct values of the generalized attribute."""
    attributes = problem.catalog.attributes
    steps = (a.widths[low] for a, low, high in zip(attributes, node, verdict.node, strict=True) if low < high)
    return (verdict.suppressed, -next(steps, 0))
