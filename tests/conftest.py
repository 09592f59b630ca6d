"""Shared fixtures. Real datasets are used when they stand beside the checkout; a user's machine skips those tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import pyarrow as pa
import pytest
from spark_cluster import cluster
from xdist.scheduler import LoadScopeScheduling

hypothesis.settings.register_profile("no deadlines", deadline=None)  # a machine may be busy
hypothesis.settings.load_profile("no deadlines")

CLUSTER = "spark"


class Scheduler(LoadScopeScheduling):
    """A module runs on one worker, for its tests share what they prepare; so does all that asks a cluster of Spark,
    which takes longer to start and to warm up than its tests."""

    def _split_scope(self, nodeid: str) -> str:
        return CLUSTER if CLUSTER in nodeid else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler:
    """How tests are given to workers."""
    return Scheduler(config, log)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real datasets and oracles."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the real datasets are not on this machine")
    return SHARED


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """An engine on a cluster of Spark: one for all tests of a process, for it takes long to start."""
    with cluster() as engine:
        yield engine


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """An open DuckDB database in memory."""
    with duckdb.connect() as made:
        yield made


def text_table(connection: duckdb.DuckDBPyConnection, columns: list[str], rows: list[tuple], name: str = "t") -> None:
    """Make a table of text columns."""
    data = pa.table({c: pa.array([r[i] for r in rows], pa.string()) for i, c in enumerate(columns)})
    connection.register("arrow_rows", data)
    quoted = name.replace('"', '""')
    connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM arrow_rows')
    connection.unregister("arrow_rows")
