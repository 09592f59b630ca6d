"""Plans of policies over tables in a database of their own, where they can be met."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
from brute_models import World
from random_worlds import load
from tables import text_table

import sqlanon


def plans_of(table: World | list[tuple], document: dict[str, Any]) -> Iterator[sqlanon.Plan]:
    """Yield the plan of a policy over a world, or over rows of texts; nothing where the policy cannot be met."""
    with duckdb.connect() as connection:
        if isinstance(table, list):
            text_table(connection, list(document["columns"]), table)
        else:
            load(connection, table)
        try:
            plan = sqlanon.plan(connection, sqlanon.Policy.from_dict(document))
        except sqlanon.NoSolutionError:
            return
        with plan:
            yield plan
