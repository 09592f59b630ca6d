"""The key ``ledger`` of a policy: what it must say, how it is written, and which faults it has."""

from pathlib import Path
from typing import Any

import pytest
from policies import document_of

from sqlanon import Key, LedgerSpec, Policy, PolicyError
from sqlanon.core.policy.ledger import person_column


def document(ledger: Any, **changes: Any) -> dict[str, Any]:
    columns = {"sex": "suppress", "id": "drop", "ward": "keep"}
    return document_of(columns, changes, k=2, source="t.csv", key={"file": "secret.key"}, ledger=ledger)


def faults(ledger: Any, **changes: Any) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(document(ledger, **changes))
    return [fault.key for fault in caught.value.faults]


def test_a_text_is_a_file_beside_the_policy(tmp_path: Path) -> None:
    policy = Policy.from_dict(document("private/l.duckdb", entity="id"), base_directory=tmp_path)
    assert policy.ledger == LedgerSpec(str(tmp_path / "private" / "l.duckdb"))
    assert person_column(policy) == "id"
    assert tmp_path / "private" / "l.duckdb" in policy.read_files


@pytest.mark.parametrize(
    "keys",
    [
        {"file": "l.duckdb", "record": "id"},
        {"file": "l.duckdb", "record": "id", "recipient": "a", "colludes": "none", "source": "cases"},
        {"file": "l.duckdb", "record": "id", "recipient": "a", "colludes": ["b", "c"], "key": {"env": "LEDGER"}},
        {"schema": "ledgers", "record": "id", "hold": True},
    ],
)
def test_a_policy_is_read_as_it_is_written(keys: dict[str, Any]) -> None:
    policy = Policy.from_dict(document(keys))
    again = Policy.from_dict(policy.to_dict())
    assert again == policy
    assert again.fingerprint() == policy.fingerprint()
    assert policy.fingerprint() != Policy.from_dict(document(None)).fingerprint()
    assert policy.to_dict()["ledger"].keys() == keys.keys()


def test_the_folder_makes_no_difference_to_the_fingerprint(tmp_path: Path) -> None:
    keys = document({"file": "l.duckdb", "record": "id"})
    there = Policy.from_dict(keys, base_directory=tmp_path / "there")
    assert there.fingerprint() == Policy.from_dict(keys, base_directory=tmp_path).fingerprint()


def test_a_policy_without_a_ledger_has_the_fingerprint_that_it_had() -> None:
    assert "ledger" not in Policy.from_dict(document(None)).to_dict()


@pytest.mark.parametrize(
    ("ledger", "changes", "expected"),
    [
        ({"record": "id"}, {}, ["ledger"]),
        ({"file": "l.duckdb", "schema": "s", "record": "id"}, {}, ["ledger"]),
        ({"file": "l.parquet", "record": "id"}, {}, ["ledger.file"]),
        ("l.duckdb", {}, ["ledger"]),
        ({"file": "l.duckdb", "record": "id"}, {"key": None}, ["ledger"]),
        ({"file": "l.duckdb", "record": "id", "key": {"env": "A", "context": "b"}}, {}, ["ledger.key.context"]),
        ({"file": "l.duckdb", "record": "ward"}, {}, ["ledger.record"]),
        ({"file": "l.duckdb", "record": "sex"}, {}, ["ledger.record"]),
        ({"file": "l.duckdb", "record": "id"}, {"entity": "id"}, ["ledger.record"]),
        ({"file": "l.duckdb", "record": "id", "colludes": "none"}, {}, ["ledger.colludes"]),
        ({"file": "l.duckdb", "record": "id", "recipient": "a", "colludes": "some"}, {}, ["ledger.colludes"]),
        ({"file": "l.duckdb", "record": "id", "recipient": "a", "colludes": []}, {}, ["ledger.colludes"]),
        ({"file": "l.duckdb", "record": "id", "recipient": "a", "colludes": [""]}, {}, ["ledger.colludes[0]"]),
        ({"file": "l.duckdb", "record": "id", "hold": "yes"}, {}, ["ledger.hold"]),
        ({"file": "l.duckdb", "record": "id", "recipient": 5}, {}, ["ledger.recipient"]),
        ({"file": "l.duckdb", "record": "id", "file_": 1}, {}, ["ledger.file_"]),
        ({"file": 5, "record": "id"}, {}, ["ledger.file"]),
        ({"file": "l.duckdb", "record": ["id"]}, {}, ["ledger.record"]),
        (5, {}, ["ledger"]),
        ({"file": "l.duckdb", "record": "id"}, {"output": {"live_view": "v"}}, ["ledger"]),
    ],
)
def test_faults(ledger: Any, changes: dict[str, Any], expected: list[str]) -> None:
    assert list(dict.fromkeys(faults(ledger, **changes))) == expected


def test_objects_are_checked_too() -> None:
    keys = document(None)
    policy = Policy.from_dict(keys)
    spec = LedgerSpec("l.duckdb", key=Key(env="LEDGER"), record="id", recipient="a", colludes=("b",))
    assert Policy(columns=policy.columns, privacy=policy.privacy, source="t.csv", ledger=spec).ledger is not None
    with pytest.raises(PolicyError, match=r"ledger\.key"):
        Policy(
            columns=policy.columns,
            privacy=policy.privacy,
            source="t.csv",
            ledger=LedgerSpec("l.duckdb", key="secret", record="id"),  # type: ignore[arg-type]
        )
