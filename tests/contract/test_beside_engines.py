"""What is judged beside the quasi-identifiers is the same on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from beside_world import IDENTIFYING, OTHERS, document, persons, visits
from engine_kinds import KINDS, Kind, duckdb, planned

from sqlanon.core.engines.base import Engine
from sqlanon.errors import IdentifyingColumnError


@pytest.fixture(params=KINDS, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine in turn."""
    kind: Kind = request.param
    opened = kind.open(request)
    yield opened
    opened.close()


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
    with planned(engine, data, asked) as here, duckdb() as other, planned(other, data, asked) as there:
        assert here.levels == there.levels
        assert here.beside == there.beside
        assert here.all_warnings[-1] == there.all_warnings[-1] != ""


@pytest.mark.slow
def test_identifying_columns_are_those_of_duckdb(engine: Engine) -> None:
    with pytest.raises(IdentifyingColumnError) as refused:
        planned(engine, persons(), document(persons(), (*IDENTIFYING, *OTHERS)))
    assert tuple(refused.value.columns) == IDENTIFYING
