"""CSV files on the command line: the delimiter that is found, ``--csv``, hints to type, and one spelling of TABLE."""

import json
import re
import shlex
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import sqlanon
from pages import ROOT
from policies import document_of

import sqlanon as package
from sqlanon.cli import main
from sqlanon.commands.csv_options import read_csv_options

COMMANDS = (
    ("profile",), ("risk", "--qi", "age"), ("check", "--qi", "age", "--k", "1"), ("nulls", "--qi", "age"),
    ("counts", "--by", "age", "--threshold", "2"),
)  # fmt: skip
"""All that take a source which may be a CSV file."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def records(source: str, command: Sequence[str], *options: str) -> int:
    """The records that a command counts in a source."""
    done = sqlanon(command[0], source, *command[1:], *options, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    counted: int = document.get("records") or document.get("risk", document.get("audit", {}))["records"]
    return counted


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_fields_with_other_delimiters_hide_no_delimiter(folder: Path, command: Sequence[str]) -> None:
    """Commas in some fields, in all, in quotes, and beside a quoted line end."""
    (folder / "some.csv").write_text(
        "id;name;age\n" + "".join(f"{i};{'A, B' if i % 3 else 'C'};{i % 3}\n" for i in range(9))
    )
    (folder / "all.csv").write_text("id;name, first;age\n" + "".join(f"{i};A, {i},B;{i % 3}\n" for i in range(9)))
    (folder / "lines.csv").write_text("id;name;age\n" + "".join(f'{i};"A, B\n{i}, {i}";{i % 3}\n' for i in range(9)))
    (folder / "comma.csv").write_text("id,name,age\n" + "".join(f"{i},a;b;c,{i % 3}\n" for i in range(9)))
    for name in ("some.csv", "all.csv", "lines.csv", "comma.csv"):
        assert records(name, command) == 9


def test_a_line_with_a_fault_is_named_by_the_delimiter_of_the_others(folder: Path) -> None:
    (folder / "t.csv").write_text("id;age\n" + "1,2;3\n" * 30 + "4\n")
    done = sqlanon("risk", "t.csv", "--qi", "age")
    assert done.returncode == 2 and "Line 32 of the file 't.csv' has 1 field, line 1 has 2" in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_two_delimiters_that_fit_are_named_and_none_is_guessed(folder: Path, command: Sequence[str]) -> None:
    (folder / "t.csv").write_text("name,x;age\n" + "1,5;2\n" * 9)
    done = sqlanon(command[0], "t.csv", *command[1:])
    assert done.returncode == 2 and "by 2 delimiters: ',', ';'" in done.stderr and "--csv" in done.stderr
    assert records("t.csv", command, "--csv", "delimiter=;") == 9


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_a_hint_says_can_be_typed(folder: Path, command: Sequence[str]) -> None:
    """Follow the hints, one after the other, until a file is read that needs three options; a profile finds them."""
    text = "A list, 2024\n\nid;name;age\n" + "".join(f"{i};Müller, A;{i % 3}\n" for i in range(30))
    (folder / "t.csv").write_bytes(text.encode("latin-1"))
    options: list[str] = []
    for _ in range(3):
        done = sqlanon(command[0], "t.csv", *command[1:], *options)
        if done.returncode == 0:
            break
        assert "csv: {" not in done.stderr
        [(_, typed)] = re.findall(r"(say|hint:|and) (--csv \S+?)[.,]?(?:\s|$)", done.stderr)
        options += shlex.split(typed)
    assert done.returncode == 0, done.stderr
    assert options == ([] if command[0] == "profile" else ["--csv", "skip=2", "--csv", "encoding=latin-1"])


def test_hints_of_a_policy_stay_those_of_a_policy(folder: Path) -> None:
    (folder / "t.csv").write_text("a;b\n1;2\n2;3\n")
    spec = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    (folder / "p.json").write_text(json.dumps(document_of({"a": spec}, k=2, source="t.csv", undeclared="drop")))
    for command in (("run", "p.json"), ("risk", "--policy", "p.json")):
        done = sqlanon(*command)
        assert done.returncode == 2 and "say csv: {delimiter: ';'}" in done.stderr and "--csv" not in done.stderr
    assert "say --csv 'delimiter=;'" in sqlanon("check", "t.csv", "--csv", "delimiter=,", "--qi", "a", "--k", 1).stderr


def test_every_key_of_a_policy_can_be_given(folder: Path) -> None:
    given = read_csv_options(["delimiter=,,skip=2,header=false", "types={age: BIGINT, day: DATE},null=NA", r"quote='"])
    assert given == {"delimiter": ",", "skip": 2, "header": False, "types": {"age": "BIGINT", "day": "DATE"},
                     "null": "NA", "quote": "'"}  # fmt: skip
    assert read_csv_options([r"delimiter=\t", "date_format=%d.%m.%Y"]) == {"delimiter": "\t", "date_format": "%d.%m.%Y"}
    (folder / "t.csv").write_text("age\n1\n")
    for wrong in ("skip=x", "depth=1", "delimiter", "delimiter=;,delimiter=|", "types={age: [}"):
        done = sqlanon("check", "t.csv", "--qi", "age", "--k", 1, "--csv", wrong)
        assert done.returncode == 2 and "Hint:" in done.stderr and "Traceback" not in done.stderr


def test_python_takes_the_same_options(folder: Path) -> None:
    (folder / "t.csv").write_bytes("top\nä;b\n1;2\n1;3\n".encode("latin-1"))
    csv = {"skip": 1, "encoding": "latin-1"}
    assert package.risk("t.csv", ["ä"], csv=csv).records == package.profile("t.csv", csv=csv).records == 2
    assert package.check("t.csv", ["ä"], k=2, csv=csv).holds
    for call in (
        lambda: package.profile("t.csv", csv={"skips": 1}),
        lambda: package.risk("t.csv", ["ä"], csv={"skips": 1}),
    ):
        with pytest.raises(package.PolicyError, match="did you mean 'skip'"):
            call()


def test_the_page_of_commands_names_those_that_take_it() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    [named] = re.findall(r"^\*\*CSV files:\*\* (.*) take `--csv KEY=VALUE", page, re.MULTILINE)
    takers = {name for name, command in main.commands.items() if any("--csv" in item.opts for item in command.params)}
    served = {"studio"}  # a page: tests/studio
    assert set(re.findall(r"`(\w+)`", named)) == takers == {command[0] for command in COMMANDS} | served


def test_a_release_is_not_read_by_the_options_of_its_source(folder: Path) -> None:
    (folder / "s.csv").write_text("top\na;b\n" + "1;x\n2;y\n" * 4)
    (folder / "r.csv").write_text("a,b\n" + "*,x\n*,y\n" * 4)
    done = sqlanon("risk", "s.csv", "--qi", "a", "--csv", "skip=1,delimiter=;", "--compare", "r.csv", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["after"]["records"] == 8, done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_table_is_named_in_either_way_by_every_command(folder: Path, command: Sequence[str]) -> None:
    with sqlite3.connect("two.db") as lite:
        lite.execute("CREATE TABLE p (age)")
        lite.execute("CREATE TABLE q (age)")
        lite.executemany("INSERT INTO q VALUES (?)", [(1,), (2,)])
    if command[0] == "nulls":  # DuckDB's alone
        import duckdb

        duckdb.sql("ATTACH 'two.duckdb' AS two")
        duckdb.sql("CREATE TABLE two.p (age INT); CREATE TABLE two.q AS FROM (VALUES (1), (2)) v(age); DETACH two")
    source = "two.duckdb" if command[0] == "nulls" else "two.db"
    for named in (("--table", "q"), ("q",), ("q", "--table", "q")):
        assert records(source, (command[0], *command[1:]), *named) == 2
    done = sqlanon(command[0], source, "p", *command[1:], "--table", "q")
    assert done.returncode == 2 and "name two tables" in done.stderr
    assert sqlanon(command[0], source, *command[1:], "--table", "").returncode == 2
