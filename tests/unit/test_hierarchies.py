"""Hierarchies from every source: trees by construction, refused with a clear error when they are not."""

import datetime
import math
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import document_of
from tables import text_table

import sqlanon
from sqlanon.core.hierarchies.readers import check_rows, read_rows


def qi(hierarchy: dict, **keys: object) -> dict:
    return {"role": "quasi_identifier", "hierarchy": hierarchy, **keys}


def levels_of(connection: duckdb.DuckDBPyConnection, hierarchy: dict, **keys: object) -> dict:
    """value -> its texts on all levels, as a release at that level would publish them."""
    document = document_of({"a": qi(hierarchy, **keys)}, k=1, table="t")
    with sqlanon.plan(connection, document) as plan:
        height = plan.catalog.attributes[0].height
        columns = ", ".join(f"level_{i}" for i in range(height))
        rows = plan._session.source.engine.run(
            "look", f"SELECT value, {columns} FROM sqlanon_lookup WHERE attribute = 0"
        )
        return {row[0]: list(row[1:]) for row in rows}


def assert_tree(levels: dict) -> None:
    for height in range(len(next(iter(levels.values()))) - 1):
        parents: dict = {}
        for texts in levels.values():
            assert parents.setdefault(texts[height], texts[height + 1]) == texts[height + 1]


def fill(connection: duckdb.DuckDBPyConnection, type_name: str, values: list) -> None:
    connection.execute(f"CREATE TABLE t (a {type_name})")
    connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])


@pytest.mark.parametrize("direction", ["right", "left"])
@settings(max_examples=scaled(25))
@given(st.lists(st.text(alphabet="ab*é ", max_size=5), min_size=1, max_size=8, unique=True))
def test_redact_masks_from_one_side_and_is_a_tree(direction: str, values: list[str]) -> None:
    with duckdb.connect() as connection:
        text_table(connection, ["a"], [(v,) for v in values])
        levels = levels_of(connection, {"redact": {"direction": direction}})
    longest = max(1, sorted(map(len, values))[-2:][0])  # of the longest value alone nothing is shown
    for value, texts in levels.items():
        for i, text in enumerate(texts[1:], start=1):
            kept = value[: longest - i] if direction == "right" else value[max(0, len(value) - (longest - i)) :]
            expected = kept.ljust(longest, "*") if direction == "right" else kept.rjust(longest, "*")
            assert text == expected
    assert_tree(levels)


@settings(max_examples=scaled(25))
@given(st.lists(st.integers(-500, 500), min_size=1, max_size=12, unique=True))
def test_intervals_of_integers(values: list[int]) -> None:
    with duckdb.connect() as connection:
        fill(connection, "INTEGER", values)
        levels = levels_of(
            connection, {"intervals": {"width": 7, "fanouts": [3], "origin": 2, "lower": -300, "upper": 400}}
        )
    for value, texts in levels.items():
        number = int(value)
        for text, width in zip(texts[1:3], (7, 21)):
            start = 2 + math.floor((number - 2) / width) * width
            inside = f"[{max(start, -300)}, {min(start + width, 400)})"  # no label overlaps another
            assert text == ("<-300" if number < -300 else ">=400" if number >= 400 else inside)
        assert texts[3] == "*"
    assert_tree(levels)


def test_intervals_of_decimals_floats_nan_and_infinity(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, "DECIMAL(6,2)", [Decimal("-0.01"), Decimal("0.25"), Decimal("1.30")])
    levels = levels_of(connection, {"intervals": {"width": 0.25}})
    assert levels["-0.01"][1] == "[-0.25, 0.00)"
    assert levels["0.25"][1] == "[0.25, 0.50)"
    connection.execute("DROP TABLE t")
    fill(connection, "DOUBLE", [0.3, math.nan, math.inf, -math.inf, 1e300])
    levels = levels_of(connection, {"intervals": {"width": 1, "fanouts": [10]}})
    assert levels["0.3"][1:3] == ["[0, 1)", "[0, 10)"]
    assert levels["nan"][1] == "nan" and levels["inf"][1] == "inf" and levels["1e+300"][1] == "far"
    assert_tree(levels)


def test_dates_from_day_to_decade(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, "TIMESTAMP", [datetime.datetime(1999, 12, 31, 23), datetime.datetime(2000, 5, 1), None])
    levels = levels_of(connection, {"dates": {}})
    assert levels["1999-12-31 23:00:00"][1:] == ["1999-12-31", "1999-12", "1999-Q4", "1999", "1990s", "*"]
    assert levels[None] == [None] * 6 + ["*"]
    assert levels_of(connection, {"dates": ["week"]})["2000-05-01 00:00:00"][1] == "2000-W18"


def test_groups_and_typed_values_meet_by_canonical_text(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, "BOOLEAN", [True, False, None])
    assert levels_of(connection, {"levels": {True: "*", False: "*"}})["true"] == ["true", "*"]
    assert levels_of(connection, {"groups": {"yes": [True], "no": [False]}})["false"] == ["false", "no", "*"]


def test_a_hierarchy_table_of_the_database(connection: duckdb.DuckDBPyConnection) -> None:
    fill(connection, "INTEGER", [1, 2, 3])
    connection.execute("CREATE TABLE h AS SELECT i, i // 2 AS half, 'all' AS root FROM range(9) r(i)")
    assert levels_of(connection, {"table": "h"})["3"] == ["3", "1", "all"]


def test_uncovered_values_are_counted_and_listed_by_a_query(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    text_table(connection, ["a"], [("x",), ("y",), ("y",), ("z",)])
    with pytest.raises(sqlanon.UncoveredValuesError) as caught:
        (tmp_path / "h.csv").write_text("x;*\n")
        levels_of(connection, {"file": str(tmp_path / "h.csv")})
    assert caught.value.counts == {"a": (2, 3)}
    listed = connection.execute(caught.value.queries["a"]).fetchall()
    assert sorted(listed) == [("y", 2), ("z", 1)]
    assert levels_of(connection, {"levels": {"x": "*"}}, uncovered="top")["z"] == ["*", "*"]


def test_uncovered_top_needs_a_root_of_its_own(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",), ("*",), ("z",)])
    with pytest.raises(sqlanon.HierarchyError, match="below the root"):
        levels_of(connection, {"levels": {"x": "*", "*": "*"}}, uncovered="top")
    with pytest.raises(sqlanon.HierarchyError, match="end in 2 values"):
        levels_of(connection, {"levels": {"x": "r", "*": "s"}}, uncovered="top")


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "is empty"),
        ("a;b;*\nc;*\n", "lacks levels: 1 rows"),
        ("a;;*\n", "empty field"),
        ("a;b;*\na;c;*\n", "contradict"),
        ("a;b;1\nc;b;2\n", "not a tree: 1 values of level 1"),
        ('a;"b', "not closed"),
    ],
)
def test_bad_files_are_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(sqlanon.HierarchyError, match=told):
        check_rows(read_rows(tmp_path / "h.csv", ";", None, "utf-8"), "h")


def test_identical_rows_are_collapsed_with_a_warning(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_bytes(b'\xef\xbb\xbfa;*\r\n"b;""";*\r\n"";*\r\na;*\r\n;none\r\n')
    rows = read_rows(tmp_path / "h.csv", ";", None, "utf-8")
    assert rows == [("a", "*"), ('b;"', "*"), ("", "*"), ("a", "*"), (None, "none")]
    text_table(connection, ["a"], [("a",), ("",), (None,)])
    document = document_of({"a": qi({"file": str(tmp_path / "h.csv")})}, k=1, table="t")
    with sqlanon.plan(connection, document) as plan:
        assert "identical rows" in plan.warnings[0]
        assert plan.catalog.attributes[0].domain == 4


def test_values_of_excluded_records_need_no_row(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a", "b"], [("x", "1"), ("x", "1"), ("unlisted", None)])
    document = document_of({"a": qi({"levels": {"x": "*"}}), "b": qi({"suppress": {}})}, k=2, table="t", nulls="basic")
    with sqlanon.anonymize(connection, document) as release:
        assert (release.ledger.published, release.ledger.excluded) == (2, 1)
    with pytest.raises(sqlanon.UncoveredValuesError):
        sqlanon.plan(connection, {**document, "nulls": "extended"})
