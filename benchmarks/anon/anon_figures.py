"""Figures 3 to 7 of the ANON report: which settings a line joins, their table as CSV.

Where the report is silent: lines of figures 3 to 5 are "with priorities"; ``l1`` of figure 7 is 1 and its k is 14 for
both pairs of lines; n quasi-identifiers are the first n of Table 3, so that the six of figure 7 lack the work class.
The bound of figures 3 and 7 is the number of nodes of the lattice; that of figure 4 is the time of the setting that the
report takes for it: k = 14, l1 = 2, l2 = 14, nothing suppressed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from anon_settings import WITHOUT, Experiments, Run, Setting

SUPPRESSION = (0.0, 0.01, 0.1)
LIMITED = 0.01
"""The suppression of figures 6 and 7."""
OCCUPATIONS = 14
"""Distinct values of occupation: no class holds more."""
COLUMNS = (
    "figure", "line", "x", "quasi_identifiers", "k", "l1", "l2", "suppression", "priorities", "lattice", "visited",
    "box_judged", "seconds", "box_seconds", "loss", "weighted_information_loss", "average_class_size", "classes",
    "suppressed", "levels",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of the parameters that are run."""

    qis: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    ks: tuple[int, ...] = (2, 3, 5, 10, 14, 20, 100, 200, 1000)
    ls: tuple[int, ...] = tuple(range(1, OCCUPATIONS + 1))

    @property
    def most(self) -> int:
        """All quasi-identifiers of the grid."""
        return self.qis[-1]

    @property
    def fewer(self) -> int:
        """One less."""
        return self.most - 1


FULL = Grid()
QUICK = Grid(qis=(1, 3, 5, 7), ks=(2, 10, 14), ls=(1, 2, 3, 12, 14))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a figure.

    Attributes:
        colour, marker, filled: as in the report where it says so.
        bound: it is a bound, drawn dotted.
    """

    label: str
    xs: tuple[int, ...]
    settings: tuple[Setting, ...]
    colour: str
    marker: str = "o"
    filled: bool = True
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: ``y`` is the field of a run that it shows."""

    name: str
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    lattices: tuple[int, ...] = ()
    """Numbers of quasi-identifiers whose lattice size is drawn as a level bound."""
    logarithmic_x: bool = False
    logarithmic_y: bool = False


def at_k(grid: Grid, k: int, suppression: float, *, sensitive: bool, priorities: str = "rising") -> Setting:
    """All quasi-identifiers at k. "2 sensitive" asks for l1 = 2, and l2 = k up to the number of occupations."""
    l1, l2 = (2, min(k, OCCUPATIONS)) if sensitive else (1, 1)
    return Setting(grid.most, k, l1, l2, suppression, priorities)


def by_size(grid: Grid) -> tuple[Line, ...]:
    """The lines of figures 3 and 4."""

    def line(label: str, colour: str, asked: Setting, *, bound: bool = False) -> Line:
        settings = tuple(replace(asked, qis=n) for n in grid.qis)
        return Line(label, grid.qis, settings, colour, filled=asked.l2 == 1, bound=bound)

    return (
        line("k=2, supp. 0%", "blue", Setting(k=2)),
        line("k=2, supp. 1%", "violet", Setting(k=2, suppression=0.01)),
        line("k=10, l1=2, l2=10, supp. 0%", "green", Setting(k=10, l1=2, l2=10)),
        line("k=10, l1=2, l2=10, supp. 1%", "orange", Setting(k=10, l1=2, l2=10, suppression=0.01)),
        line("k=14, l1=2, l2=14, supp. 0%", "red", Setting(k=14, l1=2, l2=14), bound=True),
    )


def by_k(grid: Grid) -> tuple[Line, ...]:
    """The lines of figure 5."""
    colours = {0.0: ("orange", "green"), 0.01: ("deepskyblue", "blue"), 0.1: ("violet", "purple")}
    return tuple(
        Line(
            f"supp. {share:.0%}{', 2 sensitive' if sensitive else ''}",
            grid.ks,
            tuple(at_k(grid, k, share, sensitive=sensitive) for k in grid.ks),
            colours[share][sensitive],
            filled=not sensitive,
        )
        for share in SUPPRESSION
        for sensitive in (False, True)
    )


def by_k_and_priorities(grid: Grid) -> tuple[Line, ...]:
    """The lines of figure 6."""
    colours = {
        ("rising", False): "green",
        (WITHOUT, False): "orange",
        ("rising", True): "blue",
        (WITHOUT, True): "red",
    }
    return tuple(
        Line(
            f"{'2 sensitive, ' if sensitive else ''}{told(priorities)}",
            grid.ks,
            tuple(at_k(grid, k, LIMITED, sensitive=sensitive, priorities=priorities) for k in grid.ks),
            colour,
            marker="s" if sensitive else "o",
            filled=priorities == "rising",
        )
        for (priorities, sensitive), colour in colours.items()
    )


def by_l(grid: Grid) -> tuple[Line, ...]:
    """The lines of figure 7."""
    lines = (
        (grid.most, "rising", "darkblue", "o"),
        (grid.most, WITHOUT, "purple", "o"),
        (grid.fewer, "rising", "hotpink", "^"),
        (grid.fewer, WITHOUT, "deepskyblue", "^"),
    )
    return tuple(
        Line(
            f"{n} QID, k=14, {told(priorities)}",
            grid.ls,
            tuple(Setting(qis=n, k=14, l2=asked, suppression=LIMITED, priorities=priorities) for asked in grid.ls),
            colour,
            marker,
            filled=priorities == "rising",
        )
        for n, priorities, colour, marker in lines
    )


def told(priorities: str) -> str:
    """How the report's charts call a choice of priorities."""
    return "w/o priorities" if priorities == WITHOUT else "with priorities"


def figures(grid: Grid) -> tuple[Figure, ...]:
    """All five."""
    sizes, n = by_size(grid), grid.most
    return (
        Figure("figure3", "Search algorithm complexity (number of nodes)", "QID", "visited", sizes, logarithmic_y=True),
        Figure("figure4", "Search algorithm complexity (time)", "QID", "seconds", sizes, logarithmic_y=True),
        Figure("figure5", f"k and suppression ({n} QID)", "k", "visited", by_k(grid), (n,), True),
        Figure("figure6", f"Priorities ({n} QID, supp. 1%)", "k", "visited", by_k_and_priorities(grid), (n,), True),
        Figure("figure7", "Priorities and diversity (supp. 1%)", "l2", "visited", by_l(grid), (n, grid.fewer)),
    )


def rows(experiments: Experiments, figure: Figure) -> Iterator[dict[str, object]]:
    """The table of a figure, a row a marker."""
    for line in figure.lines:
        for x, setting in zip(line.xs, line.settings, strict=True):
            yield {"figure": figure.name, "line": line.label, "x": x, **cells(experiments.run(setting))}


def cells(run: Run) -> dict[str, object]:
    """A run as cells of a table."""
    setting = run.setting
    return {
        "quasi_identifiers": setting.qis,
        "k": setting.k,
        "l1": setting.l1,
        "l2": setting.l2,
        "suppression": setting.suppression,
        "priorities": setting.priorities,
        "lattice": run.lattice,
        "visited": run.visited,
        "box_judged": run.box_judged,
        "seconds": round(run.seconds, 3),
        "box_seconds": round(run.box_seconds, 3),
        "loss": rounded(run.loss),
        "weighted_information_loss": rounded(run.weighted),
        "average_class_size": rounded(run.average_class_size),
        "classes": run.classes,
        "suppressed": run.suppressed,
        "levels": " ".join(map(str, run.levels)),
    }


def rounded(number: float | None) -> float | None:
    """A number as it stands in a table."""
    return None if number is None else round(number, 6)


def write_csv(path: Path, columns: tuple[str, ...], table: list[dict[str, object]]) -> None:
    """A table as CSV with a header; nothing where a run has no such figure."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
