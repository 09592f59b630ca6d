"""Make omop.duckdb: three tables of OMOP CDM 5.4 with a few hundred invented persons, from a seed."""

import datetime
import random

import duckdb
import pyarrow as pa

draw = random.Random(5)


def day(first: int, last: int) -> datetime.date:
    """Return a day of these years."""
    return datetime.date(first, 1, 1) + datetime.timedelta(draw.randrange(365 * (last - first)))


persons, visits, conditions = [], [], []
for number in range(1, 601):
    born = day(1930, 2005)
    sex, race = draw.choice([8507, 8532]), draw.choices([8527, 8516, 8515], [7, 2, 1])[0]
    persons.append({
        "person_id": number, "gender_concept_id": sex, "year_of_birth": born.year, "month_of_birth": born.month,
        "day_of_birth": born.day, "birth_datetime": born, "race_concept_id": race, "ethnicity_concept_id": 0,
        "location_id": draw.randrange(1, 6), "provider_id": draw.randrange(1, 40), "care_site_id": 1,
        "person_source_value": f"MRN-{draw.randrange(10**9):09}", "gender_source_value": {8507: "M", 8532: "F"}[sex],
        "race_source_value": {8527: "white", 8516: "black", 8515: "asian"}[race], "ethnicity_source_value": "unknown",
    })  # fmt: skip
    for _ in range(draw.choices([1, 2, 3, 9], [5, 3, 2, 1])[0]):
        start, visit = day(2018, 2024), len(visits) + 1
        visits.append({
            "visit_occurrence_id": visit, "person_id": number,
            "visit_concept_id": draw.choices([9202, 9201, 9203], [7, 2, 1])[0], "visit_start_date": start,
            "visit_end_date": start + datetime.timedelta(draw.choice([0, 0, 0, 2])), "visit_type_concept_id": 32817,
            "provider_id": draw.randrange(1, 40), "care_site_id": 1, "visit_source_value": f"V{visit:06}",
        })  # fmt: skip
        concept = draw.choices([320128, 201826, 317009, 4112343], [4, 3, 2, 1])[0]
        conditions.append({
            "condition_occurrence_id": len(conditions) + 1, "person_id": number, "condition_concept_id": concept,
            "condition_start_date": start, "condition_type_concept_id": 32817, "visit_occurrence_id": visit,
            "condition_source_value": {320128: "I10", 201826: "E11.9", 317009: "J45", 4112343: "J06.9"}[concept],
        })  # fmt: skip

with duckdb.connect("omop.duckdb") as connection:
    for name, rows in {"person": persons, "visit_occurrence": visits, "condition_occurrence": conditions}.items():
        given = pa.Table.from_pylist(rows)
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
