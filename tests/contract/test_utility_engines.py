"""Utility is the same on every engine."""

import random
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import KINDS, Kind, by_duckdb, planned
from policies import diverse, document_of, quasi

from sqlanon.core.engines.base import Engine


@pytest.fixture(params=[kind for kind in KINDS if kind.name != "spark"], ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of engine in turn; a cluster takes minutes for so many small statements."""
    return request.param


def records() -> pa.Table:
    """Three hundred people: numbers, dates and texts, NULLs among them."""
    chance = random.Random(7)
    count = 300
    days = [f"19{chance.randint(40, 99)}-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}" for _ in range(count)]
    return pa.table(
        {
            "age": pa.array([chance.choice([None, *range(20, 60)]) for _ in range(count)], pa.int32()),
            "born": pa.array(days).cast(pa.date32()),
            "town": [chance.choice(["Ulm", "Bonn", "Jena", "", None]) for _ in range(count)],
            "amount": pa.array([chance.choice([None, 0.0, -0.5, 10.25, 1e6]) for _ in range(count)], pa.float64()),
            "illness": [chance.choice(["flu", "cold", "cough", None]) for _ in range(count)],
            "person": [f"p{chance.randint(0, 120)}" for _ in range(count)],
        }
    )


def document(**more: Any) -> dict[str, Any]:
    ages = {str(age): [f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*"] for age in range(20, 60)}
    columns = {
        "age": quasi({"levels": ages}, max_level=1),
        "born": quasi({"dates": {"levels": ["year", "decade"]}}),
        "town": "suppress",
        "amount": "keep",
        "illness": diverse(2),
        "person": "drop",
    }
    return document_of(columns, more, k=3, table="t", suppression_limit=0.4)


CASES: dict[str, dict[str, Any]] = {
    "records": {},
    "entities": {"entity": "person"},
    "no NULLs": {"nulls": "basic"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_utility_is_that_of_duckdb(engine: Engine, case: str) -> None:
    asked = document(**CASES[case])

    def useful(other: Engine) -> dict[str, Any]:
        with planned(other, records(), asked) as plan:
            counted = plan.published_types().count_values(other, plan.catalog)
            return {**plan.utility("illness", queries=50).to_dict(), "counted": counted}

    found, expected = useful(engine), by_duckdb(useful, records(), asked)
    assert comparable(found) == comparable(expected)
    assert 0 < expected["published"] < expected["records"]


def comparable(found: Any) -> Any:
    """The facts with figures rounded; engines write the texts of floats in their own ways."""
    if isinstance(found, dict):
        number = found.get("label") in ("0", "1000000")
        return {
            name: f"{value}.0" if number and name == "label" else comparable(value) for name, value in found.items()
        }
    if isinstance(found, list):
        return [comparable(value) for value in found]
    return round(found, 9) if isinstance(found, float) else found
