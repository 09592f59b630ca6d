"""Pseudonyms on PostgreSQL: who is one person there has one, and no statement that the server sees holds the key."""

import hashlib
import hmac
from pathlib import Path
from typing import Any

import pytest
from policies import document_of
from postgres_server import Server, execute

import sqlanon

pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
IGNORES_CASE = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
SECRET = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def visits(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Three persons with two visits each; the column of persons ignores case."""
    for name, value in (("PGHOST", postgres.folder), ("PGDATABASE", postgres.database), ("PGUSER", postgres.user)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("STUDY_KEY", SECRET)
    rows = [(name, day) for day, name in enumerate(["Ann", "ann", "Bea", "BEA", "Zoë", "Zoë"], start=1)]
    listed = ", ".join(f"('{name}', 'f', DATE '2024-01-{day:02}')" for name, day in rows)
    execute(
        postgres,
        f"CREATE COLLATION IF NOT EXISTS public.same ({IGNORES_CASE})",
        "DROP TABLE IF EXISTS keyed_visits",
        "CREATE TABLE keyed_visits (person text COLLATE public.same, sex text, admitted date)",
        f"INSERT INTO keyed_visits VALUES {listed}",
    )
    return postgres


def document(**changes: Any) -> dict[str, Any]:
    return document_of(
        {"person": "pseudonym", "sex": "suppress", "admitted": {"role": "shift", "days": 30}},
        changes,
        source="postgresql://",
        table="keyed_visits",
        entity="person",
        key={"env": "STUDY_KEY", "context": "study"},
        privacy=[{"type": "profile_k", "k": 3}],
    )


def keys_of(context: str) -> list[bytes]:
    release = hmac.digest(SECRET.encode(), context.encode(), hashlib.sha256)
    return [release, *(hmac.digest(release, purpose, hashlib.sha256) for purpose in (b"pseudonym", b"shift"))]


def test_who_is_one_person_has_one_pseudonym(visits: Server, tmp_path: Path) -> None:
    with sqlanon.anonymize(None, document(output={"file": str(tmp_path / "out.parquet")})) as release:
        rows = release.to_arrow().to_pylist()
    found = [row["person"] for row in rows]
    assert sorted(found.count(name) for name in set(found)) == [2, 2, 2]
    own = keys_of("study")[1]
    assert {hmac.digest(own, name.encode(), hashlib.sha256).hex()[:32] for name in ("Ann", "BEA", "Zoë")} == set(found)
    for name in set(found):  # visits of a person are a day apart
        first, second = sorted(row["admitted"] for row in rows if row["person"] == name)
        assert (second - first).days == 1


def test_the_server_logs_no_key(visits: Server) -> None:
    log = visits.folder / "server.log"
    before = len(log.read_bytes())
    execute(visits, f"ALTER ROLE \"{visits.user}\" SET log_statement = 'all'")
    try:
        with sqlanon.anonymize(None, document(output={"table": "keyed_release"})):
            pass
    finally:
        execute(visits, f'ALTER ROLE "{visits.user}" RESET log_statement', "DROP TABLE IF EXISTS keyed_release")
    logged = log.read_bytes()[before:].lower()
    assert b"sqlanon_release_key" in logged
    assert b"sha256" in logged
    blocks = [bytes(byte ^ pad for byte in key) for key in keys_of("study") for pad in (0x36, 0x5C)]
    secrets = [SECRET.encode(), *keys_of("study"), *blocks]
    assert not [secret for secret in secrets for spelled in (secret, secret.hex().encode()) if spelled in logged]
    left = execute(visits, "SELECT relname FROM pg_class WHERE relname LIKE 'sqlanon%'")
    assert left == []
