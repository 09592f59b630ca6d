"""What a policy asks, as earlier manifests and ledgers hold it: digests that an earlier version wrote stay the same."""

from pathlib import Path
from typing import Any

import pytest

from sqlanon import Policy
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.publish.manifest import asked_of
from sqlanon.core.publish.question import PolicyQuestion, digest_of_question
from sqlanon.core.source.hierarchy_digests import private_digests

OF_PERIODS = {
    "day": "a38283de03be49694dd6f6054725ee36c34204c14b5739db5f7d5484c79fa4a6",
    "week": "6254df798a376ab587543f9913d6d404d29bc717744854a7e5882a0c8594dd0b",
}
"""The digest in a manifest of closed periods, as it was written before."""
OF_HIERARCHIES = {
    "age": "2c4d34865e7a921b8feabc1efe5b50951fac0001ad4f5323354e5ada3db170be",
    "place": "36b7399877984651c44bb3762d6ca0839d51ad8d252e17236cc5c9b64c1fcbb0",
    "zip": "2a8f0817a796e3b3fbed616224b6ba28886e7c123d716f16c38744579803cba8",
}
"""The digests in an entry of a ledger."""


def policy(**changes: Any) -> Policy:
    return Policy.from_dict(
        {
            "source": "t.csv",
            "columns": {
                "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10}}},
                "place": {"role": "quasi_identifier", "hierarchy": {"file": "places.csv"}},
                "zip": {"role": "quasi_identifier", "hierarchy": {"groups": {"x": ["1", "2"]}}},
                "moment": {"role": "quasi_identifier"},
                "ill": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            },
            "privacy": [{"type": "k_anonymity", "k": 2}],
            "periods": {"column": "moment", "every": "day"},
            **changes,
        }
    )


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "places.csv").write_text("a;b\nc;b\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("every", OF_PERIODS)
def test_the_digest_of_periods_is_that_of_earlier_manifests(every: str) -> None:
    asked = policy(periods={"column": "moment", "every": every})
    assert digest_of_question(asked, partition_by=["moment"]) == OF_PERIODS[every]


def test_the_digests_of_hierarchies_are_those_of_earlier_ledgers() -> None:
    engine = DuckDBEngine()
    assert private_digests(engine, policy()) == OF_HIERARCHIES
    engine.close()


def test_a_file_that_cannot_be_read_is_no_file_that_was_read() -> None:
    engine, given = DuckDBEngine(), policy()
    Path("places.csv").unlink()
    assert private_digests(engine, given)["place"] == "unreadable"
    engine.close()


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"suppression_limit": 0.5, "source": "other.csv", "search": {"strategy": "ola"}}, True),
        ({"privacy": [{"type": "k_anonymity", "k": 3}]}, False),
        ({"nulls": "basic"}, True),
    ],
)
def test_a_manifest_tells_whether_a_policy_asks_the_same(changes: dict[str, Any], same: bool) -> None:
    earlier = {**asked_of(policy()), "hierarchies": {"age": "a", "zip": "z"}}
    now = PolicyQuestion.of(policy(**changes), {"age": "a", "place": "p"})
    assert now.is_that_of(PolicyQuestion.read(earlier)) is same
    other = PolicyQuestion.of(policy(**changes), {"age": "b"})
    assert not other.is_that_of(PolicyQuestion.read(earlier))
