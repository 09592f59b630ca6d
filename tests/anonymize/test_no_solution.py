"""A policy that cannot be met: the error names the nearest node, what it lacks, and what would help."""

import duckdb
import pytest
from policies import document_of
from tables import text_table

import sqlanon

QUASI = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}


@pytest.fixture
def table(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Twelve records in classes of 5, 4, 2 and 1 by a, all with the sensitive value of their a."""
    values = ["p"] * 5 + ["q"] * 4 + ["r"] * 2 + ["s"]
    text_table(connection, ["a", "b", "c"], [(v, str(i), "x" if v == "q" else v) for i, v in enumerate(values)])
    return connection


def refused(connection: duckdb.DuckDBPyConnection, **changes: object) -> sqlanon.NoSolutionError:
    policy = document_of({"a": QUASI, "b": QUASI, "c": "drop"}, changes, k=3, table="t")
    with pytest.raises(sqlanon.NoSolutionError) as caught:
        sqlanon.plan(connection, policy)
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["box", "anon", "exhaustive", "best_first"])
def test_limits_that_leave_no_solution_are_named_when_loosening_them_helps(table, strategy: str) -> None:
    columns = {"a": {**QUASI, "max_level": 0}, "b": QUASI, "c": {"role": "drop"}}
    error = refused(table, columns=columns, suppression_count=1, search={"strategy": strategy})
    assert error.nearest == {
        "levels": {"a": 0, "b": 1},
        "suppressed": 3,
        "allowed": 1,
        "models": [{"model": "k_anonymity(k=3)", "suppressed": 3}],
    }
    assert "suppresses 3 records, 2 more than allowed (k_anonymity(k=3): 3)" in str(error)
    assert "raise max_level of 'a': with everything generalized the policy is met" in str(error)


def test_every_model_says_what_it_lacks(table) -> None:
    columns = {
        "a": {**QUASI, "max_level": 0},
        "b": QUASI,
        "c": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
    }
    error = refused(table, columns=columns)
    assert error.nearest is not None
    assert error.nearest["models"] == [
        {"model": "k_anonymity(k=3)", "suppressed": 3},
        {"model": "c: distinct_l_diversity(l=2)", "suppressed": 12},
    ]


def test_limits_are_not_blamed_when_the_top_fails_too(table) -> None:
    columns = {"a": {**QUASI, "max_level": 0}, "b": {**QUASI, "min_level": 1}, "c": {"role": "drop"}}
    error = refused(table, columns=columns, privacy=[{"type": "k_anonymity", "k": 12}])
    assert "with everything generalized the policy is met" in str(error)
    columns = {"a": {**QUASI, "max_level": 0}, "b": QUASI, "c": {"role": "drop"}}
    sensitive = {"c": {"role": "sensitive", "models": [{"type": "entropy_l_diversity", "l": 4}]}}
    error = refused(table, columns=columns | sensitive)
    assert "may help too" in str(error) and "max_level of 'a'" in str(error)
    assert "max_level" not in str(refused(table, columns={"a": QUASI, "b": QUASI} | sensitive))
