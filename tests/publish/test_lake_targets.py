"""Releases to Delta and Iceberg tables: one commit each, of audited files; nothing is replaced or added twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from command_line import sqlanon as command
from period_worlds import FIRST, World, policy_document
from policies import document_of
from pyarrow import parquet

import sqlanon
from sqlanon.core.publish import appending
from sqlanon.errors import AuditError, InputError, PolicyError, SourceChangedError, TargetError
from sqlanon.interop.lake import delta, iceberg
from sqlanon.periods import opening

deltalake = pytest.importorskip("deltalake", reason="needs the extra delta")
pytestmark = pytest.mark.slow
DAY = timedelta(days=1)
KEY = "sqlanon.manifest"
STRANGE = ("a/b", "c=d", "50 %", "é+ü", " x ", "…")


def rows_of(path: Path) -> Counter[Any]:
    return counted(pa.table(deltalake.DeltaTable(path).scan()))


def counted(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(sorted(row.items(), key=str)) for row in table.to_pylist())


class DeltaLake:
    """A Delta table in a folder."""

    kind = "DeltaTarget"

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.output, self.environment = folder, {"delta": "released"}, {}

    def rows(self) -> Counter[Any]:
        return rows_of(self.folder / "released")

    def commits(self) -> int:
        return int(deltalake.DeltaTable(self.folder / "released").version()) + 1

    def live(self) -> set[str]:
        return {uri.rpartition("/")[2] for uri in deltalake.DeltaTable(self.folder / "released").file_uris()}

    def written(self) -> set[str]:
        return {file.name for file in self.folder.rglob("sqlanon-*.parquet")}

    def forget(self) -> None:
        (self.folder / "released").rename(self.folder / "away")

    def append(self, rows: pa.Table) -> None:
        deltalake.write_deltalake(self.folder / "released", rows, mode="append")


class IcebergLake(DeltaLake):
    """An Iceberg table of a catalog in SQLite."""

    kind = "IcebergTarget"

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("sqlalchemy", reason="the catalog of the test is in SQLite")
        self.catalogs = pytest.importorskip("pyiceberg.catalog", reason="needs the extra iceberg")
        self.folder, self.output = folder, {"iceberg": "lake.clinic.released"}
        self.environment = {
            "PYICEBERG_CATALOG__LAKE__TYPE": "sql",
            "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{folder / 'catalog.db'}",
            "PYICEBERG_CATALOG__LAKE__WAREHOUSE": (folder / "warehouse").as_uri(),
        }
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(self.catalogs, "_ENV_CONFIG", type(self.catalogs._ENV_CONFIG)())
        self.catalogs.load_catalog("lake").create_namespace("clinic")

    @property
    def table(self) -> Any:
        return self.catalogs.load_catalog("lake").load_table("clinic.released")

    def rows(self) -> Counter[Any]:
        return counted(self.table.scan().to_arrow())

    def commits(self) -> int:
        return len(self.table.snapshots())

    def live(self) -> set[str]:
        return {task.file.file_path.rpartition("/")[2] for task in self.table.scan().plan_files()}

    def forget(self) -> None:
        self.catalogs.load_catalog("lake").drop_table("clinic.released")
        for file in self.folder.rglob("sqlanon-*.parquet"):
            file.unlink()

    def append(self, rows: pa.Table) -> None:
        self.table.append(rows)


@pytest.fixture(params=[DeltaLake, IcebergLake])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return request.param(tmp_path, monkeypatch)


def target_of(lake: Any) -> Any:
    """The class of the package that writes such tables."""
    return getattr(iceberg if lake.kind == "IcebergTarget" else delta, lake.kind)


def write_source(folder: Path) -> pa.Table:
    """Records whose places are names that no folder has as they are."""
    table = pa.table(
        {
            "place": [STRANGE[i % 6] for i in range(240)],
            "age": pa.array([None if i % 40 == 7 else 20 + i % 3 for i in range(240)], pa.int32()),
            "seen": pa.array([i % 7 for i in range(240)], pa.timestamp("us")),
            "cost": [i / 4 for i in range(240)],
        }
    )
    parquet.write_table(table, folder / "s.parquet")
    return table


def policy(folder: Path, **changes: Any) -> sqlanon.Policy:
    document = document_of(
        {"place": "suppress", "age": "suppress", "seen": "keep", "cost": "keep"},
        changes,
        k=3,
        source="s.parquet",
        accept=["seen", "cost"],
        suppression_limit=0.2,
        output={"delta": "released"},
    )
    return sqlanon.Policy.from_dict(document, base_directory=folder)


@pytest.mark.parametrize("by", [[], ["place"], ["place", "age"]])
def test_a_release_is_one_commit_with_its_manifest(by: list[str], tmp_path: Path) -> None:
    write_source(tmp_path)
    with sqlanon.anonymize(None, policy(tmp_path)) as other:
        expected = rows_of(tmp_path / "released")
        assert other.ledger.published == sum(expected.values()) > 0
    output = {"delta": "divided", "partition_by": by}
    with sqlanon.anonymize(None, policy(tmp_path, output=output)) as release:
        assert other.manifest["columns"] == release.manifest["columns"]
        texts = [tuple((name, str(value)) for name, value in row) for row in rows_of(tmp_path / "divided").elements()]
        assert Counter(texts) == Counter(
            tuple((name, str(value)) for name, value in row) for row in expected.elements()
        )
        read = release.to_arrow()
        assert read.num_rows == release.ledger.published and set(read.column_names) == {"place", "age", "seen", "cost"}
        table = deltalake.DeltaTable(tmp_path / "divided")
        [commit] = table.history()
        assert json.loads(commit[KEY]) == release.manifest
        assert release.manifest["output"] == {"delta": "divided"}
        assert table.metadata().partition_columns == by
    if os.name != "nt":
        assert (tmp_path / "divided").stat().st_mode & 0o077 == 0


def test_a_release_can_be_checked_as_any_other_relation(tmp_path: Path) -> None:
    write_source(tmp_path)
    (tmp_path / "p.json").write_text(json.dumps(policy(tmp_path).to_dict()))
    done = command("run", str(tmp_path / "p.json"))
    assert done.returncode == 0, done.stderr
    assert "Delta table" not in done.stderr and "released" in done.stdout
    assert command("check", str(tmp_path / "released"), "--qi", "place,age", "--k", "3").returncode == 0
    assert command("check", str(tmp_path / "released"), "--qi", "place,age", "--k", "50").returncode == 1
    again = command("run", str(tmp_path / "p.json"))
    assert again.returncode == 2 and "exists already, and keeps all that was released to it" in again.stderr


def test_nothing_is_replaced_in_a_table_that_keeps_its_history(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="whoever reads it would have the release that is replaced") as raised:
        policy(tmp_path, if_exists="replace")
    assert [fault.key for fault in raised.value.faults] == ["if_exists"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"output": {"delta": "x", "owner": "me"}}, "output"),
        ({"output": {"iceberg": "lake.people"}}, "output.iceberg"),
        ({"output": {"iceberg": "lake..people"}}, "output.iceberg"),
        ({"output": {"iceberg": "lake.clinic.people", "partition_by": "place"}}, "output.partition_by"),
        ({"output": {"iceberg": "lake.clinic.people"}, "if_exists": "replace"}, "if_exists"),
        ({"output": {"delta": "x", "mode": "0640"}}, "output.mode"),
        ({"output": {"delta": "x", "partition_by": "cost"}}, "output.partition_by"),
        ({"output": {"delta": "x", "file": "y.parquet"}}, "output"),
        ({"ledger": {"file": "l.duckdb", "record": "seen", "key": {"env": "K"}}}, "ledger"),
    ],
)
def test_what_a_delta_table_does_not_go_with_is_a_fault(changes: dict[str, Any], key: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as raised:
        policy(tmp_path, **changes)
    assert key in {fault.key for fault in raised.value.faults}


def test_what_else_stands_at_the_target_stays(tmp_path: Path) -> None:
    write_source(tmp_path)
    (tmp_path / "released").mkdir()
    (tmp_path / "released" / "diary.txt").write_text("mine")
    with pytest.raises(TargetError, match="exists, and is no Delta table"):
        sqlanon.anonymize(None, policy(tmp_path))
    with pytest.raises(TargetError, match="percent sign"):
        sqlanon.anonymize(None, policy(tmp_path, output={"delta": "a%41"}))
    with pytest.raises(TargetError, match="in use as a source"):
        sqlanon.anonymize(None, policy(tmp_path, output={"delta": "s.parquet"}))
    assert [entry.name for entry in (tmp_path / "released").iterdir()] == ["diary.txt"]
    (tmp_path / "released" / "diary.txt").unlink()
    sqlanon.anonymize(None, policy(tmp_path)).close()  # an empty folder keeps its permissions
    assert rows_of(tmp_path / "released")


@pytest.mark.parametrize("kind", ["UBIGINT", "TIME", "UUID", "TIMESTAMP_NS", "INTEGER[]"])
def test_a_type_that_a_table_would_change_is_refused(kind: str, lake: Any, tmp_path: Path) -> None:
    value = {"TIME": "'12:00:00'", "UUID": "uuid()", "INTEGER[]": "[1]"}.get(kind, "1")
    value = "'2024-01-01 00:00:00'" if "STAMP" in kind else value
    with duckdb.connect(str(tmp_path / "s.duckdb")) as database:
        database.execute(f"CREATE TABLE s AS SELECT 'x' AS place, CAST({value} AS {kind}) AS cost FROM range(9)")
    asked = {"place": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "cost": {"role": "keep"}}
    plain = {"columns": asked, "source": "s.duckdb", "table": "s", "accept": ["cost"], "undeclared": "drop"}
    plain["output"] = lake.output
    with pytest.raises(TargetError, match=r"does not hold the types of 'cost'"):
        sqlanon.anonymize(None, policy(tmp_path, **plain))
    assert not lake.written()


@pytest.mark.parametrize("step", ["audit", "source", "commit"])
def test_a_failure_leaves_no_file(step: str, lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_source(tmp_path)
    if step == "audit":
        written = appending.write_flat

        def twice(engine: Any, query: Any, partial: Path) -> None:
            written(engine, query, partial)
            table = parquet.read_table(partial)
            row = table.slice(0, 1).set_column(0, "place", pa.array(["nowhere"]))
            parquet.write_table(pa.concat_tables([table.slice(1), row.cast(table.schema)]), partial)

        monkeypatch.setattr(appending, "write_flat", twice)
        wanted: type[Exception] = AuditError
    elif step == "source":
        monkeypatch.setattr("sqlanon.core.publish.draft.Draft.last_look", _changed)
        wanted = SourceChangedError
    else:
        monkeypatch.setattr(target_of(lake), "_commit", _refused)
        wanted = TargetError
    with pytest.raises(wanted):
        sqlanon.anonymize(None, policy(tmp_path, output=lake.output))
    assert not lake.written() and not [*tmp_path.rglob("_delta_log/*")]


def _changed(draft: Any, digest: Any = None) -> None:
    raise SourceChangedError("The source changed.", hint="")


def _refused(*arguments: Any, **named: Any) -> None:
    raise OSError("no room: /secret/path")


def test_the_package_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_source(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    with pytest.raises(InputError, match="is not installed") as raised:
        sqlanon.anonymize(None, policy(tmp_path))
    assert "sqlanon[delta]" in str(raised.value.hint)


def test_records_of_sqlite_are_released_to_a_delta_table(tmp_path: Path) -> None:
    table = write_source(tmp_path)
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute("CREATE TABLE s (place TEXT, age INTEGER)")
        database.executemany("INSERT INTO s VALUES (?, ?)", zip(*(table[n].to_pylist() for n in ("place", "age"))))
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in ("place", "age")}
    document = {"source": "s.sqlite", "table": "s", "columns": columns, "accept": [], "output": {"delta": "here"}}
    with sqlanon.anonymize(None, policy(tmp_path, **document)) as release:
        assert sum(rows_of(tmp_path / "here").values()) == release.ledger.published > 0


@pytest.fixture
def begun(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Callable[[], sqlanon.Policy], World]:
    """A policy of periods of which some were released, and further ones have closed since; and its world."""
    moments = [FIRST + 3 * DAY]
    monkeypatch.setattr(opening, "read_clock", lambda engine: moments[-1])
    world = World(7, "day", timedelta(hours=1))
    for night in range(3):
        world.arrive(night)

    def write() -> None:
        names = ("moment", "place", "sex", "illness")
        types = (pa.timestamp("us", "UTC"), pa.string(), pa.string(), pa.string())
        columns = [pa.array(values, kind) for values, kind in zip(zip(*world.records), types)]
        parquet.write_table(pa.table(columns, names=names), tmp_path / "s.parquet")

    def read() -> sqlanon.Policy:
        document = policy_document(world, source="s.parquet", output=lake.output)
        return sqlanon.Policy.from_dict(document, base_directory=tmp_path)

    write()
    sqlanon.anonymize(None, read()).close()
    for night in (3, 4):
        world.arrive(night)
    write()
    moments.append(FIRST + 5 * DAY + timedelta(hours=2))
    return read, world


def test_of_two_runs_one_adds_the_periods(begun: Any, lake: Any) -> None:
    read, _ = begun

    def other(_: Any) -> None:
        sqlanon.anonymize(None, read()).close()

    before = lake.rows()
    with pytest.raises(TargetError, match="another run published to it"):
        sqlanon.anonymize(None, read(), prepare=other)
    assert lake.commits() == 2 and before < lake.rows()
    assert lake.live() == lake.written()


@pytest.mark.parametrize("first", [False, True])
def test_of_two_runs_that_commit_at_once_one_adds_the_periods(
    first: bool, begun: Any, lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, _ = begun
    if first:
        lake.forget()
    commit, running = target_of(lake)._commit, [0]

    def late(table: Any, *arguments: Any) -> None:
        running[0] += 1
        if running[0] == 1:
            sqlanon.anonymize(None, read()).close()
        commit(table, *arguments)

    monkeypatch.setattr(target_of(lake), "_commit", late)
    with pytest.raises(TargetError, match="another run published to it"):
        sqlanon.anonymize(None, read())
    assert running == [2] and lake.commits() == (1 if first else 2)
    rows = lake.rows()
    with pytest.raises(sqlanon.NothingNewError):
        sqlanon.anonymize(None, read())
    assert lake.rows() == rows


def test_an_answer_that_was_lost_is_no_failure(begun: Any, lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store may say that a commit failed which it has done."""
    read, _ = begun
    commit = target_of(lake)._commit

    def unheard(table: Any, *arguments: Any) -> None:
        commit(table, *arguments)
        raise OSError("timeout")

    monkeypatch.setattr(target_of(lake), "_commit", unheard)
    sqlanon.anonymize(None, read()).close()
    assert lake.commits() == 2 and lake.live() == lake.written()
    with pytest.raises(sqlanon.NothingNewError):
        sqlanon.anonymize(None, read())


KILLED = """
import os, signal, sys
from pathlib import Path
import sqlanon
from sqlanon.interop.lake import delta, iceberg
from sqlanon.periods import opening
from period_worlds import FIRST, timedelta

kind, place, hours, file = sys.argv[1:]
target = getattr(delta, kind, None) or iceberg.IcebergTarget
done = target._commit

def die(*arguments):
    if place == "after":
        done(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

target._commit = die
opening.read_clock = lambda engine: FIRST + int(hours) * timedelta(hours=1)
sqlanon.anonymize(None, file)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_killed_run_leaves_whole_periods_or_nothing(
    place: str, first: bool, begun: Any, lake: Any, tmp_path: Path
) -> None:
    read, _ = begun
    if first:
        lake.forget()
    before = Counter() if first else lake.rows()
    (tmp_path / "p.json").write_text(json.dumps(read().to_dict()))
    paths = os.pathsep.join([str(Path(sqlanon.__file__).parents[1]), str(Path(__file__).parents[1] / "support")])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, lake.kind, place, "122", str(tmp_path / "p.json")],
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    if place == "after":
        with pytest.raises(sqlanon.NothingNewError):
            sqlanon.anonymize(None, read())
    else:
        assert first or lake.rows() == before
        assert lake.written()  # which no reader of the table sees
        sqlanon.anonymize(None, read()).close()
    assert lake.commits() == (1 if first else 2) and before < lake.rows()


def test_rows_that_another_added_are_seen(begun: Any, lake: Any) -> None:
    read, _ = begun
    row = dict(next(iter(lake.rows())))
    lake.append(pa.table({name: [row[name]] for name in ("moment", "place", "sex", "illness")}))
    kept = lake.rows()
    with pytest.raises(TargetError, match="is not what its manifest says"):
        sqlanon.anonymize(None, read())
    assert lake.rows() == kept


def test_a_release_to_an_iceberg_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = IcebergLake(tmp_path, monkeypatch)
    write_source(tmp_path)
    with sqlanon.anonymize(None, policy(tmp_path, output=lake.output)) as release:
        assert counted(release.to_arrow()) == lake.rows() and release.to_arrow().num_rows == release.ledger.published
        assert json.loads(lake.table.properties[KEY]) == release.manifest
        assert release.manifest["output"] == lake.output
    with sqlanon.anonymize(None, policy(tmp_path)):
        assert lake.rows() == rows_of(tmp_path / "released")
    with pytest.raises(TargetError, match="exists already, and keeps all"):
        sqlanon.anonymize(None, policy(tmp_path, output=lake.output))
    with pytest.raises(TargetError, match="NoSuchNamespaceError"):
        sqlanon.anonymize(None, policy(tmp_path, output={"iceberg": "lake.nowhere.released"}))
    with pytest.raises(TargetError, match="could not be read"):
        sqlanon.anonymize(None, policy(tmp_path, output={"iceberg": "nowhere.clinic.released"}))


of_delta = pytest.mark.parametrize("lake", [DeltaLake], indirect=True)


@of_delta
@pytest.mark.parametrize("change", ["delete", "restore", "column"])
def test_a_table_that_was_changed_is_not_added_to(change: str, begun: Any, lake: Any, tmp_path: Path) -> None:
    read, _ = begun
    path = tmp_path / "released"
    table = deltalake.DeltaTable(path)
    rows = pa.table(table.scan())
    if change == "delete":
        table.delete("sex = 'f'" if "f" in rows["sex"].to_pylist() else "place <> ''")
    elif change == "restore":
        sqlanon.anonymize(None, read()).close()
        table = deltalake.DeltaTable(path)
        table.restore(0)
    else:
        wider = rows.append_column("note", pa.array([""] * rows.num_rows))
        deltalake.write_deltalake(path, wider, mode="overwrite", schema_mode="overwrite")
    kept = rows_of(path)
    with pytest.raises(TargetError, match=r"has other columns|is not what its manifest says"):
        sqlanon.anonymize(None, read())
    assert rows_of(path) == kept


@of_delta
def test_a_table_of_another_is_not_added_to(begun: Any, lake: Any, tmp_path: Path) -> None:
    read, _ = begun
    path = tmp_path / "released"
    rows = pa.table(deltalake.DeltaTable(path).scan())
    path.rename(tmp_path / "away")
    deltalake.write_deltalake(path, rows)
    with pytest.raises(TargetError, match="was not released by periods"):
        sqlanon.anonymize(None, read())


@of_delta
def test_a_table_that_was_compacted_and_vacuumed_goes_on(begun: Any, lake: Any, tmp_path: Path) -> None:
    read, _ = begun
    path = tmp_path / "released"
    for _ in range(60):  # more commits than are looked at first
        deltalake.DeltaTable(path).alter.set_table_description("kept")
    deltalake.DeltaTable(path).optimize.compact()
    deltalake.DeltaTable(path).vacuum(0, enforce_retention_duration=False, dry_run=False)
    deltalake.DeltaTable(path).create_checkpoint()
    deltalake.DeltaTable(path).cleanup_metadata()
    before = rows_of(path)
    sqlanon.anonymize(None, read()).close()
    assert before < rows_of(path)
