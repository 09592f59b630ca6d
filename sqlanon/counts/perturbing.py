"""Counts that are changed by noise: the cell-key method (Thompson, Broadfoot and Elazar 2013; Giessing and Tent 2019).

The noise of a cell follows from its count and its key. Of each count it has the distribution of greatest entropy among
those of mean 0 and variance V on the shifts that the document allows: ``p(v) ~ exp(a v + b v²)`` with two multipliers,
found by Newton's method. The cell's key, divided by 2⁶⁴, chooses among the shifts in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sqlanon.counts.counting import Counted
from sqlanon.counts.facts import Floats, Numbers
from sqlanon.counts.keys import Noise, variances
from sqlanon.errors import SearchStoppedError

KEYS = 2.0**64
"""So many keys there are."""
DIGITS = 9
"""Decimals of the limits between shifts: the same on every processor, whatever the last bits of its arithmetic are."""
NEAR = 1e-10
STEPS = 500
"""Steps of Newton's method, at most; it takes a dozen."""


def perturbed_counts(counted: Counted, noise: Noise) -> Numbers:
    """Return the counts of all cells with their noise; 0 stays 0."""
    assert counted.keys is not None
    values, chances = counted.contributors, chance_of(counted.keys)
    found = values.copy()
    for count in range(1, noise.last + 1):
        own = np.flatnonzero(values == count if count < noise.last else values >= count)
        shifts = np.array(noise.shifts(count), np.int64)
        found[own] += shifts[np.searchsorted(limits_of(noise, count), chances[own], side="right")]
    return found


def chance_of(keys: np.ndarray[Any, np.dtype[np.uint64]]) -> Floats:
    """Return keys as numbers from 0 to 1."""
    return keys.astype(np.float64) / KEYS


@cache
def limits_of(noise: Noise, count: int) -> Floats:
    """Return the chances at which the noise of a count goes from one shift to the next."""
    found: Floats = np.cumsum(most_even(noise.shifts(count), noise.variance))[:-1]
    return found.round(DIGITS)


def most_even(shifts: Sequence[int], variance: float) -> Floats:
    """Return the probabilities of greatest entropy of some shifts, ascending, with mean 0 and a variance.

    Raises:
        SearchStoppedError: Newton's method did not end.
    """
    values = np.array(shifts, np.float64)
    low, high = variances(shifts)
    if (low and variance - low < NEAR) or high - variance < NEAR:  # at the border, two shifts are possible alone
        ends = (values[0], values[-1]) if high - variance < NEAR else (values[values < 0][-1], values[values > 0][0])
        found: Floats = np.select([values == ends[0], values == ends[1]], [ends[1], -ends[0]]) / (ends[1] - ends[0])
        return found
    wide = max(abs(values))
    features = np.stack([values / wide, (values**2 - variance) / wide**2])
    multipliers = np.zeros(2)
    for _ in range(STEPS):
        found, level = _weights(features, multipliers)
        slope = features @ found
        if np.abs(slope).max() < NEAR**1.2:
            return found
        curve = (features * found) @ features.T - np.outer(slope, slope)
        step, size = np.linalg.solve(curve, slope), 1.0
        while _weights(features, multipliers - size * step)[1] > level - 1e-4 * size * slope @ step + NEAR**1.4:
            size /= 2
        multipliers = multipliers - size * step
    raise SearchStoppedError(
        f"No noise was found with the variance {variance:g}, so close to what is possible.",
        hint="give another V under keys.",
    )


def _weights(features: Floats, multipliers: Floats) -> tuple[Floats, float]:
    """Return the probabilities of some multipliers, and the logarithm of their sum before they were divided by it."""
    logarithms = multipliers @ features
    top = logarithms.max()
    found = np.exp(logarithms - top)
    return found / found.sum(), float(top + np.log(found.sum()))
