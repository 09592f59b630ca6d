"""Figures 3 to 5 of the ANON report as assertions: quasi-identifiers, k, suppression."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from anon_figures import LIMITED, OCCUPATIONS, SUPPRESSION, Grid, at_k, figures
from anon_findings import SIGNIFICANT, TREMENDOUS, Check, Outcome, over_k, rises, visits
from anon_settings import Experiments, Run, Setting


def box_judges_fewer(e: Experiments, grid: Grid) -> Outcome:
    """Not of the report: box proves the same optima with fewer than half of the nodes that ANON visits."""
    ours, theirs = sum(run.box_judged for run in e.runs), sum(visits(e.runs))
    return 2 * ours < theirs, f"{ours} against {theirs} in all, {theirs / ours:.0f}x"


def grows_with_quasi_identifiers(e: Experiments, grid: Grid) -> Outcome:
    """Figure 3: "time complexity grows with the increase in quasi identifiers"."""
    lines = [visits(map(e.run, line.settings)) for line in figures(grid)[0].lines]
    return all(map(rises, lines)), "; ".join(" ".join(map(str, line)) for line in lines)


def bounding_setting_visits_all(e: Experiments, grid: Grid) -> Outcome:
    """Figures 3 and 5: k = 14, l2 = 14, 0 %: "only the last queued node … satisfies these settings" (2,160)."""
    runs = [e.run(Setting(qis=n, k=14, l1=2, l2=14)) for n in grid.qis]
    return all(run.visited == run.lattice for run in runs), told_of_lattice(runs)


def bounding_setting_visits_nearly_all(e: Experiments, grid: Grid) -> Outcome:
    """Figures 3 and 5, narrower: with k = 14, l2 = 14 and 0 %, at least 90 % of the nodes are visited."""
    runs = [e.run(Setting(qis=n, k=14, l1=2, l2=14)) for n in grid.qis]
    return all(run.visited >= 0.9 * run.lattice for run in runs), told_of_lattice(runs)


def told_of_lattice(runs: Iterable[Run]) -> str:
    """Visited of all nodes."""
    return ", ".join(f"{run.visited}/{run.lattice}" for run in runs)


def suppression_saves(e: Experiments, grid: Grid) -> Outcome:
    """Figure 3: "enormous impact of tuple suppression": 1,075 nodes with 0 %, 60 with 1 % (k = 2); at least 2x."""
    none, some = (e.run(Setting(qis=grid.most, k=2, suppression=share)).visited for share in (0.0, LIMITED))
    return none >= TREMENDOUS * some, f"{none} against {some}, {none / some:.1f}x (report 17.9x)"


def grows_with_k(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: "the number of visited nodes increases with a rising k"."""
    lines = [
        visits(over_k(e, grid, share, sensitive=sensitive)) for share in SUPPRESSION for sensitive in (False, True)
    ]
    return all(map(rises, lines)), "; ".join(" ".join(map(str, line)) for line in lines)


def diversity_hardly_matters(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: k alone and with ℓ does "not differ very much … until k = ℓ = 10": below 10, at most 1.5x."""
    factors = {share: diversity_factors(e, grid, share, most=9) for share in SUPPRESSION}
    told = "; ".join(f"{share:.0%}: " + " ".join(f"{x:.2f}" for x in line) for share, line in factors.items())
    return all(x <= SIGNIFICANT for line in factors.values() for x in line), told


def diversity_costs_little_of_the_lattice(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5, narrower: ℓ costs at most 1.5x up to 10 without suppression; below 10, at most 15 % of all nodes."""
    without = diversity_factors(e, grid, 0.0, most=10)
    more = [
        (asked.visited - alone.visited) / alone.lattice
        for share in SUPPRESSION
        for alone, asked in pairs(e, grid, share, most=9)
    ]
    good = all(factor <= SIGNIFICANT for factor in without) and max(more) <= 0.15
    return good, f"factors {' '.join(f'{factor:.2f}' for factor in without)}; at most {max(more):.1%} of all nodes"


def pairs(e: Experiments, grid: Grid, share: float, most: int) -> list[tuple[Run, Run]]:
    """For every k up to ``most``: k-anonymity alone, and with diversity."""
    alone, asked = (over_k(e, grid, share, sensitive=asks, most=most) for asks in (False, True))
    return list(zip(alone, asked, strict=True))


def diversity_factors(e: Experiments, grid: Grid, share: float, most: int) -> list[float]:
    """By what diversity multiplies the visited nodes, for every k up to ``most``."""
    return [asked.visited / alone.visited for alone, asked in pairs(e, grid, share, most)]


def diversity_jumps(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: "at this point, the ℓ-lines jump dramatically": from k = ℓ = 10 to 14, at least 1.5x."""
    pairs = [[e.run(at_k(grid, k, share, sensitive=True)).visited for k in (10, 14)] for share in SUPPRESSION]
    told = "; ".join(f"{share:.0%}: {low} to {high}" for share, (low, high) in zip(SUPPRESSION, pairs, strict=True))
    return all(high >= SIGNIFICANT * low for low, high in pairs), told


def rare_occupation_bounds_classes(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: Armed-Forces "appears only 14-times … maximal 14 partitions are possible at all" with ℓ = 14."""
    value, count = min(e.occupations().items(), key=lambda item: item[1])
    most = max(run.classes for run in e.runs if run.setting.l2 == OCCUPATIONS)
    return most <= count, f"{value} {count} times here; at most {most} classes with ℓ = {OCCUPATIONS}"


def outliers_are_the_bottleneck(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: up to k = 10, "outlier tuples are the bottleneck": 1 % visits at most half of 0 %, also with ℓ."""
    return outliers(e, grid, most=10)


def outliers_are_the_bottleneck_below_10(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5, narrower: the same below k = 10."""
    return outliers(e, grid, most=9)


def outliers(e: Experiments, grid: Grid, most: int) -> Outcome:
    """The factors by which 0 % visits more than 1 %, at least 2 each."""
    factors = [
        [
            none.visited / some.visited
            for none, some in zip(
                over_k(e, grid, 0.0, sensitive=sensitive, most=most),
                over_k(e, grid, LIMITED, sensitive=sensitive, most=most),
                strict=True,
            )
        ]
        for sensitive in (False, True)
    ]
    told = " with ℓ: ".join(" ".join(f"{x:.1f}" for x in line) for line in factors)
    return all(x >= TREMENDOUS for line in factors for x in line), f"factors over k: {told}"


def suppression_beats_k(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5: suppression improves "much more than any k adjustment": k with 1 % loses less than k = 2 with 0 %."""
    return suppression_against_k(e, grid, most=1000)


def suppression_beats_k_up_to_20(e: Experiments, grid: Grid) -> Outcome:
    """Figure 5, narrower: the same up to k = 20."""
    return suppression_against_k(e, grid, most=20)


def suppression_against_k(e: Experiments, grid: Grid, most: int) -> Outcome:
    """The loss of k = 2 without suppression against that of every k with 1 %."""
    without = over_k(e, grid, 0.0, sensitive=False, most=2)[0].weighted
    losses = [run.weighted for run in over_k(e, grid, LIMITED, sensitive=False, most=most)]
    assert without is not None
    told = " ".join(f"{loss:.3f}" for loss in losses if loss is not None)
    return all(loss is not None and loss < without for loss in losses), f"{told} against {without:.3f}"


def suppression_never_costs(e: Experiments, grid: Grid) -> Outcome:
    """Not of the report: more suppression never raises the loss, and neither the number of visited nodes."""
    wrong = 0
    for sensitive in (False, True):
        lines = [over_k(e, grid, share, sensitive=sensitive) for share in SUPPRESSION]
        for less, more in pairwise(lines):
            wrong += sum(worse(a, b) for a, b in zip(less, more, strict=True))
    return not wrong, f"{wrong} of {4 * len(grid.ks)} pairs are worse"


def worse(less: Run, more: Run) -> bool:
    """With more suppression, the loss or the number of visited nodes is greater; no solution is the worst."""
    before, after = (run.loss if run.loss is not None else math.inf for run in (less, more))
    return after > before + 1e-9 or more.visited > less.visited


CHECKS: tuple[tuple[Check, str], ...] = (
    (box_judges_fewer, ""),
    (grows_with_quasi_identifiers, ""),
    (
        bounding_setting_visits_all,
        "two classes, by a marital status of level 1, hold all 14 occupations here, so 13 nodes are not reached",
    ),
    (bounding_setting_visits_nearly_all, ""),
    (suppression_saves, ""),
    (grows_with_k, ""),
    (
        diversity_hardly_matters,
        "with suppression, l1 = 2 is what costs: three of four records have one salary class",
    ),
    (diversity_costs_little_of_the_lattice, ""),
    (diversity_jumps, ""),
    (rare_occupation_bounds_classes, ""),
    (outliers_are_the_bottleneck, "at k = ℓ = 10 diversity is the bottleneck already"),
    (outliers_are_the_bottleneck_below_10, ""),
    (suppression_beats_k, "at 1 % of 30,162 records, k = 100 and more costs more than suppression saves"),
    (suppression_beats_k_up_to_20, ""),
    (suppression_never_costs, ""),
)
"""Every check, and why it is not reproduced on these records where it is not."""
