"""What only PostgreSQL has, on a real server; that it encodes, judges and searches as DuckDB, the contract tests."""

import datetime
import logging
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from interrupts import interrupted_after
from postgres_server import Server
from sqlglot import exp, parse_one

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees.trees import column, named, number, table, total
from sqlanon.errors import EngineError, InputError, UnsupportedError

postgres_engine = pytest.importorskip(
    "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
)
PostgresEngine = postgres_engine.PostgresEngine
postgres_dialect = pytest.importorskip("sqlanon.core.engines.postgres.dialect")

HOSTILE = ("order", 'a"b', "key_0", "n", "Case", "case", "x; DROP TABLE y", "$1", "?", "%s", "\\", "é", "n" * 63)
SECRET = "canary-7f3a"


@pytest.fixture
def engine(postgres: Server) -> Iterator[Any]:
    opened = PostgresEngine(postgres.uri())
    yield opened
    opened.close()


def everything(name: str) -> exp.Select:
    return exp.select("*").from_(table(name))


def test_rows_come_back_as_values_of_python(engine: Any) -> None:
    query = exp.select(
        number(1), exp.Literal.string("a'b\\"), exp.null(), exp.true(), exp.cast(exp.Literal.number("0.1"), "DOUBLE"),
        exp.cast(exp.Literal.string("2020-02-29"), "DATE"), exp.cast(exp.Literal.number("1.50"), "DECIMAL(5, 2)"),
        exp.cast(exp.Literal.string("00000000-0000-0000-0000-000000000001"), "UUID"),
    )  # fmt: skip
    expected = (1, "a'b\\", None, True, 0.1, datetime.date(2020, 2, 29), Decimal("1.50"), uuid.UUID(int=1))
    assert engine.run("values", query) == [expected]


def test_a_sum_beyond_64_bits_is_exact(engine: Any) -> None:
    largest = 2**63 - 1
    engine.load("load", "big", pa.table({"n": pa.array([largest] * 3, pa.int64())}))
    wide = exp.cast(exp.Sum(this=exp.cast(column("n"), "HUGEINT")), "HUGEINT")
    square = exp.cast(
        exp.Mul(this=exp.cast(exp.Max(this=column("n")), "HUGEINT"), expression=number(largest)), "HUGEINT"
    )
    query = exp.select(named(wide, "wide"), named(square, "square")).from_(table("big"))
    rows = engine.run("sum", query)
    assert rows == [(3 * largest, largest**2)]
    assert all(type(value) is int for value in rows[0])
    found = engine.arrow("sum", query)
    assert pa.types.is_decimal(found.schema.field("wide").type)
    assert found.to_pylist() == [{"wide": Decimal(3 * largest), "square": Decimal(largest**2)}]
    with pytest.raises(EngineError) as raised:  # and what does not fit is an error, not a wrong number
        engine.run("total", exp.select(total(column("n"))).from_(table("big")))
    assert raised.value.kind == "22003"


def test_types_are_told_in_the_words_of_policies(postgres: Server) -> None:
    expected = {
        "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "real": "FLOAT", "double precision": "DOUBLE",
        "numeric": "DECIMAL", "numeric(7,2)": "DECIMAL(7,2)", "text": "VARCHAR", "varchar(5)": "VARCHAR",
        "char(3)": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMP WITH TIME ZONE", "uuid": "UUID", "public.mood": "ENUM", "jsonb": "JSONB",
    }  # fmt: skip
    columns = ", ".join(f'"{i}" {kind}' for i, kind in enumerate(expected))
    owner = PostgresEngine(postgres.uri())
    owner.run("enum", "CREATE TYPE public.mood AS ENUM ('fine')")
    engine = PostgresEngine(postgres.uri())  # the driver reads the types of a database when it connects
    try:
        engine.run("make", f"CREATE TEMPORARY TABLE typed ({columns})")
        assert engine.catalog.columns(table("typed")) == [(str(i), word) for i, word in enumerate(expected.values())]
    finally:
        engine.close()
        owner.run("drop", "DROP TYPE public.mood CASCADE")  # the server tidies up after the session has gone
        owner.close()


def test_hostile_names_stay_names(engine: Any) -> None:
    data = pa.table({name: pa.array([i, None], pa.int64()) for i, name in enumerate(HOSTILE)})
    for name in HOSTILE:
        engine.load("load", name, data)
        query = exp.select(*[column(other) for other in HOSTILE]).from_(table(name))
        assert engine.arrow("read", query).equals(data)
        assert [found for found, _ in engine.catalog.columns(table(name))] == list(HOSTILE)
        assert engine.create("copy", "copied", query) == 2
        engine.drop("copied")
    for name in HOSTILE:
        engine.drop(name)


@pytest.mark.parametrize("name", ["x" * 64, "é" * 32, "a\0b"])
def test_names_that_would_be_cut_are_refused(engine: Any, name: str) -> None:
    data = pa.table({"a": [1]})
    for work in (
        lambda: engine.load("load", name, data),
        lambda: engine.load("load", "t", data.rename_columns([name])),
        lambda: engine.create("create", name, exp.select(number(1))),
        lambda: engine.run("run", exp.select(named(number(1), name))),
        lambda: engine.drop(name),
    ):
        with pytest.raises(UnsupportedError):
            work()
    assert engine.run("nothing made", "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'") == [
        (0,)
    ]


def test_a_text_with_nul_is_refused(engine: Any) -> None:
    with pytest.raises(UnsupportedError):
        engine.run("nul", exp.select(exp.Literal.string(f"{SECRET}\0"), exp.Placeholder()))
    with pytest.raises(EngineError) as raised:
        engine.load("nul", "t", pa.table({"a": [f"{SECRET}\0"]}))
    assert SECRET not in str(raised.value)


def test_no_error_holds_a_value(engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = exp.Literal.string(SECRET)
    engine.load("load", "t", pa.table({"a": [SECRET], "n": pa.array([0], pa.int64())}))
    statements: list[tuple[exp.Expr | str, list[Any], str]] = [
        (exp.select(exp.cast(text, "BIGINT")), [], "22P02"),
        (exp.select(exp.cast(column("a"), "DATE")).from_(table("t")), [], "22007"),
        (exp.select(exp.cast(exp.Placeholder(), "BIGINT")), [SECRET], ""),
        (exp.select(exp.Div(this=number(1), expression=column("n"), typed=True)).from_(table("t")), [], "22012"),
        (exp.select(column("nothing")).from_(table("t")).where(exp.EQ(this=column("a"), expression=text)), [], "42703"),
        (f"SELECT '{SECRET}' FROM", [], "42601"),
        (f"SELECT '{SECRET}", [], "42601"),
        (f"DO $$ BEGIN RAISE EXCEPTION '{SECRET}'; END $$", [], "P0001"),
    ]
    for statement, parameters, kind in statements:
        with pytest.raises(EngineError) as raised:
            engine.run("asked", statement, parameters)
        error = raised.value
        assert error.statement == "asked"
        assert not kind or error.kind == kind
        assert SECRET not in f"{error!s}{error!r}{vars(error)}"
        assert error.__context__ is None and error.__cause__ is None
        assert f"({error.kind}" in str(error)
    with pytest.raises(EngineError) as raised:
        engine.load("append", "t", pa.table({"a": [SECRET], "other": [1]}), more=True)
    assert SECRET not in str(raised.value)
    assert SECRET not in caplog.text
    assert engine.run("still there", exp.select(number(1))) == [(1,)]


def test_a_connection_that_is_refused_tells_no_password(postgres: Server) -> None:
    for uri in (
        postgres.uri(database="nothere"),
        f"postgresql://u:{SECRET}@/x?host=/nowhere",
        f"postgresql://{SECRET}:x",
    ):
        with pytest.raises(InputError) as raised:
            PostgresEngine(uri)
        assert SECRET not in f"{raised.value!s}{raised.value.__context__}"


def test_an_interrupt_stops_the_statement_and_leaves_the_session_usable(engine: Any) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.3):
        engine.run("sleep", "SELECT pg_sleep(30)")
    assert engine.run("still there", exp.select(number(1))) == [(1,)]


def test_a_timeout_of_the_server_is_an_error(postgres: Server) -> None:
    with closing(PostgresEngine(postgres.uri() + "&options=-cstatement_timeout%3D1000")) as engine:
        with pytest.raises(EngineError) as raised:
            engine.run("sleep", "SELECT pg_sleep(30)")
        assert raised.value.kind == "57014"


def test_nothing_is_left_behind_and_nobody_else_sees_it(postgres: Server) -> None:
    counting = (
        "SELECT (SELECT count(*) FROM pg_class WHERE oid >= 16384), (SELECT count(*) FROM pg_proc WHERE oid >= 16384), "
        "(SELECT count(*) FROM pg_type WHERE oid >= 16384 AND typtype <> 'p')"
    )
    watcher, engine = PostgresEngine(postgres.uri()), PostgresEngine(postgres.uri())
    try:
        before = watcher.run("count", counting)
        engine.load("load", "t", pa.table({"a": [1]}))
        engine.create("create", "u", everything("t"))
        assert watcher.run("count", counting) != before
        with pytest.raises(EngineError):
            watcher.run("unseen", everything("t"))
        engine.close()
        for _ in range(500):  # the server tidies up after the session has gone
            after = watcher.run("count", counting)
            if after[0][0] <= before[0][0]:
                break
        helpers = after[0][1] - before[0][1]
        assert (after[0][0], helpers) == (before[0][0], -3)  # the helpers of the session that is closed
    finally:
        watcher.close()


def test_functions_of_others_are_not_called(postgres: Server) -> None:
    """A function of the schema public with a better fitting type would be taken, if it were on the path."""
    owner = PostgresEngine(postgres.uri())
    try:
        owner.run("trap", "CREATE FUNCTION public.length(varchar) RETURNS integer LANGUAGE sql AS 'SELECT -1'")
        owner.run("source", "CREATE TABLE public.people (name varchar)")
        owner.run("source", "INSERT INTO public.people VALUES ('abc')")
        source = owner.catalog.source_table("people")
        assert owner.render(source) == '"public"."people"'
        assert owner.run("length", exp.select(exp.Length(this=column("name"))).from_(source)) == [(3,)]
        assert owner.catalog.columns(source) == [("name", "VARCHAR")]
        with pytest.raises(UnsupportedError):
            owner.catalog.source_table("people", "other")
    finally:
        owner.run("drop trap", "DROP FUNCTION IF EXISTS public.length(varchar)")
        owner.run("drop source", "DROP TABLE IF EXISTS public.people")
        owner.close()


def test_any_value_and_try_cast_mean_what_they_mean_in_duckdb(engine: Any) -> None:
    duck = DuckDBEngine()
    data = pa.table({"a": ["1", " 1", "x", None, "1.50", "2020-01-01", "99999999999", "true", "01"]})
    for built in (duck, engine):
        built.load("load", "t", data)
    try:
        for kind in ("INTEGER", "BIGINT", "DATE", "BOOLEAN", "DECIMAL(5, 2)", "VARCHAR", "SMALLINT"):
            to = exp.DataType.build(kind, dialect="duckdb")
            back = exp.cast(exp.TryCast(this=column("a"), to=to), "VARCHAR")
            same = exp.NullSafeEQ(this=back, expression=column("a"))
            query = exp.select(column("a"), named(same, "same")).from_(table("t"))
            assert engine.run("try", query) == duck.run("try", query), kind
        for value in (exp.true(), exp.cast(exp.Literal.string("00000000-0000-0000-0000-000000000001"), "UUID")):
            case = exp.Case(ifs=[exp.If(this=exp.EQ(this=column("a"), expression=exp.Literal.string("x")), true=value)])
            query = exp.select(named(exp.AnyValue(this=case), "any")).from_(table("t"))
            assert engine.run("any", query) == duck.run("any", query)
    finally:
        duck.close()


def test_what_postgresql_lacks_is_refused_and_not_passed_on() -> None:
    unknown = exp.Anonymous(this="STRFTIME", expressions=[column("d"), exp.Literal.string("%j")])
    with pytest.raises(UnsupportedError, match="STRFTIME"):
        postgres_dialect.render(exp.select(unknown))
    nearest = parse_one("SELECT 1 FROM a ASOF JOIN b ON a.x > b.x", read="duckdb")
    with pytest.raises(UnsupportedError, match="ASOF"):
        postgres_dialect.render(nearest)


def test_an_asof_join_finds_the_last_row_at_or_below(postgres: Server) -> None:
    """Ties, keys below all others, NULL, and no rows at all."""
    held = pa.table({"x": pa.array([0.0, 0.25, 0.5, 0.7, 2.0, None])})
    steps = pa.table({"through": pa.array([0.25, 0.5, 1.0]), "place": pa.array([1, 2, 3], pa.int64())})
    query = "SELECT held.x, steps.place FROM held ASOF LEFT JOIN steps ON held.x >= steps.through"
    engine, duck = PostgresEngine(postgres.uri()), DuckDBEngine()
    try:
        for rows in (steps, steps.slice(0, 0)):
            found = []
            for each in (engine, duck):
                each.drop("held")
                each.drop("steps")
                each.load("held", "held", held, replayed=False)
                each.load("steps", "steps", rows, replayed=False)
                tree = parse_one(query, read="duckdb")
                found.append(Counter(each.run("nearest", tree)))
            assert found[0] == found[1] and len(found[0]) == 6
    finally:
        engine.close()
        duck.close()


def test_lookups_are_joined_by_a_hash(engine: Any) -> None:
    """IS NOT DISTINCT FROM would compare every record with every value, whatever the planner is told."""
    engine.load("load", "t", pa.table({"a": ["x", "", None]}))
    same = exp.NullSafeEQ(this=column("a", "l"), expression=column("a", "r"))
    query = exp.select(column("a", "l"), named(column("a", "r"), "b")).from_(table("t", "l"))
    query = query.join(table("t", "r"), on=same, join_type="left")
    assert set(engine.run("join", query)) == {("x", "x"), ("", ""), (None, None)}
    engine.run(
        "explain",
        "CREATE FUNCTION pg_temp.explained(text) RETURNS SETOF text LANGUAGE plpgsql AS "
        "'BEGIN RETURN QUERY EXECUTE ''EXPLAIN '' || $1; END'",
    )
    plan = " ".join(
        line for (line,) in engine.run("plan", "SELECT * FROM pg_temp.explained($1)", [engine.render(query)])
    )
    assert "Hash" in plan
    assert "Nested Loop" not in plan and "Merge" not in plan


def test_every_table_that_is_created_has_statistics(engine: Any) -> None:
    """Without ANALYZE, which the server never runs on a temporary table, each join would be planned in the dark."""
    data = pa.table({"a": pa.array(range(300), pa.int64())})
    engine.load("load", "t", data)
    engine.load("append", "t", data, more=True)
    engine.create("create", "u", everything("t"))
    engine.insert("insert", "u", everything("t"))
    known = (
        "SELECT relname, CAST(reltuples AS BIGINT) FROM pg_class WHERE relnamespace = pg_my_temp_schema() ORDER BY 1"
    )
    assert engine.run("statistics", known) == [("t", 600), ("u", 1200)]
    assert [name for name, _ in engine.replay].count("analyze") == 4
