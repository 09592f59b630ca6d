"""Delta and Iceberg tables, partitioned Parquet and object stores as sources."""

import json
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import sqlanon as sqlanon_command
from policies import document_of, quasi
from pyarrow import dataset, parquet
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy.paths import FilePatterns
from sqlanon.core.source import lake
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, SourceError, TargetError, UnsupportedError

pytestmark = pytest.mark.slow

RECORDS = 300
DELETED = "year = 2020"


def records() -> pa.Table:
    return pa.table(
        {
            "age": [20 + 7 * i % 20 for i in range(RECORDS)],
            "zip": [("01234", "12345")[i % 2] for i in range(RECORDS)],
            "year": [2020 + i % 3 for i in range(RECORDS)],
        }
    )


def kept() -> Counter:
    return rows(records().filter(dataset.field("year") != 2020))


def rows(data: pa.Table) -> Counter:
    return Counter(zip(*(data.column(name).to_pylist() for name in sorted(data.column_names)), strict=True))


def read(source: object) -> Counter:
    with open_source(source, None) as opened:
        return rows(opened.engine.arrow("read", exp.select("*").from_(opened.relation)))


def policy(**changes: Any) -> dict[str, Any]:
    columns = {"age": quasi({"intervals": {"width": 10, "fanouts": [2]}}), "zip": "redact", "year": "keep"}
    return document_of(columns, changes, k=5, accept=["year"])


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A Delta table of which a third was deleted; the deleted records stand in its files."""
    deltalake = pytest.importorskip("deltalake")
    path = tmp_path / "people"
    deltalake.write_deltalake(path, records(), partition_by=["zip"])
    deltalake.DeltaTable(path).delete(DELETED)
    assert sum(parquet.read_metadata(file).num_rows for file in path.rglob("*.parquet")) > RECORDS
    return path


def rewrite_log(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change every action in the only commit of a Delta table."""
    [log] = (path / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        change(action)
    log.write_text("\n".join(map(json.dumps, actions)))


def deletion_vector(places: Sequence[int]) -> dict[str, Any]:
    """A deletion vector as it stands in a log: a roaring bitmap in Z85, by the protocol of Delta."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    header = struct.pack("<iqiIIHHI", 1681511377, 1, 0, 12346, 1, 0, len(places) - 1, 16)
    data = header + b"".join(struct.pack("<H", place) for place in places)
    text = ""
    for start in range(0, len(data), 4):
        word = int.from_bytes(data[start : start + 4].ljust(4, b"\0"), "big")
        text += "".join(digits[word // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(places)}


@pytest.mark.parametrize("stored", ["in the log", "in a file that is gone", "by a feature that nobody knows"])
def test_records_deleted_by_a_vector_do_not_come_back(tmp_path: Path, stored: str) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "people", records())
    features = ["deletionVectors", *(["otherFeature"] if "nobody" in stored else [])]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    vector = deletion_vector(range(100))
    if "gone" in stored:
        vector |= {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1}

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            action["protocol"] = protocol
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.enableDeletionVectors"] = "true"
        if "add" in action:
            action["add"]["deletionVector"] = vector

    rewrite_log(tmp_path / "people", change)
    done = sqlanon_command("profile", tmp_path / "people", "--json")
    if stored == "in the log":
        assert done.returncode == 0 and json.loads(done.stdout)["records"] == RECORDS - 100, done.stderr
    else:
        said = "otherFeature" if "nobody" in stored else "deletionVectors"
        assert (
            done.returncode == 2 and f"features of its reader: {said}." in done.stderr and "DROP FEATURE" in done.stderr
        )


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    """An Iceberg table in a catalog of SQLite, of which a third was deleted."""
    pytest.importorskip("sqlalchemy", reason="the catalog of the test is in SQLite")
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = sql.SqlCatalog("test", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=(tmp_path / "wh").as_uri())
    catalog.create_namespace("clinic")
    created = catalog.create_table("clinic.people", schema=records().schema)
    created.append(records())
    created.delete(DELETED)
    return created


def folder_of(created: Any) -> Path:
    return Path(created.location().removeprefix("file://"))


class TestDelta:
    def test_a_path_that_its_package_decodes_is_refused(self, delta: Path) -> None:
        shutil.copytree(delta, other := delta.with_name("p%65ople"))  # which is people to the package
        with pytest.raises(SourceError, match="would read another folder"):
            read(other)

    def test_the_version_that_was_opened_is_released(self, delta: Path, tmp_path: Path) -> None:
        deltalake = pytest.importorskip("deltalake")
        target = tmp_path / "released.parquet"
        with sqlanon.plan(None, policy(source=str(delta), output={"file": str(target)})) as plan:
            assert plan.source_name == "people (version 1)"
            deltalake.write_deltalake(delta, records(), mode="append")
            plan.publish()
        assert parquet.read_table(target).num_rows == 2 * RECORDS // 3
        assert read(delta) == kept() + rows(records())

    def test_deleted_records_are_read_only_if_their_version_is_asked_for(self, delta: Path) -> None:
        deltalake = pytest.importorskip("deltalake")
        assert read(delta) == read(deltalake.DeltaTable(delta)) == kept()
        assert read(deltalake.DeltaTable(delta, version=0)) == rows(records())
        with sqlanon.plan(deltalake.DeltaTable(delta, version=0), policy()) as plan:
            assert plan.source_name == "Delta table (version 0)"

    def test_its_files_are_no_source(self, delta: Path, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="deleted from it"):
            read(FilePatterns(("people/**/*.parquet",), tmp_path))

    def test_a_release_does_not_go_into_its_folder(self, delta: Path) -> None:
        with pytest.raises(sqlanon.TargetError, match="folder that is the source"):
            sqlanon.anonymize(None, policy(source=str(delta), output={"file": str(delta / "released.parquet")}))

    def test_a_damaged_log_is_an_error_without_its_text(self, delta: Path) -> None:
        for file in (delta / "_delta_log").iterdir():
            file.write_text('{"secret": ')
        with pytest.raises(SourceError, match="Delta table 'people' cannot be read") as raised:
            read(delta)
        assert "secret" not in str(raised.value) and raised.value.__cause__ is None


class TestIceberg:
    def test_a_folder_a_table_and_a_scan(self, iceberg: Any, tmp_path: Path) -> None:
        path, snapshot = folder_of(iceberg), iceberg.current_snapshot().snapshot_id
        assert read(path) == read(iceberg) == kept()
        assert read(iceberg.scan(row_filter="year = 2021")) == rows(records().filter(dataset.field("year") == 2021))
        target = tmp_path / "released.parquet"
        with sqlanon.plan(None, policy(source=str(path), output={"file": str(target)})) as plan:
            assert plan.source_name == f"people (snapshot {snapshot})"
            iceberg.append(records())
            plan.publish()
        assert parquet.read_table(target).num_rows == 2 * RECORDS // 3
        assert read(path) == kept() + rows(records())

    def test_metadata_by_name_is_an_older_version(self, iceberg: Any) -> None:
        first = sorted((folder_of(iceberg) / "metadata").glob("00001-*.metadata.json"))[0]
        assert read(first) == rows(records())

    def test_two_current_versions_are_an_error(self, iceberg: Any) -> None:
        metadata = folder_of(iceberg) / "metadata"
        last = max(metadata.glob("*.metadata.json"))
        shutil.copy(last, last.with_name(f"{last.name[:5]}-other.metadata.json"))
        with pytest.raises(SourceError, match="does not say which") as raised:
            read(folder_of(iceberg))
        assert "metadata.json" in str(raised.value.hint)
        (metadata / "version-hint.text").write_text(last.name.removesuffix(".metadata.json"))
        assert read(folder_of(iceberg)) == kept()

    def test_a_copy_is_refused_for_its_metadata_names_the_first(self, iceberg: Any, tmp_path: Path) -> None:
        shutil.copytree(folder_of(iceberg), tmp_path / "copy")
        with pytest.raises(SourceError, match="moved or copied"):
            read(tmp_path / "copy")

    def test_its_files_are_no_source(self, iceberg: Any) -> None:
        with pytest.raises(SourceError, match="deleted from it"):
            read(FilePatterns(("data/*.parquet",), folder_of(iceberg)))


class TestWithoutPackages:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        def missing(_: str) -> None:
            raise ImportError

        monkeypatch.setattr(lake, "_open_delta", missing)
        (tmp_path / "people" / "_delta_log").mkdir(parents=True)
        (tmp_path / "people" / "_delta_log" / "0.json").touch()
        return tmp_path / "people"

    def test_the_error_names_both_cures(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(lake.FUNCTIONS, lake.DELTA, ("nothing_of_this_name", "delta_scan"))
        with pytest.raises(InputError) as raised:
            read(folder)
        assert "sqlanon[delta]" in str(raised.value.hint) and "INSTALL" in str(raised.value.hint)

    def test_an_extension_of_duckdb_reads_instead(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The statements alone: a macro stands for the extension, and one that is built in is loaded."""
        monkeypatch.setitem(lake.FUNCTIONS, lake.DELTA, ("parquet", "delta_scan"))
        engine = DuckDBEngine()
        engine.run("macro", "CREATE MACRO delta_scan(place) AS TABLE SELECT place AS place, 42 AS age")
        types, version = lake.load_lake(engine, folder, "read_here")
        assert types == {"place": "VARCHAR", "age": "INTEGER"} and version is None
        assert engine.arrow("read", exp.select("*").from_(table("read_here"))).to_pylist() == [
            {"place": str(folder), "age": 42}
        ]
        engine.close()


def test_folders_of_a_partitioned_source_are_columns(tmp_path: Path) -> None:
    dataset.write_dataset(
        records(), tmp_path / "parts", format="parquet", partitioning=["zip", "year"], partitioning_flavor="hive"
    )
    assert read(tmp_path / "parts") == rows(records())


def test_motherduck_is_refused_with_its_cure() -> None:
    with pytest.raises(UnsupportedError, match="MotherDuck") as raised:
        read("md:clinic")
    assert "duckdb.connect" in str(raised.value.hint)


def test_a_password_in_the_url_of_a_store_is_refused() -> None:
    with pytest.raises(InputError, match="secret") as raised:
        read("s3://someone:planted@bucket/people.parquet")
    assert "planted" not in str(raised.value)


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A bucket of a server that speaks S3, on this machine."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    boto3 = pytest.importorskip("boto3")
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "planted",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            environment.setenv(name, value)
        client = boto3.client("s3", endpoint_url=url)
        client.create_bucket(Bucket="lake")
        yield client
    server.stop()


@pytest.mark.slow
class TestObjectStore:
    def test_a_folder(self, store: Any, tmp_path: Path) -> None:
        parts = tmp_path / "parts"
        dataset.write_dataset(
            records(), parts, format="parquet", partitioning=["zip", "year"], partitioning_flavor="hive"
        )
        for file in parts.rglob("*.parquet"):
            store.upload_file(str(file), "lake", file.relative_to(tmp_path).as_posix())
        assert read("s3://lake/parts") == read("s3://lake/parts/") == rows(records())
        with sqlanon.anonymize(None, policy(source="s3://lake/parts")) as release:
            assert release.ledger.records == RECORDS

    def test_files_of_other_columns_are_refused(self, store: Any, tmp_path: Path) -> None:
        for number, data in enumerate((records(), records().drop_columns(["zip"]))):
            parquet.write_table(data, tmp_path / f"{number}.parquet")
            store.upload_file(str(tmp_path / f"{number}.parquet"), "lake", f"odd/{number}.parquet")
        with pytest.raises(SourceError, match="differ in their columns"):
            read("s3://lake/odd")

    def test_what_is_not_there(self, store: Any) -> None:
        for url in ("s3://lake/nothing", "s3://another/nothing"):
            with pytest.raises(SourceError, match="no Parquet files at 'nothing'"):
                read(url)

    def test_a_delta_table(self, store: Any) -> None:
        deltalake = pytest.importorskip("deltalake")
        options = {"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
        deltalake.write_deltalake("s3://lake/delta", records(), storage_options=options)
        deltalake.DeltaTable("s3://lake/delta", storage_options=options).delete(DELETED)
        assert read("s3://lake/delta") == kept()

    def test_a_release_to_a_delta_table(self, store: Any, tmp_path: Path) -> None:
        pytest.importorskip("deltalake")
        parquet.write_table(records(), tmp_path / "s.parquet")
        url = "s3://lake/released/people"
        asked = policy(source=str(tmp_path / "s.parquet"), output={"delta": url, "partition_by": ["zip"]})
        with sqlanon.anonymize(None, asked) as release:
            assert read(url) == rows(release.to_arrow())
        listed = store.list_objects_v2(Bucket="lake", Prefix="released/people/")["Contents"]
        with pytest.raises(TargetError, match="exists already"):
            sqlanon.anonymize(None, asked)
        assert listed == store.list_objects_v2(Bucket="lake", Prefix="released/people/")["Contents"]

    def test_an_iceberg_table(self, store: Any, tmp_path: Path) -> None:
        pytest.importorskip("sqlalchemy", reason="the catalog of the test is in SQLite")
        sql = pytest.importorskip("pyiceberg.catalog.sql")
        catalog = sql.SqlCatalog(
            "test",
            uri=f"sqlite:///{tmp_path / 'catalog.db'}",
            warehouse="s3://lake/warehouse",
            **{"s3.endpoint": store.meta.endpoint_url, "s3.region": "us-east-1"},
        )
        catalog.create_namespace("clinic")
        created = catalog.create_table("clinic.people", schema=records().schema)
        created.append(records())
        created.delete(DELETED)
        assert read(created.location()) == read(created) == kept()
