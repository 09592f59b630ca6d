"""Entities on PostgreSQL: the counts, optima and releases of DuckDB, searched there or in an embedded engine."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from postgres_server import Server, postgres  # noqa: F401 - a fixture

import sqlanon
from sqlanon.compiler import distinct_entities
from sqlanon.errors import AuditError
from sqlanon.publish.proof_file import write_proof

pytest.importorskip("sqlanon.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")


def visits() -> pa.Table:
    """600 persons with one to four records, who mostly stay in one place."""
    draw = random.Random(3)
    rows: list[tuple[Any, ...]] = []
    for person in range(600):
        home = draw.choice([None, "", *(f"8{i:02d}" for i in range(20))])
        for _ in range(draw.choice([1, 1, 2, 4])):
            region = home if draw.random() < 0.8 else f"8{draw.randrange(20):02d}"
            rows.append((person, draw.randrange(20, 60), region, draw.choice(["flu", "gout", "asthma", None])))
    names = ("person_id", "age", "zip", "illness")
    return pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)})


def document(**changes: Any) -> dict[str, Any]:
    return {
        "source": "postgresql://",
        "table": "visits",
        "entity": "person_id",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2, 2]}}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
            "illness": {"role": "sensitive", "models": [{"type": "t_closeness", "t": 0.4}]},
        },
        "privacy": [{"type": "k_anonymity", "k": 4}],
        "suppression_limit": 0.05,
        **changes,
    }


@pytest.fixture(scope="module")
def clinic(postgres: Server) -> Server:  # noqa: F811
    with closing(dbapi.connect(postgres.uri(), autocommit=True)) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("visits", visits(), mode="create")
    return postgres


@pytest.fixture(autouse=True)
def environment(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's usual places."""
    monkeypatch.setenv("PGHOST", str(clinic.folder))
    monkeypatch.setenv("PGDATABASE", clinic.database)
    monkeypatch.setenv("PGUSER", clinic.user)


def expected() -> tuple[Any, Any, Counter]:
    with duckdb.connect() as connection:
        connection.register("arrow_rows", visits())
        connection.execute("CREATE TABLE visits AS SELECT * FROM arrow_rows")
        with sqlanon.anonymize(connection, sqlanon.Policy.from_dict(document(source=None))) as release:
            return release.ledger, release.certificate.loss, rows_of(release)


def rows_of(release: sqlanon.Release) -> Counter:
    return Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))


@pytest.mark.parametrize("where", ["engine", "local"])
@pytest.mark.parametrize("output", ["view", ".parquet"])
def test_counts_and_releases_are_those_of_duckdb(tmp_path: Path, where: str, output: str) -> None:
    ledger, loss, rows = expected()
    assert ledger.entities is not None
    assert ledger.entities.suppressed
    target = {"view": f"released_{where}"} if output == "view" else {"file": str(tmp_path / f"out{output}")}
    policy = sqlanon.Policy.from_dict(document(search={"where": where}, output=target))
    with sqlanon.anonymize(None, policy) as release:
        assert release.ledger == ledger
        assert release.certificate.loss == pytest.approx(loss)
        assert rows_of(release) == rows
        proof = release.plan.proof_document
        assert proof is not None
    write_proof(proof, tmp_path / "proof.json")
    assert sqlanon.verify(tmp_path / "proof.json", policy).holds


def test_the_audit_of_the_staged_rows_runs_in_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that counts records (the mistake) publishes nothing."""
    from test_entities import classes_of_records

    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    keys = document(privacy=[{"type": "k_anonymity", "k": 50}], suppression_limit=1, output={"table": "mistaken"})
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    policy = sqlanon.Policy.from_dict(keys | {"columns": columns, "undeclared": "drop"})
    with pytest.raises(AuditError, match="small_classes"):
        sqlanon.anonymize(None, policy)
