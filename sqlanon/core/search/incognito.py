"""Incognito: bottom-up over the subsets of the quasi-identifiers, with a-priori pruning.

Source: LeFevre, DeWitt, Ramakrishnan 2005, "Incognito: Efficient full-domain k-anonymity". Subsets are taken by size.
What does not hold for some levels of a subset cannot hold for any larger set with these levels or lower ones.

A node of a subset is here the node of the whole lattice that has all other attributes at their top level. If that
level has one value its classes are those of the subset; in any case it lies above every node with these levels or lower
ones, which is what a-priori pruning needs. So the lattice of one subset is gone through by rank; a node that does not
meet the policy tags its specializations, of all larger subsets too, and one that does tags its generalizations.

Optimal when nothing may be suppressed (``without_suppression``): every least candidate is judged, and all above it lose
no less. With a suppression limit it is a heuristic that returns a feasible node or nothing, and claims no bound.

The lattices of all subsets are gone through, so its time grows with the product of the heights plus one each; its
memory grows with the antichains. The untagged nodes of one rank are judged together: none of them tags another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.search.antichain import Option, antichain
from sqlanon.core.search.base import Problem, Progress, Request, Strategy
from sqlanon.core.search.traversal import finish_tagging, of_rank

BATCH = 64


def search(problem: Problem, progress: Progress, *, gap: float = 0.0, option: Option = "ranked_tree") -> Strategy:
    """Yield the untagged nodes of one rank of one subset at a time; ``gap`` is ignored."""
    progress.lower_bound = problem.least()
    sufficient, protection = antichain("up", option), antichain("down", option)
    for bottom in _bottoms(problem.lattice):
        top = problem.lattice.top
        for rank in range(sum(top) - sum(bottom) + 1):
            ranked = of_rank(bottom, top, rank)
            untagged = (node for node in ranked if not (sufficient.covers(node) or protection.covers(node)))
            while batch := list(itertools.islice(untagged, BATCH)):
                for verdict in (yield [Request(node, bottom) for node in batch]):
                    progress.see(verdict)
                    (sufficient if verdict.feasible else protection).insert(verdict.node)
    finish_tagging(problem, progress, sufficient, protection)


def _bottoms(lattice: Lattice) -> Iterator[Node]:
    """Yield the bottom of every subset's lattice, smaller subsets first; attributes without a choice are in all."""
    free = [i for i, (low, high) in enumerate(zip(lattice.bottom, lattice.top, strict=True)) if low < high]
    for size in range(min(1, len(free)), len(free) + 1):
        for subset in itertools.combinations(free, size):
            yield tuple(lattice.bottom[i] if i in subset else level for i, level in enumerate(lattice.top))
