"""Every privacy model and measure on random tables: verdicts, releases, optima and bounds equal a brute force.

``SQLANON_EFFORT=20 python -m pytest -m "" tests/anonymize/test_models.py`` looks at more tables than the default.
"""

from collections.abc import Callable

import brute_models
import duckdb
import pytest
from effort import Block, enough, fast_of, seeds
from random_worlds import mapped_world, random_release_world, random_world
from whole_runs import compare

import sqlanon

Make = Callable[[int], brute_models.World]


@pytest.mark.parametrize("make", fast_of([random_world, mapped_world, random_release_world], random_world))
@seeds(120)
def test_verdicts_optimum_release_and_bounds_equal_brute_force(block: Block, make: Make) -> None:
    results = [compare(make(seed), seed, brute_models.judge) for seed in block]
    solved = sum(found for found, _ in results)
    assert enough(solved > 0 and sum(bounds for _, bounds in results) > solved)


@pytest.mark.parametrize("strategy", ["flash", "ola", "incognito", "box"])
def test_what_passes_may_fail_when_it_is_generalized_further(
    connection: duckdb.DuckDBPyConnection, strategy: str
) -> None:
    """Of δ-disclosure: v is frequent enough in x, and missing in y; in x and y together it is too rare."""
    rows = [("x", "v")] * 2 + [("x", "w")] * 4 + [("y", "w")] * 12 + [("z", "v")] * 10 + [("z", "w")] * 14
    connection.execute("CREATE TABLE t (q VARCHAR, s VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    tree = {"x": ["low", "*"], "y": ["low", "*"], "z": ["high", "*"]}
    document = {
        "table": "t",
        "columns": {
            "q": {"role": "quasi_identifier", "hierarchy": {"levels": tree}},
            "s": {"role": "sensitive", "models": [{"type": "delta_disclosure", "delta": 1}]},
        },
        "search": {"strategy": strategy},
    }
    with sqlanon.plan(connection, document) as plan:
        suppressed = [verdict.suppressed for verdict in plan.evaluate_many([{"q": level} for level in range(3)])]
        assert suppressed == [0, 18, 0]
        assert not plan._problem.upward_closed
        assert (plan.node, plan.certificate.optimal) == ((0,), True) or not plan.certificate.optimal
