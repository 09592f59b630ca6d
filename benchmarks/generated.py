"""Records in the shape of ATUS and IHIS, by the thousand or by the hundred million, for datasets that cannot be had.

    python benchmarks/generated.py ihis --data DIR --out ihis.parquet
    python benchmarks/generated.py atus --data DIR --out atus.parquet --records 100000000

The folder of data holds ``ihis/ihis_hierarchy_<column>.csv`` and ``atus/atus_hierarchy_<column>.csv``; every value is
one of their first column. Ages of IHIS have no such file: one is written beside the records. Quasi-identifiers,
sensitive columns and numbers of records are those of Tables 3 and 4 of the 2015 paper on the cost of quality (ARX).

No record is real. Apart from the years of IHIS, every share is a round figure chosen by hand to resemble the population
of the United States. Where nothing is known of a value it has a Zipf weight, by its rank in the hierarchy file. Records
are independent of each other: persons of a household are not drawn together. Each batch has its own seed and is drawn
whole, so that fewer records are the first of more.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

import sqlanon

Codes = npt.NDArray[np.int64]
"""One code a record: the place of its value in the hierarchy file; or one condition a record."""
Weights = npt.NDArray[np.float64]
Hierarchy = list[list[str]]

SEED = 20150601
BATCH = 100_000
AGES = np.arange(100)
AGE_CURVE = ([0, 20, 30, 45, 60, 75, 85, 99], [1.45, 1.4, 1.35, 1.5, 0.95, 0.6, 0.3, 0.01])
REGIONS = {"Northeast": 18.0, "Midwest": 23.0, "South": 36.0, "West": 23.0}
LIVES_IN = {  # how much likelier than elsewhere, by region, a race whose name holds this; the first that matches
    "Black": {"Northeast": 1.0, "Midwest": 0.8, "South": 1.6, "West": 0.4},
    "Asian|Chinese|Filipino|Hawaiian": {"Northeast": 1.0, "Midwest": 0.5, "South": 0.5, "West": 2.4},
    "American Indian": {"Northeast": 0.3, "Midwest": 0.8, "South": 0.9, "West": 2.0},
}
SCHOOL = {  # what is completed, without its examples in parentheses: (the usual age, per cent of adults)
    "Never attended/kindergarten only": (5.5, 0.5),
    **{f"Grade {grade}": (6.0 + grade, 0.2 + 0.1 * grade) for grade in range(1, 12)},
    "Less than 1st grade": (5.5, 0.4),
    "1st, 2nd, 3rd, or 4th grade": (9.0, 0.9),
    "5th or 6th grade": (12.0, 1.6),
    "7th or 8th grade": (14.0, 1.9),
    **{f"{grade}th grade": (6.0 + grade, 1.8) for grade in (9, 10, 11)},
    **dict.fromkeys(("12th grade, no diploma", "12th grade - no diploma"), (18.0, 1.2)),
    **dict.fromkeys(("High school graduate", "High school graduate - diploma"), (18.0, 27.0)),
    **dict.fromkeys(("GED or equivalent", "High school graduate - GED"), (18.5, 3.0)),
    **dict.fromkeys(("Some college, no degree", "Some college but no degree"), (19.0, 18.0)),
    "AA degree: technical/vocational/occupational": (20.5, 4.5),
    "AA degree: academic program": (20.5, 4.0),
    "Associate degree - occupational vocational": (20.5, 4.5),
    "Associate degree - academic program": (20.5, 4.5),
    "Bachelor's degree": (22.0, 17.0),
    "Master's degree": (25.0, 6.5),
    "Professional school degree": (26.0, 1.5),
    "Professional degree": (26.0, 1.5),
    "Doctoral degree": (28.0, 1.2),
}
IHIS_PERSONS = (103477, 98785, 97059, 100618, 100760, 93386, 92148, 94460, 98649, 75716, 75764, 74236, 88446)
IHIS_YEARS = {str(1997 + place): persons for place, persons in enumerate(IHIS_PERSONS)}
"""Persons a year in the survey behind IHIS, as remembered; they add up to the number of records of the paper."""
IHIS_RACES = {
    "White": 76.0,
    "Black/African-American": 15.0,
    "Aleut, Alaskan Native, or American Indian": 0.7,
    "American Indian": 0.2,
    "Chinese": 0.8,
    "Filipino": 0.9,
    "Asian Indian": 0.8,
    "Other Asian or Pacific Islander (1997-1998)": 1.8,
    "Other Asian (1999-2005)": 1.7,
    "Other Race (1997-1998)": 4.0,
    "Other Race (1999-2002)": 3.5,
    "Primary Race not releasable": 1.0,
    "Multiple Race, No Primary Race Selected": 0.6,
    "Unknown-refused": 0.1,
    "Unknown-not ascertained": 0.05,
    "Unknown (1997forward: Don't know)": 0.05,
}
"""A race with years in its name is coded in these years only."""
PLACES = {  # in the household, from 1; half as many at each place after the last
    "child": [3, 80, 400, 330, 110],
    "youth": [260, 170, 300, 140, 60],
    "adult": [790, 100, 50, 25, 10],
    "husband": [670, 320, 4, 3, 2],
    "wife": [310, 680, 4, 3, 2],
}
ATUS_FOREIGN = {"Northeast": 0.15, "Midwest": 0.07, "South": 0.11, "West": 0.2}
ATUS_RACES = {  # by where a person was born; all other races share 2 per cent, by Zipf
    "native": {"White only": 84.0, "Black only": 12.5, "Asian only": 1.0, "American Indian, Alaskan Native": 0.9},
    "Asia": {"White only": 18.0, "Black only": 1.0, "Asian only": 79.0},
    "Africa": {"White only": 36.0, "Black only": 60.0, "Asian only": 2.0},
    "South America": {"White only": 88.0, "Black only": 9.0, "Asian only": 1.0},
    "abroad": {"White only": 90.0, "Black only": 6.0, "Asian only": 2.0},
}
NIU = "NIU (Not in universe)"
US = "U.S., n.s."
TERRITORIES = ("Puerto Rico", "Guam", "American Samoa", "U.S. Virgin Islands", "U.S. outlying areas, n.s.")
HOUSEHOLDS = 0.24
"""The share of ATUS records that describe a household: all but the region is not in universe. A guess, as sex and age
may be out of universe there, and the region never is."""
UNLINKED = 0.02
"""The share of persons whose origin is not known, for they joined the household after the first survey."""


class Conditional:
    """A distribution over values for each of several conditions, drawn from by one binary search a record."""

    def __init__(self, weights: Weights) -> None:
        """``weights`` has a row a condition and a column a value; rows need not add up to anything."""
        bounds = np.cumsum(weights, axis=1)
        self._width = weights.shape[1]
        self._bounds = (bounds / bounds[:, -1:] + np.arange(len(bounds))[:, None]).ravel()

    def draw(self, rng: np.random.Generator, conditions: Codes) -> Codes:
        """One value a record, given its condition. A value without weight is never drawn."""
        at = np.minimum(conditions + rng.random(len(conditions)), np.nextafter(conditions + 1.0, 0.0))
        return np.asarray(np.searchsorted(self._bounds, at, side="right") - conditions * self._width)


def zipf(size: int, exponent: float) -> Weights:
    """Weights of ranks 1, 2, …, which add up to 1."""
    weights = np.arange(1, size + 1) ** -exponent
    return np.asarray(weights / weights.sum())


def table(values: Sequence[str], weights: Mapping[str, float | Weights], conditions: int = 1) -> Weights:
    """A row a condition, a column a value; values that are not named have no weight.

    Raises:
        ValueError: a named value is not in the hierarchy, so that the file is not the one this was written for.
    """
    made = np.zeros((conditions, len(values)))
    for value, weight in weights.items():
        made[:, values.index(value)] = weight
    return made


def only(weights: Weights, rows: npt.NDArray[np.bool_], value: int) -> Weights:
    """The same table, but under some conditions nothing but one value."""
    return np.where(rows[:, None], np.arange(weights.shape[1]) == value, weights)


def sigmoid(x: npt.NDArray[np.floating[Any]]) -> Weights:
    """From 0 to 1 around 0."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def age_weights(top: Mapping[range, int]) -> Weights:
    """The population by age, one row; ages in a range of ``top`` count as the age it is coded to."""
    weights = np.asarray(np.interp(AGES, *AGE_CURVE))
    for ages, code in top.items():
        total = weights[ages].sum()
        weights[ages] = 0.0
        weights[code] = total
    return weights[None, :]


def women() -> Weights:
    """The share of women by age: more of the old."""
    return np.asarray(0.49 + 0.17 * np.clip((AGES - 55) / 35, 0, 1))


def by_region(values: Sequence[str], weights: Mapping[str, float] = REGIONS) -> Weights:
    """Weights of regions in the order of the file, by default their shares of the population."""
    return np.array([weights[value.split("/")[-1]] for value in values])


def lives_in(race: str, values: Sequence[str]) -> Weights:
    """How much likelier a race is in each region than elsewhere."""
    known = (weights for pattern, weights in LIVES_IN.items() if re.search(pattern, race))
    return by_region(values, next(known, dict.fromkeys(REGIONS, 1.0)))


def marital() -> dict[str, Weights]:
    """Marital status by sex and age: 100 men, then 100 women; for those old enough to be asked."""
    age, female = np.tile(AGES, 2), np.repeat([0.0, 1.0], len(AGES))
    shares = {"never": 0.06 + 0.94 * sigmoid((27 - 2 * female - age) / 3)}
    shares["widowed"] = (0.3 + 0.4 * female) * sigmoid((age - 79 + 3 * female) / 6)
    shares["divorced"] = (0.11 + 0.03 * female) * sigmoid((age - 34) / 4) * (1 - 0.6 * sigmoid((age - 72) / 6))
    shares["separated"] = 0.2 * shares["divorced"]
    return shares | {"married": 1 - np.sum(list(shares.values()), axis=0)}


def schooling(values: Sequence[str], first_age: int) -> Weights:
    """Schooling by age: pupils near the usual grade, adults by what they may have reached; NIU below the first age."""
    pupils, old = sigmoid((18.5 - AGES) / 0.6), np.clip((AGES - 50) / 15, 0, None)
    unknown = [place for place, value in enumerate(values) if not value.startswith("NIU")]
    made = np.zeros((len(AGES), len(values)))
    for place, value in enumerate(values):
        if usual := SCHOOL.get(value.split(" (")[0]):
            reached, share = usual
            adults = (1 - pupils) * 0.01 * share * (1 + old if reached < 18 else 1 / (1 + 0.3 * old))
            made[:, place] = pupils * np.exp(-(((AGES - reached) / 0.8) ** 2))
            made[:, place] += adults * sigmoid((AGES - reached - 0.5) / 0.7)
            unknown.remove(place)
    if unknown:
        made[:, unknown] = 0.01 * zipf(len(unknown), 1.0)
    niu = next(place for place, value in enumerate(values) if value.startswith("NIU"))
    return only(made, first_age > AGES, niu)


class Ihis:
    """Persons of the Integrated Health Interview Series, 1997 to 2009."""

    def __init__(self, hierarchies: Mapping[str, Hierarchy]) -> None:
        self.values = values = {name: [row[0] for row in rows] for name, rows in hierarchies.items()}
        self._year = Conditional(table(values["YEAR"], IHIS_YEARS))
        self._quarter = Conditional(table(values["QUARTER"], {f"Quarter {n}": 26.0 - 0.4 * n for n in range(1, 5)}))
        self._region = Conditional(by_region(values["REGION"])[None, :])
        self._age = Conditional(age_weights({range(85, 100): 85})[:, :86])
        self._sex = Conditional(table(values["SEX"], {"Male": 1 - women(), "Female": women()}, len(AGES)))
        tail = 0.5 ** np.arange(1, len(values["PERNUM"]) - 4)
        places = np.array([[*first, *first[-1] * tail] for first in PLACES.values()]) + 0.01  # a few large households
        self._pernum = Conditional(places)
        status = marital()
        married = {"present": 0.98, "not in household": 0.016, "in household unknown": 0.002}
        weights = {f"Married - Spouse {where}": share * status["married"] for where, share in married.items()}
        weights |= {"Married": 0.002 * status["married"], "Unknown marital status": np.full(2 * len(AGES), 0.002)}
        weights |= {name.capitalize(): status[name] for name in ("widowed", "divorced", "separated")}
        asked = table(values["MARSTAT"], weights | {"Never married": status["never"]}, 2 * len(AGES))
        self._marstat = Conditional(only(asked, np.tile(AGES < 14, 2), values["MARSTAT"].index("NIU")))
        self._couple = np.array([value.startswith("Married") for value in values["MARSTAT"]])
        self._racea = Conditional(self._races())
        self._educ = Conditional(schooling(values["EDUC"], 5))

    def _races(self) -> Weights:
        """By year and region."""
        years, regions = self.values["YEAR"], self.values["REGION"]
        weights = {}
        for race, share in IHIS_RACES.items():
            coded = re.search(r"\((\d{4})-(\d{4})\)$", race)
            there = np.array([share if not coded or coded[1] <= year <= coded[2] else 0.0 for year in years])
            weights[race] = np.outer(there, lives_in(race, regions)).ravel()
        return table(self.values["RACEA"], weights, len(years) * len(regions))

    def draw(self, rng: np.random.Generator, records: int) -> dict[str, Codes]:
        """The codes of every column: of ages, the age itself."""
        all_alike = np.zeros(records, np.int64)
        year, quarter, region, age = (
            one.draw(rng, all_alike) for one in (self._year, self._quarter, self._region, self._age)
        )
        sex = self._sex.draw(rng, age)
        female = (sex == self.values["SEX"].index("Female")).astype(np.int64)
        marstat = self._marstat.draw(rng, female * len(AGES) + age)
        place = np.where(age < 18, 0, np.where(self._couple[marstat], 3 + female, 1 + (age >= 25)))
        return {
            "YEAR": year,
            "QUARTER": quarter,
            "REGION": region,
            "PERNUM": self._pernum.draw(rng, place),
            "AGE": age,
            "MARSTAT": marstat,
            "SEX": sex,
            "RACEA": self._racea.draw(rng, year * len(self.values["REGION"]) + region),
            "EDUC": self._educ.draw(rng, age),
        }


class Atus:
    """Households and persons of the American Time Use Survey. Ages 80 to 84 are coded 80, older ones 85."""

    def __init__(self, hierarchies: Mapping[str, Hierarchy]) -> None:
        self.values = values = {name: [row[0] for row in rows] for name, rows in hierarchies.items()}
        self._niu = {name: listed.index(NIU) for name, listed in values.items() if name != "Region"}
        self._code_of_age = np.array([values["Age"].index(str(age)) for age in AGES])
        self._region = Conditional(by_region(values["Region"])[None, :])
        self._age = Conditional(age_weights({range(80, 85): 80, range(85, 100): 85}))
        self._sex = Conditional(table(values["Sex"], {"Male": 1 - women(), "Female": women()}, len(AGES)))
        status, child = marital(), np.tile(AGES < 15, 2)
        weights = {name.capitalize(): status[name] for name in ("widowed", "divorced", "separated")}
        weights |= {"Never married": status["never"], "Married - spouse present": 0.97 * status["married"]}
        weights |= {"Married - spouse absent": 0.03 * status["married"]}
        asked = table(values["Marital status"], weights, 2 * len(AGES))
        self._marital = Conditional(only(asked, child, self._niu["Marital status"]))
        asked = table(values["Labor force status"], self._labor(), 2 * len(AGES))
        self._labor_force = Conditional(only(asked, child, self._niu["Labor force status"]))
        self._citizenship = Conditional(self._citizenships())
        self._birthplace = Conditional(self._birthplaces())
        origins = dict(hierarchy[:2] for hierarchy in hierarchies["Birthplace"])
        native = dict.fromkeys((US, *TERRITORIES), "native")
        kinds = [origin if origin in ATUS_RACES else "abroad" for origin in (origins | native).values()]
        self._origin = np.array([list(ATUS_RACES).index(kind) for kind in kinds])
        self._race = Conditional(self._races())
        self._school = Conditional(schooling(values["Highest level of school completed"], 15))

    def _labor(self) -> dict[str, Weights]:
        """By sex and age: 100 men, then 100 women."""
        age, female = np.tile(AGES, 2), np.repeat([0.0, 1.0], len(AGES))
        active = (0.9 - 0.14 * female) * sigmoid((age - 18) / 2) * sigmoid((63 - age) / 3.5) + 0.02
        looking = 0.04 + 0.1 * sigmoid((22 - age) / 3)
        return {
            "Employed - at work": active * (0.95 - looking),
            "Employed - absent": active * 0.04,
            "Unemployed - on layoff": active * 0.01,
            "Unemployed - looking": active * looking,
            "Not in labor force": 1 - active,
        }

    def _citizenships(self) -> Weights:
        """By region and age (below 18, below 65, above)."""
        foreign = np.outer([ATUS_FOREIGN[region] for region in self.values["Region"]], [0.35, 1.2, 0.9]).ravel()
        naturalized = np.tile([0.2, 0.4, 0.7], len(self.values["Region"]))
        weights: dict[str, float | Weights] = {
            "Foreign born, not a U.S. citizen": foreign * (1 - naturalized),
            "Foreign born, U.S. citizen by naturalization": foreign * naturalized,
            "Native, born in United States": 0.987 - foreign,
            "Native, born abroad of American parent or parents": 0.009,
            "Native, born in Puerto Rico or U.S. Outlying Area": 0.004,
        }
        return table(self.values["Citizenship status"], weights, len(foreign))

    def _birthplaces(self) -> Weights:
        """By citizenship. Countries follow a Zipf law by their rank in the file, with Mexico first of all."""
        places, statuses = self.values["Birthplace"], self.values["Citizenship status"]
        abroad = [place for place in places if place not in (US, NIU, "Mexico", *TERRITORIES)]
        foreign = dict(zip(["Mexico", *abroad], zipf(len(abroad) + 1, 1.15), strict=True))
        islands = dict(zip(TERRITORIES, zipf(len(TERRITORIES), 2.0), strict=True))
        made = np.repeat(table(places, foreign), len(statuses), axis=0)
        made[statuses.index(NIU)] = table(places, {NIU: 1.0})
        made[statuses.index("Native, born in United States")] = table(places, {US: 1.0})
        made[statuses.index("Native, born in Puerto Rico or U.S. Outlying Area")] = table(places, islands)
        return made

    def _races(self) -> Weights:
        """By origin and region."""
        races, regions = self.values["Race"], self.values["Region"]
        made = []
        for known in ATUS_RACES.values():
            rest = [race for race in races if race not in known and race != NIU]
            weights = known | dict(zip(rest, 2.0 * zipf(len(rest), 1.8), strict=True))
            there = {race: weight * lives_in(race, regions) for race, weight in weights.items()}
            made.append(table(races, there, len(regions)))
        return np.concatenate(made)

    def draw(self, rng: np.random.Generator, records: int) -> dict[str, Codes]:
        """The codes of every column."""
        all_alike, regions = np.zeros(records, np.int64), len(self.values["Region"])
        region, age = self._region.draw(rng, all_alike), self._age.draw(rng, all_alike)
        sex = self._sex.draw(rng, age)
        female = (sex == self.values["Sex"].index("Female")).astype(np.int64)
        citizenship = self._citizenship.draw(rng, region * 3 + np.digitize(age, [18, 65]))
        birthplace = self._birthplace.draw(rng, citizenship)
        origin = {
            "Race": self._race.draw(rng, self._origin[birthplace] * regions + region),
            "Citizenship status": citizenship,
            "Birthplace": birthplace,
        }
        unlinked = rng.random(records) < UNLINKED
        person = {
            "Age": self._code_of_age[age],
            "Sex": sex,
            **{name: np.where(unlinked, self._niu[name], codes) for name, codes in origin.items()},
            "Marital status": self._marital.draw(rng, female * len(AGES) + age),
            "Labor force status": self._labor_force.draw(rng, female * len(AGES) + age),
            "Highest level of school completed": self._school.draw(rng, age),
        }
        household = rng.random(records) < HOUSEHOLDS
        return {"Region": region} | {n: np.where(household, self._niu[n], codes) for n, codes in person.items()}


@dataclass(frozen=True, slots=True)
class Dataset:
    """What the paper says of a dataset, and what draws records like its own."""

    quasi_identifiers: tuple[str, ...]
    sensitive: str
    records: int
    population: type[Ihis] | type[Atus]


DATASETS = {
    "ihis": Dataset(("YEAR", "QUARTER", "REGION", "PERNUM", "AGE", "MARSTAT", "SEX", "RACEA"), "EDUC", 1_193_504, Ihis),
    "atus": Dataset(
        ("Region", "Age", "Sex", "Race", "Marital status", "Citizenship status", "Birthplace", "Labor force status"),
        "Highest level of school completed",
        539_253,
        Atus,
    ),
}


def ihis_ages() -> Hierarchy:
    """The hierarchy of ages 0 to 84 and 85+: intervals of 5, 10 and 20 years."""

    def interval(age: int, width: int) -> str:
        lower = age // width * width
        return f"{lower}+" if lower + width > 85 else f"{lower}-{lower + width - 1}"

    labels = [*map(str, range(85)), "85+"]
    return [[label, *(interval(age, width) for width in (5, 10, 20)), "*"] for age, label in enumerate(labels)]


def hierarchy_file(name: str, column: str, data: Path, beside: Path) -> Path:
    """Where the hierarchy of a column is: that of ages of IHIS beside the generated records, others with the data."""
    return (beside.parent if column == "AGE" else data / name) / f"{name}_hierarchy_{column}.csv"


def write(name: str, data: Path, out: Path, records: int | None = None) -> None:
    """Write a Parquet file of records of ``ihis`` or ``atus``, and beside it the hierarchy of ages of IHIS.

    Args:
        name: a key of ``DATASETS``.
        data: the folder that holds ``ihis`` and ``atus``.
        out: the Parquet file; every column is text.
        records: by default as many as the paper has. Memory does not grow with it.

    Raises:
        FileNotFoundError: a hierarchy is not in the folder of data.
        ValueError: a hierarchy lacks a value that has a weight here.
    """
    dataset = DATASETS[name]
    records = dataset.records if records is None else records
    if name == "ihis":
        rows = "".join(";".join(row) + "\n" for row in ihis_ages())
        hierarchy_file(name, "AGE", data, out).write_text(rows)
    hierarchies = {}
    for column in (*dataset.quasi_identifiers, dataset.sensitive):
        with hierarchy_file(name, column, data, out).open(newline="") as file:
            hierarchies[column] = list(csv.reader(file, delimiter=";"))
    population = dataset.population(hierarchies)
    values = {column: pa.array(listed, pa.string()) for column, listed in population.values.items()}
    schema = pa.schema([(column, pa.dictionary(pa.int32(), pa.string())) for column in values])
    with parquet.ParquetWriter(out, schema, store_schema=False) as writer:  # readers see text, not dictionaries
        for number, start in enumerate(range(0, records, BATCH)):
            codes = population.draw(np.random.default_rng((SEED, number)), BATCH)
            arrays = [pa.DictionaryArray.from_arrays(codes[c].astype(np.int32), values[c]) for c in values]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema).slice(0, records - start))


def policy(name: str, data: Path, source: Path, **changes: Any) -> sqlanon.Policy:
    """The policy of the paper's eight quasi-identifiers: k = 5, 5 %, loss; ``changes`` replace keys of the policy."""
    columns = {
        column: {
            "role": "quasi_identifier",
            "hierarchy": {"file": str(hierarchy_file(name, column, data, source).absolute())},
        }
        for column in DATASETS[name].quasi_identifiers
    }
    return sqlanon.Policy.from_dict(
        {
            "source": str(source.absolute()),
            "undeclared": "drop",
            "columns": columns,
            "privacy": [{"type": "k_anonymity", "k": 5}],
            "suppression_limit": 0.05,
            "quality": {"measure": "loss", "aggregate": "arithmetic_mean"},
            **changes,
        }
    )


def main() -> None:
    """Write the file and report one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds ihis and atus")
    parser.add_argument("--out", type=Path, required=True, help="the Parquet file to write")
    parser.add_argument("--records", type=int, help="by default as many as the paper has")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    write(arguments.name, arguments.data, arguments.out, arguments.records)
    seconds = time.perf_counter() - begun
    records = parquet.read_metadata(arguments.out).num_rows
    print(json.dumps({"dataset": arguments.name, "records": records, "seconds": round(seconds, 2)}))


if __name__ == "__main__":
    main()
