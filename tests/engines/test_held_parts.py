"""What an embedded DuckDB beside a cluster answers of a statement that joins the base with records (engines/spark)."""

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from policies import document_of, intervals
from sqlglot import exp
from tables import store

import sqlanon
from sqlanon.core.engines.spark.held import HELD, HeldTables
from sqlanon.core.sqltrees import names

HIERARCHY = {"groups": {"lung": ["flu", "cold"], "joint": ["gout"]}}
MODELS: dict[str, dict[str, Any]] = {
    "k": {"privacy": [{"type": "k_anonymity", "k": 3}]},
    "l": {"models": [{"type": "distinct_l_diversity", "l": 2}, {"type": "entropy_l_diversity", "l": 1.5}]},
    "t": {"models": [{"type": "t_closeness", "t": 0.5, "distance": "hierarchical"}], "hierarchy": HIERARCHY},
}


@pytest.fixture(params=MODELS)
def planned(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A plan that suppresses records."""
    rng, asked = random.Random(7), MODELS[request.param]
    people = pa.table(
        {
            "zip": [rng.choice(["10", "11", "20", None]) if i % 29 else f"9{i % 7}" for i in range(400)],
            "age": pa.array([rng.randrange(20, 60) for _ in range(400)], pa.int64()),
            "illness": [rng.choice(["flu", "cold", "gout"]) for _ in range(400)],
        }
    )
    connection = duckdb.connect()
    store(connection, people, "people")
    illness = {key: asked[key] for key in ("models", "hierarchy") if key in asked}
    columns = {
        "zip": "redact",
        "age": intervals(10, 2),
        "illness": {"role": "sensitive", **illness} if illness else {"role": "keep"},
    }
    policy = document_of(
        columns, table="people", privacy=asked.get("privacy", [{"type": "k_anonymity", "k": 2}]), suppression_limit=0.3
    )
    with sqlanon.plan(connection, policy) as plan:
        assert plan.ledger.suppressed > 0
        yield plan


@pytest.fixture
def held(planned: Any) -> Iterator[HeldTables]:
    """The tables of the plan that would stand beside a cluster, the base among them."""
    tables = HeldTables(planned.engine.journal)
    for (name,) in planned.engine.run("tables", "SELECT table_name FROM duckdb_tables() WHERE temporary"):
        if name.startswith(HELD) or name == names.BASE:
            tables.load(
                "load", name, planned.engine.arrow("read", exp.select("*").from_(exp.to_table(name, quoted=True)))
            )
    yield tables
    tables.close()


@pytest.mark.slow
def test_a_release_joins_the_classes_that_were_found_beside_the_cluster_with_its_records(
    planned: Any, held: HeldTables
) -> None:
    """The cluster reads neither the base nor what judges its classes, and publishes the same rows."""
    query = planned._release_query()
    expected = sorted(planned.engine.run("release", query), key=repr)
    before = query.sql()
    changed, parts = held.parts_of(query)
    assert query.sql() == before
    assert len(parts) == 1
    read = {found.name for found in changed.find_all(exp.Table)}
    assert names.BASE not in read and "judged" not in read and set(parts) < read
    for name, part in parts.items():
        assert held.answers(part)
        planned.engine.load("part", name, held.arrow("part", part))
    planned.engine.drop(names.BASE)
    assert sorted(planned.engine.run("release", changed), key=repr) == expected


@pytest.mark.slow
def test_without_a_base_beside_the_cluster_a_statement_stays_as_it_is(planned: Any, held: HeldTables) -> None:
    query = planned._release_query()
    held.drop(names.BASE)
    assert held.parts_of(query) == (query, {})


@pytest.mark.slow
def test_parts_that_read_the_base_and_records_stay_on_the_cluster(planned: Any, held: HeldTables) -> None:
    base, people = names.BASE, "people"
    both = exp.select("*").from_(exp.to_table(base)).join(exp.to_table(people), join_type="cross")
    named_so = exp.select(exp.Count(this=exp.Star())).from_(exp.to_table(base, db="main"))
    recursive = exp.select("*").from_("r").with_("r", as_=exp.select("*").from_(base), recursive=True)
    for query in (
        exp.select("*").from_("both").with_("both", as_=both),
        exp.select("*").from_("other").with_("other", as_=named_so),
        recursive,
    ):
        assert held.parts_of(query) == (query, {})
