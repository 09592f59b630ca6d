"""Spark publishes what DuckDB does: a folder of Parquet files or a table, audited on the cluster, or nothing at all."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from spark_cluster import spark  # noqa: F401 - a fixture
from sqlglot import exp

import sqlanon
from sqlanon.compiler.trees import column, named, number
from sqlanon.errors import AuditError, SourceChangedError, SourceError, TargetError, UnsupportedError

SECRET = "canary-7f3a"
ROWS = 400


@pytest.fixture
def session(spark: Any) -> Any:  # noqa: F811
    """The session of a user who has a cluster."""
    return spark._started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
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
    source = tmp_path / "source"
    source.mkdir()
    for part in range(3):
        parquet.write_table(data.slice(part * 134, 134), source / f"{SECRET}-{part}.parquet")
    return source


def document(**changes: Any) -> dict[str, Any]:
    return {
        "columns": {
            "number": {"role": "keep"},
            "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
            "age; --": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2]}}},
            "illness": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            "name": {"role": "drop"},
        },
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.05,
        **changes,
    }


def rows(data: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(data.column(i).to_pylist() for i in range(data.num_columns)), strict=True))


def expected(folder: Path, **changes: Any) -> Any:
    """What the embedded engine makes of the same records."""
    joined = folder.parent / "joined.parquet"
    parquet.write_table(parquet.read_table(folder), joined)
    policy = sqlanon.Policy.from_dict(document(**changes), base_directory=folder.parent)
    return sqlanon.anonymize(joined, policy)


def plan(session: Any, folder: Path, **changes: Any) -> Any:
    """A plan over a view of the user's session."""
    session.read.parquet(str(folder)).createOrReplaceTempView("people")
    policy = sqlanon.Policy.from_dict(document(table="people", **changes), base_directory=folder.parent)
    return sqlanon.plan(session, policy)


def test_a_release_is_a_folder_of_shuffled_files_that_tell_nothing_of_the_source(session: Any, folder: Path) -> None:
    target = folder.parent / "release.parquet"
    with expected(folder) as own, plan(session, folder, output={"file": str(target)}) as made:
        release = made.publish()
        wanted = own.to_arrow()
        assert release.ledger == own.ledger
        assert release.ledger.suppressed > 0
        assert release.to_arrow().num_rows == release.ledger.published
    found = parquet.read_table(target)
    assert found.column_names == ["number", "zip", "age; --", "illness"]
    assert sorted(rows(found), key=repr) == sorted(rows(wanted), key=repr)
    assert found.column("number").to_pylist() != sorted(found.column("number").to_pylist())
    files = sorted(target.iterdir())
    assert files and all(file.suffix == ".parquet" and file.name.startswith("part-") for file in files)
    for file in files:
        assert SECRET not in file.name and SECRET.encode() not in file.read_bytes()
        assert str(folder).encode() not in file.read_bytes()
    papers = {f"release.parquet.{paper}.json" for paper in ("manifest", "certificate")}
    assert {entry.name for entry in folder.parent.iterdir()} == {"source", "joined.parquet", "release.parquet"} | papers


def test_suppressed_records_are_redacted_and_an_old_release_is_replaced(session: Any, folder: Path) -> None:
    target = folder.parent / "release.parquet"
    changes = {"suppressed": "redact", "if_exists": "replace", "output": {"file": str(target)}}
    target.mkdir()
    parquet.write_table(pa.table({"old": [SECRET]}), target / "old.parquet")
    with plan(session, folder, **changes) as made:
        release = made.publish()
        assert release.ledger.suppressed
    found = parquet.read_table(target)
    assert found.num_rows == ROWS
    assert found.column("illness").to_pylist().count("[suppressed]") == release.ledger.suppressed
    with plan(session, folder, output={"file": str(target)}) as made, pytest.raises(TargetError, match="exists"):
        made.publish()
    (target / "notes.txt").touch()
    with plan(session, folder, **changes) as made, pytest.raises(TargetError, match="alone"):
        made.publish()
    inside = changes | {"output": {"file": str(target.with_suffix(".csv"))}}
    with plan(session, folder, **inside) as made, pytest.raises(TargetError, match="ending"):
        made.publish()


def test_a_release_is_a_table_of_the_catalog(session: Any, folder: Path) -> None:
    session.sql("CREATE SCHEMA IF NOT EXISTS shelf")
    try:
        with expected(folder) as own, plan(session, folder, output={"table": "shelf.released"}) as made:
            release = made.publish()
            wanted = own.to_arrow()
            assert sorted(rows(release.to_arrow()), key=repr) == sorted(rows(wanted), key=repr)
        assert [row["tableName"] for row in session.sql("SHOW TABLES IN shelf").collect() if row["namespace"]] == [
            "released"
        ]
        with plan(session, folder, output={"table": "shelf.released"}) as made, pytest.raises(TargetError):
            made.publish()
        with plan(session, folder, output={"view": "shelf.shown"}) as made, pytest.raises(UnsupportedError):
            made.publish()
    finally:
        session.sql("DROP SCHEMA shelf CASCADE")


@pytest.mark.parametrize("kind", ["file", "table"])
def test_what_does_not_pass_the_audit_leaves_nothing(
    session: Any, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are missing, or hold a text that is not of the level that was published."""
    before = {entry.name for entry in folder.parent.iterdir()}
    target = str(folder.parent / "release.parquet") if kind == "file" else "released"
    with plan(session, folder, output={kind: target}) as made:
        tables = session.sql("SHOW TABLES").collect()
        every = made._release_query()
        monkeypatch.setattr("sqlanon.full_domain.Plan._release_query", lambda self: every.copy().limit(20))
        with pytest.raises(SourceChangedError):
            made.publish()
        spoilt = exp.select(*[named(_lone(name), name) for name in made._released()]).from_(every.subquery("r"))
        monkeypatch.setattr("sqlanon.full_domain.Plan._release_query", lambda self: spoilt.copy())
        with pytest.raises(AuditError) as raised:
            made.publish()
    assert SECRET not in str(raised.value)
    assert {entry.name for entry in folder.parent.iterdir()} == before
    assert session.sql("SHOW TABLES").collect() == tables


def _lone(name: str) -> exp.Expr:
    """A column in which every 40th record, about, has a value that nobody published."""
    odd = exp.EQ(this=exp.Mod(this=column("number"), expression=number(40)), expression=number(0))
    value = exp.Case(ifs=[exp.If(this=odd, true=exp.Literal.string(SECRET))], default=column(name))
    return value if name == "zip" else column(name)


def test_a_source_that_changed_meanwhile_is_not_published(folder: Path, spark: Any) -> None:  # noqa: F811
    policy = sqlanon.Policy.from_dict(
        document(source=str(folder), engine={"spark": "local[1]"}, output={"file": str(folder.parent / "r.parquet")})
    )
    with sqlanon.plan(None, policy) as made:
        first = sorted(folder.iterdir())[0]
        parquet.write_table(parquet.read_table(first).slice(0, 1), first)
        with pytest.raises(sqlanon.SqlanonError):
            made.publish()
    assert [entry.name for entry in folder.parent.iterdir()] == ["source"]


def test_a_source_that_is_no_parquet_is_refused(folder: Path) -> None:
    for odd in ("nothing", "source/nothing.parquet", "source/*.csv"):
        policy = sqlanon.Policy.from_dict(
            document(source=odd, engine={"spark": "local[1]"}), base_directory=folder.parent
        )
        with pytest.raises(SourceError):
            sqlanon.plan(None, policy)
    (folder / "notes.txt").touch()
    policy = sqlanon.Policy.from_dict(
        document(source="source", engine={"spark": "local[1]"}), base_directory=folder.parent
    )
    with pytest.raises(SourceError, match="1 of the 4"):
        sqlanon.plan(None, policy)
