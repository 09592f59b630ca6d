"""Maybe-classes and the bias of the basic match: two SQL forms, plain Python, and figures worked out by hand."""

import json
import logging
import math
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tables import text_table

from sqlanon.assess.relations import null_patterns, nulls
from sqlanon.assess.relations.null_bias import chi_square_tail, null_bias
from sqlanon.assess.relations.nulls import Matches, NullAudit, OnlyWildcards, audit_nulls
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import InputError, SourceError, UnsupportedError

RELATION = exp.to_table("t", quoted=True)
NAMES = ["a", 'b"c', "order", "d"]
Row = tuple[str | None, ...]
CELL = st.sampled_from([None, None, None, "", "NULL", "'", '"', "*", "x"])
RELATIONS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELL] * width), min_size=1, max_size=30)
)  # many NULLs, and texts that look like one
PROPERTY = settings(max_examples=scaled(30))


@pytest.fixture
def engine(connection: duckdb.DuckDBPyConnection) -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine(connection=connection)
    yield opened
    opened.close()


def audited(rows: Sequence[Row], k: int | None = None) -> NullAudit:
    with duckdb.connect() as opened:
        text_table(opened, NAMES[: len(rows[0])], list(rows))
        engine = DuckDBEngine(connection=opened)
        found = audit_nulls(engine, RELATION, NAMES[: len(rows[0])], k=k)
        assert opened.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
        engine.close()
    return found


def matches(known: Row, released: Row, match: str) -> bool:
    """Does a released record match what the attacker knows?"""
    if match == "extended":
        return known == released
    wild = (lambda c, d: d is None) if match == "right_maybe" else (lambda c, d: c is None or d is None)
    return all(c == d or wild(c, d) for c, d in zip(known, released))


def size(known: Row, rows: Sequence[Row], match: str) -> int:
    return sum(matches(known, row, match) for row in rows)


def brute(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    """Per class its sizes under the three matches, sorted."""
    return sorted((size(c, rows, "extended"), size(c, rows, "right_maybe"), size(c, rows, "maybe")) for c in set(rows))


def defined(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    with duckdb.connect() as opened:
        columns = NAMES[: len(rows[0])]
        text_table(opened, columns, list(rows))
        query = bind("audit/maybe_match.sql", relations={"release": RELATION}, columns={"quasi_identifier": columns})
        return sorted(opened.execute(query.sql(dialect="duckdb", identify=True)).fetchall())


def summed(rows: Sequence[Row], k: int) -> tuple[Any, ...]:
    """What an audit must say, from the sizes that brute force finds."""
    found = brute(rows)
    least = Matches(*(min(sizes) for sizes in zip(*found)))
    below = Matches(*(sum(item[0] for item in found if item[i] < k) for i in range(3)))
    only = OnlyWildcards(*(sum(item[0] for item in found if item[0] < k <= item[i]) for i in (1, 2)))
    buckets: dict[int, Counter[int]] = {}
    for item in found:
        for i in range(3):
            buckets.setdefault(item[i].bit_length() - 1, Counter())[i] += item[0]
    spread = {(1 << b, (2 << b) - 1): Matches(*(counts[i] for i in range(3))) for b, counts in buckets.items()}
    return least, below, only, spread


def said(audit: NullAudit) -> tuple[Any, ...]:
    spread = {(bucket.low, bucket.high): bucket.records for bucket in audit.distribution}
    return audit.smallest, audit.below_k, audit.only_wildcards, spread


@PROPERTY
@given(RELATIONS)
def test_the_definition_equals_brute_force(rows: list[Row]) -> None:
    assert defined(rows) == brute(rows)


FORMS = {
    "as chosen": {},
    "joined": {"JOINING": -1_000_000, "MET": 0},
    "joined in many steps": {"JOINING": -1_000_000, "MET": 0, "STEP": 1},
    "compared": {"MOST_PATTERNS": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("word_bits", [62, 4])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_equals_brute_force(form: str, word_bits: int) -> None:
    @settings(PROPERTY, max_examples=scaled(8))
    @given(RELATIONS, st.integers(1, 6))
    def holds(rows: list[Row], k: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(null_patterns, "WORD_BITS", word_bits)
            for name, value in FORMS[form].items():
                patch.setattr(nulls, name, value)
            found = audited(rows, k)
        assert said(found) == summed(rows, k)
        assert (found.records, found.classes) == (len(rows), len(set(rows)))
        assert found.records_with_null == sum(None in row for row in rows)
        assert list(found.nulls.values()) == [sum(v is None for v in column) for column in zip(*rows)]
        assert found.patterns == len({tuple(v is None for v in row) for row in rows if None in row})

    holds()


@PROPERTY
@given(RELATIONS, st.data())
def test_a_wildcard_attacker_gains_nothing_over_extended_match(rows: list[Row], data: st.DataObject) -> None:
    """The candidates of whatever the attacker knows are none, or at least the smallest extended class."""
    found = audited(rows).smallest
    assert found.extended <= found.right_maybe <= found.maybe
    known = data.draw(st.tuples(*[CELL] * len(rows[0])))
    for match in ("right_maybe", "maybe"):
        candidates = size(known, rows, match)
        assert candidates == 0 or candidates >= found.extended
        whole = {row for row in rows if matches(known, row, match)}
        assert candidates == sum(rows.count(row) for row in whole)


def test_the_converse_is_false() -> None:
    """Under maybe match all records look safe at k = 2; who knows of the NULL singles one out."""
    found = audited([("20", "1"), ("20", "1"), ("20", None)], k=2)
    assert found.smallest == Matches(1, 1, 3)
    assert found.below_k == Matches(1, 1, 0) and found.only_wildcards == OnlyWildcards(0, 1)
    found = audited([("20", "1"), ("20", None), ("20", None)], k=2)
    assert found.only_wildcards == OnlyWildcards(1, 1)


def test_without_null_all_matches_are_one() -> None:
    found = audited([("a", "b"), ("a", "b"), ("c", "d")], k=2)
    assert found.smallest == Matches(1, 1, 1) and found.below_k == Matches(1, 1, 1)
    assert (found.patterns, found.records_with_null, found.only_wildcards) == (0, 0, OnlyWildcards(0, 0))


def test_statement_names(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute(
        "CREATE TABLE t AS SELECT i % 7 AS a, CASE WHEN i % 3 > 0 THEN i % 5 END AS b FROM range(99) r(i)"
    )
    audit_nulls(engine, RELATION, ["a", "b"])
    null_bias(engine, RELATION, ["a", "b"], columns=["a"])
    assert engine.journal.counts() == {
        "describe": 5, "null classes": 1, "null profile": 1, "null keys": 1, "null patterns": 1,
        "count null patterns": 1, "compare null classes": 1, "null sizes": 1, "null distribution": 1, "drop": 4,
        "null bias records": 1, "null bias": 1, "null bias order": 1, "null bias numbers": 1,
    }  # fmt: skip


def test_statement_names_of_the_joined_form(
    connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FORMS["joined"].items():
        monkeypatch.setattr(nulls, name, value)
    connection.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i % 7 > 0 THEN i % 7 END AS a, CASE WHEN i % 3 > 0 THEN i % 5 END AS b "
        "FROM range(99) r(i)"
    )
    audit_nulls(engine, RELATION, ["a", "b"])
    assert engine.journal.counts() == {
        "describe": 2, "null classes": 1, "null profile": 1, "null keys": 1, "null patterns": 1,
        "count null patterns": 1, "null meets": 1, "null steps": 1, "no null sums": 1, "null pattern covers": 1,
        "null patterns meet": 1, "null sizes": 1, "null distribution": 1, "drop": 8,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", [0, 20, 130])
def test_no_columns_and_very_many(width: int, connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    columns = [f"c{i}" for i in range(max(width, 1))]
    text_table(
        connection, columns, [tuple(None if (i + r) % 9 == 0 else "v" for i in range(len(columns))) for r in range(18)]
    )
    found = audit_nulls(engine, RELATION, columns[:width])
    assert found.smallest == (Matches(18, 18, 18) if not width else Matches(2, 2, 18))


def test_refuses_what_would_take_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nulls, "MOST_COMPARISONS", 1)
    rows: list[Row] = [("a", None), (None, "a"), ("b", "b"), ("b", None), (None, None)]
    for form in ("joined", "compared"):
        for name, value in FORMS[form].items():
            monkeypatch.setattr(nulls, name, value)
        if form == "joined":
            monkeypatch.setattr(nulls, "JOINING", -170)  # so that it comes to 10, and comparing to 24
        with pytest.raises(UnsupportedError, match="4 of 5 classes hold a NULL, in 3 patterns"):
            audited(rows)


HOSTILE = ["order", 'a"b', "key_0", "n", "N2", "x" * 70, "x; DROP TABLE t", "class", "quasi_identifier",
           "audited_column", "records", "release", "counted", "low"]  # fmt: skip


def test_hostile_column_names(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    rows = [tuple(None if (r * 7 + i) % 11 == 0 else "ab"[(r + i) % 2] for i in range(len(HOSTILE))) for r in range(22)]
    text_table(connection, HOSTILE, rows)
    found = audit_nulls(engine, RELATION, [name.upper() for name in HOSTILE], k=3)
    assert list(found.nulls) == HOSTILE and said(found) == summed(rows, 3)
    bias = null_bias(engine, RELATION, HOSTILE[:2])
    assert [column.column for column in bias.columns] == HOSTILE
    assert bias.kept == sum(None not in row[:2] for row in rows)
    assert all(len(line) < 400 for line in [*found.lines(), *bias.lines()])


@pytest.mark.slow
@pytest.mark.parametrize("table", ["classes", "members", "counted", "totals", "sizes", "bucket", "given", "listed"])
def test_hostile_table_names(table: str, connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    text_table(connection, ["a", "b"], [("x", None), ("x", "y"), (None, "y")], table)
    relation = exp.to_table(table, quoted=True)
    assert audit_nulls(engine, relation, ["a", "b"]).smallest == Matches(1, 1, 3)
    assert null_bias(engine, relation, ["a", "b"]).kept == 1


def test_bad_input(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    text_table(connection, ["a", "sqlanon_x"], [("x", "y")])
    for ask in (audit_nulls, null_bias):
        with pytest.raises(SourceError, match=r"no column 'nope'.*Hint: it has 2 columns"):
            ask(engine, RELATION, ["a", "nope"])
        with pytest.raises(UnsupportedError, match="'sqlanon_x' have the prefix"):
            ask(engine, RELATION, ["sqlanon_x"])
    with pytest.raises(SourceError, match="'nope'"):
        null_bias(engine, RELATION, ["a"], columns=["nope"])
    with pytest.raises(InputError, match="k is 0"):
        audit_nulls(engine, RELATION, ["a"], k=0)
    connection.execute("DELETE FROM t")
    for ask in (audit_nulls, null_bias):
        for columns in ([], ["a"]):
            with pytest.raises(InputError, match="no records"):
                ask(engine, RELATION, columns)
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]


def test_values_of_other_types(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES ('nan'::DOUBLE, [1, NULL], 'a'::BLOB, DATE '2020-01-01'), "
        "('nan', [1, NULL], 'a', NULL), (NULL, [1, NULL], NULL, DATE '2020-01-01'), (-0.0, NULL, 'b', NULL), "
        "(0.0, NULL, 'b', NULL)) v(f, l, b, d)"
    )
    found = audit_nulls(engine, RELATION, ["f", "l", "b", "d"], k=2)
    assert (found.classes, found.smallest) == (4, Matches(1, 1, 3))
    bias = {column.column: column for column in null_bias(engine, RELATION, ["d", "l"]).columns}
    assert bias["l"].not_compared and bias["b"].not_compared and "LIST" in bias["l"].not_compared
    assert bias["d"].order_distance == 0 and bias["f"].moments is not None and bias["f"].values == 2


# --- the bias of the basic match ---


def test_bias_by_hand(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    """Ten records, of which q is NULL in four; x is 1 five times (one excluded), 2 four times (two), NULL once (it)."""
    connection.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i IN (0, 5, 6, 9) THEN NULL ELSE 'q' END AS q, "
        "CASE WHEN i < 5 THEN 1 WHEN i < 9 THEN 2 END AS x FROM range(10) r(i)"
    )
    bias = null_bias(engine, RELATION, ["q"])
    assert (bias.records, bias.kept, bias.excluded, bias.share_excluded) == (10, 6, 4, 0.4)
    [q, x] = bias.columns
    assert (q.nulls, q.kept_nulls, q.values, q.kept_values) == (4, 0, 1, 1)
    assert q.shift is not None and q.shift.total_variation == pytest.approx(0.4)  # exactly the share excluded
    assert q.shift.cramers_v == pytest.approx(1)
    assert q.shift_without_null is not None and q.shift_without_null.total_variation == 0
    # with NULL: all 5/10, 4/10, 1/10; kept 4/6, 2/6, 0
    assert x.shift is not None and x.shift.total_variation == pytest.approx(1 / 6)
    assert x.shift.largest_share_change == pytest.approx(1 / 6)
    # expected among the kept 3, 2.4, 0.6 and found 4, 2, 0; among the excluded 2, 1.6, 0.4 and 1, 2, 1
    chi_square = 1 / 3 + 0.16 / 2.4 + 0.6 + 1 / 2 + 0.16 / 1.6 + 0.36 / 0.4
    assert x.shift.chi_square == pytest.approx(chi_square)
    assert (x.shift.degrees_of_freedom, x.shift.sparse_values, x.shift.p_value) == (2, 3, None)
    assert x.shift.cramers_v == pytest.approx(math.sqrt(chi_square / 10))
    assert x.shift.cramers_v_by_chance == pytest.approx(math.sqrt(2 / 9))
    # without: all 5/9, 4/9; kept 4/6, 2/6
    assert x.shift_without_null is not None
    assert x.shift_without_null.total_variation == pytest.approx(1 / 9)
    assert x.order_distance == pytest.approx(1 / 9)
    assert x.order_distance_by_chance == pytest.approx(1.358 * math.sqrt(3 / 54))
    assert x.moments is not None and x.moments.mean is None  # three excluded numbers are few
    deviation = math.sqrt(20 / 81)
    assert x.moments.standardized_difference == pytest.approx((8 / 6 - 13 / 9) / deviation)


def brute_bias(pairs: Sequence[tuple[int | None, bool]]) -> dict[str, Any]:
    """Distances between the values of all records and of the kept ones, in plain Python."""
    everything, kept = Counter(v for v, _ in pairs), Counter(v for v, keep in pairs if keep)
    n, m = len(pairs), sum(kept.values())
    change = [abs(everything[v] / n - kept[v] / m) for v in everything]
    chi_square = sum(
        (found - everything[v] * total / n) ** 2 / (everything[v] * total / n)
        for v in everything
        for found, total in ((kept[v], m), (everything[v] - kept[v], n - m))
        if total
    )
    ordered = sorted(v for v in everything if v is not None)
    running = [abs(sum(everything[v] for v in ordered[: i + 1]) / n - sum(kept[v] for v in ordered[: i + 1]) / m)
               for i in range(len(ordered))]  # fmt: skip
    return {
        "total_variation": sum(change) / 2,
        "largest": max(change),
        "chi_square": chi_square,
        "order": max(running, default=None),
    }


@PROPERTY
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(-3, 3)), st.sampled_from([None, "q"])), min_size=1, max_size=40)
)
def test_bias_equals_brute_force(rows: list[tuple[int | None, str | None]]) -> None:
    with duckdb.connect() as opened:
        opened.execute("CREATE TABLE t (x INTEGER, q TEXT)")
        opened.executemany("INSERT INTO t VALUES (?, ?)", rows)
        engine = DuckDBEngine(connection=opened)
        [column] = null_bias(engine, RELATION, ["q"], columns=["X"]).columns
        engine.close()
    for shift, population in (
        (column.shift, rows),
        (column.shift_without_null, [row for row in rows if row[0] is not None]),
    ):
        if not population:
            assert shift is None
            continue
        assert shift is not None
        pairs = [(x, q is not None) for x, q in population]
        kept = sum(keep for _, keep in pairs)
        assert (shift.records, shift.kept) == (len(pairs), kept)
        if not kept:
            assert shift.total_variation is None
            continue
        wanted = brute_bias(pairs)
        assert shift.total_variation == pytest.approx(wanted["total_variation"], abs=1e-9)
        assert shift.total_variation <= 1 - kept / len(pairs) + 1e-9  # never more than the share excluded
        assert shift.largest_share_change == pytest.approx(wanted["largest"], abs=1e-9)
        if kept < len(pairs):
            assert shift.chi_square == pytest.approx(wanted["chi_square"], abs=1e-9)
        if shift is column.shift_without_null:
            assert column.order_distance == pytest.approx(wanted["order"], abs=1e-9)
    assert column.values == len({x for x, _ in rows} - {None})
    assert column.kept_values == len({x for x, q in rows if q is not None} - {None})


@pytest.mark.slow
def test_what_chance_comes_to() -> None:
    """Over all ways to exclude 3 of 7 records: χ² is on average N/(N-1) degrees, and the distance below its bound."""
    from itertools import combinations

    values = [1, 1, 1, 2, 2, 3, 3]
    with duckdb.connect() as opened:
        engine = DuckDBEngine(connection=opened)
        shifts = []
        for out in combinations(range(7), 3):
            opened.execute("CREATE OR REPLACE TABLE t (x INTEGER, q TEXT)")
            opened.executemany(
                "INSERT INTO t VALUES (?, ?)", [(x, None if i in out else "q") for i, x in enumerate(values)]
            )
            [column] = null_bias(engine, RELATION, ["q"], columns=["x"]).columns
            shifts.append(column.shift)
        engine.close()
    found = [shift for shift in shifts if shift is not None]
    assert sum(s.chi_square or 0 for s in found) / len(found) == pytest.approx(7 / 6 * 2)
    mean = sum(s.total_variation or 0 for s in found) / len(found)
    assert mean <= (found[0].total_variation_by_chance or 0) <= 3 / 7


def test_means_are_told_of_many_only(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i >= 20 THEN 'q' END AS q, i::DOUBLE AS x, 7 AS same, "
        "CASE WHEN i = 3 THEN 'inf'::DOUBLE WHEN i = 4 THEN 'nan'::DOUBLE WHEN i = 5 THEN 1e308 ELSE i END AS wild, "
        "(i * 1.5)::DECIMAL(9, 2) AS d, CASE WHEN i > 14 THEN i END AS few FROM range(60) r(i)"
    )
    moments = {column.column: column.moments for column in null_bias(engine, RELATION, ["q"]).columns}
    assert moments["q"] is None
    x, same, few, wild, d = (moments[name] for name in ("x", "same", "few", "wild", "d"))
    assert x and same and few and wild and d
    assert (x.mean, x.kept_mean) == (29.5, 39.5)
    assert x.deviation == pytest.approx(math.sqrt((60**2 - 1) / 12)) and x.kept_deviation == pytest.approx(
        math.sqrt(1599 / 12)
    )
    assert x.standardized_difference == pytest.approx(10 / math.sqrt(3599 / 12))
    assert x.standardized_difference_by_chance == pytest.approx(math.sqrt(20 / (40 * 59)))
    assert d.mean == pytest.approx(29.5 * 1.5) and d.standardized_difference == pytest.approx(x.standardized_difference)
    assert same.mean is same.kept_mean is same.standardized_difference is None
    assert few.mean is None and few.standardized_difference is not None  # five numbers are excluded
    assert wild.deviation is None  # it overflows


def test_nothing_excluded_and_nothing_kept(connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine) -> None:
    connection.execute("CREATE TABLE t AS SELECT 'q' AS q, NULL::INTEGER AS gone, i AS x FROM range(40) r(i)")
    bias = null_bias(engine, RELATION, ["q"])
    assert (bias.excluded, bias.share_excluded) == (0, 0)
    x = bias.columns[2]
    assert x.shift is not None and x.shift.total_variation == 0 and x.shift.chi_square is None
    assert x.moments is not None and x.moments.mean == 19.5 and x.moments.standardized_difference == 0
    bias = null_bias(engine, RELATION, ["gone"])
    assert bias.kept == 0 and all(c.shift is not None and c.shift.total_variation is None for c in bias.columns)
    assert bias.columns[1].shift_without_null is None and bias.columns[2].kept_values == 0
    assert json.loads(json.dumps(bias.to_dict(), allow_nan=False))["kept"] == 0 and bias.lines()
    assert null_bias(engine, RELATION, []).excluded == 0


def test_chi_square_tail() -> None:
    """Two degrees: e^(-x/2); even degrees: a Poisson sum; one degree: the normal tail; quantiles of tables."""
    for x in (0.1, 1, 5, 30, 300):
        assert chi_square_tail(x, 2) == pytest.approx(math.exp(-x / 2))
        assert chi_square_tail(x, 1) == pytest.approx(math.erfc(math.sqrt(x / 2)))
        poisson = sum(math.exp(-x / 2) * (x / 2) ** i / math.factorial(i) for i in range(10))
        assert chi_square_tail(x, 20) == pytest.approx(poisson)
    assert chi_square_tail(124.342, 100) == pytest.approx(0.05, abs=1e-5)
    assert chi_square_tail(0, 3) == 1 and chi_square_tail(1e6, 3) == 0
    assert chi_square_tail(1e6, 10**6) == pytest.approx(0.5, abs=1e-3)


# --- values stay where they are, and the command line ---

CANARY = "Zz7canaryqQ"


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return sqlanon("nulls", *arguments)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "planted.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.execute(
            f"CREATE TABLE t AS SELECT CASE WHEN i % 4 > 0 THEN 'p' || i % 3 END AS a, CASE WHEN i = 1 THEN '{CANARY}' "
            f"WHEN i % 5 > 0 THEN 'q' END AS b, '{CANARY}'::ENUM('{CANARY}', 'e') AS c, ['{CANARY}'] AS l, "
            "31415926 AS x, CASE WHEN i = 8 THEN 27182818 END AS y FROM range(30) r(i)"
        )
    return path


def test_no_value_is_told(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with duckdb.connect(str(file)) as opened:
        engine = DuckDBEngine(connection=opened)
        audit, bias = audit_nulls(engine, RELATION, ["a", "b", "c"], k=3), null_bias(engine, RELATION, ["a", "b"])
        reported = [
            *audit.lines(),
            *bias.lines(),
            repr(audit),
            repr(bias),
            json.dumps([audit.to_dict(), bias.to_dict()]),
        ]
        reported += [caplog.text, repr(engine.journal.entries)]
        engine.close()
    assert "null profile" in caplog.text
    for planted in (CANARY, "31415926", "27182818", "p1"):
        assert not any(planted in text for text in reported)


def test_the_command_prints_both_reports(file: Path) -> None:
    done = command(file, "t", "--qi", "a,b", "--k", 3)
    assert done.returncode == 0 and not done.stderr
    assert "never used to justify a release" in done.stdout and "Basic match keeps 18 of 30" in done.stdout
    assert "Safe at k = 3 only if NULLs are wildcards" in done.stdout and "not compared" in done.stdout
    assert CANARY not in done.stdout
    answer = json.loads(command(file, "t", "--qi", "a,b", "--json").stdout)
    assert (
        set(answer) >= {"remark", "audit", "bias", "quasi_identifiers"} and "never used to justify" in answer["remark"]
    )
    assert answer["audit"]["k"] is None and answer["audit"]["records"] == 30 == answer["bias"]["records"]
    assert [column["column"] for column in answer["bias"]["columns"]] == ["a", "b", "c", "l", "x", "y"]
    assert "never used to justify" in " ".join(command("--help").stdout.split())


def test_the_command_reads_text_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a;b\n1;\n1;""\n1;NULL\n;2\n')
    answer = json.loads(command(tmp_path / "t.csv", "--qi", "a,b", "--delimiter", ";", "--json").stdout)
    assert answer["audit"]["nulls"] == {"a": 1, "b": 1} and answer["audit"]["classes"] == 4
    assert answer["bias"]["kept"] == 2


def test_the_command_refuses_bad_input(file: Path, tmp_path: Path) -> None:
    faulty: list[list[object]] = [
        [file, "t", "--qi", "a,nope"],
        [file, "nowhere", "--qi", "a"],
        [file, "--qi", "a"],
        [tmp_path / "none.csv", "--qi", "a"],
        [file, "t"],
        [file, "t", "--qi", "a", "--k", 0],
    ]
    for arguments in faulty:
        done = command(*arguments)
        assert done.returncode == 2 and done.stderr and not done.stdout
    done = command(file, "t", "--qi", "a,nope", "--json")
    assert json.loads(done.stdout)["error"] == "SourceError" and "its columns are 'a', 'b'" in done.stderr
