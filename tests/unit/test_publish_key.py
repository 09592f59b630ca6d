"""The key ``publish`` of a policy: what it means, how it is written, and every fault of it at once."""

from pathlib import Path
from typing import Any

import pytest
from policies import document_of

import sqlanon
from sqlanon import Column, KAnonymity, Policy, PolicyError, Publish
from sqlanon.interop.anon.convert import convert
from sqlanon.interop.anon.definition_reading import parse_definition
from sqlanon.interop.anon.definition_writing import write_definition

AGE = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5}}}
BORN = {"role": "quasi_identifier", "hierarchy": {"dates": ["year"]}}
ZIP = {"role": "quasi_identifier", "hierarchy": {"redact": {}}}


def document(publish: Any, columns: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return document_of(
        {"age": AGE, "born": BORN, "stay": {"role": "keep"}} | (columns or {}), keys, k=5, publish=publish
    )


def faults(*given: Any, **keys: Any) -> dict[str, str]:
    with pytest.raises(PolicyError) as refused:
        Policy.from_dict(document(*given, **keys))
    return {fault.key: fault.message for fault in refused.value.faults}


def test_a_list_is_columns_beside_and_a_word_the_column_itself() -> None:
    policy = Policy.from_dict(document({"age": {"as": ["low", "high"]}, "born": {"as": "midpoint"}}))
    age, born = policy.publish
    assert (age.instead, dict(age.columns)) == (None, {"age_low": "low", "age_high": "high"})
    assert (born.instead, dict(born.columns)) == ("midpoint", {"born": "midpoint"})


def test_a_file_a_dict_and_constructors_lead_to_equal_policies(tmp_path: Path) -> None:
    built = Policy(
        columns=(
            Column.quasi_identifier("age", sqlanon.Intervals(5)),
            Column.quasi_identifier("born", sqlanon.Dates(["year"])),
            Column.keep("stay"),
        ),
        privacy=(KAnonymity(5),),
        publish=(Publish("age", ["low", "high"]), Publish("born", "low")),
    )
    read = Policy.from_dict(document({"age": {"as": ["low", "high"]}, "born": {"as": "low"}}))
    assert built == read == Policy.from_dict(read.to_dict())
    assert built.fingerprint() == read.fingerprint()
    assert Policy.from_dict(parse_definition(write_definition(read.to_dict()), "policy")) == read
    (tmp_path / "policy.yaml").write_text(
        "columns: {age: {role: quasi_identifier, hierarchy: {suppress: {}}}}\nprivacy: [{type: k_anonymity, k: 5}]\n"
        "publish: {age: {as: [midpoint]}}\n"
    )
    convert(tmp_path / "policy.yaml", tmp_path / "policy.xml")
    convert(tmp_path / "policy.xml", tmp_path / "policy.json")
    assert Policy.from_file(tmp_path / "policy.json") == Policy.from_file(tmp_path / "policy.yaml")


def test_the_fingerprint_changes_with_the_key_alone() -> None:
    without, with_it = (Policy.from_dict(document(given)) for given in (None, {"age": {"as": ["low"]}}))
    assert "publish" not in without.to_dict()
    assert without.fingerprint() != with_it.fingerprint()
    assert without.question_fingerprint() == with_it.question_fingerprint()


@pytest.mark.parametrize(
    ("publish", "key"),
    [
        ("age", "publish"),
        ({"age": ["low"]}, "publish.age"),
        ({"age": {}}, "publish.age.as"),
        ({"age": None}, "publish.age.as"),
        ({"age": {"as": []}}, "publish.age.as"),
        ({"age": {"as": ["low", "low"]}}, "publish.age.as"),
        ({"age": {"as": ["middle"]}}, "publish.age.as"),
        ({"age": {"as": 3}}, "publish.age.as"),
        ({"age": {"of": "low", "as": "low"}}, "publish.age.of"),
        ({"stay": {"as": ["low"]}}, "publish.stay"),
        ({"none": {"as": ["low"]}}, "publish.none"),
        ({7: {"as": ["low"]}}, "publish.7"),
    ],
)
def test_what_is_no_request_is_a_fault_of_its_key(publish: Any, key: str) -> None:
    assert key in faults(publish)


def test_all_faults_are_reported_at_once() -> None:
    found = faults(
        {"age": {"as": ["LOW"]}, "stay": {"as": "low"}, "born": {"as": ["low", "high"]}},
        {"Born_LOW": {"role": "keep"}, "zip": ZIP},
        suppressed="redact",
    )
    assert list(found) == ["publish.age.as", "publish.stay", "publish.born.as", "suppressed"]
    assert "'born_low' is published already" in found["publish.born.as"]


def test_a_dropped_column_may_have_the_name_of_one_beside() -> None:
    Policy.from_dict(document({"age": {"as": ["low"]}}, {"age_low": {"role": "drop"}}))


def test_two_columns_beside_may_not_have_one_name() -> None:
    columns = {"a": AGE, "a_LOW": AGE, "A_low_low": {"role": "keep"}}
    assert list(faults({"a_LOW": {"as": ["low"]}}, columns)) == ["publish.a_LOW.as"]


def test_texts_of_redact_stand_for_no_numbers() -> None:
    assert list(faults({"zip": {"as": ["low"]}}, {"zip": ZIP})) == ["publish.zip"]
    patterns = {"type": "patterns"}
    Policy.from_dict(document({"zip": {"as": ["low"]}}, {"zip": ZIP}, transformation=patterns))


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"privacy": [{"type": "k_anonymity", "k": 4}]}, "publish"),
        ({"entity": "person"}, "publish"),
        ({"transformation": {"type": "local_recoding"}}, "publish"),
        ({"transformation": {"type": "patterns"}}, "publish"),
    ],
)
def test_means_of_classes_need_classes_of_records_of_one_node(keys: dict[str, Any], key: str) -> None:
    assert key in faults({"age": {"as": ["class_mean"]}}, **keys)
    assert "publish.age.as" in faults({"age": {"as": "class_mean"}}, **keys)


def test_the_classes_of_a_population_need_the_texts() -> None:
    privacy = [{"type": "delta_presence", "min": 0, "max": 0.5, "subset": {"column": "stay"}}]
    assert list(faults({"age": {"as": "low"}}, privacy=privacy)) == ["publish.age.as"]


def test_what_is_no_object_is_a_fault() -> None:
    columns = (Column.quasi_identifier("age", sqlanon.Intervals(5)),)
    with pytest.raises(PolicyError, match=r"publish\[0\]"):
        Policy(columns=columns, privacy=(KAnonymity(5),), publish=(3,))  # type: ignore[arg-type]
    read = Policy(columns=columns, privacy=(KAnonymity(5),), publish={"age": {"as": "low"}})  # type: ignore[arg-type]
    assert read.publish == (Publish("age", "low"),)
