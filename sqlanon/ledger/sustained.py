"""What releases every night sustain, by the size of a class: expectations, in closed form.

A class of n records: as many come each night as a Poisson number of mean ``arrivals`` · n, and each leaves with
probability ``departures``, whoever they are. Newcomers wait until they are k + margin: the number that waits is a
Markov chain over the nights, which begins anew with each cohort. A cohort of m is shown as long as k of it are there as
they were. After t nights each is, with probability p = (1 - departures)^t · (1 - changes)^t, so that
m · p · P(Binomial(m - 1, p) >= k - 1) rows are true; summed over all nights, about (m - k + 1) / (departures +
changes). ``docs/design/ledger.md`` has the theorems, and ``benchmarks/every_night.py`` a simulation that tests them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil, exp, lgamma, log
from typing import Any

BUCKETS = 1.04
"""Classes whose sizes differ by less than this factor are forecast as one, beyond a size of 40."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What changes from one release to the next, as shares of the records: newcomers, and who leaves or changes."""

    arrivals: float
    departures: float
    changes: float = 0.0

    @property
    def ends(self) -> float:
        """The probability that a row is not true any more at the next release."""
        return 1 - (1 - self.departures) * (1 - self.changes)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Newcomers of one class, in the long run.

    Attributes:
        size: of a cohort, on average; 0 where none ever comes.
        rate: cohorts that come at a release, on average.
        first: the same at each release from a first one, after which nobody waits, or those of a class below k.
        seen: the shares of the newcomers that are shown at one of their first 1, 2, … releases.
    """

    size: float
    rate: float
    first: Any
    seen: tuple[float, ...]


def wait_for_cohorts(
    mean: float, needed: int, departures: float, followed: int, releases: int = 0, waiting: int = 0
) -> Waiting:
    """Return how newcomers wait in a class to which a mean number comes between two releases.

    Args:
        needed: so many come together.
        followed: how many of their first releases are looked at.
        releases, waiting: how many releases come after the first, and how many records wait since.
    """
    import numpy as np

    if mean <= 0:
        return Waiting(0.0, 0.0, np.zeros(releases), (0.0,) * followed)
    coming = [_poisson(mean, number) for number in range(needed)]
    moves = np.zeros((needed, needed))
    for before in range(needed):
        stays = [_binomial(before, number, 1 - departures) for number in range(before + 1)]
        moves[before] = np.convolve(stays, coming)[:needed]
    begins_anew = 1 - moves.sum(axis=1)
    chain = moves.copy()
    chain[:, 0] += begins_anew
    equations = np.vstack([(chain.T - np.eye(needed))[:-1], np.ones(needed)])
    shares = np.linalg.solve(equations, np.eye(needed)[-1])
    numbers = np.arange(needed)
    rate = float(shares @ begins_anew)
    joined = float(shares @ numbers) * (1 - departures) + mean - float(shares @ moves @ numbers)
    others, seen, total, unseen = (shares @ moves)[: needed - 1], [], 0.0, 1.0
    for release in range(followed):
        left = float(others.sum())
        total += (unseen - left) * (1 - departures) ** release
        seen.append(min(1.0, total))
        unseen, others = left, others @ moves[: needed - 1, : needed - 1]
    first, now = np.zeros(releases), np.eye(needed)[waiting]
    for release in range(releases):
        first[release] = now @ begins_anew
        now = now @ chain
    return Waiting(joined / rate if rate > 1e-12 else 0.0, rate, first, tuple(seen))


def true_rows(size: int, k: int, ends: float, releases: int) -> Any:
    """Return how many rows of a cohort are shown and true at each release from its own, on average (an array)."""
    import numpy as np

    if size < k:
        return np.zeros(releases)
    chance = np.exp(np.arange(releases) * log(1 - ends)) if ends else np.ones(releases)
    fewer = np.zeros(releases)
    with np.errstate(divide="ignore"):
        gone = np.log1p(-chance)
    for number in range(k - 1):
        ways = lgamma(size) - lgamma(number + 1) - lgamma(size - number)
        rest = size - 1 - number
        fewer += np.exp(ways + number * np.log(chance) + (rest * gone if rest else 0.0))
    return size * chance * np.clip(1 - fewer, 0, 1)


def held_share(size: int, k: int) -> float:
    """Return the share of the rows shown of a cohort that are not true any more, over its life, where one goes a time.

    After j of a cohort of m have gone, j mod k rows of them are shown still, for a time of 1 / (m - j) on average.
    """
    if size < k:
        return 0.0
    held = sum((gone % k) / (size - gone) for gone in range(size - k + 1))
    return held / (held + size - k + 1)


@dataclass(frozen=True, slots=True)
class Sustained:
    """What is sustained of all classes together, in expected records: shares of them follow."""

    came: float
    seen: tuple[float, ...]
    present: Any
    true: Any
    steady_present: float
    steady_true: float
    steady_held: float


def sustain(sizes: Mapping[int, int], k: int, margin: int, rates: Rates, releases: int, nights: int = 30) -> Sustained:
    """Return what is sustained of classes over releases that come after a first one.

    Args:
        sizes: how many classes there are of each size.
        nights: for how many of their first releases newcomers are followed.
    """
    import numpy as np

    one = cache(lambda size: _of_class(size, k, margin, rates, releases, nights))
    seen, total, steady = np.zeros(nights), np.zeros((2, releases)), np.zeros(3)
    for size, classes in _bucketed(sizes).items():
        own_seen, own, own_steady = one(size)
        seen += classes * size * own_seen
        total += classes * own
        steady += classes * own_steady
    came = float(sum(size * classes for size, classes in _bucketed(sizes).items())) or 1.0
    return Sustained(came, tuple((seen / came).tolist()), total[0], total[1], *map(float, steady))


def _of_class(size: int, k: int, margin: int, rates: Rates, releases: int, nights: int) -> tuple[Any, Any, Any]:
    """Return of one class: who is seen, the records present and true at each release, and these three in the end."""
    import numpy as np

    mean, ends = rates.arrivals * size, rates.ends
    left_over = size if size < k else 0
    waiting = wait_for_cohorts(mean, k + margin, rates.departures, nights, releases, left_over)
    alive = (1 - rates.departures) ** np.arange(releases + 1)
    present = size * alive[1:] + mean * np.cumsum(alive[:-1])
    true = true_rows(size, k, ends, releases + 1)[1:]
    low = int(waiting.size)
    of_cohort = np.zeros(releases) + sum(
        weight * true_rows(each, k, ends, releases)
        for each, weight in ((low, low + 1 - waiting.size), (low + 1, waiting.size - low))
        if weight > 0
    )
    true = true + np.convolve(waiting.first, of_cohort)[:releases]
    if not ends or not rates.departures:
        return np.array(waiting.seen), np.array([present, true]), np.zeros(3)
    shown = waiting.rate * max(0.0, waiting.size - k + 1) / ends
    held = held_share(round(waiting.size), k) if waiting.size else 0.0
    steady = np.array([mean / rates.departures, shown, shown * held / (1 - held) if shown else 0.0])
    return np.array(waiting.seen), np.array([present, true]), steady


def _bucketed(sizes: Mapping[int, int]) -> dict[int, int]:
    """Return how many classes there are of each size, where sizes that hardly differ are one."""
    found: dict[int, int] = {}
    for size, classes in sizes.items():
        own = size if size <= 40 else ceil(BUCKETS ** round(log(size, BUCKETS)))
        found[own] = found.get(own, 0) + classes
    return found


def _poisson(mean: float, number: int) -> float:
    return exp(number * log(mean) - mean - lgamma(number + 1))


def _binomial(size: int, number: int, chance: float) -> float:
    from math import comb

    return float(comb(size, number) * chance**number * (1 - chance) ** (size - number))
