"""Releases by closed periods: each once, whole or not at all, at the levels of the first run, as counted by hand."""

import json
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import sqlanon as command
from effort import scaled, widened
from killed_publications import killed
from period_worlds import FIRST, World, policy_document
from postgres_server import Server, execute
from sqlglot import exp

import sqlanon
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.publish import workplace
from sqlanon.core.publish.ledger import REASONS, Ledger, bounds_of
from sqlanon.core.publish.papers import MANIFEST, check_papers
from sqlanon.core.publish.workplace import working_at
from sqlanon.core.source.opening import open_source
from sqlanon.errors import (
    InputError,
    NoSolutionError,
    NothingNewError,
    PolicyError,
    SourceError,
    TargetError,
    UnsupportedError,
)
from sqlanon.interop.scripts.dbt.release import refuse_release
from sqlanon.interop.scripts.warehouse import refuse_script
from sqlanon.periods import opening
from sqlanon.periods.calendar import ZONED, name_of_period, within
from sqlanon.periods.extending import add_accounts

pytestmark = pytest.mark.slow
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
COLUMNS = ("moment", "place", "sex", "illness")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The clock of the database: its last entry."""
    moments = [FIRST]
    monkeypatch.setattr(opening, "read_clock", lambda engine: moments[-1])
    return moments


def _listed(record: Any) -> str:
    return f"({', '.join('NULL' if cell is None else repr(str(cell)) for cell in record)})"


def as_arrow(records: list[Any]) -> pa.Table:
    types = [pa.timestamp("us", "UTC"), pa.string(), pa.string(), pa.string()]
    columns = zip(map(list, zip(*records, strict=True)), types, strict=True)
    return pa.table([pa.array(values, kind) for values, kind in columns], names=list(COLUMNS))


class Folder:
    """A folder of Parquet files, released of a Parquet file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "released"
        self.keys: dict[str, Any] = {
            "source": "s.parquet", "output": {"file": "released", "partition_by": "moment"}
        }  # fmt: skip

    def write(self, records: list[Any]) -> None:
        pq.write_table(as_arrow(records), self.folder / "s.parquet")

    def rows(self) -> Counter[Any]:
        if not self.path.exists():
            return Counter()
        read = f"read_parquet('{self.path}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
        return Counter(duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM {read}").fetchall())

    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.with_name("released" + MANIFEST).read_text())
        return found

    def marks(self) -> dict[str, Any]:
        """Of each file its bytes, and which it is on the disk."""
        files = self.path.rglob("*.parquet")
        return {str(file.relative_to(self.path)): (file.stat().st_ino, digest_of(file)) for file in files}


class Delta(Folder):
    """A Delta table, released of a Parquet file."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("deltalake")
        super().__init__(folder)
        self.keys = {"source": "s.parquet", "output": {"delta": "released"}}

    def opened(self) -> Any:
        found = pytest.importorskip("deltalake").DeltaTable
        return found(self.path) if found.is_deltatable(str(self.path)) else None

    def rows(self) -> Counter[Any]:
        if (table := self.opened()) is None:
            return Counter()
        found = pa.table(table.scan()).select(COLUMNS)
        return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def manifest(self) -> dict[str, Any]:
        commits = self.opened().history()
        return dict(json.loads(next(each["sqlanon.manifest"] for each in commits if "sqlanon.manifest" in each)))

    def marks(self) -> dict[str, Any]:
        table = self.opened()
        names = [] if table is None else [uri.rpartition("/")[2] for uri in table.file_uris()]
        return {name: ((self.path / name).stat().st_ino, digest_of(self.path / name)) for name in names}


class DeltaPartitions(Delta):
    """A Delta table that is partitioned by the period, released of a table in a DuckDB file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys = {
            "source": "s.duckdb",
            "table": "s",
            "output": {"delta": "released", "partition_by": ["moment", "sex"]},
        }

    def write(self, records: list[Any]) -> None:
        Table(self.folder).write(records)


class Table:
    """A table in the DuckDB file of its source."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "s.duckdb"
        self.keys: dict[str, Any] = {"source": "s.duckdb", "table": "s", "output": {"table": "released"}}

    def write(self, records: list[Any]) -> None:
        with duckdb.connect(str(self.file)) as database:
            database.execute("SET TimeZone = 'Asia/Tokyo'")
            database.execute("CREATE OR REPLACE TABLE s (moment TIMESTAMPTZ, place TEXT, sex TEXT, illness TEXT)")
            arrived = as_arrow(records)
            database.execute("INSERT INTO s FROM arrived")
            assert arrived.num_rows == len(records)

    def run(self, query: str) -> list[Any]:
        with duckdb.connect(str(self.file), read_only=True) as database:
            return database.execute(query).fetchall()

    def rows(self) -> Counter[Any]:
        if ("released",) not in self.run("SELECT table_name FROM duckdb_tables()"):
            return Counter()
        return Counter(self.run(f"SELECT {', '.join(COLUMNS)} FROM released"))

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads(self.run("SELECT manifest FROM released_manifest ORDER BY run DESC")[0][0]))

    def marks(self) -> dict[str, Any]:
        return {}


class PostgresTable(Table):
    """A table of a server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server = folder, server
        execute(server, "DROP TABLE IF EXISTS s, released, released_manifest")
        self.keys = {"source": server.uri(), "table": "s", "output": {"table": "released"}}

    def write(self, records: list[Any]) -> None:
        execute(
            self.server,
            "DROP TABLE IF EXISTS s",
            "CREATE TABLE s (moment TIMESTAMPTZ, place TEXT, sex TEXT, illness TEXT)",
            "INSERT INTO s VALUES " + ", ".join(_listed(record) for record in records),
        )

    def run(self, query: str) -> list[Any]:
        if "duckdb_tables" in query:
            query = "SELECT tablename FROM pg_catalog.pg_tables"
        return [tuple(row) for row in execute(self.server, query)]


class Iceberg(Folder):
    """An Iceberg table of a catalog in SQLite, released of a Parquet file."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("sqlalchemy", reason="the catalog of the test is in SQLite")
        pytest.importorskip("pyiceberg.catalog.sql", reason="needs the extra iceberg")
        super().__init__(folder)
        self.keys = {"source": "s.parquet", "output": {"iceberg": "lake.clinic.released"}}
        self.catalog = pytest.importorskip("pyiceberg.catalog").load_catalog("lake")
        self.catalog.create_namespace("clinic")

    def rows(self) -> Counter[Any]:
        if not self.catalog.table_exists("clinic.released"):
            return Counter()
        found = self.catalog.load_table("clinic.released").scan().to_arrow().select(COLUMNS)
        return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads(self.catalog.load_table("clinic.released").properties["sqlanon.manifest"]))

    def marks(self) -> dict[str, Any]:
        files = [*self.folder.rglob("sqlanon-*.parquet")]
        return {file.name: (file.stat().st_ino, digest_of(file)) for file in files}


class DeltaOfServer(Delta):
    """A Delta table, released of a table of a server."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder)
        self.source = PostgresTable(folder, server)
        self.keys = {"source": server.uri(), "table": "s", "output": {"delta": "released"}}

    def write(self, records: list[Any]) -> None:
        self.source.write(records)


OF_FILES = {
    "folder": Folder, "table": Table, "delta": Delta, "delta in partitions": DeltaPartitions, "iceberg": Iceberg
}  # fmt: skip
POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
DELTA_OF_SERVER = pytest.param("delta of a server", marks=pytest.mark.postgres)


@pytest.fixture(params=["folder", "table", "delta", POSTGRES])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Where records are, and where they are released."""
    if request.param == "iceberg":
        found = pytest.importorskip("pyiceberg.catalog", reason="needs the extra iceberg")
        where = {"URI": f"sqlite:///{tmp_path / 'catalog.db'}", "WAREHOUSE": (tmp_path / "lake").as_uri()}
        for name, value in {"TYPE": "sql", **where}.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
        monkeypatch.setattr(found, "_ENV_CONFIG", type(found._ENV_CONFIG)())
    if request.param == "delta of a server":
        return DeltaOfServer(tmp_path, request.getfixturevalue("postgres"))
    if request.param == "postgres":
        return PostgresTable(tmp_path, request.getfixturevalue("postgres"))
    return OF_FILES[request.param](tmp_path)


def policy_of(place: Any, world: World, **changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(policy_document(world, **place.keys, **changes), base_directory=place.folder)


def released(place: Any, world: World, **changes: Any) -> tuple[tuple[str, ...], dict[str, int]]:
    """Run the policy; return the periods that it released, and the levels.

    What it says of late records is compared with those that came to released periods since.
    """
    late = world.late()
    with sqlanon.anonymize(None, policy_of(place, world, **changes)) as release:
        said = [re.search(r"has changed \((.+?)(?: to (.+))?\)", text) for text in release.warnings]
        low, high = next(((int(found[1]), int(found[2] or found[1])) for found in said if found), (0, 0))
        assert low <= late <= high
        periods = release.plan.source.periods
        assert periods is not None
        return periods.released, release.levels


@pytest.mark.parametrize("place", [*OF_FILES, POSTGRES, DELTA_OF_SERVER], indirect=True)
@pytest.mark.parametrize(("every", "hours"), [("day", 36), ("day", 1), ("week", 48), ("month", 30)])
def test_each_night_adds_the_periods_that_have_closed_and_no_others(
    place: Any, clock: list[datetime], every: str, hours: int
) -> None:
    world, levels = World(hours, every, hours * HOUR), None
    step = 7 if every == "month" else 1
    nights = 14 if every != "day" else max(9, scaled(14))
    for night in range(0, nights * step, step):
        world.arrive(night)
        if night % 5 == 3 and every == "day":
            continue  # no run that night
        place.write(world.records)
        clock.append(FIRST + night * DAY + 22 * HOUR)
        coming, before = world.coming(clock[-1]), place.marks()
        if not coming:
            with pytest.raises(NothingNewError):
                released(place, world)
        else:
            names, found = released(place, world)
            assert [*names] == coming
            levels = levels or found
            assert found == levels
            world.release(coming, levels)
        assert place.rows() == world.expected
        assert before.items() <= place.marks().items()
    listed = place.manifest()["periods"]["released"]
    counts = Counter(row[0] for row in place.rows().elements())
    assert [(each["period"], each["published"]) for each in listed] == sorted(counts.items())
    assert len(world.released) > 1


def begun(place: Any, clock: list[datetime], *, nights: int = 3) -> World:
    """A world of which the first periods were released, and further ones have closed since."""
    world = World(7, "day", HOUR)
    for night in range(nights):
        world.arrive(night)
    place.write(world.records)
    clock.append(FIRST + nights * DAY)
    coming = world.coming(clock[-1])
    world.release(coming, released(place, world)[1])
    assert place.rows() == world.expected
    for night in (nights, nights + 1):
        world.arrive(night)
    place.write(world.records)
    clock.append(FIRST + (nights + 2) * DAY + 2 * HOUR)
    return world


def test_a_run_with_nothing_new_writes_nothing(place: Any, clock: list[datetime]) -> None:
    world = begun(place, clock)
    del clock[-1]
    manifest, marks = place.manifest(), place.marks()
    with pytest.raises(NothingNewError):
        released(place, world)
    assert (place.rows(), place.manifest(), place.marks()) == (world.expected, manifest, marks)


def test_a_first_run_before_anything_has_closed_writes_nothing(place: Any, clock: list[datetime]) -> None:
    world = World(7, "day", HOUR)
    world.arrive(0)
    place.write([(FIRST + HOUR, *record[1:]) for record in world.records])
    clock.append(FIRST + DAY + HOUR / 2)
    with pytest.raises(NothingNewError):
        released(place, world)
    assert not place.rows()


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy": [{"type": "k_anonymity", "k": 2}]},
        {"periods": {"column": "moment", "every": "week"}},
        {"columns": {**policy_document(World(0, "day", HOUR))["columns"], "sex": {"role": "drop"}}},
    ],
)
def test_another_policy_adds_no_periods(place: Any, clock: list[datetime], changes: dict[str, Any]) -> None:
    world = begun(place, clock)
    document = {**policy_document(world, **place.keys), **changes}
    policy = sqlanon.Policy.from_dict(document, base_directory=place.folder)
    with pytest.raises(InputError, match="differs from that of the earlier periods"):
        sqlanon.anonymize(None, policy)
    assert place.rows() == world.expected


def test_levels_that_do_not_fit_wait_for_further_periods(place: Any, clock: list[datetime]) -> None:
    world = begun(place, clock)
    levels = {each["name"]: each["level"] for each in place.manifest()["columns"] if "level" in each}
    alone = [
        (FIRST + 2 * DAY + number * HOUR, f"place {number}", "mf"[number % 2], ["flu", "gout"][number % 3 % 2])
        for number in range(9)
    ]
    early = [record for record in world.records if record[0] is not None and record[0] < FIRST + 2 * DAY]
    place.write([*early, *alone])
    clock.append(FIRST + 3 * DAY + HOUR)
    with pytest.raises(NoSolutionError, match="does not meet the policy"):
        released(place, world)
    assert place.rows() == world.expected
    draw = World(1, "day", HOUR)
    draw.arrive(3, 400)
    later = [record for record in draw.records if record[0] is not None and record[0] >= FIRST + 3 * DAY]
    world.records = [*early, *alone, *later]
    place.write(world.records)
    clock.append(FIRST + 4 * DAY + HOUR)
    names, found = released(place, world)
    assert (len(names), found) == (2, levels)
    world.release(names, levels)
    assert place.rows() == world.expected
    suppressed, last = names
    listed = [each["period"] for each in place.manifest()["periods"]["released"]]
    assert (listed[-1], place.manifest()["periods"]["through"]) == (last, last)
    assert suppressed not in json.dumps(place.manifest())


def test_what_stands_at_the_target_is_a_release_by_periods(place: Any, clock: list[datetime]) -> None:
    world = World(7, "day", HOUR)
    world.arrive(0)
    place.write(world.records)
    clock.append(FIRST + 2 * DAY)
    document = policy_document(world, **place.keys)
    del document["periods"]
    document["columns"]["moment"] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "min_level": 1}
    document["suppression_limit"] = 1
    with sqlanon.anonymize(None, sqlanon.Policy.from_dict(document, base_directory=place.folder)):
        pass
    before = place.rows()
    with pytest.raises(TargetError, match="was not released by periods"):
        released(place, world)
    assert place.rows() == before


def test_a_folder_that_was_changed_is_not_added_to(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    first = min(place.path.iterdir())
    shutil.move(first, tmp_path / "away")
    with pytest.raises(TargetError, match="is not what its manifest says"):
        released(place, world)
    shutil.move(tmp_path / "away", first)
    manifest, paper = place.manifest(), place.path.with_name("released" + MANIFEST)
    paper.write_text(json.dumps(manifest | {"periods": manifest["periods"] | {"through": "2020-01-01"}}))
    with pytest.raises(TargetError, match="its manifest was changed"):
        released(place, world)
    paper.write_text(json.dumps(manifest))
    released(place, world)
    assert check_papers(place.path).holds


def test_a_second_run_for_the_same_folder_is_refused(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    with working_at(place.path), pytest.raises(TargetError, match="Another run is publishing"):
        released(place, world)
    assert place.rows() == world.expected


@pytest.mark.skipif(os.name == "nt", reason="needs permissions")
def test_permissions_of_earlier_periods_are_not_touched_before_the_swap(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    kept = tmp_path / "kept"
    shutil.copytree(place.path, kept, copy_function=os.link)
    place.keys["output"]["mode"] = "0640"
    world.release(released(place, world)[0], levels_of(place))
    assert place.rows() == world.expected and check_papers(place.path).holds
    modes = {file.stat().st_mode & 0o777 for file in place.path.rglob("*.parquet")}
    assert (modes, {file.stat().st_mode & 0o777 for file in kept.rglob("*.parquet")}) == ({0o640}, {0o600})


@pytest.mark.skipif(os.name == "nt", reason="links are counted otherwise")
def test_files_of_earlier_periods_are_not_written_to_the_disk_again(
    tmp_path: Path, clock: list[datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    before, synced = {*place.marks()}, set[str]()
    monkeypatch.setattr(workplace, "sync", lambda path: synced.add(path.parent.name + "/" + path.name))
    world.release(released(place, world)[0], levels_of(place))
    files = {name for name in synced if name.endswith(".parquet")}
    assert files == {*place.marks()} - before and len(before) > 0 < len(files)


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS"])
@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_moments_at_infinity_are_of_no_period(
    kind: str, every: str, connection: duckdb.DuckDBPyConnection, clock: list[datetime]
) -> None:
    ends = ["infinity", "-infinity", None]
    _check_infinity(connection.execute, connection, kind, every, ends, clock)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_moments_at_infinity_are_of_no_period_of_a_server(kind: str, postgres: Server, clock: list[datetime]) -> None:
    _check_infinity(
        lambda text: execute(postgres, text), postgres.uri(), kind, "week", ["infinity", "-infinity"], clock
    )


def _check_infinity(
    run: Callable[[str], Any], source: Any, kind: str, every: str, ends: list[str | None], clock: list[datetime]
) -> None:
    moments = ["2024-01-01", "2024-01-01", "2024-01-01", *ends]
    rows = [(moment, "place 1", "m", ("flu", "gout")[i % 2]) for i, moment in enumerate(moments)]
    run("DROP TABLE IF EXISTS s")
    run(f"CREATE TABLE s (moment {kind}, place TEXT, sex TEXT, illness TEXT)")
    run(f"INSERT INTO s VALUES {', '.join(map(_listed, rows))}")
    clock.append(FIRST)
    world = World(0, every, HOUR)
    document = policy_document(world, table="s") | ({"source": source} if isinstance(source, str) else {})
    policy = sqlanon.Policy.from_dict(document)
    with sqlanon.anonymize(None if isinstance(source, str) else source, policy) as release:
        assert release.ledger.records == 3
        assert any(f"{len(ends)} records have no 'moment', or one at infinity" in text for text in release.warnings)


@pytest.mark.postgres
@pytest.mark.parametrize(("longest", "fits"), [(49, True), (50, False), (56, False)])
def test_a_name_too_long_for_the_manifests_of_a_server_is_refused_before_any_work(
    longest: int, fits: bool, postgres: Server, tmp_path: Path, clock: list[datetime]
) -> None:
    place = PostgresTable(tmp_path, postgres)
    world = World(7, "day", HOUR)
    world.arrive(0)
    place.write(world.records)
    clock.append(FIRST + 2 * DAY)
    name = "r" * longest
    execute(postgres, f"DROP TABLE IF EXISTS {name}, {name}_manifest")
    place.keys["output"] = {"table": name}
    policy = policy_of(place, world)
    if fits:
        sqlanon.anonymize(None, policy).close()
        return
    with pytest.raises(UnsupportedError, match="is longer than the 63 bytes") as raised:
        sqlanon.plan(None, policy).close()
    assert raised.value.hint


def overtaken(run: Callable[[Any], sqlanon.Release]) -> None:
    """Plan the periods, let another run release them, and publish the plan."""

    def other(_: Any) -> None:
        with run(None):
            pass

    with pytest.raises(TargetError, match="another run published to it"):
        run(other).close()


def test_a_run_that_another_overtakes_adds_nothing(clock: list[datetime], tmp_path: Path) -> None:
    place = Table(tmp_path)
    world = begun(place, clock)
    policy = replace_source(policy_of(place, world))
    with duckdb.connect(str(place.file)) as database:
        overtaken(lambda other: sqlanon.anonymize(database, policy, prepare=other))
    world.release(world.coming(clock[-1]), levels_of(place))
    assert place.rows() == world.expected


@pytest.mark.postgres
@pytest.mark.parametrize("first", [False, True])
def test_of_two_runs_on_a_server_one_adds_the_periods(
    clock: list[datetime], tmp_path: Path, postgres: Server, first: bool
) -> None:
    place = PostgresTable(tmp_path, postgres)
    world = begun(place, clock)
    if first:
        execute(postgres, "DROP TABLE released, released_manifest")
        world = World(7, "day", HOUR, world.records)
    policy = policy_of(place, world)
    overtaken(lambda other: sqlanon.anonymize(None, policy, prepare=other))
    world.release(world.coming(clock[-1]), levels_of(place))
    assert place.rows() == world.expected


def replace_source(policy: sqlanon.Policy) -> sqlanon.Policy:
    """The policy without its source, which is handed over."""
    document = policy.to_dict()
    del document["source"]
    return sqlanon.Policy.from_dict(document)


def levels_of(place: Any) -> dict[str, int]:
    return {each["name"]: each["level"] for each in place.manifest()["columns"] if "level" in each}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_a_killed_run_leaves_whole_periods_or_nothing_in_a_folder(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    before, coming, policy = Counter(world.expected), world.coming(clock[-1]), policy_of(place, world)
    world.release(coming, levels_of(place))
    shutil.copytree(tmp_path, kept := tmp_path.with_name(f"{tmp_path.name} kept"))
    seen, point = Counter[bool](), 0
    while killed(point, lambda: sqlanon.anonymize(None, policy).close()):
        assert place.rows() in (before, world.expected)
        with working_at(place.path):  # as the next run does, which settles what was begun
            pass
        assert check_papers(place.path).holds
        whole = place.manifest()["periods"]["through"] == world.released[-1]
        assert place.rows() == (world.expected if whole else before)
        seen[whole] += 1
        if whole:
            shutil.rmtree(tmp_path)
            shutil.copytree(kept, tmp_path)
        point += 3  # tests/publish/test_workplace.py kills before each change
    assert len(seen) == 2
    assert place.rows() == world.expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_a_killed_run_leaves_whole_periods_or_nothing_in_a_table(tmp_path: Path, clock: list[datetime]) -> None:
    place = Table(tmp_path)
    world = begun(place, clock)
    before, policy = Counter(world.expected), policy_of(place, world)
    world.release(world.coming(clock[-1]), levels_of(place))
    statements, ended = 0, False
    while not ended:
        child = os.fork()
        if child == 0:
            _kill_in_transaction(statements)
            sqlanon.anonymize(None, policy).close()
            os._exit(0)
        ended = not os.WIFSIGNALED(os.waitpid(child, 0)[1])
        found = place.rows()
        assert found in (before, world.expected)
        whole = place.manifest()["periods"]["through"] == world.released[-1]
        assert whole == (found == world.expected)
        ended = ended or found == world.expected  # after the commit
        statements += min(3, widened(1))
    assert statements > 5
    assert place.rows() == world.expected


def _kill_in_transaction(left: int) -> None:
    """Kill this process before its n-th statement from the transaction that publishes on."""
    run, counted = DuckDBEngine.run, [left]

    def watched(engine: DuckDBEngine, name: str, *arguments: Any, **named: Any) -> Any:
        if name == "write" or counted[0] < left:
            counted[0] -= 1
            if counted[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return run(engine, name, *arguments, **named)

    DuckDBEngine.run = watched  # type: ignore[method-assign]


def test_the_whole_folder_is_checked_and_measured_as_one_release(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    released(place, world)
    quasi = ["--qi", "moment", "--qi", "place", "--qi", "sex"]
    done = command("check", str(place.path), *quasi, "--k", "3", "--manifest")
    assert done.returncode == 0, done.stderr
    assert command("check", str(place.path), *quasi, "--k", "80").returncode == 1


def test_the_command_says_which_periods_it_released(tmp_path: Path) -> None:
    place, world = Folder(tmp_path), World(3, "day", HOUR)
    world.arrive(0)
    place.write(world.records)
    (tmp_path / "p.json").write_text(json.dumps(policy_document(world, **place.keys)))
    first = command("run", str(tmp_path / "p.json"), "--json")
    document = json.loads(first.stdout)
    assert document["periods"] == world.coming(datetime.now(UTC))
    assert any("a person with records in several periods" in text for text in document["warnings"])
    assert any("1 records have no 'moment'" in text for text in document["warnings"])
    again = command("run", str(tmp_path / "p.json"), "--json")
    assert (again.returncode, json.loads(again.stdout)["periods"]) == (0, [])


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"entity": "person"}, "entity"),
        ({"ledger": {"file": "l.duckdb", "record": "id", "key": {"env": "K"}}}, "ledger"),
        ({"transformation": {"type": "local_recoding"}}, "transformation"),
        ({"suppressed": "redact"}, "suppressed"),
        ({"if_exists": "replace"}, "if_exists"),
        ({"sample": 0.5, "key": {"env": "K"}}, "sample"),
        ({"privacy": [{"type": "average_risk", "risk": 0.1}]}, "privacy[0].type"),
        ({"output": {"file": "released.parquet"}}, "output.partition_by"),
        ({"output": {"view": "v"}}, "output"),
        ({"periods": {"column": "illness"}}, "periods.column"),
        ({"periods": {"column": "moment", "closes_after": "soon"}}, "periods.closes_after"),
    ],
)
def test_what_periods_do_not_go_with_is_a_fault(changes: dict[str, Any], key: str) -> None:
    document = policy_document(World(0, "day", HOUR), source="s.parquet", output={"table": "t"})
    with pytest.raises(PolicyError) as raised:
        sqlanon.Policy.from_dict({**document, **changes})
    assert key in {fault.key for fault in raised.value.faults}


@pytest.mark.postgres
def test_the_closed_periods_of_a_server_are_found_by_an_index(postgres: Server) -> None:
    moments = "TIMESTAMPTZ '2020-01-01' + number * INTERVAL '1 hour' AS moment FROM generate_series(1, 20000) number"
    made = ["DROP TABLE IF EXISTS many", f"CREATE TABLE many AS SELECT {moments}", "CREATE INDEX ON many (moment)"]
    explain = (
        "CREATE OR REPLACE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$"
    )
    execute(postgres, *made, "ANALYZE many", explain)
    condition = exp.and_(*within("moment", ZONED, date(2021, 1, 4), date(2021, 1, 5)))
    with open_source(postgres.uri(), "many") as opened:
        query = exp.select(name_of_period("day", "moment", ZONED)).from_(opened.relation).where(condition)
        plan = execute(postgres, f"SELECT * FROM explained($query$ {opened.engine.render(query)} $query$)")
    assert any("Index" in line for (line,) in plan), plan


def test_what_needs_the_records_of_one_run_is_refused(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    policy = policy_of(place, begun(place, clock))
    with pytest.raises(UnsupportedError, match="closed then"):
        sqlanon.verify(place.path.with_name("released.certificate.json"), policy)
    with pytest.raises(UnsupportedError, match="in the place of moments"):
        sqlanon.attack(place.path, policy)


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS", "TEXT"])
def test_periods_are_of_dates_and_timestamps(
    kind: str, connection: duckdb.DuckDBPyConnection, clock: list[datetime]
) -> None:
    days = "['2024-02-26', '2024-02-27', '2024-02-28'][1 + i % 3]"
    listed = f"CAST({days} AS {kind}) AS moment, 'place 1' AS place, 'm' AS sex, ['flu', 'gout'][1 + i % 2] AS illness"
    connection.execute(f"CREATE TABLE s AS SELECT {listed} FROM range(24) t(i)")
    clock.append(FIRST + 2 * DAY + HOUR)
    policy = sqlanon.Policy.from_dict(policy_document(World(0, "day", HOUR), table="s"))
    if kind == "TEXT":
        with pytest.raises(InputError, match="holds no dates"):
            sqlanon.anonymize(connection, policy)
        return
    with sqlanon.anonymize(connection, policy) as release:
        assert set(release.to_arrow()["moment"].to_pylist()) == {"2024-02-26", "2024-02-27"}


def test_dates_of_a_csv_file_have_periods(tmp_path: Path, clock: list[datetime]) -> None:
    lines = [f"2024-02-{day},place 1,m,{illness}" for day in (26, 27) for illness in ("flu", "gout", "flu")]
    (tmp_path / "s.csv").write_text("\n".join([",".join(COLUMNS), *lines]))
    clock.append(FIRST + DAY + HOUR)
    document = policy_document(World(0, "day", HOUR), source="s.csv")
    with sqlanon.anonymize(None, sqlanon.Policy.from_dict(document, base_directory=tmp_path)) as release:
        assert release.to_arrow()["moment"].to_pylist() == ["2024-02-26"] * 3


def put_manifest(place: Any, text: Any) -> None:
    """Put a document, a text or nothing in the place of the manifest."""
    text = text if isinstance(text, str) or text is None else json.dumps(text)
    if isinstance(place, Folder):
        place.path.with_name("released" + MANIFEST).write_text("null" if text is None else text)
        return
    with duckdb.connect(str(place.file)) as database:
        database.execute("UPDATE released_manifest SET manifest = ?", [text])


DAMAGES: dict[str, Callable[[Any], Any]] = {
    "a level": lambda m: {**m, "columns": [each | {"level": 1} if "level" in each else each for each in m["columns"]]},
    "no columns": lambda m: {**m, "columns": []},
    "no ledger": lambda m: {key: value for key, value in m.items() if key != "ledger"},
    "a count": lambda m: {**m, "ledger": m["ledger"] | {"records": "oops"}},
    "no hierarchies": lambda m: {key: value for key, value in m.items() if key != "hierarchies"},
    "a type": lambda m: {**m, "periods": m["periods"] | {"runs": "x"}},
    "a day": lambda m: {**m, "periods": m["periods"] | {"through": "zzz"}},
    "no periods": lambda m: {**m, "periods": m["periods"] | {"released": []}},
    "no JSON": lambda m: json.dumps(m)[:-1],
    "deep": lambda m: "[" * 100_000,
    "nothing": lambda m: None,
}


@pytest.mark.parametrize("where", [Folder, Table])
def test_a_damaged_manifest_is_a_fault_of_the_target(where: Any, tmp_path: Path, clock: list[datetime]) -> None:
    place = where(tmp_path)
    world = begun(place, clock)
    kept = place.manifest()
    for what, change in DAMAGES.items():
        put_manifest(place, change(kept))
        with pytest.raises(TargetError, match=r"manifest"):
            released(place, world)
            pytest.fail(what)
    put_manifest(place, kept)
    released(place, world)


def test_the_command_says_of_a_damaged_manifest_in_one_document(tmp_path: Path) -> None:
    place, world = Folder(tmp_path), World(3, "day", HOUR)
    world.arrive(0)
    place.write(world.records)
    (tmp_path / "p.json").write_text(json.dumps(policy_document(world, **place.keys)))
    assert command("run", str(tmp_path / "p.json")).returncode == 0
    put_manifest(place, DAMAGES["no periods"](place.manifest()))
    done = command("run", str(tmp_path / "p.json"), "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "TargetError"), done.stdout


@pytest.mark.parametrize(
    "change", ["TRUNCATE released", "INSERT INTO released FROM released LIMIT 1", "DELETE FROM released_manifest"]
)
def test_a_table_has_the_rows_that_its_manifest_says(change: str, tmp_path: Path, clock: list[datetime]) -> None:
    place = Table(tmp_path)
    world = begun(place, clock)
    if change.startswith("DELETE"):  # of the last run alone
        released(place, world)
        change += " WHERE run = 2"
    with duckdb.connect(str(place.file)) as database:
        database.execute(change)
    before = place.rows()
    with pytest.raises(TargetError, match="is not what its manifest says: its periods have other numbers of rows"):
        released(place, world)
    assert place.rows() == before


def test_periods_of_other_partitions_are_not_put_into_one_folder(tmp_path: Path, clock: list[datetime]) -> None:
    place = Folder(tmp_path)
    world = begun(place, clock)
    place.keys["output"]["partition_by"] = ["moment", "sex"]
    with pytest.raises(InputError, match="or partitions"):
        released(place, world)
    assert place.rows() == world.expected


def test_a_column_that_got_a_time_zone_adds_no_periods(tmp_path: Path, clock: list[datetime]) -> None:
    place = Table(tmp_path)
    world = begun(place, clock)
    with duckdb.connect(str(place.file)) as database:
        database.execute("CREATE OR REPLACE TABLE s AS SELECT * REPLACE (moment AT TIME ZONE 'UTC' AS moment) FROM s")
    with pytest.raises(InputError, match="was of the type with time zone, and now is without time zone"):
        released(place, world)
    assert place.rows() == world.expected


def test_the_account_of_all_runs_holds_the_true_counts() -> None:
    """Of all runs with up to 7 records of each reason, two by two."""
    counts = list(product((0, 1, 4, 5, 7), repeat=3))
    for first, second in product(counts, counts):
        runs = [
            Ledger(100 + sum(run), 100, failing + uncovered, null,
                   {"failing_class": failing, "uncovered": uncovered, "null": null}, 9, 5, 30)
            for run in (first, second) for failing, uncovered, null in [run]
        ]  # fmt: skip
        account = add_accounts(*(run.coarsened(5) for run in runs))
        for name, shown in {**account, **account["reasons"]}.items():
            if name in ("records", "suppressed", "excluded", *REASONS):
                true = sum(run.reasons[name] if name in REASONS else getattr(run, name) for run in runs)
                low, high = bounds_of(shown)
                assert low <= true <= high, (first, second, name, account)


def test_a_first_run_warns_of_a_second_release_and_begins_where_it_is_told(place: Any, clock: list[datetime]) -> None:
    world = begun(place, clock)
    started = str((FIRST + 2 * DAY).date())
    place.keys["output"] = {**place.keys["output"], next(iter(place.keys["output"])): "other"}
    for changes, warned in (({}, True), ({"from": started}, True), ({"from": str((FIRST + 4 * DAY).date())}, False)):
        periods = policy_document(world)["periods"] | changes
        policy = policy_of(place, world, periods=periods)
        with sqlanon.plan(None, policy) as plan:
            assert any("Where another target has some of them" in text for text in plan.all_warnings) == warned
            assert plan.source.periods is not None
            names = plan.source.periods.released
        first = changes.get("from", "")
        everything = World(7, "day", HOUR, world.records).coming(clock[-1])
        assert [*names] == [name for name in everything if name >= first]


@pytest.mark.parametrize("where", [Folder, Table])
def test_a_dry_run_judges_the_periods_that_the_next_run_would_release(where: Any, tmp_path: Path) -> None:
    """The days before 2024-03-03 have closed by any clock; a later one is put between two runs by ``closes_after``."""
    place, world = where(tmp_path), World(3, "day", (datetime.now(UTC) - FIRST) // HOUR * HOUR - 4 * DAY)
    for night in range(8):
        world.arrive(night)
    place.write(world.records)
    (tmp_path / "p.json").write_text(json.dumps(policy_document(world, **place.keys)))
    first = command("run", str(tmp_path / "p.json"), "--json")
    assert first.returncode == 0, first.stderr
    world.delay -= 2 * DAY
    (tmp_path / "p.json").write_text(json.dumps(policy_document(world, **place.keys)))
    rows = place.rows()
    tried = json.loads(command("run", str(tmp_path / "p.json"), "--json", "--dry-run").stdout)
    assert place.rows() == rows
    done = json.loads(command("run", str(tmp_path / "p.json"), "--json").stdout)
    assert tried["periods"] == done["periods"] and len(tried["periods"]) == 2
    assert (tried["levels"], tried["strategy"]) == (done["levels"], "periods")


def test_a_run_that_would_publish_nothing_waits(place: Any, clock: list[datetime]) -> None:
    world = begun(place, clock)
    manifest = place.manifest()
    early = [record for record in world.records if record[0] is not None and record[0] < FIRST + 2 * DAY]
    apart = zip(("place 1", "place 4", "place 7"), ("flu", "gout", "flu"), strict=True)
    place.write([*early, *((FIRST + 4 * DAY, where, "m", illness) for where, illness in apart)])
    with pytest.raises(NoSolutionError, match="does not meet the policy"):
        released(place, world, suppression_limit=1)
    assert place.manifest() == manifest


@pytest.mark.postgres
def test_moments_before_the_year_1_are_refused_and_readers_are_those_of_each_run(
    postgres: Server, tmp_path: Path, clock: list[datetime]
) -> None:
    place = PostgresTable(tmp_path, postgres)
    execute(postgres, "DROP ROLE IF EXISTS nightly_reader", "CREATE ROLE nightly_reader")
    place.keys["output"]["readers"] = ["nightly_reader"]
    world = begun(place, clock)
    granted = "SELECT has_table_privilege('nightly_reader', 'released', 'SELECT')"
    assert execute(postgres, granted)[0][0] is True
    place.keys["output"]["readers"] = []
    released(place, world)
    assert execute(postgres, granted)[0][0] is False
    execute(
        postgres, "DROP TABLE released, released_manifest", "INSERT INTO s VALUES ('0044-03-15 BC', 'place 1', 'm')"
    )
    with pytest.raises(SourceError, match="before the year 1"):
        released(place, World(7, "day", HOUR))
    execute(postgres, "REVOKE ALL ON SCHEMA public FROM nightly_reader", "DROP ROLE nightly_reader")


def test_no_script_stands_for_a_release_by_periods() -> None:
    policy = sqlanon.Policy.from_dict(policy_document(World(0, "day", HOUR), source="s.parquet"))
    for refuse in (refuse_script, refuse_release):
        with pytest.raises(UnsupportedError, match="period"):
            refuse(policy)
