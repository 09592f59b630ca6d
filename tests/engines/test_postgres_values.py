"""Values of PostgreSQL that have several texts, or none elsewhere: what is equal, what files hold, what is refused."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from postgres_server import Server
from sqlglot import exp

import sqlanon
from sqlanon.cli import main
from sqlanon.core import anonymizer
from sqlanon.core.audit.check import check_relation
from sqlanon.core.compiler import encoded_source
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.publish import files
from sqlanon.core.sqltrees.trees import column
from sqlanon.errors import (
    AuditError,
    EngineError,
    InputError,
    NoSolutionError,
    SourceError,
    SqlanonError,
    TargetError,
    UnsupportedError,
)

postgres_engine = pytest.importorskip(
    "sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed"
)
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")

SECRET = "canary-7f3a"
IGNORES_CASE = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
NAMES = ["'Bob'", "'bob'", "'BOB'", "'bOb'", "'boB'"]
SCALES = ["1", "1.0", "1.00", "1.000", "1.0000"]

Execute = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def execute(postgres: Server) -> Iterator[Execute]:
    """Run statements as the superuser; the rows of the last one."""
    with closing(dbapi.connect(postgres.uri(), autocommit=True)) as connection, connection.cursor() as cursor:

        def run(*statements: str) -> list[tuple[Any, ...]]:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if statements[-1].lstrip().startswith("SELECT") else []

        run("CREATE SCHEMA clinic", "CREATE SCHEMA anon", f"CREATE COLLATION public.ci ({IGNORES_CASE})")
        yield run


@pytest.fixture(autouse=True)
def environment(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", str(postgres.folder))
    monkeypatch.setenv("PGUSER", postgres.user)
    monkeypatch.setenv("PGDATABASE", postgres.database)


@pytest.fixture
def source(execute: Execute) -> Iterator[Callable[..., None]]:
    """Make ``clinic.t`` with a column ``x`` of a type, a row a literal, and a column ``sex`` with one value."""

    def make(type_name: str, literals: list[str]) -> None:
        execute("DROP TABLE IF EXISTS clinic.t CASCADE", f"CREATE TABLE clinic.t (x {type_name}, sex text)")
        execute("INSERT INTO clinic.t VALUES " + ", ".join(f"({literal}, 'm')" for literal in literals))

    yield make
    execute("DROP SCHEMA anon CASCADE", "CREATE SCHEMA anon")


def policy(output: dict[str, Any], x: dict[str, Any], k: int = 3, **changes: Any) -> sqlanon.Policy:
    return sqlanon.Policy.from_dict(
        {
            "source": "postgresql://",
            "table": "clinic.t",
            "columns": {"x": x, "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}},
            "privacy": [{"type": "k_anonymity", "k": k}],
            "suppression_limit": 0,
            "output": output,
            "if_exists": "replace",
            **changes,
        }
    )


def publish(output: dict[str, Any], x: dict[str, Any], k: int = 3, **changes: Any) -> None:
    sqlanon.anonymize(None, policy(output, x, k, **changes)).close()


WIDE = "123456789012345678901234567890123456789012.25"
KEEP = {"role": "keep"}
AS_IS = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}

# -- what is equal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_name", "literals"),
    [("numeric", SCALES), ("text COLLATE public.ci", NAMES), ("float8", ["0", "'-0'", "0", "'-0'", "0"])],
)
@pytest.mark.parametrize("kind", ["view", "live_view"])
def test_one_person_with_several_texts_is_one_entity(
    source: Callable[..., None], kind: str, type_name: str, literals: list[str]
) -> None:
    source(type_name, literals)
    with pytest.raises(NoSolutionError, match="there are 1"):
        publish({kind: "anon.t"}, {"role": "drop"}, 2, entity="x", suppression_limit=1.0)


def test_the_audit_counts_entities_by_their_values_and_not_by_the_plans_numbers(
    source: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that took each record for a person of its own is not published."""
    source("numeric", SCALES)
    monkeypatch.setattr(encoded_source, "own_text", lambda name, *_: exp.cast(column(name), "VARCHAR"))
    with pytest.raises(AuditError):
        publish({"table": "anon.t"}, {"role": "drop"}, 2, entity="x", suppression_limit=1.0)


@pytest.mark.parametrize(
    ("type_name", "literals"),
    [("numeric", ["1"] * 5 + ["1.00"]), ("float8", ["0"] * 5 + ["'-0'"]), ("text COLLATE public.ci", NAMES)],
)
def test_a_check_counts_what_a_reader_sees(source: Callable[..., None], type_name: str, literals: list[str]) -> None:
    """The last record reads differently, though it is equal to the others."""
    source(type_name, literals)
    with closing(postgres_engine.PostgresEngine()) as engine:
        relation = engine.catalog.source_table("clinic.t")
        checked = check_relation(engine, relation, quasi_identifiers=["sex", "X"], models=[KAnonymity(k=2)])
        assert not checked.holds and checked.smallest_class == 1
        assert check_relation(engine, relation, quasi_identifiers=["sex"], models=[KAnonymity(k=5)]).holds


@pytest.mark.parametrize("kind", ["table", "view", "live_view"])
def test_equal_numbers_are_one_value_of_a_sensitive_column(
    execute: Execute, source: Callable[..., None], kind: str
) -> None:
    source("numeric", [*SCALES, "2"])
    x = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    publish({kind: "anon.t"}, x)
    assert execute("SELECT count(*) FROM anon.t") == [(6,)]
    with pytest.raises(SqlanonError) as raised:  # there are two, not six
        publish({kind: "anon.t"}, {**x, "models": [{"type": "distinct_l_diversity", "l": 3}]})
    assert not isinstance(raised.value, AuditError)


def test_equal_numbers_are_one_value_of_a_quasi_identifier(execute: Execute, source: Callable[..., None]) -> None:
    source("numeric", [*SCALES, "1e3", "1000", "1000.00"])
    publish({"table": "anon.t"}, AS_IS)
    assert Counter(text for (text,) in execute("SELECT CAST(x AS text) FROM anon.t")) == {"1": 5, "1000": 3}


def test_texts_that_differ_are_several_classes_whatever_the_collation(
    execute: Execute, source: Callable[..., None], postgres: Server
) -> None:  # fmt: skip
    source("text COLLATE public.ci", ["'Bob'"] * 5 + ["'bob'"])
    publish({"table": "anon.t"}, AS_IS, suppression_limit=0.2)
    assert execute("SELECT x, count(*) FROM anon.t GROUP BY x") == [("Bob", 5)]
    with closing(postgres_engine.PostgresEngine(postgres.uri())) as engine:
        checked = check_relation(
            engine, engine.catalog.source_table("clinic.t"), quasi_identifiers=["x"], models=[KAnonymity(k=5)]
        )
    assert (checked.classes, checked.smallest_class) == (2, 1)


def test_a_real_keeps_its_digits(execute: Execute, source: Callable[..., None]) -> None:
    source("real", ["0.7"] * 3 + ["'-0'", "0", "'NaN'", "'NaN'", "'NaN'", "0"])
    publish({"table": "anon.t"}, AS_IS)
    assert Counter(execute("SELECT CAST(x AS text) FROM anon.t")) == {("0.7",): 3, ("0",): 3, ("NaN",): 3}


@pytest.mark.parametrize("type_name", ["float8", "real"])
@pytest.mark.parametrize("width", ["10", "0.5"])
def test_intervals_of_floats_are_those_of_duckdb(
    execute: Execute, source: Callable[..., None], type_name: str, width: str, tmp_path: Path
) -> None:
    texts = ["0.7", "-0.3", "72.3", "1e30", "nan", "inf", "-inf", "-0.0", "9.99"]
    source(type_name, [f"'{text}'" for text in texts for _ in range(3)])
    x = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": width, "upper": 80}}, "min_level": 1}
    publish({"table": "anon.t"}, {**x, "max_level": 1})
    path, target = str(tmp_path / "t.duckdb"), str(tmp_path / "out.parquet")
    kind = "DOUBLE" if type_name == "float8" else "FLOAT"
    with closing(duckdb.connect(path)) as connection:
        values = ", ".join(f"(CAST('{text}' AS {kind}), 'm')" for text in texts for _ in range(3))
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {values}) AS t (x, sex)")
    publish({"file": target}, {**x, "max_level": 1}, source=path, table="t")
    expected = Counter(duckdb.sql(f"SELECT x FROM '{target}'").fetchall())
    named = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    assert Counter(execute("SELECT x FROM anon.t")) == {(named.get(text, text),): n for (text,), n in expected.items()}


# -- what a file holds -------------------------------------------------------------------------------------------------


def read(path: str) -> Counter[tuple[Any, ...]]:
    return Counter(duckdb.sql(f"SELECT CAST(x AS VARCHAR) FROM '{path}'").fetchall())


@pytest.mark.parametrize("ending", ["parquet", "csv", "duckdb"])
@pytest.mark.parametrize(
    ("type_name", "literal", "text"),
    [
        ("numeric", "1.234567", "1.234567"),
        ("numeric", "'NaN'", "NaN"),
        ("numeric(50,2)", WIDE, WIDE),
        ("numeric(10,4)", "1.2345", "1.2345"),
        ("numeric(3,-2)", "12345", "12300"),
        ("numeric(2,4)", "0.0012", ".0012"),
        ("float8", "1.5e30", "1.5e+30"),
        ("int[]", "'{1,2}'", "{1,2}"),
        ("money", "'3.5'", "$3.50"),
        ("oid", "5", "5"),
        ("inet", "'10.0.0.1'", "10.0.0.1/32"),
        ("timetz", "'10:00+02'", "10:00:00+02"),
        ("jsonb", "'{\"a\": 1}'", '{"a": 1}'),
        ("int4range", "'[1,3)'", "[1,3)"),
        ("bit(3)", "B'101'", "101"),
        ("bytea", "'\\x4142'", "AB"),
        ("date", "'2024-02-29'", "2024-02-29"),
        ("time", "'24:00'", "24:00:00"),
        ("interval", "'1 mon 2 days 03:00'", "1 month 2 days 03:00:00"),
    ],
)  # fmt: skip
@pytest.mark.few(8)
def test_a_file_holds_every_value_without_loss(
    source: Callable[..., None], tmp_path: Path, ending: str, type_name: str, literal: str, text: str
) -> None:
    source(type_name, [literal] * 3)
    target = str(tmp_path / f"out.{ending}")
    publish({"file": target}, KEEP)
    if ending == "duckdb":
        with closing(duckdb.connect(target, read_only=True)) as connection:
            found = connection.execute("SELECT CAST(x AS VARCHAR) FROM release").fetchall()
        assert found == [(text,)] * 3
    elif ending == "parquet":
        assert read(target) == {(text,): 3}
    else:
        reported = duckdb.sql(f"SELECT x FROM read_csv('{target}', all_varchar = true)").fetchall()
        odd = {"numeric(2,4)": "0.0012", "bytea": "\\x4142", "interval": "1 mon 2 days 03:00:00"}
        assert reported == [(odd.get(type_name, text),)] * 3


@pytest.mark.parametrize(
    ("type_name", "literal"),
    [
        ("date", "'infinity'"),
        ("timestamp", "'-infinity'"),
        ("timestamptz", "'infinity'"),
        ("timestamp", "'294270-01-01'"),
        ("numeric(10,2)", "'NaN'"),
    ],
)
def test_what_no_file_holds_is_refused_before_it_is_made(
    execute: Execute, source: Callable[..., None], tmp_path: Path, type_name: str, literal: str
) -> None:
    source(type_name, [literal, *["NULL"] * 3])
    target = tmp_path / "out.parquet"
    with pytest.raises(UnsupportedError, match="'x'"):
        publish({"file": str(target)}, KEEP)
    assert list(tmp_path.iterdir()) == []
    publish({"file": str(tmp_path / "out.csv")}, KEEP)  # as texts they pass
    publish({"table": "anon.t"}, KEEP)
    assert execute("SELECT count(x) FROM anon.t") == [(1,)]


def test_an_array_of_an_enum_is_text_in_a_file(execute: Execute, source: Callable[..., None], tmp_path: Path) -> None:
    execute("DROP TYPE IF EXISTS public.mood CASCADE", "CREATE TYPE public.mood AS ENUM ('sad', 'ok')")
    source("public.mood[]", ["'{sad,ok}'"] * 3)
    publish({"file": str(tmp_path / "out.parquet")}, KEEP)
    assert read(str(tmp_path / "out.parquet")) == {("{sad,ok}",): 3}


def test_a_file_that_is_no_copy_of_the_released_rows_is_not_published(
    source: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source("numeric(10,4)", ["1.2345"] * 3)
    typed = files.typed_column
    monkeypatch.setattr(files, "typed_column", lambda name, kind: typed(name, "DECIMAL(18,3)" if name == "x" else kind))
    with pytest.raises(AuditError, match="other_rows"):
        publish({"file": str(tmp_path / "out.parquet")}, KEEP)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("type_name", ["float8", "bytea", "numeric"])
def test_a_file_of_entities_is_a_copy_too(source: Callable[..., None], tmp_path: Path, type_name: str) -> None:
    source(type_name, ["'1e+30'"] * 2)
    publish({"file": str(tmp_path / "out.parquet")}, KEEP, 1, entity="sex", columns={"x": KEEP})
    assert sum(read(str(tmp_path / "out.parquet")).values()) == 2


# -- what is refused, and in which words -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clinic.", 'clinic."my', ".x", "clinic..x", "clinic.f(1)", "a.b.c.d"])
@pytest.mark.parametrize("output", [{"table": "anon.t"}])
def test_a_source_that_is_no_name_is_an_input_error(name: str, output: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no name of a relation"):
        publish(output, KEEP, table=name)


@pytest.mark.parametrize("name", ["anon.x(1)", "anon.", 'anon."x', "a.b.c.d"])
@pytest.mark.parametrize("kind", ["table", "view", "live_view"])
def test_a_target_that_is_no_name_is_refused_before_any_work(
    source: Callable[..., None], execute: Execute, name: str, kind: str
) -> None:
    source("text", ["'a'"] * 3)
    with pytest.raises(TargetError):
        publish({kind: name}, KEEP)
    assert execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'anon'::regnamespace") == [(0,)]


def test_a_check_of_no_name_is_told_and_no_traceback() -> None:
    printed = CliRunner().invoke(main, ["check", "postgresql://", "clinic.", "--qi", "x", "--k", "2"])
    assert printed.exit_code == 2
    assert "no name of a relation" in printed.output


@pytest.fixture
def planless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refused now is refused before any work."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("the source was encoded")

    monkeypatch.setattr(anonymizer, "encode_source", fail)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("MATERIALIZED VIEW anon.x AS SELECT 1", "materialized view"),
        ("SEQUENCE anon.x", "sequence"),
        ("TYPE anon.x AS (a int)", "composite type"),
        ("TYPE anon.x AS ENUM ('a')", "type"),
        ("DOMAIN anon.x AS int", "type"),
    ],
)
@pytest.mark.parametrize("target", ["table", "view", "live_view"])
@pytest.mark.usefixtures("planless")
def test_other_relations_are_not_replaced(
    source: Callable[..., None], execute: Execute, made: str, kind: str, target: str
) -> None:
    source("text", ["'a'"] * 3)
    execute(f"CREATE {made}")
    with pytest.raises(TargetError, match=f"is a {kind}"):
        publish({target: "anon.x"}, KEEP)


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        ({"owner": "nobody_there"}, "no role 'nobody_there'"),
        ({"readers": ["nobody_there"]}, "no role 'nobody_there'"),
        ({"owner": "stranger"}, "no member"),
        ({"owner": "homeless"}, "may not have relations in the schema 'anon'"),
    ],
)
@pytest.mark.usefixtures("planless")
def test_roles_are_checked_before_any_work(
    source: Callable[..., None], execute: Execute, monkeypatch: pytest.MonkeyPatch, roles: dict[str, Any], told: str
) -> None:
    source("text", ["'a'"] * 3)
    execute("DROP ROLE IF EXISTS maker, stranger, homeless")
    execute("CREATE ROLE maker LOGIN", "CREATE ROLE stranger", "CREATE ROLE homeless", "GRANT homeless TO maker")
    execute("GRANT USAGE, CREATE ON SCHEMA anon TO maker, stranger", "GRANT USAGE ON SCHEMA clinic TO maker")
    execute("GRANT SELECT ON clinic.t TO maker")
    monkeypatch.setenv("PGUSER", "maker")
    try:
        with pytest.raises(TargetError, match=told):
            publish({"view": "anon.x", **roles}, KEEP)
    finally:
        execute("DROP OWNED BY maker, stranger, homeless", "DROP ROLE maker, stranger, homeless")


def test_what_a_function_says_is_not_repeated(source: Callable[..., None], execute: Execute) -> None:
    source("text", [f"'{SECRET}'"] * 3)
    execute(
        "CREATE OR REPLACE FUNCTION clinic.told(n text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'no consent of %', n USING ERRCODE = 'insufficient_privilege'; END $$",
        "CREATE OR REPLACE FUNCTION clinic.asked(n text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        """EXECUTE format('SELECT %I', n) INTO n; RETURN n; END $$""",
    )
    for function in ("told", "asked"):
        execute(f"CREATE OR REPLACE VIEW clinic.v AS SELECT clinic.{function}(x) AS x, sex FROM clinic.t")
        with pytest.raises(EngineError) as raised:
            publish({"table": "anon.x"}, AS_IS, table="clinic.v")
        assert SECRET not in str(raised.value)
        assert "withheld" in str(raised.value)
    with pytest.raises(SourceError, match="nothing_there"):  # what the server says of our statement is
        publish({"table": "anon.x"}, KEEP, table="clinic.nothing_there")


def test_a_session_that_only_reads_names_the_cure(
    source: Callable[..., None], execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    source("text", ["'a'"] * 3)
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    with pytest.raises(UnsupportedError, match="default_transaction_read_only"):
        publish({"table": "anon.x"}, KEEP)


def test_settings_of_the_role_change_nothing(
    source: Callable[..., None], execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither how literals are read, nor whose functions are called."""
    source("text", [r"'a\b'"] * 3)
    execute(
        "CREATE SCHEMA IF NOT EXISTS trap",
        "CREATE OR REPLACE FUNCTION trap.current_setting(text) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'called'; END $$",
    )
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off -c search_path=trap,pg_catalog,clinic")
    x = {"role": "quasi_identifier", "hierarchy": {"redact": {"char": "\\"}}, "min_level": 2, "max_level": 2}
    publish({"table": "anon.x"}, x, table="t")
    assert execute("SELECT DISTINCT x FROM anon.x") == [("a\\\\",)]


def test_a_table_is_found_behind_a_sequence_of_its_name(source: Callable[..., None], execute: Execute,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    source("text", ["'a'"] * 3)
    execute("CREATE SCHEMA IF NOT EXISTS first", "CREATE TYPE first.t AS (a int)")
    monkeypatch.setenv("PGOPTIONS", "-c search_path=first,clinic")
    publish({"table": "anon.x"}, KEEP, table="t")
    assert execute("SELECT count(*) FROM anon.x") == [(3,)]


def test_a_release_that_others_stand_on_is_told(source: Callable[..., None], execute: Execute) -> None:
    source("text", ["'a'"] * 3)
    publish({"view": "anon.x"}, KEEP)
    execute("CREATE VIEW anon.above AS SELECT * FROM anon.x")
    with pytest.raises(EngineError, match="another relation depends on it") as raised:
        publish({"view": "anon.x"}, KEEP)
    assert raised.value.kind == "2BP01"
    assert execute("SELECT count(*) FROM anon.above") == [(3,)]


@pytest.mark.parametrize(
    "text",
    [
        f"host=db user=me password={SECRET}",
        f"postgresql:/me:{SECRET}@db/clinic",
        f"postgres:me:{SECRET}@db/clinic",
        f"Server=db;PWD={SECRET}",
    ],
)
def test_a_text_that_drivers_connect_with_is_not_repeated(text: str, tmp_path: Path) -> None:
    document = {"columns": {"x": KEEP}, "privacy": [{"type": "k_anonymity", "k": 2}]}
    for given, source in ((text, {}), (None, {"source": text})):
        with pytest.raises(InputError) as raised:
            sqlanon.anonymize(given, sqlanon.Policy.from_dict({**document, **source}, base_directory=tmp_path))
        assert SECRET not in str(raised.value)
    with pytest.raises(SourceError, match=r"year=2024\.parquet"):
        sqlanon.anonymize(str(tmp_path / "year=2024.parquet"), document)


def test_a_subset_is_found_by_equal_numbers(source: Callable[..., None], execute: Execute) -> None:
    source("numeric", ["1.00", "2", "3.0", "4"] * 2)
    execute("DROP TABLE IF EXISTS clinic.s", "CREATE TABLE clinic.s (x numeric)")
    execute("INSERT INTO clinic.s VALUES (1), (1), (2.0), (2)")
    presence = {"type": "delta_presence", "min": 0, "max": 1, "subset": {"table": "clinic.s"}}
    publish({"table": "anon.x"}, KEEP, privacy=[{"type": "k_anonymity", "k": 2}, presence])
    assert execute("SELECT count(*), sum(x) FROM anon.x") == [(4, "6.00")]


def test_records_with_null_are_left_out_of_any_type(source: Callable[..., None], execute: Execute) -> None:
    """What leaving them out does to the other columns is told, unless these cannot be compared."""
    source("json", ["'{}'"] * 4)
    execute("ALTER TABLE clinic.t ADD COLUMN age int", "UPDATE clinic.t SET age = 3")
    execute("UPDATE clinic.t SET age = NULL WHERE ctid = (SELECT min(ctid) FROM clinic.t)")
    age = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    columns = {"x": KEEP, "sex": {"role": "drop"}, "age": age}
    with sqlanon.anonymize(None, policy({"table": "anon.x"}, KEEP, columns=columns, nulls="basic")) as release:
        release.plan.null_bias()
    assert execute("SELECT count(*) FROM anon.x") == [(3,)]


def test_intervals_of_numbers_of_any_scale_are_exact(execute: Execute, source: Callable[..., None]) -> None:
    """69.7 is below 70, whatever it would be rounded to."""
    literals = ["69.7", "69.999999999", "70", "-0.3", "79.99", "80.01", "'NaN'", "'Infinity'", "1e60"]
    source("numeric", [literal for literal in literals for _ in range(3)])
    x = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 10, "upper": "79.995"}}, "min_level": 1}
    publish({"table": "anon.t"}, {**x, "max_level": 1})
    found = Counter(text for (text,) in execute("SELECT x FROM anon.t"))
    assert found == {
        "[60.000, 70.000)": 6, "[70.000, 79.995)": 6, "[-10.000, 0.000)": 3, ">=79.995": 3, "far": 9
    }  # fmt: skip


def test_a_number_of_any_scale_stays_a_number(execute: Execute, source: Callable[..., None]) -> None:
    source("numeric", ["1.2345678", "1.23456780"] * 2)
    publish({"table": "anon.t"}, AS_IS)
    assert execute("SELECT DISTINCT x, pg_typeof(x)::text FROM anon.t") == [("1.2345678", "numeric")]
