"""``latest``: of the rows of a person the last ones are taken, as if a view had left out the others."""

import datetime
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon.errors import InputError, PolicyError
from sqlanon.tables.anonymizing import anonymize_tables
from sqlanon.tables.policy import TablesPolicy

DAY = datetime.date(2020, 1, 1)
Row = tuple[int, datetime.date | None, str]


def visits(seed: int) -> list[Row]:
    """Visits of 40 persons, with days that stand twice and days that are missing."""
    draw = random.Random(seed)
    return [
        (person, None if draw.random() < 0.1 else DAY + datetime.timedelta(draw.randrange(30)), draw.choice("abc"))
        for person in range(40)
        for _ in range(draw.choice([0, 1, 2, 5, 9]))
    ]


def latest(rows: list[Row], most: int) -> list[Row]:
    """The last rows of each person: without a day last of all, rows of one day by what is published of them."""
    taken = []
    for person in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == person]
        own.sort(key=lambda row: (row[1] is None, -(row[1] or DAY).toordinal(), row[2]))
        taken += own[:most]
    return taken


def database(folder: Path, name: str, rows: list[Row]) -> Path:
    with duckdb.connect(folder / name) as connection:
        connection.execute("CREATE TABLE patients AS SELECT i AS id, chr(97 + (i % 2)::INT) AS sex FROM range(40) t(i)")
        connection.execute("CREATE TABLE visits (patient INTEGER, day DATE, ward TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    return folder / name


def document(source: Path, **of_visits: Any) -> dict[str, Any]:
    ward = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    return {
        "source": str(source),
        "tables": {
            "patients": {"key": "id", "columns": {"sex": ward}},
            "visits": {"parent": {"patients": "patient"}, "columns": {"day": {"role": "drop"}, "ward": ward}}
            | of_visits,
        },
        "privacy": [{"type": "profile_k", "k": 2}],
        "suppression_limit": 0.5,
        "output": {"file": str(source.with_suffix(".released.duckdb"))},
    }


def published(source: Path) -> list[Any]:
    with duckdb.connect(source.with_suffix(".released.duckdb"), read_only=True) as connection:
        query = "SELECT sex, list_sort(list(ward)) FROM patients LEFT JOIN visits ON id = patient GROUP BY id, sex"
        return sorted(connection.execute(query).fetchall(), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
def test_the_release_is_that_of_a_view_with_the_latest_rows(most: int, tmp_path: Path) -> None:
    rows = visits(most)
    whole, cut = database(tmp_path, "whole.duckdb", rows), database(tmp_path, "cut.duckdb", latest(rows, most))
    found = anonymize_tables(document(whole, latest={"rows": most, "by": "day"}))
    expected = anonymize_tables(document(cut))
    assert (found.levels, found.persons, found.classes) == (expected.levels, expected.persons, expected.classes)
    assert published(whole) == published(cut) and found.persons.published > 10
    taken = found.tables["visits"]
    assert taken.records + taken.beyond == len(rows) and taken.records == len(latest(rows, most)) and taken.beyond > 0
    assert found.to_dict()["tables"]["visits"]["beyond"] == taken.beyond
    [of_visits] = [item for item in found.manifest["tables"] if item["name"] == "visits"]
    assert of_visits["latest"] == {"rows": most, "by": "day"} and str(taken.beyond) not in str(of_visits)


def test_the_fingerprint_tells_which_rows_are_taken(tmp_path: Path) -> None:
    source = tmp_path / "source.duckdb"
    all_rows, three, two = (
        TablesPolicy.from_dict(document(source, **keys)).fingerprint()
        for keys in ({}, {"latest": {"rows": 3, "by": "day"}}, {"latest": {"rows": 2, "by": "day"}})
    )
    assert len({all_rows, three, two}) == 3
    assert TablesPolicy.from_dict(document(source, latest=None)).fingerprint() == all_rows


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": 0, "by": "day"}, "rows: This is not a whole number"),
        ({"rows": 2}, "by: "),
        ({"rows": 2, "by": "day", "of": 1}, "of: This key is not known"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=message):
        anonymize_tables(document(tmp_path / "source.duckdb", latest=given))


def test_rows_that_others_belong_to_are_not_left_out(tmp_path: Path) -> None:
    policy = document(tmp_path / "source.duckdb")
    policy["tables"]["patients"]["latest"] = {"rows": 2, "by": "id"}
    with pytest.raises(PolicyError, match="belongs to another, and that no other belongs to"):
        anonymize_tables(policy)


@pytest.mark.parametrize("by", ["ward", "nothing"])
def test_rows_without_an_order_are_refused(by: str, tmp_path: Path) -> None:
    source = database(tmp_path, "source.duckdb", visits(1))
    with pytest.raises(InputError, match=f"cannot be put in order by '{by}'"):
        anonymize_tables(document(source, latest={"rows": 2, "by": by}))
