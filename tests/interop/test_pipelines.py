"""The files of ``sqlanon check`` for pipelines, the hooks for pre-commit and the action: read and run as others do."""

import hashlib
import json
import os
import re
import shlex
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import forks
import pytest
import yaml
from command_line import sqlanon
from policies import document_of, quasi

from sqlanon.commands.check import CheckOptions, execute
from sqlanon.report.checked_relation import CheckOutcome, RelationCheck, sarif

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Przybylski"
ROWS = [("1", "north", SECRET), ("1", "north", "flu"), ("2", "south", "flu"), ("2", "south", "flu"), ("3", "s", "cold")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of five records: one class of one, two classes of two, of which one has one diagnosis."""
    (tmp_path / "r.csv").write_text("age,region,diagnosis\n" + "".join(",".join(row) + "\n" for row in ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(*given: object) -> tuple[int, str, dict[str, Any], str]:
    """The exit code of a check with all files, and their contents."""
    for name in ("j.xml", "s.sarif", "s.md"):
        Path(name).unlink(missing_ok=True)
    done = sqlanon("check", *given, "--junit", "j.xml", "--sarif", "s.sarif", "--summary", "s.md")
    texts = [Path(name).read_text(encoding="utf-8") for name in ("j.xml", "s.sarif", "s.md")]
    assert not any(SECRET in text or str(Path.cwd()) in text for text in texts)
    return done.returncode, texts[0], json.loads(texts[1]), texts[2]


def test_a_check_that_fails_says_so_in_every_file() -> None:
    code, junit, sarif, summary = files(
        "r.csv", "--qi", "age,region", "--k", 2, "--sensitive", "diagnosis:distinct_l_diversity:l=2"
    )
    assert code == 1
    assert 'tests="2" failures="2" errors="0"' in junit and 'type="distinct_l_diversity"' in junit
    [run] = sarif["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["k_anonymity", "distinct_l_diversity"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["k_anonymity", "distinct_l_diversity"]
    [location] = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "r.csv", "uriBaseId": "%SRCROOT%"}
    assert "<2 classes (<2 records) fail." in run["results"][0]["message"]["text"]
    assert "2 classes (about 4 records) fail." in run["results"][1]["message"]["text"]
    assert "does not hold" in summary.splitlines()[0] and summary.count("**does not hold**") == 2


def test_a_check_that_holds_has_no_result() -> None:
    code, junit, sarif, summary = files("r.csv", "--qi", "region", "--k", 1)
    assert code == 0 and 'failures="0"' in junit and "<failure" not in junit
    assert sarif["runs"][0]["results"] == [] and sarif["runs"][0]["invocations"] == [{"executionSuccessful": True}]
    assert "r.csv holds" in summary


def test_what_cannot_be_checked_is_an_error_and_never_a_pass() -> None:
    code, junit, sarif, summary = files("r.csv", "--qi", "nowhere", "--k", 2)
    assert code == 2 and 'errors="1"' in junit and "<error" in junit
    assert sarif["runs"][0]["invocations"][0]["executionSuccessful"] is False
    assert "could not be checked" in summary


def test_counts_below_k_are_in_no_file() -> None:
    _, junit, sarif, summary = files("r.csv", "--qi", "age", "--k", 5)
    for text in (junit, json.dumps(sarif["runs"][0]["results"]), summary):
        assert not re.search(r"\b[1-4] (records|classes)|has [1-4]\b", text), text


def test_names_with_marks_of_markdown_and_xml_stand_as_they_are() -> None:
    Path("r.csv").write_text('"a|<b>&""c"\n1\n2\n')
    code, junit, sarif, summary = files("r.csv", "--qi", 'a|<b>&"c', "--k", 2)
    assert code == 1 and 'a|&lt;b&gt;&amp;"c' in junit and "a\\|\\<b\\>" in summary
    assert sarif["version"] == "2.1.0"


def many(classes: int, size: int, alone: int) -> None:
    """Write a release of so many classes of so many records, and of so many records that are alone."""
    rows = [(str(number), "x") for number in range(classes) for _ in range(size)]
    rows += [(f"alone {number}", "x") for number in range(alone)]
    Path("r.csv").write_text("age,region\n" + "".join(",".join(row) + "\n" for row in rows))


def test_counts_in_files_are_not_subtracted_to_fewer_than_k() -> None:
    many(3, 6, 12)
    text = json.dumps(files("r.csv", "--qi", "age", "--k", 5)[2]["runs"][0]["results"])
    assert "12 classes (about 10 records) fail." in text
    Path("r.csv").write_text(Path("r.csv").read_text() + "few,x\nfew,x\nfew,y\n")  # three records pass
    sarif = files("r.csv", "--qi", "age", "--k", 5, "--sensitive", "region:distinct_l_diversity:l=2")[2]
    assert "15 classes (>28 records) fail." in sarif["runs"][0]["results"][1]["message"]["text"]


def test_counts_below_the_size_of_a_model_are_in_no_file() -> None:
    many(20, 7, 0)
    _, junit, _, summary = files("r.csv", "--qi", "age", "--bounded-knowledge", "k=12,at_most=1")
    assert "the smallest has &lt;12" in junit and "the smallest has \\<12" in summary
    many(2, 3, 0)
    assert "has &lt;5" in files("r.csv", "--qi", "age", "--k", 1, "--sensitive", "region:distinct_l_diversity:l=2")[1]


def test_no_folder_and_no_number_of_an_error_is_in_a_file(folder: Path) -> None:
    (folder / "elsewhere" / "private").mkdir(parents=True)
    (folder / "here").mkdir()
    (folder / "r.csv").rename(folder / "elsewhere" / "private" / "r.csv")
    os.chdir(folder / "here")
    for source in ("../elsewhere/private/r.csv", "../elsewhere/private/none.csv", "../elsewhere/private"):
        code, *texts = files(source, "--qi", "age", "--k", 2)
        text = "".join(map(str, texts))
        assert code == (1 if source.endswith("r.csv") else 2) and "elsewhere" not in text and ".." not in text
    Path("odd.csv").write_text("a,b\n1,2\n1,2\n1,2,3,4\n")
    code, junit, sarif, summary = files("odd.csv", "--qi", "a", "--k", 2)
    text = junit + summary + str(sarif["runs"][0]["invocations"])
    assert code == 2 and "Line … of the file" in text and not re.search(r"\b4\b", text)


def test_files_of_an_earlier_check_do_not_stand_for_one_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    files("r.csv", "--qi", "region", "--k", 1)
    given = CheckOptions(
        source="r.csv", table=None, qi=("region",), k=1, entity=None, sensitive=(), bounded_knowledge=None,
        delta_presence=None, model=(), reference=None, reference_table=None, csv=(), manifest=None,
        as_json=False,
    )  # fmt: skip

    def stopped(options: CheckOptions) -> None:
        raise MemoryError

    monkeypatch.setattr("sqlanon.commands.check.check_named", stopped)
    with pytest.raises(MemoryError):
        execute(**asdict(given), junit="j.xml", sarif="s.sarif", summary=None)
    assert 'errors="1"' in Path("j.xml").read_text()
    assert json.loads(Path("s.sarif").read_text())["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("paper", ["r.csv.manifest.json", "r.csv.certificate.json", "h.csv"])
def test_no_paper_of_the_release_is_written_over(paper: str) -> None:
    Path(paper).write_text("1;*\n")
    model = "diagnosis:t_closeness:t=0.5,distance=hierarchical,hierarchy=h.csv"
    given = ["r.csv", "--qi", "age", "--sensitive", model, "--reference", "r.csv"]
    done = sqlanon("check", *given, "--junit", paper)
    assert done.returncode == 2 and "TargetError" in done.stderr and Path(paper).read_text() == "1;*\n"


def test_a_summary_on_standard_output_takes_the_place_of_exact_counts() -> None:
    done = sqlanon("check", "r.csv", "--qi", "age", "--k", 5, "--summary", "-")
    assert done.returncode == 1 and done.stdout.startswith("### sqlanon check: r.csv does not hold")
    assert not re.search(r"\b[1-4] (records|classes)|has [1-4]\b", done.stdout) and not Path("-").exists()
    assert sqlanon("check", "r.csv", "--qi", "nowhere", "--k", 5, "--summary", "-").returncode == 2
    assert sqlanon("check", "r.csv", "--qi", "age", "--k", 5, "--summary", "-", "--json").returncode == 2
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hooks[1]["entry"] == "sqlanon check --summary -"


def test_a_summary_begins_a_line_of_its_own() -> None:
    Path("s.md").write_text("no end of line")
    assert sqlanon("check", "r.csv", "--qi", "region", "--k", 1, "--summary", "s.md").returncode == 0
    assert "no end of line\n### sqlanon" in Path("s.md").read_text()


def test_a_name_is_no_link_and_no_place_for_an_argument_in_sarif() -> None:
    name = "[x](https://y) {0}\u202e"
    text = sarif(RelationCheck(name, None, [CheckOutcome("k_anonymity", name, holds=False, text="It fails.")]))
    [run] = json.loads(text)["runs"]
    assert run["results"][0]["message"]["text"].startswith("\\[x\\](https://y) {{0}}\\\\u202e does not hold")
    failed = json.loads(sarif(RelationCheck("r", None, [], error=name)))["runs"][0]["invocations"][0]
    assert "\\[x\\]" in failed["toolExecutionNotifications"][0]["message"]["text"] and "\u202e" not in text


def test_no_name_of_a_policy_begins_a_line() -> None:
    columns = {"a\n::error file=x::y": {"role": "none"}}
    model = [{"type": "k_anonymity", "k": 5}]
    Path("bad.yaml").write_text(yaml.safe_dump({"source": "r.csv", "columns": columns, "privacy": model}))
    done = sqlanon("policy", "check", "bad.yaml")
    assert done.returncode == 2 and "::error" in done.stderr
    assert not any(line.lstrip().startswith("::") for line in done.stderr.splitlines())


def test_papers_are_a_test_of_their_own() -> None:
    digest = hashlib.sha256(Path("r.csv").read_bytes()).hexdigest()
    Path("r.csv.manifest.json").write_text(json.dumps({"sha256": {"release": digest}}))
    code, junit, sarif, _ = files("r.csv", "--manifest")
    assert code == 0 and 'tests="1" failures="0"' in junit
    Path("r.csv").write_text("changed\n")
    code, junit, sarif, _ = files("r.csv", "--manifest")
    assert code == 1 and [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["papers"]


def test_an_address_of_a_server_stands_in_no_file() -> None:
    for name in ("j.xml", "s.sarif", "s.md"):
        Path(name).unlink(missing_ok=True)
    source = "postgresql://somebody:secret@127.0.0.1:1/none"
    done = sqlanon("check", source, "public.t", "--qi", "a", "--k", 2, "--junit", "j.xml", "--sarif", "s.sarif")
    assert done.returncode == 2
    text = Path("j.xml").read_text() + Path("s.sarif").read_text()
    assert "secret" not in text and "public.t" in text


@pytest.mark.parametrize("name", ["r.csv", "nowhere/j.xml", "."])
def test_a_file_that_cannot_be_written_is_refused_before_any_work(name: str, folder: Path) -> None:
    before = (folder / "r.csv").read_bytes()
    done = sqlanon("check", "r.csv", "--qi", "age", "--k", 1, "--junit", name)
    assert done.returncode == 2 and "TargetError" in done.stderr and not done.stdout
    assert (folder / "r.csv").read_bytes() == before
    done = sqlanon("check", "r.csv", "--qi", "age", "--k", 1, "--junit", "x", "--sarif", "x")
    assert done.returncode == 2 and not Path("x").exists()


def test_a_reader_of_junit_reads_it() -> None:
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    files("r.csv", "--qi", "age", "--k", 2)
    [suite] = junitparser.JUnitXml.fromfile("j.xml")
    assert (suite.tests, suite.failures, suite.errors) == (1, 1, 0)
    [case] = suite
    assert case.name == "k_anonymity(k=2)" and case.result[0].type == "k_anonymity"
    files("r.csv", "--qi", "nowhere", "--k", 2)
    [suite] = junitparser.JUnitXml.fromfile("j.xml")
    assert (suite.tests, suite.failures, suite.errors) == (1, 0, 1)


def test_a_reader_of_sarif_reads_it() -> None:
    loader = pytest.importorskip("sarif.loader", reason="sarif-tools is not installed")
    files("r.csv", "--qi", "age", "--k", 2)
    assert loader.load_sarif_file("s.sarif").get_report().get_issue_count_for_severity("error") == 1


@pytest.mark.parametrize("qi", ["age", "nowhere"])
def test_every_key_is_one_of_the_object_model_of_sarif(qi: str) -> None:
    model = pytest.importorskip("sarif_om", reason="sarif-om is not installed")
    _, _, document, _ = files("r.csv", "--qi", qi, "--k", 2)
    kinds = {
        "": "SarifLog", "runs": "Run", "tool": "Tool", "driver": "ToolComponent", "rules": "ReportingDescriptor",
        "notifications": "ReportingDescriptor", "results": "Result", "message": "Message", "locations": "Location",
        "physicalLocation": "PhysicalLocation", "artifactLocation": "ArtifactLocation", "region": "Region",
        "logicalLocations": "LogicalLocation", "invocations": "Invocation", "automationDetails": "RunAutomationDetails",
        "shortDescription": "MultiformatMessageString", "defaultConfiguration": "ReportingConfiguration",
        "toolExecutionNotifications": "Notification", "descriptor": "ReportingDescriptorReference",
    }  # fmt: skip

    def compare(key: str, found: Any) -> int:
        if isinstance(found, list):
            return sum(compare(key, item) for item in found)
        if not isinstance(found, dict) or key == "partialFingerprints":
            return 0
        fields = {f.metadata["schema_property_name"]: f for f in getattr(model, kinds[key]).__attrs_attrs__}
        assert found.keys() <= fields.keys(), key
        required = {name for name, f in fields.items() if repr(f.default) == "NOTHING"}
        assert required <= found.keys(), (key, required)
        return 1 + sum(compare(name, item) for name, item in found.items())

    assert compare("", document) > 8


def test_policies_are_checked_without_their_sources() -> None:
    good = document_of({"a": quasi({"file": "h.csv"})}, k=5, source="absent.duckdb", table="t")
    Path("h.csv").write_text("1;*\n2;*\n")
    Path("good.yaml").write_text(yaml.safe_dump(good))
    Path("bad.yaml").write_text(yaml.safe_dump({**good, "unknown": []}))
    done = sqlanon("policy", "check", "good.yaml")
    assert done.returncode == 0 and "no fault" in done.stdout and not done.stderr
    done = sqlanon("policy", "check", "good.yaml", "bad.yaml", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 2 and not document["valid"]
    assert [item["valid"] for item in document["policies"]] == [True, False]
    assert document["policies"][0]["hierarchies"] == 1 and document["policies"][1]["faults"]
    Path("h.csv").write_text("1;a\n1;b\n")
    done = sqlanon("policy", "check", "good.yaml")
    assert done.returncode == 2 and "HierarchyError" in done.stderr


def test_the_hooks_name_commands_that_there_are() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["sqlanon-policy", "sqlanon-check"]
    for hook in hooks:
        _, *words = shlex.split(hook["entry"])
        assert sqlanon(*words, "--help").returncode == 0
    pattern = re.compile(hooks[0]["files"])
    assert pattern.search("policies/a.yaml") and pattern.search("x/a.policy.json")
    assert not pattern.search("mkdocs.yml") and not pattern.search("policies/a.csv")


def check_step(folder: Path, **inputs: str) -> tuple[int, str, str, dict[str, str]]:
    """Run the step ``check`` of the action as a runner does: its exit code, what it printed, summary and outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    given = {name: str(item.get("default", "")) for name, item in action["inputs"].items()} | inputs
    [step] = [step for step in action["runs"]["steps"] if step.get("id") == "check"]
    values = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text)
        for name, text in step["env"].items()
    }
    runner = folder / "runner"
    program = runner / "sqlanon" / "bin" / "sqlanon"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {forks.started()} "$@"\n')
    program.chmod(0o755)
    paths = {name: runner / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for path in paths.values():
        path.write_text("")
    environment = {**os.environ, **values, **{name: str(path) for name, path in paths.items()}}
    environment |= {"RUNNER_TEMP": str(runner), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    outputs = dict(line.split("=", 1) for line in paths["GITHUB_OUTPUT"].read_text().splitlines())
    return done.returncode, done.stdout + done.stderr, paths["GITHUB_STEP_SUMMARY"].read_text(), outputs


@pytest.mark.slow
def test_the_action_checks_and_sums_up(folder: Path) -> None:
    lines = "diagnosis:distinct_l_diversity:l=1\ndiagnosis:entropy_l_diversity:l=1\n"
    code, _, summary, outputs = check_step(folder, source="r.csv", qi="region", k="1", sensitive=lines)
    assert code == 0 and summary.count("| holds |") == 3 and outputs["holds"] == "true"
    before = outputs["json"]
    assert json.loads(Path(before).read_text())["holds"] is True
    code, printed, summary, outputs = check_step(
        folder, source="r.csv", qi="age", k="2", sarif="s.sarif", junit="j.xml"
    )
    assert code == 1 and outputs["holds"] == "false" and summary in printed
    first, *_, last = printed.split()
    assert first.startswith("::stop-commands::") and last == f"::{first.removeprefix('::stop-commands::')}::"
    assert len(last) > 30 and json.loads(Path(before).read_text())["holds"] is True  # of the step before
    code, printed, _, outputs = check_step(folder, source="--version")
    assert code == 2 and outputs["holds"] == ""
    assert Path("s.sarif").exists() and Path("j.xml").exists()
    code, _, summary, outputs = check_step(folder, source="r.csv", qi="age; touch evil $(touch evil)", k="2")
    assert code == 2 and outputs["holds"] == "" and "could not be checked" in summary and not Path("evil").exists()
    code, _, summary, _ = check_step(folder, source="r.csv", manifest="beside")
    assert code == 2 and "could not be checked" in summary


def test_every_input_of_the_action_is_used_and_none_stands_in_a_script() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    action = yaml.safe_load(text)
    assert {name for name in action["inputs"] if f"inputs.{name}" not in text} == set()
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "a runner pastes an expression into the script as it is"
        assert "run" not in step or step["shell"] == "bash"
