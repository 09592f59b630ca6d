"""Tiers of the tests, the scheduler, and the fixtures that several modules share.

``python -m pytest`` runs the tests marked ``fast``, at a small effort; ``python -m pytest -m ""`` runs all.
The marks are given here: see ``MARKS``.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import effort
import hypothesis
import pytest
from engine_kinds import Kind
from postgres_server import Server, server
from spark_cluster import cluster
from tables import text_table
from xdist.scheduler import LoadScopeScheduling

import sqlanon

hypothesis.settings.register_profile("no deadlines", deadline=None)  # a machine may be busy
hypothesis.settings.load_profile("no deadlines")

SHARED = Path(__file__).resolve().parents[2] / "shared"
FAST = "fast"
MARKS = {
    "postgres": "needs a PostgreSQL server and its driver",
    "spark": "needs PySpark and Java",
    "dbt": "needs dbt, and builds projects with it",
    "chdb": "needs chDB, the embedded ClickHouse",
    "shared": "needs the real datasets and oracles that stand beside the checkout",
    "slow": "takes more than about one second, or ten at full effort",
}
"""The marks of tests that are not ``fast``. A test has the marks of the fixtures it uses, of the engine it is run on,
of the words in the name of its module, and those that are written above it."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks, and choose the effort and the reports of this tier."""
    config.addinivalue_line("markers", f"{FAST}: a test with none of the marks below; what runs by default")
    for name, reason in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {reason}")
    heed_signals()
    fast = config.option.markexpr == FAST
    effort.set_effort(fast)
    if not fast and config.option.durations is None:
        config.option.durations, config.option.durations_min = 10, 5.0


def heed_signals() -> None:
    """Take signals again that the shell has told this process to ignore, as it does for commands in the background.

    The tests interrupt themselves, and would wait for ever.
    """
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by what it needs, before pytest selects by marks."""
    for item in items:
        names = {*item.path.stem.split("_"), *getattr(item, "fixturenames", ())}
        callspec = getattr(item, "callspec", None)
        names |= {value.name for value in (callspec.params.values() if callspec else ()) if isinstance(value, Kind)}
        for name in names & MARKS.keys():
            item.add_marker(name)
        if not any(item.get_closest_marker(name) for name in MARKS):
            item.add_marker(FAST)


def pytest_runtest_setup() -> None:
    """Forget the seed of the test before."""
    effort.note_seed(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Report the seed at which a test failed."""
    report = yield
    seed = effort.noted_seed()
    if report.failed and seed is not None:
        report.sections.append(("Seed", f"failed at seed {seed}"))
    return report


class Scheduler(LoadScopeScheduling):
    """Run a module on one worker, for its tests share what they prepare.

    All tests that need Spark run on one worker too: a cluster takes longer to start and to warm up than its tests.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler:
    """Return the scheduler that gives tests to workers."""
    return Scheduler(config, log)


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
