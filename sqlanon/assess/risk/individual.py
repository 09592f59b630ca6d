"""The risk of a record of a survey whose records stand for others: Benedetti and Franconi (1998), Polettini (2003).

A class of f records whose weights add up to F̂ is estimated to have F̂ members in the population. With p = f/F̂, the risk
of each of its records is the expectation of 1/F under a negative binomial distribution of F::

    f = 1:  p/(1-p) · ln(1/p)
    f = 2:  p/(1-p)² · (p ln p + 1 - p)
    f ≥ 3:  p^f/f · ₂F₁(f, f; f+1; 1-p)

All three are one integral, ``p · I_f`` with ``I_f = ∫ s^(f-1)/(p + (1-p)s) ds`` from 0 to 1 (Euler's integral, after
the transformation ``₂F₁(f, f; f+1; z) = (1-z)^(1-f) ₂F₁(1, 1; f+1; z)``), and that is how they are computed here:

- as ``p/f · ₂F₁(1, 1; f+1; 1-p)``, whose terms ``Π j/(f+j) · (1-p)^j`` are positive and fall, where p ≥ 1/2 or f > 32;
- by the recurrence ``(1-p) I_{f+1} = 1/f - p I_f`` otherwise, from ``I_1 = ln(1/p)/(1-p)``: it divides errors by
  (1-p)/p > 1 in each step.

The powers p^f and the value near p = 1, at which the closed forms are 0/0, do no harm then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlanon.core.sizes.special import Floats

STEPPED = 32
"""Up to this size the recurrence is used; beyond, the terms of the series fall as fast as for p = 1/2."""
TERMS = 64
"""Terms of the series: the first one left out is below 2^-64 of the sum."""


@dataclass(frozen=True, slots=True)
class WeightedRisk:
    """The risk of the classes of a survey, estimated by the weights of its records.

    Attributes:
        highest: the greatest risk of a record.
        expected: the sum of the risks of all records.
        population: the sum of all weights.
        light: classes whose weights add up to less than their records, which were taken to be the whole population.
        alone: records whose weight no other record has.
    """

    highest: float
    expected: float
    population: float
    light: int = 0
    alone: int = 0


def weighted_risk(size: Floats, total: Floats, classes: Floats) -> WeightedRisk:
    """Return the risk of the records of classes, from their sizes, sums of weights, and how often each pair occurs."""
    if not len(size):
        return WeightedRisk(0.0, 0.0, 0.0)
    risks = individual_risks(size, total)
    return WeightedRisk(
        highest=float(risks.max()),
        expected=float((risks * size) @ classes),
        population=float(total @ classes),
        light=int(classes[total < size].sum()),
    )


def individual_risks(sizes: Floats, weights: Floats) -> Floats:
    """Return the risk of a record of each class.

    Args:
        sizes: f, at least 1.
        weights: F̂, the sum of the weights of the class's records, positive. Where it is less than f, the class is taken
            to be the whole of its population (p = 1).
    """
    shares = np.minimum(sizes / weights, 1.0)
    found = np.empty_like(shares)
    stepped = (shares < 0.5) & (sizes <= STEPPED)
    found[~stepped] = _series(sizes[~stepped], shares[~stepped])
    found[stepped] = _recurrence(sizes[stepped], shares[stepped])
    return found


def _series(sizes: Floats, shares: Floats) -> Floats:
    """Return ``p/f · ₂F₁(1, 1; f+1; 1-p)`` by its power series."""
    rest = 1 - shares
    term = shares / sizes
    total = term.copy()
    for j in range(1, TERMS):
        term = term * (j / (sizes + j)) * rest
        total += term
    return total


def _recurrence(sizes: Floats, shares: Floats) -> Floats:
    """Return ``p · I_f`` by steps from f = 1."""
    rest = 1 - shares
    integral = -np.log(shares) / rest
    for size in range(1, STEPPED):
        further = sizes > size
        if not further.any():
            break
        integral = np.where(further, (1 / size - shares * integral) / rest, integral)
    found: Floats = shares * integral
    return found
