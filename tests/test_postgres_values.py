"""Values of PostgreSQL that have several texts, or none elsewhere: what is equal, what a file holds, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from postgres_server import Server, postgres  # noqa: F401 - a fixture
from sqlglot import exp

import sqlanon
from sqlanon.audit.check import check_relation
from sqlanon.compiler import entities
from sqlanon.compiler.trees import column
from sqlanon.errors import AuditError, NoSolutionError, SqlanonError
from sqlanon.models.k_anonymity import KAnonymity

postgres_engine = pytest.importorskip("sqlanon.engines.postgres", reason="the driver of PostgreSQL is not installed")
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")

SECRET = "canary-7f3a"
IGNORES_CASE = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
NAMES = ["'Bob'", "'bob'", "'BOB'", "'bOb'", "'boB'"]
SCALES = ["1", "1.0", "1.00", "1.000", "1.0000"]

Execute = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def execute(postgres: Server) -> Iterator[Execute]:  # noqa: F811
    """Run statements as the superuser; the rows of the last one."""
    with closing(dbapi.connect(postgres.uri(), autocommit=True)) as connection, connection.cursor() as cursor:

        def run(*statements: str) -> list[tuple[Any, ...]]:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if statements[-1].lstrip().startswith("SELECT") else []

        run("CREATE SCHEMA clinic", "CREATE SCHEMA anon", f"CREATE COLLATION public.ci ({IGNORES_CASE})")
        yield run


@pytest.fixture(autouse=True)
def environment(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
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
    monkeypatch.setattr(entities, "own_text", lambda name, *_: exp.cast(column(name), "VARCHAR"))
    with pytest.raises(AuditError):
        publish({"table": "anon.t"}, {"role": "drop"}, 2, entity="x", suppression_limit=1.0)


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
    execute: Execute, source: Callable[..., None], postgres: Server  # noqa: F811
) -> None:  # fmt: skip
    source("text COLLATE public.ci", ["'Bob'"] * 5 + ["'bob'"])
    publish({"table": "anon.t"}, AS_IS, suppression_limit=0.2)
    assert execute("SELECT x, count(*) FROM anon.t GROUP BY x") == [("Bob", 5)]
    engine = postgres_engine.PostgresEngine(postgres.uri())
    try:
        told = check_relation(
            engine, engine.source_table("clinic.t"), quasi_identifiers=["x"], models=[KAnonymity(k=5)]
        )
    finally:
        engine.close()
    assert (told.classes, told.smallest_class) == (2, 1)


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
    assert Counter(execute("SELECT x FROM anon.t")) == {
        (named.get(text, text),): n for (text,), n in expected.items()
    }
