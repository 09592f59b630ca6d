"""The present sequence of nodes, what each of them publishes, and what one more node would change.

The rows stand in the database, each with the place of the node that publishes it (``recoding.compiler.recoding``), or
in the process where they fit (``rows``). Python holds per node what it publishes and keeps, in integers. A candidate is
judged exactly: with its own classes, and with those of all nodes after it that records are left for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine, Job
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.search.base import Problem
from sqlanon.recoding.compiler import recoding as compiler
from sqlanon.recoding.local.kept import Kept, generalization, has_costs, kept_by_levels, loss, summed

MOST_ROWS = 2_000_000
"""Largest rows times candidates of one statement."""
LANE_ROWS = 40_000
"""Fewer rows times candidates than this are not worth a second statement side by side."""
STEPS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
"""Lengths of statements: few, so that few texts are rendered; steps after the last node find no rows."""
BLOCKED = -1.0
"""What a candidate gains by which more would be suppressed than the policy allows."""
BLUR = 0.1
"""By how much chance may raise what a node costs when sequences are put in order: the loss hardly feels it (with 16
nodes ADULT 0.0620 to 0.0621, CUP 0.0729 to 0.0731), and which of two similar nodes came first is harder to guess."""


@dataclass(frozen=True, slots=True)
class Published:
    """The published part of a node: records, and per attribute the amount that they keep (``kept``)."""

    records: int
    kept: Kept


@dataclass(frozen=True, slots=True)
class Candidate:
    """The present sequence with one node more.

    Attributes:
        node: the node.
        place: where it stands.
        after: what it publishes, and then what each node after it does.
        loss: of the whole sequence.
        suppressed: records that no node publishes, ``catalog.uncovered`` included.
    """

    node: Node
    place: int
    after: tuple[Published, ...]
    loss: float
    suppressed: int


@dataclass(slots=True)
class State:
    """One owner of the tables of a choice; ``rows.opened`` creates and drops them.

    Attributes:
        nodes: the present sequence, cheapest first.
        published: what each of them publishes.
        evaluated: candidates judged so far.
        spared: nodes that stay though they publish nothing.
    """

    engine: Engine
    problem: Problem
    question: Question
    seed: int
    nodes: list[Node] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    evaluated: int = 0
    spared: set[Node] = field(default_factory=set)
    _generation: int = 0
    _rows_from: list[int] = field(default_factory=list)
    _ranks: dict[Node, tuple[float, float]] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)
    _judged: dict[Node, Candidate] = field(default_factory=dict)

    @property
    def _catalog(self) -> Catalog:
        return self.problem.catalog

    def rank(self, node: Node) -> tuple[float, float]:
        """Return the rank of a node in a sequence: what generalization alone costs, blurred by chance (``BLUR``)."""
        if node not in self._ranks:
            chance = random.Random(f"{self.seed} {node}").random()
            self._ranks[node] = (generalization(self.problem, node) * (1 + BLUR * chance), chance)
        return self._ranks[node]

    def gains(self, nodes: Sequence[Node], present: float) -> list[float]:
        """Return the gain of each node over the present loss, or ``BLOCKED``: exactly, or by an estimate."""
        judged = self.judge(nodes)
        self._judged |= {candidate.node: candidate for candidate in judged}
        allowed = self._catalog.allowed
        return [present - own.loss if own.suppressed <= allowed else BLOCKED for own in judged]

    def exact(self, node: Node) -> Candidate:
        """Return the present sequence with a node inserted that ``gains`` was asked for since it last changed."""
        return self._judged[node]

    def judge(self, nodes: Sequence[Node]) -> list[Candidate]:
        """Judge the present sequence with each of the nodes inserted; none of them stands there."""
        if not nodes:
            return []
        first = self.evaluated
        self.evaluated += len(nodes)
        tried = sorted(((self._place(node), node) for node in nodes), reverse=True)
        rows = {"node": pa.array(range(first, first + len(tried)), pa.int32())}
        rows |= {compiler.PLACE: pa.array([place for place, _ in tried], pa.int32())}
        rows |= node_arrays(compiler.node_rows(self.question, [node for _, node in tried]))
        self.engine.load("candidates", compiler.CANDIDATES, pa.table(rows), more=True)
        jobs = [self._job(first, tried, low, high) for low, high in self._shares([place for place, _ in tried])]
        counts: dict[int, dict[int, dict[int, int]]] = {}
        for answer in self.engine.run_many("candidates judged", jobs):
            for number, step, attribute, kept in answer:
                counts.setdefault(number, {}).setdefault(step, {})[attribute] = kept
        judged = {
            node: self._candidate(place, node, counts.get(first + offset, {}))
            for offset, (place, node) in enumerate(tried)
        }
        return [judged[node] for node in nodes]

    def accept(self, candidate: Candidate, *, spared: bool = False) -> None:
        """Insert a candidate that was judged last; nodes that publish nothing any more are dropped, unless spared."""
        self._judged.clear()
        place = candidate.place
        after = [candidate.node, *self.nodes[place:]]
        if spared:
            self.spared.add(candidate.node)
        pairs = [(n, p) for n, p in zip(after, candidate.after, strict=True) if p.records or n in self.spared]
        self.published[place:] = [published for _, published in pairs]
        self.nodes[place:] = [node for node, _ in pairs]

    def advance(self, place: int) -> None:
        """Move the rows to their nodes in the present sequence; those before ``place`` are as they were."""
        before, after = (compiler.state_table(self._generation + i) for i in range(2))
        self.engine.create("state", after, compiler.advanced(self.question, before, place, self.nodes[place:]))
        self._generation += 1
        self.engine.drop(before)
        self._count_rows()
        self._load_sequence()

    def _place(self, node: Node) -> int:
        """Return where a node would stand."""
        own = self.rank(node)
        return sum(self.rank(other) < own for other in self.nodes)

    def _shares(self, places: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the first and last candidate of each statement, about the same work; the latest places come first."""
        work = [self._rows_from[place] for place in places]
        fair = max(-(-sum(work) // self.engine.lanes), LANE_ROWS)
        low = rows = 0
        for high, own in enumerate(work):
            if high > low and (rows + own > MOST_ROWS or rows + own // 2 >= fair):
                yield low, high - 1
                low, rows = high, 0
            rows += own
        yield low, len(work) - 1

    def _job(self, first: int, tried: Sequence[tuple[int, Node]], low: int, high: int) -> Job:
        least = tried[high][0]
        needed = 1 + len(self.nodes) - least
        steps = next((step for step in STEPS if step >= needed), needed)
        if steps not in self._texts:
            query = compiler.batch(self.question, steps, costs=has_costs(self.problem))
            self._texts[steps] = self.engine.render(query)
        return Job(
            {compiler.STATE: compiler.state_table(self._generation)},
            self._texts[steps],
            [first + low, first + high, least],
        )

    def _candidate(self, place: int, node: Node, counts: dict[int, dict[int, int]]) -> Candidate:
        after = []
        for step, own in enumerate([node, *self.nodes[place:]]):
            kept = counts.get(step, {})
            records = kept.get(compiler.TOTALS, 0)
            if has_costs(self.problem):
                parts = tuple(kept.get(i, 0) for i in range(len(node)))
            else:
                parts = kept_by_levels(self.problem, own, records)
            after.append(Published(records, parts))
        everything = [*self.published[:place], *after]
        return Candidate(
            node,
            place,
            tuple(after),
            loss(self.problem, summed((part.kept for part in everything), len(node))),
            self._catalog.population - sum(part.records for part in everything),
        )

    def _create(self) -> None:
        bottom = self.problem.lattice.bottom
        self.engine.create("state", compiler.state_table(0), compiler.rows_of_base(self.question, bottom))
        self._count_rows()
        self._load_sequence()
        nothing = node_arrays(compiler.node_rows(self.question, []))
        places = {"node": pa.array([], pa.int32()), compiler.PLACE: pa.array([], pa.int32())}
        self.engine.load("no candidates", compiler.CANDIDATES, pa.table(places | nothing), replayed=False)

    def _load_sequence(self) -> None:
        self.engine.drop(compiler.SEQUENCE)
        rows = {compiler.PLACE: pa.array(range(len(self.nodes)), pa.int32())}
        rows |= node_arrays(compiler.node_rows(self.question, self.nodes))
        self.engine.load("sequence", compiler.SEQUENCE, pa.table(rows), replayed=False)

    def _count_rows(self) -> None:
        """Count, per place, the rows that stand there or after it."""
        at: dict[int, int] = dict(self.engine.run("places", compiler.places(compiler.state_table(self._generation))))
        counts = [at.get(place, 0) for place in range(len(self.nodes) + 1)]
        self._rows_from = [sum(counts[place:]) for place in range(len(counts))]

    def _drop(self) -> None:
        for generation in range(max(self._generation - 1, 0), self._generation + 2):
            self.engine.drop(compiler.state_table(generation))
        for name in (compiler.SEQUENCE, compiler.CANDIDATES):
            self.engine.drop(name)


def node_arrays(columns: dict[str, list[int] | list[str]]) -> dict[str, pa.Array]:
    """Return the columns of nodes (``node_rows``) as Arrow arrays."""
    return {name: pa.array(items, pa.string() if name == "levels" else pa.int64()) for name, items in columns.items()}
