"""Tiers of the tests, the scheduler, and the fixtures that several modules share.

``python -m pytest`` runs the tests marked ``fast``, at a small effort; ``python -m pytest -m ""`` runs all.
The marks are given here: see ``MARKS``.
"""

import gc
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import effort
import hypothesis
import pytest
from engine_kinds import KINDS, Kind
from left_behind import nothing_left_behind
from policies import document_of, quasi
from postgres_server import Server, server
from spark_cluster import cluster
from tables import text_table
from xdist.scheduler import LoadScopeScheduling

import sqlanon
from sqlanon.core.engines.base import Engine

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
ORDER = os.environ.get("SQLANON_ORDER", "")
"""A seed: modules, and the tests in each, run in the order that it gives."""
FAST = "fast"
LONGEST = (
    "test_pages", "test_interrupts", "test_fuzz", "test_disk_and_memory", "test_killed_ledger", "test_packages",
    "test_notebooks", "test_strategies", "test_linked_tables", "test_frontier", "test_beside", "test_publication",
)  # fmt: skip
"""Modules that several workers begin with, so that none is left with one of them at the end."""
IN_DEPTH = (
    "test_agents_doors", "test_bounded_knowledge", "test_choosing_limits", "test_csv_files", "test_csv_option",
    "test_dialects", "test_drafting", "test_equal_values", "test_evidence", "test_explained", "test_extension_example",
    "test_foreign", "test_frames", "test_holding", "test_interest", "test_joins", "test_k_map", "test_lake_folders",
    "test_ledger_commands", "test_ledger_of_releases", "test_like", "test_linked_tables", "test_local_recoding",
    "test_missing_tables", "test_nothing_left", "test_nulls", "test_order_of_suppression", "test_over_time",
    "test_patterns_exact", "test_persons_with_several_records", "test_perturbing", "test_private_relations",
    "test_redact", "test_release_models", "test_replacing", "test_risk_command", "test_sqlite_engine",
    "test_studio_changes", "test_travelling", "test_worlds",
)  # fmt: skip
"""Modules that are slow as a whole: they look in depth at one feature."""
MARKS = {
    "postgres": "needs a PostgreSQL server and its driver",
    "spark": "needs PySpark and Java",
    "dbt": "needs dbt, and builds projects with it",
    "chdb": "needs chDB, the embedded ClickHouse",
    "browser": "needs Playwright and Chromium",
    "shared": "needs the real datasets and oracles that stand beside the checkout",
    "slow": "takes more than about one second, or ten at full effort, or looks in depth at one feature",
}
"""The marks of tests that are not ``fast``. A test has the marks of the fixtures it uses, of the engine it is run on,
of the words in the name of its module, and those that are written above it."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks, and choose the effort and the reports of this tier."""
    config.addinivalue_line("markers", f"{FAST}: a test with none of the marks below; what runs by default")
    config.addinivalue_line("markers", "contract: a test of tests/contract, which asks several engines for the same")
    config.addinivalue_line("markers", "nightly(reason): a test that is run at full effort alone, as every night")
    config.addinivalue_line("markers", "few(count): a test of whose cases so many are run below full effort")
    for name, reason in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {reason}")
    heed_signals()
    keep_bytecode()
    keep_state_apart(config)
    config.option.loadscopereorder = False  # the order is that of the items: see LONGEST
    fast = config.option.markexpr == FAST
    effort.set_effort(fast)
    # a machine may be busy
    hypothesis.settings.register_profile("no deadlines", deadline=None, max_examples=effort.scaled(100))
    hypothesis.settings.load_profile("no deadlines")
    if not fast and config.option.durations is None:
        config.option.durations, config.option.durations_min = 10, 5.0


def keep_state_apart(config: pytest.Config) -> None:
    """Let no test write into the folder of the user's programs, where the heads of ledgers stand."""
    folder = tempfile.mkdtemp(prefix="sqlanon-state-")
    os.environ["XDG_STATE_HOME"] = os.environ["LOCALAPPDATA"] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def keep_bytecode() -> None:
    """Let this process, and those that it starts, compile each module once, where the environment forbids to keep it.

    A process that compiles the package anew needs twice the time of a small run.
    """
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode = False
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or str(ROOT / "build" / "bytecode")
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


def heed_signals() -> None:
    """Take signals again that the shell has told this process to ignore, as it does for commands in the background.

    The tests interrupt themselves, and would wait for ever.
    """
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and not what was imported: trees of SQL are many objects, a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def pytest_unconfigure() -> None:
    """Let what was kept from collection go, or libraries report it as leaked when the process ends."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test by what it needs, before pytest selects by marks."""
    for item in items:
        names = {*item.path.stem.split("_"), *getattr(item, "fixturenames", ())}
        callspec = getattr(item, "callspec", None)
        names |= {value.name for value in (callspec.params.values() if callspec else ()) if isinstance(value, Kind)}
        if item.path.stem in IN_DEPTH:
            names.add("slow")
        if "spark" in names and item.path.parent.name == "contract" and item.path.stem != "test_engine_contract":
            item.add_marker(pytest.mark.nightly("statements of a cluster take long; the engine contract has all kinds"))
        for name in names & MARKS.keys():
            item.add_marker(name)
        if item.path.parent.name == "contract":
            item.add_marker("contract")
        if not any(item.get_closest_marker(name) for name in MARKS):
            item.add_marker(FAST)
    items[:] = [item for item in items if _is_asked(item)]
    if not effort.is_full():
        leave_out(config, items)
    if ORDER:
        shuffle(items, ORDER)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.stem not in LONGEST)


def _is_asked(item: pytest.Item) -> bool:
    """Return whether the engine that a case names is asked for it."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return all(kind.is_asked(params) for kind in params.values() if isinstance(kind, Kind))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only every night looks at: tests and cases that are marked so, and combinations of parameters.

    Of a test with several parameters so many cases are run that each value occurs. The fast tier has chosen its cases
    already (``effort.fast_of``); what it looks at need not occur again.
    """
    left_out = {item for item in items if item.get_closest_marker("nightly")}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and item not in left_out:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for alike in cases.values():
        fast = [item for item in alike if item.get_closest_marker(FAST)]
        others = [item for item in alike if item not in fast]
        chosen = effort.each_value([_values(item) for item in others], [_values(item) for item in fast])
        kept = effort.spread(sorted(chosen), *(mark.args[0] for mark in alike[0].iter_markers("few")))
        left_out |= {item for place, item in enumerate(others) if place not in kept}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


def _values(item: Any) -> frozenset[tuple[int, str]]:
    """Return the values of a test's parameters: what each ``parametrize`` or fixture chose, by its place."""
    return frozenset(enumerate(item.callspec._idlist))


def shuffle(items: list[pytest.Item], seed: str) -> None:
    """Put modules, and the tests in each, into an order that a seed gives, the same on every worker."""
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    drawn = random.Random(seed)
    groups = [*modules.values()]
    drawn.shuffle(groups)
    for group in groups:
        drawn.shuffle(group)
    items[:] = [item for group in groups for item in group]


def pytest_report_header() -> str | None:
    """Say which order was asked for."""
    return f"order of tests: SQLANON_ORDER={ORDER}" if ORDER else None


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


def _in_process(items: Iterable[pytest.Item]) -> bool:
    """Return whether no test needs an engine of its own, whose driver may change its process when it starts."""
    return not any(item.get_closest_marker(name) for item in items for name in MARKS if name != "slow")


@pytest.fixture(scope="module", autouse=True)
def _module_leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the last test of a module whose fixtures change what other modules share."""
    items = (item for item in request.session.items if item.path == request.path)
    with nothing_left_behind(names=True) if _in_process(items) else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _test_leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that changes what other tests share."""
    with nothing_left_behind() if _in_process([request.node]) else nullcontext():
        yield


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


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of engine in turn."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def engine(kind: Kind, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine in turn; a module that leaves some out has a ``kind`` of its own."""
    opened = kind.open(request)
    yield opened
    opened.close()


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
    document = document_of({c: quasi({"levels": levels}) for c in columns}, k=6, table="t", suppression_limit=0.3)
    with sqlanon.plan(connection, document) as found:
        yield found
