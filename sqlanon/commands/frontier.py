"""``sqlanon frontier``: risk against utility over a grid of k and limits, as a table, JSON or a chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sqlanon.assess.frontier.points import Frontier, FrontierPoint, percent, shown_risk
from sqlanon.assess.frontier.verb import KS, LIMITS, frontier
from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.core.policy.paths import same_file
from sqlanon.errors import InputError, TargetError

HEAD = ("k", "limit", "loss", "suppressed", "classes", "highest risk", "average", "node", "")


def execute(
    policy: str,
    k: str | None,
    limit: str | None,
    as_json: bool,
    chart: str | None,
    **search: str | float | None,
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    ks = KS if k is None else _whole_numbers(k)
    limits = LIMITS if limit is None else tuple(part.strip() for part in limit.split(","))
    loaded = read_policy(policy, **search)
    path = Path(chart) if chart is not None else None
    if path is not None:
        from sqlanon.report.frontier_chart import check_chart, write_chart

        check_chart(path)
        if any(same_file(path, other) for other in loaded.read_files):
            raise TargetError(f"The chart {path.name!r} is another file of this run.", hint="choose another name.")
    with progress() as watch:
        measured = frontier(None, loaded, ks, limits, watch=watch)
    for warning in measured.warnings:
        warn(warning)
    if path is not None:
        write_chart(measured, path)
    if as_json:
        print(json.dumps({**measured.to_dict(), "chart": chart}))
    else:
        print("\n".join(_lines(measured)))
        if path is not None:
            print(f"  chart: {path}")
    return 0 if any(point.found for point in measured.points) else 1


def _whole_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers in a list with commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError("The values of --k are no whole numbers.", hint="write them with commas: --k 2,5,10.")
    return tuple(map(int, parts))


def _lines(measured: Frontier) -> Iterator[str]:
    """Yield the lines for a person."""
    effort = measured.effort
    proven = sum(point.optimal for point in measured.points)
    counted = "; suppressed and risk count entities" if measured.unit == "entities" else ""
    yield f"{measured.measure}: {len(measured.points)} points, {proven} of them proven optima{counted}"
    yield (
        f"  nodes judged: {effort.evaluated:,}, {effort.evaluated - effort.judged:,} of them known from other points; "
        + ", ".join(f"{name} {value:.2f} s" for name, value in effort.seconds.items())
    )
    rows = [HEAD, *(_row(measured, point) for point in measured.points)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    for row in rows:
        cells = [
            cell.ljust(width) if place >= len(HEAD) - 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
    for point in measured.points:
        if point.reason is not None:
            yield f"  k = {point.k}, limit {percent(point.limit)}: {point.reason}"
    for knee in measured.knees:
        curve = "of all points" if knee.limit is None else f"at a limit of {percent(knee.limit)}"
        yield f"  knee {curve}: k = {knee.point.k}, limit {percent(knee.point.limit)}"
    for sentence in _steps(measured):
        yield f"  {sentence}"


def _steps(found: Frontier) -> list[str]:
    """Return the steps to the knee of all points and on from it; without a knee, those at the largest limit."""
    places = {knee.point.place for knee in found.knees[:1]}
    if places:
        return [step.sentence for step in found.steps if {step.before.place, step.after.place} & places]
    return [step.sentence for step in found.steps if step.before.limit == step.after.limit == found.limits[-1]]


def _row(found: Frontier, point: FrontierPoint) -> tuple[str, ...]:
    ledger, certificate = point.ledger, point.certificate
    if ledger is None or certificate is None or point.levels is None:
        return (str(point.k), percent(point.limit), "none", *[""] * (len(HEAD) - 3))
    average = point.average_risk
    return (
        str(point.k),
        percent(point.limit),
        f"{point.loss:.6f}",
        f"{point.suppressed:,}",
        f"{ledger.classes:,}",
        shown_risk(point),
        "" if average is None else f"{average:.4f}",
        ",".join(map(str, point.levels.values())),
        found.remark(point),
    )
