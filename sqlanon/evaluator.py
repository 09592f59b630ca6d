"""The evaluator: nodes in, verdicts out. It owns the memo of verdicts and chooses grain, form and batch size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlanon import names
from sqlanon.catalog import Catalog
from sqlanon.compiler import evaluate as compiler
from sqlanon.compiler.evaluate import Question
from sqlanon.engines.duckdb import DuckDBEngine, Job
from sqlanon.lattice import Node
from sqlanon.measures.base import Certain, Ground, Tally
from sqlanon.models import least_size
from sqlanon.models.base import PrivacyModel
from sqlanon.search.base import Problem, Request, Verdict
from sqlanon.snapshots import Snapshot, SnapshotStore

CROSS_ROWS = 50_000
"""Up to this many grain rows (one-word keys), a cross join with the masks beats a UNION ALL of the nodes."""
STATEMENT_ROWS = 300_000
"""What a statement costs beside its work, in grain rows x nodes: measured 5 ms, most of it planning, at 17 ns a row."""
LANE_ROWS = 100_000
"""Fewer grain rows x nodes than this are not worth a second statement beside the first."""
MAX_BATCH = 64
"""Most nodes of one statement."""
MAX_SHARE = 16
"""Most nodes of one lane that a search is told to ask for: more are judged too early, and in vain."""
PLACES = (1, 4, 16, MAX_BATCH)
"""Sizes of statements of the form ``cross``, whose last places may stay free: few texts, so that few are compiled."""
CHUNK_ROWS = 4_000_000
"""Largest grain rows x nodes of one statement."""


class Evaluator:
    """Judges nodes for the models of one policy over the snapshots of a plan.

    Attributes:
        origins: how many verdicts of the search came from which grain, by the grain's node (the base is the bottom).
        rows_read: grain rows times nodes, over all statements: what a search costs whatever the machine.
    """

    def __init__(
        self,
        engine: DuckDBEngine,
        catalog: Catalog,
        snapshots: SnapshotStore,
        problem: Problem,
        models: Sequence[PrivacyModel],
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._snapshots = snapshots
        self._problem = problem
        limit = catalog.allowed - catalog.uncovered
        self._question = Question(catalog, tuple(models), least_size(models), problem.measure.needs, limit)
        self._full = replace(self._question, limit=None, by_model=True)
        self._memo: dict[Node, Verdict] = {}
        self.origins: Counter[Node] = Counter()
        self.rows_read = 0
        self._texts: dict[tuple[str, int, bool], str] = {}

    @property
    def evaluated(self) -> int:
        """Distinct nodes that were given a verdict."""
        return len(self._memo)

    @property
    def judged(self) -> Collection[Verdict]:
        """All verdicts given so far."""
        return self._memo.values()

    @property
    def question(self) -> Question:
        """What a verdict of ``judge(exact=True)`` answers."""
        return self._full

    def judge(self, requests: Sequence[Request], *, exact: bool = False) -> list[Verdict]:
        """The verdicts of the requested nodes, in their order; a repeated node costs no statement.

        ``exact`` asks for the costs of nodes that cannot be candidates too, and for the counts of each model.
        """
        wanted: dict[Node, Node] = {}
        for request in requests:
            known = self._memo.get(request.node)
            if known is None or (exact and not known.by_model):
                wanted.setdefault(request.node, request.floor)
        for floor in dict.fromkeys(wanted.values()):
            self._snapshots.serve(floor, sum(1 for other in wanted.values() if other == floor))
        work: list[tuple[list[Node], Job]] = []
        for snapshot, nodes in self._grouped(list(wanted)):
            work += self._jobs(snapshot, nodes, exact)
        question = self._full if exact else self._question
        answers = self._engine.run_many("evaluate", [job for _, job in work])
        for (nodes, _), rows in zip(work, answers, strict=True):
            for verdict in verdicts(self._problem, question, nodes, rows):
                self._memo[verdict.node] = verdict
        return [self._memo[request.node] for request in requests]

    def _grouped(self, nodes: Sequence[Node]) -> list[tuple[Snapshot, list[Node]]]:
        """The nodes by the grain to judge them from: each its nearest one, or one common grain when that is cheaper."""
        groups: dict[Node, tuple[Snapshot, list[Node]]] = {}
        for node in nodes:
            snapshot = self._snapshots.nearest(node)
            groups.setdefault(snapshot.node, (snapshot, []))[1].append(node)
        if len(groups) > 1:
            common = self._snapshots.nearest(tuple(map(min, zip(*nodes, strict=True))))
            apart = sum(snapshot.rows * len(members) + STATEMENT_ROWS for snapshot, members in groups.values())
            if common.rows * len(nodes) + STATEMENT_ROWS <= apart:
                return [(common, list(nodes))]
        return list(groups.values())

    def _jobs(self, snapshot: Snapshot, nodes: Sequence[Node], exact: bool) -> Iterator[tuple[list[Node], Job]]:
        """The statements that judge nodes over one grain, as many as there are lanes, or more when rows are many."""
        question = self._full if exact else self._question
        cross = self._catalog.words == 1 and snapshot.rows <= CROSS_ROWS
        form: compiler.Form = "cross" if cross else "union"
        lanes = 1 if len(nodes) * snapshot.rows < LANE_ROWS else self._engine.lanes
        share = -(-len(nodes) // lanes)
        size = max(1, min(share, MAX_BATCH, CHUNK_ROWS // max(snapshot.rows, 1)))
        for start in range(0, len(nodes), size):
            some = list(nodes[start : start + size])
            places = next(size for size in PLACES if size >= len(some)) if cross else len(some)
            bound = compiler.parameters(question, some, form=form, places=places)
            yield some, Job(names.GRAIN, snapshot.table, self._text(question, places, form, exact), bound)
            self.rows_read += snapshot.rows * len(some)
            if not exact:
                self.origins[snapshot.node] += len(some)

    def _text(self, question: Question, nodes: int, form: compiler.Form, exact: bool) -> str:
        slot = (form, nodes, exact)
        if slot not in self._texts:
            self._texts[slot] = self._engine.render(compiler.batch(question, nodes, form=form))
        return self._texts[slot]


def batch_size(lanes: int, base_rows: int) -> int:
    """How many nodes a search had better ask for at once: enough that what the statements cost beside their work does
    not matter, on every lane."""
    return lanes * max(2, min(MAX_SHARE, STATEMENT_ROWS // max(base_rows, 1)))


def verdicts(
    problem: Problem, question: Question, nodes: Sequence[Node], rows: Sequence[tuple[Any, ...]]
) -> list[Verdict]:
    """Fold the result rows of ``compiler.batch`` into one verdict per node (pure; any engine's rows will do)."""
    catalog = problem.catalog
    totals: dict[int, dict[str, Any]] = {}
    nothing: dict[str, Any] = dict.fromkeys(question.columns, 0) | {"smallest": None, "largest": None}
    width = len(question.cost_columns)
    costs = [[(0,) * width] * len(catalog.attributes) for _ in nodes]
    for row in rows:
        position, attribute = row[0], row[1]
        if attribute == compiler.TOTALS:
            totals[position] = dict(zip(question.columns, row, strict=True))
        else:
            costs[position][attribute] = row[-width:]
    result = []
    for position, node in enumerate(nodes):
        counts = totals.get(position, nothing)
        lost = counts["suppressed"] if question.monotone else counts["lost"]
        suppressed = counts["suppressed"] + catalog.uncovered
        measure = problem.measure
        own, least = _costs(question, node, costs[position])
        certain = Certain(
            suppressed=lost + catalog.uncovered,
            penalty=measure.penalty(node, lost, least),
            forced=int(counts.get("forced", 0)),
        )
        ground = None
        if question.needs == "classes":
            ground = Ground(int(counts["spread"]), counts["large"], counts["small_records"])
        tally = Tally(suppressed, own, counts["classes"], int(counts.get("squares", 0)))
        ruled_out = bool(question.rejects and counts["public_only"])
        has_costs = not question.has_costs or question.limit is None or lost <= question.limit
        result.append(
            Verdict(
                node=node,
                classes=counts["classes"],
                suppressed=suppressed,
                smallest=counts["smallest"],
                largest=counts["largest"],
                loss=measure.loss(node, tally),
                feasible=counts["classes"] > 0 and suppressed <= catalog.allowed and not ruled_out,
                grain=counts["grain"],
                certain=certain,
                ruled_out=ruled_out,
                ground=ground,
                exact=has_costs,
                by_model=tuple((model.label, counts[f"model_{i}"]) for i, model in enumerate(question.models))
                if question.by_model
                else (),
            )
        )
    return result


def _costs(
    question: Question, node: Node, rows: Sequence[Sequence[float]]
) -> tuple[list[float], list[tuple[float, ...]]]:
    """Per attribute what the suppressed records cost, and per attribute and level what the lost ones cost at least."""
    if not question.has_costs:
        return [0] * len(node), [(0,) * (level + 1) for level in node]
    if question.needs == "surprisals":  # lower levels cost more, by an amount that was not asked for
        return [row[0] for row in rows], [(row[-1],) * (level + 1) for row, level in zip(rows, node, strict=True)]
    if question.monotone:
        least = [tuple(row[: level + 1]) for row, level in zip(rows, node, strict=True)]
        return [per[-1] for per in least], least
    return [row[0] for row in rows], [tuple(row[1 : level + 2]) for row, level in zip(rows, node, strict=True)]
