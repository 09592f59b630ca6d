"""How many of the smallest classes a verification suppresses: each number in turn, by formulas of its own; and how many
records are lost at every more specific node.

Nothing is shared with the search (``SizeModel.removed``, ``least``) or its solvers (``sizes.population``) but the
definition and the sums of ``sizes.special``: the figures of average risk and sample uniqueness are compared in whole
numbers, number by number. Zayatz' is too, its ratios carried from one number to the next. Pitman's equations are solved
for many numbers side by side, by the other elimination: θ follows from the second equation, and the first is followed
along it by false position.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from sqlanon.core.models.average_risk import AverageRisk
from sqlanon.core.models.base import fraction
from sqlanon.core.models.population_uniqueness import PopulationUniqueness
from sqlanon.core.models.release import Bounded, SizeModel, Sizes
from sqlanon.core.sizes.special import Array, Floats, harmonic_sums, inverse_square_sums, log_gamma_ratio

LEAST, MOST = 1e-4, 1 - 1e-6
"""Where Pitman's α is looked for, and θ up to ``LARGEST_THETA``: this is part of the definition."""
LARGEST_THETA = 1e16
PLACES = 64
STEPS = 100
"""Most steps by which θ is found, or α."""
AT_ONCE = 1024
"""Numbers of classes for which the equations are solved side by side."""
NOISE = 1e-9
"""Relative: figures that were computed in two ways are not the same to the last digit."""


def least_removed(model: SizeModel, sizes: Sizes) -> int:
    """Return the least number of classes, the smallest first, without which the figure of a model holds."""
    if isinstance(model, PopulationUniqueness):
        holds = _zayatz if model.estimator == "zayatz" else _pitman
        return _first(holds(model, sizes))
    return _first(_average_holds(model, sizes) if isinstance(model, AverageRisk) else _unique_holds(model, sizes))


def least_total(model: SizeModel, classes: Bounded) -> int:
    """Return how many records are suppressed at every more specific node, at least: the bound of the model's module."""
    if isinstance(model, PopulationUniqueness):
        return 0
    records = sum(n * count for n, _, count in classes)
    if isinstance(model, AverageRisk):
        left: Counter[int] = Counter()  # what each class may still publish
        for n, certain, count in classes:
            left[n - certain] += count
        del left[0]
        ascending = sorted(left.items())
        kept = [size for size, count in ascending for _ in repeat(None, count)][least_removed(model, ascending) :]
        return records - sum(kept)
    numerator, denominator = fraction(model.threshold)  # type: ignore[attr-defined]  # the third model of sizes has one
    alone = sum(count for n, _, count in classes if n == 1)
    certain = sum(certain * count for n, certain, count in classes if n == 1)
    others = sum(certain * count for n, certain, count in classes if n > 1)
    fewest = (t for t in range(certain, alone + 1) if denominator * (alone - t) <= numerator * (records - others - t))
    return others + next(fewest)


def _first(verdicts: Iterator[bool]) -> int:
    return next(number for number, holds in enumerate(verdicts) if holds)


def _left(sizes: Sizes) -> Iterator[tuple[int, int, int]]:
    """Yield the classes, their records, and the classes of one record, without 0, 1, … of the smallest."""
    classes, records = sum(count for _, count in sizes), sum(size * count for size, count in sizes)
    alone = sum(count for size, count in sizes if size == 1)
    yield classes, records, alone
    for size, count in sizes:
        for _ in repeat(None, count):
            classes, records, alone = classes - 1, records - size, alone - (size == 1)
            yield classes, records, alone


def _average_holds(model: Any, sizes: Sizes) -> Iterator[bool]:
    numerator, denominator = fraction(model.threshold)
    return (denominator * classes <= numerator * records for classes, records, _ in _left(sizes))


def _unique_holds(model: Any, sizes: Sizes) -> Iterator[bool]:
    numerator, denominator = fraction(model.threshold)
    return (denominator * alone <= numerator * records for _, records, alone in _left(sizes))


def _zayatz(model: PopulationUniqueness, sizes: Sizes) -> Iterator[bool]:
    """Yield whether ``c_1²/(n Σ c_i h(i)/h(1))`` is at most the threshold.

    With L = N - n outside of the sample, ``h(i)/h(1) = i · C(L, i-1)/C(N-1, i-1)``.
    """
    of_size = np.array([size for size, _ in sizes], np.float64)
    counts = np.array([count for _, count in sizes], np.float64)
    steps = np.arange(max((size for size, _ in sizes), default=1) - 1, dtype=np.float64)
    for _, records, alone in _left(sizes):
        if not alone:
            yield True
        outside = model.population - records
        with np.errstate(divide="ignore"):
            each = np.log(np.maximum(outside - steps, 0.0)) - np.log(model.population - 1 - steps)
        ratios = of_size * np.exp(np.concatenate(([0.0], np.cumsum(each))))[of_size.astype(int) - 1]
        own = counts.copy()
        own[of_size == 1] = alone
        yield alone * alone <= float(model.threshold) * (1 + NOISE) * records * float(own @ ratios)


def _pitman(model: PopulationUniqueness, sizes: Sizes) -> Iterator[bool]:
    """Yield whether the share by Pitman's equations is at most the threshold; False where they have no solution."""
    alone = sum(count for size, count in sizes if size == 1)
    for begin in range(0, alone, AT_ONCE):
        removed = np.arange(begin, min(begin + AT_ONCE, alone), dtype=np.float64)
        shares = pitman_shares(sizes, model.population, removed, float(model.threshold))
        yield from (shares <= float(model.threshold) * (1 + NOISE)).tolist()
    yield True


def pitman_shares(sizes: Sizes, population: int, removed: Floats, most: float = 1.0) -> Floats:
    """Return the share of population uniques without so many classes of one record; infinity without a solution.

    Args:
        most: shares above this may be returned as infinity. The share rises with θ, and with α (up to θ = N, where it
            is about 1); θ falls with α. So between two α it is at least that at the θ of the larger, and the smaller.
    """
    large = [(size, count) for size, count in sizes if size > 1 and count]
    number = sum(count for _, count in sizes) - removed
    records = sum(size * count for size, count in sizes) - removed

    def along(alpha: Floats, which: Array, begin: Floats) -> tuple[Floats, Floats, Array]:
        """Return the θ that solves the second equation at α, the first there, and whether there is such a θ."""
        sums = sum(count * harmonic_sums(1 - alpha, float(size - 1)) for size, count in large) + np.zeros(len(which))
        theta, exists = _second(alpha, number[which] - 1, alpha * sums, begin)
        first = harmonic_sums(theta / alpha + 1, number[which] - 1) / alpha
        return theta, first - harmonic_sums(theta + 1, records[which] - 1), exists

    everything, cells = np.arange(len(removed)), []
    logits = np.linspace(math.log(LEAST / (1 - LEAST)), math.log(MOST / (1 - MOST)), PLACES)
    theta, larger = np.zeros(len(removed)), None
    for place in reversed((1 / (1 + np.exp(-logits))).tolist()):
        alpha = np.full(len(removed), place)
        theta, first, exists = along(alpha, everything, theta)
        if larger is not None:
            # where θ ends between both, whether the sign changes before is found by looking
            which = np.flatnonzero(exists & (~larger[3] | (first * larger[2] <= 0)))
            cells.append((which, place, larger[0], first[which], larger[2][which], theta[which], larger[1][which]))
        larger = place, theta, first, exists
    lowest = np.full(len(removed), np.inf)
    for which, low, _, _, _, _, above in cells:
        bounds = [_share(one, low, population) for one in above.tolist()]
        lowest[which] = np.minimum(lowest[which], bounds)
    found: list[list[tuple[float, float]]] = [[] for _ in removed]
    for which, low, high, *others in cells:
        near = lowest[which] <= most * (1 + NOISE) if most < 0.5 else np.ones(len(which), bool)
        for at, theta_at, alpha_at in _changes(along, which[near], low, high, *(each[near] for each in others)):
            found[at].append((theta_at, alpha_at))
    return np.array([_of_likeliest(found[at], large, number[at], records[at], population) for at in everything])


def _second(alpha: Floats, terms: Floats, wanted: Floats, begin: Floats) -> tuple[Floats, Array]:
    """Return the θ at which ``Σ iα/(θ+iα)`` over so many terms is what is wanted, and whether there is one.

    The sum falls with θ and is convex, so that steps along its slope from below do not pass it.
    """
    theta = begin.copy()
    for _ in range(STEPS):
        ratio = theta / alpha
        above = terms - ratio * harmonic_sums(ratio + 1, terms) - wanted
        slope = (harmonic_sums(ratio + 1, terms) - ratio * inverse_square_sums(ratio + 1, terms)) / alpha
        step = np.where((above > 0) & (slope > 0), above / np.where(slope > 0, slope, 1.0), 0.0)
        theta = np.minimum(theta + step, LARGEST_THETA)
        if not (step > 1e-14 * theta).any():
            break
    return theta, (terms >= wanted) & (theta < LARGEST_THETA)


def _changes(
    along: Callable[..., Any], which: Array, least: float, most: float, of_low: Floats, of_high: Floats,
    theta: Floats, below: Floats,
) -> Iterator[tuple[int, float, float]]:  # fmt: skip
    """Yield the place, θ and α of each sign change between two α that has a θ on both of its sides.

    Args:
        theta, below: θ at ``least``, and no more than θ at ``most``.
    """
    low, high = np.full(len(which), least), np.full(len(which), most)
    inside, start = np.zeros(len(which), bool), of_low > 0
    for step in range(STEPS if len(which) else 0):
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = (low * of_high - high * of_low) / (of_high - of_low)
        fits = inside & (guess > low) & (guess < high) & (step % 3 > 0)
        middle = np.where(fits, guess, (low + high) / 2)
        own, value, exists = along(middle, which, below)
        same = exists & ((value > 0) == start)
        low, of_low, theta = np.where(same, middle, low), np.where(same, value, of_low), np.where(same, own, theta)
        high, of_high = np.where(same, high, middle), np.where(same, of_high, value)
        below = np.where(same | ~exists, below, own)
        inside |= exists & ~same
        if (high - low <= 1e-13 * high).all():
            break
    yield from zip(which[inside].tolist(), theta[inside].tolist(), low[inside].tolist(), strict=True)


def _share(theta: float, alpha: float, population: int) -> float:
    """Return ``Γ(θ+1)/Γ(θ+α) · N^(α-1)``, at most 1."""
    return math.exp(min(log_gamma_ratio(theta + alpha, 1 - alpha) - (1 - alpha) * math.log(population), 0.0))


def _of_likeliest(
    solutions: Sequence[tuple[float, float]], large: Sizes, number: float, records: float, population: int
) -> float:
    """Return the share by the solution of the greatest likelihood; infinity where there is none."""

    def likelihood(solution: tuple[float, float]) -> float:
        theta, alpha = solution
        new = (number - 1) * math.log(alpha) + log_gamma_ratio(theta / alpha + 1, number - 1)
        old = math.fsum(count * log_gamma_ratio(1 - alpha, size - 1.0) for size, count in large)
        return new + old - log_gamma_ratio(theta + 1, records - 1)

    return _share(*max(solutions, key=likelihood), population) if solutions else math.inf
