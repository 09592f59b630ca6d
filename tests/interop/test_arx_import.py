"""Projects of ARX become policies that say the same, and what they cannot say is listed."""

import csv
import json
import random
import stat
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import arx_projects as arx
import pytest
import yaml
from arx_projects import Attribute, Project
from command_line import sqlanon as command
from effort import seeds
from policies import diverse, document_of, quasi

import sqlanon
from sqlanon.errors import InputError, TargetError
from sqlanon.interop.anon.convert import convert
from sqlanon.interop.arx.columns import strptime

pytestmark = pytest.mark.slow

AGE = [
    [str(v), f"[{v // 5 * 5}, {v // 5 * 5 + 5})", f"[{v // 20 * 20}, {v // 20 * 20 + 20})", "*"] for v in range(20, 60)
]
SEX = [["f", "*"], ["m", "*"]]
DIAGNOSES = [["flu", "lung", "*"], ["cold; mild", "lung", "*"], ["gastritis", "stomach", "*"], ['"é"', "stomach", "*"]]


def clinic(**changes: Any) -> Project:
    """A project of patients: a name, two quasi-identifiers, a diagnosis and a ward."""
    rng = random.Random(3)
    records = [
        [f"P{i}", str(rng.randrange(20, 60)), rng.choice("fm"), rng.choice(DIAGNOSES)[0], f"ward {rng.randrange(3)}"]
        for i in range(300)
    ]
    attributes = {
        "name": Attribute(arx.IDENTIFYING),
        "age": Attribute(hierarchy=AGE, datatype="Integer"),
        "sex": Attribute(hierarchy=SEX),
        "diagnosis": Attribute(arx.SENSITIVE, hierarchy=DIAGNOSES),
        "ward": Attribute(arx.INSENSITIVE),
    }
    given: dict[str, Any] = {"criteria": [arx.k_anonymity(5), arx.distinct("diagnosis", 2)], "limit": 0.05}
    attributes |= changes.pop("attributes", {})
    return Project(attributes, **(given | {"records": records} | changes))


def imported(tmp_path: Path, project: Project, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the document of the policy of a project, and the notes."""
    notes = convert(project.write(tmp_path / "p.deid"), tmp_path / "p.yaml", **({"data": True} | options))
    return yaml.safe_load((tmp_path / "p.yaml").read_text()), notes


def optimum(document: dict[str, Any], folder: Path) -> tuple[dict[str, int], float]:
    policy = sqlanon.Policy.from_dict(document, base_directory=folder)
    with sqlanon.plan(None, policy) as plan:
        return dict(plan.levels), plan.certificate.loss


def test_a_project_becomes_a_policy_that_says_the_same(tmp_path: Path) -> None:
    project = clinic(weights={"age": 0.8, "sex": 0.2})
    project.attributes["age"].least, project.attributes["age"].most = 1, 2
    document, _ = imported(tmp_path, project)
    hierarchy = {"delimiter": ";", "header": False}
    assert document == document_of(
        {
            "name": "drop",
            "age": quasi({"file": "p-hierarchies/age.csv", **hierarchy}, min_level=1, max_level=2),
            "sex": quasi({"file": "p-hierarchies/sex.csv", **hierarchy}, weight=0.25),
            "diagnosis": diverse(2),
            "ward": "keep",
        },
        k=5,
        version=1,
        source="p-data.csv",
        csv={"delimiter": ";"},
        undeclared="error",
        suppression_limit=0.05,
        suppressed="redact",
        nulls="extended",
        search={"strategy": "auto"},
        quality={"measure": "loss", "aggregate": "arithmetic_mean"},
    )
    with (tmp_path / "p-data.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, delimiter=";")) == [list(project.attributes), *project.records]
    with (tmp_path / "p-hierarchies" / "age.csv").open(newline="") as file:
        assert list(csv.reader(file, delimiter=";")) == AGE
    for path in (tmp_path / "p-data.csv", tmp_path / "p.yaml"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("ending", [".yaml", ".json", ".xml"])
def test_every_format_of_a_policy_can_be_the_target(tmp_path: Path, ending: str) -> None:
    source, target = clinic().write(tmp_path / "p.deid"), tmp_path / f"p{ending}"
    convert(source, target, data=True)
    assert sqlanon.Policy.from_file(target).privacy == (sqlanon.KAnonymity(5),)


def test_the_imported_policy_runs_and_its_release_meets_the_models(tmp_path: Path) -> None:
    document, _ = imported(tmp_path, clinic())
    document["output"] = {"file": str(tmp_path / "out.csv")}
    policy = sqlanon.Policy.from_dict(document, base_directory=tmp_path)
    release = sqlanon.anonymize(None, policy)
    assert release.certificate.optimal
    assert release.ledger.smallest_class >= 5


@pytest.mark.parametrize(
    "change",
    [
        {"delimiter": ","},
        {"delimiter": "\t"},
        {"version": "2.3.0"},
        {"version": "2.0", "vocabulary": None},
        {"version": "3.4.1"},
        {"encoding": "utf-8-sig"},
    ],
    ids=lambda change: "-".join(map(str, change.values())),
)
def test_projects_of_all_versions_and_delimiters_say_the_same(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "a").mkdir()
    assert imported(tmp_path, clinic(**change)) == imported(tmp_path / "a", clinic())
    for name in ("p-data.csv", "p-hierarchies/diagnosis.csv", "p-hierarchies/age.csv"):
        if (tmp_path / name).exists():
            assert (tmp_path / name).read_text() == (tmp_path / "a" / name).read_text()


def test_old_windows_encodings_are_read_and_reported(tmp_path: Path) -> None:
    _, notes = imported(tmp_path, clinic(encoding="windows-1252"))
    assert any("windows-1252" in note for note in notes)
    assert "é" in (tmp_path / "p-data.csv").read_text(encoding="utf-8")


def test_projects_of_an_unknown_future_are_reported(tmp_path: Path) -> None:
    _, notes = imported(tmp_path, clinic(version="4.1.0"))
    assert any("4.1.0" in note and "compare" in note for note in notes)


# -- privacy models ----------------------------------------------------------------------------------------------------

MODELS = [
    (arx.k_anonymity(7), {"type": "k_anonymity", "k": 7}, None),
    (arx.distinct("diagnosis", 3), None, {"type": "distinct_l_diversity", "l": 3}),
    (arx.entropy("diagnosis", 2.5), None, {"type": "entropy_l_diversity", "l": 2.5}),
    (arx.recursive("diagnosis", 4, 3), None, {"type": "recursive_l_diversity", "l": 3, "c": 4}),
    (arx.closeness("diagnosis", 0.2, "equal"), None, {"type": "t_closeness", "t": 0.2, "distance": "equal"}),
    (
        arx.closeness("diagnosis", 0.3, "hierarchical"),
        None,
        {"type": "t_closeness", "t": 0.3, "distance": "hierarchical"},
    ),
    (arx.closeness("diagnosis", 0.3, "ordered"), None, {"type": "t_closeness", "t": 0.3, "distance": "ordered"}),
    (arx.disclosure("diagnosis", 1.5), None, {"type": "delta_disclosure", "delta": 1.5}),
    (arx.likeness("diagnosis", 2, False), None, {"type": "beta_likeness", "beta": 2, "enhanced": False}),
    (arx.likeness("diagnosis", 2, True), None, {"type": "beta_likeness", "beta": 2, "enhanced": True}),
    (arx.average_risk(0.05), {"type": "average_risk", "threshold": 0.05}, None),
    (arx.sample_uniqueness(0.01), {"type": "sample_uniqueness", "threshold": 0.01}, None),
]


@pytest.mark.parametrize("serialized", [True, False], ids=["objects", "texts"])
@pytest.mark.parametrize("criterion, privacy, watching", MODELS, ids=[m[0][0][:30] for m in MODELS])
def test_models_are_read_from_objects_and_from_texts(
    tmp_path: Path,
    criterion: tuple[str, Any],
    privacy: dict[str, Any] | None,
    watching: dict[str, Any] | None,
    serialized: bool,
) -> None:
    document, notes = imported(tmp_path, clinic(criteria=[criterion], serialized=serialized))
    assert document["privacy"] == ([privacy] if privacy else [])
    assert document["columns"]["diagnosis"].get("models") == ([watching] if watching else None)
    lost = [note for note in notes if note.startswith("Not protected")]
    assert len(lost) == (watching is None)  # a sensitive attribute that nothing watches
    assert any("config.dat" in note for note in notes) != serialized


def test_models_of_a_population_take_their_numbers_from_objects(tmp_path: Path) -> None:
    criteria = [
        arx.k_map(5, 1_000_000, 0.02, "ZERO_TRUNCATED_POISSON"),
        arx.population_uniqueness(0.01, 1_000_000, "PITMAN"),
        arx.average_risk(0.1, highest=0.2),
    ]
    document, _ = imported(tmp_path, clinic(criteria=[*criteria, arx.distinct("diagnosis", 2)]))
    assert document["privacy"] == [
        {
            "type": "k_map", "k": 5, "population": 1_000_000, "significance": 0.02,
            "estimator": "zero_truncated_poisson",
        },
        {"type": "population_uniqueness", "threshold": 0.01, "population": 1_000_000, "estimator": "pitman"},
        {"type": "average_risk", "threshold": 0.1},
        {"type": "k_anonymity", "k": 5},
    ]  # fmt: skip


def test_the_difference_of_the_poisson_estimate_is_stated(tmp_path: Path) -> None:
    document, notes = imported(tmp_path, clinic(criteria=[arx.k_map(5, 10_000), arx.distinct("diagnosis", 2)]))
    assert document["privacy"] == [{"type": "k_map", "k": 5, "population": 10_000, "significance": 0.01}]
    assert any("one record more" in note for note in notes)


LOST = [
    arx.unknown("(2.0,1.0E-6)-differential privacy", "EDDifferentialPrivacy"),
    arx.unknown("profitability (prosecutor / attack)", "ProfitabilityProsecutor"),
    arx.population_uniqueness(0.01, 1000, "DANKAR"),
    arx.average_risk(0.1, highest=0.2, share=0.1),
    arx.k_map(5, 1000, 0.0),
]


@pytest.mark.parametrize("criterion", LOST, ids=[text[:25] for text, _ in LOST])
def test_models_that_a_policy_cannot_state_are_listed(tmp_path: Path, criterion: tuple[str, Any]) -> None:
    _, notes = imported(tmp_path, clinic(criteria=[criterion, arx.k_anonymity(3), arx.distinct("diagnosis", 2)]))
    (note,) = [note.partition(": ")[2] for note in notes if note.startswith("Not protected as in ARX")]
    assert note.startswith(criterion[0])
    assert f"# - {note}" in (tmp_path / "p.yaml").read_text()


def test_the_exit_code_says_that_a_model_is_lacking(tmp_path: Path) -> None:
    path = clinic(criteria=[LOST[0], arx.k_anonymity(3), arx.distinct("diagnosis", 2)]).write(tmp_path / "p.deid")
    told = command("convert", path, tmp_path / "p.yaml", "--json")
    assert told.returncode == 1
    (note,) = json.loads(told.stdout)["notes"]["unprotected"]
    assert f"Warning: Not protected as in ARX: {note}" in told.stderr


def test_a_project_of_which_no_model_is_left_is_refused(tmp_path: Path) -> None:
    project = clinic(criteria=[LOST[0]], attributes={"diagnosis": Attribute(arx.INSENSITIVE)})
    with pytest.raises(InputError, match=r"No privacy model .*differential privacy"):
        imported(tmp_path, project)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.deid"]


def test_grassbergers_estimate_is_a_difference(tmp_path: Path) -> None:
    document, notes = imported(tmp_path, clinic(criteria=[arx.entropy("diagnosis", 2, "GRASSBERGER")]))
    assert document["columns"]["diagnosis"]["models"] == [{"type": "entropy_l_diversity", "l": 2}]
    assert any("Grassberger" in note for note in notes)


# -- the research subset -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "criterion, expected",
    [
        (arx.presence(0.1, 0.9), {"min": 0.1, "max": 0.9, "public_only": "reject"}),
        (arx.presence(0.0, 0.6), {"min": 0, "max": 0.6}),
        (arx.inclusion(), {"min": 0, "max": 1}),
        (arx.k_map(4), {"min": 0, "max": 1}),
    ],
    ids=["presence", "presence from 0", "inclusion", "k-map"],
)
def test_the_research_subset_is_a_column_of_the_data(
    tmp_path: Path, criterion: tuple[str, Any], expected: dict[str, Any]
) -> None:
    subset = [i for i in range(300) if i % 3 == 0 or i in (63, 64, 127, 299)]
    document, _ = imported(
        tmp_path, clinic(criteria=[criterion, arx.k_anonymity(2), arx.distinct("diagnosis", 1)], subset=subset)
    )
    presence = {"type": "delta_presence", **expected, "subset": {"column": "research_subset"}}
    assert document["privacy"][-1] == presence
    assert ({"type": "k_map", "k": 4, "population": "source"} in document["privacy"]) == (criterion[0] == "(4)-map")
    with (tmp_path / "p-data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert [i for i, row in enumerate(rows) if row["research_subset"] == "true"] == subset
    policy = sqlanon.Policy.from_dict(document | {"suppression_limit": 1}, base_directory=tmp_path)
    with sqlanon.plan(None, policy) as plan:
        assert plan.certificate.optimal


def test_an_inclusion_of_all_records_is_nothing(tmp_path: Path) -> None:
    document, _ = imported(tmp_path, clinic(criteria=[arx.inclusion(), arx.k_anonymity(2)]))
    assert document["privacy"] == [{"type": "k_anonymity", "k": 2}]


def test_a_subset_that_cannot_be_read_is_told_first(tmp_path: Path) -> None:
    project = clinic(criteria=[arx.inclusion(), arx.k_anonymity(2)], subset=[1, 2], serialized=False)
    document, notes = imported(tmp_path, project)
    assert notes[0].startswith("Not protected as in ARX: The research subset")
    assert document["privacy"][-1]["subset"] == {"column": "research_subset"}


# -- measures ----------------------------------------------------------------------------------------------------------

MEASURES = [
    (arx.loss("GEOMETRIC_MEAN"), {"measure": "loss", "aggregate": "geometric_mean"}),
    (arx.loss("SUM"), {"measure": "loss", "aggregate": "sum"}),
    (arx.loss("MAXIMUM"), {"measure": "loss", "aggregate": "maximum"}),
    (
        arx.measure("Non-monotonic non-uniform entropy", "MetricMDNUNMEntropyPrecomputed", "SUM", 0.5),
        {"measure": "non_uniform_entropy", "aggregate": "sum"},
    ),
    (
        arx.measure("Non-monotonic precision", "MetricMDNMPrecision", "ARITHMETIC_MEAN", 0.5),
        {"measure": "precision", "aggregate": "arithmetic_mean"},
    ),
    (
        arx.measure("Monotonic precision", "MetricMDPrecision", "ARITHMETIC_MEAN"),
        {"measure": "weighted_information_loss"},
    ),
    (arx.measure("Average equivalence class size", "MetricSDAECS", None, 0.5), {"measure": "average_class_size"}),
    (arx.measure("Non-monotonic discernability", "MetricSDNMDiscernability"), {"measure": "discernibility"}),
    (arx.measure("Height", "MetricMDHeight", "SUM"), {"measure": "height"}),
]


@pytest.mark.parametrize("metric, expected", MEASURES, ids=[f"{m[0][0]} {m[1].get('aggregate')}" for m in MEASURES])
def test_measures_and_aggregates_are_kept(tmp_path: Path, metric: tuple[str, Any], expected: dict[str, str]) -> None:
    document, notes = imported(tmp_path, clinic(metric=metric))
    assert document["quality"] == expected
    assert not [note for note in notes if note.startswith("Not expressed")]


@pytest.mark.parametrize(
    "metric, word",
    [
        (arx.loss("RANK"), "RANK"),
        (arx.loss("SUM", 0.2), "0.2"),
        (arx.measure("Ambiguity", "MetricSDNMAmbiguity"), "Ambiguity"),
        (arx.measure("KL-Divergence", "MetricSDNMKLDivergence"), "KL-Divergence"),
    ],
)
def test_what_a_measure_lacks_here_is_listed(tmp_path: Path, metric: tuple[str, Any], word: str) -> None:
    document, notes = imported(tmp_path, clinic(metric=metric))
    assert document["quality"]["measure"] == "loss"
    (note,) = [note for note in notes if note.startswith("Not expressed")]
    assert word in note


def test_the_aggregate_that_no_object_states_is_listed(tmp_path: Path) -> None:
    document, notes = imported(tmp_path, clinic(metric=arx.loss("GEOMETRIC_MEAN"), serialized=False))
    assert document["quality"] == {"measure": "loss", "aggregate": "arithmetic_mean"}
    assert any(note.startswith("Not expressed: Aggregate") for note in notes)


def test_weights_of_a_geometric_mean_change_nothing_in_arx_and_are_left_out(tmp_path: Path) -> None:
    project = clinic(metric=arx.loss("GEOMETRIC_MEAN"), weights={"age": 1.0, "sex": 0.1})
    document, notes = imported(tmp_path, project)
    assert all("weight" not in column for column in document["columns"].values())
    assert any("geometric mean" in note for note in notes)


def test_an_attribute_without_a_weight_has_arxs_own(tmp_path: Path) -> None:
    document, _ = imported(tmp_path, clinic(weights={"age": 0.25}))
    assert (document["columns"]["age"]["weight"], "weight" in document["columns"]["sex"]) == (0.5, False)


def test_a_weighted_height_is_the_same_sum_of_levels(tmp_path: Path) -> None:
    project = clinic(metric=arx.measure("Height", "MetricMDHeight", "SUM"), weights={"age": 0.5, "sex": 1.0})
    document, _ = imported(tmp_path, project)
    assert document["quality"] == {"measure": "weighted_information_loss"}
    policy = sqlanon.Policy.from_dict(document, base_directory=tmp_path)
    with sqlanon.plan(None, policy) as plan:
        for age in range(4):
            for sex in range(2):
                assert plan.evaluate({"age": age, "sex": sex}).loss == pytest.approx(0.5 * age + sex)


# -- attributes --------------------------------------------------------------------------------------------------------


def test_a_microaggregated_attribute_publishes_the_means_of_classes(tmp_path: Path) -> None:
    mean = Attribute(datatype="Integer", function="Arithmetic mean", mode="MICRO_AGGREGATION")
    document, notes = imported(tmp_path, clinic(attributes={"age": mean}, metric=arx.loss("SUM")))
    assert document["columns"]["age"] == quasi(min_level=1)
    assert document["publish"] == {"age": {"as": ["class_mean"]}}
    assert document["csv"] == {"delimiter": ";", "types": {"age": "BIGINT"}}
    assert any("Microaggregation of 'age'" in note for note in notes)
    document["output"] = {"file": str(tmp_path / "out.csv")}
    sqlanon.anonymize(None, sqlanon.Policy.from_dict(document, base_directory=tmp_path))
    with (tmp_path / "p-data.csv").open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        released = {row["sex"]: row["age_class_mean"] for row in csv.DictReader(file)}
    for sex, mean_of_class in released.items():
        ages = [int(row["age"]) for row in records if sex in ("*", row["sex"])]
        assert float(mean_of_class) == pytest.approx(sum(ages) / len(ages), abs=0.51)


def test_a_clustered_attribute_forms_the_classes(tmp_path: Path) -> None:
    mode = "CLUSTERING_AND_MICRO_AGGREGATION"
    mean = Attribute(hierarchy=AGE, datatype="Integer", function="Arithmetic mean", mode=mode)
    document, _ = imported(tmp_path, clinic(attributes={"age": mean}))
    assert document["columns"]["age"]["hierarchy"]["file"] == "p-hierarchies/age.csv"
    assert document["publish"] == {"age": {"as": ["class_mean"]}}
    assert document["suppressed"] == "drop"


def test_other_aggregates_are_listed_and_publish_no_value(tmp_path: Path) -> None:
    median = Attribute(datatype="Integer", function="Median", mode="MICRO_AGGREGATION")
    document, notes = imported(tmp_path, clinic(attributes={"age": median}))
    assert document["columns"]["age"] == {"role": "drop"}
    assert any(note.startswith("Not expressed: Microaggregation of 'age'") for note in notes)


def test_an_attribute_without_levels_is_never_generalized(tmp_path: Path) -> None:
    bare = Attribute(hierarchy=[["f"], ["m"]])
    document, _ = imported(tmp_path, clinic(attributes={"sex": bare}))
    assert document["columns"]["sex"] == {"role": "quasi_identifier", "max_level": 0, "hierarchy": {"suppress": {}}}


def test_a_sensitive_attribute_that_nothing_watches_is_told(tmp_path: Path) -> None:
    document, notes = imported(tmp_path, clinic(criteria=[arx.k_anonymity(2)]))
    assert document["columns"]["diagnosis"] == {"role": "keep"}
    assert notes[0].startswith("Not protected as in ARX: Sensitive attribute 'diagnosis'")


def test_hierarchies_that_are_no_trees_are_told(tmp_path: Path) -> None:
    torn = [["f", "a", "x", "*"], ["m", "a", "y", "*"]]
    _, notes = imported(tmp_path, clinic(attributes={"sex": Attribute(hierarchy=torn)}))
    assert any("not a tree" in note for note in notes)


def test_an_ordinal_attribute_keeps_its_order(tmp_path: Path) -> None:
    order = [row[0] for row in DIAGNOSES]
    ordinal = Attribute(arx.SENSITIVE, datatype="Ordinal", format="\n".join(order))
    criteria = [arx.k_anonymity(2), arx.closeness("diagnosis", 0.5, "ordered")]
    document, _ = imported(tmp_path, clinic(attributes={"diagnosis": ordinal}, criteria=criteria))
    assert document["columns"]["diagnosis"]["hierarchy"] == {"levels": {value: ["*"] for value in order}}


def test_dates_with_an_order_keep_their_format(tmp_path: Path) -> None:
    records = [["a", str(20 + i % 40), "f", f"{1 + i % 28:02}.0{1 + i % 9}.2020", "w"] for i in range(200)]
    dates = Attribute(arx.SENSITIVE, datatype="Date/Time", format="dd.MM.yyyy")
    criteria = [arx.k_anonymity(2), arx.closeness("diagnosis", 0.5, "ordered")]
    document, _ = imported(tmp_path, clinic(attributes={"diagnosis": dates}, criteria=criteria, records=records))
    assert document["csv"]["date_format"] == "%d.%m.%Y"
    assert optimum(document, tmp_path)[1] >= 0


def test_formats_of_dates_become_those_of_strptime_or_nothing() -> None:
    assert strptime("yyyy-MM-dd'T'HH:mm:ss") == "%Y-%m-%dT%H:%M:%S"
    assert strptime("dd. MMMM yyyy") == "%d. %B %Y"
    assert strptime("yyyy-'W'ww") is None
    assert strptime("d.M.yyyy") is None
    assert strptime("yyyy 100%") is None


def test_names_of_attributes_name_no_files(tmp_path: Path) -> None:
    names = ["../../etc/x", "a/b", "a_b", "CON", "..", "é", "x" * 300, "a;b", 'q"q', "<&>"]
    attributes = {name: Attribute(hierarchy=SEX) for name in names}
    records = [["f" if (i + j) % 2 else "m" for j in range(len(names))] for i in range(50)]
    project = Project(attributes, records, [arx.k_anonymity(5)])
    with pytest.raises(InputError, match="leads out of the archive"):
        imported(tmp_path, project)
    del project.attributes["../../etc/x"]
    project.records = [row[1:] for row in records]
    document, _ = imported(tmp_path, project)
    assert list(document["columns"]) == list(project.attributes)
    written = [column["hierarchy"]["file"] for column in document["columns"].values()]
    assert len({name.casefold() for name in written}) == len(written)
    assert all(path.parent == tmp_path / "p-hierarchies" for path in map(tmp_path.joinpath, written))
    assert optimum(document, tmp_path)[1] == 0


def test_differences_of_the_search_are_stated(tmp_path: Path) -> None:
    _, notes = imported(tmp_path, clinic(monotonic=True, builders={"age": "HierarchyBuilderIntervalBased"}))
    assert any("monotonicity" in note for note in notes)
    assert any("Hierarchies of 'age'" in note for note in notes)


# -- files and options -------------------------------------------------------------------------------------------------


def test_without_data_no_record_leaves_the_project(tmp_path: Path) -> None:
    document, notes = imported(tmp_path, clinic(), data=False)
    assert "source" not in document
    assert not (tmp_path / "p-data.csv").exists()
    assert any(note.startswith("To look at: Source") for note in notes)
    _, notes = imported(tmp_path, clinic(criteria=[arx.presence(0.0, 0.5)], subset=[1, 2]), data=False, replace=True)
    assert any("boolean column research_subset" in note for note in notes)
    assert "P17" not in (tmp_path / "p.yaml").read_text()


def test_inline_puts_the_hierarchies_into_the_policy(tmp_path: Path) -> None:
    document, _ = imported(tmp_path, clinic(), inline=True)
    assert document["columns"]["sex"]["hierarchy"] == {"levels": {"f": ["*"], "m": ["*"]}}
    assert not (tmp_path / "p-hierarchies").exists()
    (tmp_path / "a").mkdir()
    assert optimum(document, tmp_path) == optimum(imported(tmp_path / "a", clinic())[0], tmp_path / "a")


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    imported(tmp_path, clinic())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(TargetError, match="exist"):
        imported(tmp_path, clinic(limit=0.5))
    (tmp_path / "p.yaml").unlink()
    with pytest.raises(TargetError, match="exist"):
        imported(tmp_path, clinic())
    for path, data in before.items():
        if path.suffix == ".csv":
            assert path.read_bytes() == data
    imported(tmp_path, clinic(limit=0.5), replace=True)


def test_a_policy_that_would_be_faulty_leaves_nothing_behind(tmp_path: Path) -> None:
    project = clinic(criteria=[arx.k_anonymity(0)])
    with pytest.raises(sqlanon.PolicyError):
        imported(tmp_path, project)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.deid"]


def test_a_model_whose_numbers_cannot_be_read_is_listed(tmp_path: Path) -> None:
    unread = {
        "some model": "KAnonymity",
        f"{'9' * 400}-anonymity": "KAnonymity",
        "(-.-)-sample-uniqueness": "SampleUniqueness",
        "1E999-closeness with equal distance for attribute 'diagnosis'": "EqualDistanceTCloseness",
    }
    broken = (*map(arx.unknown, unread, unread.values()), arx.unknown("5-anonymity", "KAnonymity"))
    document, notes = imported(tmp_path, clinic(criteria=[*broken, arx.distinct("diagnosis", 2)]))
    assert document["privacy"] == [{"type": "k_anonymity", "k": 5}]
    for text in unread:
        assert [note for note in notes if note.startswith(f"Not protected as in ARX: {text}")]


def test_specifications_of_hierarchies_are_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "age.ahs").write_bytes(b"\xac\xed\x00\x05")
    with pytest.raises(InputError, match="export the hierarchy as CSV"):
        convert(tmp_path / "age.ahs", tmp_path / "p.yaml")


def test_only_projects_hold_data(tmp_path: Path) -> None:
    imported(tmp_path, clinic())
    with pytest.raises(InputError, match="hold data"):
        convert(tmp_path / "p.yaml", tmp_path / "q.yaml", data=True)


def test_the_command_prints_what_it_wrote(tmp_path: Path) -> None:
    path = clinic().write(tmp_path / "p.deid")
    told = command("convert", path, tmp_path / "p.yaml", "--data", "--json")
    assert told.returncode == 0
    result = json.loads(told.stdout)
    assert result["files"] == [*(f"p-hierarchies/{name}.csv" for name in ("age", "sex")), "p-data.csv"]
    assert result["notes"]["unprotected"] == []
    assert all(f"Warning: {remark}" in told.stderr for remark in result["remarks"])
    assert "P17" not in told.stdout + told.stderr


# -- what is refused ---------------------------------------------------------------------------------------------------

BOMB = b'<!DOCTYPE a [<!ENTITY x "&#65;"><!ENTITY y "&x;&x;">]><metadata><version>&y;</version></metadata>'

WEIGHTED = arx.xml(
    "config",
    [("attributeWeights", [("attributeWeight", [("attribute", "age"), ("weight", "inf")])])],
)


@pytest.mark.parametrize(
    "entries, message",
    [
        ({"metadata.xml": BOMB}, "DOCTYPE"),
        ({"input/config.xml": b"<config><metric>"}, "well-formed"),
        ({"metadata.xml": b"<metadata><version>x</version></metadata>"}, "version is not known"),
        ({"/etc/passwd": b""}, "leads out"),
        ({"a/../../b": b""}, "leads out"),
        ({"c:\\x": b""}, "leads out"),
        ({"input/hierarchies/age.csv": b"\0" * (33 << 20)}, "larger than any"),
        ({"data/input.csv": b"a;b\n1\n"}, "same number of fields"),
        ({"data/input.csv": b"a;b\n1;2\n"}, "other columns"),
        ({"input/config.xml": arx.xml("config", [("relativeMaxOutliers", "2.0")])}, "suppression limit"),
        ({"input/config.xml": arx.xml("config", [("relativeMaxOutliers", "NaN")])}, "suppression limit"),
        ({"input/config.xml": arx.xml("config", [("relativeMaxOutliers", "few")])}, "suppression limit"),
        ({"input/config.xml": WEIGHTED}, "weight is no number"),
        ({"input/definition.xml": arx.xml("definition", [])}, "no attributes"),
        ({"input/definition.xml": arx.xml("definition", [(arx.ASSIGNED, [("name", "a"), ("type", "X")])])}, "type"),
    ],
)
def test_hostile_and_damaged_projects_are_refused(tmp_path: Path, entries: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        imported(tmp_path, clinic(entries=entries))
    assert "Hint:" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.deid"]


@seeds(120, 10)
def test_damage_ends_in_an_error_of_ours_or_in_a_policy(tmp_path: Path, block: range) -> None:
    """Bytes of the archive, or of an entry before it is packed, are changed, cut off or doubled."""
    whole = clinic().write(tmp_path / "whole.deid").read_bytes()
    entries = clinic()._entries()
    for seed in block:
        rng = random.Random(seed)
        path = tmp_path / f"{seed}.deid"
        if rng.random() < 0.3:
            path.write_bytes(damaged(rng, whole))
        else:
            name = rng.choice(sorted(entries))
            clinic(entries={name: damaged(rng, entries[name])}).write(path)
        with suppress(sqlanon.SqlanonError):
            convert(path, tmp_path / f"{seed}.yaml", data=True)
            sqlanon.Policy.from_file(tmp_path / f"{seed}.yaml")
        assert not [left for left in tmp_path.iterdir() if left.name.startswith(".")]


def damaged(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(found))
        kind = rng.randrange(4)
        if kind == 0:
            found[place] = rng.randrange(256)
        elif kind == 1:
            del found[place : place + rng.randint(1, 40)]
        elif kind == 2:
            found[place:place] = found[place : place + rng.randint(1, 40)]
        else:
            found[place:place] = rng.choice([b"\0", b"<x/>", b"\xff", b";", b'"', b"9" * 30, b"-1", b"\n\n"])
        found = found or bytearray(b"x")
    return bytes(found)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.deid").write_bytes(b"not a zip")
    with pytest.raises(InputError, match="no ZIP archive"):
        convert(tmp_path / "p.deid", tmp_path / "p.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        convert(tmp_path / "none.deid", tmp_path / "p.yaml")
    with zipfile.ZipFile(tmp_path / "q.deid", "w") as archive:
        archive.writestr("x", b"")
    with pytest.raises(InputError, match=r"metadata\.xml"):
        convert(tmp_path / "q.deid", tmp_path / "p.yaml")


def test_a_configuration_that_cannot_be_read_is_replaced_by_its_xml(tmp_path: Path) -> None:
    for data, why in ((b"\xac\xed\x00\x05", "ends early"), (b"", "ends early"), (b"garbage", "do not begin")):
        document, notes = imported(tmp_path, clinic(entries={"input/config.dat": data}), replace=True)
        assert document["privacy"] == [{"type": "k_anonymity", "k": 5}]
        assert any("config.dat" in note and why in note for note in notes)


def test_a_configuration_that_disagrees_with_its_xml_is_not_believed(tmp_path: Path) -> None:
    other = clinic(limit=0.9)._entries()["input/config.dat"]
    _, notes = imported(tmp_path, clinic(entries={"input/config.dat": other}))
    assert any("disagrees" in note for note in notes)
