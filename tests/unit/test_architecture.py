"""The folders and rooms of the package stand in order, its walls hold, and the public names are the ones promised."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.core.doors import behind, is_installed
from sqlanon.wings import BEHIND

PACKAGE = Path(sqlanon.__file__).parent
WINGS = ("recoding", "live", "ledger", "periods", "tables", "counts", "assess", "interop")
FOLDERS = (
    "version",
    "errors",
    "parameters",
    "wings",
    "core",
    *WINGS,
    "report",
    "studio",
    "testing",
    "extending",
    "",
    "commands",
    "cli",
)
"""Folders and root modules from the ground up; each imports from itself and from those before it. The empty name is
``sqlanon`` itself."""
CORE = (
    "interrupts", "highs", "doors", "facts", "plain", "words", "cards", "disk", "sqltrees", "lattice", "sizes",
    "models", "measures", "search", "formats", "hierarchies", "policy", "compiler", "engines", "progress",
    "audit", "source", "evaluate", "publish", "plan", "anonymizer", "verifying", "verification",
)  # fmt: skip
"""Rooms of the core from the ground up."""
READ_BY_WINGS = {"interop": {"live"}, "ledger": {"live"}}
"""The wings that another wing may import; ``report``, ``studio`` and ``commands`` read all."""
NEVER = (
    ("audit", "compiler policy hierarchies source evaluate plan", "an audit shares no code with what it audits"),
    ("lattice", "compiler engines policy hierarchies sqltrees", "a search knows neither SQL nor databases"),
    ("models", "compiler engines policy hierarchies", "a search knows neither SQL nor databases"),
    ("measures", "compiler engines policy hierarchies", "a search knows neither SQL nor databases"),
    ("search", "compiler engines policy hierarchies sqltrees", "a strategy asks for nodes and receives verdicts"),
    ("compiler", "engines policy hierarchies", "a statement is a tree, whoever runs it"),
    ("engines", "compiler policy hierarchies lattice", "an engine runs what it is given"),
    ("policy", "engines compiler source", "a policy is read without a database"),
    ("hierarchies", "policy engines compiler source", "a hierarchy is described without a database"),
)
"""Walls of the core: the first room imports from none of the others, and why."""
LINES = {
    "core": 48_845,
    "assess": 18_186,
    "interop": 8_158,
    "commands": 7_838,
    "report": 6_281,
    "recoding": 5_504,
    "live": 3_673,
    "ledger": 4_288,
    "periods": 614,
    "tables": 2_235,
    "counts": 6_363,
    "studio": 1_734,
}
"""The most lines of Python of each folder. A feature is paid for by what it takes away."""
MODULES_OF_A_FILE, ROOMS_OF_A_FILE, NAMES_OF_A_CLASS = 20, 12, 25
"""Budgets: how many modules and rooms of the package a file imports, and how many public names a class has."""
MANY_ROOMS = {
    "studio.pages": 16,
    "studio.workbench": 13,
    "counts.verb": 13,
    "commands.run": 18,
    "ledger.recording": 16,
    "ledger.cohorts.continuing": 13,
    "ledger.cohorts.recorded": 13,
    "report.cards": 15,
    "live.view": 14,
    "commands.check": 13,
    "commands.run_tables": 13,
}
"""What is beyond these budgets still, with its present figure: these lists and figures may only shrink."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below ``sqlanon``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def folder(module: str) -> str:
    """The folder or root module that a module stands in."""
    return module.partition(".")[0]


def room(module: str) -> str:
    """The room of a module: a folder or module of the core or of a wing, a folder without rooms, or a root module."""
    return ".".join(module.split(".")[:2])


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


def arrows() -> list[tuple[str, str]]:
    """Every import of a module of the package by another."""
    known = modules()
    return [(name, imported) for name, path in known.items() for imported in imported_modules(path, known)]


def test_a_folder_imports_only_from_folders_before_it() -> None:
    place = {name: number for number, name in enumerate(FOLDERS)}
    assert {folder(name) for name in modules()} == {*FOLDERS}
    for name, imported in arrows():
        if folder(name) != "core":
            assert place[folder(imported)] <= place[folder(name)], f"{name} imports {imported}"


def test_the_core_imports_no_wing() -> None:
    beyond = {*WINGS, "report", "commands"}
    found = {(name, to) for name, to in arrows() if folder(name) == "core" and folder(to) in beyond}
    assert not found, f"the core imports a wing: {sorted(found)}"


def test_the_core_names_no_wing() -> None:
    """A door is asked for by its name (``core.doors``), and never by the module behind it."""
    named = re.compile(rf"sqlanon[./](?:{'|'.join((*WINGS, 'report', 'commands'))})\b[./]")
    for name, path in modules().items():
        if folder(name) == "core":
            assert not named.search(path.read_text()), name


def test_every_door_opens() -> None:
    for door in BEHIND:
        assert is_installed(door) and behind(door) is not None


def test_a_wing_imports_another_only_where_it_may() -> None:
    for name, imported in arrows():
        if folder(name) in WINGS and folder(imported) in WINGS:
            may = {folder(name), *READ_BY_WINGS.get(folder(name), ())}
            assert folder(imported) in may, f"{name} imports {imported}"


def test_a_room_of_the_core_imports_only_from_rooms_before_it() -> None:
    place = {f"core.{name}": number for number, name in enumerate(CORE)}
    assert {room(name) for name in modules() if folder(name) == "core"} == {"core", *place}
    for name, imported in arrows():
        if room(name) in place and room(imported) in place:
            assert place[room(imported)] <= place[room(name)], f"{name} imports {imported}"


def test_walls_hold() -> None:
    for name, imported in arrows():
        for wall, beyond, reason in NEVER:
            if room(name) == f"core.{wall}":
                assert room(imported).removeprefix("core.") not in beyond.split(), (
                    f"{name} imports {imported}: {reason}"
                )


def test_no_folder_is_larger_than_its_budget() -> None:
    found = dict.fromkeys(LINES, 0)
    for name, path in modules().items():
        if folder(name) in found:
            found[folder(name)] += path.read_text().count("\n")
    assert {name: lines for name, lines in found.items() if lines > LINES[name]} == {}


def beyond(found: dict[str, int], budget: int) -> dict[str, int]:
    """The figures that are larger than a budget."""
    return {name: figure for name, figure in found.items() if figure > budget}


def test_no_file_imports_more_modules_and_rooms_than_its_budget() -> None:
    known = modules()
    of_file = {name: imported_modules(path, known) for name, path in known.items()}
    of_file = {
        name: {to for to in of if not any(other.startswith(f"{to}.") for other in of)} for name, of in of_file.items()
    }
    assert beyond({name: len(of) for name, of in of_file.items()}, MODULES_OF_A_FILE) == {}
    assert beyond({name: len({*map(room, of)}) for name, of in of_file.items()}, ROOMS_OF_A_FILE) == MANY_ROOMS


def test_no_class_has_more_public_names_than_its_budget() -> None:
    found = {}
    for path in modules().values():
        for node in (node for node in statements(path) if isinstance(node, ast.ClassDef)):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            fields = {
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            found[node.name] = len({name for name in methods | fields if not name.startswith("_")})
    assert beyond(found, NAMES_OF_A_CLASS) == {}


def test_duckdb_is_imported_in_its_engine_only() -> None:
    for name, path in modules().items():
        if not name.startswith("core.engines.duckdb"):
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
    assert len(list(PACKAGE.glob("*.py"))) <= 9
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
    left = {name: imported_modules(path, known) - {name} for name, path in known.items()}
    while leaves := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in leaves}
    assert not left, f"these import each other: {sorted(left)}"


def test_every_room_says_in_one_sentence_what_it_holds() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        if path.parent != PACKAGE:
            text = ast.get_docstring(statements(path)[0]) or ""
            assert text.endswith(".") and "\n\n" not in text, path.parent.name
