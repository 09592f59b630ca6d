"""The report of a run: its numbers are those of the release, its forms are safe to open, and it holds no value."""

import base64
import hashlib
import math
import random
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import brute
import duckdb
import pytest
from effort import scaled
from policies import document_of, quasi
from random_worlds import AGGREGATES, FOLDED, MEASURES, document, random_world
from reports import HOSTILE, NOW, hostile, made_by_hand, recoded_by_hand
from solved_plans import plans_of
from tables import text_table

import sqlanon
from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.wording import describe_level, describe_levels
from sqlanon.core.measures.base import fold
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.recoding.local.recoded_plan import RecodedPlan
from sqlanon.report.charts import blocks, histogram, loss_scale, stacked
from sqlanon.report.document import json_report
from sqlanon.report.failures import summarize_failure
from sqlanon.report.files import check_report, write_report
from sqlanon.report.html import html_report
from sqlanon.report.markdown import markdown_report
from sqlanon.report.summarizing import summarize
from sqlanon.report.summary import AttributeSummary, ClassSizes, RecodingSummary, RuleSummary
from sqlanon.report.text import cells, text_report
from sqlanon.report.wording import count, describe_proof, share, visible

CANARY = "Zz7canaryqQ"
VOID = {"meta", "wbr", "col"}
"""Elements without an end; those of SVG that stand alone are closed at once."""


class Page(HTMLParser):
    """A page as a browser's parser sees it; fails when an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.style = ""
        self.feed(text)
        self.close()
        assert not self.open

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), tag
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th", "p", "dd", "dt", "h1", "h2", "title", "desc", "li", "caption"):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.parts.append(data)


GOLDEN = """\
sqlanon: report of a run
For the operator: holds exact counts; do not hand it on with the release.

Published: 93 of 105 records (88.6 %) in 12 classes of at least 3.
Proven optimal: no version that meets the policy loses less.

  source    people.duckdb, table people
  written   file released.parquet
  time      2026-01-02T03:04:05Z
  policy    SHA-256 abababababababababababababababababababababababababababababababab
  versions  sqlanon 1, duckdb 2

Warning: Something to know.
"""


def test_text_is_what_it_was() -> None:
    text = text_report(made_by_hand())
    assert text == (Path(__file__).parents[1] / "golden" / "report.txt").read_text(encoding="utf-8")
    assert text.startswith(GOLDEN)


def test_html_is_one_closed_page_that_needs_nothing_else() -> None:
    text = html_report(made_by_hand())
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "img", "iframe", "object", "form", "use", "image"} & {t for t, _ in page.tags}
    assert not re.search(r"https?:|url\((?!#)|@import|javascript:", text)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) and set(re.findall(r"url\(#(\w+)\)", text)) <= set(ids)
    for tag, attributes in page.tags:
        assert not {"src", "xlink:href", "style", "action"} & attributes.keys()
        assert (attributes["href"] or "").removeprefix("#") in ids if tag == "a" else "href" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    [policy] = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_html_can_be_read_by_machines_that_read_aloud() -> None:
    page = Page(html_report(made_by_hand()))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    labelled = [a["aria-labelledby"] or "" for _, a in page.tags if "aria-labelledby" in a]
    assert labelled and all(set(label.split()) <= ids for label in labelled)
    for svg in page.all("svg"):
        assert svg.get("aria-hidden") == "true" or (svg["role"] == "img" and svg["aria-labelledby"])
    assert len([svg for svg in page.all("svg") if svg.get("role") == "img"]) == 3
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    assert [tag for tag, _ in page.tags if tag == "h1"] == ["h1"]


def test_both_forms_say_first_that_they_are_for_the_operator() -> None:
    notice = "For the operator: holds exact counts; do not hand it on with the release."
    assert text_report(made_by_hand()).splitlines()[1] == notice
    page = Page(html_report(made_by_hand())).text
    assert page.index(notice) < page.index("people", page.index("people") + 1)


def test_numbers_of_both_forms_are_those_of_the_summary() -> None:
    run = made_by_hand()
    for text_of_report in (" ".join(text_report(run).split()), Page(html_report(run)).text):
        for number in ("93", "105", "88.6 %", "6.7 %", "4.8 %", "0.19", "0.07", "0.25", "2 of 3", "9 of 80", "6 of 8"):
            assert number in text_of_report, number
        for words in ("intervals of width 10", "snapshot 1,2", "1 min 15 s", "k = 3", "Something to know."):
            assert words in text_of_report.replace("\N{NO-BREAK SPACE}", " "), words


@pytest.mark.parametrize("kind", ["patterns", "local_recoding"])
def test_text_of_several_rules_is_what_it_was(kind: str) -> None:
    golden = Path(__file__).parents[1] / "golden" / f"report_{kind}.txt"
    assert text_report(recoded_by_hand(kind)) == golden.read_text(encoding="utf-8")


KINDS = [
    ("patterns", "Patterns", "5 of 8", "patterns tried", "no pattern publishes it"),
    ("local_recoding", "Nodes, local recoding", "6 of 16", "nodes judged", "no node publishes it"),
]


@pytest.mark.parametrize(("kind", "title", "judged", "what", "left"), KINDS)
def test_both_forms_tell_the_rules(kind: str, title: str, judged: str, what: str, left: str) -> None:
    run = recoded_by_hand(kind)
    assert run.recoding is not None
    text, page = text_report(run), Page(html_report(run)).text
    assert f"\n{title.upper()}\n" in text and title in page
    for text_of_report in (" ".join(text.split()), page):
        for rule in run.recoding.rules:
            numbers = f"{rule.records} {share(rule.records / 93)} {rule.classes} {rule.smallest} {rule.largest} "
            assert f" {rule.description} {numbers}" in text_of_report
        for name, value in run.recoding.facts:
            assert f"{name} {value}" in text_of_report
        assert ("patterns" if kind == "patterns" else "local recoding") in text_of_report
        assert "0, 2, 3 of 3" in text_of_report and "by record, of 80" in text_of_report and "7 of 7" in text_of_report
        assert "no loss by attribute" in text_of_report and "measure of classes" not in text_of_report
        assert "would suppress alone" not in text_of_report and "suppresses alone" not in text_of_report
        assert "k_anonymity(k=3) disease: distinct_l_diversity(l=2) " in text_of_report and left in text_of_report
        assert "░" not in text_of_report and "Classes suppressed" not in text_of_report
        assert f"{what} {judged}" in text_of_report and f"{judged} of 16" not in text_of_report
        assert "Warning: It is open to a refinement attack." in text_of_report
        assert "None" not in text_of_report
    assert ("(62.5 %)" in text) == (kind == "patterns")


@pytest.mark.parametrize("kind", ["patterns", "local_recoding"])
def test_a_page_of_several_rules_can_be_read_aloud(kind: str) -> None:
    page = Page(html_report(recoded_by_hand(kind)))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert "rules" in ids and {"aria-labelledby": "rules"} in page.all("section")
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    [table] = [a for a in page.all("table") if "rules" in (a.get("class") or "").split()]
    assert table["role"] == "table"
    assert "script" not in {tag for tag, _ in page.tags}


def test_suppressed_classes_are_drawn_apart_where_there_are_any() -> None:
    sizes = (ClassSizes(2, 3, 4, 12, 1, 2), *recoded_by_hand("patterns").sizes[1:])
    run = recoded_by_hand("patterns", sizes=sizes)
    assert "░ is suppressed." in text_report(run) and "Classes suppressed" in Page(html_report(run)).text
    assert "2–3: 12 published, 2 suppressed" in Page(html_report(run)).text


def test_of_many_rules_those_are_listed_that_publish_most() -> None:
    rng = random.Random(11)
    sizes = rng.sample(range(1000, 9000), 300)
    rules = tuple(RuleSummary(f"suppresses column{i}x", n, n // 5, 5, 9) for i, n in enumerate(sizes))
    recoding = RecodingSummary("patterns", rules, ())
    run = recoded_by_hand("patterns", recoding=recoding)
    largest = set(sorted(sizes, reverse=True)[:30])
    expected = [f"column{i}x" for i, n in enumerate(sizes) if n in largest]
    rest = sum(sizes) - sum(largest)
    text = text_report(run)
    for text_of_report in (" ".join(text.split()), Page(html_report(run)).text):
        assert re.findall(r"column\d+x", text_of_report) == expected
        assert f"270 more patterns publish {count(rest)} records ({share(rest / sum(sizes))})." in text_of_report
        assert f"A full bar is {share(max(sizes) / sum(sizes))}." in text_of_report
    assert len([line for line in text.splitlines() if "column" in line and "█" in line]) == 30
    assert RecodingSummary("local_recoding", rules[:31], ()).remainder.startswith("1 more node publishes 1,")
    assert RecodingSummary("patterns", rules[:30], ()).remainder == ""


def test_rules_of_the_same_size_are_listed_in_their_order() -> None:
    rules = tuple(RuleSummary(f"rule {i}", 5, 1, 5, 5) for i in range(40))
    assert RecodingSummary("patterns", rules, ()).listed == rules[:30]


def test_hostile_names_stay_text() -> None:
    page = Page(html_report(hostile()))
    assert "script" not in {tag for tag, _ in page.tags}
    for name in HOSTILE:
        assert visible(name) in page.text
    assert "\u202e" not in page.text


def test_hostile_names_fit_the_width_of_the_text() -> None:
    text = text_report(hostile())
    assert all(cells(line) <= 100 for line in text.splitlines())
    assert not any(unicodedata.category(c) in ("Cf", "Cc") for c in text if c != "\n")
    glued = text.replace("\n", "").replace(" ", "")
    assert all(visible(name).replace(" ", "")[:20] in glued for name in HOSTILE)


@pytest.mark.parametrize("kind", ["patterns", "local_recoding"])
def test_hostile_names_in_rules_stay_text_and_fit(kind: str) -> None:
    attributes = tuple(
        AttributeSummary(name, "h", 1.0, 30, tuple(range(30)), " or ".join(HOSTILE), 1_234_567_890) for name in HOSTILE
    )
    several = [", ".join(HOSTILE[:i]) for i in range(1, len(HOSTILE) + 1)]
    rules = tuple(RuleSummary(f"suppresses {words}", 123_456_789, 9_876_543, 5, 1_000_000) for words in several)
    recoding = RecodingSummary(kind, rules, ((HOSTILE[2], HOSTILE[0]),))
    run = recoded_by_hand(kind, attributes=attributes, recoding=recoding)
    page, text = Page(html_report(run)), text_report(run)
    assert "script" not in {tag for tag, _ in page.tags} and "\u202e" not in page.text
    assert all(f"suppresses {visible(words)}" in page.text for words in several)
    assert all(cells(line) <= 100 for line in text.splitlines())
    assert not any(unicodedata.category(c) in ("Cf", "Cc") for c in text if c != "\n")
    assert text.count("123,456,789") == page.text.count("123,456,789") == len(HOSTILE)


def test_a_run_without_classes_attributes_or_output_is_told() -> None:
    ledger = Ledger(0, 0, 0, 0, {"failing_class": 0, "uncovered": 0, "null": 0}, 0, None, None)
    run = made_by_hand(ledger=ledger, sizes=(), attributes=(), columns=(), output=(), seconds=(), k=None)
    assert "Nothing was written." in text_report(run)
    assert "Nothing was written." in Page(html_report(run)).text


LEVELS = [
    (specs.Suppress(), 0, 2, "ungeneralized"),
    (specs.Suppress(), 1, 2, "fully suppressed (*)"),
    (specs.Intervals(Decimal(5), (2, 2)), 3, 5, "intervals of width 20"),
    (specs.Intervals(Decimal("0.10"), (5,)), 2, 4, "intervals of width 0.5"),
    (specs.Intervals(Decimal(1000)), 1, 3, "intervals of width 1,000"),
    (specs.Intervals(Decimal(5), (2, 2)), 4, 5, "fully suppressed (*)"),
    (specs.Redact(), 1, 6, "last character masked"),
    (specs.Redact(), 3, 6, "last 3 characters masked"),
    (specs.Redact(direction="left"), 3, 6, "first 3 characters masked"),
    (specs.Redact(), 5, 6, "all characters masked"),
    (specs.Redact(), 5, None, "last 5 characters masked"),
    (specs.Redact(steps=2), 2, 4, "last 2 characters masked"),
    (specs.Redact(steps=2), 3, 4, "fully suppressed (*)"),
    (specs.Redact(steps=9), 5, 6, "all characters masked"),
    (specs.Dates(("month", "year")), 2, 4, "year"),
    (specs.Dates(("month", "year")), 3, 4, "fully suppressed (*)"),
    (specs.Dates(("day", "month")), 1, 4, "day"),
    (specs.Dates(("day", "month")), 1, 3, "month"),
    (specs.Dates(("day", "month")), 1, None, "level 1 of the calendar periods day, month"),
    (specs.FileHierarchy(Path("/home/me/education.csv")), 2, 5, "level 2 of 4 of the file education.csv"),
    (specs.FileHierarchy(Path("/home/me/education.csv")), 2, None, "level 2 of the file education.csv"),
    (specs.TableHierarchy("h.zip"), 1, 3, "level 1 of 2 of the table h.zip"),
    (specs.Levels({CANARY: [CANARY, "*"]}), 1, 3, "level 1 of 2 of the levels in the policy"),
    (specs.Groups({CANARY: [CANARY]}), 1, 3, "level 1 of 2 of the groups in the policy"),
    (specs.Groups({CANARY: [CANARY]}), 2, 3, "fully suppressed (*)"),
]


@pytest.mark.parametrize(("spec", "level", "height", "expected"), LEVELS)
def test_levels_are_described_without_an_example(
    spec: specs.HierarchySpec, level: int, height: int | None, expected: str
) -> None:
    assert describe_level(spec, level, height) == expected


SEVERAL = [
    (specs.Suppress(), (0, 1), 2, "ungeneralized or fully suppressed (*)"),
    (specs.Suppress(), (1,), 2, "fully suppressed (*)"),
    (specs.Dates(("month", "year")), (0, 1, 3), 4, "ungeneralized, month or fully suppressed (*)"),
    (specs.TableHierarchy("h"), (1, 2), 4, "level 1 or 2 of 3 of the table h"),
    (specs.TableHierarchy("h"), (0, 1, 2, 3), 4, "ungeneralized or level 1, 2 or 3 of 3 of the table h"),
    (specs.TableHierarchy("h"), (0, 12), 14, "ungeneralized or level 12 of 13 of the table h"),
    (specs.Groups({"a": [CANARY]}), (0, 1, 2), 3,
     "ungeneralized, level 1 of 2 of the groups in the policy or fully suppressed (*)"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "levels", "height", "expected"), SEVERAL)
def test_several_levels_are_described_together(
    spec: specs.HierarchySpec, levels: tuple[int, ...], height: int, expected: str
) -> None:
    assert describe_levels(spec, levels, height) == expected


def test_the_proof_of_the_exact_solver_is_about_the_patterns() -> None:
    within = Certificate("suppressed_cells", None, 0.5, 0.4, 0.2, False, "patterns_exact", 8, 8)
    assert describe_proof(within) == (
        "Proven to be within 20 % of the optimum: no assignment of these patterns loses less than 0.4."
    )
    proven = Certificate("suppressed_cells", None, 0.5, 0.5, 0.0, True, "patterns_exact", 8, 8)
    assert "no assignment of these patterns" in describe_proof(proven)


def test_what_is_not_proven_is_not_claimed() -> None:
    nothing = Certificate("loss", "sum", 0.5, None, None, False, "datafly", 7, 90)
    assert describe_proof(nothing) == ("Nothing is proven about how near this is to the optimum (strategy datafly).")
    page = Page(html_report(made_by_hand(certificate=nothing, proof=describe_proof(nothing)))).text
    assert "not proven optimal" in page and "datafly" in page


def test_geometry_shows_what_is_there_and_sums_up() -> None:
    for values in ([99_999, 1, 0], [1], [0, 0], [], [5, 5, 5]):
        segments = stacked(values)
        assert [bool(s.width) for s in segments] == [value > 0 for value in values]
        if sum(values):
            assert math.isclose(segments[-1].start + segments[-1].width, 100.0, abs_tol=0.01)
        assert all(s.width >= 0.6 for s in segments if s.width)
    chart = histogram(made_by_hand().sizes, 3)
    heights = [c.published[1] + c.suppressed[1] for c in chart.columns]
    assert heights.index(max(heights)) == 3
    assert [tick.label for tick in chart.ticks] == ["1", "2", "4", "8", "16", "32"]
    assert chart.mark == pytest.approx(100 * math.log2(3) / 5, abs=0.01)
    assert histogram(made_by_hand().sizes, 1000).mark == 100.0
    assert loss_scale("loss", [0.2]) == 1.0 and loss_scale("non_uniform_entropy", [3.0, 9.0]) == 9.0
    assert len(blocks(2.0, 1.0, 10)) == 10


@pytest.fixture
def planted(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A table whose every text is a canary."""
    rng = random.Random(7)
    rows = [tuple(f"{CANARY}{rng.randrange(4)}" for _ in range(4)) for _ in range(200)]
    missing = [(None, f"{CANARY}9", f"{CANARY}1", f"{CANARY}{i % 2}") for i in range(12)]
    text_table(connection, ["a", "b", "c", "d"], [*rows, *missing])
    return connection


def planted_policy(tmp_path: Path, **keys: Any) -> dict[str, Any]:
    values = [f"{CANARY}{i}" for i in (0, 1, 2, 3, 9)]
    (tmp_path / "h.csv").write_text("".join(f"{v};{CANARY}-{i % 2};{CANARY}-all\n" for i, v in enumerate(values)))
    columns = {
        "a": quasi({"groups": {f"{CANARY}+": values[:2], "r": values[2:]}}),
        "b": quasi({"file": str(tmp_path / "h.csv")}),
        "c": "redact",
        "d": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
    }
    return document_of(columns, keys, k=6, table="t", suppression_limit=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["extended", "basic"])
def test_a_report_tells_the_release_and_no_value(
    planted: duckdb.DuckDBPyConnection, tmp_path: Path, nulls: str
) -> None:
    output = {"file": str(tmp_path / "released.parquet")}
    policy = sqlanon.Policy.from_dict(planted_policy(tmp_path, nulls=nulls, output=output))
    with sqlanon.anonymize(planted, policy) as release:
        run = summarize(release, now=NOW)
        assert run.ledger == release.ledger and run.certificate == release.certificate
        assert {a.name: a.levels for a in run.attributes} == {name: (level,) for name, level in release.levels.items()}
        assert {m.label: m.suppressed for m in run.models} == dict(release.plan.suppressed_by_model)
        assert sum(b.records for b in run.sizes) == release.ledger.published
        assert sum(b.classes for b in run.sizes) == release.ledger.classes
        assert sum(b.suppressed_records for b in run.sizes) == release.ledger.reasons["failing_class"]
        assert run.output == (("file", "released.parquet"),)
        assert run.fingerprint == policy.fingerprint() and run.when == NOW
    for text in (text_report(run), html_report(run), repr(run)):
        assert CANARY not in text
        assert str(tmp_path) not in text
    for text in (" ".join(text_report(run).split()), Page(html_report(run)).text):
        assert "file released.parquet" in text and "of the file h.csv" in text
        if nulls == "extended":
            assert run.bias is None and run.nulls is not None and "12 records (" in text
        else:
            assert run.nulls is None and run.bias is not None and "12 of 212 records (5.7 %) are excluded" in text
            assert "Before: 12 records with a NULL in a quasi-identifier take no part" in text
            assert "are, without those with a NULL in a quasi-identifier." in text


RECODINGS = [
    {"type": "patterns"},
    {"type": "patterns", "ties": "random", "at_most": 2, "outliers": True},
    {"type": "local_recoding", "nodes": 4, "hold": 0},
    {"type": "local_recoding", "hold": 0, "nodes": [{"a": 1}, {"b": 1, "c": 2}, {"a": 2, "b": 2, "c": 3}]},
]


@pytest.mark.parametrize("asked", RECODINGS, ids=lambda asked: asked["type"])
@pytest.mark.parametrize("diverse", [False, True])
@pytest.mark.slow
def test_a_report_tells_a_recoded_release_and_no_value(
    planted: duckdb.DuckDBPyConnection, tmp_path: Path, asked: dict[str, Any], diverse: bool
) -> None:
    policy = planted_policy(tmp_path, transformation=asked, suppression_limit=0.5)
    if not diverse:
        policy["columns"]["d"] = {"role": "keep"}
    with sqlanon.anonymize(planted, policy) as release:
        run, plan = summarize(release, now=NOW), release.plan
        assert isinstance(plan, RecodedPlan) and run.recoding is not None
        assert [(r.records, r.classes, r.smallest, r.largest) for r in run.recoding.rules] == [
            (r.records, r.classes, r.smallest, r.largest) for r in plan.rules
        ]
        assert run.recoding.kind == asked["type"] and run.recoding.records == release.ledger.published
        assert tuple(a.levels for a in run.attributes) == plan.published_levels
        for a in run.attributes:
            assert (a.values_left is None) == (len(a.levels) > 1) and a.loss is None
        assert sum(b.records for b in run.sizes) == release.ledger.published
        assert sum(b.classes for b in run.sizes) == release.ledger.classes
        facts = dict(run.recoding.facts)
        if plan.full_domain is not None:
            assert float(facts["loss of the best single node"]) == pytest.approx(plan.full_domain.loss, abs=1e-4)
        if plan.quality is not None:
            assert facts["suppressed cells"] == count(plan.quality.suppressions)
        [warning] = [w for w in run.warnings if "refinement attack" in w or w.startswith("One node is published")]
    for text in (text_report(run), html_report(run), repr(run)):
        assert CANARY not in text and str(tmp_path) not in text
        assert plan.seed is None or str(plan.seed) not in text
    for text in (" ".join(text_report(run).split()), Page(html_report(run)).text):
        assert f"Warning: {warning}" in text
        for rule in run.recoding.rules:
            part = share(rule.records / run.recoding.records)
            assert f"{count(rule.records)} {part} {count(rule.classes)} {rule.smallest} {rule.largest} " in text


def test_classes_of_several_rules_that_read_the_same_are_told(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    text_table(connection, ["a"], [("g",)] * 10 + [("h",)] * 3 + [("i",)] * 4)
    (tmp_path / "h.csv").write_text("g;g;*\nh;g;*\ni;g;*\n")
    columns = {"a": quasi({"file": str(tmp_path / "h.csv")})}
    policy = document_of(
        columns, k=5, table="t", transformation={"type": "local_recoding", "hold": 0, "nodes": [{"a": 0}, {"a": 1}]}
    )
    with sqlanon.anonymize(connection, policy) as release:
        run = summarize(release, now=NOW)
    assert run.ledger is not None and run.ledger.classes == 1 and run.recoding is not None
    assert [(r.description, r.records) for r in run.recoding.rules] == [("level 0 everywhere", 10), ("a 1", 7)]
    reported = "their classes, those of several nodes that read the same counted apart"
    assert dict(run.recoding.facts)[reported] == "2"
    assert run.attributes[0].description == "ungeneralized or level 1 of 2 of the file h.csv"


def test_a_failure_is_told_with_the_nearest_node_and_no_value(
    planted: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    policy = sqlanon.Policy.from_dict(
        planted_policy(tmp_path, privacy=[{"type": "k_anonymity", "k": 90}], suppression_limit=0)
    )
    columns = tuple(
        c if c.role != "quasi_identifier" else sqlanon.Column(c.name, c.role, c.hierarchy, max_level=0)
        for c in policy.columns
    )
    policy = sqlanon.Policy(columns=columns, privacy=policy.privacy, table="t")
    with pytest.raises(sqlanon.NoSolutionError) as caught:
        sqlanon.anonymize(planted, policy)
    run = summarize_failure(policy, caught.value, now=NOW)
    assert run.ledger is None and run.failure is not None and run.failure.nearest is not None
    assert run.failure.nearest.suppressed == caught.value.nearest["suppressed"]  # type: ignore[index]
    assert {item.name: item.level for item in run.failure.nearest.levels} == {"a": 0, "b": 0, "c": 0}
    for text in (text_report(run), Page(html_report(run)).text):
        assert "Nothing was published." in text and "Hint:" in text
        assert "k_anonymity(k=90)" in text and "d: distinct_l_diversity(l=2)" in text
        assert "a at most 0; b at most 0; c at most 0" in " ".join(text.split())
        assert CANARY not in text


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"type": "patterns", "at_most": 0}, {"type": "local_recoding", "nodes": [{"a": 0}]}])
def test_rules_that_suppress_too_much_are_told_without_a_nearest_node(
    planted: duckdb.DuckDBPyConnection, tmp_path: Path, asked: dict[str, Any]
) -> None:
    policy = sqlanon.Policy.from_dict(planted_policy(tmp_path, transformation=asked, suppression_limit=0))
    with pytest.raises(sqlanon.NoSolutionError) as caught:
        sqlanon.anonymize(planted, policy)
    run = summarize_failure(policy, caught.value, now=NOW)
    assert run.failure is not None and run.failure.nearest is None
    for text in (text_report(run), Page(html_report(run)).text):
        assert "The rules would suppress" in text and "nearest node" not in text.lower() and CANARY not in text


@pytest.mark.parametrize(
    "error",
    [
        sqlanon.SearchStoppedError("The search was stopped (time_limit).", hint="raise time_limit."),
        sqlanon.AuditError("Two <b> classes are small.", hint="report it."),
        sqlanon.InputError("There is no source."),
        sqlanon.NoSolutionError("The source holds no records.", hint="check it.", nearest=None),
    ],
)
def test_every_end_without_a_release_is_told(error: sqlanon.SqlanonError) -> None:
    policy = sqlanon.Policy.from_dict(
        {
            "source": "s3://user:secret@host/folder/people.parquet?key=secret",
            "columns": {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}},
            "privacy": [
                {"type": "k_anonymity", "k": 2},
                {"type": "delta_presence", "min": 0, "max": 0.5, "subset": {"file": "/secret/part.csv"}},
            ],
        }
    )
    run = summarize_failure(policy, error, now=NOW)
    for text in (text_report(run), Page(html_report(run)).text):
        assert error.message in text and type(error).__name__ in text
        assert "secret" not in text and "file part.csv" in text and "people.parquet" in text


@pytest.mark.parametrize("seed", range(scaled(8)))
def test_class_sizes_add_up_at_every_node(seed: int) -> None:
    """With sensitive codes folded, δ-presence and uncovered values: the verdict of the node says the same."""
    world, rng = random_world(seed), random.Random(seed)
    policy = {**document(world, rng), "suppression_limit": 1}
    for plan in plans_of(world, policy):
        for node in brute.nodes(world.trees):
            levels = plan.catalog.levels(node)
            verdict = plan.evaluate(levels)
            published = plan.class_sizes(levels)
            suppressed = plan.class_sizes(levels, published=False)
            assert sum(classes for _, _, classes, _ in published) == verdict.classes
            assert sum(records for *_, records in published) == plan.catalog.population - verdict.suppressed
            assert sum(records for *_, records in suppressed) == verdict.suppressed - plan.catalog.uncovered
            for least, most, classes, records in (*published, *suppressed):
                assert least.bit_count() == 1 and most == 2 * least - 1
                assert classes * least <= records <= classes * most
            if published:
                assert published[0][0] <= verdict.smallest <= published[0][1]
                assert published[-1][0] <= verdict.largest <= published[-1][1]


def test_class_sizes_equal_plain_sql_over_the_classes(connection: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(3)
    rows = [(rng.choice("aaab"), rng.choice("pq"), rng.choice("uvwxyz")) for _ in range(400)]
    text_table(connection, ["a", "b", "c"], rows)
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "abc"}
    policy = sqlanon.Policy.from_dict(document_of(columns, k=12, table="t", suppression_limit=1))
    with sqlanon.plan(connection, policy) as plan:
        for levels in ({}, {"a": 1}, {"c": 1}, {"a": 1, "b": 1, "c": 1}):
            classes = plan.classes(levels)
            counted = classes.column_names[-1]
            with duckdb.connect() as other:
                other.register("classes", classes)
                for published, condition in ((True, ">= 12"), (False, "< 12")):
                    expected = other.execute(
                        f'SELECT 1 << bucket, (2 << bucket) - 1, COUNT(*), SUM(n)::BIGINT FROM (SELECT "{counted}" '
                        f"AS n, CAST(FLOOR(LOG2(n)) AS INTEGER) AS bucket FROM classes) WHERE n {condition} "
                        "GROUP BY bucket ORDER BY bucket"
                    ).fetchall()
                    assert plan.class_sizes(levels, published=published) == tuple(expected)
        assert plan.class_sizes() == plan.class_sizes(plan.solution.levels)
        with pytest.raises(sqlanon.InputError):
            plan.class_sizes({"nowhere": 1})


FOLDS = [(measure, aggregate) for measure in MEASURES for aggregate in (AGGREGATES if measure in FOLDED else [None])]


@pytest.mark.parametrize(
    ("measure", "aggregate"),
    [
        pytest.param(
            *fold, marks=pytest.mark.slow if fold[1] in ("sum", "geometric_mean", None) and fold[0] in FOLDED else ()
        )
        for fold in FOLDS
    ],
)
@pytest.mark.slow
@pytest.mark.few(5)
def test_losses_of_the_attributes_fold_to_the_loss(
    planted: duckdb.DuckDBPyConnection, tmp_path: Path, measure: str, aggregate: str | None
) -> None:
    policy = planted_policy(tmp_path, quality={"measure": measure, "aggregate": aggregate})
    for weight, name in enumerate("abc", start=1):
        policy["columns"][name]["weight"] = weight
    with sqlanon.anonymize(planted, policy) as release:
        losses, certificate = release.plan.attribute_losses, release.certificate
        run = summarize(release, now=NOW)
    if measure in ("discernibility", "average_class_size"):
        assert losses is None and all(a.loss is None for a in run.attributes)
    else:
        assert losses is not None and list(losses) == ["a", "b", "c"]
        weights = [1.0] * 3 if measure == "height" else [1.0, 2.0, 3.0]
        assert fold(certificate.aggregate or "", list(losses.values()), weights) == pytest.approx(certificate.loss)
        assert {a.name: a.loss for a in run.attributes} == losses
    assert all(a.values_left <= a.values for a in run.attributes)  # type: ignore[operator]
    assert f"{run.proof}" in text_report(run) and run.proof in Page(html_report(run)).text
    assert CANARY not in html_report(run) + text_report(run)


def test_a_verdict_of_the_search_has_no_parts(planted: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with sqlanon.plan(planted, planted_policy(tmp_path)) as plan:
        assert plan._verdict.by_attribute == ()
        assert len(plan.evaluate({}).by_attribute) == 3


def test_a_report_is_written_by_its_ending_whole_or_not_at_all(tmp_path: Path) -> None:
    run = made_by_hand()
    forms = {"r.html": html_report, "R.TXT": text_report, "r.md": markdown_report, "r.json": json_report}
    for name, form in forms.items():
        write_report(run, tmp_path / name)
        write_report(run, tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == form(run)
    (tmp_path / "folder.html").mkdir()
    for name in ("r.pdf", "r", "nowhere/r.html", "folder.html"):
        for refuse in (lambda p: write_report(run, p), check_report):
            with pytest.raises(sqlanon.TargetError, match="Hint:"):
                refuse(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["R.TXT", "folder.html", "r.html", "r.json", "r.md"]
