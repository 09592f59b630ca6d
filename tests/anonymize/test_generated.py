"""Generated records of the shape of ATUS and IHIS: reproducible, covered by the hierarchies, skewed and correlated."""

import json
import sys
from pathlib import Path

import duckdb
import generated
import numpy as np
import pytest
from pyarrow import parquet

import sqlanon

RECORDS = 20_000
NAMES = tuple(generated.DATASETS)


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    """The folder of hierarchies."""
    if not all((shared / "data" / name).is_dir() for name in NAMES):
        pytest.skip("the hierarchies of ATUS and IHIS are not on this machine")
    return shared / "data"


@pytest.fixture(scope="module")
def files(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small file of each dataset."""
    folder = tmp_path_factory.mktemp("generated")
    document = {name: folder / f"{name}.parquet" for name in NAMES}
    for name, out in document.items():
        generated.write(name, data, out, RECORDS)
    return document


def share(file: Path, condition: str, among: str = "true") -> float:
    """The share of the records among some that meet a condition."""
    sql = f"SELECT avg(({condition})::INT) FROM read_parquet(?) WHERE {among}"
    with duckdb.connect() as connection:
        return connection.execute(sql, [str(file)]).fetchone()[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_records_are_written_again_and_begin_a_longer_file(
    files: dict[str, Path], data: Path, tmp_path: Path, name: str
) -> None:
    generated.write(name, data, tmp_path / "again.parquet", RECORDS)
    assert (tmp_path / "again.parquet").read_bytes() == files[name].read_bytes()
    longer = generated.BATCH + 5_000
    generated.write(name, data, tmp_path / "longer.parquet", longer)
    rows = parquet.read_table(tmp_path / "longer.parquet")
    assert rows.num_rows == longer
    assert rows.slice(0, RECORDS).equals(parquet.read_table(files[name]))
    assert not rows.slice(generated.BATCH).equals(rows.slice(0, 5_000)), "batches repeat"


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_text_and_the_hierarchies_cover_all_values(files: dict[str, Path], data: Path, name: str) -> None:
    dataset, rows = generated.DATASETS[name], parquet.read_table(files[name])
    assert rows.num_rows == RECORDS
    assert rows.column_names == [*dataset.quasi_identifiers, dataset.sensitive]
    assert {str(kind) for kind in rows.schema.types} == {"string"}
    for column in rows.column_names:
        lines = generated.hierarchy_file(name, column, data, files[name]).read_text().splitlines()
        assert set(rows[column].to_pylist()) <= {line.split(";")[0] for line in lines}, column


@pytest.mark.parametrize("name, nodes", [("ihis", 12_960), ("atus", 8_748)])
def test_the_optimum_is_proven_in_the_lattice_of_the_paper(
    files: dict[str, Path], data: Path, name: str, nodes: int
) -> None:
    with sqlanon.plan(None, generated.policy(name, data, files[name])) as plan:
        assert plan.certificate.optimal
        assert plan.certificate.lattice_size == nodes
        assert 0 < plan.certificate.loss < 0.5
        assert 0 < plan.solution.suppressed <= 0.05 * RECORDS


def test_changes_replace_keys_of_the_policy(files: dict[str, Path], data: Path) -> None:
    built = generated.policy("ihis", data, files["ihis"], suppression_limit=0.0, quality={"measure": "height"})
    assert built.suppression_limit == 0
    assert built.quality.measure == "height"
    assert [column.name for column in built.columns] == list(generated.DATASETS["ihis"].quasi_identifiers)


def test_ihis_is_skewed_and_correlated(files: dict[str, Path]) -> None:
    file, age = files["ihis"], """coalesce(try_cast("AGE" AS INT), 85)"""
    assert share(file, "MARSTAT = 'NIU'", f"{age} < 14") == 1
    assert share(file, "MARSTAT LIKE 'Married%'", f"{age} BETWEEN 35 AND 55") > 0.6
    widowed = [share(file, "MARSTAT = 'Widowed'", f"{age} > 75 AND SEX = '{sex}'") for sex in ("Male", "Female")]
    assert widowed[1] > 1.5 * widowed[0] > 0.1
    assert share(file, "EDUC = 'NIU'", f"{age} < 5") == 1
    assert share(file, "EDUC LIKE '%degree%(%'", f"{age} < 18") == 0
    assert share(file, "EDUC LIKE '%degree%(%'", f"{age} > 30") > 0.15
    heads = "PERNUM IN ('1', '2')"
    assert share(file, heads, f"{age} < 18") < 0.2 < 0.8 < share(file, heads, f"{age} > 30")
    assert share(file, "RACEA = 'White'") > 0.6
    black = [share(file, "RACEA LIKE 'Black%'", f"REGION = '{region}'") for region in ("South", "West")]
    assert black[0] > 2 * black[1] > 0
    assert share(file, "RACEA LIKE '%(1997-1998)'", "YEAR > '1998'") == 0
    assert share(file, "RACEA LIKE '%(1997-1998)'", "YEAR <= '1998'") > 0.02


def test_atus_is_skewed_and_correlated(files: dict[str, Path]) -> None:
    file, age, niu = files["atus"], "try_cast(Age AS INT)", "LIKE 'NIU%'"
    for column in ("Marital status", "Labor force status", "Highest level of school completed"):
        assert share(file, f'"{column}" {niu}', f"{age} < 15") == 1, column
        assert share(file, f'"{column}" {niu}', f"{age} >= 15") == 0, column
    assert share(file, f'Sex {niu} AND Birthplace {niu} AND "Marital status" {niu}', f"Age {niu}") == 1
    assert share(file, "\"Labor force status\" LIKE 'Employed%'", f"{age} BETWEEN 30 AND 50") > 0.7
    assert share(file, "\"Labor force status\" LIKE 'Employed%'", f"{age} > 70") < 0.15
    native = "\"Citizenship status\" = 'Native, born in United States'"
    assert share(file, native, f"Race NOT {niu}") > 0.8
    assert share(file, f"(Birthplace = 'U.S., n.s.') <> ({native})") == 0
    assert share(file, "Race = 'Asian only'", "Birthplace IN ('China', 'South Korea')") > 0.5
    assert share(file, "Race = 'Asian only'", native) < 0.05


def test_a_value_without_weight_is_never_drawn() -> None:
    weights = np.array([[0.0, 1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
    conditions = np.repeat([0, 1, 2], 30_000)
    drawn = generated.Conditional(weights).draw(np.random.default_rng(1), conditions)
    counts = np.array([np.bincount(drawn[conditions == c], minlength=5) for c in range(3)])
    assert ((counts > 0) == (weights > 0)).all()
    assert counts[0, 3] == pytest.approx(22_500, rel=0.03)


def test_intervals_of_ages_nest() -> None:
    rows = generated.ihis_ages()
    assert rows[7] == ["7", "5-9", "0-9", "0-19", "*"]
    assert [rows[-2], rows[-1]] == [["84", "80-84", "80+", "80+", "*"], ["85+", "85+", "80+", "80+", "*"]]
    for level in range(1, 4):
        assert len({tuple(row[level : level + 2]) for row in rows}) == len({row[level] for row in rows})


def test_the_command_reports_one_line(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["atus", "--data", str(data), "--out", str(tmp_path / "a.parquet"), "--records", "7"]
    monkeypatch.setattr(sys, "argv", ["generated.py", *arguments])
    generated.main()
    assert json.loads(capsys.readouterr().out).keys() == {"dataset", "records", "seconds"}
    assert parquet.read_metadata(tmp_path / "a.parquet").num_rows == 7
