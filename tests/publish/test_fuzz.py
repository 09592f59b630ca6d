"""Random policies, tables, types and outputs, many broken on purpose (benchmarks/fuzz.py), and faults that it found."""

from decimal import Decimal

import duckdb
import effort
import pytest
from fuzzing.running import run_case
from policies import document_of, quasi

import sqlanon


@effort.seeds(30, 15)
def test_no_random_case_ends_in_a_traceback_or_a_wrong_class(block: effort.Block) -> None:
    for seed in block:
        assert run_case(seed).faults == []


@pytest.mark.slow
@effort.seeds(300, 50, first=100_000)
def test_no_random_case_of_many_fails(block: effort.Block) -> None:
    for seed in block:
        assert run_case(seed).faults == []


def test_a_decimal_that_cannot_be_rounded_is_kept(connection: duckdb.DuckDBPyConnection) -> None:
    greatest = Decimal("9999999999999999999999999999.9999999999")
    connection.execute("CREATE TABLE t (d DECIMAL(38, 10), i BIGINT)")
    connection.execute(f"INSERT INTO t VALUES ({greatest}, {-(2**63)}), (-{greatest}, {2**63 - 1})")
    document = document_of({"d": "keep", "i": "keep"}, k=2, table="t", accept=["d", "i"])
    with sqlanon.anonymize(connection, document) as release:
        assert {*release.to_arrow()["d"].to_pylist()} == {greatest, greatest.copy_negate()}
        judged = {entry["column"]: entry for entry in release.plan.beside["columns"]}
    assert {*judged} == {"d", "i"}


def test_infinity_has_no_weekday(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT CAST(x AS TIMESTAMP) AS at FROM (VALUES ('infinity'), ('2024-01-07'),"
                       " ('2024-01-07 12:00:00')) AS v(x)")  # fmt: skip
    columns = {"at": quasi({"dates": ["weekday", "weekend"]}, uncovered="suppress", max_level=1)}
    document = document_of(columns, k=2, table="t", suppression_limit=0.5)
    with sqlanon.anonymize(connection, document) as release:
        assert release.to_arrow()["at"].to_pylist() == ["Sunday", "Sunday"]
        assert release.ledger.suppressed == 1
