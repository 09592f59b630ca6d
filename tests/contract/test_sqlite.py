"""SQLite runs the compiled node queries with the same verdicts: a standing proof that the SQL is portable."""

import math
import random
import sqlite3
from dataclasses import replace
from decimal import Decimal

import pytest
from effort import Block, enough, seeds
from random_cases import random_case
from random_worlds import document as world_policy
from random_worlds import random_world
from solved_plans import plans_of

import sqlanon
from sqlanon.core.compiler import batch as compiler
from sqlanon.core.evaluate.evaluator import verdicts
from sqlanon.core.sqltrees import names


def copy_relations(plan: sqlanon.Plan, sqlite: sqlite3.Connection) -> None:
    """Everything that a batch of verdicts reads, as it stands in DuckDB."""
    sensitive = range(len(plan.catalog.sensitive))
    engine = plan._session.source.engine
    wanted = [names.BASE, names.LEAF, names.MASKS, *map(names.overall, sensitive)]
    wanted += [names.ancestors(i) for i in sensitive if plan.catalog.sensitive[i].height > 1]
    for relation in wanted:
        try:
            data = engine.arrow("copy", f'SELECT * FROM "{relation}"')
        except sqlanon.EngineError:
            continue  # no ancestors: the hierarchy has several roots
        columns = ", ".join(f'"{c}"' for c in data.column_names)
        sqlite.execute(f'CREATE TABLE "{relation}" ({columns})')
        marks = ", ".join("?" * data.num_columns)
        rows = zip(*data.to_pydict().values(), strict=True)
        sqlite.executemany(f'INSERT INTO "{relation}" VALUES ({marks})', [tuple(map(_plain, row)) for row in rows])
    sqlite.execute(f'CREATE VIEW "{names.grain(0)}" AS SELECT * FROM "{names.BASE}"')
    sqlite.create_function("LN", 1, lambda x: math.log(x) if x else None, deterministic=True)
    sqlite.create_function("CEIL", 1, lambda x: None if x is None else math.ceil(x), deterministic=True)


def _plain(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


def agreed(plan: sqlanon.Plan, seed: int, form: compiler.Form) -> int:
    """Judge some nodes with both databases; the verdicts are the same."""
    with sqlite3.connect(":memory:") as sqlite:
        copy_relations(plan, sqlite)
        rng = random.Random(seed)
        nodes = [tuple(rng.randrange(a.height) for a in plan.catalog.attributes) for _ in range(5)]
        nodes = list(dict.fromkeys(nodes))
        arms = [0] * len(nodes)
        query = compiler.batch(plan.question, arms, form=form)
        found = sqlite.execute(
            query.sql(dialect="sqlite", identify=True), compiler.parameters(plan.question, nodes, arms, form=form)
        ).fetchall()
        ours = plan.evaluate_many([plan.catalog.levels(node) for node in nodes])
        theirs = verdicts(plan._problem, plan.question, nodes, found)
        for own, other in zip(ours, theirs):
            assert other.loss == pytest.approx(own.loss, rel=1e-12), seed
            for own_levels, other_levels in zip(own.lower_bounds.penalty, other.lower_bounds.penalty, strict=True):
                assert other_levels == pytest.approx(own_levels, rel=1e-12, abs=1e-9), seed
            assert replace(other, loss=own.loss, lower_bounds=own.lower_bounds) == own, seed
            assert other.lower_bounds.suppressed == own.lower_bounds.suppressed, seed
        return len(nodes)


@pytest.mark.parametrize("form", ["cross", "union"])
@seeds(20, 10)
def test_sqlite_gives_the_same_verdicts(block: Block, form: compiler.Form) -> None:
    compared = 0
    for seed in block:
        rows, _, document = random_case(seed)
        for plan in plans_of(rows, document):
            compared += agreed(plan, seed, form)
    assert enough(compared > 5)


@pytest.mark.parametrize("form", ["cross", "union"])
@seeds(24, 8)
def test_sqlite_gives_the_same_verdicts_for_every_model_and_measure(block: Block, form: compiler.Form) -> None:
    """All but the ordered distance, whose crossing is an ASOF join that SQLite lacks."""
    compared = 0
    for seed in block:
        world = random_world(seed)
        if any(model.get("distance") == "ordered" for _, model in world.models):
            continue
        for plan in plans_of(world, world_policy(world, random.Random(seed))):
            compared += agreed(plan, seed, form)
    assert enough(compared > 3)
