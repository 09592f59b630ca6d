"""What the README and its first pages in docs/ show runs as it is printed: policies, commands and Python."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
README, POLICY, COMMANDS, PYTHON = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("README.md", "docs/policy.md", "docs/commands.md", "docs/python.md")
)
GROUPS = {"heart": ["angina", "infarct"], "lung": ["asthma", "copd"], "bone": ["hip", "knee"]}


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands() -> list[list[str]]:
    """The commands on the policy, of the README and then of the page of commands."""
    lines = "\n".join(blocks(README, "sh") + blocks(COMMANDS, "sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("sqlanon ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital that the pages describe."""
    directory = tmp_path_factory.mktemp("readme")
    values = [value for members in GROUPS.values() for value in members]
    listed = ", ".join(f"'{value}'" for value in values)
    with duckdb.connect(str(directory / "hospital.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE discharges AS SELECT i AS patient_id, "
            "CASE WHEN hash(i) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
            "CAST(hash(i + 7) % 90 AS INTEGER) AS age, CAST(10000 + hash(i + 1) % 40 AS VARCHAR) AS zip, "
            "DATE '2025-01-01' + CAST(hash(i + 2) % 600 AS INTEGER) AS admitted, "
            f"list_extract([{listed}], CAST(hash(i + 3) % {len(values)} AS INTEGER) + 1) AS diagnosis, "
            "CAST(hash(i + 4) % 20 AS INTEGER) AS stay FROM range(4000) AS t(i)"
        )
        connection.execute(f"COPY discharges TO '{directory / 'all.parquet'}'")
    rows = [f"{value};{group};*" for group, members in GROUPS.items() for value in members]
    (directory / "diagnosis.csv").write_text("\n".join(rows), encoding="utf-8")
    (directory / "policy.yaml").write_text(blocks(README, "yaml")[0], encoding="utf-8")
    return directory


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=300
    )


@pytest.mark.slow
def test_the_commands_run_on_the_policy(folder: Path) -> None:
    shown = commands()
    assert {command[1] for command in shown} == {
        "run", "explain", "check", "verify", "nulls", "convert", "hierarchy",
    }  # fmt: skip
    for command in shown:
        done = run(folder, [sys.executable, "-m", "sqlanon.cli", *command[1:]])
        assert done.returncode == 0, (command, done.stdout[-500:], done.stderr[-1000:])
    assert (folder / "run.html").stat().st_size and (folder / "definition.xml").stat().st_size


def test_every_check_names_all_quasi_identifiers() -> None:
    columns = yaml.safe_load(blocks(README, "yaml")[0])["columns"]
    names = [name for name, column in columns.items() if column["role"] == "quasi_identifier"]
    checks = [command for command in commands() if command[1] in ("check", "nulls")]
    assert checks and all(command[command.index("--qi") + 1].split(",") == names for command in checks)


@pytest.mark.slow
@pytest.mark.parametrize("page", [README, PYTHON], ids=["README", "python"])
def test_the_python_runs(page: str, folder: Path) -> None:
    run(folder, [sys.executable, "-m", "sqlanon.cli", "run", "policy.yaml"])
    (folder / "example.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    done = run(folder, [sys.executable, "example.py"])
    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.slow
def test_the_policy_of_its_page_runs(folder: Path) -> None:
    (folder / "page.yaml").write_text(blocks(POLICY, "yaml")[0].replace("run.html", "page.html"), encoding="utf-8")
    done = run(folder, [sys.executable, "-m", "sqlanon.cli", "run", "page.yaml"])
    assert done.returncode == 0 and "proven optimal" in done.stdout, done.stderr[-1000:]


@pytest.mark.slow
def test_the_transformation_runs_on_the_policy(folder: Path) -> None:
    document = {**yaml.safe_load(blocks(README, "yaml")[0]), **yaml.safe_load(blocks(POLICY, "yaml")[2])}
    document["columns"]["diagnosis"] = {"role": "keep"}
    (folder / "patterns.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    done = run(folder, [sys.executable, "-m", "sqlanon.cli", "run", "patterns.yaml"])
    assert done.returncode == 0 and "patterns_greedy" in done.stdout, done.stderr[-1000:]


def test_the_policy_with_joins_is_read() -> None:
    document = yaml.safe_load(blocks(POLICY, "yaml")[1])
    assert [join["key"] for join in document["join"]] == ["patient_id", "ward"]
    assert {"source", "csv", "join", "columns", "report"} == set(document)
