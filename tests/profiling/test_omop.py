"""Persons, visits and diagnoses of OMOP: one table, and several that stay linked, invented and real.

What is published is counted here in plain Python: by all of its columns together, and by all rows of a person.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import yaml
from command_line import sqlanon as run_command
from pages import ROOT, read_blocks
from schema_tables import schema_table

import sqlanon
from sqlanon.assess.presets.linking import draft_linked
from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.profile import profile
from sqlanon.errors import InputError
from sqlanon.tables.anonymizing import anonymize_tables
from sqlanon.tables.policy import TablesPolicy

SHARED = ROOT.parent / "shared" / "data" / "omop"
REAL = [
    pytest.param(name, marks=[pytest.mark.shared, pytest.mark.slow])
    for name in ("omop-gibleed.duckdb", "omop-synthea-1130.duckdb")
]


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of three tables, and two that belong to nothing that is published."""
    file = tmp_path_factory.mktemp("omop") / "omop.duckdb"
    with duckdb.connect(file) as connection:
        for name in ("person", "visit_occurrence", "condition_occurrence", "death"):
            connection.register("given", schema_table(f"omop_{name}", 200 if name == "person" else 500))
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        connection.execute("CREATE TABLE concept (concept_id INTEGER)")
    return file


def source_of(name: str, invented: Path) -> Path:
    if name == "invented":
        return invented
    if not (SHARED / name).exists():
        pytest.skip("the OMOP databases do not stand beside the checkout")
    return SHARED / name


def trees(release: Path) -> dict[str, tuple[Any, ...]]:
    """Person -> own row, and the sorted rows in each other table, without keys."""
    found: dict[str, list[Any]] = {}
    with duckdb.connect(release, read_only=True) as connection:
        for name in ("person", "visit_occurrence", "condition_occurrence"):
            rows = connection.execute(f"SELECT person_id, * EXCLUDE (person_id) FROM {name}").fetchall()
            of_person: dict[str, list[Any]] = {}
            for key, *row in rows:
                of_person.setdefault(key, []).append(tuple(map(str, row)))
            if name == "person":
                found = {key: [] for key in of_person}
            assert set(of_person) <= set(found), "a row belongs to nobody"
            for key, own in found.items():
                own.append(tuple(sorted(of_person.get(key, []))))
    return {key: tuple(own) for key, own in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["invented", *REAL])
def test_linked_tables_are_drafted_and_released_so_that_five_persons_have_the_same_rows(
    name: str, invented: Path, tmp_path: Path
) -> None:
    source = source_of(name, invented)
    drafted = draft_linked(str(source), "omop", output="released.duckdb", folder=tmp_path)
    policy = TablesPolicy.from_dict(yaml.safe_load(drafted.yaml), base_directory=tmp_path)
    release = anonymize_tables(policy)
    found = trees(tmp_path / "released.duckdb")
    assert min(Counter(found.values()).values()) >= 5
    assert release.persons.published == len(found) >= 0.9 * release.persons.total
    assert set(release.tables) == {"person", "visit_occurrence", "condition_occurrence"}
    with duckdb.connect(source, read_only=True) as connection:
        keys = {str(key) for (key,) in connection.execute("SELECT person_id FROM person").fetchall()}
        counts = {each: connection.execute(f"SELECT count(*) FROM {each}").fetchall()[0][0] for each in release.tables}
    assert not keys & set(found) and all(len(key) == 32 for key in found), "keys are pseudonyms"
    for each, ledger in release.tables.items():
        assert ledger.records + ledger.beyond == counts[each] and (ledger.beyond > 0) == (each != "person")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["invented", *REAL])
def test_no_group_of_persons_by_all_that_is_published_is_below_five(name: str, invented: Path, tmp_path: Path) -> None:
    source = source_of(name, invented)
    drafted = draft(profile(source, "person"), folder=tmp_path)
    sqlanon.anonymize(source, drafted.policy)
    published = pq.read_table(tmp_path / "released.parquet")
    names = [column.casefold() for column in published.column_names]
    assert not {"person_id", "person_source_value", "provider_id"} & set(names)
    births = {"birth_datetime", "year_of_birth", "month_of_birth", "day_of_birth"}
    assert len(births & set(names)) <= 1, "what does not stand twice cannot contradict"
    rows = [tuple(row.values()) for row in published.to_pylist()]
    assert min(Counter(rows).values()) >= 5 and published.num_rows >= 0.9 * profile(source, "person").records


@pytest.mark.slow
def test_the_command_drafts_linked_tables_and_says_what_it_left_out(invented: Path, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "own.duckdb") as connection:
        connection.execute(f"ATTACH '{invented}' AS o (READ_ONLY)")
        for name in ("person", "visit_occurrence", "condition_occurrence"):
            connection.execute(f"CREATE TABLE {name} AS FROM o.{name}")
        connection.execute("UPDATE condition_occurrence SET person_id = 9999 WHERE condition_occurrence_id < 8")
    source = tmp_path / "own.duckdb"
    done = run_command("profile", source, "--preset", "omop", "--write", tmp_path / "linked.yaml")
    assert done.returncode == 0, done.stderr
    assert "condition_occurrence: 7 rows belong to no row of person: it is left out." in done.stdout
    assert "Note: condition_occurrence: 7 rows" in (tmp_path / "linked.yaml").read_text()
    assert "output: {file: released.duckdb}" in (tmp_path / "linked.yaml").read_text()
    found = json.loads(run_command("profile", source, "--preset", "omop", "--json").stdout)
    assert [item["table"] for item in found["tables"]] == ["person", "visit_occurrence"] and found["rows"] in (1, 2)
    assert found["tables"][1]["preset"]["name"] == "omop_visit_occurrence" and found["written"] is None


@pytest.mark.slow
def test_a_database_without_linked_tables_is_refused(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "alone.duckdb") as connection:
        connection.register("given", schema_table("omop_person", 200))
        connection.execute("CREATE TABLE person AS FROM given")
    with pytest.raises(InputError, match="No table of omop is linked to the persons"):
        draft_linked(str(tmp_path / "alone.duckdb"), "omop", output="r.duckdb", folder=tmp_path)


def test_the_page_has_the_script_of_the_example() -> None:
    [block] = [block for block in read_blocks("docs/omop.md") if block.file == "make_omop.py"]
    assert block.text.split("\n", 1)[1] == (ROOT / "examples" / "omop" / "make_omop.py").read_text(encoding="utf-8")
