"""All faults of a policy are reported at once, each with the name that was meant."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from tables import text_table

import sqlanon
from sqlanon.assess.attack import reasoning
from sqlanon.cli import main
from sqlanon.core.policy import LocalRecoding


def faults_of(**changes: Any) -> dict[str, str]:
    """The hint of each fault, by its key."""
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}], **changes}
    with pytest.raises(sqlanon.PolicyError) as caught:
        sqlanon.Policy.from_dict(document)
    keys = [fault.key for fault in caught.value.faults]
    assert len(keys) == len({*keys}), "one fault, one line"
    return {fault.key: fault.hint for fault in caught.value.faults}


def test_no_fault_of_a_column_hides_behind_its_hierarchy_or_its_role() -> None:
    found = faults_of(
        columns={
            "a": {"role": "quasi_identfier", "hierarchy": {"interval": {"width": 5}}, "min_level": "low"},
            "b": {"hierarchy": {"file": "none.csv"}, "weight": -1},
        }
    )
    assert found["columns.a.hierarchy"] == "did you mean 'intervals'?"
    assert found["columns.a.role"] == "did you mean 'quasi_identifier'?"
    assert {"columns.a.min_level", "columns.b.role", "columns.b.hierarchy.file", "columns.b.weight"} <= {*found}


@pytest.mark.parametrize(
    ("key", "given", "meant"),
    [
        ("transformation.type", {"transformation": {"type": "local_recodin"}}, "local_recoding"),
        ("columns.a.hierarchy.codes", {"columns": {"a": {"role": "drop", "hierarchy": {"codes": "icd1O"}}}}, "icd10"),
        ("search.strategy", {"search": {"strategy": "boxx"}}, "box"),
    ],
)
def test_a_name_that_is_nearly_one_suggests_it(key: str, given: dict[str, Any], meant: str) -> None:
    assert faults_of(**given)[key] == f"did you mean {meant!r}?"


def test_a_list_of_texts_says_where_one_is_taken_and_null_takes_several() -> None:
    faults = faults_of(source="a.csv", csv={"null": ["NA", 1], "quote": ["'", "-"]})
    assert "one text only" in faults["csv.quote"] and "a list such as [NA, '-']" in faults["csv.null"]


def test_the_files_of_all_hierarchies_are_judged(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x;*\nx;+\n")
    columns = "".join(f"  {name}: {{role: quasi_identifier, hierarchy: {name}.csv}}\n" for name in "ab")
    policy = tmp_path / "p.yaml"
    policy.write_text(f"source: s.csv\ncolumns:\n{columns}privacy: [{{type: k_anonymity, k: 5}}]\n")
    told = CliRunner().invoke(main, ["policy", "check", str(policy)])
    assert told.exit_code == 2 and "columns.a.hierarchy" in told.stderr and "columns.b.hierarchy" in told.stderr


def test_the_files_of_a_faulty_policy_are_judged_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault elsewhere hides no fault of a hierarchy file, of one table or of several; variables stay hidden."""
    monkeypatch.setenv("PLACE", "secret")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.csv").write_text("x;*\nx;+\n")
    columns = "{a: {role: quasi_identifier, hierarchy: '${PLACE}/a.csv'}, b: {role: kept}, c: {hierarchy: {file: 1}}}"
    texts = {
        "one": f"source: s.csv\ncolumns: {columns}\n",
        "two": f"source: s.duckdb\ntables: {{t: {{key: b, columns: {columns}}}}}\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
        done = CliRunner().invoke(main, ["policy", "check", str(tmp_path / f"{name}.yaml"), "--json"])
        [document] = json.loads(done.stdout)["policies"]
        keys = {fault["key"] for fault in document["faults"]}
        prefix = "tables.t." if name == "two" else ""
        assert done.exit_code == 2 and {f"{prefix}columns.a.hierarchy", f"{prefix}columns.b.role"} <= keys, keys
        assert "secret" not in done.output


def test_a_part_of_a_wrong_kind_hides_no_other_fault() -> None:
    column = sqlanon.Column.quasi_identifier("a", sqlanon.Intervals(-5))
    with pytest.raises(sqlanon.PolicyError) as caught:
        sqlanon.Policy(
            columns=(column, 7), privacy=(sqlanon.KAnonymity(0),), quality=3, nulls="some", entity="b",  # type: ignore[arg-type]
        )  # fmt: skip
    keys = [fault.key for fault in caught.value.faults]
    assert sorted(keys) == ["columns.a.hierarchy.intervals.width", "columns[1]", "nulls", "privacy[0].k", "quality"]


def test_uncovered_values_are_told_without_sql() -> None:
    with duckdb.connect() as connection:
        text_table(connection, ["a"], [("x",), ("y",)])
        document: dict[str, Any] = {"table": "t", "privacy": [{"type": "k_anonymity", "k": 1}]}
        document["columns"] = {"a": {"role": "quasi_identifier", "hierarchy": {"levels": {"x": ["*"]}}}}
        with pytest.raises(sqlanon.UncoveredValuesError) as caught:
            sqlanon.plan(connection, document)
    assert "SELECT" not in str(caught.value) and len(str(caught.value).splitlines()) == 1
    assert "SELECT" in caught.value.queries["a"]


def test_a_share_too_small_to_ask_for_counts_as_none_in_an_attack() -> None:
    held = [reasoning._held(None, {"hold": hold}, LocalRecoding()) for hold in (0.001, 0.05)]  # type: ignore[arg-type]
    assert held == [0.0, 0.05]
