"""How far two distributions of a column are apart."""

from __future__ import annotations

import numpy as np

from sqlanon.assess.utility.released import Real


def total_variation(first: Real, second: Real) -> float:
    """Return half the sum of the absolute differences of two distributions over the same values."""
    return float(np.abs(first - second).sum() / 2)


def with_suppressed(moved: float | None, suppressed: float) -> float | None:
    """Return the distance of the released records with the suppressed ones, which move across the whole range.

    Args:
        moved: of the released records; None where they have no places.
        suppressed: their share; where it is 1, nothing is released.
    """
    if moved is None:
        return 1.0 if suppressed >= 1 else None
    return suppressed + (1 - suppressed) * moved


def wasserstein(places: Real, first: Real, second: Real) -> float | None:
    """Return the Wasserstein distance of order 1 of two distributions on a line, as a share of its range.

    Both are taken as they are among the values that have a place. With one place it is 0; None where either has none.

    Args:
        places: per value, its place, NaN without one.
    """
    placed = np.isfinite(places)
    places, first, second = places[placed], first[placed], second[placed]
    if not first.sum() > 0 or not second.sum() > 0:
        return None
    order = np.argsort(places, kind="stable")
    places = places[order]
    ahead = np.cumsum(first[order] / first.sum() - second[order] / second.sum())
    length = places[-1] - places[0]
    return float((np.abs(ahead[:-1]) * np.diff(places)).sum() / length) if length > 0 else 0.0
