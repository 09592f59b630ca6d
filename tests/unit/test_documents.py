"""A policy file that cannot be read says why, in which line and column, and repeats nothing of what it holds."""

import re
from pathlib import Path
from typing import Any

import pytest

import sqlanon

SECRET = "Meier"
HEAD = "source: t.csv\ncolumns:\n"


def refused(folder: Path, name: str, content: str | bytes) -> str:
    """The message about a file that cannot be read, or about the policy in it."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(sqlanon.InputError) as caught:
        sqlanon.Policy.from_file(path)
    assert SECRET not in str(caught.value)
    return str(caught.value)


FAULTY = {
    "p.yaml": [
        (f"{HEAD}\ta: {{role: keep}}\n", "line 3, column 1", "cannot start any token"),
        (f"{HEAD}  a: {{role: keep\n  b: {{role: keep}}\n", "line 4, column 4", "expected ',' or '}', but got ':'"),
        (f"{HEAD}  a: [{SECRET}\n", "line 4, column 1", "expected ',' or ']'"),
        (f"{HEAD}  a: {{role: keep}}\n  a: {{role: keep}}\n", "line 4, column 3", "is given twice"),
        (f"{HEAD}  a: *{SECRET}\n", "line 3, column 6", "undefined alias"),
        (f"{HEAD}  a: !{SECRET} x\n", "line 3, column 6", "could not determine a constructor"),
        (f"{HEAD}  a: {{role: '{SECRET}}}\n", "line 4, column 1", "unexpected end of stream"),
        (f"{HEAD}  a: 2024-99-99\n", "line 3, column 6", "a value cannot be read"),
        (f"{HEAD}  ? [a]\n  : b\n", "line 3, column 5", "a key is no text"),
        (f"{HEAD}  a: x\x00y\n", "line 3, column 7", "not allowed in YAML"),
        (f"{HEAD}  a: {'9' * 5000}\n", "line 3, column 6", "a value cannot be read"),
    ],
    "p.json": [
        ('{\n "source": "t.csv",\n}', "line 3, column 1", ""),
        (f'{{\n "source" "{SECRET}"}}', "line 2, column 11", "Expecting ':' delimiter"),
        ('{\n\t"source": "a",\n\t"source": "b"}', "line 3, column 2", "is given twice"),
        ("", "line 1, column 1", "Expecting value"),
    ],
    "p.toml": [
        (f"source = '{SECRET}", "line 1, column", ""),
        (f'source = "t.csv"\n{SECRET}', "line 2, column", "Expected '='"),
        (f"[columns.{SECRET}]\n[columns.{SECRET}]\n", "line 2, column", "Cannot declare"),
        (f"a = 1\n{'a.' * 80}b = 1\n", "line 2, column 1", "too many parts"),
    ],
}
"""Texts by the name of their file, each with the place that its error names, and the cause."""


@pytest.mark.parametrize(
    ("name", "text", "place", "cause"), [(name, *case) for name, cases in FAULTY.items() for case in cases]
)
def test_a_fault_is_told_by_its_place_and_its_cause(
    name: str, text: str, place: str, cause: str, tmp_path: Path
) -> None:
    message = refused(tmp_path, name, text)
    assert re.search(rf"{place}\b", message) and cause in message


def test_bytes_that_are_no_utf_8_have_a_place(tmp_path: Path) -> None:
    for name in ("p.yaml", "p.json", "p.toml"):
        assert "line 2, column 4: a byte is not UTF-8" in refused(tmp_path, name, b"a: b\nc: \xe9\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "opening", "closing"),
    [
        ("p.yaml", "[", "]"),
        ("p.json", "[", "]"),
        ("p.json", '{"a":', "}"),
        ("p.toml", "[", "]"),
        ("q.yaml", "{a: ", "}"),
    ],
)
def test_deep_nesting_is_refused(name: str, opening: str, closing: str, tmp_path: Path) -> None:
    for depth in (100, 900, 100_000):
        middle = "" if opening == "[" else "1"
        text = opening * depth + middle + closing * depth
        key = {"yaml": "columns: ", "json": '{"columns": ', "toml": "columns = "}[name.rpartition(".")[2]]
        text = key + text + ("}" if name.endswith("json") else "")
        assert "too deeply" in refused(tmp_path, name, text)


@pytest.mark.slow
def test_aliases_that_hold_themselves_or_far_too_much_are_refused(tmp_path: Path) -> None:
    assert "line 1, column 10: found unconstructable recursive node" in refused(
        tmp_path, "p.yaml", "columns: &a [*a]\n"
    )
    itself: dict[str, Any] = {}
    itself["columns"] = itself
    with pytest.raises(sqlanon.PolicyError, match="too deeply"):
        sqlanon.Policy.from_dict(itself)
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "too many values" in refused(tmp_path, "p.yaml", f"l0: &l0 [{SECRET}]\n{layers}")


def test_a_merged_mapping_may_be_overridden(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "columns:\n  a: &a {role: quasi_identifier, hierarchy: {suppress: {}}, max_level: 0}\n"
        "  b: {<<: *a, max_level: 1}\nprivacy: [{type: k_anonymity, k: 2}]\n"
    )
    policy = sqlanon.Policy.from_file(tmp_path / "p.yaml")
    assert [column.max_level for column in policy.columns] == [0, 1]


@pytest.mark.parametrize(
    "document",
    [
        '{"source": "\\ud800.csv"}',
        '{"columns": {"\\ud800": {"role": "keep"}}}',
        '{"output": {"file": "\\udfff.csv"}}',
        '{"columns": {"a": {"hierarchy": {"levels": {"\\ud800": "*"}}}}}',
    ],
)
def test_halves_of_surrogates_are_refused(document: str, tmp_path: Path) -> None:
    assert "Unicode" in refused(tmp_path, "p.json", document)
    model = sqlanon.KAnonymity(2)
    for fields in ({"source": "\ud800"}, {"output": "\ud800.csv"}, {"entity": "\ud800"}, {"report": "\ud800.html"}):
        with pytest.raises(sqlanon.PolicyError):
            sqlanon.Policy((sqlanon.Column.keep("a"),), (model,), **fields)  # type: ignore[arg-type]
    with pytest.raises(sqlanon.PolicyError):
        sqlanon.Policy((sqlanon.Column.keep("\ud800"),), (model,))


def test_a_folder_or_a_device_is_no_policy_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yaml", Path("/dev/null/x"), Path("a\0b")):
        with pytest.raises(sqlanon.InputError, match=r"cannot be read: .* Hint: check the path"):
            sqlanon.Policy.from_file(path)
