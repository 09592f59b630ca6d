"""SQLite runs the compiled node queries with the same verdicts: a standing proof that the SQL is portable."""

from __future__ import annotations

import random
import sqlite3

import duckdb
import pytest
from conftest import text_table
from test_against_brute_force import random_case

import sqlanon
from sqlanon import names
from sqlanon.compiler import evaluate as compiler
from sqlanon.evaluator import verdicts


@pytest.mark.parametrize("form", ["cross", "union"])
def test_sqlite_gives_the_same_verdicts(form: compiler.Form) -> None:
    compared = 0
    for seed in range(40):
        rows, _, document = random_case(seed)
        with duckdb.connect() as connection:
            text_table(connection, list(document["columns"]), rows)
            try:
                plan = sqlanon.plan(connection, sqlanon.Policy.from_dict(document))
            except sqlanon.NoSolutionError:
                continue
            with plan, sqlite3.connect(":memory:") as sqlite:
                engine = plan._session.source.engine
                for relation in (names.BASE, names.LEAF, names.MASKS):
                    data = engine.arrow("copy", f'SELECT * FROM "{relation}"')
                    columns = ", ".join(f'"{c}"' for c in data.column_names)
                    sqlite.execute(f'CREATE TABLE "{relation}" ({columns})')
                    marks = ", ".join("?" * data.num_columns)
                    sqlite.executemany(
                        f'INSERT INTO "{relation}" VALUES ({marks})', zip(*data.to_pydict().values(), strict=True)
                    )
                sqlite.execute(f'CREATE VIEW "{names.GRAIN}" AS SELECT * FROM "{names.BASE}"')
                catalog = plan.catalog
                rng = random.Random(seed)
                nodes = [tuple(rng.randrange(a.height) for a in catalog.attributes) for _ in range(5)]
                nodes = list(dict.fromkeys(nodes))
                query = compiler.batch(plan.question, len(nodes), form=form)
                found = sqlite.execute(
                    query.sql(dialect="sqlite", identify=True), compiler.parameters(plan.question, nodes, form=form)
                ).fetchall()
                ours = plan.evaluate_many([catalog.levels(node) for node in nodes])
                theirs = verdicts(plan._problem, plan.question, nodes, found)
                assert theirs == ours, seed
                compared += len(nodes)
    assert compared > 50
