"""The replayable script is SQL that a fresh database runs, with the same release at its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet
import sqlglot

import sqlanon
from sqlanon.demo import generate


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
