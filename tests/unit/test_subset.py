"""The subset of δ-presence: found by a column, a table or a file, copy by copy, and refused where it is unclear."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from policies import document_of

import sqlanon

ROWS = (
    "('x', 'p', 1), ('x', 'p', 1), ('x', 'p', 1), ('x', 'p', 2), "
    "('y', 'p', 1), ('y', 'q', 1), ('y', NULL, 1), ('y', NULL, 1)"
)


@pytest.fixture
def source(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {ROWS}) AS v(q, s, n)")
    return connection


def policy(subset: Any, **model: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(
        document_of(
            {"q": "suppress", "s": "keep", "n": "keep"},
            table="t",
            undeclared="drop",
            privacy=[{"type": "delta_presence", "min": 0, "max": 0.5, "subset": subset, **model}],
            suppression_limit=1,
        )
    )


def released(source: duckdb.DuckDBPyConnection, made: sqlanon.Policy) -> Counter:
    with sqlanon.anonymize(source, made) as release:
        assert release.ledger.records == release.ledger.published + release.ledger.suppressed
        return Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))


SUBSET = "('x', 'p', 1), ('x', 'p', 1), ('y', NULL, 1)"
PUBLISHED = Counter({("x", "p", 1): 2, ("y", None, 1): 1})


def test_a_table_is_matched_copy_by_copy_and_null_matches_null(source: duckdb.DuckDBPyConnection) -> None:
    source.execute(f"CREATE TABLE part AS SELECT * FROM (VALUES {SUBSET}) AS v(q, s, n)")
    assert released(source, policy({"table": "part"})) == PUBLISHED


def test_a_file_is_matched_by_the_types_of_the_source(source: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "part.csv").write_text("n;q;s\n1;x;p\n1;x;p\n1;y;\n")
    subset = {"file": str(tmp_path / "part.csv"), "delimiter": ";"}
    assert released(source, policy(subset)) == PUBLISHED


def test_a_column_tells_the_subset(source: duckdb.DuckDBPyConnection) -> None:
    source.execute("ALTER TABLE t ADD COLUMN chosen INTEGER DEFAULT 0")
    source.execute("UPDATE t SET chosen = 1 WHERE s IS NULL")
    assert released(source, policy({"column": "chosen"})) == Counter({("y", None, 1): 2})
    source.execute("UPDATE t SET chosen = NULL WHERE q = 'x'")
    with pytest.raises(sqlanon.InputError, match="neither true nor false in 4 records"):
        sqlanon.plan(source, policy({"column": "chosen"}))


def test_suppression_and_limits_are_about_the_subset(source: duckdb.DuckDBPyConnection) -> None:
    source.execute("CREATE TABLE part AS SELECT * FROM t WHERE q = 'x'")
    with sqlanon.plan(source, policy({"table": "part"})) as plan:
        assert plan.catalog.population == 4
        apart, together = plan.evaluate({"q": 0}), plan.evaluate({"q": 1})
        assert (apart.suppressed, apart.classes) == (4, 0)  # all records of x are in the subset: presence 1
        assert (together.suppressed, together.classes) == (0, 1)  # 4 of 8
    with sqlanon.plan(source, policy({"table": "part"}, min=0.1, public_only="reject")) as plan:
        assert plan.evaluate({"q": 0}).ruled_out and not plan.evaluate({"q": 1}).ruled_out


@pytest.mark.parametrize(
    "rows, columns, error, message",
    [
        ("('x', 'p', 7)", "q, s, n", sqlanon.InputError, "1 records of the subset are not in the source"),
        ("('x', 'p', 2), ('x', 'p', 2)", "q, s, n", sqlanon.InputError, "1 records of the subset are not"),
        ("('x')", "q", sqlanon.InputError, "The subset is ambiguous: "),
        ("('x', 1)", "q, z", sqlanon.SourceError, "the columns 'z', which the source lacks"),
    ],
)
def test_unclear_subsets_are_refused(
    source: duckdb.DuckDBPyConnection, rows: str, columns: str, error: type[Exception], message: str
) -> None:
    source.execute(f"CREATE TABLE part AS SELECT * FROM (VALUES {rows}) AS v({columns})")
    with pytest.raises(error, match=message):
        sqlanon.plan(source, policy({"table": "part"}))


def test_a_missing_subset_is_told(source: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(sqlanon.SourceError, match=r"no subset file 'nope\.csv'"):
        sqlanon.plan(source, policy({"file": str(tmp_path / "nope.csv")}))
    with pytest.raises(sqlanon.SourceError, match="The subset cannot be read"):
        sqlanon.plan(source, policy({"table": "nope"}))
    with pytest.raises(sqlanon.SourceError, match="no column 'nope'"):
        sqlanon.plan(source, policy({"column": "nope"}))


def test_uncovered_records_make_presence_undefined(source: duckdb.DuckDBPyConnection) -> None:
    source.execute("CREATE TABLE part AS SELECT * FROM t WHERE q = 'x'")
    chosen_policy = policy({"table": "part"}).to_dict()
    hierarchy = {"levels": {"x": ["*"]}}
    chosen_policy["columns"]["q"] = {"role": "quasi_identifier", "uncovered": "suppress", "hierarchy": hierarchy}
    with pytest.raises(sqlanon.UnsupportedError, match="δ-presence"):
        sqlanon.plan(source, chosen_policy)
