"""What PostgreSQL's planner makes of our statements: every row is expected, and no join is by part of a key."""

import json
import random
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from policies import document_of
from postgres_server import Server, execute
from sqlglot import exp

import sqlanon
from sqlanon.core.compiler import readable, readable_nodes
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.sqltrees import names

pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")

RECORDS = 2000
CODES = ("a", "b", "c", "d")
EXPLAIN = (
    "CREATE FUNCTION pg_temp.explained(query text) RETURNS SETOF json LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query; END $$"
)
"""The driver reads the rows of a SELECT only."""


@pytest.fixture
def visits(postgres: Server) -> Iterator[Server]:
    """Records with four codes of five digits, whose path codes take two words of the key, and columns of few values."""
    drawn = random.Random(7)
    rows = ", ".join(
        "({})".format(
            ", ".join([*(f"'{drawn.randrange(100000):05}'" for _ in CODES), str(drawn.randrange(5)), str(i % 7)])
            if i % 11
            else "NULL, '00001', '00002', '00003', NULL, 3"
        )
        for i in range(RECORDS)
    )
    execute(
        postgres,
        "CREATE TABLE visits (a TEXT, b TEXT, c TEXT, d TEXT, sex INTEGER, finding INTEGER)",
        f"INSERT INTO visits VALUES {rows}",
    )
    yield postgres
    execute(postgres, "DROP TABLE visits")


def visits_policy(server: Server, **changes: Any) -> sqlanon.Policy:
    quasi = {name: {"role": "quasi_identifier", "hierarchy": {"redact": {"direction": "right"}}} for name in CODES}
    sex = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    finding = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    document = document_of(
        {**quasi, "sex": sex, "finding": finding}, k=2, source=server.uri(), table="visits", suppression_limit=0.5
    )
    return sqlanon.Policy.from_dict({**document, **changes})


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes_of(part)


def explained(engine: Any, statement: exp.Query) -> list[dict[str, Any]]:
    """The nodes of the plan of a statement that ran."""
    engine.run("explain", EXPLAIN)
    try:
        query = "SELECT CAST(plan AS TEXT) FROM pg_temp.explained($1) AS plan"
        found = engine.run("explain", query, [engine.render(statement)])
    finally:
        engine.run("explain", "DROP FUNCTION pg_temp.explained(text)")
    return list(nodes_of(json.loads(found[0][0])[0]["Plan"]))


def check_joins(nodes: list[dict[str, Any]]) -> None:
    """Joins of all records are expected to have as many rows as they have, and none compares rows one by one."""
    joins = [node for node in nodes if "Join" in node["Node Type"]]
    whole = [node for node in joins if node["Actual Rows"] >= RECORDS / 2]
    assert len(whole) >= 5, [node["Node Type"] for node in nodes]
    for node in joins:
        assert "Join Filter" not in node, node
        assert node["Actual Rows"] <= RECORDS, "a join by part of a key multiplies records"
    for node in whole:
        if "key_" in str(node.get("Hash Cond")):  # of keys there are no statistics, but nothing is joined to its result
            assert node is joins[0] and str(node["Hash Cond"]).count(" = ") == 2
            continue
        assert node["Plan Rows"] >= node["Actual Rows"] / 10, node
    assert not [node for node in nodes if node["Node Type"] == "Nested Loop" and node["Actual Rows"] > 1]


def test_the_release_joins_every_record_once_and_by_whole_keys(visits: Server) -> None:
    with sqlanon.plan(None, visits_policy(visits)) as plan:
        assert plan.catalog.words == 2
        check_joins(explained(plan._session.engine, plan._release_query()))


def test_a_verification_joins_by_numbers_that_the_planner_knows(visits: Server) -> None:
    policy = visits_policy(visits)
    opened = open_policy_source(None, policy)
    with closing(opened.engine) as engine:
        encoding = encode_source(engine, opened.relation, policy, opened.types, numbered=True)
        problem, models = build_problem(engine, encoding, policy)
        engine.create("originals", names.ORIGINALS, readable.originals(encoding.source))
        chosen = {number: tuple(number for _ in encoding.catalog.attributes) for number in range(2)}
        generalized = readable_nodes.generalized(problem.catalog, chosen.values())
        nodes = explained(engine, generalized)
        check_joins(nodes)
        engine.create("generalized", names.GENERALIZED, generalized)
        nodes += explained(engine, readable_nodes.judged(problem.catalog, models, chosen))
    assert not [node for node in nodes if node["Node Type"] == "Nested Loop" and node["Actual Rows"] > 1]
    assert not [node for node in nodes if "Join Filter" in node]
    conditions = " ".join(str(node.get(key, "")) for node in nodes for key in ("Hash Cond", "Merge Cond"))
    assert "COALESCE" not in conditions and "IS NULL" not in conditions
