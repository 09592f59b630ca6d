"""A ledger of releases beside every engine that has keyed hashes, and every kind of plan that can be recorded first."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import ledger_worlds as worlds
import pytest
from effort import scaled
from postgres_server import Server, execute

import sqlanon

COLUMNS = "case_id text, sex text, place text, age integer, ill text, tag text"


def publish(folder: Path, **changes: Any) -> tuple[list[dict[str, Any]], int]:
    """Publish a release and return its rows, and with how many earlier ones it was judged."""
    with sqlanon.anonymize(None, worlds.document(folder, **changes)) as release:
        assert release.recorded is not None
        return release.to_arrow().to_pylist(), release.recorded.earlier


def check(ledger: Path, number: int, found: tuple[list[dict[str, Any]], int]) -> None:
    released, earlier = found
    assert earlier == number - 1
    worlds.check_members(ledger, number, released)
    worlds.check_values(ledger, number, released)


@pytest.mark.slow
def test_sqlite(tmp_path: Path) -> None:
    ledger, source = worlds.prepare(tmp_path), tmp_path / "source.sqlite"
    connection = sqlite3.connect(source)
    connection.execute(f"CREATE TABLE t({COLUMNS})")
    rows = [tuple(row.values()) for row in worlds.records(1).to_pylist()]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    outputs = [{"file": str(tmp_path / "out" / "released.csv")}, {"table": "released"}]
    for number, output in enumerate(outputs, 1):
        check(ledger, number, publish(tmp_path, source=str(source), output=output))


def test_postgres(tmp_path: Path, postgres: Server) -> None:
    ledger = worlds.prepare(tmp_path)

    def literal(value: Any) -> str:
        return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"

    rows = [f"({', '.join(map(literal, row.values()))})" for row in worlds.records(1).to_pylist()]
    execute(postgres, "DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS released", f"CREATE TABLE t({COLUMNS})")
    execute(postgres, f"INSERT INTO t VALUES {', '.join(rows)}")
    outputs = [{"file": str(tmp_path / "out" / "released.parquet")}, {"table": "released"}, {"table": "released"}]
    for number, output in enumerate(outputs, 1):
        check(ledger, number, publish(tmp_path, source=postgres.uri(), output=output))
    assert worlds.states(ledger) == ["published"] * 3
    on_server = {"schema": "ledgers", "record": "case_id"}
    with pytest.raises(sqlanon.UnsupportedError, match="for a source on a server too"):
        publish(tmp_path, source=postgres.uri(), ledger=on_server)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(scaled(5)))
def test_local_recoding_is_recorded_as_it_was_drawn(seed: int, tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path, worlds.records(seed, 200))
    columns = worlds.document(tmp_path)["columns"] | {"ill": {"role": "drop"}}
    released, _ = publish(tmp_path, transformation={"type": "local_recoding"}, columns=columns)
    worlds.check_members(ledger, 1, released)


@pytest.mark.slow
def test_persons_of_an_entity_are_known_by_it(tmp_path: Path) -> None:
    ledger = worlds.prepare(tmp_path)
    check(ledger, 1, publish(tmp_path, entity="case_id", ledger=str(ledger)))
