"""Rounded counts: to the nearest multiple of a base, at random with the count as the mean, or so that totals add up.

Beside suppression what is rounded is what suppression shows, and nothing else. Without it, what a reader knows of
each cell is a range. Controlled rounding (Causey, Cox and Ernst, JASA 1985) chooses multiples of which totals are the
sums of their parts, with the least sum of distances. docs/design/counts.md says why this protects.
"""

from __future__ import annotations

import hmac
import json
import time
from dataclasses import replace

import numpy as np

from sqlanon.core.highs import highs_module
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.counts.counting import Counted, release_key
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.facts import Flags, Floats, Numbers, SparseRows, System
from sqlanon.counts.heuristic import Suppressing
from sqlanon.counts.keys import CountsFacts
from sqlanon.counts.perturbing import chance_of
from sqlanon.counts.programs import program, solved
from sqlanon.errors import NoSolutionError, SearchStoppedError

PURPOSE = "rounding"
"""Of the key that cells are rounded by."""
MOST_STEPS = 5
"""Multiples that a count may go, at most."""


def rounded_counts(counted: Counted, policy: CountsPolicy, system: System, hidden: Flags) -> tuple[Numbers, int]:
    """Return the counts of all cells as the document has them rounded, and within how many multiples they are; raises
    as ``rounded_to_add_up``."""
    rules, base = policy.rules, policy.rules.round
    if base is None:
        return counted.contributors, 1
    if rules.additive:
        found, steps = rounded_to_add_up(system, hidden, base, rules.time_limit)
        return found[: len(counted.grid)], steps
    if rules.rounding == "random":
        return rounded_at_random(counted, base, release_key(policy.policy)), 1
    return rounded_to_nearest(counted.contributors, base), 1


def rounded_to_nearest(counts: Numbers, base: int) -> Numbers:
    """Return counts as the nearest multiples; halfway, the even one.

    >>> rounded_to_nearest(np.array([0, 5, 6, 14, 15, 26]), 10).tolist()
    [0, 0, 10, 10, 20, 30]
    """
    return (np.rint(counts / base) * base).astype(np.int64)


def rounded_at_random(counted: Counted, base: int, key: ReleaseKey) -> Numbers:
    """Return counts as one of the two multiples around them, of which they are the mean; multiples stay.

    The chance of a cell follows from its key and its categories. By the key alone, cells that are rounded to different
    multiples would be told to be of different entities.
    """
    assert counted.keys is not None
    secret, own = key.key_for(PURPOSE), counted.keys.copy()
    down, places = counted.contributors // base, counted.grid.named_keys()
    for cell in np.flatnonzero(counted.contributors % base):
        place = sorted(places[cell], key=str)
        hashed = hmac.digest(secret, json.dumps([int(own[cell]), place]).encode(), "sha256")
        own[cell] = int.from_bytes(hashed[:8], "big")
    found: Numbers = (down + (chance_of(own) < counted.contributors / base - down)) * base
    return found


def rounded_to_add_up(system: System, hidden: Flags, base: int, time_limit: float) -> tuple[Numbers, int]:
    """Return multiples that keep the relations, 0 for unsafe cells that are not hidden, and how far they may be.

    Args:
        hidden: the suppressed cells: they may be any number, whatever they are.

    Raises:
        NoSolutionError: there are none within ``MOST_STEPS`` multiples.
        SearchStoppedError: the time limit came first.
        UnsupportedError: HiGHS is not installed.
    """
    deadline = time.monotonic() + time_limit
    for steps in range(1, MOST_STEPS + 1):
        found = _additive(system, hidden, base, steps, deadline)
        if found is not None:
            return found, steps
    raise NoSolutionError(
        f"No multiples of {base} that add up are within {MOST_STEPS} multiples of all counts; nothing was published.",
        hint="leave out additive or suppress: false, or show coarser levels.",
    )


def _additive(system: System, hidden: Flags, base: int, steps: int, deadline: float) -> Numbers | None:
    """Return multiples that keep the relations, each less than ``steps`` multiples from its count; None without any.

    A column for each unknown, in multiples, and one for how far it is from its count.
    """
    size, shown = len(system), system.published & ~hidden
    wanted = np.where(shown, system.values / base, 0.0)
    lower = np.where(shown, np.maximum(np.floor(wanted - steps) + 1, 0), 0.0)
    upper = np.where(shown, np.ceil(wanted + steps) - 1, np.inf)
    upper[shown & ((system.values == 0) | system.unsafe)] = 0.0
    lower[shown & system.unsafe] = 0.0
    nothing, endless = np.zeros(size), np.full(size, np.inf)
    rows, pairs = system.rows, np.stack([np.arange(size), np.arange(size) + size], axis=1).reshape(-1)
    for sign in (1.0, -1.0):  # the multiple and its distance are what is wanted, at least
        factors = np.tile([sign, 1.0], size)
        rows = rows.joined(SparseRows(2 * np.arange(size + 1), pairs, factors, sign * wanted, endless))
    both = ([lower, nothing], [upper, endless], [nothing, shown.astype(np.float64)])
    whole = np.concatenate([shown, nothing > 0])
    highs = program("Rounding that adds up", rows, *map(np.concatenate, both), whole=whole)
    if solved(highs, max(deadline - time.monotonic(), 0.0)) is False:
        return None
    feasible = highs_module("This").SolutionStatus.kSolutionStatusFeasible
    if highs.getInfo().primal_solution_status != feasible:
        raise SearchStoppedError(
            "The time limit came before rounded counts were found that add up; nothing was published.",
            hint="raise time_limit, or show coarser levels.",
        )
    found: Numbers = np.rint(np.array(highs.getSolution().col_value)[:size]).astype(np.int64) * base
    return found


def check_ranges(system: System, rounded: Numbers, rules: CountsFacts, steps: int) -> None:
    """Refuse rounded counts, of which none is suppressed, that would tell an unsafe cell; raises as ``protect``."""
    low, high = _ranges(rounded, rules, steps)
    cells = np.flatnonzero(system.published)
    both = system.rows.joined(SparseRows.of(([c], [1.0], low[c], high[c]) for c in cells.tolist()))
    hidden, deadline = system.published.copy(), time.monotonic() + rules.time_limit
    free = Suppressing(system, deadline)  # what an insider knows whatever is shown is no fault of what is
    open_ = list(Suppressing(replace(system, rows=both), deadline).unmet(hidden))
    told = {choice[0].cell for choice in open_ if choice[0].known < 0 or free.met(choice, hidden)}
    if told:
        raise NoSolutionError(
            f"From the rounded counts {len(told)} unsafe cells could be computed; nothing was published.",
            hint="say additive: true, leave out suppress: false, or give a larger base.",
        )


def _ranges(rounded: Numbers, rules: CountsFacts, steps: int) -> tuple[Floats, Floats]:
    """Return the least and the greatest count that is shown as each multiple."""
    base = rules.round or 1
    if rules.additive:  # below the threshold all are shown as 0
        away, least = steps * base - 1, np.where(rounded > 0, rules.threshold, 0)
        return np.maximum(rounded - away, least).astype(np.float64), (rounded + away).astype(np.float64)
    half = np.where((rounded // base) % 2 == 1, (base - 1) // 2, base // 2)
    return np.maximum(rounded - half, 0).astype(np.float64), (rounded + half).astype(np.float64)
