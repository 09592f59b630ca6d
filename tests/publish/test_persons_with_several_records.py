"""What names a person who has several records is refused, although each value of it stands in several of them."""

import datetime
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml
from beside_world import QUASI
from command_line import sqlanon as run_cli
from policies import document_of
from sqlglot import exp
from tables import store
from visits_world import HARMLESS, NAMING, registered_visits

import sqlanon
from sqlanon.core.audit.judged_columns import JudgedColumn, SourceColumn
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.source.beside import compared, kind_of
from sqlanon.core.source.known import judge_published
from sqlanon.errors import IdentifyingColumnError

MONTH = {"month": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}


def judged(data: pa.Table, published: Sequence[str], quasi: Sequence[str], k: int = 5) -> dict[str, JudgedColumn]:
    """What is found of columns of a table, by their names."""
    with duckdb.connect() as connection:
        store(connection, data)
        listed = connection.execute("SELECT column_name, column_type FROM (DESCRIBE t)").fetchall()
        types = {name: kind for name, kind in listed if name in {*published, *quasi}}
        columns = {
            name: SourceColumn(name, "keep", kind_of(kind), compared(name, kind)) for name, kind in types.items()
        }
        found = judge_published(
            DuckDBEngine(connection=connection),
            exp.to_table("t"),
            [columns[name] for name in published],
            [columns[name] for name in quasi],
            k=k,
        )
    return {item.name: item for item in found}


@pytest.mark.parametrize("rows", [2, 5, 12])
def test_what_names_persons_is_found_however_many_records_they_have(rows: int) -> None:
    """The quasi-identifier is that of a visit, so that nothing is given away of the person."""
    found = judged(registered_visits(rows), [*NAMING, *HARMLESS], ["month"])
    assert [name for name in NAMING if not found[name].identifies] == []
    assert [name for name in HARMLESS if found[name].identifies] == []


def test_a_value_of_fewer_than_k_records_stands_for_a_person() -> None:
    data = registered_visits(4).select(["rest", "month"])
    assert not judged(data, ["rest"], ["month"], k=4)["rest"].singles_out
    found = judged(data, ["rest"], ["month"], k=5)["rest"]
    assert found.singles_out and found.alone == 0
    assert "in 1200 of 1200 records it has a value of fewer than 5 records" in found.described()


def test_names_and_places_in_two_columns_are_judged_as_one() -> None:
    data = registered_visits(12).rename_columns({"first_name": "name_1", "last_name": "name"})
    apart = judged(data, ["name_1", "ward"], ["month"]) | judged(data, ["name"], ["month"], k=40)
    assert not any(item.identifies for item in apart.values())
    coarse = data.set_column(data.column_names.index("lat"), "lat", [[round(x) for x in data["lat"].to_pylist()]])
    coarse = coarse.set_column(
        coarse.column_names.index("lon"), "lon", [[round(2 * x) / 2 for x in data["lon"].to_pylist()]]
    )
    assert not any(item.identifies for item in judged(coarse, ["lat"], ["month"]).values())
    cut = data.set_column(data.column_names.index("name"), "name", [[name[:4] for name in data["name"].to_pylist()]])
    found = judged(cut, ["name_1", "name"], ["month"])
    assert [name for name, item in found.items() if item.identifies] == ["name_1 with name"]
    assert found["name_1 with name"].names == ("name_1", "name")


@pytest.mark.parametrize("rows", [40, 100])
def test_what_names_persons_is_found_where_they_have_many_records(rows: int) -> None:
    """Beyond twenty records a value, it counts that all values have about as many."""
    data = registered_visits(rows, people=120)
    named = [name for name in NAMING if name not in ("rest", "lat", "lon")]
    found = judged(data, [*named, *HARMLESS], ["month"])
    assert [name for name in named if not found[name].identifies] == []
    assert [name for name in HARMLESS if found[name].identifies] == []


@pytest.mark.parametrize("placeholder", [0.0, 0.2])
def test_a_key_of_persons_is_found_whatever_the_number_of_their_records(placeholder: float) -> None:
    """A few persons have many records, most have few; a fifth of the records may hold a placeholder."""
    draw = random.Random(4)
    data = [{**row} for row in registered_visits(1).to_pylist() for _ in range(1 + int(draw.expovariate(1 / 9)))]
    visits = registered_visits(1, people=len(data), seed=2).to_pylist()
    for row, visit in zip(data, visits, strict=True):
        own = "unknown" if draw.random() < placeholder else row["hashed"][:7]
        row |= {name: visit[name] for name in (*HARMLESS, "month")} | {"x": own}
    found = judged(pa.Table.from_pylist(data), ["x", *HARMLESS], ["month"])
    assert [name for name, item in found.items() if item.identifies] == ["x"]


@pytest.mark.parametrize("names", [
    ("birth_day", "birth_month", "birth_year"), ("Geburtstag", "Geburtsmonat", "Geburtsjahr"),
    ("jour_naissance", "mois_naissance", "année_naissance"), ("DiaNacimiento", "MesNacimiento", "AñoNacimiento"),
], ids=str)  # fmt: skip
def test_day_month_and_year_of_birth_are_judged_as_one_column(names: tuple[str, str, str]) -> None:
    data = registered_visits(12)
    births = [day.timetuple()[2::-1] for day in data["birth"].to_pylist()]
    for name, values in zip(names, zip(*births, strict=True), strict=True):
        data = data.append_column(name, pa.array(values))
        assert not judged(data, [name], ["month"])[name].identifies
    found = [item for item in judged(data, [*names, "ward"], ["month"]).values() if item.identifies]
    assert [item.names for item in found] == [names]


@pytest.mark.parametrize("name, identifies", [
    ("customer_no", True), ("numéro_de_client", True), ("PatientID", True), ("patientid", True), ("person", True),
    ("num_lab_procedures", False), ("no_of_visits", False), ("patient_weight", False),
])  # fmt: skip
def test_what_a_column_of_numbers_is_called_says_that_they_are_those_of_persons(name: str, identifies: bool) -> None:
    data = registered_visits(12).rename_columns({"patient_id": name})
    assert judged(data, [name], ["month"])[name].identifies is identifies


def test_a_place_of_birth_is_a_place() -> None:
    data = registered_visits(2)
    data = data.append_column("birthplace", pa.array([f"Town {row % 40}" for row in range(data.num_rows)]))
    assert not judged(data, ["birthplace"], ["month"])["birthplace"].identifies


def test_names_of_persons_and_dates_of_birth_are_refused_alone() -> None:
    data = registered_visits(12)
    day = datetime.date(2010, 1, 1)
    visits = [day + datetime.timedelta(days=row % 1500) for row in range(data.num_rows)]
    data = data.append_column("day", pa.array(visits)).rename_columns({"birth": "t", "birth_text": "u"})
    data = data.rename_columns({"last_name": "product_name"})
    found = judged(data, ["first_name", "product_name", "t", "u", "day"], ["month"])
    assert [name for name, item in found.items() if item.identifies] == ["first_name", "t", "u"]
    assert "they look like dates of birth" in found["t"].described()


def test_a_key_of_persons_asks_for_the_entity() -> None:
    data = registered_visits(5)
    found = judged(data, ["rest"], ["age", "zip", "sex"])["rest"]
    assert found.repeats_like_a_key and found.identifies
    with duckdb.connect() as connection:
        connection.register("t", data)
        columns = {**QUASI, "rest": {"role": "keep"}}
        policy = {"table": "t", "columns": columns, "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 5}]}
        with pytest.raises(IdentifyingColumnError) as refused:
            sqlanon.plan(connection, policy)
    assert "say entity: rest" in refused.value.hint and "accept: [rest]" in refused.value.hint


def document(folder: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(registered_visits(2), folder / "visits.parquet")
    written = document_of(
        {**MONTH, **columns}, k=5, source="visits.parquet", undeclared="drop", output={"file": "released.csv"}
    )
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(written), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_run_publishes_no_numbers_of_persons_as_kept_or_sensitive_columns(tmp_path: Path) -> None:
    models = [{"type": "distinct_l_diversity", "l": 2}]
    path = document(
        tmp_path, ssn={"role": "keep"}, page={"role": "keep"}, number={"role": "keep"},
        notes={"role": "sensitive", "models": models}, stay={"role": "keep"},
    )  # fmt: skip
    done = run_cli("run", path)
    assert done.returncode == 2 and not (tmp_path / "released.csv").exists()
    for name in ("ssn", "page", "number", "notes"):
        assert f"'{name}' (" in done.stderr
    assert "'stay'" not in done.stderr
    asked = yaml.safe_load(path.read_text(encoding="utf-8")) | {"accept": ["ssn", "page", "number", "notes"]}
    path.write_text(yaml.safe_dump(asked), encoding="utf-8")
    assert run_cli("run", path).returncode == 0
