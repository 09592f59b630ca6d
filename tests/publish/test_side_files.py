"""What a run or a conversion writes beside its release never takes the place of a file that it reads, or of another."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from policies import document_of, quasi

import sqlanon
from sqlanon.cli import main

RECORDS = "a,b\n" + "".join(f"{i % 3},{i}\n" for i in range(60))
POLICY = document_of({"a": quasi({"file": "h.csv"}), "b": "drop"}, k=5, source="s.txt", output={"file": "out.csv"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.txt").write_text(RECORDS)
    (tmp_path / "h.csv").write_text("0;*\n1;*\n2;*\n")
    (tmp_path / "p.json").write_text(json.dumps(POLICY))
    return tmp_path


def invoked(*arguments: object) -> tuple[int, dict]:
    done = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize("option", ["--report", "--script", "--certificate"])
@pytest.mark.parametrize("name", ["s.txt", "p.json", "h.csv", "out.csv", "out.csv.manifest.json", "folder"])
def test_a_file_of_the_run_is_no_place_for_another(folder: Path, option: str, name: str) -> None:
    (folder / "folder").mkdir()
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, answer = invoked("run", folder / "p.json", option, folder / name, "--json")
    assert code == 2 and answer["error"] == "TargetError"
    assert before == {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_two_of_them_are_not_one_file(folder: Path) -> None:
    (folder / "link").symlink_to(folder)
    options = ["--script", folder / "z.txt", "--certificate", folder / "link" / "z.txt"]
    assert invoked("run", folder / "p.json", *options, "--json")[1]["error"] == "TargetError"
    code, answer = invoked(
        "run", folder / "p.json", "--script", folder / "z.sql", "--report", folder / "z.html", "--json"
    )
    assert code == 0 and answer["report"] == str(folder / "z.html") and (folder / "z.sql").is_file()


def test_a_failed_run_overwrites_nothing_either(folder: Path) -> None:
    policy = {**POLICY, "report": "s.txt", "privacy": [{"type": "k_anonymity", "k": 500}]}
    (folder / "p.json").write_text(json.dumps(policy))
    assert invoked("run", folder / "p.json", "--json")[1]["error"] == "TargetError"
    assert (folder / "s.txt").read_text() == RECORDS


def test_a_release_does_not_replace_its_policy(folder: Path) -> None:
    (folder / "p.json").write_text(json.dumps({**POLICY, "output": {"file": "p.xml"}, "if_exists": "replace"}))
    sqlanon_definition = folder / "p.xml"
    assert invoked("convert", folder / "p.json", folder / "q.xml", "--json")[0] == 0
    sqlanon_definition.write_bytes((folder / "q.xml").read_bytes())
    code, answer = invoked("run", sqlanon_definition, "--json")
    assert code == 2 and answer["error"] == "TargetError" and b"<definition" in sqlanon_definition.read_bytes()


@pytest.mark.parametrize("name", ["p.json", "out.xml", "s.xml"])
def test_a_conversion_does_not_replace_what_it_converts_or_names(folder: Path, name: str) -> None:
    (folder / "s.xml").write_text("<r><x><a>1</a><b>2</b></x></r>")
    (folder / "out.xml").write_text("<r/>")
    policy = {**POLICY, "source": "s.xml", "output": {"file": "out.xml"}}
    (folder / "p.json").write_text(json.dumps(policy))
    before = (folder / name).read_bytes()
    code, answer = invoked("convert", folder / "p.json", folder / name, "--replace", "--json")
    assert code == 2 and answer["error"] == "TargetError" and (folder / name).read_bytes() == before


def test_a_plan_does_not_mind_that_its_target_is_there(folder: Path) -> None:
    policy = sqlanon.Policy.from_file(folder / "p.json")
    with sqlanon.anonymize(None, policy):
        pass
    with sqlanon.plan(None, policy) as plan:
        assert plan.certificate.optimal
        with pytest.raises(sqlanon.TargetError):
            plan.publish()


@pytest.mark.parametrize(
    "changes",
    [
        {"search": {"time_limit": 10**400}},
        {"search": {"gap": 10**400}},
        {"columns": {"a": {**POLICY["columns"]["a"], "weight": 10**400}, "b": {"role": "drop"}}},
        {"privacy": [{"type": "k_anonymity", "k": 10**400}]},
        {"source": "a" * 5000},
        {"source": "\0"},
        {"join": [{"source": "\0", "key": "a"}]},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": "a" * 5000}, "b": {"role": "drop"}}},
    ],
)
def test_numbers_and_names_beyond_everything_are_told_as_faults(folder: Path, changes: dict) -> None:
    (folder / "p.json").write_text(json.dumps({**POLICY, **changes}))
    for command in (["run"], ["convert"]):
        arguments = [*command, folder / "p.json", *([folder / "q.xml"] if command == ["convert"] else []), "--json"]
        done = CliRunner().invoke(main, [*map(str, arguments)])
        assert isinstance(done.exception, SystemExit | type(None)), done.exception


@pytest.mark.parametrize("command", ["check", "nulls"])
def test_a_file_without_a_header_tells_no_record(folder: Path, command: str) -> None:
    (folder / "n.csv").write_text("Meier,Anna\nMueller,Bob\n")
    done = CliRunner().invoke(main, [command, str(folder / "n.csv"), "--qi", "name", "--k", "2"])
    assert done.exit_code == 2 and "Meier" not in done.output and "header" in done.output
