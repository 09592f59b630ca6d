"""What ``explain``, ``Plan.node_sql`` and the query for uncovered values print runs where it is pasted."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as shell
from policies import quasi
from postgres_server import Server, execute

import sqlanon

pytestmark = pytest.mark.slow

Rows = list[tuple[Any, ...]]
World = tuple[dict[str, Any], Callable[[str], Rows]]
COLUMNS = (
    "age INTEGER, zip VARCHAR(9), height DOUBLE PRECISION, day DATE, code VARCHAR(9), s VARCHAR(9), note VARCHAR(9)"
)
ROWS = [
    (i % 60, f"1{i % 7:04}", (i % 9) / 4, f"2024-0{i % 6 + 1}-11", f"c{i % 5}", f"s{i % 3}", "n'o\"tes")
    for i in range(400)
]
HIERARCHIES = {
    "age": {"intervals": {"width": 10, "fanouts": [3], "lower": 0, "upper": 60}},
    "zip": {"redact": {}},
    "code": {"file": "codes.csv"},
    "height": {"suppress": {}},
}


def quoted(row: tuple[Any, ...]) -> str:
    return "(" + ", ".join(str(v) if not isinstance(v, str) else "'" + v.replace("'", "''") + "'" for v in row) + ")"


INSERT = "INSERT INTO t VALUES " + ", ".join(map(quoted, ROWS))


def document(source: str, table: str | None, **keys: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {name: quasi(hierarchy) for name, hierarchy in HIERARCHIES.items()}
    columns["s"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    return {
        "source": source,
        **({"table": table} if table else {}),
        "columns": {**columns, "note": {"role": "keep"}},
        "undeclared": "drop",
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.3,
        **keys,
    }


@pytest.fixture(params=["duckdb", "sqlite", "parquet", "csv", pytest.param("postgres", marks=pytest.mark.postgres)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A policy, and a way to run a text in another session of its source's database."""
    (tmp_path / "codes.csv").write_text("".join(f"c{i};g{i // 2};*\n" for i in range(5)))
    kind, file = request.param, tmp_path / f"d.{request.param}"
    if kind == "sqlite":
        with sqlite3.connect(file) as filled:
            filled.execute(f"CREATE TABLE t ({COLUMNS})")
            filled.execute(INSERT)
        return document("d.sqlite", "t"), lambda text: sqlite3.connect(file).execute(text).fetchall()
    if kind == "postgres":
        server: Server = request.getfixturevalue("postgres")
        execute(server, "DROP TABLE IF EXISTS t", f"CREATE TABLE t ({COLUMNS})", INSERT)
        return document(server.uri(), "t"), lambda text: execute(server, text)
    with duckdb.connect(str(file) if kind == "duckdb" else ":memory:") as connection:
        connection.execute(f"CREATE TABLE t ({COLUMNS}); {INSERT}")
        if kind != "duckdb":
            connection.execute(f"COPY (SELECT * REPLACE (age::VARCHAR AS age) FROM t) TO '{file}'")
    if kind == "duckdb":
        return document("d.duckdb", "t"), lambda text: duckdb.connect(str(file)).execute(text).fetchall()
    found = document(f"d.{kind}", None)
    found["columns"]["age"]["hierarchy"] = {"redact": {}}
    return found, lambda text: duckdb.connect().execute(text).fetchall()


def statements(text: str) -> dict[str, str]:
    """The statements of ``explain`` by the first words of their titles."""
    parts = re.split(r"(?m)^-- (its \w+|the \w+)[^\n]*\n", text)[1:]
    return {title: body.strip().rstrip(";") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def test_what_explain_prints_runs(world: World, tmp_path: Path) -> None:
    keys, run = world
    (tmp_path / "p.json").write_text(json.dumps(keys))
    printed = shell("explain", tmp_path / "p.json")
    assert printed.returncode == 0, printed.stderr
    found = statements(printed.stdout)
    assert list(found) == ["the classes", "its verdict", "its release"] and "?" not in printed.stdout
    with sqlanon.plan(None, sqlanon.Policy.from_file(tmp_path / "p.json")) as plan:
        classes = Counter(tuple(row.values()) for row in plan.classes(plan.levels).to_pylist())
        ledger, counts = plan.ledger, plan.question.columns
    assert Counter(map(tuple, run(found["the classes"]))) == classes and len(classes) > 1
    [verdict] = [row for row in run(found["its verdict"]) if row[1] == -1]
    judged = dict(zip(counts, verdict, strict=True))
    assert (judged["classes"], judged["suppressed"]) == (ledger.classes, ledger.suppressed)
    assert len(run(found["its release"])) == ledger.published


def test_node_sql_runs_and_can_be_read_from(world: World, tmp_path: Path) -> None:
    keys, run = world
    with sqlanon.plan(None, sqlanon.Policy.from_dict(keys, base_directory=tmp_path)) as plan:
        nodes = (plan.levels, {}, {"zip": 2})
        texts = [(plan.node_sql(levels), plan.classes(levels).num_rows) for levels in nodes]
    for text, classes in texts:
        assert len(run(text)) == classes
        [(records,)] = run(f"SELECT SUM(n) FROM ({text}) AS classes")
        assert int(records) == 400


def test_the_query_for_uncovered_values_runs(world: World, tmp_path: Path) -> None:
    keys, run = world
    (tmp_path / "codes.csv").write_text("c0;*\nc1;*\n;*\n")
    with pytest.raises(sqlanon.UncoveredValuesError) as caught:
        sqlanon.plan(None, sqlanon.Policy.from_dict(keys, base_directory=tmp_path))
    listed = {(value, count) for value, count in run(caught.value.queries["code"])}
    assert {("c2", 80), ("c3", 80), ("c4", 80)} <= listed
    assert (len(listed) == 3) == (not keys["source"].startswith("postgres") and not keys["source"].endswith("sqlite"))


@pytest.mark.parametrize("transformation", [{"type": "patterns"}, {"type": "local_recoding", "nodes": 3}])
def test_what_explain_prints_of_rules_runs(transformation: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("".join(f"c{i};g{i // 2};*\n" for i in range(5)))
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t ({COLUMNS}); {INSERT}")
    keys = document("d.duckdb", "t", transformation=transformation)
    keys["columns"]["s"] = {"role": "keep"}
    (tmp_path / "p.json").write_text(json.dumps(keys))
    printed = shell("explain", tmp_path / "p.json")
    assert printed.returncode == 0, printed.stderr
    texts = [part.partition("\n")[2] for part in re.split(r"(?m)^-- ", printed.stdout) if "SELECT" in part]
    with duckdb.connect(str(tmp_path / "d.duckdb"), read_only=True) as connection:
        results = [connection.execute(text).fetchall() for text in texts]
    assert len(results) > 1 and len(results[-1]) > 280


def test_a_joined_database_is_attached_first(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE wards AS SELECT 'c' || i AS code, i AS beds FROM range(5) r(i)")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t ({COLUMNS}); {INSERT}")
    keys = {
        "source": "d.duckdb", "table": "t", "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 5}],
        "join": [{"source": "other.duckdb", "table": "wards", "key": "code"}],
        "columns": {"beds": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}},
    }  # fmt: skip
    with sqlanon.plan(None, sqlanon.Policy.from_dict(keys, base_directory=tmp_path)) as plan:
        text = plan.node_sql({})
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        assert sum(row[-1] for row in connection.execute(text).fetchall()) == 400
        assert len(connection.execute(text).fetchall()) == 5
