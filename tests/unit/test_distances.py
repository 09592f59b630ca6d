"""The closed forms of the t-closeness distances against a transport problem that is really solved, and on large
data."""

import random
from collections import Counter
from fractions import Fraction

import brute
import brute_models
import duckdb
import pytest
from effort import Block, enough, seeds
from policies import document_of
from random_cases import random_tree
from random_worlds import VALUES

import sqlanon


def cheapest_transport(supply: list[Fraction], demand: list[Fraction], cost: list[list[Fraction]]) -> Fraction:
    """The least cost of moving supply to demand: successive shortest paths (Bellman-Ford), exact."""
    n, m = len(supply), len(demand)
    flow = [[Fraction(0)] * m for _ in range(n)]
    left, wanted = list(supply), list(demand)
    while any(left):
        distance: list[Fraction | None] = [Fraction(0) if s else None for s in left] + [None] * m
        came: list[int | None] = [None] * (n + m)
        for _ in range(n + m):
            for i in range(n):
                for j in range(m):
                    for a, b, length, open_ in ((i, n + j, cost[i][j], True), (n + j, i, -cost[i][j], flow[i][j] > 0)):
                        start, end = distance[a], distance[b]
                        if open_ and start is not None and (end is None or start + length < end):
                            distance[b], came[b] = start + length, a
        sink = min((j for j in range(m) if wanted[j]), key=lambda j: distance[n + j])  # type: ignore[arg-type,return-value]
        path, node = [], n + sink
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]  # type: ignore[assignment]
        amount = min([left[node], wanted[sink], *(flow[b][a - n] for a, b in path if a >= n)])
        for a, b in path:
            if a < n:
                flow[a][b - n] += amount
            else:
                flow[b][a - n] -= amount
        left[node] -= amount
        wanted[sink] -= amount
    return sum((flow[i][j] * cost[i][j] for i in range(n) for j in range(m)), Fraction(0))


def ground(kind: str, tree: brute.Tree, row: list[brute.Text], a: brute.Text, b: brute.Text) -> Fraction:
    """What moving one record from value a to value b costs."""
    if kind == "equal":
        return Fraction(a != b)
    if kind == "ordered":
        return Fraction(abs(row.index(a) - row.index(b)), len(row) - 1)
    level = next(lv for lv in range(tree.height) if tree.generalize(a, lv) == tree.generalize(b, lv))
    return Fraction(level, tree.height - 1)


@pytest.mark.parametrize("kind", ["equal", "hierarchical", "ordered"])
@seeds(30)
def test_a_distance_is_the_cost_of_the_cheapest_transport(block: Block, kind: str) -> None:
    compared = 0
    for seed in block:
        rng = random.Random(seed)
        pool = [v for v in rng.sample(VALUES, rng.randint(2, 5)) if v is not None]
        tree = random_tree(rng, list(pool), "error")
        if len(pool) < 2 or tree.root is None or tree.height < 2:
            continue
        everyone = [rng.choice(pool) for _ in range(30)] + pool
        inside = [rng.choice(pool) for _ in range(rng.randint(1, 8))]
        world = brute_models.World([((), (v,), True) for v in everyone], [], [tree], [])
        row = brute_models.order(set(everyone), tree)
        p, q = Counter(inside), Counter(everyone)
        supply = [Fraction(p[v], len(inside)) for v in row]
        demand = [Fraction(q[v], len(everyone)) for v in row]
        cost = [[ground(kind, tree, row, a, b) for b in row] for a in row]
        solved = cheapest_transport(supply, demand, cost)
        assert brute_models.distance(world, 0, inside, kind) == pytest.approx(float(solved), abs=1e-12), seed
        compared += 1
    assert enough(compared > 5)


def large(connection: duckdb.DuckDBPyConnection, models: list[dict], **changes: object) -> dict:
    """Two groups of ten million records; group 0 holds a, b in the ratio 3 : 1, group 1 in the ratio 1 : 3."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS t AS SELECT CAST(i % 2 AS VARCHAR) AS q, "
        "CASE WHEN (i // 2) % 4 < 1 THEN (CASE i % 2 WHEN 0 THEN 'b' ELSE 'a' END) "
        "ELSE (CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END) END AS s FROM range(20000000) AS r(i)"
    )
    tree = {"levels": {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"]}}
    columns = {"q": "suppress", "s": {"role": "sensitive", "models": models, "hierarchy": tree}}
    return document_of(columns, changes, k=5, table="t", quality={"measure": "discernibility"})


@pytest.mark.slow
def test_sums_and_products_do_not_overflow_on_twenty_million_records() -> None:
    """The products of counts here are 10^14 and more, 2^31 is 2 * 10^9, and sums of squares pass 2^47."""
    with duckdb.connect() as connection:
        equal = {"type": "t_closeness", "distance": "equal"}
        along = {"type": "t_closeness", "distance": "hierarchical"}
        row = {"type": "t_closeness", "distance": "ordered"}
        close = [{**equal, "t": 0.25}, {**along, "t": 0.125}, {**row, "t": 0.25}]
        with sqlanon.plan(connection, large(connection, close)) as plan:
            assert plan.solution.levels == {"q": 0}
            assert plan.certificate.loss == 2 * 10**14
            top = plan.evaluate({"q": 1})
            assert (top.loss, top.suppressed) == (4 * 10**14, 0)
            for model, t in ((equal, 0.2499999), (along, 0.1249999), (row, 0.2499999)):
                policy = large(connection, [{**model, "t": t}, {"type": "entropy_l_diversity", "l": 1.7}])
                other = plan.with_policy(sqlanon.Policy.from_dict(policy))
                verdict = other.evaluate({"q": 0})
                assert verdict.suppressed == 20_000_000 and verdict.loss == 4 * 10**14
                assert [count for _, count in verdict.by_model] == [0, 20_000_000, 0]
                assert other.solution.levels == {"q": 1}
            recursive = [{"type": "recursive_l_diversity", "l": 2, "c": 3.0000001}]
            policy = large(connection, recursive, suppression_limit=0.5)
            assert plan.with_policy(sqlanon.Policy.from_dict(policy)).solution.levels == {"q": 0}


def test_level_zero_of_a_hierarchy_gives_the_order() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' AS q, unnest(['low', 'mid', 'high']) AS s")
        levels = {"low": ["*"], "mid": ["*"], "high": ["*"]}
        columns = {
            "q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "s": {
                "role": "sensitive",
                "hierarchy": {"levels": levels},
                "models": [{"type": "t_closeness", "t": 1, "distance": "ordered"}],
            },
        }
        with sqlanon.plan(connection, {"table": "t", "columns": columns}) as plan:
            rows = plan._session.source.engine.run(
                "places",
                "SELECT l.value, o.place FROM sqlanon_overall_0 o JOIN sqlanon_lookup l "
                "ON l.attribute = 1 AND l.key_0 = o.value",
            )
            assert dict(rows) == {"low": 1, "mid": 2, "high": 3}


def test_a_hierarchical_distance_needs_a_root(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT i % 2 AS q, CAST(i % 3 AS VARCHAR) AS s FROM range(30) AS r(i)")

    def policy(distance: str) -> sqlanon.Policy:
        models = [{"type": "t_closeness", "t": 0.5, "distance": distance}]
        hierarchy = {"levels": {"0": ["x"], "1": ["x"], "2": ["y"]}}
        columns = {
            "q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "s": {"role": "sensitive", "models": models, "hierarchy": hierarchy},
        }
        return sqlanon.Policy.from_dict({"table": "t", "columns": columns})

    with pytest.raises(sqlanon.HierarchyError, match="several roots"):
        sqlanon.plan(connection, policy("hierarchical"))
    with (
        sqlanon.plan(connection, policy("equal")) as plan,
        pytest.raises(sqlanon.NoSolutionError, match="no single root"),
    ):
        plan.with_policy(policy("hierarchical"))
