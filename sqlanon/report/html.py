"""The report as one HTML page that needs nothing else: no script, no font, no image, no link to anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sqlanon.report import sections
from sqlanon.report.charts import Segment, bar, histogram, stacked
from sqlanon.report.summary import RunSummary
from sqlanon.report.wording import FOR_THE_OPERATOR, count, size_range, visible

TEMPLATE = "report.html.j2"
STYLE = "report.css"
KINDS = (sections.Sentence, sections.Table, sections.Parts, sections.Sizes, sections.Noted, sections.Bar)
"""What the template draws, each by a test of its name."""


def html_report(run: RunSummary) -> str:
    """Return the page of a run. Its Content-Security-Policy allows the one style sheet in it and nothing else."""
    style = files("sqlanon.report").joinpath(STYLE).read_text(encoding="utf-8")
    template = _environment().get_template(TEMPLATE)
    return template.render(
        run=run,
        notice=FOR_THE_OPERATOR,
        title=f"sqlanon: report of {visible(run.table or run.source or 'an open connection')}",
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        figures=sections.key_figures(run),
        sections=(
            *sections.sections_of(run),
            sections.Section("origin", "Origin", sections.facts(sections.origin(run))),
        ),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sqlanon", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=count, name=_name, visible=visible)
    environment.tests.update({kind.__name__.lower(): lambda item, kind=kind: isinstance(item, kind) for kind in KINDS})
    environment.globals.update(bar=bar, drawn_parts=_drawn_parts, histogram=histogram, size_range=size_range)
    return environment


def _name(text: str) -> Markup:
    """Return a text with names of the user's in it: kept apart from the direction of the text around it, and with
    places where a single long name may be broken."""
    shown = visible(text)
    parts = [shown] if " " in shown else re.split(r"(?<=[_.])", shown)
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(parts))


def _drawn_parts(parts: sections.Parts) -> list[tuple[sections.Part, Segment]]:
    """Return the parts of a whole with their places in its bar."""
    return list(zip(parts.parts, stacked([part.value for part in parts.parts]), strict=True))
