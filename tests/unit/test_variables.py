"""``${NAME}`` in a policy: where it is expanded, what is written in its place, and that its value is shown nowhere."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sqlanon
from sqlanon.cli import main
from sqlanon.core.policy.written_places import brief
from sqlanon.report.document import report_document
from sqlanon.report.failures import summarize_failure
from sqlanon.report.summarizing import summarize
from sqlanon.tables.policy import TablesPolicy

HIDDEN: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
MODEL = {"type": "k_anonymity", "k": 5}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name is a canary, which a variable holds, with a source and a hierarchy."""
    place = tmp_path / "canary-folder"
    place.mkdir()
    (place / "canary.csv").write_text("a,b,c\n" + "".join(f"{i % 4},{i % 3},{i}\n" for i in range(120)))
    (place / "canary-h.csv").write_text("0;low;*\n1;low;*\n2;high;*\n3;high;*\n")
    monkeypatch.setenv("DATA", str(place))
    monkeypatch.setenv("SOURCE", "canary.csv")
    monkeypatch.setenv("TREE", "canary-h")
    monkeypatch.setenv("TARGET", "canary-release")
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(**changes: Any) -> dict[str, Any]:
    tree = {"role": "quasi_identifier", "hierarchy": {"file": "${DATA}/${TREE}.csv"}}
    columns = {"a": tree, "b": HIDDEN, "c": {"role": "drop"}}
    return {"source": "${DATA}/${SOURCE}", "columns": columns, "privacy": [MODEL],
            "output": {"file": "${DATA}/${TARGET}.parquet"}, "if_exists": "replace", **changes}  # fmt: skip


def read(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(**changes))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("${DATA}.csv", "/d.csv"),
        ("a${DATA}b${NAME}", "a/dbn"),
        ("${UNSET:-else}/x", "else/x"),
        ("${EMPTY:-a b:c}", "a b:c"),
        ("${NAME:-else}", "n"),
        ("$$", "$"),
        ("$${NAME}", "${NAME}"),
        ("a$b$NAME$", "a$b$NAME$"),
        ("$$$NAME", "$$NAME"),
        ("${TWICE}", "${NAME}$$"),
    ],
)
def test_a_place_takes_variables_from_the_environment(text: str, meaning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DATA", "/d"), ("NAME", "n"), ("EMPTY", ""), ("TWICE", "${NAME}$$")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UNSET", raising=False)
    policy = sqlanon.Policy.from_dict({"source": text, "columns": {"a": HIDDEN}, "privacy": [MODEL]})
    assert policy.source == meaning
    again = sqlanon.Policy.from_dict(policy.to_dict())
    assert again == policy and again.fingerprint() == policy.fingerprint()


@pytest.mark.parametrize("text", ["${UNSET}", "${EMPTY}", "${UNSET:-}", "${1}", "${", "${A B}", "${A:-${B}}", "${A"])
def test_what_is_not_set_or_no_variable_is_a_fault(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.delenv("A", raising=False)
    with pytest.raises(sqlanon.PolicyError) as raised:
        sqlanon.Policy.from_dict({"source": text, "output": {"file": text}, "columns": {}, "privacy": []})
    assert {fault.key for fault in raised.value.faults} == {"source", "output.file"}
    if "UNSET" in text:
        assert "The variable UNSET" in str(raised.value)


PLACED = (
    ("source", "${V}"), ("table", "${V}"), ("files", "${V}"), ("files", ["x", "${V}"]),
    ("join", [{"source": "${V}", "key": "k"}]), ("join", [{"table": "${V}", "key": "k"}]),
    ("columns", {"a": {"hierarchy": "${V}"}}), ("columns", {"a": {"hierarchy": {"file": "${V}"}}}),
    ("columns", {"a": {"hierarchy": {"table": "${V}"}}}),
    ("columns", {"a": {"hierarchy": {"zip3": {"populations": "${V}"}}}}),
    ("privacy", [{"subset": "${V}"}]), ("privacy", [{}, {"population": {"table": "${V}"}}]),
    ("privacy", {"subset": {"file": "${V}"}}),
    ("output", "${V}"), ("output", {"view": "${V}"}), ("output", {"live_view": "${V}"}), ("output", {"folder": "${V}"}),
    ("report", "${V}"), ("certificate", "${V}"), ("key", {"file": "${V}"}), ("ledger", "${V}"),
    ("ledger", {"schema": "${V}"}), ("ledger", {"key": {"file": "${V}"}}), ("engine", {"master": "${V}"}),
    ("engine", {"temp_directory": "${V}"}), ("tables", {"t": {"source": "${V}"}}),
    ("tables", {"t": {"columns": {"a": {"hierarchy": {"file": "${V}"}}}}}),
)  # fmt: skip
NOT_PLACED = (
    ("columns", {"${V}": {"role": "${V}", "hierarchy": {"levels": {"${V}": ["${V}"]}}}}),
    ("columns", {"a": {"hierarchy": {"groups": {"${V}": ["${V}"]}}, "models": [{"type": "${V}"}]}}),
    ("columns", {"a": {"hierarchy": {"redact": {"char": "${V}"}}, "with": "${V}"}}),
    ("csv", {"null": "${V}", "delimiter": "${V}"}), ("entity", "${V}"), ("undeclared", "${V}"), ("${V}", "source"),
    ("key", {"env": "${V}", "context": "${V}"}), ("ledger", {"recipient": "${V}"}), ("output", {"mode": "${V}"}),
    ("engine", {"settings": {"spark.x": "${V}"}}), ("search", {"strategy": "${V}"}),
    ("join", [{"key": {"${V}": "${V}"}}]),
)  # fmt: skip


@pytest.mark.parametrize(("key", "value"), PLACED, ids=lambda value: json.dumps(value))
def test_the_keys_that_name_places_are_expanded(key: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.core.policy.variables import expand

    monkeypatch.setenv("V", "canary")
    found, places = expand({key: value})
    assert len(places) == 1 and places[0].value == "canary" and places[0].path[0] == key
    assert json.loads(json.dumps({key: value}).replace("${V}", "canary")) == found


@pytest.mark.parametrize(("key", "value"), NOT_PLACED, ids=lambda value: json.dumps(value))
def test_nothing_else_is_expanded(key: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.core.policy.variables import expand

    monkeypatch.setenv("V", "canary")
    assert expand({key: value}) == ({key: value}, ())


def test_levels_that_hold_a_dollar_sign_keep_their_meaning(folder: Path) -> None:
    levels = {"0": ["$$", "*"], "1": ["${DATA}", "*"], "2": ["$", "*"], "3": ["${UNSET}", "*"]}
    policy = read(columns={"a": {"role": "quasi_identifier", "hierarchy": {"levels": levels}}}, undeclared="drop")
    assert policy.to_dict()["columns"]["a"]["hierarchy"]["levels"] == levels


def test_a_variable_brings_in_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE", "x\nprivacy: []\n# {a: b}")
    assert read().source == f"{os.environ['DATA']}/x\nprivacy: []\n# {{a: b}}" and len(read().privacy) == 1


def test_the_fingerprint_is_that_of_the_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, written = read(), read(source="${DATA}/other.csv")
    assert before.fingerprint() != written.fingerprint()
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "canary-h.csv").write_text("0;*\n")
    monkeypatch.setenv("DATA", str(folder / "elsewhere"))
    assert read().fingerprint() == before.fingerprint() and read() != before
    assert before.as_written().fingerprint() == before.fingerprint()
    with_default = read(output="${TARGET:-x}.csv")
    assert with_default.as_written().fingerprint() == with_default.fingerprint()
    assert with_default.fingerprint() != read(output="${TARGET:-y}.csv").fingerprint()
    # what a policy without variables had, it has still
    plain = sqlanon.Policy.from_dict({"source": "a$b.csv", "columns": {"a": HIDDEN}, "privacy": [MODEL]})
    assert plain.as_written() is plain and plain.to_dict()["source"] == "a$b.csv"


def test_a_policy_that_is_written_and_read_again_is_the_same(folder: Path) -> None:
    ledger = {"file": "${TARGET}.duckdb", "key": {"file": "${DATA}/k"}, "record": "c", "recipient": "$${x"}
    model = {"type": "k_map", "k": 5, "population": {"file": "${DATA}/${SOURCE}"}}
    policy = read(ledger=ledger, privacy=[MODEL, model], report="${TARGET}.html", certificate="${DATA}/c.json",
                  engine={"temp_directory": "${DATA}"}, key={"file": "${DATA}/k"})  # fmt: skip
    text = json.dumps(policy.to_dict())
    assert "canary" not in text.replace(str(folder), "")
    os.chdir("/")
    again = sqlanon.Policy.from_dict(json.loads(text))
    assert again == policy and again.fingerprint() == policy.fingerprint()
    assert sqlanon.Policy(columns=policy.columns, privacy=policy.privacy, source="${x}$$").to_dict()["source"] == (
        "$${x}$$$$"
    )


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_converted_policy_holds_what_was_written(suffix: str, folder: Path) -> None:
    (folder / "p.json").write_text(json.dumps(document()))
    (folder / "sub").mkdir()
    for source, target in (("p.json", f"sub/p{suffix}"), ("p.json", "sub/p.xml"), ("sub/p.xml", f"sub/q{suffix}")):
        done = CliRunner().invoke(main, ["convert", source, target])
        assert done.exit_code == 0, done.output
        assert "canary" not in (folder / target).read_text() and "${DATA}" in (folder / target).read_text()
    same = sqlanon.Policy.from_file(folder / "p.json")
    assert sqlanon.Policy.from_file(folder / "sub" / f"p{suffix}").output == same.output


@pytest.mark.slow
def test_a_release_and_its_papers_show_no_value(folder: Path) -> None:
    (folder / "p.json").write_text(json.dumps(document(report="${TARGET}.html", certificate="proof.json")))
    policy = sqlanon.Policy.from_file(folder / "p.json")
    release = sqlanon.anonymize(None, policy)
    with release:
        assert release.ledger.published == 120
        assert "canary" not in json.dumps(release.manifest) and release.manifest["output"] == {
            "file": "${TARGET}.parquet"
        }
        assert release.manifest["policy_fingerprint"] == policy.fingerprint()
        report = json.dumps(report_document(summarize(release)))
        assert "canary" not in report and "${SOURCE}" in report and "${TREE}.csv" in report
    assert CliRunner().invoke(main, ["run", "p.json", "-q"]).exit_code == 0
    assert "canary" not in (folder / "canary-release.html").read_text()
    for path in (*(folder / "canary-folder").glob("*.json"), folder / "proof.json"):
        assert "canary" not in path.read_text(), path.name
    verified = CliRunner().invoke(main, ["verify", "proof.json", "p.json"])
    assert verified.exit_code == 0, verified.output


def test_an_evidence_pack_shows_no_value(folder: Path) -> None:
    from sqlanon.report.evidence.policy_paper import policy_paper

    paper = json.dumps(policy_paper(read(table="${TARGET}"), for_operator=True))
    assert "canary" not in paper and "${TARGET}" in paper


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "${DATA}/${TARGET}.csv"},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": "${DATA}/${TARGET}"}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": "${DATA}/${SOURCE}"}, "b": HIDDEN}},
        {"output": "${DATA}/${TARGET}/${TARGET}.csv"},
        {"output": "${DATA}/${SOURCE}"},
        {"output": "${TARGET}"},
        {"report": "${DATA}/${TARGET}"},
        {"source": "postgresql://u:${TARGET}@127.0.0.1:1/${TARGET}", "table": "${TARGET}"},
        {"source": "host=${TARGET} user=x"},
        {"source": "${DATA}/${SOURCE}", "join": [{"source": "${TARGET}.csv", "key": "a"}]},
        {"privacy": [{**MODEL, "k": 500}]},
        {"privacy": [MODEL, {"type": "delta_presence", "min": 0, "max": 1, "subset": "${DATA}/${TARGET}"}]},
        {"engine": {"temp_directory": "${DATA}/${SOURCE}/x"}},
        {"ledger": {"file": "${DATA}/${TARGET}.duckdb", "record": "c", "key": {"file": "${DATA}/${TARGET}.key"}}},
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_no_message_shows_the_value_of_a_variable(changes: dict[str, Any], folder: Path) -> None:
    (folder / "p.json").write_text(json.dumps(document(**{"undeclared": "drop", **changes})))
    done = CliRunner().invoke(main, ["run", "p.json", "--json", "--report", "r.json"])
    assert isinstance(done.exception, SystemExit) and done.exit_code in (1, 2), done.output
    assert "canary" not in done.stderr.replace(str(folder), "") and "canary" not in done.stdout, done.stderr
    assert "canary" not in ((folder / "r.json").read_text() if (folder / "r.json").exists() else "")


def test_the_report_of_a_failure_shows_no_value(folder: Path) -> None:
    policy = read(source="${DATA}/${TARGET}.csv")
    with pytest.raises(sqlanon.SourceError) as raised:
        sqlanon.anonymize(None, policy)
    report = json.dumps(report_document(summarize_failure(policy, raised.value)))
    assert "canary" not in report and "${TARGET}.csv" in report


def test_a_command_that_names_its_source_shows_what_was_written(folder: Path) -> None:
    (folder / "p.json").write_text(json.dumps(document()))
    done = CliRunner().invoke(main, ["risk", "--policy", "p.json", "--json"])
    assert json.loads(done.stdout)["source"] == "${DATA}/${SOURCE}" and "canary" not in done.output


def test_a_policy_in_a_notebook_or_a_log_shows_no_value(folder: Path) -> None:
    policy = read()
    assert "canary-" not in repr(policy) + str(policy).replace(str(folder), "") and "${SOURCE}" in repr(policy)


def test_a_policy_of_several_tables_takes_variables_too(folder: Path) -> None:
    text = json.dumps({
        "source": "${DATA}/clinic.duckdb", "privacy": {"type": "profile_k", "k": 2}, "key": {"file": "${DATA}/k"},
        "output": {"folder": "${TARGET}"},
        "tables": {"p": {"key": "id", "columns": {"a": HIDDEN}},
                   "v": {"source": "${DATA}/${SOURCE}", "parent": {"p": "id"}, "columns": {"b": HIDDEN}}},
    })  # fmt: skip
    policy = TablesPolicy.from_dict(json.loads(text))
    place = os.environ["DATA"]
    assert place not in repr(policy) and "${DATA}" in repr(policy)
    assert policy.source == f"{place}/clinic.duckdb" and policy.key is not None and policy.key.file == f"{place}/k"
    assert policy.tables[1].policy.source == f"{place}/canary.csv" and policy.shown_target == "${TARGET}"
    assert policy.conceal(f"no {place}/clinic.duckdb") == "no ${DATA}/clinic.duckdb"
    with pytest.raises(sqlanon.PolicyError, match="UNSET") as raised:
        TablesPolicy.from_dict(json.loads(text.replace("TARGET", "UNSET").replace("SOURCE", "UNSET")))
    assert {fault.key for fault in raised.value.faults} == {"output.folder", "tables.v.source"}


def test_defaults_are_left_out_where_a_name_is_shown() -> None:
    assert brief("${A:-/x/y.csv}/${B}$$") == "${A}/${B}$"
