"""The script for Spark SQL, whose text but for the kind of table is that for Databricks, run on Spark."""

from typing import Any

from dialect_world import POLICY, Ran, Table, in_duckdb, multiset, people

import sqlanon
from sqlanon.interop.scripts.dialects import dialect_named
from sqlanon.interop.scripts.statements import script_statements
from sqlanon.interop.scripts.warehouse import script_parts

SMALL = ("city", "age", "disease")
TYPES = {"VARCHAR": "STRING", "INTEGER": "INT"}


def test_the_script_publishes_what_duckdb_does(spark: Any) -> None:
    every = people(120)
    places = [list(every.columns).index(name) for name in SMALL]
    rows = [tuple(row[place] for place in places) for row in every.rows]
    table = Table("people", {name: every.columns[name] for name in SMALL}, rows)
    columns = {name: POLICY["columns"][name] for name in SMALL}
    levels = columns["city"]["hierarchy"]["levels"]
    cities = {"levels": {name: [f"{text}${{spark.app.name}}" for text in texts] for name, texts in levels.items()}}
    columns["city"] = {**columns["city"], "hierarchy": cities, "min_level": 1}
    policy = {**POLICY, "columns": columns, "accept": []}
    session = spark.session
    session.conf.set("spark.sql.variable.substitute", "true")
    declared = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in table.columns.items())
    session.createDataFrame(table.rows, declared).createOrReplaceTempView("people")
    with in_duckdb(table) as connection, sqlanon.plan(connection, policy) as plan:
        ran = Ran(plan, "spark", lambda text: [tuple(row) for row in session.sql(text).collect()])
        assert ran.released == multiset(plan._session.engine.run("release", plan._release_query()))
        assert ran.released and ran.encoded == 120 and ran.offending == {}
        assert any("${spark.app.name}" in str(row) for row in ran.released)  # which sessions replace
        assert session.conf.get("spark.sql.variable.substitute") == "false"
        differing = [
            (one.text, other.text)
            for one, other in zip(
                script_statements(script_parts(plan), dialect_named("databricks")),
                list(script_statements(script_parts(plan), dialect_named("spark")))[1:],  # after the setting
                strict=True,
            )
            if one.text != other.text.replace("\nUSING PARQUET", "")
        ]
        assert not differing
    session.catalog.dropTempView("people")
