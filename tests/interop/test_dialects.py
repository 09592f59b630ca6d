"""The SQL of a policy in other dialects: golden files, and what is lacking is refused."""

import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pytest
import sqlglot
from click.testing import CliRunner
from dialect_world import (
    BEGIN,
    DOCUMENT,
    END,
    GOLDEN,
    POLICY,
    WAREHOUSES,
    Table,
    golden_scripts,
    in_duckdb,
    lacking,
    lacking_table,
    people,
    scripts,
)
from policies import document_of, quasi
from sqlglot import exp

import sqlanon
from sqlanon.cli import main
from sqlanon.interop.scripts.dialect_script import dialect_script
from sqlanon.interop.scripts.dialects import DIALECTS, dialect_named
from sqlanon.interop.scripts.dialects.base import ARGUMENTS, ASOF, WIDE, Dialect, Lacks
from sqlanon.interop.scripts.dialects.rendering import render
from sqlanon.interop.scripts.statements import script_statements
from sqlanon.interop.scripts.warehouse import script_in, script_parts

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    return scripts()


@pytest.mark.slow
@pytest.mark.parametrize("name", WAREHOUSES)
def test_the_script_is_the_golden_file(name: str) -> None:
    """``python tests/dialect_world.py`` writes them anew."""
    assert golden_scripts()[name] == (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")


@pytest.mark.slow
@every_dialect
def test_every_statement_parses_again(told: dict[str, str], dialect: Dialect) -> None:
    text = told[dialect.name].split("-- ", 1)[1]
    for helper in dialect.preamble:
        text = text.replace(helper + ";", "")
    statements = [tree for tree in sqlglot.parse("-- " + text, dialect=dialect.writes) if tree is not None]
    assert len(statements) > 30
    assert not any(isinstance(tree, exp.Command) for tree in statements)
    for tree in statements:
        assert not list(tree.find_all(exp.Placeholder))
        assert sqlglot.parse_one(tree.sql(dialect=dialect.writes), dialect=dialect.writes) == tree


@every_dialect
def test_every_rule_is_for_a_node_of_our_statements(dialect: Dialect) -> None:
    assert set(dialect.rules) <= set(ARGUMENTS) - {exp.Anonymous}


def select(expression: str) -> exp.Expr:
    return sqlglot.parse_one(f"SELECT {expression} FROM t", dialect="duckdb")


SAMPLES: dict[type[exp.Expr], str] = {
    exp.RegexpReplace: "REGEXP_REPLACE(a, 'x', 'y')",
    exp.Replace: "REPLACE(a, 'x', 'y')",
    exp.TryCast: "TRY_CAST(a AS INTEGER)",
}


def lacking_statements(dialect: Dialect) -> list[tuple[Lacks, exp.Expr]]:
    """Per thing that the dialect lacks, a statement that needs it."""
    found: list[tuple[Lacks, exp.Expr]] = []
    found += [(said, select(SAMPLES[kind])) for kind, said in dialect.rules.items() if isinstance(said, Lacks)]
    for kind, name in dialect.types.items():
        if isinstance(name, Lacks):
            cast = exp.cast(exp.column("a"), exp.DataType(this=kind))
            found.append((name, exp.select(cast).from_("t")))
    for pattern, said in dialect.patterns.items():
        if isinstance(said, Lacks):
            found.append((said, select(f"STRFTIME(a, '{pattern}')")))
    if not dialect.asof:
        join = "SELECT 1 FROM t ASOF LEFT JOIN u ON t.a >= u.a"
        found.append((ASOF, sqlglot.parse_one(join, dialect="duckdb")))
    if not dialect.wide_literals:
        found.append((WIDE, select(f"a + {10**20}")))
    return found


@every_dialect
def test_what_a_dialect_lacks_is_refused(dialect: Dialect) -> None:
    refused = set()
    for lack, statement in lacking_statements(dialect):
        with pytest.raises(sqlanon.UnsupportedError) as error:
            render(statement, dialect)
        assert lack.reason in str(error.value) and lack.hint in str(error.value)
        refused.add(lack.reason)
    assert refused == set(lacking(dialect))


@every_dialect
@pytest.mark.parametrize(
    "expression",
    [
        "MEDIAN(a)",
        "SOMETHING_NEW(a)",
        "CAST(a AS BLOB)",
        "CAST(a AS INTEGER[])",
        "STRFTIME(a, '%H')",
        "?",
        "a FROM t QUALIFY 1 = 1) SELECT (1",
        "SUM(a) FILTER (WHERE a > 1)",
        "SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    ],
)
def test_what_was_not_checked_is_refused(dialect: Dialect, expression: str) -> None:
    if "QUALIFY" in expression:
        statement = sqlglot.parse_one("SELECT a FROM t QUALIFY a = 1", dialect="duckdb")
    else:
        statement = select(expression)
    with pytest.raises(sqlanon.UnsupportedError, match=f"not checked for {dialect.title}"):
        render(statement, dialect)


@every_dialect
def test_a_join_of_another_kind_is_refused(dialect: Dialect) -> None:
    with pytest.raises(sqlanon.UnsupportedError, match="FULL JOIN"):
        render(sqlglot.parse_one("SELECT 1 FROM t FULL JOIN u ON t.a = u.a", dialect="duckdb"), dialect)


def test_the_document_tells_what_is_lacking() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0].strip() == lacking_table()


IN_CAPITALS = {("snowflake", "order"), ("snowflake", "key_0"), ("snowflake", "n")}
"""Plain names, in the dialect that stores them in capitals."""
HOSTILE = ("order", "x; DROP TABLE y", "`b`", "a'c\\", "key_0", "n", "\n")


@every_dialect
def test_names_and_texts_are_quoted_or_refused(dialect: Dialect) -> None:
    texts = ["'; DROP TABLE y; --", "\\", "\\'", "`", "\n"]
    for name in HOSTILE:
        statement = exp.select(
            *[exp.Literal.string(text).as_(f"c{i}") for i, text in enumerate(texts)],
            exp.column(exp.to_identifier(name, quoted=True)),
        ).from_(exp.Table(this=exp.to_identifier("t", quoted=True)))
        again = sqlglot.parse_one(render(statement, dialect), dialect=dialect.writes)
        assert isinstance(again, exp.Select)
        assert [item.this.name for item in again.expressions[:-1]] == texts
        assert again.expressions[-1].name == (name.upper() if (dialect.name, name) in IN_CAPITALS else name)


def planned(table: Table, policy: dict[str, Any]) -> sqlanon.Plan:
    return sqlanon.plan(in_duckdb(table), policy)


@pytest.mark.parametrize(
    ("dialect", "name"), [("bigquery", "a.b"), ("databricks", "a b"), ("spark", "a=b"), ("postgres", "é" * 32)]
)
def test_a_name_that_a_table_cannot_have_is_refused(dialect: str, name: str) -> None:
    table = Table("t", {name: "VARCHAR"}, [("x",)] * 5)
    policy = document_of({name: "suppress"}, k=2, table="t")
    with planned(table, policy) as plan, pytest.raises(sqlanon.UnsupportedError, match="name"):
        script_in(plan, dialect)


def test_a_type_whose_texts_differ_is_refused() -> None:
    table = Table("t", {"a": "DOUBLE"}, [(1.5,)] * 5)
    policy = document_of({"a": "suppress"}, k=2, table="t")
    with planned(table, policy) as plan:
        for dialect in DIALECTS:
            if dialect.name == "duckdb":
                assert "sqlanon_base" in script_in(plan, "duckdb", run="")
                continue
            with pytest.raises(sqlanon.UnsupportedError, match="'a' has the type DOUBLE"):
                script_in(plan, dialect.name)


@pytest.mark.slow
@every_dialect
@pytest.mark.few(4)
def test_models_of_the_shares_of_values_can_be_written(dialect: Dialect) -> None:
    models = [{"type": "delta_disclosure", "delta": 2}, {"type": "beta_likeness", "beta": 3, "enhanced": True}]
    columns = {**POLICY["columns"], "disease": {"role": "sensitive", "models": models}}
    with planned(people(), {**POLICY, "columns": columns}) as plan:
        text = script_in(plan, dialect.name)
    assert "audit delta_disclosure of disease" in text and "audit beta_likeness of disease" in text


@pytest.mark.slow
def test_ordered_distances_and_redaction_are_refused() -> None:
    ordered = {**POLICY["columns"]["disease"], "models": [{"type": "t_closeness", "t": 0.5, "distance": "ordered"}]}
    with planned(people(), {**POLICY, "columns": {**POLICY["columns"], "disease": ordered}}) as plan:
        assert "ASOF" in script_in(plan, "duckdb")
        with pytest.raises(sqlanon.UnsupportedError, match="Snowflake lacks an ASOF JOIN"):
            script_in(plan, "snowflake")
    with (
        planned(people(), {**POLICY, "suppressed": "redact"}) as plan,
        pytest.raises(sqlanon.UnsupportedError, match="redact"),
    ):
        script_in(plan, "duckdb")


@pytest.mark.slow
def test_a_source_that_is_called_as_a_part_of_a_statement_needs_its_schema() -> None:
    policy = {**POLICY, "table": "records"}
    with planned(Table("records", people().columns, people().rows), policy) as plan:
        with pytest.raises(sqlanon.UnsupportedError, match="--source-table"):
            script_in(plan, "snowflake")
        text = script_in(plan, "snowflake", source_table='DB.S."records"')
        assert 'FROM "DB"."S"."records"' in text


LONE: dict[str, Any] = document_of({"a": "suppress"}, k=2, table="t")


@pytest.fixture(scope="module")
def lone() -> Iterator[sqlanon.Plan]:
    """The plan of a table with one column."""
    with planned(Table("t", {"a": "VARCHAR"}, [("x",)] * 5), LONE) as plan:
        yield plan


@pytest.mark.parametrize(
    ("dialect", "written", "told"),
    [
        ("snowflake", '"People"', '"People"'),
        ("snowflake", "People", '"PEOPLE"'),
        ("snowflake", "db.my$Schema.people", '"DB"."MY$SCHEMA"."PEOPLE"'),
        ("snowflake", 'db."schema"."people"', '"DB"."schema"."people"'),
        ("snowflake", 'DB."my schema"."a.b"', '"DB"."my schema"."a.b"'),
        ("bigquery", "`People`", "`People`"),
        ("bigquery", "`my-project.set.people`", "`my-project`.`set`.`people`"),
        ("databricks", "`a``b`", "`a``b`"),
        ("postgres", '"a""b"', '"a""b"'),
    ],
)
def test_a_table_is_named_in_the_way_of_the_dialect(lone: sqlanon.Plan, dialect: str, written: str, told: str) -> None:
    assert f"FROM {told}" in script_in(lone, dialect, source_table=written)


def test_snowflake_finds_columns_and_tables_that_were_created_without_quotes() -> None:
    """No plain name is written in small letters, and a name in quotes that is not plain keeps its letters."""
    columns = {"city": "VARCHAR", "Age group": "VARCHAR", "ID": "VARCHAR"}
    roles = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in columns}
    table = Table("people", columns, [("x", "y", "z")] * 5)
    with planned(table, {**LONE, "table": "people", "columns": roles}) as plan:
        text = script_in(plan, "snowflake", run="")
        own = script_in(plan, "trino", run="")
    trees = [tree for tree in sqlglot.parse(text, dialect="snowflake") if tree is not None]
    found = {item.name for tree in trees for item in tree.find_all(exp.Identifier)}
    assert {"PEOPLE", "CITY", "Age group", "ID", "SQLANON_RELEASE"} <= found
    assert {name for name in found if name != name.upper()} == {"Age group"}
    assert '"people"' in own and '"city"' in own


def test_columns_that_snowflake_would_call_alike_are_refused(lone: sqlanon.Plan) -> None:
    parts = replace(script_parts(lone), released=["city", "CITY"])
    with pytest.raises(sqlanon.UnsupportedError, match="both be called 'CITY'"):
        dialect_script(parts, dialect_named("snowflake"))


def test_a_table_of_the_policy_is_named_as_it_is_written() -> None:
    with in_duckdb(Table("t", {"a": "VARCHAR"}, [("x",)] * 5)) as connection:
        connection.execute("""ALTER TABLE t RENAME TO "my ""a" """)
        with sqlanon.plan(connection, {**LONE, "table": 'my "a'}) as plan:
            assert 'FROM "my ""a"' in script_in(plan, "snowflake")


@pytest.mark.parametrize("written", ['a."b', "a.", "a..b", "f(x)", "a.b.c.d", "IDENTIFIER('x')", "$1", "@stage", " "])
def test_what_names_no_table_is_refused(lone: sqlanon.Plan, written: str) -> None:
    with pytest.raises(sqlanon.InputError, match="no name of a relation"):
        script_in(lone, "snowflake", source_table=written)


@pytest.mark.slow
def test_no_group_is_called_as_an_alias() -> None:
    """Some dialects take the name in a GROUP BY or HAVING for that of the SELECT, not for the column's."""
    hostile = {"city": "records", "age": "n", "zip": "value", "order": "raw", "disease": "RECORDS_FOUND", "note": "N_2"}
    table = Table("people", {hostile.get(name, name): kind for name, kind in people().columns.items()}, people().rows)
    policy = {
        **POLICY,
        "columns": {hostile.get(name, name): column for name, column in POLICY["columns"].items()},
        "accept": [hostile["note"]],
        "suppression_limit": 1,
    }
    grouped = 0
    with planned(table, policy) as plan:
        for told in script_statements(script_parts(plan), dialect_named("bigquery")):
            for query in sqlglot.parse_one(told.text, dialect="bigquery").find_all(exp.Select):
                document = {
                    item.alias.casefold()
                    for item in query.expressions
                    if isinstance(item, exp.Alias) and not isinstance(item.this, exp.Column)
                }
                for part in (query.args.get("group"), query.args.get("having")):
                    bare = [c for c in part.find_all(exp.Column) if not c.table] if part is not None else []
                    within = [c for c in bare if part.key == "having" or c.parent is part]
                    assert not document & {c.name.casefold() for c in within}, told
                    grouped += part is not None
    assert grouped > 30


def test_a_subset_that_is_a_relation_is_refused() -> None:
    table = Table("t", {"a": "VARCHAR"}, [(rng,) for rng in random.Random(1).choices("xy", k=40)])
    connection = in_duckdb(table)
    connection.execute("CREATE TABLE part AS SELECT * FROM t LIMIT 20")
    policy = {
        "table": "t",
        "columns": {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}},
        "privacy": [{"type": "delta_presence", "min": 0, "max": 0.9, "subset": {"table": "part"}}],
    }
    with (
        sqlanon.plan(connection, policy) as plan,
        pytest.raises(sqlanon.UnsupportedError, match="besides the source"),
    ):
        script_in(plan, "duckdb")


def test_the_command_prints_the_script(tmp_path: Any) -> None:
    people_csv = tmp_path / "people.csv"
    people_csv.write_text("city\n" + "Graz\n" * 5 + "Linz\n" * 5)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "source: people.csv\ncolumns:\n  city: {role: quasi_identifier, hierarchy: {suppress: {}}}\n"
        "privacy: [{type: k_anonymity, k: 2}]\n"
    )
    asked = ["explain", str(policy), "--dialect", "trino"]
    without = CliRunner().invoke(main, asked)
    assert without.exit_code == 2 and "--source-table" in without.output
    result = CliRunner().invoke(main, [*asked, "--source-table", "hive.s.people"])
    assert result.exit_code == 0, result.output
    assert 'FROM "hive"."s"."people"' in result.output and "10 records of people.csv" in result.output
    assert re.search(r'DROP TABLE IF EXISTS "sqlanon_[0-9a-f]{8}_base"', result.output)
    lone = CliRunner().invoke(main, ["explain", str(policy), "--source-table", "x"])
    assert lone.exit_code == 2 and "--dialect" in lone.output


def test_rows_beyond_the_size_of_one_insert_are_split() -> None:
    values = {f"v{i}": ["*"] for i in range(1201)}
    table = Table("t", {"a": "VARCHAR"}, [("v1",)] * 3)
    policy = document_of({"a": quasi({"levels": values})}, k=2, table="t")
    with planned(table, policy) as plan:
        text = script_in(plan, "bigquery", run="")
    assert text.count("INSERT INTO `sqlanon_listed`") == 3
    assert text.count("'v") == 1201


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d.analyzes], ids=lambda dialect: dialect.name)
@pytest.mark.slow
def test_a_table_is_analyzed_after_its_last_row_and_before_it_is_read(dialect: Dialect) -> None:
    with in_duckdb(people()) as connection, sqlanon.plan(connection, POLICY) as plan:
        statements = list(script_statements(script_parts(plan), dialect))[len(dialect.preamble) :]
    written: dict[str, int] = {}
    analyzed: dict[str, int] = {}
    for place, item in enumerate(statements):
        tree = sqlglot.parse_one(item.text, dialect=dialect.writes)
        if isinstance(tree, exp.Analyze):
            analyzed[tree.args["tables"][0].name] = place
            continue
        target = next(iter(tree.this.find_all(exp.Table)), None) if isinstance(tree, exp.Create | exp.Insert) else None
        if target is not None:
            written[target.name] = place
        for relation in tree.find_all(exp.Table):
            if relation.name in written and relation is not target:
                assert analyzed.get(relation.name, -1) > written[relation.name], relation.name
    assert analyzed.keys() == written.keys() != set()


def test_dialects_are_found_by_name() -> None:
    assert [dialect_named(dialect.name) for dialect in DIALECTS] == list(DIALECTS)


def test_scripts_share_no_table() -> None:
    """Each has names of its own; they run one between the statements of the other, and neither drops its source."""
    source = Table("sqlanon_release", {"a": "VARCHAR"}, [("x",)] * 40 + [("y",)] * 30)
    column = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    policy = {"table": source.name, "columns": column, "privacy": [{"type": "k_anonymity", "k": 5}]}
    stricter = policy | {"privacy": [{"type": "k_anonymity", "k": 35}], "suppression_limit": 1}
    with planned(source, policy) as plan, planned(source, stricter) as other:
        texts = [script_in(plan, "duckdb"), script_in(plan, "duckdb"), script_in(other, "duckdb")]
    connection = in_duckdb(source)
    scripts = [[tree.sql("duckdb") for tree in sqlglot.parse(text, dialect="duckdb") if tree] for text in texts]
    for statements in zip_longest(*scripts, fillvalue="SELECT 1"):
        for statement in statements:
            connection.execute(statement)
    own = [set(re.findall(r'"(sqlanon_[0-9a-f]{8}_\w+)"', text)) for text in texts]
    assert not own[0] & own[1] and not own[0] & own[2] and not own[1] & own[2]
    releases = [name for names in own for name in names if name.endswith("_release")]
    assert [connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone() for name in releases] == [(70,), (70,), (40,)]
    assert connection.execute("SELECT COUNT(*) FROM sqlanon_release").fetchone() == (70,)


def test_a_script_estimates_the_bytes_that_it_reads() -> None:
    """By the columns that it reads."""
    source = Table("t", {"a": "VARCHAR", "unread": "VARCHAR"}, [("xyz", "long")] * 70)
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "unread": {"role": "drop"}}
    policy = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}]}
    with planned(source, policy) as plan:
        parts = script_parts(plan)
        head = script_in(plan, "snowflake").split("\n\n")[0]
    assert parts.characters == 210
    assert "A record has about 3 bytes" in head and "a table of 70 records costs about 0.1 MB at most" in head


def test_a_script_of_a_source_in_sqlite_lists_what_python_computed(tmp_path: Any) -> None:
    """Dates have no levels in SQLite's SQL: they are computed outside of it, beside the hierarchy that is listed."""
    path = tmp_path / "visits.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE visits (sex TEXT, seen DATE)")
        rows = [("fm"[i % 2], f"2024-0{1 + i % 3}-0{1 + i % 7}") for i in range(200)]
        connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    listed = {"sex": quasi({"levels": {"f": ["*"], "m": ["*"]}}), "seen": quasi({"dates": ["month", "year"]})}
    with sqlanon.plan(path, document_of(listed, k=20, table="visits")) as plan:
        published, text = plan.ledger.published, script_in(plan, "sqlite", run="")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
        assert connection.execute("SELECT COUNT(*) FROM sqlanon_release").fetchone() == (published,)
    assert published == 200
