"""What earlier releases of a ledger promised, where the new policy or its recipient is another."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pyarrow as pa
import pytest

import sqlanon
from sqlanon.ledger.review import check_ledger_file

PERSONS = pa.table({"id": list(range(10)), "tag": list(range(10)), "x": [1] * 5 + [2] * 5, "y": [1] * 4 + [2] * 6})
"""By x and y together one person stands alone: the fifth."""
DIVERSE: dict[str, Any] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}


def publish(folder: Path, name: str, shown: str, k: int = 3, ill: Any = None, **ledger: Any) -> dict[int, Any]:
    """Publish a table of which some columns are quasi-identifiers, and return the class of each person."""
    columns: dict[str, Any] = {name: {"role": "drop"} for name in ("id", "x", "y")} | {"tag": {"role": "keep"}}
    for column in shown:
        columns[column] = {"role": "quasi_identifier", "max_level": 0, "hierarchy": {"suppress": {}}}
    if ill is not None:
        columns["ill"] = ill
    keys = {"file": str(folder / "private" / "ledger.duckdb"), "record": "id", "source": "persons", **ledger}
    document = worlds.document(folder, columns=columns, ledger=keys, output={"table": name})
    document |= {"privacy": [{"type": "k_anonymity", "k": k}], "suppression_limit": 1, "undeclared": "drop"}
    with sqlanon.anonymize(None, document) as release:
        return {row["tag"]: tuple(row[column] for column in shown) for row in release.to_arrow().to_pylist()}


def change(folder: Path, statement: str) -> None:
    with duckdb.connect(str(folder / "source.duckdb")) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("colludes", ["all", ["a", "b"]])
@pytest.mark.slow
def test_one_who_shares_with_two_who_do_not_is_refused_where_few_have_the_classes_of_both(
    colludes: Any, tmp_path: Path
) -> None:
    """The person whose classes in both are nobody else's would be the only one of her class absent from the third."""
    worlds.prepare(tmp_path, PERSONS)
    publish(tmp_path, "one", "x", recipient="a", colludes="none")
    publish(tmp_path, "two", "y", recipient="b", colludes="none")
    with pytest.raises(sqlanon.UnsupportedError, match="were not judged together"):
        publish(tmp_path, "three", "xy", recipient="c", colludes=colludes)


@pytest.mark.slow
def test_one_who_shares_with_two_who_do_not_is_served_where_enough_have_the_classes_of_both(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path, PERSONS)
    first = publish(tmp_path, "one", "x", recipient="a", colludes="none")
    publish(tmp_path, "two", "x", recipient="b", colludes="none")
    third = publish(tmp_path, "three", "xy", recipient="c", colludes="all")
    cells = Counter((first[person], third.get(person)) for person in first)
    assert min(cells.values()) >= 3
    assert check_ledger_file(ledger).holds


@pytest.mark.slow
def test_two_who_do_not_share_are_judged_together_where_a_third_shares_with_both(tmp_path: Path) -> None:
    """Whoever received the first release gets the two later ones: apart, they would show her one person alone."""
    persons = PERSONS.append_column("z", pa.array([1] * len(PERSONS)))
    ledger = worlds.prepare(tmp_path, persons)
    shown = [publish(tmp_path, "hub", "z", recipient="hub")]
    shown += [publish(tmp_path, name, name, recipient=name, colludes="none") for name in "xy"]
    cells = Counter(tuple(release.get(person) for release in shown) for person in range(len(persons)))
    assert min(cells.values()) >= 3, cells
    found = check_ledger_file(ledger)
    assert (found.holds, [group.releases for group in found.groups]) == (True, [(1, 2, 3)])


@pytest.mark.slow
def test_a_model_that_an_earlier_release_promised_is_not_dropped(tmp_path: Path) -> None:
    """Classes of the first release hold two values; those of both together would hold one."""
    ill = pa.array(["flu", "flu", "flu", "flu", "cold"] * 2)
    ledger = worlds.prepare(tmp_path, PERSONS.append_column("ill", ill))
    publish(tmp_path, "one", "x", ill=DIVERSE)
    for role in ("drop", "keep"):
        with pytest.raises(sqlanon.UnsupportedError, match="'ill'"):
            publish(tmp_path, "two", "xy", ill={"role": role})
    weaker: dict[str, Any] = {"role": "sensitive", "models": [{"type": "t_closeness", "t": 0.9}]}
    with pytest.raises(sqlanon.UnsupportedError, match="distinct_l_diversity"):
        publish(tmp_path, "two", "xy", ill=weaker)
    publish(tmp_path, "two", "xy", ill=DIVERSE | {"models": DIVERSE["models"] + weaker["models"]})
    assert len(check_ledger_file(ledger).releases) == 2


@pytest.mark.slow
def test_releases_of_different_k_are_checked_by_the_smallest(tmp_path: Path) -> None:
    """Two persons who are absent from a release for five were a class of a release for two, and are no fewer now."""
    ledger = worlds.prepare(tmp_path, pa.table({"id": range(8), "tag": range(8), "x": [1, 1, *[2] * 6], "y": [1] * 8}))
    publish(tmp_path, "one", "x", k=2)
    second = publish(tmp_path, "two", "y", k=5)
    assert len(second) == 6
    found = check_ledger_file(ledger)
    assert (found.holds, [group.k for group in found.groups]) == (True, [2])


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(10, 2)", "VARCHAR"])
@pytest.mark.slow
@pytest.mark.few(1)
def test_keys_of_another_type_are_refused(kind: str, tmp_path: Path) -> None:
    """5 reads 5.0 as a DOUBLE: everybody would be a newcomer, and nothing judged together."""
    worlds.prepare(tmp_path, PERSONS)
    publish(tmp_path, "one", "x")
    change(tmp_path, "ALTER TABLE t ALTER id TYPE INTEGER")
    publish(tmp_path, "wider", "x")
    change(tmp_path, f"ALTER TABLE t ALTER id TYPE {kind}")
    with pytest.raises(sqlanon.InputError, match="known again"):
        publish(tmp_path, "two", "y")
