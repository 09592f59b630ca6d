"""The cells of tables of counts on every engine, against a brute force in plain Python over invented records."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counted_worlds import AGES, as_table, brute_cells, cells_of, counted_by, records
from effort import Block, seeds
from engine_kinds import KINDS, SOURCE, Kind, duckdb, forget

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.publish.targets import Target
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table
from sqlanon.counts import counting
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.grid import with_common_margins
from sqlanon.counts.protecting import protect
from sqlanon.counts.released import released_rows
from sqlanon.counts.verb import release_counts

TABLES: dict[str, Any] = {
    "one": {"by": {"dimensions": {"sex": 0, "age": [1, 2]}}},
    "three-way": {"by": {"dimensions": {"sex": 0, "age": 2, "region": 0}}},
    "linked": {
        "ages": {"dimensions": {"sex": 0, "age": [0, 1]}, "margins": ["age"]},
        "regions": {"dimensions": ["region"]},
    },
    "apart": {
        "ages": {"dimensions": ["age"], "margins": False},
        "regions": {"dimensions": ["region"], "margins": False},
    },
}


def document(tables: str = "one", *, entity: bool = True, measures: Any = (), **changes: Any) -> dict[str, Any]:
    """A document over the table of the engine."""
    found: dict[str, Any] = {"table": "t", "counts": {n: dict(item) for n, item in TABLES[tables].items()}}
    if any("age" in item["dimensions"] for item in found["counts"].values()):
        found["columns"] = {"age": AGES}
    if measures:
        next(iter(found["counts"].values()))["measures"] = list(measures)
    return found | ({"entity": "person"} if entity else {}) | changes


@pytest.fixture(params=KINDS, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine in turn."""
    kind: Kind = request.param
    opened = kind.open(request)
    yield opened
    opened.close()


@pytest.fixture
def duck() -> Iterator[DuckDBEngine]:
    """A DuckDB of its own."""
    with duckdb() as opened:
        yield opened


def agree(engine: Engine, seed: int, asked: dict[str, Any]) -> None:
    """An engine counts what the brute force counts, and sums it where the document asks for that."""
    rows = records(random.Random(seed))
    expected = brute_cells(rows, asked)
    if not any("measures" in item for item in asked["counts"].values()):
        expected = {key: (value[0], 0.0, 0.0, 0.0) for key, value in expected.items()}
    assert cells_of(counted_by(engine, rows, asked)) == expected


@pytest.mark.parametrize("measures", [(), ({"sum": "cost"},)], ids=["counts", "sums"])
@pytest.mark.parametrize("entity", [True, False], ids=["entities", "records"])
@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["basic", "extended"])
def test_every_engine_counts_the_same_cells(engine: Engine, entity: bool, measures: Any, nulls: str) -> None:
    agree(engine, 5, document("linked", entity=entity, measures=measures, nulls=nulls))


@pytest.mark.slow
@seeds(12, size=4)
@pytest.mark.parametrize("tables", TABLES)
def test_cells_are_those_of_the_brute_force(tables: str, block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not the records of an entity are grouped before they are counted."""
    for seed in block:
        monkeypatch.setattr(counting, "MANY_RECORDS", -1.0 if seed % 2 else 1.5)
        for entity in (True, False):
            for measures in ((), ({"mean": "cost"},)):
                nulls = "basic" if seed % 3 == 0 else "extended"
                with duckdb() as engine:
                    agree(engine, seed, document(tables, entity=entity, measures=measures, nulls=nulls))


@seeds(12, size=4)
@pytest.mark.parametrize("tables", TABLES)
def test_relations_hold_of_the_true_values(tables: str, block: Block) -> None:
    """A sum where each entity has one category, else between the largest child and the sum; no sum is overlooked."""
    for seed in block:
        for entity in (True, False):
            with duckdb() as engine:
                counted = counted_by(engine, records(random.Random(seed)), document(tables, entity=entity))
            seen = 0
            for step in counted.grid.steps():
                for parent, own in counted.grid.parts(*step).items():
                    values = counted.contributors[own]
                    whole = counted.contributors[parent]
                    assert whole == sum(values) if counted.grid.is_sum(*step) else max(values) <= whole <= sum(values)
                seen += counted.grid.is_sum(*step)
            assert entity or seen == len(list(counted.grid.steps()))
            sexes = next((d for d in counted.grid.dimensions if d.name == "sex"), None)
            assert sexes is None or not sexes.several, "each person has one sex"


@seeds(12, size=6)
@pytest.mark.parametrize("tables", TABLES)
def test_counts_tell_of_entities_in_several_categories_as_the_records_do(tables: str, block: Block) -> None:
    """Where a dimension has its total without others, no record is read again; each step is as a brute force says."""
    for seed in block:
        rows = records(random.Random(seed))
        with duckdb() as engine:
            grid = counted_by(engine, rows, document(tables)).grid
            asked = [entry for entry in engine.journal.entries if entry.name == "entities of several categories"]
        assert bool(asked) == (tables == "linked"), "no set of linked tables has the ages alone"
        region = next((d for d in grid.dimensions if d.name == "region"), None)
        if region is not None:
            own = {(row["person"], row["region"]) for row in rows}
            assert ((0, None) in region.several) == (len(own) > len({person for person, _ in own}))


def test_a_category_of_left_out_records_alone_is_not_shown(duck: DuckDBEngine) -> None:
    rows = [{"person": n, "sex": "f", "age": 30, "region": "a", "cost": 1} for n in range(5)]
    rows.append({"person": 9, "sex": None, "age": 50, "region": "rare", "cost": 1})
    counted = counted_by(duck, rows, document("three-way", nulls="basic"))
    texts = {text for dimension in counted.grid.dimensions for text in dimension.texts}
    assert "rare" not in texts
    assert (counted.records, counted.left_out) == (6, 1)


def test_a_table_without_records_has_no_cells_but_the_total(duck: DuckDBEngine) -> None:
    counted = counted_by(duck, [], document(entity=False))
    assert len(counted.grid) == 1
    assert not np.any(counted.contributors)


def test_common_margins_close_the_sets() -> None:
    assert with_common_margins([(0, None, 1), (0, 1, None)]) == [(0, None, 1), (0, 1, None), (0, None, None)]
    assert with_common_margins([(0, 0)]) == [(0, 0)]
    assert with_common_margins([(0, 1), (2, 0)]) == [(0, 1), (2, 0), (2, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "file"])
def test_every_engine_releases_the_same_table(engine: Engine, tmp_path: Path, output: str) -> None:
    """What an engine shows was audited as it was written, and is what DuckDB shows."""
    if not engine.capabilities.has("tables") and output == "table":
        pytest.skip("it publishes no tables")
    rows, asked = records(random.Random(5)), document("three-way")
    with duckdb() as other:
        counted = counted_by(other, rows, asked)
        policy = CountsPolicy.from_dict(asked)
        expected = released_rows(counted, policy, protect(counted, policy).suppressed).to_pylist()
    target = str(tmp_path / "counts.csv") if output == "file" else "shown_counts"
    policy = CountsPolicy.from_dict(asked | {"output": {output: target}})
    engine.load("source", SOURCE, as_table(rows), replayed=False)
    relation = table(SOURCE)
    source = Source(engine, relation, dict(engine.catalog.columns(relation)), None, "" if output == "table" else None)
    try:
        release = release_counts(policy, source, Target.of(source, policy.policy, policy.policy.output), 0.0)
        assert release.rows.to_pylist() == expected
    finally:
        forget(engine, "shown_counts")
