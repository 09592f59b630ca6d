"""SQLite's own habits: dynamic types, silent conversions, collations, NUL, and files that others write to.

What it shares with all engines stands in ``test_engine_contract``.
"""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import duckdb, planned, rows_of_table
from interrupts import interrupted_after
from policies import diverse, document_of, intervals
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.sqlite import is_sqlite
from sqlanon.core.engines.sqlite.engine import SQLiteEngine
from sqlanon.core.engines.sqlite.values import type_word
from sqlanon.core.sqltrees.trees import bigint, canonical, column, count_if, named, number, table
from sqlanon.errors import EngineError, HierarchyError, SourceChangedError, SourceError, TargetError, UnsupportedError

SECRET = "canary-7f3a"


@pytest.fixture
def engine() -> Iterator[SQLiteEngine]:
    opened = SQLiteEngine()
    yield opened
    opened.close()


def database(path: Path, statements: str, rows: dict[str, list[tuple[Any, ...]]] | None = None) -> Path:
    """A SQLite file made by these statements, with these rows."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)
        for name, values in (rows or {}).items():
            connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(values[0]))})', values)
        connection.commit()
    return path


def patients(path: Path, count: int = 200) -> Path:
    draw = random.Random(4)
    rows = [
        (draw.choice([None, *range(20, 60)]), draw.choice(["m", "M", "f"]), f"8{draw.randrange(20):03d}",
         draw.choice(["flu", "gout", None]))
        for _ in range(count)
    ]  # fmt: skip
    built = "CREATE TABLE patients (age INTEGER, sex TEXT COLLATE NOCASE, zip VARCHAR(5), illness TEXT)"
    return database(path, built, {"patients": rows})


def document(**changes: Any) -> dict[str, Any]:
    columns = {"age": intervals(5, 4), "sex": "suppress", "zip": "redact", "illness": diverse(2)}
    return document_of(columns, changes, k=3, table="patients", suppression_limit=0.1)


def policy(**changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(document(**changes))


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".sqlite", ".sqlite3", ".db"])
@pytest.mark.slow
def test_a_file_is_told_by_its_header_and_released_as_from_duckdb(tmp_path: Path, ending: str) -> None:
    path = patients(tmp_path / f"clinic{ending}")
    assert is_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT * FROM patients").fetchall()
    data = pa.table([pa.array(values) for values in zip(*rows, strict=True)], ["age", "sex", "zip", "illness"])
    types_found = {**document(), "table": "t"}
    with duckdb() as reference:
        expected = planned(reference, data, types_found)
        wanted = rows_of_table(expected.publish().to_arrow())
    with sqlanon.anonymize(path, policy(output={"view": "released"})) as release:
        assert rows_of_table(release.to_arrow()) == wanted
        assert release.manifest["versions"]["sqlite"] == sqlite3.sqlite_version
    with closing(sqlite3.connect(path)) as other:  # whatever the file is called there
        assert Counter(other.execute("SELECT * FROM released")) == wanted
        other.execute("ATTACH ? AS elsewhere", [str(path)])
        assert len(other.execute("SELECT * FROM elsewhere.released").fetchall()) == sum(wanted.values())
        kept = {name for (name,) in other.execute("SELECT name FROM sqlite_schema")}
        assert kept == {"patients", "released", "released_released"}


def test_a_source_that_holds_no_release_is_not_written_to(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    before = path.read_bytes()
    with sqlanon.anonymize(path, policy(output={"file": str(tmp_path / "release.csv")})) as release:
        assert release.to_arrow().num_rows == release.ledger.published
        engine = release.plan.engine
        with pytest.raises(EngineError) as raised:
            engine.run("write", "CREATE TABLE main.other (a)")
        assert raised.value.kind.startswith("SQLITE_READONLY")
    assert path.read_bytes() == before
    assert {item.name for item in tmp_path.iterdir()} >= {"clinic.db", "release.csv"}
    assert not list(tmp_path.glob("clinic.db-*"))


def test_a_failed_publication_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = patients(tmp_path / "clinic.db")
    before = path.read_bytes()
    with sqlanon.plan(path, policy(output={"table": "released"})) as plan:
        monkeypatch.setattr(type(plan), "_lookups", lambda self: {"zip": exp.select(
            named(exp.Literal.string("x"), "value")).subquery("lookup")})  # fmt: skip
        with pytest.raises(sqlanon.AuditError):
            plan.publish()
    assert path.read_bytes() == before


def test_a_file_that_others_write_to_meanwhile_is_refused_if_the_release_goes_into_it(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    with sqlanon.plan(path, policy(output={"table": "released"})) as plan:
        with closing(sqlite3.connect(path)) as other:
            other.execute("INSERT INTO patients SELECT * FROM patients WHERE zip = '8000' LIMIT 1")
            other.execute("DELETE FROM patients WHERE rowid = (SELECT MAX(rowid) FROM patients)")
            other.commit()
        with pytest.raises(SourceChangedError):
            plan.publish()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("patients",)]


def test_a_file_with_a_write_ahead_log_is_released_as_it_was_when_the_run_began(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = wal")
        with sqlanon.plan(path, policy(output={"file": str(tmp_path / "release.csv")})) as plan:
            records = plan.ledger.records
            other.execute("DELETE FROM patients")
            other.commit()
            with plan.publish() as release:
                assert release.to_arrow().num_rows == release.ledger.published > 0
                assert release.ledger.records == records
        assert other.execute("SELECT COUNT(*) FROM patients").fetchall() == [(0,)]


def test_a_file_with_a_rollback_journal_lets_writers_wait_for_the_end_of_a_run(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    with closing(sqlite3.connect(path, timeout=0)) as other:
        with sqlanon.plan(path, policy(output={"file": str(tmp_path / "release.csv")})) as plan:
            with pytest.raises(sqlite3.OperationalError, match="locked"), other:
                other.execute("DELETE FROM patients")
            plan.publish()
        with other:
            other.execute("DELETE FROM patients")


@pytest.mark.slow
def test_a_file_that_somebody_else_holds_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = patients(tmp_path / "clinic.db")
    with sqlanon.plan(path, policy(output={"table": "released"})) as plan, closing(sqlite3.connect(path)) as other:
        plan.engine.run("wait less", "PRAGMA busy_timeout = 50")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(EngineError) as raised:
            plan.publish()
        assert raised.value.kind == "SQLITE_BUSY"
        assert "another program" in raised.value.hint


@pytest.mark.slow
def test_targets_are_checked_before_any_work(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    for target, output in (
        ("patients", "table"),
        ("PATIENTS", "table"),
        ("other.released", "table"),
        ("a.b.c", "view"),
    ):
        with pytest.raises(TargetError):
            sqlanon.anonymize(path, policy(output={output: target}, if_exists="replace"))
    with sqlanon.anonymize(path, policy(output={"table": "main.released"})):
        pass
    with pytest.raises(TargetError):
        sqlanon.anonymize(path, policy(output={"table": "Released"}))
    with sqlanon.anonymize(path, policy(output={"table": "Released"}, if_exists="replace")) as release:
        assert release.ledger.published > 0


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"SQLite format 3\0" + SECRET.encode() * 100)
    with pytest.raises(SourceError) as raised:
        sqlanon.plan(broken, policy())
    assert SECRET not in str(raised.value)
    assert raised.value.hint
    path = patients(tmp_path / "clinic.db")
    with pytest.raises(SourceError):
        sqlanon.plan(path, policy(table="nothing"))
    with pytest.raises(SourceError):
        SQLiteEngine(tmp_path / "missing.db")
    assert not (tmp_path / "missing.db").exists()


def test_what_its_files_lack_is_refused_with_an_alternative(tmp_path: Path) -> None:
    path = patients(tmp_path / "clinic.db")
    joined = {"join": [{"table": "patients", "key": {"age": "age"}}]}
    with pytest.raises(UnsupportedError) as raised:
        sqlanon.anonymize(path, policy(**joined))
    assert raised.value.hint
    flat = tmp_path / "flat.csv"
    flat.write_text("age,z\n1,2\n")
    beside = {
        "columns": {"age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "z": {"role": "keep"}},
        "undeclared": "drop",
        "join": [{"source": str(path), "table": "patients", "key": {"age": "age"}}],
    }
    with pytest.raises((UnsupportedError, SourceError), match="SQLite"):
        sqlanon.anonymize(flat, policy(**beside))


# -- values of any type ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("INTEGER", "BIGINT"), ("int", "BIGINT"), ("UNSIGNED BIG INT", "BIGINT"), ("VARCHAR(20)", "VARCHAR"),
        ("NATIVE CHARACTER(70)", "VARCHAR"), ("CLOB", "VARCHAR"), ("", "VARCHAR"), ("REAL", "DOUBLE"),
        ("DOUBLE PRECISION", "DOUBLE"), ("DECIMAL(10,5)", "DOUBLE"), ("NUMERIC", "DOUBLE"), ("BOOLEAN", "BOOLEAN"),
        ("DATE", "DATE"), ("DATETIME", "TIMESTAMP"), ("BLOB", "BLOB"), ("FLOATING POINT", "BIGINT"),
    ],
)  # fmt: skip
def test_types_are_told_in_the_words_of_policies(tmp_path: Path, declared: str, expected: str) -> None:
    """By SQLite's rules: FLOATING POINT holds INT, and has the affinity INTEGER."""
    path = database(tmp_path / "x.db", f"CREATE TABLE t (a {declared}); CREATE VIEW v AS SELECT a FROM t")
    with closing(SQLiteEngine(path)) as engine:
        for name in ("t", "v"):
            assert engine.catalog.columns(engine.catalog.source_table(name)) == [("a", expected)]
        engine.create("copy", "copied", exp.select("*").from_(engine.catalog.source_table("t")))
        assert engine.catalog.columns(table("copied")) == [("a", expected)]
    assert type_word(declared) == expected


def test_the_canonical_text_goes_by_the_value(tmp_path: Path) -> None:
    values = ["abc", 5, 5.5, 0.1 + 0.2, -0.0, 1e20, None, "", "NULL", "a\0b", 2**63 - 1, "1 "]
    path = database(tmp_path / "x.db", "CREATE TABLE t (a)", {"t": [(value,) for value in values]})
    with closing(SQLiteEngine(path)) as engine:
        for kind in ("VARCHAR", "DOUBLE", "BIGINT"):  # a column of floats is added to 0, which no text survives
            query = exp.select(named(canonical("a", kind), "a")).from_(engine.catalog.source_table("t"))
            found = [row[0] for row in engine.run("texts", query)]
            assert found == [
                "abc", "5", "5.5", "0.30000000000000004", "0.0", "1e+20", None, "", "NULL", "a\0b",
                "9223372036854775807", "1 ",
            ]  # fmt: skip


def test_a_column_of_integers_may_hold_texts_and_is_released_as_text(tmp_path: Path) -> None:
    rows = [(value,) for value in (5, 5, "abc", "abc", 7, 7) for _ in range(2)]
    path = database(tmp_path / "x.db", "CREATE TABLE t (a INTEGER)", {"t": rows})
    expected = document_of({"a": "suppress"}, k=4, table="t")
    with sqlanon.anonymize(path, expected) as release:
        assert rows_of_table(release.to_arrow()) == Counter({("5",): 4, ("abc",): 4, ("7",): 4})
    expected["columns"] = {"a": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5}}}}
    with pytest.raises(HierarchyError, match=r"1 values of column 'a' do not read as BIGINT") as raised:
        sqlanon.plan(path, expected)
    assert "abc" not in str(raised.value)


def test_numbers_keep_their_type_where_every_text_survives(tmp_path: Path) -> None:
    rows = [(value, number / 4) for value in range(4) for number in range(4)]
    path = database(tmp_path / "x.db", "CREATE TABLE t (a INTEGER, b DECIMAL(5,2))", {"t": rows * 2})
    expected = document_of(dict.fromkeys("ab", "suppress"), k=2, table="t", output={"table": "released"})
    with sqlanon.anonymize(path, expected) as release:
        assert release.plan.node == (0, 0)
    with closing(sqlite3.connect(path)) as connection:
        kinds = set(connection.execute("SELECT typeof(a), typeof(b) FROM released"))
        assert kinds == {("integer", "integer"), ("integer", "real")}
        assert Counter(connection.execute("SELECT * FROM released")) == Counter(rows * 2)


def test_bytes_have_no_text(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", "CREATE TABLE t (a TEXT, b BLOB)", {"t": [(b"\xff\x00", b"x")]})
    for name, error in (("a", UnsupportedError), ("b", UnsupportedError)):
        expected = document_of({name: "suppress"}, k=1, table="t", undeclared="drop")
        with pytest.raises(error) as raised:
            sqlanon.plan(path, expected)
        assert raised.value.hint


def test_collations_of_the_source_merge_nothing(tmp_path: Path) -> None:
    rows = [("x",), ("X",), ("X ",), ("x",)]
    built = (
        "CREATE TABLE t (a TEXT COLLATE NOCASE); CREATE TABLE r (a TEXT COLLATE RTRIM); "
        "CREATE VIEW v AS SELECT * FROM t"
    )
    path = database(tmp_path / "x.db", built, {"t": rows, "r": rows})
    with closing(SQLiteEngine(path)) as engine:
        for name in ("t", "r", "v"):
            source = engine.catalog.source_table(name)
            grouped = exp.select(column("a"), bigint(exp.Count(this=exp.Star()))).from_(source).group_by(column("a"))
            assert Counter(engine.run("group", grouped)) == Counter([("x", 2), ("X", 1), ("X ", 1)])
            both = exp.select(named(exp.Count(this=exp.Distinct(expressions=[column("a")])), "n")).from_(source)
            assert engine.run("distinct", both) == [(3,)]
            equal = count_if(exp.EQ(this=column("a", "left"), expression=column("a", "right")))
            sides = [source.copy(), source.copy()]
            for side, alias in zip(sides, ("left", "right"), strict=True):
                side.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
            crossed = exp.select(named(equal, "n")).from_(sides[0]).join(sides[1], join_type="cross")
            assert engine.run("compare", crossed) == [(6,)]


def test_a_text_may_hold_nul(engine: SQLiteEngine) -> None:
    engine.load("load", "t", pa.table({"a": ["a\0b", "a\0c", "a"]}))
    query = exp.select(exp.Length(this=column("a")), canonical("a", "VARCHAR")).from_(table("t"))
    assert Counter(engine.run("read", query)) == Counter([(3, "a\0b"), (3, "a\0c"), (1, "a")])
    literal = exp.select(column("a")).from_(table("t")).where(exp.EQ(this=column("a"), expression=exp.convert("a\0b")))
    assert engine.run("literal", literal) == [("a\0b",)]
    with pytest.raises(UnsupportedError):
        engine.run("name", exp.select(named(number(1), "a\0b")))


# -- statements --------------------------------------------------------------------------------------------------------


def test_a_name_that_is_no_column_is_an_error_and_not_a_text(engine: SQLiteEngine) -> None:
    engine.load("load", "t", pa.table({"a": [1]}))
    with pytest.raises(EngineError) as raised:
        engine.run("asked", exp.select(column("nothing")).from_(table("t")))
    assert "nothing" in raised.value.message


@pytest.mark.parametrize(
    "value",
    [
        exp.Mul(this=column("n"), expression=column("n")),
        exp.Mul(this=column("n"), expression=number(3)),
        exp.Sub(this=exp.Mul(this=column("n"), expression=number(-1)), expression=exp.Mul(
            this=column("n"), expression=number(1))),
        exp.Sum(this=column("n")),
        bigint(exp.Sum(this=column("n"))),
    ],
)  # fmt: skip
def test_whole_numbers_never_become_floats(engine: SQLiteEngine, value: exp.Expr) -> None:
    engine.load("load", "t", pa.table({"n": pa.array([2**63 - 1, 2**63 - 1], pa.int64())}))
    with pytest.raises(UnsupportedError, match="64 bits"):
        engine.run("sum", exp.select(named(value, "x")).from_(table("t")))
    with pytest.raises(UnsupportedError):
        engine.run("literal", exp.select(named(number(2**63), "x")))
    with pytest.raises(UnsupportedError):
        engine.run("bound", exp.select(named(exp.Placeholder(), "x")), [2**63])
    with pytest.raises(UnsupportedError):
        engine.load("load", "big", pa.table({"n": pa.array([2**63], pa.uint64())}))


def test_whole_division_keeps_every_digit(engine: SQLiteEngine) -> None:
    query = exp.select(named(exp.IntDiv(this=number(2**62 + 1), expression=number(1)), "x"))
    assert engine.run("divide", query) == [(2**62 + 1,)]


def test_conversions_are_those_of_duckdb_or_refused(engine: SQLiteEngine) -> None:
    values = ["1", "x", None, "1.5", "2020-01-01", "2020-13-01", "99999999999999999999", "true", "01", "1e3", ""]
    engine.load("load", "t", pa.table({"a": values}))
    with duckdb() as reference:
        reference.load("load", "t", pa.table({"a": values}))
        for kind in ("BIGINT", "DATE", "BOOLEAN", "VARCHAR"):
            to = exp.DataType.build(kind, dialect="duckdb")
            back = exp.cast(exp.TryCast(this=column("a"), to=to), "VARCHAR")
            query = exp.select(column("a"), named(exp.NullSafeEQ(this=back, expression=column("a")), "same"))
            found = {value: bool(kept) for value, kept in engine.run("try", query.from_(table("t")))}
            wanted = dict(reference.run("try", query.from_(table("t"))))
            if kind == "BOOLEAN":  # 0 and 1 are the texts of truth values here
                wanted |= {"true": False, "1": True}
            assert found == wanted, kind
            strict = exp.select(named(exp.cast(column("a"), kind), "x")).from_(table("t"))
            if kind != "VARCHAR":
                with pytest.raises(EngineError):
                    engine.run("cast", strict)


def test_rows_that_are_taken_away_are_counted(engine: SQLiteEngine) -> None:
    one = {"a": ["x", "x", "x", None, None, "y"], "b": pa.array([1, 1, 1, None, None, 2], pa.int64())}
    engine.load("load", "one", pa.table(one))
    engine.load("load", "other", pa.table({"a": ["x", None, "z"], "b": pa.array([1, None, 2], pa.int64())}))
    sides = [exp.select(column("a"), column("b")).from_(table(name)) for name in ("one", "other")]
    query = exp.select("*").from_(exp.except_(*sides, distinct=False).subquery("lacking"))
    assert Counter(engine.run("except", query)) == Counter({("x", 1): 2, (None, None): 1, ("y", 2): 1})


@pytest.mark.parametrize("end", [0, 1, 3])
def test_a_series_has_both_its_ends(engine: SQLiteEngine, end: int) -> None:
    series = exp.Table(this=exp.GenerateSeries(start=number(1), end=number(end)))
    assert engine.run("series", exp.select(named(exp.Count(this=exp.Star()), "n")).from_(series)) == [(end,)]


def test_greatest_and_least_leave_nulls_out(engine: SQLiteEngine) -> None:
    engine.load(
        "load", "t", pa.table({"a": pa.array([1, None, None], pa.int64()), "b": pa.array([2, 3, None], pa.int64())})
    )
    found = engine.run(
        "extremes",
        exp.select(
            exp.Greatest(this=column("a"), expressions=[column("b")], ignore_nulls=True),
            exp.Least(this=column("a"), expressions=[column("b")], ignore_nulls=True),
        ).from_(table("t")),
    )
    assert found == [(2, 1), (3, 3), (None, None)]


def test_lookups_are_joined_in_their_order_by_an_index(engine: SQLiteEngine) -> None:
    """Otherwise SQLite begins with every combination of the lookups' rows."""
    draw = random.Random(1)
    columns = {f"q{i}": [str(draw.randrange(40)) for _ in range(400)] for i in range(6)}
    expected = document_of(dict.fromkeys(columns, "suppress"), k=2, table="t", suppression_limit=1)
    plan = planned(engine, pa.table(columns), expected)
    steps = [row[3] for row in engine.run("plan", "EXPLAIN QUERY PLAN " + engine.render(plan._release_query()))]
    lookups = [step for step in steps if "sqlanon_lookup_" in step]
    assert len(lookups) == 6
    assert all(step.startswith("SEARCH") and "(attribute=? AND value=?)" in step for step in lookups), lookups


def test_more_columns_than_a_join_can_hold_are_refused(engine: SQLiteEngine) -> None:
    engine.load("load", "t", pa.table({"a": [1]}))
    query = exp.select(named(number(1), "x")).from_(table("t", "first"))
    for place in range(64):
        query = query.join(table("t", f"t{place}"), join_type="cross")
    with pytest.raises(UnsupportedError, match="64 tables") as raised:
        engine.run("join", query)
    assert raised.value.hint


def test_an_interrupt_stops_the_statement_and_leaves_the_session_usable(engine: SQLiteEngine) -> None:
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM c"
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        engine.run("endless", endless)
    assert engine.run("still there", exp.select(named(number(1), "x"))) == [(1,)]


def test_a_library_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 38, 5))
    with pytest.raises(UnsupportedError, match="newer is needed"):
        SQLiteEngine()


def test_the_functions_of_a_library_without_mathematics_are_ours() -> None:
    from sqlanon.core.engines.sqlite.values import Functions

    with closing(sqlite3.connect(":memory:")) as connection:
        Functions().register_mathematics(connection.create_function)
        found = connection.execute("SELECT LN(1), LN(0), SQRT(4), CEIL(1.2), FLOOR(-1.2), LN(NULL)").fetchall()
    assert found == [(0.0, None, 2.0, 2, -2, None)]
