"""Exact copies of records and rows of sums are said with their counts, on every engine, and never with a value."""

import random
import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import KINDS, SOURCE, Kind

from sqlanon.assess.profiling.profile import profile_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
PLACES = ("Bern", "Köln", "Total knee", "Lyon", None)


def warnings(kind: Kind, request: pytest.FixtureRequest, columns: dict[str, list[Any]]) -> str:
    """What the profile of a table warns of."""
    engine = kind.open(request)
    try:
        engine.load("source", SOURCE, pa.table(columns), replayed=False)
        relation = table(SOURCE)
        opened = Source(engine, relation, dict(engine.catalog.columns(relation)), None, None)
        return " ".join(profile_source(opened).warnings)
    finally:
        engine.drop(SOURCE)
        engine.close()


def hospital(chance: random.Random, records: int) -> list[tuple[Any, ...]]:
    """Records of persons: a place, an age, an amount and a number of stays."""
    return [
        (chance.choice(PLACES), chance.randint(0, 99), round(chance.uniform(1, 900), 2), chance.randint(1, 400))
        for _ in range(records)
    ]


def columns_of(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """The columns of records."""
    return {name: [row[i] for row in rows] for i, name in enumerate(("place", "age", "amount", "stays"))}


@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_copies_are_counted_as_a_brute_force_counts_them(kind: Kind, request: pytest.FixtureRequest) -> None:
    chance = random.Random(7)
    rows = hospital(chance, 300)
    rows += [chance.choice(rows) for _ in range(20)]
    held = [count for count in Counter(rows).values() if count > 1]
    found = warnings(kind, request, columns_of(rows))
    expected = f"{sum(held)} records are exact copies of each other in all 4 columns: {sum(held) - len(held)} more"
    assert expected in found


@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_a_sum_row_is_said_and_a_sum_of_a_part(kind: Kind, request: pytest.FixtureRequest) -> None:
    rows = hospital(random.Random(8), 300)
    summed = (" SUMME 2024:", None, round(sum(row[2] for row in rows), 1), sum(row[3] for row in rows))
    part = ("Zwischensumme", None, 7431.5, 51)
    found = warnings(kind, request, columns_of([*rows[:50], part, *rows[50:], summed]))
    assert "2 records have a word for a total in 'place'; 1 of them hold the sum of the other records" in found
    assert "exact copies" not in found
    assert not re.search("(?i)summe|7431|Bern", found.replace("sum of", ""))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_a_category_that_is_called_total_is_no_sum(kind: Kind, request: pytest.FixtureRequest) -> None:
    rows = [("total" if i % 3 else "partial", *row[1:]) for i, row in enumerate(hospital(random.Random(9), 300))]
    assert "total" not in warnings(kind, request, columns_of(rows))
    few = [("total" if i < 3 else "Bern", *row[1:]) for i, row in enumerate(rows)]
    assert "3 records have a word for a total in 'place', and none holds the sum" in warnings(
        kind, request, columns_of(few)
    )


def test_what_cannot_be_compared_is_said_and_no_record_is_no_fault(request: pytest.FixtureRequest) -> None:
    kind = KINDS[0]
    same = {"a": ["x", "x"], "b": [1, 1], "c": [[1], [2]]}
    assert "in all 2 columns that can be compared (1 cannot)" in warnings(kind, request, same)
    none: dict[str, list[Any]] = {"a": [], "b": []}
    assert "copies" not in warnings(kind, request, none)


@pytest.mark.slow
def test_copies_in_a_table_of_few_values_are_different_persons(request: pytest.FixtureRequest) -> None:
    chance = random.Random(4)
    few = {"sex": chance.choices("mf", k=300), "band": chance.choices(["20", "40", "60"], k=300)}
    assert "copies" not in warnings(KINDS[0], request, {**few, "x": [*range(2), *[2] * 298]})
    assert "300 records are exact copies" in warnings(KINDS[0], request, few)  # none is its own


@pytest.mark.slow
def test_many_copies_are_said_where_chance_explains_few(request: pytest.FixtureRequest) -> None:
    """A third of the records are entries made again, of a table that can tell all of them apart."""
    rows = hospital(random.Random(5), 300)
    rows += rows[:150]
    assert "300 records are exact copies" in warnings(KINDS[0], request, columns_of(rows))
