"""Live views that count persons: of every class k, at every moment, and a refresh when too many lose a record."""

import random
from collections import defaultdict
from typing import Any

import duckdb
import pytest
from policies import diverse, document_of, quasi

import sqlanon
from sqlanon.errors import AuditError

AGES = {str(age): [str(age // 10 * 10), "*"] for age in range(20, 60)}


def policy(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(
        document_of(
            {"age": quasi({"levels": AGES}), "sex": "suppress", "ill": diverse(2)},
            changes,
            k=3,
            table="visits",
            entity="person",
            suppression_limit=0.2,
            output={"live_view": "shown"},
        )
    )


@pytest.fixture
def clinic() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits (person VARCHAR, age VARCHAR, sex VARCHAR, ill VARCHAR)")
    draw = random.Random(5)
    for _ in range(400):
        visit(connection, draw, draw.randrange(150))
    return connection


def visit(connection: duckdb.DuckDBPyConnection, draw: random.Random, person: int | None) -> None:
    """A record of a person; who comes often comes with another age now and then."""
    row = [None if person is None else f"p{person}", str(draw.randrange(20, 60)), draw.choice("mf"), draw.choice("abc")]
    connection.execute("INSERT INTO visits VALUES (?, ?, ?, ?)", row)


def expected(connection: duckdb.DuckDBPyConnection, levels: dict[str, int]) -> list[tuple[Any, ...]]:
    """The rows that must be there, in plain Python: of classes of at least 3 persons and 2 values."""
    classes: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for person, age, sex, ill in connection.execute("FROM visits").fetchall():
        if person is not None and (age in AGES or age is None):
            key = ([age, *AGES[age]][levels["age"]], sex if levels["sex"] == 0 else "*")
            classes[key].append((person, ill))
    good = {
        key: rows for key, rows in classes.items() if len({p for p, _ in rows}) >= 3 and len({i for _, i in rows}) >= 2
    }
    return sorted((*key, ill) for key, rows in good.items() for _, ill in rows)


@pytest.mark.slow
def test_a_stream_of_changes_never_shows_a_class_of_fewer_persons(clinic: duckdb.DuckDBPyConnection) -> None:
    with sqlanon.anonymize(clinic, policy()) as release:
        levels = release.levels
        assert release.ledger.entities is not None
        assert release.ledger.published == len(expected(clinic, levels)) > 200
    draw = random.Random(6)
    fewer = 0
    for step in range(60):
        kind = draw.randrange(4)
        if kind == 0:
            clinic.execute("DELETE FROM visits WHERE person = ?", [f"p{draw.randrange(150)}"])
        elif kind == 1:
            clinic.execute("DELETE FROM visits WHERE rowid = (SELECT rowid FROM visits ORDER BY random() LIMIT 1)")
        elif kind == 2:
            clinic.execute("UPDATE visits SET age = ? WHERE person = ?", [draw.choice(["20", "99"]), f"p{step}"])
        for _ in range(5):  # one person, many records: they swell no class
            visit(clinic, draw, None if draw.random() < 0.1 else 7)
        rows = expected(clinic, levels)
        assert sorted(clinic.execute("FROM shown").fetchall()) == rows, step
        by_records = clinic.execute(
            "SELECT count(*) FROM (SELECT 1 FROM visits GROUP BY age, sex HAVING count(*) >= 3)"
        )
        fewer += by_records.fetchall()[0][0] > 0
    assert fewer


@pytest.mark.slow
def test_refresh_counts_persons(clinic: duckdb.DuckDBPyConnection) -> None:
    asked = policy()
    with sqlanon.anonymize(clinic, asked) as release:
        before = release.ledger
    found = sqlanon.refresh(clinic, asked, dry_run=True)
    assert before.entities is not None and before.entities.suppressed <= found.allowed
    assert found.allowed == int(0.2 * (before.entities.published + before.entities.suppressed))
    assert not found.due
    for _ in range(300):  # many lost records of one person: within the limit of persons, whatever it is of records
        clinic.execute("INSERT INTO visits VALUES ('p7', '99', 'm', 'a')")
    found = sqlanon.refresh(clinic, asked, dry_run=True)
    assert found.suppressed >= 300 and not found.due
    for person in range(60):
        clinic.execute("INSERT INTO visits VALUES (?, '99', 'm', 'a')", [f"p{person}"])
    found = sqlanon.refresh(clinic, asked, dry_run=True)
    assert found.reason == "limit"


@pytest.mark.slow
def test_an_audit_by_persons_stands_before_the_view(
    clinic: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that counted records would be refused: the audit counts persons."""
    from sqlanon.live.compiler import live_models

    clinic.execute("DELETE FROM visits")
    for person in range(9):
        for sex in "mf":
            age = "20" if person < 2 else "30"
            clinic.execute("INSERT INTO visits SELECT ?, ?, ?, unnest(['a', 'b'])", [f"p{person}", age, sex])
    real = live_models.counters

    def of_records(view: Any) -> list[Any]:
        from dataclasses import replace

        return real(replace(view, entity=None))

    monkeypatch.setattr("sqlanon.live.compiler.live.counters", of_records)
    columns = {name: dict(spec) for name, spec in policy().to_dict()["columns"].items()}
    for name in ("age", "sex"):
        columns[name]["max_level"] = 0
    # the first look is at the number of rows, which is wrong here too
    monkeypatch.setattr("sqlanon.live.view._audit", lambda *_: None)
    with pytest.raises(AuditError, match=r"small_classes \(2 offending\)"):
        sqlanon.anonymize(clinic, policy(suppression_limit=1, columns=columns))
    assert clinic.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'shown'").fetchall() == [(0,)]
