"""Hostile input ends in a clear error or a correct release, never in a half-written one."""

import datetime
import math
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hostile_names import NAMES
from tables import text_table

import sqlanon


def policy(columns: dict, **keys: object) -> sqlanon.Policy:
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 2}], "suppression_limit": 1}
    return sqlanon.Policy.from_dict({**document, **keys})


def suppressed(*names: str) -> dict:
    return {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in names}


@pytest.mark.slow
def test_hostile_column_names_survive_unchanged(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [tuple(f"{c}{i % 2}" for c in range(len(NAMES))) for i in range(20)]
    text_table(connection, NAMES, rows)
    columns = {**suppressed(*NAMES[:-2]), NAMES[-2]: {"role": "keep"}, NAMES[-1]: {"role": "drop"}}
    with sqlanon.anonymize(connection, policy(columns, output={"table": "order"}, accept=[NAMES[-2]])) as release:
        assert release.to_arrow().column_names == NAMES[:-1]
        assert Counter(zip(*release.to_arrow().to_pydict().values())) == Counter(row[:-1] for row in rows)
        assert release.plan.classes({}).num_rows == 2


def test_a_table_with_a_hostile_name_is_read(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("1",), ("1",)], name='t"; DROP TABLE t')
    with sqlanon.anonymize(connection, policy(suppressed("a"), table='t"; DROP TABLE t')) as release:
        assert release.ledger.published == 2


TYPES = {
    "INTEGER": [1, 2, None],
    "HUGEINT": [2**100, -(2**100), None],
    "DOUBLE": [1.5, math.nan, None, math.inf, 1e300],
    "BOOLEAN": [True, False, None],
    "DATE": [datetime.date(2020, 2, 29), datetime.date(1, 1, 1), None],
    "TIMESTAMP": [datetime.datetime(2020, 2, 29, 12, 0, 1, 5), None],
    "DECIMAL(10,2)": [Decimal("1.50"), Decimal("-0.10"), None],
    "UUID": [uuid.UUID(int=1), uuid.UUID(int=2**127), None],
    "VARCHAR": ["", "NULL", "*", None, "ß"],
}


@pytest.mark.slow
@pytest.mark.parametrize("type_name", TYPES)
def test_every_type_is_published_unharmed_at_level_0(type_name: str, connection: duckdb.DuckDBPyConnection) -> None:
    values = [(v,) for v in TYPES[type_name]] * 3
    connection.execute(f"CREATE TABLE t (a {type_name})")
    connection.executemany("INSERT INTO t VALUES (?)", values)
    with sqlanon.anonymize(connection, policy(suppressed("a"), output={"table": "released"})) as release:
        assert release.levels == {"a": 0}
        assert release.ledger.published == len(values)
        kept = connection.execute("DESCRIBE released").fetchone()[1]
        assert kept == type_name
        ours = connection.execute("SELECT CAST(a AS VARCHAR), COUNT(*) FROM released GROUP BY 1 ORDER BY 1").fetchall()
        theirs = connection.execute("SELECT CAST(a AS VARCHAR), COUNT(*) FROM t GROUP BY 1 ORDER BY 1").fetchall()
        assert ours == theirs


def test_negative_zero_and_zero_are_one_value(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT CAST(x AS DOUBLE) AS a FROM (VALUES ('-0.0'), ('0.0')) v(x)")
    with sqlanon.anonymize(connection, policy(suppressed("a"))) as release:
        assert release.levels == {"a": 0} and release.ledger.published == 2
        assert {str(v) for v in release.to_arrow()["a"].to_pylist()} == {"0.0"}


def test_enum_domains_do_not_travel(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TYPE mood AS ENUM ('ok', 'SECRETVALUE')")
    connection.execute("CREATE TABLE t (a mood, b mood)")
    connection.execute("INSERT INTO t VALUES ('ok', 'ok'), ('ok', 'ok')")
    columns = {**suppressed("a"), "b": {"role": "keep"}}
    with sqlanon.anonymize(connection, policy(columns, output={"table": "r"})):
        assert {row[1] for row in connection.execute("DESCRIBE r").fetchall()} == {"VARCHAR"}


def test_a_nested_type_is_refused_with_the_cure(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT [1, 2] AS a")
    with pytest.raises(sqlanon.UnsupportedError, match="cast it to text"):
        sqlanon.plan(connection, policy(suppressed("a")))


def test_an_empty_table_has_no_solution(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [])
    with pytest.raises(sqlanon.NoSolutionError, match="no records"):
        sqlanon.plan(connection, policy(suppressed("a")))


@pytest.mark.parametrize("k, fits", [(1, True), (2, False)])
def test_one_record(k: int, fits: bool, connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",)])
    chosen_policy = policy(suppressed("a"), privacy=[{"type": "k_anonymity", "k": k}])
    if fits:
        with sqlanon.anonymize(connection, chosen_policy) as release:
            assert release.ledger.published == 1
    else:
        with pytest.raises(sqlanon.NoSolutionError) as caught:
            sqlanon.plan(connection, chosen_policy)
        assert caught.value.nearest == {
            "levels": {"a": 0},
            "suppressed": 1,
            "allowed": 1,
            "models": [{"model": "k_anonymity(k=2)", "suppressed": 1}],
        }


@pytest.mark.parametrize("nulls", ["extended", "basic"])
def test_all_null(nulls: str, connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a", "b"], [(None, "x")] * 3)
    if nulls == "basic":
        with pytest.raises(sqlanon.NoSolutionError, match="3 excluded"):
            sqlanon.plan(connection, policy(suppressed("a", "b"), nulls=nulls))
    else:
        with sqlanon.anonymize(connection, policy(suppressed("a", "b"), nulls=nulls)) as release:
            assert release.to_arrow().to_pydict() == {"a": [None] * 3, "b": ["x"] * 3}


def test_constant_columns_cost_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a", "b"], [("x", str(i // 2)) for i in range(10)])
    with sqlanon.anonymize(connection, policy(suppressed("a", "b"))) as release:
        assert release.certificate.loss == 0 and release.certificate.gap == 0 and release.certificate.optimal


def test_without_quasi_identifiers_the_table_is_one_class(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",), ("y",)])
    with sqlanon.anonymize(connection, policy({"a": {"role": "keep"}}, output={"table": "r"})) as release:
        assert (release.ledger.classes, release.ledger.published, release.certificate.lattice_size) == (1, 2, 1)
    with pytest.raises(sqlanon.NoSolutionError):
        sqlanon.plan(connection, policy({"a": {"role": "keep"}}, privacy=[{"type": "k_anonymity", "k": 3}]))


def test_columns_without_a_role_are_refused_or_dropped(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a", "secret"], [("x", "1"), ("x", "2")])
    with pytest.raises(sqlanon.InputError, match="'secret'"):
        sqlanon.plan(connection, policy(suppressed("a")))
    with sqlanon.anonymize(connection, policy(suppressed("a"), undeclared="drop")) as release:
        assert release.to_arrow().column_names == ["a"]


def test_more_than_one_word_and_more_than_62_bits(connection: duckdb.DuckDBPyConnection) -> None:
    columns = [f"c{i}" for i in range(12)]
    connection.execute(
        "CREATE TABLE t AS SELECT "
        + ", ".join(f"CAST((hash(i * {p + 1}) % 97) AS VARCHAR) AS c{p}" for p in range(12))
        + " FROM range(3000) r(i)"
    )
    chosen_policy = policy(suppressed(*columns), search={"max_evaluations": 50})
    with sqlanon.plan(connection, chosen_policy) as plan:
        assert plan.catalog.words == 2
        assert plan.evaluate(dict.fromkeys(columns, 1)).classes == 1
        for free in ("c0", "c7", "c11"):
            levels = {**dict.fromkeys(columns, 1), free: 0}
            expected = connection.execute(f"SELECT COUNT(*) FROM (SELECT {free} FROM t GROUP BY 1)").fetchone()[0]
            assert plan.evaluate(levels).classes == expected


@pytest.mark.parametrize("records", [31, None])
def test_a_source_that_changes_between_plan_and_publication_or_disappears(tmp_path: Path, records: int | None) -> None:
    source = tmp_path / "s.parquet"
    duckdb.sql("SELECT i % 3 AS a FROM range(30) r(i)").write_parquet(str(source))
    chosen_policy = policy(suppressed("a"), table=None, output={"file": str(tmp_path / "out.parquet")})
    with sqlanon.plan(str(source), chosen_policy) as plan:
        time.sleep(0.01)
        source.unlink()
        if records is not None:
            duckdb.sql(f"SELECT i % 3 AS a FROM range({records}) r(i)").write_parquet(str(source))
        with pytest.raises(sqlanon.SqlanonError):
            plan.publish()
    assert [p.name for p in tmp_path.iterdir()] == ([] if records is None else ["s.parquet"])


def test_rows_changed_in_an_open_connection_are_noticed(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",), ("x",), ("y",), ("y",)])
    with sqlanon.plan(connection, policy(suppressed("a"), output={"table": "r"})) as plan:
        connection.execute("UPDATE t SET a = 'x' WHERE a = 'y' AND rowid = 3")  # same count, a class of one is left
        with pytest.raises(sqlanon.SqlanonError):
            plan.publish()
    assert connection.execute("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name <> 't'").fetchone() == (0,)


def test_spilling_without_room_is_a_clear_error(tmp_path: Path) -> None:
    source = tmp_path / "s.parquet"
    duckdb.sql("SELECT hash(i) AS a, hash(i + 1) AS b FROM range(2000000) r(i)").write_parquet(str(source))
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the temporary directory should be")
    chosen_policy = policy(
        suppressed("a", "b"),
        table=None,
        output={"file": str(tmp_path / "out.parquet")},
        engine={"memory_limit": "60MB", "temp_directory": str(blocked), "threads": 1},
    )
    with pytest.raises(sqlanon.SqlanonError, match="Hint"):
        sqlanon.anonymize(str(source), chosen_policy)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["blocked", "s.parquet"]


@pytest.mark.slow
def test_kill_in_the_middle_of_a_run_leaves_no_target(tmp_path: Path) -> None:
    source = tmp_path / "s.parquet"
    duckdb.sql("SELECT hash(i) % 1000 AS a, hash(i) AS b FROM range(3000000) r(i)").write_parquet(str(source))
    (tmp_path / "p.yaml").write_text(
        "source: s.parquet\ncolumns:\n  a: {role: quasi_identifier, hierarchy: {suppress: {}}}\n  b: {role: keep}\n"
        "accept: [b]\nprivacy: [{type: k_anonymity, k: 5}]\noutput: {file: out.duckdb}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlanon.cli", "run", str(tmp_path / "p.yaml")], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if (tmp_path / ".out.duckdb.sqlanon" / "new" / "out.duckdb").exists():
            break
        time.sleep(0.002)
    caught = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert caught, "the run ended before it could be killed"
    assert not (tmp_path / "out.duckdb").exists()
    again = subprocess.run(
        [sys.executable, "-m", "sqlanon.cli", "run", str(tmp_path / "p.yaml")], capture_output=True, check=False
    )
    assert again.returncode == 0, again.stderr
    left = sorted(p.name for p in tmp_path.iterdir())
    released = ["out.duckdb", "out.duckdb.certificate.json", "out.duckdb.manifest.json"]
    assert left == [*released, "p.yaml", "s.parquet"]


def test_nothing_of_ours_survives_in_the_users_connection(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",), ("x",)])
    with sqlanon.anonymize(connection, policy(suppressed("a"))):
        pass
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
    with pytest.raises(sqlanon.NoSolutionError):
        sqlanon.plan(connection, policy(suppressed("a"), privacy=[{"type": "k_anonymity", "k": 9}]))
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
    assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
