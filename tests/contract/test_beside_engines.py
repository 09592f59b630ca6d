"""What is judged beside the quasi-identifiers is the same on every engine."""

from typing import Any

import pytest
from beside_world import IDENTIFYING, OTHERS, document, persons, visits
from engine_kinds import by_duckdb, planned

from sqlanon.core.engines.base import Engine
from sqlanon.errors import IdentifyingColumnError


def of_visits() -> dict[str, Any]:
    quarter = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    asked = document(visits(), ("pseudonym", "blood"), entity="person", accept=["pseudonym"], suppression_limit=0.5)
    return asked | {"columns": asked["columns"] | {"quarter": quarter}}


CASES = {
    "persons": (persons, lambda: document(persons(), (*IDENTIFYING, *OTHERS), accept=list(IDENTIFYING))),
    "visits": (visits, lambda: document(visits(), ())),
    "visits of persons": (visits, of_visits),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_findings_are_those_of_duckdb(engine: Engine, case: str) -> None:
    data, asked = (make() for make in CASES[case])

    def findings(other: Engine) -> tuple[Any, ...]:
        with planned(other, data, asked) as plan:
            return plan.levels, plan.beside, plan.all_warnings[-1]

    found = findings(engine)
    assert found == by_duckdb(findings, data, asked) and found[-1] != ""


@pytest.mark.slow
def test_identifying_columns_are_those_of_duckdb(engine: Engine) -> None:
    with pytest.raises(IdentifyingColumnError) as refused:
        planned(engine, persons(), document(persons(), (*IDENTIFYING, *OTHERS)))
    assert tuple(refused.value.columns) == IDENTIFYING
