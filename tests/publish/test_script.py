"""The replayable script is SQL that a fresh database runs, with the same release at its end."""

import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
import sqlglot
from effort import Block, enough, seeds
from pyarrow import parquet
from random_worlds import document, load, random_world

import sqlanon
from sqlanon.commands.demo_world import generate


@pytest.mark.slow
def test_the_script_replays_to_the_same_release(tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_file(generate(tmp_path / "demo", records=3000))
    with sqlanon.anonymize(None, policy) as release:
        script = release.sql
    statements = [s.sql("duckdb") for s in sqlglot.parse(script, dialect="duckdb") if s is not None]
    with duckdb.connect() as fresh:
        for statement in statements:
            result = fresh.execute(statement)
        replayed = Counter(result.fetchall())
    released = parquet.read_table(tmp_path / "demo" / "released.parquet")
    assert replayed == Counter(zip(*released.to_pydict().values()))
    assert len(replayed) > 10


@seeds(15, 5)
def test_the_script_of_any_model_replays(block: Block) -> None:
    replayed = 0
    for seed in block:
        world = random_world(seed)
        policy = {**document(world, random.Random(seed)), "suppression_limit": 1}
        with duckdb.connect() as connection:
            load(connection, world)
            try:
                release = sqlanon.anonymize(connection, policy)
            except sqlanon.NoSolutionError:
                continue
            with release:
                wanted = Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))
                script = release.sql
        with duckdb.connect() as fresh:
            load(fresh, world)
            assert Counter(fresh.execute(script).fetchall()) == wanted, seed
            replayed += 1
    assert enough(replayed > 0)
