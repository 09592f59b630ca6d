"""Random rows and sets of patterns, plans over them, and the assignments that a search wrote."""

import random
from collections.abc import Sequence

import duckdb
from policies import document_of
from tables import text_table

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees import names
from sqlanon.recoding.patterns.pattern_set import Pattern, PatternSet, all_patterns, at_most, constrained, listed

Row = tuple[str | None, ...]


def planned(connection: duckdb.DuckDBPyConnection, rows: Sequence[Row], columns: int) -> sqlanon.Plan:
    """A plan over rows whose columns can only be suppressed."""
    titles = [f"c{i}" for i in range(columns)]
    connection.execute("DROP TABLE IF EXISTS t")
    text_table(connection, titles, list(rows))
    document = document_of(dict.fromkeys(titles, "suppress"), k=1, table="t", suppression_limit=1)
    return sqlanon.plan(connection, document)


def suppressed(row: Row, pattern: Pattern) -> Row:
    return tuple("☆" if i in pattern else value for i, value in enumerate(row))


def assigned_rows(plan: sqlanon.Plan, *columns: str) -> list[tuple]:
    """The rows of the table of assignments, read through the lookups: the values, and some columns."""
    positions = range(len(plan.catalog.attributes))
    reported = [*(f'l{i}."value"' for i in positions), *(f'a."{column}"' for column in columns)]
    joins = " ".join(
        f'JOIN "{names.LOOKUP}" l{i} ON l{i}.attribute = {i} AND '
        + " AND ".join(
            f'a."{names.key(w)}" & {plan.catalog.attributes[i].mask(0, w)} = l{i}."{names.key(w)}"'
            for w in range(plan.catalog.words)
        )
        for i in positions
    )
    return plan._session.engine.run("test", f'SELECT {", ".join(reported)} FROM "{names.ASSIGNED}" a {joins}')


def random_rows(rng: random.Random, columns: int) -> list[Row]:
    pools = [[None, *"abcdefgh"][rng.randint(0, 1) : rng.randint(2, 9)] for _ in range(columns)]
    skew = rng.choice([1, 1, 3])
    return [
        tuple(pool[int(len(pool) * rng.random() ** skew)] for pool in pools)
        for _ in range(rng.choice([1, 4, 12, 40, 120]))
    ]


def random_set(rng: random.Random, columns: int) -> PatternSet:
    def some() -> list[int]:
        return [c for c in range(columns) if rng.random() < 0.3]

    seed = rng.randrange(10)
    ties = rng.choice(["descending", "colexicographic", "random"])
    outliers = rng.random() < 0.5
    kind = rng.choice(["all", "most", "rules", "rules", "list"])
    if kind == "all":
        return all_patterns(columns, ties=ties, seed=seed)
    if kind == "most":
        return at_most(columns, rng.randint(0, columns), outliers=outliers, ties=ties, seed=seed)
    if kind == "list":
        chosen = [some() for _ in range(rng.randint(0, 6))]
        return listed(columns, chosen, outliers=outliers, ties=rng.choice([ties, "listed"]), seed=seed)
    return constrained(
        columns,
        outliers=outliers,
        never=some() if rng.random() < 0.5 else (),
        together=[some() for _ in range(rng.randint(0, 2))],
        exclusive=[some() for _ in range(rng.randint(0, 2))],
        most=rng.choice([None, rng.randint(0, columns)]),
        ties=ties,
        seed=seed,
    )


def check_script(engine: DuckDBEngine, replayed: Sequence[str]) -> None:
    """The script of the run, on the base alone, makes the same table of assignments, with the same types."""
    script = [engine.render(reported()) for name, reported in engine.replay if name in replayed]
    asked = [f'SELECT * FROM "{names.ASSIGNED}" ORDER BY ALL', f'DESCRIBE "{names.ASSIGNED}"']
    base = engine.arrow("test", f'SELECT * FROM "{names.BASE}"')
    with duckdb.connect() as other:
        other.register("base", base)
        other.execute(f'CREATE TABLE "{names.BASE}" AS SELECT * FROM base')
        for text in script:
            other.execute(text)
        for text in asked:
            assert other.execute(text).fetchall() == engine.run("test", text)
