"""A table that is written to, between any two statements of a run: released, refreshed, verified and checked."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import sqlanon as command
from interrupts import interrupted_after
from policies import document_of, intervals
from postgres_server import Server, execute

import sqlanon
from sqlanon.core.audit.check import check_relation
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import AuditError, EngineError

postgres_engine = pytest.importorskip(
    "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
)
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")
PostgresEngine = postgres_engine.PostgresEngine

RECORDS = 1_000
TARGET = "anon.visits"
COUNT = "SELECT count(*) FROM clinic.visits"
WRITES = (
    "INSERT INTO clinic.visits SELECT i + {n} * 10, i % 9, 'x' || (i % 3), i FROM generate_series(1, 40) AS i",
    "DELETE FROM clinic.visits WHERE id % 29 = {n} % 29",
    "UPDATE clinic.visits SET zip = '9' || zip, age = age + 1 WHERE id % 31 = {n} % 31",
)


def document(**changes: Any) -> dict[str, Any]:
    columns = {
        "id": "drop",
        "age": intervals(5, 2, 2),
        "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {"direction": "right"}}},
        "days": "keep",
    }
    return document_of(columns, changes, k=5, source="postgresql://", table="clinic.visits", suppression_limit=0.05)


def policy(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(**changes))


@pytest.fixture(scope="module")
def server(postgres: Server) -> Server:
    execute(postgres, "CREATE SCHEMA clinic", "CREATE SCHEMA anon", "CREATE ROLE keeper")
    return postgres


@pytest.fixture(autouse=True)
def visits(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table, as new; the driver's usual places say where the server is."""
    draw = random.Random(1)
    data = pa.table(
        {
            "id": pa.array(range(RECORDS), pa.int64()),
            "age": pa.array([draw.choice([None, *range(20, 60)]) for _ in range(RECORDS)], pa.int32()),
            "zip": [f"8{draw.randrange(20):02d}" for _ in range(RECORDS)],
            "days": pa.array([draw.randrange(9) for _ in range(RECORDS)], pa.int64()),
        }
    )
    with closing(dbapi.connect(server.uri(), autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA anon CASCADE")
        cursor.execute("CREATE SCHEMA anon")
        cursor.execute("DROP TABLE IF EXISTS clinic.visits CASCADE")
        cursor.adbc_ingest("visits", data, mode="create", db_schema_name="clinic")
    for name, value in (("PGHOST", str(server.folder)), ("PGUSER", server.user), ("PGDATABASE", server.database)):
        monkeypatch.setenv(name, value)
    return


@contextmanager
def written_to(server: Server, monkeypatch: pytest.MonkeyPatch, *, later: bool = False) -> Iterator[list[int]]:
    """Let another session insert, delete or update before every statement of every run; yield what it wrote.

    Args:
        later: only after the first statement that reads, so that the run reads the state before all of this.
    """
    reads: list[str] = []
    done: list[int] = []
    plain: Callable[..., Any] = PostgresEngine._guarded
    with closing(dbapi.connect(server.uri(), autocommit=True)) as connection, connection.cursor() as cursor:

        def guarded(self: Any, name: str, work: Callable[[], Any]) -> Any:
            if later and not reads:
                reads.extend({name}.difference({"session", "hold"}))
                return plain(self, name, work)
            cursor.execute(WRITES[len(done) % len(WRITES)].format(n=len(done)))
            done.append(len(done))
            return plain(self, name, work)

        with monkeypatch.context() as patch:
            patch.setattr(PostgresEngine, "_guarded", guarded)
            yield done
    assert len(done) > 10


def counted(server: Server, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(execute(server, query))


@pytest.mark.parametrize("where", ["engine", "local"])
@pytest.mark.parametrize("kind", ["table", "view", "file"])
def test_a_table_that_is_written_to_is_released(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, where: str
) -> None:
    target = str(tmp_path / "released.parquet") if kind == "file" else TARGET
    with (
        written_to(server, monkeypatch),
        sqlanon.anonymize(None, policy(output={kind: target}, search={"where": where})) as release,
    ):
        ledger, published = release.ledger, release.to_arrow()
    # the state that was read is one of those that stood: 1000 records, and none of the later ones
    assert ledger.records == ledger.published + ledger.suppressed
    assert published.num_rows == ledger.published
    assert ledger.records != execute(server, COUNT)[0][0]
    assert min(Counter(zip(*[published[c].to_pylist() for c in ("age", "zip")])).values()) >= 5


def test_what_is_released_is_one_state(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that every write changes has one value in all that is released."""
    execute(server, "ALTER TABLE clinic.visits ADD COLUMN state integer DEFAULT 0")
    columns = document()["columns"] | {"state": {"role": "keep"}}
    changing = "UPDATE clinic.visits SET state = state + 1"
    monkeypatch.setattr(f"{__name__}.WRITES", (changing,))
    with written_to(server, monkeypatch) as writes:
        sqlanon.anonymize(None, policy(columns=columns, output={"table": TARGET})).close()
    states = execute(server, f"SELECT DISTINCT state FROM {TARGET}")
    assert len(states) == 1
    assert states[0][0] < len(writes) / 2


@pytest.mark.parametrize("owner", [{}, {"owner": "keeper"}])
def test_a_live_view_of_a_table_that_is_written_to(
    server: Server, monkeypatch: pytest.MonkeyPatch, owner: dict[str, str]
) -> None:
    execute(server, "GRANT USAGE ON SCHEMA clinic TO keeper", "GRANT SELECT ON clinic.visits TO keeper")
    execute(server, "GRANT ALL ON SCHEMA anon TO keeper")
    live = policy(output={"live_view": TARGET, **owner}, if_exists="replace")
    with written_to(server, monkeypatch):
        with sqlanon.anonymize(None, live) as release:
            assert release.ledger.published > RECORDS / 2
        found = sqlanon.refresh(None, live)
        assert sqlanon.refresh(None, live, force=True).refreshed
    assert found.records == found.published + found.suppressed
    assert min(counted(server, f"SELECT age, zip FROM {TARGET}").values()) >= 5


def test_a_certificate_is_verified_against_one_state(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "policy.json").write_text(json.dumps(document(output={"table": TARGET}, if_exists="replace")))
    done = command("run", str(tmp_path / "policy.json"), "--certificate", str(tmp_path / "proof.json"))
    assert done.returncode == 0, done.stderr
    proof, same = str(tmp_path / "proof.json"), policy(output={"table": TARGET}, if_exists="replace")
    with written_to(server, monkeypatch, later=True):
        found = sqlanon.verify(proof, same)
    assert found.holds, found.faults
    assert found.nodes > 0


def test_a_check_reads_one_state(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other write makes all records alike; what is counted and what is judged must not differ."""
    monkeypatch.setattr(
        f"{__name__}.WRITES", ("UPDATE clinic.visits SET zip = '', age = CASE {n} % 2 WHEN 0 THEN 1 ELSE id END",)
    )
    k = 2
    for _ in range(2):
        with written_to(server, monkeypatch), open_source("postgresql://", "clinic.visits") as opened:
            quasi = {"quasi_identifiers": ["age", "zip"]}
            checked = check_relation(opened.engine, opened.relation, models=[KAnonymity(k)], **quasi)
        assert checked.holds == (checked.smallest_class >= k)
        assert checked.holds == (checked.classes == 1)


def test_the_report_of_a_release_is_of_the_state_that_was_released(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is left out for its NULLs is compared with the rest; deleting it all once the release stands changes
    nothing."""
    made = policy(nulls="basic", output={"table": TARGET}, report=str(tmp_path / "report.txt"))
    with sqlanon.anonymize(None, made) as release:
        execute(server, "DELETE FROM clinic.visits")
        bias = sqlanon.summarize(release).bias
    assert bias is not None and bias.excluded == release.ledger.excluded > 0


def test_a_failed_publication_leaves_the_plan_as_it_was(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise AuditError("planted", hint="")

    with sqlanon.plan(None, policy()) as plan:
        with monkeypatch.context() as patch:
            patch.setattr("sqlanon.core.publish.draft.audit_release", failing)
            with pytest.raises(AuditError, match="planted"):
                plan.publish(sqlanon.Output.table(TARGET))
        with pytest.raises(EngineError, match="42P01"):
            plan.engine.run("nothing there", "SELECT 1 FROM anon.visits")
        with pytest.raises(EngineError, match="22012"):
            plan.engine.run("divide", "SELECT 1 / 0")
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.3):
            plan.engine.run("sleep", "SELECT pg_sleep(30)")
        execute(server, "DELETE FROM clinic.visits WHERE id < 900")
        release = plan.publish(sqlanon.Output.table(TARGET))
    assert release.ledger.records == RECORDS
    assert execute(server, f"SELECT count(*) FROM {TARGET}") == [(release.ledger.published,)]


def test_a_search_that_is_interrupted_in_the_engine_can_be_published(server: Server) -> None:
    """Also while a snapshot of the base is created, which writes."""
    with sqlanon.plan(None, policy(search={"where": "engine"})) as plan:
        for create in (
            lambda: plan.engine.create("snapshot", "sqlanon_slow", "SELECT CAST(pg_sleep(30) AS text) AS a"),
            lambda: plan.engine.run("judge", "WITH slow AS (SELECT pg_sleep(30)) SELECT * FROM slow"),
        ):
            with pytest.raises(KeyboardInterrupt), interrupted_after(0.3):
                create()
        plan.publish(sqlanon.Output.table(TARGET))
    assert execute(server, f"SELECT count(*) > 0 FROM {TARGET}") == [(True,)]


def test_a_run_waits_longer_than_idle_transactions_may(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-cidle_in_transaction_session_timeout=200")
    with sqlanon.plan(None, policy()) as plan:
        execute(server, "SELECT pg_sleep(0.6)")
        plan.publish(sqlanon.Output.table(TARGET))
    assert execute(server, f"SELECT count(*) > 0 FROM {TARGET}") == [(True,)]


def test_a_statement_that_fails_while_it_writes_says_so_and_is_not_masked(server: Server) -> None:
    with closing(PostgresEngine(server.uri())) as engine:
        engine.hold()
        engine.load("load", "t", pa.table({"a": [1]}))
        with pytest.raises(EngineError, match="22012"):
            try:
                engine.create("create", "u", "SELECT 1 / 0 AS a")
            finally:
                engine.drop("t")
        with pytest.raises(EngineError, match="took the temporary tables"):
            engine.catalog.columns(table("t"))


def test_a_connection_lost_at_the_commit_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the server has committed cannot be known then."""
    plain = postgres_engine.PostgresSession.commit

    def lost(self: Any) -> None:
        mine = self.call(lambda cursor: (cursor.execute("SELECT pg_backend_pid()"), cursor.fetchall())[1], reads=True)
        execute(server, f"SELECT pg_terminate_backend({mine[0][0]}, 5000)")
        plain(self)

    monkeypatch.setattr(postgres_engine.PostgresSession, "commit", lost)
    with pytest.raises(EngineError, match="may be in place, or not") as raised:
        sqlanon.anonymize(None, policy(output={"table": TARGET}))
    assert raised.value.exit_code == 2
