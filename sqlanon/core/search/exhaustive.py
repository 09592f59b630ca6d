"""Exhaustive search: every node of the lattice is judged. Optimal for every model and measure; ties are resolved
over the whole lattice. The nodes are produced lazily, in lexicographic order."""

from __future__ import annotations

import itertools

from sqlanon.core.search.base import Problem, Progress, Request, Strategy

BATCH = 64


def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
    """Yield every node; ``gap`` is ignored. Stopped early, it has no bound but the lattice's bottom."""
    bottom = problem.lattice.bottom
    progress.lower_bound = problem.least()
    nodes = problem.lattice.nodes()
    while batch := list(itertools.islice(nodes, BATCH)):
        # All nodes of a batch share their leading levels: their meet is the floor that snapshots may serve.
        floor = tuple(map(min, zip(*batch, strict=True))) if bottom else ()
        for verdict in (yield [Request(node, floor) for node in batch]):
            progress.see(verdict)
    progress.lower_bound = None
    progress.finished = True
