"""The exact solution for a table in the database: row types are fetched, HiGHS assigns them, shares are loaded.

The greedy heuristic runs first, in the database: its solution is where the search begins, and what is left when the
time is up before anything better was found. Only the bits of the distinct row types and their numbers of records are
fetched; values stay in the database.

**Left over** are fully suppressed records without a pattern, as in the greedy heuristic: fewer than k, or, when the
pattern of ☆ alone is not allowed, any number. So there is always a solution, the one that the heuristic found. With
``left_over=False`` fully suppressed records are k or none; but, as there, they may be left over where the pattern of ☆
alone is not allowed, or where there are fewer than k records at all.

**The tables.** ``names.PATTERNS`` holds the patterns that are used; ``names.ASSIGNED`` one row for each row type and
pattern that publishes records of it, with two columns more: the records are numbered from 1 within the row type, and
the pattern publishes those from ``first`` to ``last``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlanon import names
from sqlanon.catalog import Catalog
from sqlanon.compiler import patterns as compiler
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.errors import UnsupportedError
from sqlanon.patterns.bounds import pattern_table
from sqlanon.patterns.exact import ExactSolution, Status, solve, whole
from sqlanon.patterns.greedy import Assignment, forget, greedy, uses
from sqlanon.patterns.order import Pattern
from sqlanon.patterns.pairs import Ints, check_size, numbered
from sqlanon.patterns.pattern import PatternSet
from sqlanon.patterns.shares import Share, stretches
from sqlanon.patterns.solver import highs_module


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of the optimum; costs are sums of weights of suppressed cells, as ``Assignment.cost``.

    Attributes:
        cost: of the solution.
        bound: no solution costs less.
        gap: (cost - bound) / cost; 0 when nothing is suppressed.
        optimal: whether the cost is the bound, compared as whole numbers.
        status: why the search ended.
        heuristic: the cost of the greedy solution that it began with.
        seconds: of the solver.
        nodes: of the search trees of HiGHS; 0 when it was not needed.
        programs: parts that HiGHS had to solve.
    """

    cost: float
    bound: float
    gap: float
    optimal: bool
    status: Status
    heuristic: float
    seconds: float
    nodes: int
    programs: int


@dataclass(frozen=True, slots=True)
class _RowTypes:
    """The row types of the input: their keys by word, their columns coded, and their records."""

    words: tuple[Ints, ...]
    codes: Ints
    counts: Ints


def exactly(
    engine: DuckDBEngine,
    catalog: Catalog,
    patterns: PatternSet,
    k: int,
    *,
    weights: Sequence[float] | None = None,
    left_over: bool = True,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> tuple[Assignment, Proof]:
    """Assign patterns to the records at the least cost, and leave them in ``names.ASSIGNED`` (made anew).

    Args:
        engine: where the base of ``catalog`` stands.
        catalog: of hierarchies with one root.
        patterns: of as many columns as there are quasi-identifiers.
        k: at least 1.
        weights: of the columns; decimals are taken as they are written. None: all 1.
        left_over: whether fully suppressed records may be fewer than k.
        time_limit: of the solver, in seconds; None: none.
        gap: relative; HiGHS stops in each part of the program when the cost is within it of its bound.

    Returns:
        What is done to the records, and what is known of the optimum. Of the assignment, ``tried`` counts the patterns
        of the program, and ``statements`` those of the greedy solution too.

    Raises:
        InputError: the weights do not fit the columns, or are too large for exact sums.
        UnsupportedError: ``highspy`` is not installed, there are too many pairs of a row type and a pattern, or a
            hierarchy has several roots.
    """
    highs_module()
    if any(catalog.masks(catalog.top)):
        raise UnsupportedError(
            "The exact solution suppresses columns, and a hierarchy has several values at its last level.",
            hint="give each hierarchy one root, or take the greedy solution.",
        )
    before = engine.journal.statements
    everything = patterns.nothing_kept
    allowed = everything in patterns
    row_types = int(engine.run("count row types", compiler.row_type_count(catalog))[0][0])
    check_size(row_types, patterns.size + (not allowed))
    start = greedy(engine, catalog, patterns, k, weights=weights, left_over=left_over)
    listed = [*patterns.ordered(weights), *([] if allowed else [everything])]
    table, begun = _fetched(engine, catalog, start, listed)
    strict = not left_over and allowed and start.records >= k
    shares, proof = _solved(table, begun, start, listed, k, weights, not strict, time_limit, gap)
    full = len(listed) - 1
    apart = not allowed or sum(share.records for share in shares if share.pattern == full) < k
    used = sorted({share.pattern for share in shares if not (apart and share.pattern == full)})
    _load(engine, catalog, [listed[position] for position in used], used, table, shares)
    found = uses(engine, catalog, [listed[position] for position in used])
    assignment = replace(
        start,
        uses=found.uses,
        left_over=found.left_over,
        left_over_rows=found.left_over_rows,
        tried=len(listed) - (not allowed),
        statements=engine.journal.statements - before,
    )
    return assignment, proof


def _fetched(
    engine: DuckDBEngine, catalog: Catalog, start: Assignment, listed: Sequence[Pattern]
) -> tuple[_RowTypes, list[Share]]:
    """The row types in the order of their keys, and the greedy solution; left over is what keeps nothing, the last."""
    rows = engine.arrow("read assigned", compiler.read_assigned(catalog))
    words = tuple(rows[names.key(word)].to_numpy() for word in range(catalog.words))
    codes = np.zeros((rows.num_rows, len(catalog.attributes)), dtype=np.int64)
    for position, attribute in enumerate(catalog.attributes):
        parts = [key & attribute.mask(0, word) for word, key in enumerate(words) if attribute.mask(0, word)]
        if parts:  # a constant has no bits
            codes[:, position] = numbered(np.stack(parts, axis=1))
    place = {pattern: position for position, pattern in enumerate(listed)}
    position_of: dict[int | None, int] = {use.number: place[use.pattern] for use in start.uses}
    position_of[None] = len(listed) - 1
    counts = rows[names.COUNT].to_numpy()
    begun = [
        Share(row, position_of[rule], count)
        for row, (rule, count) in enumerate(zip(rows[names.RULE].to_pylist(), counts.tolist(), strict=True))
    ]
    return _RowTypes(words, codes, counts), begun


def _solved(
    table: _RowTypes,
    begun: list[Share],
    start: Assignment,
    listed: Sequence[Pattern],
    k: int,
    weights: Sequence[float] | None,
    left_over: bool,
    time_limit: float | None,
    gap: float,
) -> tuple[Sequence[Share], Proof]:
    """The shares of the best solution that is known, and what is known of the optimum."""
    if start.cost == 0:  # also of no records, and of no columns, which are no program
        return begun, Proof(0.0, 0.0, 0.0, True, "optimal", 0.0, 0.0, 0, 0)
    rated, factor = (None, 1) if weights is None else whole(weights)
    found: ExactSolution = solve(
        table.codes,
        table.counts,
        listed,
        k,
        weights=rated,
        left_over=left_over,
        start=begun,
        time_limit=time_limit,
        gap=gap,
    )
    return found.assignment, Proof(
        cost=found.cost / factor,
        bound=found.bound / factor,
        gap=found.gap,
        optimal=found.optimal,
        status=found.status,
        heuristic=start.cost,
        seconds=found.seconds,
        nodes=found.nodes,
        programs=found.programs,
    )


def _load(
    engine: DuckDBEngine,
    catalog: Catalog,
    patterns: Sequence[Pattern],
    positions: Sequence[int],
    table: _RowTypes,
    shares: Sequence[Share],
) -> None:
    """Put the solution in place of the greedy one; the script lists its rows: bits and numbers."""
    forget(engine)
    engine.create("patterns", names.PATTERNS, compiler.no_patterns(catalog))
    if patterns:
        engine.append("patterns", names.PATTERNS, pattern_table(catalog, patterns))
    engine.create("assigned", names.ASSIGNED, compiler.nothing_assigned(catalog))
    if not shares:
        return
    rule = {position: number for number, position in enumerate(positions)}
    parts = stretches(shares)
    rows = np.array([part.row for part in parts])
    columns = {
        **{names.key(word): pa.array(key[rows]) for word, key in enumerate(table.words)},
        names.COUNT: pa.array([share.records for share in shares], pa.int64()),
        names.RULE: pa.array([rule.get(part.pattern) for part in parts], pa.int32()),
        names.STRETCH_FIRST: pa.array([part.first for part in parts], pa.int64()),
        names.STRETCH_LAST: pa.array([part.last for part in parts], pa.int64()),
    }
    engine.append("assigned", names.ASSIGNED, pa.table(columns))
