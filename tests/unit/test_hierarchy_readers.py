"""Hierarchy files are read strictly, and rows that are no tree are refused without telling a value."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.core.hierarchies.readers import CheckedRows, Row, check_rows, read_rows
from sqlanon.errors import HierarchyError

CANARY = "Zq7canary"


def read(directory: Path, content: bytes, delimiter: str = ";", null: str | None = None, encoding: str = "utf-8"):
    path = directory / "h.csv"
    path.write_bytes(content)
    return read_rows(path, delimiter, null, encoding)


@pytest.mark.parametrize(
    "content, rows",
    [
        (b"a;*\nb;*", [("a", "*"), ("b", "*")]),
        (b"\xef\xbb\xbfa;*\r\n", [("a", "*")]),
        (b'\xef\xbb\xbf"a";*\r\n', [("a", "*")]),
        (b"a;*\rb;*\r", [("a", "*"), ("b", "*")]),
        (b";*\n", [(None, "*")]),
        (b'"";*\n;*\n', [("", "*"), (None, "*")]),
        (b'a;""\nb;\n', [("a", ""), ("b", None)]),
        (b'""\n', [("",)]),
        (b'a;"', None),
        (b'"a""b";"x;y"\n', [('a"b', "x;y")]),
        (b'"a\r\nb\nc";*\r\n', [("a\r\nb\nc", "*")]),
        (b'5" pipe;*\n"q";*\n', [('5" pipe', "*"), ("q", "*")]),
        (b'"q"x;*\n', None),
        (b'"q" ;*\n', None),
        (b"\n\na;*\n\n", [("a", "*")]),
        (b'\n\n"a";*\n\n', [("a", "*")]),
        (b"a\nb\n", [("a",), ("b",)]),
        (b" a ; * \n", [(" a ", " * ")]),
        ("a\u2028b;*\n".encode(), [("a\u2028b", "*")]),
        ('a\u2028b\x0b\x85;"*"\n'.encode(), [("a\u2028b\x0b\x85", "*")]),
        (b"", []),
    ],
)
def test_files_are_read_strictly(tmp_path: Path, content: bytes, rows: list[Row] | None) -> None:
    if rows is None:
        with pytest.raises(HierarchyError, match="line 1 "):
            read(tmp_path, content)
    else:
        assert read(tmp_path, content) == rows


def test_null_text_counts_unquoted_only(tmp_path: Path) -> None:
    assert read(tmp_path, b'NA;"NA"\n"NA";x\n', null="NA") == [(None, "NA"), ("NA", "x")]
    assert read(tmp_path, b"NA;x\n;x\n", null="NA") == [(None, "x"), (None, "x")]
    assert read(tmp_path, b"NA;x\n") == [("NA", "x")]


def test_delimiters_and_encodings(tmp_path: Path) -> None:
    for delimiter in ",|\t]^.\\-":
        content = f'a{delimiter}"b{delimiter}c"\n'.encode()
        assert read(tmp_path, content, delimiter) == [("a", f"b{delimiter}c")]
    assert read(tmp_path, "é;*\n".encode("latin-1"), encoding="latin-1") == [("é", "*")]
    assert read(tmp_path, "é;*\n".encode("utf-16"), encoding="utf-16") == [("é", "*")]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "\r"])
def test_unusable_delimiters_are_refused(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(HierarchyError, match="delimiter"):
        read(tmp_path, b"a;*\n", delimiter)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-32", "no such encoding", "rot13"])
def test_files_that_cannot_be_decoded_are_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(HierarchyError, match="cannot be read") as caught:
        read(tmp_path, f"{CANARY}\xff;*\n".encode("latin-1"), encoding=encoding)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_rows(tmp_path / "absent.csv", ";", None, "utf-8")


def test_the_line_of_a_bad_quote_is_told(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="line 4 ") as caught:
        read(tmp_path, f'"a\nb";*\r\nc;*\r"{CANARY}";"{CANARY}\n\n'.encode())
    assert CANARY not in str(caught.value)


def test_an_open_quote_costs_one_pass(tmp_path: Path) -> None:
    start = time.perf_counter()
    with pytest.raises(HierarchyError, match="not closed"):
        read(tmp_path, b'a;"' + b'""' * 200_000)
    assert time.perf_counter() - start < 5


FIELDS = st.none() | st.text(alphabet='ab;"\r\n é*', max_size=5)


@given(st.lists(st.lists(FIELDS, min_size=2, max_size=4).map(tuple), max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
def test_written_rows_are_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Row], end: str) -> None:
    def write(field: str | None) -> str:
        return "" if field is None else '"' + field.replace('"', '""') + '"'

    content = "".join(";".join(map(write, row)) + end for row in rows)
    assert read(tmp_path_factory.getbasetemp(), content.encode()) == rows


@given(st.lists(st.lists(st.text(alphabet="ab é*", max_size=3), min_size=2, max_size=4), max_size=6))
def test_both_paths_read_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    directory = tmp_path_factory.getbasetemp()
    content = "".join(";".join(row) + "\n" for row in rows)
    slow = read(directory, (content + '"last";*\n').encode())
    assert slow == [*read(directory, content.encode()), ("last", "*")]


def test_identical_rows_are_collapsed_and_counted() -> None:
    rows = [("a", "*"), ("b", "*"), ("a", "*"), (None, "*"), ("a", "*")]
    assert check_rows(rows, "h") == CheckedRows((("a", "*"), ("b", "*"), (None, "*")), 2)


def test_a_hierarchy_may_hold_only_values() -> None:
    assert check_rows([("a",), (None,), ("",)], "h") == CheckedRows((("a",), (None,), ("",)), 0)


@pytest.mark.parametrize(
    "rows, told",
    [
        ([], "is empty"),
        ([(CANARY, "b", "*"), ("c", "d", "*"), (CANARY, "*")], "1 rows do not have 3 fields; the first is row 3"),
        ([("a", "*"), (CANARY, None), ("c", None)], "2 rows have an empty field .* first is row 2"),
        ([("a", None, CANARY)], "1 rows have an empty field"),
        ([(CANARY, "b"), (CANARY, "c"), ("x", "b"), (None, "b"), (None, "c")], "contradict each other: 2 values"),
        ([("a", CANARY, "1"), ("b", CANARY, "2"), ("c", "d", "1")], "not a tree: 1 values of level 1 .* level 2"),
        ([("a", "x", CANARY, "1"), ("b", "y", CANARY, "2")], "not a tree: 1 values of level 2 .* level 3"),
    ],
)
def test_rows_that_are_no_tree_are_refused(rows: list[Row], told: str) -> None:
    with pytest.raises(HierarchyError, match=told) as caught:
        check_rows(rows, "h")
    assert CANARY not in str(caught.value)
    assert caught.value.hint


@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 3), min_size=1, max_size=5))
def test_rows_are_accepted_exactly_when_every_level_determines_the_next(rows: list[tuple[str, str, str]]) -> None:
    pairs = [{(row[level], row[level + 1 :]) for row in rows} for level in range(2)]
    tree = all(len(found) == len({value for value, _ in found}) for found in pairs)
    try:
        checked = check_rows(rows, "h")
    except HierarchyError:
        assert not tree
    else:
        assert tree
        assert set(checked.rows) == set(rows) and len(checked.rows) + checked.collapsed == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_hundred_thousand_rows_are_quick(tmp_path: Path, quote: str) -> None:
    masked = ([f"{i:05}"[: 5 - level] + "*" * level for level in range(6)] for i in range(100_000))
    content = "\n".join(";".join(f"{quote}{text}{quote}" for text in row) for row in masked)
    start = time.perf_counter()
    assert len(check_rows(read(tmp_path, content.encode()), "zip").rows) == 100_000
    assert time.perf_counter() - start < 3  # 0.2 to 0.4 s when measured alone; the rest is for busy machines
