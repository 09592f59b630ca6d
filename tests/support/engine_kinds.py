"""The engines that keep the contract: how a test gets one, and why it is skipped where there is none.

Each is opened over data that the tests make: records are loaded into a table ``t`` of the engine, and everything runs
on that, so that one suite serves embedded databases, servers and clusters alike.
"""

import importlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from effort import Block
from postgres_server import Server
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.sqlite.engine import SQLiteEngine
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.evaluate.session import Session
from sqlanon.core.evaluate.snapshots import SnapshotStore
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.policy import Output
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.base import Problem, Request, Verdict
from sqlanon.core.source.encoding import Encoding, encode_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table

SOURCE = "t"
SLOW: dict[str, tuple[str, ...]] = {
    "case_name": ("several",),
    "measure": ("discernibility",),
    "output": ("table",),
    "fault": ("small class",),
    "nulls": ("extended",),
}
"""Of the cases of a test, those that a cluster is asked for: its statements take tenths of a second."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the engines.

    Attributes:
        cases: how many random cases are worth their time: a statement of a cluster costs tenths of a second.
        open: makes a new one; skips where it cannot.
    """

    name: str
    cases: int
    open: Callable[[pytest.FixtureRequest], Engine]

    @property
    def seeds(self) -> Block:
        """Return the seeds of random cases: of those that have a solution, the first ones."""
        return Block(11, self.cases)

    def is_asked(self, params: Mapping[str, Any]) -> bool:
        """Return whether this engine is asked for a case with these parameters."""
        return self.cases > 1 or all(params[name] in asked for name, asked in SLOW.items() if name in params)

    def __str__(self) -> str:
        return self.name


def _postgres(request: pytest.FixtureRequest) -> Engine:
    module = _module("postgres")
    server: Server = request.getfixturevalue("postgres")
    opened: Engine = module.PostgresEngine(server.uri())
    return opened


def _spark(request: pytest.FixtureRequest) -> Engine:
    module = _module("spark")
    opened: Engine = module.SparkEngine(request.getfixturevalue("spark")._cluster.session)
    return opened


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"sqlanon.core.engines.{name}.engine")
    except ImportError as error:
        pytest.skip(f"the engine {name} cannot be used here: {error.name or error} is missing")


KINDS = (
    Kind("duckdb", 3, lambda request: DuckDBEngine()),
    Kind("sqlite", 9, lambda request: SQLiteEngine()),
    Kind("postgres", 6, _postgres),
    Kind("spark", 1, _spark),
)


@contextmanager
def duckdb() -> Iterator[DuckDBEngine]:
    """The engine that the others are compared with."""
    with closing(DuckDBEngine()) as engine:
        yield engine


@dataclass(frozen=True, slots=True)
class Encoded:
    """Records that an engine encoded, ready to be judged there."""

    engine: Engine
    encoding: Encoding
    problem: Problem
    evaluator: Evaluator
    snapshots: SnapshotStore
    policy: sqlanon.Policy

    def verdicts(self, nodes: list[tuple[int, ...]]) -> list[Verdict]:
        """What the engine says of some nodes, with all that can be asked of them."""
        bottom = self.problem.lattice.bottom
        return self.evaluator.judge([Request(node, bottom) for node in nodes], exact=True)


def encoded(engine: Engine, data: pa.Table, document: dict[str, Any]) -> Encoded:
    """Load records and encode them."""
    policy = sqlanon.Policy.from_dict(document)
    engine.load("source", SOURCE, data, replayed=False)
    source = table(SOURCE)
    encoding = encode_source(engine, source, policy, dict(engine.catalog.columns(source)))
    problem, models = build_problem(engine, encoding, policy)
    snapshots = SnapshotStore(engine, encoding.catalog)
    evaluator = Evaluator(engine, snapshots, problem, models)
    return Encoded(engine, encoding, problem, evaluator, snapshots, policy)


def planned(engine: Engine, data: pa.Table, document: dict[str, Any]) -> Plan:
    """Load records, encode them and search, where the policy says."""
    policy = sqlanon.Policy.from_dict(document)
    engine.load("source", SOURCE, data, replayed=False)
    relation = table(SOURCE)
    source = Source(engine, relation, dict(engine.catalog.columns(relation)), None, None)
    encoding = encode_source(engine, relation, policy, source.types)
    return search_plan(Session.begin(policy, policy, source, encoding, {"encode": 0.0}))


def judged_as_by_duckdb(engine: Engine, data: pa.Table, document: dict[str, Any]) -> list[Verdict]:
    """Hold what an engine encodes and says of some nodes against DuckDB; what it says."""
    here = encoded(engine, data, document)
    nodes = some_nodes(here.problem, 1)
    verdicts = here.verdicts(nodes)

    def judged(other: Engine) -> tuple[Any, list[Verdict]]:
        there = encoded(other, data, document)
        return there.problem.catalog, there.verdicts(nodes)

    assert (here.problem.catalog, verdicts) == by_duckdb(judged, data, document)
    return verdicts


def published_as_by_duckdb(engine: Engine, data: pa.Table, document: dict[str, Any]) -> Ledger:
    """Hold the ledger and the released table of an engine against DuckDB; its ledger."""
    engine.capabilities.require("tables")

    def published(other: Engine) -> tuple[Ledger, Counter[tuple[Any, ...]]]:
        with planned(other, data, document) as there:
            return there.ledger, rows_of_table(there.publish(None).to_arrow())

    with planned(engine, data, document) as here:
        try:
            release = here.publish(Output("table", "released"))
            assert (here.ledger, rows_of_table(release.to_arrow())) == by_duckdb(published, data, document)
        finally:
            forget(engine, "released")
    return here.ledger


def by_duckdb(ask: Callable[[Engine], Any], data: pa.Table, document: dict[str, Any]) -> Any:
    """What DuckDB answers. It is asked once in a process for all other engines."""
    question = f"{ask.__module__} {ask.__qualname__} {document!r} {data.to_pydict()!r}"
    if question not in _answers:
        with duckdb() as engine:
            _answers[question] = ask(engine)
    return _answers[question]


_answers: dict[str, Any] = {}


def rows_of_table(data: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table as a multiset, whatever their order."""
    return Counter(zip(*[column.to_pylist() for column in data.columns], strict=True))


def texts(columns: dict[str, list[str | None]]) -> pa.Table:
    """A table of texts."""
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def some_nodes(problem: Problem, seed: int, count: int = 6) -> list[tuple[int, ...]]:
    """Random nodes of a lattice."""
    draw = random.Random(seed)
    heights = [attribute.height for attribute in problem.catalog.attributes]
    return list(dict.fromkeys(tuple(map(draw.randrange, heights)) for _ in range(count)))


def forget(engine: Engine, *relations: str) -> None:
    """Drop what was published, which outlives an engine on a server."""
    for name in relations:
        where = engine.targets.place([name], None)
        found = engine.catalog.existing(where)
        if found:
            engine.run("tidy", exp.Drop(tables=[where.table], kind=found.upper()))
