"""Spark publishes what DuckDB does: a folder of Parquet files or a table, audited on the cluster, or nothing at all."""

import importlib
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from policies import diverse, document_of, intervals
from pyarrow import parquet
from sqlglot import exp

import sqlanon
from sqlanon import Output
from sqlanon.core.audit.check import check_relation
from sqlanon.core.engines.base import Place
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.source.opening import open_source
from sqlanon.core.source.spark import Cluster
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, number
from sqlanon.errors import AuditError, PolicyError, SourceChangedError, SourceError, TargetError, UnsupportedError

SECRET = "canary-7f3a"
ROWS = 400


@pytest.fixture(scope="module")
def session(spark: Any) -> Any:
    """The session of a user who has a cluster."""
    return spark._cluster.session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records in three Parquet files, in an order that their numbers tell."""
    rng = random.Random(11)
    data = pa.table(
        {
            "number": pa.array(range(ROWS), pa.int32()),
            "zip": [rng.choice(["10", "11", "20", None]) if i % 57 else "99" for i in range(ROWS)],
            "age; --": pa.array([rng.randrange(20, 60) for _ in range(ROWS)], pa.int64()),
            "illness": [rng.choice(["flu", "cold", "asthma", "gout"]) for _ in range(ROWS)],
            "name": [f"{SECRET}-{i}" for i in range(ROWS)],
        }
    )
    source = tmp_path_factory.mktemp("spark") / "source"
    source.mkdir()
    for part in range(3):
        parquet.write_table(data.slice(part * 134, 134), source / f"{SECRET}-{part}.parquet")
    return source


@pytest.fixture(scope="module")
def planned(session: Any, folder: Path) -> Iterator[Any]:
    """A plan over a view of the user's session; it is published in several ways."""
    with plan(session, folder) as found_plan:
        yield found_plan


def document(**changes: Any) -> dict[str, Any]:
    columns = {"number": "keep", "zip": "redact", "age; --": intervals(5, 2), "illness": diverse(2), "name": "drop"}
    return document_of(columns, changes, k=5, accept=["number"], suppression_limit=0.05)


def rows(data: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(data.column(i).to_pylist() for i in range(data.num_columns)), strict=True))


@pytest.fixture(scope="module")
def expected(folder: Path) -> Any:
    """What the embedded engine makes of the same records: its ledger and its rows."""
    joined = folder.parent / "joined.pq"
    parquet.write_table(parquet.read_table(folder), joined)
    with sqlanon.anonymize(joined, document()) as release:
        return release.ledger, sorted(rows(release.to_arrow()), key=repr)


def plan(session: Any, folder: Path, **changes: Any) -> Any:
    """A plan over a view of the user's session."""
    session.read.parquet(str(folder)).createOrReplaceTempView("people")
    policy = sqlanon.Policy.from_dict(document(table="people", **changes), base_directory=folder.parent)
    return sqlanon.plan(session, policy)


def test_a_release_is_a_folder_of_shuffled_files_that_tell_nothing_of_the_source(
    planned: Any, expected: Any, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "release.parquet"
    release = planned.publish(Output("file", str(target)))
    assert release.ledger == expected[0]
    assert release.ledger.suppressed > 0
    found = parquet.read_table(target)
    assert found.column_names == ["number", "zip", "age; --", "illness"]
    assert sorted(rows(found), key=repr) == expected[1]
    assert found.column("number").to_pylist() != sorted(found.column("number").to_pylist())
    assert release.to_arrow() == found
    files = sorted(target.iterdir())
    assert files and all(file.suffix == ".parquet" and file.name.startswith("part-") for file in files)
    for file in files:
        assert SECRET not in file.name and SECRET.encode() not in file.read_bytes()
        assert str(folder).encode() not in file.read_bytes()
    papers = {f"release.parquet.{paper}.json" for paper in ("manifest", "certificate")}
    assert {entry.name for entry in tmp_path.iterdir()} == {"release.parquet"} | papers
    for odd, wrong in ((target, TargetError), (tmp_path / "release.csv", TargetError), (folder, PolicyError)):
        with pytest.raises(wrong):
            planned.publish(Output("file", str(odd)))
    assert {entry.name for entry in tmp_path.iterdir()} == {"release.parquet"} | papers


@pytest.mark.slow
@pytest.mark.parametrize("carries, bound", [(None, "rows"), (None, "bytes"), (5, "rows")])
def test_a_base_that_is_too_large_for_the_driver_comes_in_batches_or_stays(
    session: Any,
    expected: Any,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    carries: int | None,
    bound: str,
) -> None:
    """Nothing is held beside the driver; the base is carried in batches, or its nodes are judged on the cluster."""
    module = importlib.import_module("sqlanon.core.engines.spark.engine")
    monkeypatch.setattr(module, "MOST_ROWS", 0)
    if bound == "rows":
        monkeypatch.setattr(module, "BATCH", 50)
    else:  # as if the session let the driver receive so few bytes at once
        monkeypatch.setattr(module, "result_rows", lambda most, columns: {"1g": 50}[most] if columns else None)
    monkeypatch.setattr("sqlanon.core.evaluate.in_process.MOST_ROWS", 0)
    if carries is not None:
        few = replace(module.SparkEngine.capabilities, carries=carries)
        monkeypatch.setattr(module.SparkEngine, "capabilities", few)
    received = []
    receive = module.SparkEngine._receive
    monkeypatch.setattr(
        module.SparkEngine,
        "_receive",
        lambda *given: (data := receive(*given), received.append((given[3], data.num_rows)))[0],
    )
    with plan(session, folder) as found:
        batches = [count for table, count in received if table == names.BASE]
        base_rows = found.catalog.base_rows
        assert base_rows > 100
        if carries is None:
            assert (len(batches), sum(batches)) == (-(-base_rows // 50), base_rows)
            assert found._session.transferred[0].rows == base_rows
        else:
            assert batches == [] and found._session.transferred == ()
        release = found.publish(Output("file", str(tmp_path / "release.parquet")))
        assert (release.ledger, sorted(rows(release.to_arrow()), key=repr)) == expected


def test_a_release_is_a_table_of_the_catalog(session: Any, planned: Any, expected: Any) -> None:
    session.sql("CREATE SCHEMA IF NOT EXISTS shelf")
    try:
        release = planned.publish(Output("table", "shelf.released"))
        assert sorted(rows(release.to_arrow()), key=repr) == expected[1]
        quasi, there = ["zip", "age; --"], exp.to_table("shelf.released")
        for k, holds in ((5, True), (10_000, False)):
            found = check_relation(planned.engine, there, quasi_identifiers=quasi, models=[KAnonymity(k=k)])
            assert found.holds is holds
        assert [row["tableName"] for row in session.sql("SHOW TABLES IN shelf").collect() if row["namespace"]] == [
            "released"
        ]
        with pytest.raises(TargetError):
            planned.publish(Output("table", "shelf.released"))
        with pytest.raises(UnsupportedError):
            planned.publish(Output("view", "shelf.shown"))
    finally:
        session.sql("DROP SCHEMA shelf CASCADE")


def test_names_are_looked_for_where_the_user_is(session: Any) -> None:
    user = session.newSession()
    user.sql("CREATE SCHEMA IF NOT EXISTS shelf")
    user.sql("USE shelf")
    engine = importlib.import_module("sqlanon.core.engines.spark.engine").SparkEngine(user)
    try:
        user.sql("CREATE TABLE kept AS SELECT TIMESTAMP_NTZ '2020-01-01 00:00:00' AS at, 'x' AS n")
        user.sql("CREATE TEMPORARY VIEW shown AS SELECT 1 AS n")
        assert engine.catalog.columns(engine.catalog.source_table("kept")) == [("at", "TIMESTAMP"), ("n", "VARCHAR")]
        assert engine.catalog.columns(engine.catalog.source_table("shown")) == [("n", "INTEGER")]
        assert engine.catalog.columns(engine.catalog.source_table("Shown")) == [
            ("n", "INTEGER")
        ]  # in any case, as the user's session
        user.conf.set("spark.sql.caseSensitive", "true")
        assert [part.name for part in engine.catalog.source_table("Shown").parts] == ["Shown"]
        assert engine.targets.place(["x"], None) == Place("spark_catalog", "shelf", "x")
        assert engine.catalog.existing(engine.targets.place(["kept"], None)) == "table"
        assert engine.catalog.existing(engine.targets.place(["x"], None)) is None
        with pytest.raises(TargetError):
            engine.catalog.existing(engine.targets.place(["a b"], None))
        [file] = engine.catalog.local_files(engine.catalog.source_table("kept"))
        assert file.is_file()
        user.sparkContext.setJobGroup("mine", "my own")
        engine.run("one", exp.select(number(1)))
        assert user.sparkContext.getLocalProperty("spark.jobGroup.id") == "mine"
    finally:
        user.conf.set("spark.sql.caseSensitive", "false")
        user.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        engine.close()
        user.sql("DROP SCHEMA shelf CASCADE")
    assert user.sql("SELECT COUNT(*) FROM shown").collect()[0][0] == 1  # the user's session goes on


def test_what_does_not_pass_the_audit_leaves_nothing(
    session: Any, planned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are missing, or hold a text that is not of the level that was published."""
    tables = session.sql("SHOW TABLES").collect()
    every = planned._release_query()
    few = every.copy().limit(20)
    spoilt = exp.select(*[named(_lone(name), name) for name in planned.released]).from_(every.subquery("r"))
    outputs = [Output("file", str(tmp_path / "release.parquet")), Output("table", "released")]
    for query, error, asked in ((few, SourceChangedError, outputs[:1]), (spoilt, AuditError, outputs)):
        monkeypatch.setattr(Plan, "_release_query", lambda self, query=query: query.copy())
        for output in asked:
            with pytest.raises(error) as raised:
                planned.publish(output)
            assert SECRET not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
    assert session.sql("SHOW TABLES").collect() == tables


def test_suppressed_records_are_redacted_and_an_old_release_is_replaced(
    session: Any, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "release.parquet"
    target.mkdir()
    parquet.write_table(pa.table({"old": [SECRET]}), target / "old.parquet")
    output = Output("file", str(target))
    with plan(session, folder, suppressed="redact", if_exists="replace") as found_plan:
        release = found_plan.publish(output)
        (target / "notes.txt").touch()
        with pytest.raises(TargetError, match="alone"):
            found_plan.publish(output)
    (target / "notes.txt").unlink()
    found = parquet.read_table(target)
    assert found.num_rows == ROWS
    assert found.column("illness").to_pylist().count("[suppressed]") == release.ledger.suppressed > 0


def _lone(name: str) -> exp.Expr:
    """A column in which every 40th record, about, has a value that nobody published."""
    odd = exp.EQ(this=exp.Mod(this=column("number"), expression=number(40)), expression=number(0))
    value = exp.Case(ifs=[exp.If(this=odd, true=exp.Literal.string(SECRET))], default=column(name))
    return value if name == "zip" else column(name)


def replayed(spark: Any, made: Any) -> int:
    """The rows that the script selects at its end, run in a session that knows nothing."""
    session = spark.session.newSession()
    count = 0
    for statement in made.script().split(";\n"):
        if text := "\n".join(line for line in statement.splitlines() if not line.startswith("--")).strip():
            count = len(session.sql(text).collect())
    return count


def test_a_source_that_changed_meanwhile_is_not_published(folder: Path, spark: Any, tmp_path: Path) -> None:
    """The files are read by a cluster that the policy names; one that runs already is taken."""
    holder, target = tmp_path / "holder.parquet", tmp_path / "release.parquet"
    source = holder / "source.parquet"
    shutil.copytree(folder, source)
    policy = sqlanon.Policy.from_dict(document(source=str(source), engine={"name": "spark", "master": "local[1]"}))
    with sqlanon.plan(None, policy) as found_plan:
        assert found_plan.catalog.records == ROWS
        assert replayed(spark, found_plan) == found_plan.ledger.published
        for odd, wrong in ((source / "release.parquet", "folder that is the source"), (holder, "holds the source")):
            with pytest.raises(TargetError, match=wrong):
                found_plan.publish(Output("file", str(odd)))
        first = min(source.iterdir())
        os.utime(first, ns=(0, 0))
        with pytest.raises(SourceChangedError, match="changed"):
            found_plan.publish(Output("file", str(target)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["holder.parquet"]
    assert [entry.name for entry in holder.iterdir()] == ["source.parquet"]


def test_a_target_that_is_taken_is_refused_before_any_work(
    folder: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlanon.core.anonymizer.encode_source", lambda *_: pytest.fail("work was done"))
    spark.session.read.parquet(str(folder)).createOrReplaceTempView("people")
    (tmp_path / "taken.parquet").mkdir()
    (tmp_path / "notes.parquet").mkdir()
    (tmp_path / "notes.parquet" / "notes.txt").touch()
    for name, if_exists, wrong in (
        ("taken.parquet", "error", "folder 'taken.parquet' exists already"),
        ("notes.parquet", "replace", "is not replaced"),
        ("release.csv", "error", "written by a cluster"),
    ):
        asked = document(table="people", output={"file": str(tmp_path / name)}, if_exists=if_exists)
        with pytest.raises(TargetError, match=wrong):
            sqlanon.anonymize(spark.session, asked)


def test_a_path_is_that_folder_and_patterns_have_a_key_of_their_own(tmp_path: Path, spark: Any) -> None:
    for name, zips in (("q[12]", ["1"]), ("q1", ["2", "2"]), ("q2", ["3", "3"])):
        (tmp_path / name).mkdir()
        parquet.write_table(pa.table({"zip": zips}), tmp_path / name / "0.parquet")
    zips = {"zip": {"role": "keep"}}
    for source, records in (({"source": "q[12]"}, 1), ({"files": "q[12]/*.parquet"}, 4)):
        asked = document(columns=zips, accept=[], privacy=[{"type": "k_anonymity", "k": 1}], **source)
        asked["engine"] = {"name": "spark", "master": "local[1]"}
        with sqlanon.anonymize(None, sqlanon.Policy.from_dict(asked, base_directory=tmp_path)) as release:
            assert release.ledger.records == records


def test_a_source_that_is_no_parquet_is_refused(tmp_path: Path, spark: Any) -> None:
    source = tmp_path / "source"
    source.mkdir()
    parquet.write_table(pa.table({"zip": ["1"]}), source / "0.parquet")
    for odd in ("nothing", "source/nothing.parquet", "source/*.csv"):
        policy = sqlanon.Policy.from_dict(
            document(source=odd, engine={"name": "spark", "master": "local[1]"}), base_directory=tmp_path
        )
        with pytest.raises(SourceError):
            sqlanon.plan(None, policy)
    (source / "notes.txt").touch()
    policy = sqlanon.Policy.from_dict(
        document(source="source", engine={"name": "spark", "master": "local[1]"}), base_directory=tmp_path
    )
    with pytest.raises(SourceError, match="no Parquet files"):
        sqlanon.plan(None, policy)


def test_the_folders_of_a_source_are_texts_and_those_of_a_table_with_a_log_no_source(
    tmp_path: Path, spark: Any
) -> None:
    for name in ("01", "1"):
        (tmp_path / f"zip={name}").mkdir()
        parquet.write_table(pa.table({"age": [20]}), tmp_path / f"zip={name}" / "part.parquet")
    with open_source(tmp_path, None, cluster=Cluster("local[1]")) as opened:
        rows = opened.engine.run("read", exp.select(column("zip")).from_(opened.relation))
        assert sorted(row[0] for row in rows) == ["01", "1"]
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(SourceError, match="deleted from it"):
        open_source(tmp_path / "zip=1", None, cluster=Cluster("local[1]"))
