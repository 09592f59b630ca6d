"""Invented tables of schemas that many people have: a few hundred records each, from a seed."""

import datetime
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

RECORDS = 600
Record = dict[str, Any]


def schema_table(preset: str, records: int = RECORDS) -> pa.Table:
    """Return an invented table that fits a preset."""
    draw = random.Random(preset)
    return pa.Table.from_pylist([MAKERS[preset](draw, number) for number in range(records)])


def _day(r: random.Random, first: int, last: int) -> datetime.date:
    return datetime.date(first, 1, 1) + datetime.timedelta(r.randrange(365 * (last - first)))


def _hex(r: random.Random) -> str:
    digits = f"{r.getrandbits(128):032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def _person(r: random.Random, n: int) -> Record:
    born, sex, race = _day(r, 1930, 2005), r.choice("FM"), r.choices([8527, 8516, 8515, 0], [70, 15, 10, 5])[0]
    latin = r.random() < 0.15
    return {
        "person_id": n + 1, "gender_concept_id": {"F": 8532, "M": 8507}[sex], "year_of_birth": born.year,
        "month_of_birth": born.month, "day_of_birth": born.day,
        "birth_datetime": datetime.datetime(born.year, born.month, born.day), "race_concept_id": race,
        "ethnicity_concept_id": 38003563 if latin else 38003564, "location_id": r.randrange(12),
        "provider_id": None, "care_site_id": r.randrange(4), "person_source_value": _hex(r),
        "gender_source_value": sex, "gender_source_concept_id": 0,
        "race_source_value": {8527: "white", 8516: "black", 8515: "asian", 0: "other"}[race],
        "race_source_concept_id": 0, "ethnicity_source_value": "hispanic" if latin else "nonhispanic",
        "ethnicity_source_concept_id": 0,
    }  # fmt: skip


def _visit(r: random.Random, n: int) -> Record:
    start = _day(r, 2015, 2024)
    end = start + datetime.timedelta(r.choice([0, 0, 0, 1, 3, 8]))
    return {
        "visit_occurrence_id": n + 1, "person_id": r.randrange(200) + 1,
        "visit_concept_id": r.choices([9201, 9202, 9203], [2, 7, 1])[0], "visit_start_date": start,
        "visit_start_datetime": None, "visit_end_date": end, "visit_end_datetime": None,
        "visit_type_concept_id": 44818518, "provider_id": r.randrange(30), "care_site_id": r.randrange(3),
        "visit_source_value": _hex(r), "visit_source_concept_id": 0, "admitted_from_concept_id": 0,
        "admitted_from_source_value": None, "discharged_to_concept_id": 0, "discharged_to_source_value": None,
        "preceding_visit_occurrence_id": n or None,
    }  # fmt: skip


def _event(domain: str, date: str, concepts: list[int], more: Callable[[random.Random], Record]) -> Any:
    """Return what makes records of a table of events of OMOP."""

    def made(r: random.Random, n: int) -> Record:
        concept = r.choices(concepts, range(len(concepts), 0, -1))[0]
        return {
            f"{domain}_id" if domain in ("measurement", "observation") else MADE_BY[domain]: n + 1,
            "person_id": r.randrange(200) + 1, f"{domain}_concept_id": concept, date: _day(r, 2015, 2024),
            f"{domain}_type_concept_id": r.choice([32817, 32020]), "provider_id": r.randrange(30),
            "visit_occurrence_id": r.randrange(500), f"{domain}_source_value": f"S{concept}",
            f"{domain}_source_concept_id": concept + 7, **more(r),
        }  # fmt: skip

    return made


MADE_BY = {domain: f"{domain}_occurrence_id" for domain in ("condition", "procedure")} | {"drug": "drug_exposure_id"}
KINDS = [4112343, 260139, 372328, 28060, 40481087, 80502, 81151]


def _death(r: random.Random, n: int) -> Record:
    return {
        "person_id": n + 1, "death_date": _day(r, 2010, 2024), "death_datetime": None,
        "death_type_concept_id": 32815, "cause_concept_id": r.choice(KINDS), "cause_source_value": None,
        "cause_source_concept_id": 0,
    }  # fmt: skip


def _patient(r: random.Random, n: int) -> Record:
    city = r.randrange(6)
    return {
        "id": _hex(r), "identifier_0_value": f"MRN{n:07}", "active": True,
        "name_0_family": r.choice(["Okafor", "Lindqvist", "Marsh", "Duarte"]) + str(r.randrange(300)),
        "name_0_given": r.choice(["Ada", "Bo", "Cem", "Dina"]), "telecom_0_value": f"555-01{n % 100:02}",
        "gender": r.choice(["female", "male"]), "birthDate": str(_day(r, 1930, 2005)),
        "address_0_line": f"{r.randrange(900)} Mill Road", "address_0_city": f"Town {city}",
        "address_0_state": "MA" if city < 4 else "NH", "address_0_postalCode": f"0{2100 + 20 * city + r.randrange(9)}",
        "address_0_country": "US", "maritalStatus_coding_0_code": r.choice("MSDW"),
        "deceasedDateTime": str(_day(r, 2015, 2024)) if r.random() < 0.1 else None,
    }  # fmt: skip


def _encounter(r: random.Random, n: int) -> Record:
    start = _day(r, 2015, 2024)
    return {
        "id": _hex(r), "subject_reference": f"Patient/{r.randrange(200)}", "status": "finished",
        "class_code": r.choices(["AMB", "EMER", "IMP"], [7, 2, 1])[0], "type_0_text": r.choice(["Check up", "Visit"]),
        "period_start": f"{start}T08:15:00+01:00", "period_end": f"{start}T09:00:00+01:00",
        "serviceProvider_display": f"Clinic {r.randrange(4)}", "subject_display": f"Ada Marsh{r.randrange(200)}",
    }  # fmt: skip


def _condition(r: random.Random, n: int) -> Record:
    return {
        "id": _hex(r), "subject_reference": f"Patient/{r.randrange(200)}", "encounter_reference": f"Encounter/{n}",
        "clinicalStatus_coding_0_code": r.choice(["active", "resolved"]),
        "code_coding_0_code": r.choices(["J45.0", "I10", "E11.9", "M54.5"], [4, 3, 2, 1])[0],
        "code_coding_0_system": "http://hl7.org/fhir/sid/icd-10", "onsetDateTime": str(_day(r, 2015, 2024)),
        "recordedDate": str(_day(r, 2015, 2024)),
    }  # fmt: skip


def _dm(r: random.Random, n: int) -> Record:
    start, arm = _day(r, 2012, 2014), r.choice(["Placebo", "Low", "High"])
    site = r.randrange(701, 707)
    return {
        "STUDYID": "S1", "DOMAIN": "DM", "USUBJID": f"S1-{site}-{n:04}", "SUBJID": f"{n:04}",
        "RFSTDTC": str(start), "RFENDTC": str(start + datetime.timedelta(180)), "SITEID": str(site),
        "AGE": r.randrange(50, 90), "AGEU": "YEARS", "SEX": r.choice("MF"),
        "RACE": r.choices(["WHITE", "BLACK", "ASIAN"], [8, 2, 1])[0],
        "ETHNIC": r.choices(["NOT HISPANIC", "HISPANIC"], [9, 1])[0], "ARMCD": arm[:3].upper(), "ARM": arm,
        "COUNTRY": "USA", "DMDTC": str(start), "DTHFL": "Y" if r.random() < 0.02 else None,
    }  # fmt: skip


def _adsl(r: random.Random, n: int) -> Record:
    taken = _dm(r, n)
    kept = ("STUDYID", "USUBJID", "SUBJID", "SITEID", "AGE", "AGEU", "SEX", "RACE", "ETHNIC", "ARM", "DTHFL")
    age, start = taken["AGE"], _day(r, 2012, 2014)
    return {name: taken[name] for name in kept} | {
        "TRT01P": taken["ARM"], "TRT01PN": {"Placebo": 0, "Low": 54, "High": 81}[taken["ARM"]],
        "AGEGR1": "<65" if age < 65 else "65-80" if age < 81 else ">80", "TRTSDT": start,
        "TRTEDT": start + datetime.timedelta(r.randrange(20, 180)), "TRTDURD": r.randrange(20, 180),
        "SAFFL": "Y", "ITTFL": "Y", "EFFFL": r.choice("YYYN"), "BMIBL": round(r.gauss(25, 4), 1),
        "DCSREAS": r.choice(["Adverse Event", "Completed", "Withdrew"]),
    }  # fmt: skip


def _patient_dimension(r: random.Random, n: int) -> Record:
    return {
        "patient_num": 10_000 + n, "vital_status_cd": r.choice("NNNY"), "birth_date": _day(r, 1930, 2005),
        "death_date": None, "sex_cd": r.choice("FM"), "age_in_years_num": r.randrange(19, 94),
        "language_cd": r.choice(["english", "spanish"]), "race_cd": r.choice(["white", "black", "asian"]),
        "marital_status_cd": r.choice(["single", "married"]), "religion_cd": r.choice(["none", "catholic", "jewish"]),
        "zip_cd": f"02{r.randrange(100, 140)}", "statecityzip_path": None, "update_date": None, "import_date": None,
        "sourcesystem_cd": "DEMO", "upload_id": None,
    }  # fmt: skip


def _visit_dimension(r: random.Random, n: int) -> Record:
    start = _day(r, 2015, 2024)
    return {
        "encounter_num": 400_000 + n, "patient_num": 10_000 + r.randrange(200), "active_status_cd": "F",
        "start_date": start, "end_date": start, "inout_cd": r.choice("OOOI"), "location_cd": r.choice(["A", "B"]),
        "length_of_stay": r.choice([0, 0, 1, 2]), "sourcesystem_cd": "DEMO",
    }  # fmt: skip


def _observation_fact(r: random.Random, n: int) -> Record:
    return {
        "encounter_num": 400_000 + r.randrange(500), "patient_num": 10_000 + r.randrange(200),
        "concept_cd": "ICD10:" + r.choice(["J45", "I10", "E11", "M54"]), "provider_id": f"@{r.randrange(9)}",
        "start_date": _day(r, 2015, 2024), "modifier_cd": "@", "instance_num": 1, "valtype_cd": r.choice("NT"),
        "tval_char": "E", "nval_num": round(r.gauss(120, 15), 2), "units_cd": "mg", "location_cd": "@",
    }  # fmt: skip


def _ipums(r: random.Random, n: int) -> Record:
    return {
        "YEAR": r.choice([2019, 2020]), "SAMPLE": 202001, "SERIAL": 1 + n // 2, "PERNUM": 1 + n % 2,
        "PERWT": r.randrange(20, 900), "HHWT": r.randrange(20, 900), "AGE": r.randrange(95),
        "SEX": r.choice([1, 2]), "RACE": r.choices([1, 2, 4, 7], [7, 2, 1, 1])[0], "MARST": r.choice([1, 4, 6]),
        "EDUC": r.randrange(2, 12), "STATEFIP": r.choice([6, 36, 48]), "INCTOT": r.choice([0, 12_000, 45_000, 90_000]),
        "RELATE": r.choice([1, 2, 3]),
    }  # fmt: skip


def _pums(r: random.Random, n: int) -> Record:
    return {
        "SERIALNO": f"2020HU{n // 2:07}", "SPORDER": 1 + n % 2, "PUMA": r.choice([101, 102, 103]), "ST": 25,
        "PWGTP": r.randrange(5, 300), "AGEP": r.randrange(95), "SEX": r.choice([1, 2]),
        "RAC1P": r.choices([1, 2, 6], [8, 2, 1])[0], "SCHL": r.randrange(12, 24), "MAR": r.choice([1, 3, 5]),
        "PINCP": r.choice([0, 12_000, 45_000, 90_000]), "ESR": r.choice([1, 3, 6]),
    }  # fmt: skip


def _log(r: random.Random, n: int) -> Record:
    moment = datetime.datetime(2024, 1, 1, 8) + datetime.timedelta(minutes=17 * n)
    return {
        "case:concept:name": f"case {n // 5}", "concept:name": ["Register", "Triage", "Treat", "Bill", "Leave"][n % 5],
        "time:timestamp": moment, "org:resource": f"Nurse {r.randrange(4)}", "lifecycle:transition": "complete",
        "urgent": r.choice(["yes", "no"]),
    }  # fmt: skip


def _trip(r: random.Random, n: int) -> Record:
    start = datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=r.randrange(500_000))
    return {
        "rider_id": f"R{r.randrange(150):05}", "pickup_datetime": start,
        "dropoff_datetime": start + datetime.timedelta(minutes=r.randrange(4, 50)),
        "PULocationID": r.choice([4, 13, 48, 100]), "DOLocationID": r.choice([4, 13, 48, 100]),
        "passenger_count": r.choice([1, 1, 1, 2]), "trip_distance": round(r.uniform(0.5, 12), 2),
        "total_amount": round(r.uniform(5, 60), 2),
    }  # fmt: skip


def _nothing(r: random.Random) -> Record:
    return {}


MAKERS: dict[str, Callable[[random.Random, int], Record]] = {
    "omop_person": _person,
    "omop_visit_occurrence": _visit,
    "omop_condition_occurrence": _event("condition", "condition_start_date", KINDS, lambda _: {"stop_reason": None}),
    "omop_drug_exposure": _event("drug", "drug_exposure_start_date", KINDS, lambda r: {"quantity": r.randrange(90)}),
    "omop_procedure_occurrence": _event("procedure", "procedure_date", KINDS, _nothing),
    "omop_measurement": _event(
        "measurement", "measurement_date", KINDS, lambda r: {"value_as_number": round(r.gauss(90, 9), 2)}
    ),
    "omop_observation": _event("observation", "observation_date", KINDS, _nothing),
    "omop_death": _death,
    "fhir_patient": _patient,
    "fhir_encounter": _encounter,
    "fhir_condition": _condition,
    "cdisc_dm": _dm,
    "cdisc_adsl": _adsl,
    "i2b2_patient_dimension": _patient_dimension,
    "i2b2_visit_dimension": _visit_dimension,
    "i2b2_observation_fact": _observation_fact,
    "census_ipums": _ipums,
    "census_pums": _pums,
    "event_log": _log,
    "trips": _trip,
}
"""Preset -> what makes a record of its table."""
