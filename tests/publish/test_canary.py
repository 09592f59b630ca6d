"""A value planted in every column appears in no message, log, journal, manifest or error, at any log level."""

import json
import logging
import traceback
from pathlib import Path

import duckdb
import pytest
from policies import document_of, quasi
from tables import text_table

import sqlanon
from sqlanon.core.hierarchies.readers import check_rows, read_rows

CANARY = "Zz7canaryqQ"
COLUMNS = ["a", "b", "c", "d"]


def told(error: BaseException) -> str:
    """Everything that an error could print, its context included."""
    return "".join(traceback.format_exception(error)) + repr(error.__context__) + repr(vars(error))


def document(**keys: object) -> dict:
    levels = {v: ["*"] for v in ("x", "y", CANARY)}
    columns = {"a": quasi({"levels": levels}), "b": "redact", "c": "keep", "d": "drop"}
    return document_of(columns, keys, k=2, table="t", suppression_limit=1)


@pytest.fixture
def planted(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    rows = [(CANARY, CANARY, CANARY, CANARY)] + [("xy"[i % 2], "pq"[i % 2], "k", "m") for i in range(20)]
    text_table(connection, COLUMNS, rows)
    text_table(connection, ["c"], [(CANARY,), ("k",)], "part")
    text_table(connection, COLUMNS, [(CANARY, CANARY, CANARY, "not there")], "other")
    return connection


def test_no_log_journal_or_manifest_holds_a_value(
    planted: duckdb.DuckDBPyConnection, caplog: pytest.LogCaptureFixture, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    policy = sqlanon.Policy.from_dict(document(output={"file": str(tmp_path / "r.parquet")}))
    with sqlanon.anonymize(planted, policy) as release:
        journal = repr(release.plan._session.source.engine.journal.entries)
        certificate = repr(release.certificate) + repr(release.ledger) + repr(release.plan.solutions())
    manifest = (tmp_path / "r.parquet.manifest.json").read_text()
    assert json.loads(manifest)["ledger"]["suppressed"] == "<2"
    printed = "".join(capfd.readouterr())
    assert "transfer" in caplog.text
    for place in (caplog.text, journal, manifest, certificate, printed, policy.fingerprint()):
        assert CANARY not in place
    assert CANARY.encode() not in (tmp_path / "r.parquet").read_bytes()


def with_hierarchy(name: str, hierarchy: dict) -> dict:
    columns = document()["columns"]
    return {"columns": {**columns, name: {"role": "quasi_identifier", "hierarchy": hierarchy}}}


def with_model(model: dict, hierarchy: dict | None = None) -> dict:
    sensitive = {"role": "sensitive", "models": [model]} | ({"hierarchy": hierarchy} if hierarchy else {})
    return {"columns": {**document()["columns"], "c": sensitive}}


def with_subset(subset: dict) -> dict:
    presence = {"type": "delta_presence", "min": 0, "max": 0.5, "subset": subset}
    return {"privacy": [presence], "columns": {**document()["columns"], "d": {"role": "keep"}}}


FAULTY = {
    "sensitive unlisted": with_model(
        {"type": "t_closeness", "t": 0.1, "distance": "hierarchical"}, {"levels": {"k": ["*"]}}
    ),
    "too few values": with_model({"type": "entropy_l_diversity", "l": 5}),
    "subset flag": with_subset({"column": "b"}),
    "subset unclear": with_subset({"table": "part"}),
    "subset foreign": with_subset({"table": "other"}),
    "uncovered": with_hierarchy("a", {"levels": {"x": "*", "y": "*"}}),
    "contradiction": with_hierarchy("a", {"levels": {CANARY: [CANARY, "1"], "x": [CANARY, "2"], "y": ["u", "1"]}}),
    "not a number": with_hierarchy("b", {"intervals": {"width": 5}}),
    "no dates": with_hierarchy("b", {"dates": {}}),
    "no solution": {"privacy": [{"type": "k_anonymity", "k": 100}]},
    "no table": {"table": "nowhere"},
    "undeclared": {"columns": {"c": {"role": "keep"}}},
}


@pytest.mark.parametrize("name", FAULTY)
def test_no_error_holds_a_value(name: str, planted: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(sqlanon.SqlanonError) as caught:
        sqlanon.plan(planted, document(**FAULTY[name]))
    assert CANARY not in told(caught.value)
    assert "Hint" in str(caught.value)


def test_the_database_is_not_quoted_when_it_refuses_a_value(planted: duckdb.DuckDBPyConnection) -> None:
    policy = sqlanon.Policy.from_dict(document())
    with sqlanon.plan(planted, policy) as plan, pytest.raises(sqlanon.EngineError) as caught:
        plan._session.source.engine.run("cast", "SELECT CAST(a AS INTEGER) FROM t")
    assert CANARY not in told(caught.value)


def test_no_hierarchy_error_holds_a_value(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    for text in (
        f"{CANARY};a\n{CANARY};b\n",
        f"{CANARY};a;b\nx;a\n",
        f"{CANARY};\n",
        f'"{CANARY}',
        f"{CANARY};a;1\nx;a;2\n",
    ):
        path.write_text(text)
        with pytest.raises(sqlanon.HierarchyError) as caught:
            check_rows(read_rows(path, ";", None, "utf-8"), "a")
        assert CANARY not in told(caught.value)


def test_no_policy_error_holds_a_value(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    for text in (
        f"columns: {{a: {{role: {CANARY}, hierarchy: {{levels: {{{CANARY}: [x], y: [x, z]}}}}}}}}\n",
        f"columns: [{CANARY}\n",
        f"a: 1\na: {CANARY}\n",
    ):
        path.write_text(text)
        with pytest.raises(sqlanon.InputError) as caught:
            sqlanon.Policy.from_file(path)
        assert CANARY not in told(caught.value)
