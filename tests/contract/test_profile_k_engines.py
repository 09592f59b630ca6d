"""Persons by all of their rows on every engine: the verdicts, ledgers and releases of DuckDB, audits and proofs."""

import random
from typing import Any

import pyarrow as pa
import pytest
from clinic_visits import document
from engine_kinds import duckdb, judged_as_by_duckdb, published_as_by_duckdb

from sqlanon.core.audit.check import check_relation
from sqlanon.core.engines.base import Engine
from sqlanon.core.models.profile_k import ProfileK
from sqlanon.core.sqltrees.trees import table


def treated(persons: int = 60) -> pa.Table:
    """Visits of persons, of whom many have the course of treatment of another."""
    rng = random.Random(5)
    courses = [[(rng.choice("123"), rng.choice("ab")) for _ in range(rng.choice([1, 2, 2, 3, 5]))] for _ in range(9)]
    rows = [(str(person), *visit) for person in range(persons) for visit in rng.choice(courses)]
    rows += [(str(persons + i), rng.choice("123"), None) for i in range(4)]
    rng.shuffle(rows)
    names = ("person_id", "zip", "ward")
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


def policy_of(**changes: Any) -> dict[str, Any]:
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in ("zip", "ward")}
    keys = document(source=None, table="t", privacy=[{"type": "profile_k", "k": 4}], suppression_limit=0.4)
    return keys | {"columns": columns, "undeclared": "drop"} | changes


@pytest.mark.parametrize("where", ["auto", "engine"])
@pytest.mark.slow
def test_verdicts_are_those_of_duckdb(engine: Engine, where: str) -> None:
    verdicts = judged_as_by_duckdb(engine, treated(), policy_of(search={"where": where}))
    assert any(verdict.suppressed_entities for verdict in verdicts)


@pytest.mark.slow
def test_few_known_rows_are_judged_as_by_duckdb(engine: Engine) -> None:
    keys = policy_of(privacy=[{"type": "profile_k", "k": 4, "at_most": 2}])
    assert any(verdict.suppressed_entities for verdict in judged_as_by_duckdb(engine, treated(), keys))


@pytest.mark.slow
def test_releases_are_those_of_duckdb(engine: Engine) -> None:
    assert published_as_by_duckdb(engine, treated(), policy_of()).suppressed


def test_a_relation_is_checked_by_persons(engine: Engine) -> None:
    engine.load("t", "treated", treated(), replayed=False)
    try:
        found = check_relation(
            engine, table("treated"), quasi_identifiers=["zip", "ward"], models=[ProfileK(k=4)], entity="person_id"
        )
    finally:
        engine.drop("treated")
    with duckdb() as other:
        other.load("t", "treated", treated(), replayed=False)
        there = check_relation(
            other, table("treated"), quasi_identifiers=["zip", "ward"], models=[ProfileK(k=4)], entity="person_id"
        )
    assert found == there
    assert not found.holds
