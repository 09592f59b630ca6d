"""Released tables of counts: what is shown is true, what is unsafe cannot be computed, and nothing else is left."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted_worlds import AGES, as_table, brute_cells, contingency, counted_by, records
from engine_kinds import duckdb as embedded

import sqlanon
from sqlanon.cli import main
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.protecting import protect
from sqlanon.counts.released import released_rows
from sqlanon.counts.written import audit_written

TABLE = {"by": {"dimensions": {"sex": 0, "region": 0}}}


def document(**changes: Any) -> dict[str, Any]:
    """A document over a table of records."""
    return {"counts": TABLE, "threshold": 4, **changes}


@pytest.fixture
def source() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with invented records."""
    with duckdb.connect() as connection:
        connection.from_arrow(as_table(records(random.Random(3), 90))).create("t")
        yield connection


def rows_of(release: sqlanon.CountsRelease) -> list[dict[str, Any]]:
    """The rows of a release."""
    found: list[dict[str, Any]] = release.to_arrow().to_pylist()
    return found


@pytest.mark.parametrize("entity", ["person", None])
@pytest.mark.parametrize(
    "measures", [[], [{"sum": "cost"}], [{"mean": "cost"}, "share"]], ids=["counts", "sum", "mean"]
)
def test_what_is_shown_is_true(source: duckdb.DuckDBPyConnection, entity: str | None, measures: list[Any]) -> None:
    shown = {"by": {"dimensions": {"sex": 0, "age": [1, 2]}, "measures": measures}}
    asked = document(table="t", entity=entity, counts=shown, columns={"age": AGES})
    release = sqlanon.counts(source, asked)
    brute = brute_cells(source.table("t").to_arrow_table().to_pylist(), asked)
    whole, suppressed = max(value[0] for value in brute.values()), 0
    total_is_hidden = rows_of(release)[0]["suppressed"]
    for row in rows_of(release):
        level = "total" if row["age"] == "Total" else str(row["age_level"])
        sex = ("total", None) if row["sex"] == "Total" else ("0", row["sex"])
        count, amount, *_ = brute.get((sex, (level, None if level == "total" else row["age"])), (0, 0.0))
        suppressed += row["suppressed"]
        if row["suppressed"]:
            assert {row[n] for n in row if n.startswith(("count", "sum", "mean", "share"))} == {None}
        else:
            assert row["count"] == count
            assert count == 0 or count >= 4
            assert row.get("sum_cost", amount) == amount
            assert "share" not in row or row["share"] == (None if total_is_hidden else count / whole)
            assert not count or row.get("mean_cost", amount / count) == amount / count
    assert suppressed == release.protection.suppressed_cells > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counts.parquet", "counts.csv", "counts.duckdb"])
def test_a_file_does_not_depend_on_the_order_of_records(tmp_path: Path, name: str) -> None:
    rows = records(random.Random(8), 90)
    found = []
    for number in range(2):
        random.Random(number).shuffle(rows)
        folder = tmp_path / str(number)
        folder.mkdir()
        sqlanon.counts(as_table(rows), document(output={"file": str(folder / name)}))
        assert sorted(p.name for p in folder.iterdir()) == [name, f"{name}.manifest.json"]
        if name.endswith(".duckdb"):
            with duckdb.connect(str(folder / name), read_only=True) as there:
                found.append(repr(there.sql("SELECT * FROM release").fetchall()))
        else:
            found.append(hashlib.sha256((folder / name).read_bytes()).hexdigest())
    assert found[0] == found[1]


def test_a_file_holds_what_the_release_holds(source: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    target = tmp_path / "counts.parquet"
    release = sqlanon.counts(source, document(table="t", output={"file": str(target)}))
    assert pq.read_table(target).to_pylist() == rows_of(release)
    manifest = json.loads((tmp_path / "counts.parquet.manifest.json").read_text())
    assert manifest["cells"] == {"published": release.cells, "suppressed": release.protection.suppressed_cells}
    assert not {"unsafe", "complementary", "optimal", "weight"} & set(json.dumps(manifest).split('"'))
    with pytest.raises(sqlanon.TargetError):
        sqlanon.counts(source, document(table="t", output={"file": str(target)}))


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_relation_of_the_database(source: duckdb.DuckDBPyConnection, kind: str) -> None:
    release = sqlanon.counts(source, document(table="t", output={kind: "shown"}))
    assert source.sql("SELECT * FROM shown").to_arrow_table().to_pylist() == rows_of(release)


def test_a_wide_form(source: duckdb.DuckDBPyConnection) -> None:
    counts = {"by": {"dimensions": ["region", "sex"]}}
    long = sqlanon.counts(source, document(table="t", counts=counts))
    wide = sqlanon.counts(source, document(table="t", counts=counts, form="wide"))
    expected = {(row["region"], row["sex"] or "NULL"): row["count"] for row in rows_of(long)}
    found = {(row["region"], t): v for row in wide.rows.to_pylist() for t, v in row.items() if t != "region"}
    assert found == expected


@pytest.mark.slow
def test_frames_come_in_and_go_out(source: duckdb.DuckDBPyConnection) -> None:
    data = as_table(records(random.Random(3), 90))
    expected = rows_of(sqlanon.counts(source, document(table="t")))
    assert rows_of(sqlanon.counts(data, document())) == expected
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert rows_of(sqlanon.counts(polars.from_arrow(data), document())) == expected
    assert sqlanon.counts(data, document()).to_polars().to_dicts() == expected
    assert len(sqlanon.counts(pandas.DataFrame(data.to_pandas()), document()).to_pandas()) == len(expected)


def test_an_audit_finds_what_is_planted() -> None:
    """A cell that gives another away, a small count, a wrong number and a lost row are all found."""
    asked = document(table="t", threshold=5)
    policy = CountsPolicy.from_dict(asked)
    with embedded() as engine:
        counted = counted_by(engine, contingency([[1, 9, 22], [20, 6, 40], [8, 7, 9]]), asked)
    protection = protect(counted, policy)
    assert protection.complementary >= 2
    unsafe = (counted.contributors > 0) & (counted.contributors < 5)
    for cell in np.flatnonzero(protection.suppressed):
        planted = protection.suppressed.copy()
        planted[cell] = False
        if unsafe[cell] or protection.complementary == 3:  # three others alone: each of them is needed
            with pytest.raises(sqlanon.AuditError, match="not safe"):
                audit_written(released_rows(counted, policy, planted), counted, policy)
    rows = released_rows(counted, policy, protection.suppressed)
    audit_written(rows, counted, policy)
    for changed in (rows.slice(1), pa.concat_tables([rows, rows.slice(0, 1)]).slice(1, rows.num_rows - 1), wrong(rows)):
        with pytest.raises(sqlanon.AuditError):
            audit_written(changed, counted, policy)


def wrong(rows: pa.Table) -> pa.Table:
    """The rows with one more in the first count that is shown."""
    counts = rows.column("count").to_pylist()
    place = next(i for i, value in enumerate(counts) if value)
    counts[place] += 1
    return rows.set_column(rows.column_names.index("count"), "count", pa.array(counts, pa.int64()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total": "f"}, "called as its total"),
        ({"counts": {"by": {"dimensions": {"sex": 5}}}}, "shows level 5"),
        ({"counts": {"by": {"dimensions": ["sex"], "measures": [{"sum": "debt"}]}}}, "below 0"),
        ({"counts": {"by": {"dimensions": ["sex"], "measures": [{"mean": "gap"}]}}}, "no value"),
        ({"counts": {"by": {"dimensions": ["sex"], "measures": [{"sum": "sex"}]}}}, "no numbers"),
        ({"counts": {"by": {"dimensions": ["nothing"]}}}, "no column"),
        ({"entity": "gap"}, "is NULL in"),
    ],
)
def test_a_source_that_does_not_fit_is_refused(
    source: duckdb.DuckDBPyConnection, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    source.execute("ALTER TABLE t ADD COLUMN debt INT DEFAULT -424242")
    source.execute("ALTER TABLE t ADD COLUMN gap INT")
    asked = document(table="t", output={"file": str(tmp_path / "counts.csv")}) | changes
    with pytest.raises(sqlanon.InputError, match=message) as raised:
        sqlanon.counts(source, asked)
    assert "424242" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_what_may_not_be_suppressed_cannot_protect() -> None:
    with pytest.raises(sqlanon.NoSolutionError):
        sqlanon.counts(as_table(contingency([[1, 20], [0, 30]])), document(never="totals"))


@pytest.mark.parametrize(("weights", "words"), [("cells", "proven the fewest"), ("records", "proven of least weight")])
def test_the_least_weight_is_not_called_the_fewest_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], weights: str, words: str
) -> None:
    pq.write_table(as_table(contingency([[1, 9, 22], [20, 6, 40], [8, 7, 9]])), tmp_path / "t.parquet")
    asked = {"source": str(tmp_path / "t.parquet"), "counts": TABLE, "weights": weights}
    (tmp_path / "counts.json").write_text(json.dumps(asked))
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["counts", str(tmp_path / "counts.json")])
    assert f"({words})" in "".join(capsys.readouterr())


def test_the_verb_has_the_name_of_its_folder() -> None:
    import sqlanon.counts.grid

    with pytest.raises(sqlanon.InputError, match="no document"):
        sqlanon.counts(None, 5)  # type: ignore[arg-type]
