"""Guesses ranked by how sure they are: how many are right among the surest, and the anonymity loss coefficient.

Francis and Wagner, "Towards Better Attribute Inference Vulnerability Measures" (arXiv 2507.01710, 2025): an attacker
need not guess about everybody. With precision P (the share of the guesses that are right) and recall R (the share of
the targets that are guessed at),

    PRC = P (1 - (log10 R / log10 0.0001)³),    ALC = (PRC - PRC of the baseline) / (1 - PRC of the baseline).

Of an attack the threshold of confidence counts that makes PRC largest, as in the authors' package; it is chosen among
the guesses that it judges, so that ALC of few guesses is somewhat too large. ALC is 0 where the release tells no more
than the baseline knows, and 1 where it tells all about everybody; the authors take 0.5 for a loss that attracts no
attacker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sqlanon.core.facts import Facts

LEAST_RECALL, STRENGTH = 1e-4, 3
FEWEST = 50
"""Guesses at a threshold that counts, at least: of fewer, most may be right by chance."""
MOST_POINTS = 20


@dataclass(frozen=True, slots=True)
class RankedPoint(Facts):
    """The guesses that are at least so sure.

    Attributes:
        confidence: the least share of the rows of a target's classes that have the guessed value.
        attempts, successes: such guesses, and those that are right.
    """

    KEYS = "confidence attempts successes"
    confidence: float
    attempts: int
    successes: int


@dataclass(frozen=True, slots=True)
class Ranked(Facts):
    """Guesses by how sure they are.

    Attributes:
        points: from the surest on; ``MOST_POINTS`` at most.
        best: the threshold with the largest PRC.
        targets: records, guessed at or not.
        prc: the largest.
        naive: that of a guess that looks at the release as a whole.
    """

    KEYS = "points best targets prc"
    points: tuple[RankedPoint, ...]
    best: RankedPoint
    targets: int
    prc: float
    naive: float


def prc(precision: float, recall: float) -> float:
    """Return the coefficient of precision and recall.

    >>> prc(0.8, 1.0), round(prc(0.8, 0.01), 3), prc(1.0, 0.0001)
    (0.8, 0.7, 0.0)
    """
    if recall <= LEAST_RECALL:
        return 0.0
    return precision * (1.0 - (math.log10(min(recall, 1.0)) / math.log10(LEAST_RECALL)) ** STRENGTH)


def loss_coefficient(attack: float, baseline: float) -> float | None:
    """Return ALC of two PRC; None where the baseline knows everything.

    >>> loss_coefficient(0.75, 0.5), loss_coefficient(0.4, 0.5), loss_coefficient(1.0, 1.0)
    (0.5, -0.2, None)
    """
    return None if baseline >= 1.0 else round((attack - baseline) / (1.0 - baseline), 6)


def ranked(counts: Iterable[tuple[int, int, int]], targets: int, *, naive: float) -> Ranked | None:
    """Return guesses by how sure they are; None without any.

    Args:
        counts: confidence in thousandths, guesses of that confidence, and those that are right.
        targets: records, guessed at or not.
        naive: the PRC of a guess that looks at the release as a whole.
    """
    points: list[RankedPoint] = []
    attempts = successes = 0
    for confidence, tried, right in sorted(counts, reverse=True):
        attempts, successes = attempts + tried, successes + right
        if points and points[-1].confidence == confidence / 1000:
            points.pop()
        points.append(RankedPoint(confidence / 1000, attempts, successes))
    if not attempts:
        return None
    enough = [point for point in points if point.attempts >= min(FEWEST, attempts)]
    best = max(enough, key=lambda point: (_prc(point, targets), point.attempts))
    step = -(-len(points) // MOST_POINTS)
    shown = [point for place, point in enumerate(points) if (len(points) - 1 - place) % step == 0]
    return Ranked(tuple(shown), best, targets, _prc(best, targets), naive)


def _prc(point: RankedPoint, targets: int) -> float:
    return prc(point.successes / point.attempts, point.attempts / max(targets, point.attempts))
