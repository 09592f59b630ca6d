"""The pages of threats and proofs name tests and files that exist; each threat is held or listed as not defended."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEST = re.compile(r"(?<![\w/])(tests/[\w/]+\.py)::(\w+(?:::\w+)?)`")
FILE = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)`")
ENTRY = re.compile(r"\*\*([A-Z]\d+)\. ")
ROW = re.compile(r"^\| ([A-Z]\d+) \|")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@cache
def functions(file: str) -> frozenset[str]:
    """The test functions of a file, as pytest calls them: those of a class after its name."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        prefix, held = (f"{node.name}::", node.body) if isinstance(node, ast.ClassDef) else ("", [node])
        found |= {prefix + each.name for each in held if isinstance(each, ast.FunctionDef)}
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The number and the text of each threat or statement that has a paragraph of its own."""
    for paragraph in text.split("\n\n"):
        if found := ENTRY.match(paragraph):
            yield found[1], paragraph


def rows(text: str) -> list[tuple[str, list[str]]]:
    """The number and the other cells of each row of a table whose first cell is a number."""
    lines = [(found[1], line) for line in text.splitlines() if (found := ROW.match(line))]
    return [(number, [cell.strip() for cell in line.split("|")[2:-1]]) for number, line in lines]


@pytest.mark.parametrize("name", ["threat-model.md", "proofs.md"])
def test_every_test_and_file_that_is_named_exists(name: str) -> None:
    text = page(name)
    named = TEST.findall(text)
    assert len(named) > 50 and len(named) == text.count(".py::")
    assert [f"{file}::{test}" for file, test in named if test not in functions(file)] == []
    assert [file for file in FILE.findall(text) if not (ROOT / "sqlanon" / file).exists()] == []


@pytest.mark.parametrize("name", ["threat-model.md", "proofs.md"])
def test_every_number_is_given_once_and_none_is_left_out(name: str) -> None:
    text = page(name)
    numbers = [number for number, _ in [*entries(text), *rows(text)]]
    assert [number for number, count in Counter(numbers).items() if count > 1] == []
    for letter in {number[0] for number in numbers}:
        of_letter = sorted(int(number[1:]) for number in numbers if number[0] == letter)
        assert of_letter == [*range(1, len(of_letter) + 1)], letter


def test_every_threat_has_a_control_with_tests_or_is_not_defended() -> None:
    defended, _, rest = page("threat-model.md").partition("\n## Not defended\n")
    threats = dict(entries(defended))
    assert {number[0] for number in threats} == set("STRIDE")
    assert [number for number, text in threats.items() if not re.search(r"\*\*Control:\*\*\s\S", text)] == []
    assert [number for number, text in threats.items() if not TEST.search(text.partition("**Tests:**")[2])] == []
    left = rows(rest)
    assert left and not [*entries(rest)]
    assert all(len(cells) == 2 and all(cells) for _, cells in left), "a threat and what helps"


def test_every_statement_has_a_proof_code_tests_and_says_how_it_was_vetted() -> None:
    text = page("proofs.md")
    for number, statement in entries(text):
        parts = [statement.find(f"*{part}:*") for part in ("Proof", "Code", "Tests", "Vetted")]
        assert parts == sorted(parts) and parts[0] > 0, number
        assert TEST.search(statement[parts[2] :]), number
    models = {name for _, cells in rows(text) for name in re.findall(r"`(\w+)`", cells[0])}
    own = {path.stem for path in (ROOT / "sqlanon/core/models").glob("*.py")}
    assert models == own - {"__init__", "base", "capped_shares", "checked", "classes", "release"}
