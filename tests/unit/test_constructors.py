"""A policy built from ``sqlanon.*`` alone equals the one that a file describes; what is none is refused."""

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import sqlanon
from sqlanon import Column, KAnonymity, Output, Policy
from sqlanon.core.hierarchies.specs import KINDS
from sqlanon.core.measures import MEASURES
from sqlanon.core.models import MODELS
from sqlanon.core.policy.facts import TARGETS

QUASI = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "diagnosis.csv").write_text("flu;*\n")
    return tmp_path


def same(built: Policy, document: dict[str, Any], base: Path) -> None:
    read = Policy.from_dict(document, base_directory=base)
    assert built == read
    assert built.fingerprint() == read.fingerprint()
    assert built.to_dict() == read.to_dict()
    assert Policy.from_dict(built.to_dict(), base_directory=base) == read


def small(base: Path, **fields: Any) -> Policy:
    columns = (Column.quasi_identifier("q", sqlanon.Suppress()), Column.keep("d"))
    return Policy(**{"columns": columns, "privacy": (KAnonymity(5),), "base_directory": base, **fields})


def small_document(**keys: Any) -> dict[str, Any]:
    return {"columns": {"q": QUASI, "d": {"role": "keep"}}, "privacy": [{"type": "k_anonymity", "k": 5}], **keys}


HOSPITAL = """\
source: hospital.duckdb
table: discharges
columns:
  patient_id: {role: drop}
  sex:        {role: quasi_identifier, hierarchy: {suppress: {}}}
  age:        {role: quasi_identifier, hierarchy: {intervals: {width: 5, fanouts: [2, 2], lower: 0, upper: 100}}}
  zip:        {role: quasi_identifier, hierarchy: {redact: {direction: right, char: "*"}}}
  admitted:   {role: quasi_identifier, hierarchy: {dates: [month, quarter, year]}}
  diagnosis:
    role: sensitive
    models: [{type: t_closeness, t: 0.3, distance: hierarchical}, {type: entropy_l_diversity, l: 3}]
    hierarchy: {file: diagnosis.csv}
  stay:       {role: keep}
privacy: [{type: k_anonymity, k: 5}]
suppression_limit: 0.05
nulls: extended
quality: {measure: loss}
output: {file: released.parquet}
if_exists: replace
"""


def test_a_whole_policy_is_the_one_of_a_file(base: Path) -> None:
    built = sqlanon.Policy(
        source="hospital.duckdb",
        table="discharges",
        columns=(
            sqlanon.Column.drop("patient_id"),
            sqlanon.Column.quasi_identifier("sex", sqlanon.Suppress()),
            sqlanon.Column.quasi_identifier("age", sqlanon.Intervals(5, fanouts=[2, 2], lower=0, upper=100)),
            sqlanon.Column.quasi_identifier("zip", sqlanon.Redact(direction="right", char="*")),
            sqlanon.Column.quasi_identifier("admitted", sqlanon.Dates(["month", "quarter", "year"])),
            sqlanon.Column.sensitive(
                "diagnosis",
                sqlanon.TCloseness(t=0.3, distance="hierarchical"),
                sqlanon.EntropyLDiversity(l=3),
                hierarchy=sqlanon.FileHierarchy("diagnosis.csv"),
            ),
            sqlanon.Column.keep("stay"),
        ),
        privacy=(sqlanon.KAnonymity(5),),
        suppression_limit=0.05,
        nulls="extended",
        quality=sqlanon.Quality("loss"),
        output=sqlanon.Output.file("released.parquet"),
        if_exists="replace",
        base_directory=base,
    )
    document = yaml.safe_load(HOSPITAL)
    same(built, document, base)
    assert built.suppression_limit == Decimal("0.05")
    # a certificate holds the fingerprint of its policy: it must not change between versions
    assert built.fingerprint() == "59565ec751072b82c66ba40adb11367b9eb6ade087cc1213fba3fba070ad65d3"


SENSITIVE = [
    (sqlanon.DistinctLDiversity(3), {"type": "distinct_l_diversity", "l": 3}),
    (sqlanon.EntropyLDiversity(2.5), {"type": "entropy_l_diversity", "l": 2.5}),
    (sqlanon.RecursiveLDiversity(3, c=4), {"type": "recursive_l_diversity", "l": 3, "c": 4}),
    (
        sqlanon.RecursiveLDiversity(l=3, c=Decimal("0.1")),
        {"type": "recursive_l_diversity", "c": Decimal("0.1"), "l": 3},
    ),
    (sqlanon.TCloseness(t=0.2), {"type": "t_closeness", "t": 0.2}),
    (sqlanon.DeltaDisclosure(1.5), {"type": "delta_disclosure", "delta": 1.5}),
    (sqlanon.BetaLikeness(4), {"type": "beta_likeness", "beta": 4}),
    (sqlanon.BetaLikeness(4, enhanced=True), {"type": "beta_likeness", "beta": 4, "enhanced": True}),
    (sqlanon.TCloseness(0.2, distance="equal"), {"type": "t_closeness", "t": 0.2, "distance": "equal"}),
]
RECORDS = [
    (
        sqlanon.PopulationUniqueness(0.01, 300_000_000, "pitman"),
        {"type": "population_uniqueness", "threshold": 0.01, "population": 300_000_000, "estimator": "pitman"},
    ),
    (sqlanon.AverageRisk(0.05), {"type": "average_risk", "threshold": 0.05}),
    (
        sqlanon.SampleUniqueness(0, ties="greatest_loss"),
        {"type": "sample_uniqueness", "threshold": 0, "ties": "greatest_loss"},
    ),
    (KAnonymity(5), {"type": "k_anonymity", "k": 5}),
    (sqlanon.BoundedKnowledge(k=5, at_most=3), {"type": "bounded_knowledge", "k": 5, "at_most": 3}),
    (
        sqlanon.DeltaPresence(min=0.1, max=0.5, subset="members.csv"),
        {"type": "delta_presence", "min": 0.1, "max": 0.5, "subset": "members.csv"},
    ),
    (
        sqlanon.DeltaPresence(min=0, max=1, subset={"table": "members"}, public_only="reject"),
        {"type": "delta_presence", "min": 0, "max": 1, "subset": {"table": "members"}, "public_only": "reject"},
    ),
    (sqlanon.KMap(5, "people.csv"), {"type": "k_map", "k": 5, "population": "people.csv"}),
    (
        sqlanon.KMap(5, {"file": "people.csv", "delimiter": ";"}),
        {"type": "k_map", "k": 5, "population": {"file": "people.csv", "delimiter": ";"}},
    ),
    (
        sqlanon.KMap(5, 10**9, "zero_truncated_poisson", Decimal("0.01")),
        {
            "type": "k_map",
            "k": 5,
            "population": 10**9,
            "estimator": "zero_truncated_poisson",
            "significance": Decimal("0.01"),
        },
    ),
]


@pytest.mark.parametrize("built, entry", [*SENSITIVE, *RECORDS])
def test_every_model(built: sqlanon.Model, entry: dict[str, Any], base: Path) -> None:
    if (built, entry) in RECORDS:
        same(small(base, privacy=[built]), small_document(privacy=[entry]), base)
        return
    columns = (Column.quasi_identifier("q", sqlanon.Suppress()), Column.sensitive("s", built))
    document = {"q": QUASI, "s": {"role": "sensitive", "models": [entry]}}
    same(Policy(columns, (), base_directory=base), {"columns": document}, base)


PERSONS = [
    (sqlanon.ProfileK(4), {"type": "profile_k", "k": 4}),
    (sqlanon.ProfileK(4, at_most=2), {"type": "profile_k", "k": 4, "at_most": 2}),
]


@pytest.mark.parametrize("built, entry", PERSONS)
def test_every_model_of_persons(built: sqlanon.Model, entry: dict[str, Any], base: Path) -> None:
    document = small_document(privacy=[entry]) | {"entity": "who"}
    same(small(base, privacy=[built], entity="who"), document, base)


def test_no_model_lacks_a_constructor() -> None:
    built = {model.type for model, _ in (*SENSITIVE, *RECORDS, *PERSONS)}
    assert built == {kind.type for kind in MODELS}  # type: ignore[attr-defined]
    assert {kind.__name__ for kind in MODELS} <= set(sqlanon.__all__)  # type: ignore[attr-defined]


HIERARCHIES = [
    (sqlanon.FileHierarchy("diagnosis.csv", ";", null="?"), {"file": "diagnosis.csv", "delimiter": ";", "null": "?"}),
    (sqlanon.FileHierarchy("diagnosis.csv"), "diagnosis.csv"),
    (sqlanon.TableHierarchy("codes"), {"table": "codes"}),
    (sqlanon.Levels({"a": ["g", "*"], None: ["n", "*"], 1: ["g", "*"]}),
     {"levels": {"a": ["g", "*"], None: ["n", "*"], "1": ["g", "*"]}}),
    (sqlanon.Levels({"a": "*"}), {"levels": {"a": "*"}}),
    (sqlanon.Redact(), {"redact": {}}),
    (sqlanon.Redact("left", "#", steps=2), {"redact": {"direction": "left", "char": "#", "steps": 2}}),
    (sqlanon.Intervals(width=0.1, fanouts=[5, 2]), {"intervals": {"width": 0.1, "fanouts": [5, 2]}}),
    (sqlanon.Intervals("0.10", origin=-1.5, lower=0, upper=Decimal(9), labels="start"),
     {"intervals": {"width": "0.10", "origin": -1.5, "lower": 0, "upper": 9, "labels": "start"}}),
    (sqlanon.Dates(), {"dates": {}}),
    (sqlanon.Dates(["week"]), {"dates": ["week"]}),
    (sqlanon.Groups({"g": {"h": ["1", 2]}}), {"groups": {"g": {"h": [1, "2"]}}}),
    (sqlanon.Groups(["a", "b"]), {"groups": ["a", "b"]}),
    (sqlanon.Suppress(), {"suppress": {}}),
    (sqlanon.Dates(["weekday", "weekend"], format="%d.%m.%Y"),
     {"dates": {"levels": ["weekday", "weekend"], "format": "%d.%m.%Y"}}),
    (sqlanon.Ages("2024-01-01"), {"ages": {"at": datetime.date(2024, 1, 1)}}),
    (sqlanon.Ages("2024-01-01", 5, [2], upper=85),
     {"ages": {"at": "2024-01-01", "width": 5, "fanouts": [2], "upper": 85}}),
    (sqlanon.Prefix([4, 2]), {"prefix": [4, 2]}),
    (sqlanon.Prefix(3, mark=""), {"prefix": {"lengths": [3], "mark": ""}}),
    (sqlanon.FrequentValues([50, 500]), {"frequent": [50, 500]}),
    (sqlanon.FrequentValues(5, "rest"), {"frequent": {"at_least": 5, "other": "rest"}}),
    (sqlanon.Codes("icd10"), {"codes": "icd10"}),
    (sqlanon.Zip3(), {"zip3": {}}),
    (sqlanon.Zip3(small=["036"]), {"zip3": {"small": ["036"]}}),
    (sqlanon.Zip3("diagnosis.csv", 1000), {"zip3": {"populations": "diagnosis.csv", "at_most": 1000}}),
]  # fmt: skip


@pytest.mark.parametrize("built, entry", HIERARCHIES)
def test_every_hierarchy(built: Any, entry: Any, base: Path) -> None:
    column = Column.quasi_identifier("q", built, min_level=1, max_level=1, weight=2, uncovered="top")
    keys = {"role": "quasi_identifier", "hierarchy": entry, "min_level": 1, "max_level": 1, "weight": 2}
    document = {"columns": {"q": {**keys, "uncovered": "top"}}, "privacy": [{"type": "k_anonymity", "k": 5}]}
    same(Policy((column,), (KAnonymity(5),), base_directory=base), document, base)


def test_no_hierarchy_lacks_a_constructor() -> None:
    assert {built.kind for built, _ in HIERARCHIES} == set(KINDS)


def test_information_losses(base: Path) -> None:
    column = Column.quasi_identifier("q", sqlanon.Suppress(), information_loss=[0, 0.5])
    entry = {"role": "quasi_identifier", "hierarchy": {"suppress": {}, "information_loss": [0, 0.5]}}
    same(small(base, columns=[column]), {**small_document(), "columns": {"q": entry}}, base)


OUTPUTS = [
    (Output.file("released.parquet"), {"file": "released.parquet"}),
    (Output.view("v", owner="o", readers=["a", "b"]), {"view": "v", "owner": "o", "readers": ["a", "b"]}),
    (Output.table("s.t", readers=["a"]), {"table": "s.t", "readers": "a"}),
    (Output.live_view("v"), {"live_view": "v"}),
    (Output.delta("lake/t", partition_by=["q"]), {"delta": "lake/t", "partition_by": "q"}),
    (Output.delta("s3://lake/t"), {"delta": "s3://lake/t"}),
    (Output.iceberg("lake.clinic.t"), {"iceberg": "lake.clinic.t"}),
]


@pytest.mark.parametrize("built, entry", OUTPUTS)
def test_every_output(built: Output, entry: dict[str, Any], base: Path) -> None:
    same(small(base, output=built), small_document(output=entry), base)


def test_no_output_lacks_a_constructor() -> None:
    assert {built.kind for built, _ in OUTPUTS} == set(TARGETS)


@pytest.mark.parametrize("measure", [kind.name for kind in MEASURES])  # type: ignore[attr-defined]
def test_every_measure(measure: str, base: Path) -> None:
    same(small(base, quality=sqlanon.Quality(measure)), small_document(quality={"measure": measure}), base)


@pytest.mark.parametrize(
    "fields, keys",
    [
        ({"suppression_limit": "0.29"}, {"suppression_limit": "0.29"}),
        ({"suppression_limit": 1}, {"suppression_limit": 1}),
        ({"suppression_count": 7}, {"suppression_count": 7}),
        (
            {"search": sqlanon.SearchOptions("ola", time_limit=3, gap=0.1)},
            {"search": {"strategy": "ola", "time_limit": 3, "gap": 0.1}},
        ),
        (
            {"engine": sqlanon.EngineOptions(threads=2, memory_limit="1GB")},
            {"engine": {"threads": 2, "memory_limit": "1GB"}},
        ),
        (
            {"engine": sqlanon.EngineOptions("spark", master="local[2]", settings={"a.b": 1})},
            {"engine": {"name": "spark", "master": "local[2]", "settings": {"a.b": 1}}},
        ),
        (
            {"transformation": sqlanon.Patterns(never=["q"], at_most=1, outliers=True), "suppression_count": 4},
            {"transformation": {"type": "patterns", "never": ["q"], "at_most": 1, "outliers": True}},
        ),
        (
            {"transformation": sqlanon.LocalRecoding(nodes=[{"q": 1}, {}])},
            {"transformation": {"type": "local_recoding", "nodes": [{"q": 1}, {}]}},
        ),
        (
            {"join": [sqlanon.Join("q", "v.csv", csv={"null": ""}), sqlanon.Join({"q": "w"}, "w.duckdb", "t")]},
            {"join": [{"source": "v.csv", "key": "q", "csv": {"null": ""}},
                      {"source": "w.duckdb", "table": "t", "key": {"q": "w"}}]},
        ),
        ({"report": "run.html", "nulls": "basic"}, {"report": "run.html", "nulls": "basic"}),
    ],
)  # fmt: skip
def test_other_parts(fields: dict[str, Any], keys: dict[str, Any], base: Path) -> None:
    same(small(base, **fields), small_document(**keys), base)


@pytest.mark.parametrize(
    "fields, key, cure",
    [
        ({"columns": (Column("q", "quasi_identifier", {"redact": []}),)}, "columns.q.hierarchy.redact", "direction"),
        ({"columns": (Column("q", "quasi_identifier", ["redact"]),)}, "columns.q.hierarchy", "choose one of file"),
        ({"columns": "q"}, "columns", "role"),
        ({"columns": (QUASI,)}, "columns", "role"),
        ({"columns": (Column.sensitive("s", {"type": "x"}),)}, "columns.s.models[0].type", "choose one of"),
        ({"columns": (Column.sensitive("s", "t_closeness"),)}, "columns.s.models", "sqlanon.TCloseness"),
        ({"columns": (Column.keep(5),)}, "columns[0]", "quotes"),
        ({"privacy": [{"k": 5}]}, "privacy[0]", "{type: k_anonymity, k: 5}"),
        ({"privacy": "k_anonymity"}, "privacy", "{type: k_anonymity, k: 5}"),
        ({"privacy": 5}, "privacy", "sqlanon.KAnonymity(5)"),
        ({"output": "released"}, "output.file", ".parquet"),
        ({"output": 5}, "output", "sqlanon.Output.file"),
        ({"output": Output.file("released.xlsx")}, "output.file", ".parquet"),
        ({"quality": "loss"}, "quality", "measure"),
        ({"quality": 5}, "quality", "sqlanon.Quality"),
        ({"search": {"strategie": "ola"}}, "search.strategie", "'strategy'"),
        ({"engine": "spark"}, "engine", "name"),
        ({"transformation": "patterns"}, "transformation.type", "{type: patterns}"),
        ({"join": ["v.csv"]}, "join[0]", "sqlanon.Join"),
        ({"suppression_limit": 1.5}, "suppression_limit", "between 0"),
        ({"suppression_limit": float("nan")}, "suppression_limit", "between 0"),
        ({"suppression_limit": True}, "suppression_limit", "between 0"),
        (
            {"columns": (Column.quasi_identifier("q", sqlanon.Intervals(0)),)},
            "columns.q.hierarchy.intervals.width",
            "0",
        ),
        ({"columns": (Column.quasi_identifier("q", sqlanon.Levels({})),)}, "columns.q.hierarchy.levels", "value"),
        (
            {"columns": (Column.quasi_identifier("q", sqlanon.ExtensionHierarchy("email")),)},
            "columns.q.hierarchy.email",
            "choose",
        ),
        ({"csv": {"delimeter": ";"}}, "csv.delimeter", "'delimiter'"),
    ],
)
def test_what_is_no_part_of_a_policy_is_refused(fields: dict[str, Any], key: str, cure: str, base: Path) -> None:
    with pytest.raises(sqlanon.PolicyError) as caught:
        small(base, **fields)
    assert [fault.key for fault in caught.value.faults] == [key]
    assert cure in caught.value.faults[0].hint


def test_relative_paths_stand_where_the_policy_stands(base: Path) -> None:
    column = Column.quasi_identifier("q", sqlanon.FileHierarchy("diagnosis.csv"))
    built = small(base, columns=[column], output=Output.file("r.parquet"), report="r.html")
    assert built.columns[0].hierarchy.path == base / "diagnosis.csv"
    assert (built.output.target, built.report) == (str(base / "r.parquet"), str(base / "r.html"))
    assert replace(built, base_directory=Path("/")) == built


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ({"columns": {"q": QUASI, "s": {"role": "keep"}}}, {"columns": {"q": QUASI, "s": Column.keep("x")}}),
        ({"columns": {"q": QUASI}}, {"columns": Column("q", "quasi_identifier", {"suppress": {}})}),
        (
            {"columns": {"q": {**QUASI, "hierarchy": "diagnosis.csv"}}},
            {"columns": [Column("q", "quasi_identifier", Path("diagnosis.csv"))]},
        ),
        (
            {"columns": {"q": {**QUASI, "hierarchy": {"suppress": {}, "information_loss": [0, 1]}}}},
            {"columns": [Column("q", "quasi_identifier", {"suppress": {}, "information_loss": np.array([0, 1])})]},
        ),
        (
            {"columns": {"s": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}}},
            {"columns": [Column("s", "sensitive", models={"type": "distinct_l_diversity", "l": np.int64(2)})]},
        ),
        ({"privacy": [{"type": "k_anonymity", "k": 7}]}, {"privacy": KAnonymity(np.int32(7))}),
        ({"privacy": [{"type": "k_anonymity", "k": 7}]}, {"privacy": {"type": "k_anonymity", "k": 7}}),
        ({"output": {"file": "r.parquet"}}, {"output": "r.parquet"}),
        ({"output": {"file": "r.parquet"}}, {"output": Path("r.parquet")}),
        ({"output": {"view": "v", "readers": ["a"]}}, {"output": {"view": "v", "readers": "a"}}),
        ({"quality": {"measure": "precision"}}, {"quality": {"measure": "precision"}}),
        ({"search": {"time_limit": 2.5}}, {"search": sqlanon.SearchOptions(time_limit=np.float32(2.5))}),
        ({"engine": {"threads": 2}}, {"engine": {"threads": np.uint8(2)}}),
        (
            {"transformation": {"type": "local_recoding", "nodes": 3}},
            {"transformation": {"type": "local_recoding", "nodes": np.int64(3)}},
        ),
        ({"join": [{"source": "v.csv", "key": "q"}]}, {"join": [{"source": Path("v.csv"), "key": "q"}]}),
        ({"source": "x.csv", "report": "r.html"}, {"source": Path("x.csv"), "report": Path("r.html")}),
        *[
            ({"suppression_limit": "0.05"}, {"suppression_limit": given})
            for given in (0.05, Decimal("0.050"), "0.05", Fraction(1, 20), np.float64(0.05), np.float32(0.05))
        ],
    ],
)  # fmt: skip
def test_parts_are_taken_as_the_keys_of_a_policy_file(keys: dict[str, Any], fields: dict[str, Any], base: Path) -> None:
    same(small(base, **fields), small_document(**keys), base)


@pytest.fixture
def policy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy file in the working directory, beside its source and a certificate."""
    (tmp_path / "t.csv").write_text("q\n1\n1\n")
    document = {"source": "t.csv", "columns": {"q": QUASI}, "privacy": [{"type": "k_anonymity", "k": 2}]}
    (tmp_path / "policy.json").write_text(json.dumps(document))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "policy.json"


@pytest.mark.parametrize("form", [str, Path, lambda path: json.loads(path.read_text())])
def test_a_policy_is_taken_as_a_path_or_as_keys(form: Callable[[Path], Any], policy_file: Path) -> None:
    given = form(policy_file)
    with sqlanon.anonymize(None, given) as release, sqlanon.plan(Path("t.csv"), given) as plan:
        assert release.levels == plan.solution.levels == {"q": 0}
    for call in (sqlanon.recode, sqlanon.refresh):
        with pytest.raises(sqlanon.InputError, match=r"transformation|live view"):
            call(None, given)


@pytest.mark.parametrize("policy", [None, 5, [], object()])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    for call in (sqlanon.anonymize, sqlanon.plan, sqlanon.recode, sqlanon.refresh):
        with pytest.raises(sqlanon.InputError, match=r"give a sqlanon\.Policy"):
            call(None, policy)
    with pytest.raises(sqlanon.InputError, match=r"give a sqlanon\.Policy"):
        sqlanon.verify("certificate.json", policy)
