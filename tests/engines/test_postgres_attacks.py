"""A hostile role owns a source, is on the path of a run, or was first at its target: the advisories on PostgreSQL
Anonymizer of 2026 (CVE-2026-2360, -2361, -9617, -19633, -19634, -83534), tried on us."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from postgres_server import Server, execute

import sqlanon
from sqlanon.errors import SourceError

module = pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")

TRAP = "LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('mallory.calls') WHERE current_user = 'runner'; RETURN {}; END $$"
"""The body of a function that tells that it was called with the rights of the run, also where that is rolled back."""
SOURCES = {
    "a view's column": ["CREATE VIEW mallory.s AS SELECT *, mallory.evil(1) AS e FROM mallory.t"],
    "a view's subquery": ["CREATE VIEW mallory.v AS SELECT * FROM mallory.t WHERE (SELECT mallory.evil(1)) = 1",
                          "CREATE VIEW mallory.s AS SELECT q, who FROM mallory.v"],
    "an operator": ["CREATE OPERATOR mallory.### (RIGHTARG = integer, FUNCTION = mallory.evil)",
                    "CREATE VIEW mallory.s AS SELECT q, who FROM mallory.t WHERE OPERATOR(mallory.###) 1 = 1"],
    "a domain": ["CREATE DOMAIN mallory.checked AS text CHECK (mallory.evil(1) = 1)",
                 "CREATE VIEW mallory.s AS SELECT CAST(q AS mallory.checked) AS q, who FROM mallory.t"],
    "a cast": ["CREATE TYPE mallory.mood AS ENUM ('a', 'b', 'c')",
               f"CREATE FUNCTION mallory.told(m mallory.mood) RETURNS text {TRAP.format('CAST(1 AS text)')}",
               "CREATE CAST (mallory.mood AS text) WITH FUNCTION mallory.told AS IMPLICIT",
               "CREATE TABLE mallory.s (q mallory.mood, who text)",
               "INSERT INTO mallory.s SELECT CAST(q AS mallory.mood), who FROM mallory.t"],
    "an index": ["CREATE TABLE mallory.s AS SELECT * FROM mallory.t",
                 "CREATE INDEX ON mallory.s ((mallory.still(1) || who))"],
    "statistics": ["CREATE TABLE mallory.s AS SELECT * FROM mallory.t",
                   "CREATE STATISTICS mallory.x ON (mallory.still(1) || who), q FROM mallory.s"],
    "a partition": ["CREATE TABLE mallory.s (q text, who text) PARTITION BY LIST (q)",
                    "CREATE TABLE mallory.part PARTITION OF mallory.s DEFAULT",
                    "INSERT INTO mallory.s SELECT * FROM mallory.t",
                    "ALTER TABLE mallory.part ADD CHECK (who <> mallory.still(1))"],
    "a policy": ["CREATE TABLE mallory.s AS SELECT * FROM mallory.t",
                 "ALTER TABLE mallory.s ENABLE ROW LEVEL SECURITY",
                 "CREATE POLICY p ON mallory.s USING (mallory.evil(1) = 1)"],
}  # fmt: skip


@pytest.fixture
def mallory(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A role with a table, functions that count their calls, and a right on the path of the run and at its target."""
    for name, value in (("PGHOST", postgres.folder), ("PGUSER", "runner"), ("PGDATABASE", postgres.database)):
        monkeypatch.setenv(name, str(value))
    execute(
        postgres,
        "CREATE ROLE mallory LOGIN", "CREATE ROLE runner LOGIN SUPERUSER",
        "CREATE SCHEMA mallory AUTHORIZATION mallory", "CREATE SCHEMA anon",
        "GRANT CREATE, USAGE ON SCHEMA public, anon TO mallory",
    )  # fmt: skip
    by_mallory(
        postgres,
        "CREATE SEQUENCE mallory.calls",
        f"CREATE FUNCTION mallory.evil(integer) RETURNS integer {TRAP.format(1)}",
        "CREATE FUNCTION mallory.still(integer) RETURNS text IMMUTABLE LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN CAST(mallory.evil($1) AS text); END $$",
        "CREATE TABLE mallory.t (q text, who text)",
        "INSERT INTO mallory.t SELECT chr(97 + i % 2), 'n' || i FROM generate_series(1, 20) i",
    )
    yield postgres
    execute(postgres, "DROP SCHEMA mallory, anon CASCADE", "DROP OWNED BY mallory, runner", "DROP ROLE mallory, runner")


def by_mallory(server: Server, *statements: str) -> None:
    execute(server, *statements, user="mallory")


def calls(server: Server) -> int:
    return int(execute(server, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM mallory.calls")[0][0])


def policy(table: str = "mallory.s", **changes: Any) -> sqlanon.Policy:
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    privacy = [{"type": "k_anonymity", "k": 5}]
    document = {"source": "postgresql://", "table": table, "columns": columns, "undeclared": "drop", "privacy": privacy}
    return sqlanon.Policy.from_dict({**document, **changes})


@pytest.mark.parametrize("statements", SOURCES.values(), ids=SOURCES)
def test_no_function_of_others_is_called_with_the_rights_of_an_administrator(
    mallory: Server, statements: list[str]
) -> None:
    by_mallory(mallory, *statements, "GRANT USAGE ON SCHEMA mallory TO runner", "GRANT SELECT ON mallory.s TO runner",
               "GRANT ALL ON SEQUENCE mallory.calls TO PUBLIC", "ALTER SEQUENCE mallory.calls RESTART")  # fmt: skip
    for output in ({}, {"output": {"view": "anon.x"}}, {"output": {"live_view": "anon.x"}}):
        with pytest.raises(SourceError, match="functions of 'mallory'"):
            sqlanon.anonymize(None, policy(row_security="accept", **output)).close()
    for verb in (
        sqlanon.profile,
        partial(sqlanon.risk, quasi_identifiers=["q"]),
        partial(sqlanon.check, quasi_identifiers=["q"], k=2),
    ):
        with pytest.raises(SourceError, match="no other right"):
            verb("postgresql://", table="mallory.s")
    assert calls(mallory) == 0
    execute(mallory, "ALTER ROLE runner NOSUPERUSER")  # I38: whoever has few rights lends few
    sqlanon.plan(None, policy(row_security="accept")).close()


@pytest.mark.parametrize("use", ["hierarchy", "population"])
def test_no_table_beside_the_source_is_read_so(mallory: Server, use: str) -> None:
    by_mallory(mallory, *SOURCES["a view's subquery"], "CREATE VIEW mallory.h AS SELECT q, '*' AS top FROM mallory.s",
               "ALTER SEQUENCE mallory.calls RESTART")  # fmt: skip
    changes: dict[str, Any] = {
        "hierarchy": {"columns": {"q": {"role": "quasi_identifier", "hierarchy": {"table": "mallory.h"}}}},
        "population": {"privacy": [{"type": "k_map", "k": 2, "population": {"table": "mallory.s"}}]},
    }
    by_mallory(
        mallory,
        "CREATE MATERIALIZED VIEW mallory.m AS SELECT * FROM mallory.s",
        "CREATE RULE r AS ON INSERT TO mallory.t DO ALSO SELECT mallory.evil(1)",
    )
    for stored in ("mallory.t", "mallory.m"):
        with sqlanon.plan(None, policy(stored)) as plan:
            assert plan.ledger.records == 20
    with pytest.raises(SourceError, match="functions of 'mallory'"):
        sqlanon.plan(None, policy("mallory.t", **changes[use])).close()
    assert calls(mallory) == 0


@pytest.mark.parametrize("path", ["public", "in the database"])
def test_no_operator_of_others_answers_the_driver(mallory: Server, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """The driver asks for types when it connects, by operators that are looked for on the path of the role."""
    by_mallory(
        mallory,
        "GRANT ALL ON SEQUENCE mallory.calls TO PUBLIC", "GRANT USAGE ON SCHEMA mallory TO PUBLIC",
        f"CREATE FUNCTION mallory.other(regproc, integer) RETURNS boolean {TRAP.format('true')}",
        *(f"CREATE OPERATOR {at}.<> (LEFTARG = regproc, RIGHTARG = integer, FUNCTION = mallory.other)"
          for at in ("public", "mallory")),
    )  # fmt: skip
    if path != "public":
        setting = f'IN DATABASE {mallory.database} SET search_path = mallory, nowhere, "$user", public'
        execute(mallory, "ALTER ROLE runner SET search_path = public", f"ALTER ROLE runner {setting}")
    execute(mallory, "ALTER SEQUENCE mallory.calls RESTART", "CREATE SCHEMA runner")
    try:
        for uri in ("postgresql://", "postgresql://?options=-cwork_mem%3D5MB", "postgresql://?connect_timeout=9"):
            engine = module.PostgresEngine(uri)
            found = engine.default_schema
            memory = engine.run("memory", "SELECT pg_catalog.current_setting('work_mem')")
            engine.close()
            assert calls(mallory) == 0
            assert found == ("runner", "public") if path == "public" else ("mallory", "runner", "public")
            assert memory == [("64MB",)] or "work_mem" in uri
        monkeypatch.setenv("PGOPTIONS", "-c work_mem=6MB")
        engine = module.PostgresEngine("postgresql://")
        assert engine.run("memory", "SELECT pg_catalog.current_setting('work_mem')") == [("6MB",)]
        engine.close()
    finally:
        execute(mallory, "DROP SCHEMA runner", "DROP OPERATOR public.<> (regproc, integer)")


def test_a_view_that_stands_at_the_target_calls_nothing(mallory: Server) -> None:
    """She was there first, with the facts of a live view beside hers: a refresh would count its rows."""
    by_mallory(
        mallory,
        "CREATE VIEW anon.x AS SELECT CAST(mallory.evil(1) AS text) AS q",
        "CREATE TABLE anon.x_frozen AS SELECT 'policy' AS kind, '' AS name, '' AS value",
        "GRANT ALL ON ALL TABLES IN SCHEMA anon TO PUBLIC", "GRANT USAGE ON SCHEMA mallory TO PUBLIC",
        "ALTER SEQUENCE mallory.calls RESTART",
    )  # fmt: skip
    asked = policy("mallory.t", output={"live_view": "anon.x"}, if_exists="replace")
    for verb in (sqlanon.refresh, sqlanon.anonymize):
        with pytest.raises(SourceError, match="functions of 'mallory'"):
            verb(None, asked)
    assert calls(mallory) == 0


def test_names_of_columns_and_relations_are_no_code(mallory: Server) -> None:
    """As a k-anonymity function of others ran what a column was called."""
    name = '"a"", mallory.evil(1)) -- \'; SELECT mallory.evil(2) --"'
    plain = name[1:-1].replace('""', '"')
    by_mallory(
        mallory, f"CREATE TABLE mallory.{name} AS SELECT q AS {name} FROM mallory.t",
        "ALTER SEQUENCE mallory.calls RESTART",
    )  # fmt: skip
    columns = {plain: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    for kind in ("table", "view", "live_view"):
        asked = policy(f"mallory.{name}", columns=columns, output={kind: f"anon.{name}"}, if_exists="replace")
        if kind == "view":
            execute(mallory, f"DROP TABLE anon.{name}")
        sqlanon.anonymize(None, asked).close()
    assert sqlanon.refresh(None, asked).reason is None
    sqlanon.profile("postgresql://", f"mallory.{name}")
    sqlanon.risk("postgresql://", [plain], table=f"mallory.{name}")
    assert sqlanon.check("postgresql://", [plain], k=5, table=f"mallory.{name}").holds
    assert calls(mallory) == 0


@pytest.mark.parametrize(
    ("uri", "joined"),
    [("postgresql:///d", "?options="), ("postgresql:///d?", "options="), ("postgresql:///d?sslmode=", "&options="),
     ("postgresql:///d?user=a", "&options="), ("postgresql:///d?options=-csearch_path%3Da", "")],
)  # fmt: skip
def test_a_session_begins_with_the_servers_own_names_whatever_its_uri(uri: str, joined: str) -> None:
    session = pytest.importorskip("sqlanon.core.engines.postgres.session")
    guarded = session._guarded(uri)
    assert guarded == (uri if not joined else f"{uri}{joined}-csearch_path%3Dpg_catalog")
