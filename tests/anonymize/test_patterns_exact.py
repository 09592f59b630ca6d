"""The exact solution of pattern-guided k-anonymity equals exhaustive search, reaches the paper, and claims no more; in
a database the table of assignments says the same."""

import ast
import csv
import itertools
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from effort import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import document_of, quasi
from random_patterns import Row, assigned_rows, check_script, planned, random_rows, random_set, suppressed
from tables import text_table

import sqlanon
from sqlanon.core.policy import SearchOptions
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, NoSolutionError, SearchStoppedError, UnsupportedError
from sqlanon.recoding.patterns import integer_program as exact
from sqlanon.recoding.patterns import shares as pattern_shares
from sqlanon.recoding.patterns import solver
from sqlanon.recoding.patterns.exact_assignment import exactly
from sqlanon.recoding.patterns.greedy import REPLAYED, Assignment, greedy
from sqlanon.recoding.patterns.integer_program import ExactSolution, whole
from sqlanon.recoding.patterns.pattern_set import all_patterns, at_most, listed
from sqlanon.recoding.patterns.quality import quality
from sqlanon.recoding.patterns.reductions import Ints, RowTypes, first_fit, program, reduce_program
from sqlanon.recoding.patterns.shares import Share, stretches

TABLES = scaled(15)
Pattern = tuple[int, ...]
Rows = list[tuple[int, ...]]


def solve(
    codes: Ints,
    counts: Ints,
    patterns: Sequence[Pattern],
    k: int,
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    **options: Any,
) -> ExactSolution:
    """The exact solution of row types that are given as two arrays."""
    limits = SearchOptions(time_limit=time_limit, gap=gap)
    return exact.solve(RowTypes(codes, counts), patterns, k, limits=limits, **options)


def broken(codes: Ints, counts: Ints, *rest: Any, **options: Any) -> list[str]:
    """What keeps shares from being a solution of row types that are given as two arrays."""
    return pattern_shares.broken(RowTypes(codes, counts), *rest, **options)


def brute(rows: Rows, patterns: Sequence[Pattern], k: int, weights: Sequence[int], left_over: bool) -> Iterator[int]:
    """The cost of every assignment of a pattern to each record whose output holds k of each row type."""
    width = len(rows[0])
    for chosen in itertools.product(range(len(patterns)), repeat=len(rows)):
        held: dict[tuple[int, tuple[int, ...]], int] = {}
        for row, number in zip(rows, chosen):
            kept = tuple(row[position] for position in range(width) if position not in patterns[number])
            held[number, kept] = held.get((number, kept), 0) + 1
        if all(size >= k or (not kept and left_over) for (_, kept), size in held.items()):
            yield sum(weights[position] for number in chosen for position in patterns[number])


def distinct(rows: Rows) -> tuple[Ints, Ints]:
    found, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    return found, counts


def subsets(width: int, most: int) -> list[Pattern]:
    return [each for size in range(most + 1) for each in itertools.combinations(range(width), size)]


@st.composite
def instances(draw: st.DrawFn, records: int = 6) -> tuple[Rows, list[Pattern], int, list[int]]:
    width = draw(st.integers(1, 3))
    row = st.tuples(*[st.integers(0, 2)] * width)
    rows = draw(st.lists(row, min_size=1, max_size=records))
    patterns = draw(st.lists(st.sampled_from(subsets(width, width)), min_size=1, max_size=5, unique=True))
    weights = draw(st.lists(st.integers(0, 5), min_size=width, max_size=width))
    return rows, patterns, draw(st.integers(1, 4)), weights


@settings(max_examples=scaled(250))
@given(instances(), st.booleans())
@pytest.mark.slow
def test_it_equals_exhaustive_search(instance: tuple[Rows, list[Pattern], int, list[int]], left_over: bool) -> None:
    rows, patterns, k, weights = instance
    table, counts = distinct(rows)
    best = min(brute(rows, patterns, k, weights, left_over), default=None)
    if best is None:
        with pytest.raises(NoSolutionError):
            solve(table, counts, patterns, k, weights=weights, left_over=left_over)
        return
    found = solve(table, counts, patterns, k, weights=weights, left_over=left_over)
    assert (found.cost, found.bound, found.optimal, found.status) == (best, best, True, "optimal")
    assert not broken(table, counts, patterns, k, found.assignment, left_over=left_over)


@settings(max_examples=scaled(60))
@given(instances(40), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing_and_raising_k_never_lowers(instance, shuffler) -> None:
    rows, patterns, k, weights = instance
    everything = tuple(range(len(weights)))
    patterns = patterns if everything in patterns else [*patterns, everything]
    table, counts = distinct(rows)
    found = solve(table, counts, patterns, k, weights=weights)
    assert found.optimal
    assert solve(table, counts, patterns, k + 1, weights=weights).cost >= found.cost
    moved = list(everything)
    shuffler.shuffle(moved)
    order = np.array(shuffler.sample(range(len(table)), len(table)))
    others = [tuple(sorted(moved.index(position) for position in pattern)) for pattern in patterns]
    again = solve(
        table[order][:, moved], counts[order], others[::-1], k, weights=[weights[position] for position in moved]
    )
    assert again.cost == found.cost


@settings(max_examples=scaled(100))
@given(instances(40))
def test_a_solution_goes_through_the_reductions_and_back_at_no_cost(instance) -> None:
    rows, patterns, k, weights = instance
    table, counts = distinct(rows)
    everything = tuple(range(len(weights)))
    patterns = patterns if everything in patterns else [*patterns, everything]
    before = program(RowTypes(table, counts), patterns, [sum(weights[p] for p in pattern) for pattern in patterns], k)
    records = first_fit(before)
    assert not before.left(records).any() and before.holds(records)
    reduction = reduce_program(before)
    forth = reduction.forth(records)
    assert not reduction.small.left(forth).any() and reduction.small.holds(forth)
    assert reduction.small.price(forth) <= before.price(records)
    back = reduction.back(forth)
    assert not before.left(back).any() and before.holds(back)
    assert before.price(back) == reduction.small.price(forth)


def test_a_row_type_of_k_records_may_have_to_give_some_away() -> None:
    table, counts = np.array([[1, 1, 1], [1, 1, 2], [1, 2, 1]]), np.array([2, 1, 1])
    found = solve(table, counts, [(), (1,), (2,), (0, 1, 2)], 2)
    assert found.cost == 4
    assert found.assignment[:2] == (Share(0, 1, 1), Share(0, 2, 1))


def test_fully_suppressed_records_may_be_fewer_than_k_unless_told_otherwise() -> None:
    table, counts = np.array([[0, 0], [0, 1], [1, 2]]), np.array([3, 3, 1])
    patterns = [(), (1,), (0, 1)]
    assert solve(table, counts, patterns, 3).cost == 2
    strict = solve(table, counts, patterns, 3, left_over=False)
    assert (strict.cost, strict.optimal) == (8, True)
    with pytest.raises(NoSolutionError):
        solve(table[2:], counts[2:], patterns, 3, left_over=False)


def test_no_pattern_that_helps_is_no_solution() -> None:
    with pytest.raises(NoSolutionError, match="2 of 2 row types are in no group of 3 records"):
        solve(np.array([[0, 0], [0, 1]]), np.array([1, 1]), [(), (0,), (1,)], 3)
    assert solve(np.array([[0, 0], [0, 1]]), np.array([1, 1]), [(), (0, 1)], 3).cost == 4


def test_what_cannot_be_used_is_reported_together() -> None:
    with pytest.raises(
        InputError, match=r"k is 0, below 1; .* ascending tuple of positions from 0 to 1; weights needs"
    ):
        solve(np.array([[0, 0], [0, 1]]), np.array([1, 1]), [(), (1, 0)], 0, weights=[1])
    with pytest.raises(InputError, match="a row type occurs twice"):
        solve(np.array([[0, 0], [0, 0]]), np.array([1, 1]), [()], 1)
    with pytest.raises(InputError, match="too large for exact sums"):
        solve(np.array([[0, 0]]), np.array([1]), [()], 1, weights=[2**50, 1])


def test_without_highspy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'sqlanon\[exact\]'"):
        solve(np.array([[0]]), np.array([1]), [()], 1)


@pytest.mark.slow
def test_highspy_has_one_home() -> None:
    package = Path(sqlanon.__file__).parent
    for path in package.rglob("*.py"):
        if path.name not in ("highs.py", "solver.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "highspy" in text else ():
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert "highspy" not in names, path


def scattered(seed: int, records: int = 60) -> tuple[Ints, Ints, list[Pattern]]:
    """Rows without structure: what costs HiGHS some work."""
    values = np.random.default_rng(seed).integers(0, 4, size=(records, 5))
    return *distinct([tuple(row) for row in values.tolist()]), [*subsets(5, 2), (0, 1, 2, 3, 4)]


def test_a_start_never_worsens_the_solution() -> None:
    table, counts, patterns = scattered(1)
    best = solve(table, counts, patterns, 3)
    assert best.optimal and best.started_at is None and best.programs >= 1
    without = solve(table, counts, patterns, 3, time_limit=0)
    assert without.cost > best.cost
    with_start = solve(table, counts, patterns, 3, time_limit=0, start=best.assignment)
    assert (with_start.cost, with_start.started_at, with_start.nodes) == (best.cost, best.cost, 0)
    poor = [Share(row, len(patterns) - 1, int(count)) for row, count in enumerate(counts)]
    for left_over in (True, False):
        again = solve(table, counts, patterns, 3, start=poor, left_over=left_over)
        assert (again.cost, again.optimal, again.started_at) == (best.cost, True, 5 * 60)


@pytest.mark.parametrize("start", [[(0, 0, 1)], [(0, 99, 1)], [(99, 0, 1)], [(-1, 0, 1)], [], [(0, 0, -1)]])
def test_a_start_that_is_no_solution_is_ignored(start: list[tuple[int, int, int]]) -> None:
    table, counts, patterns = scattered(2, 30)
    found = solve(table, counts, patterns, 3, start=start)
    assert found.started_at is None
    assert found.cost == solve(table, counts, patterns, 3).cost


def test_when_the_time_is_up_the_bound_is_sound() -> None:
    table, counts, patterns = scattered(3)
    best = solve(table, counts, patterns, 4)
    for limit in (0.0, 0.01, 0.05):
        found = solve(table, counts, patterns, 4, time_limit=limit)
        assert found.bound <= best.cost <= found.cost
        assert found.optimal == (found.cost == found.bound)
        assert found.gap == (found.cost - found.bound) / found.cost
        assert not broken(table, counts, patterns, 4, found.assignment)
    stopped = solve(table, counts, patterns, 4, time_limit=0)
    assert (stopped.status, stopped.optimal, stopped.nodes) == ("time limit", False, 0)


def test_a_search_stopped_before_any_solution_says_so() -> None:
    table, counts = np.array([[1, 1], [1, 2], [2, 1]]), np.array([2, 1, 1])
    assert solve(table, counts, [(), (0,), (1,)], 2).cost == 4
    with pytest.raises(SearchStoppedError, match="no assignment in 0 seconds"):
        solve(table, counts, [(), (0,), (1,)], 2, time_limit=0)


def test_a_gap_ends_the_search_earlier() -> None:
    table, counts, patterns = scattered(4)
    best = solve(table, counts, patterns, 3)
    rough = solve(table, counts, patterns, 3, gap=0.5)
    assert rough.bound <= best.cost <= rough.cost
    assert rough.gap <= 0.5
    assert rough.status in {"gap reached", "optimal"}


@pytest.mark.parametrize("claimed", [10**6, -5])
def test_a_bound_that_contradicts_what_is_known_is_not_believed(monkeypatch: pytest.MonkeyPatch, claimed: int) -> None:
    table, counts, patterns = scattered(1)
    best = solve(table, counts, patterns, 3)
    optimum = solver.HighsModel.optimum
    monkeypatch.setattr(exact.HighsModel, "optimum", lambda self, *rest: (optimum(self, *rest)[0], claimed))
    found = solve(table, counts, patterns, 3)
    assert found.cost == best.cost
    assert found.bound < best.cost
    assert (found.optimal, found.status) == (False, "not proven")


def test_weights_decide_what_is_suppressed() -> None:
    table, counts = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([1, 1, 1, 1])
    patterns = [(), (0,), (1,)]
    first = solve(table, counts, patterns, 2, weights=[1, 3])
    second = solve(table, counts, patterns, 2, weights=[3, 1])
    assert first.cost == second.cost == 4
    assert {share.pattern for share in first.assignment} == {1}
    assert {share.pattern for share in second.assignment} == {2}
    scaled, factor = whole([0.1, 0.3])
    assert (scaled, factor) == ((1, 3), 10)
    assert solve(table, counts, patterns, 2, weights=[0, 0]).cost == 0


def test_shares_become_stretches_of_the_records_of_a_row_type() -> None:
    table, counts, patterns = scattered(5)
    found = solve(table, counts, patterns, 3)
    last: dict[int, int] = {}
    for row, _, begin, end in stretches(found.assignment):
        assert begin == last.get(row, 0) + 1 <= end
        last[row] = end
    assert [last[row] for row in range(len(counts))] == counts.tolist()


def test_a_broken_assignment_is_noticed() -> None:
    table, counts = np.array([[0, 0], [0, 1]]), np.array([1, 1])
    patterns = [(), (1,), (0, 1)]
    assert not broken(table, counts, patterns, 2, [Share(0, 1, 1), Share(1, 1, 1)])
    assert broken(table, counts, patterns, 2, [Share(0, 1, 1)])
    assert broken(table, counts, patterns, 2, [Share(0, 0, 1), Share(1, 1, 1)])
    assert not broken(table, counts, patterns, 3, [Share(0, 2, 1), Share(1, 2, 1)])
    assert broken(table, counts, patterns, 3, [Share(0, 2, 1), Share(1, 2, 1)], left_over=False)
    assert broken(table, counts, patterns, 1, [Share(0, 0, 1), Share(1, 0, 2), Share(1, 0, -1)])


@pytest.fixture(scope="module")
def cmc(shared: Path) -> tuple[Ints, Ints]:
    with (shared / "data" / "cmc" / "cmc.csv").open() as lines:
        rows = [row[1:] for row in list(csv.reader(lines, delimiter=";"))[1:]]
    return distinct([tuple(map(int, row)) for row in rows])


CMC = {
    2: 2_932,
    4: 7_024,
    5: 8_065,
    6: 9_012,
    7: 9_751,
    8: 10_254,
    9: 11_051,
    10: 11_462,
    25: 13_722,
    50: 14_314,
    75: 14_730,
}
"""Table 7, the integer program."""


@pytest.mark.parametrize("left_over", [True, False])
@pytest.mark.parametrize("k", [2, 4, 5, 10, 25, 75])
def test_cmc_reaches_the_optima_of_the_paper(cmc: tuple[Ints, Ints], k: int, left_over: bool) -> None:
    found = solve(*cmc, [*subsets(10, 2), tuple(range(10))], k, left_over=left_over)
    assert (found.cost, found.optimal, found.gap) == (CMC[k], True, 0.0)


NURSERY = {2: 12_960, 5: 12_960, 6: 25_920, 25: 38_880, 100: 51_840}
"""Table 6, the integer program (its 12,690 of the heuristic is a misprint: no row type occurs twice)."""


@pytest.mark.slow
@pytest.mark.parametrize("k", NURSERY)
def test_nursery_needs_no_search(k: int) -> None:
    table = np.array(list(itertools.product(*map(range, (3, 5, 4, 4, 3, 2, 3, 3)))))
    found = solve(table, np.ones(len(table), dtype=np.int64), subsets(8, 8), k)
    assert (found.cost, found.optimal, found.programs) == (NURSERY[k], True, 0)


def test_a_solution_is_a_fact() -> None:
    found = solve(np.array([[0]]), np.array([1]), [()], 1)
    assert isinstance(found, ExactSolution)
    with pytest.raises(AttributeError):
        found.cost = 0  # type: ignore[misc]
    assert replace(found, cost=1).cost == 1


# In a database


Taken = tuple[Row, Pattern | None, int, int, int]
"""A row type, its pattern (None: left over), its records under the pattern, and the first and last of them."""


def loaded(plan: sqlanon.Plan, found: Assignment) -> list[Taken]:
    """The rows of the table of assignments, read through the lookups."""
    pattern_of = {use.number: use.pattern for use in found.uses}
    rows = assigned_rows(plan, names.RULE, names.COUNT, names.STRETCH_FIRST, names.STRETCH_LAST)
    return [(row[:-4], pattern_of.get(row[-4]), *row[-3:]) for row in rows]


def check_loaded(
    plan: sqlanon.Plan, found: Assignment, rows: Sequence[Row], weights: Sequence[float] | None
) -> dict[tuple[Pattern | None, Row], int]:
    """The table holds every record once, and the assignment and the quality say what it holds. Returns the sizes of the
    output row types."""
    everything = tuple(range(len(rows[0])))
    parts: dict[Row, list[tuple[int, int]]] = defaultdict(list)
    sizes: Counter[tuple[Pattern | None, Row]] = Counter()
    cells, cost, factor = 0, Fraction(), weights or [1] * len(everything)
    seen = set()
    for row, pattern, n, first, last in loaded(plan, found):
        assert n == last - first + 1 >= 1 and (row, pattern) not in seen
        seen.add((row, pattern))
        hidden = everything if pattern is None else pattern
        parts[row].append((first, last))
        sizes[pattern, suppressed(row, hidden)] += n
        cells += n * len(hidden)
        cost += n * sum((Fraction(str(factor[column])) for column in hidden), Fraction())
    for row, n in Counter(rows).items():
        mine = sorted(parts.pop(row))
        assert [0, *[last for _, last in mine]] == [*[first - 1 for first, _ in mine], n]
    assert not parts
    assert found.records == len(rows) and found.suppressions == cells and found.cost == pytest.approx(float(cost))
    assert found.left_over == sum(n for (pattern, _), n in sizes.items() if pattern is None)
    measured = quality(plan._session.source.engine, plan.catalog)
    assert (measured.suppressions, measured.row_types) == (cells, found.row_types) == (cells, len(sizes))
    for use in found.uses:
        mine = [n for (pattern, _), n in sizes.items() if pattern == use.pattern]
        assert (use.records, use.row_types, use.smallest, use.largest) == (sum(mine), len(mine), min(mine), max(mine))
    return dict(sizes)


@pytest.mark.parametrize("seed", range(TABLES))
def test_in_a_database_it_equals_exhaustive_search(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = random.Random(seed)
    columns = rng.randint(1, 3)
    rows: list[Row] = [tuple(rng.choice([None, "a", "b"]) for _ in range(columns)) for _ in range(rng.randint(1, 6))]
    chosen = [[c for c in range(columns) if rng.random() < 0.5] for _ in range(rng.randint(1, 4))]
    patterns = listed(columns, chosen, outliers=rng.random() < 0.5)
    k, left_over = rng.randint(1, 4), rng.random() < 0.5
    weights = rng.choice([None, [rng.choice([0, 0.1, 0.25, 2]) for _ in range(columns)]])
    everything = patterns.nothing_kept
    members = list(patterns)
    with planned(connection, rows, columns) as plan:
        found, proof = exactly(
            plan._session.source.engine, plan.catalog, patterns, k, weights=weights, left_over=left_over
        )
        sizes = check_loaded(plan, found, rows, weights)
        assert sum(n for (p, _), n in sizes.items() if p is None) == found.left_over
    codes = [tuple(map(str, row)) for row in rows]
    scaled, factor = ([1] * columns, 1) if weights is None else whole(weights)
    may = everything not in patterns  # what no pattern takes is left over, however much it is
    strict = not left_over and not may and len(rows) >= k
    best = min(brute(codes, [*members, everything] if may else members, k, scaled, not strict))
    assert (proof.cost, proof.bound, proof.optimal, proof.gap) == (best / factor, best / factor, True, 0.0)
    assert found.cost == pytest.approx(proof.cost) and proof.heuristic >= found.cost - 1e-9
    assert all(use.smallest >= k for use in found.uses) and {use.pattern for use in found.uses} <= {*members}
    assert may or found.left_over < k
    assert not (strict and found.left_over)


@pytest.mark.parametrize("seed", range(TABLES))
def test_in_a_database_it_is_never_worse_than_the_heuristic(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = random.Random(seed)
    columns = rng.randint(1, 5)
    rows = random_rows(rng, columns)
    patterns, k = random_set(rng, columns), rng.choice([1, 2, 3, 5])
    weights = rng.choice([None, [rng.choice([0, 0.5, 1, 2]) for _ in range(columns)]])
    options = {"weights": weights, "left_over": rng.random() < 0.5}
    with planned(connection, rows, columns) as plan:
        engine = plan._session.source.engine
        heuristic = greedy(engine, plan.catalog, patterns, k, **options)
        found, proof = exactly(
            engine, plan.catalog, patterns, k, limits=SearchOptions(time_limit=rng.choice([None, 0])), **options
        )
        check_loaded(plan, found, rows, weights)
        check_script(engine, REPLAYED)
    assert proof.heuristic == heuristic.cost
    assert proof.bound <= proof.cost == pytest.approx(found.cost) and found.cost <= heuristic.cost
    assert proof.optimal == (proof.gap == 0)
    assert (found.k, found.columns, found.weights) == (k, columns, heuristic.weights)


def test_records_of_a_row_type_are_shared_among_patterns(connection: duckdb.DuckDBPyConnection) -> None:
    rows: list[Row] = [("1", "1", "1"), ("1", "1", "1"), ("1", "1", "2"), ("1", "2", "1")]
    patterns = listed(3, [[], [1], [2]], outliers=True)
    with planned(connection, rows, 3) as plan:
        engine = plan._session.source.engine
        before = len(engine.journal.entries)
        found, proof = exactly(engine, plan.catalog, patterns, 2)
        ran = [entry.name for entry in engine.journal.entries[before:]]
        assert ran == [
            "count row types", "drop", "drop", "row types", "decided", "patterns", "patterns", "assign patterns",
            "assigned", "patterns used", "drop", "drop", "read assigned", "drop", "drop", "patterns", "patterns",
            "assigned", "assigned", "patterns used",
        ]  # fmt: skip
        assert found.statements == len(ran)
        assert sorted(loaded(plan, found), key=str) == [
            (("1", "1", "1"), (1,), 1, 2, 2),
            (("1", "1", "1"), (2,), 1, 1, 1),
            (("1", "1", "2"), (2,), 1, 1, 1),
            (("1", "2", "1"), (1,), 1, 1, 1),
        ]
        left = {row[0] for row in engine.run("test", "SELECT table_name FROM duckdb_tables()")}
        assert {names.ASSIGNED, names.PATTERNS} <= left and not {names.ROW_TYPES, names.DECIDED} & left
        assert (found.suppressions, proof.heuristic, proof.status, found.tried) == (4, 6.0, "optimal", 4)
        again = greedy(engine, plan.catalog, patterns, 2)  # makes the tables anew
        assert again.cost == 6
        assert [name for name, _ in engine.catalog.columns(table(names.ASSIGNED))] == [
            names.key(0),
            names.COUNT,
            names.RULE,
        ]


@pytest.mark.parametrize("rows", [[], [("a", None)], [("a", "b")] * 3])
def test_in_a_database_small_tables(connection: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    with planned(connection, rows or [("a", "b")], 2) as plan:
        engine = plan._session.source.engine
        if not rows:
            engine.run("test", f'DELETE FROM "{names.BASE}"')
        for left_over in (True, False):
            found, proof = exactly(engine, plan.catalog, all_patterns(2), 3, left_over=left_over)
            assert (found.records, found.left_over) == (len(rows), len(rows) % 3)
            assert proof.optimal and proof.cost == proof.bound == 2 * found.left_over
            kinds = [kind for _, kind in engine.catalog.columns(table(names.ASSIGNED))]
            assert kinds == ["BIGINT"] * (plan.catalog.words + 1) + ["INTEGER", "BIGINT", "BIGINT"]


@pytest.mark.slow
def test_in_a_database_too_many_patterns_are_refused_before_any_work(connection: duckdb.DuckDBPyConnection) -> None:
    with planned(connection, [tuple("ab" * 20)] * 3, 40) as plan:
        engine = plan._session.source.engine
        before = len(engine.journal.entries)
        with pytest.raises(UnsupportedError, match="1 row types under 1,099,511,627,776 patterns"):
            exactly(engine, plan.catalog, all_patterns(40), 2)
        assert [entry.name for entry in engine.journal.entries[before:]] == ["count row types"]


def test_in_a_database_without_highspy_nothing_is_run(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with planned(connection, [("a",)], 1) as plan:
        engine = plan._session.source.engine
        before = len(engine.journal.entries)
        with pytest.raises(UnsupportedError, match=r"pip install 'sqlanon\[exact\]'"):
            exactly(engine, plan.catalog, all_patterns(1), 2)
        assert len(engine.journal.entries) == before


def test_a_hierarchy_with_several_roots_is_refused(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["a"], [("x",), ("y",)])
    levels = {"x": ["p"], "y": ["q"]}
    document = document_of({"a": quasi({"levels": levels})}, k=1, table="t")
    with (
        sqlanon.plan(connection, document) as plan,
        pytest.raises(UnsupportedError, match="several values at its last level"),
    ):
        exactly(plan._session.source.engine, plan.catalog, all_patterns(1), 1)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_in_a_database_cmc_reaches_the_optima_of_the_paper(shared: Path, k: int) -> None:
    with (shared / "data" / "cmc" / "cmc.csv").open() as lines:
        rows: list[Row] = [tuple(row[1:]) for row in list(csv.reader(lines, delimiter=";"))[1:]]
    with duckdb.connect() as connection, planned(connection, rows, 10) as plan:
        found, proof = exactly(plan._session.source.engine, plan.catalog, at_most(10, 2, outliers=True), k)
        assert (found.suppressions, proof.bound, proof.optimal) == (CMC[k], CMC[k], True)
        check_loaded(plan, found, rows, None)
