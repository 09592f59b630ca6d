"""The JSON Schema of a policy says of keys and types what the checks say, because both are made of the same tables."""

import ast
import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from effort import Block, scaled, seeds
from example_policies import example_document, example_documents, plain, policy_entries, write_files
from hypothesis import given, settings
from pages import list_pages, read_blocks
from policies import document_of
from policy_documents import documents

import sqlanon
from sqlanon.commands.demo_world import POLICY
from sqlanon.commands.reference.entries import GROUPS, entries
from sqlanon.commands.reference.schema import policy_schema
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.extensions import FORMATS
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.policy.hierarchies import WITH_ONE_VALUE, WITH_OPTIONS
from sqlanon.core.policy.schema_line import SCHEMA_URL
from sqlanon.core.policy.transformation import KEYS as TRANSFORMATIONS
from sqlanon.counts.keys import KEYS as COUNTS_KEYS
from sqlanon.parameters import Parameter, ValueCheck
from sqlanon.tables.keys import KEYS as TABLES_KEYS
from sqlanon.tables.policy import TablesPolicy

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install 'sqlanon[test]'")

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = jsonschema.Draft202012Validator(policy_schema())
FREE = ("levels", "groups", "settings", "parent", "types")
"""Keys below which names and values are the user's."""
EXTENSIONS = sqlanon.Extensions(redactors={"clean": str.strip})
"""What the examples name and the package has not."""
WRONG = ("x!?", -7.25, True, None, [7.5], {"q": 1})
"""Values of all types, outside of every range and choice."""


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Work in a folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("policies")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def fault(document: dict[str, Any]) -> str:
    """What the checks say of a document; empty if it is sound."""
    try:
        if "tables" in document:
            TablesPolicy.from_dict(document)
        else:
            sqlanon.Policy.from_dict(document, extensions=EXTENSIONS)
    except sqlanon.SqlanonError as error:
        return str(error)
    return ""


def faults_of_schema(document: dict[str, Any]) -> list[str]:
    return [error.message for error in SCHEMA.iter_errors(plain(document))]


def test_it_is_a_schema_with_an_address() -> None:
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    assert policy_schema()["$id"] == SCHEMA_URL and sqlanon.__version__ in SCHEMA_URL


def test_every_key_says_what_it_means_and_shows_an_example() -> None:
    listed = entries()
    assert [entry.name for entry in listed if not entry.about or not entry.example or not entry.label] == []
    assert len({entry.name for entry in listed}) == len(listed) > 150
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(
        {key.name for key in (*TOP_KEYS, *TABLES_KEYS, *COUNTS_KEYS, *FORMATS)}
    )


def test_every_key_that_the_checks_know_is_in_the_reference() -> None:
    def paths(keys: tuple[Parameter, ...], path: str = "") -> Iterator[str]:
        for key in keys:
            yield path + key.name
            if isinstance(key.check, ValueCheck) and path + key.name not in ("join.csv", "ledger.key"):
                yield from paths(key.check.keys, f"{path}{key.name}.")

    known = {entry.name for entry in entries()}
    assert set(paths(TOP_KEYS)) <= known
    assert {path for path in paths(COUNTS_KEYS) if not path.startswith("columns.")} <= known
    for name, kind in {**WITH_OPTIONS, "file": specs.FileHierarchy}.items():
        inner = {f"columns.hierarchy.{name}.{option.name}" for option in kind.options if option.name != name}
        assert inner | {f"columns.hierarchy.{name}"} <= known
    assert {f"columns.hierarchy.{name}" for name in WITH_ONE_VALUE} <= known
    assert {f"transformation.{name}.{key.name}" for name, keys in TRANSFORMATIONS.items() for key in keys} <= known


@pytest.mark.slow
def test_examples_are_sound_for_the_checks_and_for_the_schema() -> None:
    assert [
        (entry.name, fault(document), faults_of_schema(document))
        for entry, document in example_documents()
        if fault(document) or faults_of_schema(document)
    ] == []


def _policies_of_pages() -> Iterator[tuple[str, Any]]:
    for page in [page for page in list_pages() if page != "docs/extending.md"]:  # whose policies need its packages
        for block in read_blocks(page):
            if block.language == "yaml" and not (block.file or "").endswith(".yml"):
                document = yaml.safe_load(block.text)
                if isinstance(document, dict) and {"columns", "tables"} & {*document} and "models" not in document:
                    yield str(block), document


def test_policies_of_the_documentation_pass() -> None:
    found = dict(_policies_of_pages())
    assert len(found) > 20
    assert {place: faults for place, document in found.items() if (faults := faults_of_schema(document))} == {}


def test_the_policy_of_the_demo_passes() -> None:
    assert faults_of_schema(yaml.safe_load(POLICY)) == []


@pytest.mark.slow
def test_policies_of_other_tests_pass() -> None:
    """Every dict in a test that is a sound policy as it stands."""
    passed = 0
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            keys = {each.value for each in getattr(node, "keys", ()) if isinstance(each, ast.Constant)}
            if "privacy" not in keys or not {"columns", "tables"} & keys:
                continue
            try:
                document = ast.literal_eval(node)
            except ValueError:  # it is put together
                continue
            if not fault(document):
                assert faults_of_schema(document) == [], f"{path.name}:{node.lineno}"
                passed += 1
    assert passed >= 10


@settings(max_examples=scaled(100), deadline=None)
@given(documents())
def test_drawn_policies_pass(document: dict[str, Any]) -> None:
    Path("h.csv").touch()
    if not fault(document):
        assert faults_of_schema(document) == []


@pytest.mark.parametrize(
    "change",
    [
        {"colums": {}},
        {"columns": {"age": {"role": "quasi-identifier"}}},
        {"columns": {"age": {"role": "keep", "hirarchy": {}}}},
        {"columns": {"age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 5}}}}},
        {"columns": {"age": {"role": "quasi_identifier", "hierarchy": {"intervals": {}}}}},
        {"columns": {"age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}, "redact": {}}}}},
        {"privacy": [{"type": "k_anonymity"}]},
        {"privacy": [{"type": "k_anonymity", "k": "5"}]},
        {"privacy": [{"type": "k_anonimity", "k": 5}]},
        {"privacy": [{"type": "t_closeness", "t": 0.2}]},
        {"suppression_limit": 5},
        {"suppression_limit": 0.05, "suppression_count": 5},
        {"search": {"time_limit": "60"}},
        {"search": {"strategy": "flashy"}},
        {"output": {"parquet": "a.parquet"}},
        {"output": {"file": "a.parquet", "mode": 640}},
        {"transformation": {"type": "patterns", "nodes": 4}},
        {"nulls": None},
        {"version": 2},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_policies_are_refused_by_both(change: dict[str, Any]) -> None:
    document = document_of({"age": "suppress"}, k=5, source="a.csv")
    assert not fault(document) and not faults_of_schema(document)
    assert fault({**document, **change}) and faults_of_schema({**document, **change})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every mapping with known keys, and every scalar, with the way to it."""
    if isinstance(value, dict):
        if path[-1:] not in [(name,) for name in ("columns", "tables", "publish", *FREE)]:
            yield path, value
        for name, item in value.items():
            if name not in FREE:
                yield from _places(item, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, (*path, number))
    else:
        yield path, value


def _changed(document: Any, path: tuple[Any, ...], *value: Any) -> Any:
    """A copy with another value at a place; without a value, with nothing there."""
    changed = copy.deepcopy(document)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return changed


def _family(value: Any) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


@seeds(120, 30)
def test_unknown_keys_and_wrong_types_are_refused_by_both(block: Block) -> None:
    """A key of the reference is drawn for each seed; null may stand for a key that is left out."""
    listed = policy_entries()
    for seed in block:
        draw = random.Random(seed)
        document = example_document(draw.choice(listed))
        path, value = draw.choice(list(_places(document)))
        if isinstance(value, dict):
            document = _changed(document, (*path, f"zz{seed}"), 1)
            assert fault(document) and faults_of_schema(document), (path, document)
            continue
        wrong = draw.choice([item for item in WRONG if _family(item) is not _family(value)])
        changed = _changed(document, path, wrong)
        refused, schema = fault(changed), faults_of_schema(changed)
        if wrong is None and not schema:
            refused = refused if not isinstance(path[-1], str) or not fault(_changed(document, path)) else ""
        elif path[-1] == "population" and isinstance(wrong, str):
            continue  # the path of a file, in the place of a number
        assert bool(refused) == bool(schema), (path, wrong, refused, schema)


def test_an_extension_is_in_the_schema_that_is_made_with_it() -> None:
    class Halves:
        """Half of the values."""

        parameters = (Parameter("share", lambda value: None), Parameter("name", sqlanon_text(), required=False))

        def levels(self) -> None: ...

    given_extensions = sqlanon.Extensions(hierarchies={"halves": Halves})
    schema = jsonschema.Draft202012Validator(policy_schema(given_extensions))
    document = {"columns": {"a": {"role": "quasi_identifier", "hierarchy": {"halves": {"share": 2}}}}}
    assert schema.is_valid(document) and not SCHEMA.is_valid(document)
    document["columns"]["a"]["hierarchy"] = {"halves": {"share": 2, "name": 5}}  # type: ignore[dict-item]
    assert not schema.is_valid(document)
    assert any(entry.name == "columns.hierarchy.halves.name" for entry in entries(given_extensions))


def sqlanon_text() -> ValueCheck:
    from sqlanon.extending import text

    check = text()
    assert isinstance(check, ValueCheck)
    return check


def test_no_text_of_the_reference_is_cut() -> None:
    for entry in entries():
        assert re.search(r"[.…)]$", entry.about), entry.name
        assert "``" not in entry.about and "  " not in entry.about
