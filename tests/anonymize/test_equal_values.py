"""Values that are equal, and values that only look equal: the sign of NaN and of zero, and collations of columns.

A verdict depends on neither: equal numbers are one value, texts are compared byte by byte whatever their column
declares, and entities alone as their column compares them.
"""

from typing import Any

import duckdb
import pytest
from policies import document_of

import sqlanon

SIGNED_NAN = "'inf'::DOUBLE - 'inf'::DOUBLE"
"""NaN with a sign, on processors that give it one."""
EITHER_NAN = f"CASE WHEN i % 2 = 0 THEN {SIGNED_NAN} ELSE 'nan'::DOUBLE END"
TOP: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}


def released(connection: duckdb.DuckDBPyConnection, columns: dict[str, Any], **changes: Any) -> dict[str, list[Any]]:
    document = document_of(columns, changes, k=2, table="t", undeclared="drop", suppression_limit=1)
    with sqlanon.anonymize(connection, document) as release:
        found: dict[str, list[Any]] = release.to_arrow().to_pydict()
        return found


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@pytest.mark.parametrize("hierarchy", [{"suppress": {}}, {"intervals": {"width": 1}}])
def test_nan_is_one_value_whatever_its_sign(connection: duckdb.DuckDBPyConnection, hierarchy: dict[str, Any]) -> None:
    connection.execute(
        f"CREATE TABLE t AS SELECT {EITHER_NAN} AS a FROM range(2) r(i) UNION ALL SELECT 1 FROM range(9)"
    )
    found = released(connection, {"a": {"role": "quasi_identifier", "hierarchy": hierarchy}})["a"]
    assert len(found) == 11
    assert sorted(map(str, found)).count("nan") == 2  # a class of two, neither suppressed nor with a sign


def test_an_entity_that_is_nan_is_counted_once(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"CREATE TABLE t AS SELECT {EITHER_NAN} AS who, 'x' AS q FROM range(4) r(i)")
    with pytest.raises(sqlanon.NoSolutionError):
        released(connection, {"q": TOP}, entity="who", suppression_limit=0)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_zero_has_one_place_whatever_its_sign(connection: duckdb.DuckDBPyConnection, distance: str) -> None:
    zeros = "CASE i % 3 WHEN 0 THEN -0.0::DOUBLE WHEN 1 THEN 0.0::DOUBLE ELSE 1 END"
    connection.execute(f"CREATE TABLE t AS SELECT {zeros} AS a, 'q' || (i // 5) AS q FROM range(40) r(i)")
    watched = {"role": "sensitive", "models": [{"type": "t_closeness", "t": 0.4, "distance": distance}]}
    assert len(released(connection, {"q": TOP, "a": watched})["a"]) == 40


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
@pytest.mark.parametrize("hierarchy", [
    {"suppress": {}},
    {"levels": {text: ["*"] for text in ("A", "a", "é", "e")}},
])  # fmt: skip
def test_a_quasi_identifier_is_compared_by_bytes_whatever_its_collation(
    connection: duckdb.DuckDBPyConnection, collation: str, hierarchy: dict[str, Any]
) -> None:
    connection.execute(f"CREATE TABLE t (a VARCHAR COLLATE {collation}, n INT)")
    connection.execute("INSERT INTO t VALUES ('A', 1), ('A', 2), ('a', 3), ('a', 4), ('é', 5), ('e', 6)")
    found = released(connection, {"a": {"role": "quasi_identifier", "hierarchy": hierarchy}, "n": {"role": "keep"}},
                     accept=["n"])  # fmt: skip
    assert sorted(zip(found["n"], found["a"], strict=True)) == [(1, "A"), (2, "A"), (3, "a"), (4, "a")]


@pytest.mark.slow
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
@pytest.mark.parametrize("target", ["memory", "table", "file"])
@pytest.mark.parametrize("model", [
    {"type": "distinct_l_diversity", "l": 3},
    {"type": "t_closeness", "t": 0.1, "distance": "equal"},
    {"type": "t_closeness", "t": 0.1, "distance": "ordered"},
    {"type": "t_closeness", "t": 0.1, "distance": "hierarchical"},
])  # fmt: skip
def test_a_verdict_over_collated_values_does_not_depend_on_the_target(
    connection: duckdb.DuckDBPyConnection, tmp_path: Any, collation: str, target: str, model: dict[str, Any]
) -> None:
    connection.execute(f"CREATE TABLE t (q VARCHAR, s VARCHAR COLLATE {collation})")
    values = ("é", "e", "E", "x")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [("x", value) for value in values])
    listed = {"hierarchy": {"levels": {text: [text.upper(), "*"] for text in values}}}
    watched = {"role": "sensitive", "models": [model], **(listed if model.get("distance") == "hierarchical" else {})}
    output = {"memory": {}, "table": {"output": {"table": "r"}}, "file": {"output": {"file": str(tmp_path / "r.csv")}}}
    models = [{"type": "k_anonymity", "k": 2}]
    policy = {"table": "t", "columns": {"q": TOP, "s": watched}, "privacy": models, **output[target]}
    with sqlanon.anonymize(connection, policy) as release:
        assert release.ledger.published == 4


@pytest.mark.parametrize("name", ["sqlanon_base", "sqlanon_lookup", "SQLANON_VALUES"])
def test_a_source_may_have_the_name_of_a_working_table(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(f"CREATE TABLE {name} AS SELECT i % 3 AS a FROM range(9) r(i)")
    assert sorted(released(connection, {"a": TOP}, table=name)["a"]) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_texts_are_compared_by_bytes_whatever_the_connection_says(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET GLOBAL default_collation = 'NOCASE'")
    connection.execute("CREATE TABLE t AS SELECT unnest(['A', 'A', 'a', 'a', 'a']) AS a")
    assert sorted(released(connection, {"a": TOP})["a"]) == ["A", "A", "a", "a", "a"]
