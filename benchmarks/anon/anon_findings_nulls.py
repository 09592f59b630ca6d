"""What the ANON report says of NULL values, as assertions over the runs of ``anon_nulls``.

Its sentences: "NULL value handling with the extended match leads to a lower information loss than no NULL value
handling (basic match). Significant improvements can be reached with extended match especially on data with a high
percentage of NULL values where a minor tuple suppression is allowed (e.g. 1% tuple suppression)."
"""

from __future__ import annotations

from collections.abc import Callable

from anon_findings import Finding, Outcome, finding, rises
from anon_nulls import MATCHES, MEASURES, NullGrid, NullRun, Runs, points

LIMITED = 0.01
"""The minor suppression of the report."""
HIGH = 0.05
"""From this share of NULL cells on, nearly every third record of seven quasi-identifiers has one."""

Check = Callable[[Runs, NullGrid], Outcome]
Pair = tuple[NullRun, NullRun]


def pairs(runs: Runs, grid: NullGrid, share: float) -> list[Pair]:
    """Basic and extended, for every point at a share of NULLs."""
    both = [[runs[point] for point in points(grid, share, match)] for match in MATCHES]
    return list(zip(*both, strict=True))


def gain(pair: Pair) -> float:
    """How much less extended loses, of all records."""
    basic, extended = pair
    return basic.whole - extended.whole


def limited(runs: Runs, grid: NullGrid, share: float, measure: str, k: int, suppression: float) -> Pair:
    """The pair of one point."""
    chosen = (measure, k, suppression)
    return next(
        pair
        for pair in pairs(runs, grid, share)
        if (pair[0].setting.measure, pair[0].setting.k, pair[0].setting.suppression) == chosen
    )


def answers_are_proven(runs: Runs, grid: NullGrid) -> Outcome:
    """Not of the report: every optimum with NULLs is proven, and without NULLs both matches lose the same."""
    wrong = sum(bool(run.fault) for run in runs.values())
    differ = sum(gain(pair) != 0 for pair in pairs(runs, grid, 0.0))
    return not wrong and not differ, f"{len(runs)} anonymizations, {wrong} not proven; {differ} differ without NULLs"


def extended_loses_less(runs: Runs, grid: NullGrid) -> Outcome:
    """NULLs: extended "leads to a lower information loss" than basic: in all, at every share of NULLs."""
    return loses_less(runs, grid, 0.0)


def extended_loses_less_with_many_nulls(runs: Runs, grid: NullGrid) -> Outcome:
    """NULLs, narrower: the same from 5 % of NULL cells on."""
    return loses_less(runs, grid, HIGH)


def loses_less(runs: Runs, grid: NullGrid, least: float) -> Outcome:
    """Extended loses less in all at every point with NULLs from this share on."""
    gains = {share: [gain(p) for p in pairs(runs, grid, share)] for share in grid.shares if share and share >= least}
    told = "; ".join(
        f"{share:.0%}: {sum(g > 0 for g in line)} of {len(line)}, by {min(line):+.3f} to {max(line):+.3f}"
        for share, line in gains.items()
    )
    return all(g > 0 for line in gains.values() for g in line), told


def gains_grow_with_nulls(runs: Runs, grid: NullGrid) -> Outcome:
    """NULLs: improvements "especially on data with a high percentage of NULL values" (1 %): they grow with it."""
    shares = [share for share in grid.shares if share]
    lines = [
        [gain(limited(runs, grid, share, measure, k, LIMITED)) for share in shares]
        for measure in MEASURES
        for k in grid.ks
    ]
    return all(map(rises, lines)), "; ".join(" ".join(f"{x:+.3f}" for x in line) for line in lines)


def gains_need_some_suppression(runs: Runs, grid: NullGrid) -> Outcome:
    """NULLs: "where a minor tuple suppression is allowed": at the highest share 1 % gains more than 0 %."""
    told, good = [], True
    for measure in MEASURES:
        for k in grid.ks:
            none, some = (gain(limited(runs, grid, grid.shares[-1], measure, k, share)) for share in (0.0, LIMITED))
            good = good and some > none
            told.append(f"{some:.3f} against {none:.3f}")
    return good, "; ".join(told)


def what_is_kept_loses_less(runs: Runs, grid: NullGrid) -> Outcome:
    """NULLs: "a lower information loss": at the highest share and 1 %, even by the records that are kept."""
    told, good = [], True
    for measure in MEASURES:
        for k in grid.ks:
            basic, extended = limited(runs, grid, grid.shares[-1], measure, k, LIMITED)
            good = good and extended.kept < basic.kept
            told.append(f"{extended.kept:.3f} against {basic.kept:.3f}")
    return good, "; ".join(told)


CHECKS: tuple[tuple[Check, str], ...] = (
    (answers_are_proven, ""),
    (
        extended_loses_less,
        "few NULLs in random cells are rare values, which extended must generalize; basic leaves out the records",
    ),
    (extended_loses_less_with_many_nulls, ""),
    (gains_grow_with_nulls, ""),
    (gains_need_some_suppression, ""),
    (what_is_kept_loses_less, ""),
)
"""Every check, and why it is not reproduced on these records where it is not."""


def found(runs: Runs, grid: NullGrid) -> list[Finding]:
    """All findings about NULLs."""
    return [finding(check(runs, grid), check.__doc__ or "", reason) for check, reason in CHECKS]
