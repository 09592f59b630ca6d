"""Policies: the same from every format, every fault reported at once with its key and the cure."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

import sqlanon

DOCUMENT = {
    "source": "s.parquet",
    "columns": {
        "a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "weight": 2},
        "b": {"role": "quasi_identifier", "hierarchy": {"groups": {"g": {"h": ["1", "2"]}}}, "max_level": 2},
        "c": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 0.5, "fanouts": [2]}}},
        "d": {"role": "keep"},
    },
    "privacy": [{"type": "k_anonymity", "k": 5}],
    "suppression_limit": 0.05,
    "output": {"file": "out.csv"},
}


def faults(**changes: object) -> dict[str, str]:
    with pytest.raises(sqlanon.PolicyError) as caught:
        sqlanon.Policy.from_dict({**DOCUMENT, **changes})
    assert all(fault.hint for fault in caught.value.faults)
    return {fault.key: f"{fault.message} {fault.hint}" for fault in caught.value.faults}


def test_yaml_json_toml_and_dict_say_the_same(tmp_path: Path) -> None:
    import yaml

    (tmp_path / "p.yaml").write_text(yaml.safe_dump(DOCUMENT, sort_keys=False))
    (tmp_path / "p.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "p.toml").write_text(
        """
        source = "s.parquet"
        suppression_limit = 0.05
        privacy = [{type = "k_anonymity", k = 5}]
        output = {file = "out.csv"}
        [columns]
        a = {role = "quasi_identifier", hierarchy = {suppress = {}}, weight = 2}
        b = {role = "quasi_identifier", hierarchy = {groups = {g = {h = ["1", "2"]}}}, max_level = 2}
        c = {role = "quasi_identifier", hierarchy = {intervals = {width = 0.5, fanouts = [2]}}}
        d = {role = "keep"}
        """
    )
    built = [sqlanon.Policy.from_file(tmp_path / name) for name in ("p.yaml", "p.json", "p.toml")]
    built.append(sqlanon.Policy.from_dict(DOCUMENT, base_directory=tmp_path))
    built.append(sqlanon.Policy.from_dict(built[0].to_dict(), base_directory=tmp_path))
    assert all(policy == built[0] for policy in built)
    assert len({policy.fingerprint() for policy in built}) == 1
    assert built[0].output.target == str(tmp_path / "out.csv")
    elsewhere = sqlanon.Policy.from_dict(DOCUMENT, base_directory="/")
    assert elsewhere.fingerprint() == built[0].fingerprint()
    assert sqlanon.Policy.from_dict({**DOCUMENT, "suppression_limit": 0.1}).fingerprint() != built[0].fingerprint()


def test_all_faults_are_reported_at_once() -> None:
    found = faults(
        columns={
            "a": {"role": "quasi-identifier"},
            "b": {"rol": "keep"},
            "c": {"role": "quasi_identifier"},
            "d": {"role": "keep", "hierarchy": {"suppress": {}}},
            "D": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "min_level": 2, "max_level": 1},
            "e": {"role": "quasi_identifier", "hierarchy": {"file": "missing.csv"}},
            "f": {"role": "sensitive"},
            "g": {"role": "quasi_identifier", "hierarchy": {"dates": ["week", "month"]}, "weight": float("nan")},
        },
        privacy=[{"type": "k_anonymity", "k": True}, {"type": "t_closeness", "t": 0.2}],
        suppression_limit=1.5,
        nulls="extendet",
        quality={"measure": "discernability"},
        search={"strategy": "annon", "gap": 2},
        output={"file": "x.xlsx"},
        suppresed="drop",
    )
    assert {
        "columns.a.role", "columns.b.role", "columns.b.rol", "columns.c.hierarchy", "columns.d.hierarchy",
        "columns.D", "columns.D.min_level", "columns.e.hierarchy.file", "columns.f.models",
        "columns.g.hierarchy.dates", "privacy[0].k", "privacy[1].type", "suppression_limit", "nulls",
        "quality.measure", "search.strategy", "search.gap", "output.file", "suppresed",
    } <= set(found)  # fmt: skip
    assert "'anon'" in found["search.strategy"]


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("source: a\nsource: b\n")
    with pytest.raises(sqlanon.InputError, match="is given twice"):
        sqlanon.Policy.from_file(tmp_path / "p.yaml")
    with pytest.raises(sqlanon.InputError, match="cannot be read"):
        sqlanon.Policy.from_file(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "limit, records, allowed", [(0.05, 30162, 1508), ("0.29", 100, 29), (0, 9, 0), (1, 9, 9), (0.1, 30, 3)]
)
def test_the_limit_is_a_share_floored_in_decimal_arithmetic(limit: object, records: int, allowed: int) -> None:
    policy = sqlanon.Policy.from_dict({**DOCUMENT, "suppression_limit": limit})
    assert policy.allowed_suppressions(records) == allowed


def test_a_count_stands_in_for_the_limit() -> None:
    document = {k: v for k, v in DOCUMENT.items() if k != "suppression_limit"}
    assert sqlanon.Policy.from_dict({**document, "suppression_count": 7}).allowed_suppressions(100) == 7
    assert "suppression_count" in faults(suppression_count=7)


def test_dataclasses_are_checked_too() -> None:
    with pytest.raises(sqlanon.PolicyError):
        sqlanon.Policy(columns=(sqlanon.Column("a", "nothing"),), privacy=(sqlanon.Model("k_anonymity", {"k": 0}),))
    policy = sqlanon.Policy(
        columns=(sqlanon.Column("a", "keep"),),
        privacy=(sqlanon.Model("k_anonymity", {"k": 3}),),
        suppression_limit=Decimal("0.1"),
    )
    assert policy.privacy[0].parameters == {"k": 3} and policy.quality.measure == "loss"


def test_models_have_their_place_and_their_ranges() -> None:
    sensitive = {
        "role": "sensitive",
        "uncovered": "top",
        "models": [
            {"type": "k_anonymity", "k": 2},
            {"type": "entropy_l_diversity", "l": 0.5},
            {"type": "distinct_l_diversity", "l": 2.5},
            {"type": "recursive_l_diversity", "l": 2},
            {"type": "recursive_l_diversity", "l": 2, "c": 0},
            {"type": "t_closeness", "t": 1.5, "distance": "cosine"},
            {"type": "t_closeness", "t": 0.5, "distance": "hierarchical"},
        ],
    }
    found = faults(
        columns={"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "s": sensitive},
        privacy=[
            {"type": "delta_presence", "min": 0.5, "max": 0.2, "subset": {"file": "a.csv", "table": "b"}},
            {"type": "delta_presence", "min": 0, "max": Decimal("1e-19"), "subset": "a.csv", "public_only": "maybe"},
            {"type": "entropy_l_diversity", "l": 3},
        ],
    )
    assert {
        "columns.s.uncovered", "columns.s.models[0].type", "columns.s.models[1].l", "columns.s.models[2].l",
        "columns.s.models[3].c", "columns.s.models[4].c", "columns.s.models[5].t", "columns.s.models[5].distance",
        "columns.s.hierarchy", "privacy[0].min", "privacy[0].subset", "privacy[1].max", "privacy[1].public_only",
        "privacy[2].type", "privacy",
    } <= set(found)  # fmt: skip
