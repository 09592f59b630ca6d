"""The loss of a sequence of nodes, from integers: what every attribute keeps of its information.

For measures in which a cell's cost depends on its value and level alone, a published cell keeps s - c of s, and a
suppressed one nothing: with ``loss`` s = D - 1 and c = leaves - 1, with ``precision`` s = height - 1 and c = level.
Then loss_i = 1 - kept_i / (N * s), whatever nodes publish the records, and what nodes keep may be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import fold
from sqlanon.core.measures.loss import Loss
from sqlanon.core.measures.precision import Precision
from sqlanon.core.policy.transformation import CELL_AGGREGATES, CELL_MEASURES
from sqlanon.core.search.base import Problem
from sqlanon.errors import UnsupportedError

Kept = tuple[int, ...]
"""What is kept, one number an attribute."""


def adds(problem: Problem) -> bool:
    """Return whether the problem's measure adds over cells."""
    return type(problem.measure) in (Loss, Precision) and problem.measure.aggregate in CELL_AGGREGATES


def check_measure(problem: Problem) -> None:
    """Refuse measures by which the nodes of a sequence cannot be chosen.

    Raises:
        UnsupportedError: the measure or its aggregate does not add over cells.
    """
    measure = problem.measure
    if not adds(problem):
        name = f"{measure.name!r} with the aggregate {measure.aggregate!r}" if measure.aggregate else repr(measure.name)
        raise UnsupportedError(
            f"Local recoding needs a measure that adds over cells; {name} does not.",
            hint=f"use {' or '.join(CELL_MEASURES)} with {' or '.join(CELL_AGGREGATES)}.",
        )


def check_models(problem: Problem) -> None:
    """Refuse δ-presence.

    Raises:
        UnsupportedError: the source has a population.
    """
    if problem.catalog.has_population:
        raise UnsupportedError(
            "δ-presence is about classes of a population, which local recoding does not have.",
            hint="publish one node for all records (full domain), or ask for other models.",
        )


def has_costs(problem: Problem) -> bool:
    """Return whether what is kept depends on the values, not on their levels alone."""
    return isinstance(problem.measure, Loss)


def kept_by_levels(problem: Problem, node: Node, records: int) -> Kept:
    """Return the amount that so many records keep under a node, when only levels count."""
    return tuple(records * (a.height - 1 - level) for a, level in zip(problem.catalog.attributes, node, strict=True))


def summed(parts: Iterable[Sequence[int]], attributes: int) -> Kept:
    """Return the amount that several nodes keep together."""
    return tuple(map(sum, zip(*parts, [0] * attributes, strict=True)))


def loss(problem: Problem, kept: Sequence[int]) -> float:
    """Return the folded loss; what is not kept counts as loss, suppressed records (``uncovered`` too) in full."""
    catalog = problem.catalog
    losses = []
    for attribute, own in zip(catalog.attributes, kept, strict=True):
        whole = catalog.population * ((attribute.domain if has_costs(problem) else attribute.height) - 1)
        losses.append((whole - own) / whole if whole > 0 else 0.0)
    weights = [attribute.weight for attribute in catalog.attributes]
    return fold(problem.measure.aggregate or "sum", losses, weights)


def shares(problem: Problem) -> list[float]:
    """Return, per attribute, by how much the folded loss falls for each unit that a record keeps."""
    catalog, width = problem.catalog, len(problem.catalog.attributes)
    units = [(a.domain if has_costs(problem) else a.height) - 1 for a in catalog.attributes]
    whole = loss(problem, [0] * width)
    alone = [
        whole - loss(problem, [catalog.population * (i == j) * units[i] for j in range(width)]) for i in range(width)
    ]
    return [part / max(catalog.population * unit, 1) for part, unit in zip(alone, units, strict=True)]


def generalization(problem: Problem, node: Node) -> float:
    """Return the cost of generalizing every record to a node, suppression apart."""
    catalog = problem.catalog
    if has_costs(problem):
        return loss(problem, [a.costs[level] for a, level in zip(catalog.attributes, node, strict=True)])
    return loss(problem, kept_by_levels(problem, node, catalog.encoded))
