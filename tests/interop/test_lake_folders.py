"""Files of tables of a lakehouse are no source: records that were deleted stand in them."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs, parquet
from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy.paths import FilePatterns
from sqlanon.core.source import lake, partition_columns
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source, other_records
from sqlanon.errors import SourceError

MARKS = {"Delta": "_delta_log/00000000000000000000.json", "Iceberg": "metadata/v1.metadata.json", "Hudi": ".hoodie/a"}
FILE = "visits/year=2020/part.parquet"


def folder_of_table(folder: Path, kind: str) -> Path:
    """Return a folder with a mark of a table, and a file in a folder below it that a log may have struck out."""
    path = folder / "people"
    for name in (MARKS[kind], FILE):
        (path / name).parent.mkdir(parents=True)
    (path / MARKS[kind]).write_text("{}")
    parquet.write_table(pa.table({"age": [1, 2, 3]}), path / FILE)
    return path


@pytest.mark.parametrize("kind", MARKS)
def test_no_part_of_a_table_is_a_source(tmp_path: Path, kind: str) -> None:
    path = folder_of_table(tmp_path, kind)
    (tmp_path / "link").symlink_to(path / "visits")
    (tmp_path / "one.parquet").symlink_to(path / FILE)
    places = (path / FILE, path / "visits", path / "visits/year=2020", tmp_path / "link", tmp_path / "one.parquet")
    for place in (*places, FilePatterns(("**/*.parquet",), tmp_path)):
        with pytest.raises(SourceError, match="deleted from it"):
            open_source(place, None)


def test_a_part_of_a_table_is_not_read_beside_a_source_either(tmp_path: Path) -> None:
    path = folder_of_table(tmp_path, "Delta")
    (tmp_path / "a.csv").write_text("age\n1\n")
    with (
        open_source(tmp_path / "a.csv", None) as opened,
        pytest.raises(SourceError, match="deleted from it"),
    ):
        other_records(opened, str(path / FILE), None, Reading(), name="beside")


def test_files_beside_other_metadata_are_a_source(tmp_path: Path) -> None:
    path = folder_of_table(tmp_path, "Iceberg")
    (path / MARKS["Iceberg"]).rename(path / "metadata/site.metadata.json")
    with open_source(path / FILE, None) as opened:
        assert opened.types == {"age": "BIGINT"}


@pytest.mark.parametrize("kind", MARKS)
def test_a_folder_of_a_table_in_a_store_is_no_source(tmp_path: Path, kind: str) -> None:
    """The store is a folder of this machine, under another root."""
    folder_of_table(tmp_path, kind)
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    with pytest.raises(SourceError, match="deleted from it"):
        lake._refuse_part_of_table(lake.StoredPlace(store, "people/visits", "s3://people/visits"))
    lake._refuse_part_of_table(lake.StoredPlace(store, "people", "s3://people"))


@pytest.mark.parametrize("kind", MARKS)
def test_objects_of_a_table_that_a_pattern_reaches_are_no_source(tmp_path: Path, kind: str) -> None:
    """DuckDB lists a folder of this machine as it lists a store."""
    folder_of_table(tmp_path, kind).rename(tmp_path / "peo[p]le")
    engine = DuckDBEngine()
    with pytest.raises(SourceError, match="deleted from it"):
        lake.refuse_objects_of_lakes(engine, f"{tmp_path}/**/*.parquet")
    lake.refuse_objects_of_lakes(engine, f"{tmp_path}/*.parquet")
    lake.refuse_objects_of_lakes(engine, "nowhere://bucket/*.parquet")
    engine.close()
    assert lake._folders_above("s3://b/x/y.parquet") == ["s3://b", "s3://b/x"]


def test_a_hint_that_is_late_does_not_bring_an_older_version_back(tmp_path: Path) -> None:
    metadata = tmp_path / "people" / "metadata"
    metadata.mkdir(parents=True)
    for number in (1, 2):
        (metadata / f"v{number}.metadata.json").write_text(json.dumps({}))
    place = lake.StoredPlace(fs.LocalFileSystem(), os.fspath(tmp_path / "people"), os.fspath(tmp_path / "people"))
    (metadata / "version-hint.text").write_text("2")
    kind, current = lake._kind_of(place)
    assert kind == lake.ICEBERG and current is not None and current.endswith("v2.metadata.json")
    (metadata / "version-hint.text").write_text("1")
    with pytest.raises(SourceError, match="does not say which"):
        lake._kind_of(place)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["2020-01-01", "2020-1-1"], "VARCHAR"),
        (["0", "-0"], "VARCHAR"),
        (["1", " 1"], "VARCHAR"),
        (["1", "01"], "VARCHAR"),
        (["1", "20", partition_columns.NULL_FOLDER], "BIGINT"),
        (["2020-01-01", "2024-02-29", partition_columns.NULL_FOLDER], "DATE"),
        (["2023-02-29"], "VARCHAR"),
        ([partition_columns.NULL_FOLDER], "VARCHAR"),
    ],
)
def test_the_folders_of_a_source_make_as_many_values_as_there_are(tmp_path: Path, names: list[str], kind: str) -> None:
    """Here and in a store alike."""
    for name in names:
        (tmp_path / f"v={name}").mkdir()
        parquet.write_table(pa.table({"age": [1]}), tmp_path / f"v={name}" / "part.parquet")
    with open_source(tmp_path, None) as opened:
        found = opened.engine.arrow("read", exp.select("v").from_(opened.relation)).column("v").to_pylist()
        assert opened.types["v"] == kind and len(set(found)) == len(names)
    engine = DuckDBEngine()
    place = lake.StoredPlace(fs.LocalFileSystem(), os.fspath(tmp_path), os.fspath(tmp_path))
    assert lake._load_files(engine, place, "here")["v"] == kind
    assert set(engine.arrow("read", exp.select("v").from_(exp.to_table("here"))).column("v").to_pylist()) == set(found)
    engine.close()


@pytest.mark.parametrize(
    ("inside", "refused"), [("a b/c", False), (None, True), ("exact", True), ("A b/c", True), ("", True)]
)
def test_a_column_of_the_files_that_their_folders_hide_is_refused(
    tmp_path: Path, inside: str | None, refused: bool
) -> None:
    for name, value in (("a%20b%2Fc", inside), (partition_columns.NULL_FOLDER, None)):
        (tmp_path / f"v={name}").mkdir()
        rows = pa.table({"V": pa.array([value, value], pa.string()), "age": [1, 2]})
        parquet.write_table(rows, tmp_path / f"v={name}" / "part.parquet")
    if refused:
        with pytest.raises(SourceError, match="with other values: 'V'"):
            open_source(tmp_path, None)
        return
    with open_source(tmp_path, None) as opened:
        found = opened.engine.arrow("read", exp.select("v").from_(opened.relation)).column(0).to_pylist()
        assert sorted(found, key=str) == [None, None, inside, inside]
