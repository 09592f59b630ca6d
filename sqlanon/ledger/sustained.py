"""The records that releases every night sustain, by the size of a class: expectations, in closed form.

A class of n records: as many come each night as a Poisson number of mean ``arrivals`` · n, and each leaves with
probability ``departures``, whoever they are. Newcomers wait until they are k + margin: the number that waits is a
Markov chain over the nights, which begins anew with each cohort. A cohort of m is shown as long as k of it are there as
they were. After t nights each is, with probability p = (1 - departures)^t · (1 - changes)^t, so that
m · p · P(Binomial(m - 1, p) >= k - 1) rows are true; summed over all nights, about (m - k + 1) / (departures +
changes). ``docs/design/ledger.md`` has the theorems, and ``benchmarks/every_night.py`` a simulation that tests them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb, exp, lgamma, log
from typing import Any

from sqlanon.core.facts import Facts

FOLLOWED = 30
"""For how many of their first releases newcomers are followed."""
BUCKETS = 1.04
"""Classes whose sizes differ by less than this factor are forecast as one, beyond a size of 40."""


@dataclass(frozen=True, slots=True)
class Rates(Facts):
    """The changes from one release to the next, as shares of the records: newcomers, and who leaves or changes."""

    arrivals: float
    departures: float
    changes: float = 0.0


@dataclass(frozen=True, slots=True)
class Sustained:
    """The sustained part of classes, in expected records.

    Attributes:
        records: of the classes at first.
        seen: of the newcomers of ``records``, those that are shown at one of their first 1, 2, … releases.
        present, true: at each release, the records of the source, and those that are shown as they are.
        steady: after a time without end, these two and the rows that are shown and not true; zeros where that is not
            defined.
    """

    records: int
    seen: Any
    present: Any
    true: Any
    steady: Any


def sustain(
    chain: Sequence[Mapping[int, int]], k: int, margin: int, rates: Rates, releases: int, turn: int | None = None
) -> Sustained:
    """Return the sustained part of classes over releases that come after a first one.

    Args:
        chain: how many classes there are of each size, at each node where newcomers come together.
        turn: they come with each release of this number, and nobody leaves then; None: with every release.
    """
    sizes = [_bucketed(each) for each in chain]
    if turn is not None:
        return _in_turns(sizes, k, margin, rates, releases, turn)
    parts = [(n, classes, of_class(n, k, margin, rates, releases)) for n, classes in sizes[0].items()]
    records = sum(n * classes for n, classes, _ in parts)
    return Sustained(
        records,
        sum(n * classes * each.seen for n, classes, each in parts) / max(1, records),
        sum(classes * each.present for _, classes, each in parts),
        sum(classes * each.true for _, classes, each in parts),
        sum(classes * each.steady for _, classes, each in parts),
    )


def _bucketed(sizes: Mapping[int, int]) -> dict[int, int]:
    buckets: dict[int, int] = {}
    for size, classes in sizes.items():
        own = size if size <= 40 else ceil(BUCKETS ** round(log(size, BUCKETS)))
        buckets[own] = buckets.get(own, 0) + classes
    return buckets


def _in_turns(
    chain: Sequence[Mapping[int, int]], k: int, margin: int, rates: Rates, releases: int, turn: int
) -> Sustained:
    """Return the sustained part where newcomers come in turns, at the first node of a chain where they are enough.

    Of those who wait at a node, a Poisson number is taken to be in each class, in proportion to its size.
    """
    import numpy as np

    ends, alive = 1 - (1 - rates.departures) * (1 - rates.changes), (1 - rates.departures) ** np.arange(releases + 1)
    records = sum(n * classes for n, classes in chain[0].items())
    small = sum(n * classes for n, classes in chain[0].items() if n < k) * alive[turn] if turn <= releases else 0.0
    true = sum(classes * true_rows(n, k, ends, releases + 1)[1:] for n, classes in chain[0].items())
    turns, shown, held, waits = np.zeros(releases), 0.0, 0.0, rates.arrivals * alive[:turn].sum()
    turns[turn - 1 :: turn] = 1
    first = turns * (np.arange(releases) < turn)  # when those come who were too few in the first release
    seen = 1.0
    for nodes, come, wait in ((chain, turns, waits), (chain[1:], first, small / records)):
        for node in nodes:
            left = 0.0
            for size, classes in node.items():
                few, rest = _too_few(wait * size, k + margin)
                left += classes * rest
                if few > 1 - 1e-9:
                    continue
                cohort, rate = (wait * size - rest) / (1 - few), classes * (1 - few)
                true += rate * np.convolve(come, _lasting(cohort, k, ends, releases))[:releases]
                if come is turns and ends:
                    lives, share = rate / turn * max(0.0, cohort - k + 1) / ends, held_share(round(cohort), k)
                    shown, held = shown + lives, held + lives * share / (1 - share)
            wait = left / records
        if come is turns:
            seen -= wait / waits if waits else 1.0
    steady = np.array([records * rates.arrivals / rates.departures, shown, held] if rates.departures else [0.0] * 3)
    present = records * (alive[1:] + rates.arrivals * np.cumsum(alive[:-1]))
    nights = np.where(np.arange(FOLLOWED) < turn, (1 - rates.departures) ** np.arange(FOLLOWED), 0).cumsum() / turn
    return Sustained(records, nights * seen, present, true, steady)


def _too_few(mean: float, needed: int) -> tuple[float, float]:
    """Return the probability that a Poisson number is below what is needed, and its mean share that is."""
    few = sum(_poisson(mean, number) for number in range(needed))
    return few, mean * (few - _poisson(mean, needed - 1))


def _lasting(cohort: float, k: int, ends: float, releases: int) -> Any:
    """Return ``true_rows`` of a cohort whose mean size is no whole number."""
    low, above = int(cohort), cohort % 1
    return (1 - above) * true_rows(low, k, ends, releases) + above * true_rows(low + 1, k, ends, releases)


def _poisson(mean: float, number: int) -> float:
    return exp(number * log(mean) - mean - lgamma(number + 1)) if mean > 0 else float(number == 0)


def of_class(size: int, k: int, margin: int, rates: Rates, releases: int) -> Sustained:
    """Return the sustained part of one class."""
    import numpy as np

    mean, ends = rates.arrivals * size, 1 - (1 - rates.departures) * (1 - rates.changes)
    cohort, rate, come, seen = cohorts_of_newcomers(
        mean, k + margin, rates.departures, releases, waiting=size if size < k else 0
    )
    alive = (1 - rates.departures) ** np.arange(releases + 1)
    present = size * alive[1:] + mean * np.cumsum(alive[:-1])
    lasts = _lasting(cohort, k, ends, releases)
    true = true_rows(size, k, ends, releases + 1)[1:] + np.convolve(come, lasts)[:releases]
    steady = np.zeros(3)
    if rates.departures and ends:
        shown, held = rate * max(0.0, cohort - k + 1) / ends, held_share(round(cohort), k)
        steady[:] = mean / rates.departures, shown, shown * held / (1 - held)
    return Sustained(size, seen, present, true, steady)


def cohorts_of_newcomers(
    mean: float, needed: int, departures: float, releases: int, *, waiting: int = 0
) -> tuple[float, float, Any, Any]:
    """Return of the cohorts of newcomers of a class: their mean size, and how many come at a release in the long run;
    how many come at each release from the first on; and who is seen (``Sustained.seen``).

    Args:
        mean: so many newcomers come between two releases, on average.
        needed: so many come together.
        waiting: so many wait at first.
    """
    import numpy as np

    if mean <= 0:
        return 0.0, 0.0, np.zeros(releases), np.zeros(FOLLOWED)
    coming = [_poisson(mean, number) for number in range(needed)]
    moves = np.zeros((needed, needed))
    for of in range(needed):
        stay = [comb(of, n) * (1 - departures) ** n * departures ** (of - n) for n in range(of + 1)]
        moves[of] = np.convolve(stay, coming)[:needed]
    joins, chain = 1 - moves.sum(axis=1), moves.copy()
    chain[:, 0] += joins
    equations = np.vstack([(chain.T - np.eye(needed))[:-1], np.ones(needed)])
    shares = np.linalg.solve(equations, np.eye(needed)[-1])
    rate, numbers = float(shares @ joins), np.arange(needed)
    joined = float(shares @ numbers) * (1 - departures) + mean - float(shares @ moves @ numbers)
    others, seen, unseen = (shares @ moves)[:-1], np.zeros(FOLLOWED), 1.0
    for release in range(FOLLOWED):
        seen[release] = (unseen - others.sum()) * (1 - departures) ** release
        unseen, others = others.sum(), others @ moves[:-1, :-1]
    come, now = np.zeros(releases), np.eye(needed)[waiting]
    for release in range(releases):
        come[release], now = now @ joins, now @ chain
    return (joined / rate if rate > 1e-12 else 0.0), rate, come, np.minimum(1, seen.cumsum())


def true_rows(size: int, k: int, ends: float, releases: int) -> Any:
    """Return how many rows of a cohort are shown and true at each release from its own, on average (an array)."""
    import numpy as np

    if size < k or not ends:
        return np.full(releases, float(size) if size >= k else 0.0)
    chance, fewer = (1 - ends) ** np.arange(releases), np.zeros(releases)
    for number in range(k - 1):
        ways = lgamma(size) - lgamma(number + 1) - lgamma(size - number)
        with np.errstate(divide="ignore"):
            fewer += np.exp(
                ways + number * np.log(np.maximum(chance, 1e-300)) + (size - 1 - number) * np.log1p(-chance)
            )
    return size * chance * np.clip(1 - fewer, 0, 1)


def held_share(size: int, k: int) -> float:
    """Return the share of the rows shown of a cohort that are not true any more, over its life, where one goes a time.

    After j of a cohort of m have gone, j mod k rows of them are shown still, for a time of 1 / (m - j) on average.
    """
    held = sum((gone % k) / (size - gone) for gone in range(size - k + 1))
    return held / (held + size - k + 1) if size >= k else 0.0
