"""Sums of harmonic terms and ratios of gamma functions, without the cancellation of two values that are subtracted.

A sum ``Σ 1/(x + i)`` over a whole number of terms is a difference of two digamma functions. For 10^8 records both are
near 18, and their difference may be near 10^-8. So it is formed term by term of the asymptotic series (Abramowitz and
Stegun 6.3.18, 6.1.41), once the first terms are summed up to an argument at which the series gives all digits.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]
"""Places, flags or numbers."""

FAR = 16
"""From this argument on, the series give all digits of a double."""
HARMONIC = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
"""B_2k/(2k), the coefficients of x^-2k in ``ln x - 1/(2x) - ψ(x)``."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""B_2k/(2k(2k-1)), the coefficients of x^-(2k-1) in ln Γ(x)."""
BERNOULLI = (1.0, 0.5, 1 / 6, 0.0, -1 / 30, 0.0, 1 / 42, 0.0, -1 / 30, 0.0, 5 / 66)
"""B_0 … B_10, with B_1 = 1/2, as the sums of powers need them."""
FEW = 1 / 30
"""Below this ratio of terms to their offset, ``Σ i/(x + i)`` is a power series of ten terms."""


def harmonic_sum(start: float, terms: float) -> float:
    """Return ``Σ 1/(start + i)`` over i = 0 … terms - 1, which is ψ(start + terms) - ψ(start).

    Args:
        start: positive.
        terms: a whole number, not negative.
    """
    near = min(max(0, math.ceil(FAR - start)), int(terms))
    found = math.fsum(1 / (start + i) for i in range(near))
    if near == terms:
        return found
    first, rest = start + near, terms - near
    last = first + rest
    found += math.log1p(rest / first) + rest / (2 * first * last)
    return found + sum(c * (first ** (-2 * k) - last ** (-2 * k)) for k, c in enumerate(HARMONIC, start=1))


def harmonic_sums(start: float | Floats, terms: float | Floats) -> Floats:
    """Return ``harmonic_sum`` for each start and number of terms; the array has the shape of both together."""
    found, first, last = _near_terms(start, terms, 1)
    rest = last - first
    found += np.log1p(rest / first) + rest / (2 * first * last)
    for k, coefficient in enumerate(HARMONIC, start=1):
        found += coefficient * (first ** (-2.0 * k) - last ** (-2.0 * k))
    return found


def inverse_square_sums(start: float | Floats, terms: float | Floats) -> Floats:
    """Return ``Σ 1/(start + i)²`` over i = 0 … terms - 1, as ``harmonic_sums`` does."""
    found, first, last = _near_terms(start, terms, 2)
    found += 1 / first - 1 / last + (first**-2.0 - last**-2.0) / 2
    for k, coefficient in enumerate(HARMONIC, start=1):
        found += 2 * k * coefficient * (first ** (-2.0 * k - 1) - last ** (-2.0 * k - 1))
    return found


def _near_terms(start: float | Floats, terms: float | Floats, power: int) -> tuple[Floats, Floats, Floats]:
    """Return the sum of the first ``1/(start + i)^power``, and where the terms that are left begin and end."""
    begin, terms = np.broadcast_arrays(np.asarray(start, np.float64), np.asarray(terms, np.float64))
    found = np.zeros(begin.shape)
    near = max(0, math.ceil(FAR - float(np.min(begin, initial=FAR))))
    for i in range(near):
        found += np.where(terms > i, (begin + i) ** -float(power), 0.0)
    first = begin + near
    return found, first, first + np.maximum(terms - near, 0.0)


def weighted_harmonic_sum(offset: float, terms: int) -> float:
    """Return ``Σ i/(offset + i)`` over i = 1 … terms.

    Args:
        offset: not negative.
    """
    if terms > FEW * offset:
        return terms - offset * harmonic_sum(offset + 1, terms)
    signs = (1 - 2 * (power % 2 == 0) for power in range(1, 11))
    return math.fsum(
        sign * _power_sum(power, terms) / offset**power for power, sign in enumerate(signs, start=1) if offset
    )


@cache
def _power_sum(power: int, terms: int) -> float:
    """Return ``Σ i^power`` over i = 1 … terms (Faulhaber)."""
    parts = (math.comb(power + 1, j) * BERNOULLI[j] * float(terms) ** (power + 1 - j) for j in range(power + 1))
    return math.fsum(parts) / (power + 1)


def log_gamma_ratio(base: float, step: float) -> float:
    """Return ln Γ(base + step) - ln Γ(base), for a positive ``base`` and a ``step`` that is not negative."""
    found = 0.0
    while base < FAR:
        found -= math.log1p(step / base)
        base += 1
    moved = base + step
    found += (base - 0.5) * math.log1p(step / base) + step * math.log(moved) - step
    return found + sum(c * (moved ** (1 - 2 * k) - base ** (1 - 2 * k)) for k, c in enumerate(STIRLING, start=1))


def log_gamma_ratios(base: Floats, step: Floats) -> Floats:
    """Return ``log_gamma_ratio`` for each base and step; the arrays are of one shape."""
    found, moved = _log_rising(base, step)
    ratios: Floats = found + step * np.log(moved) - step
    return ratios


def log_falling_ratio(left: int, whole: int, steps: Floats) -> Floats:
    """Return ``ln Π (left - j)/(whole - j)`` over j = 0 … steps - 1, for each number of ``steps``.

    Args:
        steps: whole numbers, not negative and at most ``left``, which is at most ``whole``.
    """
    part, moved = _log_rising(left - steps + 1, steps)
    all_, moved_all = _log_rising(whole - steps + 1, steps)
    found: Floats = part - all_ + steps * np.log1p((moved - moved_all) / moved_all)
    return found


def _log_rising(base: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Return ln Γ(base + step) - ln Γ(base) without the terms ``step · ln(moved) - step``, and ``moved``."""
    found = np.zeros_like(base)
    base = base.copy()
    while np.any(base < FAR):
        near = base < FAR
        found[near] -= np.log1p(step[near] / base[near])
        base[near] += 1
    moved = base + step
    found += (base - 0.5) * np.log1p(step / base)
    for k, coefficient in enumerate(STIRLING, start=1):
        found += coefficient * (moved ** (1.0 - 2 * k) - base ** (1.0 - 2 * k))
    return found, moved
