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

import numpy as np

from sqlanon.sizes.histogram import SizeHistogram
from sqlanon.sizes.special import (
    harmonic_sum,
    harmonic_sums,
    log_falling_ratio,
    log_gamma_ratio,
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

    odds = np.linspace(math.log(LEAST), -math.log(1 - MOST), PLACES)
    places = [float(place) for place in 1 / (1 + np.exp(-odds))]
    values = [second(alpha) for alpha in places]
    solutions: list[Pitman] = []
    for i in range(PLACES - 1):
        if values[i] * values[i + 1] <= 0:  # false of NaN
            alpha = _root(second, places[i], places[i + 1])
            theta = theta_of(alpha)
            if theta is not None:
                solutions.append(Pitman(theta, alpha))
    return max(solutions, key=lambda model: _log_likelihood(model, sizes), default=None)


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
