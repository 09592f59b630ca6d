"""How many records that are unique in a sample are unique in the population too: two estimates.

Both rest on the numbers c_i of classes of size i alone, and on the size N of the population that the n records of the
sample were drawn from.

- Zayatz (1991): the classes of the sample stand for those of the population. Let ``h(i)`` be the probability of drawing
  exactly one of the i members of a class when n of N are drawn: hypergeometric, ``i · C(N - i, n - 1) / C(N, n)``.
  By Bayes a unique of the sample is one of the population with ``P = c_1 h(1) / Σ c_i h(i)``.
- Pitman (Hoshino 2001): sizes follow the Ewens–Pitman formula with θ ≥ 0 and 0 < α < 1, of maximum likelihood. The
  population then has about ``Γ(θ+1)/Γ(θ+α) · N^α`` uniques. The two equations of the likelihood,
  ``Σ 1/(θ+iα) = Σ 1/(θ+i)`` over i < C and i < n, and ``Σ i/(θ+iα) = Σ_j Σ 1/(i-α)`` over i < C and i < f_j, need not
  have a solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.core.sizes.special import (
    Array,
    Floats,
    harmonic_sum,
    harmonic_sums,
    inverse_square_sums,
    log_falling_ratio,
    log_gamma_ratio,
    log_gamma_ratios,
    weighted_harmonic_sum,
)

LEAST, MOST = 1e-4, 1 - 1e-6
"""Where α is looked for: at 0 the model is that of Ewens, and at 1 every record is a unique."""
PLACES = 40
"""How many values of α the second equation is looked at for, to find where its sign changes."""
LARGEST = 1e16
"""The largest θ that is looked for; with a larger one, all records are expected to be uniques."""
HALVINGS = 200
"""More than it takes to halve an interval of doubles until nothing lies between its ends."""
PITMAN_HALVINGS = 40
"""Halvings of α in ``may_meet_pitman``, which leave it known to some 1e-12."""
PITMAN_NOISE = 1e-9
"""Relative: what is so near to a threshold is solved by itself."""


@dataclass(frozen=True, slots=True)
class Pitman:
    """The Ewens–Pitman model of maximum likelihood: both equations hold at θ and α."""

    theta: float
    alpha: float

    def uniques(self, population: int) -> float:
        """Return how many uniques a population of so many is expected to have, which is no more than there are."""
        # Γ(θ+1)/Γ(θ+α), from θ+α up by 1-α
        exponent = log_gamma_ratio(self.theta + self.alpha, 1 - self.alpha) + self.alpha * math.log(population)
        return math.exp(min(exponent, math.log(population)))


def zayatz(sizes: SizeHistogram, population: int) -> float:
    """Return the share of the population that is unique in it, by Zayatz: ``c_1 P / n``.

    Args:
        population: N, at least as large as the sample.
    """
    found, classes = sizes.arrays()
    drawn, uniques = sizes.records, sizes.classes_of(1)
    if not uniques:
        return 0.0
    left = population - drawn  # a class of more than left + 1 is never drawn once
    fits = found - 1 <= left
    found, classes = found[fits], classes[fits]
    ratios = found * np.exp(log_falling_ratio(left, population - 1, found - 1))  # h(i)/h(1)
    return float(uniques / (classes @ ratios) * uniques / drawn)


def pitman(sizes: SizeHistogram) -> Pitman | None:
    """Return the parameters of the Ewens–Pitman model; None where the equations of the likelihood have no solution.

    Of several solutions the one of the greatest likelihood is returned.
    """
    found, classes = sizes.arrays()
    records, number = sizes.records, sizes.classes
    if number < 2 or number == records:
        return None

    def theta_of(alpha: float) -> float | None:
        """Return the θ that solves the first equation; None where no θ ≥ 0 does."""

        def first(theta: float) -> float:
            return harmonic_sum(theta / alpha + 1, number - 1) / alpha - harmonic_sum(theta + 1, records - 1)

        if first(0.0) < 0 or first(LARGEST) > 0:
            return None
        return _root(first, 0.0, LARGEST)

    def second(alpha: float) -> float:
        """Return the second equation at the θ that solves the first, left minus right; NaN where none does."""
        theta = theta_of(alpha)
        if theta is None:
            return math.nan
        right = float(classes @ harmonic_sums(1 - alpha, found - 1))
        return weighted_harmonic_sum(theta / alpha, number - 1) / alpha - right

    places = _places()
    end = _end(float(number), float(records))
    places = [*(place for place in places if place < end), *([end] if LEAST < end < MOST else [])]
    values = [second(alpha) for alpha in places]
    solutions: list[Pitman] = []
    for i in range(len(places) - 1):
        if values[i] * values[i + 1] <= 0:  # false of NaN
            alpha = _root(second, places[i], places[i + 1])
            theta = theta_of(alpha)
            if theta is not None:
                solutions.append(Pitman(theta, alpha))
    return max(solutions, key=lambda model: _log_likelihood(model, sizes), default=None)


def _places() -> list[float]:
    """Return the values of α, ascending, at which the sign of an equation is looked at."""
    odds = np.linspace(math.log(LEAST), -math.log(1 - MOST), PLACES)
    return [float(place) for place in 1 / (1 + np.exp(-odds))]


def _end(number: Any, records: Any) -> Any:
    """Return the α, but for the last digits, at which the θ that solves the first equation is 0; above, none does."""
    return harmonic_sums(1.0, number - 1) / harmonic_sums(1.0, records - 1) * (1 - 1e-12)


def _shares(theta: Floats, alpha: Floats, population: int) -> Floats:
    """Return the shares of population uniques by the parameters, at most 1."""
    logs: Floats = log_gamma_ratios(theta + alpha, 1 - alpha) + (alpha - 1) * math.log(population)
    shares: Floats = np.exp(np.minimum(logs, 0.0))
    return shares


def may_meet_pitman(sizes: SizeHistogram, population: int, threshold: float, removed: Floats) -> Array:
    """Return which releases may meet a threshold by ``pitman``, each by its place, up to one that surely does.

    Each release is that of the classes without so many of those of one record. No other of those before the last that
    is returned has a solution by which the share of population uniques is at most the threshold, so that only the
    returned ones are worth solving one by one.

    On every solution ``θ Σ 1/(θ+i) + α Σ_j Σ 1/(i-α) = C - 1`` (θ times the first equation plus α times the second).
    The left side rises with θ, and is concave in it, so that Newton's steps from below never pass its root θ(α), which
    falls with α. Along these roots the sign changes of the first equation are looked for at the same α as by
    ``pitman``. The share rises with θ, and with α up to a θ of N - 1 (ψ(θ+α) < ln N; above, it is more than a half: by
    Gautschi's inequality it is at least (θ/N)^(1-α)). So between α and α' it is at least that at θ(α') and α, and at
    most that at θ(α) and α'.

    Args:
        removed: whole numbers, ascending, at most the classes of one record.
    """
    found, counts = sizes.arrays()
    everything = np.arange(len(removed))

    def along(alpha: Floats, which: Array, begin: Floats) -> tuple[Floats, Floats]:
        """Return the roots θ at α for some of the releases, and the first equation there; NaN where there is none."""
        each, of_each = np.unique(alpha, return_inverse=True)  # the second sum is that of all releases
        sums = np.array([counts @ harmonic_sums(1 - one, found - 1) for one in each])[of_each]
        number, records = sizes.classes - removed[which], sizes.records - removed[which]
        theta, has_root = _joint_theta(number - 1 - alpha * sums, records, begin)
        value = harmonic_sums(theta / alpha + 1, number - 1) / alpha - harmonic_sums(theta + 1, records - 1)
        return theta, np.where(has_root, value, np.nan)

    def rises_at_end(some: Array, low: float, high: float) -> Array:
        """Return whether the first equation is positive where θ(α) ends at 0, between two α: it is up to ``_end``."""
        number, ends = sizes.classes - removed[some], _end(sizes.classes - removed[some], sizes.records - removed[some])
        between = (ends > low) & (ends < high)
        sums = np.zeros(ends.shape)
        for size, count in sizes.sizes if between.any() else ():
            sums[between] += count * harmonic_sums(1 - ends[between], size - 1.0)
        rises: Array = np.where(between, ends * sums > number - 1, ends >= high)
        return rises

    places = _places()
    thetas, values, tried = np.zeros(len(removed)), np.full(len(removed), np.nan), []
    for at in reversed(range(len(places))):  # θ(α) at a larger α is below that at a smaller one
        theta, value = along(np.full(len(removed), places[at]), everything, thetas)
        changes = value * values <= 0
        if at + 1 < len(places):
            ends = np.flatnonzero(~np.isnan(value) & np.isnan(values))
            changes[ends] = (value[ends] > 0) != rises_at_end(ends, places[at], places[at + 1])
            some = np.flatnonzero(changes)
            ones = np.ones(len(some))
            tried.append((some, ones * places[at], ones * places[at + 1], value[some] > 0, theta[some], thetas[some]))
        thetas, values = theta, value
    which, low, high, rises, of_low, of_high = map(np.concatenate, zip(*tried, strict=True))
    bounds = threshold * (1 + PITMAN_NOISE), threshold * (1 - PITMAN_NOISE)
    for _ in range(PITMAN_HALVINGS):
        kept = (_shares(of_high, low, population) <= bounds[0]) | (threshold >= 0.5)
        surely = which[kept & (_shares(of_low, high, population) <= bounds[1])]
        kept &= which <= surely.min(initial=len(removed))
        which, low, high, rises, of_low, of_high = (a[kept] for a in (which, low, high, rises, of_low, of_high))
        if not len(which) or (surely.size and (which == surely.min()).all()):
            break
        middle = (low + high) / 2
        theta, value = along(middle, which, of_high)
        same = ((value > 0) == rises) & ~np.isnan(value)
        low, of_low = np.where(same, middle, low), np.where(same, theta, of_low)
        high, of_high = np.where(same, high, middle), np.where(same, of_high, theta)
    return np.unique(which)


def _joint_theta(wanted: Floats, records: Floats, begin: Floats) -> tuple[Floats, Array]:
    """Return the θ at which ``θ Σ 1/(θ+i)`` over i < n is what is wanted, by Newton's steps up, and whether one does.

    Args:
        begin: not above the θ.
    """
    theta = begin.copy()
    for _ in range(HALVINGS):
        sums = harmonic_sums(theta + 1, records - 1)
        slope = sums - theta * inverse_square_sums(theta + 1, records - 1)
        lacking = wanted - theta * sums
        rises = (lacking > 0) & (slope > 0) & (theta < LARGEST)
        step = np.divide(lacking, slope, out=np.zeros_like(theta), where=rises)
        theta = np.minimum(theta + step, LARGEST)
        if not (step > 1e-13 * theta).any():
            break
    return theta, (wanted >= 0) & (theta < LARGEST)


def _log_likelihood(model: Pitman, sizes: SizeHistogram) -> float:
    """Return the logarithm of the Ewens–Pitman formula, without the terms that do not depend on the parameters."""
    theta, alpha, number = model.theta, model.alpha, sizes.classes
    # Π (θ+iα) over i < C, Π (θ+i) over i < n, Π_j Π (i-α) over i < f_j
    likelihood = (number - 1) * math.log(alpha) + log_gamma_ratio(theta / alpha + 1, number - 1)
    likelihood -= log_gamma_ratio(theta + 1, sizes.records - 1)
    parts = (count * log_gamma_ratio(1 - alpha, size - 1) for size, count in sizes.sizes)
    return likelihood + math.fsum(parts)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a continuous function changes its sign between two places, to the last digits."""
    sign = function(low) > 0
    for _ in range(HALVINGS):
        # geometric steps while the ends are orders of magnitude apart
        middle = math.sqrt(low * high) if low > 0 and high / low > 4 else (low + high) / 2
        if low == 0 and high > 1:
            middle = high**0.5 if high > 4 else 1.0
        if not low < middle < high or high - low <= 1e-15 * high:
            break
        if (function(middle) > 0) == sign:
            low = middle
        else:
            high = middle
    return (low + high) / 2
