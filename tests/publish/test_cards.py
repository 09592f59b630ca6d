"""Cards: plans, releases, profiles, risks and frontiers in a notebook and as text."""

import re
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest
from policies import diverse, document_of, quasi

import sqlanon
from sqlanon.core.cards import WithCard
from sqlanon.report.cards import card_style
from sqlanon.report.wording import counted

SECRET = "planted"
HOSTILE = '<script>"a&\u202e'
RECORDS = 120


def table() -> pa.Table:
    """Two columns of quasi-identifiers, one with a hostile name; one record that is suppressed."""
    return pa.table(
        {
            "age": [20 + i % 20 for i in range(RECORDS - 1)] + [99],
            HOSTILE: ["north", "south"] * (RECORDS // 2 - 1) + ["north", SECRET],
            "illness": ["flu", "cold", "cough"] * (RECORDS // 3),
        }
    )


def policy(**changes: Any) -> dict[str, Any]:
    columns = {"age": quasi({"intervals": {"width": 10, "fanouts": [2]}}), HOSTILE: "suppress", "illness": diverse(2)}
    return document_of(columns, changes, k=5, suppression_limit=0.02)


def closed(made: Any) -> Any:
    made.close()
    return made


def cards() -> dict[str, Any]:
    """Something of every kind with a card; plans are closed."""
    with sqlanon.anonymize(table(), policy()) as release:
        compared = release.risk()
    recoding = policy(transformation={"type": "local_recoding", "nodes": 3})
    patterns = policy(transformation={"type": "patterns"}, suppression_limit=1)
    return {
        "Release": release,
        "Plan": release.plan,
        "recoded": closed(sqlanon.recode(table(), recoding)),
        "patterns": closed(sqlanon.recode(table(), patterns)),
        "Profile": sqlanon.profile(table()),
        "Risk": compared.after,
        "Risk before and after": compared,
        "Frontier": sqlanon.frontier(table(), policy(), k=(2, 5, 200), limit=(0.02,)),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return cards()


KINDS = ["Release", "Plan", "recoded", "patterns", "Profile", "Risk", "Risk before and after", "Frontier"]


class Checked(HTMLParser):
    """Notes elements, what they load, and whether each is closed."""

    VOID = ("wbr", "col", "br")

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [str(value) for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_a_card_is_plain_html_that_loads_nothing_and_holds_no_value(kind: str, made: dict[str, Any]) -> None:
    html = made[kind]._repr_html_()
    page = Checked()
    page.feed(html)
    assert not page.open
    assert not page.tags & {"script", "link", "img", "iframe", "object", "a", "html", "body"}
    assert not page.attributes & {"src", "href", "onload", "onclick", "style"}
    assert "url(http" not in html and "@import" not in html
    assert SECRET not in html
    assert len(set(page.ids)) == len(page.ids)
    assert page.text.count("For the operator") == 1
    if kind not in ("Frontier", "Risk", "Risk before and after", "patterns"):
        assert "<script>" in page.text and "\\u202e" in page.text and "\u202e" not in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_form_is_short_and_says_the_same(kind: str, made: dict[str, Any]) -> None:
    text = str(made[kind])
    assert text == repr(made[kind]) and isinstance(made[kind], WithCard)
    assert max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) < 60
    assert SECRET not in text and "\u202e" not in text
    assert text.startswith(f"sqlanon: {'Plan' if kind in ('recoded', 'patterns') else kind}\n")


def test_a_card_shows_levels_loss_proof_ledger_and_risk(made: dict[str, Any]) -> None:
    release = made["Release"]
    for shown in (str(release), release._repr_html_()):
        words = re.sub(r"<[^>]*>", " ", shown)
        for fact in ("Proven optimal", "119", "120", "1 in ", "k_anonymity(k=5)"):
            assert fact in words, fact
    assert f"{counted(release.ledger.suppressed, 'record')} suppressed" in str(release)


def test_a_card_counts_nothing(made: dict[str, Any]) -> None:
    with sqlanon.plan(table(), policy()) as plan:
        before = plan.statements
        assert plan._repr_html_() and str(plan) and plan.statements == before


def test_two_cards_on_one_page_share_no_id(made: dict[str, Any]) -> None:
    page = Checked()
    page.feed(made["Release"]._repr_html_() + made["Release"]._repr_html_())
    own = [name for name in page.ids if name != "hatch"]
    assert own and len(set(own)) == len(own)


def test_the_rules_of_a_card_hold_inside_it_alone() -> None:
    style = card_style()
    depth, selectors, last = 0, [], 0
    for place, sign in enumerate(style):
        if sign == "{":
            if depth == 0:
                selectors.append(style[last:place].strip())
            depth += 1
        elif sign == "}":
            depth -= 1
            last = place + 1
    assert depth == 0 and all(".sqlanon-card" in selector or selector.startswith("@media") for selector in selectors)
    assert style.count("--paper: #ffffff") and style.count("--paper: #14191f")
    assert "--c0" in style and "</" not in style


def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with sqlanon.plan(table(), policy(), watch=True):
        pass
    assert capsys.readouterr() == ("", ""), "no terminal and no notebook"


NOTEBOOK = """
import pyarrow as pa, sqlanon
t = pa.table({'age': [20 + i % 20 for i in range(120)]})
policy = {'columns': {'age': {'role': 'quasi_identifier', 'hierarchy': {'intervals': {'width': 10}}}},
          'privacy': [{'type': 'k_anonymity', 'k': 5}]}
release = sqlanon.anonymize(t, policy, watch=True)
"""


@pytest.mark.slow
def test_a_notebook_shows_a_line_and_then_the_card() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(source) for source in (NOTEBOOK, "release")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    ran, shown = notebook.cells  # DuckDB refuses settings of its own progress bar there without ipywidgets
    assert [output.output_type for output in ran.outputs] == ["display_data"]
    assert ran.outputs[0].data == {"text/plain": ""}, "the line has gone"
    assert shown.outputs[0].data["text/html"].startswith('<div class="sqlanon-card">')
    assert shown.outputs[0].data["text/plain"].startswith("sqlanon: Release")
