"""Frames that are registered with the user's connection, and its temporary tables and views, as sources."""

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sqlanon
from sqlanon.errors import SqlanonError

FRAME = pa.table({"a": ["x", "y", "x"], "n": [1, 2, 3]})


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as opened:
        opened.register("frame", FRAME)
        opened.execute("CREATE TEMPORARY TABLE numbers AS FROM frame")
        opened.execute("CREATE TEMPORARY VIEW seen AS SELECT * FROM frame")
        yield opened


def policy(**changes: Any) -> sqlanon.Policy:
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "n": {"role": "keep"}}
    document = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 1}], **changes}
    return sqlanon.Policy.from_dict(document)


def rows(connection: Any, chosen: sqlanon.Policy) -> Counter:
    with sqlanon.anonymize(connection, chosen) as release:
        data = release.to_arrow()
        return Counter(zip(*(data.column(i).to_pylist() for i in range(data.num_columns)), strict=True))


def relations(connection: Any) -> list[Any]:
    tables = connection.sql("SELECT database_name, table_name, estimated_size FROM duckdb_tables()").fetchall()
    return [tables, connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]


@pytest.mark.parametrize("name", ["frame", "numbers", "seen", "Numbers", "temp.numbers", "temp.main.seen"])
def test_are_found_as_a_source_and_not_changed(connection: Any, name: str) -> None:
    before = relations(connection)
    assert rows(connection, policy(table=name)) == Counter(zip(*FRAME.to_pydict().values(), strict=True))
    assert relations(connection) == before
    assert connection.sql("SELECT count(*) FROM numbers").fetchall() == [(3,)]


def test_come_before_a_table_of_the_same_name(connection: Any) -> None:
    connection.execute("CREATE TABLE main.numbers AS SELECT 'wrong' AS a, 0 AS n")
    assert ("wrong", 0) not in rows(connection, policy(table="numbers"))
    assert rows(connection, policy(table="main.numbers")) == Counter([("wrong", 0)])


def test_are_found_as_hierarchy_subset_and_joined_source(connection: Any) -> None:
    connection.register("tree", pa.table({"value": ["x", "y"], "above": ["*", "*"]}))
    connection.execute("CREATE TEMPORARY TABLE part AS SELECT a, n FROM frame WHERE n = 1")
    connection.execute("CREATE TEMPORARY VIEW more AS SELECT n, 'm' || n AS m FROM frame")
    columns = {
        "a": {"role": "quasi_identifier", "hierarchy": {"table": "tree"}},
        "n": {"role": "keep"},
        "m": {"role": "keep"},
    }
    presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"table": "part"}}
    chosen = policy(table="frame", columns=columns, privacy=[presence], join=[{"table": "more", "key": "n"}])
    assert rows(connection, chosen) == Counter([("x", 1, "m1")])


def test_keep_the_types_of_their_columns(connection: Any) -> None:
    connection.execute(
        "CREATE TEMPORARY TABLE typed AS SELECT 'b'::ENUM('c', 'b') AS a, uuid() AS u, 5::HUGEINT AS h, "
        "5::UHUGEINT AS uh, 1.50::DECIMAL(38, 2) AS d, TIMESTAMPTZ '2020-01-01' AS t, DATE '2020-01-01' AS day"
    )
    described = connection.sql("DESCRIBE typed").fetchall()
    columns = {name: {"role": "keep"} for name in ("a", "u", "h", "uh", "d", "t", "day")}
    with sqlanon.plan(connection, policy(table="typed", columns=columns)) as plan:
        assert plan.source.types == {row[0]: row[1] for row in described}


def test_that_are_empty_are_sources_without_records(connection: Any) -> None:
    connection.register("none", FRAME.slice(0, 0))
    with pytest.raises(SqlanonError, match="no records"):
        rows(connection, policy(table="none"))


def test_of_an_open_transaction_are_found(connection: Any) -> None:
    connection.begin()
    connection.execute("CREATE TEMPORARY TABLE fresh AS FROM frame")
    assert rows(connection, policy(table="fresh")).total() == 3
    connection.rollback()


def test_an_unfinished_result_is_named_where_it_hides_them(connection: Any) -> None:
    connection.execute("CREATE TABLE plain AS FROM frame")
    connection.execute("FROM range(9)").fetchone()
    with pytest.raises(SqlanonError, match=r"'frame' is not in the database, and .* unfinished result"):
        rows(connection, policy(table="frame"))
    assert rows(connection, policy(table="plain")).total() == 3
    assert connection.fetchone() == (1,)


def test_no_live_view_stands_on_them(connection: Any) -> None:
    with pytest.raises(SqlanonError, match="'temp'"):
        rows(connection, policy(table="numbers", output={"live_view": "v"}))
    assert rows(connection, policy(table="numbers", output={"table": "released"})).total() == 3
    assert connection.sql("SELECT count(*) FROM released").fetchall() == [(3,)]
