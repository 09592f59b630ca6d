"""The exact solution for a table in the database: row types are fetched, HiGHS assigns them, shares are loaded.

The greedy heuristic runs first, in the database: its solution is where the search begins, and what is left when the
time is up before anything better was found. Only the bits of the distinct row types and their numbers of records are
fetched; values stay in the database.

**Left over** are fully suppressed records without a pattern, as in the greedy heuristic: fewer than k, or, when the
pattern of ☆ alone is not allowed, any number. So there is always a solution, the one that the heuristic found. With
``left_over=False`` fully suppressed records are k or none; but, as there, they may be left over where the pattern of ☆
alone is not allowed, or where there are fewer than k records at all. A limit on the left over (``most``) is no part of
the program: it is solved without, and again, as ``_ExactRun.within`` says, when the solution breaks the limit.

**The tables.** ``names.PATTERNS`` holds the patterns that are used; ``names.ASSIGNED`` one row for each row type and
pattern that publishes records of it, with two columns more: the records are numbered from 1 within the row type, and
the pattern publishes those from ``first`` to ``last``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.driver import interrupted
from sqlanon.core.highs import highs_module
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.policy import SearchOptions
from sqlanon.core.policy.pattern_order import Pattern, weight
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sqltrees import names
from sqlanon.errors import UnsupportedError
from sqlanon.recoding.compiler import patterns as compiler
from sqlanon.recoding.patterns.bounds import pattern_table
from sqlanon.recoding.patterns.greedy import Assignment, forget, greedy, uses
from sqlanon.recoding.patterns.integer_program import MOST_COST, NO_LIMITS, ExactSolution, Status, solve, whole
from sqlanon.recoding.patterns.pattern_set import PatternSet
from sqlanon.recoding.patterns.reductions import Ints, RowTypes, check_size, number_rows
from sqlanon.recoding.patterns.shares import Share, stretches


@dataclass(frozen=True, slots=True)
class CostProof:
    """Bounds of the optimum; costs are sums of weights of suppressed cells, as ``Assignment.cost``.

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


SUPPRESSED_CELLS = "suppressed_cells"
"""The loss of a solution by patterns: the share of the cells that are suppressed, by the weights of their columns. It
is the measure ``loss`` where every column has two values at least."""
Words = tuple[Ints, ...]
"""The keys of the row types of the input, by word."""


def exactly(
    engine: Engine,
    catalog: Catalog,
    patterns: PatternSet,
    k: int,
    *,
    weights: Sequence[float] | None = None,
    left_over: bool = True,
    most: int | None = None,
    limits: SearchOptions = NO_LIMITS,
) -> tuple[Assignment, CostProof]:
    """Assign patterns to the records at the least cost, and leave them in ``names.ASSIGNED`` (created anew).

    Args:
        engine: where the base of ``catalog`` stands.
        catalog: of hierarchies with one root.
        patterns: of as many columns as there are quasi-identifiers.
        k: at least 1.
        weights: of the columns; decimals are taken as they are written. None: all 1.
        left_over: whether fully suppressed records may be fewer than k.
        most: of the records left over; None: any number. It is kept if it can be.
        limits: ``time_limit`` of the solver, in seconds, ``gap``, relative: HiGHS stops in each part of the program
            when the cost is within it of its bound, and ``on_interrupt``.

    Returns:
        What is done to the records, and what is known of the optimum. Of the assignment, ``tried`` counts the patterns
        of the program, and ``statements`` those of the greedy solution too.

    Raises:
        InputError: the weights do not fit the columns, or are too large for exact sums.
        UnsupportedError: ``highspy`` is not installed, there are too many pairs of a row type and a pattern, or a
            hierarchy has several roots.
        Interrupted: the user stopped the solver, and the limits do not say that this ends it.
    """
    highs_module("The exact solution")
    _refuse_several_roots(catalog)
    before = engine.journal.statements
    everything = patterns.nothing_kept
    allowed = everything in patterns
    row_types = int(engine.run("count row types", compiler.row_type_count(catalog))[0][0])
    check_size(row_types, patterns.size + (not allowed))
    left_over = left_over and most != 0
    start = greedy(engine, catalog, patterns, k, weights=weights, left_over=left_over)
    listed = [*patterns.ordered(weights), *([] if allowed else [everything])]
    engine.journal.report("solving")
    words, table, begun = _fetched(engine, catalog, start, listed)
    strict = not left_over and allowed and start.records >= k
    run = _ExactRun(table, begun, start, listed, allowed, k, weights, limits)
    shares, proof = run.solved(left_over=not strict)
    if most is not None and run.left_over(shares) > most:
        shares, proof = run.within(most, shares, proof)
    used = run.used(shares)
    _load(engine, catalog, used, words, shares)
    assignment = replace(
        start,
        **uses(engine, catalog, list(used.values()))._asdict(),
        tried=len(listed) - (not allowed),
        statements=engine.journal.statements - before,
    )
    return assignment, proof


def _refuse_several_roots(catalog: Catalog) -> None:
    if any(catalog.masks(catalog.top)):
        raise UnsupportedError(
            "The exact solution suppresses columns, and a hierarchy has several values at its last level.",
            hint="give each hierarchy one root, or take the greedy solution.",
        )


def _fetched(
    engine: Engine, catalog: Catalog, start: Assignment, listed: Sequence[Pattern]
) -> tuple[Words, RowTypes, list[Share]]:
    """Return the row types in the order of their keys, and the greedy solution; its left over keep nothing."""
    rows = engine.arrow("read assigned", compiler.read_assigned(catalog))
    words = tuple(rows[names.key(word)].to_numpy() for word in range(catalog.words))
    codes = np.zeros((rows.num_rows, len(catalog.attributes)), dtype=np.int64)
    for position, attribute in enumerate(catalog.attributes):
        parts = [key & attribute.mask(0, word) for word, key in enumerate(words) if attribute.mask(0, word)]
        if parts:  # a constant has no bits
            codes[:, position] = number_rows(np.stack(parts, axis=1))
    place = {pattern: position for position, pattern in enumerate(listed)}
    position_of: dict[int | None, int] = {use.number: place[use.pattern] for use in start.uses}
    position_of[None] = len(listed) - 1
    counts = rows[names.COUNT].to_numpy()
    begun = [
        Share(row, position_of[rule], count)
        for row, (rule, count) in enumerate(zip(rows[names.RULE].to_pylist(), counts.tolist(), strict=True))
    ]
    return words, RowTypes(codes, counts), begun


@dataclass(slots=True)
class _ExactRun:
    """One program, solved under the limits that it is asked for; the last pattern keeps nothing.

    Attributes:
        member: that pattern is allowed, so that its records may also be a row type of the output.
    """

    table: RowTypes
    begun: list[Share]
    start: Assignment
    listed: Sequence[Pattern]
    member: bool
    k: int
    weights: Sequence[float] | None
    limits: SearchOptions
    began: float = field(default_factory=time.monotonic)

    def fully_suppressed(self, shares: Sequence[Share]) -> int:
        """Return the records whose pattern keeps nothing."""
        return sum(share.records for share in shares if share.pattern == len(self.listed) - 1)

    def left_over(self, shares: Sequence[Share]) -> int:
        """Return those fully suppressed records that are no row type of the output."""
        number = self.fully_suppressed(shares)
        return 0 if self.member and number >= self.k else number

    def used(self, shares: Sequence[Share]) -> dict[int, Pattern]:
        """Return the patterns of the row types of the output, by position; not that of records left over."""
        apart = {len(self.listed) - 1} if self.left_over(shares) else set()
        return {position: self.listed[position] for position in sorted({share.pattern for share in shares} - apart)}

    def solved(self, *, left_over: bool = True, surcharge: int = 0) -> tuple[Sequence[Share], CostProof]:
        """Return the best solution that is known, and what is known of the optimum, surcharges included."""
        if self.start.cost == 0 and not self.left_over(self.begun):  # also of no records, which are no program
            return self.begun, CostProof(0.0, 0.0, 0.0, True, "optimal", 0.0, 0.0, 0, 0)
        rated, factor = (None, 1) if self.weights is None else whole(self.weights)
        limits, spent = self.limits, time.monotonic() - self.began
        if limits.time_limit is not None:
            limits = replace(limits, time_limit=max(0.0, limits.time_limit - spent))
        solution: ExactSolution = solve(
            self.table,
            self.listed,
            self.k,
            weights=rated,
            left_over=left_over,
            surcharge=surcharge * factor,
            start=self.begun,
            limits=limits,
        )
        if solution.interrupted and self.limits.on_interrupt == "discard":
            raise interrupted(
                f"{solution.nodes} nodes of HiGHS", None if surcharge else self._reached(solution, factor)
            )
        if solution.interrupted:
            self.limits = replace(self.limits, time_limit=0.0)  # what is still to be solved takes what is known
        return solution.assignment, CostProof(
            cost=solution.cost / factor,
            bound=solution.bound / factor,
            gap=solution.gap,
            optimal=solution.optimal,
            status=solution.status,
            heuristic=self.start.cost,
            seconds=time.monotonic() - self.began,
            nodes=solution.nodes,
            programs=solution.programs,
        )

    def _reached(self, solution: ExactSolution, factor: int) -> Certificate:
        """Return the certificate of the solution at which the user stopped the solver."""
        patterns = len(self.listed) - (not self.member)
        cells = int(self.table.counts.sum()) * weight(self.listed[-1], self.weights) * factor
        loss, bound = (float(amount / cells) if cells else 0.0 for amount in (solution.cost, solution.bound))
        return Certificate(
            SUPPRESSED_CELLS, None, loss, bound, solution.gap, solution.optimal, "patterns_exact", patterns, patterns
        )

    def within(self, most: int, shares: Sequence[Share], free: CostProof) -> tuple[Sequence[Share], CostProof]:
        """Return a solution that leaves at most ``most`` records over, if there is one, and a bound of all such ones.

        Where full suppression is a pattern, its records are a row type of the output: none, or k of them. Solutions
        that leave a few over are not looked at again, so the bound is that of the program without a limit.

        Where it is none, a fully suppressed record becomes dearer by a surcharge until few enough are left over: a
        solution within the limit costs at least the bound with the surcharge, less the surcharges of ``most``.
        """
        if self.member:
            shares, proof = self.solved(left_over=False)
            return shares, self._claimed(proof, shares, free.bound)
        least, proof, records = free.bound, free, int(self.table.counts.sum())
        everything = len(self.listed[-1]) if self.weights is None else math.ceil(sum(self.weights))
        for surcharge in (everything, 8 * everything, records * everything + 1):
            if (surcharge + everything) * self._factor * records >= MOST_COST:
                break
            shares, proof = self.solved(surcharge=surcharge)
            least = max(least, proof.bound - surcharge * most)
            if self.left_over(shares) <= most:
                break
        return shares, self._claimed(proof, shares, least)

    @property
    def _factor(self) -> int:
        """The number that makes weights whole."""
        return 1 if self.weights is None else whole(self.weights)[1]

    def _claimed(self, proof: CostProof, shares: Sequence[Share], least: float) -> CostProof:
        """Return the proof of a solution by a bound of another program; costs are compared as whole numbers."""
        prices = [weight(pattern, self.weights) for pattern in self.listed]
        cost = round(sum(share.records * prices[share.pattern] for share in shares) * self._factor)
        bound = min(cost, round(least * self._factor))
        return replace(
            proof,
            cost=cost / self._factor,
            bound=bound / self._factor,
            gap=(cost - bound) / cost if cost else 0.0,
            optimal=cost == bound,
            status="optimal" if cost == bound else "not proven" if proof.status == "optimal" else proof.status,
        )


def _load(engine: Engine, catalog: Catalog, used: Mapping[int, Pattern], words: Words, shares: Sequence[Share]) -> None:
    """Put the solution in place of the greedy one; the script lists its rows: bits and numbers."""
    forget(engine)
    engine.create("patterns", names.PATTERNS, compiler.no_patterns(catalog))
    if used:
        engine.load("patterns", names.PATTERNS, pattern_table(catalog, list(used.values())), more=True)
    engine.create("assigned", names.ASSIGNED, compiler.nothing_assigned(catalog))
    if not shares:
        return
    rule = {position: number for number, position in enumerate(used)}
    parts = stretches(shares)
    rows = np.array([part.row for part in parts])
    columns = {
        **{names.key(word): pa.array(key[rows]) for word, key in enumerate(words)},
        names.COUNT: pa.array([share.records for share in shares], pa.int64()),
        names.RULE: pa.array([rule.get(part.pattern) for part in parts], pa.int32()),
        names.STRETCH_FIRST: pa.array([part.first for part in parts], pa.int64()),
        names.STRETCH_LAST: pa.array([part.last for part in parts], pa.int64()),
    }
    engine.load("assigned", names.ASSIGNED, pa.table(columns), more=True)
