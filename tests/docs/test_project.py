"""The pages and files beside the package agree with it: versions, links, rooms, pins and the tasks of the launcher."""

import itertools
import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import sqlanon

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "sql/dbt/README.md",
    ROOT / "benchmarks/README.md",
]


@pytest.fixture(scope="module")
def launcher() -> ModuleType:
    """The script `run`, imported."""
    loader = SourceFileLoader("launcher", str(ROOT / "run"))
    spec = spec_from_loader("launcher", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_there_is_one_version_number() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert "version" in PROJECT["dynamic"] and citation["version"] == sqlanon.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Homepage"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


def test_the_index_of_the_documentation_is_complete() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").as_posix()
        if page.parent.name == "paper":  # for a journal
            continue
        assert name == "README.md" or f"]({name})" in index, f"add a row for {name} to a table of docs/README.md"


def test_contributing_has_every_folder() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in (ROOT / "sqlanon").glob("*/__init__.py")]
    assert [room for room in rooms if f"| `{room}/` |" not in text] == []


def test_every_dependency_is_pinned_and_no_place_is_named() -> None:
    text = re.sub(r"^#.*\n", "", (ROOT / "constraints.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    entry = r"([a-z0-9-]+)==[^\s;/:@]+(?: ; [^/\n\\]*)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n    # via .*\n"
    assert re.sub(entry, "", text) == ""
    pinned = {match[0] for match in re.findall(entry, text)}
    extras = [name for names in PROJECT["optional-dependencies"].values() for name in names]
    for requirement in [*PROJECT["dependencies"], *extras]:
        name = re.match(r"[\w-]+", requirement)
        assert name and (name[0] == "sqlanon" or name[0].lower() in pinned), requirement


def test_the_launcher_installs_what_an_extra_needs_and_no_more(launcher: ModuleType) -> None:
    base, test, everything = (
        {entry.partition("==")[0] for entry in launcher.locked_packages({"", *extras})}
        for extras in ([], ["test"], PROJECT["optional-dependencies"])
    )
    assert {"duckdb", "numpy", "markupsafe"} <= base < test < everything
    assert {"pytest", "iniconfig", "highspy"} <= test and not {"pyspark", "mypy"} & test


def test_the_launcher_lists_its_tasks_and_knows_their_extras(launcher: ModuleType) -> None:
    done = subprocess.run([sys.executable, ROOT / "run", "--help"], capture_output=True, text=True, check=True)
    for name, (extras, _) in launcher.TASKS.items():
        assert f"./run {name} " in done.stdout
        assert set(extras.split()) <= set(PROJECT["optional-dependencies"])
    assert subprocess.run([sys.executable, ROOT / "run", "walk"], capture_output=True, check=False).returncode == 2


def test_the_jobs_of_the_workflow_run_every_part_once() -> None:
    parts = re.findall(r'^(?:part|beside) "(.*?)"', (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    lists = re.findall(r"""^ +- '(".*")'$""", workflow, re.MULTILINE)
    asked = [name for listed in lists for name in re.findall(r'"(.*?)"', listed)]
    assert sorted(name for name in asked if "install" not in name) == sorted(p for p in parts if "install" not in p)


def test_the_parts_of_ci_run_every_test_once() -> None:
    words = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    asked = re.findall(r'^beside .* tests (.*?)-m "?([^"\n#]+?)"?(?: *#.*)?$', words, re.MULTILINE)
    [slow] = re.findall(r'^slow="(.*)"$', words, re.MULTILINE)
    by_folder = sorted((folders.split() for folders, chosen in asked if chosen == "$slow"), key=len)
    assert all((ROOT / folder).is_dir() for [folder] in by_folder[:-1])
    assert {*by_folder[-1]} == {f"--ignore={folder}" for [folder] in by_folder[:-1]}  # together, every folder once
    chosen = [slow, *(selection for folders, selection in asked if not folders)]
    assert len(chosen) == 5 and re.search(r"^part .* \./run test$", words, re.MULTILINE)
    marks = ("postgres", "spark", "dbt", "chdb", "browser", "shared", "slow")
    assert all(f'"{mark}": ' in (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8") for mark in marks)
    for count, contract in itertools.product(range(1, len(marks) + 1), (False, True)):
        for has in itertools.combinations(marks, count):
            known = {mark: mark in has for mark in marks} | {"contract": contract}
            assert sum(bool(eval(selection, {}, known)) for selection in chosen) == 1, has
