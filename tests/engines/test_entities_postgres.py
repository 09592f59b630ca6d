"""Entities on PostgreSQL: the counts, optima and releases of DuckDB, searched there or in an embedded engine."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from clinic_visits import document, visits
from mistakes import classes_of_records
from postgres_server import Server

import sqlanon
from sqlanon.core.compiler import distinct_entities
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.errors import AuditError

pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")


@pytest.fixture(scope="module")
def clinic(postgres: Server) -> Server:
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
    monkeypatch.setattr(distinct_entities, "classes", classes_of_records)
    keys = document(privacy=[{"type": "k_anonymity", "k": 50}], suppression_limit=1, output={"table": "mistaken"})
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    policy = sqlanon.Policy.from_dict(keys | {"columns": columns, "undeclared": "drop"})
    with pytest.raises(AuditError, match="small_classes"):
        sqlanon.anonymize(None, policy)
