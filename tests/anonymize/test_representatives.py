"""Numbers and dates beside generalized texts: as brute force finds them, and by nothing but the text."""

import datetime
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from effort import Block, enough, seeds
from policies import document_of, quasi
from represented_cases import MAKERS, Case
from tables import store

import sqlanon
from sqlanon.interop.scripts.warehouse import script_parts

pytestmark = pytest.mark.slow

BOUNDS = ["low", "high", "midpoint"]


def document(cases: list[Case], levels: list[int], publish: dict[str, Any], **others: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        f"c{i}": quasi(case.hierarchy, uncovered=case.uncovered, min_level=levels[i], max_level=levels[i])
        for i, case in enumerate(cases)
    }
    return document_of(
        columns | {"id": {"role": "keep"}}, others, k=1, table="t", accept=["id"], suppression_limit=1, publish=publish
    )


def table(cases: list[Case]) -> pa.Table:
    columns = {f"c{i}": pa.array(case.values, case.type) for i, case in enumerate(cases)}
    return pa.table(columns | {"id": pa.array(range(len(cases[0].values)), pa.int64())})


def published(data: pa.Table, asked: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The released rows by their id."""
    with duckdb.connect() as connection:
        store(connection, data)
        with sqlanon.anonymize(connection, asked) as release:
            return {row["id"]: row for row in release.to_arrow().to_pylist()}


def same(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(found, datetime.date):
        return bool(found == expected)
    if isinstance(found, Decimal):
        return Fraction(found) == Fraction(expected)
    return bool(found == (expected if isinstance(found, int) else float(expected)))


@pytest.mark.slow
@seeds(60, 10)
def test_bounds_are_those_of_brute_force(block: Block) -> None:
    bounded = 0
    for seed in block:
        draw = random.Random(seed)
        count = draw.choice([1, 5, 40])
        cases = [draw.choice(MAKERS)(draw, count) for _ in range(draw.randint(1, 3))]
        levels = [draw.randrange(case.height) for case in cases]
        instead = draw.random() < 0.3
        what = draw.choice(BOUNDS) if instead else draw.sample(BOUNDS, draw.randint(1, 3))
        data = table(cases)
        rows = published(data, document(cases, levels, {f"c{i}": {"as": what} for i in range(len(cases))}))
        assert len(rows) == count
        for i, case in enumerate(cases):
            for place, value in enumerate(case.values):
                expected = dict(zip(BOUNDS, case.bounds(value, levels[i]), strict=True))
                for asked in [what] if instead else what:
                    column = f"c{i}" if instead else f"c{i}_{asked}"
                    assert same(rows[place][column], expected[asked]), (case, levels[i], value, asked)
                    bounded += expected[asked] is not None
    assert enough(bounded > 30)


AGES = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}, "min_level": 1}
SEX = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}


def people(publish: Any, **others: Any) -> dict[str, Any]:
    columns = {"age": AGES | {"max_level": 1}, "sex": SEX}
    return document_of(columns, others, k=2, table="t", suppression_limit=1, publish=publish)


def released(rows: list[tuple[Any, ...]], asked: dict[str, Any], kind: str = "INTEGER") -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t(age {kind}, sex VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        with sqlanon.anonymize(connection, asked) as release:
            found = release.to_arrow()
            return sorted(found.to_pylist(), key=repr)


def test_bounds_do_not_depend_on_which_values_of_an_interval_occur() -> None:
    asked = people({"age": {"as": BOUNDS}})
    first = released([(21, "f"), (22, "f"), (35, "m"), (36, "m")], asked)
    assert first == released([(29, "f"), (20, "f"), (30, "m"), (30, "m")], asked)
    assert first[0] == {"age": "[20, 30)", "age_low": 20, "age_high": 29, "age_midpoint": 24, "sex": "f"}


@pytest.mark.slow
def test_bounds_of_a_listed_group_are_those_of_all_its_values() -> None:
    groups = {"groups": {"young": ["1", "19"], "old": ["20", "99"]}}
    asked = people({"age": {"as": ["low", "high"]}})
    asked["columns"]["age"] = {"role": "quasi_identifier", "hierarchy": groups, "min_level": 1, "max_level": 1}
    found = released([("19", "f"), ("19", "f")], asked, "VARCHAR")
    assert {(row["age_low"], row["age_high"]) for row in found} == {(1, 19)}


CODED = {"width": 10, "fanouts": [2], "lower": 25, "upper": 90}


@pytest.mark.parametrize("labels", ["range", "start"])
@pytest.mark.parametrize(
    ("kind", "highs", "middle"), [("INTEGER", (39, 89), (32, 84)), ("DECIMAL(5,1)", (40, 90), ("32.5", 85))]
)
def test_lower_and_upper_cut_the_interval_that_they_lie_in(
    labels: str, kind: str, highs: tuple[int, int], middle: tuple[Any, Any]
) -> None:
    asked = people({"age": {"as": BOUNDS}})
    hierarchy = {"intervals": CODED | {"labels": labels}}
    asked["columns"]["age"] = {"role": "quasi_identifier", "hierarchy": hierarchy, "min_level": 2, "max_level": 2}
    ages = [24, 24, 25, 39, 81, 89, 90, 95]
    rows = released([(age, "f") for age in ages], asked, kind)
    found = {row["age"].split(",")[0].strip("[").removesuffix(".0"): row for row in rows}
    first = "25" if labels == "range" else "20"
    for text, expected in ((first, (25, highs[0], middle[0])), ("80", (80, highs[1], middle[1]))):
        bounds = tuple(found[text][f"age_{name}"] for name in BOUNDS)
        assert bounds == tuple(Decimal(number) for number in expected)
    assert found[">=90"]["age_low"] == 90 and found["<25"]["age_high"] == (24 if kind == "INTEGER" else 25)


def test_a_column_may_hold_a_number_instead_of_a_text() -> None:
    found = released([(21, "f"), (22, "f"), (None, "f"), (None, "f")], people({"age": {"as": "low"}}))
    assert [row["age"] for row in found] == [20, 20, None, None]
    assert released([(21, "f"), (22, "f")], people({"age": {"as": "low"}}, nulls="basic"))[0]["age"] == 20


def test_the_mean_of_a_class_is_that_of_its_records_rounded() -> None:
    asked = people({"age": {"as": ["class_mean"]}}, privacy=[{"type": "k_anonymity", "k": 5}])
    ages = [20, 21, 21, 22, 29]
    rows = [(age, "f") for age in ages] + [(age + 10, "m") for age in ages[:4]] + [(30, "f")] * 6 + [(None, "f")] * 5
    found = released(rows, asked)
    means = {(row["age"], row["sex"]): row["age_class_mean"] for row in found}
    assert means == {("[20, 30)", "f"): 23, ("[30, 40)", "f"): 30, (None, "f"): None}
    found = released(rows, asked, "DOUBLE")
    assert {row["age_class_mean"] for row in found} == {22.6, 30.0, None}


def test_a_class_with_a_null_among_its_values_has_no_mean() -> None:
    asked = people({"age": {"as": ["class_mean"]}}, privacy=[{"type": "k_anonymity", "k": 5}])
    asked["columns"]["age"] = AGES | {"min_level": 3}
    found = released([(20, "f"), (30, "f"), (40, "f"), (50, "f"), (None, "f")], asked)
    assert [(row["age"], row["age_class_mean"]) for row in found] == [("*", None)] * 5


def recoded(transformation: dict[str, Any], intervals: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that several rules publish: pairs of an age, which is kept too, and a sex."""
    draw = random.Random(5)
    rows = [(age, draw.choice("fm"), age) for age in (draw.choice([20, 21, 25, 33, 34, 47, None]) for _ in range(60))]
    rows += [(90, "f", 90), (62, "x", 62), (24, "y", 24), (22, "z", 22)]
    asked = people({"age": {"as": BOUNDS}}, transformation=transformation, nulls="extended")
    asked["columns"]["age"] = {"role": "quasi_identifier", "hierarchy": {"intervals": intervals}}
    asked["columns"]["own"] = {"role": "keep"}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t(age INTEGER, sex VARCHAR, own INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        policy = sqlanon.Policy.from_dict({**asked, "accept": ["own"]})
        with sqlanon.anonymize(connection, policy) as release:
            found: list[dict[str, Any]] = release.to_arrow().to_pylist()
            return found


@pytest.mark.parametrize("labels", ["range", "start"])
def test_several_rules_publish_bounds_that_follow_from_the_text_alone(labels: str) -> None:
    nodes = [{"age": 0}, {"age": 1, "sex": 1}, {"age": 2, "sex": 1}, {"age": 3, "sex": 1}]
    rows = recoded(
        {"type": "local_recoding", "nodes": nodes, "hold": 0}, {"width": 5, "fanouts": [4], "labels": labels}
    )
    bounds: dict[Any, Any] = {}
    for row in rows:
        found = (row["age_low"], row["age_high"], row["age_midpoint"])
        assert bounds.setdefault(row["age"], found) == found
        if found != (None, None, None):
            assert found[0] <= row["own"] <= found[1]
    assert bounds["*"] == (None, None, None) and len(bounds) > 3
    # the value 20 reads like the interval that it begins
    assert bounds["20"] == ((20, 24, 22) if labels == "start" else (20, 20, 20))


def test_a_pattern_publishes_a_value_or_no_bounds() -> None:
    rows = recoded({"type": "patterns", "outliers": True}, {"width": 5})
    assert {row["age_low"] == row["age_high"] == row["own"] for row in rows if row["age"] != "*"} == {True}
    assert {row["age_low"] for row in rows if row["age"] == "*"} == {None}


def test_neither_numbers_nor_dates_are_refused_before_the_search() -> None:
    asked = people({"sex": {"as": ["low"]}})
    with pytest.raises(sqlanon.UnsupportedError, match="'sex' has the type VARCHAR, and its hierarchy"):
        released([(21, "f")], asked)
    asked = people({"sex": {"as": ["low"]}})
    asked["columns"]["sex"] = {"role": "quasi_identifier", "hierarchy": {"levels": {"1": "*", "2024-01-01": "*"}}}
    with pytest.raises(sqlanon.UnsupportedError, match="'sex' has the type VARCHAR"):
        released([(21, "1")], asked)


def test_a_mean_of_dates_is_refused() -> None:
    asked = people({"age": {"as": ["class_mean"]}}, privacy=[{"type": "k_anonymity", "k": 5}])
    asked["columns"]["age"] = {"role": "quasi_identifier", "hierarchy": {"dates": ["year"]}}
    with pytest.raises(sqlanon.UnsupportedError, match="classes have no mean"):
        released([("2024-01-01", "f")], asked, "DATE")


def test_who_reads_on_another_policy_needs_another_encoding() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 20 AS age, 'f' AS sex FROM range(3)")
        with sqlanon.plan(connection, people({"age": {"as": ["low"]}})) as plan:
            with pytest.raises(sqlanon.InputError, match="published as numbers"):
                plan.with_policy(sqlanon.Policy.from_dict(people({"age": {"as": ["high"]}})))
            with plan.with_privacy(sqlanon.KAnonymity(3)) as other:
                assert other.publish(None).to_arrow()["age_low"].to_pylist() == [20, 20, 20]


@pytest.mark.slow
def test_entities_and_populations_have_bounds_too() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 20 + i % 10 AS age, 'f' AS sex, i % 7 AS person, i % 3 = 0 AS member "
            "FROM range(40) AS r(i)"
        )
        for others in (
            {"entity": "person"},
            {"privacy": [{"type": "delta_presence", "min": 0, "max": 0.5, "subset": {"column": "member"}}]},
        ):
            asked = people({"age": {"as": ["low", "high"]}}, undeclared="drop", **others)
            with sqlanon.anonymize(connection, asked) as release:
                rows = release.to_arrow().to_pylist()
                assert rows and {(row["age"], row["age_low"], row["age_high"]) for row in rows} == {
                    ("[20, 30)", 20, 29)
                }


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "duckdb", "xml"])
def test_every_kind_of_file_holds_the_columns_beside(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"released.{ending}"
    asked = people({"age": {"as": ["midpoint"]}}, output={"file": str(path)})
    found = released([(21, "f"), (22, "f"), (35, "m"), (36, "m")], asked)
    assert [str(row["age_midpoint"]) for row in found] == ["24", "24", "34", "34"]


def test_the_manifest_names_the_columns_beside() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 20 AS age, 'f' AS sex FROM range(6)")
        asked = people({"age": {"as": ["low", "class_mean"]}}, privacy=[{"type": "k_anonymity", "k": 5}])
        with sqlanon.anonymize(connection, asked) as release:
            age, low, mean, sex = release.manifest["columns"]
            assert (age["name"], age["role"], sex["name"]) == ("age", "quasi_identifier", "sex")
            assert low == {"name": "age_low", "role": "companion", "of": "age", "value": "low"}
            assert mean["value"] == "class_mean"
            assert any("a mean times the size of its class" in warning for warning in release.warnings)


def test_a_script_of_a_dialect_refuses_numbers_and_the_script_of_a_run_repeats_them() -> None:
    asked = people({"age": {"as": ["low", "midpoint"]}})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 20 + i % 20 AS age, 'f' AS sex FROM range(60) AS r(i)")
        with sqlanon.plan(connection, asked) as plan:
            with pytest.raises(sqlanon.UnsupportedError, match="A script publishes texts"):
                script_parts(plan)
            script, rows = plan.script(), plan.publish(None).to_arrow().to_pylist()
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 20 + i % 20 AS age, 'f' AS sex FROM range(60) AS r(i)")
        *_, last = [connection.execute(text) for text in duckdb.extract_statements(script)]
        assert sorted(last.fetchall()) == sorted(tuple(row.values()) for row in rows)
