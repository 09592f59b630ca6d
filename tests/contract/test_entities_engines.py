"""Entities on every engine: the verdicts, ledgers and releases of DuckDB, and audits that count persons there too."""

from typing import Any

import pytest
from clinic_visits import document, visits
from engine_kinds import KINDS, Kind, judged_as_by_duckdb, planned, published_as_by_duckdb, texts
from mistakes import classes_of_records

from sqlanon.core.compiler import distinct_entities
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Output
from sqlanon.errors import AuditError, InputError

MODELS: dict[str, list[dict[str, Any]]] = {
    "distinct": [{"type": "distinct_l_diversity", "l": 3}],
    "entropy": [{"type": "entropy_l_diversity", "l": 2.5}],
    "recursive": [{"type": "recursive_l_diversity", "l": 2, "c": 2}],
    "disclosure": [{"type": "delta_disclosure", "delta": 1.5}],
    "likeness": [{"type": "beta_likeness", "beta": 1, "enhanced": True}],
    "equal": [{"type": "t_closeness", "t": 0.35}],
}


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of engine in turn."""
    if request.param.cases == 1 and request.node.callspec.params.get("models", MODELS["equal"]) != MODELS["equal"]:
        pytest.skip("statements of a cluster take long, and another model stands for this one")
    return request.param


def policy_of(models: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    keys = document(source=None, table="t", **changes)
    return keys | {"columns": keys["columns"] | {"illness": {"role": "sensitive", "models": models}}}


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
@pytest.mark.slow
def test_verdicts_are_those_of_duckdb(engine: Engine, models: list[dict[str, Any]]) -> None:
    verdicts = judged_as_by_duckdb(engine, visits(), policy_of(models))
    assert any(verdict.suppressed_entities for verdict in verdicts)


@pytest.mark.slow
def test_releases_are_those_of_duckdb(engine: Engine) -> None:
    published_as_by_duckdb(engine, visits(), policy_of(MODELS["distinct"]))


def test_nothing_is_published_when_the_search_counted_records(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    keys = document(source=None, table="t", privacy=[{"type": "k_anonymity", "k": 50}], suppression_limit=1)
    plan = planned(engine, visits(), keys | {"columns": columns, "undeclared": "drop"})
    with plan, pytest.raises(AuditError, match="small_classes"):
        plan.publish(Output("table", "mistaken"))


def test_records_of_nobody_are_refused(engine: Engine) -> None:
    data = texts({"zip": ["a", "b"], "person_id": ["1", None]})
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    keys = document(source=None, table="t") | {"columns": columns}
    with pytest.raises(InputError, match="NULL in 1 records"):
        planned(engine, data, keys)
