"""The figures as SVG; the only module that needs matplotlib, which is an optional dependency."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from anon_figures import Figure
from anon_nulls import MATCHES, MEASURES, NullGrid, NullSetting, Runs
from anon_settings import Experiments
from matplotlib.figure import Figure as Canvas

matplotlib.rcParams["svg.hashsalt"] = "sqlanon"
TITLES = {"loss": "loss", "weighted_information_loss": "weighted information loss"}
AXES = {"visited": "visited nodes", "seconds": "seconds"}
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def save(canvas: Canvas, path: Path) -> None:
    """Write a figure that is the same for the same numbers."""
    canvas.tight_layout()
    canvas.savefig(path, format="svg", metadata={"Date": None})


def draw(experiments: Experiments, figure: Figure, path: Path) -> None:
    """One of figures 3 to 7; bounds are dotted red lines."""
    canvas = Canvas(figsize=(8, 5))
    axes = canvas.subplots()
    for line in figure.lines:
        runs = [experiments.run(setting) for setting in line.settings]
        axes.plot(
            line.xs,
            [getattr(run, figure.y) for run in runs],
            label=line.label,
            color=line.colour,
            linestyle=":" if line.bound else "-",
            marker="" if line.bound else line.marker,
            markerfacecolor="black" if line.filled else "white",
            markeredgecolor="black",
        )
    for number, qis in enumerate(figure.lattices):
        size = experiments.lattice(qis)
        axes.axhline(size, color="red", linestyle=":", label="all nodes" if number == 0 else None)
    if figure.name == "figure3":
        sizes = [experiments.lattice(qis) for qis in figure.lines[0].xs]
        axes.plot(figure.lines[0].xs, sizes, color="darkred", linestyle=":", label="all nodes")
    if figure.logarithmic_x:
        axes.set_xscale("log")
    if figure.logarithmic_y:
        axes.set_yscale("log")
    axes.set_xticks(figure.lines[0].xs, [str(x) for x in figure.lines[0].xs])
    axes.xaxis.minorticks_off()
    axes.set(title=figure.title, xlabel=figure.x, ylabel=AXES[figure.y])
    axes.legend(fontsize="small")
    save(canvas, path)


def draw_nulls(runs: Runs, grid: NullGrid, path: Path) -> None:
    """Loss of all records over the share of NULLs: a row of charts per measure, one per k."""
    canvas = Canvas(figsize=(5.5 * len(grid.ks), 8))
    charts = canvas.subplots(len(MEASURES), len(grid.ks), squeeze=False, sharey=True)
    for row, measure in zip(charts, MEASURES, strict=True):
        for axes, k in zip(row, grid.ks, strict=True):
            for suppression, colour in zip(grid.suppression, COLOURS, strict=False):
                for match in MATCHES:
                    points = [NullSetting(share, k, suppression, measure, match) for share in grid.shares]
                    axes.plot(
                        [100 * share for share in grid.shares],
                        [runs[point].whole for point in points],
                        label=f"{match}, supp. {suppression:.0%}",
                        color=colour,
                        marker="o",
                        linestyle="--" if match == "basic" else "-",
                        markerfacecolor="white" if match == "basic" else colour,
                    )
            axes.set(title=f"k={k}", xlabel="NULL cells in %", ylabel=f"{TITLES[measure]}, all records", ylim=(0, 1))
            axes.legend(fontsize="x-small")
    save(canvas, path)
