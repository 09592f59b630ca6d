"""The script for Spark SQL, whose text but for the kind of table is that for Databricks, run on Spark."""

from __future__ import annotations

import importlib.util
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dialect_world import POLICY, Ran, Table, in_duckdb, multiset, people

import sqlanon
from sqlanon.dialects import dialect_named
from sqlanon.report.dialect_script import told_statements

if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
    pytest.skip("Spark is not installed (PySpark and Java)", allow_module_level=True)

SMALL = ("city", "age", "disease")
TYPES = {"VARCHAR": "STRING", "INTEGER": "INT"}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of one thread; one that others hold open is left open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        folder: Path = tmp_path_factory.mktemp("spark")
        settings = {
            "spark.sql.warehouse.dir": str(folder),
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than some hundred records
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        made = active or SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    yield made
    if active is None:
        made.stop()


def test_the_script_publishes_what_duckdb_does(spark: Any) -> None:
    every = people(120)
    places = [list(every.columns).index(name) for name in SMALL]
    rows = [tuple(row[place] for place in places) for row in every.rows]
    table = Table("people", {name: every.columns[name] for name in SMALL}, rows)
    policy = {**POLICY, "columns": {name: POLICY["columns"][name] for name in SMALL}}
    declared = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in table.columns.items())
    spark.createDataFrame(table.rows, declared).createOrReplaceTempView("people")
    with in_duckdb(table) as connection, sqlanon.plan(connection, sqlanon.Policy.from_dict(policy)) as plan:
        ran = Ran(plan, "spark", lambda text: [tuple(row) for row in spark.sql(text).collect()])
        assert ran.released == multiset(plan._session.engine.run("release", plan._release_query()))
        assert ran.released and ran.encoded == 120 and ran.offending == {}
        differing = [
            (one.text, other.text)
            for one, other in zip(
                told_statements(plan.script_parts(), dialect_named("databricks")),
                told_statements(plan.script_parts(), dialect_named("spark")),
                strict=True,
            )
            if one.text != other.text.replace("\nUSING PARQUET", "")
        ]
        assert not differing
