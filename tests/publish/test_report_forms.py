"""The forms of a report: Markdown and JSON say what the page says, and the page is valid and can be read by anybody."""

import json
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html
from reports import HOSTILE, full_report, hostile, made_by_hand, recoded_by_hand

from sqlanon.report.document import json_report, report_document
from sqlanon.report.html import html_report
from sqlanon.report.markdown import escaped, markdown_report
from sqlanon.report.summary import RunSummary
from sqlanon.report.text import text_report
from sqlanon.report.view import AUDIENCES, view_of
from sqlanon.report.wording import visible

GOLDEN = Path(__file__).parents[1] / "golden"
LEAST_CONTRAST = 4.5
"""Of texts (WCAG 2.2, success criterion 1.4.3, level AA)."""
LEAST_CONTRAST_OF_GRAPHICS = 3.0
"""Of the parts of pictures that are needed to read them (1.4.11)."""


@pytest.mark.parametrize("audience", AUDIENCES)
def test_markdown_is_what_it_was(audience: str) -> None:
    golden = GOLDEN / f"report_{audience}.md"
    assert markdown_report(full_report(), audience) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("audience", AUDIENCES)
def test_text_of_the_whole_story_is_what_it_was(audience: str) -> None:
    golden = GOLDEN / f"report_{audience}.txt"
    assert text_report(full_report(), audience) == golden.read_text(encoding="utf-8")


def rendered(run: RunSummary, audience: str = "operator") -> Any:
    """The Markdown as a renderer with tables reads it."""
    markdown = pytest.importorskip("markdown_it")
    renderer = markdown.MarkdownIt("commonmark", {"html": True}).enable("table")
    return html.fromstring(f"<div>{renderer.render(markdown_report(run, audience))}</div>")


@pytest.mark.parametrize(
    "run", [full_report(), recoded_by_hand("patterns"), hostile()], ids=["full", "rules", "hostile"]
)
def test_markdown_reads_as_tables_lists_and_headings_alone(run: RunSummary) -> None:
    page = rendered(run)
    known = {"div", "h1", "h2", "p", "strong", "blockquote", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert {element.tag for element in page.iter()} <= known
    for table in page.iter("table"):
        assert len({len(row) for row in table.iter("tr")}) == 1
    titles = [heading.text_content() for heading in page.iter("h2")]
    assert titles == [section.title for section in view_of(run).sections]


def test_hostile_names_stay_text_in_markdown() -> None:
    shown = rendered(hostile()).text_content()
    for name in HOSTILE:
        assert visible(name) in shown
    assert "|" not in re.sub(r"\\\|", "", escaped("a|b||c"))


def test_a_document_holds_the_facts_and_the_sentences() -> None:
    run = full_report()
    document = json.loads(json_report(run))
    assert document == json.loads(json.dumps(report_document(run)))
    assert document["audience"] == "operator" and document["report_version"] == 1
    facts = document["facts"]
    assert facts["ledger"] == run.ledger.to_dict() and facts["k"] == run.k  # type: ignore[union-attr]
    assert facts["attributes"][1]["loss"] == 0.25 and facts["seconds"] == dict(run.seconds)
    sections = {section["key"]: section["sentences"] for section in document["sections"]}
    assert set(run.promised) <= set(sections["promised"]) and set(run.not_promised) <= set(sections["promised"])


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("make", [full_report, hostile, made_by_hand])
def test_a_page_is_valid(make: Any, audience: str) -> None:
    text = html_report(make(), audience)
    page = html.document_fromstring(text)
    parser = etree.HTMLParser()
    etree.fromstring(text.encode(), parser)
    faults = {error.message for error in parser.error_log}
    assert not {fault for fault in faults if not re.fullmatch(r"Tag \w+ invalid", fault)}  # the parser knows no HTML 5
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.xpath("//@href")} <= set(ids)
    assert [link.removeprefix("#") for link in page.xpath("//nav//a/@href")] == page.xpath("//section//h2/@id")
    levels = [int(element.tag[1]) for element in page.iter("h1", "h2", "h3")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in page.iter("table"):
        assert len({sum(int(cell.get("colspan", "1")) for cell in row) for row in table.iter("tr")}) == 1
    for picture in page.iter("svg"):
        assert picture.get("aria-hidden") == "true" or picture.get("aria-labelledby") or picture.get("aria-label")


def colours(dark: bool) -> dict[str, str]:
    """The colours of the style sheet; dark ones in the place of light ones where it is dark."""
    style = files("sqlanon.report").joinpath("report.css").read_text(encoding="utf-8")
    light, _, rest = style.partition("@media screen and (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
    return found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", rest)) if dark else found


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted([luminance(one), luminance(other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


TEXTS = [
    ("ink", "paper"), ("ink", "panel"), ("soft", "paper"), ("soft", "panel"), ("link", "paper"), ("mark", "paper"),
    ("mark", "panel"), ("notice-ink", "notice"),
]  # fmt: skip
GRAPHICS = ["published", "suppressed", "uncovered", "excluded", "loss", "mark", "mark-line", "phase-0", "phase-1"]


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_pictures_stand_out(dark: bool) -> None:
    known = colours(dark)
    for text, ground in TEXTS:
        assert contrast(known[text], known[ground]) >= LEAST_CONTRAST, (text, ground)
    for name in GRAPHICS:
        assert contrast(known[name], known["paper"]) >= LEAST_CONTRAST_OF_GRAPHICS, name


def test_what_is_printed_is_dark_on_light() -> None:
    style = files("sqlanon.report").joinpath("report.css").read_text(encoding="utf-8")
    assert "@media screen and (prefers-color-scheme: dark)" in style and "@media (prefers-color-scheme" not in style
    assert style.count("color-scheme: light dark") == 1 and "@media print" in style
