"""What chance alone would do: the tail of the chi-square distribution, with the standard library only."""

from __future__ import annotations

import math


def chi_square_tail(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-square variable exceeds ``statistic``: Q(degrees / 2, statistic / 2).

    The regularized incomplete gamma function by its series below the mean, by its continued fraction (Lentz) above
    (Press et al., Numerical Recipes, section 6.2); relative error about 1e-10.
    """
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = summed = 1 / a
        n = a
        while term > summed * 1e-15:
            n += 1
            term *= x / n
            summed += term
        return max(1 - scale * summed, 0.0)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 1_000_000):
        b += 2
        step = -i * (i - a)
        d = 1 / _off_zero(step * d + b)
        c = _off_zero(b + step / c)
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return min(scale * fraction, 1.0)


def _off_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
