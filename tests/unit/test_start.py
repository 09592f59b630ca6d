"""What a start loads: a keystroke waits for no module that its command does not need."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest
from policies import document_of, file_of

import sqlanon
from sqlanon.cli import main
from sqlanon.commands import usage, usage_groups
from sqlanon.commands.check import BESIDE
from sqlanon.commands.guarded import GuardedCommand
from sqlanon.commands.standard_streams import FORMATS
from sqlanon.core.policy import ON_INTERRUPT
from sqlanon.interop.scripts.dbt.template import DIALECTS as ADAPTERS
from sqlanon.interop.scripts.dialects import DIALECTS
from sqlanon.report.view import AUDIENCES

LISTED = "import json, sys\nprint(json.dumps(sorted(sys.modules)))"
START = {"sqlanon", "sqlanon.cli", "sqlanon.version", "sqlanon.errors", "sqlanon.core", "sqlanon.core.interrupts",
         "sqlanon.commands",
         "sqlanon.commands.exit_codes", "sqlanon.commands.guarded", "sqlanon.commands.signals",
         "sqlanon.commands.usage", "sqlanon.commands.usage_groups", "sqlanon.commands.usage_shell",
         "sqlanon.commands.verbosity"}  # fmt: skip
"""The modules of ours that the command line begins with."""


@cache
def loaded_by(code: str) -> set[str]:
    """The modules that a new interpreter holds after some code."""
    command = [sys.executable, "-c", f"{code}\n{LISTED}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(json.loads(answer.splitlines()[-1]))


def loaded_by_command(*arguments: object) -> set[str]:
    """The modules that a command of sqlanon loads, which ends well."""
    call = f"main({[*map(str, arguments)]!r}, standalone_mode=False)"
    return loaded_by(f"from sqlanon.cli import main\ntry:\n {call}\nexcept SystemExit as done:\n assert not done.code")


def ours(modules: Iterable[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "sqlanon"}


def foreign(modules: Iterable[str]) -> set[str]:
    """The packages that belong neither to Python nor to us, nor to the environment itself."""
    bare = {name.partition(".")[0] for name in loaded_by("pass")}
    return {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names, "sqlanon"} - bare


def commands(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name, command in group.commands.items():
        found += commands(command, *path, name) if isinstance(command, click.Group) else [((*path, name), command)]
    return found


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("check", "--help"), ("run", "--help")])
def test_help_and_version_load_click_alone(arguments: tuple[str, ...]) -> None:
    modules = loaded_by_command(*arguments)
    assert foreign(modules) == {"click"}
    assert ours(modules) == START
    assert len(modules) < 220, "the standard library counts too"


def test_the_package_loads_nothing_before_it_is_asked() -> None:
    modules = loaded_by("import sqlanon")
    assert not foreign(modules) and ours(modules) == {"sqlanon", "sqlanon.version"}
    modules = loaded_by("from sqlanon import PolicyError")
    assert not foreign(modules) and ours(modules) == {"sqlanon", "sqlanon.version", "sqlanon.errors"}


UNUSED = (
    "pandas", "lxml", "jinja2", "markupsafe", "rich", "sqlite3", "pyspark", "adbc_driver_manager", "highspy",
    "pyarrow.parquet", "pyarrow.compute",
    "sqlanon.core.engines.sqlite.engine", "sqlanon.core.engines.postgres", "sqlanon.core.engines.spark",
    "sqlanon.interop.scripts", "sqlanon.interop.anon", "sqlanon.interop.formats.xml_document",
    "sqlanon.recoding.patterns.greedy", "sqlanon.recoding.local.insertion", "sqlanon.report.html", "sqlanon.testing",
)  # fmt: skip
"""What a run from CSV to Parquet by one node does not need."""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy whose source and hierarchies are files."""
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{i % 4},{i % 3},{i}\n" for i in range(120)))
    (tmp_path / "h.csv").write_text("0;low;*\n1;low;*\n2;high;*\n3;high;*\n")
    hidden = {"role": "quasi_identifier", "hierarchy": {"file": "h.csv"}}
    columns = {"a": hidden, "b": hidden, "c": {"role": "drop"}}
    document = document_of(columns, k=5, source="t.csv", output={"file": "r.parquet"}, if_exists="replace")
    return file_of(tmp_path / "p.json", document)


@pytest.mark.slow
def test_a_run_on_duckdb_loads_duckdb_alone(policy: Path) -> None:
    modules = loaded_by_command("run", policy)
    assert not [name for name in modules if name in UNUSED or name.startswith(tuple(f"{each}." for each in UNUSED))]
    dialects = {name for name in modules if name.startswith(("sqlglot.dialects.", "sqlglot.generators."))}
    assert {name.rpartition(".")[2] for name in dialects} == {"dialect", "duckdb"}
    assert len(ours(modules)) <= 326


def test_the_help_knows_the_words_of_the_rooms() -> None:
    assert usage_groups.ON_INTERRUPT == ON_INTERRUPT
    assert tuple(dialect.name for dialect in DIALECTS) == usage.DIALECTS
    assert tuple(ADAPTERS) == usage.ADAPTERS
    assert usage.BESIDE == BESIDE
    assert usage.AUDIENCES == AUDIENCES
    assert tuple(FORMATS) == usage.STREAMED


@pytest.mark.parametrize(
    ("path", "command"), commands(main), ids=lambda value: "-".join(value) if type(value) is tuple else ""
)
def test_a_command_takes_the_options_that_its_usage_names(path: tuple[str, ...], command: click.Command) -> None:
    assert isinstance(command, GuardedCommand)
    execute = command.work()
    assert execute.__module__ in (f"sqlanon.commands.{path[0]}", "sqlanon.commands.check_counts")
    inspect.signature(execute).bind(**{str(param.name): None for param in command.params if param.expose_value})


@pytest.mark.slow
def test_a_process_of_its_own_ends_with_the_code_and_the_whole_output(policy: Path) -> None:
    command = [sys.executable, "-m", "sqlanon.cli", "run", str(policy)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["records"] == 120
    refused = subprocess.run([*command, "--strategy", "none"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and refused.stderr.startswith("PolicyError") and not refused.stdout
    code = "import atexit\nfrom sqlanon.cli import start\natexit.register(print, 'the end')\nstart()"
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1:] == ["the end"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_process_whose_streams_are_closed_ends_with_the_same_code(policy: Path, closed: str) -> None:
    for arguments, code in (("", 0), ("--strategy none", 2)):
        line = f'"{sys.executable}" -m sqlanon.cli run "{policy}" {arguments} {closed}'
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)


# --- the public names, which are loaded one by one ---


def test_public_names_come_from_the_modules_that_type_checkers_read() -> None:
    tree = ast.parse(Path(sqlanon.__file__).with_suffix(".pyi").read_text())
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imported for alias in node.names} == sqlanon._HOMES
    assert {*sqlanon._HOMES, "__version__"} == {*sqlanon.__all__}
    for name, home in sqlanon._HOMES.items():
        found = getattr(sqlanon, name)  # counts is the folder, too, which can be called
        assert found is getattr(import_module(home), name) or (name in ("counts", "studio") and callable(found))


@pytest.mark.slow
def test_the_package_lists_and_hands_out_what_it_has_not_loaded() -> None:
    code = (
        "import sqlanon\nassert set(sqlanon.__all__) <= set(dir(sqlanon))\nfrom sqlanon import *\nplan, Policy, verify"
    )
    loaded_by(code)
    loaded_by("import sqlanon\nassert sqlanon.errors.PolicyError is sqlanon.PolicyError")
    with pytest.raises(AttributeError, match="has no attribute 'plans'"):
        sqlanon.plans  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(sqlanon, "_plan")
    with pytest.raises(ImportError):
        from sqlanon import plans  # type: ignore[attr-defined]  # noqa: F401


def test_what_stands_in_for_the_verb_in_a_test_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlanon, "plan", len)
    assert sqlanon.plan is len  # type: ignore[comparison-overlap]
