"""Snapshots of a search: what they are expected to save, and that nothing else depends on them."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from random_worlds import document, load, random_world

import sqlanon
from sqlanon.core.evaluate import snapshots
from sqlanon.core.evaluate.snapshots import SnapshotStore
from sqlanon.core.source import packing

SMALL_TABLES = {"SMALL": 3, "LEAST_WORK": 0, "SETUP_ROWS": 0, "AGAIN": 1000, "WORTH": 1.0}
"""Constants that are made small, so that small tables have snapshots."""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL_TABLES.items():
        monkeypatch.setattr(snapshots, name, value)


def searched(connection: duckdb.DuckDBPyConnection, wanted: dict[str, Any]) -> tuple[Any, int]:
    """The optimum with its certificate, proof and ledger, judged by SQL; and the snapshots that were kept."""
    policy = sqlanon.Policy.from_dict({**wanted, "search": {"where": "engine"}})
    try:
        with sqlanon.plan(connection, policy) as plan:
            answer = plan.node, plan.certificate, plan.proof, plan.ledger
            return answer, plan._session.snapshots.materialised
    except sqlanon.NoSolutionError as error:
        return error.message, 0


@pytest.mark.slow
@pytest.mark.parametrize("word_bits", [packing.WORD_BITS, 7])
@seeds(30, 10, first=4200)
@pytest.mark.usefixtures("eager")
def test_a_search_with_snapshots_finds_and_proves_the_same(
    block: Block, word_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "WORD_BITS", word_bits)
    kept = 0
    for seed in block:
        rng, world = random.Random(seed), random_world(seed)
        with duckdb.connect() as connection:
            load(connection, world)
            wanted = document(world, rng)
            try:
                found, made = searched(connection, wanted)
            except sqlanon.UnsupportedError:
                continue
            with monkeypatch.context() as without:
                without.setattr(SnapshotStore, "prepare", lambda *_: None)
                assert searched(connection, wanted) == (found, 0), seed
            kept += made
    assert enough(kept > 3)


def numbered(connection: duckdb.DuckDBPyConnection, records: int) -> dict[str, Any]:
    """A policy over a table of which hardly any two records are equal, and whose persons have three records each."""
    rng = random.Random(3)
    columns = {name: pa.array([rng.randrange(256) for _ in range(records)]) for name in "abc"}
    rows = pa.table({**columns, "person": pa.array([record // 3 for record in range(records)])})
    connection.register("rows", rows)
    connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    levels = {"intervals": {"width": 4, "fanouts": [4, 4], "lower": 0, "upper": 256}}
    quasi = {name: {"role": "quasi_identifier", "hierarchy": levels} for name in "abc"}
    k_anonymity = [{"type": "k_anonymity", "k": 5}]
    return {"table": "t", "columns": {**quasi, "person": {"role": "drop"}}, "privacy": k_anonymity}


@pytest.mark.parametrize("entity", [None, "person"])
def test_the_rows_of_a_grain_are_estimated_from_a_sample(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, entity: str | None
) -> None:
    monkeypatch.setattr(snapshots, "SAMPLE_ROWS", 1000)
    wanted = numbered(connection, 12_000)
    if entity is not None:
        wanted["entity"] = entity
        del wanted["columns"][entity]
    policy = sqlanon.Policy.from_dict({**wanted, "suppression_limit": 1.0, "search": {"where": "engine"}})
    with sqlanon.plan(connection, policy) as plan:
        store = plan._session.snapshots
        nodes = [(0, 0, 0), (1, 0, 0), (1, 1, 1), (2, 1, 2), (2, 2, 2), (3, 3, 2)]
        store._estimate(nodes)
        assert 500 < plan._session.engine.run("rows", 'SELECT COUNT(*) FROM "sqlanon_base_sample"')[0][0] < 2000
        for node in nodes:
            masks = plan.catalog.grain_masks(node)
            query = snapshots.roll_up("sqlanon_base", masks, has_entity=entity is not None)
            rows = len(plan._session.engine.run("rows", query))
            assert 0.8 * rows <= store._estimates[node] <= 3 * rows, node


@pytest.mark.usefixtures("eager")
def test_a_grain_that_was_expected_to_be_small_and_is_not_is_dropped_and_not_tried_again(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "WORTH", 0.6)
    policy = sqlanon.Policy.from_dict({**numbered(connection, 500), "search": {"where": "engine"}})
    with sqlanon.plan(connection, policy) as plan:
        store = SnapshotStore(plan._session.engine, plan.catalog)
        monkeypatch.setattr(store, "_estimate", lambda nodes: store._estimates.update(dict.fromkeys(nodes, 1)))
        asked = [(0, 1, 0), (1, 0, 0), (0, 0, 1)]
        store.prepare(asked)
        assert store.materialised == 0 and store._refused == {*asked, (0, 0, 0)}
        before = plan._session.engine.journal.statements
        store.prepare(asked)
        assert plan._session.engine.journal.statements == before
