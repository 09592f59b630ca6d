"""A session of PostgreSQL that is refused, cancelled or lost: what is said of it, and what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import sqlanon as sqlanon_command
from policies import document_of
from postgres_server import Server, execute

import sqlanon
from sqlanon.errors import EngineError, InputError

postgres_engine = pytest.importorskip(
    "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
)
PostgresEngine = postgres_engine.PostgresEngine

SECRET = "canary-7f3a"
SLEEPING = (
    "SELECT pid FROM pg_stat_activity "
    "WHERE query LIKE '%pg_sleep(77)%' AND state = 'active' AND pid <> pg_backend_pid()"
)
CLIENT = """
import sys
from sqlanon.core.engines.postgres.engine import PostgresEngine
engine = PostgresEngine(sys.argv[1])
print("ready", flush=True)
engine.run("sleep", "SELECT pg_sleep(77)")
"""


@pytest.fixture
def engine(postgres: Server) -> Iterator[Any]:
    opened = PostgresEngine(postgres.uri())
    yield opened
    opened.close()


def eventually(found: Callable[[], Any], wanted: bool, seconds: float = 30) -> bool:
    """Whether something is found, or is no longer, within some time."""
    end = time.monotonic() + seconds
    while bool(found()) != wanted:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def meanwhile(work: Callable[[], Any], when: Callable[[], Any]) -> Iterator[None]:
    """Do something in another thread, as soon as something is found."""

    def run() -> None:
        if eventually(when, True):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def refusal(uri: str) -> str:
    """Why a session was not opened; opened again by the command's way, it is said alike."""
    with pytest.raises(InputError) as raised:
        PostgresEngine(uri)
    assert raised.value.exit_code == 2
    assert SECRET not in str(raised.value)
    policy = {"columns": {"x": {"role": "keep"}}, "privacy": [{"type": "k_anonymity", "k": 2}], "table": "t"}
    with pytest.raises(InputError) as again:
        sqlanon.plan(uri, policy)
    assert str(again.value) == str(raised.value)
    return str(raised.value)


def test_why_a_session_was_refused_is_told_apart(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(postgres, "CREATE ROLE locked LOGIN PASSWORD 'right'", "CREATE ROLE sleeper", "CREATE ROLE nowhere LOGIN")
    execute(postgres, "CREATE DATABASE closed", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
    rules = postgres.folder / "data" / "pg_hba.conf"
    rules.write_text("local all locked scram-sha-256\nlocal all nowhere reject\n" + rules.read_text())
    execute(postgres, "SELECT pg_reload_conf()")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    assert eventually(lambda: "28000" in refusal(postgres.uri(user="nowhere")), True)
    found = {
        "database": refusal(postgres.uri(database=f"no {SECRET} refused")),
        "role": refusal(postgres.uri(user=f"{SECRET} timeout")),
        "no login": refusal(postgres.uri(user="sleeper")),
        "no password": refusal(postgres.uri(user="locked")),
        "rules": refusal(postgres.uri(user="nowhere")),
        "down": refusal(f"postgresql:///x?host=/tmp/{SECRET}-refused"),
        "port": refusal("postgresql://127.0.0.1:1/x"),
        "option": refusal(f"postgresql:///x?{SECRET}=1"),
        "service": refusal(f"postgresql:///?service={SECRET}"),
    }
    monkeypatch.setenv("PGPASSWORD", SECRET)
    found["password"] = refusal(postgres.uri(user="locked"))
    monkeypatch.delenv("PGPASSWORD")
    expected = {
        "database": ("3D000", "PGDATABASE"),
        "role": ("28000", "no role of that name"),
        "no login": ("28000", "may not log in"),
        "no password": ("28P01", "none was found"),
        "password": ("28P01", "refused the password"),
        "rules": ("28000", "from here"),
        "down": ("08001", "no server answers"),
        "port": ("08001", "no server answers"),
        "option": ("08001", "cannot be read"),
        "service": ("08001", "PGSERVICEFILE"),
    }
    for case, words in expected.items():
        assert all(word in found[case] for word in words), found[case]
    reasons = [found[case] for case in expected if case != "port"]
    assert len(set(reasons)) == len(reasons)
    execute(postgres, "CREATE ROLE outsider LOGIN")
    assert "GRANT CONNECT" in refusal(postgres.uri(user="outsider", database="closed"))


def test_a_server_that_stops_is_no_withheld_error(engine: Any, postgres: Server) -> None:
    mine = engine.run("pid", "SELECT pg_backend_pid()")[0][0]
    with (
        pytest.raises(EngineError, match="an administrator of the server ended the session") as raised,
        meanwhile(
            lambda: execute(postgres, f"SELECT pg_terminate_backend({mine})"), lambda: execute(postgres, SLEEPING)
        ),
    ):
        engine.run("sleep", "SELECT pg_sleep(77)")
    assert (raised.value.kind, raised.value.exit_code) == ("57P01", 2)
    with pytest.raises(EngineError, match="the connection to the server is lost") as raised:
        engine.run("after", "SELECT 1")
    assert raised.value.kind == "08006"


def test_a_session_that_was_ended_between_two_statements_is_lost(engine: Any, postgres: Server) -> None:
    mine = engine.run("pid", "SELECT pg_backend_pid()")[0][0]
    execute(postgres, f"SELECT pg_terminate_backend({mine}, 5000)")
    with pytest.raises(EngineError, match="the connection to the server is lost"):
        engine.run("after", "SELECT 1")


def test_the_memory_of_a_statement_is_the_roles_own_or_more_than_the_servers(postgres: Server) -> None:
    execute(postgres, "CREATE ROLE narrow LOGIN", "ALTER ROLE narrow SET work_mem = '1MB'")
    for user, expected in ((None, "64MB"), ("narrow", "1MB")):
        with closing(PostgresEngine(postgres.uri() if user is None else postgres.uri(user=user))) as engine:
            assert engine.run("memory", "SELECT pg_catalog.current_setting('work_mem')") == [(expected,)]
    execute(postgres, "DROP ROLE narrow")


def test_a_cancel_by_an_administrator_is_no_interrupt(engine: Any, postgres: Server) -> None:
    """It is an error of the engine (exit code 2), and not a policy that cannot be met."""
    mine = engine.run("pid", "SELECT pg_backend_pid()")[0][0]
    with (
        pytest.raises(EngineError, match="an administrator of the server cancelled") as raised,
        meanwhile(lambda: execute(postgres, f"SELECT pg_cancel_backend({mine})"), lambda: execute(postgres, SLEEPING)),
    ):
        engine.run("sleep", "SELECT pg_sleep(77)")
    assert (raised.value.kind, raised.value.exit_code) == ("57014", 2)
    assert engine.run("still there", "SELECT 1") == [(1,)]


def test_whatever_a_handler_of_signals_raises_ends_the_statement(engine: Any, postgres: Server) -> None:
    """Python would hear of the signal when the statement has ended."""

    class Stopped(BaseException):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with (
            pytest.raises(Stopped),
            meanwhile(lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: execute(postgres, SLEEPING)),
        ):
            engine.run("sleep", "SELECT pg_sleep(77)")
        assert not execute(postgres, SLEEPING)
        assert engine.run("still there", "SELECT 1") == [(1,)]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_is_killed_leaves_no_statement_running(postgres: Server, number: int) -> None:
    client = subprocess.Popen([sys.executable, "-c", CLIENT, postgres.uri()], stdout=subprocess.PIPE)
    try:
        assert eventually(lambda: execute(postgres, SLEEPING), True)
        client.send_signal(number)
        client.wait(30)
        assert eventually(lambda: execute(postgres, SLEEPING), False)
    finally:
        client.kill()
        client.communicate()


def test_a_session_has_a_name_that_the_user_may_choose(
    engine: Any, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    assert engine.run("name", query) == [("sqlanon",)]
    monkeypatch.setenv("PGAPPNAME", "nightly")
    with closing(PostgresEngine(postgres.uri())) as other:
        assert other.run("name", query) == [("nightly",)]


@pytest.fixture
def small_disk(postgres: Server) -> Iterator[Path]:
    """A disk of two megabytes that the server may write to."""
    place = Path(tempfile.mkdtemp(prefix="disk", dir=postgres.folder))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this machine, or this user, mounts no disks")
    owner = (postgres.folder / "data").stat()
    os.chown(place, owner.st_uid, owner.st_gid)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _refusal_of_large_records(folder: Path, postgres: Server, *settings: str) -> str:
    """What a run says of records that take more room than the temporary files of its role have."""
    large = "SELECT md5(i::text) AS a, md5((i + 1)::text) AS b FROM generate_series(1, 100000) AS t(i)"
    execute(postgres, "DROP TABLE IF EXISTS large", "DROP ROLE IF EXISTS narrow", "CREATE ROLE narrow LOGIN",
            f"CREATE TABLE large AS {large}", "GRANT SELECT ON large TO narrow",
            *(f"ALTER ROLE narrow SET {setting}" for setting in ("work_mem = '64kB'", *settings)))  # fmt: skip
    spec = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    document = document_of({"a": spec, "b": spec}, k=5, source=postgres.uri(user="narrow"), table="large")
    (folder / "p.json").write_text(json.dumps(document))
    done = sqlanon_command("run", folder / "p.json")
    execute(postgres, "DROP TABLE large", "DROP ROLE narrow")
    assert done.returncode == 2
    return done.stderr


def test_a_full_temporary_tablespace_is_not_taken_for_a_lack_of_memory(
    postgres: Server, tmp_path: Path, small_disk: Path
) -> None:
    execute(postgres, f"CREATE TABLESPACE small LOCATION '{small_disk}'", "GRANT CREATE ON TABLESPACE small TO PUBLIC")
    said = _refusal_of_large_records(tmp_path, postgres, "temp_tablespaces = 'small'")
    execute(postgres, "DROP TABLESPACE small")
    assert "a disk of the server is full" in said and "temp_tablespaces" in said and "memory" not in said


def test_the_limit_on_temporary_files_is_named(postgres: Server, tmp_path: Path) -> None:
    said = _refusal_of_large_records(tmp_path, postgres, "temp_file_limit = '1MB'")
    assert "temp_file_limit" in said.partition("Hint:")[0] and "ALTER ROLE" in said and "memory" not in said
