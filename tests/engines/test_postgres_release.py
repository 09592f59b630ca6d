"""Releases on PostgreSQL: published as DuckDB publishes them, and read by the roles that may, and by no others."""

import json
import logging
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from policies import diverse, document_of, intervals, quasi
from postgres_server import Server
from tables import store

import sqlanon
from sqlanon.errors import AuditError, InputError, SourceError, TargetError, UnsupportedError

postgres_engine = pytest.importorskip(
    "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
)
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")

RECORDS = 3_000
PASSWORD = "canary-7f3a"
SOURCE = "clinic.patients"
VIEW = "anon.patients"


def patients(seed: int = 1) -> pa.Table:
    """Records with NULLs, empty texts, a typed quasi-identifier and a sensitive column."""
    draw = random.Random(seed)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(RECORDS)],
            "age": pa.array([draw.choice([None, *range(20, 60)]) for _ in range(RECORDS)], pa.int32()),
            "zip": [draw.choice([None, "", *(f"8{i:03d}" for i in range(30))]) for _ in range(RECORDS)],
            "sex": [draw.choice("mf") for _ in range(RECORDS)],
            "diagnosis": [draw.choice(["flu", "gout", "asthma", "NULL", None]) for _ in range(RECORDS)],
            "days": pa.array([draw.randrange(9) for _ in range(RECORDS)], pa.int64()),
        }
    )


def document(**changes: Any) -> dict[str, Any]:
    columns = {
        "name": "drop",
        "age": intervals(5, 2, 2),
        "zip": quasi({"redact": {"direction": "right"}}),
        "sex": "suppress",
        "diagnosis": diverse(3),
        "days": "keep",
    }
    return document_of(columns, changes, k=5, source="postgresql://", table=SOURCE, suppression_limit=0.05)


def policy(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(**changes))


@pytest.fixture(scope="module")
def clinic(postgres: Server) -> Server:
    """A server with the records, a schema for releases, and three roles."""
    with closing(dbapi.connect(postgres.uri(), autocommit=True)) as connection, connection.cursor() as cursor:
        for schema in ("clinic", "anon"):
            cursor.execute(f"CREATE SCHEMA {schema}")
        cursor.adbc_ingest("patients", patients(), mode="create", db_schema_name="clinic")
        for role in ("anonymizer", "keeper", "analyst", "stranger"):
            cursor.execute(f"CREATE ROLE {role} LOGIN")
        cursor.execute("GRANT USAGE ON SCHEMA clinic TO anonymizer")
        cursor.execute("GRANT SELECT ON clinic.patients TO anonymizer")
        cursor.execute("GRANT keeper TO anonymizer")
        cursor.execute("GRANT CREATE, USAGE ON SCHEMA anon TO anonymizer, keeper WITH GRANT OPTION")
        # whatever the schema's defaults grant must not reach a release
        cursor.execute("ALTER DEFAULT PRIVILEGES FOR ROLE anonymizer GRANT SELECT ON TABLES TO PUBLIC")
        cursor.execute("GRANT USAGE ON SCHEMA anon TO stranger")
    return postgres


@pytest.fixture(autouse=True)
def environment(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's usual places tell where the server is and who we are: a role that may read the source, no more."""
    monkeypatch.setenv("PGHOST", str(clinic.folder))
    monkeypatch.setenv("PGUSER", "anonymizer")
    monkeypatch.setenv("PGDATABASE", clinic.database)


@pytest.fixture(autouse=True)
def emptied(clinic: Server) -> Iterator[None]:
    yield
    with closing(dbapi.connect(clinic.uri(), autocommit=True)) as connection, connection.cursor() as cursor:
        for kind, name in rows(
            clinic,
            "SELECT CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, relname FROM pg_class "
            "WHERE relnamespace = 'anon'::regnamespace AND relkind IN ('v', 'r') ORDER BY 1 DESC",
        ):
            cursor.execute(f'DROP {kind} anon."{name}"')


def rows(server: Server, query: str, user: str | None = None) -> list[tuple[Any, ...]]:
    with closing(dbapi.connect(server.uri(user=user), autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def denied(server: Server, user: str, query: str) -> bool:
    try:
        rows(server, query, user)
    except dbapi.Error as error:
        return "permission denied" in str(error)
    return False


def embedded(**changes: Any) -> tuple[sqlanon.Release, Counter[tuple[Any, ...]]]:
    """The release that DuckDB makes of the same records."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA clinic")
    connection.register("given", patients())
    connection.execute(f"CREATE TABLE {SOURCE} AS SELECT * FROM given")
    built = sqlanon.anonymize(connection, policy(**changes))
    return built, counted(built.to_arrow())


def counted(data: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*[column.to_pylist() for column in data.columns]))


@pytest.mark.parametrize("where", ["engine", "local", "auto"])
@pytest.mark.parametrize("nulls", ["extended", "basic"])
def test_a_release_is_that_of_duckdb(clinic: Server, where: str, nulls: str) -> None:
    expected, expected_rows = embedded(nulls=nulls)
    with sqlanon.anonymize(None, policy(nulls=nulls, search={"where": where}, output={"table": VIEW})) as release:
        assert release.levels == expected.levels
        assert release.ledger == expected.ledger
        assert release.certificate.optimal
        assert release.certificate.loss == pytest.approx(expected.certificate.loss, abs=1e-12)
        assert counted(release.to_arrow()) == expected_rows
        assert sum(expected_rows.values()) == release.ledger.published > RECORDS / 2
        assert (release.plan._session.transferred == ()) is (where == "engine")
    assert Counter(rows(clinic, f"SELECT * FROM {VIEW}")) == expected_rows
    expected.close()


def test_the_order_of_the_rows_is_not_the_sources(clinic: Server) -> None:
    with sqlanon.anonymize(None, policy(output={"table": VIEW})):
        pass
    released = [row[-1] for row in rows(clinic, f"SELECT * FROM {VIEW}")]
    source = patients().column("days").to_pylist()
    agreeing = sum(one == other for one, other in zip(released, source))
    assert agreeing < len(released) / 3  # a ninth by chance


def test_readers_see_the_view_and_nothing_else(clinic: Server) -> None:
    output = {"view": VIEW, "owner": "keeper", "readers": ["analyst"]}
    with sqlanon.anonymize(None, policy(output=output)) as release:
        assert release.output == {"view": VIEW}
        assert not any("readers" in warning for warning in release.warnings)
        count = release.ledger.published
    assert rows(clinic, f"SELECT count(*) FROM {VIEW}", "analyst") == [(count,)]
    for hidden in ("anon.patients_released", SOURCE):
        assert denied(clinic, "analyst", f"SELECT count(*) FROM {hidden}"), hidden
    for change in (f"DELETE FROM {VIEW}", f"UPDATE {VIEW} SET days = 0", f"INSERT INTO {VIEW} SELECT * FROM {VIEW}"):
        assert denied(clinic, "analyst", change), change
    assert denied(clinic, "analyst", "CREATE TABLE anon.mine (a int)")
    for relation in (VIEW, "anon.patients_released"):  # the defaults of the schema would have let everybody read them
        assert denied(clinic, "stranger", f"SELECT 1 FROM {relation}"), relation
    facts = (
        "SELECT relname, relowner::regrole::text, reloptions FROM pg_class "
        "WHERE relname LIKE 'patients%' AND relnamespace = 'anon'::regnamespace ORDER BY 1"
    )
    assert rows(clinic, facts) == [
        ("patients", "keeper", ["security_barrier=true"]),
        ("patients_released", "keeper", None),
    ]
    left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlanon%'"
    assert rows(clinic, left) == [(0,)]


def test_without_readers_only_the_owner_reads(clinic: Server) -> None:
    with sqlanon.anonymize(None, policy(output={"table": VIEW})) as release:
        assert any("readers" in warning for warning in release.warnings)
    assert denied(clinic, "stranger", f"SELECT 1 FROM {VIEW}")
    assert rows(clinic, f"SELECT count(*) > 0 FROM {VIEW}", "anonymizer") == [(True,)]


def test_a_release_is_replaced_whole_or_not_at_all(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    output = {"view": VIEW, "owner": "keeper", "readers": ["analyst"]}
    sqlanon.anonymize(None, policy(output=output)).close()
    with pytest.raises(TargetError, match="exists already"):
        sqlanon.anonymize(None, policy(output=output))
    before = Counter(rows(clinic, f"SELECT * FROM {VIEW}"))
    stricter = {"privacy": [{"type": "k_anonymity", "k": 50}], "if_exists": "replace"}

    def failing(*_: Any, **__: Any) -> None:
        raise AuditError("planted", hint="")

    with monkeypatch.context() as patch:
        patch.setattr("sqlanon.core.publish.draft.audit_release", failing)
        with pytest.raises(AuditError, match="planted"):
            sqlanon.anonymize(None, policy(output=output, **stricter))
    assert Counter(rows(clinic, f"SELECT * FROM {VIEW}", "analyst")) == before
    with sqlanon.anonymize(None, policy(output=output, **stricter)) as release:
        assert release.ledger.smallest_class is not None and release.ledger.smallest_class >= 50
        assert rows(clinic, f"SELECT count(*) FROM {VIEW}", "analyst") == [(release.ledger.published,)]
    assert rows(clinic, "SELECT count(*) FROM pg_class WHERE relnamespace = 'anon'::regnamespace") == [(2,)]


def test_what_cannot_be_published_is_refused_before_any_work(clinic: Server) -> None:
    with pytest.raises(TargetError, match="is the source itself"):
        sqlanon.anonymize(None, policy(output={"table": SOURCE}, if_exists="replace"))
    with pytest.raises(TargetError, match="no database"):
        sqlanon.anonymize(None, policy(output={"table": "postgres.anon.patients"}))
    with pytest.raises(UnsupportedError, match="sources are not joined"):
        sqlanon.plan(None, policy(join=[{"table": SOURCE, "key": "name"}]))
    with pytest.raises(sqlanon.SqlanonError, match="42501"):  # the role may not write there
        sqlanon.anonymize(None, policy(output={"table": "clinic.mine"}))
    with pytest.raises(SourceError):
        sqlanon.plan(None, policy(table="clinic.nothing"))
    assert rows(clinic, "SELECT count(*) FROM pg_class WHERE relname IN ('mine') OR relname LIKE 'sqlanon%'") == [(0,)]


def test_the_source_is_only_read(clinic: Server) -> None:
    """The role of a run needs SELECT on the source and TEMPORARY; it has nothing else here."""
    before = rows(clinic, "SELECT count(*), sum(hashtext(p::text)) FROM clinic.patients p")
    with sqlanon.plan(None, policy(search={"where": "engine"})) as plan:
        assert plan.certificate.optimal
    assert rows(clinic, "SELECT count(*), sum(hashtext(p::text)) FROM clinic.patients p") == before
    assert denied(clinic, "anonymizer", "DELETE FROM clinic.patients")


def test_only_codes_and_counts_leave_the_server(clinic: Server) -> None:
    with sqlanon.plan(None, policy()) as plan:
        session = plan._session
        assert [item.table for item in session.transferred] == ["sqlanon_base", "sqlanon_leaf", "sqlanon_overall_0"]
        for carried in session.transferred:
            data = session.engine.arrow("look", f'SELECT * FROM "{carried.table}"')
            assert data.num_rows == carried.rows
            assert not any(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in data.schema.types)
    with sqlanon.plan(None, policy(search={"where": "engine"})) as plan:
        assert plan._session.transferred == ()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".duckdb"])
def test_a_file_is_written_of_a_servers_release(tmp_path: Path, ending: str) -> None:
    expected, expected_rows = embedded()
    target = tmp_path / f"released{ending}"
    with sqlanon.anonymize(None, policy(output={"file": str(target)}, suppressed="redact")) as release:
        assert release.ledger == expected.ledger
        data = release.to_arrow()
        kept = Counter({row: count for row, count in counted(data).items() if release.marker not in row})
        assert kept == Counter(
            {tuple(None if v is None else str(v) for v in row): n for row, n in expected_rows.items()}
        )
        assert data.num_rows == release.ledger.published + release.ledger.suppressed
        manifest = json.loads(target.with_name(target.name + ".manifest.json").read_text())
        assert "postgresql" in manifest["versions"]
    expected.close()


def test_a_typed_file_keeps_types(tmp_path: Path) -> None:
    target = tmp_path / "released.parquet"
    sqlanon.anonymize(None, policy(output={"file": str(target)})).close()
    types = {field.name: str(field.type) for field in pq.read_schema(target)}
    assert types == {"age": "string", "zip": "string", "sex": "string", "diagnosis": "string", "days": "int64"}


@pytest.mark.parametrize("source", ["postgresql:///?service=ward", "${DATABASE_URL}"])
def test_credentials_are_told_nowhere(
    source: str, clinic: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A service file, or a variable, names the server, the role and a password; none of it is in what a run writes or
    tells."""
    service = tmp_path / "services.conf"
    service.write_text(
        f"[ward]\nhost={clinic.folder}\ndbname={clinic.database}\nuser=anonymizer\npassword={PASSWORD}\n"
    )
    for name in ("PGHOST", "PGUSER", "PGDATABASE"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    url = f"postgresql:///{clinic.database}?host={clinic.folder}&user=anonymizer&password={PASSWORD}"
    monkeypatch.setenv("DATABASE_URL", url)
    keys = document(source=source, output={"file": "released.parquet"}, report="report.html")
    (tmp_path / "policy.json").write_text(json.dumps(keys))
    command = [sys.executable, "-m", "sqlanon.cli", "run", str(tmp_path / "policy.json"), "--json",
               "--script", str(tmp_path / "script.sql"), "--certificate", str(tmp_path / "proof.json")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with caplog.at_level(logging.DEBUG, logger="sqlanon"), sqlanon.plan(None, policy(source=keys["source"])) as plan:
        reported = plan.script() + caplog.text
    written = [path for path in tmp_path.iterdir() if path not in (service, tmp_path / "policy.json")]
    assert len(written) >= 5
    for text in (reported, done.stdout, done.stderr, *(path.read_bytes().decode("latin-1") for path in written)):
        assert PASSWORD not in text
        assert str(clinic.folder) not in text


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    for url in (f"postgresql://me:{PASSWORD}@host/clinic", f"postgres://host/clinic?password={PASSWORD}"):
        with pytest.raises(InputError) as raised:
            sqlanon.plan(None, policy(source=url))
        assert PASSWORD not in str(raised.value)
        assert "PGPASSWORD" in str(raised.value)


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlanon.core.engines.postgres.engine", None)
    with pytest.raises(InputError, match=r"driver of PostgreSQL") as raised:
        sqlanon.plan(None, policy())
    assert "sqlanon[postgres]" in raised.value.hint


def test_a_url_needs_a_table() -> None:
    with pytest.raises(sqlanon.errors.PolicyError) as raised:
        sqlanon.Policy.from_dict({name: value for name, value in document().items() if name != "table"})
    assert [fault.key for fault in raised.value.faults] == ["table"]


def test_an_owner_needs_an_engine_with_roles(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        store(connection, patients(), "patients")
    keys = document(source=str(tmp_path / "t.duckdb"), table="patients", output={"view": "v", "readers": ["analyst"]})
    with pytest.raises(UnsupportedError, match="no roles"):
        sqlanon.anonymize(None, keys)


def test_the_script_replays_in_another_session(clinic: Server) -> None:
    """It begins with the functions that its statements call, and ends with the rows of the release."""
    with sqlanon.plan(None, policy()) as plan:
        compare_with_script(clinic, plan)


@pytest.mark.parametrize(
    "how", [{"type": "patterns"}, {"type": "local_recoding", "nodes": 3, "hold": 0}], ids=lambda how: how["type"]
)
def test_the_script_of_a_recoding_replays_in_another_session(clinic: Server, how: dict[str, Any]) -> None:
    with sqlanon.recode(None, policy(transformation=how)) as plan:
        compare_with_script(clinic, plan)


def compare_with_script(clinic: Server, plan: Any) -> None:
    script = plan.script()
    wanted = Counter(plan.engine.run("release", plan._release_query()))
    statements = [part.strip() for part in re.split(r"^-- \d+\. .*$", script, flags=re.MULTILINE)[1:]]
    uri = clinic.uri(user="anonymizer")
    with closing(dbapi.connect(uri, autocommit=True)) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        assert Counter(cursor.fetchall()) == wanted
    assert sum(wanted.values()) > RECORDS / 2


def test_a_url_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        sqlanon.plan(None, policy(source="postgresql://[me"))
