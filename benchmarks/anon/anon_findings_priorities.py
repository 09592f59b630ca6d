"""Figures 6 and 7 of the ANON report as assertions: priorities and diversity."""

from __future__ import annotations

from itertools import groupby

from anon_figures import LIMITED, OCCUPATIONS, Grid
from anon_findings import FLAT, SIGNIFICANT, TREMENDOUS, Check, Outcome, over_k, over_l, visits
from anon_settings import WITHOUT, Experiments, Setting

UNTIL = 12
"""The ℓ up to which figure 7 is said to be flat."""


def priorities_save(e: Experiments, grid: Grid) -> Outcome:
    """Figure 6: without priorities "a significantly higher amount of nodes": more while l2 < 14, 1.5x in all."""
    told, good = [], True
    for sensitive in (False, True):
        most = 10 if sensitive else 1000
        with_, without = (
            visits(over_k(e, grid, LIMITED, sensitive=sensitive, most=most, priorities=priorities))
            for priorities in ("rising", WITHOUT)
        )
        good = good and all(a < b for a, b in zip(with_, without, strict=True))
        good = good and sum(without) >= SIGNIFICANT * sum(with_)
        told.append(f"{sum(without)} against {sum(with_)}, {sum(without) / sum(with_):.1f}x")
    return good, "; with ℓ: ".join(told)


def age_is_mostly_generalized(e: Experiments, grid: Grid) -> Outcome:
    """Figure 6: "age must be mostly generalized to the maximal level", with priorities and without."""
    highest = e.heights(grid.most)[0] - 1
    told, good = [], True
    for priorities in ("rising", WITHOUT):
        runs = [
            run
            for sensitive in (False, True)
            for run in over_k(e, grid, LIMITED, sensitive=sensitive, priorities=priorities)
        ]
        there = sum(run.levels[:1] == (highest,) for run in runs)
        good = good and 2 * there > len(runs)
        told.append(f"{priorities}: {there} of {len(runs)}")
    return good, "; ".join(told)


def age_first_would_cost(e: Experiments, grid: Grid) -> Outcome:
    """Figure 6: with age highest, "ceteris paribus, an algorithm without priorities would be better off"."""
    first, without = (
        visits(over_k(e, grid, LIMITED, sensitive=False, priorities=priorities))
        for priorities in ("age first", WITHOUT)
    )
    return sum(first) > sum(without), f"{sum(first)} with age first, {sum(without)} without"


def age_first_costs_more_than_age_last(e: Experiments, grid: Grid) -> Outcome:
    """Figure 6, narrower: with age highest, more nodes are visited at every k than with age lowest."""
    first, last = (
        visits(over_k(e, grid, LIMITED, sensitive=False, priorities=priorities))
        for priorities in ("age first", "rising")
    )
    return all(a > b for a, b in zip(first, last, strict=True)), f"{sum(first)} and {sum(last)} in all"


def diversity_is_flat_then_rises(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7: six QIs, "quite flat until ℓ = 12 and then rises rapidly to the almost maximal number" (80 %)."""
    return flat_until(e, grid, UNTIL)


def diversity_is_flat_until_11(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7, narrower: the same until ℓ = 11."""
    return flat_until(e, grid, UNTIL - 1)


def flat_until(e: Experiments, grid: Grid, until: int) -> Outcome:
    """Up to this ℓ at most twice the nodes of ℓ = 1; for ℓ = 14 twice as many again, and 80 % of the lattice."""
    asked = (1, until, OCCUPATIONS)
    runs = [e.run(Setting(qis=grid.fewer, k=14, l2=distinct, suppression=LIMITED)) for distinct in asked]
    low, flat, top = visits(runs)
    told = ", ".join(f"ℓ = {distinct}: {run.visited}" for distinct, run in zip(asked, runs, strict=True))
    return flat <= FLAT * low and top >= FLAT * flat and top >= 0.8 * runs[-1].lattice, f"{told} of {runs[-1].lattice}"


def some_diversities_change_nothing(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7: "anonymizations with ℓ = 1 to 6 (as well as 7 to 9 and 10 to 12) provide the same results": 3 alike."""
    told, good = [], True
    for n in (grid.most, grid.fewer):
        runs = over_l(e, grid, n, "rising")
        alike = [[run.setting.l2 for run in group] for _, group in groupby(runs, key=lambda run: run.levels)]
        good = good and max(map(len, alike)) >= 3
        told.append(f"{n} QIs: " + ", ".join(f"{same[0]}-{same[-1]}" for same in alike))
    return good, "; ".join(told)


def priorities_save_over_diversity(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7: with and without priorities "the difference … is tremendous": fewer until ℓ = 12, 2x in all."""
    told, good = [], True
    for n in (grid.most, grid.fewer):
        with_, without = (visits(over_l(e, grid, n, priorities, UNTIL)) for priorities in ("rising", WITHOUT))
        good = good and all(a < b for a, b in zip(with_, without, strict=True))
        good = good and sum(without) >= TREMENDOUS * sum(with_)
        told.append(f"{n} QIs: {sum(without)} against {sum(with_)}, {sum(without) / sum(with_):.1f}x")
    return good, "; ".join(told)


def priorities_outweigh_a_quasi_identifier(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7: "until ℓ = 12, a prioritized anonymization" of seven QIs beats "a non-prioritized" one of six."""
    return outweighs(e, grid, "rising", UNTIL)


def priorities_outweigh_a_quasi_identifier_until_5(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7, narrower: the same until ℓ = 5."""
    return outweighs(e, grid, "rising", 5)


def steep_priorities_outweigh_a_quasi_identifier(e: Experiments, grid: Grid) -> Outcome:
    """Figure 7, narrower: the same until ℓ = 12, with priorities that double from place to place."""
    return outweighs(e, grid, "doubling", UNTIL)


def outweighs(e: Experiments, grid: Grid, priorities: str, most: int) -> Outcome:
    """All quasi-identifiers with priorities against one fewer without."""
    seven = visits(over_l(e, grid, grid.most, priorities, most))
    six = visits(over_l(e, grid, grid.fewer, WITHOUT, most))
    good = all(a < b for a, b in zip(seven, six, strict=True))
    return good, f"{' '.join(map(str, seven))} against {' '.join(map(str, six))}"


CHECKS: tuple[tuple[Check, str], ...] = (
    (priorities_save, ""),
    (age_is_mostly_generalized, ""),
    (
        age_first_would_cost,
        "the six other priorities still lead to what must be generalized anyhow, the native country above all",
    ),
    (age_first_costs_more_than_age_last, ""),
    (diversity_is_flat_then_rises, "the rise begins at ℓ = 12 here"),
    (diversity_is_flat_until_11, ""),
    (some_diversities_change_nothing, ""),
    (priorities_save_over_diversity, ""),
    (
        priorities_outweigh_a_quasi_identifier,
        "it depends on the numbers of the priorities, which are not in the report",
    ),
    (priorities_outweigh_a_quasi_identifier_until_5, ""),
    (steep_priorities_outweigh_a_quasi_identifier, ""),
)
"""Every check, and why it is not reproduced on these records where it is not."""
