"""Presets: a table of a known schema is recognized by names and values, and its draft follows what is known of it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import sqlanon as run_command
from schema_tables import MAKERS, schema_table

import sqlanon
from sqlanon.assess.presets.facts import named_presets, plain_name, presets
from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.profile import profile
from sqlanon.errors import InputError

ALL = [pytest.param(name, marks=() if name == "omop_person" else pytest.mark.slow) for name in MAKERS]


def written(table: pa.Table, folder: Path, name: str = "source.parquet") -> Path:
    pq.write_table(table, folder / name)
    return folder / name


def test_each_preset_is_well_formed() -> None:
    roles = {"identifier", "drop", "quasi_identifier", "sensitive", "keep"}
    for item in presets():
        names = [name for entry in item.columns for name in entry.names]
        assert {entry.role for entry in item.columns} <= roles and all(entry.reason for entry in item.columns)
        assert {name for needed in item.needs for name in needed} <= set(names), item.name
        assert set(item.key + item.entity + item.latest + item.linked) <= set(names), item.name
        keys = {entry.role for entry in item.columns for name in item.key + item.entity if name in entry.names}
        assert keys <= {"identifier"}, item.name


@pytest.mark.parametrize("name", ALL)
@pytest.mark.few(5)
def test_an_invented_table_is_recognized_and_its_draft_is_an_audited_release(name: str, tmp_path: Path) -> None:
    table = schema_table(name)
    source = written(table, tmp_path)
    found = profile(source)
    assert found.preset is not None and found.preset.name == name, found.preset
    drafted = draft(found, folder=tmp_path)
    release = sqlanon.anonymize(source, drafted.policy)
    published = pq.read_table(tmp_path / "released.parquet")
    [known] = named_presets(name)
    kept = [entry for entry in known.columns for column in published.column_names if plain_name(column) in entry.names]
    assert all(entry.role not in ("identifier", "drop") for entry in kept)
    assert sum(entry.is_one for entry in kept) == len({id(entry) for entry in kept if entry.is_one}), "one says it once"
    assert published.num_rows >= 0.9 * table.num_rows and release.ledger.published == published.num_rows
    quasi = [column.name for column in drafted.policy.quasi_identifiers]
    assert quasi and set(quasi) <= {item.name for item in found.with_role("quasi_identifier")}
    sizes = published.group_by(quasi).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(sizes) >= 5
    assert drafted.policy.entity == (found.preset.entity if not found.preset.one_record else None)


@pytest.mark.slow
def test_what_was_recognized_is_said_with_the_way_out(tmp_path: Path) -> None:
    source = written(schema_table("omop_person"), tmp_path)
    done = run_command("profile", source, "--write", tmp_path / "p.yaml")
    sentence = "18 of its 18 columns have the names of it"
    assert sentence in " ".join(done.stdout.split()) and "--preset none" in done.stdout, done.stderr
    text = (tmp_path / "p.yaml").read_text()
    assert sentence in " ".join(text.replace("\n#", "").split()) and "# Others know the sex of a person." in text
    found = json.loads(run_command("profile", source, "--json").stdout)
    assert found["preset"]["name"] == "omop_person" and len(found["preset"]["matched"]) == 18
    without = json.loads(run_command("profile", source, "--json", "--preset", "none").stdout)
    assert without["preset"] is None and without["columns"] != found["columns"]


def test_columns_that_a_preset_does_not_know_are_judged_as_usual(tmp_path: Path) -> None:
    table = schema_table("omop_person")
    table = table.append_column("email", pa.array([f"p{n}@example.org" for n in range(table.num_rows)]))
    found = profile(written(table, tmp_path))
    assert found.preset is not None and found.preset.others == ("email",)
    assert found.column("email").role == "identifier"


@pytest.mark.slow
def test_values_win_over_a_preset(tmp_path: Path) -> None:
    table = schema_table("omop_person")
    mails = pa.array([f"p{n}@example.org" for n in range(table.num_rows)])
    place = table.column_names.index("race_source_value")
    table = table.set_column(place, "race_source_value", mails)
    found = profile(written(table, tmp_path))
    assert found.preset is not None and found.preset.differing == ("race_source_value",)
    assert found.column("race_source_value").role == "identifier"
    conditions = schema_table("omop_condition_occurrence")  # free text in a column that is sensitive
    place = conditions.column_names.index("condition_concept_id")
    notes = pa.array([f"seen on day {n} by a doctor of the clinic" for n in range(conditions.num_rows)])
    conditions = conditions.set_column(place, "condition_concept_id", notes)
    found = profile(written(conditions, tmp_path), preset="omop_condition_occurrence")
    assert found.column("condition_concept_id").role == "identifier"


@pytest.mark.slow
def test_a_table_with_age_and_sex_fits_no_preset(tmp_path: Path) -> None:
    table = schema_table("census_ipums").select(["AGE", "SEX", "RACE", "MARST", "EDUC", "YEAR"])
    assert profile(written(table, tmp_path)).preset is None
    table = schema_table("fhir_patient").select(
        ["gender", "birthDate", "address_0_city", "maritalStatus_coding_0_code"]
    )
    assert profile(written(table, tmp_path)).preset is None
    table = schema_table("event_log").select(["case:concept:name", "time:timestamp", "urgent"])
    assert profile(written(table, tmp_path)).preset is None


@pytest.mark.slow
def test_names_without_the_values_fit_no_preset(tmp_path: Path) -> None:
    table = schema_table("omop_person")
    place = table.column_names.index("year_of_birth")
    table = table.set_column(place, "year_of_birth", pa.array([7_000 + n for n in range(table.num_rows)]))
    assert profile(written(table, tmp_path)).preset is None


def test_a_preset_that_does_not_fit_or_is_not_known_is_refused(tmp_path: Path) -> None:
    source = written(schema_table("trips"), tmp_path)
    with pytest.raises(InputError, match=r"do not fit person of OMOP.*person_id, gender_concept_id, year_of_birth"):
        profile(source, preset="omop_person")
    with pytest.raises(InputError, match="the nearest of omop"):
        profile(source, preset="omop")
    with pytest.raises(InputError, match="no preset 'omop_persn'") as error:
        sqlanon.profile(source, preset="omop_persn")
    assert "omop_person" in str(error.value.hint)


def test_events_without_a_person_are_counted_as_records_and_the_draft_says_so(tmp_path: Path) -> None:
    table = schema_table("trips")
    riders = [None if n % 10 == 0 else rider for n, rider in enumerate(table["rider_id"].to_pylist())]
    table = table.set_column(0, "rider_id", pa.array(riders))
    drafted = draft(profile(written(table, tmp_path)), folder=tmp_path)
    assert drafted.policy.entity is None
    assert any("60 records do not say whose they are" in item.sentence for item in drafted.decisions)
