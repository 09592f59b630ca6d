"""``sqlanon.risk`` and ``sqlanon.check``: a relation as it stands, from Python."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import seeds
from policies import document_of, intervals, sensitive

import sqlanon

TABLE = pa.table({"age": [20, 20, 30, 30, 30], "zip": ["a", "a", "b", "b", "c"], "illness": ["x", "y", "x", "x", "x"]})
POLICY: dict[str, Any] = document_of(
    {"age": intervals(10), "zip": "suppress", "illness": sensitive("t_closeness", t=0.5)}, k=2, suppression_limit=1
)


@seeds(20, 10)
def test_check_and_risk_agree_with_a_count_in_python(block: range) -> None:
    for seed in block:
        chance = random.Random(seed)
        rows = [(chance.randrange(3), chance.choice("xy"), chance.choice("uvw")) for _ in range(chance.randint(1, 30))]
        k, l = chance.randint(1, 4), chance.randint(1, 3)
        classes: dict[Any, list[str]] = defaultdict(list)
        for age, home, illness in rows:
            classes[age, home].append(illness)
        data = pa.table(dict(zip(("age", "home", "illness"), map(list, zip(*rows)))))
        found = sqlanon.check(data, ["age", "home"], k=k, sensitive={"illness": sqlanon.DistinctLDiversity(l)})
        sizes = [len(values) for values in classes.values()]
        assert (found.records, found.classes, found.smallest_class) == (len(rows), len(classes), min(sizes))
        assert found.models[0].failing_classes == sum(size < k for size in sizes)
        assert found.models[1].failing_records == sum(len(v) for v in classes.values() if len(set(v)) < l)
        risk = sqlanon.risk(data, ["age", "home"], k=k)
        assert risk["sample_uniques"].records == Counter(sizes)[1]
        assert risk["sample_below_k"].records == sum(size for size in sizes if size < k)


def test_a_release_is_checked_with_its_own_policy() -> None:
    with sqlanon.anonymize(TABLE, POLICY) as release:
        assert sqlanon.check(release, POLICY, reference=TABLE).holds
        assert sqlanon.risk(release, POLICY).k == 2
    assert not sqlanon.check(TABLE, POLICY, reference=TABLE).holds


def test_a_path_a_connection_and_the_source_of_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE t AS FROM given")
        assert sqlanon.check(connection, ["age"], k=2, table="given").holds
    assert sqlanon.check(path, ["age"], k=2).holds, "the only table"
    assert not sqlanon.check(str(path), ["AGE", "zip"], k=2).holds, "names are found in any case"
    named = {**POLICY, "source": str(path), "table": "t"}
    assert sqlanon.risk(None, named).records == 5
    assert sqlanon.check(None, named, reference=path).models[0].failing_classes == 1


def test_entities_are_counted() -> None:
    assert sqlanon.check(TABLE, ["age"], k=3).holds is False
    assert sqlanon.check(TABLE, ["age"], k=1, entity="illness").smallest_class == 1
    assert sqlanon.risk(TABLE, ["age"], entity="illness").unit == "entity"


def test_entities_in_small_classes_count_once() -> None:
    """Entity 1 stands in three classes of its own; entities 2 and 3 share one, and a record is nobody's."""
    data = pa.table({"size": [1, 2, 3, 4, 4, 5], "entity": [1, 1, 1, 2, 3, None]})
    found = sqlanon.risk(data, ["size"], k=2, entity="entity")
    assert (found.records, found["sample_below_k"].records) == (5, 3)
    figure = found["entities_below_k"]
    assert (found.entities, figure.records, figure.value) == (3, 1, pytest.approx(1 / 3))
    assert found.to_dict()["entities"] == 3 and "each once in every class" in str(found)
    assert sqlanon.risk(data, ["size"], k=2).get("entities_below_k") is None


def test_a_stream_is_its_own_reference() -> None:
    """A stream is read once; the second time it would be empty."""
    given = {"sensitive": {"illness": sqlanon.TCloseness(0.4)}, "quasi_identifiers": ["age"]}
    reader = TABLE.to_reader()
    streamed = sqlanon.check(reader, reference=reader, **given)
    assert streamed.models == sqlanon.check(TABLE, reference=TABLE, **given).models and streamed.holds
    with pytest.raises(sqlanon.InputError, match="reference holds no records"):
        sqlanon.check(TABLE, reference=reader, **given)


def test_the_risk_of_the_source_of_a_subset_says_so() -> None:
    model = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "zip"}}
    policy = document_of({"age": POLICY["columns"]["age"]}, privacy=[model], undeclared="drop")
    data = TABLE.set_column(1, "zip", pa.array([True, False, True, True, False]))
    assert any("about a subset" in note for note in sqlanon.risk(data, policy).notes)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing to check": ({"quasi_identifiers": ["age"]}, "nothing to check"),
    "no columns": ({"quasi_identifiers": [], "k": 2}, "No quasi-identifiers"),
    "no such column": ({"quasi_identifiers": ["home"], "k": 2}, "no column 'home'"),
    "said twice": ({"quasi_identifiers": POLICY, "k": 2}, "The policy says what"),
    "both roles": ({"quasi_identifiers": ["age"], "sensitive": {"age": sqlanon.DistinctLDiversity(2)}}, "'age'"),
    "no number": ({"quasi_identifiers": ["age"], "k": "many"}, "whole number"),
    "no reference": ({"quasi_identifiers": POLICY}, "reference="),
    "no such reference": ({"quasi_identifiers": ["age"], "k": 2, "reference": "nowhere.csv"}, "no file"),
    "a reference that is no table": ({"quasi_identifiers": ["age"], "k": 2, "reference": 5}, "of the type int"),
    "models without columns": ({"quasi_identifiers": ["age"], "k": 2, "sensitive": ["illness"]}, "lack their columns"),
    "no source": ({"source": None, "quasi_identifiers": ["age"], "k": 2}, "no source"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_checked_is_refused(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(sqlanon.InputError, match=message):
        sqlanon.check(**{"source": TABLE, **given})


def test_an_empty_relation_has_no_risk() -> None:
    with pytest.raises(sqlanon.InputError, match="holds no record"):
        sqlanon.risk(TABLE.slice(0, 0), ["age"])
