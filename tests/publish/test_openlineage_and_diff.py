"""What a run tells catalogs of lineage, and what changed since an earlier release: no more than manifests do."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from command_line import sqlanon
from policies import document_of

from sqlanon.commands.run_lineage import Lineage
from sqlanon.core.policy import Policy
from sqlanon.core.publish.openlineage import REPEATS
from sqlanon.report.changes import HIDDEN, change_lines, changes

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Przybylski"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of 43 records, of which three are suppressed at the best node, and a policy."""
    rows = [(str(i % 4), str(i % 2), SECRET if i % 5 else "flu", i) for i in range(40)]
    rows += [("9", "1", SECRET, 1), ("9", "1", "flu", 2), ("9", "0", "flu", 3)]
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as opened:
        opened.execute("CREATE TABLE patients (age TEXT, sex TEXT, diagnosis TEXT, salary INT)")
        opened.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)
    monkeypatch.chdir(tmp_path)
    policy()
    return tmp_path


def policy(**changed: Any) -> None:
    """Write the policy with other keys."""
    document = {
        "source": "clinic.duckdb",
        "table": "patients",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"groups": {"low": ["0", "1"], "high": ["2", "3", "9"]}}},
            "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "diagnosis": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            "salary": {"role": "drop"},
        },
        "privacy": [{"type": "k_anonymity", "k": 5}],
        "suppression_limit": 0.1,
        "output": {"file": "r.csv"},
        "if_exists": "replace",
    }
    Path("p.yaml").write_text(yaml.safe_dump(document | changed, sort_keys=False))


def run(*given: object) -> Any:
    """Run the policy and return what it printed as JSON."""
    done = sqlanon("run", "p.yaml", "--json", *given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written() -> Any:
    return json.loads(Path("r.csv.manifest.json").read_text())


def words(found: object) -> Iterator[str]:
    """Every text and number in a document."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from (key, *words(value))
    elif isinstance(found, list):
        for value in found:
            yield from words(value)
    else:
        yield str(found)


def facets(dataset: Any) -> dict[str, Any]:
    return {**dataset["facets"], **dataset["outputFacets"]}


def test_the_facets_of_a_manifest_hold_what_the_manifest_holds() -> None:
    document = run()
    assert 0 < document["suppressed"] < 5, "the world has a count that is hidden"
    manifest = written()
    lineage = manifest["openlineage"]
    found = set(words(lineage))
    assert not found & {SECRET, "salary", "patients", "clinic.duckdb", str(document["suppressed"])}
    assert not any("clinic" in word or str(Path.cwd()) in word for word in found)
    [output] = lineage["outputs"]
    named = [field["name"] for field in output["facets"]["schema"]["fields"]]
    assert named == ["age", "sex", "diagnosis"] == list(output["facets"]["columnLineage"]["fields"])
    masking = {
        name: field["inputFields"][0]["transformations"][0]["masking"]
        for name, field in output["facets"]["columnLineage"]["fields"].items()
    }
    assert masking == {"age": document["levels"]["age"] > 0, "sex": document["levels"]["sex"] > 0, "diagnosis": False}
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == document["published"]
    filters = [item["field"] for item in output["facets"]["columnLineage"]["dataset"]]
    assert filters == ["age", "sex", "diagnosis"]
    assert [test["status"] for test in lineage["run"]["test"]["tests"]] == ["pass", "pass"]


def test_events_name_the_source_and_the_release() -> None:
    run("--openlineage", "events.jsonl")
    begun, ended = map(json.loads, Path("events.jsonl").read_text().splitlines())
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert begun["run"]["runId"] == ended["run"]["runId"] and begun["eventTime"] <= ended["eventTime"]
    [source] = ended["inputs"]
    assert source["namespace"] == f"duckdb://{Path('clinic.duckdb').absolute()}" and source["name"] == "patients"
    [released] = ended["outputs"]
    assert (released["namespace"], released["name"]) == ("file", str(Path("r.csv").absolute()))
    [field] = released["facets"]["columnLineage"]["fields"]["sex"]["inputFields"]
    assert (field["namespace"], field["name"], field["field"]) == (source["namespace"], "patients", "sex")
    assert SECRET not in Path("events.jsonl").read_text()


def test_a_run_that_fails_and_one_that_publishes_nothing_say_so() -> None:
    policy(privacy=[{"type": "k_anonymity", "k": 500}])
    assert sqlanon("run", "p.yaml", "--openlineage", "events.jsonl").returncode == 1
    _, ended = map(json.loads, Path("events.jsonl").read_text().splitlines())
    assert ended["eventType"] == "FAIL" and "NoSolutionError" in ended["run"]["facets"]["errorMessage"]["message"]
    policy()
    run("--dry-run", "--openlineage", "events.jsonl")
    _, ended = map(json.loads, Path("events.jsonl").read_text().splitlines())
    assert ended["outputs"] == [] and {test["status"] for test in ended["run"]["facets"]["test"]["tests"]} == {"skip"}
    assert sqlanon("run", "p.yaml", "--openlineage", "clinic.duckdb").returncode == 2


def test_a_release_that_follows_earlier_ones_says_how() -> None:
    schema = json.loads((ROOT / "docs/reference/openlineage-repeats.schema.json").read_text())
    known = schema["$defs"]["SqlanonRepeatsRunFacet"]["properties"]

    def facet() -> dict[str, Any]:
        _, ended = map(json.loads, Path("events.jsonl").read_text().splitlines())
        found: dict[str, Any] = ended["run"]["facets"].get("sqlanon_repeats", {})
        assert {key for key in found if not key.startswith("_")} <= {*known}
        assert found.get("_schemaURL", REPEATS) == REPEATS and REPEATS.endswith(
            "docs/reference/openlineage-repeats.schema.json"
        )
        return found

    run("--openlineage", "events.jsonl")
    assert facet() == {} and "sqlanon_repeats" not in written()["openlineage"]["run"]
    run("--to", "again.csv", "--like", "r.csv.manifest.json", "--openlineage", "events.jsonl")
    assert facet()["by"] == "like"
    with duckdb.connect("clinic.duckdb") as opened:
        opened.execute("ALTER TABLE patients ADD COLUMN day DATE")
        opened.execute("UPDATE patients SET day = DATE '2020-01-01' + (salary % 2)::INT")
    columns = {"day": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    target = {"file": "days", "partition_by": ["day"]}
    policy(
        columns=columns, undeclared="drop", periods={"column": "day", "every": "day"}, output=target, if_exists="error"
    )
    run("--openlineage", "events.jsonl")
    found = facet()
    assert (found["by"], found["every"], found["runs"]) == ("periods", "day", 1)
    assert found["periods"] == ["2020-01-01", "2020-01-02"]


def test_classes_of_openlineage_take_every_facet() -> None:
    base = pytest.importorskip("openlineage.client.event_v2", reason="openlineage-python is not installed")
    modules = {
        "schema": "schema_dataset.SchemaDatasetFacet",
        "columnLineage": "column_lineage_dataset.ColumnLineageDatasetFacet",
        "outputStatistics": "output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet",
        "test": "test_run.TestRunFacet", "processing_engine": "processing_engine_run.ProcessingEngineRunFacet",
        "errorMessage": "error_message_run.ErrorMessageRunFacet",
    }  # fmt: skip
    parts = {"fields": "SchemaDatasetFacetFields", "inputFields": "InputField", "transformations": "Transformation"}

    def compare(name: str, facet: dict[str, Any]) -> None:
        module, kind = modules[name].split(".")
        loaded = importlib.import_module(f"openlineage.client.generated.{module}")
        given = {key: value for key, value in facet.items() if not key.startswith("_")}
        made = getattr(loaded, kind)(**given)
        assert made._get_schema() == facet["_schemaURL"]
        if name == "schema":
            assert all(getattr(loaded, parts["fields"])(**field) for field in facet["fields"])
        if name == "columnLineage":
            inputs = [item for field in facet["fields"].values() for item in field["inputFields"]]
            for item in [*inputs, *facet["dataset"]]:
                loaded.InputField(**item)
                assert all(loaded.Transformation(**how) for how in item["transformations"])
        if name == "test":
            assert all(loaded.TestExecution(**test) for test in facet["tests"])

    run("--openlineage", "events.jsonl")
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    policy(privacy=[{"type": "k_anonymity", "k": 500}])
    sqlanon("run", "p.yaml", "--openlineage", "events.jsonl")
    events += [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    seen = set()
    for event in events:
        base.RunEvent(
            eventType=base.RunState(event["eventType"]), eventTime=event["eventTime"], producer=event["producer"],
            run=base.Run(event["run"]["runId"]), job=base.Job(event["job"]["namespace"], event["job"]["name"]),
            inputs=[base.InputDataset(item["namespace"], item["name"]) for item in event["inputs"]],
            outputs=[base.OutputDataset(item["namespace"], item["name"]) for item in event["outputs"]],
        )  # fmt: skip
        for name, facet in [*event["run"]["facets"].items(), *(f for o in event["outputs"] for f in facets(o).items())]:
            compare(name, facet)
            seen.add(name)
    assert seen == set(modules)


@pytest.mark.parametrize(
    ("source", "table", "expected"),
    [
        ("postgresql://me:secret@db.example:5433/clinic", "ward.p", ("postgres://db.example:5433", "clinic.ward.p")),
        ("postgresql://me:secret@db.example/clinic", "p", ("postgres://db.example:5432", "clinic.public.p")),
        ("postgresql://me:secret@a:1,b:2/clinic", "p", ("sqlanon", "p")),
        ("postgresql://me:12/secret@host/clinic", "p", ("sqlanon", "p")),
        ("postgresql://me:12#secret@host/clinic", "p", ("sqlanon", "p")),
        ("postgresql://me@host", "p", ("sqlanon", "p")),
        ("postgresql://host/clinic?user=me&password=secret", "p", ("sqlanon", "p")),
        ("postgresql://me@host/my%20clinic?sslmode=require", "p", ("postgres://host:5432", "my clinic.public.p")),
        ("/data/p.parquet", None, ("file", "/data/p.parquet")),
        ("/data/p.sqlite", "p", ("sqlite:///data/p.sqlite", "p")),
    ],
)
def test_sources_are_named_as_openlineage_names_them(source: str, table: str | None, expected: tuple[str, str]) -> None:
    found = Policy.from_dict(
        document_of({"a": "keep"}, k=2, source=source) | ({} if table is None else {"table": table})
    )
    assert Lineage(Path("x"), found)._sources() == [expected]


@pytest.mark.slow
def test_the_same_policy_changes_nothing() -> None:
    run()
    found = run("--diff", "r.csv.manifest.json")["diff"]
    assert not found["policy"]["changed"] and list(change_lines(found)) == []
    assert run("--dry-run", "--diff", "r.csv.manifest.json")["diff"] == found
    done = sqlanon("run", "p.yaml", "--diff", "r.csv.manifest.json")
    assert "nothing changed" in done.stdout


def test_what_changed_is_told_without_values_and_small_counts() -> None:
    before = run()
    Path("r.csv.manifest.json").rename("old.json")
    columns = yaml.safe_load(Path("p.yaml").read_text())["columns"]
    columns["diagnosis"] = {"role": "drop"}
    columns["salary"] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    policy(columns=columns, privacy=[{"type": "k_anonymity", "k": 9}])
    document = run("--dry-run", "--diff", "old.json")
    found = document["diff"]
    assert found["policy"] == {"changed": True, "keys": ["privacy", "columns"]}
    assert found["columns"]["added"] == ["salary"] and found["columns"]["removed"] == ["diagnosis"]
    assert {"type": "k_anonymity", "k": 9} in found["models"]["added"] and len(found["models"]["removed"]) == 2
    levels = {name: pair["after"]["level"] for name, pair in found["columns"]["changed"].items()}
    assert all(document["levels"][name] == level != before["levels"][name] for name, level in levels.items())
    for name in ("classes", "smallest_class", "largest_class"):
        pair = {"before": before[name], "after": document[name]}
        assert found["counts"].get(name, pair) == pair and (name in found["counts"]) == (before[name] != document[name])
    assert found["counts"]["suppressed"] == HIDDEN and SECRET not in json.dumps(found)
    done = sqlanon("run", "p.yaml", "--dry-run", "--diff", "old.json")
    assert "column removed: diagnosis" in done.stdout and "model added: k_anonymity(k=9)" in done.stdout


def test_a_limit_that_no_manifest_shows_is_a_change_without_keys() -> None:
    run()
    policy(suppression_limit=0.2)
    found = run("--dry-run", "--diff", "r.csv.manifest.json")["diff"]
    assert found["policy"] == {"changed": True, "keys": []}
    assert next(change_lines(found)) == "policy: changed, in what no manifest shows"


def test_what_is_no_manifest_is_refused_before_any_work() -> None:
    for text in ("{}", "no JSON", '{"manifest_version": 1}', '{"manifest_version": 1, "tables": []}'):
        Path("old.json").write_text(text)
        done = sqlanon("run", "p.yaml", "--diff", "old.json")
        assert done.returncode == 2 and "cannot be read" in done.stderr and not Path("r.csv").exists()
    assert sqlanon("run", "p.yaml", "--diff", "absent.json").returncode == 2


def test_every_difference_between_two_manifests_is_told() -> None:
    run()
    first = written()
    second = json.loads(json.dumps(first))
    second["versions"]["sqlanon"] = "9"
    second["certificate"] |= {"measure": "height", "loss": 0.5}
    second["ledger"]["classes"] += 1
    second["columns"][0]["height"] += 1
    lines = list(change_lines(changes(first, second)))
    assert len(lines) == 5 and any(line.startswith("version of sqlanon: ") for line in lines)
    assert "loss: withheld -> 0.500000" in lines


def test_standard_output_holds_the_release_alone() -> None:
    run()
    done = sqlanon("run", "p.yaml", "--to", "-", "--diff", "r.csv.manifest.json")
    assert done.returncode == 0 and done.stdout.splitlines() == Path("r.csv").read_text().splitlines()
    assert "since the earlier release" in done.stderr


def test_an_earlier_manifest_and_a_release_that_stands_are_not_written_over() -> None:
    run()
    Path("r.csv.manifest.json").rename("old.json")
    for given in (["--diff", "old.json", "--openlineage", "old.json"], ["--dry-run", "--openlineage", "r.csv"]):
        done = sqlanon("run", "p.yaml", *given)
        assert done.returncode == 2 and "another file of this run" in done.stderr
    assert json.loads(Path("old.json").read_text())["models"] and Path("r.csv").read_text().startswith("age")


def test_a_manifest_of_another_table_is_warned_of() -> None:
    run()
    old = written()
    old["columns"] = [{"name": "elsewhere", "role": "keep"}]
    Path("old.json").write_text(json.dumps(old))
    assert "is it of another release?" in sqlanon("run", "p.yaml", "--dry-run", "--diff", "old.json").stderr
    assert "Warning" not in sqlanon("run", "p.yaml", "--dry-run", "--diff", "r.csv.manifest.json").stderr


def test_a_failure_is_told_without_numbers_and_without_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    policy(privacy=[{"type": "k_anonymity", "k": 500}])
    assert "43" in sqlanon("run", "p.yaml", "--openlineage", "events.jsonl").stderr
    _, ended = map(json.loads, Path("events.jsonl").read_text().splitlines())
    assert not any(letter.isdigit() for letter in ended["run"]["facets"]["errorMessage"]["message"])
    for secret in ("12/secret", "pa/secret", "12?secret", "12#secret"):  # not escaped: it looks like a port or a path
        monkeypatch.setenv("CLINIC", f"postgresql://me:{secret}@127.0.0.1:1/clinic")
        policy(source="${CLINIC}")
        done = sqlanon("run", "p.yaml", "--openlineage", "events.jsonl")
        text = Path("events.jsonl").read_text() + done.stderr
        assert done.returncode == 2 and "secret" not in text and "me:" not in text and "Traceback" not in text
