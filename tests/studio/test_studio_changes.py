"""Changes of a policy, one after the other: each ends in a valid policy or in a clear error, with nothing changed."""

import random
from pathlib import Path
from typing import Any

import benches
import effort
import pytest
import yaml

import sqlanon
from sqlanon.assess.profiling.drafting import draft
from sqlanon.core.policy import Policy
from sqlanon.errors import SqlanonError
from sqlanon.studio.drafts import ACTIONS, EditedPolicy, changed, drafted, of_document
from sqlanon.studio.kinds import HIERARCHIES, hierarchy_of, models_for, read_groups

VALUES = ("", "0", "1", "5", "2.5", "-1", "1e9", "nan", "[2, 2]", "[[20, 50], [50]]", "{a: 1}", "a: b", "x" * 300,
          "month", "left", "quasi_identifier", "sensitive", "keep", "drop", "a: D01, D02\nb: D03", "local_recoding",
          "patterns", "top", "suppress", "2020-01-01", "!!python/object:os.system x", "&a [*a]")  # fmt: skip


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> EditedPolicy:
    folder = tmp_path_factory.mktemp("changes")
    return drafted(draft(sqlanon.profile(str(benches.visitors_file(folder))), folder=folder), folder)


@pytest.mark.parametrize("block", effort.blocks(400, 20))
def test_any_sequence_of_changes_leaves_a_policy(begun: EditedPolicy, block: effort.Block) -> None:
    for seed in block:
        chance = random.Random(seed)
        policy = begun
        for _ in range(12):
            change = _change(chance, policy)
            before = policy.document
            try:
                policy = changed(policy, change)
            except SqlanonError as error:
                assert error.message and benches.RARE not in str(error)
                assert policy.document == before
                continue
            read = Policy.from_dict(yaml.safe_load(policy.text()), base_directory=policy.folder)
            assert read == policy.policy(), change
            again = of_document(yaml.safe_load(policy.text()), policy.profile, policy.folder)
            assert again.policy() == read


def _change(chance: random.Random, policy: EditedPolicy) -> dict[str, Any]:
    """A change such as a page sends, or nearly so."""
    action = chance.choice([*ACTIONS])
    change: dict[str, Any] = {"action": action, "value": chance.choice(VALUES)}
    if action in ("role", "levels", "finer", "weight", "hierarchy", "option"):
        change["column"] = chance.choice([*policy.columns])
    if action in ("add_model", "drop_model", "parameter"):
        sensitive = [item.name for item in policy.with_role("sensitive")]
        if sensitive and chance.random() < 0.6:
            change["column"] = chance.choice(sensitive)
        change |= {"place": chance.choice("0012"), "name": chance.choice(["l", "t", "c", "k", "threshold", "x"])}
        if action == "add_model":
            change["value"] = chance.choice(models_for(column="column" in change))
    if action in ("levels", "finer"):
        change[chance.choice(["min_level", "max_level"])] = chance.choice(["", "0", "1", "2", "9", "x"])
    if action == "hierarchy" and chance.random() < 0.9:
        change["value"] = chance.choice([*HIERARCHIES])
    if action == "option":
        change["name"] = chance.choice(["width", "fanouts", "lengths", "levels", "at_least", "groups", "", "steps"])
    if action == "entity" and chance.random() < 0.7:
        change["value"] = chance.choice([*policy.columns])
    return change


def test_a_role_brings_what_it_needs(begun: EditedPolicy) -> None:
    policy = changed(begun, {"action": "role", "column": "sex", "value": "sensitive"})
    assert policy.document["columns"]["sex"]["models"] == [{"type": "distinct_l_diversity", "l": 2}]
    policy = changed(policy, {"action": "role", "column": "sex", "value": "quasi_identifier"})
    assert policy.document["columns"]["sex"] == begun.document["columns"]["sex"]
    text = changed(policy, {"action": "role", "column": "sex", "value": "drop"}).text()
    assert "Decided in the studio." in text and "Decided in the studio. Decided" not in text


@pytest.mark.parametrize("value", ["1e1000000000", "-1e1000000000", "1e99999", "9" * 400])
def test_a_number_of_endless_digits_is_refused_at_once(begun: EditedPolicy, value: str) -> None:
    of_age = {"column": "age", "max_level": value}
    for change in (
        *({"action": action} for action in ("k", "limit", "time_limit")),
        *({"action": action, **of_age} for action in ("weight", "levels")),
    ):
        with pytest.raises(SqlanonError):
            changed(begun, {"value": value, **change})


def test_a_finer_level_can_be_taken_below_the_finest_that_was_allowed(begun: EditedPolicy) -> None:
    policy = changed(begun, {"action": "levels", "column": "age", "min_level": "2"})
    policy = changed(policy, {"action": "finer", "column": "age", "max_level": "1", "lifts": ""})
    keys = policy.document["columns"]["age"]
    assert (keys["min_level"], keys["max_level"]) == (1, 1), "as its price was asked"


def test_a_sign_that_masks_can_be_typed(begun: EditedPolicy) -> None:
    policy = changed(begun, {"action": "hierarchy", "column": "district", "value": "redact"})
    for sign in "*#%":
        policy = changed(policy, {"action": "option", "column": "district", "name": "char", "value": sign})
        assert str(policy.document["columns"]["district"]["hierarchy"]["redact"]["char"]) == sign


def test_groups_are_typed_line_by_line(begun: EditedPolicy) -> None:
    policy = changed(begun, {"action": "hierarchy", "column": "district", "value": "groups"})
    typed = {"action": "option", "column": "district", "name": "groups", "value": "north: D01, D02\nsouth: D03"}
    policy = changed(policy, typed)
    assert policy.document["columns"]["district"]["hierarchy"] == {
        "groups": {"north": ["D01", "D02"], "south": ["D03"]}
    }
    for wrong in ("north D01", "north:", "", "a: b\na: c"):
        with pytest.raises(SqlanonError, match="group"):
            changed(policy, {**typed, "value": wrong})


@pytest.mark.parametrize(
    "groups", [{"a: b": ["x, y"], "c": ["z"]}, {"a": ["1", None]}, {"a": ["x\ny", "{"]}, {"n": ["1"]}]
)
def test_groups_are_shown_as_they_are_read(groups: dict[str, Any]) -> None:
    [option] = hierarchy_of({"hierarchy": {"groups": groups}})[1]
    assert read_groups(option.value) == groups


def test_an_opened_policy_keeps_what_the_page_does_not_show(begun: EditedPolicy, tmp_path: Path) -> None:
    document = begun.document | {"nulls": "basic", "undeclared": "drop", "quality": {"measure": "discernibility"}}
    policy = of_document(document, begun.profile, begun.folder)
    policy = changed(policy, {"action": "k", "value": "9"})
    read = yaml.safe_load(policy.text())
    assert {key: read[key] for key in ("nulls", "undeclared", "quality")} == {
        "nulls": "basic", "undeclared": "drop", "quality": {"measure": "discernibility"}
    }  # fmt: skip
    assert read["privacy"][0]["k"] == 9
