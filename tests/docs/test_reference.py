"""``sqlanon help``, ``sqlanon schema``, the pages that are made of the same tables, and the first line of policies."""

import json
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml
from click.testing import CliRunner

import sqlanon
from sqlanon.cli import main
from sqlanon.commands.demo_world import generate
from sqlanon.commands.reference.entries import entries
from sqlanon.commands.reference.schema import policy_schema
from sqlanon.core.policy.schema_line import COMMENT, SCHEMA_FILE, SCHEMA_URL
from sqlanon.version import DOCUMENTATION

ROOT = Path(__file__).resolve().parents[2]
LINE = COMMENT + SCHEMA_URL


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """docs/generate.py, imported."""
    spec = spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*words: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it printed on standard output and standard error."""
    found = CliRunner().invoke(main, [*words])
    assert isinstance(found.exception, SystemExit | None), found.exc_info
    return found.exit_code, found.stdout, found.stderr


def test_the_generated_pages_are_up_to_date(generator: ModuleType) -> None:
    assert generator.stale() == [], "run: python docs/generate.py"


def test_options_for_help_are_the_same_in_every_context(generator: ModuleType) -> None:
    """click keeps the option that it makes for the first context, and pages and help would show what came first."""
    for _, command in generator._commands(main, ("sqlanon",)):
        assert command.get_help_option_names(click.Context(command)) == ["-h", "--help"]


def test_pages_of_the_reference_exist_and_have_their_sections() -> None:
    for entry in entries():
        name, _, anchor = entry.page.partition("#")
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        headings = [line.lstrip("#").strip().lower().replace(" ", "-") for line in text.splitlines() if line[:1] == "#"]
        assert not anchor or anchor in headings, entry.name


def test_the_address_of_the_documentation_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == DOCUMENTATION
    assert SCHEMA_URL.endswith(f"/v{sqlanon.__version__}/docs/reference/{SCHEMA_FILE}")


def test_the_page_about_policies_shows_the_line_of_this_version() -> None:
    assert LINE in (ROOT / "docs" / "policy.md").read_text(encoding="utf-8").splitlines()


def test_help_explains_a_key_of_a_document_of_counts_and_names_others_of_its_name() -> None:
    code, printed, _ = run("help", "time_limit")
    assert code == 0 and "least suppression" in printed and "Other keys of this name: search.time_limit." in printed
    assert "Other keys" not in run("help", "counts.dimensions")[1] and "p_percent" in run("help")[1]


def test_help_explains_a_key() -> None:
    code, printed, _ = run("help", "suppression_limit")
    assert code == 0
    assert printed == (
        "suppression_limit\n\n"
        "How many records may be left out at most: 0 is none, 1 balances freely.\n\n"
        "Type:     number from 0 to 1, or its text\n"
        "Unit:     a share of the records; with an entity, of the persons\n"
        "Default:  0\n"
        "Example:\n"
        "  suppression_limit: 0.05\n\n"
        f"{DOCUMENTATION}/policy.md\n"
    )


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["columns.role"], "columns.role"),
        (["columns", "role"], "columns.role"),
        (["role"], "columns.role"),
        (["pseudonym"], "columns.role"),
        (["t_closeness"], "columns.models.t_closeness"),
        (["T-Closeness"], "columns.models.t_closeness"),
        (["t_closeness.distance"], "columns.models.t_closeness.distance"),
        (["flash"], "search.strategy"),
        (["precision"], "quality.measure"),
        (["key"], "key"),
        (["ledger"], "ledger"),
        (["intervals.width"], "columns.hierarchy.intervals.width"),
        (["local_recoding"], "transformation.local_recoding"),
    ],
    ids=str,
)
def test_help_finds_paths_parts_and_words(words: list[str], title: str) -> None:
    code, printed, _ = run("help", *words)
    assert code == 0 and printed.splitlines()[0] == title


def test_help_lists_what_has_one_name() -> None:
    code, printed, _ = run("help", "width")
    assert code == 0 and "intervals.width" in printed and "redact.width" in printed


def test_help_alone_lists_every_key_of_a_policy() -> None:
    code, printed, _ = run("help")
    top = [entry.name for entry in entries() if len(entry.path) == 1]
    assert code == 0 and [name for name in top if f"\n  {name} " not in f"\n{printed}"] == []


def test_help_knows_commands() -> None:
    code, printed, _ = run("help", "ledger", "check")
    assert code == 0 and "Usage: sqlanon ledger check" in printed
    assert "There is a command of this name, too: sqlanon ledger --help" in run("help", "ledger")[1]
    for command in main.commands.values():
        assert run("help", str(command.name))[0] == 0


def test_an_unknown_key_suggests_near_ones() -> None:
    code, printed, errors = run("help", "supression_limit")
    assert (code, printed) == (2, "") and "did you mean suppression_limit" in errors
    code, printed, errors = run("help", "qqqqqq")
    assert (code, printed) == (2, "") and "sqlanon help lists the keys" in errors


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_every_entry_has_a_page_no_wider_than_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.commands.help import _page

    monkeypatch.setenv("COLUMNS", columns)
    known = entries()
    for entry in known:
        lines = list(_page(entry, known))
        text = "\n".join(lines)
        assert entry.name in text and "Example:" in text
        told = [line for line in lines[: lines.index("Example:")] if " " in line.strip()]
        assert max(map(len, told), default=0) <= max(int(columns), 60), entry.name
        shown = text.split("Example:\n")[1].split("\n\nhttps:")[0]
        assert yaml.safe_load(shown) == yaml.safe_load(entry.example)


def test_schema_is_printed_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, _ = run("schema")
    assert code == 0 and json.loads(printed) == policy_schema()
    for _ in range(2):  # an old one is replaced
        code, printed, _ = run("schema", "--out", SCHEMA_FILE)
        assert code == 0 and f"{COMMENT}{SCHEMA_FILE}" in printed
        assert json.loads(Path(SCHEMA_FILE).read_text(encoding="utf-8")) == policy_schema()


def test_schema_replaces_no_other_file(tmp_path: Path) -> None:
    for name, text in (("policy.yaml", "source: a.csv\n"), ("data.json", '{"a": 1}'), ("list.json", "[]")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        code, printed, errors = run("schema", "--out", str(tmp_path / name))
        assert (code, printed) == (2, "") and "is no JSON Schema" in errors
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert run("schema", "--out", str(tmp_path / "none" / SCHEMA_FILE))[0] == 2


def _table(folder: Path) -> Path:
    rows = [f"{20 + number % 40},{'fm'[number % 2]}" for number in range(200)]
    (folder / "t.csv").write_text("\n".join(["age,sex", *rows]) + "\n", encoding="utf-8")
    return folder / "t.csv"


@pytest.mark.slow
def test_written_policies_name_the_schema_in_their_first_line(tmp_path: Path) -> None:
    demo = generate(tmp_path / "demo", records=1_000)
    assert demo.read_text(encoding="utf-8").splitlines()[0] == LINE
    draft = tmp_path / "draft.yaml"
    assert run("profile", str(_table(tmp_path)), "--write", str(draft))[0] == 0
    assert draft.read_text(encoding="utf-8").splitlines()[0] == LINE
    copy = tmp_path / "demo" / "copy.yaml"
    assert run("convert", str(demo), str(copy))[0] == 0
    assert copy.read_text(encoding="utf-8").splitlines()[0] == LINE
    assert sqlanon.Policy.from_file(copy) == sqlanon.Policy.from_file(demo)
    code, _, errors = run("convert", str(copy), str(tmp_path / "demo" / "copy.json"))
    assert code == 0 and "Comments" not in errors


@pytest.mark.slow
def test_a_schema_beside_a_policy_is_named_instead(tmp_path: Path) -> None:
    assert run("schema", "--out", str(tmp_path / SCHEMA_FILE))[0] == 0
    draft = tmp_path / "draft.yaml"
    assert run("profile", str(_table(tmp_path)), "--write", str(draft))[0] == 0
    assert draft.read_text(encoding="utf-8").splitlines()[0] == COMMENT + SCHEMA_FILE


@pytest.mark.slow
def test_a_written_draft_passes_the_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install 'sqlanon[test]'")
    draft = tmp_path / "draft.yaml"
    assert run("profile", str(_table(tmp_path)), "--write", str(draft))[0] == 0
    document = yaml.safe_load(draft.read_text(encoding="utf-8"))
    assert list(jsonschema.Draft202012Validator(policy_schema()).iter_errors(document)) == []


def test_every_command_is_in_the_reference(generator: ModuleType) -> None:
    text = generator.pages()["command-line.md"]
    for words, command in generator._commands(main, ("sqlanon",)):
        assert f"\n{' '.join(words)} " in text
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert param.opts[0] in text
