"""The rooms of the package stand in order, the walls between them hold, and the public names are the ones promised."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import sqlanon

PACKAGE = Path(sqlanon.__file__).parent
ROOMS = (
    "version", "errors", "parameters", "interrupts", "disk",
    "sqltrees", "lattice", "sizes", "models", "measures", "search", "policy", "compiler", "engines", "display", "audit",
    "source", "risk", "relations", "utility", "ledger", "evaluate", "publish", "plan", "tables", "reference",
    "profiling", "report",
    "scripts",
    "anonymizer", "refreshing", "frontier", "verification",
    "attack", "evidence", "testing", "extending", "", "commands", "cli",
)  # fmt: skip
"""Folders and root modules from the ground up; a room imports from itself and from rooms before it. The empty name is
``sqlanon`` itself."""
NEVER = (
    ("audit", "compiler policy source evaluate plan", "an audit shares no code with what it audits"),
    ("lattice", "compiler engines policy", "the core knows neither SQL nor databases"),
    ("models", "compiler engines policy", "the core knows neither SQL nor databases"),
    ("measures", "compiler engines policy", "the core knows neither SQL nor databases"),
    ("search", "compiler engines policy sqltrees", "a strategy asks for nodes and receives verdicts"),
    ("compiler", "engines policy", "a statement is a tree, whoever runs it"),
    ("engines", "compiler policy lattice", "an engine runs what it is given"),
    ("policy", "engines compiler source", "a policy is read without a database"),
)
"""Walls: the first room imports from none of the others, and why."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below ``sqlanon``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room(module: str) -> str:
    """The folder or root module that a module stands in."""
    return module.partition(".")[0]


@cache
def statements(path: Path) -> list[Any]:
    """Every statement of a file, also in functions and classes, and no expression."""
    found: list[Any] = [ast.parse(path.read_text())]
    for node in found:
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, ())
            found += inner if isinstance(inner, list) else ()
    return found


@cache
def imports(path: Path) -> set[str]:
    """The dotted names that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in statements(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imported_modules(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports."""
    ours = {name.removeprefix("sqlanon").removeprefix(".") for name in imports(path) if name.startswith("sqlanon.")}
    return {name for name in ours if name in known and name}


def test_a_room_imports_only_from_rooms_before_it() -> None:
    place = {name: number for number, name in enumerate(ROOMS)}
    known = modules()
    for name, path in known.items():
        for imported in imported_modules(path, known):
            if room(name) in place and room(imported) in place:
                assert place[room(imported)] <= place[room(name)], f"{name} imports {imported}"


def test_walls_hold() -> None:
    known = modules()
    for name, path in known.items():
        for wall, beyond, reason in NEVER:
            if room(name) == wall:
                crossed = {room(imported) for imported in imported_modules(path, known)} & set(beyond.split())
                assert not crossed, f"{name} imports from {crossed}: {reason}"


def test_duckdb_is_imported_in_its_engine_only() -> None:
    for name, path in modules().items():
        if not name.startswith("engines.duckdb"):
            assert "duckdb" not in imports(path), name


def test_exported_names_exist_and_are_sorted() -> None:
    assert sorted(sqlanon.__all__) == list(sqlanon.__all__)
    assert all(hasattr(sqlanon, name) for name in sqlanon.__all__)


def test_no_test_module_imports_another() -> None:
    """What test modules share stands in ``tests/support``, and fixtures stand in ``tests/conftest.py``."""
    tests = sorted(Path(__file__).parents[1].rglob("test_*.py"))
    names = {path.stem for path in tests} | {"conftest"}
    for path in tests:
        imported = {*re.findall(r"^ *(?:from|import) (\w+)", path.read_text(), re.MULTILINE)}
        assert not imported & names, f"{path.name} imports {imported & names}"


def test_the_root_is_short_and_no_file_or_function_is_long() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 12
    for name, path in modules().items():
        text = path.read_text()
        assert text.count("\n") <= 500, f"{name} has more than 500 lines"
        for function in (node for node in statements(path) if isinstance(node, ast.FunctionDef)):
            assert function.end_lineno is not None
            assert function.end_lineno - function.lineno < 70, f"{name}.{function.name} has more than 70 lines"
            taken = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            given = [argument for argument in taken if argument.arg not in ("self", "cls")]
            assert len(given) <= 8, f"{name}.{function.name} takes more than 8 parameters"


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, str] = {}
    for name, path in modules().items():
        for node in statements(path):
            if isinstance(node, ast.ClassDef):
                assert homes.setdefault(node.name, name) == name, f"{node.name} is in {homes[node.name]} and in {name}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions count too; the face of a room, its ``__init__``, only hands names on."""
    known = modules()
    arrows = {name: imported_modules(path, known) - {name} for name, path in known.items()}
    while leaves := {name for name, targets in arrows.items() if not targets & arrows.keys()}:
        arrows = {name: targets for name, targets in arrows.items() if name not in leaves}
    assert not arrows, f"these import each other: {sorted(arrows)}"


def test_every_room_says_in_one_sentence_what_it_holds() -> None:
    for path in PACKAGE.glob("*/__init__.py"):
        text = ast.get_docstring(statements(path)[0]) or ""
        assert text.endswith(".") and "\n\n" not in text, path.parent.name
