"""Every kind of target: written, audited, put in place; and on any failure nothing is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from effort import fast_of
from publications import CANARY, QUERY, ROWS, run
from sqlglot import exp

import sqlanon
from sqlanon.core.audit.models import audit_of
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import Output
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.source.opening import open_source
from sqlanon.errors import AuditError, SourceChangedError, SqlanonError, TargetError
from sqlanon.interop.formats.xml import Xml

KINDS = ["table", "view", "release.duckdb", "release.parquet", "release.csv", "release.xml"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TYPE ward AS ENUM ('a', 'b')")
        database.execute(
            f"CREATE TABLE people AS SELECT i AS id, '{CANARY}' || i AS name, CAST(i % 2 AS INTEGER) AS sex, "
            "CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'NULL' "
            "ELSE 'x,\"y' || chr(10) || 'z' END AS note, "
            f"CAST(CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS ward) AS ward FROM range({ROWS}) AS t(i)"
        )
    return path


@pytest.fixture
def engine(source: Path) -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine()
    opened.attach(source, "src", read_only=False)
    opened.source_catalog = "src"
    yield opened
    opened.close()


def read(kind: str, directory: Path) -> list[tuple[Any, ...]]:
    """The rows of a release, as a stranger reads them."""
    if kind in ("table", "view"):
        path, name = directory / "source.duckdb", f"anon.{kind}"
    else:
        path, name = directory / kind, "release"
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as opened:
            return opened.execute(f"SELECT * FROM {name}").fetchall()
    if path.suffix == ".xml":
        return list(zip(*Xml().read(path, {}).read_all().to_pydict().values()))
    with open_source(path, None) as written:
        return written.engine.run("rows", exp.select("*").from_(written.relation))


def leftovers(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name != "source.duckdb")


def relations(engine: DuckDBEngine) -> set[str]:
    rows = engine.run(
        "tables",
        "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal",
    )
    return {str(row[0]) for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_holds_the_rows_shuffled_and_nothing_else(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    expected = engine.run("rows", QUERY)
    publication = run(engine, kind, tmp_path)
    assert publication.marker is None
    engine.close()
    rows = read(kind, tmp_path)
    if kind.endswith((".csv", ".xml")):
        rows = [(int(i), int(sex), note, ward) for i, sex, note, ward in rows]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    assert [row[0] for row in rows] != sorted(row[0] for row in rows)
    assert leftovers(tmp_path) == ([kind] if "." in kind else [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_that_exists_is_refused_or_replaced(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    run(engine, kind, tmp_path)
    with pytest.raises(TargetError, match="exists already"):
        run(engine, kind, tmp_path)
    manifest = tmp_path / f"{kind}.manifest.json"
    if "." in kind:
        manifest.write_text("{}")
    half = QUERY + " WHERE id < 1000"
    run(engine, kind, tmp_path, sql=half, published=1000, if_exists="replace")
    assert not manifest.exists()
    engine.close()
    assert len(read(kind, tmp_path)) == 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_redacted_rows_hold_one_unused_marker(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    note = "CASE WHEN id = 7 THEN '[suppressed]' ELSE note END AS note"
    sql = f"SELECT id, sex, {note}, ward FROM src.main.people"
    publication = run(engine, kind, tmp_path, sql=sql, redacted=3)
    assert publication.marker == "[suppressed] 2"
    engine.close()
    rows = read(kind, tmp_path)
    assert len(rows) == ROWS + 3
    assert rows.count(("[suppressed] 2",) * 4) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"models": [audit_of(KAnonymity(ROWS), {})]}, AuditError),
        (
            {"lookups": {"sex": exp.Subquery(this=exp.select(exp.Alias(this=exp.convert("0"), alias="value")))}},
            AuditError,
        ),
        ({"published": ROWS - 1}, SourceChangedError),
    ],
)
@pytest.mark.parametrize("there", fast_of([False, True], True))
def test_a_failed_audit_leaves_everything_as_it_was(
    engine: DuckDBEngine, tmp_path: Path, kind: str, changes: Any, error: type[SqlanonError], there: bool
) -> None:
    if there:
        run(engine, kind, tmp_path, sql=QUERY + " WHERE id < 10", published=10)
    before = relations(engine), leftovers(tmp_path)
    with pytest.raises(error):
        run(engine, kind, tmp_path, if_exists="replace", **changes)
    assert (relations(engine), [n for n in leftovers(tmp_path) if not n.endswith(".wal")]) == (
        before[0],
        [n for n in before[1] if not n.endswith(".wal")],
    )
    engine.close()
    if there:
        assert len(read(kind, tmp_path)) == 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [SourceChangedError("changed"), KeyboardInterrupt()])
def test_a_last_look_at_the_source_can_stop_it(
    engine: DuckDBEngine, tmp_path: Path, kind: str, error: BaseException
) -> None:
    def verify() -> None:
        raise error

    with pytest.raises(type(error)):
        run(engine, kind, tmp_path, verify_source=verify)
    assert relations(engine) == {"people"}
    engine.close()
    assert leftovers(tmp_path) == []


KILLED = """
import os, signal
from pathlib import Path
from publications import DuckDBEngine, run
engine = DuckDBEngine()
directory = Path({directory!r})
engine.attach(directory / "source.duckdb", "src", read_only=False)
run(engine, {kind!r}, directory, verify_source=lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", fast_of(KINDS, "table", "release.parquet"))
@pytest.mark.few(3)
def test_kill_in_the_middle_leaves_no_target_and_the_next_run_cleans_up(
    source: Path, tmp_path: Path, kind: str
) -> None:
    script = KILLED.format(directory=str(tmp_path), kind=kind)
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / kind).exists()
    engine = DuckDBEngine()
    engine.attach(source, "src", read_only=False)
    assert relations(engine) == {"people"}
    run(engine, kind, tmp_path)
    engine.close()
    assert len(read(kind, tmp_path)) == ROWS
    assert leftovers(tmp_path) == ([kind] if "." in kind else [])


@pytest.mark.parametrize("kind", KINDS[2:])
def test_a_place_that_cannot_be_written_is_a_target_error(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    for place in (f"file/{kind}", f"absent/{kind}"):
        with pytest.raises(TargetError, match="is not there"):
            run(engine, place, tmp_path)
    with pytest.raises(TargetError, match="cannot be written"):
        run(engine, kind, Path("/proc"), source_path=None)


def test_an_unknown_ending_is_refused(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="ending"):
        run(engine, "release.xlsx", tmp_path)


def test_the_source_is_never_the_target(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="is the source itself"):
        run(engine, "table", tmp_path, target="main.PEOPLE", if_exists="replace")
    engine.run("rename", "CREATE TABLE src.main.x_released AS SELECT * FROM src.main.people")
    with pytest.raises(TargetError, match="is the source itself"):
        run(
            engine,
            "view",
            tmp_path,
            target="x",
            if_exists="replace",
            sql=QUERY.replace("people", "x_released"),
        )
    with pytest.raises(TargetError, match="in use as a source"):
        run(engine, "source.duckdb", tmp_path, if_exists="replace")
    assert len(engine.run("still there", QUERY)) == ROWS


def test_a_relation_of_another_kind_is_not_replaced(engine: DuckDBEngine, tmp_path: Path) -> None:
    run(engine, "table", tmp_path)
    with pytest.raises(TargetError, match="is a table"):
        run(engine, "view", tmp_path, target="anon.table", if_exists="replace")


def test_a_flat_source_holds_no_tables(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot hold a table"):
        check_target(engine, Target(Output("table", "anon.t"), source_path=tmp_path / "a.csv"))


@pytest.mark.parametrize("kind", ["table", "view"])
def test_the_users_own_connection_receives_tables(tmp_path: Path, kind: str) -> None:
    with duckdb.connect() as user:
        user.execute("CREATE TABLE people AS SELECT i AS id, CAST(i % 2 AS INTEGER) AS sex FROM range(100) AS t(i)")
        engine = DuckDBEngine(connection=user)
        run(
            engine, kind, tmp_path, sql='SELECT "id", "sex" FROM people',
            types={"id": "BIGINT", "sex": "INTEGER"}, published=100, catalog=None, source_path=None,
            target="anon.out",
        )  # fmt: skip
        engine.close()
        assert user.execute("SELECT COUNT(*) FROM anon.out").fetchone() == (100,)


@pytest.mark.slow
def test_a_fresh_file_holds_no_trace_of_a_dropped_column(engine: DuckDBEngine, tmp_path: Path) -> None:
    assert CANARY.encode() in (tmp_path / "source.duckdb").read_bytes()
    for kind in KINDS[2:]:
        run(engine, kind, tmp_path)
        assert CANARY.encode() not in (tmp_path / kind).read_bytes()


def test_enums_comments_and_constraints_do_not_travel(engine: DuckDBEngine, tmp_path: Path) -> None:
    engine.run("comment", f"COMMENT ON COLUMN src.main.people.note IS '{CANARY}'")
    run(engine, "release.duckdb", tmp_path)
    with duckdb.connect(str(tmp_path / "release.duckdb"), read_only=True) as opened:
        rows = opened.execute(
            "SELECT data_type, comment, column_default FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
        assert rows == [
            ("BIGINT", None, None),
            ("INTEGER", None, None),
            ("VARCHAR", None, None),
            ("VARCHAR", None, None),
        ]
        assert opened.execute("SELECT * FROM duckdb_constraints()").fetchall() == []


def test_wide_integers_survive_parquet(engine: DuckDBEngine, tmp_path: Path) -> None:
    large = 170141183460469231731687303715884000000
    run(
        engine, "release.parquet", tmp_path, types={"id": "HUGEINT", "sex": "INTEGER"},
        sql=f'SELECT id + {large}::HUGEINT AS "id", "sex" FROM src.main.people',
    )  # fmt: skip
    assert max(int(row[0]) for row in read("release.parquet", tmp_path)) == large + ROWS - 1


@pytest.mark.parametrize("kind", KINDS[2:5])
def test_an_empty_release_is_a_release(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    run(engine, kind, tmp_path, sql=QUERY + " WHERE FALSE", published=0)
    assert read(kind, tmp_path) == []


def test_xml_without_records_is_refused(engine: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="without records"):
        run(engine, "release.xml", tmp_path, sql=QUERY + " WHERE FALSE", published=0)
    assert leftovers(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[2:])
def test_one_column_of_nulls_survives(engine: DuckDBEngine, tmp_path: Path, kind: str) -> None:
    sql = "SELECT NULLIF(note, 'NULL') AS note FROM src.main.people WHERE id % 4 IN (0, 1, 2)"
    run(
        engine, kind, tmp_path, sql=sql, types={"note": "VARCHAR"}, quasi_identifiers=("note",),
        published=ROWS // 4 * 3, lookups={},
    )  # fmt: skip
    rows = read(kind, tmp_path)
    assert (rows.count((None,)), rows.count(("",))) == (ROWS // 2, ROWS // 4)


def test_a_folder_where_a_paper_goes_leaves_the_old_release(engine: DuckDBEngine, tmp_path: Path) -> None:
    run(engine, "release.csv", tmp_path)
    (tmp_path / "release.csv.manifest.json").mkdir()
    before = (tmp_path / "release.csv").read_bytes()
    with pytest.raises(TargetError, match="a folder, where an accompanying file"):
        run(engine, "release.csv", tmp_path, if_exists="replace")
    assert leftovers(tmp_path) == ["release.csv", "release.csv.manifest.json"]
    assert (tmp_path / "release.csv").read_bytes() == before


def test_a_file_that_took_the_place_of_the_source_is_noticed_whatever_its_date_and_size(tmp_path: Path) -> None:
    source, other = tmp_path / "source.parquet", tmp_path / "other.parquet"
    for path, value in ((source, "a"), (other, "b")):
        duckdb.sql(f"SELECT 'x' AS x, '{value}' AS kept FROM range(9)").write_parquet(str(path))
    assert source.stat().st_size == other.stat().st_size
    columns = {"x": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "kept": {"role": "keep"}}
    chosen = {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 2}], "output": {"file": "out.parquet"}}
    with sqlanon.plan(source, sqlanon.Policy.from_dict(chosen, base_directory=tmp_path)) as plan:
        os.utime(other, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        other.replace(source)
        with pytest.raises(SourceChangedError, match="changed or disappeared"):
            plan.publish()
    assert not (tmp_path / "out.parquet").exists()
