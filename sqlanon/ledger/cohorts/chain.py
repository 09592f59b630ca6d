"""The loss of releases in cohorts, which are published at the nodes of a chain (``live/chain.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import AttributeMeasure, fold
from sqlanon.core.search.base import Problem
from sqlanon.core.search.certificate import Certificate

STRATEGY = "cohorts"
"""What a certificate names as the strategy where records come and go, and nothing is searched."""


def certificate_of(problem: Problem, chain: Sequence[Node], at: Mapping[int, int], records: int) -> Certificate:
    """Return a certificate that proves nothing; a record that is not shown has lost all.

    Args:
        at: how many records are shown at each place of the chain.
        records: all that could be shown.
    """
    measure, loss = problem.measure, 0.0
    if isinstance(measure, AttributeMeasure) and measure.ceiling == 1.0:
        own = [measure.floor(node) for node in chain]
        kept = [sum(n * (1 - own[place][i]) for place, n in at.items()) for i in range(len(problem.catalog.attributes))]
        weights = [attribute.weight for attribute in problem.catalog.attributes]
        loss = fold(measure.aggregate or "sum", [1 - each / records if records else 0.0 for each in kept], weights)
    return Certificate(measure.name, measure.aggregate, loss, None, None, False, STRATEGY, 0, problem.lattice.size)
