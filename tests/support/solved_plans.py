"""Plans of policies over tables in a database of their own, where they can be met."""

import random
from collections.abc import Iterator
from typing import Any

import duckdb
from brute_models import World
from policies import document_of, quasi
from random_worlds import load
from tables import text_table

import sqlanon


def skewed_policy(connection: duckdb.DuckDBPyConnection, columns: list[str], seed: int) -> sqlanon.Policy:
    """Make a table of 300 records, of which few have a rare value in any column, and return a policy of it."""
    rng = random.Random(seed)
    rows = [tuple(str(min(int(rng.expovariate(0.7)), 7)) for _ in columns) for _ in range(300)]
    text_table(connection, columns, rows)
    levels = {str(v): [str(v // 2), str(v // 4), "*"] for v in range(8)}
    return sqlanon.Policy.from_dict(
        document_of({c: quasi({"levels": levels}) for c in columns}, k=4, table="t", suppression_limit=0.1)
    )


def plans_of(table: World | list[tuple], document: dict[str, Any]) -> Iterator[sqlanon.Plan]:
    """Yield the plan of a policy over a world, or over rows of texts; nothing where the policy cannot be met."""
    with duckdb.connect() as connection:
        if isinstance(table, list):
            text_table(connection, list(document["columns"]), table)
        else:
            load(connection, table)
        try:
            plan = sqlanon.plan(connection, document)
        except sqlanon.NoSolutionError:
            return
        with plan:
            yield plan
