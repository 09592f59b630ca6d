"""What a role may see of a source: rows under row-level security, and columns that it has been granted."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import sqlanon as command
from policies import document_of, quasi
from postgres_server import Server, execute

import sqlanon
from sqlanon.errors import EngineError, SourceError, UnsupportedError

pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")

SOURCE, TARGET = "ward.visits", "anon.visits"
RECORDS, VISIBLE = 400, 100
RELATIONS = {
    "the table": "ward.visits",
    "a partition's parent": "ward.parted",
    "a view of the reader's": "ward.own_view",
    "a view of the reader's, on a view": "ward.own_view_on_view",
    "a view that reads with the reader's rights": "ward.invoker",
    "a table of its own that says FORCE": "ward.forced",
}
WHOLE = {
    "a view of the owner's": "ward.whole",
    "a materialized view of the owner's": "ward.stored",
    "a table of its own": "ward.own",
}


@pytest.fixture(scope="module")
def ward(postgres: Server) -> Server:
    """Records of four wards, of which a reader sees one; relations over them; and a reader of some columns."""
    columns = "id int, ward int, age int, zip text, secret text, born date"
    rows = (
        "SELECT i, i % 4, 20 + i / 8 % 10, 'z' || i / 16 % 5, 's' || i, DATE '2000-01-01' + i "
        f"FROM generate_series(1, {RECORDS}) i"
    )
    policed = "ENABLE ROW LEVEL SECURITY"
    execute(
        postgres,
        "CREATE SCHEMA ward", "CREATE SCHEMA anon",
        "CREATE ROLE head", "CREATE ROLE reader LOGIN", "CREATE ROLE columns_only LOGIN",
        "CREATE ROLE sees LOGIN BYPASSRLS",
        "GRANT ALL ON SCHEMA ward, anon TO head, reader, columns_only, sees",
        f"CREATE TABLE ward.visits ({columns})", f"INSERT INTO ward.visits {rows}",
        f"CREATE TABLE ward.parted ({columns}) PARTITION BY LIST (ward)",
        "CREATE TABLE ward.part PARTITION OF ward.parted DEFAULT", f"INSERT INTO ward.parted {rows}",
        f"CREATE TABLE ward.own ({columns})", f"INSERT INTO ward.own {rows}",
        f"CREATE TABLE ward.forced ({columns})", f"INSERT INTO ward.forced {rows}",
        "ALTER TABLE ward.own OWNER TO reader", "ALTER TABLE ward.forced OWNER TO reader",
        "ALTER TABLE ward.visits OWNER TO head",
        *[f"ALTER TABLE ward.{name} {policed}" for name in ("visits", "parted", "own", "forced")],
        "ALTER TABLE ward.forced FORCE ROW LEVEL SECURITY",
        *[f"CREATE POLICY mine ON ward.{name} USING (ward = 1)" for name in ("visits", "parted", "own", "forced")],
        "GRANT SELECT ON ward.visits, ward.parted TO reader, sees",
        "GRANT SELECT (age, zip, ward) ON ward.visits TO columns_only",
        "CREATE VIEW ward.whole AS SELECT * FROM ward.visits", "ALTER VIEW ward.whole OWNER TO head",
        "CREATE MATERIALIZED VIEW ward.stored AS SELECT * FROM ward.visits",
        "CREATE VIEW ward.invoker WITH (security_invoker = true) AS SELECT * FROM ward.visits",
        "ALTER VIEW ward.invoker OWNER TO head",
        "CREATE VIEW ward.own_view AS SELECT * FROM ward.visits", "ALTER VIEW ward.own_view OWNER TO reader",
        "CREATE VIEW ward.own_view_on_view AS SELECT * FROM ward.own_view",
        "ALTER VIEW ward.own_view_on_view OWNER TO head",
        "GRANT SELECT ON ward.own_view TO head",
        "GRANT SELECT ON ward.whole, ward.stored, ward.invoker, ward.own_view_on_view TO reader",
        f"CREATE TABLE ward.open ({columns})", f"INSERT INTO ward.open {rows}",
        "GRANT SELECT (age, zip, ward, id) ON ward.open TO columns_only",
        "CREATE FUNCTION ward.all_visits() RETURNS SETOF ward.visits LANGUAGE plpgsql STABLE "
        "AS 'BEGIN RETURN QUERY SELECT * FROM ward.visits; END'",
        "CREATE VIEW ward.by_function AS SELECT * FROM ward.all_visits()", "GRANT SELECT ON ward.by_function TO reader",
        "CREATE TABLE ward.levels (zip text, one text)",
        "INSERT INTO ward.levels SELECT 'z' || i, '*' FROM generate_series(0, 4) i",
        f"ALTER TABLE ward.levels {policed}", "GRANT SELECT ON ward.levels TO reader",
    )  # fmt: skip
    return postgres


@pytest.fixture(autouse=True)
def environment(ward: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PGHOST", str(ward.folder)), ("PGUSER", "reader"), ("PGDATABASE", ward.database)):
        monkeypatch.setenv(name, value)


def document(**changes: Any) -> dict[str, Any]:
    columns = {"age": quasi({"intervals": {"width": 5, "fanouts": [2]}}), "zip": "suppress", "ward": "keep"}
    return document_of(
        columns, changes, k=3, source="postgresql://", table=SOURCE, undeclared="drop", suppression_limit=0.5
    )


def policy(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(**changes))


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_a_source_from_which_rows_are_hidden_is_refused_or_accepted(relation: str) -> None:
    with pytest.raises(SourceError, match="Row-level security applies") as raised:
        sqlanon.plan(None, policy(table=relation))
    assert "row_security: accept" in raised.value.hint
    with sqlanon.plan(None, policy(table=relation, row_security="accept")) as plan:
        assert plan.ledger.records == VISIBLE
        assert any("Row-level security" in warning for warning in plan.warnings)


@pytest.mark.parametrize("relation", WHOLE.values(), ids=WHOLE)
def test_a_source_of_which_all_rows_are_seen_is_released(relation: str) -> None:
    with sqlanon.plan(None, policy(table=relation)) as plan:
        assert plan.ledger.records == RECORDS
        assert not any("Row-level security" in warning for warning in plan.warnings)


def test_a_role_that_sees_all_rows_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "sees")
    with sqlanon.plan(None, policy()) as plan:
        assert plan.ledger.records == RECORDS


def test_what_a_function_hides_is_refused_by_the_server() -> None:
    """The catalog does not say what a function reads."""
    with pytest.raises(EngineError, match="42501"):
        sqlanon.plan(None, policy(table="ward.by_function"))


def test_a_hierarchy_from_which_rows_are_hidden_is_refused() -> None:
    columns = document()["columns"]
    columns["zip"] = {"role": "quasi_identifier", "hierarchy": {"table": "ward.levels"}}
    with pytest.raises(SourceError, match="'levels'"):
        sqlanon.plan(None, policy(table="ward.own", columns=columns))


def test_a_live_view_over_row_level_security_is_refused_even_if_it_is_accepted() -> None:
    for accepted in ({}, {"row_security": "accept"}):
        with pytest.raises((SourceError, UnsupportedError), match=r"[Rr]ow-level security"):
            sqlanon.anonymize(None, policy(output={"live_view": TARGET}, **accepted))


def test_a_run_says_that_rows_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(document()))
    refused = command("run", tmp_path / "policy.json", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error"]) == (2, "SourceError")
    (tmp_path / "policy.json").write_text(json.dumps(document(row_security="accept")))
    accepted = command("run", tmp_path / "policy.json", "--json")
    assert accepted.returncode == 0, accepted.stderr
    assert any("Row-level security" in warning for warning in json.loads(accepted.stdout)["warnings"])


@pytest.mark.parametrize("name", ["check", "nulls"])
def test_what_is_examined_is_what_the_role_sees_and_that_is_said(name: str) -> None:
    done = command(name, "postgresql://", SOURCE, "--qi", "age,zip", "--k", "2", "--json")
    assert done.returncode in (0, 1), done.stderr
    assert "Row-level security" in done.stderr
    whole = command(name, "postgresql://", "ward.own", "--qi", "age,zip", "--k", "2", "--json")
    assert "Row-level security" not in whole.stderr


def test_the_key_survives_writing_and_definitions(tmp_path: Path) -> None:
    accepted = policy(row_security="accept")
    assert accepted.fingerprint() != policy().fingerprint()
    assert "row_security" not in policy().to_dict()
    assert sqlanon.Policy.from_dict(accepted.to_dict()) == accepted
    with pytest.raises(sqlanon.PolicyError, match="row_security"):
        policy(row_security="maybe")


# -- columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"entity": "id"},
        {"nulls": "basic", "search": {"where": "engine"}},
        {"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": {"column": "member"}}]},
        {"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": {"table": "ward.some"}}]},
    ],
    ids=["plain", "entity", "engine", "member", "subset"],
)
@pytest.mark.parametrize("output", [{"table": TARGET}, {"file": "released.parquet"}], ids=["table", "file"])
def test_rights_on_the_columns_of_the_policy_are_enough(
    ward: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], output: dict[str, str]
) -> None:
    monkeypatch.setenv("PGUSER", "columns_only")
    execute(
        ward,
        "DROP TABLE IF EXISTS anon.visits",
        "ALTER TABLE ward.open ADD COLUMN IF NOT EXISTS member boolean DEFAULT true",
        "GRANT SELECT (member) ON ward.open TO columns_only",
        "DROP TABLE IF EXISTS ward.some",
        "CREATE TABLE ward.some AS SELECT id, age FROM ward.open WHERE id % 2 = 0",
        "GRANT SELECT ON ward.some TO columns_only",
    )
    target = {kind: str(tmp_path / name) if kind == "file" else name for kind, name in output.items()}
    report = str(tmp_path / "report.txt")
    made = policy(table="ward.open", output=target, report=report, **changes)
    with sqlanon.anonymize(None, made) as release:
        assert release.ledger.published > 0
        assert release.to_arrow().num_rows == release.ledger.published
        sqlanon.summarize(release)
        assert "secret" not in release.sql


def test_a_live_view_needs_rights_on_its_columns_only(ward: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "columns_only")
    live = policy(table="ward.open", output={"live_view": "anon.live"}, if_exists="replace")
    with sqlanon.anonymize(None, live) as release:
        assert release.ledger.published > 0
    assert not sqlanon.refresh(None, live).due


def test_columns_that_may_not_be_read_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "columns_only")
    columns = document()["columns"] | {"secret": {"role": "keep"}, "born": {"role": "keep"}}
    with pytest.raises(SourceError, match="may not read the columns 'secret', 'born'"):
        sqlanon.plan(None, policy(table="ward.open", columns=columns))
    dropped = document()["columns"] | {name: {"role": "drop"} for name in ("secret", "born", "id")}
    with sqlanon.plan(None, policy(table="ward.open", columns=dropped)) as plan:
        assert plan.ledger.records == RECORDS
    for name in ("check", "nulls"):
        found = command(name, "postgresql://", "ward.open", "--qi", "age,zip", "--k", "2", "--json")
        assert found.returncode in (0, 1), found.stderr


def test_all_columns_whose_type_cannot_be_served_are_named_at_once() -> None:
    columns = {
        "age": {"role": "quasi_identifier", "hierarchy": {"dates": ["year"]}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5}}},  # of the numbers in texts
        "born": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5}}},
    }
    with pytest.raises(UnsupportedError) as raised:
        sqlanon.plan(None, policy(table="ward.own", columns=columns))
    assert "'zip'" not in raised.value.message
    for name in ("age", "born"):
        assert f"Column {name!r}" in raised.value.message
