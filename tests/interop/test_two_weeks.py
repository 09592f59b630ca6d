"""The recipes of docs/examples over two weeks of nights, with stand-ins for Airflow and Dagster.

Each night records come and go in a database. Once the database is away for a moment, on two nights nothing changes,
once a value comes that no hierarchy lists, and once a load is cut short, so that the levels do not meet the policy.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
import yaml
from command_line import sqlanon

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
AWAY, QUIET, UNKNOWN, SHORT = 4, (6, 7), 10, 12
NIGHTS = range(1, 15)
WANTED = dict.fromkeys(NIGHTS, "published") | {6: "skipped", 7: "skipped", 10: "failed", 12: "failed"}
POLICY = {
    "source": "hospital.duckdb",
    "table": "visits",
    "columns": {
        "ward": {"role": "quasi_identifier", "hierarchy": {"groups": {"a": ["0", "1", "2"], "b": ["3", "4", "5"]}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10, "lower": 0, "upper": 100}}},
    },
    "undeclared": "drop",
    "privacy": [{"type": "k_anonymity", "k": 5}],
    "suppression_limit": 0.05,
    "like": "released.parquet.manifest.json",
    "output": {"file": "released.parquet"},
    "if_exists": "replace",
}  # fmt: skip


@dataclass
class Hospital:
    """The source by night: 30 records come and 20 go.

    Attributes:
        path: its database.
        tries: how often a run began tonight.
        night: which it is.
    """

    path: Path
    night: int = 0
    tries: int = 0

    def change(self, night: int) -> None:
        """Let a day pass."""
        self.night, self.tries = night, 0
        with duckdb.connect(str(self.path)) as opened:
            if night == 0:
                opened.execute(
                    "CREATE TABLE visits AS SELECT i AS id, (i % 6)::TEXT AS ward, (i * 7) % 90 AS age "
                    "FROM range(2000) AS _(i)"
                )
            elif night not in QUIET:
                if night == SHORT + 1:
                    opened.execute("DELETE FROM visits; INSERT INTO visits FROM whole")
                opened.execute(
                    "DELETE FROM visits WHERE ward = 'x' "
                    "OR id IN (SELECT id FROM visits ORDER BY hash(id + ?) LIMIT 20)",
                    [night],
                )
                opened.execute(
                    "INSERT INTO visits SELECT 2000 + ? * 100 + i, (i % 6)::TEXT, (i * 11) % 90 FROM range(30) AS _(i)",
                    [night],
                )
            if night == UNKNOWN:
                opened.execute("INSERT INTO visits VALUES (-1, 'x', 30)")
            if night == SHORT:
                opened.execute("CREATE TABLE whole AS FROM visits")
                opened.execute("DELETE FROM visits WHERE id NOT IN (SELECT id FROM visits ORDER BY id LIMIT 12)")

    def begin(self) -> None:
        """Note that a run begins. On one night the database is away for the first of them."""
        self.tries += 1
        hidden = self.path.with_suffix(".away")
        if self.night == AWAY and self.tries == 1:
            self.path.rename(hidden)
        elif hidden.exists():
            hidden.rename(self.path)


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hospital:
    """The source and its first release, whose levels are searched."""
    monkeypatch.chdir(tmp_path)
    found = Hospital(tmp_path / "hospital.duckdb")
    found.change(0)
    Path("policy.yaml").write_text(yaml.safe_dump(POLICY))
    done = sqlanon("run", "policy.yaml", "--replan")
    assert done.returncode == 0, done.stderr
    return found


def example(
    name: str, hospital: Hospital, monkeypatch: pytest.MonkeyPatch, modules: dict[str, ModuleType]
) -> ModuleType:
    """Import a recipe, whose commands run in this process."""
    for module, stand_in in modules.items():
        monkeypatch.setitem(sys.modules, module, stand_in)
    for variable, value in {"QI": "ward,age", "RELEASE": "released.parquet"}.items():
        monkeypatch.setenv(f"SQLANON_{variable}", value)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if command[1] == "run":
            hospital.begin()
        return sqlanon(*command[1:])

    monkeypatch.setattr(found.subprocess, "run", run)
    return found


def released() -> list[tuple[Any, ...]]:
    """The released rows. No class is small, and the manifest counts them."""
    rows = duckdb.sql("SELECT ward, age, count(*) FROM 'released.parquet' GROUP BY ALL").fetchall()
    manifest = json.loads(Path("released.parquet.manifest.json").read_text())
    assert min(count for *_, count in rows) >= 5
    assert sum(count for *_, count in rows) == manifest["ledger"]["published"]
    return sorted(rows)


def levels_of_release() -> list[int]:
    return [column["level"] for column in json.loads(Path("released.parquet.manifest.json").read_text())["columns"]]


def two_weeks(hospital: Hospital, night_of: Callable[[], str]) -> list[str]:
    """Let two weeks pass, and return what came of each night; a release stands after all of them."""
    levels = levels_of_release()
    outcomes = []
    for night in NIGHTS:
        hospital.change(night)
        before = Path("released.parquet").read_bytes()
        outcomes.append(night_of())
        changed = Path("released.parquet").read_bytes() != before
        assert changed == (outcomes[-1] == "published") and released()
    assert levels_of_release() == levels
    lines = [json.loads(line) for line in Path("metrics.jsonl").read_text().splitlines()]
    ended = [line for line in lines if line["phase"] == "run"]
    assert [line["outcome"] for line in ended].count("unchanged") == len(QUIET)
    errors = [line["error"] for line in ended if line["outcome"] == "failed"]
    assert errors == ["SourceError", "UncoveredValuesError", "NoSolutionError"]
    return outcomes


@dataclass
class Scheduler:
    """A stand-in of Airflow: the tasks of a recipe by their names, and its arguments."""

    tasks: dict[str, Callable[..., Any]] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)

    def task(self, function: Callable[..., Any]) -> Callable[..., None]:
        self.tasks[function.__name__] = function
        return lambda *_: None

    def dag(self, **given: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
        self.given = given
        return lambda function: function


@pytest.mark.slow
def test_airflow_over_two_weeks(
    hospital: Hospital, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler = Scheduler()
    exceptions, sdk = ModuleType("airflow.exceptions"), ModuleType("airflow.sdk")
    again = type("AirflowException", (Exception,), {})
    fails, skips = (type(name, (again,), {}) for name in ("AirflowFailException", "AirflowSkipException"))
    for kind in (again, fails, skips):
        setattr(exceptions, kind.__name__, kind)
    for name in ("dag", "task"):
        setattr(sdk, name, getattr(scheduler, name))
    modules = {"airflow": ModuleType("airflow"), "airflow.exceptions": exceptions, "airflow.sdk": sdk}
    example("airflow_dag", hospital, monkeypatch, modules)
    settings = scheduler.given["default_args"]

    def night() -> str:
        for left in reversed(range(settings["retries"] + 1)):
            try:
                release = scheduler.tasks["publish"]()
            except skips:
                return "skipped"
            except again as error:
                if isinstance(error, fails) or not left:
                    settings["on_failure_callback"]({"exception": error})
                    return "failed"
            else:
                assert scheduler.tasks["check"](release) is True
                return "published"
        raise AssertionError

    assert two_weeks(hospital, night) == [*WANTED.values()]
    alerts = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ALERT")]
    assert [line.rpartition("(")[2] for line in alerts] == ["UncoveredValuesError)", "NoSolutionError)"]
    assert scheduler.given["max_active_runs"] == 1 and scheduler.given["catchup"] is False


@dataclass
class Result:
    metadata: dict[str, Any] = field(default_factory=dict)
    passed: bool = True


class Failure(Exception):
    """As Dagster's: with ``allow_retries``."""

    def __init__(self, description: str, allow_retries: bool = True) -> None:
        super().__init__(description)
        self.allow_retries = allow_retries


@pytest.mark.slow
def test_dagster_over_two_weeks(hospital: Hospital, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def decorate(**options: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        given.update(options)
        return lambda function: function

    dagster = ModuleType("dagster")
    stand_ins = {
        "asset": decorate, "asset_check": decorate, "MaterializeResult": Result, "AssetCheckResult": Result,
        "Failure": Failure, "RetryPolicy": dict, "ScheduleDefinition": dict, "Definitions": dict,
        "AssetSelection": type("AssetSelection", (), {"assets": staticmethod(lambda *_: None)}),
    }  # fmt: skip
    for name, stand_in in stand_ins.items():
        setattr(dagster, name, stand_in)
    recipe = example("dagster_assets", hospital, monkeypatch, {"dagster": dagster})

    def night() -> str:
        for left in reversed(range(given["retry_policy"]["max_retries"] + 1)):
            try:
                result = recipe.release()
            except Failure as error:
                if not error.allow_retries or not left:
                    return "failed"
            else:
                assert recipe.models_hold().passed
                return "skipped" if result.metadata == {"unchanged": True} else "published"
        raise AssertionError

    assert two_weeks(hospital, night) == [*WANTED.values()]
