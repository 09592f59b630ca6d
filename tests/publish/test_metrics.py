"""The metrics of a run: a line for each phase and one for the run, whatever came of it, and no value."""

import json
import stat
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner
from command_line import sqlanon

from sqlanon.cli import main
from sqlanon.errors import TargetError

VALUE = "Przybylski"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of 43 records, three of which are alone, and a policy."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as opened:
        opened.execute(
            f"CREATE TABLE patients AS SELECT (i % 4)::TEXT AS age, '{VALUE}' AS name FROM range(40) AS _(i) "
            "UNION ALL SELECT '9', 'flu' FROM range(3)"
        )
    monkeypatch.chdir(tmp_path)
    policy()
    return tmp_path


def policy(**changed: Any) -> None:
    """Write the policy with other keys."""
    document = {
        "source": "clinic.duckdb",
        "table": "patients",
        "columns": {"age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "name": {"role": "drop"}},
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.1,
        "output": {"file": "r.csv"},
        "if_exists": "replace",
    }
    Path("p.yaml").write_text(yaml.safe_dump(document | changed))


def lines(file: str = "m.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


@pytest.mark.slow
def test_a_run_appends_a_line_for_each_phase_and_one_for_itself() -> None:
    done = sqlanon("run", "p.yaml", "--json", "--metrics", "m.jsonl", "--openlineage", "events.jsonl")
    shown = json.loads(done.stdout)
    *phases, run = lines()
    names = [line["phase"] for line in phases]
    assert {"encoding", "searching", "publishing", "auditing"} <= {*names} and len(names) == len({*names})
    assert sum(line["seconds"] for line in phases) <= run["seconds"] + 1e-3
    assert all(line["processor_seconds"] >= 0 for line in phases) and run["phase"] == "run"
    assert (run["outcome"], run["exit_code"], run["policy"]) == ("published", 0, "p")
    counted = ("records", "published", "suppressed", "loss", "smallest_class")
    assert {name: run[name] for name in counted} == {name: shown[name] for name in counted}
    assert run["suppressed"] == 3 and run["bytes_written"] == Path("r.csv").stat().st_size
    assert {line["run"] for line in phases} == {run["run"]} == {line["run"]["runId"] for line in lines("events.jsonl")}
    assert stat.S_IMODE(Path("m.jsonl").stat().st_mode) == 0o600
    assert VALUE not in Path("m.jsonl").read_text()


def test_what_came_of_a_run_is_in_its_last_line() -> None:
    sqlanon("run", "p.yaml", "--metrics", "m.jsonl", "--dry-run")
    policy(
        suppression_limit=0.0,
        columns={
            "age": {"role": "quasi_identifier", "max_level": 0, "hierarchy": {"suppress": {}}},
            "name": {"role": "drop"},
        },
    )
    assert sqlanon("run", "p.yaml", "--metrics", "m.jsonl").returncode == 1
    policy(table=VALUE)
    assert sqlanon("run", "p.yaml", "--metrics", "m.jsonl").returncode == 2
    Path("p.yaml").write_text("source: [")
    assert sqlanon("run", "p.yaml", "--metrics", "m.jsonl").returncode == 2
    ended = [(line["outcome"], line["exit_code"], line.get("error")) for line in lines() if line["phase"] == "run"]
    wanted = [("planned", 0, None), ("failed", 1, "NoSolutionError"), ("failed", 2, "SourceError")]
    assert ended == [*wanted, ("failed", 2, "InputError")]
    assert VALUE not in Path("m.jsonl").read_text()


@pytest.mark.slow
def test_no_other_file_is_appended_to() -> None:
    assert sqlanon("run", "p.yaml").returncode == 0
    before = {name: Path(name).read_bytes() for name in ("clinic.duckdb", "r.csv", "r.csv.manifest.json", "p.yaml")}
    for name in before:
        done = sqlanon("run", "p.yaml", "--metrics", name)
        assert done.returncode == 2 and "is no file of metrics" in done.stderr, name
    Path("notes.txt").write_text("mine")
    assert "is no file of metrics" in sqlanon("run", "p.yaml", "--metrics", "notes.txt").stderr
    assert Path("notes.txt").read_text() == "mine"
    assert {name: Path(name).read_bytes() for name in before} == before
    Path("r.csv").unlink()
    assert "another file of this run" in sqlanon("run", "p.yaml", "--metrics", "r.csv").stderr
    assert not Path("r.csv").exists()
    assert sqlanon("run", "nowhere.yaml", "--metrics", "new.jsonl").returncode == 2 and not Path("new.jsonl").exists()
    assert sqlanon("run", "p.yaml", "--metrics", "nowhere/m.jsonl").returncode == 2


@pytest.mark.slow
def test_several_policies_have_one_file() -> None:
    Path("q.yaml").write_text(Path("p.yaml").read_text().replace("r.csv", "s.csv"))
    assert sqlanon("run", "p.yaml", "q.yaml", "--metrics", "m.jsonl").returncode == 0
    ended = [line for line in lines() if line["phase"] == "run"]
    assert [line["policy"] for line in ended] == ["p", "q"] and len({line["run"] for line in ended}) == 2


@pytest.mark.slow
def test_a_release_whose_report_fails_was_published(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TargetError("The disk is full.", hint="make room.")

    monkeypatch.setattr("sqlanon.commands.run.write_beside", fail)
    assert CliRunner().invoke(main, ["run", "p.yaml", "--metrics", "m.jsonl"]).exit_code == 2
    run = lines()[-1]
    assert (run["outcome"], run["exit_code"], run["error"]) == ("published", 2, "TargetError")
    assert Path("r.csv").exists()


@pytest.mark.slow
def test_a_run_that_finds_nothing_new_says_so() -> None:
    policy(repeats="accept")
    outcomes = [sqlanon("run", "p.yaml", "--if-changed", "--metrics", "m.jsonl").returncode for _ in range(2)]
    assert outcomes == [0, 3]
    assert [line["outcome"] for line in lines() if line["phase"] == "run"] == ["published", "unchanged"]
