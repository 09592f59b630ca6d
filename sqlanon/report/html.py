"""The report as one HTML page that needs nothing else: no script, no font, no image, no link to anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sqlanon.report import blocks
from sqlanon.report.charts import Segment, bar, histogram, inset, paired_histogram, small_chart, stacked
from sqlanon.report.view import Reported, view_of
from sqlanon.report.wording import count, share, size_range, visible

TEMPLATE = "report.html.j2"
STYLE = "report.css"
KINDS = (
    blocks.Sentence, blocks.Listing, blocks.Table, blocks.Parts, blocks.Sizes, blocks.Noted, blocks.Bar, blocks.Pair,
    blocks.ComparedSizes, blocks.Pictures,
)  # fmt: skip
"""What the template draws, each by a test of its name."""
NUMBER = re.compile(r"-?[\d,.]+")
HATCHED = ("earlier", "suppressed", "failing_class", "uncovered", "null")
"""Colours that lie under a pattern too, so that what is not published is distinguished without them."""


def html_report(run: Reported, audience: str = "operator") -> str:
    """Return the page of a run. Its Content-Security-Policy allows the one style sheet in it and nothing else."""
    view = view_of(run, audience)
    style = files("sqlanon.report").joinpath(STYLE).read_text(encoding="utf-8")
    template = environment().get_template(TEMPLATE)
    return template.render(
        view=view,
        title=f"sqlanon: report of {visible(view.title)}",
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        sections=(*view.sections, blocks.Section("origin", "Origin", blocks.facts(view.origin))),
    )


@cache
def environment() -> Environment:
    """Return the templates of pages and cards, with what draws the blocks of a report."""
    environment = Environment(
        loader=PackageLoader("sqlanon", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=count, share=share, name=_name, visible=visible)
    environment.tests.update({kind.__name__.lower(): lambda item, kind=kind: isinstance(item, kind) for kind in KINDS})
    environment.globals.update(HATCHED=HATCHED, bar=bar, drawn_parts=_drawn_parts, size_range=size_range)
    environment.globals.update(
        small_chart=small_chart, inset=inset, histogram=histogram, paired_histogram=paired_histogram
    )
    return environment


def _name(text: str) -> Markup:
    """Return a text with names of the user's in it: kept apart from the direction of the text around it, and with
    places where a single long name may be broken."""
    shown = visible(text)
    parts = [shown] if " " in shown or NUMBER.fullmatch(shown) else re.split(r"(?<=[_.])", shown)
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(parts))


def _drawn_parts(parts: blocks.Parts) -> list[tuple[blocks.Part, Segment]]:
    """Return the parts of a whole with their places in its bar."""
    return list(zip(parts.parts, stacked([part.value for part in parts.parts]), strict=True))
