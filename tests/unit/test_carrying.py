"""What a search needs is carried to another engine whole, and nothing else; nodes are judged there as at the source."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from policies import document_of
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.snapshots import SnapshotStore
from sqlanon.core.evaluate.transfer import transfer, transferred_tables
from sqlanon.core.search.base import Request
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import EngineError

SECRET = "canary-7f3a"
NODES = [(0, 0), (1, 0), (0, 1), (1, 1)]


def people(rows: int = 400) -> pa.Table:
    rng = random.Random(1)
    return pa.table(
        {
            "zip": [rng.choice(["10", "11", "20", SECRET, None]) for _ in range(rows)],
            "sex": [rng.choice(["f", "m"]) for _ in range(rows)],
            "illness": [rng.choice(["flu", "cold", "asthma", None]) for _ in range(rows)],
        }
    )


def policy(models: list[dict[str, Any]]) -> sqlanon.Policy:
    illness = {
        "role": "sensitive",
        "hierarchy": {"levels": {"flu": ["airways", "*"], "cold": ["other", "*"], "asthma": ["airways", "*"]}},
        "models": models,
    }
    return sqlanon.Policy.from_dict(
        document_of(
            {"zip": "suppress", "sex": "suppress", "illness": illness}, k=40, table="people", suppression_limit=0.5
        )
    )


@contextmanager
def engines() -> Iterator[tuple[DuckDBEngine, DuckDBEngine]]:
    here, there = DuckDBEngine(), DuckDBEngine()
    try:
        yield here, there
    finally:
        here.close()
        there.close()


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_nodes_are_judged_from_what_was_carried_as_at_the_source(distance: str) -> None:
    wanted = policy([{"type": "t_closeness", "t": 0.05, "distance": distance}])
    with engines() as (here, there):
        here.load("source", "people", people())
        encoding = encode_source(here, table("people"), wanted, dict(here.catalog.columns(table("people"))))
        problem, models = build_problem(here, encoding, wanted)
        carried = transfer(here, there, problem.catalog)
        assert [item.table for item in carried] == list(transferred_tables(problem.catalog))
        assert carried[0].rows == encoding.catalog.base_rows
        found = []
        for engine in (here, there):
            evaluator = Evaluator(engine, SnapshotStore(engine, problem.catalog), problem, models)
            found.append(evaluator.judge([Request(node, (0, 0)) for node in NODES], exact=True))
        assert found[0] == found[1]
        assert any(verdict.suppressed for verdict in found[0])


def test_no_text_of_the_source_is_carried() -> None:
    wanted = policy([{"type": "distinct_l_diversity", "l": 2}])
    with engines() as (here, there):
        here.load("source", "people", people())
        encoding = encode_source(here, table("people"), wanted, dict(here.catalog.columns(table("people"))))
        carried = transfer(here, there, encoding.catalog)
        for item in carried:
            data = there.arrow("read", exp.select("*").from_(table(item.table)))
            texts = {
                f.name for f in data.schema if not pa.types.is_integer(f.type) and not pa.types.is_floating(f.type)
            }
            assert texts == ({"digit"} if item.table == names.MASKS else set())
            assert (item.rows, SECRET in str(data.to_pydict())) == (data.num_rows, False)
        assert not any(name == "transfer" for name, _ in there.replay)


class Wide:
    """An engine that hands over counts as decimals, and texts in another type of Arrow."""

    def __init__(self, kind: pa.DataType, value: int | Decimal) -> None:
        self.data = pa.table({"key_0": pa.array([value], kind), "digit": pa.array(["0"], pa.large_string())})

    def read_batches(self, name: str, table: str) -> Iterator[pa.Table]:
        yield from (self.data, self.data)


def catalog() -> Any:
    return sqlanon.core.lattice.catalog.Catalog((), 1, 1, 0, 0, 1, 0)


def test_counts_arrive_as_bigint_or_not_at_all() -> None:
    with engines() as (_, there):
        transfer(Wide(pa.decimal128(38, 0), Decimal(7)), there, catalog())
        assert there.catalog.columns(table(names.BASE)) == [("key_0", "BIGINT"), ("digit", "VARCHAR")]
        assert there.run("rows", exp.select("*").from_(table(names.BASE))) == [(7, "0"), (7, "0")]
        there.drop(names.BASE)
        with pytest.raises(EngineError, match="64 bits"):
            transfer(Wide(pa.uint64(), 2**63), there, catalog())
