"""What two manifests tell side by side: nothing that either hides, and no difference of a few; and what is none."""

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sqlanon.core.publish.earlier_manifests import least_crowd, read_manifest
from sqlanon.core.publish.ledger import Entities, Ledger
from sqlanon.errors import InputError
from sqlanon.report.changes import HIDDEN, change_lines, changes

K = 5


def counted(published: int, suppressed: int, excluded: int = 0, *, k: int = K, entities: int | None = None) -> Any:
    """The manifest of a release with these counts."""
    reasons = {"failing_class": suppressed, "uncovered": 0, "null": excluded}
    whole = published + suppressed + excluded
    persons = None if entities is None else Entities(entities, entities, 0, 0, k)
    ledger = Ledger(whole, published, suppressed, excluded, reasons, 7, 20, 30, persons)
    return {
        "manifest_version": 1,
        "policy_fingerprint": "0" * 64,
        "models": [{"type": "k_anonymity", "k": k}],
        "columns": [{"name": "age", "role": "quasi_identifier", "level": 0, "height": 3}],
        **({} if entities is None else {"entity": True}),
        "ledger": ledger.coarsened(k),
        "certificate": {"measure": "loss", "aggregate": None, "strategy": "box", "optimal": True, "loss": 0.25},
        "versions": {"sqlanon": "1"},
    }


def of_tables(persons: int, rows: int, *, suppressed: Any = 0) -> Any:
    """The manifest of two tables with these counts."""
    patients = {"name": "patients", "columns": [{"name": "sex", "role": "keep"}], "published": persons}
    visits = {"name": "visits", "columns": [], "published": rows, "parent": {"patients": "pid"}}
    counts = {"published": persons, "suppressed": suppressed, "excluded": 0, "smallest_class": 20}
    document = counted(persons, 0)
    document |= {"models": [{"type": "profile_k", "k": K}], "tables": [patients, visits], "persons": counts}
    return {name: value for name, value in document.items() if name not in ("columns", "ledger")}


def test_counts_that_are_far_apart_are_told() -> None:
    found = changes(counted(100, 20), counted(200, 40))["counts"]
    assert found["published"] == {"before": 100, "after": 200} and found["records"] == {"before": 120, "after": 240}
    assert changes(counted(100, 20), counted(100, 20))["counts"] == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (counted(100, 20), counted(103, 20)),  # three records more
        (counted(900, 100), counted(998, 102)),  # two more are suppressed, which the others tell
        (counted(100, 3), counted(83, 20)),  # of one source, whose size the second tells
        (counted(100, 3), counted(103, 0)),
        (counted(100, 20, k=2), counted(101, 20, k=2)),
        (counted(100, 20, entities=30), counted(157, 20, entities=31)),  # 57 records of one person
    ],
)
def test_counts_that_tell_of_a_few_together_are_not_told(before: Any, after: Any) -> None:
    found = changes(before, after)
    after["certificate"]["loss"] = 0.5
    for name in ("records", "published", "suppressed", "excluded"):
        assert found["counts"].get(name, HIDDEN) == HIDDEN
    assert HIDDEN in found["counts"].values()
    assert changes(before, after)["certificate"]["loss"] == HIDDEN
    text = "\n".join(change_lines(found))
    assert "would reveal a few" in text and not any(f" {n} " in text for n in (100, 103, 120, 123))


def test_what_is_told_of_one_source_leaves_two_readings_of_every_small_count() -> None:
    """Brute force: a reader who takes the source for the same finds at least two suppressed counts below k."""
    worlds = [(p, n - p) for n in range(20, 32) for p in range(10, n + 1)]
    readings: dict[str, set[tuple[int, int]]] = {}
    for first, second in itertools.product(worlds, worlds):
        if sum(first) != sum(second):
            continue
        told = json.dumps(changes(counted(*first), counted(*second))["counts"], sort_keys=True)
        readings.setdefault(told, set()).add((first[1], second[1]))
    for told, found in readings.items():
        for place in (0, 1):
            small = {pair[place] for pair in found}
            assert len(small) > 1 or not 0 < min(small) < K, told


def test_rows_of_persons_are_told_where_enough_persons_differ() -> None:
    assert changes(of_tables(100, 300), of_tables(120, 357))["counts"] == {
        "published": {"before": 100, "after": 120},
        "rows of visits": {"before": 300, "after": 357},
        "rows of patients": {"before": 100, "after": 120},
    }
    for before, after in (
        (of_tables(100, 300), of_tables(100, 357)),
        (of_tables(100, 300), of_tables(101, 357)),
        (of_tables(100, 300, suppressed=20), of_tables(118, 357, suppressed="<5")),
    ):
        assert changes(before, after)["counts"]["rows of visits"] == HIDDEN
    moved = of_tables(120, 300)
    moved["tables"][1] |= {"name": "stays"}
    found = changes(of_tables(100, 300), moved)
    assert found["tables"] == {"added": ["stays"], "removed": ["visits"], "changed": {}}
    assert found["policy"]["keys"] == ["tables"] and "table added: stays" in [*change_lines(found)]


def test_the_least_crowd_is_that_of_every_model() -> None:
    document = counted(100, 20)
    assert least_crowd(document) == K
    document["models"].append({"type": "bounded_knowledge", "k": 12, "at_most": 1})
    assert least_crowd(document) == 12
    assert least_crowd(document | {"models": [{"type": "of another package"}]}) == 20  # the smallest class
    assert least_crowd(of_tables(100, 300)) == K


def change(key: str, value: Any) -> Callable[[Any], None]:
    return lambda document: document.update({key: value})


FORGED: list[tuple[Callable[[Any], Any], str]] = [
    (change("manifest_version", 2), "version 2"),
    (change("manifest_version", True), "no manifest"),
    (change("tables", []), "several tables"),
    (change("policy_fingerprint", 5), "policy_fingerprint"),
    (change("models", ["x"]), "models"),
    (change("models", [{"type": "k_anonymity", "column": 3}]), "models"),
    (change("columns", [{"name": "a"}]), "columns"),
    (change("columns", [{"name": "a", "role": "keep"}] * 2), "columns"),
    (change("ledger", {}), "ledger"),
    (lambda document: document["ledger"].update(records="Przybylski"), "ledger"),
    (lambda document: document["ledger"].update(classes=-1), "ledger"),
    (lambda document: document["certificate"].update(loss="0"), "certificate"),
    (lambda document: document["certificate"].update(loss=float("inf")), "no JSON"),
    (change("versions", {"duckdb": 3}), "versions"),
]


@pytest.mark.parametrize(("forge", "named"), FORGED)
def test_what_no_run_writes_is_refused(forge: Callable[[Any], None], named: str, tmp_path: Path) -> None:
    path, document = tmp_path / "old.json", counted(100, 20)
    path.write_text(json.dumps(document))
    assert read_manifest(path) == document
    forge(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=named) as raised:
        read_manifest(path)
    assert "Przybylski" not in str(raised.value)


def test_a_manifest_is_of_one_table_or_of_several(tmp_path: Path) -> None:
    path, document = tmp_path / "old.json", of_tables(100, 300)
    path.write_text(json.dumps(document))
    assert read_manifest(path, several=True) == document
    for forge in (
        lambda item: item["tables"][0].update(published="x"),
        lambda item: item["tables"][1].update(parent=[]),
        lambda item: item["persons"].pop("published"),
    ):
        forged = copy.deepcopy(document)
        forge(forged)
        path.write_text(json.dumps(forged))
        with pytest.raises(InputError, match=r"tables|persons"):
            read_manifest(path, several=True)
    path.write_text(json.dumps(counted(100, 20)))
    with pytest.raises(InputError, match="it is of one table"):
        read_manifest(path, several=True)
    path.write_text(json.dumps(document)[:200])
    with pytest.raises(InputError, match="no JSON"):
        read_manifest(path, several=True)


def test_no_name_begins_a_line_or_breaks_one() -> None:
    before, after = counted(100, 20), counted(100, 20)
    before["columns"][0]["name"] = "::error::x\n::set-output name=a::b"
    before["columns"].append({"name": "\n::warning::y", "role": "\x1b[31m\n::error::z"})
    after["columns"].append({"name": "\n::warning::y", "role": "keep"})
    before["versions"] = {"::error::v\n": "1"}
    before["models"].append({"type": "::error::m", "\n::error::p": "\u202e"})
    lines = list(change_lines(changes(before, after)))
    assert len(lines) > 5 and all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
