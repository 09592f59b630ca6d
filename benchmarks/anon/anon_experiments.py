"""The experiments of the ANON report on ADULT: figures 3 to 7 and the NULL values, as CSV and SVG, with their findings.

    python benchmarks/anon/anon_experiments.py --data DIR --out DIR            # all settings, three to seven minutes
    python benchmarks/anon/anon_experiments.py --data DIR --out DIR --quick    # fewer k, ℓ, n and shares of NULLs

Writes ``figure3`` to ``figure7`` and ``figure_nulls`` as ``.csv`` and ``.svg`` into the folder of ``--out``, and
``other.csv`` with the runs that findings need beside the figures. The plots need matplotlib
(``pip install '.[benchmarks]'``); without it only the CSV files are written.

Prints the report's findings with PASS, FAIL, or NOT REPRODUCED and why; exits 1 when one fails, 2 on bad input. Every
optimum of ANON is proven by its certificate and compared with that of ``box``. What is and is not comparable with the
report stands in ``docs/anon-experiments.md``.

Source: Ciglic, Eder, Koncilia, "ANON - a flexible tool for achieving optimal k-anonymous and l-diverse tables",
section 5.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import anon_figures
import anon_findings
import anon_findings_nulls
import anon_findings_priorities
import anon_findings_suppression
import anon_nulls
from anon_findings import Check, Finding
from anon_settings import Experiments

CHECKS: tuple[tuple[Check, str], ...] = (
    *anon_findings_suppression.CHECKS,
    *anon_findings_priorities.CHECKS,
    (anon_findings.answers_are_proven, ""),
)
"""The proofs last: by then, all that findings need was run."""
NO_PLOTS = "No plots: matplotlib is missing (pip install '.[benchmarks]'); the CSV files are complete."


def plots() -> ModuleType | None:
    """The module that draws, or None without matplotlib."""
    try:
        import anon_plots
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        return None
    return anon_plots


def write_figures(experiments: Experiments, grid: anon_figures.Grid, out: Path, drawing: ModuleType | None) -> None:
    """Run and write figures 3 to 7."""
    for figure in anon_figures.figures(grid):
        start = time.perf_counter()
        table = list(anon_figures.rows(experiments, figure))
        anon_figures.write_csv(out / f"{figure.name}.csv", anon_figures.COLUMNS, table)
        if drawing:
            drawing.draw(experiments, figure, out / f"{figure.name}.svg")
        print(f"{figure.name}: {figure.title}, {time.perf_counter() - start:.0f} s", flush=True)
        for line in figure.lines:
            values = [getattr(experiments.run(setting), figure.y) for setting in line.settings]
            print(f"  {line.label:32} " + " ".join(f"{value:>5.4g}" for value in values))


def write_others(experiments: Experiments, grid: anon_figures.Grid, out: Path) -> None:
    """The runs that are in no figure."""
    drawn = {setting for figure in anon_figures.figures(grid) for line in figure.lines for setting in line.settings}
    others = [run for run in experiments.runs if run.setting not in drawn]
    anon_figures.write_csv(out / "other.csv", anon_figures.COLUMNS[3:], [anon_figures.cells(run) for run in others])


def write_nulls(data: Path, grid: anon_nulls.NullGrid, out: Path, drawing: ModuleType | None) -> list[Finding]:
    """Run and write the NULL experiment; return its findings."""
    start = time.perf_counter()
    runs = anon_nulls.run(data, grid)
    table = [anon_nulls.cells(run) for run in runs.values()]
    anon_figures.write_csv(out / "figure_nulls.csv", anon_nulls.COLUMNS, table)
    if drawing:
        drawing.draw_nulls(runs, grid, out / "figure_nulls.svg")
    print(f"figure_nulls: basic and extended match, {time.perf_counter() - start:.0f} s", flush=True)
    return anon_findings_nulls.found(runs, grid)


def experiment(
    data: Path,
    out: Path,
    grid: anon_figures.Grid,
    nulls: anon_nulls.NullGrid,
    drawing: ModuleType | None,
    checks: tuple[tuple[Check, str], ...] = CHECKS,
) -> list[Finding]:
    """Write everything; return all findings."""
    out.mkdir(parents=True, exist_ok=True)
    with Experiments(data) as experiments:
        records = sum(experiments.occupations().values())
        heights = experiments.heights(grid.most)
        print(
            f"{records:,} records, levels {heights}, {experiments.lattice(grid.most):,} nodes (report: 45,222; 2,160)"
        )
        write_figures(experiments, grid, out, drawing)
        findings = anon_findings.found(experiments, grid, checks)
        write_others(experiments, grid, out)
    return findings + write_nulls(data, nulls, out, drawing)


def report(findings: list[Finding], tell: Callable[[str], object] = print) -> bool:
    """Tell every finding; True when one is wrong."""
    tell("")
    for finding in findings:
        tell(str(finding))
    holding = sum(finding.holds for finding in findings)
    wrong = sum(finding.wrong for finding in findings)
    tell(f"\n{holding} findings hold, {len(findings) - holding - wrong} are not reproduced, {wrong} fail.")
    return wrong > 0


def main() -> None:
    """Run, write, tell; exit 1 when a finding fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder that holds adult/adult.csv")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    parser.add_argument("--quick", action="store_true", help="fewer values of every parameter")
    arguments = parser.parse_args()
    if not (arguments.data / "adult" / "adult.csv").is_file():
        parser.error(f"there is no adult/adult.csv in {arguments.data}")
    grids = (anon_figures.QUICK, anon_nulls.QUICK) if arguments.quick else (anon_figures.FULL, anon_nulls.FULL)
    start = time.perf_counter()
    drawing = plots()
    findings = experiment(arguments.data, arguments.out, *grids, drawing)
    wrong = report(findings)
    if drawing is None:
        print(NO_PLOTS)
    print(f"{time.perf_counter() - start:.0f} s.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
