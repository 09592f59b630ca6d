"""A real PostgreSQL server of the tests' own: in a temporary folder, on a local socket only, stopped at the end."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

OLDEST = 15
SERVICE_USERS = ("postgres", "nobody")
"""Who runs the server when the tests run as root, whom PostgreSQL refuses."""

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "30",
    "autovacuum": "off",
}
"""No TCP; nothing needs to survive."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: the folder of its socket, its superuser (who needs no password), and a database."""

    folder: Path
    user: str
    database: str = "postgres"

    def uri(self, *, user: str | None = None, database: str | None = None) -> str:
        """Where a driver connects to, as ``user`` or else the superuser."""
        host, name = quote(str(self.folder), safe=""), quote(user or self.user, safe="")
        return f"postgresql:///{quote(database or self.database, safe='')}?host={host}&user={name}"


def execute(server: Server, *statements: str, user: str | None = None) -> list[tuple[Any, ...]]:
    """Run statements in a session of their own; the rows of the last, if it is a SELECT."""
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(server.uri(user=user), autocommit=True)) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if statements[-1].startswith(("SELECT", "WITH")) else []


def binaries() -> Path | None:
    """The folder of ``initdb`` and ``postgres``, the newest there is; None where there are none or all are too old."""
    on_path = shutil.which("initdb")
    debian = sorted(
        (found for found in Path("/usr/lib/postgresql").glob("*/bin") if found.parent.name.isdigit()),
        key=lambda found: int(found.parent.name),
        reverse=True,
    )
    for folder in [*([Path(on_path).resolve().parent] if on_path else []), *debian]:
        if all((folder / program).exists() for program in ("initdb", "pg_ctl", "postgres")):
            reported = subprocess.run(
                [folder / "postgres", "--version"], capture_output=True, text=True, check=True
            ).stdout
            if int("".join(takewhile(str.isdigit, reported.split()[2]))) >= OLDEST:
                return folder
    return None


def _account() -> pwd.struct_passwd | None:
    """The unprivileged account that the server needs when we are root."""
    if os.geteuid() != 0:
        return None
    for name in SERVICE_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no unprivileged account")


def _identity(account: pwd.struct_passwd | None) -> dict[str, Any]:
    """How a program is started as ``account``, apart from PG* variables of ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
    who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return {"env": environment, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **who}


def _wait(process: subprocess.Popen[bytes], folder: Path, seconds: float = 60) -> None:
    """Until the server accepts connections; the last line of its file of facts tells so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, (folder / "server.log").read_text()
        facts = folder / "data" / "postmaster.pid"
        lines = facts.read_text().splitlines() if facts.exists() else []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return
        time.sleep(0.02)
    raise TimeoutError("PostgreSQL did not start: " + (folder / "server.log").read_text())


@cache
def _cluster(programs: Path) -> Path:
    """Return a folder with the files of a new server, made once in a process: copying them costs a tenth of making."""
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="pgnew"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    made = [programs / "initdb", "-D", folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C"]
    command = [*map(str, made), "--no-sync"]
    reported = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=folder, **_identity(account))
    assert reported.returncode == 0, reported.stdout
    return folder / "data"


ROLES = ("anonymizer", "keeper", "analyst")
"""Who works in ``clinic_schemas``."""


@contextmanager
def server() -> Iterator[Server]:
    """Start a server, and stop it and remove its folder at the end; skip where PostgreSQL is not installed."""
    programs = binaries()
    if programs is None:
        pytest.skip(f"no PostgreSQL {OLDEST} or newer is installed")
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp" if Path("/tmp").is_dir() else None))  # sockets: 107 bytes
    try:
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        identity = {"cwd": folder, **_identity(account)}
        subprocess.run(["cp", "-R", str(_cluster(programs)), str(folder / "data")], check=True, **identity)
        (folder / "data").chmod(0o700)
        options = [part for name, value in (SETTINGS | {"unix_socket_directories": str(folder)}).items()
                   for part in ("-c", f"{name}={value}")]  # fmt: skip
        with (folder / "server.log").open("w") as log:
            process = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(folder / "data"), *options], stdout=log, **identity
            )
        try:
            _wait(process, folder)
            yield Server(folder, "owner")
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nothing in it is kept
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def clinic_schemas(server: Server, monkeypatch: pytest.MonkeyPatch, *statements: str) -> Iterator[Server]:
    """A schema for tables and one for releases, and the roles that work there, for as long as the context lasts.

    The driver's usual places say that the anonymizer connects. ``statements`` make and grant what a test needs.
    """
    for name, value in (("HOST", str(server.folder)), ("USER", "anonymizer"), ("DATABASE", server.database)):
        monkeypatch.setenv(f"PG{name}", value)
    execute(
        server,
        *(f"CREATE ROLE {role} LOGIN" for role in ROLES),
        *(f"CREATE SCHEMA {schema}" for schema in ("clinic", "anon")),
        "GRANT USAGE ON SCHEMA clinic TO anonymizer",
        "GRANT keeper TO anonymizer",
        "GRANT CREATE, USAGE ON SCHEMA anon TO anonymizer, keeper WITH GRANT OPTION",
        *statements,
    )
    yield server
    execute(
        server,
        *(f"DROP SCHEMA {schema} CASCADE" for schema in ("anon", "clinic")),
        *(f"DROP {what} {', '.join(ROLES)}" for what in ("OWNED BY", "ROLE")),
    )
