"""A lower bound on the loss of every local recoding: prices of records that no class can undercut.

**What holds.** Let every record r have a price p(r) of at most what suppressing it costs, and let no class be cheaper
than its records: for every node x and class c of x, and every set S of at least s records in c, the prices of S add up
to at most what S costs at x. Then no recoding whose nodes take classes of at least s records loses less than the sum of
all prices, whatever its nodes, how many there are, their order, and whatever chance holds back. Proof: the records that
one node publishes with one text are such a set, each published record is in one of them, and the others are suppressed.
(This is the dual of the linear program over sets of records in classes, as in column generation for clustering with
sizes: Castro, Gentile and Tobar 2023. Here its prices are only raised, never solved for.)

All records of a class cost the same, c, so that S need only be looked at for the s dearest records of the class: the
mean of more is no higher. Let their prices add up to d.

**How prices rise.** In a round each record's price is raised by the least (c - d / s) of its classes of at least s
records, over all nodes, and by what suppression leaves. Afterwards the prices of any s records of a class add up to at
most d + s (c - d / s) = s c, so the condition still holds. It holds for prices of 0; a round from there gives each
record what its cheapest class costs, and the rounds after it let a record pay for others that must join it.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np

from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.arrays import Real
from sqlanon.core.evaluate.grains import Grain
from sqlanon.core.evaluate.grouping import group_starts, sums
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.base import Problem
from sqlanon.recoding.local.kept import loss
from sqlanon.recoding.local.rows import ClassNumbers, has_room

ROUNDS = 8
"""How often prices are raised; each round raises them by less."""
MOST_NODES = 200_000
"""Larger lattices are not looked at: a round must look at every node that may matter."""
WORK = 20_000_000
"""Rows times nodes of a round that is worth its time where the policy sets no limit: less than a second."""
ROUNDING = 1e-9
"""The bound is lowered by this share, so that it is one in spite of rounding."""


def lower_bound(engine: Engine, problem: Problem, size: int, deadline: float | None) -> float | None:
    """Return a loss that no local recoding undercuts whose classes hold so many records; None where none is proven.

    Args:
        size: the least number of records of a class that the models let pass.
        deadline: of the rounds, by ``time.monotonic``; None: only small tables have any.
    """
    catalog, lattice = problem.catalog, problem.lattice
    small = lattice.size * max(catalog.base_rows, 1) <= WORK
    if (
        lattice.size > MOST_NODES
        or catalog.earlier is not None
        or not (has_room(catalog) and (small or deadline is not None))
    ):
        return None  # keys with earlier classes do not stand in the order of the prices
    numbers = ClassNumbers.of(engine, problem)
    whole = loss(problem, [0] * len(catalog.attributes)) / max(catalog.population, 1)
    prices = np.zeros(len(numbers.arrays.n))
    proven = None
    for number in range(ROUNDS):
        engine.journal.report("proving a bound", done=number, total=ROUNDS, unit="rounds")
        raised = _raised(numbers, problem, max(size, 1), whole, prices, math.inf if deadline is None else deadline)
        if raised is None:
            break
        prices = raised
        records = float(prices @ numbers.arrays.n) + whole * (catalog.population - int(numbers.arrays.n.sum()))
        proven = records * (1 - ROUNDING)
    numbers.arrays.close()
    return proven


def _raised(
    numbers: ClassNumbers, problem: Problem, size: int, whole: float, prices: Real, deadline: float
) -> Real | None:
    """Return the prices of the next round; None when the time was up before all nodes were looked at.

    Args:
        whole: what suppressing a record costs.
    """
    grains, base = numbers.grains, numbers.grains.base
    order = np.argsort(-prices, kind="stable")  # so that the rows of a class stand from the dearest on
    n, own, rest = base.n[order], prices[order], {i: values[order] for i, values in base.rest.items()}
    grain = Grain(base.node, base.keys[order], n, None, rest, by_row=True)
    room = whole - own
    for least, node in _by_least_cost(numbers, problem, whole) if len(n) else ():
        if least - own[0] >= room.max():
            break  # no class of this node or of those after it leaves less room than there is
        if time.monotonic() >= deadline:
            return None
        keys, _ = grains.sorted_keys(grain, node)
        starts, rows = group_starts(keys, grains.layout.rest_shift), keys & grains.layout.counts
        lengths, counts = np.diff(starts, append=len(rows)), n[rows]
        before = counts.cumsum() - counts
        before -= np.repeat(before[starts], lengths)
        dearest = np.add.reduceat(np.clip(size - before, 0, counts) * own[rows], starts)
        firsts = order[rows[starts]]
        cost = whole - numbers.kept(node, firsts) / numbers.arrays.n[firsts]
        slack = np.where(sums(counts, starts) >= size, cost - dearest / size, math.inf)
        room[rows] = np.minimum(room[rows], np.repeat(slack, lengths))
    bounds = np.empty(len(prices))
    bounds[order] = own + np.maximum(room, 0.0)
    return bounds


def _by_least_cost(numbers: ClassNumbers, problem: Problem, whole: float) -> list[tuple[float, Node]]:
    """Return the nodes with what the cheapest record costs there at least, in this order."""
    lattice, n = problem.lattice, numbers.arrays.n
    most = [[float((own / n).max()) for own in by_level] for by_level in numbers.values]
    levels = [range(low, high + 1) for low, high in zip(lattice.bottom, lattice.top, strict=True)]
    nodes = itertools.product(*levels)
    return sorted((whole - sum(own[level] for own, level in zip(most, node, strict=True)), node) for node in nodes)
