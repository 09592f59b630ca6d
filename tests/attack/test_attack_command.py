"""The command attack as a user calls it: text, JSON, exit codes, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import sqlanon
from policies import intervals

from sqlanon import InputError, anonymize, attack, attack_file, write_report
from sqlanon.assess.attack.facts import AttackReport, Control, Finding
from sqlanon.assess.attack.world import open_world
from sqlanon.core.policy import as_policy
from sqlanon.report.attack_view import attack_view

ROWS = [("a", "1", "p"), ("a", "1", "q"), ("a", "2", "p"), ("b", "2", "p"), ("b", "2", "q"), ("b", "1", "r")]
POLICY = {
    "source": "t.csv",
    "columns": {
        "a": {"role": "quasi_identifier", "hierarchy": {"levels": {"a": ["*"], "b": ["*"]}}},
        "b": {"role": "keep"},
        "c": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
    },
    "privacy": [{"type": "k_anonymity", "k": 3}],
    "output": {"file": "released.parquet"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source and its release, of two classes of three records."""
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in ROWS))
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(POLICY))
    monkeypatch.chdir(tmp_path)
    done = sqlanon("run", "p.yaml")
    assert done.returncode == 0, done.stderr
    return tmp_path


def attacked(*arguments: object) -> dict[str, Any]:
    done = sqlanon("attack", *arguments, "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(*arguments: object) -> str:
    done = sqlanon("attack", *arguments)
    assert done.returncode == 2 and not done.stdout, (done.stdout, done.stderr)
    return str(done.stderr)


@pytest.mark.slow
def test_findings_in_json_and_text() -> None:
    found = attacked("released.parquet", "--policy", "p.yaml")
    by_name = {item["attack"]: item for item in found["findings"]}
    assert (found["records"], found["published"]) == (6, 6)
    quasi, kept = by_name["singling_out_quasi_identifiers"], by_name["singling_out_kept_columns"]
    assert (quasi["attempts"], quasi["successes"], quasi["rate"]) == (6, 0, 0)
    assert (kept["attempts"], kept["successes"], kept["risk"]) == (6, 2, "singling_out")
    assert kept["interval"] == pytest.approx([0.096771, 0.700007], abs=1e-6)
    text = sqlanon("attack", "released.parquet", "--policy", "p.yaml", "--holdout", "0", "--report", "r.html").stdout
    assert text.startswith("released.parquet: 6 records, of 6 records of the source.\n")
    assert "singling_out_kept_columns: 2 of 6 attempts succeed (33.3 %" in text
    assert "33.3 %" in Path("r.html").read_text()


def test_a_report_has_every_form_and_is_for_the_operator() -> None:
    found = attack("released.parquet", "p.yaml", holdout=0)
    for ending, said in {
        "html": "Attacks on",
        "txt": "report of attacks",
        "md": "# Attacks on",
        "json": '"facts"',
    }.items():
        write_report(found, f"r.{ending}")
        text = Path(f"r.{ending}").read_text()
        assert (said in text and "33.3 %" in text) or ending == "json", ending
    assert json.loads(Path("r.json").read_text())["facts"]["findings"] == found.to_dict()["findings"]
    with pytest.raises(InputError, match="for the operator"):
        write_report(found, "r.md", audience="recipient")


def test_the_headline_says_whether_an_attack_does_better_beside_a_control_group() -> None:
    plain = Finding(attack="minimality", risk="inference", attempts=10, successes=0, how="", meaning="")
    for control, said in (
        (None, "Nothing was compared"),
        (Control(10, 4, 10, 5), "No attack does better"),
        (Control(10, 5, 10, 4), "Largest excess over a control group: 16.7 % (guess)."),
    ):
        item = Finding(attack="guess", risk="inference", attempts=10, successes=5, how="", meaning="", control=control)
        view = attack_view(AttackReport("r", 10, 10, 1, (plain, item), (), ""))
        assert view.headline.startswith(said)


def test_releases_with_columns_that_the_source_lacks_are_not_compared() -> None:
    policy = as_policy("p.yaml")
    with pytest.raises(InputError, match="no column 'zip', which is a quasi-identifier of another release"):
        open_world("released.parquet", policy, known=("a", "zip")).__enter__()


@pytest.mark.slow
def test_other_releases_need_their_policies_and_another_secret(folder: Path) -> None:
    for also in (["r.csv"], "r.csv", [(3, POLICY)]):
        with pytest.raises(InputError, match=r"no releases with their policies|no path of a file"):
            attack("released.parquet", "p.yaml", also=also, holdout=0)  # type: ignore[arg-type]
    known = {"role": "quasi_identifier", "hierarchy": {"levels": {word: ["*"] for word in "pqr"}}}
    other = {**POLICY, "columns": {**POLICY["columns"], "c": known}, "output": {"file": "other.csv"}}  # type: ignore[dict-item]
    anonymize(None, other).close()
    found = attack("released.parquet", "p.yaml", also=[("other.csv", other)], holdout=0)
    [item] = [item for item in found.not_applicable if item.attack == "composition_inference"]
    assert item.reason == "'c' is a quasi-identifier of another release: known."


def test_an_empty_source_gives_nothing_away(folder: Path) -> None:
    (folder / "empty.csv").write_text("a,b,c\n")
    found = attack_file("t.csv", "empty.csv", ["a"])
    assert {item.successes for item in found.findings} == {0}


@pytest.mark.slow
def test_a_limit_makes_the_exit_code() -> None:
    passed = sqlanon("attack", "released.parquet", "--policy", "p.yaml", "--fail-over", "1")
    assert passed.returncode == 0 and "Attacks above 100.0%: none." in passed.stdout
    failed = sqlanon(
        "attack", "released.parquet", "--policy", "p.yaml", "--fail-over", "0.3", "--holdout", "0", "--json"
    )
    assert failed.returncode == 1 and "singling_out_kept_columns" in json.loads(failed.stdout)["above"]


def test_what_is_no_release_of_the_policy_is_refused(folder: Path) -> None:
    assert "There is no file 'other.parquet'" in refused("other.parquet", "--policy", "p.yaml")
    (folder / "lacking.csv").write_text("a,c\na,p\n")
    assert "no column 'b'" in refused("lacking.csv", "--policy", "p.yaml")
    (folder / "strange.csv").write_text("a,b,c\nzebra,1,p\n")
    errors = refused("strange.csv", "--policy", "p.yaml")
    assert "values of 'a' that no level" in errors and "zebra" not in errors


@pytest.mark.slow
def test_options_out_of_their_range_are_refused() -> None:
    for option, value, said in (("--holdout", 0.95, "not a share of records"), ("--fail-over", 2, "not from 0 to 1")):
        assert said in refused("released.parquet", "--policy", "p.yaml", option, value)


def test_policies_whose_releases_cannot_be_compared_are_refused(folder: Path) -> None:
    changed = {**POLICY, "columns": {**POLICY["columns"], "a": intervals(10)}}  # fmt: skip
    (folder / "instead.yaml").write_text(yaml.safe_dump({**changed, "publish": {"a": {"as": "midpoint"}}}))
    assert "in place of the texts of 'a'" in refused("released.parquet", "--policy", "instead.yaml")


@pytest.mark.slow
def test_nothing_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spilled = folder / "spilled"
    spilled.mkdir()
    monkeypatch.setenv("TMPDIR", str(spilled))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found = attacked("released.parquet", "--policy", "p.yaml")
    assert "drawn at random" in found["control"] and not [*spilled.iterdir()]
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
