"""What a document says of counted cells: which are unsafe, and which may be suppressed beside them, at what cost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import Flags, Floats
from sqlanon.counts.keys import CountsFacts

NEAR = 1e-6


def unsafe_by_rule(counted: Counted, policy: CountsPolicy) -> dict[str, Flags]:
    """Return of each rule which published cells are unsafe by it."""
    grid, rules, values = counted.grid, policy.rules, counted.contributors
    small = (values > 0) & (values < rules.threshold)
    found = {"threshold": small, "groups": _alone_in_rows(counted, policy)}
    if counted.amounts is not None:
        by_share, by_guess, first = _lacking(counted, policy)
        found |= {"dominance": (by_share > NEAR) & (first > 0), "p_percent": (by_guess > NEAR) & (first > 0)}
    return {rule: own & grid.is_published for rule, own in found.items()}


def _alone_in_rows(counted: Counted, policy: CountsPolicy) -> Flags:
    """Return which cells hold all contributors of a row of a sensitive dimension: the others are empty, or it is as
    large as the row, whose contributors may have several categories."""
    grid, values = counted.grid, counted.contributors
    unsafe = np.zeros(len(grid), bool)
    for position in [[*policy.dimensions].index(name) for name in policy.rules.groups]:
        for number, levels in enumerate(grid.sets):
            if levels[position] is None:
                continue
            own = slice(grid.starts[number], grid.starts[number + 1])
            shape = [len(d.categories(level)) for d, level in zip(grid.dimensions, levels, strict=True)]
            counts, whole = values[own].reshape(shape), (*levels[:position], None, *levels[position + 1 :])
            alone = (counts > 0).sum(axis=position, keepdims=True) == 1
            if whole in grid.sets:
                start = grid.starts[grid.sets.index(whole)]
                rows = [*shape[:position], 1, *shape[position + 1 :]]
                alone = alone | (counts == values[start : start + int(np.prod(rows))].reshape(rows))
            alone = alone & (counts > 0) & (shape[position] > 1)
            unsafe[own] |= alone.reshape(-1)
    return unsafe


def unsafe_counts(counted: Counted, policy: CountsPolicy) -> Flags:
    """Return which published cells have an unsafe count."""
    found = unsafe_by_rule(counted, policy)
    return found["threshold"] | found["groups"]


def unsafe_sums(counted: Counted, policy: CountsPolicy, unsafe: Flags) -> tuple[Flags, Floats]:
    """Return which published cells have an unsafe sum, and by how much it must be uncertain to either side.

    Args:
        unsafe: the cells whose counts are.
    """
    by_share, by_guess, first = _lacking(counted, policy)
    found = ((by_share > NEAR) | (by_guess > NEAR) | unsafe) & (first > 0)
    width = np.maximum(np.maximum(by_share, by_guess), np.where(unsafe, policy.rules.p_percent * first, 0.0))
    return found & counted.grid.is_published, np.maximum(width, 0.0)


def _lacking(counted: Counted, policy: CountsPolicy) -> tuple[Floats, Floats, Floats]:
    """Return by how much each sum must be uncertain by dominance and by p %, and its largest contribution."""
    assert counted.amounts is not None
    assert counted.largest is not None
    rules, whole = policy.rules, counted.amounts
    first, second = counted.largest[:, 0], counted.largest[:, 1]
    top = first + (second if rules.dominance.n > 1 else 0.0)
    by_share = top / max(rules.dominance.k, NEAR) - whole
    return by_share, rules.p_percent * first - (whole - first - second), first


def exempt_cells(counted: Counted, rules: CountsFacts) -> Flags:
    """Return which cells are not suppressed to protect others: none, or the totals."""
    totals: Flags = (counted.grid.all_keys == 0).any(axis=1)
    return totals if rules.never == "totals" else np.zeros_like(totals)


def weights_of(counted: Counted, policy: CountsPolicy) -> Floats:
    """Return what suppressing each cell costs."""
    given = policy.rules.weights
    if given == "records":
        return np.maximum(counted.contributors, 1).astype(np.float64)
    found, keys = np.ones(len(counted.grid)), counted.grid.all_keys
    for name, weight in given.items() if isinstance(given, Mapping) else ():
        found[keys[:, [*policy.dimensions].index(name)] != 0] *= float(weight)
    return found
