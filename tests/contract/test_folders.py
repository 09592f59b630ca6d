"""A folder of Parquet files is one source, whatever a cluster left beside them, and no place for a release."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from policies import document_of, quasi
from pyarrow import parquet

import sqlanon
from sqlanon.errors import SourceError, TargetError

SECRET = "canary-7f3a"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records in files at two depths, with what clusters leave beside them; no file alone has a class of three."""
    built = tmp_path / "records [1]"
    (built / "more").mkdir(parents=True)
    for number, name in enumerate(["a.parquet", "b.pq", "more/c.parquet"]):
        ages = pa.array([20 + i for i in range(40)], pa.int64())
        parquet.write_table(pa.table({"age": ages, "note": [f"{number}-{i}" for i in range(40)]}), built / name)
    (built / "_SUCCESS").write_text("")
    (built / ".a.parquet.crc").write_text(SECRET)
    return built


def policy(source: Path, **changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(
        document_of(
            {"age": quasi({"intervals": {"width": 10}}), "note": "keep"},
            changes,
            k=3,
            source=str(source),
            accept=["note"],
        )
    )


def test_all_files_are_one_relation(folder: Path) -> None:
    with sqlanon.plan(None, policy(folder)) as plan:
        assert plan.levels == {"age": 0}  # three records an age, one in each file
        assert plan.ledger.records == plan.ledger.published == 120


def test_a_release_does_not_go_into_the_folder_that_is_read(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    for target in ("released.parquet", "more/released.csv"):
        with pytest.raises(TargetError, match="folder that is the source"):
            sqlanon.anonymize(None, policy(folder, output={"file": str(folder / target)}))
    assert sorted(folder.rglob("*")) == before


def test_what_is_no_parquet_is_refused_and_not_told(folder: Path, tmp_path: Path) -> None:
    (folder / "other.parquet").write_text(SECRET)
    with pytest.raises(sqlanon.SqlanonError, match="withheld") as raised:  # DuckDB looks at the first file only
        sqlanon.plan(None, policy(folder))
    assert SECRET not in str(raised.value)
    (folder / "other.parquet").rename(folder / "other.csv")
    with pytest.raises(SourceError, match="no Parquet files"):
        sqlanon.plan(None, policy(folder))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no Parquet file"):
        sqlanon.plan(None, policy(tmp_path / "empty"))


def test_a_file_that_changed_meanwhile_stops_the_release(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "released.parquet"
    with sqlanon.plan(None, policy(folder, output={"file": str(target)})) as plan:
        parquet.write_table(pa.table({"age": [1], "note": ["x"]}), folder / "a.parquet")
        with pytest.raises(sqlanon.errors.SourceChangedError):
            plan.publish()
    assert not target.exists()


def test_the_walk_ends_at_the_first_file_that_is_no_parquet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.csv").write_text(SECRET)
    for name in ("b", "c"):
        (folder / name).mkdir()
    seen: list[str] = []
    walk = os.walk

    def counted(top: Path, **options: Any) -> Iterator[Any]:
        for path, folders, names in walk(top, **options):
            seen.append(str(path))
            yield path, folders, names

    monkeypatch.setattr(os, "walk", counted)
    with pytest.raises(SourceError, match="no Parquet files"):
        sqlanon.plan(None, policy(folder))
    assert seen == [str(folder)]


@pytest.mark.parametrize("source", ["/", "/proc"])
def test_the_root_of_the_disk_is_no_source(source: str, folder: Path) -> None:
    with pytest.raises(SourceError, match="no Parquet files"):
        sqlanon.plan(source, policy(folder))


def test_a_folder_that_cannot_be_listed_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    (folder / "deep").mkdir()
    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(SourceError, match=r"cannot be listed: Permission denied"):
        sqlanon.plan(None, policy(folder))
