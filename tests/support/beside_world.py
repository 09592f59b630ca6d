"""Persons with columns that identify them, and visits of persons; what a release gives away, counted row by row."""

import datetime
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

QUASI: dict[str, Any] = {
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2, 2], "upper": 100}}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
    "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
}


def persons(number: int = 600, seed: int = 3) -> pa.Table:
    """A record a person. ``years`` is ``age`` with some noise, ``decade`` follows from it; notes are often missing."""
    draw = random.Random(seed)
    ages = [draw.randrange(20, 80) for _ in range(number)]
    first, last = [f"f{i}" for i in range(60)], [f"l{i}" for i in range(90)]
    day = datetime.datetime(2024, 1, 1)
    return pa.table(
        {
            "age": pa.array(ages, pa.int64()),
            "zip": [f"{draw.randrange(40):04d}" for _ in range(number)],
            "sex": [draw.choice("fm") for _ in range(number)],
            "email": [f"p{i}@example.org" for i in range(number)],
            "name": [f"{draw.choice(first)} {draw.choice(last)}" for _ in range(number)],
            "ssn": pa.array(draw.sample(range(10**8, 10**9), number), pa.int64()),
            "account": pa.array([float(i) for i in draw.sample(range(10**6), number)], pa.float64()),
            "note": [f"note {draw.random()}" if draw.random() < 0.6 else None for _ in range(number)],
            "years": pa.array([age + (draw.random() < 0.02) for age in ages], pa.int64()),
            "age_copy": [str(age) for age in ages],
            "about": pa.array([age + (draw.random() < 0.12) for age in ages], pa.int64()),
            "surname": [draw.choice(last) for _ in range(number)],
            "salary": pa.array([draw.randrange(200, 2000) * 10 for _ in range(number)], pa.int64()),
            "weight": pa.array([draw.gauss(70, 9) for _ in range(number)], pa.float64()),
            "seen": pa.array([day + datetime.timedelta(seconds=draw.randrange(10**7)) for _ in range(number)]),
            "diagnosis": [f"d{min(int(draw.paretovariate(0.7)), 60)}" for _ in range(number)],
            "stay": pa.array([draw.choice([1, 2, 2, 3, 3, 3, None]) for _ in range(number)], pa.int64()),
        }
    )


IDENTIFYING = ("email", "name", "ssn", "account", "note", "years", "age_copy", "surname")
OTHERS = ("about", "salary", "weight", "seen", "diagnosis", "stay")


def visits(people: int = 400, seed: int = 5) -> pa.Table:
    """Some visits of each person: age, ZIP code and sex stay the same, the quarter does not. ``pseudonym`` is another
    name of the person, ``blood`` one of four groups."""
    draw = random.Random(seed)
    rows = []
    for person in range(people):
        own = (f"p{person:04d}", draw.randrange(20, 80), f"{draw.randrange(12):03d}", draw.choice("fm"))
        further = (f"x{person * 7919 % 100_003}", draw.choice(["A", "B", "AB", "0"]))
        rows += [(*own, draw.randrange(4), *further) for _ in range(draw.randrange(1, 6))]
    draw.shuffle(rows)
    names = ["person", "age", "zip", "sex", "quarter", "pseudonym", "blood"]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def document(table: pa.Table, published: Sequence[str], **changes: Any) -> dict[str, Any]:
    """A policy by which some columns are kept and the others are not published."""
    columns = {name: column for name, column in QUASI.items() if name in table.column_names}
    return {
        "table": "t",
        "columns": columns | {name: {"role": "keep"} for name in published},
        "undeclared": "drop",
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.1,
        **changes,
    }


def alone(released: pa.Table, columns: Sequence[str], k: int = 2) -> int:
    """The records of a release that agree in these columns with so few others that they are fewer than ``k``."""
    rows = Counter(zip(*(released.column(name).to_pylist() for name in columns), strict=True))
    return sum(count for count in rows.values() if count < k)


def apart(rows: Sequence[tuple[Any, tuple[Any, ...]]], k: int) -> int:
    """Of pairs (person, class): how many persons stand in a set of classes that fewer than k persons share."""
    sets: defaultdict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for person, of_class in rows:
        sets[person].add(of_class)
    sharing = Counter(map(frozenset, sets.values()))
    return sum(sharing[frozenset(found)] < k for found in sets.values())
