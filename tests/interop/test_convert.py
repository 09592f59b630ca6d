"""Conversion: a policy and its definition say the same, whatever the formats, the folders and the texts are."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from definition_example import EXAMPLE
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_documents import documents, typed

import sqlanon
from sqlanon.errors import HierarchyError, InputError, PolicyError, TargetError
from sqlanon.interop.anon.convert import WRITERS, convert
from sqlanon.interop.anon.definition_reading import parse_definition, read_definition
from sqlanon.interop.anon.definition_writing import write_definition

POLICY = """
# a comment
source: data/s.csv
columns:
  a: {role: quasi_identifier, hierarchy: {file: h.csv, information_loss: [0, 1]}, weight: 2}
  b: {role: quasi_identifier, hierarchy: h.csv}
  c: {role: quasi_identifier, hierarchy: {levels: {1e3: [no], "NULL": ["no"], "": ["1e3"], null: ["~"]}}}
  d: {role: keep}
privacy:
  - {type: k_anonymity, k: 5}
  - {type: delta_presence, min: 0, max: 0.5, subset: sub.csv}
suppression_limit: 0.05
output: {file: ../out/r.csv}
report: r.html
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "h.csv").write_text('x;*\ny;*\n;*\n"";*\nx;*\n')
    (tmp_path / "here" / "hierarchies").mkdir()
    (tmp_path / "here" / "hierarchies" / "diagnosis.csv").write_text("flu;*\n")
    (tmp_path / "here" / "p.yaml").write_text(POLICY)
    return tmp_path / "here"


def test_a_policy_becomes_a_definition_and_comes_back(folder: Path) -> None:
    before = sqlanon.Policy.from_file(folder / "p.yaml")
    assert convert(folder / "p.yaml", folder / "p.xml") == ["Comments are left out."]
    assert sqlanon.Policy.from_file(folder / "p.xml") == before
    assert convert(folder / "p.xml", folder / "q.yaml") == []
    after = sqlanon.Policy.from_file(folder / "q.yaml")
    assert after == before and after.fingerprint() == before.fingerprint()
    convert(folder / "q.yaml", folder / "q.xml")
    assert (folder / "q.xml").read_bytes() == (folder / "p.xml").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["h.csv", "hierarchies", "p.xml", "p.yaml", "q.xml", "q.yaml"]
    )


def test_yaml_has_no_anchors_and_quotes_what_readers_disagree_on(folder: Path) -> None:
    convert(folder / "p.yaml", folder / "p.xml")
    convert(folder / "p.xml", folder / "q.yml")
    text = (folder / "q.yml").read_text()
    assert "&id" not in text and "'1e3'" in text and "null:" in text and "'NULL'" in text and "'no'" in text


def test_json_and_toml_are_read_and_json_is_written(folder: Path) -> None:
    toml = """
    suppression_limit = 0.10
    privacy = [{type = "k_anonymity", k = 5}]
    [columns]
    a = {role = "quasi_identifier", hierarchy = {intervals = {width = 0.50}}}
    s = {role = "sensitive", models = [{type = "t_closeness", t = 0.3}]}
    """
    (folder / "p.toml").write_text(toml)
    before = sqlanon.Policy.from_file(folder / "p.toml")
    convert(folder / "p.toml", folder / "t.xml")
    assert sqlanon.Policy.from_file(folder / "t.xml") == before
    assert read_definition(folder / "t.xml")["columns"]["s"]["models"][0]["t"] == Decimal("0.3")
    assert convert(folder / "p.toml", folder / "t.json") == []
    document = json.loads((folder / "t.json").read_text())
    assert document["columns"]["s"]["models"] == [{"type": "t_closeness", "t": 0.3}]
    assert document["columns"]["a"]["hierarchy"] == {"intervals": {"width": "0.50"}}
    convert(folder / "t.json", folder / "t.yaml")
    assert sqlanon.Policy.from_file(folder / "t.yaml") == sqlanon.Policy.from_file(folder / "t.json")


def test_digits_that_a_float_cannot_hold_are_told(folder: Path) -> None:
    (folder / "p.xml").write_text(EXAMPLE.replace('t="0.3"', 't="0.1234567890123456789"'))
    assert any("rounded" in reported for reported in convert(folder / "p.xml", folder / "r.yaml"))


@pytest.mark.parametrize("target", ["up.xml", "there/deep/p.xml", "there/deep/p.yaml", "link/p.xml"])
def test_relative_paths_lead_to_the_same_files(folder: Path, target: str) -> None:
    (folder.parent / "there" / "deep").mkdir(parents=True)
    os.symlink(folder.parent / "there" / "deep", folder.parent / "link")
    path = folder.parent / target
    remarks = convert(folder / "p.yaml", path)
    assert any("rewritten" in reported for reported in remarks)
    before, after = sqlanon.Policy.from_file(folder / "p.yaml"), sqlanon.Policy.from_file(path)

    def files(policy: sqlanon.Policy) -> list[str]:
        named = [
            policy.resolve(policy.source),
            policy.report,
            policy.output.target,
            policy.resolve(policy.subset["file"]),
        ]
        return [os.path.realpath(name) for name in [*named, *(c.hierarchy.path for c in policy.columns[:2])]]

    assert files(before) == files(after)
    convert(path, folder / "back.yaml")
    assert sqlanon.Policy.from_file(folder / "back.yaml") == before


def test_absolute_paths_and_urls_stay(folder: Path) -> None:
    text = POLICY.replace("data/s.csv", "https://x/y.csv").replace("sub.csv", "/sub.csv")
    (folder / "p.yaml").write_text(text.replace("h.csv", str(folder / "h.csv")))
    convert(folder / "p.yaml", folder.parent / "p.xml")
    document = read_definition(folder.parent / "p.xml")
    assert document["source"] == "https://x/y.csv" and document["privacy"][1]["subset"] == {"file": "/sub.csv"}
    assert document["columns"]["b"]["hierarchy"] == {"file": str(folder / "h.csv")}


def test_hierarchy_files_can_be_put_in(folder: Path) -> None:
    remarks = convert(folder / "p.yaml", folder / "p.xml", inline=True)
    assert "The hierarchy of 'a' was put in: the target holds its 4 values." in remarks
    columns = read_definition(folder / "p.xml")["columns"]
    assert columns["a"]["hierarchy"] == {
        "levels": {"x": ["*"], "y": ["*"], None: ["*"], "": ["*"]},
        "information_loss": [0, 1],
    }
    assert columns["b"]["hierarchy"] == {"levels": columns["a"]["hierarchy"]["levels"]}
    assert "h.csv" not in (folder / "p.xml").read_text()
    (folder / "h.csv").write_text("x;*\nx;y\n")
    with pytest.raises(HierarchyError, match="contradict"):
        convert(folder / "p.yaml", folder / "q.xml", inline=True)
    assert not (folder / "q.xml").exists()


def test_json_refuses_null_as_a_key(folder: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        convert(folder / "p.yaml", folder / "p.json")
    assert [fault.key for fault in caught.value.faults] == ["columns.c.hierarchy.levels"]


def test_what_a_policy_does_not_hold_is_told(folder: Path) -> None:
    text = EXAMPLE.replace('hierarchy="marital status"', 'hierarchy="zip"').replace("<output", "<!-- x --><output")
    (folder / "p.xml").write_text(text)
    assert convert(folder / "p.xml", folder / "q.yaml") == [
        "The hierarchy 'marital status' is left out: no attribute refers to it.",
        "Comments are left out.",
    ]


def test_a_target_is_not_overwritten_unless_asked(folder: Path) -> None:
    (folder / "p.xml").write_text("mine")
    with pytest.raises(TargetError, match="exists"):
        convert(folder / "p.yaml", folder / "p.xml")
    assert (folder / "p.xml").read_text() == "mine"
    convert(folder / "p.yaml", folder / "p.xml", replace=True)
    with pytest.raises(TargetError, match="what is converted"):
        convert(folder / "p.xml", folder / "p.xml", replace=True)
    assert sqlanon.Policy.from_file(folder / "p.xml") == sqlanon.Policy.from_file(folder / "p.yaml")


def test_endings_decide_and_unknown_ones_are_refused(folder: Path) -> None:
    for source, target in (("p.yaml", "p.txt"), ("p", "p.xml"), ("p.yaml", "p"), ("p.csv", "p.xml")):
        with pytest.raises(InputError, match="ending is not known"):
            convert(folder / source, folder / target)
    with pytest.raises(InputError, match="TOML"):
        convert(folder / "p.yaml", folder / "p.toml")
    with pytest.raises(InputError, match="cannot be read"):
        convert(folder / "none.yaml", folder / "p.xml")
    with pytest.raises(TargetError, match="is not there"):
        convert(folder / "p.yaml", folder / "no" / "such" / "folder" / "p.yaml")


def test_a_policy_with_faults_is_refused_and_nothing_is_left(folder: Path) -> None:
    (folder / "p.yaml").write_text(POLICY.replace("k: 5", "k: 0"))
    names = sorted(path.name for path in folder.iterdir())
    with pytest.raises(PolicyError) as caught:
        convert(folder / "p.yaml", folder / "p.xml")
    assert [fault.key for fault in caught.value.faults] == ["privacy[0].k"]
    (folder / "p.yaml").write_text(POLICY.replace('"NULL": ["no"]', '"\\x01": ["no"]'))
    with pytest.raises(PolicyError, match="control character"):
        convert(folder / "p.yaml", folder / "p.xml")
    assert sorted(path.name for path in folder.iterdir()) == names


texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=6)
awkward = st.sampled_from(
    [
        "NULL", "no", "y", "1e3", "0x1F", "1_000", "2020-01-01", "~", "", " ", "- a", "a: b", "#", "\n", "\r", "\t",
        "\x85", "\u2028", "\ufeff", "'", '"', "%", "@", "!", "&a", "*a", "<<", "=", ".inf", "+.5", "0o7", "1:30", "?",
        "|", "\\", "é", "𝄞", "-", "---", "[", "{}", ",",
    ]
)  # fmt: skip


@settings(max_examples=scaled(300))
@given(
    st.lists(texts | awkward, min_size=1, max_size=5, unique=True), st.lists(texts | awkward, min_size=3, max_size=3)
)
def test_texts_come_back_from_yaml_and_json_as_they_are(values: list[str], words: list[str]) -> None:
    levels = dict.fromkeys(values, words)
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"levels": levels}}}
    data = write_definition({"columns": columns, "privacy": [], "fixed_width": {"x": [*words, *values]}})
    read = parse_definition(data, "d")
    for text, loaded in ((WRITERS[".yaml"](data, []), yaml.safe_load), (WRITERS[".json"](data, []), json.loads)):
        assert typed(loaded(text)) == typed(read)
        assert list(loaded(text)["columns"]["a"]["hierarchy"]["levels"]) == values


@settings(max_examples=scaled(100))
@given(documents())
@pytest.mark.slow
def test_whole_policies_come_back_from_yaml(document: dict) -> None:
    data = write_definition(document)
    assert typed(yaml.safe_load(WRITERS[".yaml"](data, []))) == typed(parse_definition(data, "d"))


def test_a_target_that_is_there_names_the_option_that_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("columns: {a: {role: keep}}\nprivacy: []\n")
    (tmp_path / "p.json").write_text("mine")
    with pytest.raises(sqlanon.TargetError, match="--replace"):
        convert(tmp_path / "p.yaml", tmp_path / "p.json")
    assert (tmp_path / "p.json").read_text() == "mine"
