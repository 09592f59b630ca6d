"""The order of released rows: the source's order cannot be seen in it, and what is written are the rows themselves."""

import struct
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlglot import exp, parse_one

import sqlanon
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy import Output
from sqlanon.core.publish.order import ReleasedRows, can_be_counted, entries_of, ordered
from sqlanon.core.publish.publication import publish
from sqlanon.core.publish.targets import Target
from sqlanon.core.sqltrees import names

ROWS = 20_000


def people(path: Path, seed: int, *, rows: int = ROWS) -> None:
    """Write records of which many are equal, in an order of their own for each seed."""
    draw = np.random.default_rng(1)
    table = pa.table(
        {
            "age": [None if value == 3 else str(value) for value in draw.integers(0, 10, rows)],
            "ward": draw.choice(["a", "b", "", "A"], rows),
            "days": draw.integers(0, 4, rows),
            "share": draw.choice([0.0, -0.0, 0.5, float("nan")], rows),
        }
    )
    order = np.random.default_rng(seed).permutation(rows) if seed else np.lexsort([table["days"], table["ward"]])
    parquet.write_table(table.take(order), path)


def policy(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "ward": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "days": {"role": "keep"},
        "share": {"role": "keep"},
    }
    return {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}], "engine": {"threads": 2}, **changes}


def released(source: Path, target: Path, **changes: Any) -> Path:
    document = policy(**changes)
    document["output"] = {"file": str(target)}
    with sqlanon.plan(source, document) as plan:
        plan.publish()
    return target


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """The rows as they stand, with the bits of floating-point numbers."""
    columns = parquet.read_table(path).to_pydict().values()
    return [tuple(struct.pack("d", cell) if isinstance(cell, float) else cell for cell in row) for row in zip(*columns)]


KEPT = {"undeclared": "drop"}
QUASI_IDENTIFIERS = {"columns": {name: policy()["columns"][name] for name in ("age", "ward")}, "undeclared": "drop"}


@pytest.mark.slow
@pytest.mark.parametrize("changes", [KEPT, QUASI_IDENTIFIERS], ids=["kept", "quasi-identifiers"])
@pytest.mark.parametrize("more", [{}, {"privacy": [{"type": "k_anonymity", "k": 700}], "suppression_limit": 1.0,
                                       "suppressed": "redact"}], ids=["", "redacted"])  # fmt: skip
def test_rows_that_repeat_are_written_in_an_order_of_their_values(
    tmp_path: Path, changes: dict[str, Any], more: dict[str, Any]
) -> None:
    """However the records of the source are ordered, the release is the same file, byte by byte."""
    found = []
    for seed in (0, 1, 2):
        people(tmp_path / f"{seed}.parquet", seed)
        found.append(released(tmp_path / f"{seed}.parquet", tmp_path / f"out{seed}.parquet", **changes, **more))
    assert len({path.read_bytes() for path in found}) == 1
    rows = rows_of(found[0])
    changed = sum(before != after for before, after in pairwise(rows))
    assert changed + 1 == len(set(rows)) < len(rows) / 4  # equal rows stand together


@pytest.mark.slow
def test_a_release_of_many_distinct_rows_has_the_same_bytes_again(tmp_path: Path) -> None:
    """Four threads sort more distinct rows than one takes at a time, and the parts of a split count differ."""
    rows = "SELECT i % 160001 AS a, if(i % 3 = 0, 'x', 'y') AS b FROM range(2400000) r(i)"
    rows += " WHERE i % 160001 % 7 < 3 OR i < 320002"
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/source.parquet'")
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "b": {"role": "keep"}}
    document = policy(columns=columns, privacy=[{"type": "k_anonymity", "k": 2}], engine={"threads": 4})
    written = []
    for number in range(4):
        with sqlanon.plan(tmp_path / "source.parquet", document) as plan:
            plan.publish(Output.file(str(tmp_path / f"{number}.parquet")))
        written.append((tmp_path / f"{number}.parquet").read_bytes())
    assert len(set(written)) == 1 and parquet.read_metadata(tmp_path / "0.parquet").num_row_groups > 4


@pytest.mark.parametrize("more", [0, 150, 300])
def test_suppressed_records_do_not_decide_the_order(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, more: int
) -> None:
    """However many values the suppressed records hold, the same rows are released in the same way."""
    connection.execute("CREATE TABLE t AS SELECT i % 2 AS a, i // 2 % 50 AS note FROM range(1000) r(i)")
    connection.execute(f"INSERT INTO t SELECT 100 + i, 1000 + i FROM range({more}) r(i)")
    a = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}
    document = policy(columns={"a": a, "note": {"role": "keep"}}, table="t", suppression_limit=1.0, engine={})
    with sqlanon.plan(connection, document) as plan:
        plan.publish(Output.file(str(tmp_path / "out.parquet")))
    rows = rows_of(tmp_path / "out.parquet")
    assert len(rows) == 1000 and sum(before != after for before, after in pairwise(rows)) == 99


def test_each_row_is_written_as_often_as_it_stands(tmp_path: Path) -> None:
    """Empty texts, NULL, capitals and -0.0 stay what they are."""
    people(tmp_path / "source.parquet", 1)
    target = released(tmp_path / "source.parquet", tmp_path / "out.parquet", undeclared="drop")
    assert Counter(rows_of(target)) == Counter(rows_of(tmp_path / "source.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "duckdb", "xml"])
@pytest.mark.parametrize("threads", [1, 4])
def test_every_format_holds_the_counted_rows(tmp_path: Path, ending: str, threads: int) -> None:
    people(tmp_path / "source.parquet", 1, rows=3000)
    target = tmp_path / f"out.{ending}"
    with sqlanon.plan(tmp_path / "source.parquet", policy(**QUASI_IDENTIFIERS, engine={"threads": threads})) as plan:
        release = plan.publish(Output.file(str(target)))
        written = release.to_arrow().to_pylist()
        expected = plan.engine.arrow("expected", plan._release_query()).to_pylist()
    assert Counter(tuple(row.values()) for row in written) == Counter(tuple(row.values()) for row in expected)
    assert sorted(path.name for path in tmp_path.iterdir() if "source" not in path.name)[0] == target.name


def test_the_counts_of_the_plan_are_those_of_its_rows(tmp_path: Path) -> None:
    people(tmp_path / "source.parquet", 1)
    with sqlanon.plan(tmp_path / "source.parquet", policy(**QUASI_IDENTIFIERS)) as plan:
        counted = plan._counted_rows()
        listed = plan.engine.run("counted", counted)
        rows = plan.engine.run("rows", plan._release_query())
        assert {row[:-1]: row[-1] for row in listed} == Counter(rows)
        assert len(listed) == plan.ledger.classes
        assert plan._rows(plan._release_query()).counted is not None


def test_rows_of_a_database_are_read_again(tmp_path: Path) -> None:
    """Records that were deleted since the plan was made are not published: no stamp of a file would show it."""
    people(tmp_path / "source.parquet", 1)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{tmp_path}/source.parquet'")
        with sqlanon.plan(connection, policy(**QUASI_IDENTIFIERS, engine={}, table="people")) as plan:
            connection.execute("DELETE FROM people WHERE age = '7'")
            with pytest.raises(sqlanon.SourceChangedError):
                plan.publish(Output.file(str(tmp_path / "out.parquet")))


def shuffled(engine: DuckDBEngine, rows: int, threads: int, directory: Path) -> np.ndarray:
    """The places in the source of the rows of a release, each of which stands once, in the order of the release."""
    query = parse_one(f"SELECT range AS place FROM range({rows})", dialect="duckdb")
    engine.run("threads", f"SET threads = {threads}")
    target = Target(Output("file", str(directory / "out.parquet")), if_exists="replace")
    claim = ReleaseClaim(types={"place": "BIGINT"}, quasi_identifiers=(), models=(), published=rows)
    publish(engine, target, ReleasedRows(query), claim, redacted=None, verify_source=lambda: None)
    return np.array(parquet.read_table(directory / "out.parquet")["place"])


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_stand_once_are_shuffled_evenly(tmp_path: Path, threads: int) -> None:
    """No correlation of places before and after; each tenth of the release is drawn evenly from each of the source."""
    engine, rows = DuckDBEngine(), 400_000
    try:
        places = shuffled(engine, rows, threads, tmp_path)
    finally:
        engine.close()
    assert np.array_equal(np.sort(places), np.arange(rows))
    assert abs(np.corrcoef(places, np.arange(rows))[0, 1]) < 5 / rows**0.5  # five standard deviations
    ascending = np.mean(np.diff(places) > 0)
    assert abs(ascending - 0.5) < 5 / (12 * rows) ** 0.5
    assert np.mean(np.diff(places) == 1) < 1e-4  # neighbours of the source
    shares = np.histogram2d(places, np.arange(rows), bins=10)[0]
    expected = rows / 100
    assert ((shares - expected) ** 2 / expected).sum() < 81 + 5 * (2 * 81) ** 0.5  # chi squared, 81 degrees of freedom


def test_no_entry_counts_higher_than_threads_can_share() -> None:
    types = {"a": "VARCHAR", names.COPIES: "BIGINT"}
    counted = parse_one(
        f"SELECT * FROM (VALUES ('x', 7, 1000003), ('y', 7, 1), ('x', 8, 16)) AS t(a, {names.COPIES}, "
        f"{names.COPIES}_2)", dialect="duckdb",
    )  # fmt: skip
    with closing(DuckDBEngine()) as engine:
        rows = engine.run("entries", entries_of(counted, types, 1000020))
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    assert max(row[2] for row in rows) == 16 and sum(row[2] for row in rows) == 1000020
    assert len(rows) == -(-1000003 // 16) + 2


@pytest.mark.parametrize(
    ("kind", "counted"),
    [("DECIMAL(10,2)", True), ("VARCHAR", True), ("DOUBLE", True), ("TIMESTAMP WITH TIME ZONE", True),
     ("INTERVAL", False), ("JSON", False), ("VARCHAR[]", False), ("STRUCT(a INTEGER)", False),
     ("TIME WITH TIME ZONE", False)],
)  # fmt: skip
def test_values_that_are_equal_and_not_the_same_are_never_counted_as_one(kind: str, counted: bool) -> None:
    assert can_be_counted({"a": "INTEGER", "b": kind}) is counted


def test_texts_that_a_collation_makes_equal_stay_apart(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (ward VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO people SELECT ['a', 'A', 'b'][1 + range % 3] FROM range(3000)")
        target, columns = tmp_path / "out.parquet", {"ward": {"role": "keep"}}
        document = {"table": "people", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}]}
        with sqlanon.plan(connection, document) as plan:
            plan.publish(Output.file(str(target)))
    assert Counter(parquet.read_table(target)["ward"].to_pylist()) == {"a": 1000, "A": 1000, "b": 1000}


def test_nothing_stays_behind_when_a_release_fails(tmp_path: Path) -> None:
    engine = DuckDBEngine()
    query = parse_one("SELECT range % 3 AS place FROM range(100)", dialect="duckdb")
    claim = ReleaseClaim(types={"place": "BIGINT"}, quasi_identifiers=(), models=(), published=100)
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            ordered(engine, ReleasedRows(query), claim.types, claim) as (statement, _),
        ):
            assert isinstance(statement, exp.Select)
            assert names.ORDERED in [str(row[0]) for row in engine.run("tables", "SHOW TABLES")]
            raise KeyboardInterrupt
        assert engine.run("tables", "SHOW TABLES") == []
    finally:
        engine.close()
