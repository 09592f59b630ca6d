"""The chart of a frontier, as an SVG picture or as an HTML page with the table under it; for the operator.

Along the page stands the highest risk, from the highest on the left, on a logarithmic scale; upwards the loss. A line
joins the points of one limit. Both forms need nothing else: no script, no font, no link.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sqlanon.assess.frontier.points import Frontier, FrontierPoint, percent, shown_risk
from sqlanon.core.disk.writing import write_text
from sqlanon.report.files import check_file
from sqlanon.report.wording import FOR_THE_OPERATOR

ENDINGS = (".svg", ".html")
STYLE = "frontier.css"
WIDTH, HEIGHT = 760.0, 440.0
"""The size of the picture, in its own units."""
LEFT, RIGHT, TOP, BOTTOM = 70.0, 126.0, 46.0, 58.0
"""The margins of the plot."""
APART = 62.0
"""The least distance of two labels of the axis of risk."""
LINE_APART = 20.0
"""The least distance of the names of two lines."""
KINDS = 6
"""The colours of lines; more lines begin again."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the chart: its place, what it is, and the text that a pointer on it shows."""

    x: float
    y: float
    kind: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of one limit, from the highest risk to the lowest; its name stands at ``name_y`` beside its end."""

    colour: int
    name: str
    end_x: float
    end_y: float
    name_y: float
    marks: tuple[Mark, ...]

    @property
    def path(self) -> str:
        """The line through the points."""
        return " ".join(f"{mark.x:g},{mark.y:g}" for mark in self.marks)


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """A label of an axis, at a place."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class FrontierChart:
    """The geometry of a chart."""

    curves: tuple[Curve, ...]
    risks: tuple[AxisLabel, ...]
    losses: tuple[AxisLabel, ...]
    title: str


def check_chart(path: Path) -> None:
    """Check before any work that a chart can be written to a file; see ``check_file``."""
    check_file(path, "chart", ENDINGS)


def write_chart(frontier: Frontier, path: str | Path) -> None:
    """Write the chart, whole or not at all; an older one is replaced.

    Raises:
        TargetError: its ending is not known, or it cannot be written.
    """
    path = Path(path)
    check_chart(path)
    write_text(path, (svg_chart if path.suffix.lower() == ".svg" else html_chart)(frontier))


def svg_chart(frontier: Frontier) -> str:
    """Return the chart as a picture of its own."""
    return _environment().get_template("frontier.svg.j2").render(**_facts(frontier), style=Markup(_style()), alone=True)


def drawing(frontier: Frontier, here: FrontierPoint | None = None) -> str:
    """Return the chart without its style, to stand in a page that has it; ``here`` is a point that is marked."""
    place = None
    if here is not None and here.found:
        points = [point for point in frontier.points if point.found]
        sizes = [math.log(point.smallest_class or 1) for point in points]
        place = (_x(here, sizes), _y(here.loss, _nice(max(point.loss for point in points))))
    return _environment().get_template("frontier.svg.j2").render(**_facts(frontier) | {"here": place}, alone=False)


def html_chart(frontier: Frontier) -> str:
    """Return the chart with its table as a page. Its Content-Security-Policy allows the one style sheet in it."""
    style = _style()
    rows = [
        {
            "point": point,
            "limit": percent(point.limit),
            "risk": shown_risk(point) if point.found else "",
            "average": "" if point.average_risk is None else f"{point.average_risk:.4f}",
            "remark": point.reason or frontier.remark(point),
        }
        for point in frontier.points
    ]
    return (
        _environment()
        .get_template("frontier.html.j2")
        .render(
            **_facts(frontier),
            alone=False,
            rows=rows,
            knees=[(None if knee.limit is None else percent(knee.limit), knee) for knee in frontier.knees],
            percent=percent,
            style=Markup(style),
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


def chart_of(frontier: Frontier) -> FrontierChart:
    """Return the geometry of the chart of a frontier; without any solution it has no curves."""
    points = [point for point in frontier.points if point.found]
    size = f"risk against loss, the best of every k and limit ({frontier.measure})"
    if not points:
        return FrontierChart((), (), (), f"{size}: no point has a solution")
    sizes = [math.log(point.smallest_class or 1) for point in points]
    most = _nice(max(point.loss for point in points))
    curves = []
    for number, limit in enumerate(frontier.limits):
        line = sorted(
            (point for point in points if point.limit == limit), key=lambda point: (-point.highest_risk, point.loss)
        )
        if line:
            marks = tuple(_mark(frontier, point, sizes, most) for point in line)
            curves.append((number % KINDS, percent(limit), _labelled_once(marks)))
    names = _spread([marks[-1].y for _, _, marks in curves])
    drawn = tuple(
        Curve(colour, name, marks[-1].x, marks[-1].y, place, marks)
        for (colour, name, marks), place in zip(curves, names, strict=True)
    )
    return FrontierChart(drawn, _risk_labels(points, sizes), _loss_labels(most), size)


def _mark(frontier: Frontier, point: FrontierPoint, sizes: Sequence[float], most: float) -> Mark:
    assert point.ledger is not None
    dominated = point.place in frontier.dominated
    knee = any(knee.point.place == point.place for knee in frontier.knees[:1])
    kind = "knee" if knee else "dominated" if dominated else "best"
    text = (
        f"k = {point.k}, limit {percent(point.limit)}: loss {point.loss:.6g}, highest risk {shown_risk(point)}, "
        f"{point.suppressed_share:.1%} suppressed"
    )
    more = frontier.remark(point)
    label = "" if dominated else f"k = {point.k}"
    return Mark(_x(point, sizes), _y(point.loss, most), kind, label, f"{text}; {more}" if more else text)


def _labelled_once(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks, those that stand at one place with one label for all: the last one has it."""
    labels: dict[tuple[float, float], list[str]] = {}
    for mark in marks:
        labels.setdefault((mark.x, mark.y), []).append(mark.label.removeprefix("k = "))
    last = {(mark.x, mark.y): number for number, mark in enumerate(marks)}
    return tuple(
        replace(mark, label="k = " + ", ".join(filter(None, labels[mark.x, mark.y])) if mark.label else "")
        if last[mark.x, mark.y] == number
        else replace(mark, label="")
        for number, mark in enumerate(marks)
    )


def _x(point: FrontierPoint, sizes: Sequence[float]) -> float:
    """Return how far along the page the risk of a point stands."""
    least, most = min(sizes), max(sizes)
    place = (math.log(point.smallest_class or 1) - least) / (most - least) if most > least else 0.5
    return round(LEFT + place * (WIDTH - LEFT - RIGHT), 2)


def _y(loss: float, most: float) -> float:
    """Return how far down the page a loss stands."""
    return round(TOP + (1.0 - (loss / most if most else 0.0)) * (HEIGHT - TOP - BOTTOM), 2)


def _risk_labels(points: Sequence[FrontierPoint], sizes: Sequence[float]) -> tuple[AxisLabel, ...]:
    """Return the risks of the points as labels, from the left, without those that would touch the one before."""
    labels: list[AxisLabel] = []
    for point in sorted(points, key=lambda point: -point.highest_risk):
        place = _x(point, sizes)
        if not labels or place - labels[-1].place >= APART:
            labels.append(AxisLabel(place, shown_risk(point)))
    return tuple(labels)


def _loss_labels(most: float) -> tuple[AxisLabel, ...]:
    return tuple(AxisLabel(_y(most * part / 4, most), f"{most * part / 4:g}") for part in range(5))


def _nice(value: float) -> float:
    """Return the least of 1, 2, 4 or 8 times a power of ten that is not below a value.

    >>> _nice(0.679), _nice(35.0), _nice(0.0)
    (0.8, 40.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((round(step * power, 12) for step in (1, 2, 4, 8) if step * power >= value), round(10 * power, 12))


def _spread(places: Sequence[float]) -> list[float]:
    """Return places near the given ones, at least ``LINE_APART`` from each other."""
    spread, last = [0.0] * len(places), -math.inf
    for number in sorted(range(len(places)), key=lambda number: places[number]):
        last = max(places[number], last + LINE_APART)
        spread[number] = round(last, 2)
    return spread


def _facts(frontier: Frontier) -> dict[str, object]:
    """Return what both templates draw."""
    return {
        "chart": chart_of(frontier),
        "here": None,
        "found": frontier,
        "measure": "loss" if frontier.measure == "loss" else f"loss ({frontier.measure})",
        "notice": FOR_THE_OPERATOR,
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "base": HEIGHT - BOTTOM,
    }


def _style() -> str:
    return files("sqlanon.report").joinpath(STYLE).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("sqlanon", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
