"""The exact solution of pattern-guided k-anonymity: the integer program of section 2.2, solved by HiGHS.

Source: Bredereck, Nichterlein, Niedermeier 2013, section 2.2, with weights of columns (section 5). ``reductions`` holds
the program and what is taken out of it; here it is split into components. Each of them goes to HiGHS (``solver``),
unless Algorithm 1 or the caller's start already costs what every row type in its cheapest group costs: a lower bound.

**What is claimed.** Costs are whole and divisible by the greatest common divisor of the costs of the patterns. The
bound of HiGHS, less a tolerance, is rounded up to such a number; the cost is summed in integers from an assignment that
``broken`` checks against the row types themselves. A solution is optimal when the two are equal, and not before.

**Fewer than k.** Fully suppressed records disclose nothing, so that they may be fewer than k (section 2.3), when the
pattern of all columns is allowed; ``left_over=False`` demands k of them too, as the program of the paper does. This
ties nearly all row types together, so the program is first solved without, and again only when the solution breaks it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sqlanon.core.highs import highs_module
from sqlanon.core.policy import SearchOptions
from sqlanon.errors import AuditError, InputError, NoSolutionError, SearchStoppedError
from sqlanon.recoding.patterns.reductions import (
    Ints,
    Program,
    RowTypes,
    components,
    first_fit,
    program,
    reduce_program,
    total,
)
from sqlanon.recoding.patterns.shares import Share, broken
from sqlanon.recoding.patterns.solver import HighsModel

Status = Literal["optimal", "gap reached", "time limit", "interrupted", "not proven"]
_NONE = np.iinfo(np.int64).max
"""The price of a component without a known solution."""
NO_LIMITS = SearchOptions()
MOST_COST = 2**50
"""The cost of suppressing everything stays below this, so that floats hold every cost exactly."""


@dataclass(frozen=True, slots=True)
class ExactSolution:
    """A solution and what is known of the optimum.

    Attributes:
        cost: the sum of the weights of the suppressed cells.
        bound: no solution costs less.
        gap: (cost - bound) / cost; 0 when nothing is suppressed.
        optimal: whether the cost is the bound.
        assignment: the shares, by row type, then pattern.
        seconds: of the whole call.
        nodes: of the search trees of HiGHS; 0 when it was not needed.
        status: ``interrupted`` by the user, which ends HiGHS like a limit; ``not proven`` when it ended without a limit
            but its bound, less the tolerance, is below the cost.
        programs: components that HiGHS had to solve.
        started_at: the cost of the start, None without one or when it is no solution.
        interrupted: the user stopped the solver, whatever the status.
    """

    cost: int
    bound: int
    gap: float
    optimal: bool
    assignment: tuple[Share, ...]
    seconds: float
    nodes: int
    status: Status
    programs: int
    started_at: int | None
    interrupted: bool


def solve(
    table: RowTypes,
    patterns: Sequence[tuple[int, ...]],
    k: int,
    *,
    weights: Sequence[int] | None = None,
    left_over: bool = True,
    surcharge: int = 0,
    start: Iterable[tuple[int, int, int]] | None = None,
    limits: SearchOptions = NO_LIMITS,
) -> ExactSolution:
    """Assign a pattern to every record, so that the weights of the suppressed cells sum to the least possible.

    An interrupt ends HiGHS like the time limit; the caller decides what it means (``interrupted``).

    Args:
        table: the row types and their records.
        patterns: the positions that each suppresses, ascending.
        k: records of each row type of the output, at least 1.
        weights: of the columns, whole and at least 0 (see ``whole``); None: all 1.
        left_over: whether fully suppressed records may be fewer than k.
        surcharge: what a fully suppressed record costs besides its weights; part of cost and bound.
        start: a solution to begin with: (row type, position of its pattern, records); ignored when it is none.
        limits: ``time_limit``, in seconds: HiGHS looks at the clock now and then, the reductions do not; and ``gap``,
            relative: HiGHS stops in each component when the cost is within it of its bound.

    Raises:
        InputError: the arguments contradict themselves.
        UnsupportedError: ``highspy`` is not installed, or there are too many pairs of a row type and a pattern.
        NoSolutionError: no assignment exists.
        SearchStoppedError: the time was up before any was found.

    >>> found = solve(RowTypes(np.array([[1, 1], [1, 2], [2, 1]]), np.array([2, 1, 1])), [(), (0,), (1,)], 2)
    >>> found.cost, found.optimal, found.assignment[:2]
    (4, True, (Share(row=0, pattern=1, records=1), Share(row=0, pattern=2, records=1)))
    """
    run = _SolverRun(highs_module("The exact solution"), time.monotonic(), limits)
    table = RowTypes(np.asarray(table.codes, dtype=np.int64), np.asarray(table.counts, dtype=np.int64))
    prices = _prices(table, patterns, k, weights, surcharge)
    step = math.gcd(*prices) or 1
    given = program(table, patterns, [price // step for price in prices], k)
    records, bound, begun = run.solved_within(given, _placed(given, start), left_over=left_over)
    shares = _shares(given, records)
    faults = broken(table, patterns, k, shares, left_over=left_over)
    if faults:
        raise AuditError(f"The exact solution is none: {faults[0]}", hint="report this as a bug.")
    cost, bound = sum(share.records * prices[share.pattern] for share in shares), bound * step
    return ExactSolution(
        cost=cost,
        bound=bound,
        gap=(cost - bound) / cost if cost else 0.0,
        optimal=cost == bound,
        assignment=shares,
        seconds=time.monotonic() - run.began,
        nodes=run.nodes,
        status="optimal" if cost == bound else run.reason,
        programs=run.programs,
        started_at=None if begun is None else given.price(begun) * step,
        interrupted=run.interrupted,
    )


def whole(weights: Sequence[float | Fraction]) -> tuple[tuple[int, ...], int]:
    """Return weights as whole numbers, and what they were multiplied with; decimals are taken as they are written.

    >>> whole([1, 0.1, 2.5])
    ((10, 1, 25), 10)
    """
    exact = [Fraction(str(weight)) for weight in weights]
    factor = math.lcm(*(weight.denominator for weight in exact))
    return tuple(int(weight * factor) for weight in exact), factor


@dataclass(slots=True)
class _SolverRun:
    """One call: the clock, and what HiGHS did."""

    highs: Any
    began: float
    limits: SearchOptions
    nodes: int = 0
    programs: int = 0
    reason: Status = "not proven"
    interrupted: bool = False

    def solved(self, given: Program, starts: Sequence[Ints]) -> tuple[Ints, int]:
        """Return the records of each pair, and a lower bound of the cost."""
        known = [first_fit(given), *starts]
        lowest = int((given.counts * given.least).sum())
        for records in known:
            if not given.left(records).any() and given.price(records) == lowest:
                return records, lowest
        reduction = reduce_program(given)
        small = reduction.small
        component = np.unique(components(small), return_inverse=True)[1]
        of_pair, number = component[small.row], int(component.max()) + 1
        lows = total(component, small.counts * small.least, number)
        best, prices = _best(small, component, [reduction.forth(records) for records in known])
        open_ones = np.flatnonzero(prices != lows)
        for each in open_ones[np.argsort(np.bincount(of_pair, minlength=number)[open_ones], kind="stable")]:
            pairs = of_pair == each
            begun = best[pairs] if prices[each] != _NONE else None
            best[pairs], lows[each] = self._component(small.part(pairs), begun, int(lows[each]))
        return reduction.back(best), int(lows.sum())

    def solved_within(self, given: Program, begun: Ints | None, *, left_over: bool) -> tuple[Ints, int, Ints | None]:
        """Return the records of each pair, a lower bound of the cost, and the start, None when it is no solution."""
        strict = given if left_over else replace(given, free=np.zeros_like(given.free))
        records, bound = self.solved(given, [] if begun is None else [begun])
        if begun is not None and not strict.holds(begun):
            begun = None
        if strict.holds(records):
            return records, bound, begun
        topped = _topped_up(strict, records)
        records, more = self.solved(strict, [topped] if begun is None else [begun, topped])
        return records, max(bound, more), begun

    def _component(self, part: Program, begun: Ints | None, low: int) -> tuple[Ints, int]:
        """Return the better of the start and what HiGHS finds, and the better of the bound and that of HiGHS."""
        limit = self.limits.time_limit
        rest = math.inf if limit is None else self.began + limit - time.monotonic()
        records, bound = begun, low
        if rest > 0 and not self.interrupted:
            model = HighsModel(self.highs, part)
            solved, proven = model.optimum(begun, rest, float(self.limits.gap))
            self.nodes += model.nodes
            self.programs += 1
            self.interrupted = model.interrupted
            if model.status == self.highs.HighsModelStatus.kInfeasible and begun is None:
                raise NoSolutionError(
                    f"No assignment gives every row type of the output {part.k} records.",
                    hint="allow the pattern that suppresses all columns, or more patterns, or lower k.",
                    nearest=None,
                )
            if solved is not None and (begun is None or part.price(solved) < part.price(begun)):
                records = solved
            if records is not None and low <= proven <= part.price(records):
                bound = proven
            if self.interrupted:
                self.reason = "interrupted"
            elif model.status == self.highs.HighsModelStatus.kTimeLimit:
                self.reason = "time limit"
            elif self.limits.gap > 0 and self.reason == "not proven":
                self.reason = "gap reached"
        elif not self.interrupted:
            self.reason = "time limit"
        if records is None and self.interrupted:
            raise KeyboardInterrupt
        if records is None:
            raise SearchStoppedError(
                f"HiGHS found no assignment{'' if limit is None else f' in {limit} seconds'}.",
                hint="raise the time limit, or allow the pattern that suppresses all columns.",
            )
        return records, bound


def _best(small: Program, component: Ints, known: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return, for each component, the cheapest of the known solutions, the first of several, and its price."""
    of_pair, number = component[small.row], int(component.max()) + 1
    prices = np.stack([total(of_pair, records * small.cost[small.group], number) for records in known])
    for each, records in zip(prices, known, strict=True):
        each[np.unique(component[small.left(records) > 0])] = _NONE
    chosen = prices.argmin(axis=0)
    best = np.choose(chosen[of_pair], known) if len(known) > 1 else known[0].copy()
    return best, prices.min(axis=0)


def _prices(
    table: RowTypes, patterns: Sequence[tuple[int, ...]], k: int, weights: Sequence[int] | None, surcharge: int
) -> list[int]:
    """Check the arguments, and return what each pattern costs a record."""
    row_types, counts = table
    width = row_types.shape[1] if row_types.ndim == 2 else 0
    rated = [1] * width if weights is None else list(weights)
    faults = []
    if not width or not len(row_types):
        faults.append("there are no row types, or they have no columns")
    elif len(counts) != len(row_types) or (counts < 1).any():
        faults.append("counts needs one number of at least 1 for each row type")
    elif len(np.unique(row_types, axis=0)) < len(row_types):
        faults.append("a row type occurs twice")
    if k < 1:
        faults.append(f"k is {k}, below 1")
    if not patterns or len(set(patterns)) < len(patterns):
        faults.append("there are no patterns, or one occurs twice")
    if any(tuple(sorted({*p})) != tuple(p) or not {*p} <= {*range(width)} for p in patterns):
        faults.append(f"a pattern is not an ascending tuple of positions from 0 to {width - 1}")
    if len(rated) != width or any(weight != int(weight) or weight < 0 for weight in rated):
        faults.append("weights needs one whole number of at least 0 for each column")
    elif (sum(map(int, rated)) + surcharge) * int(counts.sum()) >= MOST_COST:
        faults.append("the weights are too large for exact sums")
    if faults:
        raise InputError(
            f"The arguments of the exact solution are wrong: {'; '.join(faults)}.",
            hint="see sqlanon.recoding.patterns.integer_program.solve; weights need few digits.",
        )
    return [
        sum(int(rated[position]) for position in pattern) + (surcharge if len(pattern) == width else 0)
        for pattern in patterns
    ]


def _placed(given: Program, start: Iterable[tuple[int, int, int]] | None) -> Ints | None:
    """Return the start as records of each pair, None when it is no solution."""
    shares = np.array(list(start or ()), dtype=np.int64).reshape(-1, 3)
    width = int(given.pattern.max()) + 1
    keys = given.row * width + given.pattern[given.group]
    wanted = shares[:, 0] * width + shares[:, 1]
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    if (shares < 0).any() or (shares[:, 1] >= width).any() or (keys[places] != wanted).any():
        return None
    records = total(places, shares[:, 2], len(keys))
    return records if not given.left(records).any() and given.holds(records) else None


def _shares(given: Program, records: Ints) -> tuple[Share, ...]:
    used = np.flatnonzero(records)
    columns = (given.row[used], given.pattern[given.group[used]], records[used])
    return tuple(Share(*each) for each in zip(*(column.tolist() for column in columns), strict=True))


def _topped_up(strict: Program, records: Ints) -> Ints:
    """Add the group that costs least to the only group of a solution below k, the one that keeps nothing.

    Raises:
        NoSolutionError: there are fewer than k records at all.
    """
    held = total(strict.group, records, len(strict.cost))
    short = int(np.flatnonzero((held > 0) & (held < strict.k))[0])
    others = np.flatnonzero(held >= strict.k)
    if not len(others):
        raise NoSolutionError(
            f"There are {held[short]} records, fewer than k = {strict.k}.", hint="lower k.", nearest=None
        )
    dearer = held[others] * (strict.cost[short] - strict.cost[others])
    moved = strict.group == others[dearer.argmin()]
    into = np.flatnonzero(strict.group == short)
    topped = np.where(moved, 0, records)
    topped[into[np.searchsorted(strict.row[into], strict.row[moved])]] += records[moved]
    return topped
