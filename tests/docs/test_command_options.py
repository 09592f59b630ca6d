"""Options of the command line: what is left out, empty or given twice never ends in a verdict on something else."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner
from policies import document_of

from sqlanon.cli import main

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose column ``a`` is unique, while ``b`` and ``c`` are not."""
    (tmp_path / "t.csv").write_text("a,b,c\n1,1,x\n2,1,x\n3,1,y\n4,1,y\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sqlanon(*arguments: object) -> tuple[int, str, str]:
    """The exit code of a command, and what it printed on standard output and standard error."""
    found = RUNNER.invoke(main, [*map(str, arguments)])
    assert isinstance(found.exception, SystemExit | None), found.exc_info
    return found.exit_code, found.stdout, found.stderr


def checked(*arguments: object) -> tuple[int, Any]:
    """The exit code and the document of ``check --k 2 --json``."""
    code, printed, _ = sqlanon("check", "t.csv", "--k", 2, "--json", *arguments)
    return code, json.loads(printed)


@pytest.mark.parametrize("given", [["--qi", "a", "--qi", "b"], ["--qi", "b", "--qi", "a"], ["--qi", "a,b"]])
def test_options_that_name_columns_add_up(given: list[str]) -> None:
    code, document = checked(*given)
    assert code == 1 and not document["holds"] and set(document["quasi_identifiers"]) == {"a", "b"}
    code, printed, _ = sqlanon("nulls", "t.csv", *given, "--json")
    assert code == 0 and set(json.loads(printed)["audit"]["nulls"]) == {"a", "b"}


def test_a_column_counts_once_however_often_it_is_named() -> None:
    code, document = checked("--qi", "b,B", "--qi", "b")
    assert code == 0 and document["quasi_identifiers"] == ["b"] and document["classes"] == 1


@pytest.mark.parametrize("names", ["", " ", ",", "b,", ",b", "b,,c"])
@pytest.mark.parametrize("command", ["check", "nulls"])
def test_an_empty_name_is_an_error(command: str, names: str) -> None:
    for given in (["--qi", names], ["--qi", "b", "--qi", names]):
        code, printed, errors = sqlanon(command, "t.csv", "--k", 2, *given)
        assert code == 2 and not printed and "name is empty" in errors


@pytest.mark.parametrize(
    "given",
    [
        ["--k", ""],
        ["--k", 2, "--sensitive", ""],
        ["--k", 2, "--sensitive", "c:distinct_l_diversity:l="],
        ["--k", 2, "--entity", ""],
        ["--k", 2, "--delta-presence", ""],
        ["--k", 2, "--reference", ""],
        ["--k", 2, "--reference-table", ""],
        ["--k", 2, "--delimiter", ""],
    ],
)
def test_a_variable_that_is_not_set_never_holds(given: list[object]) -> None:
    code, printed, errors = sqlanon("check", "t.csv", "--qi", "b", *given)
    assert code == 2 and not printed and errors
    code, printed, _ = sqlanon("check", "t.csv", "--qi", "b", *given, "--json")
    assert code == 2 and json.loads(printed).keys() >= {"error", "message"}


@pytest.mark.parametrize("arguments", [["", "--qi", "b"], ["t.csv", "", "--qi", "b"]])
def test_an_empty_source_or_table_is_an_error(arguments: list[str]) -> None:
    code, printed, errors = sqlanon("check", *arguments, "--k", 2)
    assert code == 2 and not printed and "empty" in errors


def commands(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        found += commands(command, *path, name) if isinstance(command, click.Group) else [((*path, name), command)]
    return found


def test_an_option_that_is_given_twice_adds_up_or_is_an_error() -> None:
    tried = 0
    for path, command in commands(main):
        arguments = ["x" for param in command.params if isinstance(param, click.Argument) and param.required]
        for option in (param for param in command.params if isinstance(param, click.Option)):
            if option.is_flag or option.multiple:
                continue
            value = option.type.choices[0] if isinstance(option.type, click.Choice) else "5000"
            needed = [part for other in command.params if isinstance(other, click.Option) and other.required
                      for part in (other.opts[0], "x") if other is not option]  # fmt: skip
            given = [option.opts[0], str(value)] * 2
            code, printed, errors = sqlanon(*path, *arguments, *needed, *given)
            assert code == 2 and not printed and "more than once" in errors, (path, option.name, errors)
            tried += 1
    assert tried > 15


def test_a_model_whose_parameter_stands_twice_is_an_error() -> None:
    code, _, errors = sqlanon("check", "t.csv", "--qi", "b", "--sensitive", "c:distinct_l_diversity:l=3,l=1")
    assert code == 2 and "given twice" in errors and "policy" not in errors


def test_the_output_names_what_was_judged_and_what_was_not(folder: Path) -> None:
    code, printed, _ = sqlanon("check", "t.csv", "--qi", "b", "--k", 2, "--sensitive", "C:distinct_l_diversity:l=2")
    lines = [line.strip() for line in printed.splitlines()]
    assert code == 0 and lines[0].startswith("4 records in 1 class,")
    assert {"quasi-identifiers: b", "sensitive: c", "not judged: 1 other column"} < {*lines}
    _, document = checked("--qi", "b", "--sensitive", "C:distinct_l_diversity:l=2", "--entity", "A")
    assert [(item["column"], item["model"].split("(")[0]) for item in document["models"]] == [
        (None, "k_anonymity"),
        ("c", "c: distinct_l_diversity"),
    ]
    assert (document["source"], document["entity"], document["columns"]) == ("t.csv", "a", 3)
    duckdb.sql("COPY (FROM 't.csv') TO 't.parquet'")
    code, printed, _ = sqlanon("check", "t.parquet", "--qi", "c", "--k", 2)
    assert code == 0 and "not judged: a, b" in printed


def test_the_exact_name_goes_before_one_in_another_case(folder: Path) -> None:
    with sqlite3.connect("t.sqlite") as connection:
        connection.executescript('CREATE TABLE t ("b" TEXT); INSERT INTO t VALUES (1), (1)')
    assert sqlanon("check", "t.sqlite", "t", "--qi", "B", "--k", 2)[0] == 0


@pytest.mark.parametrize("command", ["check", "nulls"])
def test_a_record_in_the_place_of_the_header_is_not_repeated(command: str, folder: Path) -> None:
    (folder / "n.csv").write_text("5,Meier,Anna\n6,Mueller,Bob\n")
    code, printed, errors = sqlanon(command, "n.csv", "--qi", "5,name", "--k", 2)
    assert code == 2 and "Meier" not in printed + errors and "3 columns" in errors and "header" in errors
    if command == "check":
        _, printed, errors = sqlanon(command, "n.csv", "--qi", "5", "--k", 2)
        assert "Meier" not in printed + errors


def test_a_policy_does_not_repeat_a_record_in_the_place_of_the_header(folder: Path) -> None:
    (folder / "n.csv").write_text("5,Meier,Anna\n6,Mueller,Bob\n")
    document = document_of({"5": "keep", "name": "keep"}, k=2, source="n.csv")
    (folder / "p.json").write_text(json.dumps(document))
    code, printed, errors = sqlanon("run", "p.json")
    assert code == 2 and "Meier" not in printed + errors and "'name'" in errors and "3 columns" in errors


def test_the_help_lists_every_command_by_task_with_a_whole_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, printed, _ = sqlanon("--help")
    tasks = ("Start", "Publish", "Judge", "Prove", "Work with")
    listed = printed[printed.index("Start:\n") : printed.index("Exit codes:")]
    assert tuple(line.rstrip(":") for line in listed.splitlines() if line.endswith(":")) == tasks
    rows = [line.split(maxsplit=1) for line in listed.splitlines() if line.startswith("  ")]
    assert sorted(name for name, _ in rows) == sorted(main.commands)
    for name, sentence in rows:
        assert len(sentence) <= 60 and sentence.endswith(".") and "..." not in sentence, name


def test_the_help_of_a_group_lists_its_commands_with_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ("ledger", "policy", "hierarchy"):
        _, printed, _ = sqlanon(group, "--help")
        rows = [line.split(maxsplit=1) for line in printed.split("Commands:\n")[1].splitlines()]
        assert rows and all(len(row[1]) <= 60 and row[1].endswith(".") and "..." not in row[1] for row in rows), group


def test_every_option_says_what_it_does() -> None:
    commands = [*main.commands.values()]
    commands += [item for command in commands if isinstance(command, click.Group) for item in command.commands.values()]
    options = [(c.name, o.opts[0], o.help) for c in commands for o in c.params if isinstance(o, click.Option)]
    assert len(options) > 90 and [option for option in options if not option[2]] == []


def test_the_help_lists_the_exit_codes_of_the_command() -> None:
    assert "  1    the policy lacks a privacy model of the project\n" in sqlanon("convert", "--help")[1]
    assert all("\n  1 " not in sqlanon(name, "--help")[1] for name in ("help", "schema"))
