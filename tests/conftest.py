"""Shared fixtures. Real datasets are used when they stand beside the checkout; a user's machine skips those tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import hypothesis
import pytest
from postgres_server import Server, server
from spark_cluster import cluster
from tables import text_table
from xdist.scheduler import LoadScopeScheduling

import sqlanon

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


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for the tests of one module."""
    with server() as running:
        yield running


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """An open DuckDB database in memory."""
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def plan(connection: duckdb.DuckDBPyConnection) -> Iterator[sqlanon.Plan]:
    """A solved plan over a small table of four columns, in the database of ``connection``."""
    rows = [tuple(str((i * p) % 7) for p in (1, 2, 3, 5)) for i in range(0, 400, 3)] + [("8", "8", "8", "8")]
    columns = ["a", "b", "c", "d"]
    text_table(connection, columns, rows)
    levels = {str(v): [str(v // 2), str(v // 4), "*"] for v in range(9)}
    document = {
        "table": "t",
        "columns": {c: {"role": "quasi_identifier", "hierarchy": {"levels": levels}} for c in columns},
        "privacy": [{"type": "k_anonymity", "k": 6}],
        "suppression_limit": 0.3,
    }
    with sqlanon.plan(connection, sqlanon.Policy.from_dict(document)) as found:
        yield found
