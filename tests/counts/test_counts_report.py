"""The report of tables of counts: what each audience may read of it, and that values stay text in every form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from reports import HOSTILE

import sqlanon
from sqlanon.cli import main
from sqlanon.report.document import report_document
from sqlanon.report.html import html_report
from sqlanon.report.markdown import markdown_report
from sqlanon.report.text import text_report
from sqlanon.report.view import view_of

ROWS = {("f", "n"): 2, ("f", "s"): 9, ("f", None): 7, ("m", "n"): 8, ("m", "s"): 30, ("m", None): 12, ("x", "s"): 6}
TABLE = "t <b>1</b>\u202e"


def released(**changes: Any) -> sqlanon.CountsRelease:
    """The release of a table by sex and region: one cell is unsafe."""
    found = [(sex, region, number) for (sex, region), times in ROWS.items() for number in range(times)]
    data = {"sex": [r[0] for r in found], "region": [r[1] for r in found], "cost": [float(r[2]) for r in found]}
    asked = {"table": "t", "counts": {TABLE: {"dimensions": ["sex", "region"]}}, "threshold": 4}
    with duckdb.connect() as connection:
        connection.from_arrow(pa.table(data)).create("t")
        return sqlanon.counts(connection, asked | changes)


def test_the_operator_reads_why_each_cell_is_suppressed() -> None:
    found = released()
    lines = [line.split() for line in text_report(found).splitlines()]
    assert ["f", "x", "(t)", "x", "(c)", "7", "18"] in lines or ["f", "x", "(t)", "9", "x", "(c)", "18"] in lines
    assert ["threshold", "1"] in lines, "one cell is unsafe"
    assert report_document(found)["facts"]["unsafe"] == 1
    sections = {section["key"]: " ".join(section["sentences"]) for section in report_document(found)["sections"]}
    assert "Counts of records" in sections["table-1"]
    assert found.reasons.count("threshold") == 1 and found.reasons.count("") + found.protection.suppressed_cells == 16


@pytest.mark.parametrize("measures", [[], [{"sum": "cost"}, {"mean": "cost"}]])
@pytest.mark.parametrize("groups", [[], ["region"], ["sex"]])
def test_every_unsafe_cell_has_its_rules(measures: list[Any], groups: list[str]) -> None:
    table = {TABLE: {"dimensions": ["sex", "region"], "measures": measures}}
    found = released(counts=table, groups=groups, threshold=8)
    rules = [set(why.split(", ")) for why in found.reasons if why]
    assert sum("complementary" not in own for own in rules) == found.protection.unsafe > 3
    assert sum(own == {"complementary"} for own in rules) == found.protection.complementary
    assert any("groups" in own for own in rules) == (groups == ["region"])
    assert any("dominance" in own or "p_percent" in own for own in rules) == bool(measures)


def test_a_recipient_reads_what_the_release_and_its_manifest_show() -> None:
    """A release that differs in all that is the operator's own gives the same report."""
    found = released()
    other = replace(
        found,
        reasons=tuple("complementary" if why else "" for why in found.reasons),
        protection=replace(found.protection, primary=~found.protection.primary, weight=9.0, how="heuristic"),
        records=7, left_out=4, seconds={}, statements=0, warnings=("of the operator",), query="", by_dimension={},
        policy=replace(found.policy, policy=replace(found.policy.policy, table="secret")),
    )  # fmt: skip
    for form in (html_report, text_report, markdown_report):
        shown = form(found, "recipient")
        assert shown == form(other, "recipient") and form(found) != form(other)
        assert "complementary" not in shown and "fingerprint" not in shown
    assert report_document(found, "recipient") == report_document(other, "recipient")
    assert view_of(found, "recipient").when == view_of(found).when[:10]


@pytest.mark.parametrize("audience", ["operator", "recipient"])
def test_values_stay_text(audience: str) -> None:
    names = [*HOSTILE, "| a |", "# b", "</td>"]
    counted = {"a <i>": [name for name in names for _ in range(8)], "b \u202e|": [n % 2 for n in range(8 * len(names))]}
    with duckdb.connect() as connection:
        connection.from_arrow(pa.table(counted)).create("t")
        asked = {"table": "t", "counts": {TABLE: {"dimensions": [*counted]}, "other": {"dimensions": [*counted][::-1]}}}
        found = sqlanon.counts(connection, asked)
    page, text, markdown = (form(found, audience) for form in (html_report, text_report, markdown_report))
    assert "<script" not in page and "<i>" not in page and "<b>" not in page and "&lt;script&gt;" in page
    assert not [form for form in (page, text, markdown) if "\u202e" in form]
    assert "| a |" not in markdown.replace("\\", "\\\\").replace("\\\\|", "") and "\\# b" in markdown
    assert max(map(len, text.splitlines())) <= 130


@pytest.mark.slow
def test_a_large_table_says_how_many_rows_it_leaves_out() -> None:
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE t AS SELECT i // 9 AS a, i % 2 AS b FROM range(1800) AS r(i)")
        found = sqlanon.counts(connection, {"table": "t", "counts": {"c": {"dimensions": ["a", "b"]}}})
    text = text_report(found, "recipient")
    assert "And 141 rows more" in text and "And 140 categories more." in text and len(text.splitlines()) < 200


def test_the_command_writes_it_and_nothing_over_a_file_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a\n" + "1\n" * 9 + "2\n" * 3)
    Path("c.json").write_text('{"source": "t.csv", "counts": {"by": {"dimensions": ["a"]}}, "report": "of-key.md"}')

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return int(str(ended.value.code)), capsys.readouterr().err

    assert run("counts", "c.json")[0] == 0 and "suppressed: unsafe" in Path("of-key.md").read_text()
    assert run("counts", "c.json", "--report", "r.html", "--audience", "recipient")[0] == 0
    assert "unsafe:" not in Path("r.html").read_text()
    for name in ("c.json", "r.pdf", "nowhere/r.html"):
        code, said = run("counts", "t.csv" if name == "t.csv" else "c.json", "--report", name)
        assert code == 2 and "TargetError" in said, name
    assert run("counts", "t.csv", "--by", "a", "--to", "out.json", "--report", "out.json")[0] == 2
    assert not Path("out.json").exists() and Path("c.json").read_text().startswith('{"source"')


def test_an_interrupt_of_the_certificate_says_that_the_release_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(release: sqlanon.CountsRelease, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlanon.CountsRelease, "write_proof", interrupted)
    source, out, asked = tmp_path / "t.csv", tmp_path / "out.csv", tmp_path / "c.json"
    source.write_text("a\n" + "1\n" * 9)
    asked.write_text(json.dumps({"source": str(source), "counts": {"by": {"dimensions": ["a"]}}, "output": str(out)}))
    with pytest.raises(SystemExit):
        main(["counts", str(asked), "--certificate", str(tmp_path / "proof.json")])
    assert out.exists() and "published before" in capsys.readouterr().err
