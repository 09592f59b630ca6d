"""Every audit returns the row that was broken, and nothing of a sound release."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import sqlanon
from sqlanon.core.audit.check import check_relation
from sqlanon.core.audit.models import audit_of
from sqlanon.core.audit.release import ReleaseClaim, audit_release
from sqlanon.core.audit.represented import RepresentedClaim
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.sqlite.engine import SQLiteEngine
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.models.t_closeness import TCloseness
from sqlanon.errors import AuditError, InputError, SourceError

MARKER = "[suppressed]"
RELATION = exp.to_table("written", quoted=True)
SOUND: dict[str, Any] = {
    "types": dict.fromkeys(["age", "zip", "illness"], "VARCHAR"),
    "quasi_identifiers": ["age", "zip"],
    "models": [audit_of(KAnonymity(2), {})],
    "published": 4,
}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(
            "CREATE TABLE written AS SELECT * FROM (VALUES ('20-29', '1*', 'flu'), ('20-29', '1*', 'cold'), "
            "('30-39', NULL, 'flu'), ('30-39', NULL, NULL)) AS t(age, zip, illness)"
        )
        opened.execute("CREATE TABLE ages AS SELECT * FROM (VALUES ('20-29'), ('30-39')) AS t(value)")
        opened.execute("CREATE TABLE zips AS SELECT * FROM (VALUES ('1*'), (NULL)) AS t(value)")
        yield opened


@pytest.fixture
def engine(connection: duckdb.DuckDBPyConnection) -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine(connection=connection)
    yield opened
    opened.close()


def audit(engine: Engine, **changes: Any) -> None:
    audit_release(engine, RELATION, ReleaseClaim(**{**SOUND, **changes}))


def test_a_sound_release_passes(engine: DuckDBEngine) -> None:
    audit(engine, lookups={"age": exp.to_table("ages"), "zip": exp.to_table("zips")})


BROKEN: list[tuple[str, Any, str]] = [
    ("UPDATE written SET age = '20-28' WHERE illness = 'cold'", {}, r"small_classes \(2 offending\)"),
    ("UPDATE written SET zip = '' WHERE illness IS NULL", {}, r"small_classes \(2 offending\)"),
    ("DELETE FROM written WHERE illness = 'cold'", {}, r"row_count \(1 offending\), small_classes \(1"),
    ("SELECT 1", {"published": 5}, r"row_count \(1 offending\)"),
    ("SELECT 1", {"nulls": "basic"}, r"null_records \(2 offending\)"),
    ("SELECT 1", {"models": [audit_of(KAnonymity(3), {})]}, r"small_classes \(2 offending\)"),
    (
        "UPDATE written SET age = '27' WHERE age = '20-29'",
        {"lookups": {"age": exp.to_table("ages")}},
        r"untranslated_values of age \(1 offending\)",
    ),
    (
        "DELETE FROM zips WHERE value IS NULL",
        {"lookups": {"zip": exp.to_table("zips")}},
        r"untranslated_values of zip \(1 offending\)",
    ),
]


@pytest.mark.parametrize(
    ("mutation", "changes", "failed"),
    [
        *BROKEN,
        ("ALTER TABLE written ADD COLUMN name TEXT", {}, "unexpected_columns.*'name'"),
        ("ALTER TABLE written RENAME illness TO diagnosis", {}, "unexpected_columns"),
        ("ALTER TABLE written ALTER illness TYPE ENUM('flu', 'cold')", {}, r"enum_types \(1 offending\)"),
    ],
)
def test_a_broken_row_is_returned(
    connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, mutation: str, changes: Any, failed: str
) -> None:
    connection.execute(mutation)
    with pytest.raises(AuditError, match=failed) as caught:
        audit(engine, **changes)
    assert "flu" not in str(caught.value) and "20-2" not in str(caught.value)


@pytest.mark.parametrize(("mutation", "changes", "failed"), BROKEN)
def test_a_broken_row_is_returned_where_classes_are_read_once(mutation: str, changes: Any, failed: str) -> None:
    with closing(SQLiteEngine()) as engine:
        rows = "('20-29', '1*', 'flu'), ('20-29', '1*', 'cold'), ('30-39', NULL, 'flu'), ('30-39', NULL, NULL)"
        engine.run("write", "CREATE TABLE written (age TEXT, zip TEXT, illness TEXT)")
        engine.run("write", f"INSERT INTO written VALUES {rows}")
        engine.run("write", "CREATE TABLE ages AS SELECT '20-29' AS value UNION ALL SELECT '30-39'")
        engine.run("write", "CREATE TABLE zips AS SELECT '1*' AS value UNION ALL SELECT NULL")
        audit(engine, lookups={"age": exp.to_table("ages"), "zip": exp.to_table("zips")})
        engine.run("break", mutation)
        with pytest.raises(AuditError, match=failed):
            audit(engine, **changes)
        assert engine.journal.counts()["audit classes"] == 2
        assert engine.run("tables", "SELECT name FROM sqlite_temp_schema") == []


REDACTED = {"published": 4, "redacted": 1, "marker": MARKER}


def test_redacted_rows_form_no_class(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute(f"INSERT INTO written VALUES ('{MARKER}', '{MARKER}', '{MARKER}')")
    audit(engine, **REDACTED, lookups={"age": exp.to_table("ages")})


@pytest.mark.parametrize("left", ["NULL", "''", "'flu'"])
def test_a_rest_of_a_redacted_record_is_returned(
    connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, left: str
) -> None:
    connection.execute(f"INSERT INTO written VALUES ('{MARKER}', '{MARKER}', {left})")
    with pytest.raises(AuditError, match=r"redacted_rows \(1 offending\), redacted_count \(1"):
        audit(engine, **REDACTED)


def test_a_missing_redacted_row_is_returned(engine: DuckDBEngine) -> None:
    with pytest.raises(AuditError, match=r"row_count.*redacted_count"):
        audit(engine, **REDACTED)


def test_without_quasi_identifiers_all_records_are_one_class(engine: DuckDBEngine) -> None:
    audit(engine, quasi_identifiers=[], models=[audit_of(KAnonymity(4), {})])
    audit(engine, quasi_identifiers=[], models=[audit_of(KAnonymity(4), {})], nulls="basic")
    with pytest.raises(AuditError, match="small_classes"):
        audit(engine, quasi_identifiers=[], models=[audit_of(KAnonymity(5), {})])


def test_typed_columns_are_compared_as_values(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute("CREATE OR REPLACE TABLE written AS SELECT 5 AS n FROM range(2)")
    connection.execute("CREATE TABLE texts AS SELECT '05' AS value")
    one = {
        "types": {"n": "VARCHAR"},
        "quasi_identifiers": ["n"],
        "published": 2,
        "lookups": {"n": exp.to_table("texts")},
    }
    audit(engine, **one)
    connection.execute("UPDATE written SET n = 6")
    with pytest.raises(AuditError, match="untranslated_values"):
        audit(engine, **one)


@pytest.mark.parametrize(
    "name", ["order", 'a"b', "quasi_identifier", "released_column", "release", "records", "x; DROP TABLE y"]
)
def test_hostile_column_names(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"ALTER TABLE written RENAME age TO {quoted}")
    hostile: dict[str, Any] = {
        "types": dict.fromkeys([name, "zip", "illness"], "VARCHAR"),
        "quasi_identifiers": [name, "zip"],
    }
    audit(engine, **hostile, lookups={name: exp.to_table("ages")})
    connection.execute(f"INSERT INTO written VALUES ('{MARKER}', '{MARKER}', '{MARKER}')")
    audit(engine, **hostile, **REDACTED)
    with pytest.raises(AuditError, match="small_classes"):
        audit(engine, **hostile, **{**REDACTED, "models": [audit_of(KAnonymity(3), {})]})
    assert check_relation(engine, RELATION, quasi_identifiers=[name], models=[KAnonymity(2)]).smallest_class == 1


def test_check_counts_failing_classes(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    result = check_relation(engine, RELATION, quasi_identifiers=["age", "illness"], models=[KAnonymity(2)])
    assert (result.holds, result.records, result.classes) == (False, 4, 4)
    [size] = result.models
    assert (size.failing_classes, size.failing_records, result.smallest_class) == (4, 4, 1)
    assert check_relation(engine, RELATION, quasi_identifiers=["ZIP"], models=[KAnonymity(2)]).holds
    assert check_relation(engine, RELATION, quasi_identifiers=[], models=[KAnonymity(4)]).classes == 1


def test_check_asks_once_which_columns_a_relation_has(engine: DuckDBEngine) -> None:
    """Files of many parts, and servers, answer that slowly."""
    closeness = [TCloseness(t=0.5, distance="equal", column=name) for name in ("zip", "illness")]
    before = engine.journal.statements
    found = check_relation(
        engine, RELATION, quasi_identifiers=["age"], models=[KAnonymity(2), *closeness], reference=RELATION
    )
    assert [item.failing_classes for item in found.models] == [0, 0, 0]
    statements = engine.journal.statements - before
    assert statements == 2 + 1 + 1 + 3  # columns of both, a record of the reference, classes, models


def test_check_refuses_what_it_cannot_check(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    with pytest.raises(SourceError, match="'nope'"):
        check_relation(engine, RELATION, quasi_identifiers=["nope"], models=[KAnonymity(2)])
    connection.execute("DELETE FROM written")
    for columns in ([], ["age"]):
        with pytest.raises(InputError, match="no records"):
            check_relation(engine, RELATION, quasi_identifiers=columns, models=[KAnonymity(2)])


def test_the_macros_run_without_python(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(Path(__file__).parents[2].joinpath("sql/macros/duckdb.sql").read_text())
    small = "FROM sqlanon_small_classes('written', ['age', 'zip'], $k)"
    assert connection.execute(small, {"k": 2}).fetchall() == []
    assert connection.execute(small, {"k": 3}).fetchall() == [(2,), (2,)]
    assert connection.execute("FROM sqlanon_class_sizes('written', ['age', 'zip'])").fetchall() == [(2, 2)]
    with pytest.raises(duckdb.BinderException):
        connection.execute("FROM sqlanon_small_classes('written', ['nope'], 2)")


def test_audits_share_no_code_with_the_compiler() -> None:
    audits = sorted(Path(__file__).parents[2].joinpath("sqlanon/core/audit").glob("*.py"))
    assert audits
    for file in audits:
        assert "sqlanon.core.compiler" not in file.read_text()


def test_texts_are_taken_apart_whatever_the_collation(tmp_path: Path) -> None:
    """A reader of a column that ignores case sees a lone bob, so that a release suppresses him; it holds one zero."""
    path = str(tmp_path / "people.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE, w DOUBLE)")
        connection.execute("INSERT INTO t SELECT 'Bob', 0.0 FROM range(5)")
        connection.execute("INSERT INTO t SELECT 'bob', CAST('-0.0' AS DOUBLE)")
        engine = DuckDBEngine(connection=connection)
        for name in ("x", "w"):
            checked = check_relation(engine, exp.to_table("t"), quasi_identifiers=[name], models=[KAnonymity(k=5)])
            assert (checked.holds, checked.classes, checked.smallest_class) == (False, 2, 1)
    as_is = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}
    target = str(tmp_path / "out.parquet")
    document = {"table": "t", "columns": {"x": as_is, "w": as_is}, "privacy": [{"type": "k_anonymity", "k": 5}]}
    document |= {"suppression_limit": 0.5, "output": {"file": target}}
    sqlanon.anonymize(path, document).close()
    assert duckdb.sql(
        f"SELECT DISTINCT CAST(x AS VARCHAR), CAST(w AS VARCHAR), COUNT(*) FROM '{target}' GROUP BY ALL"
    ).fetchall() == [("Bob", "0.0", 5)]


BESIDE: dict[str, Any] = {
    "types": {"age": "VARCHAR", "age_low": "INTEGER", "age_high": "INTEGER", "zip": "VARCHAR", "illness": "VARCHAR"},
    "represented": (
        RepresentedClaim(
            name="age", type="INTEGER", instead=False, companions=("age_low", "age_high"), of_class=(),
            ascending=("age_low", "age_high"),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("mutation", "failed"),
    [
        ("SELECT 1", None),
        ("UPDATE beside SET age_low = 19 WHERE illness = 'cold'", r"companions of age \(1 offending\)"),
        ("UPDATE beside SET age_low = 19 WHERE illness = 'cold'", r"small_classes \(2 offending\)"),
        ("UPDATE beside SET age_high = NULL WHERE illness = 'cold'", r"companions of age \(1 offending\)"),
        ("UPDATE beside SET age_low = 40 WHERE age = '30-39'", r"unordered_bounds of age \(2 offending\)"),
    ],
)
def test_numbers_beside_a_text_are_determined_by_it_and_in_order(
    connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, mutation: str, failed: str | None
) -> None:
    connection.execute(
        "CREATE TABLE beside AS SELECT age, CAST(left(age, 2) AS INTEGER) AS age_low, "
        "CAST(right(age, 2) AS INTEGER) AS age_high, zip, illness FROM written"
    )
    connection.execute(mutation)
    claim = ReleaseClaim(**{**SOUND, **BESIDE})
    if failed is None:
        audit_release(engine, exp.to_table("beside"), claim)
        return
    with pytest.raises(AuditError, match=failed):
        audit_release(engine, exp.to_table("beside"), claim)


def test_a_mean_is_determined_by_its_class(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute(
        "CREATE TABLE means AS SELECT age, CASE zip WHEN '1*' THEN 20 ELSE 30 END AS age_mean, zip, illness "
        "FROM (SELECT * REPLACE ('20-39' AS age) FROM written)"
    )
    claimed = RepresentedClaim(
        name="age", type="INTEGER", instead=False, companions=(), of_class=("age_mean",), ascending=()
    )
    types = {"age": "VARCHAR", "age_mean": "INTEGER", "zip": "VARCHAR", "illness": "VARCHAR"}
    claim = ReleaseClaim(**{**SOUND, "types": types, "represented": (claimed,)})
    audit_release(engine, exp.to_table("means"), claim)
    connection.execute("UPDATE means SET age_mean = 31 WHERE illness IS NULL")
    with pytest.raises(AuditError, match=r"companions of age \(1 offending\)"):
        audit_release(engine, exp.to_table("means"), claim)
