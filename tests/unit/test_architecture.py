"""The rooms of the package stand in order, the walls between them hold, and the public names are the ones promised."""

from __future__ import annotations

import ast
from pathlib import Path

import sqlanon

PACKAGE = Path(sqlanon.__file__).parent
ROOMS = (
    "version", "errors", "parameters",
    "sqltrees", "lattice", "models", "measures", "search", "policy", "compiler", "engines", "audit", "source",
    "evaluate", "publish", "plan", "report", "scripts",
    "anonymizer", "refreshing", "verification", "testing", "extending", "", "commands", "cli",
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


def imports(path: Path) -> set[str]:
    """The dotted names that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
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
        imported = {name.partition(".")[0] for name in imports(path)}
        assert not imported & names, f"{path.name} imports {imported & names}"
