"""The proof of a search as boxes of nodes: together they cover the lattice, and each bounds the loss of its candidates.

A search may keep its own proof (``search.box``); of any other it is derived here from the nodes that were judged.
Whatever its origin, ``first_gap`` finds what it does not cover.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlanon.core.lattice.nodes import Lattice, Node, leq
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.search.antichain import RankedTree
from sqlanon.core.search.base import TIE, Claim, Problem, Verdict

Levels = npt.NDArray[np.int64]
Parts = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Proof:
    """Claims about the boxes between the lattice's bottom and ``top``.

    Attributes:
        top: the lattice's top, or a lower node with the same classes: what lies above it loses at least as much as its
            projection into the boxes.
        claims: their boxes cover everything between the lattice's bottom and ``top``.
        groups: of one or more partitions of the attributes, per group the claims about its own loss; their boxes cover
            ``group_lattice``. Claims rest on the partition that proves the most.
    """

    top: Node
    claims: tuple[Claim, ...]
    groups: Sequence[Mapping[tuple[int, ...], Sequence[Claim]]] = ()


def group_lattice(lattice: Lattice, top: Node, columns: Collection[int]) -> Lattice:
    """Return the nodes under ``top`` at which all attributes but those of a group stand at their top."""
    bottom = tuple(low if i in columns else high for i, (low, high) in enumerate(zip(lattice.bottom, top, strict=True)))
    return Lattice(bottom, top)


class GroupBounds:
    """Lower bounds for boxes by what each group of attributes loses at least in them by itself; they are added up.

    A claim about a group in the box [c, d] of its lattice, resting on a node w at or above d, holds for every node x
    whose levels of the group lie between c and d, whatever the others are: x is at or below w too, so what is
    certainly suppressed at w is suppressed at x. If x also lies in a box [a, b] of all attributes under a judged node
    v, the same holds of v. So attribute i of the group loses at least what both show at level max(a_i, c_i), and the
    group at least the sum of these. The least sum of the claims that meet the box bounds the group's part of the loss
    of its candidates, and the sum over disjoint groups bounds the loss.

    Args:
        unit: what a weighted loss of an attribute is multiplied with in the loss.
        groups: per group its claims that may hold candidates, with the parts of the group's attributes
            (``measures.base.PartBounds.parts``) at their nodes.
    """

    def __init__(self, unit: float, groups: Mapping[tuple[int, ...], Sequence[tuple[Claim, Parts]]]) -> None:
        self._unit = unit
        self._tables = []
        for columns, claims in groups.items():
            axes = np.array(columns, dtype=np.int64)
            shape = (len(claims), -1)
            lows = np.array([claim.bottom for claim, _ in claims], dtype=np.int64).reshape(shape)[:, axes]
            highs = np.array([claim.top for claim, _ in claims], dtype=np.int64).reshape(shape)[:, axes]
            self._tables.append((axes, lows, highs, _padded([parts for _, parts in claims])))

    def of(self, bottom: Node, top: Node, under: Parts | None = None) -> float:
        """Return the bound of a box; infinite when it holds no candidate.

        Args:
            under: the parts of a judged node at or above ``top``; None: of none.
        """
        low, high = np.array(bottom), np.array(top)
        own = None if under is None else _padded([under])[0]
        total = []
        for axes, lows, highs, parts in self._tables:
            meets = np.flatnonzero(((lows <= high[axes]) & (highs >= low[axes])).all(axis=1))
            at = np.maximum(lows[meets], low[axes])
            places = np.arange(len(axes))
            least = parts[meets[:, None], places, at]
            if own is not None:
                np.maximum(least, own[axes, at], out=least)
            total.append(float(least.sum(axis=1).min(initial=math.inf)))
        return math.fsum(total) * self._unit if math.inf not in total else math.inf


def _padded(rows: Sequence[Parts]) -> npt.NDArray[np.float64]:
    """Return the parts of nodes as one array: node, attribute, level."""
    levels = max((len(part) for parts in rows for part in parts), default=1)
    return np.array(
        [[[*part, *[math.inf] * (levels - len(part))] for part in parts] for parts in rows], dtype=np.float64
    ).reshape(len(rows), -1, levels)


def proof_of(problem: Problem, verdicts: Iterable[Verdict], loss: float) -> Proof | None:
    """Return the proof, from judged nodes, that no candidate loses less than ``loss`` (infinite: that there is none).

    None when they do not prove it.

    A node that is infeasible below (``Problem.infeasible_below``) covers all nodes below it. One at which
    generalization alone costs ``loss``, judged or not, covers all above it. Any other judged node covers itself.
    """
    lattice, catalog = problem.lattice, problem.catalog
    judged = [verdict for verdict in verdicts if verdict.node in lattice]
    enough = loss - TIE * abs(loss) if loss < math.inf else loss
    infeasible_below, costly = RankedTree("down"), RankedTree("up")
    claims = []
    for verdict in sorted(judged, key=lambda v: -sum(v.node)):
        if problem.infeasible_below(verdict) and infeasible_below.insert(verdict.node):
            claims.append(Claim(lattice.bottom, verdict.node, verdict.node, None, None))  # noqa: PERF401 - in order
    of_classes = problem.measure.needs == "classes"
    for verdict in sorted(judged, key=lambda v: sum(v.node)):
        if verdict.node in infeasible_below:
            continue
        bound = problem.measure.bound(verdict.node, verdict.bottom_facts, LowerBounds(catalog.uncovered))
        if bound >= enough and costly.insert(verdict.node):
            claims.append(Claim(verdict.node, lattice.top, None, verdict.node if of_classes else None, bound))
    for verdict in judged:
        if verdict.node not in infeasible_below and verdict.node not in costly:
            if verdict.feasible and verdict.loss < enough:
                return None
            exact = verdict.loss if verdict.feasible else None
            claims.append(Claim(verdict.node, verdict.node, verdict.node, None, exact))
    for low, high in gaps(claims, lattice.bottom, lattice.top):  # what was passed by without being judged
        bound = problem.measure.bound(low, None, LowerBounds(catalog.uncovered))
        if bound < enough:
            return None
        claims.append(Claim(low, high, None, None, bound))
    return Proof(lattice.top, tuple(claims))


def first_gap(claims: Sequence[Claim], bottom: Node, top: Node) -> Node | None:
    """Return a node between ``bottom`` and ``top`` that is in no box; None when the boxes cover everything."""
    gap = next(gaps(claims, bottom, top), None)
    return gap[0] if gap is not None else None


def gaps(claims: Sequence[Claim], bottom: Node, top: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the regions between ``bottom`` and ``top`` that no box touches, by their corners; none when all is covered.

    A region is cut, where the fewest boxes are cut with it, until one box holds what is left of it, or none does.
    """
    count = len(bottom)
    lows = np.array([claim.bottom for claim in claims], dtype=np.int64).reshape(len(claims), count)
    highs = np.array([claim.top for claim in claims], dtype=np.int64).reshape(len(claims), count)
    regions = [(np.array(bottom, dtype=np.int64), np.array(top, dtype=np.int64), np.arange(len(claims)))]
    while regions:
        low, high, inside = regions.pop()
        inside = inside[((lows[inside] <= high) & (highs[inside] >= low)).all(axis=1)]
        if not len(inside):
            yield tuple(map(int, low)), tuple(map(int, high))
            continue
        some_lows, some_highs = lows[inside], highs[inside]
        if ((some_lows <= low) & (some_highs >= high)).all(axis=1).any():
            continue
        axis, level = _cut(low, high, some_lows, some_highs)
        below, above = high.copy(), low.copy()
        below[axis], above[axis] = level, level + 1
        regions.append((above, high, inside))
        regions.append((low, below, inside))  # looked at first: a gap that refutes a proof is more likely here


def _cut(low: Levels, high: Levels, lows: Levels, highs: Levels) -> tuple[int, int]:
    """Return the axis and level at which the fewest boxes are cut; of these the most even cut."""
    best: tuple[int, int, int, int] | None = None
    for axis in range(len(low)):
        for level in range(int(low[axis]), int(high[axis])):
            below = lows[:, axis] <= level
            above = highs[:, axis] > level
            both = int((below & above).sum())
            larger = max(int(below.sum()), int(above.sum()))
            choice = (both, larger, axis, level)
            if larger < len(lows) or both < len(lows):
                best = choice if best is None else min(best, choice)
    assert best is not None  # a region that no box holds is crossed by a face of one
    return best[2], best[3]


def rests_soundly(claim: Claim) -> bool:
    """Return True when the nodes that a claim rests on lie where they must, so that it holds for the whole box."""
    if not leq(claim.bottom, claim.top):
        return False
    if claim.witness is not None and not leq(claim.top, claim.witness):
        return False
    return claim.below is None or leq(claim.below, claim.bottom)
