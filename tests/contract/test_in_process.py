"""Nodes are judged in the process as by SQL, which is the definition: every field of every verdict is the same."""

import dataclasses
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest
from effort import Block, enough, seeds
from random_worlds import document, load, mapped_world, random_release_world, random_world

import sqlanon
from sqlanon.core.anonymizer import encoded_session
from sqlanon.core.evaluate import grains, grouping, held_grains, in_process, key_layout, node_costs
from sqlanon.core.evaluate.arrays import fetch
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.evaluate.in_process import InProcess, can_judge
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.lattice.nodes import leq
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.search.base import Request, Verdict
from sqlanon.core.source import packing


class TooFewBits(Exception):
    """A key was made too narrow for a table."""


@dataclasses.dataclass(frozen=True, slots=True)
class Both:
    """One encoded source, judged both ways."""

    by_sql: Evaluator
    in_process: Evaluator
    nodes: list[tuple[int, ...]]


@contextmanager
def both(connection: duckdb.DuckDBPyConnection, wanted: dict[str, Any]) -> Iterator[Both]:
    """Encode the table ``t`` of a connection for a policy."""
    policy = sqlanon.Policy.from_dict({**wanted, "search": {"where": "engine"}})
    with encoded_session(connection, policy, None) as (session, _):
        problem, models = build_problem(session.engine, session.encoding, policy)
        if not can_judge(problem.catalog, models):
            raise TooFewBits
        local = InProcess(fetch(session.engine, session.encoding.catalog))
        given = session.engine, session.snapshots, problem, models
        yield Both(Evaluator(*given), Evaluator(*given, local=local), list(problem.lattice.nodes()))
        session.close()


def difference(found: Any, wanted: Any, path: str = "verdict") -> str | None:
    """Where two verdicts differ, floating-point numbers by more than 1e-12 of their size; None: nowhere."""
    if dataclasses.is_dataclass(wanted):
        pairs = [(f".{f.name}", getattr(found, f.name), getattr(wanted, f.name)) for f in dataclasses.fields(wanted)]
    elif isinstance(wanted, tuple | list):
        if len(found) != len(wanted):
            return f"{path}: {len(found)} and {len(wanted)} items"
        pairs = [(f"[{i}]", a, b) for i, (a, b) in enumerate(zip(found, wanted, strict=True))]
    elif isinstance(wanted, float) or isinstance(found, float):
        return None if math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-11) else f"{path}: {found} and {wanted}"
    else:
        return None if found == wanted and type(found) is type(wanted) else f"{path}: {found!r} and {wanted!r}"
    return next((d for name, a, b in pairs if (d := difference(a, b, path + name))), None)


def compare(judged: Both, rng: random.Random) -> list[Verdict]:
    """Judge all nodes in batches, in any order, with floors below them, as a search asks and then with all details."""
    nodes = rng.sample(judged.nodes, min(len(judged.nodes), 60))
    verdicts = []
    for exact in (False, True):
        for start in range(0, len(nodes), 7):
            batch = nodes[start : start + 7]
            requests = [Request(node, rng.choice([n for n in nodes if leq(n, node)])) for node in batch]
            wanted = judged.by_sql.judge(requests, exact=exact)
            found = judged.in_process.judge(requests, exact=exact)
            for one, other in zip(found, wanted, strict=True):
                assert difference(one, other) is None, (one.node, exact)
            verdicts += found
    return verdicts


NARROW = {
    "as it is": (),
    "grains at every floor": ((held_grains, "USES", 1), (held_grains, "SMALL", 0), (held_grains, "WORTH", 1.0)),
    "several words": ((packing, "WORD_BITS", 7), (held_grains, "USES", 1), (held_grains, "SMALL", 0)),
    "numbers of a rest": ((key_layout, "BITS", 24), (held_grains, "USES", 1), (held_grains, "SMALL", 0)),
    "ranks": ((key_layout, "BITS", 17), (grains, "WIDE", 8), (node_costs, "COUNTED_BITS", 0)),
    "large numbers": ((in_process, "WIDE", 1), (node_costs, "COUNTED_BITS", 1)),
}
"""Constants that are made small, so that small tables take every way through the code."""
WORLDS = [
    *[pytest.param(random_world, ways, id=name) for name, ways in NARROW.items()],
    *[
        pytest.param(random_release_world, NARROW[name], id=f"release models, {name}", marks=pytest.mark.slow)
        for name in ("several words", "ranks")
    ],
]


@pytest.mark.parametrize("make, ways", WORLDS)
@seeds(60, 10, first=9000)
@pytest.mark.slow
def test_both_ways_give_the_same_verdict(block: Block, make: Any, ways: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ways:
        monkeypatch.setattr(module, name, value)
    compared = suppressed = 0
    for seed in block:
        monkeypatch.setattr(grouping, "slots_are_faster", lambda even=seed % 2 == 0: even)
        mapped = make is random_world and not seed % 3
        rng, world = random.Random(seed), mapped_world(seed) if mapped else make(seed)
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                with both(connection, document(world, rng)) as judged:
                    verdicts = compare(judged, rng)
            except (sqlanon.NoSolutionError, sqlanon.UnsupportedError, TooFewBits):
                continue
            compared += len(verdicts)
            suppressed += any(verdict.suppressed > 0 for verdict in verdicts)
    assert enough(compared > 20 and suppressed)


@pytest.mark.slow
@pytest.mark.parametrize("wide", [64, 256, 4096])
def test_numbers_of_a_rest_that_are_ranked_midway_keep_their_values(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    """Columns that go together: their combinations are few, but the numbers of values multiply beyond a word."""
    monkeypatch.setattr(key_layout, "BITS", 20)
    monkeypatch.setattr(grains, "WIDE", wide)
    for name, value in {"USES": 1, "SMALL": 0, "WORTH": 1.0}.items():
        monkeypatch.setattr(held_grains, name, value)
    rng = random.Random(1)
    firsts = [rng.randrange(8) * 3 for _ in range(100)]
    rows = [[(first + place + (rng.random() < 0.1)) % 16 for place in range(5)] for first in firsts]
    connection.execute("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER, d INTEGER, e INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    connection.execute(
        "CREATE TABLE h AS SELECT i AS l0, 'q' || i // 4 AS l1, 'o' || i // 8 AS l2, '*' AS l3 FROM range(16) r(i)"
    )
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"table": "h"}} for name in "abcde"}
    privacy = [{"type": "k_anonymity", "k": 3}]
    wanted = {"table": "t", "columns": columns, "privacy": privacy, "suppression_limit": 1.0}
    with both(connection, wanted) as judged:
        compare(dataclasses.replace(judged, nodes=rng.sample(judged.nodes, 60)), rng)


def test_what_cannot_be_judged_in_the_process_is_judged_by_sql() -> None:
    """Counts whose sums a key or a floating-point number cannot hold, large bases, entities, models from outside."""
    k_anonymity = (KAnonymity(2),)
    small = catalog()
    assert can_judge(small, k_anonymity)
    assert not can_judge(dataclasses.replace(small, records=2**62), k_anonymity)
    assert not can_judge(dataclasses.replace(small, base_rows=in_process.MOST_ROWS + 1), k_anonymity)
    assert not can_judge(dataclasses.replace(small, entities=5), k_anonymity)
    assert not can_judge(small, (Stricter(2),))
    wide = dataclasses.replace(small.attributes[0], fields=((2**62 - 1, 0), (0, 2**62 - 1)), height=2)
    assert not can_judge(dataclasses.replace(small, attributes=(wide,)), k_anonymity)


class Stricter(KAnonymity):
    """A model from outside, whose file may mean anything."""


def catalog() -> Catalog:
    """Ten records of one attribute."""
    attribute = Attribute("a", "VARCHAR", 1, 4, ((3,),), (0,), (4,), (True,))
    return Catalog((attribute,), 1, 10, 0, 0, 4, 0)


def test_plans_over_one_source_share_what_was_fetched(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 3 AS b FROM range(100) AS r(i)")
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "ab"}
    policy = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 3}]}
    with sqlanon.plan(connection, policy) as plan:
        names = [item.table for item in plan._session.transferred]
        assert names == ["sqlanon_base", "sqlanon_leaf"]
        before = plan.engine.journal.counts()
        other = plan.with_privacy(sqlanon.Model("k_anonymity", {"k": 20}))
        assert other.levels != plan.levels
        assert plan.evaluate({"a": 1}).by_model == (("k_anonymity(k=3)", 0),)
        after = plan.engine.journal.counts()
        assert "evaluate" not in after and after["transfer"] == before["transfer"] == 2
        assert sum(plan.verdict_sources.values()) == plan.certificate.evaluated
    with sqlanon.plan(connection, {**policy, "search": {"where": "engine"}}) as plan:
        assert plan._session.transferred == () and plan.engine.journal.counts()["evaluate"]


def test_a_closed_plan_holds_no_rows_and_judges_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 3 AS b FROM range(100) AS r(i)")
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "ab"}
    policy = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 3}]}
    with sqlanon.plan(connection, policy) as plan:
        known = plan.evaluate({"a": 1})
    assert plan.evaluate({"a": 1}) is known
    with pytest.raises(sqlanon.EngineError, match="closed"):
        plan.evaluate({"a": 1, "b": 1})
