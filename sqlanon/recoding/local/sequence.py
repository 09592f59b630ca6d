"""Publishes each record by the first node of a given sequence whose class passes the privacy models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.base import Problem
from sqlanon.core.sqltrees import names
from sqlanon.errors import check_time
from sqlanon.recoding.compiler import first_fit as compiler
from sqlanon.recoding.compiler import recoding
from sqlanon.recoding.local.holding import Starts
from sqlanon.recoding.local.kept import Kept, adds, check_models, has_costs, kept_by_levels, loss, summed
from sqlanon.recoding.local.rules import Recoding, Rule
from sqlanon.recoding.local.state import node_arrays

BLOCK_ROWS = 500_000
"""Rows that are left times nodes of one look at which nodes can publish anything."""
MOST_NODES = 64
"""Most nodes of one look."""
LEAST_NODES = 8
"""Fewer nodes than this are tried without a look."""
SMALL_ROWS = 120_000
"""Rows that one thread reads (DuckDB's threads share row groups of 122,880): more threads only wait."""
REPLAYED = (
    "held records",
    "rows to fit",
    "fitted",
    "fit a node",
    "rows left",
    "levels of nodes",
    "passing rows",
    "assigned",
)
"""The statements that the replayable script contains."""


def first_fit(
    engine: Engine,
    problem: Problem,
    question: Question,
    nodes: Sequence[Node],
    *,
    time_limit: float | None = None,
    starts: Starts | None = None,
    judge: Question | None = None,
) -> Recoding:
    """Publish each record by the first node whose class, among the records that are left, passes every model.

    The row types are left in ``names.ASSIGNED`` (created anew), each with the number of its node in ``nodes``; with
    ``starts`` also which of its records (``assigned_in_parts``).

    Args:
        engine: where the base of the problem's catalog stands.
        question: the models by which a node takes a class.
        time_limit: seconds; None: none.
        starts: at which node each record begins, by chance; None: all at the first.
        judge: the models by which classes are judged in the end, as a reader of the release sees them; those that
            fail are suppressed. None: none are.

    Raises:
        UnsupportedError: a model is about classes of a population.
        SearchStoppedError: the time was up before all nodes were tried.
    """
    check_models(problem)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    run = _FirstFitRun(engine, problem, question, nodes, deadline, starts, judge)
    engine.drop(names.ASSIGNED)
    _forget(engine)
    try:
        return run.recoding()
    finally:
        run.drop()


def _forget(engine: Engine) -> None:
    """Take the statements of a run before out of the replayable script, each with the statistics of its table."""
    kept, forgotten = [], False
    for entry in engine.replay:
        forgotten = entry[0] in REPLAYED or (forgotten and entry[0] == "analyze")
        if not forgotten:
            kept.append(entry)
    engine.replay[:] = kept


@dataclass(slots=True)
class _FirstFitRun:
    """One run: how many rows are left, of how many in the table that they are read from."""

    engine: Engine
    problem: Problem
    question: Question
    nodes: Sequence[Node]
    deadline: float | None
    starts: Starts | None
    judge: Question | None
    rows: int = 0
    stored: int = 0
    generation: int = 0
    text: str = ""

    def recoding(self) -> Recoding:
        self.rows = self.stored = self.engine.create("rows to fit", compiler.ROWS, self._rows_to_fit())
        self.engine.create("fitted", compiler.FITTED, compiler.nothing_fitted())
        self._load_nodes()
        with self.engine.side_by_side() if self.rows <= SMALL_ROWS else nullcontext():
            for position in self._promising():
                if not self._enough():
                    break
                check_time(self.deadline, "nodes")
                self.engine.journal.report("assigning records", done=position, total=len(self.nodes), unit="nodes")
                self._fit(position)
            self.engine.create("assigned", names.ASSIGNED, self._assigned())
            counts = self.engine.run("records by rule", compiler.published(self.question))
            rules = [Rule(row[0], self.nodes[row[0]], *row[1:]) for row in counts if row[0] is not None]
            suppressed = sum(row[1] for row in counts if row[0] is None)
            return Recoding(tuple(rules), suppressed, self._loss(rules) if adds(self.problem) else None)

    def drop(self) -> None:
        """Drop every table but ``names.ASSIGNED``."""
        for generation in range(max(self.generation - 1, 0), self.generation + 2):
            self.engine.drop(compiler.rest_table(generation))
        for name in (compiler.ROWS, compiler.FITTED, compiler.NODES, compiler.HELD, compiler.LEVELS, compiler.PASSING):
            self.engine.drop(name)

    @property
    def _coded(self) -> bool:
        """Whether records with different sensitive values are of different row types."""
        return self.judge is not None and bool(self.judge.histograms)

    def _rows_to_fit(self) -> exp.Query:
        if self.starts is None:
            return compiler.rows_to_fit(self.question, coded=self._coded)
        catalog = self.problem.catalog
        types = self.engine.arrow("row types", compiler.row_types(catalog, coded=self._coded))
        self.engine.drop(compiler.HELD)
        self.engine.load("held records", compiler.HELD, self.starts.held(types, catalog.words))
        return compiler.rows_with_starts(catalog, coded=self._coded)

    def _assigned(self) -> exp.Query:
        fitted = compiler.FITTED
        if self.judge is not None:
            self._load_levels()
            levels = [sorted({node[i] for node in self.nodes}) for i in range(len(self.problem.catalog.attributes))]
            passing = compiler.passing_rows(self.judge, levels, compiler.LEVELS)
            self.engine.create("passing rows", compiler.PASSING, passing)
            fitted = compiler.PASSING
        if self.starts is None:
            return compiler.assigned(self.question, fitted)
        return compiler.assigned_in_parts(self.problem.catalog, fitted)

    def _load_levels(self) -> None:
        columns = {names.RULE: list(range(len(self.nodes)))}
        for i in range(len(self.problem.catalog.attributes)):
            columns[names.level(i)] = [node[i] for node in self.nodes]
        self.engine.drop(compiler.LEVELS)
        data = pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})
        self.engine.load("levels of nodes", compiler.LEVELS, data)

    def _load_nodes(self) -> None:
        columns = {names.RULE: pa.array(range(len(self.nodes)), pa.int32())}
        columns |= node_arrays(recoding.node_rows(self.question, self.nodes))
        self.engine.drop(compiler.NODES)
        self.engine.load("nodes", compiler.NODES, pa.table(columns), replayed=False)

    def _promising(self) -> Iterator[int]:
        """Yield the nodes that have a class large enough, in order; each is judged when its turn comes."""
        first = 0
        while first < len(self.nodes):
            many = max(LEAST_NODES, min(MOST_NODES, BLOCK_ROWS // max(self.rows, 1)))
            last = min(first + many, len(self.nodes)) - 1
            if last - first + 1 < LEAST_NODES or self.question.size <= 1:
                yield from range(first, last + 1)
            else:
                query = compiler.promising(self.question, self._rest)
                yield from [row[0] for row in self.engine.run("promising nodes", query, [first, last])]
            first = last + 1

    @property
    def _rest(self) -> str:
        return compiler.rest_table(self.generation)

    def _enough(self) -> bool:
        """Return whether some class may be large enough."""
        if self.rows >= self.question.size or self.rows == 0:
            return self.rows > 0
        return int(self.engine.run("records left", compiler.records_left(self._rest))[0][0]) >= self.question.size

    def _fit(self, position: int) -> None:
        """Assign to one node the rows that it can take."""
        if not self.text:
            self.text = self._statement()
        masks = self.question.masks(self.nodes[position])
        reached = [] if self.starts is None else [position]
        taken = self.engine.add("fit a node", self.text, [*masks, *reached, position])
        if not taken:
            return
        self.engine.replay.append(("fit a node", partial(self._replayed, self.generation, position)))
        self.rows -= taken
        if self.rows * 2 < self.stored:
            self._shrink()

    def _shrink(self) -> None:
        """Store the rows that are left apart, so that those that were taken are not read again."""
        before = self.generation
        rest = compiler.left(self.question, self._rest, held=self.starts is not None)
        self.engine.create("rows left", compiler.rest_table(before + 1), rest)
        self.generation, self.stored, self.text = before + 1, self.rows, ""
        if before:
            self.engine.drop(compiler.rest_table(before))

    def _statement(self) -> str:
        query = compiler.fitting(self.question, self._rest, held=self.starts is not None)
        return self.engine.render(exp.insert(query, exp.to_table(compiler.FITTED, quoted=True)))

    def _replayed(self, generation: int, position: int) -> exp.Expr:
        """Return the statement of a node with its numbers, for the script."""
        masks = self.question.masks(self.nodes[position])
        held = self.starts is not None
        query = compiler.fitting(self.question, compiler.rest_table(generation), masks, position, held=held)
        return exp.insert(query, exp.to_table(compiler.FITTED, quoted=True))

    def _loss(self, rules: Sequence[Rule]) -> float:
        width = len(self.problem.catalog.attributes)
        parts: dict[int, list[int]] = {rule.number: [0] * width for rule in rules}
        if not has_costs(self.problem):
            kept: list[Kept] = [kept_by_levels(self.problem, rule.node, rule.records) for rule in rules]
            return loss(self.problem, summed(kept, width))
        for position, attribute, amount in self.engine.run("kept by rule", compiler.kept(self.question)):
            parts[position][attribute] = amount
        return loss(self.problem, summed(parts.values(), width))
