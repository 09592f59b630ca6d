"""What only Spark has, on two executors; that it encodes, judges and searches as DuckDB does, the contract tests."""

import datetime
import logging
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import bigint, canonical, column, named, number, table, total
from sqlanon.errors import EngineError, UnsupportedError

HOSTILE = (
    "order",
    'a"b',
    "a`b",
    "a.b",
    "key_0",
    "n",
    "Case",
    "case",
    "x; DROP TABLE y",
    "?",
    "%s",
    "\\",
    "é",
    "n" * 90,
)
SECRET = "canary-7f3a"


@pytest.fixture
def engine(spark: Any) -> Iterator[Any]:
    """The cluster without the tables of the test before."""
    yield spark
    for name in list(spark._frames):
        spark.drop(name)
    for name in list(spark._held._here):
        spark.drop(name)
    spark.replay.clear()


def everything(name: str) -> exp.Select:
    return exp.select("*").from_(table(name))


def test_rows_come_back_as_values_of_python(engine: Any) -> None:
    query = exp.select(
        number(1), exp.Literal.string("a'b\\\n"), exp.null(), exp.true(), exp.cast(exp.Literal.number("0.1"), "DOUBLE"),
        exp.cast(exp.Literal.string("2020-02-29"), "DATE"), exp.cast(exp.Literal.number("1.50"), "DECIMAL(5, 2)"),
        exp.cast(exp.Literal.string("2020-02-29 01:02:03.5"), "TIMESTAMP"), exp.Literal.string("nul\0"),
    )  # fmt: skip
    moment = datetime.datetime(2020, 2, 29, 1, 2, 3, 500_000)
    expected = (1, "a'b\\\n", None, True, 0.1, datetime.date(2020, 2, 29), Decimal("1.50"), moment, "nul\0")
    assert engine.run("values", query) == [expected]


def test_a_sum_beyond_64_bits_is_exact_or_refused(engine: Any) -> None:
    largest = 2**63 - 1
    engine.load("load", "big", pa.table({"n": pa.array([largest] * 3, pa.int64())}))
    wide = exp.cast(exp.Sum(this=exp.cast(column("n"), "HUGEINT")), "HUGEINT")
    square = exp.cast(
        exp.Mul(this=exp.cast(exp.Max(this=column("n")), "HUGEINT"), expression=number(largest)), "HUGEINT"
    )
    rows = engine.run("sum", exp.select(named(wide, "wide"), named(square, "square")).from_(table("big")))
    assert rows == [(3 * largest, largest**2)]
    assert all(type(value) is int for value in rows[0])
    cube = exp.Sum(this=exp.Mul(this=exp.cast(column("n"), "HUGEINT"), expression=exp.cast(number(10**30), "HUGEINT")))
    for query in (total(column("n")), exp.Add(this=column("n"), expression=number(1)), cube):
        with pytest.raises(EngineError) as raised:  # what does not fit is an error, not a wrong number and not NULL
            engine.run("total", exp.select(query).from_(table("big")))
        assert raised.value.kind in ("ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION")


def test_tables_beside_the_driver_meet_records_on_the_cluster(engine: Any) -> None:
    """A lookup costs no job, is shown to a statement that joins it with records, and again when it has changed."""
    lookup = names.LOOKUP
    engine.load("load", "t", pa.table({"a": ["x", "y", None]}))
    engine.load("load", lookup, pa.table({"value": ["x", None], "key_0": pa.array([1, 2], pa.int64())}))
    joined = exp.select(column("a", "t"), column("key_0", lookup)).from_(table("t"))
    same = exp.NullSafeEQ(this=column("a", "t"), expression=column("value", lookup))
    joined = joined.join(table(lookup), on=same, join_type="left")
    assert set(engine.run("join", joined)) == {("x", 1), ("y", None), (None, 2)}
    engine.load("append", lookup, pa.table({"value": ["y"], "key_0": pa.array([3], pa.int64())}), more=True)
    assert set(engine.run("join", joined)) == {("x", 1), ("y", 3), (None, 2)}
    engine.insert("insert", lookup, exp.select(column("a"), bigint(number(9))).from_(table("t")).where(exp.false()))
    assert engine.create("copy", names.BRANCHES, everything(lookup)) == 3
    assert engine.create("from records", names.VALUES, everything("t")) == 3
    engine.drop_column(lookup, "key_0")
    assert engine.catalog.columns(table(lookup)) == [("value", "VARCHAR")]
    before = engine._context.statusTracker().getJobIdsForGroup(engine._group)
    assert len(engine.run("read", everything(lookup))) == 3
    assert engine._context.statusTracker().getJobIdsForGroup(engine._group) == before
    engine.drop(lookup)
    with pytest.raises(EngineError):
        engine.run("gone", joined)


def test_types_are_told_in_the_words_of_policies(engine: Any) -> None:
    expected = {
        "TINYINT": "TINYINT", "SMALLINT": "SMALLINT", "INT": "INTEGER", "BIGINT": "BIGINT", "FLOAT": "FLOAT",
        "DOUBLE": "DOUBLE", "DECIMAL(7, 2)": "DECIMAL(7,2)", "STRING": "VARCHAR", "BOOLEAN": "BOOLEAN", "DATE": "DATE",
        "TIMESTAMP_NTZ": "TIMESTAMP", "TIMESTAMP": "TIMESTAMP WITH TIME ZONE", "BINARY": "BLOB",
        "ARRAY<INT>": "ARRAY<INT>",
    }  # fmt: skip
    nothing = ", ".join(f"CAST(NULL AS {kind}) AS `{i}`" for i, kind in enumerate(expected))
    engine.create("typed", "t", f"SELECT {nothing}")
    assert engine.catalog.columns(table("t")) == [(str(i), word) for i, word in enumerate(expected.values())]


def test_hostile_names_stay_names(engine: Any) -> None:
    data = pa.table({name: pa.array([i, None], pa.int64()) for i, name in enumerate(HOSTILE)})
    query = exp.select(*[column(other) for other in HOSTILE])
    for name in HOSTILE:
        engine.load("load", name, data)
        assert engine.arrow("read", query.from_(table(name))).equals(data)
        assert [found for found, _ in engine.catalog.columns(table(name))] == list(HOSTILE)
    assert engine.create("copy", "copied", query.from_(table("order"))) == 2
    for name in HOSTILE:
        engine.drop(name)
    assert engine.run("left", "SHOW VIEWS") == [("", "copied", True)]


def test_a_text_is_not_taken_for_a_variable(engine: Any) -> None:
    texts = ["${env:HOME}", "${spark.app.name}", "${system:user.home}"]
    for text in texts:
        assert engine.run("text", exp.select(exp.Literal.string(text))) == [(text,)]


def test_no_error_and_no_log_holds_a_value(
    engine: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    text = exp.Literal.string(SECRET)
    engine.load("load", "t", pa.table({"a": [SECRET], "n": pa.array([0], pa.int64())}))
    statements: list[tuple[exp.Expr | str, list[Any], str]] = [
        (exp.select(exp.cast(text, "BIGINT")), [], "CAST_INVALID_INPUT"),
        (exp.select(exp.cast(column("a"), "DATE")).from_(table("t")), [], "CAST_INVALID_INPUT"),
        (exp.select(exp.cast(exp.Placeholder(), "BIGINT")), [SECRET], "CAST_INVALID_INPUT"),
        (exp.select(exp.IntDiv(this=number(1), expression=column("n"))).from_(table("t")), [], "DIVIDE_BY_ZERO"),
        (exp.select(column("nothing")).from_(table("t")), [], "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        (f"SELECT '{SECRET}", [], "PARSE_SYNTAX_ERROR"),
        (f"SELECT raise_error('{SECRET}' || a) FROM t", [], "USER_RAISED_EXCEPTION"),
        (f"SELECT * FROM parquet.`/{SECRET}`", [], "TABLE_OR_VIEW_NOT_FOUND"),
    ]
    for statement, parameters, kind in statements:
        with pytest.raises(EngineError) as raised:
            engine.run("asked", statement, parameters)
        error = raised.value
        assert (error.statement, error.kind) == ("asked", kind)
        assert SECRET not in f"{error!s}{error!r}{vars(error)}"
        assert error.__context__ is None and error.__cause__ is None
    with pytest.raises(EngineError) as raised:
        engine.load("append", "t", pa.table({"a": [SECRET], "n": [1], "other": [1]}), more=True)
    assert SECRET not in str(raised.value)
    written = capfd.readouterr()
    assert SECRET not in caplog.text + written.out + written.err
    assert engine.run("still there", exp.select(number(1))) == [(1,)]


def test_an_interrupt_stops_the_job_and_leaves_the_session_usable(engine: Any) -> None:
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(1.5, signal.pthread_kill, [main, signal.SIGINT])
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run("count", "SELECT SUM(SQRT(id)) FROM RANGE(20000000000)")
    timer.join()
    assert time.monotonic() - start < 60
    assert engine.run("still there", exp.select(number(1))) == [(1,)]


def test_what_our_statements_are_made_of_means_what_it_means_in_duckdb(engine: Any) -> None:
    texts = ["1", "x", None, "1.50", "2020-01-01", "99999999999", "01", "1e3", ""]
    data = pa.table({"a": texts, "n": pa.array([-7, 7, None, 0, 1, 2**62, -1, 3, 4], pa.int64())})
    with closing(DuckDBEngine()) as duck:
        for built in (duck, engine):
            built.load("load", "t", data)
        n, parts = column("n"), {}
        for kind in ("INTEGER", "BIGINT", "DATE", "DECIMAL(5, 2)", "VARCHAR", "SMALLINT", "DOUBLE"):
            to = exp.DataType.build(kind, dialect="duckdb")
            back = exp.cast(exp.TryCast(this=column("a"), to=to), "VARCHAR")
            parts[kind] = exp.NullSafeEQ(this=back, expression=column("a"))
        parts["digit"] = exp.Substring(this=column("a"), start=bigint(number(2)), length=number(1))
        parts["bits"] = exp.BitwiseAnd(this=n, expression=number(~5))
        parts["shift"] = exp.BitwiseLeftShift(
            this=exp.paren(bigint(exp.BitwiseAnd(this=n, expression=number(3)))), expression=number(60)
        )
        parts["greatest"] = exp.Greatest(this=n, expressions=[number(2)], ignore_nulls=True)
        parts["whole"] = exp.IntDiv(this=exp.cast(n, "HUGEINT"), expression=number(2))
        parts["ratio"] = exp.Div(this=n, expression=number(4), typed=False, safe=False)
        query = exp.select(column("a"), *[named(part, name) for name, part in parts.items()]).from_(table("t"))
        mine, theirs = (sorted(built.run("compare", query), key=repr) for built in (duck, engine))
        assert mine == theirs
        some = exp.select(exp.AnyValue(this=exp.Case(ifs=[exp.If(this=exp.EQ(this=n, expression=number(1)), true=n)])))
        assert engine.run("any", some.from_(table("t"))) == duck.run("any", some.from_(table("t"))) == [(1,)]


def test_the_canonical_text_of_a_float_is_its_own(engine: Any) -> None:
    """0.7 as a FLOAT is 0.7. Large and small ones read as Java writes them, which the documents say."""
    values = [0.7, -0.0, 2.5, None, 1e10, math.nan]
    engine.load("load", "t", pa.table({"f": pa.array(values, pa.float32()), "d": pa.array(values, pa.float64())}))
    texts = ["0.7", "0.0", "2.5", None, "1.0E10", "NaN"]
    for name, kind in (("f", "FLOAT"), ("d", "DOUBLE")):
        reported = exp.select(named(canonical(name, kind), "text")).from_(table("t"))
        assert sorted(engine.run("text", reported), key=repr) == sorted([(text,) for text in texts], key=repr)


def test_what_spark_lacks_is_refused_and_not_passed_on(engine: Any) -> None:
    for tree in (
        exp.cast(number(1), "UUID"),
        exp.cast(exp.Literal.string("1:00"), "TIME"),
        exp.Anonymous(this="REGEXP_REPLACE", expressions=[exp.Literal.string("a")] * 3),
        exp.Anonymous(this="NO_SUCH_FUNCTION", expressions=[]),
    ):
        with pytest.raises(UnsupportedError):
            engine.render(exp.select(tree))
    with pytest.raises(UnsupportedError):
        engine.catalog.source_table("t", "other")


def test_a_path_is_no_table(engine: Any, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"secret": [1]}), tmp_path / "x.parquet")
    with pytest.raises(EngineError):
        engine.catalog.columns(engine.catalog.source_table(f"parquet.`{tmp_path}/x.parquet`"))
