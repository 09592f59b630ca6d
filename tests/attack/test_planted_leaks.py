"""Leaks that were planted are found, and releases without any show nothing beyond their intervals."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from policies import document_of, quasi
from tables import text_table

import sqlanon
from sqlanon.assess.attack.facts import AttackReport, Control, Finding

Record = tuple[str, ...]
LEVELS = {str(age): [f"{age // 10}0s", "*"] for age in range(20, 80)}
POLICY: dict[str, Any] = document_of(
    {"age": quasi({"levels": LEVELS}), "town": "suppress"}, k=5, table="t", suppression_limit=1
)


def people(count: int, *others: Callable[[random.Random, int, Record], str]) -> list[Record]:
    """Records of age, town and what each of some functions returns of a random generator, a number and the record."""
    rng, found = random.Random(7), []
    for number in range(count):
        record: Record = (str(rng.randint(20, 79)), rng.choice("abcdef"))
        found.append((*record, *(each(rng, number, record) for each in others)))
    return found


def attacked(
    folder: Path, records: Sequence[Record], columns: dict[str, Any], **keys: Any
) -> dict[str, sqlanon.Finding]:
    """Publish records and return what attacks find, by the name of the attack."""
    options = {"holdout": keys.pop("holdout", 0.5)}
    document = {**POLICY, "columns": {**POLICY["columns"], **columns}, "accept": [*columns], **keys}
    policy = sqlanon.Policy.from_dict({**document, "output": {"file": str(folder / "released.parquet")}})
    with duckdb.connect() as connection:
        text_table(connection, ["age", "town", *columns], [*records])
        sqlanon.anonymize(connection, policy).close()
        report = sqlanon.attack(folder / "released.parquet", policy, source=connection, **options)
    assert ("drawn at random" in report.control) == (options["holdout"] > 0)
    return {item.attack: item for item in report.findings}


@pytest.mark.slow
def test_a_release_of_single_records_singles_them_out(tmp_path: Path) -> None:
    columns = {"id": {"role": "keep"}}
    found = attacked(
        tmp_path, people(400, lambda rng, i, r: str(i % 3)), columns, privacy=[{"type": "k_anonymity", "k": 1}]
    )
    singled = found["singling_out_quasi_identifiers"]
    assert singled.rate is not None and singled.rate > 0.2 and singled.attempts == 400
    assert singled.control is not None and singled.control.interval is not None and singled.control.interval[0] > 0
    assert "of 400 rows of the release" in singled.meaning


@pytest.mark.slow
def test_a_kept_column_that_is_unique_is_found(tmp_path: Path) -> None:
    found = attacked(tmp_path, people(400, lambda rng, i, r: f"p{i}"), {"id": {"role": "keep"}})
    assert found["singling_out_quasi_identifiers"].successes == 0
    for name in ("singling_out_kept_columns", "linkage_register"):
        item = found[name]
        assert item.rate == 1 and item.excess is not None and item.excess > 0.7, item
        assert item.control_successes == 0
        assert "being in it adds to what" in item.meaning


@pytest.mark.slow
def test_a_value_that_follows_from_the_class_is_certain_for_anybody(tmp_path: Path) -> None:
    models = [{"type": "distinct_l_diversity", "l": 1}]
    columns = {"illness": {"role": "sensitive", "models": models}}
    found = attacked(tmp_path, people(600, lambda rng, i, r: f"of {r[1]}"), columns, suppression_limit=0.1)
    item = found["class_inference"]
    assert item.successes == item.attempts == item.figures["certain"] == item.figures["certain_right"]
    assert item.baseline is not None and item.baseline < 0.5
    assert item.control_successes == item.control_attempts and item.excess is None  # nobody has to be in the release


@pytest.mark.slow
def test_a_value_of_ones_own_is_inferred_of_those_in_the_release_alone(tmp_path: Path) -> None:
    columns = {"illness": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}}
    records = people(1000, lambda rng, i, r: str(rng.randint(0, 200)))
    found = attacked(tmp_path, records, columns, privacy=[{"type": "k_anonymity", "k": 2}])
    item = found["class_inference"]
    assert item.control is not None and item.control.interval is not None and item.control.interval[0] > 0.05
    assert item.loss_coefficient is not None and item.loss_coefficient > 0.1


@pytest.mark.slow
def test_values_that_have_nothing_to_do_with_classes_show_nothing(tmp_path: Path) -> None:
    columns = {"illness": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}}
    records = people(2000, lambda rng, i, r: rng.choice("xy"))
    found = attacked(tmp_path, records, columns, privacy=[{"type": "k_anonymity", "k": 150}])
    assert found["singling_out_quasi_identifiers"].successes == found["linkage_register"].successes == 0
    for name in ("class_inference", "definetti"):
        control = found[name].control
        assert control is not None and control.interval is not None and control.interval[0] < 0.03, found[name]
    assert found["class_inference"].rate == pytest.approx(0.5, abs=0.06)
    assert found["class_inference"].loss_coefficient == pytest.approx(0, abs=0.12)


@pytest.mark.slow
def test_a_release_that_fares_worse_than_what_its_policy_publishes_is_above_a_limit(tmp_path: Path) -> None:
    """The source itself, given as the release: the policy published again, with a control group, singles nobody out."""
    raw = tmp_path / "raw.csv"
    with duckdb.connect() as connection:
        text_table(connection, ["age", "town"], people(200))
        connection.execute(f"COPY t TO '{raw}' (HEADER)")
        report = sqlanon.attack(raw, sqlanon.Policy.from_dict(POLICY), source=connection)
    [singled] = [item for item in report.findings if item.attack == "singling_out_quasi_identifiers"]
    assert singled.control is not None and singled.control.successes == singled.control.control_successes == 0
    assert singled.rate is not None and singled.rate > 0.4 and singled.excess == 0
    assert singled.excess_of_rate == singled.rate and singled.fares_worse and "the release itself" in singled.meaning
    assert singled in report.above(0.4)


def test_a_control_group_that_nothing_was_tried_on_leaves_the_rate_to_decide() -> None:
    item = Finding(attack="a", risk="inference", attempts=10, successes=9, how="", meaning="")
    for control, decides in (
        (Control(0, 0, 0, 0), True),
        (Control(10, 9, 0, 0), True),
        (Control(10, 9, 10, 10), False),
    ):
        report = AttackReport("r", 10, 10, 1, (item.with_control(control),), (), "")
        assert bool(report.above(0.8)) is decides, control


def test_without_a_group_held_out_there_is_no_control(tmp_path: Path) -> None:
    found = attacked(tmp_path, people(100, lambda rng, i, r: "p"), {"id": {"role": "keep"}}, holdout=0)
    assert all(item.control is None and item.excess is None for item in found.values())


@pytest.mark.slow
def test_reports_hold_no_values(tmp_path: Path) -> None:
    found = attacked(tmp_path, people(60, lambda rng, i, r: "zebra"), {"id": {"role": "keep"}})
    assert "zebra" not in str([item.to_dict() for item in found.values()])


def test_what_two_releases_leave_is_less_than_what_each_leaves(tmp_path: Path) -> None:
    """One release has towns without ages, the other ages without towns: six illnesses of twenty in each class."""
    rng = random.Random(2)
    records = [(str(20 + age), town, str(rng.randrange(20))) for age in range(6) for town in "abcdef"]
    levels = {str(20 + age): ["*"] for age in range(6)}
    releases = []
    with duckdb.connect() as connection:
        text_table(connection, ["age", "town", "illness"], records)
        for hidden in ("age", "town"):
            columns: dict[str, Any] = {
                "age": {"role": "quasi_identifier", "hierarchy": {"levels": levels}},
                "town": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
                "illness": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            }
            columns[hidden]["min_level"] = 1
            target = tmp_path / f"{hidden}.parquet"
            document = {**POLICY, "columns": columns, "accept": ["illness"], "output": {"file": str(target)}}
            policy = sqlanon.Policy.from_dict(document)
            sqlanon.anonymize(connection, policy).close()
            releases.append((target, policy))
        (first, policy), *also = releases
        report = sqlanon.attack(first, policy, source=connection, also=also, holdout=0)
    [item] = [item for item in report.findings if item.attack == "composition_inference"]
    assert item.attempts == 36 and item.figures["certain_in_one"] == 0
    assert item.figures["certain"] == item.figures["certain_right"] > 9, "a fourth and more are known for certain"
    assert item.baseline_successes is not None and item.successes > 2 * item.baseline_successes
